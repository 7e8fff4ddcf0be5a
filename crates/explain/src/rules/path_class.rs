//! `path-class`: does the path treat packets of this class worse than others?
//!
//! Networks shape or police by differentiated services code point (RFC 2474). Everything of one
//! class then looks like a slower link. Packet trains of another class beside those of the
//! traffic's own tell whether it is the link or the class. A policer with room for a second of its
//! rate passes trains whole: the same stream in another class tells then, also of a class of which
//! nothing comes.

use crate::evidence::evidence;
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::unheard::{Unheard, bare, class, unheard};
use crate::volleys::Classes;
use crate::{Case, Rule};
use narrows_model::result::{Finding, Measure, Needed, Verdict, Weight};

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
    let lost: Vec<Finding> = unheard(case).iter().map(dropped).collect();
    let rest = measured::judge(case, Needed::ProbedAnyStream, None, look);
    if lost.is_empty() {
        return rest;
    }
    let mut findings = measured::joined(lost);
    if let Verdict::Found { findings: more } = rest {
        findings.extend(more);
    }
    Verdict::Found { findings }
}

/// A class of which nothing comes.
fn dropped(cell: &Unheard<'_>) -> Finding {
    let Unheard { trial, runs, dscp, passes } = cell;
    let seen = format!(
        "connections of DSCP {dscp} did not stand in any run, and those of DSCP {passes} did in each"
    );
    let says = format!("The path drops packets of DSCP {dscp} in {}: {seen}", trial.label);
    let counted = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let remedy = format!(
        "see which filter or class between the hosts drops DSCP {dscp} (nft list ruleset: ip dscp; \
         iptables: -m dscp; tc -s class), and let it pass, or use one that passes: --dscp {passes}"
    );
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Caution,
        says,
        evidence: vec![evidence(seen, format!("{counted} of {}", trial.label))],
        worth: None,
        remedy,
    }
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    if let Some(slower) = against_stream(cell) {
        return slower;
    }
    let all = cell.classes(|own, other| own.dscp() != other.dscp());
    let first = all.first().ok_or_else(|| cell.lacks(Measure::TrainsOfTwoClasses))?;
    let seen = says(first);
    // Every probe must say so: what changes between two trains is no class.
    let is_slower = all.iter().all(|classes| is_faster(classes) || is_kept(classes));
    // Trains tell of the path; whether it is what holds the stream, a full CPU hides.
    if is_slower && cell.is_busy() {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let wrong = is_slower.then(|| {
        let says = format!(
            "The path treats DSCP {} worse than others in {}, a class that is shaped or policed: \
             {seen}",
            first.own.dscp(),
            cell.trial.label
        );
        let remedy = remedy(first.own.dscp(), first.other.dscp());
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

fn remedy(own: u8, other: u8) -> String {
    format!(
        "see which class the networks between give DSCP {own} (tc -s class, tc filter, a \
         provider's classes) and raise its rate, or use one that they carry: --dscp {other}"
    )
}

/// What the same stream in another class says, where it is faster in each run than this one in any;
/// `None` where none was measured or is, or where a CPU may be what this one waits for.
fn against_stream(cell: &Cell<'_>) -> Option<Looked> {
    if cell.is_busy() {
        return None;
    }
    let own = class(&cell.trial.params);
    let high_bps = cell.rates()?.high;
    let others = cell.beside(|params| bare(&params));
    let other = others
        .iter()
        .find(|other| class(&other.trial.params) != own && other.low_bps() >= FASTER * high_bps)?;
    let other_dscp = class(&other.trial.params);
    let seen = format!(
        "{:.0} Mb/s in DSCP {own}, and {:.0} Mb/s of the same stream in DSCP {other_dscp}",
        high_bps / 1e6,
        other.low_bps() / 1e6
    );
    let says = format!(
        "The path treats DSCP {own} worse than others in {}, a class that is shaped or policed: \
         the fastest run moved {seen} in the slowest",
        cell.trial.label
    );
    let remedy = remedy(own, other_dscp);
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
    Some(cell.saw(seen, Some(found)))
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
    use narrows_model::load::SocketParams;
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
    #[test]
    fn the_same_stream_in_another_class_tells_where_trains_do_not() {
        use crate::beside::testing::with_beside;
        let of = |class: u8, times: f64| {
            let mut study = stream("tcp-stream");
            let in_class = |dscp| Some(SocketParams { dscp: Some(dscp), ..Default::default() });
            study.trials[0].params.socket = in_class(10);
            with_beside(&mut study, |params| params.socket = in_class(class), times);
            of_study(&RULE, &study)
        };
        let found = of(0, 1.6);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("DSCP 10 worse"), "{found:?}");
        assert!(is_unknown(&of(0, 1.4)), "about the same, and no trains");
    }

    #[test]
    fn a_class_of_which_no_connection_stands_is_dropped() {
        use crate::beside::testing::with_beside;
        use narrows_model::record::{Fault, Outcome, Stage};
        let of = |other: u8, fault: Fault| {
            let mut study = stream("tcp-stream");
            let in_class = |dscp| Some(SocketParams { dscp: Some(dscp), ..Default::default() });
            study.trials[0].params.socket = in_class(46);
            let id = study.trials[0].id.clone();
            with_beside(&mut study, |params| params.socket = in_class(other), 1.0);
            for record in study.records.iter_mut().filter(|record| record.trial == id) {
                let why = "no answer".to_owned();
                record.outcome = Outcome::Failed { at: Stage::Prepare, why, fault };
            }
            of_study(&RULE, &study)
        };
        let found = of(0, Fault::Apart);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("drops packets of DSCP 46"), "{found:?}");
        assert!(!is_found(&of(46, Fault::Apart)), "the same class");
        assert!(!is_found(&of(0, Fault::Machine)), "the ends met");
    }

    #[test]
    fn a_full_cpu_leaves_it_to_the_trains() {
        use crate::beside::testing::with_beside;
        let of = |trains_mbps: Option<f64>| {
            let mut study = stream("tcp-stream");
            let in_class = |dscp| Some(SocketParams { dscp: Some(dscp), ..Default::default() });
            study.trials[0].params.socket = in_class(8);
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.threads[0].system_ns = end.report.threads[0].wall_ns;
            }
            with_beside(&mut study, |params| params.socket = in_class(0), 1.6);
            if let Some(mbps) = trains_mbps {
                let of = |class, is_own, mbps| {
                    let trains = vec![at(2000.0, mbps, 100); 4];
                    Marked { class, is_own, trains }
                };
                let marked = vec![of(0x20, true, mbps), of(0, false, 950.0)];
                let there = WayProbe { marked, ..WayProbe::default() };
                with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            }
            of_study(&RULE, &study)
        };
        assert!(is_unknown(&of(None)), "nothing but the CPU's rate");
        assert!(is_unknown(&of(Some(20.0))), "trains are slower, and a CPU was full");
        let clear = of(Some(950.0));
        assert!(
            is_clear(&clear) && format!("{clear:?}").contains("packets of DSCP 8"),
            "{clear:?}"
        );
    }
}
