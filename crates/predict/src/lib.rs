//! What a path should reach: the ceiling that each resource sets, and which is the lowest.
//!
//! A prediction is the minimum over resources of capacity divided by demand per payload byte. Every
//! ceiling says in words how it was computed and where each number in it comes from. Pure.

#![forbid(unsafe_code)]

pub mod bounds;
pub mod calibration;
pub mod description;
pub mod dram;
pub mod framing;
mod memory;
mod parameters;
pub mod pcie;
pub mod prices;
mod reach;
mod resources;
pub mod roads;
mod search;
mod server;
pub mod sockets;
mod stack;
pub mod stream_cost;
#[cfg(test)]
mod tests;
mod traffic;
mod wire;

pub use parameters::{FITTED, PACKETS};
pub use reach::{Parameter, Reach, Resource};
pub use search::{Found, search};
pub use server::{KEYS, Known, Said, Server, fastest, of_host};

use narrows_model::host::Nic;
use narrows_model::result::{Ceiling, Estimate, Method, Prediction, Unit};
use narrows_model::study::StoredStudy;
use narrows_model::trial::Path;
use narrows_model::workload::Metric;
use narrows_model::workload::Workload;
use narrows_stats::Summary;

/// Protocols of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, large writes.
    Tcp,
    /// UDP, datagrams that fill a frame.
    Udp,
}

impl Protocol {
    /// `tcp` or `udp`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
    /// The workload that measures it.
    fn kind(self) -> Workload {
        match self {
            Self::Tcp => Workload::TCP_STREAM,
            Self::Udp => Workload::UDP_STREAM,
        }
    }
}

/// Predictions for memory and the local path, when they were measured, for every physical NIC, and
/// for the interface that leads to the peer.
pub fn predict(study: &StoredStudy, summaries: &[Summary]) -> Vec<Prediction> {
    let mut predictions = kernels(study, summaries);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        predictions.extend(local(study, summaries, protocol));
        for nic in &study.host.nics {
            let leads = study.study.interface.as_ref() == Some(&nic.name);
            // A direct measurement asks about its own path only.
            if leads || nic.physical && study.study.peer.is_none() {
                let measured = leads.then(|| to_peer(summaries, protocol)).flatten();
                predictions.push(through_nic(study, nic, summaries, protocol, measured));
            }
        }
    }
    predictions
}

/// What each memory kernel should reach, beside what it reached.
fn kernels(study: &StoredStudy, all: &[Summary]) -> Vec<Prediction> {
    let kernels = all.iter().filter(|summary| summary.metric == Metric::MemoryBandwidth);
    let predicted = kernels.map(|kernel| {
        let trial = study.trials.iter().find(|trial| trial.label == kernel.label);
        let node = trial.and_then(|trial| trial.params.memory.as_ref()?.node);
        let stated = dram::peak(&study.host, node.or(study.study.memory_node), kernel);
        conclude("memory", &kernel.label, vec![stated], kernel.estimate)
    });
    predicted.collect()
}

/// What was measured to the peer.
fn to_peer(all: &[Summary], protocol: Protocol) -> Option<Estimate> {
    all.iter().find(|s| s.path == Path::Peer && s.kind == protocol.kind())?.estimate
}

/// What a resource could say: a ceiling, or what is missing for one.
type Stated = Result<Ceiling, String>;

fn local(study: &StoredStudy, all: &[Summary], protocol: Protocol) -> Vec<Prediction> {
    let measured = all.iter().filter(|summary| {
        let local = matches!(summary.path, Path::Loopback | Path::Namespaces);
        local && summary.kind == protocol.kind() && study.study.peer.is_none()
    });
    let predicted = measured.map(|measured| {
        let path = match measured.path {
            Path::Loopback => "this host's stack (loopback)",
            _ => "this host's stack (veth)",
        };
        let mtu = study.study.path_mtu_bytes;
        let stated = vec![stack::one_flow(measured), memory::local(all), wire::none(mtu)];
        // `tcp-stream cubic` is a prediction of its own, called `tcp cubic`.
        let variant = measured.label.strip_prefix(protocol.kind().as_str()).unwrap_or_default();
        let name = format!("{}{variant}", protocol.name());
        conclude(path, &name, stated, measured.estimate)
    });
    predicted.collect()
}

fn through_nic(
    study: &StoredStudy,
    nic: &Nic,
    all: &[Summary],
    protocol: Protocol,
    measured: Option<Estimate>,
) -> Prediction {
    let stated = vec![
        wire::of_nic(&study.host, nic, protocol),
        pcie::of_nic(nic, protocol),
        memory::of_nic(&study.study, nic, all),
        stack::through_nic(all, protocol),
    ];
    conclude(&nic.name, protocol.name(), stated, measured)
}

fn conclude(
    path: &str,
    protocol: &str,
    stated: Vec<Stated>,
    measured: Option<Estimate>,
) -> Prediction {
    let (mut ceilings, mut missing) = (Vec::new(), Vec::new());
    for stated in stated {
        match stated {
            Ok(ceiling) => ceilings.push(ceiling),
            Err(gap) => missing.push(gap),
        }
    }
    ceilings.sort_by(|a: &Ceiling, b| a.range.value.total_cmp(&b.range.value));
    let lowest = ceilings.iter().find(|ceiling| ceiling.only_if.is_none());
    let range = lowest.map(|lowest| {
        // Another resource may undercut the lowest one's upper end.
        let unconditional = ceilings.iter().filter(|ceiling| ceiling.only_if.is_none());
        let (mut low, mut high) = (lowest.range.low, lowest.range.high);
        for ceiling in unconditional {
            low = low.min(ceiling.range.low);
            high = high.min(ceiling.range.high);
        }
        Estimate { low, high, ..lowest.range }
    });
    Prediction {
        path: path.to_owned(),
        protocol: protocol.to_owned(),
        range,
        narrowest: lowest.map(|lowest| lowest.resource.clone()),
        ceilings,
        measured,
        missing,
        sessions: Vec::new(),
    }
}

/// A modelled rate with its range, in bits per second.
fn modelled(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high, unit: Unit::BitsPerSecond, n: 0, by: Method::Model }
}
