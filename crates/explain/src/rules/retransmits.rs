//! `tcp-retransmits`: did TCP have to send segments again?
//!
//! Those that the receiver had already were late and not lost; of the others it is not known where
//! they went. Where both ends are one host no switch and no cable lie between.
//!
//! A flow that loses one segment in a thousand over a round trip of a millisecond cannot hold 10
//! Gb/s with 1460 B segments (Mathis et al., 1997: rate <= 1.22 MSS / (RTT sqrt(p))). Found from
//! that share on.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Verdict, Weight};

pub static RULE: Rule =
    Rule { name: "tcp-retransmits", asks: "Did TCP retransmit segments?", of_host: false, judge };

const LOST_SHARE: f64 = 0.001;
const BETWEEN_HOSTS: &str = "look for drops on the way: ethtool -S at both NICs, counters of the \
                             switch's ports, rings, a shaper or policer";
const WITHIN_A_HOST: &str = "no switch is in between: see this host's own queues and filters, tc -s \
                             qdisc and nft list ruleset, and nstat -az for pruned receive queues";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a TCP stream whose sender reads TCP's own counters", None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let share = cell.of_source(|end| {
        let sent = end.readings.total(keys::SENT).filter(|sent| *sent > 0)?;
        let again = end.readings.total(keys::RETRANSMITTED)?;
        // What the receiver had already was late, and not lost (duplicate SACK, RFC 2883).
        let had = end.readings.total(keys::DUPLICATES).unwrap_or(0);
        Some(again.saturating_sub(had) as f64 / sent as f64)
    });
    let share = match (share, cell.is_tcp_stream()) {
        (Some(share), _) => share,
        (None, true) => return Err(cell.lacks("TCP's count of its segments")),
        (None, false) => return Err(Blind::OtherKind),
    };
    let seen = format!(
        "{:.3} % of the segments sent again, less those that the receiver had already",
        100.0 * share
    );
    let wrong = (share >= LOST_SHARE).then(|| {
        let says = format!(
            "TCP retransmitted {:.2} % of its segments in {}, spurious ones not counted",
            100.0 * share,
            cell.trial.label
        );
        let remedy = if cell.summary.is_one_host() { WITHIN_A_HOST } else { BETWEEN_HOSTS };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::trial::Path;

    #[test]
    fn one_in_a_hundred_is_found_and_one_in_a_million_is_not() {
        let study = |again: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 1_000_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(10_000))));
        assert!(is_clear(&of_study(&RULE, &study(1))));
        let mut spurious = study(10_000);
        read(&mut spurious, "tcp-info", "flow0.duplicates_reported_segments", 9_990);
        assert!(is_clear(&of_study(&RULE, &spurious)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        // The advice knows the path.
        let advice = |path: Path| {
            let mut study = study(10_000);
            study.trials[0].path = path;
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].remedy.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(advice(Path::Peer).contains("switch's ports"));
        assert!(advice(Path::Namespaces).starts_with("no switch"));
    }
}
