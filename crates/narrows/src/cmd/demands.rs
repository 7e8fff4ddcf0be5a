//! Figures beside what the user demands of them, after a measurement or of a stored study.

use crate::args::DemandArgs;
use crate::cause::{Cause, Exit};
use crate::failure::Failure;
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_report::words;
use narrows_stats::{Demand, Met, Summary, is_job_alone, summarise};
use std::collections::BTreeSet;
use std::path::Path;

/// How a demand came out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Undecided,
    Failed,
}

/// The exit code of a command that ends with `code` where nothing is demanded.
pub fn judged(file: &Path, demands: &DemandArgs, code: u8) -> Result<u8, Failure> {
    if demands.fail_if.is_empty() && demands.expect.is_none() {
        return Ok(code);
    }
    judged_of(&narrows_store::read(file)?, demands, code)
}

/// The same of a study that was read already, or of a table that is none.
pub fn judged_of(stored: &StoredStudy, demands: &DemandArgs, code: u8) -> Result<u8, Failure> {
    if demands.fail_if.is_empty() && demands.expect.is_none() {
        return Ok(code);
    }
    let summaries = Summaries { all: summarise(stored), aside: aside(&stored.trials) };
    let mut all = Vec::new();
    for demand in &demands.fail_if {
        all.push(one(demand, &summaries, None)?);
    }
    for (name, demand) in demands.expect.iter().flat_map(|expected| &expected.0) {
        all.push(one(demand, &summaries, Some(name))?);
    }
    let worst = match (all.contains(&Outcome::Failed), all.contains(&Outcome::Undecided)) {
        (true, _) => Exit::Verdict.code(),
        (false, true) => Exit::Precision.code(),
        (false, false) => Exit::Ok.code(),
    };
    Ok(if code == Exit::Ok.code() { worst } else { code })
}

/// Summaries, and the labels of those that are meant by their label alone.
struct Summaries<'a> {
    all: Vec<Summary>,
    aside: BTreeSet<&'a str>,
}

impl Summaries<'_> {
    /// Those that a demand speaks of.
    fn of<'a>(&'a self, demand: &'a Demand) -> impl Iterator<Item = &'a Summary> {
        let fit = self.all.iter().filter(|cell| demand.fits(cell));
        fit.filter(|cell| demand.names(cell) || !self.aside.contains(cell.label.as_str()))
    }
}

/// Cells whose traffic marks a job and measures nothing: `tcp` does not mean them.
fn aside(trials: &[Trial]) -> BTreeSet<&str> {
    let alone = trials.iter().filter(|trial| is_job_alone(trial));
    alone.map(|trial| trial.label.as_str()).collect()
}

/// Refuses a demand that none of the planned cells which it speaks of can meet for its unit, before
/// anything is measured. Cells that come later, such as those of a probe, are not known here.
pub fn check(trials: &[Trial], demands: &DemandArgs) -> Result<(), Failure> {
    let planned = planned(trials);
    for demand in asked(demands) {
        let fit: Vec<&Summary> = planned.iter().filter(|cell| demand.fits(cell)).collect();
        let Some(first) = fit.first() else { continue };
        if let Some(unit) = demand.other_unit(first)
            && fit.iter().all(|cell| demand.other_unit(cell).is_some())
        {
            return Err(of_other_unit(demand, &first.label, unit));
        }
    }
    Ok(())
}

/// The same where all cells are known: one that speaks of none of them is refused too.
pub fn check_all(trials: &[Trial], demands: &DemandArgs) -> Result<(), Failure> {
    let planned = planned(trials);
    let mut all = asked(demands);
    match all.find(|demand| !planned.iter().any(|cell| demand.fits(cell))) {
        Some(demand) => Err(of_no_cell(demand)),
        None => check(trials, demands),
    }
}

fn asked(demands: &DemandArgs) -> impl Iterator<Item = &Demand> {
    let expected = demands.expect.iter().flat_map(|expected| &expected.0);
    demands.fail_if.iter().chain(expected.map(|(_, demand)| demand))
}

/// Cells without figures.
fn planned(trials: &[Trial]) -> Vec<Summary> {
    let mut study = StoredStudy::unmeasured(Host::default());
    study.trials = trials.to_vec();
    summarise(&study)
}

fn of_no_cell(demand: &Demand) -> Failure {
    let says = format!("'{}' speaks of no cell of this study", demand.text());
    Failure::of(Cause::NO_SUCH_CELL, says)
}

fn of_other_unit(demand: &Demand, label: &str, unit: Unit) -> Failure {
    let says = format!("'{}': {label} is in {}", demand.text(), words::word(&unit));
    Failure::of(Cause::OTHER_UNIT, says)
}

