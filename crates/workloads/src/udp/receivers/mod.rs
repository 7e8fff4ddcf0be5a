//! Ways to take datagrams from the kernel, one a file, listed by name.

mod gro;
mod multishot;
mod recv;
mod recvmmsg;

use crate::{LoadError, Made};
use socket2::Socket;
use std::io;

/// One way to receive.
pub struct ReceiverKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Bytes that one takes: buffers, what they lie in, pipes.
    pub takes: fn(&In) -> u64,
    /// Makes one for a flow.
    pub make: fn(&Socket, &In) -> Made<dyn Receiver>,
}

/// What a receiver is made with.
#[derive(Clone, Copy, Debug)]
pub struct In {
    /// Bytes of a datagram.
    pub message: usize,
    /// Node of the buffers.
    pub node: Option<u32>,
    /// Whether to look for datagrams without sleeping.
    pub spins: bool,
}

/// A receiver of one flow.
pub trait Receiver {
    /// Gives `take` each datagram that has come, at least one. An error for which
    /// [`crate::harness::socket::is_pause`] holds means "none for now".
    fn receive(&mut self, flow: &Socket, take: &mut dyn FnMut(&[u8])) -> io::Result<()>;
}

/// Bytes of a buffer for one datagram: more than was ordered, so that a longer one is not taken for
/// the right one.
fn slot_bytes(message: usize) -> usize {
    (message + 1).next_multiple_of(64)
}

/// All ways, by name.
pub static RECEIVERS: &[&ReceiverKind] =
    &[&gro::RECEIVER, &multishot::RECEIVER, &recv::RECEIVER, &recvmmsg::RECEIVER];

/// The one by this name; none is `recv`.
pub fn named(name: Option<&str>) -> Result<&'static ReceiverKind, LoadError> {
    let name = name.unwrap_or(narrows_model::calls::RECV);
    let found = RECEIVERS.iter().copied().find(|receiver| receiver.name == name);
    found.ok_or_else(|| LoadError::Order(format!("no UDP receiver is called '{name}'")))
}
