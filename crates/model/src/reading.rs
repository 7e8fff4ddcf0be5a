//! What counters told of a run, by typed keys: what was counted, in which unit, of what, and
//! whether it is a count over the window or a state at its edge.
//!
//! In files a key is words: `flow0.rtt_ns` of `tcp-info`. A key that this narrows does not know,
//! from a newer one or another hand, is kept as it was written.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Where counters are read. The words of files are those of [`Source::word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `/proc/stat`.
    Cpu,
    /// The control group of the end's process: `cpu.stat`.
    Group,
    /// `/proc/net/dev`.
    Interface,
    /// `/proc/net/netstat`, `/proc/net/snmp` and `/proc/net/snmp6`, by the kernel's own names.
    Netstat,
    /// What drivers count of Ethernet pause frames.
    Pause,
    /// `/proc/pressure`.
    Pressure,
    /// Ports of RDMA devices.
    Rdma,
    /// `SO_MEMINFO` of the flows' sockets.
    Socket,
    /// `/proc/net/softnet_stat`.
    Softnet,
    /// `TCP_INFO` of the flows' connections.
    TcpInfo,
    /// `/proc/net/snmp`.
    Udp,
}

impl Source {
    const WORDS: [(Self, &'static str); 11] = [
        (Self::Cpu, "cpu"),
        (Self::Group, "group"),
        (Self::Interface, "interface"),
        (Self::Netstat, "netstat"),
        (Self::Pause, "pause"),
        (Self::Pressure, "pressure"),
        (Self::Rdma, "rdma"),
        (Self::Socket, "socket"),
        (Self::Softnet, "softnet"),
        (Self::TcpInfo, "tcp-info"),
        (Self::Udp, "udp"),
    ];

    /// Its name in files.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(source, _)| *source == self).map_or("", |(_, word)| word)
    }

    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(source, _)| *source)
    }
}

/// What a reading is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole host, or the whole network namespace of the end.
    Host,
    /// One CPU, by the kernel's number.
    Cpu(u32),
    /// One NUMA node, by the kernel's number.
    Node(u32),
    /// One processor, by its physical package's number.
    Package(u32),
    /// One network interface, by name, or one port of an RDMA device: `mlx5_0/1`.
    Nic(String),
    /// One flow of the trial, from 0.
    Flow(u32),
}

/// What a reading counts. The words of files are at the end of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Bytes, of payload or of frames, as the key says.
    Bytes,
    /// Packets as the device counts them; with offloads one may be 64 KiB.
    Packets,
    /// UDP datagrams.
    Datagrams,
    /// TCP segments.
    Segments,
    /// Ethernet frames.
    Frames,
    /// Rounds of a driver's polling.
    Polls,
    /// Whatever a driver counts.
    Events,
    /// Nanoseconds.
    Nanos,
    /// Options of TCP, a bit each.
    Options,
}

impl Unit {
    const WORDS: [(Self, &'static str); 9] = [
        (Self::Bytes, "bytes"),
        (Self::Packets, "packets"),
        (Self::Datagrams, "datagrams"),
        (Self::Segments, "segments"),
        (Self::Frames, "frames"),
        (Self::Polls, "polls"),
        (Self::Events, "events"),
        (Self::Nanos, "ns"),
        (Self::Options, "options"),
    ];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(unit, _)| *unit == self).map_or("", |(_, word)| word)
    }

    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(unit, _)| *unit)
    }
}

/// Whether a reading is what was counted over the window, or a state at some time of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The growth of a total from one look to the other. Counts of several scopes add up.
    Counter,
    /// A state. States of several scopes do not add up.
    Gauge(Moment),
}

/// When a state was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// As the window opened.
    Opening,
    /// The lowest of those that were read in the window and at its edges.
    Lowest,
    /// The highest of them.
    Highest,
    /// As the window closed.
    Closing,
}

impl Moment {
    /// What stands before a gauge's name in files; nothing where it is the closing one, the only
    /// one that older versions read.
    const WORDS: [(Self, &'static str); 3] =
        [(Self::Opening, "opening:"), (Self::Lowest, "lowest:"), (Self::Highest, "highest:")];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(moment, _)| *moment == self).map_or("", |(_, word)| word)
    }
}

/// A total that only grows, told by its growth over the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Where it is read.
    pub source: Source,
    /// Without unit and scope: `received`.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
}

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Where it is read.
    pub source: Source,
    /// Without unit and scope: `rtt`.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: Unit,
}

