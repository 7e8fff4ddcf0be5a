//! What each number that is said or read can be, with the source of its ends: declared once for
//! `--set`, descriptions, published tables and the facts of a host.

use std::fmt;

/// Ends of a number.
#[derive(Debug, PartialEq)]
pub struct Bound {
    /// Least that it can be.
    pub low: f64,
    /// Most that it can be.
    pub high: f64,
    /// Whether it is a count.
    pub whole: bool,
    /// Unit of the number, empty for a count or a share.
    pub unit: &'static str,
    /// Where its ends are from.
    pub source: &'static str,
}

/// A number that its parameter cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfBounds {
    /// The bound itself, in the unit of the parameter.
    pub value: f64,
    pub bound: &'static Bound,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bound { low, high, whole, unit, source } = self.bound;
        let kind = if *whole { "a whole number from" } else { "a number from" };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        write!(f, "{} is not {kind} {low} to {high}{unit} ({source})", self.value)
    }
}

impl Bound {
    /// The number, where the parameter can have it.
    pub fn check(&'static self, value: f64) -> Result<f64, OutOfBounds> {
        let inside = (self.low..=self.high).contains(&value);
        if inside && (!self.whole || value.fract() == 0.0) {
            Ok(value)
        } else {
            Err(OutOfBounds { value, bound: self })
        }
    }
}

const fn real(low: f64, high: f64, unit: &'static str, source: &'static str) -> Bound {
    Bound { low, high, whole: false, unit, source }
}

const fn whole(low: f64, high: f64, unit: &'static str, source: &'static str) -> Bound {
    Bound { low, high, whole: true, unit, source }
}

/// Speed of memory modules.
pub static MTS: Bound = real(200.0, 12_800.0, "MT/s", "DDR-200 to DDR5 MRDIMM-12800, JEDEC");
/// What crosses a node's bus in a copy.
pub static COPY_GB_S: Bound =
    real(0.1, 5_000.0, "GB/s", "a slow embedded channel to three times a socket's HBM2e");
/// What one core copies.
pub static CORE_GB_S: Bound = real(0.05, 500.0, "GB/s", "numademo's figures, with ample room");
/// An interface's packets.
pub static MTU: Bound =
    whole(576.0, 65_535.0, "B", "RFC 791: what every host takes, and the most that IPv4 has");
/// An InfiniBand path's packets.
pub static PATH_MTU: Bound = whole(256.0, 4_096.0, "B", "InfiniBand specification, volume 1");
/// Size of a message in bytes.
pub static MESSAGE: Bound =
    whole(1.0, 2_147_483_648.0, "B", "InfiniBand specification, volume 1: 2^31 at most");
/// Streams at once.
pub static STREAMS: Bound = whole(1.0, 65_535.0, "", "ports of one address");
/// Size of an Ethernet frame in bytes, its checksum included.
pub static FRAME: Bound =
    whole(64.0, 9_216.0, "B", "IEEE 802.3, and the largest usual jumbo frame");
/// A core's clock.
pub static GHZ: Bound = real(0.1, 10.0, "GHz", "processors that are sold");
/// CPUs of a host.
pub static CPUS: Bound = whole(1.0, 8_192.0, "", "the most that Linux is built for");
/// Rate of a port.
pub static LINK_GBPS: Bound = real(0.01, 1_600.0, "Gb/s", "IEEE 802.3: 10BASE-T to 802.3dj");
/// What a NIC's engine does.
pub static MPPS: Bound = real(0.001, 10_000.0, "M packets/s", "more than 1.6 Tb/s of small frames");
/// NICs, and processors of one host.
pub static SOCKETS: Bound = whole(1.0, 8.0, "", "servers of eight sockets");
/// Number of a processor.
pub static SOCKET: Bound = whole(0.0, 7.0, "", "servers of eight sockets, counted from 0");
/// Modules of one channel.
pub static MODULES: Bound = whole(0.0, 3.0, "", "slots of a channel");
/// Modules of a host.
pub static DIMMS: Bound = whole(1.0, 192.0, "", "eight sockets of twelve channels with two slots");
/// Memory controllers of a socket.
pub static CONTROLLERS: Bound = whole(1.0, 16.0, "", "the controllers of one processor");
/// Channels of a memory controller.
pub static CHANNELS: Bound = whole(1.0, 12.0, "", "the channels of one controller");
/// Channels that data is spread over.
pub static WAYS: Bound = whole(1.0, 96.0, "", "eight sockets of twelve channels");
/// Generations of PCI Express that the model knows.
pub static PCIE_GEN: Bound = whole(1.0, 6.0, "", "PCI Express 1.0 to 6.0");
/// Tags of a frame.
pub static TAGS: Bound = whole(0.0, 2.0, "", "IEEE 802.1Q and 802.1ad");
/// Switches between two hosts.
pub static SWITCHES: Bound = whole(0.0, 16.0, "", "a path inside one building");
/// Lanes of a slot; a link has only some of these numbers ([`is_link_width`]).
pub static LANES: Bound = whole(1.0, 32.0, "", "PCI Express base specification: x1 to x32");
/// Data of a PCI Express packet.
pub static PAYLOAD: Bound =
    whole(128.0, 4_096.0, "B", "PCI Express base specification, Device Control");
/// Links between two sockets.
pub static LINKS: Bound = whole(1.0, 8.0, "", "the most that any processor has, doubled");
/// Rate of such a link.
pub static GT_S: Bound = real(0.1, 100.0, "GT/s", "HyperTransport 1 to UPI 2, with room");
/// Clock of a PCI-X bus.
pub static PCIX_MHZ: Bound = real(33.0, 533.0, "MHz", "PCI-X 1.0 to 2.0");
/// Width of a parallel bus in bits.
pub static BUS_BITS: Bound = whole(16.0, 64.0, "", "PCI-X addendum: 16, 32 or 64");
/// Latency of memory, load to use.
pub static LATENCY_NS: Bound = real(1.0, 100_000.0, "ns", "caches to far memory, with room");
/// A share, 0 to 1.
pub static SHARE: Bound = real(0.0, 1.0, "", "a share");
/// Lines that copies move for each line of payload.
pub static COPY_LINES: Bound = real(0.0, 10.0, "", "a copy reads, fills and writes; three of them");
/// A copy's rate as numademo prints it.
pub static COPY_MB_S: Bound = real(50.0, 500_000.0, "MB/s", "that of a core in GB/s");
/// A published figure: only what cannot be one is refused.
pub static FIGURE: Bound = real(1e-9, 1e12, "", "a published rate or time is above zero");

/// Whether a PCI Express link can have so many lanes: x12 and x32 went with PCI Express 6.0.
pub fn is_link_width(lanes: u32) -> bool {
    matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32)
}
