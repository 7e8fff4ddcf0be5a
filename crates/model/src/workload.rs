//! Workloads by name, and what each is: over which transport, in which shape, what its figure is,
//! how large its messages are and what it needs of a host. What each can be told is in
//! [`crate::options`].

use crate::Bytes;
use crate::packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A workload. Files, orders and study files have its word (`tcp-stream`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub enum Workload {
    /// Messages as fast as they go, or at a pace.
    Stream(Transport),
    /// One request, one answer, then the next.
    RoundTrip(Transport),
    /// TCP connections that are made, used once and closed.
    Connect,
    /// Questions about the path over UDP, with some TCP handshakes: see [`crate::probe`].
    PathProbe,
    /// Frames of one size as fast as they go, or at a rate; each counts, whatever it carries.
    Packets,
    /// Bandwidth of a memory kernel.
    Memory(Kernel),
    /// A chain of loads, each of which needs the one before.
    MemoryLatency,
    /// A latency as an outside tool counts it, often half of a round trip; narrows has none.
    Latency(Transport),
    /// A word of another tool, or of a newer narrows: it can be read and not run.
    Other(Cow<'static, str>),
}

/// What carries a network workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// TCP (RFC 9293): a stream of bytes.
    Tcp,
    /// UDP (RFC 768): datagrams that may be lost.
    Udp,
    /// Queue pairs of verbs, or an endpoint of libfabric, that do this.
    Rdma(RdmaVerb),
}

/// What a queue pair is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RdmaVerb {
    /// Fetch-and-add on eight bytes.
    Atomic,
    /// Read from the other end's memory.
    Read,
    /// Send into a buffer that the other end has posted.
    Send,
    /// Write into the other end's memory.
    Write,
    /// The same, and the other end's program is told.
    WriteImm,
}

impl RdmaVerb {
    /// All verbs, by how often they are asked for.
    pub const ALL: [Self; 5] = [Self::Write, Self::WriteImm, Self::Read, Self::Send, Self::Atomic];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Read => "read",
            Self::Send => "send",
            Self::Write => "write",
            Self::WriteImm => "write-imm",
        }
    }

    /// The verb of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// What a memory workload does to its buffers; `Nt` with stores that go past the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Kernel {
    Copy,
    CopyNt,
    /// The C library's, which chooses its stores by itself.
    Memcpy,
    Read,
    /// Lines in random order.
    ReadRandom,
    /// `a = b + 3 c`, the last kernel of STREAM.
    Triad,
    TriadNt,
    Write,
    WriteNt,
}

impl Kernel {
    /// All kernels, by name.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::ReadRandom,
        Self::Write,
        Self::WriteNt,
        Self::Copy,
        Self::CopyNt,
        Self::Memcpy,
        Self::Triad,
        Self::TriadNt,
    ];

    /// Its name on the command line and in a study's `memory_load`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::CopyNt => "copy-nt",
            Self::Memcpy => "memcpy",
            Self::Read => "read",
            Self::ReadRandom => "read-random",
            Self::Triad => "triad",
            Self::TriadNt => "triad-nt",
            Self::Write => "write",
            Self::WriteNt => "write-nt",
        }
    }

    /// The kernel of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }
}

