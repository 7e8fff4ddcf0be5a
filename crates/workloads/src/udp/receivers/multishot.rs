//! `multishot`: a receive of io_uring that is armed once and completes into buffers of a pool, a
//! datagram each.

use super::{Receiver, ReceiverKind, slot_bytes};
use crate::harness::ring::Inbox;
use socket2::Socket;
use std::io;

/// Datagrams of the pool.
const SLOTS: usize = 256;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: "multishot",
    says: "io_uring's multishot receive into a pool of buffers",
    takes: |inward| (SLOTS * slot_bytes(inward.message)) as u64,
    make: |_, inward| {
        let bytes = slot_bytes(inward.message);
        let inbox = Inbox::new(SLOTS as u16, bytes, inward.node, inward.spins)?;
        Ok(Box::new(Multishot { inbox }))
    },
};

struct Multishot {
    inbox: Inbox,
}

impl Receiver for Multishot {
    fn receive(&mut self, flow: &Socket, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.inbox.receive(flow, take).map(drop)
    }
}
