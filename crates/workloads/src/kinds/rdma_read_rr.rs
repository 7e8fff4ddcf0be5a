//! `rdma-read-rr`: one read under way, then the next. Messages counted: reads, each timed from its
//! request to its completion, which is a round trip.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::{Verb, trips};

pub static KIND: Kind = Kind {
    name: "rdma-read-rr",
    says: "Time of one RDMA read, from request to data",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: |lane, flow, told| trips::answer(Verb::Read, lane, flow, told),
    source: |lane, flow, told| trips::ask(Verb::Read, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
