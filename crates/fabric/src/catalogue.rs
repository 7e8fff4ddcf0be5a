//! Switches that were built: a data file, `data/switches.json`, with where each figure is from.

use crate::FabricError;
use narrows_model::{BitsPerSecond, Bytes};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One model of a switch. What is not known of it is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// Its maker's name for it.
    pub name: String,
    /// Its ports, those of one rate together.
    pub ports: Vec<Ports>,
    /// Whether it is built of line cards.
    #[serde(default)]
    pub chassis: bool,
    /// One passage of a frame, as its maker states it, in nanoseconds.
    #[serde(default)]
    pub latency_ns: Option<u32>,
    /// Whether a frame is received whole before it is sent on.
    #[serde(default)]
    pub store_and_forward: bool,
    /// Packet buffer that its ports share.
    #[serde(default)]
    pub buffer_bytes: Option<Bytes>,
    /// Where its figures are from.
    pub source: String,
}

/// Ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ports {
    pub count: u32,
    /// Rate of each, in Gb/s.
    pub gbps: f64,
    /// Into how many slower ports one can be split at most.
    #[serde(default = "whole")]
    pub split: u32,
}

fn whole() -> u32 {
    1
}

impl Ports {
    /// How many ports of a rate one of these makes: itself, or the parts it splits into.
    pub fn parts(&self, rate: BitsPerSecond) -> Option<u32> {
        let parts = (self.gbps * 1e9 / rate.0).round();
        let is_exact = (parts * rate.0 - self.gbps * 1e9).abs() < 1.0;
        (is_exact && parts >= 1.0 && parts <= f64::from(self.split)).then_some(parts as u32)
    }

    /// Rate of one that is not split.
    pub fn rate(&self) -> BitsPerSecond {
        BitsPerSecond(self.gbps * 1e9)
    }
}

impl Switch {
    /// A switch of which nothing is known but its ports.
    pub fn of_radix(ports: u32, rate: BitsPerSecond) -> Result<Self, FabricError> {
        if !(2..=4096).contains(&ports) {
            return Err(FabricError::Radix(ports));
        }
        Ok(Self {
            name: format!("{ports} x {rate}"),
            ports: vec![Ports { count: ports, gbps: rate.gbps(), split: 1 }],
            chassis: false,
            latency_ns: None,
            store_and_forward: false,
            buffer_bytes: None,
            source: "as asked for".to_owned(),
        })
    }

    /// What all of its ports carry in one direction, in Mb/s.
    pub(crate) fn capacity_mbps(&self) -> u64 {
        let all: f64 = self.ports.iter().map(|of| f64::from(of.count) * of.gbps * 1e3).sum();
        all.round() as u64
    }

    /// Ports of a rate that it has when all of its ports are used for them.
    pub fn radix(&self, rate: BitsPerSecond) -> u32 {
        self.ports.iter().filter_map(|ports| Some(ports.count * ports.parts(rate)?)).sum()
    }
}

/// `data/switches.json` as it is written.
#[derive(Deserialize)]
struct File {
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and a test that it is there"))]
    source: String,
    switches: Vec<Switch>,
}

static FILE: LazyLock<Option<File>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/switches.json")).ok());

/// All switches of the data file.
pub fn switches() -> &'static [Switch] {
    FILE.as_ref().map_or(&[], |file| &file.switches)
}

/// The switch of a name, or of a part of it that is in no other name.
pub fn named(text: &str) -> Result<&'static Switch, FabricError> {
    let wanted = text.trim().to_uppercase();
    let same = switches().iter().find(|switch| switch.name.to_uppercase() == wanted);
    if let Some(switch) = same {
        return Ok(switch);
    }
    let fits: Vec<&Switch> = switches()
        .iter()
        .filter(|switch| !wanted.is_empty() && switch.name.to_uppercase().contains(&wanted))
        .collect();
    match fits.as_slice() {
        [one] => Ok(one),
        [] => Err(FabricError::Switch(text.to_owned(), names(switches().iter()))),
        several => Err(FabricError::Ambiguous(text.to_owned(), names(several.iter().copied()))),
    }
}

