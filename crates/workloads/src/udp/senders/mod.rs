//! Ways to hand datagrams to the kernel, one a file, listed by name.

mod gso;
mod io_uring;
mod send;
mod sendmmsg;

use crate::{LoadError, Made};
use socket2::Socket;
use std::io;

/// One way to send.
pub struct SenderKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Datagrams of such a size that it hands over at once.
    pub batch: fn(message: usize) -> usize,
    /// Makes one for a flow of datagrams of a size.
    pub make: fn(&Socket, message: usize) -> Made<dyn Sender>,
}

/// A sender of one flow.
pub trait Sender {
    /// Sends the datagrams that lie in `bytes` one after the other, each of `message` bytes; how
    /// many the kernel took. An error for which [`crate::harness::socket::is_pause`] holds means
    /// "none for now".
    fn send(&mut self, flow: &Socket, bytes: &[u8], message: usize) -> io::Result<usize>;
}

/// Datagrams of one call where a call can take many.
const BATCH: usize = 32;

/// All ways, by name.
pub static SENDERS: &[&SenderKind] =
    &[&gso::SENDER, &io_uring::SENDER, &send::SENDER, &sendmmsg::SENDER];

/// The one by this name; none is `send`.
pub fn named(name: Option<&str>) -> Result<&'static SenderKind, LoadError> {
    let name = name.unwrap_or(narrows_model::calls::SEND);
    let found = SENDERS.iter().copied().find(|sender| sender.name == name);
    found.ok_or_else(|| LoadError::Order(format!("no UDP sender is called '{name}'")))
}
