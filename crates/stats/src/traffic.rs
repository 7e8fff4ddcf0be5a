//! What went over the wire beside the figure: system calls and packets.

use crate::done::Done;
use crate::interface::interface;
use crate::{median, total};
use narrows_model::Bytes;
use narrows_model::load::{EndReport, Unacknowledged, ZeroCopy};
use narrows_model::reading::{Scope, Source, keys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// System calls and packets a second, medians over runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Payload that the sender handed to its kernel.
    pub sent_bits_per_second: Option<f64>,
    /// System calls of the sender's flows.
    #[serde(rename = "source_calls_per_second")]
    pub sender_calls_per_second: Option<f64>,
    /// System calls of the receiver's flows.
    #[serde(rename = "sink_calls_per_second")]
    pub receiver_calls_per_second: Option<f64>,
    /// Packets that left the sender's interface. What is cut into packets later (segmentation
    /// offload) counts once.
    #[serde(rename = "source_interface_packets_per_second")]
    pub sender_interface_packets_per_second: Option<f64>,
    /// Packets that came to the receiver's interface, as its driver handed them over.
    #[serde(rename = "sink_interface_packets_per_second")]
    pub receiver_interface_packets_per_second: Option<f64>,
    /// Messages that the sender's flows sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_messages_per_second: Option<f64>,
    /// Messages that came to the receiver's flows: of datagrams, those of this direction alone.
    #[serde(default, rename = "sink_messages_per_second")]
    pub receiver_messages_per_second: Option<f64>,
}

/// Calls and packets; `None` for memory kernels, without runs, and for RDMA: what a NIC does by
/// itself makes no calls, and a reader sends next to nothing.
pub(crate) fn traffic(done: &[Done<'_>]) -> Option<Traffic> {
    if done.first()?.sender?.effective.rdma.is_some() {
        return None;
    }
    let over = |f: &dyn Fn(&Done<'_>) -> Option<f64>| {
        median(&done.iter().filter_map(f).collect::<Vec<f64>>())
    };
    Some(Traffic {
        sent_bits_per_second: over(&|run| {
            run.sender.map(|sender| {
                let sent = sender.flows.iter().filter(|flow| flow.sends).map(|flow| flow.bytes.0);
                8.0 * per_second(total(sent), sender)
            })
        }),
        sender_calls_per_second: over(&|run| run.sender.and_then(calls)),
        receiver_calls_per_second: over(&|run| calls(run.receiver)),
        sender_interface_packets_per_second: over(&|run| {
            let sender = run.sender?;
            Some(per_second(interface(sender, keys::TX_PACKETS)?, sender))
        }),
        receiver_interface_packets_per_second: over(&|run| {
            Some(per_second(interface(run.receiver, keys::RX_PACKETS)?, run.receiver))
        }),
        sender_messages_per_second: over(&|run| {
            let sent = run.sender?.flows.iter().filter(|flow| flow.sends);
            Some(per_second(total(sent.map(|flow| flow.messages)), run.sender?))
        }),
        receiver_messages_per_second: over(&|run| {
            let came = run.receiver.flows.iter().filter(|flow| flow.counts());
            Some(per_second(total(came.map(|flow| flow.messages)), run.receiver))
        }),
    })
}

fn per_second(count: u64, end: &EndReport) -> f64 {
    count as f64 / end.window_ns.seconds().max(1e-9)
}

/// `None` where calls are not counted.
fn calls(end: &EndReport) -> Option<f64> {
    let calls = total(end.flows.iter().map(|flow| flow.calls));
    (calls > 0).then(|| per_second(calls, end))
}

/// How busy one CPU of a host was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCpu {
    /// The kernel's number of the CPU.
    pub cpu: u32,
    /// Share of the window in which it was not idle, median over runs.
    pub share: f64,
}

/// The busiest CPUs of both ends' hosts, the busiest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCpus {
    /// Of the sender's host.
    #[serde(rename = "source")]
    pub sender: Vec<BusyCpu>,
    /// Of the receiver's host.
    #[serde(rename = "sink")]
    pub receiver: Vec<BusyCpu>,
}

/// CPUs that are told of each host.
const BUSY_MAX: usize = 8;

/// How busy the CPUs of both ends were, from `/proc/stat` over the windows.
pub(crate) fn busy_cpus(done: &[Done<'_>]) -> BusyCpus {
    BusyCpus {
        sender: busy(done.iter().filter_map(|run| run.sender)),
        receiver: busy(done.iter().map(|run| run.receiver)),
    }
}

fn busy<'a>(ends: impl Iterator<Item = &'a EndReport>) -> Vec<BusyCpu> {
    let mut shares: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for end in ends {
        for (cpu, share) in shares_of(end) {
            shares.entry(cpu).or_default().push(share);
        }
    }
    let known = shares
        .iter()
        .filter_map(|(cpu, shares)| Some(BusyCpu { cpu: *cpu, share: median(shares)? }));
    let mut known: Vec<BusyCpu> = known.collect();
    known.sort_by(|a, b| b.share.total_cmp(&a.share));
    known.truncate(BUSY_MAX);
    known
}

