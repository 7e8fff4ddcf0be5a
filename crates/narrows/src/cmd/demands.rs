//! Figures beside what the user demands of them, after a measurement or of a stored study.

use crate::args::DemandArgs;
use crate::cause::{Cause, Exit};
use crate::failure::Failure;
use narrows_model::host::Host;
use narrows_model::study::{Search, StoredStudy};
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_report::{searched, words};
use narrows_stats::{Demand, Met, SearchEnd, Searched, Summary, is_job_alone, searches, summarise};
use std::collections::BTreeSet;
use std::path::Path;

/// How a demand came out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Undecided,
    Failed,
}

impl Outcome {
    /// The worse of two.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Passed, Self::Passed) => Self::Passed,
        }
    }
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
    let summaries = Summaries::of_study(stored);
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
    Ok(with(code, worst))
}

/// What a command ends with that would end with `code`, of conditions that end with `worst`: one
/// that fails does so too where the precision was not reached.
fn with(code: u8, worst: u8) -> u8 {
    let is_open = code == Exit::Precision.code() && worst == Exit::Verdict.code();
    if code == Exit::Ok.code() || is_open { worst } else { code }
}

/// Summaries, the labels of those that are meant by their label alone, and searches for a rate.
struct Summaries<'a> {
    all: Vec<Summary>,
    aside: BTreeSet<&'a str>,
    searches: Vec<Searched>,
}

impl<'s> Summaries<'s> {
    fn of_study(study: &'s StoredStudy) -> Self {
        Self { all: summarise(study), aside: aside(study), searches: searches(study) }
    }

    /// Searches that a demand speaks of.
    fn searched<'a>(&'a self, demand: &'a Demand) -> impl Iterator<Item = &'a Searched> {
        self.searches.iter().filter(|search| demand.fits_search(search))
    }

    /// Those that a demand speaks of.
    fn of<'a>(&'a self, demand: &'a Demand) -> impl Iterator<Item = &'a Summary> {
        let fit = self.all.iter().filter(|cell| demand.fits(cell));
        fit.filter(|cell| demand.names(cell) || !self.aside.contains(cell.label.as_str()))
    }
}

/// Cells whose traffic marks a job and measures nothing, and rates that a search tries, of which
/// the low ones pass: `tcp` and `packets` do not mean them.
fn aside(study: &StoredStudy) -> BTreeSet<&str> {
    let trials = study.trials.iter();
    let aside = trials.filter(|trial| is_job_alone(trial) || study.is_searched(trial));
    aside.map(|trial| trial.label.as_str()).collect()
}

/// Refuses a demand that none of the planned cells which it speaks of can meet for its unit, before
/// anything is measured. Cells that come later, such as those of a probe, are not known here.
pub fn check(trials: &[Trial], demands: &DemandArgs) -> Result<(), Failure> {
    let study = planned(trials, None);
    check_units(&Summaries::of_study(&study), demands)
}

/// The same where all cells, and the search for a rate, are known: one that speaks of none of them
/// is refused too.
pub fn check_all(
    trials: &[Trial],
    search: Option<&Search>,
    demands: &DemandArgs,
) -> Result<(), Failure> {
    let study = planned(trials, search);
    let summaries = Summaries::of_study(&study);
    let is_of_none = |demand: &&Demand| {
        summaries.of(demand).next().is_none() && summaries.searched(demand).next().is_none()
    };
    match asked(demands).find(is_of_none) {
        Some(demand) => Err(of_no_cell(demand)),
        None => check_units(&summaries, demands),
    }
}

fn check_units(planned: &Summaries<'_>, demands: &DemandArgs) -> Result<(), Failure> {
    for demand in asked(demands) {
        if demand.is_of_search() {
            // Searches are known from the beginning, where there are any.
            let search = planned.searched(demand).next().ok_or_else(|| of_no_cell(demand))?;
            if let Met::OtherUnit(unit) = demand.met_by_search(search) {
                return Err(of_other_unit(demand, &search.of, unit));
            }
            continue;
        }
        let fit: Vec<&Summary> = planned.of(demand).collect();
        let Some(first) = fit.first() else { continue };
        if let Some(unit) = demand.other_unit(first)
            && fit.iter().all(|cell| demand.other_unit(cell).is_some())
        {
            return Err(of_other_unit(demand, &first.label, unit));
        }
    }
    Ok(())
}

fn asked(demands: &DemandArgs) -> impl Iterator<Item = &Demand> {
    let expected = demands.expect.iter().flat_map(|expected| &expected.0);
    demands.fail_if.iter().chain(expected.map(|(_, demand)| demand))
}

