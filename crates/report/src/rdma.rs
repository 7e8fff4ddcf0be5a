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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{SocketParams, Timeline};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
    use narrows_model::{Nanos, host::Host};

    fn trial() -> Trial {
        Trial {
            id: TrialId("t".into()),
            label: "writes".into(),
            kind: WRITES,
            params: Params::of_network(Bytes(4096), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    fn said(trial: &Trial, used: &RdmaEffective, change: impl Fn(&mut Summary)) -> String {
        let study =
            StoredStudy { trials: vec![trial.clone()], ..StoredStudy::unmeasured(Host::default()) };
        let mut summary = narrows_stats::summarise(&study).remove(0);
        change(&mut summary);
        set_up(trial, &summary, used).join("; ")
    }

    fn used() -> RdmaEffective {
        RdmaEffective {
            device: "mlx5_0".into(),
            port: 2,
            gid: Some("::ffff:10.0.0.1".into()),
            path_mtu_bytes: Some(Bytes(4096)),
            depth: 64,
            post_list: 4,
            signal_every: 16,
            inline: true,
            pages: "huge".into(),
            ..RdmaEffective::default()
        }
    }

    #[test]
    fn what_moves_a_figure_of_verbs_is_said() {
        let (trial, used) = (trial(), used());
        let head = format!("mlx5_0 port 2 ({})", used.transport);
        let by = format!("{} by {}", used.service.as_str().to_uppercase(), used.connection);
        let address = "GID ::ffff:10.0.0.1; path MTU 4096 B";
        let all = "64 outstanding requests; lists of 4; a completion every 16 requests; inline; \
                   huge pages; blocking";
        assert_eq!(said(&trial, &used, |_| {}), format!("{head}; {address}; {by}; {all}"));
        let trips = said(&trial, &used, |summary| summary.metric = Metric::RoundTripP50);
        assert_eq!(trips, format!("{head}; {address}; {by}; inline; huge pages; blocking"));
        let compared = said(&trial, &used, |summary| summary.verified_bytes = Some(Bytes(4096)));
        assert_eq!(
            compared,
            format!("{head}; {address}; {by}; {all}; 4 KiB compared, all correct")
        );
        let mut spins = trial.clone();
        let socket = SocketParams { wait: Some(Wait::Spin), ..SocketParams::default() };
        spins.params.socket = Some(socket);
        let bare = RdmaEffective {
            gid: None,
            path_mtu_bytes: None,
            post_list: 1,
            inline: false,
            pages: "transparent".into(),
            service: RdmaService::UnreliableConnection,
            ..used
        };
        let by = format!("{} by {}", bare.service.as_str().to_uppercase(), bare.connection);
        let rest = "64 outstanding requests; a completion every 16 requests; busy-polling; counted \
                    as sent: nothing confirms what UC writes";
        assert_eq!(said(&spins, &bare, |_| {}), format!("{head}; {by}; {rest}"));
    }

    #[test]
    fn a_provider_of_libfabric_is_said_in_place_of_a_port() {
        let fabric = RdmaEffective { provider: Some("tcp;ofi_rxm".into()), ..used() };
        let head = "libfabric tcp;ofi_rxm on mlx5_0";
        let rest = "64 outstanding requests; huge pages; blocking";
        let sent = "counted as sent: this provider does not report delivery";
        assert_eq!(said(&trial(), &fabric, |_| {}), format!("{head}; {rest}; {sent}"));
        let delivers = RdmaEffective { delivers: true, software: true, ..fabric };
        let told = said(&trial(), &delivers, |summary| summary.verified_bytes = Some(Bytes(0)));
        assert_eq!(told, format!("{head}; in software; {rest}; nothing arrived to compare"));
    }
}
