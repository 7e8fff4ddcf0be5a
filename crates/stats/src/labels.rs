//! Which labels the figures of a trial have.

use crate::label::Label;
use crate::reconcile::Reconciled;
use crate::summary::{CpuUse, Summary};
use crate::total;
use narrows_model::calls;
use narrows_model::load::{Role, Wait};
use narrows_model::record::{Outcome, ToolPackets};
use narrows_model::result::Method;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_model::workload::{Metric, Workload};

/// A thread that used this much of its CPU's time had no more to give.
const BUSY_SHARE_FULL: f64 = 0.95;

/// Whether the receiver's interface saw fewer packets than the receiver got datagrams: those of the
/// one direction that comes there.
fn joined(summary: &Summary) -> bool {
    let packets = summary.traffic.as_ref().and_then(|t| t.receiver_interface_packets_per_second);
    let messages = summary.traffic.as_ref().and_then(|t| t.receiver_messages_per_second);
    let datagrams = messages.filter(|_| summary.datagrams_per_second.is_some());
    packets.zip(datagrams).is_some_and(|(packets, datagrams)| datagrams > 1.5 * packets)
}

/// Whether a rate of something that must come is zero.
fn is_nothing(summary: &Summary) -> bool {
    let counts =
        matches!(summary.metric, Metric::Goodput | Metric::PacketRate | Metric::ConnectionRate);
    let none = counts && summary.estimate.is_some_and(|estimate| estimate.value == 0.0);
    none || is_all_lost(summary)
}

/// Whether requests were sent, and no response came in any run.
fn is_all_lost(summary: &Summary) -> bool {
    let came = summary.round_trips.as_ref().is_some_and(|trips| trips.count > 0);
    summary.lost_round_trips.is_some_and(|lost| lost > 0) && !came
}

/// Whether something came in one direction of two, and nothing in the other.
fn is_nothing_one_way(summary: &Summary) -> bool {
    let both = summary.estimate.as_ref().zip(summary.back.as_ref());
    both.is_some_and(|(all, back)| {
        let there = all.value - back.value;
        all.value > 0.0 && (back.value <= 0.0 || there <= 1e-9 * all.value)
    })
}

/// Whether the sender reached less than 98 % of the rate that it was to keep, and fell short by
/// more than the message of each flow that a window may cut off.
fn behind(trial: &Trial, summary: &Summary) -> bool {
    let params = &trial.params;
    let asked = params.trip.as_ref().and_then(|trip| trip.per_second);
    let reached = summary.trips_per_second.map(|rate| rate.value);
    let sent = kept_bps(trial, summary);
    let each = f64::from(params.flows()) / trial.timeline.window_ns.seconds().max(1e-9);
    let short = |asked: Option<u64>, reached: Option<f64>, unit: f64| {
        let (Some(asked), Some(reached)) = (asked, reached) else { return false };
        reached < 0.98 * asked as f64 && reached + unit * each < asked as f64
    };
    let bits = 8.0 * params.message_bytes.0 as f64;
    short(asked, reached, 1.0) || short(params.rate_bps, sent, bits)
}

/// Bits a second that the sender kept, as the rate that was asked for counts them: those of packets
/// are of whole frames.
fn kept_bps(trial: &Trial, summary: &Summary) -> Option<f64> {
    let traffic = summary.traffic.as_ref()?;
    if trial.kind == Workload::Packets {
        let packets = traffic.sender_messages_per_second?;
        return Some(8.0 * packets * trial.params.message_bytes.0 as f64);
    }
    traffic.sent_bits_per_second
}

/// Whether the sender exceeded the rate that it was to keep by more than 2 %, and by more than the
/// message of each flow that a window may cut off.
fn ahead(trial: &Trial, summary: &Summary) -> bool {
    let kept = trial.params.rate_bps.zip(kept_bps(trial, summary));
    let each = f64::from(trial.params.flows()) / trial.timeline.window_ns.seconds().max(1e-9);
    let bits = 8.0 * trial.params.message_bytes.0 as f64;
    kept.is_some_and(|(asked, sent)| {
        sent > 1.02 * asked as f64 && sent - bits * each > asked as f64
    })
}

/// Whether a library's program did what NICs do at any end, or a device that is none (rxe, siw):
/// those have no address on a bus.
fn in_software(study: &StoredStudy, summary: &Summary) -> bool {
    summary.settings.ends().iter().any(|end| {
        let Some(used) = &end.effective.rdma else { return false };
        let host = match end.host {
            EndHost::Peer(at) => study.peer_hosts.get(at as usize).unwrap_or(&study.host),
            EndHost::Controller => &study.host,
        };
        let mut devices = host.rdma.iter().filter(|device| device.name == used.device);
        used.software || devices.any(|device| device.address.is_none())
    })
}

/// Whether any end that receives moves bytes on without taking them.
fn is_spliced(summary: &Summary) -> bool {
    summary.settings.receivers().any(|end| end.receiver.as_deref() == Some(calls::SPLICE))
}

/// What was counted of the packets of a trial's generator, run by run.
fn tool_packets<'a>(
    study: &'a StoredStudy,
    trial: &'a Trial,
) -> impl Iterator<Item = &'a ToolPackets> {
    let runs = study.records.iter().filter(|record| record.trial == trial.id);
    runs.filter_map(|record| record.external.as_ref()?.packets.as_deref())
}

