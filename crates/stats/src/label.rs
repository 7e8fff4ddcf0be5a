//! What a figure must not be taken for.

use crate::reconcile::Reconciled;
use crate::summary::{CpuUse, Summary};
use narrows_model::load::Role;
use narrows_model::result::Method;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Path, Trial};
use narrows_model::workload::Metric;
use serde::{Deserialize, Serialize};

/// A thread that used this much of its CPU's time had no more to give.
const BUSY_SHARE_FULL: f64 = 0.95;

/// What a figure must not be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Over the loopback device: not a network result.
    Loopback,
    /// Between two namespaces of one host: the stack, without a NIC or a wire.
    NoNic,
    /// Programs or the kernel did what NICs do: not a figure of RDMA hardware.
    Software,
    /// Both ends shared a CPU.
    SameCpu,
    /// The sink let the kernel drop what arrived.
    Truncated,
    /// The sink moved what arrived away unseen.
    Spliced,
    /// Many datagrams came in one packet.
    Joined,
    /// Most sends that were to be made without a copy were copied.
    ZeroCopyCopied,
    /// The source could not keep the rate that was asked for.
    BehindSchedule,
    /// The memory kernel's working set may fit in the caches.
    CacheResident,
    /// The source's busiest thread had no more CPU to give.
    SourceBound,
    /// The sink's busiest thread had no more CPU to give.
    SinkBound,
    /// Others used the host in at least one run.
    Noisy,
    /// Bytes of at least one run differed from what was sent: it has no value.
    Corrupted,
    /// Runs counted more than their interface or TCP received: they have no value.
    Impossible,
    /// Runs read what had come before their windows: their values are what arrived in them, by
    /// TCP's count or by what waited in the sockets.
    Backlog,
    /// The edges of the windows leave the figure an error worth telling.
    Rough,
    /// Nothing was counted in the windows, though the ends ran.
    Nothing,
    /// A background load did not last over the windows of at least one run.
    BackgroundEnded,
    /// Another tool measured it, and its output was imported.
    Imported,
    /// Another tool made the load and counted it.
    OtherTool,
    /// Runs whose window held too little for a figure.
    ShortWindow,
    /// Too few runs for a 95 % interval: the range is that of the values.
    FewRuns,
}

impl Label {
    /// Whether the runs were made and what they say is bad: the exit code tells.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Corrupted | Self::Nothing)
    }

    /// For people.
    pub fn says(self) -> &'static str {
        match self {
            Self::Loopback => "loopback: not a network result",
            Self::NoNic => "one host, no NIC: not a network result",
            Self::Software => "in software: no NIC does the work of RDMA",
            Self::SameCpu => "both ends on one CPU",
            Self::Truncated => "dropped uncopied (MSG_TRUNC): no application receives like this",
            Self::Spliced => "moved to /dev/null unseen (splice): no application has the bytes",
            Self::Joined => "several datagrams a packet: no wire carried so many packets",
            Self::ZeroCopyCopied => "asked for no copy, but the kernel copied",
            Self::BehindSchedule => "generator-bound: the sender fell behind the rate asked for",
            Self::CacheResident => "cache-resident: not memory",
            Self::SourceBound => "sender-bound: its thread filled a CPU",
            Self::SinkBound => "receiver-bound: its thread filled a CPU",
            Self::Noisy => "noisy: other processes used the CPUs",
            Self::Corrupted => "data was corrupted on its way",
            Self::Impossible => {
                "impossible: more was counted than came in the window (a backlog from before it)"
            }
            Self::Backlog => {
                "a backlog from before the window was read in it: values are what arrived in it"
            }
            Self::Rough => "rough: the counters and the edges of the window leave an error",
            Self::Nothing => "nothing arrived in the windows",
            Self::BackgroundEnded => "the background load did not last over the run",
            Self::Imported => "imported: not measured by narrows",
            Self::OtherTool => "another tool's own account of its load",
            Self::ShortWindow => {
                "windows too short for a figure (a median takes 20 round trips): give them more seconds"
            }
            Self::FewRuns => "too few runs for an interval (95 % takes 6): range of the values",
        }
    }
}

/// Whether the sink's interface saw fewer packets than the sink got datagrams: those of the one
/// direction that comes there.
fn joined(summary: &Summary) -> bool {
    let packets = summary.traffic.as_ref().and_then(|t| t.sink_interface_packets_per_second);
    let messages = summary.traffic.as_ref().and_then(|t| t.sink_messages_per_second);
    let datagrams = messages.filter(|_| summary.datagrams_per_second.is_some());
    packets.zip(datagrams).is_some_and(|(packets, datagrams)| datagrams > 1.5 * packets)
}

/// Whether a rate of something that must come is zero.
fn is_nothing(summary: &Summary) -> bool {
    let counts = matches!(summary.metric, Metric::Goodput | Metric::ConnectionRate);
    counts && summary.estimate.is_some_and(|estimate| estimate.value == 0.0)
}

