//! A pipe through which pages move without a copy: `vmsplice` and `splice`.

use crate::LoadError;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

/// A pipe of this process.
pub struct Pipe {
    read: File,
    write: File,
}

fn count(result: isize) -> io::Result<usize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

impl Pipe {
    /// A pipe that holds so many bytes, or what the system gives.
    pub fn new(bytes: usize) -> Result<Self, LoadError> {
        let mut ends = [0; 2];
        // SAFETY: the call fills the two descriptors, which nobody else owns.
        let pipe = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(LoadError::system("making a pipe")(io::Error::last_os_error()));
            }
            Self { read: File::from_raw_fd(ends[0]), write: File::from_raw_fd(ends[1]) }
        };
        // SAFETY: a plain integer argument. Refusal leaves the pipe as it is.
        unsafe { libc::fcntl(ends[1], libc::F_SETPIPE_SZ, bytes as libc::c_int) };
        Ok(pipe)
    }

    /// Puts the pages of these bytes into the pipe; how many bytes found room.
    pub fn take_pages(&self, bytes: &[u8]) -> io::Result<usize> {
        let piece =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: the piece is the given slice, which the kernel only reads.
        count(unsafe { libc::vmsplice(self.write.as_raw_fd(), &piece, 1, 0) })
    }

    /// Moves up to `most` bytes out of the pipe.
    pub fn move_to(&self, to: RawFd, most: usize) -> io::Result<usize> {
        splice(self.read.as_raw_fd(), to, most)
    }

    /// Moves up to `most` bytes into the pipe.
    pub fn take_from(&self, from: RawFd, most: usize) -> io::Result<usize> {
        splice(from, self.write.as_raw_fd(), most)
    }
}

fn splice(from: RawFd, to: RawFd, most: usize) -> io::Result<usize> {
    let none = std::ptr::null_mut();
    // SAFETY: no offsets are given; descriptors and length are plain numbers.
    count(unsafe { libc::splice(from, none, to, none, most, libc::SPLICE_F_MOVE) })
}
