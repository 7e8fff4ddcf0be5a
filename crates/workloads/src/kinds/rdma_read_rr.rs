//! `rdma-read-rr`: one read under way, then the next. Messages counted: reads, each timed from its
//! request to its completion, which is a round trip.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::trips;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::RoundTrip(Transport::Rdma(RdmaVerb::Read)),
    says: "Time of one RDMA read, from request to data",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| trips::answer(Verb::Read, lane, flow, told),
    sender: |lane, flow, told| trips::ask(Verb::Read, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
