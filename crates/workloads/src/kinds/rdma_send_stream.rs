//! `rdma-send-stream`: each flow sends messages of one size into buffers that the other end's
//! program has posted. Bytes counted: payload that arrived at the receiver.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::streams;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::Stream(Transport::Rdma(RdmaVerb::Send)),
    says: "RDMA sends; counts payload bytes that the receiver took",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| streams::take(Verb::Send, lane, flow, told),
    sender: |lane, flow, told| streams::ask(Verb::Send, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
