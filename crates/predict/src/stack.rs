//! What the kernel's stack costs a core of Skylake's work a clock: the constants of `cpu`, each
//! with where it is from (docs/predict.md).

use narrows_model::host::Nic;
use narrows_model::result::Provenance;

/// Cycles for each packet that segments are merged from.
pub(crate) const PACKET: f64 = 300.0;
/// Bytes of a segment that a NIC merges packets to, or splits to packets.
const MERGED_BYTES: f64 = 65_536.0;
/// Cycles of a call that hands a message to the kernel or takes it.
pub(crate) const CALL: f64 = 1_500.0;
/// Cycles of a datagram beyond its copy: dearer than TCP's, since nothing is merged. Forwarding one
/// takes 2,070 of them, 1.74 million a second on a core of 3.6 GHz (Høiland-Jørgensen et al.,
/// CoNEXT 2018). A packet of TCP that nothing merges goes the same way.
pub(crate) const DATAGRAM: f64 = 3_500.0;
/// Cycles of each further fragment of a datagram.
pub(crate) const FRAGMENT: f64 = 1_000.0;

/// Where the CPU that takes packets from the NIC is, as seen from the one that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// It is the same one, which does both.
    SameCpu,
    /// Another one with the same last-level cache: the two take turns at nothing.
    SameCache,
    /// One with another last-level cache, on the same processor.
    OtherCache,
}

/// All with their words in `--set irq=`.
pub(crate) const INTERRUPTS: [(&str, Interrupts); 3] = [
    ("same-cpu", Interrupts::SameCpu),
    ("same-cache", Interrupts::SameCache),
    ("other-cache", Interrupts::OtherCache),
];

/// What a payload byte costs the busiest CPU, and the range of the stream's rate around that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByteCost {
    /// Cycles of a Skylake core.
    pub cycles: f64,
    /// How far lower the rate may be, as a logarithm.
    pub low: f64,
    pub high: f64,
    pub from: Provenance,
}

/// By where interrupts are taken; where nobody says, in the middle of all, with a range from the
/// dearest to the cheapest.
pub(crate) fn byte_cost(interrupts: Option<Interrupts>) -> ByteCost {
    match interrupts {
        Some(Interrupts::SameCpu) => fitted(0.62, "a Gold 6128's and a Ryzen 9900X's stream"),
        Some(Interrupts::OtherCache) => fitted(0.49, "a Ryzen 9900X's stream"),
        Some(Interrupts::SameCache) => fitted(0.30, "streams of Rome, a 9900X and of Linux 5.17"),
        None => ByteCost {
            cycles: 0.56,
            low: 0.40,
            high: 0.45,
            from: Provenance::Assumed(
                "between interrupts on the same CPU and in the same cache: irq=same-cpu".to_owned(),
            ),
        },
    }
}

fn fitted(cycles: f64, on: &str) -> ByteCost {
    ByteCost { cycles, low: 0.25, high: 0.25, from: Provenance::Fitted(on.to_owned()) }
}

/// Who merges packets to segments below TCP, and splits these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// Nobody: each packet goes through the stack.
    Nobody,
    /// The kernel merges, packet by packet, and the NIC splits.
    Kernel,
    /// The NIC does both (LRO, or GRO in hardware).
    Nic,
}

/// All with their words in `--set offloads=`.
pub(crate) const MERGING: [(&str, Merging); 3] =
    [("no", Merging::Nobody), ("yes", Merging::Kernel), ("hardware", Merging::Nic)];

impl Merging {
    /// Cycles of a Skylake core a payload byte, beside the copy, of packets of so many.
    pub(crate) fn cycles_a_byte(self, payload: f64) -> f64 {
        match self {
            Self::Nobody => DATAGRAM / payload,
            Self::Kernel => PACKET / payload,
            Self::Nic => PACKET / payload.max(MERGED_BYTES),
        }
    }

    /// As the NIC is set; `None` where nobody tells.
    pub(crate) fn of(nic: Option<&Nic>) -> Option<Self> {
        // The kernel's names, as facts have them, and not ethtool's.
        const RECEIVE: &str = "rx-gro";
        const BY_NIC: [&str; 2] = ["rx-lro", "rx-gro-hw"];
        let offloads = nic?.offloads.value()?;
        let is_on = |name: &str| offloads.get(name).copied();
        let on = is_on(RECEIVE)?;
        let by_nic = BY_NIC.iter().any(|name| is_on(name) == Some(true));
        Some(match (by_nic, on) {
            (true, _) => Self::Nic,
            (false, true) => Self::Kernel,
            (false, false) => Self::Nobody,
        })
    }
}
