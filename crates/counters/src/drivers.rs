//! What drivers count of packets that a NIC dropped before any CPU saw them, and of the time that
//! it waited for memory, as readings of `nic`. A driver's names and what each witnesses are data,
//! one driver a file in `nics/`. They are read together with pause frames (`pause`): a driver asks
//! its card for all of its counters at once.

use crate::Look;
use narrows_model::reading::witness::Witness;
use narrows_model::reading::{Gauge, Key, Scope, Source, Unit, keys};
use serde::Deserialize;
use std::sync::LazyLock;

/// The files, by name.
const FILES: [&str; 9] = [
    include_str!("../nics/bnxt.toml"),
    include_str!("../nics/cxgb4.toml"),
    include_str!("../nics/ena.toml"),
    include_str!("../nics/i40e.toml"),
    include_str!("../nics/ice.toml"),
    include_str!("../nics/igb.toml"),
    include_str!("../nics/ixgbe.toml"),
    include_str!("../nics/mlx5.toml"),
    include_str!("../nics/virtio_net.toml"),
];

static DRIVERS: LazyLock<Vec<Driver>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| toml::from_str(text).ok()).collect());

/// A driver's counters, as its file has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Driver {
    drivers: Vec<String>,
    /// Where names and meanings stand; for who reads the file, and its test.
    #[cfg_attr(not(test), expect(dead_code))]
    source: String,
    #[serde(default, rename = "counter")]
    counters: Vec<Counted>,
    #[serde(default, rename = "state")]
    states: Vec<State>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    /// The driver's name, with `*` for a number.
    name: String,
    witness: Witness,
    #[serde(default)]
    unit: Counts,
    /// Whether each number's count is kept, and not their sum alone.
    #[serde(default)]
    each: bool,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Counts {
    #[default]
    Packets,
    Events,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    name: String,
    is: Stalled,
}

/// Which share of the last second a state is.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Stalled {
    StalledWrites,
    StalledReads,
}

impl Stalled {
    fn gauge(self) -> Gauge {
        match self {
            Self::StalledWrites => keys::STALLED_WRITES,
            Self::StalledReads => keys::STALLED_READS,
        }
    }
}

impl Counts {
    fn unit(self) -> Unit {
        match self {
            Self::Packets => Unit::Packets,
            Self::Events => Unit::Events,
        }
    }
}

/// The counters of the driver of this name; `None` where no file has it.
pub(crate) fn driver(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.drivers.iter().any(|own| own == name))
}

impl Driver {
    /// Whether a counter is one of its witnesses.
    pub(crate) fn has(&self, counter: &str) -> bool {
        self.counted(counter).is_some() || self.state(counter).is_some()
    }

    fn counted(&self, counter: &str) -> Option<&Counted> {
        self.counters.iter().find(|one| is_like(&one.name, counter))
    }

    fn state(&self, counter: &str) -> Option<&State> {
        self.states.iter().find(|one| one.name == counter)
    }

    /// Notes a counter of an interface where it is a witness.
    pub(crate) fn note(&self, look: &mut Look, nic: &str, counter: &str, value: u64) {
        let scope = Scope::Nic(nic.to_owned());
        if let Some(state) = self.state(counter) {
            look.state(state.is.gauge(), scope, value);
        } else if let Some(of) = self.counted(counter) {
            let name = if of.each { counter } else { of.name.as_str() };
            let name = format!("{}:{name}", of.witness.word());
            look.total(Key::counter(Source::Nic, scope, name, of.unit.unit()), value);
        }
    }
}

