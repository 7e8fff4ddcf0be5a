//! `rdma-write-imm-stream`: writes of which the other end's program is told. Bytes counted: payload
//! of the writes that the receiver was told of.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::streams;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::Stream(Transport::Rdma(RdmaVerb::WriteImm)),
    says: "RDMA writes with immediate; counts payload bytes that the receiver was notified of",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| streams::take(Verb::WriteImm, lane, flow, told),
    sender: |lane, flow, told| streams::ask(Verb::WriteImm, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
