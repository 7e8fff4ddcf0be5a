//! `netstat`: what the kernel counts of TCP, IP, ICMP and UDP in the end's network namespace, by
//! its own names, from `/proc/net/netstat`, `/proc/net/snmp` and `/proc/net/snmp6` (kernel,
//! Documentation/networking/snmp_counter.rst). Those are kept that tell why something was lost,
//! late, refused or sent again.

use crate::{Look, Registered, Scene, table, watch};
use narrows_model::reading::{Key, Scope, Source, Unit};

pub static SOURCE: Registered = Registered {
    source: Source::Netstat,
    says: "drops, repeats, timeouts, marks, fragments and refused connections of the namespace",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

/// Rows of `netstat` and `snmp`, and the columns of each that are kept.
const KEPT: [(&str, &[&str]); 6] = [
    (
        "TcpExt",
        &[
            "DelayedACKs",
            "ListenDrops",
            "ListenOverflows",
            "PAWSEstab",
            "PruneCalled",
            "TCPBacklogDrop",
            "TCPDSACKOfoSent",
            "TCPDSACKOldSent",
            "TCPDSACKRecv",
            "TCPLossProbes",
            "TCPMTUPFail",
            "TCPMTUPSuccess",
            "TCPOFOQueue",
            "TCPRcvCollapsed",
            "TCPRcvQDrop",
            "TCPRenoRecovery",
            "TCPReqQFullDrop",
            "TCPSACKDiscard",
            "TCPSackRecovery",
            "TCPSpuriousRTOs",
            "TCPSynRetrans",
            "TCPTimeouts",
            "TCPZeroWindowDrop",
        ],
    ),
    ("IpExt", &["InCEPkts", "InCsumErrors", "InNoRoutes"]),
    (
        "Ip",
        &[
            "FragCreates",
            "FragFails",
            "InDiscards",
            "OutDiscards",
            "OutNoRoutes",
            "ReasmFails",
            "ReasmReqds",
            "ReasmTimeout",
        ],
    ),
    ("Icmp", &["InDestUnreachs", "InTimeExcds", "OutDestUnreachs"]),
    (
        "Tcp",
        &[
            "AttemptFails",
            "EstabResets",
            "InCsumErrors",
            "InErrs",
            "InSegs",
            "OutSegs",
            "RetransSegs",
        ],
    ),
    ("Udp", &["InCsumErrors", "MemErrors", "NoPorts"]),
];

/// Lines of `snmp6` (kernel, net/ipv6/proc.c), and the row and column of IPv4 that count the same.
const KEPT_V6: [(&str, &str); 8] = [
    ("Icmp6InTimeExcds", "Icmp.InTimeExcds"),
    ("Ip6FragCreates", "Ip.FragCreates"),
    ("Ip6FragFails", "Ip.FragFails"),
    ("Ip6InCEPkts", "IpExt.InCEPkts"),
    ("Ip6ReasmFails", "Ip.ReasmFails"),
    ("Ip6ReasmReqds", "Ip.ReasmReqds"),
    ("Ip6ReasmTimeout", "Ip.ReasmTimeout"),
    ("Udp6InCsumErrors", "Udp.InCsumErrors"),
];

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    for name in ["netstat", "snmp"] {
        parse(&read(name)?, &mut look);
    }
    // Without IPv6 there is no such file.
    parse_v6(&read("snmp6").unwrap_or_default(), &mut look);
    look.seen()
}

fn read(name: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok()
}

fn key(name: String) -> Key {
    Key::counter(Source::Netstat, Scope::Host, name, Unit::Events)
}

fn parse(text: &str, look: &mut Look) {
    for (row, columns) in KEPT {
        for (column, value) in table::headed(text, row).unwrap_or_default() {
            if columns.contains(&column) {
                look.total(key(format!("{row}.{column}")), value);
            }
        }
    }
}

/// Counts of both versions of IP add up.
fn parse_v6(text: &str, look: &mut Look) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        let kept = KEPT_V6.iter().find(|(known, _)| *known == name);
        if let Some((_, name)) = kept
            && let Ok(value) = value.parse()
        {
            look.total(key((*name).to_owned()), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::reading::keys;

    #[test]
    fn columns_are_found_by_their_names_and_both_versions_of_ip_add_up() {
        let mut look = Look::default();
        parse("TcpExt: X TCPSynRetrans ListenOverflows\nTcpExt: 9 4 7\n", &mut look);
        parse("Ip: ReasmFails\nIp: 5\nTcp: InCsumErrors OutSegs\nTcp: 2 30\n", &mut look);
        parse("IpExt: InCEPkts InNoECTPkts\nIpExt: 40 8\n", &mut look);
        let six = "Ip6ReasmFails                   \t6\nIp6InCEPkts 300\nIp6Other 3\nnonsense\n";
        parse_v6(six, &mut look);
        let of = |name: &str| look.of("netstat", &format!("{name}_events"));
        assert_eq!(of("TcpExt.TCPSynRetrans"), Some(4));
        assert_eq!(of("TcpExt.ListenOverflows"), Some(7));
        assert_eq!(of("Ip.ReasmFails"), Some(11));
        assert_eq!(of("Tcp.InCsumErrors"), Some(2));
        assert_eq!(of("IpExt.InCEPkts"), Some(340), "marks of a stream over IPv6 count");
        assert_eq!(look.len(), 6);
    }

    #[test]
    fn what_rules_ask_for_is_kept() {
        let asked = [
            keys::LISTEN_OVERFLOWS,
            keys::SYN_RETRANSMITTED,
            keys::CAME_TWICE,
            keys::CAME_TWICE_EARLY,
            keys::TCP_CHECKSUM,
            keys::UDP_CHECKSUM,
            keys::UDP_NO_PORT,
            keys::TCP_OUT,
            keys::TCP_IN,
            keys::TCP_AGAIN,
            keys::FRAGMENTS_IN,
            keys::FRAGMENTS_FAILED,
            keys::FRAGMENTS_OUT,
            keys::CONGESTION_MARKS,
            keys::UNREACHABLE_IN,
            keys::SOCKET_BACKLOG,
            keys::RECEIVE_QUEUE,
            keys::KERNEL_TIMEOUTS,
            keys::RECOVERIES,
            keys::RECOVERIES_WITHOUT_SACK,
            keys::DELAYED_ACKS,
        ];
        let is_kept = |name: &str| {
            KEPT.iter().any(|(row, columns)| {
                columns.iter().any(|column| format!("{row}.{column}") == name)
            })
        };
        for counter in asked {
            assert!(is_kept(counter.name), "{}", counter.name);
        }
    }
}