impl Counter {
    /// By its parts.
    pub const fn of(source: Source, name: &'static str, unit: Unit) -> Self {
        Self { source, name, unit }
    }

    /// Its key for one scope.
    pub fn key(self, scope: Scope) -> Key {
        let name = Cow::Borrowed(self.name);
        Key { source: self.source, scope, name, unit: self.unit, kind: Kind::Counter }
    }

    fn is(self, key: &Key) -> bool {
        (self.source, self.name, self.unit, Kind::Counter)
            == (key.source, &*key.name, key.unit, key.kind)
    }
}

impl Gauge {
    /// By its parts.
    pub const fn of(source: Source, name: &'static str, unit: Unit) -> Self {
        Self { source, name, unit }
    }

    /// Its key for one scope and moment.
    pub fn key(self, scope: Scope, at: Moment) -> Key {
        let name = Cow::Borrowed(self.name);
        Key { source: self.source, scope, name, unit: self.unit, kind: Kind::Gauge(at) }
    }

    /// Whether a key is of this state, of whichever scope and moment.
    pub fn is(self, key: &Key) -> bool {
        (self.source, self.name, self.unit) == (key.source, &*key.name, key.unit)
    }
}

/// The counters that something asks for by name, and all gauges.
pub mod keys {
    use super::Source::{Cpu, Group, Interface, Netstat, Socket, Softnet, TcpInfo};
    use super::Unit::{Bytes, Events, Nanos, Options, Packets, Segments};
    use super::{Counter, Gauge};

    /// Time of a CPU in user mode, niced or not.
    pub const USER: Counter = Counter::of(Cpu, "user", Nanos);
    /// Time of a CPU in the kernel.
    pub const SYSTEM: Counter = Counter::of(Cpu, "system", Nanos);
    /// Time in which a CPU had nothing to do.
    pub const IDLE: Counter = Counter::of(Cpu, "idle", Nanos);
    /// Time in which a CPU had nothing to do but to wait for disks.
    pub const IOWAIT: Counter = Counter::of(Cpu, "iowait", Nanos);
    /// Time in which the hypervisor gave a CPU to others.
    pub const STEAL: Counter = Counter::of(Cpu, "steal", Nanos);
    /// Time of a CPU in software interrupts.
    pub const SOFTIRQ: Counter = Counter::of(Cpu, "softirq", Nanos);
    /// Time of a CPU in hardware interrupts.
    pub const IRQ: Counter = Counter::of(Cpu, "irq", Nanos);
    /// Bytes that an interface received, with or without the link's header.
    pub const RX_BYTES: Counter = Counter::of(Interface, "rx", Bytes);
    /// Packets that an interface handed over.
    pub const RX_PACKETS: Counter = Counter::of(Interface, "rx", Packets);
    /// Packets that an interface received and dropped.
    pub const RX_DROPPED: Counter = Counter::of(Interface, "rx_dropped", Packets);
    /// Packets that an interface received with errors.
    pub const RX_ERRORS: Counter = Counter::of(Interface, "rx_errors", Packets);
    /// Bytes that an interface sent.
    pub const TX_BYTES: Counter = Counter::of(Interface, "tx", Bytes);
    /// Packets that an interface was given to send.
    pub const TX_PACKETS: Counter = Counter::of(Interface, "tx", Packets);
    /// Packets that an interface was to send and dropped.
    pub const TX_DROPPED: Counter = Counter::of(Interface, "tx_dropped", Packets);
    /// Packets that an interface could not send.
    pub const TX_ERRORS: Counter = Counter::of(Interface, "tx_errors", Packets);
    /// Packets that found no room in a flow's socket.
    pub const SOCKET_DROPPED: Counter = Counter::of(Socket, "dropped", Packets);
    /// Packets that found a CPU's backlog full.
    pub const BACKLOG_DROPPED: Counter = Counter::of(Softnet, "dropped", Packets);
    /// Packets that CPUs took from devices.
    pub const PROCESSED: Counter = Counter::of(Softnet, "processed", Packets);
    /// Payload that a connection received.
    pub const TCP_RECEIVED: Counter = Counter::of(TcpInfo, "received", Bytes);
    /// Segments that a connection sent, those that it sent again included.
    pub const SENT: Counter = Counter::of(TcpInfo, "sent", Segments);
    /// Segments that a connection sent again.
    pub const RETRANSMITTED: Counter = Counter::of(TcpInfo, "retransmitted", Segments);
    /// Segments that the receiver said it had already (RFC 2883).
    pub const DUPLICATES: Counter = Counter::of(TcpInfo, "duplicates_reported", Segments);
    /// Time in which the receiver's window held a connection back.
    pub const LIMITED_BY_WINDOW: Counter = Counter::of(TcpInfo, "limited_by_receive_window", Nanos);
    /// Time in which the sender's buffer held a connection back.
    pub const LIMITED_BY_BUFFER: Counter = Counter::of(TcpInfo, "limited_by_send_buffer", Nanos);

