//! How a controller speaks with the ends of trials, on this host or through an agent on another.
//!
//! [`session`] is the order of words between a controller and an end, without any I/O. An [`End`]
//! is a worker process of this host, or one at a [`Peer`]: [`agent`] lends ends to a controller on
//! another host over the encrypted [`wire`]; another process, the [`starter`], starts its workers.

#![forbid(unsafe_code)]

pub mod address;
pub mod agent;
pub mod at_once;
pub mod door;
mod end;
mod error;
pub mod events;
pub mod halves;
mod heart;
pub mod key;
pub mod limits;
pub mod listen;
pub mod net;
pub mod not_granted;
pub mod offers;
pub mod oom;
mod peer;
mod reach;
mod responses;
pub mod session;
pub mod starter;
mod throttle;
pub mod tools;
mod turns;
pub mod wire;

pub use end::{End, WorkerProcess};
pub use error::{
    ControlError, Denial, Garbled, Gone, HalvesError, KeyError, KeyFile, MachineError, NoAddress,
    OrderError, Refusal,
};
pub use peer::{Family, Peer, PeerWorker};
pub use reach::{Calling, REACH_WITHIN, Reached, reach};
