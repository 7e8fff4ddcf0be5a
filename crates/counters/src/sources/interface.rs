//! `interface`: bytes, packets and drops of each interface of the own network namespace, from
//! `/proc/net/dev`, and how often each lost its link. With segmentation offload a "packet" may be a
//! super-packet of 64 KiB.

use crate::{Look, Registered, Scene, watch};
use narrows_host::ask::links;
use narrows_model::reading::{Counter, Scope, Source, keys};

pub static SOURCE: Registered = Registered {
    source: Source::Interface,
    says: "bytes, packets, errors, drops and lost links of each interface in this network namespace",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

/// Columns of the file that are kept, by position.
const COLUMNS: [(usize, Counter); 8] = [
    (0, keys::RX_BYTES),
    (1, keys::RX_PACKETS),
    (2, keys::RX_ERRORS),
    (3, keys::RX_DROPPED),
    (8, keys::TX_BYTES),
    (9, keys::TX_PACKETS),
    (10, keys::TX_ERRORS),
    (11, keys::TX_DROPPED),
];

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = parse(&std::fs::read_to_string("/proc/thread-self/net/dev").ok()?);
    for (name, lost) in links::carriers_lost().unwrap_or_default() {
        look.total(keys::CARRIER_LOST.key(Scope::Nic(name)), lost);
    }
    look.seen()
}

fn parse(text: &str) -> Look {
    let mut look = Look::default();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let values: Vec<&str> = rest.split_whitespace().collect();
        for (column, counter) in COLUMNS {
            if let Some(value) = values.get(column).and_then(|value| value.parse().ok()) {
                look.total(counter.key(Scope::Nic(name.trim().to_owned())), value);
            }
        }
    }
    look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_position() {
        let text =
            "Inter-| Receive\n face |bytes packets\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13\nx";
        let look = parse(text);
        assert_eq!(look.of("interface", "eth0.rx_bytes"), Some(1));
        assert_eq!(look.of("interface", "eth0.rx_dropped_packets"), Some(4));
        assert_eq!(look.of("interface", "eth0.tx_bytes"), Some(9));
        assert_eq!(look.of("interface", "eth0.tx_dropped_packets"), Some(12));
        assert_eq!(look.len(), 8);
    }
}
