//! Trials that are made of another one, or of two hosts: they differ in what their name says, and
//! in nothing else.

use narrows_model::load::{Params, Role, SocketParams, StreamParams};
use narrows_model::options::{flows, kernels, packets, rdma};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::{Kernel, Workload};
use narrows_model::{Bytes, Change, Nanos};
use narrows_plan::study::{Settings, Unsaid};
use narrows_plan::{anomalies, diagnose, direct, memory, mesh, trial};

fn stream(params: Params) -> Trial {
    let ends = EndSpec::anywhere(false);
    direct::trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, Nanos(7))
}

fn plain() -> Params {
    Params::of_network(Bytes::kib(64), 4)
}

/// That two trials have everything but parameters and name alike, and ids of their own.
fn differs_in_params(of: &Trial, other: &Trial, label: &str, params: Params) {
    assert_eq!((other.label.as_str(), &other.params), (label, &params));
    let alike =
        |trial: &Trial| (trial.kind.clone(), trial.ends.clone(), trial.path, trial.timeline);
    assert_eq!(alike(of), alike(other));
    assert_ne!(of.id, other.id);
}

#[test]
fn flows_class_and_receiver_are_changed_one_at_a_time() {
    let socket = Some(SocketParams { mss_bytes: Some(1400), ..SocketParams::default() });
    let own = Params { socket, ..plain() };
    let of = stream(own.clone());
    let flows = |streams| Params { streams, ..own.clone() };
    differs_in_params(&of, &direct::with_flows(&of, 1), "tcp-stream 1 flow", flows(1));
    differs_in_params(&of, &direct::with_flows(&of, 8), "tcp-stream 8 flows", flows(8));
    let (dscp, mss_bytes) = (Some(46), Some(1400));
    let socket = Some(SocketParams { dscp, mss_bytes, ..SocketParams::default() });
    let class = Params { socket, ..own.clone() };
    differs_in_params(&of, &direct::in_class(&of, 46), "tcp-stream DSCP 46", class);
    let receiver = Some("truncate".to_owned());
    let stream = Some(StreamParams { receiver, ..StreamParams::default() });
    let uncopied = Params { stream, ..own.clone() };
    differs_in_params(&of, &direct::uncopied(&of), "tcp-stream uncopied", uncopied);
    let named = direct::with(of.clone(), "node7");
    assert_eq!((named.label.as_str(), named.params), ("tcp-stream node7", own));
}

#[test]
fn a_trial_against_iperf3_warms_up_as_that_does() {
    let times = |kind: Workload, reverse| {
        let stream = Some(StreamParams { reverse, ..StreamParams::default() });
        let params = Params { stream, ..plain() };
        let ends = EndSpec::anywhere(reverse);
        let line =
            direct::trial_of_iperf3(kind, params, ends, NetworkPath::Peer, Nanos(7)).timeline;
        assert_eq!((line.window_ns, line.interval_ns), (Nanos(7), None));
        (line.warmup_ns.0 / 1_000_000, line.cooldown_ns.0 / 1_000_000)
    };
    assert_eq!(times(Workload::TCP_STREAM, false), (1000, 0));
    assert_eq!(times(Workload::TCP_STREAM, true), (1000, 600));
    assert_eq!(times(Workload::UDP_STREAM, false), (0, 0));
    assert_eq!(times(Workload::UDP_STREAM, true), (1000, 600));
    let own = stream(plain()).timeline;
    assert_eq!((own.warmup_ns, own.cooldown_ns), (Nanos(500_000_000), Nanos(300_000_000)));
}

#[test]
fn a_pair_of_a_mesh_sends_from_the_first_to_the_second() {
    let names = ["a".to_owned(), "b".to_owned()];
    let line = mesh::timeline(Nanos(9));
    let ms = Nanos::from_millis;
    assert_eq!((line.warmup_ns, line.window_ns, line.cooldown_ns), (ms(300), Nanos(9), ms(300)));
    let of = |pair| mesh::trial(pair, &Workload::TCP_RR, &plain(), line, &names);
    let back = of((1, 0));
    assert_eq!((back.label.as_str(), back.path), ("tcp-rr b to a", NetworkPath::Peer));
    let end = |role, host| EndSpec::of(role, EndHost::Peer(host), Placement::default());
    assert_eq!(back.ends, [end(Role::Sender, 1), end(Role::Receiver, 0)]);
    assert_eq!((back.params, back.timeline), (plain(), line));
    assert_eq!(of((0, 2)).label, "tcp-rr a to ?");
}

