//! `send`: one call a datagram.

use super::{Sender, SenderKind};
use socket2::Socket;
use std::io;

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::SEND,
    says: "one send a datagram",
    batch: |_| 1,
    make: |_, _| Ok(Box::new(Send)),
};

struct Send;

impl Sender for Send {
    fn send(&mut self, flow: &Socket, bytes: &[u8], _: usize) -> io::Result<usize> {
        flow.send(bytes).map(|_| 1)
    }
}
