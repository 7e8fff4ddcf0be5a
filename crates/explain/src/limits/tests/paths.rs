//! Limits of the path: losses, shapers, queues, order.

use super::*;

/// A short path on which so many of 900,000 segments were sent again.
fn sends_again(study: &mut StoredStudy, segments: u64) {
    for (key, value) in [
        ("rtt_min_ns", 40_000),
        ("rtt_ns", 41_000),
        ("send_mss_bytes", 1448),
        ("sent_segments", 900_000),
        ("retransmitted_segments", segments),
    ] {
        read(study, "tcp-info", &format!("flow0.{key}"), value);
    }
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
fn more_flows_at_the_same_capacity_tell_a_single_one_of_it() {
    use narrows_model::trial::TrialId;
    // Four flows in a queue that never empties, and one that loses before the same link.
    let of = |payload: u64| {
        let mut study = shaped();
        let mut alone = (study.trials[0].clone(), study.records.clone());
        study.trials[0].params.streams = 4;
        let id = TrialId("alone".into());
        (alone.0.id, alone.0.label) = (id.clone(), "alone".into());
        for record in &mut alone.1 {
            record.trial = id.clone();
            for end in record.of_mut(Role::Sender) {
                for key in ["rtt_ns", "lowest:rtt_ns"] {
                    end.readings.put_words("tcp-info", &format!("flow0.{key}"), 20_000);
                }
                end.readings.put_words("tcp-info", "flow0.rtt_min_ns", 20_000);
                end.readings.put_words("tcp-info", "flow0.retransmitted_segments", 80_000);
            }
            for end in record.of_mut(Role::Receiver) {
                end.flows[0].bytes.0 = payload;
            }
        }
        study.trials.push(alone.0);
        study.records.extend(alone.1);
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let all = limits(&case, &judge(&case));
        all.into_iter().find(|limit| limit.cell == "alone").and_then(|limit| limit.rule)
    };
    let bytes = shaped().records[0].receiver().map_or(0, |end| end.flows[0].bytes.0);
    assert_eq!(of(bytes).as_deref(), Some("path-capacity"));
    assert_eq!(of(bytes / 10 * 9).as_deref(), Some("tcp-retransmits"), "more flows move more");
}

#[test]
fn a_stream_of_a_few_segments_waits_for_the_handshakes_that_a_probe_loses() {
    use crate::probes::testing::{carries, with_probes};
    use narrows_model::probe::{Handshakes, PathProbe};
    let of = |segments: u64| {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("rtt_min_ns", 2_000_000_000),
            ("rtt_ns", 2_000_000_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", segments),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        let handshakes = Some(Handshakes { tried: 64, at_once: 1, ..Handshakes::default() });
        let (there, back) = (carries(400), carries(400));
        with_probes(&mut study, &[PathProbe { there, back, handshakes, ..Default::default() }]);
        limit_of(&study, &[])
    };
    let waits = of(8);
    assert_eq!(waits.rule.as_deref(), Some("handshake-loss"), "{waits}");
    assert_ne!(of(10_000).rule.as_deref(), Some("handshake-loss"), "round trips of a queue");
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
fn a_loss_that_is_far_too_small_for_the_rate_is_not_the_limit() {
    let mut study = shaped();
    slices(&mut study, &[250_000_000, 0, 125_000_000, 125_000_000, 125_000_000]);
    // One in ten thousand over 20 ms allows Reno 70 Mb/s: ten gigabits are not held by it.
    read(&mut study, "tcp-info", "flow0.retransmitted_segments", 90);
    let limit = limit_of(&study, &[]);
    assert_ne!(limit.rule.as_deref(), Some("tcp-retransmits"), "{limit}");
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
        sends_again(&mut study, lost);
        limit_of(&study, &[]).rule
    };
    assert_eq!(of("bbr", 4_500).as_deref(), Some("congestion-control"));
    assert_eq!(of("reno", 4_500).as_deref(), Some("tcp-retransmits"), "the host's own");
    assert_ne!(of("bbr", 9).as_deref(), Some("congestion-control"), "nothing is lost");
}

#[test]
fn losses_at_random_are_called_so() {
    use crate::probes::testing::{way, with_probes};
    use narrows_model::probe::PathProbe;
    let of = |slow: u32| {
        let mut study = stream("tcp-stream");
        sends_again(&mut study, 9_000);
        let there = way(251, 60, slow);
        with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
        limit_of(&study, &[]).what
    };
    assert!(of(251).starts_with("loss of segments (at random"), "{}", of(251));
    assert!(!of(256).contains("at random"), "{}", of(256));
}

#[test]
fn a_shaper_is_told_with_its_interface_and_rate_and_segments_with_both_mtus() {
    use narrows_model::host::Host;
    let of = |qdisc: &str, segment: u64, far_mtu: u64| {
        let mut study = stream("tcp-stream");
        let nic = |mtu: u64, qdisc: &str| Nic {
            name: "e0".into(),
            qdisc: Fact::known(qdisc.to_owned(), "test"),
            mtu_bytes: Fact::known(Bytes(mtu), "test"),
            ..Nic::default()
        };
        study.host = Host { nics: vec![nic(1500, qdisc)], ..Host::default() };
        study.peer_hosts = vec![Host { nics: vec![nic(far_mtu, "fq")], ..Host::default() }];
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
            end.report.effective.mss_bytes = Some(segment as u32);
        }
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", segment);
        limit_of(&study, &[]).what
    };
    let shaped = of("htb", 1448, 1500);
    assert!(shaped.ends_with("own interface (htb on e0 here, 10359 Mb/s of packets)"), "{shaped}");
    let clamped = of("fq", 200, 1500);
    assert!(clamped.ends_with("(200 B, and both interfaces have an MTU of 1500 B)"), "{clamped}");
    let far = of("fq", 200, 300);
    assert!(far.ends_with("(200 B, and the interfaces' MTUs are 1500 and 300 B)"), "{far}");
}

#[test]
fn bursts_of_losses_are_called_so() {
    let of = |repairs: u64| {
        let mut study = stream("tcp-stream");
        sends_again(&mut study, 9_000);
        for (key, count) in
            [("TCPSackRecovery", repairs), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)]
        {
            read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
        }
        limit_of(&study, &[]).what
    };
    assert_eq!(of(1_500), "loss of segments (in bursts, about 6 packets at a time)");
    assert_eq!(of(4_500), "loss of segments", "two at a time");
}

