//! What a workload is told to do, and what it reports: the words shared by both ends of a trial.

use crate::lost::Lost;
pub use crate::options::{
    Binding, CpuList, Effective, IpVersion, MemoryParams, Params, SocketParams, StoredLoad,
    StoredParams, StreamParams, TripParams, Wait,
};
use crate::probe::PathProbe;
use crate::workload::Workload;
use crate::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Where the connecting end's packets leave from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bind {
    /// Address that the end's sockets are bound to.
    pub address: Option<IpAddr>,
    /// Interface that the end's sockets are bound to.
    pub device: Option<String>,
    /// Port of the same host that a cable joins to that interface: raw frames go there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cable: Option<String>,
    /// Interface of the other host that the owner of its agent lends for raw frames: they go there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lent: Option<String>,
}

impl Bind {
    /// An address, or else an interface.
    pub fn from_words(words: &str) -> Self {
        match words.parse() {
            Ok(address) => Self { address: Some(address), ..Self::default() },
            Err(_) => Self { device: Some(words.to_owned()), ..Self::default() },
        }
    }

    /// A port, and the one of the same host at the other end of its cable; `None` unless two
    /// interfaces are named.
    pub fn of_ports(words: &str) -> Option<Self> {
        let (port, other) = words.split_once(',')?;
        let (port, other) = (port.trim(), other.trim());
        let are_two = [port, other].iter().all(|name| is_interface(name));
        are_two.then(|| Self {
            device: Some(port.to_owned()),
            cable: Some(other.to_owned()),
            ..Self::default()
        })
    }

    /// The same cable, or the same interface that is lent, seen from its other end; `None` where
    /// there is none.
    pub fn other_end(&self) -> Option<Self> {
        let own = self.device.clone();
        match (&self.cable, &self.lent) {
            (Some(port), _) => {
                Some(Self { device: Some(port.clone()), cable: own, ..Self::default() })
            }
            (None, Some(lent)) => {
                Some(Self { device: Some(lent.clone()), lent: own, ..Self::default() })
            }
            (None, None) => None,
        }
    }

    /// Whether frames go between two interfaces that are named, wherever the ends meet.
    pub fn names_both(&self) -> bool {
        self.cable.is_some() || self.lent.is_some()
    }
}

/// Whether a word can be the name of an interface.
fn is_interface(word: &str) -> bool {
    !word.is_empty() && !word.contains(',') && word.parse::<IpAddr>().is_err()
}

/// What an end of a trial does. Files and orders have the words of narrows 0.1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It receives, or answers; the only end of a memory trial.
    #[serde(rename = "sink", alias = "receiver")]
    Receiver,
    /// It sends, or asks.
    #[serde(rename = "source", alias = "sender")]
    Sender,
    /// It loads its host's memory until the others are done.
    Background,
}

/// The time line of one run, counted from the signal to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Run before the window opens.
    pub warmup_ns: Nanos,
    /// The window that counts.
    pub window_ns: Nanos,
    /// Run after the window closes, so that the other end's window is covered too.
    pub cooldown_ns: Nanos,
    /// Length of the slices that bytes are told for; `None` is a tenth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Nanos>,
}

impl Timeline {
    /// A warm-up, a window in slices of a tenth of a second, and a cool-down.
    pub const fn new(warmup_ns: Nanos, window_ns: Nanos, cooldown_ns: Nanos) -> Self {
        Self { warmup_ns, window_ns, cooldown_ns, interval_ns: None }
    }

    /// From the signal to go to the end of the cool-down.
    pub fn length(&self) -> std::time::Duration {
        let ns = [self.warmup_ns.0, self.window_ns.0, self.cooldown_ns.0];
        std::time::Duration::from_nanos(ns.into_iter().fold(0, u64::saturating_add))
    }
}

