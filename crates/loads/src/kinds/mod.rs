//! One workload a file, listed by name.

mod memory_copy;
mod memory_read;
mod tcp_rr;
mod tcp_stream;
mod udp_stream;

use crate::Kind;

/// All workloads, by name.
pub static KINDS: &[&Kind] =
    &[&memory_copy::KIND, &memory_read::KIND, &tcp_rr::KIND, &tcp_stream::KIND, &udp_stream::KIND];
