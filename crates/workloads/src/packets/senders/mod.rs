//! Ways to send packets, one a file, listed by name; those of sockets are [`crate::udp::senders`].

mod ring;
mod sockets;
mod xdp;

use crate::LoadError;
use crate::harness::ends::FlowWork;
use crate::udp;

/// One raw way to send.
pub struct SenderKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Whether a veth drops its frames for an end that has no program before its interface.
    pub wants_program: bool,
    /// Sends one flow's packets.
    pub work: FlowWork,
}

/// All raw ways, by name.
pub static SENDERS: &[&SenderKind] = &[&ring::SENDER, &xdp::SENDER];

/// What sends without a word of the user.
pub const DEFAULT: &str = "sendmmsg";

/// Names of all ways.
pub fn names() -> impl Iterator<Item = &'static str> {
    SENDERS.iter().map(|s| s.name).chain(udp::senders::SENDERS.iter().map(|s| s.name))
}

/// Whether a veth drops what this way sends, for an end without a program before its interface.
pub fn wants_program(name: Option<&str>) -> bool {
    SENDERS.iter().any(|sender| sender.wants_program && Some(sender.name) == name)
}

/// What sends by this name, and whether it is raw.
pub fn named(name: Option<&str>) -> Result<(&'static str, FlowWork, bool), LoadError> {
    let name = name.unwrap_or(DEFAULT);
    if let Some(raw) = SENDERS.iter().find(|sender| sender.name == name) {
        return Ok((raw.name, raw.work, true));
    }
    udp::senders::named(Some(name)).map(|sender| (sender.name, sockets::send as FlowWork, false))
}