#[test]
fn a_diagnosis_sets_a_pace_only_where_there_is_none() {
    let of = stream(plain());
    let paced = diagnose::paced(&of, Change::HalfPace, 250_400_000).expect("no pace yet");
    let wanted = Params { rate_bps: Some(250_400_000), ..plain() };
    differs_in_params(&of, &paced, "tcp-stream, a pace of 250 Mb/s", wanted);
    assert_eq!(Change::of(&paced), Some(Change::HalfPace));
    let least = diagnose::paced(&of, Change::Pace, 0).expect("no pace yet");
    assert_eq!(least.params.rate_bps, Some(1), "0 would be no pace");
    assert_eq!(diagnose::paced(&paced, Change::Pace, 1), None);
    let under = diagnose::under(&of, "net.ipv4.tcp_rmem", "4096\t131072  6291456");
    assert_eq!(under.label, "tcp-stream, net.ipv4.tcp_rmem=4096 131072 6291456");
    assert_eq!((Change::of(&under), under.params), (Some(Change::Setting), plain()));
}

#[test]
fn what_numademo_does_is_told_by_kernel_thread_and_bytes() {
    let spread = |kind: &str, threads, mib, node, interleave: bool| {
        let words = narrows_model::load::MemoryParams { node, ..Default::default() };
        let mut params = Params::of_memory(threads, Bytes::mib(mib), words);
        if interleave {
            params.told.tell(&narrows_model::options::kernels::INTERLEAVE, true);
        }
        let ends = EndSpec::of_memory(Placement::default());
        let line = mesh::timeline(Nanos(1));
        memory::of_numademo(&trial("t", kind.into(), params, ends, NetworkPath::Memory, line))
    };
    let made = |kind: &str, threads, mib, node| spread(kind, threads, mib, node, false);
    let is = |kernel, place: &str| Some((kernel, place.to_owned()));
    assert_eq!(made("memory-memcpy", 1, 128, Some(1)), is(Kernel::Memcpy, "memory on node 1"));
    assert_eq!(made("memory-read", 1, 128, None), is(Kernel::Read, "local memory"));
    assert_eq!(made("memory-write", 1, 128, None), is(Kernel::Write, "local memory"));
    assert_eq!(made("memory-triad", 1, 128, None), is(Kernel::Triad, "local memory"));
    let interleaved = spread("memory-read", 1, 128, None, true);
    assert_eq!(interleaved, is(Kernel::Read, "interleaved memory"));
    assert_eq!(made("memory-copy", 1, 128, None), None, "numademo has no such kernel");
    assert_eq!(made("memory-read", 2, 128, None), None, "two threads");
    assert_eq!(made("memory-read", 1, 64, None), None, "another size");
    assert_eq!(made("memory-latency", 1, 128, None), None);
}

