//! `message-size`: did the size of the messages hold the stream back?
//!
//! Each message is a system call and, over UDP, a packet: half a microsecond to two each, whatever
//! its size. Where messages are much smaller than a packet of the path could be and nothing else
//! was full, that cost is the limit.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::rules::segment_size;
use crate::{Case, Rule};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "message-size",
    asks: "Did the size of the messages hold the stream back?",
    of_host: false,
    judge,
};

/// Messages of at most so many bytes are small: half of an ordinary segment.
const SMALL_BYTES: u64 = 724;
/// Fewer a second cost nothing.
const CALLS_MIN_HZ: f64 = 20e3;
/// A longer path than this is not that of one room.
const LONG_NS: f64 = 1e6;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::SendsSmallMessages);
    measured::judge(case, Needed::TcpOrUdp, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let bytes = cell.trial.params.message_bytes.0;
    if !cell.is_network_stream() || bytes > SMALL_BYTES || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let rate_hz = cell
        .of_sender(|end| {
            let messages: u64 = end.flows.iter().map(|flow| flow.messages).sum();
            (end.window_ns.0 > 0).then(|| messages as f64 / end.window_ns.seconds())
        })
        .ok_or_else(|| cell.lacks(Measure::Messages))?;
    let seen = format!("{rate_hz:.0} messages of {bytes} B a second");
    // Over a long path a window is a limit by itself; over a short one slow reading fills it.
    let is_long = cell.trips().is_some_and(|trips| trips.shortest_ns >= LONG_NS);
    // No larger ones pass a small MTU whole: `segment-size` tells of that.
    let is_path = segment_size::filled_small_mtu(cell).is_some();
    if rate_hz < CALLS_MIN_HZ || is_path || (is_long && cell.is_limited_by_buffers()) {
        return cell.saw(seen, None);
    }
    let says = format!(
        "Messages of {bytes} B hold {} back: {:.0} thousand a second are system calls and packets, \
         and not bytes",
        cell.trial.label,
        rate_hz / 1e3
    );
    let remedy = if cell.is_tcp_stream() { OF_STREAM } else { OF_DATAGRAMS };
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, remedy)))
}

const OF_STREAM: &str = "send more at once (--length 64K shows what the path carries), or join \
                         messages in the program: writev, MSG_MORE";
const OF_DATAGRAMS: &str = "fill the packets (at an MTU of 1500 B: --length 1472, and 1452 over \
                            IPv6), or send many at once: UDP segmentation offload (--sender gso), \
                            sendmmsg";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle};
    use narrows_model::Bytes;
    use narrows_model::load::Role;

    #[test]
    fn small_messages_by_the_hundred_thousand_are_found() {
        let of = |bytes: u64, messages: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(bytes);
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.flows[0].messages = messages;
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(64, 600_000)));
        assert!(is_clear(&of(64, 1_000)));
        assert!(is_idle(&of(65_536, 600_000)));
        // A path of 600 B takes no larger ones whole.
        let within = |mtu: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(572);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.path_mtu_bytes = Some(Bytes(mtu));
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&within(600)) && is_found(&within(1500)));
    }
}
