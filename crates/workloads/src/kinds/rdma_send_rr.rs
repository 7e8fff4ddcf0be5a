//! `rdma-send-rr`: a send, then the other end's send back. Messages counted: round trips, timed one
//! by one and never halved.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::{Verb, trips};

pub static KIND: Kind = Kind {
    name: "rdma-send-rr",
    says: "Round-trip time of RDMA sends",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: |lane, flow, told| trips::answer(Verb::Send, lane, flow, told),
    source: |lane, flow, told| trips::ask(Verb::Send, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
