//! Limits that another stream beside a cell tells of, or traffic that is not its own.

use super::*;
use crate::beside::testing::with_beside;
use narrows_model::load::Params;
use narrows_model::trial::EndSpec;

/// What holds each of two streams.
fn both(study: &StoredStudy) -> [Limit; 2] {
    let summaries = narrows_stats::summarise(study);
    let case = Case { study, summaries: &summaries, predictions: &[] };
    limits(&case, &judge(&case)).try_into().expect("two cells")
}

/// A stream whose rows of losses are a policer's, and one that moves so many times as much, of
/// whose hundred thousand segments so many are lost, one at a time.
fn beside_policed(change: impl FnOnce(&mut Params), times: f64, lost: u64) -> StoredStudy {
    let mut study = stream("tcp-stream");
    slices(&mut study, &[125_000_000; 10]);
    for (key, value) in [
        ("sent_segments", 100_000),
        ("retransmitted_segments", 9_000),
        ("rtt_min_ns", 10_000),
        ("rtt_ns", 100_000),
        ("lowest:rtt_ns", 100_000),
        ("highest:rtt_ns", 100_000),
    ] {
        read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
    }
    for (key, count) in [("TCPSackRecovery", 300), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)] {
        read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
    }
    let first = study.records.len();
    with_beside(&mut study, change, times);
    for end in study.records.iter_mut().skip(first).flat_map(|run| run.of_mut(Role::Sender)) {
        end.readings.put_words("tcp-info", "flow0.retransmitted_segments", lost);
        end.readings.put_words("netstat", "TcpExt.TCPSackRecovery_events", lost);
    }
    study
}

#[test]
fn a_policer_holds_what_loses_at_its_rate_under_another_congestion_control() {
    let rules = |study: &StoredStudy| both(study).map(|limit| limit.rule.unwrap_or_default());
    let bbr = |params: &mut Params| params.congestion = Some("bbr".into());
    let of = |times: f64, lost: u64| rules(&beside_policed(bbr, times, lost));
    for times in [0.65, 0.8, 1.1] {
        assert_eq!(of(times, 2_000), ["path-policed"; 2], "{times} of the policer's rate");
    }
    for (study, why) in [
        (beside_policed(bbr, 0.5, 2_000), "half of that rate: something else holds it"),
        (beside_policed(bbr, 1.3, 2_000), "more than the policer passes"),
        (beside_policed(bbr, 0.8, 50), "it loses next to nothing"),
        (beside_policed(|params| params.streams = 4, 0.8, 2_000), "four flows"),
        (beside_policed(|params| params.rate_bps = Some(9_000_000_000), 0.8, 2_000), "a pace"),
    ] {
        let [first, second] = rules(&study);
        assert_eq!(first, "path-policed", "{why}");
        assert_ne!(second, "path-policed", "{why}");
    }
    let mut back = beside_policed(bbr, 0.8, 2_000);
    back.trials[1].ends = EndSpec::anywhere(true);
    assert_ne!(rules(&back)[1], "path-policed", "the other direction");
}

/// A stream of eight flows, of which full queues take some of each, beside one whose congestion
/// control ignores losses, with so many flows, of which two lose all that is lost.
fn beside_a_bad_member(flows: u32, lost: u64) -> [Option<String>; 2] {
    let mut study = stream("tcp-stream");
    study.trials[0].params.streams = 8;
    for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
        end.flows = vec![end.flows[0].clone(); 8];
    }
    for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
        end.flows = vec![end.flows[0].clone(); 8];
    }
    for flow in 0..8 {
        read(&mut study, "tcp-info", &format!("flow{flow}.sent_segments"), 10_000);
        read(&mut study, "tcp-info", &format!("flow{flow}.retransmitted_segments"), lost);
    }
    let first = study.records.len();
    let change = |params: &mut Params| {
        (params.congestion, params.streams) = (Some("bbr".into()), flows);
    };
    with_beside(&mut study, change, 1.0);
    for end in study.records.iter_mut().skip(first).flat_map(|run| run.of_mut(Role::Sender)) {
        end.effective.congestion = Some("bbr".into());
        for flow in 0..8 {
            let lost = if flow < 2 { 800 } else { 0 };
            let key = format!("flow{flow}.retransmitted_segments");
            end.readings.put_words("tcp-info", &key, lost);
        }
    }
    both(&study).map(|limit| limit.rule)
}

