//! The host that an end of a cell ran on: what it is called, and its facts.

use crate::Analysis;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::trial::NetworkPath;
use narrows_predict::host_of_end;
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
    host_of_end(analysis.stored, &summary.label, end)
}
