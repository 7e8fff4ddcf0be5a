//! `vmsplice`: the pages of the buffer are put into a pipe (`vmsplice`) and moved from there to the
//! socket (`splice`), without a copy at this end. The buffer must not change while the kernel still
//! has it: here it never changes.

use super::{Out, Sender, SenderKind};
use crate::LoadError;
use crate::harness::pipe::Pipe;
use crate::harness::{buffer::Buffer, payload};
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::VMSPLICE,
    says: "pages go through a pipe to the socket, not copied at this end",
    takes: |out| (out.span + PIPE_BYTES) as u64,
    make: |_, out| Ok(Box::new(Vmsplice::new(out)?)),
};

/// Bytes of the pipe; beyond a mebibyte an ordinary user may not go.
const PIPE_BYTES: usize = 1 << 20;

struct Vmsplice {
    buffer: Buffer,
    pipe: Pipe,
    /// Bytes in the pipe.
    held: usize,
}

impl Vmsplice {
    fn new(out: &Out) -> Result<Self, LoadError> {
        let buffer = payload::pattern(out.span, out.node)?;
        Ok(Self { buffer, pipe: Pipe::new(PIPE_BYTES)?, held: 0 })
    }
}

impl Sender for Vmsplice {
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize> {
        if self.held == 0 {
            let bytes = &self.buffer.bytes()[at..at + length];
            self.held = self.pipe.take_pages(bytes)?;
        }
        let moved = self.pipe.move_to(flow.as_raw_fd(), self.held)?;
        self.held -= moved;
        Ok(moved)
    }
}
