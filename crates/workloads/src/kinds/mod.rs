//! One workload a file, listed by name.

mod memory_copy;
mod memory_copy_nt;
mod memory_latency;
mod memory_memcpy;
mod memory_read;
mod memory_read_random;
mod memory_triad;
mod memory_triad_nt;
mod memory_write;
mod memory_write_nt;
mod packets;
mod path_probe;
mod rdma_atomic_rr;
mod rdma_atomic_stream;
mod rdma_read_rr;
mod rdma_read_stream;
mod rdma_send_rr;
mod rdma_send_stream;
mod rdma_write_imm_rr;
mod rdma_write_imm_stream;
mod rdma_write_rr;
mod rdma_write_stream;
mod tcp_connect;
mod tcp_rr;
mod tcp_stream;
mod udp_rr;
mod udp_stream;

use crate::Kind;

/// All workloads, by name.
pub static KINDS: &[&Kind] = &[
    &memory_copy::KIND,
    &memory_copy_nt::KIND,
    &memory_latency::KIND,
    &memory_memcpy::KIND,
    &memory_read::KIND,
    &memory_read_random::KIND,
    &memory_triad::KIND,
    &memory_triad_nt::KIND,
    &memory_write::KIND,
    &memory_write_nt::KIND,
    &packets::KIND,
    &path_probe::KIND,
    &rdma_atomic_rr::KIND,
    &rdma_atomic_stream::KIND,
    &rdma_read_rr::KIND,
    &rdma_read_stream::KIND,
    &rdma_send_rr::KIND,
    &rdma_send_stream::KIND,
    &rdma_write_imm_rr::KIND,
    &rdma_write_imm_stream::KIND,
    &rdma_write_rr::KIND,
    &rdma_write_stream::KIND,
    &tcp_connect::KIND,
    &tcp_rr::KIND,
    &tcp_stream::KIND,
    &udp_rr::KIND,
    &udp_stream::KIND,
];