/// A memory kernel waits for nothing: below this share of the window its threads had no CPU.
const FED_SHARE: f64 = 0.95;

/// Whether the threads of any run that is done had less CPU time than their windows are long, all
/// together: others had their CPUs, or a quota stopped them. What a hypervisor takes is seen where
/// the kernel leaves it out of threads' time.
fn is_starved(study: &StoredStudy, trial: &Trial) -> bool {
    let mut runs = study.records_of(trial).filter(|record| record.outcome == Outcome::Done);
    runs.any(|record| {
        let threads = || record.measured().flat_map(|end| &end.threads);
        let worked = threads().map(|one| one.user_ns.0.saturating_add(one.system_ns.0));
        let (worked, whole) = (total(worked), total(threads().map(|one| one.wall_ns.0)));
        (worked as f64) < FED_SHARE * whole as f64
    })
}

pub fn labels(study: &StoredStudy, trial: &Trial, summary: &Summary) -> Vec<Label> {
    let stream = summary.metric == Metric::Goodput;
    // A thread that spins, or waits for its next turn, fills its CPU whatever it does.
    let spins = summary.settings.senders().any(|end| end.wait == Some(Wait::Spin));
    // The CPU time of a whole process does not tell whether one of its threads is full.
    let of_process = summary
        .settings
        .senders()
        .any(|end| end.rdma.as_ref().is_some_and(|rdma| rdma.provider.is_some()));
    let full = |share: fn(&CpuUse) -> Option<f64>| {
        let share = summary.cpu.as_ref().and_then(share);
        stream && !spins && !of_process && share.is_some_and(|share| share >= BUSY_SHARE_FULL)
    };
    let (receiver, sender) = (trial.place(Role::Receiver), trial.place(Role::Sender));
    let is_free = receiver.is_free() || sender.is_free();
    // Of a list that is longer than there are threads, the others are not used.
    let [receives, sends] = [receiver, sender].map(|place| place.taken(trial.params.flows()));
    let same_cpu = !is_free && receives.iter().any(|cpu| sends.contains(cpu));
    let behind = behind(trial, summary);
    // Round trips are sent when they are due, and a thread that spins is full whatever it does.
    let held = stream && !spins && !of_process && !full(|cpu| cpu.sender_share);
    // Twice the caches: below that a good part of the passes hits.
    let span_bytes = summary.settings.sender().map_or(0, |end| end.buffer_span_bytes.0);
    let small = span_bytes < study.study.cache_bytes.0.saturating_mul(2);
    let memory = matches!(summary.metric, Metric::MemoryBandwidth | Metric::LoadToUse)
        && trial.engine.is_none();
    let own = trial.engine.is_none() && trial.path != NetworkPath::Imported;
    let by_tool = trial.engine.is_some() && trial.path != NetworkPath::Imported;
    let counted = tool_packets(study, trial).next().is_some();
    let few = summary.estimate.is_some_and(|estimate| estimate.by == Method::Range);
    let refused = summary.reconciled.iter().filter(|run| run.is_impossible()).count();
    let told = summary.values.len() + summary.corrupted.len() + refused;
    let marks = [
        (trial.path == NetworkPath::Loopback, Label::Loopback),
        (trial.path == NetworkPath::Namespaces, Label::NoNic),
        (in_software(study, summary), Label::Software),
        (same_cpu && summary.is_one_host(), Label::SameCpu),
        (trial.params.stream.as_ref().is_some_and(|s| s.drops()), Label::Truncated),
        (is_spliced(summary), Label::Spliced),
        (joined(summary), Label::Joined),
        (summary.zero_copy.is_some_and(|z| z.copied * 2 > z.completed), Label::ZeroCopyCopied),
        (behind && !held, Label::BehindSchedule),
        (ahead(trial, summary), Label::AheadOfSchedule),
        (behind && held, Label::HeldBack),
        (memory && small, Label::CacheResident),
        (trial.params.rate_bps.is_none() && full(|cpu| cpu.sender_share), Label::SenderBound),
        (full(|cpu| cpu.receiver_share), Label::ReceiverBound),
        (summary.values.iter().any(|value| value.noisy), Label::Noisy),
        (memory && is_starved(study, trial), Label::Starved),
        (!summary.corrupted.is_empty(), Label::Corrupted),
        (refused > 0, Label::Impossible),
        (summary.reconciled.iter().any(Reconciled::is_without_backlog), Label::Backlog),
        (summary.reconciled.iter().any(|run| run.rough().is_some()), Label::Rough),
        (is_nothing(summary), Label::Nothing),
        (is_nothing_one_way(summary), Label::NothingOneWay),
        (summary.background_ended > 0, Label::BackgroundEnded),
        (trial.path == NetworkPath::Imported, Label::Imported),
        (by_tool && !counted, Label::OtherTool),
        (by_tool && counted, Label::ToolSent),
        (tool_packets(study, trial).any(ToolPackets::is_miscounted), Label::ToolMiscounts),
        (own && summary.done as usize > told && !is_all_lost(summary), Label::ShortWindow),
        (few, Label::FewRuns),
    ];
    marks.into_iter().filter_map(|(holds, label)| holds.then_some(label)).collect()
}
