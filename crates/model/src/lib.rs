//! The nouns of narrows: units, facts of a host, trials, records and results.
//!
//! No logic lives here beyond reading and printing a unit. Three truths are kept apart:
//! *facts* are read from a machine ([`host`]), *records* are measured ([`record`]) and
//! *results* are computed from both ([`result`]), never stored as truth.

#![forbid(unsafe_code)]

mod worded;

pub mod calls;
mod change;
pub mod container;
pub mod cpu_list;
pub mod explored;
pub mod fact;
pub mod host;
pub mod interfaces;
pub mod load;
mod lost;
pub mod memory_queues;
pub mod memory_traffic;
mod nearest;
mod need;
pub mod of_ranks;
pub mod options;
pub mod packets;
pub mod pause;
pub mod peer_name;
pub mod probe;
pub mod profile;
pub mod rdma;
pub mod reading;
pub mod record;
pub mod result;
pub mod seating;
pub mod shown;
pub mod study;
pub mod study_kind;
pub mod trial;
pub mod units;
pub mod workload;

pub use change::Change;
pub use fact::{Fact, Source};
pub use nearest::nearest;
pub use result::verdict;
pub use units::{BitsPerSecond, Bytes, BytesPerSecond, Nanos};

/// Version of the JSON that narrows prints and stores; raised when a key changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;
