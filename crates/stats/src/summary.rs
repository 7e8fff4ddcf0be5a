//! What the records of each trial say.

use crate::{BoxPlot, Percentiles, box_plot, median, median_interval, noise, percentiles, total};
use narrows_facts::Bytes;
use narrows_facts::load::{Effective, EndReport};
use narrows_facts::record::{Outcome, Record};
use narrows_facts::result::{Estimate, Unit};
use narrows_facts::study::StoredStudy;
use narrows_facts::trial::{Path, Trial};
use serde::{Deserialize, Serialize};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// A thread that used this much of its CPU's time had no more to give.
const BUSY_SHARE_FULL: f64 = 0.95;

/// What a trial's figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Payload the sink received, bits per second.
    Goodput,
    /// Bytes that a memory kernel counted, bytes per second.
    MemoryBandwidth,
    /// Median round trip of a run, nanoseconds.
    RoundTripP50,
    /// Time of one load that needs the one before, nanoseconds.
    LoadToUse,
}

/// One run's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// In the metric's unit.
    pub value: f64,
    /// Which repeat.
    pub repeat: u32,
    /// Whether others used the host meanwhile; the value counts all the same.
    pub noisy: bool,
}

/// CPU use of a network trial, medians over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Busiest source thread: share of one CPU.
    pub source_share: f64,
    /// Busiest sink thread: share of one CPU.
    pub sink_share: f64,
    /// Softirq time of the sink's host, in CPUs.
    pub softirq_cpus: f64,
    /// Stolen time of the sink's host, in CPUs.
    pub steal_cpus: f64,
    /// CPU seconds of both ends' threads for each 10^9 bytes received; `None` for round trips.
    pub seconds_per_gigabyte: Option<f64>,
}

/// Where datagrams went, sums over all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Received by the sink in its windows.
    pub received_datagrams: u64,
    /// Missing by sequence number in the same windows.
    pub lost_datagrams: u64,
    /// Of those, dropped at the sink's socket for want of buffer.
    pub lost_at_socket_datagrams: u64,
    /// The rest: lost on the path or in an interface.
    pub lost_on_path_datagrams: u64,
    /// Never sent: the source's own host refused them.
    pub refused_at_source_datagrams: u64,
    /// Arrived after a later one.
    pub reordered_datagrams: u64,
}

/// What a figure must not be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Over the loopback device: not a network result.
    Loopback,
    /// Between two namespaces of one host: the stack, without a NIC or a wire.
    NoNic,
    /// Both ends shared a CPU.
    SameCpu,
    /// The sink let the kernel drop what arrived.
    Truncated,
    /// The memory kernel's working set may fit in the caches.
    CacheResident,
    /// The source's busiest thread had no more CPU to give.
    SourceBound,
    /// The sink's busiest thread had no more CPU to give.
    SinkBound,
    /// Others used the host in at least one run.
    Noisy,
    /// Too few runs for a 95 % interval: the range is that of the values.
    FewRuns,
}

impl Label {
    /// For people.
    pub fn says(self) -> &'static str {
        match self {
            Self::Loopback => "loopback: not a network result",
            Self::NoNic => "one host, no NIC: not a network result",
            Self::SameCpu => "both ends on one CPU",
            Self::Truncated => "dropped uncopied (MSG_TRUNC): no application receives like this",
            Self::CacheResident => "cache-resident: not memory",
            Self::SourceBound => "source-bound: its thread filled a CPU",
            Self::SinkBound => "sink-bound: its thread filled a CPU",
            Self::Noisy => "noisy: others used its CPUs",
            Self::FewRuns => "fewer than 6 runs: range of the values, no 95 % interval",
        }
    }
}

