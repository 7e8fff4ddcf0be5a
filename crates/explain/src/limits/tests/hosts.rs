//! Limits of the hosts: CPUs, sockets, copies and what the next ceiling is.

use super::*;

#[test]
fn round_trips_that_stand_still_wait_for_a_timer_that_a_route_lengthens() {
    use narrows_model::host::Host;
    let of = |rto_min_ms: u64, busy_ms: u64, trips: u64| {
        let mut study = crate::measured::testing::trips(40);
        let timer = Fact::known(format!("e0 {rto_min_ms}"), "test");
        let tuning = [("net.route.rto_min_ms".to_owned(), timer)].into();
        study.host = Host { tuning, ..Host::default() };
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.effective.interface = Some("e0".into());
            end.round_trips = vec![(Nanos(40_000), trips)];
        }
        read(&mut study, "tcp-info", "flow0.busy_ns", busy_ms * 1_000_000);
        limit_of(&study, &[])
    };
    let stalled = of(3_000, 980, 18);
    assert!(stalled.what.contains("a route makes at least 3.0 s"), "{stalled}");
    assert!(stalled.action.as_deref().is_some_and(|it| it.contains("rto_min")), "{stalled:?}");
    for other in [of(3_000, 300, 18), of(300, 980, 18), of(3_000, 980, 1_000)] {
        assert!(!other.what.contains("TCP's timer, which a route"), "{other}");
    }
}

#[test]
fn what_an_end_waits_for_may_be_a_quota_that_it_cannot_read() {
    use narrows_model::host::{Cpu, Host};
    let beside = |quota_cpus: Fact<f64>, foreign: u64| {
        let mut study = stream("tcp-stream");
        study.host = Host { cpu: Cpu { quota_cpus, ..Cpu::default() }, ..Host::default() };
        study.peer_hosts = vec![study.host.clone()];
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.threads[0].waited_ns = Some(Nanos(400_000_000));
            end.report.effective.machine = Some("one".into());
        }
        for record in &mut study.records {
            for (state, ns) in [("user", foreign), ("system", 0), ("idle", 1000 - foreign)] {
                record.around.host.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
            }
        }
        limit_of(&study, &[])
    };
    let of = |quota_cpus| beside(quota_cpus, 0);
    let from = || narrows_model::Source("/sys/fs/cgroup/c".into());
    let hidden = of(Fact::Denied { from: from() });
    assert!(hidden.what.contains("for others or for a quota of its group"), "{hidden}");
    assert!(hidden.action.as_deref().is_some_and(|it| it.contains("cpu.max")), "{hidden:?}");
    let none = of(Fact::absent("/sys/fs/cgroup/c"));
    assert!(none.what.contains("waited for a CPU 40 % of the time,"), "{none}");
    // Others that were counted on the one host of both ends explain the wait.
    let others = beside(Fact::Denied { from: from() }, 500);
    let used = "waited 40 % of the time for a CPU that others used,";
    assert!(others.what.contains(used), "{others}");
    assert!(!others.action.as_deref().unwrap_or_default().contains("cpu.max"), "{others:?}");
    assert!(!none.what.contains("quota"), "{none}");
}

