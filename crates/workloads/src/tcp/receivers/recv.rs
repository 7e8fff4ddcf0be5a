//! `recv`: one `recv` call for up to a message, copied into the buffer.

use super::{In, Receiver, ReceiverKind};
use crate::LoadError;
use crate::harness::buffer::{Buffer, Pages};
use socket2::Socket;
use std::io::{self, Read};

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: narrows_model::calls::RECV,
    says: "one recv for up to a message, which the kernel copies",
    delivers: true,
    takes: |inward| inward.span as u64,
    make: |inward| Ok(Box::new(Recv::new(inward)?)),
};

struct Recv {
    buffer: Buffer,
    message: usize,
    span: usize,
    at: usize,
}

impl Recv {
    fn new(inward: &In) -> Result<Self, LoadError> {
        let mut buffer = Buffer::with(inward.span, Pages::Transparent, inward.node)?;
        buffer.touch();
        Ok(Self { buffer, message: inward.message, span: inward.span, at: 0 })
    }
}

impl Receiver for Recv {
    fn receive(&mut self, flow: &Socket, look: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let bytes = &mut self.buffer.bytes_mut()[self.at..self.at + self.message];
        let mut flow = flow;
        let n = flow.read(bytes)?;
        look(&bytes[..n]);
        self.at = (self.at + self.message) % self.span;
        Ok(n)
    }
}
