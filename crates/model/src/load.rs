//! What a workload is told to do, and what it reports: the words shared by both ends of a trial.

mod stored;

pub use stored::{StoredLoad, StoredParams};

use crate::options::Options;
use crate::workload::Workload;
use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What a workload needs to know. Every field is set; defaults are made by the plan, not here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "StoredParams")]
pub struct Params {
    /// Bytes a write, a datagram, a request and its response.
    pub message_bytes: Bytes,
    /// Parallel flows (connections), or memory threads.
    pub streams: u32,
    /// Socket buffer asked for; `None` leaves the system's own sizing alone.
    pub socket_buffer_bytes: Option<Bytes>,
    /// Congestion control asked for; `None` takes the system's default. What was in use is read
    /// back.
    pub congestion: Option<String>,
    /// Pace in bits per second over all streams; `None` sends as fast as it goes.
    pub rate_bps: Option<u64>,
    /// Working set of a memory kernel over all threads; ignored by network workloads.
    pub working_set_bytes: Bytes,
    /// What only memory kernels know; `None` in trials of older versions and of the network, which
    /// keeps their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryParams>,
    /// What only streams know; `None` where nothing of it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamParams>,
    /// What only round trips know; `None` where nothing of it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trip: Option<TripParams>,
    /// What sockets of any kind can be told; `None` where nothing of it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<SocketParams>,
    /// What RDMA can be told; `None` where nothing of it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<crate::rdma::RdmaParams>,
    /// Options that have no field here, by their keys; none where none is told.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub told: Options,
}

impl Params {
    /// Parameters of a network workload: messages of a size over so many flows, nothing else asked.
    pub fn of_network(message_bytes: Bytes, streams: u32) -> Self {
        Self {
            message_bytes,
            streams,
            socket_buffer_bytes: None,
            congestion: None,
            rate_bps: None,
            working_set_bytes: Bytes(0),
            memory: None,
            stream: None,
            trip: None,
            socket: None,
            rdma: None,
            told: Options::default(),
        }
    }

    /// Parameters of a memory kernel on so many threads.
    pub fn of_memory(threads: u32, working_set_bytes: Bytes, memory: MemoryParams) -> Self {
        let memory = Some(memory);
        Self { working_set_bytes, memory, ..Self::of_network(Bytes(0), threads) }
    }

    /// The same, without groups in which nothing is asked for: a trial that names what is ordinary
    /// is that of one who says nothing.
    #[must_use]
    pub fn tidied(self) -> Self {
        Self {
            stream: self.stream.filter(|stream| *stream != StreamParams::default()),
            trip: self.trip.filter(|trip| *trip != TripParams::default()),
            socket: self.socket.filter(|socket| *socket != SocketParams::default()),
            rdma: self.rdma.filter(|rdma| *rdma != crate::rdma::RdmaParams::default()),
            ..self
        }
    }

    /// True when the end that listens is the one that sends.
    pub fn is_reverse(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.reverse)
    }

    /// True when both ends send and receive, over flows of their own.
    pub fn is_bidirectional(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.bidirectional)
    }

    /// Flows of both directions.
    pub fn flows(&self) -> u32 {
        self.streams.saturating_mul(if self.is_bidirectional() { 2 } else { 1 })
    }

    /// Bytes of a response: those of the request, unless told otherwise.
    pub fn response_bytes(&self) -> Bytes {
        let asked = self.trip.as_ref().and_then(|trip| trip.response_bytes);
        asked.unwrap_or(self.message_bytes)
    }
}

/// What a stream can be told beside messages and flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamParams {
    /// The end that listens sends, and the end that connects receives.
    pub reverse: bool,
    /// As many flows again in the other direction, at the same time.
    pub bidirectional: bool,
    /// Buffers of all flows of an end together, gone through message by message; `None` is one
    /// message a flow, over and over ("hot").
    pub span_bytes: Option<Bytes>,
    /// The sink reads every byte once more after it has received it.
    pub touch: bool,
    /// The sink compares every byte that it received with what was sent.
    pub verify: bool,
    /// How bytes are handed to the kernel; `None` is `write` for TCP and `send` for UDP.
    pub sender: Option<String>,
    /// How bytes are taken from the kernel; `None` is `recv`.
    pub receiver: Option<String>,
}

