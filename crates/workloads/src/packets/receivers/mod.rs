//! Ways to receive packets, one a file, listed by name; those of sockets are
//! [`crate::udp::receivers`].

mod af_xdp;
mod ring;
mod sockets;
mod xdp;

pub(super) use af_xdp::attach;
pub(super) use xdp::name as xdp_name;

use crate::LoadError;
use crate::harness::LaneWork;
use crate::harness::ends::Flow;
use crate::packets::xsk::Outward;
use crate::udp;
use socket2::Socket;

/// One raw way to receive.
pub struct ReceiverKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Makes the threads of all flows of an end.
    pub make: Make,
}

/// Makes a thread's work for each flow of an end, and says what really receives.
pub type Make = fn(Vec<(Socket, Flow)>) -> Result<Receivers, LoadError>;

/// What receives an end's packets.
pub struct Receivers {
    /// What it is called: the way, and how far it went.
    pub name: &'static str,
    /// A thread's work for each flow.
    pub works: Vec<LaneWork>,
    /// The other sides of sockets that go both ways, for the sender of this end.
    pub outwards: Vec<Outward>,
}

/// All raw ways, by name.
pub static RECEIVERS: &[&ReceiverKind] = &[&af_xdp::RECEIVER, &ring::RECEIVER, &xdp::RECEIVER];

/// What receives without a word of the user.
pub const DEFAULT: &str = "recvmmsg";

/// Names of all ways.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECEIVERS.iter().map(|r| r.name).chain(udp::receivers::RECEIVERS.iter().map(|r| r.name))
}

/// What receives by this name, and whether it is raw.
pub fn named(name: Option<&str>) -> Result<(Make, bool), LoadError> {
    let name = name.unwrap_or(DEFAULT);
    if let Some(raw) = RECEIVERS.iter().find(|receiver| receiver.name == name) {
        return Ok((raw.make, true));
    }
    udp::receivers::named(Some(name)).map(|_| (sockets::make as Make, false))
}
