//! This host's own addresses.

use nix::ifaddrs::getifaddrs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// The interface that has this address.
pub fn interface(address: IpAddr) -> Option<String> {
    getifaddrs().ok()?.find_map(|entry| {
        let storage = entry.address?;
        let have = storage
            .as_sockaddr_in()
            .map(|at| IpAddr::from(at.ip()))
            .or_else(|| storage.as_sockaddr_in6().map(|at| IpAddr::from(at.ip())));
        (have == Some(address)).then_some(entry.interface_name)
    })
}

/// The address from which this host would reach others: the source of its default route. Nothing is
/// sent: connecting a UDP socket only looks the route up. Without a default route, the first
/// address that is not loopback.
pub fn own() -> Option<IpAddr> {
    // An address for documentation (RFC 5737): it can be nobody's.
    let far = (Ipv4Addr::new(192, 0, 2, 1), 9);
    let routed = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok().and_then(|socket| {
        socket.connect(far).ok()?;
        Some(socket.local_addr().ok()?.ip())
    });
    routed.filter(|address| !address.is_unspecified() && !address.is_loopback()).or_else(first)
}

fn first() -> Option<IpAddr> {
    getifaddrs().ok()?.find_map(|entry| {
        let storage = entry.address?;
        let address = IpAddr::from(storage.as_sockaddr_in()?.ip());
        (!address.is_loopback()).then_some(address)
    })
}