impl StreamParams {
    /// The receiver that has the kernel drop what arrived (`MSG_TRUNC`).
    pub const TRUNCATE: &str = "truncate";

    /// True when no application receives like this.
    pub fn drops(&self) -> bool {
        self.receiver.as_deref() == Some(Self::TRUNCATE)
    }
}

/// What round trips can be told beside messages and flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TripParams {
    /// Bytes of a response; `None` is those of the request.
    pub response_bytes: Option<Bytes>,
    /// Open loop: so many requests a second over all flows, timed from when they were due, however
    /// late the one before comes back; `None` asks as soon as it has the answer.
    pub per_second: Option<u64>,
}

/// What sockets can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SocketParams {
    /// How threads wait for bytes: `block`, `busy-poll`, `spin`; `None` blocks.
    pub wait: Option<String>,
    /// Largest segment to ask for (TCP).
    pub mss_bytes: Option<u32>,
    /// Switches Nagle's algorithm off or leaves it on (TCP); `None` is off for round trips and on,
    /// as the system has it, for streams.
    pub no_delay: Option<bool>,
    /// Differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: Option<u8>,
}

/// Where the connecting end's packets leave from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bind {
    /// Own address.
    pub address: Option<IpAddr>,
    /// Own interface.
    pub device: Option<String>,
}

/// What a memory kernel can be told beside threads and working set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryParams {
    /// Node that the buffers are taken from; `None` leaves it to the kernel, which takes the node
    /// of the thread that touches first.
    pub node: Option<u32>,
    /// Width of loads and stores: `portable`, `avx2`, `avx512`; `None` takes the widest up to
    /// `avx2`.
    pub vector: Option<String>,
    /// Pages: `4K`, `transparent`, `2M`, `1G`; `None` asks for transparent huge pages.
    pub pages: Option<String>,
    /// Pause of each background thread after 16 KiB (loaded latency); 0 is full speed.
    pub pause_ns: Option<u64>,
}

/// Which CPUs an end's threads run on, by a [`Binding`]. Empty: not pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuList(pub Vec<u32>);

impl CpuList {
    /// True where no CPU was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How an end's threads are bound to its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// Thread i to entry i modulo the length.
    #[default]
    Each,
    /// Every thread to the whole set, in which the scheduler moves it as it likes.
    All,
}

impl Binding {
    /// True for one CPU a thread.
    pub fn is_each(&self) -> bool {
        *self == Self::Each
    }
}

/// What an end of a trial does. Files and orders have the words of narrows 0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// From the signal to go to the end of the cool-down.
    pub fn length(&self) -> std::time::Duration {
        let ns = [self.warmup_ns.0, self.window_ns.0, self.cooldown_ns.0];
        std::time::Duration::from_nanos(ns.into_iter().fold(0, u64::saturating_add))
    }
}

/// One end's work order: everything a worker needs, and nothing it could run as a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The workload.
    pub kind: Workload,
    /// This end's part in it.
    pub end: Role,
    /// Its parameters.
    pub params: Params,
    /// CPUs for this end's threads.
    pub cpus: CpuList,
    /// How its threads are bound to those.
    #[serde(skip_serializing_if = "Binding::is_each", default)]
    pub binding: Binding,
    /// When to warm up, measure and cool down.
    pub timeline: Timeline,
    /// Address to listen on (sink) or to connect to (source); `None` for memory kernels.
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
}

/// CPU time of one thread over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Processor cycles, in user mode and in the kernel, where they can be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// CPU time spent on waiting for the next message of a pace, part of the times above; `None`
    /// where no pace was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_ns: Option<Nanos>,
}

/// Sent and received by one flow (or one memory thread) over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTally {
    /// Payload bytes (memory: bytes read plus bytes written by the kernel's code).
    pub bytes: Bytes,
    /// Messages: writes, datagrams, round trips, or passes over the buffer.
    pub messages: u64,
    /// Datagrams known to be missing, from sequence numbers (UDP sink).
    pub lost: u64,
    /// Datagrams that came after a later one (UDP sink).
    pub reordered: u64,
    /// Sends that the own host refused (UDP source: no buffer).
    pub refused: u64,
    /// System calls that sent or received, those in vain included.
    #[serde(default)]
    pub calls: u64,
    /// Datagrams that came more than once (UDP sink); not counted in messages or bytes.
    #[serde(default)]
    pub duplicates: u64,
    /// Smoothed variation of the time between datagrams at the end of the window (UDP sink of a
    /// paced source; RFC 3550, section 6.4.1).
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Which part of the transfer the datagrams belong to.
    pub of: StretchOf,
    /// Datagrams of it.
    pub datagrams: u64,
}

