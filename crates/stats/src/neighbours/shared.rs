//! What a job and traffic share beside memory: CPUs, cores, and the time of interrupts.

use super::Open;
use crate::done::Done;
use crate::median;
use narrows_model::host::{CpuPlace, Host};
use narrows_model::load::{EndReport, ThreadUsage};
use narrows_model::reading::{Scope, keys};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use std::collections::BTreeSet;

/// Threads that wait for a CPU for more of their time share it with something.
const WAITED_SHARE: f64 = 0.1;
/// Interrupts that take more of a job's CPU are part of what it loses.
const SOFTIRQ_SHARE: f64 = 0.05;

/// What both share in the runs of a trial; shares of time are those of the median run.
pub(super) fn shared(study: &StoredStudy, at: usize) -> Option<Open> {
    let trial = &study.trials[at];
    let runs = study.records.iter().filter(|record| record.trial == trial.id);
    let runs: Vec<&Record> = runs.filter(|record| Done::of(record).is_some()).collect();
    let is_one_core = runs.iter().any(|record| is_one_core(&study.host, record));
    if is_one_core || middle(&runs, waited_share) >= WAITED_SHARE {
        return Some(Open::CpuShared);
    }
    (middle(&runs, softirq_share) >= SOFTIRQ_SHARE).then_some(Open::InterruptsShared)
}

fn middle(runs: &[&Record], share: fn(&Record) -> Option<f64>) -> f64 {
    median(&runs.iter().filter_map(|record| share(record)).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Ends of the traffic on the job's own host.
fn beside(record: &Record) -> impl Iterator<Item = &EndReport> {
    let machine = record.background().and_then(|job| job.effective.machine.as_deref());
    record.measured().filter(move |end| end.effective.machine.as_deref() == machine)
}

/// The longest that any thread of the job waited for a CPU. Two ends of the traffic on one host may
/// wait for each other, with the job far from both.
fn waited_share(record: &Record) -> Option<f64> {
    record.background()?.threads.iter().filter_map(waited_share_of).reduce(f64::max)
}

fn waited_share_of(thread: &ThreadUsage) -> Option<f64> {
    let waited_ns = thread.waited_ns?.0 as f64;
    (thread.wall_ns.0 > 0).then(|| waited_ns / thread.wall_ns.0 as f64)
}

/// The largest share of a job's CPU that interrupts took while the traffic's window was open.
fn softirq_share(record: &Record) -> Option<f64> {
    let job = record.background()?;
    let end = beside(record).next()?;
    let counted = cpus(job).into_iter();
    let counted = counted.filter_map(|cpu| end.readings.of(keys::SOFTIRQ, Scope::Cpu(cpu)));
    counted.map(|ns| ns as f64 / end.window_ns.0.max(1) as f64).reduce(f64::max)
}

/// CPUs that an end's threads were pinned to.
fn cpus(end: &EndReport) -> BTreeSet<u32> {
    end.threads.iter().filter_map(|thread| thread.cpu).collect()
}

/// Whether a thread of the job and one of the traffic were pinned to one core.
fn is_one_core(host: &Host, record: &Record) -> bool {
    let Some(job) = record.background() else { return false };
    let own = cores(host, job);
    beside(record).any(|end| !cores(host, end).is_disjoint(&own))
}

/// Package, die and core of a CPU; where the kernel does not say, the CPU itself.
type Core = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);

fn cores(host: &Host, end: &EndReport) -> BTreeSet<Core> {
    cpus(end).into_iter().map(|cpu| core(host, cpu)).collect()
}

fn core(host: &Host, cpu: u32) -> Core {
    let place: Option<&CpuPlace> = host.cpu.places.iter().find(|place| place.cpu == cpu);
    match place.filter(|place| place.core.is_some()) {
        Some(place) => (place.package, place.die, place.core, None),
        None => (None, None, None, Some(cpu)),
    }
}