/// Every workload that has a word of its own, by that word.
const NAMED: [(&str, Workload); 34] = {
    use Kernel::{Copy, CopyNt, Memcpy, Read, ReadRandom, Triad, TriadNt, Write, WriteNt};
    use Transport::{Rdma, Tcp, Udp};
    use Workload::{
        Connect, Latency, Memory, MemoryLatency, Packets, PathProbe, RoundTrip, Stream,
    };
    [
        ("memory-copy", Memory(Copy)),
        ("memory-copy-nt", Memory(CopyNt)),
        ("memory-latency", MemoryLatency),
        ("memory-memcpy", Memory(Memcpy)),
        ("memory-read", Memory(Read)),
        ("memory-read-random", Memory(ReadRandom)),
        ("memory-triad", Memory(Triad)),
        ("memory-triad-nt", Memory(TriadNt)),
        ("memory-write", Memory(Write)),
        ("memory-write-nt", Memory(WriteNt)),
        ("packets", Packets),
        ("path-probe", PathProbe),
        ("rdma-atomic-latency", Latency(Rdma(RdmaVerb::Atomic))),
        ("rdma-atomic-rr", RoundTrip(Rdma(RdmaVerb::Atomic))),
        ("rdma-atomic-stream", Stream(Rdma(RdmaVerb::Atomic))),
        ("rdma-read-latency", Latency(Rdma(RdmaVerb::Read))),
        ("rdma-read-rr", RoundTrip(Rdma(RdmaVerb::Read))),
        ("rdma-read-stream", Stream(Rdma(RdmaVerb::Read))),
        ("rdma-send-latency", Latency(Rdma(RdmaVerb::Send))),
        ("rdma-send-rr", RoundTrip(Rdma(RdmaVerb::Send))),
        ("rdma-send-stream", Stream(Rdma(RdmaVerb::Send))),
        ("rdma-write-imm-latency", Latency(Rdma(RdmaVerb::WriteImm))),
        ("rdma-write-imm-rr", RoundTrip(Rdma(RdmaVerb::WriteImm))),
        ("rdma-write-imm-stream", Stream(Rdma(RdmaVerb::WriteImm))),
        ("rdma-write-latency", Latency(Rdma(RdmaVerb::Write))),
        ("rdma-write-rr", RoundTrip(Rdma(RdmaVerb::Write))),
        ("rdma-write-stream", Stream(Rdma(RdmaVerb::Write))),
        ("tcp-connect", Connect),
        ("tcp-latency", Latency(Tcp)),
        ("tcp-rr", RoundTrip(Tcp)),
        ("tcp-stream", Stream(Tcp)),
        ("udp-latency", Latency(Udp)),
        ("udp-rr", RoundTrip(Udp)),
        ("udp-stream", Stream(Udp)),
    ]
};

/// What a trial's figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Payload the receiver got, bits per second.
    Goodput,
    /// Packets that arrived, each once, a second.
    PacketRate,
    /// Bytes that a memory kernel counted, bytes per second.
    MemoryBandwidth,
    /// Median round trip of a run, nanoseconds.
    RoundTripP50,
    /// Connections made, used once and closed, a second.
    ConnectionRate,
    /// Time of one load that needs the one before, nanoseconds.
    LoadToUse,
    /// A latency as another tool means it, nanoseconds: often half of a round trip.
    Latency,
    /// Events a second as another tool counts them.
    Rate,
    /// Floating-point operations a second as another program counts them.
    FloatingPointRate,
}

impl Metric {
    /// Whether more of it is better.
    pub fn larger_is_better(self) -> bool {
        !matches!(self, Self::RoundTripP50 | Self::LoadToUse | Self::Latency)
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Goodput => Unit::BitsPerSecond,
            Self::MemoryBandwidth => Unit::BytesPerSecond,
            Self::RoundTripP50 | Self::LoadToUse | Self::Latency => Unit::Nanos,
            Self::ConnectionRate | Self::Rate => Unit::PerSecond,
            Self::PacketRate => Unit::PacketsPerSecond,
            Self::FloatingPointRate => Unit::FlopsPerSecond,
        }
    }

    /// What a figure of this unit is, where nothing but an outside tool's figure tells.
    pub fn of_unit(unit: Unit) -> Self {
        match unit {
            Unit::BytesPerSecond => Self::MemoryBandwidth,
            Unit::Nanos => Self::Latency,
            Unit::PerSecond | Unit::DatagramsPerSecond => Self::Rate,
            Unit::PacketsPerSecond => Self::PacketRate,
            Unit::FlopsPerSecond => Self::FloatingPointRate,
            Unit::BitsPerSecond | Unit::Share => Self::Goodput,
        }
    }
}

/// How large a message of a workload is and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// Without a word of the user.
    pub default: Bytes,
    /// The smallest that the workload can send.
    pub least: Bytes,
    /// The largest that may be ordered.
    pub most: Bytes,
}

/// Which ways the bytes of a workload can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Nowhere: it has one end.
    None,
    /// To the end that listens, back from it, or both at once.
    Any,
    /// There and back again, always begun by the end that connects.
    ThereAndBack,
}

/// What a workload needs of each host beside narrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// libibverbs (with librdmacm for its connection manager), or libfabric.
    RdmaLibrary,
    /// A device that the library has, in hardware or in software.
    RdmaDevice,
    /// Memory that may be locked (`ulimit -l`): all buffers are registered.
    LockedMemory,
}

