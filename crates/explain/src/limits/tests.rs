//! Which limit is named, of simulated streams.

#[cfg(test)]
use super::*;
use crate::judge;
use crate::measured::testing::{read, slices, stream};
use narrows_model::host::Nic;
use narrows_model::result::{Ceiling, Method, PredictedPath, Prediction, ResourceName};
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::{Bytes, Fact, Nanos};

pub fn limit_of(study: &StoredStudy, predictions: &[Prediction]) -> Limit {
    let summaries = narrows_stats::summarise(study);
    let case = Case { study, summaries: &summaries, predictions };
    let mut all = limits(&case, &judge(&case));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// A shaped stream: a standing queue and a constant rate.
fn shaped() -> StoredStudy {
    let mut study = stream("tcp-stream");
    slices(&mut study, &[125_000_000; 10]);
    for (key, value) in [
        ("rtt_min_ns", 20_000),
        ("rtt_ns", 20_000_000),
        ("lowest:rtt_ns", 20_000_000),
        ("highest:rtt_ns", 20_000_000),
        ("send_mss_bytes", 1448),
        ("sent_segments", 900_000),
        ("retransmitted_segments", 9_000),
        ("limited_by_receive_window_ns", 0),
    ] {
        read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
    }
    study
}

#[test]
fn the_cause_is_named_before_what_follows_from_it() {
    let limit = limit_of(&shaped(), &[]);
    assert_eq!(limit.rule.as_deref(), Some("path-capacity"));
    let says = limit.to_string();
    assert!(says.contains("a shaper or a slower link between the ends limits"), "{says}");
    assert!(says.contains("not the threads' CPUs (busiest 50 %), not the window"), "{says}");
    assert!(!says.contains("loss ("), "a hundredth was lost: {says}");
}

#[test]
fn a_full_cpu_and_nothing_at_all_are_told_apart() {
    let mut study = stream("tcp-stream");
    let unknown = limit_of(&study, &[]);
    assert_eq!(unknown.sureness, Sureness::Unexplained);
    for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
        end.report.threads[0].system_ns = end.report.threads[0].wall_ns;
    }
    let full = limit_of(&study, &[]);
    assert!(full.to_string().contains("thread, 100 % of a CPU, limits (counted)"), "{full}");
}

#[test]
fn a_sender_without_a_cpu_is_the_limit_and_so_is_one_that_has_nothing_to_send() {
    let mut study = stream("tcp-stream");
    for end in study.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next()) {
        end.threads[0].waited_ns = Some(Nanos(end.threads[0].wall_ns.0 * 2 / 5));
    }
    let says = limit_of(&study, &[]).to_string();
    let wanted = "the sender's thread, 50 % of a CPU, which waited for a CPU 40 % of the time,";
    assert!(says.contains(wanted), "{says}");
    let mut idle = stream("tcp-stream");
    read(&mut idle, "tcp-info", "flow0.busy_ns", 250_000_000);
    let says = limit_of(&idle, &[]).to_string();
    assert!(says.contains("gave TCP nothing to send for 75 % of the time"), "{says}");
}

#[test]
fn loss_that_allows_far_more_is_not_the_limit() {
    let mut study = stream("tcp-stream");
    for (key, value) in [
        ("rtt_min_ns", 20_000),
        ("rtt_ns", 20_000),
        ("send_mss_bytes", 1448),
        ("sent_segments", 1_000_000),
        ("retransmitted_segments", 1_000),
    ] {
        read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
    }
    read(&mut study, "tcp-info", "flow0.busy_ns", 250_000_000);
    // A thousandth lost over 20 us allows 22 Gb/s, ten were measured: held by it, about.
    assert_eq!(limit_of(&study, &[]).rule.as_deref(), Some("tcp-retransmits"));
    read(&mut study, "softnet", "dropped_packets", 900);
    let says = limit_of(&study, &[]).to_string();
    assert!(says.contains("gave TCP nothing to send"), "dropped by the own CPUs: {says}");
    read(&mut study, "softnet", "dropped_packets", 0);
    read(&mut study, "tcp-info", "flow0.rtt_ns", 2_000);
    read(&mut study, "tcp-info", "flow0.rtt_min_ns", 2_000);
    let says = limit_of(&study, &[]).to_string();
    assert!(says.contains("gave TCP nothing to send"), "{says}");
}

