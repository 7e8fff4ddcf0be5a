//! `path-drops-ecn`: does something on the path drop packets that ask for congestion marks?
//!
//! Where both ends agreed on ECN, data packets say so in the IP header (RFC 3168), and those that
//! are sent again do not. What drops the marked ones lets every packet pass the second time it is
//! sent: half of all are lost, in rows, without a queue, as behind a policer. Packet trains with
//! the mark and without it tell the two apart.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-drops-ecn",
    asks: "Does something on the path drop packets that ask for congestion marks (ECN)?",
    of_host: false,
    judge,
};

/// Share of the packets more that come without the mark.
const MORE_SHARE: f64 = 0.2;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::AgreesOnMarks);
    measured::judge(case, Needed::ProbedStream, idle, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

/// Whether the ends of a stream agreed on marks.
pub fn is_agreed(cell: &Cell<'_>) -> bool {
    cell.agreed(keys::OPTION_ECN) == Some(true)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || !is_agreed(cell) {
        return Err(Blind::OtherKind);
    }
    let all = cell.classes(|own, other| own.dscp() == other.dscp() && other.is_ecn());
    let worst = all.iter().max_by(|a, b| lost_more(a).total_cmp(&lost_more(b)));
    let worst = worst.ok_or_else(|| cell.lacks(Measure::TrainsWithEcn))?;
    let mark = if worst.other.class & 3 == 3 { "CE" } else { "ECT(0)" };
    let seen = format!(
        "{:.0} % of packets marked {mark} come, {:.0} % of those without a mark",
        100.0 * worst.other_came,
        100.0 * worst.own_came
    );
    let wrong = (lost_more(worst) >= MORE_SHARE).then(|| {
        let says = format!(
            "Something on the path drops packets for their ECN mark in {}, which both ends agreed \
             on: {seen}",
            cell.trial.label
        );
        let remedy = "find the firewall or router that drops by the ECN bits (nft list ruleset: ip \
                      ecn; old devices take them for a class) and let them pass; until then at the \
                      sender: sysctl -w net.ipv4.tcp_ecn=0, or for one route: ip route change ... \
                      features 0";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

fn lost_more(classes: &crate::volleys::Classes<'_>) -> f64 {
    classes.own_came - classes.other_came
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::probes::testing::with_probes;
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use crate::volleys::testing::at;
    use narrows_model::probe::{Marked, PathProbe, WayProbe};

    #[test]
    fn packets_that_vanish_for_their_mark_are_found() {
        let of = |own: u32, marked: Option<u32>, options: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.agreed_options", options);
            if let Some(came) = marked {
                let trains = |came| vec![at(2000.0, 900.0, came); 4];
                let marked = vec![
                    Marked { class: 0, is_own: true, trains: trains(own) },
                    Marked { class: 2, is_own: false, trains: trains(came) },
                ];
                let there = WayProbe { marked, ..WayProbe::default() };
                with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(100, Some(0), 15)));
        assert!(is_clear(&of(100, Some(100), 15)));
        assert!(is_clear(&of(60, Some(60), 15)), "both are lost alike");
        assert!(is_idle(&of(100, Some(0), 7)), "nobody asks for marks");
        assert!(is_unknown(&of(100, None, 15)));
    }
}
