//! Which cells of a study belong together: traffic, the same traffic beside a job, and the job
//! beside next to nothing. It is read from what they are, and from no name.

use narrows_model::load::Role;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, Trial};
use narrows_model::workload::Workload;
use std::collections::BTreeMap;

/// A stream with no more than this pace is next to nothing: with four crossings of the memory bus
/// 5 MB/s, less than a thousandth of what one channel of DDR3-800 carries (6.4 GB/s).
const IDLE_BPS_MAX: u64 = 10_000_000;

/// Traffic alone, and beside one job on growing numbers of cores; indices of trials.
pub(super) struct Found {
    pub alone: usize,
    pub steps: Vec<Step>,
}

/// One number of cores: the trial of both, and that of the job alone.
pub(super) struct Step {
    pub both: usize,
    pub job: Option<usize>,
}

impl Step {
    /// Intervals that it claims.
    pub fn claims(&self) -> usize {
        1 + usize::from(self.job.is_some())
    }
}

/// A job on some cores.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Job {
    pub kind: Workload,
    node: Option<u32>,
    pub cores: u32,
    cpus: Vec<u32>,
}

impl Job {
    /// What stands beside a trial's traffic.
    pub fn of(trial: &Trial) -> Option<Self> {
        let end = trial.background()?;
        let load = end.load.as_ref()?;
        Some(Self {
            kind: load.kind.clone(),
            node: end.place.node,
            cores: load.threads,
            cpus: end.place.cpus.0.clone(),
        })
    }
}

/// The jobs that stand beside the traffic of one trial.
pub(super) fn found(study: &StoredStudy, alone: usize) -> Vec<Found> {
    let first = &study.trials[alone];
    if first.background().is_some() || is_idle(first) || !first.kind.is_network() {
        return Vec::new();
    }
    let mut all: BTreeMap<_, Vec<(Job, usize)>> = BTreeMap::new();
    for (at, trial) in study.trials.iter().enumerate() {
        if let Some(job) = Job::of(trial).filter(|_| is_same_traffic(first, trial)) {
            all.entry((job.kind.clone(), job.node)).or_default().push((job, at));
        }
    }
    all.into_values().map(|jobs| Found { alone, steps: steps(study, jobs) }).collect()
}

/// The numbers of cores, ascending.
fn steps(study: &StoredStudy, mut jobs: Vec<(Job, usize)>) -> Vec<Step> {
    jobs.sort();
    jobs.into_iter().map(|(job, both)| Step { both, job: alone(study, &job) }).collect()
}

/// The trial of a job beside next to nothing.
fn alone(study: &StoredStudy, job: &Job) -> Option<usize> {
    study.trials.iter().position(|trial| is_idle(trial) && Job::of(trial).as_ref() == Some(job))
}

/// Whether a trial is there for its job alone: the traffic beside it is next to nothing.
pub fn is_job_alone(trial: &Trial) -> bool {
    trial.background().is_some() && is_idle(trial)
}

/// A paced stream that uses next to nothing of a host.
fn is_idle(trial: &Trial) -> bool {
    trial.params.rate_bps.is_some_and(|rate| (1..=IDLE_BPS_MAX).contains(&rate))
}

/// Whether two trials have the same traffic, whatever is beside it.
fn is_same_traffic(a: &Trial, b: &Trial) -> bool {
    a.kind == b.kind
        && a.params == b.params
        && a.engine == b.engine
        && of_traffic(a).eq(of_traffic(b))
}

fn of_traffic(trial: &Trial) -> impl Iterator<Item = &EndSpec> {
    trial.ends.iter().filter(|end| end.role != Role::Background)
}