#[test]
fn a_shaper_holds_what_leaves_by_its_interface_and_not_what_comes() {
    use narrows_model::host::{Host, Nic};
    let nic = |qdisc: &str| {
        let qdisc = Fact::known(qdisc.to_owned(), "test");
        Host { nics: vec![Nic { name: "e0".into(), qdisc, ..Nic::default() }], ..Host::default() }
    };
    let of = |sender: &str, receiver: &str| {
        let mut study = stream("tcp-stream");
        (study.host, study.peer_hosts) = (nic(sender), vec![nic(receiver)]);
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        limit_of(&study, &[])
    };
    let [here, there] = [of("tbf", "noqueue"), of("noqueue", "tbf")];
    assert_eq!((here.rule.as_deref(), here.sureness), (Some("nic-shaped"), Sureness::Inferred));
    assert_eq!(there.sureness, Sureness::Possible, "{there}");
}

#[test]
fn a_small_send_buffer_is_the_limit_only_where_it_was_full() {
    let with = |largest: u64, rtt_ns: u64, busy_ns: u64| {
        let mut study = stream("tcp-stream");
        let setting = Fact::known(format!("4096 16384 {largest}"), "test");
        study.host.tuning.insert("net.ipv4.tcp_wmem".into(), setting.clone());
        let mut peer = study.host.clone();
        peer.tuning.insert("net.ipv4.tcp_wmem".into(), setting);
        study.peer_hosts = vec![peer];
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", rtt_ns);
        read(&mut study, "tcp-info", "flow0.rtt_ns", rtt_ns);
        read(&mut study, "tcp-info", "flow0.busy_ns", busy_ns);
        limit_of(&study, &[]).what
    };
    let of = |rtt_ns| with(131_072, rtt_ns, 1_000_000_000);
    // A write of 64 KiB waits for room in 8 KiB, and TCP for the program that wakes up.
    assert_eq!(with(8_192, 20_000, 660_000_000), "the largest send buffer");
    assert!(with(131_072, 20_000, 660_000_000).contains("nothing to send"), "the message fits");
    // 10 Gb/s over 100 us are 125 kB, over 10 ms a hundred times the buffer.
    assert_eq!(of(100_000), "the largest send buffer");
    assert_eq!(of(10_000_000), "nothing that was checked explains the rate");
}

#[test]
fn what_makes_losses_dear_is_named_before_what_follows_from_it() {
    use narrows_model::host::Host;
    let of = |here: &str, lost: u64| {
        let mut study = shaped();
        let host = |sack: &str| {
            let sack = Fact::known(sack.to_owned(), "test");
            Host { tuning: [("net.ipv4.tcp_sack".to_owned(), sack)].into(), ..Host::default() }
        };
        (study.host, study.peer_hosts) = (host(here), vec![host("1")]);
        // Window scaling and timestamps, and no SACK.
        read(&mut study, "tcp-info", "flow0.agreed_options", 5);
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", lost);
        limit_of(&study, &[])
    };
    assert_eq!(of("0", 9_000).rule.as_deref(), Some("tcp-sack"));
    assert_eq!(of("1", 9_000).rule.as_deref(), Some("tcp-options-removed"));
    assert_eq!(of("0", 90).rule.as_deref(), Some("path-capacity"), "next to nothing was lost");
}

#[test]
fn copies_and_headers_that_take_much_of_a_path_are_named_before_it() {
    use narrows_model::host::{Host, Nic};
    let twice = |share: u64| {
        let mut study = shaped();
        let had = 9_000 + 9_000 * share;
        read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", had);
        limit_of(&study, &[]).rule
    };
    assert_eq!(twice(50).as_deref(), Some("path-duplicates"));
    assert_eq!(twice(2).as_deref(), Some("path-capacity"), "two in a hundred");
    let with = |bytes: u64, is_busy: bool| {
        let mut study = shaped();
        let mtu_bytes = Fact::known(narrows_model::Bytes(1500), "test");
        let nic = Nic { name: "e0".into(), mtu_bytes, ..Nic::default() };
        study.host = Host { nics: vec![nic], ..Host::default() };
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
            end.report.effective.mss_bytes = Some(bytes as u32);
        }
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", bytes);
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            let thread = &mut end.report.threads[0];
            thread.system_ns = if is_busy { thread.wall_ns } else { thread.system_ns };
        }
        limit_of(&study, &[])
    };
    let segments = |bytes| with(bytes, false).rule;
    // A CPU is full, and the path has room: what small ones cost is its time.
    let busy = with(200, true).to_string();
    assert!(busy.contains("CPU time that small segments take"), "{busy}");
    assert!(!busy.contains("headers"), "{busy}");
    assert_eq!(segments(200).as_deref(), Some("segment-size"));
    assert_eq!(segments(1248).as_deref(), Some("path-capacity"), "4 % more headers");
}

