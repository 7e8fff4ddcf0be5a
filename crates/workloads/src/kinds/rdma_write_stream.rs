//! `rdma-write-stream`: each flow writes messages of one size into the other end's memory, so many
//! under way at once. Bytes counted: payload of completed writes, at the end that writes, since the
//! other end's program takes no part. Over iWARP a completion says that TCP has the bytes.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::streams;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::Stream(Transport::Rdma(RdmaVerb::Write)),
    says: "RDMA writes; counts payload bytes that completed at the sender",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| streams::take(Verb::Write, lane, flow, told),
    sender: |lane, flow, told| streams::ask(Verb::Write, lane, flow, told),
    one_sided: true,
    engines: |_| ("post", "none"),
};
