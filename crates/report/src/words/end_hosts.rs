//! The host that an end of a cell ran on: what it is called, and its facts.

use crate::Analysis;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_stats::{MemoryUse, Summary};

/// Whose host a use is of. A memory kernel has one end, and two ends inside a host have one host.
pub fn host_of(summary: &Summary, of: &MemoryUse) -> &'static str {
    match (of.both_ends || summary.path == NetworkPath::Memory, of.end) {
        (true, _) => "this host",
        (false, Role::Sender) => "the sender's host",
        (false, Role::Receiver | Role::Background) => "the receiver's host",
    }
}

/// The facts of the host that an end of a cell ran on; `None` where they are not known.
pub fn facts<'a>(analysis: &'a Analysis<'_>, summary: &Summary, end: Role) -> Option<&'a Host> {
    let stored = analysis.stored;
    let trial = stored.trials.iter().find(|trial| trial.label == summary.label)?;
    let of = trial.ends_of(end).next().map_or(EndHost::Controller, |end| end.host);
    match of {
        EndHost::Peer(at) if trial.path == NetworkPath::Peer => stored.peer_hosts.get(at as usize),
        _ => Some(&stored.host),
    }
}
