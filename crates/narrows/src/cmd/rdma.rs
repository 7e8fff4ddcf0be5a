//! `narrows rdma HOST`: one direct measurement with RDMA verbs.

use super::direct::{self, Measurement};
use crate::args::{DirectArgs, RdmaArgs};
use crate::failure::{Failure, MACHINE, USAGE};
use crate::output;
use narrows_facts::Bytes;
use narrows_facts::load::{Params, SocketParams, StreamParams};
use narrows_host::Root;
use narrows_loads::rdma;
use narrows_plan::rdma::RdmaAsked;

/// The sizes of `--all`: 2 B to 8 MiB.
const POWERS: std::ops::RangeInclusive<u32> = 1..=23;

/// `narrows rdma`.
pub fn run(args: &RdmaArgs) -> Result<u8, Failure> {
    if args.list {
        let host = narrows_host::read(&Root::live());
        if let Some(view) = narrows_report::views::view("rdma") {
            output::print(&(view.write)(&host))?;
        }
        return Ok(0);
    }
    rdma::available().map_err(|error| {
        let hint = error.hint().unwrap_or_else(|| {
            "see `narrows rdma --list`; over TCP: `narrows tcp HOST`".to_owned()
        });
        Failure::new(MACHINE, error.to_string(), hint)
    })?;
    let direct = args.direct();
    let kind = format!("rdma-{}-{}", args.verb, if args.latency { "rr" } else { "stream" });
    let rdma = asked(args)
        .params(args.reverse)
        .map_err(|why| Failure::new(USAGE, why, "see `narrows rdma --list` on both hosts"))?;
    // A stream sleeps unless told otherwise, as all do; RDMA looks.
    let wait = (!args.events).then(|| "spin".to_owned());
    let socket = SocketParams { wait, ..SocketParams::default() };
    let message = match (args.size, args.latency || args.verb == "atomic") {
        (Some(size), _) => size,
        (None, true) => Bytes(8),
        (None, false) => Bytes::kib(64),
    };
    let params = Params {
        rdma,
        socket: (socket != SocketParams::default()).then_some(socket),
        ..Params::of_network(message, args.queue_pairs)
    };
    let sizes = if args.all { POWERS.map(|power| Bytes(1 << power)).collect() } else { vec![] };
    let measurement =
        Measurement { command: "rdma", kind: &kind, params, copy_share: false, sizes };
    direct::run(&direct, measurement, |cache| {
        let stream =
            StreamParams { span_bytes: direct::span_bytes(args.buffer, cache), ..streams(&direct) };
        (stream != StreamParams::default()).then_some(stream)
    })
}

fn streams(args: &DirectArgs) -> StreamParams {
    let DirectArgs { reverse, bidirectional, verify, .. } = *args;
    StreamParams { reverse, bidirectional, verify, ..StreamParams::default() }
}

/// The words about RDMA, as a study's file has them too.
fn asked(args: &RdmaArgs) -> RdmaAsked {
    RdmaAsked {
        device: args.device.clone(),
        ib_port: args.ib_port,
        gid_index: args.gid_index.clone(),
        connection: args.rdma_cm.then(|| "cm".to_owned()),
        service: Some(args.service.clone()),
        depth: args.depth,
        post_list: args.post_list,
        signal_every: args.signal_every,
        inline: args.inline,
        path_mtu: args.mtu,
        service_level: args.service_level,
        traffic_class: args.traffic_class,
        relaxed_ordering: args.relaxed_ordering,
        pages: args.pages.clone(),
    }
}
