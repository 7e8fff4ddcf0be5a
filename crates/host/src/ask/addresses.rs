//! The IP addresses of this machine, which no capture may tell.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses of all interfaces; none where the kernel does not answer.
pub fn ask() -> Vec<IpAddr> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the pointer outlives the call, which stores a list there that is freed below, or
    // fails and stores none.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: `next` is null or an entry of the list, which is not freed before the loop is left.
    while let Some(entry) = unsafe { next.as_ref() } {
        found.extend(address(entry.ifa_addr));
        next = entry.ifa_next;
    }
    // SAFETY: the list is freed once, and nothing points into it any more.
    unsafe { libc::freeifaddrs(first) };
    found
}

fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null, or an address that the C library made; its family says how long it is.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: of this family, so it is a whole `sockaddr_in`, aligned by the C library.
            let address = unsafe { &*at.cast::<libc::sockaddr_in>() };
            Some(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: of this family, so it is a whole `sockaddr_in6`, aligned by the C library.
            let address = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_one() {
        assert!(ask().iter().all(|address| !address.is_unspecified()), "{:?}", ask());
        // The kernel's own list, where this namespace has its loopback up.
        let local = std::fs::read_to_string("/proc/thread-self/net/fib_trie").unwrap_or_default();
        if local.contains("|-- 127.0.0.1\n") {
            assert!(ask().contains(&Ipv4Addr::LOCALHOST.into()), "{:?}", ask());
        }
    }

    #[test]
    fn an_address_is_read_by_its_family() {
        // SAFETY: addresses of sockets are numbers, of which all may be zero.
        let (mut four, mut six): (libc::sockaddr_in, libc::sockaddr_in6) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        four.sin_family = libc::AF_INET as u16;
        four.sin_addr.s_addr = u32::from_ne_bytes([10, 1, 2, 3]);
        six.sin6_family = libc::AF_INET6 as u16;
        six.sin6_addr.s6_addr = std::array::from_fn(|at| at as u8);
        let told = address(std::ptr::from_ref(&four).cast());
        assert_eq!(told, Some("10.1.2.3".parse().expect("an address")));
        let told = address(std::ptr::from_ref(&six).cast());
        assert_eq!(told, Some("1:203:405:607:809:a0b:c0d:e0f".parse().expect("an address")));
        four.sin_family = libc::AF_UNIX as u16;
        assert_eq!(address(std::ptr::from_ref(&four).cast()), None);
        assert_eq!(address(std::ptr::null()), None);
    }
}
