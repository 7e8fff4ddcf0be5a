//! The trials of `narrows check`: memory read and copy, TCP round trip, TCP of one, two and four
//! streams, UDP stream; and on a host without an RDMA device what RDMA asks for, in software.

use crate::{Spot, TwoPlaces, trial};
use narrows_model::host::Host;
use narrows_model::load::{Params, Timeline};
use narrows_model::options::runs;
use narrows_model::rdma::RdmaParams;
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::{Kernel, RdmaVerb, Transport, Workload};
use narrows_model::{Bytes, Nanos};

/// Runs of all trials together unless the user says otherwise: about a minute.
const RUNS: u32 = 60;
/// The least repeats of a trial: six give a 95 % interval.
const REPEATS_MIN: u32 = 6;
/// The most repeats of a trial, however few trials there are.
const REPEATS_MAX: u32 = 10;
/// Window of each run unless the user says otherwise.
pub const WINDOW: Nanos = Nanos::from_millis(600);

/// Message of the stream trials: what the Lenovo study of memory population used.
const STREAM_BYTES: Bytes = Bytes::kib(64);
/// Payload of a full frame at an MTU of 1500 over IPv4.
const DATAGRAM_BYTES: Bytes = Bytes(1472);
/// Request and response of the round trip.
const ROUND_TRIP_BYTES: Bytes = Bytes(64);
/// Congestion controls to set beside a default that paces or backs off on delay; neither does.
const PLAIN_CONGESTION: [&str; 2] = ["cubic", "reno"];
/// Streams beside the one: how they add differs from host to host.
const FLOWS: [u32; 2] = [2, 4];

/// Repeats of each trial unless the user says otherwise.
pub fn repeats(trials: usize) -> u32 {
    (RUNS / (trials as u32).max(1)).clamp(REPEATS_MIN, REPEATS_MAX)
}

/// RDMA writes and sends through libfabric's TCP, where no NIC can do them. Their threads sleep as
/// those of the TCP trials do: they stand beside them.
fn software_rdma(pair: &TwoPlaces, path: NetworkPath, line: Timeline) -> Vec<Trial> {
    let asked = RdmaParams {
        via: Some("libfabric".to_owned()),
        provider: Some("tcp".to_owned()),
        ..RdmaParams::default()
    };
    let made = |kind: Workload, message_bytes: Bytes| {
        let params = Params { rdma: Some(asked.clone()), ..Params::of_network(message_bytes, 1) };
        let label = format!("{kind} libfabric");
        trial(&label, kind, params, pair.clone().ends(false), path, line)
    };
    vec![
        made(Workload::RoundTrip(Transport::Rdma(RdmaVerb::Send)), ROUND_TRIP_BYTES),
        made(Workload::Stream(Transport::Rdma(RdmaVerb::Write)), STREAM_BYTES),
    ]
}

