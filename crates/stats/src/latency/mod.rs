//! Round trips beside streams: percentiles by phase and over time, how much longer a round trip
//! takes under load, a grade, and round trips a minute.

mod grade;
mod phases;

pub use grade::{Grade, per_minute};
pub use phases::Phase;

use crate::done::CONFIDENCE;
use crate::{Percentiles, median_interval, percentiles, total};
use narrows_model::Nanos;
use narrows_model::result::{Estimate, Method};
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use phases::{Run, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of a slice of time.
pub const SLICE: Nanos = Nanos::from_millis(250);
/// The fewest runs for an interval over runs.
const RUNS_MIN: usize = 6;

/// Percentiles of some round trips. One with fewer than ten beyond it is not given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TripTimes {
    /// The shortest round trip.
    pub min_ns: Nanos,
    /// Half were shorter.
    pub p50_ns: Option<Nanos>,
    /// 90 % were shorter.
    pub p90_ns: Option<Nanos>,
    /// 99 % were shorter.
    pub p99_ns: Option<Nanos>,
    /// The longest round trip.
    pub max_ns: Nanos,
}

impl TripTimes {
    fn of(times: &[Nanos]) -> Option<Self> {
        let each: Vec<(Nanos, u64)> = times.iter().map(|time| (*time, 1)).collect();
        let Percentiles { min_ns, p50_ns, p90_ns, p99_ns, max_ns, .. } =
            percentiles([each.as_slice()])?;
        Some(Self { min_ns, p50_ns, p90_ns, p99_ns, max_ns })
    }
}

/// The round trips of one phase, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTimes {
    pub phase: Phase,
    /// When it began in the first run, from the first request that counts.
    pub from_ns: Nanos,
    /// When it ended in that run.
    pub until_ns: Nanos,
    /// Requests that were due in it.
    pub requests: u64,
    /// Those of them that were never answered.
    pub unanswered: u64,
    /// Percentiles of those that were.
    pub times: Option<TripTimes>,
    /// Round trips that would fit into a minute, by the median.
    pub per_minute: Option<f64>,
    /// How much longer the median is than idle.
    pub median_rise: Option<Estimate>,
    /// The same of the 99th percentile, over runs.
    pub p99_rise: Option<Estimate>,
    /// The grade of that; `None` where nothing loads the path.
    pub grade: Option<Grade>,
}

/// The round trips of one slice of time, over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TripSlice {
    /// When it begins, from the first request that counts.
    pub start_ns: Nanos,
    /// Requests that were due in it.
    pub requests: u64,
    /// Those of them that were never answered.
    pub unanswered: u64,
    /// Median of those that were, however few.
    pub median_ns: Option<Nanos>,
    /// Percentiles of those that were.
    pub times: Option<TripTimes>,
}

/// Round trips before, beside and after streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedLatency {
    /// Runs that were made to the end.
    pub runs: u32,
    /// The worst grade of a loaded phase.
    pub grade: Option<Grade>,
    /// The phase with that grade; of several the one in which a round trip is longest.
    pub worst: Option<Phase>,
    /// Round trips a minute while both directions are loaded.
    pub per_minute: Option<f64>,
    /// The phases, in the order of time.
    pub phases: Vec<PhaseTimes>,
    /// Length of a slice.
    pub slice_ns: Nanos,
    /// Slices of time.
    pub slices: Vec<TripSlice>,
}

