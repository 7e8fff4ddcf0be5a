//! Page-aligned buffers, backed by huge pages where the kernel gives them.

use crate::LoadError;
use std::ptr::NonNull;

/// An anonymous mapping, zeroed by the kernel; pages come from the node of whoever touches first.
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is private to its owner, like a Box<[u8]>.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps `length` bytes (at least one page) and asks for huge pages.
    pub fn new(length: usize) -> Result<Self, LoadError> {
        let length = length.max(4096);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping touches no memory that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        let start = if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast::<u8>()) };
        let Some(start) = start else {
            let doing = format!("reserving a buffer of {length} bytes");
            return Err(LoadError::system(doing)(std::io::Error::last_os_error()));
        };
        // SAFETY: the range is the mapping just made. Refusal is harmless: small pages then.
        unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_HUGEPAGE) };
        Ok(Self { start, length })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for its whole length and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and &mut self makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Writes one byte of every page, so that the calling thread's node gives the memory.
    pub fn touch(&mut self) {
        for (page, byte) in self.bytes_mut().iter_mut().step_by(4096).enumerate() {
            *byte = page as u8 | 1;
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