/// Names of switches.
pub(crate) fn names<'a>(switches: impl Iterator<Item = &'a Switch>) -> Vec<String> {
    switches.map(|switch| switch.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_a_source_and_is_found_by_its_name() {
        assert!(FILE.as_ref().expect("the file reads").source.contains("its maker states"));
        assert!(switches().len() >= 10);
        for switch in switches() {
            assert!(switch.source.len() > 20, "{switch:?}");
            assert_eq!(named(&switch.name), Ok(switch));
            assert!(switch.ports.iter().all(|ports| ports.count > 1 && ports.split >= 1));
        }
        assert_eq!(named("7148sx").map(|switch| switch.name.as_str()), Ok("Arista 7148SX"));
        assert!(matches!(named("Arista"), Err(FabricError::Ambiguous(_, fits)) if fits.len() > 3));
        assert!(matches!(named("Catalyst"), Err(FabricError::Switch(..))));
        assert!(matches!(named(" "), Err(FabricError::Switch(..))));
    }

    #[test]
    fn ports_split_only_as_far_as_they_can() {
        let of = |name: &str, gbps: f64| named(name).expect(name).radix(BitsPerSecond(gbps * 1e9));
        assert_eq!(of("7050CX3-32S", 100.0), 32);
        assert_eq!(of("7050CX3-32S", 25.0), 128);
        assert_eq!(of("7050CX3-32S", 10.0), 0, "ten are not four");
        assert_eq!(of("7050CX3-32S", 400.0), 0, "faster than its ports");
        assert_eq!(of("7050SX3-48YC8", 25.0), 48 + 8 * 4);
        assert_eq!(of("QM9700", 200.0), 128);
        assert_eq!(of("Tomahawk 5", 200.0), 256);
    }

    #[test]
    fn a_switch_of_a_radix_has_so_many_ports_and_no_more_is_known_of_it() {
        let rate = BitsPerSecond(25e9);
        let is_refused = |ports| Switch::of_radix(ports, rate) == Err(FabricError::Radix(ports));
        assert_eq!([0, 1, 2, 4096, 4097].map(is_refused), [true, true, false, false, true]);
        let made = Switch::of_radix(48, rate).expect("a switch");
        let ports = vec![Ports { count: 48, gbps: 25.0, split: 1 }];
        assert_eq!((made.name.as_str(), made.ports.clone()), ("48 x 25.0 Gb/s", ports));
        assert_eq!((made.chassis, made.latency_ns), (false, None));
        assert_eq!((made.store_and_forward, made.buffer_bytes), (false, None));
        assert_eq!((made.source.as_str(), made.capacity_mbps()), ("as asked for", 1_200_000));
        let two_kinds = named("7050SX3-48YC8").expect("a switch");
        assert_eq!(two_kinds.capacity_mbps(), 48 * 25_000 + 8 * 100_000);
        assert_eq!(two_kinds.ports[1].rate(), BitsPerSecond(100e9));
        assert_eq!(two_kinds.ports[0].split, 1, "whole where nothing is said");
    }

    #[test]
    fn a_port_makes_itself_or_equal_parts() {
        let port = Ports { count: 32, gbps: 400.0, split: 4 };
        for (gbps, parts) in
            [(400.0, Some(1)), (200.0, Some(2)), (100.0, Some(4)), (50.0, None), (800.0, None)]
        {
            assert_eq!(port.parts(BitsPerSecond(gbps * 1e9)), parts, "{gbps} Gb/s");
        }
        assert_eq!(port.parts(BitsPerSecond(399e9)), None);
    }

    /// A whole name counts before a part of others.
    #[test]
    fn a_name_that_fits_several_lists_these_and_a_whole_one_is_itself() {
        let said = named("7050").expect_err("several");
        let FabricError::Ambiguous(text, fits) = said else { panic!("{said}") };
        let wanted = ["Arista 7050QX-32", "Arista 7050CX3-32S", "Arista 7050SX3-48YC8"];
        assert_eq!((text.as_str(), fits), ("7050", wanted.map(str::to_owned).to_vec()));
        let said = named("nothing").expect_err("none");
        let FabricError::Switch(text, all) = said else { panic!("{said}") };
        assert_eq!((text.as_str(), all.len()), ("nothing", switches().len()));
        assert_eq!(named(" arista 7508 ").map(|one| one.chassis), Ok(true));
    }
}
