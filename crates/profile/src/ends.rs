//! The profiles of a study's trials, end by end.

use crate::breakdown::{Breakdown, Counted};
use crate::flame::Flame;
use narrows_model::load::{EndReport, Role};
use narrows_model::profile::{Gap, NotProfiled, Profile, Profiled, SampledBy, SampledWhat};
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// What one end of a trial spent its CPU time on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EndProfile {
    /// End whose CPUs were sampled.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "String")]
    pub role: Role,
    /// Runs with a profile of it.
    pub runs: u32,
    /// What made a sample due; of the first run.
    pub by: Option<SampledBy>,
    /// What was sampled; of the first run.
    pub what: Option<SampledWhat>,
    /// Samples a second and CPU or thread that were asked for.
    pub per_second: u32,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// What could not be seen in some run.
    pub gaps: Vec<Gap>,
    /// Why runs have no profile.
    pub not_taken: Vec<NotProfiled>,
    /// The classes; `None` where there was no sample of this end.
    pub breakdown: Option<Breakdown>,
    /// The same samples by who called whom.
    #[serde(skip)]
    pub flame: Flame,
}

/// The profiles of both ends of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialProfile {
    /// Label of the trial that was sampled.
    pub label: String,
    /// Senders first; one end of a memory kernel.
    pub ends: Vec<EndProfile>,
}

/// What an end is called.
pub(crate) fn name(role: Role) -> &'static str {
    match role {
        Role::Sender => "sender",
        Role::Receiver => "receiver",
        Role::Background => "background load",
    }
}

pub(crate) fn in_words<S: Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(name(*role))
}

impl EndProfile {
    /// What the end is called.
    pub fn name(&self) -> &'static str {
        name(self.role)
    }
}

/// The profiles of all trials that were asked for one, in the study's order.
pub fn profiles(study: &StoredStudy) -> Vec<TrialProfile> {
    let mut by_trial = study.by_trial();
    study
        .trials
        .iter()
        .filter_map(|trial| {
            let records = by_trial.remove(&trial.id).unwrap_or_default();
            let ends = [Role::Sender, Role::Receiver];
            let ends: Vec<EndProfile> =
                ends.into_iter().filter_map(|role| end(&records, role)).collect();
            (!ends.is_empty()).then(|| TrialProfile { label: trial.label.clone(), ends })
        })
        .collect()
}

fn end(records: &[&Record], role: Role) -> Option<EndProfile> {
    let done = || records.iter().filter(|record| record.outcome == Outcome::Done);
    let all: Vec<&Profiled> = done()
        .flat_map(|record| record.of(role))
        .filter_map(|report| report.profile.as_ref())
        .collect();
    if all.is_empty() {
        return None;
    }
    let taken: Vec<&Profile> = all.iter().filter_map(|one| one.taken()).collect();
    let (mut gaps, mut not_taken) = (Vec::new(), Vec::new());
    for profiled in &all {
        match profiled {
            Profiled::Taken(profile) => extend(&mut gaps, &profile.gaps),
            Profiled::NotTaken(why) => extend(&mut not_taken, std::slice::from_ref(why)),
        }
    }
    let first = taken.first();
    let counted = counted(records);
    Some(EndProfile {
        role,
        runs: taken.len() as u32,
        by: first.map(|profile| profile.by),
        what: first.map(|profile| profile.what),
        per_second: first.map_or(0, |profile| profile.per_second),
        lost: taken.iter().map(|profile| profile.lost).sum(),
        breakdown: Breakdown::of(&taken, counted, seconds_per_gigabyte(records, role)),
        flame: Flame::of(&taken, counted),
        gaps,
        not_taken,
    })
}

fn extend<T: Clone + PartialEq>(all: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

/// On one host interrupts serve both ends, and are neither's.
pub(crate) fn counted(records: &[&Record]) -> Counted {
    let first = records.iter().find(|record| record.outcome == Outcome::Done);
    let ends = first.map(|record| (machine_of(record.sender()), machine_of(record.receiver())));
    match ends {
        Some((Some(sender), Some(receiver))) if sender != receiver => Counted::ThreadsAndNetwork,
        _ => Counted::Threads,
    }
}

fn machine_of(report: Option<&EndReport>) -> Option<String> {
    report?.effective.machine.clone()
}

/// CPU seconds of the threads of a role's ends for each 10^9 bytes that arrived, over all runs.
fn seconds_per_gigabyte(records: &[&Record], role: Role) -> Option<f64> {
    let done = || records.iter().filter(|record| record.outcome == Outcome::Done);
    let flows = done().flat_map(|record| record.measured()).flat_map(|report| &report.flows);
    let bytes: f64 = flows.filter(|flow| flow.counts()).map(|flow| flow.bytes.0 as f64).sum();
    let threads = done().flat_map(|record| record.of(role)).flat_map(|report| &report.threads);
    let seconds: f64 =
        threads.map(|thread| (thread.user_ns.0 + thread.system_ns.0) as f64 / 1e9).sum();
    (bytes > 0.0).then(|| seconds / (bytes / 1e9))
}
