//! One subcommand a file.

pub mod app;
pub mod become_other;
mod bmc;
mod calling;
pub mod check;
pub mod compare;
pub mod completions;
pub mod credits;
mod demands;
mod described;
pub mod diagnose;
pub mod direct;
mod early;
pub mod explain;
pub mod export;
pub mod fabric;
pub mod far;
mod fleet;
mod further;
pub mod guard;
pub mod history;
pub mod host;
pub mod import;
mod lacks;
pub mod latency;
mod launcher;
pub mod list;
pub mod listener;
pub mod man;
mod measurement;
pub mod mem;
pub mod mesh;
pub mod mpi;
pub mod neighbours;
pub mod packets;
mod packets_here;
pub mod paths;
mod peer_check;
pub mod placement;
pub mod predict;
mod published;
pub mod rdma;
mod references;
pub mod report;
mod schema;
pub mod search;
pub mod serve;
mod servers;
pub mod study;
pub mod tune;
mod variants;
pub mod verify;
pub mod worker;

use crate::cause::Cause;
use crate::failure::Failure;
use std::path::PathBuf;

/// This program's own file, for the workers.
fn own_binary() -> Result<PathBuf, Failure> {
    // The link survives an upgrade that replaces the file during a long study.
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() {
        return std::env::current_exe()
            .map_err(|error| Failure::of(Cause::NO_PROC, format!("own program file: {error}")));
    }
    Err(Failure::of(Cause::NO_PROC, "/proc is not mounted"))
}