/// One end's work order: everything a worker needs, and nothing it could run as a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What the end is to do.
    pub kind: Workload,
    /// This end's part in it.
    pub end: Role,
    /// What the workload was told beyond its name.
    pub params: Params,
    /// CPUs for this end's threads.
    pub cpus: CpuList,
    /// How its threads are bound to those.
    #[serde(skip_serializing_if = "Binding::is_each", default)]
    pub binding: Binding,
    /// When to warm up, measure and cool down.
    pub timeline: Timeline,
    /// Address to listen on (receiver) or to connect to (sender); `None` for memory kernels.
    pub address: Option<IpAddr>,
    /// Sixteen random bytes that open each data connection and each datagram, as hexadecimal.
    pub token: String,
    /// Network namespace to join first: a path such as `/proc/PID/fd/N`. Never taken from a peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
    /// Node that the buffers of messages are taken from; `None` leaves it to the kernel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<u32>,
    /// Where packets leave from. Never taken from a peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bind: Option<Bind>,
    /// Cookie of an iperf3 server's test: data connections then speak its words. Never taken from a
    /// peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iperf3: Option<String>,
    /// Ports to listen on, first to last; `None` takes any. Never taken from a peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ports: Option<(u16, u16)>,
    /// By which this end meets another agent's; `None` where the other end is its controller's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grant: Option<Grant>,
    /// Bits a second that the responses of an end that answers may have, over all flows, by the
    /// rate of its agent's owner; `None` leaves them unbounded. Never taken from a peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub responses_bps: Option<u64>,
    /// MAC address of the other host's interface, where raw frames go to one that an agent lends:
    /// as that agent told it, and of its own end as frames proved it. Never taken from a peer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub far_mac: Option<String>,
}

impl Job {
    /// From the signal to go to the end of the cool-down, with the time that the end waits first.
    pub fn length(&self) -> std::time::Duration {
        let after = crate::options::runs::AFTER.of(&self.params).unwrap_or(0.0);
        let after = std::time::Duration::try_from_secs_f64(after).unwrap_or_default();
        self.timeline.length().saturating_add(after)
    }

    /// An order on any CPUs, which meets the other end nowhere yet.
    pub fn new(kind: Workload, end: Role, params: Params, timeline: Timeline) -> Self {
        Self {
            kind,
            end,
            params,
            cpus: CpuList::default(),
            binding: Binding::default(),
            timeline,
            address: None,
            token: String::new(),
            namespace: None,
            node: None,
            bind: None,
            iperf3: None,
            ports: None,
            grant: None,
            responses_bps: None,
            far_mac: None,
        }
    }
}

/// What lets the ends of two agents meet. Their controller makes it for one run; its secret is the
/// order's token, and it is for the order's workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Id of the trial that it is for.
    pub trial: String,
    /// Address of the other agent: the only one that this end goes to or lets come.
    pub peer: IpAddr,
    /// How long it may be used once the end is prepared.
    pub valid_ns: Nanos,
}

/// CPU time of one thread over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUsage {
    /// CPU it was pinned to, if any.
    pub cpu: Option<u32>,
    /// CPUs that it was bound to, as the kernel told after it was asked; empty: not bound, or an
    /// older record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<u32>,
    /// Time between the two readings.
    pub wall_ns: Nanos,
    /// Time in user mode.
    pub user_ns: Nanos,
    /// Time in the kernel.
    pub system_ns: Nanos,
    /// Times it gave the CPU up by itself.
    pub voluntary_switches: u64,
    /// Times it was put aside.
    pub involuntary_switches: u64,
    /// Time in which it could have run and waited for a CPU; `None` where the kernel does not count
    /// it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<Nanos>,
    /// Processor cycles, in user mode and in the kernel, where they can be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// CPU time spent on waiting for the next message of a pace, part of the times above; `None`
    /// where no pace was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_ns: Option<Nanos>,
}

/// Sent and received by one flow (or one memory thread) over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowTally {
    /// Payload bytes (memory: bytes read plus bytes written by the kernel's code).
    pub bytes: Bytes,
    /// Messages: writes, datagrams, round trips, or passes over the buffer.
    pub messages: u64,
    /// Datagrams known to be missing, from sequence numbers (UDP receiver).
    pub lost: u64,
    /// Datagrams that came after a later one (UDP receiver).
    pub reordered: u64,
    /// Sends that the own host refused (UDP sender: no buffer).
    pub refused: u64,
    /// System calls that sent or received, those in vain included.
    #[serde(default)]
    pub calls: u64,
    /// Datagrams that came more than once (UDP receiver); not counted in messages or bytes.
    #[serde(default)]
    pub duplicates: u64,
    /// Smoothed variation of the time between datagrams at the end of the window (UDP receiver of a
    /// paced sender; RFC 3550, section 6.4.1).
    #[serde(default)]
    pub jitter_ns: Option<Nanos>,
    /// True for a flow by which this end sends, or asks.
    #[serde(default)]
    pub sends: bool,
    /// True for a flow that only the end that asks can count: the other end's NIC takes part in it,
    /// and its program does not (RDMA write, read and atomics).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_sided: bool,
    /// Datagrams of a stretch of the run that the other end counts too (UDP streams).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<Stretch>,
}

