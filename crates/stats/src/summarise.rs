//! Makes of each trial's records what they say.

use crate::corrupted::Corrupted;
use crate::directions::{directions, of_generator};
use crate::done::{CONFIDENCE, Done, Value, over};
use crate::labels::labels;
use crate::loss::loss;
use crate::memory_use::memory_use;
use crate::pairs::is_apart;
use crate::percentile::{Percentiles, percentiles, round_trips};
use crate::reconcile::{Reconciled, reconcile};
use crate::sequential::Looks;
use crate::sessions::{Sessions, by_session, reproducibility};
use crate::settings::SettingsInForce;
use crate::summary::{CpuUse, Summary, is_one_host};
use crate::traffic::host_share;
use crate::{background, traffic};
use crate::{box_plot, median, median_interval, noise, total};
use narrows_model::load::{EndReport, Params, Role, StreamParams};
use narrows_model::reading::{Counter, keys};
use narrows_model::record::{Outcome, Record};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::{Metric, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the summary of a trial takes of its study.
struct Whole<'a> {
    study: &'a StoredStudy,
    /// Where it stops at a precision.
    looks: Option<Looks>,
    sessions: Sessions,
}

impl Whole<'_> {
    fn value(&self, trial: &Trial, metric: Metric, record: &Record) -> Option<Value> {
        let session = self.sessions.session(record);
        run_value(trial, metric, record).map(|value| Value { session, ..value })
    }

    /// The median with the interval that fits how the study stops.
    fn estimate(&self, values: &[f64], unit: Unit) -> Option<Estimate> {
        match &self.looks {
            Some(looks) => looks.interval(values, unit),
            None => median_interval(values, CONFIDENCE, unit),
        }
    }
}

/// Summaries of all trials of a study, in its order.
pub fn summarise(study: &StoredStudy) -> Vec<Summary> {
    let mut by_trial = study.by_trial();
    let longest = by_trial.values().map(Vec::len).max().unwrap_or(0);
    let repeats = study.study.repeats;
    let looks = study.study.precision.map(|of| Looks::new(&of, repeats, longest));
    let whole = Whole { study, looks, sessions: Sessions::of(study) };
    study
        .trials
        .iter()
        .map(|trial| summary(&whole, trial, by_trial.remove(&trial.id).unwrap_or_default()))
        .collect()
}

/// What the copy to the program costs: the same stream with and without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyShare {
    /// The ordinary trial.
    pub trial: String,
    /// CPU seconds of both ends for each 10^9 bytes, with the copy.
    pub copied_seconds_per_gigabyte: f64,
    /// The same where the kernel dropped what arrived.
    pub dropped_seconds_per_gigabyte: f64,
    /// What the copy takes of the first; below zero where other work on the hosts hid it.
    pub share: f64,
}

/// The copy's share, where a trial was also run uncopied. The difference is CPU time of the copy
/// and of what the copy makes slower, such as caches that it fills.
pub fn copy_share(study: &StoredStudy, summaries: &[Summary]) -> Option<CopyShare> {
    let mut cells = study.trials.iter().zip(summaries);
    let (dropped, dropping) = cells.clone().find(|(trial, _)| drops(trial))?;
    let (copied, copying) = cells.find(|(trial, _)| is_copied_twin(trial, dropped))?;
    let (with, without) = (seconds_per_gigabyte(copying)?, seconds_per_gigabyte(dropping)?);
    (with > 0.0).then(|| CopyShare {
        trial: copied.label.clone(),
        copied_seconds_per_gigabyte: with,
        dropped_seconds_per_gigabyte: without,
        share: 1.0 - without / with,
    })
}

fn drops(trial: &Trial) -> bool {
    trial.params.stream.as_ref().is_some_and(|s| s.drops())
}

fn seconds_per_gigabyte(summary: &Summary) -> Option<f64> {
    summary.cpu.as_ref()?.seconds_per_gigabyte
}

