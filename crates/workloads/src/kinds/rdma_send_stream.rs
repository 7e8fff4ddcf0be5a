//! `rdma-send-stream`: each flow sends messages of one size into buffers that the other end's
//! program has posted. Bytes counted: payload that arrived at the sink.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::{Verb, streams};

pub static KIND: Kind = Kind {
    name: "rdma-send-stream",
    says: "RDMA sends; counts payload bytes the sink received",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: |lane, flow, told| streams::take(Verb::Send, lane, flow, told),
    source: |lane, flow, told| streams::ask(Verb::Send, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
