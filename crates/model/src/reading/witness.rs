//! What a NIC's own counters witness of the host behind it. Drivers name them as they like; which
//! of them tells what is data of `narrows-counters` (`crates/counters/nics`), and is kept in the
//! key of each reading: `eth0.waits:outbound_pci_buffer_overflow_packets`.

use super::{Kind, Readings, Scope, Source, Unit};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a counter that grows says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Witness {
    /// The NIC had packets to write, and PCI Express or memory took them too late.
    Waits,
    /// It had something to read, and waited for that.
    Reads,
    /// Its own receive buffer was full. Whether memory, PCI Express, descriptors or its own
    /// processing was late, the driver does not tell.
    Full,
    /// No descriptor was posted for a packet: the CPU was late.
    Ring,
    /// The packet came damaged, or what came was none.
    Wire,
    /// A provider's limit held or dropped it.
    Limit,
}

impl Witness {
    pub const ALL: [Self; 6] =
        [Self::Waits, Self::Reads, Self::Full, Self::Ring, Self::Wire, Self::Limit];

    /// As keys have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Reads => "reads",
            Self::Full => "full",
            Self::Ring => "ring",
            Self::Wire => "wire",
            Self::Limit => "limit",
        }
    }
}

/// What counters of one kind grew by over a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// The driver's name, with `*` for the numbers of those that were added up:
    /// `rx_prio*_discards`.
    pub name: String,
    pub count: u64,
    /// Each of several that were added up and grew, by the driver's name.
    pub each: Vec<(String, u64)>,
}

/// What one interface's counters of a kind grew by: of those that are alike but for a number the
/// sum, and of others the one that grew most, since one packet may be in several. `None` where the
/// driver has none in this unit.
pub fn witnessed(readings: &Readings, nic: &str, of: Witness, unit: Unit) -> Option<Witnessed> {
    let nic = Scope::Nic(nic.to_owned());
    let mut alike: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for (key, count) in readings.from_source(Source::Nic) {
        if (&key.scope, key.unit, key.kind) != (&nic, unit, Kind::Counter) {
            continue;
        }
        let Some((word, name)) = key.name.split_once(':') else { continue };
        if word == of.word() {
            alike.entry(without_numbers(name)).or_default().push((name.to_owned(), count));
        }
    }
    let sums = alike.into_iter().map(|(name, each)| {
        let count = each.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let grown = each.into_iter().filter(|(one, count)| *count > 0 && *one != name);
        Witnessed { count, each: grown.collect(), name }
    });
    sums.reduce(|a, b| if b.count > a.count { b } else { a })
}

/// A name with `*` for each number in it.
fn without_numbers(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars() {
        match letter {
            '0'..='9' if plain.ends_with('*') => {}
            '0'..='9' => plain.push('*'),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(of: &[(&str, u64)]) -> Readings {
        let mut readings = Readings::default();
        of.iter().for_each(|(key, count)| readings.put_words("nic", key, *count));
        readings
    }

    #[test]
    fn priorities_add_up_and_the_same_packets_elsewhere_do_not() {
        let read = readings(&[
            ("e0.full:rx_prio0_discards_packets", 30),
            ("e0.full:rx_prio3_discards_packets", 12),
            ("e0.full:rx_prio4_discards_packets", 0),
            ("e0.full:rx_discards_phy_packets", 41),
            ("e0.ring:rx_out_of_buffer_packets", 900),
            ("e1.full:rx_discards_phy_packets", 5000),
        ]);
        let full = witnessed(&read, "e0", Witness::Full, Unit::Packets).expect("counted");
        assert_eq!((&*full.name, full.count), ("rx_prio*_discards", 42));
        let each = [("rx_prio0_discards".to_owned(), 30), ("rx_prio3_discards".to_owned(), 12)];
        assert_eq!(full.each, each);
        assert_eq!(witnessed(&read, "e0", Witness::Waits, Unit::Packets), None);
        assert_eq!(witnessed(&read, "e0", Witness::Full, Unit::Events), None);
    }

    #[test]
    fn none_is_a_count_and_a_state_is_not() {
        let read = readings(&[
            ("e0.waits:outbound_pci_buffer_overflow_packets", 0),
            ("e0.waits:stalled_writes_percent", 97),
        ]);
        let waits = witnessed(&read, "e0", Witness::Waits, Unit::Packets).expect("counted");
        assert_eq!((waits.count, waits.each), (0, Vec::new()));
        assert_eq!(witnessed(&read, "e0", Witness::Waits, Unit::Percent), None);
    }

    #[test]
    fn words_are_those_of_the_data() {
        for of in Witness::ALL {
            let word = format!("\"{}\"", of.word());
            assert_eq!(serde_json::from_str::<Witness>(&word).expect("a word"), of);
        }
    }
}
