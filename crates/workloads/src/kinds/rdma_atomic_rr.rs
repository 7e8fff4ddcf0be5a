//! `rdma-atomic-rr`: one fetch-and-add under way, then the next. Messages counted: operations, each
//! timed from its request to its completion, which is a round trip.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::trips;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_rdma::Verb;

pub static KIND: Kind = Kind {
    workload: Workload::RoundTrip(Transport::Rdma(RdmaVerb::Atomic)),
    says: "Time of one RDMA fetch-and-add",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: |lane, flow, told| trips::answer(Verb::FetchAdd, lane, flow, told),
    sender: |lane, flow, told| trips::ask(Verb::FetchAdd, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
