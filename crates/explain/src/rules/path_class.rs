//! `path-class`: does the path treat packets of this class worse than others?
//!
//! Networks shape or police by differentiated services code point (RFC 2474). Everything of one
//! class then looks like a slower link. Packet trains of another class beside those of the
//! traffic's own tell whether it is the link or the class.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::volleys::Classes;
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-class",
    asks: "Does the path treat packets of this class worse than others?",
    of_host: false,
    judge,
};

/// The slowest train of the other class comes at so many times the rate of the own one's fastest.
const FASTER: f64 = 1.5;
/// Share of the packets more that come of the other class.
const MORE_SHARE: f64 = 0.2;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ProbedAnyStream, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let all = cell.classes(|own, other| own.dscp() != other.dscp());
    let first = all.first().ok_or_else(|| cell.lacks(Measure::TrainsOfTwoClasses))?;
    let seen = says(first);
    // Every probe must say so: what changes between two trains is no class.
    let is_slower = all.iter().all(|classes| is_faster(classes) || is_kept(classes));
    let wrong = (is_slower && !cell.is_busy()).then(|| {
        let says = format!(
            "The path treats DSCP {} worse than others in {}, a class that is shaped or policed: \
             {seen}",
            first.own.dscp(),
            cell.trial.label
        );
        let remedy = format!(
            "see which class the networks between give DSCP {} (tc -s class, tc filter, a \
             provider's classes) and raise its rate, or use one that they carry: --dscp {}",
            first.own.dscp(),
            first.other.dscp()
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether the other class comes faster in every train.
fn is_faster(classes: &Classes<'_>) -> bool {
    let rates = classes.own_bps.zip(classes.other_bps);
    rates.is_some_and(|(own, other)| other.low >= FASTER * own.high)
}

/// Whether far more of the other class comes.
fn is_kept(classes: &Classes<'_>) -> bool {
    classes.other_came - classes.own_came >= MORE_SHARE
}

fn says(classes: &Classes<'_>) -> String {
    let of = |dscp: u8, bps: Option<narrows_stats::Range>, came: f64| {
        let rate = bps.map_or(String::new(), |bps| format!(" at {:.0} Mb/s", bps.middle / 1e6));
        format!("{:.0} % of packets of DSCP {dscp} come{rate}", 100.0 * came)
    };
    format!(
        "{}, {}",
        of(classes.own.dscp(), classes.own_bps, classes.own_came),
        of(classes.other.dscp(), classes.other_bps, classes.other_came)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::probes::testing::with_probes;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use crate::volleys::testing::at;
    use narrows_model::probe::{Marked, PathProbe, Train, WayProbe};

    #[test]
    fn a_class_that_comes_slower_in_every_train_is_found() {
        let of = |own: Vec<Train>, other: Vec<Train>| {
            let mut study = stream("tcp-stream");
            let marked = vec![
                Marked { class: 0x20, is_own: true, trains: own },
                Marked { class: 0, is_own: false, trains: other },
            ];
            let there = WayProbe { marked, ..WayProbe::default() };
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        let fast = || vec![at(2000.0, 950.0, 100); 4];
        let slow = || vec![at(2000.0, 20.0, 100); 4];
        let found = of(slow(), fast());
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("DSCP 8 worse"), "{found:?}");
        assert!(is_found(&of(vec![at(2000.0, 950.0, 20); 4], fast())), "policed");
        assert!(is_clear(&of(fast(), slow())), "the other is the slow one");
        assert!(is_clear(&of(fast(), fast())));
        let mixed = vec![at(2000.0, 20.0, 100), at(2000.0, 20.0, 100), at(2000.0, 900.0, 100)];
        assert!(is_clear(&of([mixed, slow()].concat(), fast())), "not in every train");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
