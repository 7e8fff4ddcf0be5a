//! `recv`: one call a datagram.

use super::{In, Receiver, ReceiverKind, slot_bytes};
use crate::LoadError;
use crate::harness::buffer::{Buffer, Pages};
use socket2::Socket;
use std::io::{self, Read};

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: narrows_model::calls::RECV,
    says: "one recv a datagram",
    takes: |inward| slot_bytes(inward.message) as u64,
    make: |_, inward| Ok(Box::new(Recv { buffer: buffer(inward)? })),
};

struct Recv {
    buffer: Buffer,
}

fn buffer(inward: &In) -> Result<Buffer, LoadError> {
    let mut buffer = Buffer::with(slot_bytes(inward.message), Pages::Transparent, inward.node)?;
    buffer.touch();
    Ok(buffer)
}

impl Receiver for Recv {
    fn receive(&mut self, flow: &Socket, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut flow = flow;
        let length = flow.read(self.buffer.bytes_mut())?;
        take(&self.buffer.bytes()[..length]);
        Ok(())
    }
}