/// Holds one demand beside every cell that it speaks of, and says so. With a name it is expected;
/// without one it must not be.
fn one(demand: &Demand, summaries: &Summaries<'_>, name: Option<&str>) -> Result<Outcome, Failure> {
    let fit = summaries.of(demand);
    let cells: Vec<(&Summary, Met)> = fit.map(|cell| (cell, demand.met(cell))).collect();
    if cells.is_empty() {
        return Err(of_no_cell(demand));
    }
    // `tcp` means streams and round trips: the unit says which.
    let in_unit = cells.iter().filter(|(_, met)| !matches!(met, Met::OtherUnit(_)));
    let told: Vec<(&Summary, Met)> = in_unit.copied().collect();
    let mut worst = Outcome::Passed;
    for (cell, met) in if told.is_empty() { cells } else { told } {
        if let Met::OtherUnit(unit) = met {
            return Err(of_other_unit(demand, &cell.label, unit));
        }
        let outcome = outcome(met, name.is_some());
        let subject = name.unwrap_or("fail-if");
        note!("{}: {subject}: {} ({})", word(outcome), demand.text(), figure(cell, met));
        if outcome == Outcome::Failed || worst == Outcome::Passed {
            worst = outcome;
        }
    }
    Ok(worst)
}

/// A figure that is not there passes nothing.
fn outcome(met: Met, is_expected: bool) -> Outcome {
    match (met, is_expected) {
        (Met::Yes, true) | (Met::No, false) => Outcome::Passed,
        (Met::Undecided, _) => Outcome::Undecided,
        _ => Outcome::Failed,
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Undecided => "undecided",
        Outcome::Failed => "failed",
    }
}

/// The cell with its median, and what stands in the way of an answer.
fn figure(cell: &Summary, met: Met) -> String {
    let median = cell.estimate.map_or_else(
        || "no median".to_owned(),
        |figure| {
            let [low, median, high] =
                [figure.low, figure.value, figure.high].map(|end| words::value(end, figure.unit));
            format!("median {median}, {low} to {high}")
        },
    );
    let why = match met {
        Met::Missing => ": there is no such figure",
        Met::Undecided => ": the bound is inside, more runs would tell",
        _ => "",
    };
    format!("{}: {median}{why}", cell.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, Role, Timeline};
    use narrows_model::trial::{EndSpec, MemoryLoad, NetworkPath, Placement, TrialId};
    use narrows_model::{Bytes, Nanos};

    fn stream() -> Trial {
        Trial {
            id: TrialId("tcp-stream".into()),
            label: "up".into(),
            kind: "tcp-stream".into(),
            params: Params::of_network(Bytes(1000), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(1_000_000_000), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    /// As `neighbours` makes them: traffic with a job, and 1 Mb/s that marks the job alone.
    #[test]
    fn a_stream_that_marks_a_job_is_meant_by_its_label_alone() {
        let (mut beside, mut alone) = (stream(), stream());
        let working_set_bytes = Bytes(1 << 20);
        let load = MemoryLoad { kind: "memory-copy".into(), threads: 1, working_set_bytes };
        for trial in [&mut beside, &mut alone] {
            let mut end = EndSpec::of_memory(Placement::default()).remove(0);
            (end.role, end.load) = (Role::Background, Some(load.clone()));
            trial.ends.push(end);
        }
        alone.params.rate_bps = Some(1_000_000);
        (alone.id, alone.label) = (TrialId("alone".into()), "the job alone".into());
        let trials = [beside, alone];
        let summaries = Summaries { all: planned(&trials), aside: aside(&trials) };
        let labels = |text: &str| -> Vec<String> {
            let demand = text.parse().expect("a demand");
            summaries.of(&demand).map(|cell| cell.label.clone()).collect()
        };
        assert_eq!(labels("tcp.median < 9 Gbit/s"), ["up"]);
        assert_eq!(labels("the job alone.median < 9 Gbit/s"), ["the job alone"]);
    }

    #[test]
    fn what_no_planned_cell_can_meet_is_refused_before_anything_is_measured() {
        let of = |check: fn(&[Trial], &DemandArgs) -> Result<(), Failure>, text: &str| {
            let demand = text.parse().expect("a demand");
            check(&[stream()], &DemandArgs { fail_if: vec![demand], expect: None })
        };
        for text in ["tcp.median < 9 Gbit/s", "up.median < 9 Gbit/s", "up.p99 > 3 ms"] {
            assert!(of(check_all, text).is_ok() && of(check, text).is_ok(), "{text}");
        }
        for text in ["tcp.median < 9 GB/s", "up.loss > 3 ms"] {
            assert!(of(check_all, text).is_err() && of(check, text).is_err(), "{text}");
        }
        // A probe's cells, say, come later than those that were planned.
        let later = "path-probe.median > 3 ms";
        assert!(of(check, later).is_ok() && of(check_all, later).is_err());
    }

    #[test]
    fn nothing_that_was_not_measured_passes() {
        for is_expected in [true, false] {
            assert!(outcome(Met::Missing, is_expected) == Outcome::Failed);
            assert!(outcome(Met::Undecided, is_expected) == Outcome::Undecided);
        }
        assert!(outcome(Met::Yes, false) == Outcome::Failed);
        assert!(outcome(Met::No, true) == Outcome::Failed);
        assert!(outcome(Met::Yes, true) == Outcome::Passed);
        assert!(outcome(Met::No, false) == Outcome::Passed);
    }
}
