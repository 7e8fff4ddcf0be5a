//! This host's own addresses.

use nix::ifaddrs::getifaddrs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The interface that has this address. Packets to it pass the loopback device all the same.
pub fn interface(address: IpAddr) -> Option<String> {
    // A dual-stack socket writes an IPv4 address as an IPv6 one.
    let address = address.to_canonical();
    getifaddrs().ok()?.find_map(|entry| {
        let storage = entry.address?;
        let have = storage
            .as_sockaddr_in()
            .map(|at| IpAddr::from(at.ip()))
            .or_else(|| storage.as_sockaddr_in6().map(|at| IpAddr::from(at.ip())));
        (have == Some(address)).then_some(entry.interface_name)
    })
}

/// The address from which this host would reach others: the source of its default route, IPv4
/// first. Nothing is sent: connecting a UDP socket only looks the route up. Without a default
/// route, the first address that others on its links can reach.
pub fn own() -> Option<IpAddr> {
    // Addresses for documentation (RFC 5737, RFC 3849): they can be nobody's.
    let v4 = (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into());
    let v6 = (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into());
    [v4, v6].into_iter().find_map(|(any, far)| routed(any, far)).or_else(first)
}

fn routed(any: IpAddr, far: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((far, 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

fn first() -> Option<IpAddr> {
    let all: Vec<IpAddr> = getifaddrs()
        .ok()?
        .filter_map(|entry| {
            let storage = entry.address?;
            let v4 = storage.as_sockaddr_in().map(|at| IpAddr::from(at.ip()));
            // A link-local address means nothing without its interface.
            let v6 = storage.as_sockaddr_in6().map(|at| at.ip());
            let v6 = v6.filter(|address| !address.is_unicast_link_local()).map(IpAddr::from);
            v4.or(v6).filter(|address| !address.is_loopback())
        })
        .collect();
    all.iter().copied().find(IpAddr::is_ipv4).or_else(|| all.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CloneFlags, unshare};
    use std::process::Command;
    use std::thread;

    #[test]
    fn an_address_belongs_to_the_interface_that_has_it() {
        assert_eq!(interface(Ipv4Addr::LOCALHOST.into()).as_deref(), Some("lo"));
        let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        assert_eq!(interface(mapped.into()).as_deref(), Some("lo"));
        assert_eq!(interface(Ipv4Addr::new(192, 0, 2, 1).into()), None);
        if let Some(own) = own() {
            assert!(!own.is_loopback() && interface(own).is_some_and(|name| name != "lo"), "{own}");
        }
    }

    #[test]
    fn an_own_address_is_not_that_of_the_loopback_device() {
        if let Some(own) = own() {
            let back = narrows_workloads::harness::way::toward(own, own);
            assert_eq!(back.as_deref(), Some("lo"), "{own} is of this host");
            assert!(!own.is_loopback(), "{own}");
        }
    }

    /// Runs ip(8); `None` where it fails.
    fn ip(words: &[&str]) -> Option<()> {
        Command::new("ip").args(words).status().ok()?.success().then_some(())
    }

    /// What `own` says in a namespace with a link that has these addresses; `None` where this
    /// process may not make one.
    fn own_with(addresses: &'static [&str]) -> Option<Option<IpAddr>> {
        let there = thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            ip(&["link", "set", "lo", "up"])?;
            ip(&["link", "add", "near", "type", "veth", "peer", "name", "far"])?;
            for address in addresses {
                ip(&["addr", "add", address, "dev", "near", "nodad"])?;
            }
            ip(&["link", "set", "far", "up"])?;
            ip(&["link", "set", "near", "up"])?;
            Some(own())
        });
        there.join().expect("a thread")
    }

    #[test]
    fn without_a_route_to_others_an_address_of_a_link_is_ours() {
        let Some(none) = own_with(&[]) else {
            eprintln!("skipped: without_a_route_to_others: no namespace can be made");
            return;
        };
        assert_eq!(none, None, "neither loopback nor link-local");
        let v6 = own_with(&["fd00::5/64"]).expect("as before");
        assert_eq!(v6, "fd00::5".parse().ok());
        let both = own_with(&["fd00::5/64", "10.7.7.7/24"]).expect("as before");
        assert_eq!(both, "10.7.7.7".parse().ok(), "IPv4 first");
    }
}