/// Whether a name is what a pattern says, with digits where it has a `*`.
fn is_like(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let behind = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    behind.len() < rest.len() && is_like(after, behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scene, watch};
    use narrows_model::reading::witness::witnessed;
    use narrows_model::reading::{Moment, Readings};
    use std::cell::Cell;

    fn noted(name: &str, counters: &[(&str, u64)]) -> Look {
        let driver = driver(name).expect("a file");
        let mut look = Look::default();
        counters.iter().for_each(|(counter, value)| driver.note(&mut look, "e0", counter, *value));
        look
    }

    #[test]
    fn every_file_is_understood_and_names_its_source() {
        assert_eq!(DRIVERS.len(), FILES.len());
        let mut names: Vec<&str> =
            DRIVERS.iter().flat_map(|one| &one.drivers).map(String::as_str).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a driver in two files");
        for one in DRIVERS.iter() {
            assert!(one.source.len() > 20, "{one:?}");
            for (at, counted) in one.counters.iter().enumerate() {
                let twice = one.counters[..at].iter().any(|other| other.name == counted.name);
                assert!(!twice, "{}", counted.name);
            }
        }
    }

    #[test]
    fn a_connectx_tells_waiting_from_late_cpus_and_damage() {
        let look = noted(
            "mlx5_core",
            &[
                ("outbound_pci_buffer_overflow", 7),
                ("outbound_pci_stalled_wr", 42),
                ("outbound_pci_stalled_wr_events", 3),
                ("outbound_pci_stalled_rd_events", 5),
                ("rx_prio0_discards", 10),
                ("rx_prio3_discards", 11),
                ("rx_discards_phy", 21),
                ("rx_out_of_buffer", 13),
                ("rx_crc_errors_phy", 1),
                ("rx_prio3_pause", 99),
                ("rx_prio_discards", 99),
                ("tx_discards_phy", 99),
            ],
        );
        for (key, value) in [
            ("e0.waits:outbound_pci_buffer_overflow_packets", 7),
            ("e0.waits:stalled_writes_percent", 42),
            ("e0.waits:outbound_pci_stalled_wr_events_events", 3),
            ("e0.reads:outbound_pci_stalled_rd_events_events", 5),
            ("e0.full:rx_prio0_discards_packets", 10),
            ("e0.full:rx_prio3_discards_packets", 11),
            ("e0.full:rx_discards_phy_packets", 21),
            ("e0.ring:rx_out_of_buffer_packets", 13),
            ("e0.wire:rx_crc_errors_phy_packets", 1),
        ] {
            assert_eq!(look.of("nic", key), Some(value), "{key}");
        }
        assert_eq!(look.len(), 9);
    }

    #[test]
    fn the_same_name_is_another_witness_of_another_driver() {
        let ice = noted("ice", &[("rx_dropped", 3), ("rx_dropped.nic", 4)]);
        assert_eq!(ice.of("nic", "e0.ring:rx_dropped_packets"), Some(3));
        assert_eq!(ice.of("nic", "e0.full:rx_dropped.nic_packets"), Some(4));
        let ixgbe = noted("ixgbe", &[("rx_missed_errors", 5), ("rx_no_dma_resources", 6)]);
        assert_eq!(ixgbe.of("nic", "e0.full:rx_missed_errors_packets"), Some(5));
        assert_eq!(ixgbe.of("nic", "e0.ring:rx_no_dma_resources_packets"), Some(6));
        assert_eq!(noted("virtio_net", &[("rx0_drops", 9)]).len(), 0);
        assert!(driver("veth").is_none());
    }

    thread_local! {
        /// What the card has counted since it was started.
        static SO_FAR: Cell<u64> = const { Cell::new(0) };
    }

    fn card(_: &Scene<'_>) -> Option<Look> {
        let name = "outbound_pci_buffer_overflow";
        noted("mlx5_core", &[(name, SO_FAR.get()), ("outbound_pci_stalled_wr", 64)]).seen()
    }

    #[test]
    fn what_was_counted_before_the_window_is_none_of_it() {
        SO_FAR.set(1_000_000);
        let meter = watch(&Scene::HOST, card).expect("there");
        SO_FAR.set(1_000_007);
        let mut readings = Readings::default();
        { meter }.close(&Scene::HOST, &mut readings);
        let waits = witnessed(&readings, "e0", Witness::Waits, Unit::Packets).expect("counted");
        assert_eq!(waits.count, 7);
        let stalled = readings.each(keys::STALLED_WRITES, Moment::Closing);
        assert_eq!(stalled.map(|(_, share)| share).collect::<Vec<u64>>(), [64]);
    }

    #[test]
    fn queues_add_up() {
        let rings = [("[0]: rx_discards", 3), ("[11]: rx_discards", 4), ("[0]: tx_discards", 9)];
        let look = noted("bnxt_en", &rings);
        assert_eq!(look.of("nic", "e0.full:[*]: rx_discards_packets"), Some(7));
        assert_eq!(look.len(), 1);
        assert!(is_like("a*b*", "a1b22") && !is_like("a*b*", "a1b") && !is_like("a*", "ab1"));
    }
}
