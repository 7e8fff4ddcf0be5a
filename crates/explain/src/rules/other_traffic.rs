//! `other-traffic`: does other traffic use the interface meanwhile?
//!
//! A backup, a download or another tool's stream over the same interface takes a part of the link,
//! fills the queues on the way and makes TCP lose segments. The interface counts all bytes and the
//! flows their own: the rest is somebody else's.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, keys};
use narrows_model::result::{Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Workload;

/// Whether something else uses an end's interface.
pub static RULE: Rule = Rule {
    name: "other-traffic",
    asks: "Does other traffic use the interface meanwhile?",
    of_host: false,
    judge,
};

/// Share of what an interface sends from which on others' traffic counts.
const OTHERS_SHARE: f64 = 0.25;
/// Slower traffic is that of a host at rest: sessions, names, monitoring.
const OTHERS_MIN_BPS: f64 = 1e6;
/// Headers of a segment or datagram with its acknowledgement, at the most, in bytes.
const HEADERS_BYTES: f64 = 160.0;
/// What is sent again, fragments and encapsulation, as a share of the payload.
const AGAIN_SHARE: f64 = 0.15;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a stream or round trips to another host", None, look)
}

/// What an end's interface sent.
#[derive(Clone, Copy)]
struct Sent {
    all_bps: f64,
    others_bps: f64,
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_known = cell.is_network_stream() || cell.trial.kind == Workload::TCP_RR;
    if !is_known || cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let of_sender = sent(|value| cell.of_sender(value)).map(|sent| ("sender", sent));
    let of_receiver = sent(|value| cell.of_receiver(value)).map(|sent| ("receiver", sent));
    let most = [of_sender, of_receiver]
        .into_iter()
        .flatten()
        .max_by(|a, b| a.1.others_bps.total_cmp(&b.1.others_bps));
    let (end, sent) = most.ok_or_else(|| cell.lacks("bytes of the ends' interfaces"))?;
    let seen = format!(
        "the {end}'s interface sent {:.1} Mb/s, {:.1} of them not of these flows",
        sent.all_bps / 1e6,
        sent.others_bps / 1e6
    );
    let wrong = is_much(sent).then(|| {
        let says = format!(
            "Other traffic leaves by the {end}'s interface during {}: {:.0} Mb/s beside the flows \
             that are measured, which share its link and the queues on the way",
            cell.trial.label,
            sent.others_bps / 1e6
        );
        let remedy = "see who sends (ss -tunp, nethogs, iftop) and stop or limit it (tc, the \
                      program's own limit), or measure when the link is free; tuning TCP does not \
                      help";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

fn is_much(sent: Sent) -> bool {
    sent.others_bps >= OTHERS_MIN_BPS && sent.others_bps >= OTHERS_SHARE * sent.all_bps
}

/// Whether others send as much as the measured flows, or more.
pub fn is_more(cell: &Cell<'_>) -> bool {
    let ends = [sent(|value| cell.of_sender(value)), sent(|value| cell.of_receiver(value))];
    ends.into_iter().flatten().any(|sent| is_much(sent) && 2.0 * sent.others_bps >= sent.all_bps)
}

/// Medians over the runs; `median` takes them of one of the ends.
fn sent(median: impl Fn(fn(&EndReport) -> Option<f64>) -> Option<f64>) -> Option<Sent> {
    Some(Sent { all_bps: median(all_bps)?, others_bps: median(others_bps)? })
}

fn all_bps(end: &EndReport) -> Option<f64> {
    let scope = Scope::Nic(end.effective.interface.clone()?);
    let bytes = end.readings.of(keys::TX_BYTES, scope)? as f64;
    (end.window_ns.0 > 0).then(|| 8.0 * bytes / end.window_ns.seconds())
}

/// What is left when the flows had all the headers that they can have.
fn others_bps(end: &EndReport) -> Option<f64> {
    let flows = &end.flows;
    let own: f64 = flows.iter().map(|flow| flow.bytes.0 as f64).sum();
    let messages: f64 = flows.iter().map(|flow| flow.messages as f64).sum();
    let segments = end.readings.total(keys::SENT).map(|count| count as f64);
    let own_bytes =
        own * (1.0 + AGAIN_SHARE) + HEADERS_BYTES * segments.unwrap_or(0.0).max(messages);
    let own_bps = 8.0 * own_bytes / end.window_ns.seconds().max(1e-9);
    Some((all_bps(end)? - own_bps).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn bytes_that_are_not_the_flows_are_found() {
        let of = |sent: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.effective.interface = Some("e0".into());
                }
            }
            read(&mut study, "tcp-info", "flow0.sent_segments", 863_000);
            read(&mut study, "interface", "e0.tx_bytes", sent);
            of_study(&RULE, &study)
        };
        // 1.25 GB of payload, and at most 1.58 GB with all that may be added.
        assert!(is_clear(&of(1_310_000_000)));
        assert!(is_found(&of(2_500_000_000)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