#[test]
fn a_queue_that_overflows_now_and_then_or_in_consequence_holds_nothing() {
    let of = |dropped: u64, acknowledgements: u64| {
        let mut study = stream("tcp-stream");
        sends_again(&mut study, dropped);
        read(&mut study, "tcp-info", "flow0.received_segments", acknowledgements);
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
    use narrows_model::trial::EndHost;
    let of_peer = |lost: u64, dropped: u64, came: u32, probed: u32| {
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
        let ends = &mut study.trials.last_mut().expect("the probe's").ends;
        let far = ends.iter_mut().find(|end| end.host == EndHost::Peer(0));
        far.expect("a far end").host = EndHost::Peer(probed);
        limit_of(&study, &[]).rule
    };
    let of = |lost: u64, dropped: u64, came: u32| of_peer(lost, dropped, came, 0);
    assert_eq!(of(0, 0, 256).as_deref(), Some("nic-shaped"));
    assert_eq!(of(2_000, 1_900, 256).as_deref(), Some("nic-shaped"), "its own queue drops them");
    let beyond = of(8_000, 0, 256);
    assert!(!matches!(beyond.as_deref(), Some("nic-shaped" | "own-queue")), "{beyond:?}");
    let trains = of(0, 0, 190);
    assert!(!matches!(trains.as_deref(), Some("nic-shaped" | "own-queue")), "{trains:?}");
    let elsewhere = of_peer(0, 0, 190, 1);
    assert_eq!(elsewhere.as_deref(), Some("nic-shaped"), "trains to another peer");
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
    let of = |mbps: u64, repairs: Option<u64>| {
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
        for (key, count) in [("TCPSackRecovery", 0), ("TCPTimeouts", 0)]
            .into_iter()
            .chain(repairs.map(|count| ("TCPRenoRecovery", count)))
        {
            read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
        }
        limit_of(&study, &[])
    };
    let rule = |mbps, repairs| of(mbps, repairs).rule;
    assert_eq!(rule(6, None).as_deref(), Some("tcp-retransmits"), "all that the loss allows");
    assert_eq!(rule(6, Some(50)).as_deref(), Some("tcp-retransmits"), "two at a time");
    assert_eq!(rule(2, None).as_deref(), Some("tcp-sack"), "a third of that");
    // Four rows of 25: Reno reaches 35 Mb/s with so few cuts.
    let rows = of(34, Some(4));
    assert_eq!(rows.rule.as_deref(), Some("tcp-sack"), "{rows}");
    assert!(format!("{rows}").contains("in bursts, about 25 packets at a time"), "{rows}");
}
