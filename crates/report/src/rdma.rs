//! How an RDMA trial was set up, in words.

use narrows_model::Bytes;
use narrows_model::load::{Params, Wait};
use narrows_model::rdma::{RdmaEffective, RdmaService};
use narrows_model::trial::Trial;
use narrows_model::workload::{Metric, RdmaVerb, Transport, Workload};
use narrows_stats::Summary;

/// RDMA writes of which no program at the other end is told.
const WRITES: Workload = Workload::Stream(Transport::Rdma(RdmaVerb::Write));

/// The parts of its set-up that move the figure.
pub fn set_up(trial: &Trial, summary: &Summary, used: &RdmaEffective) -> Vec<String> {
    let params = &trial.params;
    if let Some(provider) = &used.provider {
        return set_up_of_fabric(trial, summary, used, provider);
    }
    let mut parts = vec![format!("{} port {} ({})", used.device, used.port, used.transport)];
    parts.extend(used.gid.as_ref().map(|gid| format!("GID {gid}")));
    parts.extend(used.path_mtu_bytes.map(|mtu| format!("path MTU {} B", mtu.0)));
    parts.push(format!("{} by {}", used.service.as_str().to_uppercase(), used.connection));
    if summary.metric == Metric::Goodput {
        parts.push(format!("{} outstanding requests", used.depth));
        parts.extend((used.post_list > 1).then(|| format!("lists of {}", used.post_list)));
        parts.push(format!("a completion every {} requests", used.signal_every));
    }
    parts.extend(used.inline.then(|| "inline".to_owned()));
    parts.extend((used.pages != "transparent").then(|| format!("{} pages", used.pages)));
    parts.push(if spins(params) { "busy-polling" } else { "blocking" }.to_owned());
    parts.extend(summary.verified_bytes.map(compared));
    if used.service == RdmaService::UnreliableConnection && trial.kind == WRITES {
        parts.push("counted as sent: nothing confirms what UC writes".to_owned());
    }
    parts
}

/// The same through libfabric.
fn set_up_of_fabric(
    trial: &Trial,
    summary: &Summary,
    used: &RdmaEffective,
    provider: &str,
) -> Vec<String> {
    let mut parts = vec![format!("libfabric {provider} on {}", used.device)];
    parts.extend(used.software.then(|| "in software".to_owned()));
    if summary.metric == Metric::Goodput {
        parts.push(format!("{} outstanding requests", used.depth));
    }
    parts.extend((used.pages != "transparent").then(|| format!("{} pages", used.pages)));
    parts.push(if spins(&trial.params) { "busy-polling" } else { "blocking" }.to_owned());
    parts.extend(summary.verified_bytes.map(compared));
    if !used.delivers && trial.kind == WRITES {
        parts.push("counted as sent: this provider does not report delivery".to_owned());
    }
    parts
}

fn spins(params: &Params) -> bool {
    params.socket.as_ref().and_then(|socket| socket.wait.as_ref()) == Some(&Wait::Spin)
}

/// What was compared with what was sent, byte by byte: a run of which nothing came shows nothing.
pub fn compared(bytes: Bytes) -> String {
    match bytes {
        Bytes(0) => "nothing arrived to compare".to_owned(),
        bytes => format!("{bytes} compared, all correct"),
    }
}