    /// Segments that a connection received, pure acknowledgements included.
    pub const SEGMENTS_IN: Counter = Counter::of(TcpInfo, "received", Segments);
    /// Segments with payload that a connection received.
    pub const DATA_IN: Counter = Counter::of(TcpInfo, "received_data", Segments);
    /// Segments with payload that a connection sent, those that it sent again included.
    pub const DATA_OUT: Counter = Counter::of(TcpInfo, "sent_data", Segments);
    /// Time in which a connection had something to send or unacknowledged.
    pub const BUSY: Counter = Counter::of(TcpInfo, "busy", Nanos);
    /// Segments that arrived with a mark of congestion (ECN, RFC 3168), as their sender was told.
    pub const MARKED: Counter = Counter::of(TcpInfo, "delivered_marked", Segments);
    /// Times that a sender saw later segments acknowledged before earlier ones that were not lost.
    pub const REORDERING: Counter = Counter::of(TcpInfo, "reordering_seen", Events);
    /// Segments that came before others that were sent earlier.
    pub const OUT_OF_ORDER: Counter = Counter::of(TcpInfo, "received_out_of_order", Segments);
    /// Times that a sender's retransmission timer ran out (Linux 6.7).
    pub const TIMEOUTS: Counter = Counter::of(TcpInfo, "timeouts", Events);
    /// Periods in which the control group had used up its CPU time.
    pub const THROTTLED: Counter = Counter::of(Group, "throttled", Events);
    /// Periods of the control group's quota.
    pub const QUOTA_PERIODS: Counter = Counter::of(Group, "periods", Events);

    /// A counter of the network namespace by the kernel's name for it.
    pub const fn kernel(name: &'static str) -> Counter {
        Counter::of(Netstat, name, Events)
    }
    /// Connections that a full accept queue refused.
    pub const LISTEN_OVERFLOWS: Counter = kernel("TcpExt.ListenOverflows");
    /// First packets of connections sent again.
    pub const SYN_RETRANSMITTED: Counter = kernel("TcpExt.TCPSynRetrans");
    /// Segments that came twice: those that were received already.
    pub const CAME_TWICE: Counter = kernel("TcpExt.TCPDSACKOldSent");
    /// The same, of segments that were received out of order.
    pub const CAME_TWICE_EARLY: Counter = kernel("TcpExt.TCPDSACKOfoSent");
    /// Segments whose checksum was wrong.
    pub const TCP_CHECKSUM: Counter = kernel("Tcp.InCsumErrors");
    /// Datagrams whose checksum was wrong.
    pub const UDP_CHECKSUM: Counter = kernel("Udp.InCsumErrors");
    /// Segments that a TCP socket sent, as the namespace counts them.
    pub const TCP_OUT: Counter = kernel("Tcp.OutSegs");
    /// Fragments that came and were to be joined.
    pub const FRAGMENTS_IN: Counter = kernel("Ip.ReasmReqds");
    /// Packets whose fragments could not be joined.
    pub const FRAGMENTS_FAILED: Counter = kernel("Ip.ReasmFails");
    /// Fragments that were made.
    pub const FRAGMENTS_OUT: Counter = kernel("Ip.FragCreates");
    /// Packets that arrived marked by a router (ECN).
    pub const CONGESTION_MARKS: Counter = kernel("IpExt.InCEPkts");
    /// Messages of routers and hosts that something cannot be reached or is too big.
    pub const UNREACHABLE_IN: Counter = kernel("Icmp.InDestUnreachs");
    /// Segments dropped since a socket's backlog was full.
    pub const SOCKET_BACKLOG: Counter = kernel("TcpExt.TCPBacklogDrop");
    /// Segments dropped since a receive queue was full.
    pub const RECEIVE_QUEUE: Counter = kernel("TcpExt.TCPRcvQDrop");
    /// Times that a sender's retransmission timer ran out, of all connections of the namespace.
    pub const KERNEL_TIMEOUTS: Counter = kernel("TcpExt.TCPTimeouts");

