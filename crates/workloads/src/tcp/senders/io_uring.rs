//! `io_uring`: sends are handed in as entries of a ring, one outstanding, so that order is kept.

use super::{Out, Sender, SenderKind};
use crate::LoadError;
use crate::harness::ring::Ring;
use crate::harness::{buffer::Buffer, payload};
use io_uring::opcode;
use io_uring::types::Fd;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static SENDER: SenderKind = SenderKind {
    name: "io_uring",
    says: "sends through io_uring, one outstanding",
    takes: |out| out.span as u64,
    make: |_, out| Ok(Box::new(Uring::new(out)?)),
};

struct Uring {
    // Dropped first: the kernel lets go of the buffer.
    ring: Ring,
    buffer: Buffer,
    outstanding: bool,
}

impl Uring {
    fn new(out: &Out) -> Result<Self, LoadError> {
        let buffer = payload::pattern(out.span, out.node)?;
        Ok(Self { ring: Ring::new(8, out.spins)?, buffer, outstanding: false })
    }
}

impl Sender for Uring {
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize> {
        if !self.outstanding {
            let bytes = &self.buffer.bytes()[at..at + length];
            let entry = opcode::Send::new(Fd(flow.as_raw_fd()), bytes.as_ptr(), length as u32);
            // SAFETY: the buffer is never written, and dropped after the ring.
            unsafe { self.ring.push(&[entry.build()])? };
            self.outstanding = true;
        }
        self.ring.wait(1)?;
        let Some(completion) = self.ring.completion() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        self.outstanding = false;
        match completion.result() {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            sent => Ok(sent as usize),
        }
    }
}
