//! `rdma-read-stream`: each flow reads messages of one size from the other end's memory, so many
//! under way at once. Bytes counted: payload of completed reads. The sender is the end that asks;
//! the bytes come to it.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::streams;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::Stream(Transport::Rdma(RdmaVerb::Read)),
    says: "RDMA reads; counts payload bytes that arrived at the end that reads",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| streams::take(Verb::Read, lane, flow, told),
    sender: |lane, flow, told| streams::ask(Verb::Read, lane, flow, told),
    one_sided: true,
    engines: |_| ("post", "none"),
};