#[test]
fn a_bad_member_that_another_control_shows_holds_a_stream_that_loses_too() {
    let name = Some("path-bad-member".to_owned());
    assert_eq!(beside_a_bad_member(8, 90), [name.clone(), name.clone()]);
    let [own, other] = beside_a_bad_member(8, 1);
    assert!(own != name && other == name, "it loses next to nothing: {own:?}, {other:?}");
    assert_ne!(beside_a_bad_member(4, 90)[0], name, "another number of flows");
}

#[test]
fn what_a_proxy_sends_once_more_is_no_others_traffic() {
    use crate::measured::testing::read_receiver;
    // The sender's interface sends more than twice what the flow has: a program beside it, or the
    // proxy's own connection, which has taken the window of the first.
    let of = |window_bytes: u64| {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.effective.interface = Some("e0".into());
            end.readings.put_words("interface", "e0.tx_bytes", 3_000_000_000);
        }
        for key in ["opening:send_window_bytes", "highest:send_window_bytes"] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), window_bytes);
        }
        read(&mut study, "tcp-info", "flow0.send_window_bytes", 0);
        read(&mut study, "tcp-info", "flow0.receive_window_bytes", 64_512);
        read_receiver(&mut study, "tcp-info", "flow0.receive_window_bytes", 92_160);
        read_receiver(&mut study, "socket", "flow0.highest:waiting_bytes", 0);
        let limit = limit_of(&study, &[]);
        (limit.rule.unwrap_or_default(), limit.sureness)
    };
    assert_eq!(of(92_160), ("other-traffic".to_owned(), Sureness::Counted));
    assert_eq!(of(0), ("path-proxy".to_owned(), Sureness::Inferred));
}

/// What comes second to a link that a stream fills, where a queue too short for bursts was found
/// in another one, which sends the other way or the same.
fn beside_short_queue(is_back: bool) -> Option<Second> {
    use crate::evidence::evidence;
    use narrows_model::result::{Verdict, Weight};
    let mut study = shaped();
    with_beside(&mut study, |params| params.congestion = Some("cubic".into()), 0.5);
    study.trials[1].ends = EndSpec::anywhere(is_back);
    let summaries = narrows_stats::summarise(&study);
    let case = Case { study: &study, summaries: &summaries, predictions: &[] };
    let mut judged = judge(&case);
    let finding = Finding {
        rule: names::PATH_SHORT_QUEUE.to_owned(),
        weight: Weight::Advice,
        says: "planted".to_owned(),
        evidence: vec![evidence("planted", "3 runs of tcp-stream beside")],
        worth: None,
        remedy: String::new(),
    };
    let of = judged.iter_mut().find(|one| one.rule == names::PATH_SHORT_QUEUE).expect("a rule");
    of.verdict = Verdict::Found { findings: vec![finding] };
    let [first, other] = limits(&case, &judged).try_into().expect("two cells");
    assert_eq!(first.rule.as_deref(), Some("path-capacity"), "{first}");
    assert_eq!(other.rule.as_deref(), Some("path-short-queue"), "{other}");
    assert_eq!(other.second, None, "it stands first there");
    first.second
}

#[test]
fn a_short_queue_comes_second_to_a_link_that_a_paced_stream_fills() {
    let second = beside_short_queue(false).expect("the same way");
    assert_eq!(second.rule, "path-short-queue");
    assert!(second.says.contains("too short for the bursts of streams that do not pace"));
    assert_eq!(beside_short_queue(true), None, "the queue of the other way");
}

#[test]
fn a_stream_that_waits_for_its_timer_loses_the_answers_that_another_loses() {
    use crate::measured::testing::read_receiver;
    // The first moves too little to count answers by; of the second three of ten did not come.
    let of = |timeouts: u64, is_back: bool| {
        let mut study = stream("tcp-stream");
        for (key, value) in [("timeouts_events", timeouts), ("received_segments", 20)] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 30);
        let first = study.records.len();
        with_beside(&mut study, |params| params.congestion = Some("cubic".into()), 4.0);
        for run in study.records.iter_mut().skip(first) {
            for (role, key, count) in
                [(Role::Receiver, "sent", 10_000), (Role::Sender, "received", 7_000)]
            {
                for end in run.of_mut(role) {
                    end.readings.put_words("tcp-info", &format!("flow0.{key}_segments"), count);
                }
            }
        }
        if is_back {
            study.trials[1].ends = EndSpec::anywhere(true);
        }
        both(&study)[0].rule.clone().unwrap_or_default()
    };
    assert_eq!(of(1, false), "acknowledgements-lost");
    assert_ne!(of(0, false), "acknowledgements-lost", "it waits for nothing");
    assert_ne!(of(1, true), "acknowledgements-lost", "the other direction");
}