impl Workload {
    /// A stream over TCP.
    pub const TCP_STREAM: Self = Self::Stream(Transport::Tcp);
    /// A stream over UDP.
    pub const UDP_STREAM: Self = Self::Stream(Transport::Udp);
    /// Round trips over TCP.
    pub const TCP_RR: Self = Self::RoundTrip(Transport::Tcp);
    /// Round trips over UDP.
    pub const UDP_RR: Self = Self::RoundTrip(Transport::Udp);

    /// Every workload with a word of its own, by word; those of outside tools too.
    pub fn named() -> impl Iterator<Item = Self> {
        NAMED.iter().map(|(_, workload)| workload.clone())
    }

    /// Its word in files, orders and study files.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            named => NAMED.iter().find(|(_, of)| of == named).map_or("", |(word, _)| word),
        }
    }

    /// The word for all that is of its kind, whatever its shape: `tcp`, `memory`; a word of another
    /// tool has none.
    pub fn family(&self) -> Option<&'static str> {
        Some(match (self, self.transport()) {
            (Self::Packets, _) => "packets",
            (Self::PathProbe, _) => "path",
            (Self::Memory(_) | Self::MemoryLatency, _) => "memory",
            (_, Some(Transport::Tcp)) => "tcp",
            (_, Some(Transport::Udp)) => "udp",
            (_, Some(Transport::Rdma(_))) => "rdma",
            (_, None) => return None,
        })
    }

    /// Whether narrows can run it itself.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Latency(_) | Self::Other(_))
    }

    /// Whether it needs two ends; what a word of another tool means is not known.
    pub fn is_network(&self) -> bool {
        matches!(
            self,
            Self::Stream(_)
                | Self::RoundTrip(_)
                | Self::Connect
                | Self::PathProbe
                | Self::Packets
                | Self::Latency(_)
        )
    }

    /// Whether it works on memory alone.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::MemoryLatency)
    }

    /// Whether bytes go one way as fast as they can, or at a pace.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    /// Whether datagrams go one way and both ends count them, so that loss is known.
    pub fn counts_datagrams(&self) -> bool {
        matches!(self, Self::Packets | Self::Stream(Transport::Udp))
    }

    /// Whether each request waits for its answer.
    pub fn is_round_trip(&self) -> bool {
        matches!(self, Self::RoundTrip(_))
    }

    /// What carries it; `None` for memory and where it is not known.
    pub fn transport(&self) -> Option<Transport> {
        match self {
            Self::Stream(over) | Self::RoundTrip(over) | Self::Latency(over) => Some(*over),
            Self::Connect => Some(Transport::Tcp),
            Self::PathProbe | Self::Packets => Some(Transport::Udp),
            Self::Memory(_) | Self::MemoryLatency | Self::Other(_) => None,
        }
    }

    /// Whether TCP carries it.
    pub fn is_tcp(&self) -> bool {
        self.transport() == Some(Transport::Tcp)
    }

    /// Whether UDP carries it.
    pub fn is_udp(&self) -> bool {
        self.transport() == Some(Transport::Udp)
    }

    /// Whether queue pairs carry it.
    pub fn is_rdma(&self) -> bool {
        self.verb().is_some()
    }

    /// What its queue pairs are asked to do.
    pub fn verb(&self) -> Option<RdmaVerb> {
        match self.transport()? {
            Transport::Rdma(verb) => Some(verb),
            Transport::Tcp | Transport::Udp => None,
        }
    }

    /// What its figure is; `None` where only the figure's unit tells.
    pub fn metric(&self) -> Option<Metric> {
        Some(match self {
            Self::Stream(_) => Metric::Goodput,
            Self::Packets => Metric::PacketRate,
            // A probe's is that of its questions, on a path without load.
            Self::RoundTrip(_) | Self::PathProbe => Metric::RoundTripP50,
            Self::Connect => Metric::ConnectionRate,
            Self::Memory(_) => Metric::MemoryBandwidth,
            Self::MemoryLatency => Metric::LoadToUse,
            Self::Latency(_) => Metric::Latency,
            Self::Other(_) => return None,
        })
    }

    /// How large its messages are; `None` for workloads without any.
    pub fn message(&self) -> Option<MessageSize> {
        const TOKEN: Bytes = Bytes(16);
        const OPERATION: Bytes = Bytes(8);
        let transport = self.transport()?;
        if *self == Self::Packets {
            let (least, most) = (Bytes(FRAME_BYTES_MIN), Bytes(FRAME_BYTES_MAX));
            return Some(MessageSize { default: least, least, most });
        }
        let most = match transport {
            // The largest payload of a datagram over IPv4.
            Transport::Udp => Bytes(65_507),
            Transport::Tcp | Transport::Rdma(_) => Bytes::mib(64),
        };
        let default = match (self, transport) {
            (_, Transport::Rdma(RdmaVerb::Atomic)) => OPERATION,
            // What a connection carries when connections are what counts: the token.
            (Self::Connect, _) => TOKEN,
            (Self::Stream(_), Transport::Udp) => Bytes(1472),
            (Self::Stream(_), _) => Bytes::kib(64),
            _ => Bytes(64),
        };
        let least = match (self, transport) {
            // Each datagram begins with the token.
            (_, Transport::Udp) => TOKEN,
            (_, Transport::Rdma(RdmaVerb::Atomic)) => OPERATION,
            _ => Bytes(1),
        };
        Some(MessageSize { default, least, most })
    }

    /// Bytes of its messages, as asked or else its default; 0 for workloads without any.
    pub fn message_bytes(&self, asked: Option<Bytes>) -> Bytes {
        asked.or_else(|| Some(self.message()?.default)).unwrap_or(Bytes(0))
    }

    /// Which ways its bytes can go.
    pub fn directions(&self) -> Directions {
        match self {
            Self::Stream(_) | Self::Packets => Directions::Any,
            Self::RoundTrip(_) | Self::Connect | Self::PathProbe | Self::Latency(_) => {
                Directions::ThereAndBack
            }
            Self::Memory(_) | Self::MemoryLatency | Self::Other(_) => Directions::None,
        }
    }

    /// What it needs of each host.
    pub fn needs(&self) -> &'static [Need] {
        match self.transport() {
            Some(Transport::Rdma(_)) => &[Need::RdmaLibrary, Need::RdmaDevice, Need::LockedMemory],
            _ => &[],
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<&str> for Workload {
    fn from(word: &str) -> Self {
        let named = NAMED.iter().find(|(of, _)| *of == word);
        named.map_or_else(
            || Self::Other(Cow::Owned(word.to_owned())),
            |(_, workload)| workload.clone(),
        )
    }
}

impl From<String> for Workload {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_one_workload_and_stays_it() {
        for (word, workload) in NAMED {
            assert_eq!(workload.as_str(), word);
            assert_eq!(Workload::from(word), workload);
            let text = serde_json::to_string(&workload).expect("a word");
            assert_eq!(text, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<Workload>(&text).expect("a workload"), workload);
            assert_eq!(workload.message().is_none(), !workload.is_network(), "{word}");
            // Conditions of older scripts have the first part of a word.
            assert_eq!(workload.family(), word.split('-').next(), "{word}");
        }
        let mut sorted = NAMED.map(|(word, _)| word);
        sorted.sort_unstable();
        assert_eq!(sorted, NAMED.map(|(word, _)| word), "by word");
    }

    #[test]
    fn a_word_of_another_tool_is_kept() {
        let other: Workload = serde_json::from_str("\"mpi-latency\"").expect("a word");
        assert_eq!(other, Workload::Other("mpi-latency".into()));
        assert_eq!(serde_json::to_string(&other).expect("a word"), "\"mpi-latency\"");
        // Nothing is guessed from how it ends.
        assert_eq!((other.metric(), other.transport(), other.is_own()), (None, None, false));
    }

    #[test]
    fn a_round_trip_has_64_bytes() {
        let default = |word: &str| Workload::from(word).message().expect("messages").default.0;
        for word in ["tcp-rr", "udp-rr", "rdma-send-rr", "rdma-write-rr", "tcp-latency"] {
            assert_eq!(default(word), 64, "{word}");
        }
        assert_eq!((default("tcp-stream"), default("udp-stream")), (65_536, 1472));
        assert_eq!((default("tcp-connect"), default("rdma-atomic-rr")), (16, 8));
    }
}
