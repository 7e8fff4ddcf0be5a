//! Why a peer or a worker cannot be had.

use crate::oom::OutOfMemory;
use narrows_hostctl::HostError;
use narrows_model::record::LostBy;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Why the other side of a conversation, at a peer or in a worker process, cannot be had or kept.
#[derive(Debug, Error)]
pub enum ControlError {
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
    /// A port cannot be listened on.
    #[error("cannot listen on {at} port {port}: {error}")]
    Listen {
        /// The address, in words.
        at: String,
        /// The TCP port that was to be listened on.
        port: u16,
        /// The system's answer.
        error: io::Error,
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
        silent: Duration,
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
    /// This process cannot be confined, or be made to run as somebody else.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The two processes of an agent do not understand each other, or one of them ended.
    #[error("between the listener and the starter of workers: {0}")]
    Halves(String),
    /// The kernel killed a worker for want of memory.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),
    /// A worker process ended before its run did.
    #[error("{0}")]
    WorkerEnded(LostBy),
    /// The order makes no sense.
    #[error("{0}")]
    Order(String),
}

impl ControlError {
    /// Whether nothing was heard of the other side: it has no address, or nobody answers there.
    pub fn is_no_answer(&self) -> bool {
        matches!(self, Self::UnknownHost { .. } | Self::Unreachable(_))
    }

    /// Whether the other side was spoken with and cannot be any more: its process or its host
    /// ended, or the way to it.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Vanished { .. })
    }
}
