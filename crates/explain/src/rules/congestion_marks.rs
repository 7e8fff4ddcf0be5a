//! `congestion-marks`: did routers mark packets as they were about to drop some?
//!
//! Where both ends agreed on it (ECN, RFC 3168), a queue marks a packet in place of dropping it,
//! and the sender slows down as it would for a loss. Nothing is lost and nothing is sent again, so
//! that no other counter tells why the rate is low.

use crate::measured::{self, Blind, Cell, Looked, finding};
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

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
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
        let says = format!(
            "Queues on the path marked {:.2} % of the segments in {} (ECN congestion experienced): \
             TCP slowed down without a loss",
            100.0 * share,
            cell.trial.label
        );
        let remedy = "see which router marks and from which length of queue (fq_codel \
                      ce_threshold, RED and WRED, a switch's ECN threshold); to compare: sysctl -w \
                      net.ipv4.tcp_ecn=0 at the sender";
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
        assert!(is_clear(&of(0)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
