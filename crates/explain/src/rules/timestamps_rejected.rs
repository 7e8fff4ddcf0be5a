//! `timestamps-rejected`: does the receiver reject segments for their timestamps?
//!
//! TCP takes a segment whose timestamp is older than what its connection has seen for one that has
//! wandered for hours, and drops it (PAWS, RFC 7323, section 5). Nothing in one connection is as
//! late; something on the way that rewrites timestamps, or two hosts behind one address, makes them
//! look so. The sender sees a loss, though every segment arrived (`PAWSEstab`). One that comes late
//! after it was sent again is rejected as well: the receiver reports that it had it already.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "timestamps-rejected",
    asks: "Does the receiver reject segments for their timestamps?",
    of_host: false,
    judge,
};

/// Of the segments that were sent again so many were rejected at the least.
const OF_LOST: f64 = 0.3;
/// Of the rejected so many at the most had arrived before: more are late ones of a path that
/// reorders.
const HAD_MAX: f64 = 0.5;
/// The kernel counts those of all connections; without as many repeats they are another's.
const REJECTED_MIN: f64 = 3.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ReceiverCounters, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let rejected = cell.received_count(keys::TIMESTAMPS_REJECTED);
    let rejected = rejected.ok_or_else(|| cell.lacks(Measure::KernelRejects))?;
    let again = cell.sent_count(keys::RETRANSMITTED);
    let again = again.ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let had = cell.sent_count(keys::DUPLICATES);
    let told = had.map_or(String::new(), |had| format!(" ({had:.0} of them had arrived before)"));
    let seen = format!(
        "the receiver's kernel rejected {rejected:.0} segments for their timestamps, and {again:.0} were \
         sent again{told}, in the median run"
    );
    let is_late = had.is_some_and(|had| had > HAD_MAX * rejected);
    let is_many = rejected >= REJECTED_MIN.max(OF_LOST * again) && !is_late;
    let wrong = (is_many && again >= REJECTED_MIN).then(|| {
        let at = cell.receiver().map_or("at the receiver", |end| end.at);
        let says = format!(
            "The receiver's TCP ({at}) rejects segments for their timestamps in {}: {rejected:.0} in the \
             median run, which the sender takes for losses; something on the path rewrites them, \
             or two hosts share an address",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "find what rewrites TCP timestamps between the ends (a NAT, a load balancer, a \
                      proxy that takes over connections) and switch that off; until then \
                      net.ipv4.tcp_timestamps=0 at one end; nstat -az TcpExtPAWSEstab at the receiver";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn segments_that_the_receiver_rejects_are_no_losses_of_the_path() {
        let of = |rejected: u64, again: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            read_receiver(&mut study, "netstat", "TcpExt.PAWSEstab_events", rejected);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(9, 10)));
        assert!(is_clear(&of(2, 2)), "another connection's");
        assert!(is_clear(&of(9, 100)), "most were lost on the way");
        assert!(is_clear(&of(0, 50)));
        assert!(is_clear(&of(9, 0)), "this stream lost nothing");
        let mut late = stream("tcp-stream");
        read(&mut late, "tcp-info", "flow0.retransmitted_segments", 52);
        read_receiver(&mut late, "netstat", "TcpExt.PAWSEstab_events", 50);
        assert!(is_found(&of_study(&RULE, &late)));
        read(&mut late, "tcp-info", "flow0.duplicates_reported_segments", 25);
        assert!(is_found(&of_study(&RULE, &late)), "half of them");
        read(&mut late, "tcp-info", "flow0.duplicates_reported_segments", 50);
        assert!(is_clear(&of_study(&RULE, &late)), "they had come, and came late once more");
        let mut uncounted = stream("tcp-stream");
        read(&mut uncounted, "tcp-info", "flow0.retransmitted_segments", 9);
        assert!(is_unknown(&of_study(&RULE, &uncounted)));
        // What the sender rejects are acknowledgements.
        read(&mut uncounted, "netstat", "TcpExt.PAWSEstab_events", 9);
        assert!(is_unknown(&of_study(&RULE, &uncounted)));
    }
}
