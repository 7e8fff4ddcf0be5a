//! `rdma-write-imm-rr`: a write with immediate, then the other end's, each told by a completion.
//! Messages counted: round trips, timed one by one and never halved.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::trips;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::RoundTrip(Transport::Rdma(RdmaVerb::WriteImm)),
    says: "Round-trip time of RDMA writes with immediate",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| trips::answer(Verb::WriteImm, lane, flow, told),
    sender: |lane, flow, told| trips::ask(Verb::WriteImm, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