#[test]
fn an_end_that_has_just_the_time_of_its_quota_is_held_by_it_though_nobody_counted() {
    use narrows_model::host::{Cpu, Host};
    let holds = |quota: f64, used_ms: u64, waited_ms: u64, is_counted: bool| {
        let mut study = stream("tcp-stream");
        let from = narrows_model::Source("/sys/fs/cgroup/cpu.max".into());
        let quota_cpus = Fact::Known { value: quota, from };
        let allowed = Fact::absent("x");
        study.peer_hosts =
            vec![Host { cpu: Cpu { quota_cpus, allowed, ..Cpu::default() }, ..Host::default() }];
        for record in &mut study.records {
            // The sender's own group has no quota: it was stopped in no period.
            for end in record.of_mut(Role::Sender) {
                end.readings.put_words("group", "periods_events", 0);
                end.readings.put_words("group", "throttled_events", 0);
            }
            for end in record.of_mut(Role::Receiver) {
                if is_counted {
                    end.readings.put_words("group", "periods_events", 0);
                    end.readings.put_words("group", "throttled_events", 0);
                }
                end.window_ns = Nanos(1_000_000_000);
                end.threads[0].user_ns = Nanos(0);
                end.threads[0].system_ns = Nanos(used_ms * 1_000_000);
                end.threads[0].waited_ns = Some(Nanos(waited_ms * 1_000_000));
            }
        }
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let all = cells(&case).map(|cell| holds::quota_stops(&cell)).collect::<Vec<_>>();
        all.into_iter().next().expect("a cell")
    };
    let of = |quota, used_ms, waited_ms| holds(quota, used_ms, waited_ms, false);
    assert!(of(0.15, 140, 600) == Holds::Yes);
    assert!(holds(0.15, 140, 600, true) == Holds::No, "its own count says that nobody stopped it");
    assert!(of(0.15, 140, 100) != Holds::Yes, "it had no more work");
    assert!(of(0.5, 140, 600) != Holds::Yes, "others took what the quota leaves");
    assert!(of(0.05, 140, 600) != Holds::Yes, "more than the quota");
}

#[test]
fn slow_start_that_ended_before_anything_was_lost_was_ended_by_what_tcp_saved() {
    let told = |threshold: u64, again: u64, not_saved: &str| {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("send_mss_bytes", 1448),
            ("sent_segments", 100_000),
            ("retransmitted_segments", 0),
            ("rtt_ns", 20_000_000),
            ("rtt_min_ns", 20_000_000),
            ("lowest:rtt_ns", 20_000_000),
            ("busy_ns", 1_000_000_000),
            ("limited_by_receive_window_ns", 0),
            ("limited_by_send_buffer_ns", 0),
            ("opening:congestion_window_segments", 10_000),
            ("congestion_window_segments", 25_000),
            ("slow_start_threshold_segments", threshold),
            ("retransmitted_so_far_segments", again),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        let kept = Fact::known(not_saved.to_owned(), "test");
        study.host.tuning.insert("net.ipv4.tcp_no_ssthresh_metrics_save".into(), kept);
        limit_of(&study, &[])
    };
    let of = |threshold, again| told(threshold, again, "0");
    let saved = of(7, 0);
    let unsaved = told(7, 0, "1");
    assert!(unsaved.what.contains("ended at 7 segments"), "{unsaved}");
    assert!(unsaved.what.contains("why is not known") && !unsaved.what.contains("saved"));
    assert!(saved.what.contains("slow start, which ended at 7 segments"), "{saved}");
    assert!(saved.action.as_deref().is_some_and(|it| it.contains("ip tcp_metrics")), "{saved:?}");
    for (other, why) in [
        (of(7, 1), "lost before the window"),
        (of(16, 0), "delay may end it"),
        (of(0x7fff_ffff, 0), "it has no end"),
    ] {
        assert!(!other.what.contains("slow start, which ended"), "{why}: {other}");
    }
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
    let action = full.action.unwrap_or_default();
    assert!(action.contains("larger messages (-l)"), "{action}");
    // Each command has its own letter for the length, and packets are no more for being larger.
    let of = |kind: &str| {
        let mut study = study.clone();
        study.trials[0].kind = kind.into();
        limit_of(&study, &[]).action.unwrap_or_default()
    };
    let packets = of("packets");
    assert!(packets.contains("larger frames (-s) carry more bytes"), "{packets}");
    assert!(!packets.contains("(-l)"), "{packets}");
    let rdma = of("rdma-write-stream");
    assert!(rdma.contains("larger messages (-s)"), "{rdma}");
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
    assert!(busy.contains("CPU time that small packets take"), "{busy}");
    assert!(!busy.contains("headers"), "{busy}");
    assert_eq!(segments(200).as_deref(), Some("segment-size"));
    assert_eq!(segments(1248).as_deref(), Some("path-capacity"), "4 % more headers");
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
fn small_segments_hold_a_stream_whose_cpu_is_full() {
    let paced = |segment: u64, busy_percent: u64, pace: Option<u64>| {
        let mut study = stream("tcp-stream");
        study.trials[0].params.rate_bps = pace;
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
    let limit = |segment: u64, busy_percent: u64| paced(segment, busy_percent, None);
    let held = limit(244, 100);
    assert_eq!(held.rule.as_deref(), Some("segment-size"), "{held}");
    assert_eq!(held.sureness, Sureness::Inferred, "{held}");
    assert_eq!(limit(1300, 100).rule, None, "segments that are nearly full");
    let has_time = limit(244, 30);
    assert!(!has_time.to_string().contains("CPU time that small"), "{has_time}");
    for busy_percent in [30, 100] {
        let kept = paced(244, busy_percent, Some(10_000_000_000));
        assert_eq!(kept.what, "the requested pace", "{busy_percent} % of a CPU: {kept}");
        let missed = paced(244, busy_percent, Some(20_000_000_000));
        assert_eq!(missed.rule.as_deref(), Some("segment-size"), "half of the pace: {missed}");
    }
}

#[test]
fn a_tracer_and_an_address_of_two_devices_come_before_what_they_cause() {
    use narrows_model::load::{NextHop, Tracing};
    let traced = |switches: u64| {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            let by = Some("strace".to_owned());
            end.report.tracing = Some(Tracing { threads: 3, traced: 3, by });
            end.report.flows[0].calls = 20_000;
            end.report.threads[0].voluntary_switches = switches;
        }
        let limit = limit_of(&study, &[]);
        (limit.rule, limit.sureness)
    };
    assert_eq!(traced(50_000), (Some("end-traced".into()), Sureness::Counted));
    assert_eq!(traced(900), (Some("end-traced".into()), Sureness::Possible), "it only watches");
    let fight = |changes: u32| {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            let hop = NextHop { is_router: false, addresses: 2, changes, lost: 0 };
            end.report.next_hop = Some(hop);
        }
        let limit = limit_of(&study, &[]);
        (limit.rule, limit.sureness)
    };
    assert_eq!(fight(2), (Some("neighbour-changed".into()), Sureness::Counted));
}

