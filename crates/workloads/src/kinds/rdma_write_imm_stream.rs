//! `rdma-write-imm-stream`: writes of which the other end's program is told. Bytes counted: payload
//! of the writes that the sink was told of.

use crate::Kind;
use crate::harness::ends::{LaneMaker, TcpEnd};
use crate::rdma::{Verb, streams};

pub static KIND: Kind = Kind {
    name: "rdma-write-imm-stream",
    says: "RDMA writes with immediate; counts payload bytes the sink was told of",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: |lane, flow, told| streams::take(Verb::WriteImm, lane, flow, told),
    source: |lane, flow, told| streams::ask(Verb::WriteImm, lane, flow, told),
    one_sided: false,
    engines: |_| ("post", "poll"),
};
