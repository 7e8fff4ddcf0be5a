//! Whether the other end of a flow is on a network of this host that its packets do not take: a
//! route for it alone, or one that is left over, sends them by way of a router.

use super::way;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_indextoname};
use nix::sys::socket::SockaddrStorage;
use socket2::Socket;
use std::net::IpAddr;

/// The interface on whose own network the other end is, where its packets leave by another one to a
/// router; `None` where they do not, or nobody knows where they go.
pub fn left_aside(flow: &Socket) -> Option<String> {
    let hop = way::hop_of(flow).filter(|hop| !hop.is_local() && hop.router.is_some())?;
    let peer = flow.peer_addr().ok()?.as_socket()?.ip().to_canonical();
    let own = flow.local_addr().ok()?.as_socket()?.ip().to_canonical();
    let taken = if_indextoname(hop.interface).ok()?;
    let interfaces = getifaddrs().ok()?.filter(|one| {
        one.flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING)
            && !one.flags.contains(InterfaceFlags::IFF_LOOPBACK)
    });
    let having = interfaces.filter_map(|one| {
        let (address, mask) = (ip(one.address?)?, ip(one.netmask?)?);
        is_within(peer, address, mask).then_some((one.interface_name, address))
    });
    let having: Vec<(String, IpAddr)> = having.collect();
    // Several interfaces of one network, each with a route of its own, are chosen by address.
    let is_own =
        |(name, address): &(String, IpAddr)| name.as_bytes() == taken.to_bytes() || *address == own;
    if having.iter().any(is_own) {
        return None;
    }
    having.into_iter().map(|(name, _)| name).next()
}

fn ip(address: SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|at| IpAddr::from(at.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::from(at.ip())))
}

/// Whether an address is of the network that this one has with this mask. A link-local network is
/// on every interface, and one of a single address on none.
fn is_within(peer: IpAddr, address: IpAddr, mask: IpAddr) -> bool {
    match (peer, address, mask) {
        (IpAddr::V4(peer), IpAddr::V4(address), IpAddr::V4(mask)) => {
            let mask = mask.to_bits();
            mask != u32::MAX && mask != 0 && (peer.to_bits() ^ address.to_bits()) & mask == 0
        }
        (IpAddr::V6(peer), IpAddr::V6(address), IpAddr::V6(mask)) => {
            let mask = mask.to_bits();
            !peer.is_unicast_link_local()
                && mask != u128::MAX
                && mask != 0
                && (peer.to_bits() ^ address.to_bits()) & mask == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CloneFlags, unshare};
    use std::net::UdpSocket;
    use std::process::Command;

    #[test]
    fn an_address_is_within_the_network_of_its_mask() {
        let of = |peer: &str, address: &str, mask: &str| {
            let [peer, address, mask] = [peer, address, mask].map(|ip| ip.parse().expect("an IP"));
            is_within(peer, address, mask)
        };
        assert!(of("10.77.1.2", "10.77.1.1", "255.255.255.0"));
        assert!(!of("10.77.2.2", "10.77.1.1", "255.255.255.0"));
        assert!(of("10.77.2.2", "10.77.1.1", "255.255.0.0"));
        assert!(!of("10.77.1.2", "10.77.1.2", "255.255.255.255"), "a network of one address");
        assert!(of("fd77:1::2", "fd77:1::1", "ffff:ffff:ffff:ffff::"));
        assert!(!of("fd77:2::2", "fd77:1::1", "ffff:ffff:ffff:ffff::"));
        assert!(!of("fe80::2", "fe80::1", "ffff:ffff:ffff:ffff::"), "link-local");
        assert!(!of("10.77.1.2", "fd77:1::1", "ffff::"), "another version");
    }

    /// Two interfaces in a namespace of its own: what is on the first one's network is sent by the
    /// second one's router, or not.
    fn with_route(route: &str) -> Option<Option<String>> {
        let inside = std::thread::spawn({
            let lines = format!(
                "ip link set lo up && ip link add e0 type veth peer name p0 && ip link add e1 type \
                 veth peer name p1 && for l in e0 p0 e1 p1; do ip link set $l up; done && ip addr \
                 add 10.66.1.1/24 dev e0 && ip addr add 10.66.2.1/24 dev e1 && {route}"
            );
            move || {
                unshare(CloneFlags::CLONE_NEWNET).ok()?;
                let made = Command::new("sh").args(["-c", &lines]).output();
                made.ok().filter(|made| made.status.success())?;
                let flow = UdpSocket::bind("0.0.0.0:0").ok()?;
                flow.connect("10.66.1.2:9").ok()?;
                Some(left_aside(&flow.into()))
            }
        });
        inside.join().expect("no panic")
    }

    #[test]
    fn a_route_by_another_interface_than_the_network_s_is_seen() {
        let Some(direct) = with_route("true") else {
            eprintln!("skipped: a_route_by_another_interface: needs root for namespaces");
            return;
        };
        assert_eq!(direct, None, "sent on its own network");
        let aside = "ip route add 10.66.1.2/32 via 10.66.2.9";
        assert_eq!(with_route(aside), Some(Some("e0".to_owned())));
        let both = format!("ip addr add 10.66.1.3/24 dev e1 && {aside}");
        assert_eq!(with_route(&both), Some(None), "both are on that network");
    }
}
