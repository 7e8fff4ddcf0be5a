//! `udp`: datagrams of the own network namespace, from `/proc/net/snmp`.

use crate::{Look, Registered, Scene, table, watch};
use narrows_model::reading::{Counter, Scope, Source, Unit};

pub static SOURCE: Registered = Registered {
    source: Source::Udp,
    says: "datagrams in and out, and those lost for want of socket buffer or to errors",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

/// Columns that are kept, and the name they get.
const COLUMNS: [(&str, &str); 5] = [
    ("InDatagrams", "in"),
    ("OutDatagrams", "out"),
    ("InErrors", "in_error"),
    ("RcvbufErrors", "receive_buffer_full"),
    ("SndbufErrors", "send_buffer_full"),
];

fn look(_: &Scene<'_>) -> Option<Look> {
    parse(&std::fs::read_to_string("/proc/thread-self/net/snmp").ok()?).seen()
}

fn parse(text: &str) -> Look {
    let mut look = Look::default();
    for (column, value) in table::headed(text, "Udp").unwrap_or_default() {
        if let Some((_, name)) = COLUMNS.iter().find(|(known, _)| *known == column) {
            let counter = Counter::of(Source::Udp, name, Unit::Datagrams);
            look.total(counter.key(Scope::Host), value);
        }
    }
    look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_the_header() {
        let text = "Ip: A\nIp: 1\nUdp: NoPorts InDatagrams RcvbufErrors\nUdp: 1 2 3\nUdpLite: X";
        let look = parse(text);
        assert_eq!(look.of("udp", "in_datagrams"), Some(2));
        assert_eq!(look.of("udp", "receive_buffer_full_datagrams"), Some(3));
        assert_eq!(look.len(), 2);
        assert_eq!(parse("Udp: A"), Look::default());
    }
}