impl LoadedLatency {
    /// The loaded phase whose slowest tenth is longest beside the idle one's, and by how many
    /// nanoseconds; `None` where too few were answered for a 90th percentile.
    pub fn slowest_tenth(&self) -> Option<(Phase, f64)> {
        let p90 = |one: &PhaseTimes| Some(one.times?.p90_ns?.0 as f64);
        let idle = self.of(Phase::Idle).and_then(p90)?;
        let loaded = self.phases.iter().filter(|one| one.phase.is_loaded());
        let rises = loaded.filter_map(|one| Some((one.phase, p90(one)? - idle)));
        rises.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The round trips of a phase.
    pub fn of(&self, phase: Phase) -> Option<&PhaseTimes> {
        self.phases.iter().find(|one| one.phase == phase)
    }
}

/// What round trips beside streams took; `None` for a study of anything else.
pub fn latency(study: &StoredStudy) -> Option<LoadedLatency> {
    let runs = runs(study);
    let first = runs.first()?;
    let phases: Vec<PhaseTimes> =
        Phase::ALL.into_iter().map(|phase| times_of(&runs, first, phase)).collect();
    let loaded = || phases.iter().filter(|one| one.phase.is_loaded());
    let rise = |one: &&PhaseTimes| one.median_rise.as_ref().map_or(f64::MAX, |rise| rise.value);
    let worst = loaded().filter(|one| one.grade.is_some());
    let worst = worst.max_by(|a, b| a.grade.cmp(&b.grade).then(rise(a).total_cmp(&rise(b))));
    Some(LoadedLatency {
        runs: runs.len() as u32,
        grade: loaded().filter_map(|one| one.grade).max(),
        worst: worst.map(|one| one.phase),
        per_minute: phases.iter().find(|one| one.phase == Phase::Both)?.per_minute,
        slice_ns: SLICE,
        slices: slices(&runs),
        phases,
    })
}

fn times_of(runs: &[Run<'_>], first: &Run<'_>, phase: Phase) -> PhaseTimes {
    let all: Vec<(Vec<Nanos>, u64)> = runs.iter().map(|run| run.times(phase)).collect();
    let unanswered = total(all.iter().map(|(_, lost)| *lost));
    let times: Vec<Nanos> = all.into_iter().flat_map(|(times, _)| times).collect();
    let requests = times.len() as u64 + unanswered;
    let times = TripTimes::of(&times);
    let median = times.and_then(|times| times.p50_ns);
    let span = first.span(phase);
    let median_rise = median_rise(runs, phase);
    let rise = median_rise.as_ref().map(|rise| rise.value);
    // Where most are never answered, the median of those that are says nothing.
    let is_lost = requests > 0 && 2 * unanswered > requests;
    let grade = if is_lost { Some(Grade::F) } else { rise.map(Grade::of) };
    PhaseTimes {
        phase,
        from_ns: Nanos(span.from),
        until_ns: Nanos(span.until),
        requests,
        unanswered,
        times,
        per_minute: median.map(per_minute),
        median_rise,
        p99_rise: p99_rise(runs, phase),
        grade: grade.filter(|_| phase.is_loaded()),
    }
}

fn of_run(run: &Run<'_>, phase: Phase) -> Option<TripTimes> {
    TripTimes::of(&run.times(phase).0)
}

/// How much longer the median is than idle: over runs where there are enough for an interval, else
/// that of all round trips, with an interval over the slices of the phase, each against the idle
/// median of its run.
fn median_rise(runs: &[Run<'_>], phase: Phase) -> Option<Estimate> {
    let idle = |run: &Run<'_>| Some(of_run(run, Phase::Idle)?.p50_ns?.0 as f64);
    if phase == Phase::Idle {
        return None;
    }
    let of_runs = |run: &Run<'_>| Some(of_run(run, phase)?.p50_ns?.0 as f64 - idle(run)?);
    let of_slices = |run: &Run<'_>| {
        let idle = idle(run)?;
        Some(medians_in(run, phase).into_iter().map(move |median| median - idle))
    };
    if runs.len() >= RUNS_MIN {
        let values: Vec<f64> = runs.iter().filter_map(of_runs).collect();
        return median_interval(&values, CONFIDENCE, Unit::Nanos);
    }
    let values: Vec<f64> = runs.iter().filter_map(of_slices).flatten().collect();
    let slices = median_interval(&values, CONFIDENCE, Unit::Nanos)?;
    // The difference of the medians that stand beside it; bursts may leave it outside the slices'.
    let value = p50_of_all(runs, phase)? - p50_of_all(runs, Phase::Idle)?;
    if (slices.low..=slices.high).contains(&value) {
        return Some(Estimate { value, ..slices });
    }
    let (low, high) = (slices.low.min(value), slices.high.max(value));
    Some(Estimate { value, low, high, by: Method::Range, ..slices })
}

/// The median of the round trips of all runs, in nanoseconds.
fn p50_of_all(runs: &[Run<'_>], phase: Phase) -> Option<f64> {
    let all: Vec<Nanos> = runs.iter().flat_map(|run| run.times(phase).0).collect();
    Some(TripTimes::of(&all)?.p50_ns?.0 as f64)
}

/// The median of each whole slice of a phase.
fn medians_in(run: &Run<'_>, phase: Phase) -> Vec<f64> {
    let span = run.span(phase);
    let whole = span.until.saturating_sub(span.from) / SLICE.0;
    let mut slices = vec![Vec::new(); usize::try_from(whole).unwrap_or(0)];
    for (due, took) in run.each {
        let at = due.0.checked_sub(span.from).map(|since| (since / SLICE.0) as usize);
        if let Some((slice, took)) = at.and_then(|at| slices.get_mut(at)).zip(*took) {
            slice.push(took.0 as f64);
        }
    }
    slices.iter().filter_map(|slice| crate::median(slice)).collect()
}

fn p99_rise(runs: &[Run<'_>], phase: Phase) -> Option<Estimate> {
    let p99 = |run: &Run<'_>, phase| Some(of_run(run, phase)?.p99_ns?.0 as f64);
    let rises = runs.iter().filter_map(|run| Some(p99(run, phase)? - p99(run, Phase::Idle)?));
    let values: Vec<f64> = rises.filter(|_| phase != Phase::Idle).collect();
    median_interval(&values, CONFIDENCE, Unit::Nanos)
}

/// All round trips by when they were due, over all runs.
fn slices(runs: &[Run<'_>]) -> Vec<TripSlice> {
    let window = runs.iter().map(|run| run.window_ns).max().unwrap_or(0);
    let mut slices = vec![(Vec::new(), 0_u64); window.div_ceil(SLICE.0) as usize];
    for (due, took) in runs.iter().flat_map(|run| run.each) {
        let Some((times, unanswered)) = slices.get_mut((due.0 / SLICE.0) as usize) else {
            continue;
        };
        match took {
            Some(took) => times.push(*took),
            None => *unanswered += 1,
        }
    }
    let told = slices.into_iter().zip(0_u64..).map(|((times, unanswered), at)| TripSlice {
        start_ns: Nanos(at * SLICE.0),
        requests: times.len() as u64 + unanswered,
        unanswered,
        median_ns: median_of(&times),
        times: TripTimes::of(&times),
    });
    told.collect()
}

fn median_of(times: &[Nanos]) -> Option<Nanos> {
    let all: Vec<f64> = times.iter().map(|time| time.0 as f64).collect();
    crate::median(&all).map(|median| Nanos(median.round() as u64))
}
