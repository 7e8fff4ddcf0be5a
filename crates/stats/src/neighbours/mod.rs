//! What a memory job and traffic on one host cost each other: runs of both together, set against
//! runs of each alone within the blocks in which they were made.
//!
//! What both lose is memory's only where neither takes the other's CPU and the job loads memory at
//! all; where that is not so the answer stays open. Blue and red are the two regimes of
//! *Understanding the Host Network* (SIGCOMM 2024): the job alone is slower, or the traffic too.

mod cells;
mod shared;

use crate::levels::ERROR_SHARE;
use crate::order::rank;
use crate::placement::{Cost, cost};
use crate::summarise::value_of;
use crate::{background, median_interval};
pub use cells::is_job_alone;
use cells::{Found, Job, Step, found};
use narrows_model::record::Record;
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::{Metric, Workload};
use schemars::JsonSchema;
use serde::Serialize;
use shared::shared;
use std::collections::BTreeMap;
use std::fmt;

/// More are never asked for: they hold a trillion intervals together.
const BLOCKS_MAX: u32 = 50;
/// `n` cores that move less than this share of `n` times what one moves are held by memory.
const SCALES_SHARE: f64 = 0.85;

/// Traffic of one kind beside one job on growing numbers of cores.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NeighbourTest {
    /// Name of the traffic: the levels that all its cells have.
    pub name: String,
    pub job: Workload,
    /// What the traffic's figures are.
    pub metric: Metric,
    /// Index of the trial of the traffic alone.
    pub alone: usize,
    /// The numbers of cores, ascending.
    pub steps: Vec<NeighbourStep>,
    /// What all of them show.
    pub regime: Slower,
}

/// Both together, with the job on so many cores.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NeighbourStep {
    /// Threads of the job, each on a core of its own.
    pub cores: u32,
    /// Index of the trial of both together.
    pub trial: usize,
    /// How many times slower the traffic is than alone.
    pub traffic: Slowdown,
    /// The same of the job; `None` where it was not measured alone, or was lost.
    pub job: Option<Slowdown>,
    /// What the job moves alone.
    pub job_alone: Option<Estimate>,
    /// What it moves beside the traffic.
    pub job_beside: Option<Estimate>,
    pub regime: Slower,
}

/// How many times slower something is than alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slowdown {
    /// The ratio, with an interval that holds for all of the study together.
    pub times: Estimate,
    /// What may be said of it.
    pub verdict: Cost,
}

/// Which of the two is slower beside the other than alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slower {
    /// Neither, by more than 5 %, though the job loads memory.
    Neither,
    /// The job alone: the blue regime.
    Job,
    /// The traffic, from so many cores on: the red regime.
    Traffic {
        /// The least number of cores with which it is.
        from_cores: u32,
        /// Whether the job is slower too.
        with_job: bool,
    },
    Open(Open),
}

impl Slower {
    /// Why it is not known, where it is not.
    fn why(self) -> Option<Open> {
        match self {
            Self::Open(why) => Some(why),
            _ => None,
        }
    }
}

/// Why it cannot be said who slows whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Open {
    /// Threads of the job waited for a CPU, or both were on one core.
    CpuShared,
    /// The traffic's interrupts took CPU time of the job's cores.
    InterruptsShared,
    /// Neither is slower, and more cores move as much more: memory was not loaded.
    NotLoaded,
    /// Neither is slower, and one number of cores does not tell whether memory was loaded.
    OneStep,
    /// The job did not last through its runs, or was not measured alone.
    JobUnknown,
    /// Too few runs for intervals that hold together.
    FewRuns,
    /// The intervals have more than one answer in them.
    Unclear,
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuShared => {
                "the job's threads waited for their CPUs, or share a core with the traffic"
            }
            Self::InterruptsShared => "interrupts of the traffic take the job's CPU time",
            Self::NotLoaded => "the job does not load memory: more cores move as much more",
            Self::OneStep => {
                "one number of cores was measured, which does not tell whether the job loads memory"
            }
            Self::JobUnknown => "the job was not measured alone, or was lost",
            Self::FewRuns => "too few runs for intervals that hold together",
            Self::Unclear => "the intervals are too wide",
        })
    }
}

/// The tests of a study that sets traffic beside memory jobs, and those alone; empty for others.
pub fn neighbours(study: &StoredStudy) -> Vec<NeighbourTest> {
    let all: Vec<Found> = (0..study.trials.len()).flat_map(|at| found(study, at)).collect();
    let claims = all.iter().flat_map(|test| &test.steps).map(Step::claims).sum::<usize>().max(1);
    let mut tests: Vec<NeighbourTest> =
        all.iter().map(|found| judged(study, found, claims)).collect();
    // A study with a background load and nothing to set the load against asks something else.
    tests.retain(|test| test.steps.iter().any(|step| step.job_alone.is_some()));
    tests
}

