//! Ways to hand the bytes of a stream to the kernel, one a file, listed by name.

mod io_uring;
mod sendfile;
mod vmsplice;
mod write;
mod zerocopy;

use crate::{LoadError, Made};
use narrows_model::load::ZeroCopy;
use socket2::Socket;
use std::io;

/// One way to send.
pub struct SenderKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Bytes that one takes: buffers, what they lie in, pipes.
    pub takes: fn(&Out) -> u64,
    /// Makes one for a flow.
    pub make: fn(&Socket, &Out) -> Made<dyn Sender>,
}

/// What a sender is made with.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    /// Bytes of the buffer that messages are taken from.
    pub span: usize,
    /// Node of that buffer.
    pub node: Option<u32>,
    /// Whether to look for completions without sleeping.
    pub spins: bool,
}

/// A sender of one flow; it owns the bytes, which are the pattern of
/// [`crate::harness::payload`].
pub trait Sender {
    /// Sends bytes from `at` of the span, at most `length`; how many the kernel took. An error for
    /// which [`crate::harness::socket::is_pause`] holds means "none for now".
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize>;
    /// What became of sends without a copy, once the run is over.
    fn zero_copy(&mut self, _flow: &Socket) -> Option<ZeroCopy> {
        None
    }
}

/// All ways, by name.
pub static SENDERS: &[&SenderKind] =
    &[&io_uring::SENDER, &sendfile::SENDER, &vmsplice::SENDER, &write::SENDER, &zerocopy::SENDER];

/// The one by this name; none is `write`.
pub fn named(name: Option<&str>) -> Result<&'static SenderKind, LoadError> {
    let name = name.unwrap_or(narrows_model::calls::WRITE);
    let found = SENDERS.iter().copied().find(|sender| sender.name == name);
    found.ok_or_else(|| LoadError::Order(format!("no TCP sender is called '{name}'")))
}
