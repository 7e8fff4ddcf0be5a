//! `rdma-send-rr`: a send, then the other end's send back. Messages counted: round trips, timed one
//! by one and never halved.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::trips;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::RoundTrip(Transport::Rdma(RdmaVerb::Send)),
    says: "Round-trip time of RDMA sends",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| trips::answer(Verb::Send, lane, flow, told),
    sender: |lane, flow, told| trips::ask(Verb::Send, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