/// The trials for this host. With `libfabric` and no RDMA device, RDMA in software is among them.
/// When its default congestion control is neither cubic nor reno, TCP is measured with one of these
/// too, so that the default's price is measured, not guessed.
pub fn trials(
    host: &Host,
    spot: &Spot,
    path: NetworkPath,
    window: Nanos,
    background: Option<&EndSpec>,
    libfabric: bool,
) -> Vec<Trial> {
    let line = Timeline {
        warmup_ns: Nanos::from_millis(200),
        window_ns: window,
        cooldown_ns: Nanos::from_millis(100),
        interval_ns: None,
    };
    let memory_line = Timeline {
        warmup_ns: Nanos::from_millis(50),
        window_ns: Nanos(window.0 * 2 / 3),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    let memory = Params {
        streams: spot.cpus.len().max(1) as u32,
        working_set_bytes: spot.working_set_bytes,
        ..Params::of_network(Bytes(0), 1)
    };
    let on_memory = |kernel: Kernel| {
        let kind = Workload::Memory(kernel);
        let ends = EndSpec::of_memory(Placement::on(spot.cpus.clone()));
        trial(kind.clone().as_str(), kind, memory.clone(), ends, NetworkPath::Memory, memory_line)
    };
    let on_network = |kind: Workload, variant: &str, params: Params| {
        let mut ends = spot.pair.clone().ends(false);
        ends.extend(background.cloned());
        trial(&format!("{kind}{variant}"), kind, params, ends, path, line)
    };
    let mut trials = vec![
        on_memory(Kernel::Copy),
        on_memory(Kernel::Read),
        on_network(Workload::TCP_RR, "", network(ROUND_TRIP_BYTES, None)),
        on_network(Workload::TCP_STREAM, "", network(STREAM_BYTES, None)),
    ];
    for flows in FLOWS {
        let mut ends = several(spot, flows).ends(false);
        ends.extend(background.cloned());
        let params = Params { streams: flows, ..network(STREAM_BYTES, None) };
        let label = format!("{} {flows} flows", Workload::TCP_STREAM);
        trials.push(trial(&label, Workload::TCP_STREAM, params, ends, path, line));
    }
    if let Some(other) = other_congestion(host, path) {
        let params = network(STREAM_BYTES, Some(other));
        trials.push(on_network(Workload::TCP_STREAM, &format!(" {other}"), params));
    }
    let datagrams = network(DATAGRAM_BYTES, None);
    trials.push(on_network(Workload::UDP_STREAM, "", datagrams));
    if libfabric && host.rdma.is_empty() {
        trials.extend(software_rdma(&spot.pair, path, line));
    }
    trials
}

/// A CPU for each end of so many streams as far as there are, receivers' and senders' apart; of one
/// CPU there is only the same.
fn several(spot: &Spot, flows: u32) -> TwoPlaces {
    let taken = spot.cpus.len().min(2 * flows as usize);
    let (receiver, sender) = match spot.cpus[..taken].split_at(taken / 2) {
        ([], all) => (all, all),
        both => both,
    };
    let [receiver, sender] = [receiver, sender].map(|cpus| Placement::on(cpus.to_vec()));
    TwoPlaces { receiver, sender }
}

fn network(message_bytes: Bytes, congestion: Option<&str>) -> Params {
    Params { congestion: congestion.map(str::to_owned), ..Params::of_network(message_bytes, 1) }
}

/// The same trials with a profile of each: other trials, since sampling is part of how they run.
pub fn profiled(trials: Vec<Trial>) -> Vec<Trial> {
    trials.into_iter().map(with_profile).collect()
}

fn with_profile(of: Trial) -> Trial {
    let mut params = of.params;
    params.told.tell(&runs::PROFILE, true);
    trial(&of.label, of.kind, params, of.ends, of.path, of.timeline)
}

/// The congestion control to set beside the default: the first plain one that this process may use.
/// Root may use all that are available; others only those on a list of their own.
fn other_congestion(host: &Host, path: NetworkPath) -> Option<&'static str> {
    let value = |name: &str| host.tuning.get(name).and_then(|fact| fact.value());
    let default = value("net.ipv4.tcp_congestion_control")?;
    let list = match path {
        NetworkPath::Namespaces => "net.ipv4.tcp_available_congestion_control",
        _ => "net.ipv4.tcp_allowed_congestion_control",
    };
    let usable = value(list)?;
    if PLAIN_CONGESTION.contains(&default.as_str()) {
        return None;
    }
    PLAIN_CONGESTION.into_iter().find(|name| usable.split(' ').any(|usable| usable == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::Host;

    #[test]
    fn rdma_in_software_is_measured_where_no_device_could_do_it() {
        let mut host = Host::default();
        let spot = crate::choose(&host);
        let names = |host: &Host, libfabric: bool| -> Vec<String> {
            let trials = trials(host, &spot, NetworkPath::Loopback, WINDOW, None, libfabric);
            trials.into_iter().map(|trial| trial.label).collect()
        };
        assert!(names(&host, true).contains(&"rdma-write-stream libfabric".to_owned()));
        assert!(!names(&host, false).iter().any(|name| name.contains("rdma")));
        host.rdma.push(Default::default());
        assert!(!names(&host, true).iter().any(|name| name.contains("rdma")));
    }

    #[test]
    fn a_profiled_check_has_the_same_cells_under_other_ids() {
        let host = Host::default();
        let spot = crate::choose(&host);
        let plain = trials(&host, &spot, NetworkPath::Loopback, WINDOW, None, true);
        let with = profiled(plain.clone());
        assert_eq!(with.len(), plain.len());
        for (plain, with) in plain.iter().zip(&with) {
            assert_eq!((&plain.label, plain.timeline), (&with.label, with.timeline));
            assert_ne!(plain.id, with.id, "{}", plain.label);
            assert_eq!(runs::PROFILE.of(&with.params), Some(true), "{}", plain.label);
        }
    }

    #[test]
    fn several_streams_have_a_cpu_for_each_end_as_far_as_there_are() {
        let cpus = |count: u32, flows: u32| {
            let spot = Spot { cpus: (0..count).collect(), ..crate::choose(&Host::default()) };
            let places = several(&spot, flows);
            (places.receiver.cpus.0, places.sender.cpus.0)
        };
        assert_eq!(cpus(8, 2), (vec![0, 1], vec![2, 3]));
        assert_eq!(cpus(8, 4), (vec![0, 1, 2, 3], vec![4, 5, 6, 7]));
        assert_eq!(cpus(2, 4), (vec![0], vec![1]));
        assert_eq!(cpus(3, 4), (vec![0], vec![1, 2]));
        assert_eq!(cpus(1, 2), (vec![0], vec![0]));
        assert_eq!(cpus(0, 2), (vec![], vec![]));
    }

    #[test]
    fn a_check_measures_one_two_and_four_flows() {
        let host = Host::default();
        let spot = crate::choose(&host);
        let all = trials(&host, &spot, NetworkPath::Loopback, WINDOW, None, false);
        let tcp = all.iter().filter(|trial| trial.kind == Workload::TCP_STREAM);
        let flows: Vec<(&str, u32)> =
            tcp.map(|trial| (trial.label.as_str(), trial.params.streams)).collect();
        let named = [("tcp-stream", 1), ("tcp-stream 2 flows", 2), ("tcp-stream 4 flows", 4)];
        assert_eq!(flows, named);
    }

    #[test]
    fn a_check_takes_about_a_minute_whatever_it_measures() {
        let each: Vec<u32> = [5, 7, 8, 20].into_iter().map(repeats).collect();
        assert_eq!(each, [10, 8, 7, 6]);
    }
}