#[test]
fn a_loss_that_is_far_too_small_for_the_rate_is_not_the_limit() {
    let mut study = shaped();
    slices(&mut study, &[250_000_000, 0, 125_000_000, 125_000_000, 125_000_000]);
    // One in ten thousand over 20 ms allows Reno 70 Mb/s: ten gigabits are not held by it.
    read(&mut study, "tcp-info", "flow0.retransmitted_segments", 90);
    let limit = limit_of(&study, &[]);
    assert_ne!(limit.rule.as_deref(), Some("tcp-retransmits"), "{limit}");
}

#[test]
fn a_pace_that_was_asked_for_is_the_limit_where_it_was_held() {
    let mut study = stream("tcp-stream");
    study.trials[0].params.rate_bps = Some(10_000_000_000);
    let says = limit_of(&study, &[]).to_string();
    assert!(says.contains("the requested pace limits"), "{says}");
    study.trials[0].params.rate_bps = Some(20_000_000_000);
    assert_eq!(limit_of(&study, &[]).sureness, Sureness::Unexplained);
}

#[test]
fn packets_that_come_late_are_named_before_what_is_sent_again_for_them() {
    use crate::measured::testing::read_receiver;
    let with = |early: u64, again: u64| {
        let mut study = shaped();
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
        // No queue: round trips as without load.
        for key in ["rtt_ns", "lowest:rtt_ns", "highest:rtt_ns"] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), 20_500);
        }
        read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", 12_000);
        read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", early);
        limit_of(&study, &[]).rule
    };
    let of = |early| with(early, 9_000);
    assert_eq!(of(200_000).as_deref(), Some("path-reordering"));
    assert_ne!(with(200_000, 9).as_deref(), Some("path-reordering"), "nothing is sent again");
    assert_eq!(of(900).as_deref(), Some("path-duplicates"), "next to nothing came early");
}

#[test]
fn what_is_no_rules_to_find_says_what_to_do_itself() {
    let mut study = stream("tcp-stream");
    assert_eq!(limit_of(&study, &[]).action, None, "nothing explains it");
    study.trials[0].params.rate_bps = Some(10_000_000_000);
    let action = limit_of(&study, &[]).action.expect("an action");
    assert!(action.starts_with("nothing: the stream keeps the pace"), "{action}");
    assert_eq!(limit_of(&shaped(), &[]).action, None, "the rule's remedy");
}

#[test]
fn a_route_that_sets_another_congestion_control_is_named_with_the_losses() {
    use narrows_model::host::Host;
    let of = |default: &str, lost: u64| {
        let mut study = stream("tcp-stream");
        let setting = Fact::known(default.to_owned(), "test");
        let tuning = [("net.ipv4.tcp_congestion_control".to_owned(), setting)].into();
        study.host = Host { tuning, ..Host::default() };
        study.peer_hosts = vec![study.host.clone()];
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.congestion = Some("reno".into());
        }
        for (key, value) in [
            ("rtt_min_ns", 40_000),
            ("rtt_ns", 41_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 900_000),
            ("retransmitted_segments", lost),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        limit_of(&study, &[]).rule
    };
    assert_eq!(of("bbr", 4_500).as_deref(), Some("congestion-control"));
    assert_eq!(of("reno", 4_500).as_deref(), Some("tcp-retransmits"), "the host's own");
    assert_ne!(of("bbr", 9).as_deref(), Some("congestion-control"), "nothing is lost");
}

