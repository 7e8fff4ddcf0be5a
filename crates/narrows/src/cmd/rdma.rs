//! `narrows rdma HOST`: one direct measurement with RDMA verbs.

use super::direct::{self, Measurement};
use crate::args::RdmaArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_host::Root;
use narrows_model::Bytes;
use narrows_model::load::{Params, SocketParams, StreamParams};
use narrows_model::workload::{Transport, Workload};
use narrows_plan::rdma::RdmaAsked;
use narrows_workloads::rdma::{self, fabric};

/// The sizes of `--all`: 2 B to 8 MiB.
const POWERS: std::ops::RangeInclusive<u32> = 1..=23;

/// `narrows rdma`.
pub fn run(args: &RdmaArgs) -> Result<u8, Failure> {
    if args.list {
        let host = narrows_host::read(&Root::live());
        if let Some(view) = narrows_report::views::view("rdma") {
            output::print(&(view.write)(&host))?;
        }
        output::print(&fabrics())?;
        return Ok(0);
    }
    let direct = args.direct();
    let transport = Transport::Rdma(args.verb);
    let kind =
        if args.latency { Workload::RoundTrip(transport) } else { Workload::Stream(transport) };
    let params =
        asked(args).params(args.reverse).map_err(|why| Failure::of(Cause::RDMA_WORDS, why))?;
    rdma::available(params.as_ref())?;
    let socket = direct::socket(&direct);
    let message = kind.message_bytes(args.size);
    let params = Params {
        rdma: params,
        socket: (socket != SocketParams::default()).then_some(socket),
        ..direct::params(&direct, message)
    };
    let sizes = if args.all { POWERS.map(|power| Bytes(1 << power)).collect() } else { vec![] };
    let measurement = Measurement { command: "rdma", kind, params, copy_share: false, sizes };
    direct::run(&direct, measurement, |cache| {
        let span_bytes = direct::span_bytes(args.buffer, cache);
        let stream = StreamParams { span_bytes, ..direct::stream(&direct) };
        (stream != StreamParams::default()).then_some(stream)
    })
}

/// What libfabric has on this host, a line a provider.
fn fabrics() -> String {
    let mut text = "\nlibfabric (narrows rdma HOST --via libfabric --provider NAME)\n".to_owned();
    let found = match fabric::providers(None) {
        Ok(found) => found,
        Err(error) => {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            return text + &format!("  {error}{hint}\n");
        }
    };
    let mut names: Vec<(String, bool, Vec<String>)> = Vec::new();
    for provider in found {
        let name = provider.drives().to_owned();
        let at = names.iter().position(|known| known.0 == name).unwrap_or_else(|| {
            names.push((name, provider.is_software(), Vec::new()));
            names.len() - 1
        });
        if !names[at].2.contains(&provider.domain) {
            names[at].2.push(provider.domain);
        }
    }
    for (name, software, domains) in names {
        let how = if software { "software" } else { "device" };
        text += &format!("  {name:<10} {how:<8} {}\n", domains.join(", "));
    }
    text
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
        via: Some(args.via.clone()),
        provider: args.provider.clone(),
    }
}
