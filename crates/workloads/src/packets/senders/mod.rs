//! Ways to send packets, one a file, listed by name; those of sockets are [`crate::udp::senders`].

mod af_xdp;
mod ring;
mod sockets;
mod xdp;

use crate::LoadError;
use crate::harness::LaneWork;
use crate::harness::ends::{Flow, FlowWork};
use crate::packets::xsk::Outward;
use crate::udp;
use socket2::Socket;

/// One raw way to send.
pub struct SenderKind {
    /// Name, as in a study and on the command line.
    pub name: &'static str,
    /// What it does, and what it spares.
    pub says: &'static str,
    /// Whether a veth drops its frames for an end that has no program before its interface.
    pub wants_program: bool,
    /// Whether it repeats one frame, and so has no mix of sizes.
    pub repeats_one: bool,
    /// Makes the threads of all flows of an end.
    pub make: Make,
}

/// Makes a thread's work for each flow of an end, and says what really sends; by sockets that its
/// receiver has opened, where there are any.
pub type Make = fn(Vec<(Socket, Flow)>, Vec<Outward>) -> Result<Senders, LoadError>;

/// What sends an end's packets.
pub struct Senders {
    /// What it is called: the way, and how far it went.
    pub name: &'static str,
    /// A thread's work for each flow.
    pub works: Vec<LaneWork>,
}

/// The same work for each flow, each in its own thread.
fn each(name: &'static str, work: FlowWork, flows: Vec<(Socket, Flow)>) -> Senders {
    let works = flows
        .into_iter()
        .map(|(flow, told)| -> LaneWork { Box::new(move |lane| work(lane, flow, &told)) });
    Senders { name, works: works.collect() }
}

/// All raw ways, by name.
pub static SENDERS: &[&SenderKind] = &[&af_xdp::SENDER, &ring::SENDER, &xdp::SENDER];

/// Chunks of memory that it has for frames that are on their way.
pub const SENT_CHUNKS: u32 = 2048;
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

/// Whether this way repeats one frame.
pub fn repeats_one(name: Option<&str>) -> bool {
    SENDERS.iter().any(|sender| sender.repeats_one && Some(sender.name) == name)
}

/// What sends by this name, and whether it is raw.
pub fn named(name: Option<&str>) -> Result<(Make, bool), LoadError> {
    let name = name.unwrap_or(DEFAULT);
    if let Some(raw) = SENDERS.iter().find(|sender| sender.name == name) {
        return Ok((raw.make, true));
    }
    udp::senders::named(Some(name)).map(|_| (sockets::make as Make, false))
}
