//! Which workloads an option is for.

use crate::of_ranks::pattern_of;
use crate::workload::Workload;

/// The workloads that an option is for.
#[derive(Clone, Copy)]
pub struct Fits {
    /// Which, as it follows "is for".
    pub what: &'static str,
    /// Whether a workload is one of them.
    pub holds: fn(&Workload) -> bool,
}

fn has_sockets(workload: &Workload) -> bool {
    workload.is_tcp() || workload.is_udp()
}

fn goes_one_way(workload: &Workload) -> bool {
    workload.is_stream() || *workload == Workload::Packets
}

/// Workloads between two ends.
pub const NETWORK: Fits = Fits { what: "network workloads", holds: |load| !load.is_memory() };
/// Workloads over sockets.
pub const SOCKETS: Fits = Fits { what: "TCP and UDP", holds: has_sockets };
/// Workloads over TCP.
pub const TCP: Fits = Fits { what: "TCP", holds: Workload::is_tcp };
/// Streams and packets over anything.
pub const STREAMS: Fits = Fits { what: "streams and packets", holds: goes_one_way };
/// Streams and packets over sockets.
pub const SOCKET_STREAMS: Fits = Fits {
    what: "streams of TCP and UDP, and packets",
    holds: |load| has_sockets(load) && goes_one_way(load),
};
/// Streams whose buffers may be larger than a message.
pub const SPANS: Fits = Fits {
    what: "streams of TCP and RDMA: datagrams are sent from one buffer",
    holds: |load| (load.is_tcp() || load.is_rdma()) && load.is_stream(),
};
/// Streams whose bytes a receiver can compare.
pub const COMPARED: Fits = Fits { what: "streams", holds: Workload::is_stream };
/// Streams over TCP.
pub const TCP_STREAMS: Fits =
    Fits { what: "streams of TCP", holds: |load| load.is_tcp() && load.is_stream() };
/// Messages over TCP, one way or there and back.
pub const TCP_MESSAGES: Fits = Fits {
    what: "streams and round trips of TCP",
    holds: |load| load.is_tcp() && (load.is_stream() || load.is_round_trip()),
};
/// Requests and responses over sockets.
pub const TRIPS: Fits = Fits {
    what: "round trips of TCP and UDP",
    holds: |load| has_sockets(load) && load.is_round_trip(),
};
/// Kernels on one host's memory.
pub const MEMORY: Fits = Fits { what: "memory kernels", holds: Workload::is_memory };
/// Workloads over queue pairs or endpoints.
pub const RDMA: Fits = Fits { what: "RDMA", holds: Workload::is_rdma };
/// Streams over queue pairs or endpoints.
pub const RDMA_STREAMS: Fits =
    Fits { what: "streams of RDMA", holds: |load| load.is_rdma() && load.is_stream() };
/// Messages between ranks of an MPI.
pub const MPI: Fits = Fits { what: "messages of MPI", holds: |load| pattern_of(load).is_some() };
/// Frames that are counted one by one.
pub const PACKETS: Fits = Fits { what: "packets", holds: |load| *load == Workload::Packets };