#[test]
fn the_next_limit_is_the_lowest_ceiling_above() {
    let mut study = shaped();
    for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
        end.report.effective.interface = Some("eth0".into());
    }
    let ceiling = |resource: ResourceName, value: f64| Ceiling {
        resource: resource.into(),
        range: Estimate {
            value,
            low: value,
            high: value,
            unit: Unit::BitsPerSecond,
            n: 0,
            by: Method::Model,
        },
        says: String::new(),
        only_if: None,
        provenance: Vec::new(),
    };
    let prediction = Prediction {
        path: PredictedPath::Interface("eth0".into()),
        workload: narrows_model::workload::Workload::TCP_STREAM,
        cell: None,
        range: None,
        bottleneck: None,
        ceilings: vec![
            ceiling(ResourceName::Memory, 9e9),
            ceiling(ResourceName::Wire, 23.5e9),
            ceiling(ResourceName::Pcie, 60e9),
        ],
        measured: None,
        missing: Vec::new(),
        sessions: Vec::new(),
    };
    let says = limit_of(&study, &[prediction]).to_string();
    // Ten gigabits were measured: memory's nine are behind it.
    let wanted = "next limit: wire, 23.5 Gb/s, 2.4 x (modelled); removing it is worth 2.4 to 2.4 x \
                  (modelled)";
    assert!(says.ends_with(wanted), "{says}");
}

#[test]
fn offloads_hold_nothing_whose_cpus_are_idle() {
    use narrows_model::host::{Host, Nic};
    let of = |share: f64, rate_bps: Option<u64>| {
        let mut study = stream("tcp-stream");
        study.trials[0].params.rate_bps = rate_bps;
        let features = [("tx-tcp-segmentation".to_owned(), false)];
        let nic = Nic {
            name: "e0".into(),
            offloads: Fact::known(features.into(), "test"),
            ..Nic::default()
        };
        study.host = Host { nics: vec![nic], ..Host::default() };
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
            let thread = &mut end.report.threads[0];
            thread.user_ns = Nanos(0);
            thread.system_ns = Nanos((thread.wall_ns.0 as f64 * share) as u64);
        }
        limit_of(&study, &[])
    };
    assert_eq!(of(0.5, None).rule.as_deref(), Some("nic-offloads"));
    assert_eq!(of(0.03, None).rule, None, "nothing to save");
    let paced = of(0.5, Some(10_000_000_000));
    assert_eq!((paced.rule, paced.what.as_str()), (None, "the requested pace"));
}

#[test]
fn a_host_that_drops_is_named_for_all_cells_of_one_way() {
    use narrows_model::trial::{NetworkPath, TrialId};
    // What a receiver's interface took and its TCP was not given, of 100,000 segments.
    let with = |took: u64, again: u64| {
        let mut study = stream("tcp-stream");
        study.trials[0].path = NetworkPath::Peer;
        for (key, value) in [
            ("rtt_min_ns", 40_000),
            ("rtt_ns", 41_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 100_000),
            ("retransmitted_segments", again),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.effective.interface = Some("e0".into());
            end.readings.put_words("interface", "e0.rx_packets", took);
            end.readings.put_words("interface", "e0.rx_bytes", took * 1514);
            end.readings.put_words("tcp-info", "flow0.received_data_segments", 98_000);
        }
        study
    };
    let both = |beside: StoredStudy, is_back: bool| {
        let mut study = with(98_000, 2_000);
        let mut beside = beside;
        (beside.trials[0].id, beside.trials[0].label) = (TrialId("b".into()), "beside".into());
        if is_back {
            beside.trials[0].ends = narrows_model::trial::EndSpec::anywhere(true);
        }
        beside.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
        study.trials.extend(beside.trials);
        study.records.extend(beside.records);
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        limits(&case, &judge(&case)).remove(0).rule
    };
    assert_eq!(both(with(100_000, 2_000), false).as_deref(), Some("receiver-host-drops"));
    assert_ne!(both(with(98_000, 2_000), false).as_deref(), Some("receiver-host-drops"));
    assert_ne!(both(with(100_000, 2_000), true).as_deref(), Some("receiver-host-drops"));
}

#[test]
fn losses_at_random_are_called_so() {
    use crate::probes::testing::{way, with_probes};
    use narrows_model::probe::PathProbe;
    let of = |slow: u32| {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("rtt_min_ns", 40_000),
            ("rtt_ns", 41_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 900_000),
            ("retransmitted_segments", 9_000),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        let there = way(251, 60, slow);
        with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
        limit_of(&study, &[]).what
    };
    assert!(of(251).starts_with("loss of segments (at random"), "{}", of(251));
    assert!(!of(256).contains("at random"), "{}", of(256));
}

