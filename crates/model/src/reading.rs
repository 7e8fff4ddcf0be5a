//! What counters told of a run, by typed keys: what was counted, in which unit, of what, and
//! whether it is a count over the window or a state at its edge.
//!
//! In files a key is words: `flow0.rtt_ns` of `tcp-info`. A key that this narrows does not know,
//! from a newer one or another hand, is kept as it was written.

mod columns;
pub mod keys;
mod parsed;
pub mod witness;

pub use columns::Readings;
use std::borrow::Cow;
use std::fmt;

/// Where counters are read. The words of files are those of [`Source::word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// CPU time by state, from `/proc/stat`.
    Cpu,
    /// The control group of the end's process: `cpu.stat`.
    Group,
    /// Bytes and packets of interfaces, from `/proc/net/dev`.
    Interface,
    /// `/proc/net/netstat`, `/proc/net/snmp` and `/proc/net/snmp6`, by the kernel's own names.
    Netstat,
    /// What drivers count of packets that their NIC dropped, and of the time that it waited.
    Nic,
    /// What drivers count of Ethernet pause frames.
    Pause,
    /// Time lost for want of CPU or memory, from `/proc/pressure`.
    Pressure,
    /// Queueing disciplines, as `tc -s qdisc` prints them.
    Qdisc,
    /// Ports of RDMA devices.
    Rdma,
    /// `SO_MEMINFO` of the flows' sockets.
    Socket,
    /// Packets handled by each CPU, from `/proc/net/softnet_stat`.
    Softnet,
    /// `TCP_INFO` of the flows' connections.
    TcpInfo,
    /// Datagrams that sockets took or lost, from `/proc/net/snmp`.
    Udp,
    /// Packets that wait for a program, from `/proc/net/netfilter/nfnetlink_queue`.
    UserQueue,
}

impl Source {
    const WORDS: [(Self, &'static str); 14] = [
        (Self::Cpu, "cpu"),
        (Self::Group, "group"),
        (Self::Interface, "interface"),
        (Self::Netstat, "netstat"),
        (Self::Nic, "nic"),
        (Self::Pause, "pause"),
        (Self::Pressure, "pressure"),
        (Self::Qdisc, "qdisc"),
        (Self::Rdma, "rdma"),
        (Self::Socket, "socket"),
        (Self::Softnet, "softnet"),
        (Self::TcpInfo, "tcp-info"),
        (Self::Udp, "udp"),
        (Self::UserQueue, "user-queue"),
    ];

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
    /// Counted in UDP datagrams.
    Datagrams,
    /// Counted in TCP segments.
    Segments,
    /// Counted in Ethernet frames.
    Frames,
    /// Rounds of a driver's polling.
    Polls,
    Events,
    /// Counted in nanoseconds.
    Nanos,
    /// Options of TCP, a bit each.
    Options,
    /// Counted in hundredths of the time.
    Percent,
}

impl Unit {
    const WORDS: [(Self, &'static str); 10] = [
        (Self::Bytes, "bytes"),
        (Self::Packets, "packets"),
        (Self::Datagrams, "datagrams"),
        (Self::Segments, "segments"),
        (Self::Frames, "frames"),
        (Self::Polls, "polls"),
        (Self::Events, "events"),
        (Self::Nanos, "ns"),
        (Self::Options, "options"),
        (Self::Percent, "percent"),
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
    pub source: Source,
    /// Without unit and scope: `received`.
    pub name: &'static str,
    pub unit: Unit,
}

/// A state, of which the moments are told and no growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
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

/// One reading's name. Ordered so that one count, or one state at one moment, of all scopes stands
/// together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub source: Source,
    /// What it is, without scope and unit: `rx_dropped`.
    pub name: Cow<'static, str>,
    pub unit: Unit,
    /// A count or a state.
    pub kind: Kind,
    pub scope: Scope,
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
        let kind = if keys::GAUGES
            .iter()
            .any(|gauge| (gauge.source, gauge.name, gauge.unit) == (source, name, unit))
        {
            Kind::Gauge(moment)
        } else {
            Kind::Counter
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
    match source {
        Source::Cpu => numbered("cpu").map(|(cpu, rest)| (Scope::Cpu(cpu), rest)),
        Source::Socket | Source::TcpInfo => {
            numbered("flow").map(|(flow, rest)| (Scope::Flow(flow), rest))
        }
        Source::Interface | Source::Qdisc => text.rsplit_once('.').map(of_nic),
        Source::Rdma => text.split_once('.').map(of_nic),
        Source::Nic => {
            let words = witness::Witness::ALL.iter().map(|of| format!(".{}:", of.word()));
            let at = words.filter_map(|word| text.find(&word)).min()?;
            Some(of_nic((&text[..at], &text[at + 1..])))
        }
        Source::Pause => {
            let at = [".received:", ".sent:"].iter().filter_map(|way| text.find(way)).min()?;
            Some(of_nic((&text[..at], &text[at + 1..])))
        }
        Source::Group
        | Source::Netstat
        | Source::Pressure
        | Source::Softnet
        | Source::Udp
        | Source::UserQueue => Some((Scope::Host, text)),
    }
}

fn of_nic<T>((nic, rest): (&str, T)) -> (Scope, T) {
    (Scope::Nic(nic.to_owned()), rest)
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
            ("user-queue", "queued_packets", Scope::Host, "queued", Unit::Packets),
        ] {
            let key = read(source, text);
            assert_eq!((&key.scope, &*key.name, key.unit), (&scope, name, unit), "{text}");
            assert_eq!(key.to_string(), text);
        }
        let pause = read("pause", "eth1.5.sent:port.link_xoff_tx_frames");
        assert_eq!((pause.scope, &*pause.name), (nic("eth1.5"), "sent:port.link_xoff_tx"));
        let full = read("nic", "eth1.5.full:port.rx_discards_packets");
        assert_eq!((full.scope, &*full.name), (nic("eth1.5"), "full:port.rx_discards"));
        let stalled = read("nic", "eth0.waits:stalled_writes_percent");
        assert_eq!(stalled, keys::STALLED_WRITES.key(nic("eth0"), Moment::Closing));
        let lowest = read("tcp-info", "flow0.lowest:rtt_ns");
        assert_eq!(lowest, keys::RTT.key(Scope::Flow(0), Moment::Lowest));
        assert_eq!(read("tcp-info", "flow0.sent_segments").kind, Kind::Counter);
    }
}