/// Share of an end's host's CPU time in which a CPU was not idle, over all its CPUs; `None` where
/// they were not counted.
pub(crate) fn host_share(end: &EndReport) -> Option<f64> {
    let shares = shares_of(end);
    (!shares.is_empty()).then(|| shares.values().sum::<f64>() / shares.len() as f64)
}

/// Share of its time that each CPU was not idle.
fn shares_of(end: &EndReport) -> BTreeMap<u32, f64> {
    let mut times: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (key, ns) in end.readings.from_source(Source::Cpu) {
        let Scope::Cpu(cpu) = key.scope else { continue };
        let (busy, all) = times.entry(cpu).or_default();
        *all = all.saturating_add(ns);
        if !["idle", "iowait"].contains(&&*key.name) {
            *busy = busy.saturating_add(ns);
        }
    }
    let told = times.into_iter().filter(|(_, (_, all))| *all > 0);
    told.map(|(cpu, (busy, all))| (cpu, busy as f64 / all as f64)).collect()
}

/// What measuring itself cost, in CPUs: the most of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// The thread that keeps the time line and reads the counters, of the end where it is more.
    pub keeper_cpus: Option<f64>,
    /// The controller, over the whole of a run.
    pub controller_cpus: Option<f64>,
}

pub(crate) fn overhead(done: &[Done<'_>]) -> Overhead {
    let ends = done.iter().flat_map(|run| run.sender.into_iter().chain([run.receiver]));
    Overhead {
        keeper_cpus: most(
            &mut ends
                .filter_map(|end| Some(end.keeper_ns?.0 as f64 / end.window_ns.0.max(1) as f64)),
        ),
        controller_cpus: most(&mut done.iter().filter_map(|run| {
            let around = &run.record.around;
            Some(around.controller_ns?.0 as f64 / around.took_ns.0.max(1) as f64)
        })),
    }
}

fn most(shares: &mut dyn Iterator<Item = f64>) -> Option<f64> {
    shares.reduce(f64::max)
}

/// Messages over UC and UD, of the runs whose ends both counted them.
pub(crate) fn unacknowledged(done: &[Done<'_>]) -> Option<Unacknowledged> {
    let ends = done.iter().flat_map(|run| run.sender.into_iter().chain([run.receiver]));
    ends.filter_map(|end| end.unacknowledged).reduce(|a, b| Unacknowledged {
        sent: a.sent.saturating_add(b.sent),
        received: a.received.saturating_add(b.received),
    })
}

/// What became of sends without a copy, at either end.
pub(crate) fn zero_copy(done: &[Done<'_>]) -> Option<ZeroCopy> {
    let ends = done.iter().flat_map(|run| run.sender.into_iter().chain([run.receiver]));
    ends.filter_map(|end| end.zero_copy).reduce(|a, b| ZeroCopy {
        completed: a.completed.saturating_add(b.completed),
        copied: a.copied.saturating_add(b.copied),
    })
}

/// Bytes that were compared with what was sent, at either end.
pub(crate) fn verified(done: &[Done<'_>]) -> Option<Bytes> {
    let ends = done.iter().flat_map(|run| run.sender.into_iter().chain([run.receiver]));
    let verified = ends.filter_map(|end| end.verified_bytes);
    verified.reduce(|a, b| Bytes(a.0.saturating_add(b.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_busy_for_its_own_share() {
        let mut end = EndReport::default();
        let times = [("cpu0.user_ns", 30), ("cpu0.idle_ns", 70), ("cpu12.softirq_ns", 5)];
        let more = [("cpu12.iowait_ns", 15), ("cpux.user_ns", 9), ("cpu3.idle_ns", 0)];
        for (key, ns) in times.into_iter().chain(more) {
            end.readings.put_words("cpu", key, ns);
        }
        assert_eq!(shares_of(&end), [(0, 0.3), (12, 0.25)].into());
        let busy = busy([&end].into_iter());
        assert_eq!(busy.iter().map(|busy| busy.cpu).collect::<Vec<u32>>(), [0, 12]);
    }

    #[test]
    fn the_share_that_did_not_come_is_of_what_was_sent() {
        let share = |sent, received| Unacknowledged { sent, received }.lost_share();
        assert_eq!((share(200, 150), share(0, 0)), (0.25, 0.0));
        // A peer that lies of what came.
        assert_eq!(share(100, 103), 0.0);
    }
}