/// Datagrams of a stretch that both ends can tell, each counted once: at the sender those that its
/// kernel took, at the receiver those that came, until nothing more did. The difference is what was
/// lost, the last ones too, which gaps in the receiver's sequence numbers do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Which part of the transfer the datagrams belong to.
    pub of: StretchOf,
    /// Datagrams of it.
    pub datagrams: u64,
}

/// A stretch of a run that both ends can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StretchOf {
    /// What was sent in the sender's window: such datagrams say so.
    #[serde(rename = "source-window")]
    SenderWindow,
    WholeRun,
}

impl FlowTally {
    /// Whether what this flow counted is what arrived: at the end that receives, or, where that end
    /// takes no part, at the end that asks.
    pub fn counts(&self) -> bool {
        self.sends == self.one_sided
    }
}

/// A byte that did not arrive as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Corruption {
    /// Flow, from 0.
    pub flow: u32,
    /// Its place among the bytes of the flow that were compared, from 0.
    pub at_byte: u64,
}

/// What became of sends that the kernel was to make without a copy (`MSG_ZEROCOPY`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZeroCopy {
    /// Sends that the kernel said were over.
    pub completed: u64,
    /// Of those, copied all the same.
    pub copied: u64,
}

/// Whether another program traces that of an end (ptrace(2)): a debugger, strace, an agent that
/// watches system calls. Each call of a traced thread may stop it twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tracing {
    /// Threads of the end's process, as the window opened or closed, whichever had more.
    pub threads: u32,
    /// Those of them that were traced (`TracerPid`).
    pub traced: u32,
    /// What the tracing program is called, where that could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The next hop of an end's packets, as the kernel knew its link-layer address over a run: from
/// before the warm-up until after the window. The addresses themselves are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NextHop {
    /// Whether it is a router, and not the other end itself.
    pub is_router: bool,
    /// Different link-layer addresses that it had.
    pub addresses: u32,
    /// Times that one took the place of another.
    pub changes: u32,
    /// Times that it had none any more: nobody answered for it (ARP, neighbour discovery), or its
    /// entry was taken away.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Ports of a flow, of which hashes of bundles (LAG, ECMP) choose its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPorts {
    /// Of this end.
    pub own: u16,
    /// Of the other end.
    pub peer: u16,
}

/// Messages of a service that acknowledges none (UC, UD), over a whole run, warm-up and what came
/// late included: nothing is under way any more when both ends have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unacknowledged {
    /// Messages that the sender's device has sent.
    pub sent: u64,
    /// Messages that came.
    pub received: u64,
}

impl Unacknowledged {
    /// Share that did not come: lost on the way, or for want of a buffer at the receiver; nothing
    /// tells which.
    pub fn lost_share(&self) -> f64 {
        self.sent.saturating_sub(self.received) as f64 / self.sent.max(1) as f64
    }
}

/// Bytes that passed in one slice of the window, over all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start, from the opening of the window.
    pub start_ns: Nanos,
    /// Length of the slice.
    pub length_ns: Nanos,
    /// Payload that was counted in the slice.
    pub bytes: Bytes,
}

