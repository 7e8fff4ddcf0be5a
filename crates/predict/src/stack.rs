//! What the kernel's stack costs a core of Skylake's work a clock: the constants of `cpu`, each
//! with where it is from (docs/predict.md).

use narrows_model::host::Nic;
use narrows_model::result::Provenance;

/// Cycles for each packet that segments are merged from.
pub(crate) const PACKET: f64 = 300.0;
/// Cycles for each packet where nothing merges them: what forwarding one takes, 1.74 million a
/// second on a core of 3.6 GHz (Høiland-Jørgensen et al., CoNEXT 2018).
pub(crate) const PACKET_ALONE: f64 = 2_070.0;
/// Cycles of a call that hands a message to the kernel or takes it.
pub(crate) const CALL: f64 = 1_500.0;
/// Cycles of a datagram beyond its copy: dearer than TCP's, since nothing is merged.
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
    /// How far higher.
    pub high: f64,
    /// Where that is from.
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

/// Whether the NIC, or the kernel for it, merges and splits segments; yes where nobody tells.
pub(crate) fn merges(nic: Option<&Nic>) -> Option<bool> {
    // The kernel's names, as facts have them, and not ethtool's.
    const RECEIVE: &str = "rx-gro";
    const LARGE: &str = "rx-lro";
    let offloads = nic?.offloads.value()?;
    let is_on = |name: &str| offloads.get(name).copied();
    is_on(RECEIVE).map(|on| on || is_on(LARGE) == Some(true))
}