#[test]
fn traffic_of_a_search_has_one_word_each() {
    let all = anomalies::Traffic::ALL;
    assert_eq!(all.map(anomalies::Traffic::word), ["tcp", "udp", "rdma"]);
    for of in all {
        assert_eq!(anomalies::Traffic::named(of.word()), Some(of));
    }
    assert_eq!(anomalies::Traffic::named("TCP"), None);
}

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn settings_of_a_level_take_the_place_of_the_bases() {
    let base =
        settings("mss = 1400\nsysctl = { a = '1', b = '2' }\npeers = ['x']\nrdma = { depth = 8 }");
    let over = settings("mss = 900\ndscp = 'EF'\nsysctl = { b = '3' }\noffloads = { tso = false }");
    let both = base.with(&over);
    assert_eq!((both.told(&flows::MSS), both.told(&flows::DSCP)), (Some(900), Some(46)));
    let sysctl = [("a", "1"), ("b", "3")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(both.sysctl, sysctl.into());
    assert_eq!((both.peers, both.offloads.get("tso")), (vec!["x".to_owned()], Some(&false)));
    assert_eq!(both.rdma, base.rdma);
    let other = base.with(&settings("peers = ['y']\nrdma = { post_list = 2 }"));
    assert_eq!(other.peers, ["y"]);
    assert_eq!((other.told(&rdma::DEPTH), other.told(&rdma::POST_LIST)), (None, Some(2)));
}

#[test]
fn an_option_is_told_and_taken_where_its_section_is() {
    let mut of = Settings::default();
    of.tell(&flows::MSS, 1400);
    of.tell(&rdma::DEPTH, 8);
    assert_eq!((of.told(&flows::MSS), of.told(&rdma::DEPTH)), (Some(1400), Some(8)));
    assert_eq!(of.options.get("depth"), None);
    assert_eq!((of.take(&flows::MSS), of.take(&flows::MSS)), (Some(1400), None));
    assert_eq!((of.take(&rdma::DEPTH), of.take(&rdma::DEPTH)), (Some(8), None));
    assert_eq!(Settings::default().take(&rdma::DEPTH), None);
    let memory = settings("load = 'memory-latency'\nchains = 4");
    assert_eq!(memory.told(&kernels::CHAINS), Some(4));
}

#[test]
fn packets_a_second_become_bits_of_their_frames_and_only_of_packets() {
    let params =
        |text: &str| settings(text).params(Bytes(0), Bytes(0)).map_err(|error| error.to_string());
    let bits = |text: &str| params(text).expect(text).rate_bps;
    assert_eq!(bits("load = 'packets'\nrate = '1K'\nlength = 1500"), Some(12_000_000));
    assert_eq!(bits("load = 'packets'\nrate = 'max'"), None);
    let refused = |text: &str, why: &str| {
        let error = params(text).expect_err(text);
        assert!(error.contains(why), "{error}");
    };
    refused("load = 'udp-stream'\nrate = '1K'", "is for packets, not for udp-stream");
    let both = "load = 'packets'\nrate = '1K'\nbitrate = '1M'";
    refused(both, "and bitrate are both told: leave one out");
    let provider = "load = 'rdma-write-stream'\nrdma = { provider = 'tcp' }";
    refused(provider, "'tcp' is a provider of libfabric: say via libfabric too");
    let searched = |text: &str| settings(text).is_searched();
    assert!(searched("load = 'packets'"));
    assert!(!searched("load = 'packets'\nrate = 'max'"));
    assert!(!searched("load = 'packets'\nbitrate = '1M'"));
    assert!(!searched("load = 'udp-stream'"));
    let of = settings("load = 'packets'\nimix = true");
    let mean = Bytes(362);
    assert_eq!(of.message_bytes(), mean);
    assert_eq!(of.params(Bytes(0), Bytes(0)).expect("packets").message_bytes, mean);
    assert_eq!(packets::IMIX.of(&of.params(Bytes(0), Bytes(0)).expect("packets")), Some(true));
    assert_eq!(settings("load = 'packets'\nlength = 99").message_bytes(), Bytes(99));
}

#[test]
fn hosts_of_a_study_are_each_named_once() {
    let refused = |peers: &str, why: &str| {
        let error = toml::from_str::<Settings>(&format!("peers = {peers}")).expect_err(peers);
        assert!(error.to_string().contains(why), "{error}");
    };
    refused("[]", "peers: no host is named");
    refused("['a', 'b', 'a']", "peers: 'a' is listed twice");
    refused("['a,b']", "peers: 'a,b' is not a host name");
    refused("['a b']", "peers: 'a b' is not a host name");
    refused("['']", "peers: '' is not a host name");
    assert_eq!(settings("peers = ['b', 'a']").peers, ["b", "a"]);
}

#[test]
fn what_is_unsaid_of_raw_frames_is_told() {
    for (unsaid, says) in [
        (Unsaid::Interface, "raw packets need an interface"),
        (Unsaid::Rate, "raw packets need a rate; max is as fast as they go"),
        (
            Unsaid::Unlimited,
            "raw packets need a rate, and a bitrate of 0 is none; a rate of max is as fast as they go",
        ),
        (
            Unsaid::Lent,
            "raw packets at the far end need an interface that its owner lends (narrows serve \
             --packets IF there)",
        ),
    ] {
        assert_eq!(unsaid.to_string(), says);
    }
}
