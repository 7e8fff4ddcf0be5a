//! Limits of windows, buffers and paces.

use super::*;

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
fn a_queue_that_is_far_longer_than_the_path_is_said_with_the_link_before_which_it_stands() {
    let of = |waits_ms: u64, path_us: u64| {
        let mut study = super::shaped();
        for (key, value) in [
            ("rtt_min_ns", 1_000 * path_us),
            ("rtt_ns", 1_000_000 * waits_ms),
            ("lowest:rtt_ns", 1_000_000 * waits_ms),
            ("highest:rtt_ns", 1_000_000 * waits_ms),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        limit_of(&study, &[]).what
    };
    let deep = of(400, 10_000);
    assert!(deep.contains("behind a queue of 390 ms"), "{deep}");
    assert!(!of(90, 10_000).contains("behind a queue"), "as long as paths need");
    assert!(!of(400, 200_000).contains("behind a queue"), "no longer than the path");
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

/// A stream under bbr, and one under cubic that moves 1.4 times as much.
fn two_controls(change: impl Fn(&mut StoredStudy)) -> Limit {
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
    change(&mut study);
    let summaries = narrows_stats::summarise(&study);
    let case = Case { study: &study, summaries: &summaries, predictions: &[] };
    limits(&case, &judge(&case)).remove(0)
}

#[test]
fn a_full_buffer_is_named_before_a_congestion_control_that_does_more_with_it() {
    let of = |full_percent: u64, waited_percent: u64| {
        two_controls(|study| {
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                let waited = end.threads[0].wall_ns.0 / 100 * waited_percent;
                end.threads[0].waited_ns = Some(Nanos(waited));
            }
            let full = full_percent * 10_000_000;
            read(study, "tcp-info", "flow0.limited_by_send_buffer_ns", full);
            read(study, "tcp-info", "flow0.limited_by_receive_window_ns", 0);
        })
    };
    let rule = |full, waited| of(full, waited).rule;
    assert_eq!(rule(75, 0).as_deref(), Some("send-buffer"));
    assert_eq!(rule(0, 0).as_deref(), Some("congestion-control"));
    assert_eq!(of(0, 0).second, None, "it stands first");
    assert_eq!(rule(0, 20).as_deref(), Some("congestion-control"), "it had its CPU");
    for waited in [40, 60] {
        let limit = of(0, waited);
        assert_eq!(limit.rule, None, "the sender's thread, which waited for a CPU");
        assert!(limit.to_string().ends_with("second: cubic moves 1.4 times what bbr does"));
    }
}

#[test]
fn what_also_holds_the_faster_congestion_control_is_named_first() {
    // Of a million segments so many were lost, over a round trip of 50 us.
    let of = |again: u64| {
        let limit = two_controls(|study| {
            for (key, value) in [
                ("sent_segments", 1_000_000),
                ("retransmitted_segments", again),
                ("send_mss_bytes", 1448),
                ("rtt_min_ns", 50_000),
                ("rtt_ns", 50_000),
                ("limited_by_receive_window_ns", 0),
            ] {
                read(study, "tcp-info", &format!("flow0.{key}"), value);
            }
        });
        (limit.rule, limit.second.is_some())
    };
    assert_eq!(of(2_000), (Some("tcp-retransmits".into()), true), "it allows cubic 6 Gb/s");
    assert_eq!(of(20), (Some("congestion-control".into()), false), "next to nothing is lost");
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

#[test]
fn a_window_that_opens_slowly_is_named_where_nothing_else_holds_the_stream() {
    let of = |segments: u64, again: u64| {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("rtt_min_ns", 40_000_000),
            ("rtt_ns", 40_000_000),
            ("lowest:rtt_ns", 40_000_000),
            ("highest:rtt_ns", 40_000_000),
            ("send_mss_bytes", 1448),
            ("sent_segments", 863_000),
            ("retransmitted_segments", again),
            ("opening:congestion_window_segments", segments - segments / 10),
            ("congestion_window_segments", segments),
            ("busy_ns", 990_000_000),
            ("limited_by_receive_window_ns", 0),
            ("limited_by_send_buffer_ns", 0),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        limit_of(&study, &[])
    };
    // 1.25 GB/s for 40 ms are 34,530 segments.
    let window = of(34_000, 0);
    assert!(window.what.contains("TCP's congestion window (34000 segments)"), "{window}");
    assert!(window.action.as_deref().is_some_and(|it| it.contains("--warm-up 10")), "{window:?}");
    for (other, why) in
        [(of(340_000, 0), "it lets ten times as much travel"), (of(34_000, 900), "lost")]
    {
        assert!(!other.what.contains("TCP's congestion window"), "{why}: {other}");
    }
}

#[test]
fn window_scaling_that_something_strips_holds_what_fills_such_a_window() {
    let of = |bytes: u64| {
        let mut study = shaped();
        let scaling = Fact::known("1".to_owned(), "test");
        study.host.tuning.insert("net.ipv4.tcp_window_scaling".to_owned(), scaling);
        study.peer_hosts = vec![study.host.clone()];
        for (key, value) in [
            ("agreed_options", 3),
            ("rtt_ns", 10_000_000),
            ("lowest:rtt_ns", 10_000_000),
            ("highest:rtt_ns", 10_000_000),
            ("retransmitted_segments", 0),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.flows[0].bytes.0 = bytes;
        }
        slices(&mut study, &[bytes / 10; 10]);
        limit_of(&study, &[])
    };
    // 24 kB in each round trip of 10 ms, of 64 KiB.
    let stripped = of(2_400_000);
    assert_eq!(stripped.rule.as_deref(), Some("tcp-options-removed"), "{stripped}");
    assert!(stripped.what.contains("strips window scaling"), "{stripped}");
    assert_ne!(of(8_000_000).rule.as_deref(), Some("tcp-options-removed"), "more than it allows");
}
