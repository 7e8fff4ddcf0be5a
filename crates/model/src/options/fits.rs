//! Which workloads an option is for.

use super::declared::Fits;

fn is_stream(workload: &str) -> bool {
    workload.ends_with("-stream")
}

fn is_tcp(workload: &str) -> bool {
    workload.starts_with("tcp-")
}

fn is_udp(workload: &str) -> bool {
    workload.starts_with("udp-")
}

fn is_rdma(workload: &str) -> bool {
    workload.starts_with("rdma-")
}

fn is_memory(workload: &str) -> bool {
    workload.starts_with("memory-")
}

fn has_sockets(workload: &str) -> bool {
    is_tcp(workload) || is_udp(workload)
}

/// Workloads between two ends.
pub const NETWORK: Fits = Fits { what: "network workloads", holds: |load| !is_memory(load) };
/// Workloads over sockets.
pub const SOCKETS: Fits = Fits { what: "TCP and UDP", holds: has_sockets };
/// Workloads over TCP.
pub const TCP: Fits = Fits { what: "TCP", holds: is_tcp };
/// Streams over anything.
pub const STREAMS: Fits = Fits { what: "streams", holds: is_stream };
/// Streams over sockets.
pub const SOCKET_STREAMS: Fits =
    Fits { what: "streams of TCP and UDP", holds: |load| has_sockets(load) && is_stream(load) };
/// Streams whose buffers may be larger than a message.
pub const SPANS: Fits = Fits {
    what: "streams of TCP and RDMA: datagrams are sent from one buffer",
    holds: |load| (is_tcp(load) || is_rdma(load)) && is_stream(load),
};
/// Streams over TCP.
pub const TCP_STREAMS: Fits =
    Fits { what: "streams of TCP", holds: |load| is_tcp(load) && is_stream(load) };
/// Requests and responses over sockets.
pub const TRIPS: Fits = Fits {
    what: "round trips of TCP and UDP",
    holds: |load| has_sockets(load) && load.ends_with("-rr"),
};
/// Kernels on one host's memory.
pub const MEMORY: Fits = Fits { what: "memory kernels", holds: is_memory };
/// Workloads over queue pairs or endpoints.
pub const RDMA: Fits = Fits { what: "RDMA", holds: is_rdma };
