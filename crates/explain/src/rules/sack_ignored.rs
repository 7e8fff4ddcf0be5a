//! `sack-ignored`: does the sender ignore selective acknowledgements?
//!
//! A firewall that makes initial sequence numbers random must change those in the SACK option too.
//! One that does not makes them acknowledge what was never sent: the sender ignores them
//! (`TCPSACKDiscard`), and waits for its timer at every loss, while the receiver's window fills
//! with what came after it.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "sack-ignored",
    asks: "Does the sender ignore selective acknowledgements?",
    of_host: false,
    judge,
};

/// A repair has so many selective acknowledgements at the least; fewer were only late.
const IGNORED_MIN: f64 = 5.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCountersOfSender, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let ignored = cell.sent_count(keys::SACK_IGNORED);
    let ignored = ignored.ok_or_else(|| cell.lacks(Measure::KernelRejects))?;
    let repairs = cell.sent_count(keys::RECOVERIES);
    let repairs = repairs.ok_or_else(|| cell.lacks(Measure::KernelRepairs))?;
    let again = cell.sent_count(keys::RETRANSMITTED);
    let again = again.ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let timeouts = cell.sent_count(keys::TIMEOUTS).or(cell.sent_count(keys::KERNEL_TIMEOUTS));
    let timeouts = timeouts.ok_or_else(|| cell.lacks(Measure::TcpTimeouts))?;
    let seen = format!(
        "the sender's kernel ignored {ignored:.0} selective acknowledgements, and repaired {repairs:.0} \
         losses by others; {again:.0} segments were sent again, after {timeouts:.0} timeouts, in \
         the median run"
    );
    // The kernel counts what all connections ignored: this one must have lost, and waited.
    let has_waited = again >= 1.0 && timeouts >= 1.0;
    let wrong = (ignored >= IGNORED_MIN && ignored > repairs && has_waited).then(|| {
        let says = format!(
            "The sender's TCP ignores selective acknowledgements in {}: {ignored:.0} in the median run \
             were of what it never sent; something on the path changes sequence numbers and not \
             those in the SACK option, so that each loss costs a timeout",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "find the firewall between the ends that makes sequence numbers random, and \
                      switch that off for these hosts or update it; until then \
                      net.ipv4.tcp_sack=0 at one end; nstat -az TcpExtTCPSACKDiscard at the sender";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn acknowledgements_of_what_was_never_sent_are_found() {
        let of = |ignored: u64, repairs: u64, again: u64, timeouts: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            read(&mut study, "tcp-info", "flow0.timeouts_events", timeouts);
            read(&mut study, "netstat", "TcpExt.TCPSACKDiscard_events", ignored);
            read(&mut study, "netstat", "TcpExt.TCPSackRecovery_events", repairs);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(200, 0, 40, 9)));
        assert!(is_found(&of(200, 3, 40, 9)), "a few that fit by chance");
        assert!(is_clear(&of(4, 0, 40, 9)), "late ones");
        assert!(is_clear(&of(6, 40, 40, 9)), "most fit");
        assert!(is_clear(&of(200, 0, 0, 0)), "another connection's");
        assert!(is_clear(&of(200, 0, 40, 0)), "its losses cost no timeout");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        let mut receiver = stream("tcp-stream");
        read_receiver(&mut receiver, "netstat", "TcpExt.TCPSACKDiscard_events", 200);
        assert!(is_unknown(&of_study(&RULE, &receiver)), "the other end's");
    }
}