/// A stretch of a run that both ends can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StretchOf {
    /// What was sent in the sender's window: such datagrams say so.
    SourceWindow,
    /// All that was sent.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corruption {
    /// Flow, from 0.
    pub flow: u32,
    /// Its place among the bytes of the flow that were compared, from 0.
    pub at_byte: u64,
}

/// What became of sends that the kernel was to make without a copy (`MSG_ZEROCOPY`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroCopy {
    /// Sends that the kernel said were over.
    pub completed: u64,
    /// Of those, copied all the same.
    pub copied: u64,
}

/// Messages of a service that acknowledges none (UC, UD), over a whole run, warm-up and what came
/// late included: nothing is under way any more when both ends have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unacknowledged {
    /// Messages that the source's device has sent.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, from the opening of the window.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Payload bytes.
    pub bytes: Bytes,
}

/// What is set on the sockets, read back after it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    /// Congestion control in use (TCP).
    pub congestion: Option<String>,
    /// Send buffer as the kernel reports it (twice what is asked for, on Linux).
    pub send_buffer_bytes: Option<Bytes>,
    /// Receive buffer as the kernel reports it.
    pub receive_buffer_bytes: Option<Bytes>,
    /// Span of the application's buffer; a span within the cache is "hot".
    pub buffer_span_bytes: Bytes,
    /// How the memory kernel was built (`avx512`, `avx2`, `portable`); `None` for network
    /// workloads.
    pub variant: Option<String>,
    /// Pages that the memory kernel's buffers have: `4K`, `2M`, `1G`, or `transparent`, which the
    /// kernel may or may not have made huge.
    #[serde(default)]
    pub pages: Option<String>,
    /// Threads that load memory beside the one whose latency counts.
    #[serde(default)]
    pub background_threads: u32,
    /// Bytes that cross the memory bus per hundred bytes counted, once caches are too small: 150
    /// for a copy with plain stores; `None` for network workloads.
    pub bus_percent_of_counted: Option<u32>,
    /// How bytes are handed to the kernel.
    #[serde(default)]
    pub sender: Option<String>,
    /// How bytes are taken from the kernel.
    #[serde(default)]
    pub receiver: Option<String>,
    /// How threads wait: `block`, `busy-poll`, `spin`.
    #[serde(default)]
    pub wait: Option<String>,
    /// Largest segment of the connection as it began (TCP).
    #[serde(default)]
    pub mss_bytes: Option<u32>,
    /// Whether Nagle's algorithm is off (TCP).
    #[serde(default)]
    pub no_delay: Option<bool>,
    /// Code point that packets carry.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// MTU of the path, as the kernel knows it for this flow.
    #[serde(default)]
    pub path_mtu_bytes: Option<Bytes>,
    /// Which boot of which machine this end ran on: the beginning of the kernel's own random id.
    #[serde(default)]
    pub machine: Option<String>,
    /// Interface that has the flow's own address; the loopback device where the other end's address
    /// is this host's too.
    #[serde(default)]
    pub interface: Option<String>,
    /// Version of IP that the flow uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpVersion>,
    /// What an RDMA end chose or was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<crate::rdma::RdmaEffective>,
}

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IpVersion {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

impl IpVersion {
    /// Bytes of its header without options.
    pub fn header_bytes(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// Everything one end reports of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// True length of the window at this end.
    pub window_ns: Nanos,
    /// When it opened, by the monotonic clock of this end's host.
    #[serde(default)]
    pub opened_ns: Nanos,
    /// Why it gave no figures, where it was lost before its run was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<crate::record::Lost>,
    /// Per flow.
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
    /// Socket settings read back.
    pub effective: Effective,
    /// Counters over the window and gauges at its end, by source.
    pub readings: crate::reading::Readings,
}
