//! Agents that are not there yet: brought to a host, and taken away again.

mod come;
pub mod mpirun;
pub mod srun;
mod ssh;

pub use ssh::{Brought, Errand, SshError, bring, bring_each, is_ssh};
