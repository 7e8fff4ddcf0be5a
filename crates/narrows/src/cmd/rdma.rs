//! `narrows rdma HOST`: one direct measurement with RDMA verbs.

use super::direct;
use super::measurement::Measurement;
use crate::args::RdmaArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::{output, screen};
use narrows_host::Root;
use narrows_model::Bytes;
use narrows_model::options::flows;
use narrows_model::study_kind::StudyKind;
use narrows_model::workload::{Transport, Workload};
use narrows_rdma::fabric;
use narrows_workloads::rdma;

/// The sizes of `--all`: 2 B to 8 MiB.
const POWERS: std::ops::RangeInclusive<u32> = 1..=23;

/// Runs `narrows rdma`; the exit code.
pub fn run(args: &RdmaArgs) -> Result<u8, Failure> {
    if args.list {
        let host = narrows_host::read(&Root::live());
        if let Some(view) = narrows_report::views::view("rdma") {
            output::print(&view.text(&host, &screen::of_output()))?;
        }
        output::print(&fabrics())?;
        return Ok(0);
    }
    let measurement = asked(args);
    let params = measurement.settings.params(Bytes(0), Bytes(0));
    let params = params.map_err(|why| Failure::of(Cause::RDMA_WORDS, why.to_string()))?;
    rdma::available(params.rdma.as_ref())?;
    direct::run(measurement)
}

/// What is asked for.
pub(super) fn asked(args: &RdmaArgs) -> Measurement<'_> {
    let transport = Transport::Rdma(args.verb);
    let load =
        if args.latency { Workload::RoundTrip(transport) } else { Workload::Stream(transport) };
    let mut settings = args.told.of_load(&load);
    // Sockets sleep unless told otherwise; RDMA looks.
    if settings.told(&flows::WAIT).is_none() {
        settings.tell(&flows::WAIT, "spin".to_owned());
    }
    let sizes = if args.all { POWERS.map(|power| Bytes(1 << power)).collect() } else { vec![] };
    let interval = args.slices.interval;
    let of_rdma = Measurement::of(StudyKind::Rdma, &args.peer, settings);
    Measurement { interval, sizes, ..of_rdma }
}

/// What libfabric has on this host, a line a provider.
fn fabrics() -> String {
    let mut text = "\nlibfabric (narrows rdma HOST --via libfabric --provider NAME)\n".to_owned();
    let found = match fabric::providers(None) {
        Ok(found) => found,
        Err(error) => return text + &format!("  {}\n", Failure::from(error).in_one_line()),
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