#[test]
fn what_a_socket_has_no_room_for_is_no_limit_of_the_path() {
    use narrows_model::load::{Stretch, StretchOf};
    use narrows_model::trial::TrialId;
    // Two paces, of which as many datagrams come: what is missing was dropped at the socket or not.
    let of = |dropped: u64| {
        let at = |pace: u64, sent: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = Some(pace);
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let datagrams = if one.role == Role::Receiver { 5_000 } else { sent };
                let flow = &mut one.report.flows[0];
                (flow.messages, flow.bytes) = (datagrams, narrows_model::Bytes(1472 * datagrams));
                let of = StretchOf::SenderWindow;
                flow.stretch = Some(Stretch { of, datagrams });
                if one.role == Role::Receiver {
                    let lost = if dropped > 0 { sent - 5_000 } else { 0 };
                    one.report.readings.put_words("socket", "flow0.dropped_packets", lost);
                }
            }
            study
        };
        let (mut study, mut half) = (at(200, 10_000), at(100, 5_100));
        (half.trials[0].id, half.trials[0].label) = (TrialId("b".into()), "half".into());
        half.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
        study.trials.extend(half.trials);
        study.records.extend(half.records);
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        limits(&case, &judge(&case)).remove(0).rule
    };
    assert_eq!(of(5_000).as_deref(), Some("datagrams-dropped"));
    assert_eq!(of(0).as_deref(), Some("path-rate-limit"));
}

#[test]
fn a_queue_that_overflows_now_and_then_or_in_consequence_holds_nothing() {
    let of = |dropped: u64, acknowledgements: u64| {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("rtt_min_ns", 40_000),
            ("rtt_ns", 41_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 900_000),
            ("retransmitted_segments", dropped),
            ("received_segments", acknowledgements),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.effective.interface = Some("tap0".into());
            end.readings.put_words("interface", "tap0.tx_dropped_packets", dropped);
        }
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.readings.put_words("tcp-info", "flow0.sent_segments", 100_000);
        }
        limit_of(&study, &[]).rule
    };
    assert_eq!(of(9_000, 100_000).as_deref(), Some("own-queue"));
    assert_ne!(of(90, 100_000).as_deref(), Some("own-queue"), "one in ten thousand");
    assert_eq!(of(9_000, 40_000).as_deref(), Some("acknowledgements-lost"));
}

#[test]
fn a_shaper_of_ones_own_holds_nothing_that_is_lost_beyond_it() {
    use crate::probes::testing::{way, with_probes};
    use narrows_model::host::{Host, Nic};
    use narrows_model::probe::PathProbe;
    let of = |lost: u64, dropped: u64, came: u32| {
        let mut study = stream("tcp-stream");
        let qdisc = Fact::known("htb".to_owned(), "test");
        let nic = Nic { name: "e0".into(), qdisc, ..Nic::default() };
        study.host = Host { nics: vec![nic], ..Host::default() };
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        for (key, value) in [("sent_segments", 100_000), ("retransmitted_segments", lost)] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        read(&mut study, "qdisc", "e0.overlimits_events", 50_000);
        read(&mut study, "qdisc", "e0.dropped_packets", dropped);
        let there = way(came, 4_200, came);
        with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
        limit_of(&study, &[]).rule
    };
    assert_eq!(of(0, 0, 256).as_deref(), Some("nic-shaped"));
    assert_eq!(of(2_000, 1_900, 256).as_deref(), Some("nic-shaped"), "its own queue drops them");
    let beyond = of(8_000, 0, 256);
    assert!(!matches!(beyond.as_deref(), Some("nic-shaped" | "own-queue")), "{beyond:?}");
    let trains = of(0, 0, 190);
    assert!(!matches!(trains.as_deref(), Some("nic-shaped" | "own-queue")), "{trains:?}");
}

#[test]
fn acknowledgements_hold_a_stream_that_loses_less_on_the_way_forth() {
    use crate::measured::testing::read_receiver;
    let of = |lost: u64| {
        let mut study = stream("tcp-stream");
        for (key, value) in
            [("sent_segments", 1_000), ("retransmitted_segments", lost), ("received_segments", 920)]
        {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 1_000);
        limit_of(&study, &[])
    };
    let back = of(0);
    assert_eq!(back.rule.as_deref(), Some("acknowledgements-lost"));
    assert_eq!(back.sureness, Sureness::Counted);
    let forth = of(350);
    let is_sure = forth.sureness == Sureness::Counted;
    assert!(forth.rule.as_deref() != Some("acknowledgements-lost") || !is_sure, "{forth}");
}

