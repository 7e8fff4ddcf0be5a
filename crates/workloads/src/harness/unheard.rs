//! Why UDP did not arrive, as far as an end can tell: what its kernel dropped by the reverse path,
//! and what the network answered by ICMP.

use std::io::ErrorKind;

/// Packets that this network namespace dropped because their sender is not reached by the interface
/// that they came in by (`rp_filter`); `None` where the kernel does not tell.
pub fn reverse_path_drops() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").ok()?;
    column(&text, "TcpExt:", "IPReversePathFilter")
}

/// A number of a table whose rows come in pairs: names, then values.
fn column(text: &str, row: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(row));
    let (names, values) = (rows.next()?, rows.next()?);
    let at = names.split_whitespace().position(|one| one == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// What the end that listens says of UDP that did not arrive at a port, `dropped` packets having
/// been lost to the reverse path meanwhile.
pub fn on_the_way_there(dropped: u64) -> String {
    if dropped > 0 {
        return format!(
            "its kernel dropped {dropped} packets because of the interface they arrived on (rp_filter: \
             its routes to their sender leave by another one): compare `ip route get` at both \
             ends, or set net.ipv4.conf.*.rp_filter=2 there"
        );
    }
    "most likely a firewall drops UDP on the way there (nft list ruleset, iptables -S; some let only \
     certain ports pass), or a route for UDP differs"
        .to_owned()
}

/// What an error of a connected socket says of the way; `None` for one that says nothing.
pub fn refusal(error: &std::io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::ConnectionRefused => Some("ICMP says port unreachable"),
        ErrorKind::HostUnreachable => Some(
            "the host is unreachable (no neighbour answers for it, or a filter on the way prohibits it)",
        ),
        ErrorKind::NetworkUnreachable => Some("the network is unreachable"),
        ErrorKind::PermissionDenied => Some("this host's own packet filter drops it"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_its_name() {
        let text = "TcpExt: A IPReversePathFilter B\nTcpExt: 1 7 3\nIpExt: IPReversePathFilter\nIpExt: 9\n";
        assert_eq!(column(text, "TcpExt:", "IPReversePathFilter"), Some(7));
        assert_eq!(column(text, "TcpExt:", "C"), None);
        assert_eq!(column("TcpExt: A\n", "TcpExt:", "A"), None);
    }

    #[test]
    fn the_reverse_path_is_named_where_it_dropped_something() {
        assert!(on_the_way_there(3).contains("dropped 3 packets"), "{}", on_the_way_there(3));
        assert!(
            on_the_way_there(0).starts_with("most likely a firewall drops UDP on the way there")
        );
    }

    #[test]
    fn a_timeout_is_no_answer_of_the_network() {
        let of = |code| refusal(&std::io::Error::from_raw_os_error(code));
        assert_eq!(of(libc::ECONNREFUSED), Some("ICMP says port unreachable"));
        assert_eq!(
            of(libc::EHOSTUNREACH),
            Some(
                "the host is unreachable (no neighbour answers for it, or a filter on the way prohibits it)"
            )
        );
        assert_eq!(of(libc::ENETUNREACH), Some("the network is unreachable"));
        assert_eq!(of(libc::EPERM), Some("this host's own packet filter drops it"));
        assert_eq!(of(libc::EAGAIN), None);
    }
}
