//! A packet socket of one interface, and the ring that it shares with the kernel (packet(7)).

use super::link::Link;
use crate::LoadError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring, which the kernel takes away with its socket.
pub struct Ring {
    socket: OwnedFd,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this ring alone and is not tied to a thread.
unsafe impl Send for Ring {}

/// A packet socket that takes nothing until it is bound.
pub fn socket(link: &Link) -> Result<OwnedFd, LoadError> {
    // SAFETY: a plain call; the kernel has opened the answer for us alone.
    let opened = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if opened < 0 {
        let doing = format!("a packet socket on {} (root or CAP_NET_RAW)", link.name);
        return Err(LoadError::system(doing)(io::Error::last_os_error()));
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
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh shared mapping of the socket's ring touches no memory that exists.
        let start = unsafe {
            let fd = socket.as_raw_fd();
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0)
        };
        let start = if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast::<u8>()) };
        let start = start.ok_or_else(|| {
            LoadError::system("mapping a packet ring")(io::Error::last_os_error())
        })?;
        Ok(Self { socket, start, length })
    }

    /// Packet socket that the ring belongs to.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// A word that the kernel and this program hand to and fro.
    pub fn shared(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length, "a word of the ring");
        // SAFETY: within the mapping and aligned; the kernel writes it as one word.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// A word that is ours while the kernel has not got its part back.
    pub fn word(&self, at: usize) -> u32 {
        self.shared(at).load(Ordering::Relaxed)
    }

    /// Bytes of a part that is ours; empty where the kernel names what is beyond the ring.
    pub fn bytes(&self, at: usize, length: usize) -> &[u8] {
        if at.checked_add(length).is_none_or(|end| end > self.length) {
            return &[];
        }
        // SAFETY: within the mapping, and the kernel leaves it alone until it is handed back.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// The same, to write.
    pub fn bytes_mut(&mut self, at: usize, length: usize) -> &mut [u8] {
        assert!(at + length <= self.length, "a part of the ring");
        // SAFETY: within the mapping, ours until it is handed over, and &mut self makes this the
        // only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