fn judged(study: &StoredStudy, found: &Found, claims: usize) -> NeighbourTest {
    let first = &study.trials[found.alone];
    let mut steps: Vec<NeighbourStep> =
        found.steps.iter().filter_map(|pair| step(study, found.alone, pair, claims)).collect();
    let why = if steps.len() == 1 { Open::OneStep } else { Open::NotLoaded };
    let is_loaded = is_loaded(&steps);
    for step in &mut steps {
        if step.regime == Slower::Neither && !is_loaded {
            step.regime = Slower::Open(why);
        }
    }
    let job = found.steps.first().and_then(|pair| Job::of(&study.trials[pair.both]));
    NeighbourTest {
        name: name(study, found),
        job: job.map_or_else(|| first.kind.clone(), |job| job.kind),
        metric: first.kind.metric().unwrap_or(Metric::Goodput),
        alone: found.alone,
        regime: overall(&steps),
        steps,
    }
}

/// Levels that all cells of a test share.
fn name(study: &StoredStudy, found: &Found) -> String {
    let first = &study.trials[found.alone];
    let both = found.steps.iter().map(|pair| &study.trials[pair.both]);
    let shared: Vec<&str> = first
        .levels
        .iter()
        .filter(|level| {
            let level_of = |trial: &Trial| trial.level(&level.factor) == Some(level.level.as_str());
            both.clone().all(level_of)
        })
        .map(|level| level.level.as_str())
        .collect();
    if shared.is_empty() { first.kind.to_string() } else { shared.join(", ") }
}

fn step(study: &StoredStudy, alone: usize, pair: &Step, claims: usize) -> Option<NeighbourStep> {
    let metric = study.trials[alone].kind.metric()?;
    let (lone, both) = (values(study, alone), values(study, pair.both));
    let traffic = if metric.larger_is_better() { (&lone, &both) } else { (&both, &lone) };
    let job_alone = pair.job.map(|job| moved(study, job)).unwrap_or_default();
    let job_both = moved(study, pair.both);
    let traffic = slowdown(traffic, claims)?;
    let job = slowdown((&job_alone, &job_both), claims);
    let cores = Job::of(&study.trials[pair.both])?.cores;
    let regime = shared(study, pair.both)
        .map_or_else(|| regime(&traffic, job.as_ref(), cores), Slower::Open);
    Some(NeighbourStep {
        cores,
        trial: pair.both,
        traffic,
        job,
        job_alone: rate(&job_alone),
        job_beside: rate(&job_both),
        regime,
    })
}

/// Figures of a trial's traffic by block.
fn values(study: &StoredStudy, at: usize) -> ByBlock {
    by_block(study, at, |trial, record| value_of(trial, record).map(|(value, _)| value.value))
}

/// Bytes a second of the job beside it by block.
fn moved(study: &StoredStudy, at: usize) -> ByBlock {
    by_block(study, at, |_, record| background::of_run(record))
}

fn rate(moved: &ByBlock) -> Option<Estimate> {
    let rates: Vec<f64> = moved.values().copied().collect();
    median_interval(&rates, 1.0 - ERROR_SHARE, Unit::BytesPerSecond)
}

/// What the run of each block has.
type ByBlock = BTreeMap<u32, f64>;

/// What each block's run of a trial has; runs that failed are missing.
fn by_block(
    study: &StoredStudy,
    at: usize,
    value: impl Fn(&Trial, &Record) -> Option<f64>,
) -> ByBlock {
    let trial = &study.trials[at];
    let runs = study.records.iter().filter(|record| record.trial == trial.id);
    runs.filter_map(|record| {
        let value = value(trial, record).filter(|value| *value > 0.0)?;
        Some((record.block, value))
    })
    .collect()
}

/// The larger by the smaller, block by block, with an interval that is wider the more of them are
/// claimed (Bonferroni).
fn slowdown((over, under): (&ByBlock, &ByBlock), claims: usize) -> Option<Slowdown> {
    let ratios: Vec<f64> =
        over.iter().filter_map(|(block, value)| Some(value / under.get(block)?)).collect();
    let times = median_interval(&ratios, 1.0 - ERROR_SHARE / claims as f64, Unit::Share)?;
    // More times slower is worse.
    Some(Slowdown { verdict: cost(&times, false), times })
}

/// Blocks that so many intervals of medians take to hold together, each of order statistics.
pub fn blocks_for(claims: usize) -> u32 {
    let confidence = 1.0 - ERROR_SHARE / claims.max(1) as f64;
    let mut all = 1..=BLOCKS_MAX;
    all.find(|blocks| rank(*blocks as usize, confidence).is_some()).unwrap_or(BLOCKS_MAX)
}

fn regime(traffic: &Slowdown, job: Option<&Slowdown>, cores: u32) -> Slower {
    let Some(job) = job else { return Slower::Open(Open::JobUnknown) };
    match (traffic.verdict, job.verdict) {
        (Cost::FewRuns, _) | (_, Cost::FewRuns) => Slower::Open(Open::FewRuns),
        (Cost::Worse, job) => Slower::Traffic { from_cores: cores, with_job: job == Cost::Worse },
        (Cost::Alike | Cost::Better, Cost::Worse) => Slower::Job,
        (Cost::Alike | Cost::Better, Cost::Alike | Cost::Better) => Slower::Neither,
        (Cost::Unclear, _) | (_, Cost::Unclear) => Slower::Open(Open::Unclear),
    }
}