/// What one trial's records say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The trial's label.
    pub label: String,
    /// The workload.
    pub kind: String,
    /// What joins the ends.
    pub path: Path,
    /// What the figures are.
    pub metric: Metric,
    /// Runs that were made to the end.
    pub done: u32,
    /// Runs that failed; their reasons.
    pub failed: Vec<String>,
    /// Median and interval; `None` when no run was done.
    pub estimate: Option<Estimate>,
    /// The boxplot of the runs.
    pub box_plot: Option<BoxPlot>,
    /// Every run's value, in order of repeat.
    pub values: Vec<Value>,
    /// Round trips of all runs together.
    pub round_trips: Option<Percentiles>,
    /// CPU of both ends.
    pub cpu: Option<CpuUse>,
    /// Where datagrams went.
    pub loss: Option<Loss>,
    /// Round trips whose response did not come in time (UDP).
    #[serde(default)]
    pub lost_round_trips: Option<u64>,
    /// Datagrams the sink received a second, when the workload has datagrams.
    pub datagrams_per_second: Option<Estimate>,
    /// Bytes that background threads read a second beside a latency trial, or that the memory
    /// kernel beside a network trial counted.
    #[serde(default)]
    pub background: Option<Estimate>,
    /// Retransmitted segments over all runs (TCP).
    pub retransmitted_segments: Option<u64>,
    /// Settings read back from the first run, source end (sink for memory kernels).
    pub effective: Effective,
    /// Receive buffer read back at the sink at the end of the first run.
    pub sink_receive_buffer_bytes: Option<Bytes>,
    /// What it must not be taken for.
    pub labels: Vec<Label>,
}

/// Summaries of all trials of a study, in its order.
pub fn summarise(study: &StoredStudy) -> Vec<Summary> {
    study.trials.iter().map(|trial| summary(study, trial)).collect()
}

fn summary(study: &StoredStudy, trial: &Trial) -> Summary {
    let mut records: Vec<&Record> = study.records_of(trial).collect();
    records.sort_by_key(|record| record.repeat);
    let metric = metric(trial);
    let done: Vec<Done<'_>> = records.iter().filter_map(|record| Done::of(record)).collect();
    let values: Vec<Value> = done.iter().filter_map(|run| run.value(metric)).collect();
    let numbers: Vec<f64> = values.iter().map(|value| value.value).collect();
    let first = done.first();
    let mut summary = Summary {
        label: trial.label.clone(),
        kind: trial.kind.clone(),
        path: trial.path,
        metric,
        done: values.len() as u32,
        failed: records.iter().filter_map(|record| why_failed(record)).collect(),
        estimate: median_interval(&numbers, CONFIDENCE, unit(metric)),
        box_plot: box_plot(&numbers),
        round_trips: percentiles(done.iter().filter_map(|run| run.round_trips())),
        cpu: cpu(&done, metric),
        loss: (trial.kind == "udp-stream").then(|| loss(&done)),
        lost_round_trips: (trial.kind == "udp-rr").then(|| {
            let sources = done.iter().filter_map(|run| run.source);
            total(sources.flat_map(|source| &source.flows).map(|flow| flow.lost))
        }),
        datagrams_per_second: (trial.kind == "udp-stream")
            .then(|| datagrams_per_second(&done))
            .flatten(),
        background: match metric {
            Metric::LoadToUse => background(&done),
            _ => beside(&done),
        },
        retransmitted_segments: retransmitted(&done),
        effective: first
            .map(|run| run.source.unwrap_or(run.sink).effective.clone())
            .unwrap_or_default(),
        sink_receive_buffer_bytes: first.and_then(|run| run.sink.effective.receive_buffer_bytes),
        labels: Vec::new(),
        values,
    };
    summary.labels = labels(study, trial, &summary);
    summary
}

fn metric(trial: &Trial) -> Metric {
    match trial.kind.as_str() {
        "memory-latency" => Metric::LoadToUse,
        kind if kind.starts_with("memory-") => Metric::MemoryBandwidth,
        kind if kind.ends_with("-rr") => Metric::RoundTripP50,
        _ => Metric::Goodput,
    }
}

fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::Goodput => Unit::BitsPerSecond,
        Metric::MemoryBandwidth => Unit::BytesPerSecond,
        Metric::RoundTripP50 | Metric::LoadToUse => Unit::Nanos,
    }
}