/// Whether the source reached less than 98 % of the rate that it was to keep, and fell short by
/// more than the message of each flow that a window may cut off.
fn behind(trial: &Trial, summary: &Summary) -> bool {
    let params = &trial.params;
    let asked = params.trip.as_ref().and_then(|trip| trip.per_second);
    let reached = summary.trips_per_second.map(|rate| rate.value);
    let sent = summary.traffic.as_ref().and_then(|traffic| traffic.sent_bits_per_second);
    let each = f64::from(params.flows()) / trial.timeline.window_ns.seconds().max(1e-9);
    let short = |asked: Option<u64>, reached: Option<f64>, unit: f64| {
        let (Some(asked), Some(reached)) = (asked, reached) else { return false };
        reached < 0.98 * asked as f64 && reached + unit * each < asked as f64
    };
    let bits = 8.0 * params.message_bytes.0 as f64;
    short(asked, reached, 1.0) || short(params.rate_bps, sent, bits)
}

/// Whether a library's program did what NICs do, or a device that is none (rxe, siw): those have no
/// address on a bus.
fn in_software(study: &StoredStudy, summary: &Summary) -> bool {
    let Some(used) = &summary.effective.rdma else { return false };
    let mut devices = study.host.rdma.iter().filter(|device| device.name == used.device);
    used.software || devices.any(|device| device.address.is_none())
}

pub fn labels(study: &StoredStudy, trial: &Trial, summary: &Summary) -> Vec<Label> {
    let stream = summary.metric == Metric::Goodput;
    // A thread that spins, or waits for its next turn, fills its CPU whatever it does.
    let spins = summary.effective.wait.as_deref() == Some("spin");
    // The CPU time of a whole process does not tell whether one of its threads is full.
    let of_process = summary.effective.rdma.as_ref().is_some_and(|rdma| rdma.provider.is_some());
    let full = |share: fn(&CpuUse) -> Option<f64>| {
        let share = summary.cpu.as_ref().and_then(share);
        stream && !spins && !of_process && share.is_some_and(|share| share >= BUSY_SHARE_FULL)
    };
    let (receiver, sender) = (trial.place(Role::Receiver), trial.place(Role::Sender));
    let is_free = receiver.is_free() || sender.is_free();
    let same_cpu = !is_free && receiver.cpus.0.iter().any(|cpu| sender.cpus.0.contains(cpu));
    // Twice the caches: below that a good part of the passes hits.
    let small = summary.effective.buffer_span_bytes.0 < study.study.cache_bytes.0.saturating_mul(2);
    let memory = matches!(summary.metric, Metric::MemoryBandwidth | Metric::LoadToUse)
        && trial.engine.is_none();
    let own = trial.engine.is_none() && trial.path != Path::Imported;
    let few = summary.estimate.is_some_and(|estimate| estimate.by == Method::Range);
    let refused = summary.reconciled.iter().filter(|run| run.is_impossible()).count();
    let told = summary.values.len() + summary.corrupted.len() + refused;
    let marks = [
        (trial.path == Path::Loopback, Label::Loopback),
        (trial.path == Path::Namespaces, Label::NoNic),
        (in_software(study, summary), Label::Software),
        (same_cpu && summary.is_one_host(), Label::SameCpu),
        (trial.params.stream.as_ref().is_some_and(|s| s.drops()), Label::Truncated),
        (summary.effective.receiver.as_deref() == Some("splice"), Label::Spliced),
        (joined(summary), Label::Joined),
        (summary.zero_copy.is_some_and(|z| z.copied * 2 > z.completed), Label::ZeroCopyCopied),
        (behind(trial, summary), Label::BehindSchedule),
        (memory && small, Label::CacheResident),
        (trial.params.rate_bps.is_none() && full(|cpu| cpu.source_share), Label::SourceBound),
        (full(|cpu| cpu.sink_share), Label::SinkBound),
        (summary.values.iter().any(|value| value.noisy), Label::Noisy),
        (!summary.corrupted.is_empty(), Label::Corrupted),
        (refused > 0, Label::Impossible),
        (summary.reconciled.iter().any(Reconciled::is_without_backlog), Label::Backlog),
        (summary.reconciled.iter().any(|run| run.rough().is_some()), Label::Rough),
        (is_nothing(summary), Label::Nothing),
        (summary.background_ended > 0, Label::BackgroundEnded),
        (trial.path == Path::Imported, Label::Imported),
        (trial.engine.is_some() && trial.path != Path::Imported, Label::OtherTool),
        (own && summary.done as usize > told, Label::ShortWindow),
        (few, Label::FewRuns),
    ];
    marks.into_iter().filter_map(|(holds, label)| holds.then_some(label)).collect()
}
