//! Memory that this program shares with the kernel, word by word and part by part.

use crate::LoadError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A mapping of its own, unmapped with it.
pub struct Area {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this area alone and is not tied to a thread.
unsafe impl Send for Area {}

impl Area {
    /// Maps a ring that was asked of a socket, at the offset by which the kernel knows it.
    pub fn of_socket(
        socket: &OwnedFd,
        offset: libc::off_t,
        length: usize,
    ) -> Result<Self, LoadError> {
        Self::map(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
            .map_err(LoadError::system("mapping a packet ring"))
    }

    /// A part of memory for packets, which [`memory`] made, from the beginning of a page on.
    pub fn of_memory(
        memory: &OwnedFd,
        offset: libc::off_t,
        length: usize,
    ) -> Result<Self, LoadError> {
        Self::map(length, libc::MAP_SHARED, memory.as_raw_fd(), offset)
            .map_err(LoadError::system(format!("mapping {length} B of memory for packets")))
    }

    fn map(length: usize, flags: i32, fd: i32, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping touches no memory that exists.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where it is, for the kernel.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// How many bytes it has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A word that the kernel and this program hand to and fro.
    pub fn shared(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length, "a word of the area");
        // SAFETY: within the mapping and aligned; the kernel writes it as one word.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// A word that is ours while the kernel has not got its part back.
    pub fn word(&self, at: usize) -> u32 {
        self.shared(at).load(Ordering::Relaxed)
    }

    /// Bytes of a part that is ours; empty where the kernel names what is beyond the area.
    pub fn bytes(&self, at: usize, length: usize) -> &[u8] {
        if at.checked_add(length).is_none_or(|end| end > self.length) {
            return &[];
        }
        // SAFETY: within the mapping, and the kernel leaves it alone until it is handed back.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// The same, to write.
    pub fn bytes_mut(&mut self, at: usize, length: usize) -> &mut [u8] {
        assert!(at + length <= self.length, "a part of the area");
        // SAFETY: within the mapping, ours until it is handed over, and &mut self makes this the
        // only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) }
    }
}

/// Memory of no file, all zeroes: parts of it are mapped where each is needed.
pub fn memory(length: usize) -> Result<OwnedFd, LoadError> {
    let what = format!("{length} B of memory for packets");
    made(length).map_err(LoadError::system(what))
}

fn made(length: usize) -> io::Result<OwnedFd> {
    // SAFETY: the name ends in a zero; the kernel has opened the answer for us alone.
    let opened = unsafe { libc::memfd_create(c"narrows-packets".as_ptr(), libc::MFD_CLOEXEC) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let file = unsafe { OwnedFd::from_raw_fd(opened) };
    // SAFETY: it only sets the length of a file of ours.
    let done = unsafe { libc::ftruncate(file.as_raw_fd(), length as libc::off_t) };
    if done == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