    /// Times that a sender repaired a loss by selective acknowledgements.
    pub const RECOVERIES: Counter = kernel("TcpExt.TCPSackRecovery");
    /// Times that it repaired one without them.
    pub const RECOVERIES_WITHOUT_SACK: Counter = kernel("TcpExt.TCPRenoRecovery");
    /// Acknowledgements that waited for something to go with (RFC 1122: at most half a second).
    pub const DELAYED_ACKS: Counter = kernel("TcpExt.DelayedACKs");

    /// Bits of [`TCP_OPTIONS`] (include/uapi/linux/tcp.h, `TCPI_OPT_*`).
    pub const OPTION_TIMESTAMPS: u64 = 1;
    /// Selective acknowledgements were agreed on.
    pub const OPTION_SACK: u64 = 2;
    /// Scaled windows were agreed on.
    pub const OPTION_WINDOW_SCALE: u64 = 4;
    /// Congestion marks were agreed on.
    pub const OPTION_ECN: u64 = 8;

    /// What both ends of a connection agreed on.
    pub const TCP_OPTIONS: Gauge = Gauge::of(TcpInfo, "agreed", Options);
    /// Largest segment that this end told its peer to send.
    pub const ADVERTISED_MSS: Gauge = Gauge::of(TcpInfo, "advertised_mss", Bytes);
    /// Window that the peer offers (Linux 5.4).
    pub const SEND_WINDOW: Gauge = Gauge::of(TcpInfo, "send_window", Bytes);
    /// Window that this end offers (Linux 6.2).
    pub const RECEIVE_WINDOW: Gauge = Gauge::of(TcpInfo, "receive_window", Bytes);
    /// Kernel memory of what waits in a flow's socket.
    pub const WAITING: Gauge = Gauge::of(Socket, "waiting", Bytes);
    /// Largest segment that a connection sends.
    pub const SEND_MSS: Gauge = Gauge::of(TcpInfo, "send_mss", Bytes);
    /// Largest segment that a connection has received.
    pub const RECEIVE_MSS: Gauge = Gauge::of(TcpInfo, "receive_mss", Bytes);
    /// MTU of a connection's path.
    pub const PATH_MTU: Gauge = Gauge::of(TcpInfo, "path_mtu", Bytes);
    /// Round trip of a connection, smoothed (RFC 6298).
    pub const RTT: Gauge = Gauge::of(TcpInfo, "rtt", Nanos);
    /// The shortest round trip of a connection so far.
    pub const RTT_MIN: Gauge = Gauge::of(TcpInfo, "rtt_min", Nanos);
    /// Segments that a connection may have on the way.
    pub const CONGESTION_WINDOW: Gauge = Gauge::of(TcpInfo, "congestion_window", Segments);

    /// Gauges that change while a window is open, so that they are told at its edges and, where
    /// they are sampled, by their extremes too.
    pub const CHANGING: [Gauge; 4] = [WAITING, RTT, CONGESTION_WINDOW, SEND_WINDOW];
    /// All gauges: what is none of them counts.
    pub const GAUGES: [Gauge; 11] = [
        WAITING,
        SEND_MSS,
        RECEIVE_MSS,
        PATH_MTU,
        RTT,
        RTT_MIN,
        CONGESTION_WINDOW,
        TCP_OPTIONS,
        ADVERTISED_MSS,
        SEND_WINDOW,
        RECEIVE_WINDOW,
    ];
}

/// One reading's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Where it was read.
    pub source: Source,
    /// What it is of.
    pub scope: Scope,
    /// What it is, without scope and unit: `rx_dropped`.
    pub name: Cow<'static, str>,
    /// What it counts.
    pub unit: Unit,
    /// A count or a state.
    pub kind: Kind,
}

impl fmt::Display for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Host => {}
            Scope::Cpu(number) => write!(to, "cpu{number}.")?,
            Scope::Node(number) => write!(to, "node{number}.")?,
            Scope::Package(number) => write!(to, "package{number}.")?,
            Scope::Nic(name) => write!(to, "{name}.")?,
            Scope::Flow(number) => write!(to, "flow{number}.")?,
        }
        if let Kind::Gauge(at) = self.kind {
            to.write_str(at.word())?;
        }
        write!(to, "{}_{}", self.name, self.unit.word())
    }
}