/// Whether a trial is one whose bytes were dropped but for that: the program received them.
fn is_copied_twin(copied: &Trial, dropped: &Trial) -> bool {
    let (stream, other) = (stream_of(copied), stream_of(dropped));
    let params = Params {
        stream: Some(StreamParams { receiver: other.receiver.clone(), ..stream.clone() }),
        ..copied.params.clone()
    };
    !stream.drops()
        && (&copied.kind, copied.path, copied.timeline)
            == (&dropped.kind, dropped.path, dropped.timeline)
        && copied.ends == dropped.ends
        && params == dropped.params
}

fn stream_of(trial: &Trial) -> StreamParams {
    trial.params.stream.clone().unwrap_or_default()
}

/// The value of one run by itself, with its unit; `None` for one that failed.
pub fn value_of(trial: &Trial, record: &Record) -> Option<(Value, Unit)> {
    let metric = metric(trial, &[record]);
    Some((run_value(trial, metric, record)?, metric.unit()))
}

/// One run's payload beside everything else that saw it; `None` for a run that failed and for
/// memory kernels.
pub fn reconciled(trial: &Trial, record: &Record) -> Option<Reconciled> {
    reconcile(trial, metric(trial, &[record]), record)
}

/// The value of one run: of our ends, or as another tool states it; none where that is impossible.
fn run_value(trial: &Trial, metric: Metric, record: &Record) -> Option<Value> {
    let reconciled = reconcile(trial, metric, record);
    if reconciled.as_ref().is_some_and(Reconciled::is_impossible) {
        return None;
    }
    let Some(external) = &record.external else {
        if is_apart(trial, record) {
            return None;
        }
        let done = Done::of(record)?;
        let backlog = |end| reconciled.as_ref().map_or(0.0, |run| done.backlog(run, end));
        let mut value = done.value(metric)?;
        let bytes = backlog(Role::Receiver) + backlog(Role::Sender);
        value.value -= done.of_byte(metric) * bytes;
        return Some(value);
    };
    let first = external.figures.first().filter(|figure| figure.unit == metric.unit())?;
    let done = record.outcome == Outcome::Done;
    let noisy = noise(record).is_some_and(|noise| noise.is_noisy());
    done.then_some(Value { value: first.value, repeat: record.repeat, noisy, session: 0 })
}

fn summary(whole: &Whole<'_>, trial: &Trial, mut records: Vec<&Record>) -> Summary {
    records.sort_by_key(|record| record.repeat);
    let metric = metric(trial, &records);
    let done: Vec<Done<'_>> = records.iter().filter_map(|record| Done::of(record)).collect();
    // Those of outside tools too, which have no ends of ours.
    let ran = records.iter().copied().filter(|record| record.outcome == Outcome::Done);
    let ran: Vec<&Record> = ran.collect();
    let values: Vec<Value> =
        records.iter().filter_map(|record| whole.value(trial, metric, record)).collect();
    let numbers: Vec<f64> = values.iter().map(|value| value.value).collect();
    let sessions = by_session(&values);
    let first = done.first();
    let one_machine = first.is_some_and(Done::is_one_machine);
    let mut summary = Summary {
        label: trial.label.clone(),
        kind: trial.kind.clone(),
        engine: trial.engine.as_ref().map(|engine| engine.tool.clone()),
        path: trial.path,
        metric,
        done: records.iter().filter(|record| record.outcome == Outcome::Done).count() as u32,
        failed: records.iter().filter_map(|record| why_failed(record)).collect(),
        corrupted: records.iter().filter_map(|record| Corrupted::of(record)).collect(),
        reconciled: records.iter().filter_map(|run| reconcile(trial, metric, run)).collect(),
        estimate: whole.estimate(&numbers, metric.unit()),
        box_plot: box_plot(&numbers),
        sessions: sessions.len() as u32,
        reproducibility: reproducibility(&sessions),
        round_trips: round_trips(done.iter().flat_map(Done::senders)),
        cpu: cpu(&done, metric, is_udp_paced(trial)),
        loss: (trial.kind.counts_datagrams() && !done.is_empty())
            .then(|| loss(trial, &done, is_one_host(trial.path, one_machine))),
        lost_round_trips: (trial.kind == Workload::UDP_RR).then(|| {
            let senders = done.iter().flat_map(Done::senders);
            total(senders.flat_map(|sender| &sender.flows).map(|flow| flow.lost))
        }),
        datagrams_per_second: datagrams(trial, &done),
        trips_per_second: (metric == Metric::RoundTripP50)
            .then(|| over(&done, Unit::PerSecond, Done::trips_per_second))
            .flatten(),
        back: of_way(trial, metric, &done, |there_and_back| there_and_back.1),
        there: of_way(trial, metric, &done, |there_and_back| there_and_back.0),
        directions: match of_generator(&records) {
            Some(one) => vec![one],
            None => directions(trial, &done),
        },
        traffic: traffic::traffic(&done),
        memory: memory_use(&done, is_one_host(trial.path, one_machine)),
        delays: one_machine.then(|| delays(&done)).flatten(),
        jitter: over(&done, Unit::Nanos, Done::jitter_ns),
        zero_copy: traffic::zero_copy(&done),
        unacknowledged: traffic::unacknowledged(&done),
        verified_bytes: traffic::verified(&done),
        background: match metric {
            Metric::LoadToUse => background_of_latency(&done),
            _ => background::rate(&ran),
        },
        background_ended: background::ended_early(trial, &ran),
        background_lost: background::lost(&ran),
        retransmitted_segments: retransmitted(&done),
        one_machine,
        busy_cpus: traffic::busy_cpus(&done),
        overhead: traffic::overhead(&done),
        settings: first.map(|run| SettingsInForce::of(trial, run.record)).unwrap_or_default(),
        labels: Vec::new(),
        values,
    };
    summary.labels = labels(whole.study, trial, &summary);
    summary
}

