//! `congestion-marks`: did routers mark packets as they were about to drop some?
//!
//! Where both ends agreed on it (ECN, RFC 3168), a queue marks a packet in place of dropping it,
//! and the sender slows down as it would for a loss. Nothing is lost and nothing is sent again, so
//! that no other counter tells why the rate is low.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "congestion-marks",
    asks: "Did routers mark packets instead of dropping them (ECN)?",
    of_host: false,
    judge,
};

/// Share of the segments from which on marks hold a stream back as losses would.
const MARKED_SHARE: f64 = 0.001;

/// From here on every one is marked, but for those of the handshake and what was sent again: a
/// queue marks the less, the more the sender slows down.
const ALL_SHARE: f64 = 0.95;
const QUEUES: &str = "see which router marks and from which length of queue (fq_codel \
                      ce_threshold, RED and WRED, a switch's ECN threshold); to compare: sysctl -w \
                      net.ipv4.tcp_ecn=0 at the sender";
const EVERY: &str = "find what sets the mark whatever its queue holds: a rule that writes the byte \
                     of TOS with the two bits of ECN in it (iptables TOS, nft ip ecn set, a \
                     router's policy), a threshold of 0, a tunnel that copies bits; until then \
                     sysctl -w net.ipv4.tcp_ecn=0 at the sender";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let sent = cell.sent_count(keys::SENT).filter(|sent| *sent > 0.0);
    let marked =
        cell.sent_count(keys::MARKED).or_else(|| cell.received_count(keys::CONGESTION_MARKS));
    let (Some(sent), Some(marked)) = (sent, marked) else {
        return Err(cell.lacks(Measure::TcpMarks));
    };
    let share = marked / sent;
    let seen = format!("{:.3} % of the segments were marked ({marked:.0})", 100.0 * share);
    let wrong = (share >= MARKED_SHARE).then(|| {
        let (label, percent) = (&cell.trial.label, 100.0 * share);
        let (says, remedy) = if share >= ALL_SHARE {
            let says = format!(
                "Something on the path marks every segment in {label} ({percent:.2} %, ECN \
                 congestion experienced), as no queue does: the mark says nothing of congestion, \
                 and TCP's window stays as small as it may"
            );
            (says, EVERY)
        } else {
            let says = format!(
                "Queues on the path marked {percent:.2} % of the segments in {label} (ECN \
                 congestion experienced): TCP slowed down without a loss"
            );
            (says, QUEUES)
        };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn marks_are_found() {
        let of = |marked: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.delivered_marked_segments", marked);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(2_000)));
        assert!(!format!("{:?}", of(60_000)).contains("every segment"));
        assert!(format!("{:?}", of(99_990)).contains("marks every segment"));
        assert!(is_clear(&of(0)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
