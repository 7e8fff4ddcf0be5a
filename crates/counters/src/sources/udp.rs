//! `udp`: datagrams of the own network namespace, from `/proc/net/snmp`.

use crate::{Sample, Source, table};

pub static SOURCE: Source = Source {
    name: "udp",
    says: "datagrams in and out, and those lost for want of socket buffer or to errors",
    take: |_| Some(parse(&std::fs::read_to_string("/proc/thread-self/net/snmp").ok()?)),
};

/// Columns that are kept, and the key they get.
const COLUMNS: [(&str, &str); 5] = [
    ("InDatagrams", "in_datagrams"),
    ("OutDatagrams", "out_datagrams"),
    ("InErrors", "in_error_datagrams"),
    ("RcvbufErrors", "receive_buffer_full_datagrams"),
    ("SndbufErrors", "send_buffer_full_datagrams"),
];

fn parse(text: &str) -> Sample {
    let values = table::headed(text, "Udp").unwrap_or_default();
    let key = |name: &str| COLUMNS.iter().find(|(column, _)| *column == name).map(|(_, key)| *key);
    let counters = values.iter().filter_map(|(name, n)| Some((key(name)?.to_owned(), *n)));
    Sample { counters: counters.collect(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_the_header() {
        let text = "Ip: A\nIp: 1\nUdp: NoPorts InDatagrams RcvbufErrors\nUdp: 1 2 3\nUdpLite: X";
        let sample = parse(text);
        assert_eq!(sample.counters["in_datagrams"], 2);
        assert_eq!(sample.counters["receive_buffer_full_datagrams"], 3);
        assert_eq!(sample.counters.len(), 2);
        assert_eq!(parse("Udp: A"), Sample::default());
    }
}