/// One direction of two, of the runs that have a figure.
fn of_way(
    trial: &Trial,
    metric: Metric,
    done: &[Done<'_>],
    way: impl Fn((f64, f64)) -> f64,
) -> Option<Estimate> {
    if !trial.params.is_bidirectional() {
        return None;
    }
    over(done, back_unit(metric), |run| {
        let both = run_value(trial, metric, run.record)?.value;
        let back = run.went_back(trial, metric);
        Some(way(((both - back).max(0.0), back)))
    })
}

/// The unit of what went back: that of packets is theirs, all else are bytes.
fn back_unit(metric: Metric) -> Unit {
    if metric == Metric::PacketRate { metric.unit() } else { Unit::BitsPerSecond }
}

/// Datagrams that arrived a second, of a workload that has any.
fn datagrams(trial: &Trial, done: &[Done<'_>]) -> Option<Estimate> {
    let rate = |run: &Done<'_>| Some(run.received(|flow| flow.messages));
    let counts = trial.kind.counts_datagrams();
    counts.then(|| over(done, Unit::DatagramsPerSecond, rate)).flatten()
}

/// Times between sending and arriving, of both directions.
pub(crate) fn delays(done: &[Done<'_>]) -> Option<Percentiles> {
    let ends = done.iter().flat_map(Done::ends);
    percentiles(ends.map(|end| end.delays.as_slice()))
}

/// What a trial's figure is: what its workload declares, or, of a word of another tool's, what the
/// first figure's unit says.
fn metric(trial: &Trial, records: &[&Record]) -> Metric {
    let figures = || records.iter().flat_map(|record| record.external.iter());
    let first = || figures().find_map(|external| Some(external.figures.first()?.unit));
    let declared = trial.kind.metric();
    declared.unwrap_or_else(|| first().map_or(Metric::Goodput, Metric::of_unit))
}

fn why_failed(record: &Record) -> Option<String> {
    match &record.outcome {
        Outcome::Failed { why, .. } => Some(why.clone()),
        Outcome::Done | Outcome::Skipped { .. } => None,
    }
}

/// CPU time of an end whose library has threads of its own, or keeps ours inside one call for so
/// long that a thread cannot tell when the window opened.
fn of_process(end: &EndReport) -> Option<narrows_model::Nanos> {
    end.effective.rdma.as_ref()?.provider.as_ref()?;
    end.process_ns
}

/// Share of one CPU that the busiest thread of an end used; the whole process where a library works
/// for it.
fn busiest(end: &EndReport) -> Option<f64> {
    if let Some(all) = of_process(end) {
        return Some(all.0 as f64 / end.window_ns.0.max(1) as f64);
    }
    end.threads
        .iter()
        .map(|thread| {
            (thread.user_ns.0 as f64 + thread.system_ns.0 as f64) / (thread.wall_ns.0.max(1)) as f64
        })
        .reduce(f64::max)
}

/// Whether threads wait for the turn of each datagram, and fill a CPU with that.
fn is_udp_paced(trial: &Trial) -> bool {
    trial.kind.is_udp() && trial.params.rate_bps.is_some()
}

/// CPU time of an end's threads but for waiting for a pace; `None` where it tells nothing of them.
pub fn cpu_seconds(end: &EndReport) -> Option<f64> {
    of_process(end).map(|all| all.seconds()).or_else(|| {
        end.threads
            .iter()
            .map(|thread| {
                let pacing = thread.pacing_ns.map_or(0.0, |ns| ns.seconds());
                (thread.user_ns.seconds() + thread.system_ns.seconds() - pacing).max(0.0)
            })
            .reduce(|a, b| a + b)
    })
}

fn cpu(done: &[Done<'_>], metric: Metric, is_paced: bool) -> Option<CpuUse> {
    let over = |f: &dyn Fn(&Done<'_>) -> Option<f64>| {
        median(&done.iter().filter_map(f).collect::<Vec<f64>>())
    };
    let in_cpus = |state: Counter| {
        move |run: &Done<'_>| {
            let ns = run.receiver.readings.total(state)?;
            Some(ns as f64 / run.receiver.window_ns.0 as f64)
        }
    };
    // A memory trial has one end, and no CPU use of a network.
    done.first()?.sender?;
    Some(CpuUse {
        sender_share: over(&|run| run.senders().filter_map(busiest).reduce(f64::max)),
        receiver_share: over(&|run| {
            run.record.of(Role::Receiver).filter_map(busiest).reduce(f64::max)
        }),
        sender_host_share: over(&|run| run.senders().filter_map(host_share).reduce(f64::max)),
        receiver_host_share: over(&|run| run.receivers().filter_map(host_share).reduce(f64::max)),
        softirq_cpus: over(&in_cpus(keys::SOFTIRQ)),
        steal_cpus: over(&in_cpus(keys::STEAL)),
        seconds_per_gigabyte: match metric {
            Metric::Goodput => over(&|run| {
                // Older records do not tell the waiting from the work.
                run.sender.filter(|_| {
                    run.senders().all(|sender| !is_paced || sender.looked_ns.is_some())
                })?;
                let bytes = run.received_bytes();
                let seconds = run.ends().map(cpu_seconds).sum::<Option<f64>>()?;
                (bytes > 0).then(|| seconds / (bytes as f64 / 1e9))
            }),
            _ => None,
        },
        cycles_per_byte: match metric {
            Metric::Goodput if !is_paced => over(&cycles_per_byte),
            _ => None,
        },
    })
}

/// The threads after the first are the load.
fn background_of_latency(done: &[Done<'_>]) -> Option<Estimate> {
    let loaded = done.iter().all(|run| run.receiver.flows.len() > 1);
    let rates: Vec<f64> = done
        .iter()
        .map(|run| {
            let bytes = total(run.receiver.flows.iter().skip(1).map(|flow| flow.bytes.0));
            bytes as f64 / run.receiver.window_ns.seconds()
        })
        .collect();
    loaded.then(|| median_interval(&rates, CONFIDENCE, Unit::BytesPerSecond)).flatten()
}

/// Cycles of both ends for each byte; `None` where one of them could not count.
fn cycles_per_byte(run: &Done<'_>) -> Option<f64> {
    let bytes = run.received_bytes();
    let threads = run.ends().flat_map(|end| &end.threads);
    let cycles = threads.map(|thread| thread.cycles).sum::<Option<u64>>()? as f64;
    (bytes > 0 && cycles > 0.0).then(|| cycles / bytes as f64)
}

fn retransmitted(done: &[Done<'_>]) -> Option<u64> {
    done.iter()
        .flat_map(Done::senders)
        .filter_map(|sender| sender.readings.total(keys::RETRANSMITTED))
        .reduce(u64::saturating_add)
}
