//! Runs trials: both ends in worker processes, on this host or through an agent on another.
//!
//! [`session`] is the order of words between a controller and an end, without any I/O. [`worker`]
//! is an end: a child process of the same binary that speaks over its standard input and output.
//! [`agent`] lends ends to a controller on another host over the encrypted [`wire`]; another
//! process, the [`starter`], starts its workers.
//! [`controller`] drives the ends through one run after the other.

#![forbid(unsafe_code)]

pub mod address;
pub mod agent;
pub mod controller;
mod door;
mod end;
mod events;
pub mod halves;
mod heart;
pub mod iperf3;
pub mod key;
pub mod limits;
pub mod listen;
pub mod offers;
pub mod oom;
mod pair;
mod peer;
pub mod session;
mod stamp;
pub mod starter;
mod steps;
mod throttle;
pub mod wire;
pub mod worker;

pub use end::{End, WorkerProcess};
pub use pair::{Meeting, run_two};
pub use peer::{Family, Peer};
pub use steps::Broken;

use narrows_hostctl::HostError;
use narrows_model::record::LostBy;
use thiserror::Error;

/// Why something could not be run at all. A single run that fails is a record, not an error.
#[derive(Debug, Error)]
pub enum RunError {
    /// The other side cannot be reached, or closed.
    #[error("{0}")]
    Unreachable(String),
    /// A name has no address that could be reached.
    #[error("{host}: {why}")]
    UnknownHost {
        /// The name that was looked up.
        host: String,
        /// What the system says of it.
        why: String,
    },
    /// No iperf3 server can be reached, or it closed.
    #[error("{0}")]
    NoIperf3(String),
    /// A port cannot be listened on.
    #[error("cannot listen on {at} port {port}: {error}")]
    Listen {
        /// The address, in words.
        at: String,
        /// The TCP port that was to be listened on.
        port: u16,
        /// The system's answer.
        error: std::io::Error,
    },
    /// A key, or a file that holds one, cannot be used.
    #[error("{0}")]
    Key(String),
    /// The other side was there, did not close, and is not heard any more.
    #[error("{peer} vanished: silent for {silent:?}")]
    Vanished {
        /// Address and port of the peer.
        peer: String,
        /// For how long it was listened to in vain.
        silent: std::time::Duration,
    },
    /// The other side is reached and is not to be talked to: wrong key, wrong version, wrong words.
    #[error("{0}")]
    Refused(String),
    /// The other side closed the connection before it had proved the key: the keys differ, or it
    /// has no room now.
    #[error("{0}")]
    HungUp(String),
    /// The agent holds the key and will not measure now.
    #[error("{0}")]
    Declined(String),
    /// This machine does not allow it.
    #[error("{0}")]
    Machine(String),
    /// The two processes of an agent do not understand each other, or one of them ended.
    #[error("between the listener and the starter of workers: {0}")]
    Halves(String),
    /// The kernel killed a worker for want of memory.
    #[error("{0}")]
    OutOfMemory(oom::OutOfMemory),
    /// A worker process ended before its run did.
    #[error("{0}")]
    WorkerEnded(LostBy),
    /// A journal of settings belongs to another network namespace, or to another boot.
    #[error("{0}")]
    Elsewhere(String),
    /// The order makes no sense.
    #[error("{0}")]
    Order(String),
    /// What was measured cannot be stored.
    #[error(transparent)]
    Store(#[from] narrows_store::StoreError),
}

impl From<HostError> for RunError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Machine(why) => Self::Machine(why),
            HostError::Elsewhere(why) => Self::Elsewhere(why),
            HostError::Order(why) => Self::Order(why),
        }
    }
}
