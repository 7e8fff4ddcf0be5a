//! `interface`: bytes, packets and drops of each interface of the own network namespace, from
//! `/proc/net/dev`. With segmentation offload a "packet" may be a super-packet of 64 KiB.

use crate::{Sample, Source};

pub static SOURCE: Source = Source {
    name: "interface",
    says: "bytes, packets, errors and drops of each interface in this network namespace",
    take: |_| Some(parse(&std::fs::read_to_string("/proc/thread-self/net/dev").ok()?)),
};

/// Columns of the file that are kept: position and key.
const COLUMNS: [(usize, &str); 8] = [
    (0, "rx_bytes"),
    (1, "rx_packets"),
    (2, "rx_errors_packets"),
    (3, "rx_dropped_packets"),
    (8, "tx_bytes"),
    (9, "tx_packets"),
    (10, "tx_errors_packets"),
    (11, "tx_dropped_packets"),
];

fn parse(text: &str) -> Sample {
    let mut sample = Sample::default();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let values: Vec<&str> = rest.split_whitespace().collect();
        for (column, key) in COLUMNS {
            if let Some(value) = values.get(column).and_then(|value| value.parse().ok()) {
                sample.counters.insert(format!("{}.{key}", name.trim()), value);
            }
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_position() {
        let text =
            "Inter-| Receive\n face |bytes packets\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13\nx";
        let sample = parse(text);
        assert_eq!(sample.counters["eth0.rx_bytes"], 1);
        assert_eq!(sample.counters["eth0.tx_bytes"], 9);
        assert_eq!(sample.counters["eth0.tx_dropped_packets"], 12);
    }
}
