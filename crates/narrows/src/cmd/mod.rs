//! One subcommand a file.

pub mod check;
pub mod compare;
pub mod completions;
pub mod direct;
pub mod explain;
pub mod export;
pub mod guard;
pub mod host;
pub mod import;
pub mod list;
pub mod man;
pub mod mem;
pub mod predict;
pub mod rdma;
pub mod report;
pub mod serve;
pub mod study;
pub mod tune;
pub mod verify;
pub mod worker;

use crate::failure::{Failure, MACHINE};
use std::path::PathBuf;

/// This program's own file, for the workers.
fn own_binary() -> Result<PathBuf, Failure> {
    // The link survives an upgrade that replaces the file during a long study.
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() {
        return std::env::current_exe().map_err(|error| {
            Failure::new(MACHINE, format!("own program file: {error}"), "is /proc mounted?")
        });
    }
    Err(Failure::new(MACHINE, "/proc is not mounted", "mount it: narrows reads the host there"))
}
