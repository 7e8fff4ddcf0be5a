//! `rdma-write-rr`: a write, then the other end's write back, each seen by looking at the memory
//! that it changes. Messages counted: round trips, timed one by one and never halved.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::trips;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::RoundTrip(Transport::Rdma(RdmaVerb::Write)),
    says: "Round-trip time of RDMA writes, seen by polling memory",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| trips::answer(Verb::Write, lane, flow, told),
    sender: |lane, flow, told| trips::ask(Verb::Write, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