fn why_failed(record: &Record) -> Option<String> {
    match &record.outcome {
        Outcome::Failed { why, .. } => Some(why.clone()),
        Outcome::Done => None,
    }
}

/// A run that was made to the end.
struct Done<'a> {
    record: &'a Record,
    sink: &'a EndReport,
    source: Option<&'a EndReport>,
}

impl<'a> Done<'a> {
    fn of(record: &'a Record) -> Option<Self> {
        let sink = record.sink.as_ref().filter(|sink| sink.window_ns.0 > 0)?;
        let done = record.outcome == Outcome::Done;
        done.then_some(Self { record, sink, source: record.source.as_ref() })
    }

    fn value(&self, metric: Metric) -> Option<Value> {
        let per_second = self.received_bytes() as f64 / self.sink.window_ns.seconds();
        let value = match metric {
            Metric::Goodput => per_second * 8.0,
            Metric::MemoryBandwidth => per_second,
            Metric::RoundTripP50 => percentiles([self.round_trips()?])?.p50_ns?.0 as f64,
            Metric::LoadToUse => {
                let loads = self.sink.flows.first()?.messages;
                (loads > 0).then(|| self.sink.window_ns.0 as f64 / loads as f64)?
            }
        };
        let noisy = noise(self.record).is_some_and(|noise| noise.is_noisy());
        Some(Value { value, repeat: self.record.repeat, noisy })
    }

    fn received_bytes(&self) -> u64 {
        total(self.sink.flows.iter().map(|flow| flow.bytes.0))
    }

    fn round_trips(&self) -> Option<&'a [(narrows_facts::Nanos, u64)]> {
        let trips = self.source?.round_trips.as_slice();
        (!trips.is_empty()).then_some(trips)
    }
}

/// Share of one CPU that the busiest thread of an end used.
fn busiest(end: &EndReport) -> f64 {
    let share = |thread: &narrows_facts::load::ThreadUsage| {
        (thread.user_ns.0 as f64 + thread.system_ns.0 as f64) / (thread.wall_ns.0.max(1)) as f64
    };
    end.threads.iter().map(share).fold(0.0, f64::max)
}

fn cpu_seconds(end: &EndReport) -> f64 {
    end.threads.iter().map(|thread| thread.user_ns.seconds() + thread.system_ns.seconds()).sum()
}

fn cpu(done: &[Done<'_>], metric: Metric) -> Option<CpuUse> {
    let over = |f: &dyn Fn(&Done<'_>) -> Option<f64>| {
        median(&done.iter().filter_map(f).collect::<Vec<f64>>())
    };
    let in_cpus = |state: &'static str| {
        move |run: &Done<'_>| {
            let ns = run.sink.readings.sum("cpu", state)?;
            Some(ns as f64 / run.sink.window_ns.0 as f64)
        }
    };
    Some(CpuUse {
        source_share: over(&|run| run.source.map(busiest))?,
        sink_share: over(&|run| Some(busiest(run.sink)))?,
        softirq_cpus: over(&in_cpus(".softirq_ns")).unwrap_or(0.0),
        steal_cpus: over(&in_cpus(".steal_ns")).unwrap_or(0.0),
        seconds_per_gigabyte: match metric {
            Metric::Goodput => over(&|run| {
                let bytes = run.received_bytes();
                let seconds = cpu_seconds(run.sink) + cpu_seconds(run.source?);
                (bytes > 0).then(|| seconds / (bytes as f64 / 1e9))
            }),
            _ => None,
        },
    })
}

