//! What narrows changes on the host that it runs on: settings that are put back ([`guard`]) or stay
//! until they are undone ([`tune`]), two joined network namespaces, containers, and what its own
//! processes may do.

#![forbid(unsafe_code)]

pub mod alone;
pub mod child;
pub mod coalescing;
pub mod confine;
pub mod container;
pub mod guard;
pub mod namespaces;
pub mod netns;
pub mod offloads;
mod origin;
pub mod privilege;
pub mod sampling;
#[cfg(test)]
#[path = "scratch_tests.rs"]
mod scratch;
pub mod tune;

use thiserror::Error;

/// Why the host does not do what it was told.
#[derive(Debug, Error)]
pub enum HostError {
    /// This machine does not allow it.
    #[error("{0}")]
    Machine(String),
    /// A network namespace that is not there, by name and path.
    #[error("{0}")]
    NoNamespace(String),
    /// A name that no user of this host has.
    #[error("there is no user {0}")]
    NoUser(String),
    /// A journal of settings belongs to another network namespace, or to another boot.
    #[error("{0}")]
    Elsewhere(String),
    /// The order makes no sense.
    #[error("{0}")]
    Order(String),
}