/// A study without runs.
fn planned(trials: &[Trial], search: Option<&Search>) -> StoredStudy {
    let mut study = StoredStudy::unmeasured(Host::default());
    study.trials = trials.to_vec();
    study.study.search = search.copied();
    study
}

fn of_no_cell(demand: &Demand) -> Failure {
    let what = if demand.is_of_search() { "search for a rate" } else { "cell" };
    let says = format!("'{}' speaks of no {what} of this study", demand.text());
    Failure::of(Cause::NO_SUCH_CELL, says)
}

fn of_other_unit(demand: &Demand, label: &str, unit: Unit) -> Failure {
    let says = format!("'{}': {label} is in {}", demand.text(), words::word(&unit));
    Failure::of(Cause::OTHER_UNIT, says)
}

/// Holds one demand beside every cell that it speaks of, and says so. With a name it is expected;
/// without one it must not be.
fn one(demand: &Demand, summaries: &Summaries<'_>, name: Option<&str>) -> Result<Outcome, Failure> {
    if demand.is_of_search() {
        return of_search(demand, summaries, name);
    }
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
        worst = worst.or(said(demand, met, name, &figure(cell, met)));
    }
    Ok(worst)
}

/// The same of searches for a rate.
fn of_search(
    demand: &Demand,
    summaries: &Summaries<'_>,
    name: Option<&str>,
) -> Result<Outcome, Failure> {
    let mut worst = None;
    for search in summaries.searched(demand) {
        let met = demand.met_by_search(search);
        if let Met::OtherUnit(unit) = met {
            return Err(of_other_unit(demand, &search.of, unit));
        }
        let outcome = said(demand, met, name, &found(search, met));
        worst = Some(worst.map_or(outcome, |worst: Outcome| worst.or(outcome)));
    }
    worst.ok_or_else(|| of_no_cell(demand))
}

