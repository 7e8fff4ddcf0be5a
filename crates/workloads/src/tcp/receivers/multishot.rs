//! `multishot`: a receive of io_uring that is armed once and completes into buffers of a pool.

use super::{In, Receiver, ReceiverKind};
use crate::harness::ring::Inbox;
use socket2::Socket;
use std::io;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: "multishot",
    says: "io_uring's multishot receive into a pool of buffers",
    delivers: true,
    takes: |inward| {
        let (slots, bytes) = pool(inward);
        (slots * bytes) as u64
    },
    make: |inward| {
        let (slots, bytes) = pool(inward);
        let inbox = Inbox::new(slots as u16, bytes, inward.node, inward.spins)?;
        Ok(Box::new(Multishot { inbox }))
    },
};

/// Slots and their bytes: a mebibyte, or 16 messages. The span is the receiver's own here.
fn pool(inward: &In) -> (usize, usize) {
    let slots = ((1 << 20) / inward.message.max(1)).clamp(16, 1024).next_power_of_two();
    (slots, inward.message.max(64))
}

struct Multishot {
    inbox: Inbox,
}

impl Receiver for Multishot {
    fn receive(&mut self, flow: &Socket, look: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        Ok(self.inbox.receive(flow, look)?.unwrap_or(0))
    }
}