#[test]
fn a_backlog_that_drops_much_holds_threads_that_share_cpus() {
    let of = |dropped: u64| {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for end in record.of_mut(Role::Receiver) {
                end.readings.put_words("softnet", "processed_packets", 100_000);
                end.readings.put_words("softnet", "dropped_packets", dropped);
                end.threads[0].waited_ns = Some(Nanos(900_000_000));
            }
        }
        limit_of(&study, &[]).rule
    };
    assert_eq!(of(1_000).as_deref(), Some("backlog-drops"));
    assert_ne!(of(300).as_deref(), Some("backlog-drops"), "a few, beside threads that starve");
}

#[test]
fn a_next_hop_that_nobody_answers_for_again_and_again_holds() {
    use narrows_model::load::NextHop;
    let limit = |lost: u32| {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for end in record.of_mut(Role::Sender) {
                let hop = NextHop { is_router: false, addresses: 1, changes: 0, lost };
                end.next_hop = Some(hop);
            }
        }
        limit_of(&study, &[])
    };
    let held = limit(2);
    assert_eq!(held.rule.as_deref(), Some("neighbour-changed"), "{held}");
    assert_eq!(held.sureness, Sureness::Counted);
    assert!(held.what.contains("nobody answers for at times"), "{held}");
    assert_eq!(limit(0).rule, None);
}

