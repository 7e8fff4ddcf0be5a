//! Why something could not be run at all.

use narrows_control::ControlError;
use narrows_interop::iperf3::Iperf3Error;
use narrows_store::StoreError;
use narrows_workloads::LoadError;
use std::io;
use thiserror::Error;

/// Why something could not be run at all. A single run that fails is a record, not an error.
#[derive(Debug, Error)]
pub enum RunError {
    /// An agent or a worker cannot be had.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// An iperf3 server cannot be had.
    #[error(transparent)]
    Iperf3(#[from] Iperf3Error),
    /// What was measured cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workloads here cannot do what a trial asks.
    #[error(transparent)]
    Workload(#[from] LoadError),
    /// A trial between hosts, and no host.
    #[error("no peer is named")]
    NoPeer,
    /// A worker cannot hear its orders, or not be heard.
    #[error("{0}")]
    Pipe(#[from] io::Error),
    /// Whoever looks on cannot: the terminal cannot be drawn on, in words.
    #[error("{0}")]
    Audience(String),
}