#[test]
fn losses_that_allow_no_more_are_not_put_on_missing_sack() {
    use narrows_model::host::Host;
    let of = |mbps: u64| {
        let mut study = stream("tcp-stream");
        let sack = Fact::known("0".to_owned(), "test");
        let tuning = [("net.ipv4.tcp_sack".to_owned(), sack)].into();
        study.host = Host { tuning, ..Host::default() };
        study.peer_hosts = vec![study.host.clone()];
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.flows[0].bytes.0 = mbps * 125_000;
        }
        // One in a hundred over 20 ms: Reno reaches 7 Mb/s.
        for (key, value) in [
            ("agreed_options", 5),
            ("rtt_min_ns", 20_000_000),
            ("rtt_ns", 20_000_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 10_000),
            ("retransmitted_segments", 100),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        limit_of(&study, &[]).rule
    };
    assert_eq!(of(6).as_deref(), Some("tcp-retransmits"), "all that the loss allows");
    assert_eq!(of(2).as_deref(), Some("tcp-sack"), "a third of that");
}

#[test]
fn a_full_buffer_is_named_before_a_congestion_control_that_does_more_with_it() {
    let of = |full_percent: u64| {
        let mut study = stream("tcp-stream");
        let setting = Fact::known("bbr".to_owned(), "test");
        study.host.tuning.insert("net.ipv4.tcp_congestion_control".into(), setting);
        let mut trial = study.trials[0].clone();
        (trial.id.0, trial.label) = ("b".into(), "tcp-stream cubic".into());
        trial.params.congestion = Some("cubic".into());
        let more = study.records.clone();
        study.records.extend(more);
        for (number, record) in study.records.iter_mut().enumerate() {
            let is_other = number >= 3;
            for end in record.of_mut(Role::Sender) {
                let used = if is_other { "cubic" } else { "bbr" };
                end.effective.congestion = Some(used.into());
            }
            for end in record.of_mut(Role::Receiver).filter(|_| is_other) {
                end.flows[0].bytes.0 = end.flows[0].bytes.0 / 10 * 14;
            }
            if is_other {
                record.trial = trial.id.clone();
            }
        }
        study.trials.push(trial);
        let full = full_percent * 10_000_000;
        read(&mut study, "tcp-info", "flow0.limited_by_send_buffer_ns", full);
        read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 0);
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        limits(&case, &judge(&case)).remove(0).rule
    };
    assert_eq!(of(75).as_deref(), Some("send-buffer"));
    assert_eq!(of(0).as_deref(), Some("congestion-control"));
}

#[test]
fn small_segments_hold_a_stream_whose_cpu_is_full() {
    let limit = |segment: u64, busy_percent: u64| {
        let mut study = stream("tcp-stream");
        let mtu_bytes = Fact::known(Bytes(1500), "test");
        study.host.nics.push(Nic { name: "e0".into(), mtu_bytes, ..Nic::default() });
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.mss_bytes = Some(1448);
            end.report.effective.interface = Some("e0".into());
            end.report.threads[0].system_ns = Nanos(busy_percent * 10_000_000);
        }
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", segment);
        limit_of(&study, &[])
    };
    let held = limit(244, 100);
    assert_eq!(held.rule.as_deref(), Some("segment-size"), "{held}");
    assert_eq!(held.sureness, Sureness::Inferred, "{held}");
    assert_eq!(limit(1300, 100).rule, None, "segments that are nearly full");
    let has_time = limit(244, 30);
    assert!(!has_time.to_string().contains("CPU time that small"), "{has_time}");
}

#[test]
fn a_window_whose_bytes_stand_in_a_queue_is_not_the_limit() {
    let limit = |least_ns: u64| {
        let mut study = shaped();
        for (key, value) in [
            ("limited_by_receive_window_ns", 950_000_000),
            ("lowest:rtt_ns", least_ns),
            ("rtt_ns", least_ns),
            ("retransmitted_segments", 0),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        limit_of(&study, &[])
    };
    let queued = limit(20_000_000);
    assert_eq!(queued.rule.as_deref(), Some("path-capacity"), "{queued}");
    let travels = limit(25_000);
    assert_eq!(travels.rule.as_deref(), Some("receive-window"), "{travels}");
}