impl Key {
    /// A counter that a driver names as it likes.
    pub fn counter(source: Source, scope: Scope, name: impl Into<String>, unit: Unit) -> Self {
        Self { source, scope, name: Cow::Owned(name.into()), unit, kind: Kind::Counter }
    }

    /// As files have it; `None` for what this narrows would not write so.
    pub fn read(source: &str, text: &str) -> Option<Self> {
        let source = Source::named(source)?;
        let (scope, rest) = scope_of(source, text)?;
        let (moment, rest) = Moment::WORDS
            .into_iter()
            .find_map(|(moment, word)| Some((moment, rest.strip_prefix(word)?)))
            .unwrap_or((Moment::Closing, rest));
        let (name, unit) = rest.rsplit_once('_')?;
        let unit = Unit::named(unit)?;
        let is_gauge =
            |gauge: &Gauge| (gauge.source, gauge.name, gauge.unit) == (source, name, unit);
        let kind = match keys::GAUGES.iter().any(is_gauge) {
            true => Kind::Gauge(moment),
            false => Kind::Counter,
        };
        let key = Self { source, scope, name: Cow::Owned(name.to_owned()), unit, kind };
        (key.to_string() == text).then_some(key)
    }
}

/// What stands before a key's name, by its source: names of interfaces may have dots, as a driver's
/// counters may.
fn scope_of(source: Source, text: &str) -> Option<(Scope, &str)> {
    let numbered = |word: &str| {
        let (scope, rest) = text.split_once('.')?;
        Some((scope.strip_prefix(word)?.parse::<u32>().ok()?, rest))
    };
    let of_nic = |(nic, rest): (&str, _)| (Scope::Nic(nic.to_owned()), rest);
    match source {
        Source::Cpu => numbered("cpu").map(|(cpu, rest)| (Scope::Cpu(cpu), rest)),
        Source::Socket | Source::TcpInfo => {
            numbered("flow").map(|(flow, rest)| (Scope::Flow(flow), rest))
        }
        Source::Interface => text.rsplit_once('.').map(of_nic),
        Source::Rdma => text.split_once('.').map(of_nic),
        Source::Pause => {
            let at = [".received:", ".sent:"].iter().filter_map(|way| text.find(way)).min()?;
            Some(of_nic((&text[..at], &text[at + 1..])))
        }
        Source::Group | Source::Netstat | Source::Pressure | Source::Softnet | Source::Udp => {
            Some((Scope::Host, text))
        }
    }
}

/// Keys by source, as files have them.
type Words = BTreeMap<String, BTreeMap<String, u64>>;

/// What counters told of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Words", into = "Words")]
pub struct Readings {
    known: BTreeMap<Key, u64>,
    /// What another version, or another hand, wrote.
    unknown: Words,
}

impl From<Words> for Readings {
    fn from(words: Words) -> Self {
        let mut readings = Self::default();
        for (source, keys) in words {
            for (text, value) in keys {
                readings.put_words(&source, &text, value);
            }
        }
        readings
    }
}

impl From<Readings> for Words {
    fn from(readings: Readings) -> Self {
        let mut words = readings.unknown;
        for (key, value) in readings.known {
            let of = words.entry(key.source.word().to_owned()).or_default();
            of.insert(key.to_string(), value);
        }
        words
    }
}

impl Extend<(Key, u64)> for Readings {
    fn extend<I: IntoIterator<Item = (Key, u64)>>(&mut self, readings: I) {
        self.known.extend(readings);
    }
}

impl Readings {
    /// Adds a reading, in place of an older one of this key.
    pub fn put(&mut self, key: Key, value: u64) {
        self.known.insert(key, value);
    }

    /// The same by the words of files.
    pub fn put_words(&mut self, source: &str, text: &str, value: u64) {
        match Key::read(source, text) {
            Some(key) => self.put(key, value),
            None => {
                self.unknown.entry(source.to_owned()).or_default().insert(text.to_owned(), value);
            }
        }
    }

    /// A count of one scope.
    pub fn of(&self, counter: Counter, scope: Scope) -> Option<u64> {
        self.known.get(&counter.key(scope)).copied()
    }

    /// A count over all its scopes; `None` where none was read.
    pub fn total(&self, counter: Counter) -> Option<u64> {
        let of = self.known.iter().filter(|(key, _)| counter.is(key));
        of.map(|(_, value)| *value).reduce(u64::saturating_add)
    }

