//! Whether a server does the wire's rate in packets, and what stands in its way.

use crate::parameters::PACKETS;
use crate::reach::Reach;
use crate::resources::CORE_HALF;
use crate::traffic::Traffic;
use narrows_model::result::ResourceName;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A share of the wire's rate from which on it is the wire's: what is published is rounded.
pub const FULL: f64 = 0.995;

/// What a server does of the wire's rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Verdict {
    /// All of it, over the whole range of what each resource allows.
    Yes,
    /// Less, whatever else is not known.
    No {
        /// What holds it back: `chipset slot`, `CPU waiting for memory`.
        binds: String,
        /// Least that this allows, in millions of packets a second.
        low: f64,
        /// The most, in the same unit.
        high: f64,
    },
    /// Neither is sure.
    Unknown {
        /// What would have to be known.
        needs: String,
    },
}

impl Verdict {
    /// Of what one resource, or all of them together, allow, in millions of packets a second.
    pub fn of_range(binds: &str, (low, high): (f64, f64), wire_mpps: f64) -> Self {
        if low >= FULL * wire_mpps {
            Self::Yes
        } else if high < FULL * wire_mpps {
            Self::No { binds: binds.to_owned(), low, high }
        } else {
            let needs = format!("a measured rate: {low:.1} to {high:.1} M/s reaches the wire's");
            Self::Unknown { needs }
        }
    }

    /// `yes`, `no` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No { .. } => "no",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// What holds it back, or what would have to be known; `None` of a yes.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Yes => None,
            Self::No { binds, low, high } => Some(format!("{binds}, {low:.1} to {high:.1} M/s")),
            Self::Unknown { needs } => Some(format!("needs {needs}")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        self.reason().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

/// What is said of a path in packets; `None` of other paths.
///
/// What is surely less than the wire's rate decides alone. Else every resource has to be known, and
/// the least of them has to reach it over its whole range.
pub fn verdict(reach: &Reach) -> Option<Verdict> {
    if reach.path != Traffic::Packets.name() {
        return None;
    }
    let Some(wire) = reach.resources.iter().find(|one| one.name == ResourceName::Wire) else {
        let needs = "the link's speed: nic.gbps=10".to_owned();
        return Some(Verdict::Unknown { needs });
    };
    let others = || reach.resources.iter().filter(|one| one.name != ResourceName::Wire);
    let holds = others().filter(|one| one.high < FULL * wire.value);
    if let Some(least) = holds.min_by(|a, b| a.value.total_cmp(&b.value)) {
        let (low, high) = (least.low, least.high);
        return Some(Verdict::No { binds: words(least.name).to_owned(), low, high });
    }
    if !reach.missing.is_empty() {
        let needs: Vec<&str> = reach.missing.iter().map(|gap| gap.why.as_str()).collect();
        return Some(Verdict::Unknown { needs: needs.join("; ") });
    }
    let least = others().min_by(|a, b| a.value.total_cmp(&b.value))?;
    let low = others().map(|one| one.low).fold(f64::INFINITY, f64::min);
    Some(Verdict::of_range(words(least.name), (low, least.high), wire.value))
}

/// Millions of smallest packets a second of one core by poll mode, and the ends of the 80 % range:
/// at a clock in GHz, and where it copies so many GB/s, bytes read and written both counted.
pub fn smallest_packets(clock_ghz: f64, copy_gb_s: f64) -> (f64, f64, f64) {
    let [(_, cycles), (_, wait_bytes)] = PACKETS;
    let mpps = 1e3 / (cycles / clock_ghz + wait_bytes / copy_gb_s);
    (mpps, mpps * (-CORE_HALF).exp(), mpps * CORE_HALF.exp())
}

/// What a resource is called where it holds packets back.
pub fn words(resource: ResourceName) -> &'static str {
    match resource {
        ResourceName::Chipset => "chipset slot",
        ResourceName::Cpu => "CPU waiting for memory",
        ResourceName::Nic => "NIC",
        ResourceName::Pcie => "slot",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibration;
    use crate::{Said, of_host, of_nic};
    use narrows_model::host::Host;

    /// The post's X9SCL, whose slot and processor it names; its card is the 82599.
    const X9SCL: &[(&str, &str)] = &[
        ("path", "packets"),
        ("nic.gbps", "10"),
        ("nic.model", "82599"),
        ("nic.pcie", "2x8"),
        ("cpu.ghz", "3.6"),
        ("memory.core_gb_s", "34.9"),
    ];

    fn of(said: &[(&str, &str)], more: &[(&str, &str)]) -> Verdict {
        let words = said.iter().chain(more).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let said: Said = words.collect();
        let engine = of_host(&Host::default(), &said, &Calibration::default()).expect("a server");
        verdict(&engine.reaches()[0]).expect("packets have one")
    }

    #[test]
    fn the_same_card_in_another_slot_is_one_key() {
        assert_eq!(of(X9SCL, &[]), Verdict::Yes);
        let behind = of(X9SCL, &[("nic.uplink", "2x4/128")]);
        assert_eq!(behind.to_string(), "no: chipset slot, 11.7 to 13.7 M/s");
        let narrow = of(X9SCL, &[("nic.pcie", "1x4")]);
        assert!(narrow.to_string().starts_with("no: slot, "), "{narrow}");
    }

    #[test]
    fn what_is_missing_is_named_and_what_binds_needs_nothing_else() {
        let few = &X9SCL[..2];
        let unknown = of(few, &[]).to_string();
        for needed in ["cpu.ghz", "nic.pcie", "nic.model"] {
            assert!(unknown.starts_with("unknown: needs "), "{unknown}");
            assert!(unknown.contains(needed), "{unknown}");
        }
        // Of a slot behind the chipset it is known without the processor.
        assert_eq!(of(few, &[("nic.uplink", "2x4/128")]).word(), "no");
        let slow = of(X9SCL, &[("cpu.ghz", "2.4"), ("memory.core_gb_s", "8")]).to_string();
        assert!(slow.starts_with("no: CPU waiting for memory, 8.7 to 11.3"), "{slow}");
        // 188.5 cycles at 2.93 GHz and 174.5 B at 22.1 GB/s: 13.8 M/s, 12.2 to 15.8.
        let near = of(X9SCL, &[("cpu.ghz", "2.93"), ("memory.core_gb_s", "22.1")]).to_string();
        assert!(near.starts_with("unknown: needs a measured rate: 12."), "{near}");
    }

    #[test]
    fn streams_have_no_verdict() {
        let words = [("nic.gbps", "10"), ("path", "tcp")];
        let said: Said = words.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let engine =
            of_nic(&Host::default(), None, &said, &Calibration::default()).expect("a server");
        assert_eq!(verdict(&engine.reaches()[0]), None);
    }
}