/// Whether the largest job is held by memory by itself: its cores move less each than the fewest
/// do. One number of cores shows nothing of it.
fn is_loaded(steps: &[NeighbourStep]) -> bool {
    let measured: Vec<f64> = steps.iter().filter_map(each).collect();
    match measured.as_slice() {
        [first, .., last] => *last < SCALES_SHARE * first,
        _ => false,
    }
}

/// What each core of the job moves alone.
fn each(step: &NeighbourStep) -> Option<f64> {
    Some(step.job_alone?.value / f64::from(step.cores.max(1)))
}

/// What all numbers of cores show together: the strongest that any of them does.
fn overall(steps: &[NeighbourStep]) -> Slower {
    let all = || steps.iter().map(|step| step.regime);
    let strongest = all()
        .find(|regime| matches!(regime, Slower::Traffic { .. }))
        .or_else(|| all().find(|regime| *regime == Slower::Job));
    let open = all().filter_map(Slower::why).min().map(Slower::Open);
    strongest.or(open).or_else(|| all().next()).unwrap_or(Slower::Open(Open::JobUnknown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::result::Method;

    fn slowdown_of(verdict: Cost) -> Slowdown {
        let times = Estimate {
            value: 1.0,
            low: 1.0,
            high: 1.0,
            unit: Unit::Share,
            n: 12,
            by: Method::MedianOrderStatistic,
        };
        Slowdown { times, verdict }
    }

    #[test]
    fn who_is_slower_decides_the_regime() {
        use Cost::{Alike, Better, FewRuns, Unclear, Worse};
        let of = |traffic, job| regime(&slowdown_of(traffic), Some(&slowdown_of(job)), 3);
        let red = |with_job| Slower::Traffic { from_cores: 3, with_job };
        for (traffic, job, wanted) in [
            (Worse, Worse, red(true)),
            (Worse, Alike, red(false)),
            (Worse, Unclear, red(false)),
            (Alike, Worse, Slower::Job),
            (Better, Worse, Slower::Job),
            (Alike, Alike, Slower::Neither),
            (Unclear, Worse, Slower::Open(Open::Unclear)),
            (Alike, Unclear, Slower::Open(Open::Unclear)),
            (Worse, FewRuns, Slower::Open(Open::FewRuns)),
        ] {
            assert_eq!(of(traffic, job), wanted, "{traffic:?} {job:?}");
        }
        let unknown = regime(&slowdown_of(Worse), None, 3);
        assert_eq!(unknown, Slower::Open(Open::JobUnknown));
    }

    #[test]
    fn cores_that_move_less_each_load_memory() {
        let step = |cores: u32, moved: f64| NeighbourStep {
            cores,
            trial: 0,
            traffic: slowdown_of(Cost::Alike),
            job: None,
            job_alone: Some(Estimate { value: moved, ..slowdown_of(Cost::Alike).times }),
            job_beside: None,
            regime: Slower::Neither,
        };
        assert!(is_loaded(&[step(1, 10.0), step(2, 19.0), step(4, 33.0)]));
        assert!(!is_loaded(&[step(1, 10.0), step(4, 35.0)]), "four move 3.5 times as much");
        assert!(!is_loaded(&[step(4, 10.0)]), "one number of cores");
    }

    #[test]
    fn the_strongest_that_any_number_of_cores_shows_is_the_answer() {
        let of = |regimes: &[Slower]| {
            let steps: Vec<NeighbourStep> = (1..)
                .zip(regimes)
                .map(|(cores, regime)| NeighbourStep {
                    cores,
                    trial: 0,
                    traffic: slowdown_of(Cost::Alike),
                    job: None,
                    job_alone: None,
                    job_beside: None,
                    regime: *regime,
                })
                .collect();
            overall(&steps)
        };
        let red = |from_cores| Slower::Traffic { from_cores, with_job: true };
        assert_eq!(of(&[Slower::Job, red(2), red(3)]), red(2), "from the fewest on");
        assert_eq!(of(&[Slower::Neither, Slower::Job]), Slower::Job);
        let open = Slower::Open(Open::Unclear);
        assert_eq!(of(&[Slower::Neither, open]), open, "one of them is not known");
        assert_eq!(of(&[Slower::Open(Open::CpuShared), open]), Slower::Open(Open::CpuShared));
        assert_eq!(of(&[Slower::Neither]), Slower::Neither);
        assert_eq!(of(&[]), Slower::Open(Open::JobUnknown));
    }

    #[test]
    fn more_intervals_take_more_blocks() {
        // 2^(1-n) is to be 0.05 over the claims at most: n = 6 for one of them, 11 for fifty.
        assert_eq!([1, 2, 25, 50].map(blocks_for), [6, 7, 10, 11]);
    }
}
