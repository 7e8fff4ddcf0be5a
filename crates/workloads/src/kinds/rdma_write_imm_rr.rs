//! `rdma-write-imm-rr`: a write with immediate, then the other end's, each told by a completion.
//! Messages counted: round trips, timed one by one and never halved.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::{Verb, trips};

pub static KIND: Kind = Kind {
    name: "rdma-write-imm-rr",
    says: "Round-trip time of RDMA writes with immediate",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: |lane, flow, told| trips::answer(Verb::WriteImm, lane, flow, told),
    source: |lane, flow, told| trips::ask(Verb::WriteImm, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
