//! Ways to take the bytes of a stream from the kernel, one a file, listed by name.

mod multishot;
mod recv;
mod splice;
mod truncate;

use crate::{LoadError, Made};
use socket2::Socket;
use std::io;

/// One way to receive.
pub struct ReceiverKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Whether the bytes get to the program at all.
    pub delivers: bool,
    /// Bytes that one takes: buffers, what they lie in, pipes.
    pub takes: fn(&In) -> u64,
    /// Makes one for a flow.
    pub make: fn(&In) -> Made<dyn Receiver>,
}

/// What a receiver is made with.
#[derive(Clone, Copy, Debug)]
pub struct In {
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of the buffer that messages are put into.
    pub span: usize,
    /// Node of that buffer.
    pub node: Option<u32>,
    /// Whether to look for completions without sleeping.
    pub spins: bool,
}

/// A receiver of one flow.
pub trait Receiver {
    /// Takes what has come, a message at most where it can choose; how many bytes it was, 0 when
    /// the other end closed. `look` is given the bytes, where the program gets them. Errors are as
    /// those of [`super::senders::Sender::send`].
    fn receive(&mut self, flow: &Socket, look: &mut dyn FnMut(&[u8])) -> io::Result<usize>;
}

/// All ways, by name.
pub static RECEIVERS: &[&ReceiverKind] =
    &[&multishot::RECEIVER, &recv::RECEIVER, &splice::RECEIVER, &truncate::RECEIVER];

/// The one by this name; none is `recv`.
pub fn named(name: Option<&str>) -> Result<&'static ReceiverKind, LoadError> {
    let name = name.unwrap_or(narrows_model::calls::RECV);
    let found = RECEIVERS.iter().copied().find(|receiver| receiver.name == name);
    found.ok_or_else(|| LoadError::Order(format!("no TCP receiver is called '{name}'")))
}
