//! `write`: one `send` call a message; the kernel copies it.

use super::{Sender, SenderKind};
use crate::harness::{buffer::Buffer, payload};
use socket2::Socket;
use std::io;

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::WRITE,
    says: "one send a message, which the kernel copies",
    takes: |out| out.span as u64,
    make: |_, out| Ok(Box::new(Write { buffer: payload::pattern(out.span, out.node)? })),
};

struct Write {
    buffer: Buffer,
}

impl Sender for Write {
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize> {
        flow.send(&self.buffer.bytes()[at..at + length])
    }
}
