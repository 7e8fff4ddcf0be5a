//! `path-mtu-black-hole`: do full packets vanish where small ones pass?
//!
//! A router that cannot pass a packet of TCP on tells the sender so (ICMP, "fragmentation needed").
//! A firewall that drops those messages, or a tunnel that sends none, leaves a connection that is
//! made and then stands still: the handshake is small, the first full segment never arrives, and is
//! sent again and again (RFC 2923, section 2.1).

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-mtu-black-hole",
    asks: "Do full packets vanish where small ones pass?",
    of_host: false,
    judge,
};

/// Smaller segments pass any path (RFC 9293, section 3.7.1).
const LARGE_BYTES: f64 = 1000.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a TCP stream whose ends read TCP's own counters", None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.trial.params.is_bidirectional() {
        return Err(Blind::OtherKind);
    }
    let sent = cell.sent_count(keys::DATA_OUT);
    let came = cell.received_count(keys::DATA_IN);
    let timeouts = cell.sent_count(keys::TIMEOUTS).or(cell.sent_count(keys::KERNEL_TIMEOUTS));
    let segment = cell.segment_bytes();
    let (Some(sent), Some(came), Some(timeouts), Some(segment)) = (sent, came, timeouts, segment)
    else {
        return Err(cell.lacks("both ends' counts of segments with payload"));
    };
    let seen = format!(
        "{sent:.0} segments of up to {segment:.0} B sent in the median run, {came:.0} came; the \
         sender's timer ran out {timeouts:.0} times"
    );
    // A burst of loss may take all of one run, and not of every.
    let all_came = cell.done.iter().filter_map(|record| record.receiver());
    let all_came = all_came.filter_map(|end| end.readings.total(keys::DATA_IN)).sum::<u64>();
    let none_came = sent >= 1.0 && all_came == 0 && timeouts >= 1.0;
    let wrong = (none_came && segment >= LARGE_BYTES).then(|| {
        let mtu = cell.path_mtu_bytes().unwrap_or(segment + 52.0);
        let says = format!(
            "Connections are made and no full segment arrives in {}: a path MTU black hole, \
             packets of {mtu:.0} B vanish and nobody tells the sender",
            cell.trial.label
        );
        let remedy = "find the size that passes: ping -M do -s SIZE in both directions; --mss 1000 \
                      shows that smaller segments go. Let ICMP \"fragmentation needed\" (IPv6: \
                      \"packet too big\") pass the firewalls between, or lower the MTU of the \
                      interfaces or routes; sysctl -w net.ipv4.tcp_mtu_probing=1 at the sender \
                      lets TCP find it by itself";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn full_segments_that_never_arrive_are_found() {
        let of = |came: u64, timeouts: u64, segment: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_data_segments", 3);
            read(&mut study, "tcp-info", "flow0.timeouts_events", timeouts);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", segment);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", came);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(0, 2, 1448)));
        assert!(is_clear(&of(3, 2, 1448)));
        assert!(is_clear(&of(0, 2, 536)), "a smaller one passes every path");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