#[test]
fn work_of_one_end_is_the_limit_of_round_trips_that_are_mostly_that() {
    // Ten thousand round trips; so long the kernel works in the calls of each end for one.
    let of = |asks_us: u64, answers_us: u64, p50_us: u64| {
        let mut study = crate::measured::testing::trips(p50_us);
        read(&mut study, "cpu", "cpu0.softirq_ns", 100_000_000);
        read(&mut study, "softnet", "processed_packets", 20_000);
        for record in &mut study.records {
            for (role, us) in [(Role::Sender, asks_us), (Role::Receiver, answers_us)] {
                let end = record.of_mut(role).next().expect("an end");
                end.flows[0].messages = 10_000;
                end.threads[0].system_ns = Nanos(10_000_000 * us);
            }
        }
        let limit = limit_of(&study, &[]);
        (limit.what, limit.sureness)
    };
    let named = |end: &str| format!("the kernel's work for each packet (at the {end})");
    // 28 us more than at the other end: half of 56.
    assert_eq!(of(46, 18, 56), (named("sender"), Sureness::Counted));
    assert_eq!(of(18, 46, 56), (named("receiver"), Sureness::Counted));
    assert_eq!(of(46, 18, 60), (named("sender"), Sureness::Possible), "a part of it");
    assert!(!of(46, 18, 120).0.contains("the kernel's work"), "less than a quarter");
}

#[test]
fn flows_that_share_all_cpus_are_too_many_and_others_need_one_of_their_own() {
    use narrows_model::host::{Cpu, Host};
    let host = |allowed: Option<u32>, online: u32| {
        let fact = |cpus: u32| Fact::known((0..cpus).collect::<Vec<u32>>(), "test");
        let allowed = allowed.map_or(Fact::absent("test"), fact);
        Host { cpu: Cpu { allowed, online: fact(online), ..Cpu::default() }, ..Host::default() }
    };
    let of = |flows: u32, here: Host, there: Host| {
        let mut study = stream("tcp-stream");
        study.trials[0].params.streams = flows;
        (study.host, study.peer_hosts) = (here, vec![there]);
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.threads[0].system_ns = end.report.threads[0].wall_ns;
        }
        limit_of(&study, &[]).action.expect("a full CPU says what to do")
    };
    let large = || host(Some(16), 16);
    for (action, why) in [
        (of(4, host(Some(4), 16), large()), "a container of four CPUs here"),
        (of(4, large(), host(Some(4), 16)), "one there"),
        (of(4, host(None, 2), large()), "two CPUs"),
    ] {
        assert!(action.starts_with("fewer flows (-P)"), "{why}: {action}");
    }
    for (action, why) in [
        (of(4, host(Some(5), 16), large()), "one CPU more than flows"),
        (of(1, host(Some(1), 1), large()), "one flow"),
        (of(4, Host::default(), Host::default()), "nobody knows how many"),
    ] {
        assert!(action.starts_with("give the end a CPU that nobody else uses"), "{why}: {action}");
    }
}

#[test]
fn datagrams_that_fill_a_small_mtu_are_held_by_that_and_not_by_their_own_size() {
    let of = |message_bytes: u64, mtu_bytes: u64, pace: Option<u64>| {
        let mut study = stream("udp-stream");
        study.trials[0].params.message_bytes = Bytes(message_bytes);
        study.trials[0].params.rate_bps = pace;
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.path_mtu_bytes = Some(Bytes(mtu_bytes));
            end.report.flows[0].messages = 600_000;
        }
        let limit = limit_of(&study, &[]);
        (limit.rule.unwrap_or_default(), limit.what)
    };
    let small = "the path's or a route's small MTU, which datagrams fill,";
    assert_eq!(of(572, 600, None), ("segment-size".to_owned(), small.to_owned()));
    assert_eq!(of(500, 600, None).0, "message-size", "larger ones would pass");
    assert_eq!(of(572, 1500, None).0, "message-size", "no small MTU");
    assert_eq!(of(572, 600, Some(10_000_000_000)).1, "the requested pace");
}
