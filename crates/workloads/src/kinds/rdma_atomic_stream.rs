//! `rdma-atomic-stream`: each flow adds one to eight bytes of the other end's memory, so many under
//! way at once. Messages counted: completed operations.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::streams;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::Stream(Transport::Rdma(RdmaVerb::Atomic)),
    says: "RDMA fetch-and-add on eight bytes; counts completed operations",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| streams::take(Verb::FetchAdd, lane, flow, told),
    sender: |lane, flow, told| streams::ask(Verb::FetchAdd, lane, flow, told),
    one_sided: true,
    engines: |_| ("post", "none"),
};
