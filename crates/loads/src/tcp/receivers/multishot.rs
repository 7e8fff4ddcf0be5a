//! `multishot`: a receive of io_uring that is armed once and completes into buffers of a pool.

use super::{Receiver, ReceiverKind};
use crate::harness::ring::Inbox;
use socket2::Socket;
use std::io;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: "multishot",
    says: "io_uring's multishot receive into a pool of buffers",
    delivers: true,
    make: |inward| {
        // A pool of a mebibyte or 16 messages: the span is the receiver's own here.
        let slots = ((1 << 20) / inward.message.max(1)).clamp(16, 1024).next_power_of_two();
        let inbox = Inbox::new(slots as u16, inward.message.max(64), inward.node, inward.spins)?;
        Ok(Box::new(Multishot { inbox }))
    },
};

struct Multishot {
    inbox: Inbox,
}

impl Receiver for Multishot {
    fn receive(&mut self, flow: &Socket, look: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        Ok(self.inbox.receive(flow, look)?.unwrap_or(0))
    }
}
