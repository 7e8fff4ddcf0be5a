//! A packet socket of one interface, and the ring that it shares with the kernel (packet(7)).

use super::area::Area;
use super::link::Link;
use crate::LoadError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A ring, which the kernel takes away with its socket.
pub struct Ring {
    area: Area,
    socket: OwnedFd,
}

/// A packet socket that takes nothing until it is bound.
pub fn socket(link: &Link) -> Result<OwnedFd, LoadError> {
    let doing = format!("a packet socket on {} (root or CAP_NET_RAW)", link.name);
    opened().map_err(LoadError::system(doing))
}

/// Whether this process may send and receive frames of its own making; what the kernel says where
/// it may not.
pub fn allowed() -> io::Result<()> {
    opened().map(drop)
}

fn opened() -> io::Result<OwnedFd> {
    // SAFETY: a plain call; the kernel has opened the answer for us alone.
    let opened = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Sets an option of a packet socket.
pub fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the value within its size.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Binds a packet socket to an interface; of this protocol's frames it gets those, 0 for none.
pub fn bind(socket: &OwnedFd, link: &Link, protocol: u16) -> Result<(), LoadError> {
    // SAFETY: all zeroes is a valid address.
    let mut at = unsafe { std::mem::zeroed::<libc::sockaddr_ll>() };
    at.sll_family = libc::AF_PACKET as u16;
    at.sll_protocol = protocol.to_be();
    at.sll_ifindex = link.index as i32;
    // SAFETY: the kernel reads the address within its size.
    let done = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            std::ptr::from_ref(&at).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    let doing = format!("binding a packet socket to {}", link.name);
    if done == 0 { Ok(()) } else { Err(LoadError::system(doing)(io::Error::last_os_error())) }
}

impl Ring {
    /// Maps the ring of so many bytes that was asked of a socket.
    pub fn map(socket: OwnedFd, length: usize) -> Result<Self, LoadError> {
        let area = Area::of_socket(&socket, 0, length)?;
        Ok(Self { area, socket })
    }

    /// Packet socket that the ring belongs to.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// What is shared with the kernel.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// The same, to write.
    pub fn area_mut(&mut self) -> &mut Area {
        &mut self.area
    }
}
