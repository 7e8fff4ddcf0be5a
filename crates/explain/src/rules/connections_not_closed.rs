//! `connections-not-closed`: do connections fail to close?
//!
//! A connection that is closed sends its FIN until that is acknowledged (RFC 9293). Where FINs are
//! dropped on the way the program knows nothing of it: the kernel's timers send them again and
//! again, for every connection of the last minutes, and take CPU time and ports from new ones.
//! Timers that ran out though no connection took as long as one, while it was in use, are those of
//! connections that were closed.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::timers;
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

/// Whether connections fail to close.
pub static RULE: Rule = Rule {
    name: "connections-not-closed",
    asks: "Do connections fail to close?",
    of_host: false,
    judge,
};

/// Timers for each connection below which others of the same namespace may be meant.
const EACH: f64 = 0.1;
/// Fewer in a run are an accident.
const LEAST: f64 = 20.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Connections, Some(Activity::Connects), look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let lacks = || cell.lacks(Measure::TcpTimeouts);
    let timer_ns = timers::least_ns(cell);
    let count = cell.of_sender(|end| Some(connections(end))).ok_or_else(lacks)?;
    // Those that took as long as a timer may have waited for one in use.
    let in_use = cell.of_sender(|end| Some(timers_in_use(end, timer_ns))).ok_or_else(lacks)?;
    let ends = [
        ("sender", cell.of_sender(|end| ran_out(end, in_use))),
        ("receiver", cell.of_receiver(|end| ran_out(end, in_use))),
    ];
    let told = ends.into_iter().filter_map(|(name, count)| Some((name, count?)));
    let (name, closed) = told.max_by(|a, b| a.1.total_cmp(&b.1)).ok_or_else(lacks)?;
    let seen = format!(
        "of {count:.0} connections in a run TCP's timers of the {name}'s kernel ran out \
         {closed:.0} times after they were closed"
    );
    let wrong = (closed >= LEAST.max(EACH * count)).then(|| {
        let says = format!(
            "Connections do not close in {}: TCP's timers of the {name}'s kernel ran out \
             {closed:.0} times for {count:.0} connections, which were done before a timer of {:.0} \
             ms could; it sends what ends a connection (FIN) again and again, and no \
             acknowledgement comes",
            cell.trial.label,
            timer_ns / 1e6
        );
        let remedy = "see `ss -tan state fin-wait-1` and `state last-ack` at both ends, and find \
                      what drops FINs or their acknowledgements between: filters of TCP flags, \
                      connection tracking that forgets too soon or takes them for invalid \
                      (conntrack -S, nf_conntrack_tcp_timeout_*), a load balancer; keep \
                      connections open and use them again meanwhile; net.ipv4.tcp_orphan_retries bounds the repeats";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

fn connections(end: &EndReport) -> f64 {
    end.round_trips.iter().map(|(_, count)| *count as f64).sum()
}

/// Timers that can have run out while connections were in use.
fn timers_in_use(end: &EndReport, timer_ns: f64) -> f64 {
    let each = end.round_trips.iter();
    each.map(|(ns, count)| (ns.0 as f64 / timer_ns).floor() * *count as f64).sum()
}

/// Timers that ran out, without those of first packets and of connections in use.
fn ran_out(end: &EndReport, in_use: f64) -> Option<f64> {
    let all = end.readings.total(keys::KERNEL_TIMEOUTS)? as f64;
    let first = end.readings.total(keys::SYN_RETRANSMITTED).unwrap_or(0) as f64;
    Some((all - first - in_use).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_idle, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;

    /// A thousand connections of so many milliseconds, with the timers that ran out at the two
    /// ends and first packets that were sent again.
    fn of(each_ms: u64, timeouts: [u64; 2], first: u64) -> Verdict {
        let mut study = stream("tcp-connect");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.round_trips = vec![(Nanos(each_ms * 1_000_000), 1000)];
        }
        read(&mut study, "netstat", "TcpExt.TCPTimeouts_events", timeouts[0]);
        read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", first);
        read_receiver(&mut study, "netstat", "TcpExt.TCPTimeouts_events", timeouts[1]);
        of_study(&RULE, &study)
    }

    #[test]
    fn timers_of_connections_that_were_done_are_those_of_closing_them() {
        let found = format!("{:?}", of(1, [5700, 0], 0));
        assert!(found.contains("sender's kernel ran out 5700 times for 1000"), "{found}");
        let back = format!("{:?}", of(1, [0, 900], 0));
        assert!(back.contains("receiver's kernel ran out 900 times"), "{back}");
        assert!(is_clear(&of(1, [0, 0], 0)));
        assert!(is_clear(&of(1, [90, 0], 0)), "others' connections");
        assert!(is_clear(&of(1, [900, 0], 900)), "first packets");
        assert!(is_clear(&of(250, [900, 0], 0)), "connections that waited for one themselves");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_counted() {
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-connect"))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
