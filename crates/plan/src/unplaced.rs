//! Why there is no such place on a host, or why a text names none.

use narrows_model::Bytes;
use narrows_model::workload::Kernel;
use thiserror::Error;

/// Most threads of a background load.
pub(crate) const THREADS_MAX: u32 = 1024;
/// What parts the node of a background load's memory from the rest.
pub(crate) const MEMORY: &str = "/memory:";

/// Why a text names no place, or no load.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unnamed {
    /// It names no CPUs.
    #[error(
        "'{0}' is not a CPU, a range such as 0-3, a list such as 0+2+4-7, node:N, nic, other-node \
         or same-core"
    )]
    Cpus(String),
    /// Two ends have two places, with a comma between them.
    #[error("'{0}' is not LOCAL,REMOTE")]
    Pair(String),
    /// No number follows where memory is to be on a node.
    #[error("'{0}' names no node after '{MEMORY}'")]
    Node(String),
    /// No memory kernel has the name.
    #[error("'{0}' is none of {names}", names = Kernel::ALL.map(Kernel::name).join(", "))]
    Kernel(String),
    /// The number of threads is none, or out of bounds.
    #[error("'{0}' has no number of threads from 1 to {THREADS_MAX}")]
    Threads(String),
}

/// Why a host has no such place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unplaced {
    /// The host has no CPU of this number.
    #[error("there is no CPU {0}")]
    Cpu(u32),
    /// The host has no node of this number.
    #[error("there is no node {0}")]
    Node(u32),
    /// The node has CPUs alone.
    #[error("node {0} has no memory")]
    NoMemory(u32),
    /// The kernel gives this process no CPU of the node.
    #[error("no CPU of node {0} may be used")]
    NoCpu(u32),
    /// The first of two ends cannot be where the other is.
    #[error("same-core is for the second of two ends")]
    FirstOfTwo,
    /// Neither the interface's nor any NIC's node is known.
    #[error("the NIC's node is not known")]
    NicNode,
    /// No second node has CPUs that may be used.
    #[error("there is no node but {0}")]
    OnlyNode(u32),
    /// More threads are wanted than CPUs may be used.
    #[error("{threads} threads: this place has {cpus} CPUs")]
    Threads {
        /// Threads that are wanted.
        threads: u32,
        /// CPUs of the place.
        cpus: u32,
    },
    /// The working set is larger than the memory that is free.
    #[error("{wanted} do not fit the memory that is free, {free}")]
    TooLarge {
        /// The working set that is wanted.
        wanted: Bytes,
        /// What the kernel has left.
        free: Bytes,
    },
    /// Chains of pointers reach no further.
    #[error("chains of pointers take {0} at most")]
    LongChain(Bytes),
    /// One thread measures while another loads.
    #[error("loaded latency needs two CPUs of one node")]
    OneCpu,
    /// A matrix of one node, and nothing else was wanted.
    #[error("nothing to measure: a matrix needs two nodes with memory")]
    Nothing,
}