/// Says how a demand came out beside a figure.
fn said(demand: &Demand, met: Met, name: Option<&str>, figure: &str) -> Outcome {
    let outcome = outcome(met, name.is_some());
    let subject = name.unwrap_or("fail-if");
    note!("{}: {subject}: {} ({figure})", word(outcome), demand.text());
    outcome
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

/// What a search found, and what stands in the way of an answer.
fn found(search: &Searched, met: Met) -> String {
    let why = match (met, search.end) {
        (Met::Undecided, SearchEnd::SenderBound) => ": a faster sender would tell",
        (Met::Undecided, SearchEnd::Undecided) => ": more --runs-max would tell",
        (Met::Undecided, _) if search.loses.is_none() => ": a higher --rate would tell",
        (Met::Undecided, _) => ": the bound is inside, a finer --resolution would tell",
        _ => "",
    };
    format!("{}: {}{why}", search.of, searched::found(search))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{EndReport, FlowTally, Params, Role, Stretch, StretchOf, Timeline};
    use narrows_model::record::{Outcome::Done, Record, Reported, Stamp};
    use narrows_model::study::RATE;
    use narrows_model::trial::{EndSpec, Level, MemoryLoad, NetworkPath, Placement, TrialId};
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
        let study = planned(&trials, None);
        let summaries = Summaries::of_study(&study);
        let labels = |text: &str| -> Vec<String> {
            let demand = text.parse().expect("a demand");
            summaries.of(&demand).map(|cell| cell.label.clone()).collect()
        };
        assert_eq!(labels("tcp.median < 9 Gbit/s"), ["up"]);
        assert_eq!(labels("the job alone.median < 9 Gbit/s"), ["the job alone"]);
    }

    #[test]
    fn what_no_planned_cell_can_meet_is_refused_before_anything_is_measured() {
        let all = |trials: &[Trial], demands: &DemandArgs| check_all(trials, None, demands);
        let of = |check: fn(&[Trial], &DemandArgs) -> Result<(), Failure>, text: &str| {
            check(&[stream()], &fails_if(text))
        };
        for text in ["tcp.median < 9 Gbit/s", "up.median < 9 Gbit/s", "up.p99 > 3 ms"] {
            assert!(of(all, text).is_ok() && of(check, text).is_ok(), "{text}");
        }
        for text in ["tcp.median < 9 GB/s", "up.loss > 3 ms"] {
            assert!(of(all, text).is_err() && of(check, text).is_err(), "{text}");
        }
        // A probe's cells, say, come later than those that were planned.
        let later = "path-probe.median > 3 ms";
        assert!(of(check, later).is_ok() && of(all, later).is_err());
    }

    fn fails_if(text: &str) -> DemandArgs {
        DemandArgs { fail_if: vec![text.parse().expect("a demand")], expect: None }
    }

    const SEARCH: Search = Search {
        rate_max_packets_per_second: 16_000.0,
        burst_max_frames: None,
        throughput_packets_per_second: None,
        rate_min_packets_per_second: Some(1000.0),
        resolution_percent: 50.0,
        loss_percent: 0.0,
        confidence_percent: 95.0,
        runs_max: 80,
    };

    /// Cells of all rates of the search, of frames of 64 B.
    fn rates() -> Vec<Trial> {
        let of = |rate: u64| {
            let level = |factor: &str, level: String| Level { factor: factor.into(), level };
            let levels = vec![level("frame", "64 B".into()), level(RATE, Search::level_of(rate))];
            let label = format!("64 B, {rate}/s");
            Trial { id: TrialId(label.clone()), label, kind: "packets".into(), levels, ..stream() }
        };
        SEARCH.rates().into_iter().map(of).collect()
    }

    /// A search over a path that carries so many packets a second, by a sender that reaches so
    /// many, with so many runs at each rate.
    fn searched_over(carries: u64, reaches: u64, runs: u32) -> StoredStudy {
        let mut study = planned(&rates(), Some(&SEARCH));
        for (rate, trial) in SEARCH.rates().into_iter().zip(study.trials.clone()) {
            let sent = rate.min(reaches);
            let lost = sent.saturating_sub(carries);
            let flow = |sends: bool, datagrams: u64| {
                let stretch = Some(Stretch { of: StretchOf::SenderWindow, datagrams });
                FlowTally { messages: datagrams, sends, stretch, ..FlowTally::default() }
            };
            let end = |flow: FlowTally| {
                let window_ns = Nanos(1_000_000_000);
                Some(Box::new(EndReport { window_ns, flows: vec![flow], ..EndReport::default() }))
            };
            let reports =
                Reported::list(end(flow(false, sent - lost)), end(flow(true, sent)), None);
            study.records.extend((0..runs).map(|repeat| Record {
                trial: trial.id.clone(),
                repeat,
                block: repeat,
                outcome: Done,
                reports: reports.clone(),
                around: Stamp::default(),
                session: 0,
                external: None,
            }));
        }
        study
    }

    #[test]
    fn a_search_is_judged_by_the_rate_that_it_found() {
        let ends = |study: &StoredStudy, text: &str, code: u8| {
            judged_of(study, &fails_if(&format!("packets.throughput {text}")), code).ok()
        };
        let found = searched_over(5000, u64::MAX, 6);
        assert_eq!(searches(&found)[0].end, SearchEnd::Found);
        assert_eq!(ends(&found, "< 3000 packet/s", 0), Some(0));
        assert_eq!(ends(&found, "< 0.009 Mpps", 0), Some(1));
        assert_eq!(ends(&found, "< 5000 packet/s", 0), Some(4));
        // A condition that fails does so of an undecided search too, and not of one that was
        // stopped.
        assert_eq!(ends(&found, "< 9000 packet/s", 4), Some(1));
        assert_eq!(ends(&found, "< 9000 packet/s", 130), Some(130));
        assert_eq!(ends(&found, "< 3000 packet/s", 4), Some(4));
        // The sender reaches 4,000: of the path no more is known than that it carries these.
        let bound = searched_over(u64::MAX, 4000, 6);
        assert_eq!(searches(&bound)[0].end, SearchEnd::SenderBound);
        assert_eq!(ends(&bound, "< 3900 packet/s", 0), Some(0));
        assert_eq!(ends(&bound, "< 9000 packet/s", 0), Some(4));
        assert_eq!(ends(&searched_over(5000, u64::MAX, 0), "< 1 packet/s", 0), Some(1));
    }

    #[test]
    fn each_rate_that_is_tried_is_meant_by_its_label_alone() {
        let study = searched_over(5000, u64::MAX, 6);
        for (text, is_of_one) in [
            ("packets.median < 9 Mpps", false),
            ("packets.loss > 5 %", false),
            ("128 B.throughput < 9 Mpps", false),
            ("64 B.throughput < 9 Mpps", true),
            ("64 B, 16000/s.loss > 5 %", true),
        ] {
            let demands = fails_if(text);
            assert_eq!(judged_of(&study, &demands, 0).is_ok(), is_of_one, "{text}");
            let before = check_all(&rates(), Some(&SEARCH), &demands);
            assert_eq!(before.is_ok(), is_of_one, "{text}");
        }
        let of_bits = fails_if("packets.throughput < 9 Gbit/s");
        assert!(check_all(&rates(), Some(&SEARCH), &of_bits).is_err());
        assert!(judged_of(&study, &of_bits, 0).is_err());
        // Nothing is searched.
        for text in ["packets.throughput < 9 Mpps", "tcp.throughput < 9 Mpps"] {
            assert!(check(&[stream()], &fails_if(text)).is_err(), "{text}");
        }
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