/// Everything one end reports of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndReport {
    /// True length of the window at this end.
    pub window_ns: Nanos,
    /// When it opened, by the monotonic clock of this end's host.
    #[serde(default)]
    pub opened_ns: Nanos,
    /// Why it gave no figures, where it was lost before its run was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Tallies of the flows, in their order.
    pub flows: Vec<FlowTally>,
    /// Per slice of the window.
    pub intervals: Vec<Interval>,
    /// Per thread, in flow order.
    pub threads: Vec<ThreadUsage>,
    /// From before the first look at the counters to after the second: the readings are of no more
    /// than this, and of no less than the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_ns: Option<Nanos>,
    /// CPU time of the thread that keeps the time line and reads the counters, over the window.
    #[serde(default)]
    pub keeper_ns: Option<Nanos>,
    /// How long that thread could run in the window and waited for a CPU; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper_waited_ns: Option<Nanos>,
    /// Sum of how late that thread woke from sleeps of 20 ms in the window, of those that were late
    /// by 5 ms or more; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper_late_ns: Option<Nanos>,
    /// CPU time of the whole process over the window but for the keeper's: what a library's own
    /// threads use is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_ns: Option<Nanos>,
    /// Sends without a copy, when they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<ZeroCopy>,
    /// The first byte that differed from what was sent, when bytes were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupted: Option<Corruption>,
    /// Bytes compared with what was sent, from the first on, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_bytes: Option<Bytes>,
    /// Messages that nobody acknowledges, told by the end that receives once it knows how many were
    /// sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacknowledged: Option<Unacknowledged>,
    /// Round trips: (upper edge in ns, count) of each filled histogram bucket, ascending.
    pub round_trips: Vec<(Nanos, u64)>,
    /// The shortest and the longest of them, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_extremes_ns: Option<(Nanos, Nanos)>,
    /// What of the time of connections that were made in the window their handshakes took, all
    /// together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes_ns: Option<Nanos>,
    /// Each round trip whose request was due in the window: when it was due, from the opening of
    /// the window, and how long it took; `None` where no answer came before the run was over. Only
    /// of requests that overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each_round_trip: Vec<(Nanos, Option<Nanos>)>,
    /// Times between sending and arriving of packets of the sender's window, by each end's own
    /// monotonic clock: (upper edge in ns, count) of each filled bucket, ascending. Only where both
    /// ends are on one host do they have the same clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<(Nanos, u64)>,
    /// What a probe of the path found, told by the end that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Box<PathProbe>>,
    /// Whether this end's program was traced; `None` where that could not be read, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Where this end's packets went first; `None` without a link layer, where it could not be
    /// read, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<NextHop>,
    /// The interface on whose own network the other end is, where this end's packets leave by
    /// another one to a router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_aside: Option<String>,
    /// Ports of the flows, in their order; empty in older records, and where flows have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<FlowPorts>,
    /// Socket settings read back.
    pub effective: Effective,
    /// Counters over the window and gauges at its end, by source.
    pub readings: crate::reading::Readings,
    /// What crossed the memory bus of this end's host meanwhile; `None` in older records and of
    /// background loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<crate::memory_traffic::MemoryTraffic>>,
    /// Where the CPU time went, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<crate::profile::Profiled>,
}

impl EndReport {
    /// Gives back the room that reading it from a file left in its lists: of a study's many runs
    /// that is a fifth.
    pub fn trim(&mut self) {
        self.flows.shrink_to_fit();
        self.intervals.shrink_to_fit();
        self.threads.shrink_to_fit();
        self.ports.shrink_to_fit();
        self.round_trips.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ports_of_a_cable_are_each_others_other_end() {
        let ports = |words: &str| {
            let bind = Bind::of_ports(words)?;
            assert_eq!(bind.address, None);
            Some((bind.device?, bind.cable?))
        };
        let two = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(ports("eth0,eth1"), two("eth0", "eth1"));
        assert_eq!(ports(" eth0 , eth1 "), two("eth0", "eth1"));
        for other in ["eth0", "eth0,", ",eth1", "a,b,c", "10.0.0.1,eth1", "eth0,fe80::1", ""] {
            assert_eq!(ports(other), None, "{other}");
        }
        let near = Bind::of_ports("eth0,eth1").expect("two ports");
        let far = near.other_end().expect("a cable");
        assert_eq!((far.device.as_deref(), far.cable.as_deref()), (Some("eth1"), Some("eth0")));
        assert_eq!(Bind::from_words("eth0").other_end(), None);
        let near = Bind { lent: Some("eth9".to_owned()), ..Bind::from_words("eth0") };
        let far = near.other_end().expect("an interface that is lent");
        assert_eq!((far.device.as_deref(), far.lent.as_deref()), (Some("eth9"), Some("eth0")));
        assert_eq!((far.cable.as_deref(), far.names_both()), (None, true));
        assert!(near.names_both() && !Bind::from_words("eth0").names_both());
        let address = Bind::from_words("10.0.0.1");
        assert_eq!((address.device, address.address), (None, "10.0.0.1".parse().ok()));
    }
}