fn loss(done: &[Done<'_>]) -> Loss {
    let sink = |f: &dyn Fn(&narrows_facts::load::FlowTally) -> u64| -> u64 {
        total(done.iter().flat_map(|run| &run.sink.flows).map(f))
    };
    let lost = sink(&|flow| flow.lost);
    let drops = |run: &Done<'_>| run.sink.readings.sum("socket", ".dropped_packets");
    let at_socket = total(done.iter().filter_map(drops));
    // The socket's counter is read a moment apart from the sequence numbers.
    let at_socket = at_socket.min(lost);
    let sources = done.iter().filter_map(|run| run.source).flat_map(|source| &source.flows);
    Loss {
        received_datagrams: sink(&|flow| flow.messages),
        lost_datagrams: lost,
        lost_at_socket_datagrams: at_socket,
        lost_on_path_datagrams: lost - at_socket,
        refused_at_source_datagrams: total(sources.map(|flow| flow.refused)),
        reordered_datagrams: sink(&|flow| flow.reordered),
    }
}

fn datagrams_per_second(done: &[Done<'_>]) -> Option<Estimate> {
    let rate = |run: &Done<'_>| {
        let datagrams = total(run.sink.flows.iter().map(|flow| flow.messages));
        datagrams as f64 / run.sink.window_ns.seconds()
    };
    let rates: Vec<f64> = done.iter().map(rate).collect();
    median_interval(&rates, CONFIDENCE, Unit::DatagramsPerSecond)
}

/// The threads after the first are the load.
fn background(done: &[Done<'_>]) -> Option<Estimate> {
    let rate = |run: &Done<'_>| {
        let bytes = total(run.sink.flows.iter().skip(1).map(|flow| flow.bytes.0));
        bytes as f64 / run.sink.window_ns.seconds()
    };
    let loaded = done.iter().all(|run| run.sink.flows.len() > 1);
    let rates: Vec<f64> = done.iter().map(rate).collect();
    loaded.then(|| median_interval(&rates, CONFIDENCE, Unit::BytesPerSecond)).flatten()
}

/// What the memory kernel beside the runs counted.
fn beside(done: &[Done<'_>]) -> Option<Estimate> {
    let rate = |run: &Done<'_>| {
        let beside = run.record.beside.as_ref().filter(|beside| beside.window_ns.0 > 0)?;
        let bytes = total(beside.flows.iter().map(|flow| flow.bytes.0));
        Some(bytes as f64 / beside.window_ns.seconds())
    };
    let rates: Vec<f64> = done.iter().filter_map(rate).collect();
    median_interval(&rates, CONFIDENCE, Unit::BytesPerSecond)
}

fn retransmitted(done: &[Done<'_>]) -> Option<u64> {
    done.iter()
        .filter_map(|run| run.source?.readings.sum("tcp-info", ".retransmitted_segments"))
        .reduce(u64::saturating_add)
}

fn labels(study: &StoredStudy, trial: &Trial, summary: &Summary) -> Vec<Label> {
    let stream = summary.metric == Metric::Goodput;
    let full = |share: fn(&CpuUse) -> f64| {
        stream && summary.cpu.as_ref().is_some_and(|cpu| share(cpu) >= BUSY_SHARE_FULL)
    };
    let place = &trial.place;
    let same_cpu = !place.sink.0.is_empty() && place.sink == place.source;
    // Twice the caches: below that a good part of the passes hits.
    let small = summary.effective.buffer_span_bytes.0 < study.study.cache_bytes.0.saturating_mul(2);
    let memory = matches!(summary.metric, Metric::MemoryBandwidth | Metric::LoadToUse);
    let few = summary.estimate.is_some_and(|estimate| estimate.n < 6);
    let marks = [
        (trial.path == Path::Loopback, Label::Loopback),
        (trial.path == Path::Namespaces, Label::NoNic),
        (same_cpu && trial.path != Path::Peer && trial.path != Path::Memory, Label::SameCpu),
        (trial.params.stream.as_ref().is_some_and(|s| s.truncate), Label::Truncated),
        (memory && small, Label::CacheResident),
        (full(|cpu| cpu.source_share), Label::SourceBound),
        (full(|cpu| cpu.sink_share), Label::SinkBound),
        (summary.values.iter().any(|value| value.noisy), Label::Noisy),
        (few, Label::FewRuns),
    ];
    marks.into_iter().filter_map(|(holds, label)| holds.then_some(label)).collect()
}
