//! Where what options are told is kept, beside what workloads are always told.

use super::Options;
use crate::Bytes;
use crate::rdma::RdmaParams;
use crate::worded::worded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workload needs to know. Every field is set; defaults are made by the plan, not here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
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
    pub rdma: Option<RdmaParams>,
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
            rdma: self.rdma.filter(|rdma| *rdma != RdmaParams::default()),
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StreamParams {
    /// The end that listens sends, and the end that connects receives.
    pub reverse: bool,
    /// As many flows again in the other direction, at the same time.
    pub bidirectional: bool,
    /// Buffers of all flows of an end together, gone through message by message; `None` is one
    /// message a flow, over and over ("hot").
    pub span_bytes: Option<Bytes>,
    /// The receiver reads every byte once more after it has received it.
    pub touch: bool,
    /// The receiver compares every byte that it received with what was sent.
    pub verify: bool,
    /// How bytes are handed to the kernel; `None` is `write` for TCP and `send` for UDP.
    pub sender: Option<String>,
    /// How bytes are taken from the kernel; `None` is `recv`.
    pub receiver: Option<String>,
}

impl StreamParams {
    /// The receiver that has the kernel drop what arrived (`MSG_TRUNC`).
    pub const TRUNCATE: &str = crate::calls::TRUNCATE;

    /// True when no application receives like this.
    pub fn drops(&self) -> bool {
        self.receiver.as_deref() == Some(Self::TRUNCATE)
    }
}

/// What round trips can be told beside messages and flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TripParams {
    /// Bytes of a response; `None` is those of the request.
    pub response_bytes: Option<Bytes>,
    /// Open loop: so many requests a second over all flows, timed from when they were due, however
    /// late the one before comes back; `None` asks as soon as it has the answer.
    pub per_second: Option<u64>,
}

worded! {
    /// How threads wait for bytes.
    pub enum Wait {
        /// Asleep in the kernel, until an interrupt wakes the thread.
        Block = "block",
        /// In the kernel, which polls the NIC's queue for a while before it sleeps.
        BusyPoll = "busy-poll",
        /// In the program, call after call.
        Spin = "spin",
    }
}

impl Wait {
    /// As an option has it: who asks to block asks for nothing.
    pub(super) fn told(word: &str) -> Option<Self> {
        Some(Self::from(word)).filter(|wait| *wait != Self::Block)
    }
}

/// What sockets can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SocketParams {
    /// How threads wait for bytes; `None` blocks.
    pub wait: Option<Wait>,
    /// Largest segment to ask for (TCP).
    pub mss_bytes: Option<u32>,
    /// Switches Nagle's algorithm off or leaves it on (TCP); `None` is off for round trips and on,
    /// as the system has it, for streams.
    pub no_delay: Option<bool>,
    /// Differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: Option<u8>,
}

/// What a memory kernel can be told beside threads and working set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CpuList(pub Vec<u32>);

impl CpuList {
    /// True where no CPU was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How an end's threads are bound to its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