    /// A state of each scope at one moment: what is of several flows does not add up.
    pub fn each(&self, gauge: Gauge, at: Moment) -> impl Iterator<Item = (&Scope, u64)> {
        let of = self.known.iter().filter(move |(key, _)| gauge.is(key));
        of.filter(move |(key, _)| key.kind == Kind::Gauge(at)).map(|(key, n)| (&key.scope, *n))
    }

    /// All readings of a source.
    pub fn from_source(&self, source: Source) -> impl Iterator<Item = (&Key, u64)> {
        self.known.iter().filter(move |(key, _)| key.source == source).map(|(key, n)| (key, *n))
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str, text: &str) -> Key {
        Key::read(source, text).expect(text)
    }

    #[test]
    fn words_of_files_are_keys_and_back() {
        let nic = |name: &str| Scope::Nic(name.to_owned());
        for (source, text, scope, name, unit) in [
            ("cpu", "cpu12.softirq_ns", Scope::Cpu(12), "softirq", Unit::Nanos),
            ("interface", "eth0.100.rx_bytes", nic("eth0.100"), "rx", Unit::Bytes),
            ("interface", "lo.tx_dropped_packets", nic("lo"), "tx_dropped", Unit::Packets),
            ("pressure", "cpu.some_ns", Scope::Host, "cpu.some", Unit::Nanos),
            ("rdma", "mlx5_0/1.xmit_bytes", nic("mlx5_0/1"), "xmit", Unit::Bytes),
            ("softnet", "squeezed_polls", Scope::Host, "squeezed", Unit::Polls),
            ("tcp-info", "flow7.rtt_ns", Scope::Flow(7), "rtt", Unit::Nanos),
            ("udp", "in_datagrams", Scope::Host, "in", Unit::Datagrams),
        ] {
            let key = read(source, text);
            assert_eq!((&key.scope, &*key.name, key.unit), (&scope, name, unit), "{text}");
            assert_eq!(key.to_string(), text);
        }
        let pause = read("pause", "eth1.5.sent:port.link_xoff_tx_frames");
        assert_eq!((pause.scope, &*pause.name), (nic("eth1.5"), "sent:port.link_xoff_tx"));
        let lowest = read("tcp-info", "flow0.lowest:rtt_ns");
        assert_eq!(lowest, keys::RTT.key(Scope::Flow(0), Moment::Lowest));
        assert_eq!(read("tcp-info", "flow0.sent_segments").kind, Kind::Counter);
    }

    #[test]
    fn what_is_not_known_is_kept_as_it_was_written() {
        let mut words = Words::new();
        for (source, text) in [
            ("cpu", "cpu007.user_ns"),
            ("cpu", "user"),
            ("tcp-info", "flow0.rtt_parsecs"),
            ("tcp-info", "rtt_ns"),
            ("later", "flow0.rtt_ns"),
            ("pause", "eth0.rx_frames"),
            ("", ""),
            ("tcp-info", "flow0.rtt_ns"),
        ] {
            words.entry(source.to_owned()).or_default().insert(text.to_owned(), 5);
        }
        let readings = Readings::from(words.clone());
        assert_eq!(readings.known.len(), 1, "{readings:?}");
        assert_eq!(Words::from(readings), words);
    }

    #[test]
    fn counts_add_up_and_states_do_not() {
        let mut readings = Readings::default();
        for flow in 0..8 {
            readings.put(keys::SENT.key(Scope::Flow(flow)), 100);
            readings.put(keys::RTT.key(Scope::Flow(flow), Moment::Closing), 80_000);
            readings.put(keys::RTT.key(Scope::Flow(flow), Moment::Opening), 1);
        }
        readings.put(keys::RX_BYTES.key(Scope::Nic("a".into())), u64::MAX);
        readings.put(keys::RX_BYTES.key(Scope::Nic("b".into())), 7);
        assert_eq!(readings.total(keys::SENT), Some(800));
        assert_eq!(readings.of(keys::SENT, Scope::Flow(3)), Some(100));
        assert_eq!(readings.total(keys::RX_BYTES), Some(u64::MAX));
        assert_eq!(readings.total(keys::RETRANSMITTED), None);
        let trips: Vec<u64> = readings.each(keys::RTT, Moment::Closing).map(|(_, n)| n).collect();
        assert_eq!(trips, [80_000; 8]);
    }
}
