//! Planted causes that show in the records of runs, and the same runs without them.

mod common;

use common::{bare, found, is_clear, known, study, verdict};
use narrows_explain::{Case, judge, limits};
use narrows_model::load::{EndReport, FlowTally, Params, Role, ThreadUsage, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::Verdict;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{Bytes, Nanos};

fn trial(label: &str) -> Trial {
    let span = Nanos(1_000_000_000);
    Trial {
        id: TrialId(label.into()),
        label: label.into(),
        kind: "tcp-stream".into(),
        params: Params::of_network(Bytes::kib(64), 1),
        ends: EndSpec::pair(Placement::on([1]), Placement::on([0]), false),
        path: NetworkPath::Namespaces,
        timeline: Timeline {
            warmup_ns: span,
            window_ns: span,
            cooldown_ns: span,
            interval_ns: None,
        },
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

/// A run of one second that moved so many bytes, with a share of the host's CPU taken by others.
fn record(label: &str, repeat: u32, bytes: u64, congestion: &str, foreign: f64) -> Record {
    let mut end = EndReport { window_ns: Nanos(1_000_000_000), ..Default::default() };
    end.flows = vec![FlowTally { bytes: Bytes(bytes), ..Default::default() }];
    end.effective.congestion = Some(congestion.into());
    let mut around = Stamp { own_cpu_ns: Nanos(1_000_000), ..Default::default() };
    let busy = 1_000_000 + (foreign * 10_000_000.0) as u64;
    let cpu = [("user", busy), ("system", 0), ("idle", 10_000_000 - busy)];
    for (state, ns) in cpu {
        around.host.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
    }
    Record {
        trial: TrialId(label.into()),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: Reported::list(Some(Box::new(end.clone())), Some(Box::new(end)), None),
        around,
        session: 0,
        external: None,
    }
}

/// Two trials, the second so many times as fast.
fn compared(gain: f64) -> StoredStudy {
    let mut host = bare();
    host.tuning.insert("net.ipv4.tcp_congestion_control".into(), known("bbr".into()));
    let mut study = study(host);
    // Its label says nothing: what was asked for does.
    let mut other = trial("another");
    other.params.congestion = Some("cubic".into());
    study.trials = vec![trial("tcp-stream"), other];
    for repeat in 0..6 {
        let bytes = 1_000_000_000 + u64::from(repeat) * 1_000_000;
        let faster = (bytes as f64 * gain) as u64;
        study.records.push(record("tcp-stream", repeat, bytes, "bbr", 0.0));
        study.records.push(record("another", repeat, faster, "cubic", 0.0));
    }
    study
}

#[test]
fn a_default_that_costs_throughput_is_found_with_what_a_change_is_worth() {
    let findings = found(&compared(3.0), "congestion-control");
    let worth = findings[0].worth.expect("worth");
    assert!((2.9..3.1).contains(&worth.value), "{worth:?}");
    assert!(findings[0].remedy.contains("tcp_congestion_control=cubic"));
    assert!(is_clear(&compared(1.02), "congestion-control"));
    assert!(is_clear(&compared(0.5), "congestion-control"));
    // Asked for cubic, got bbr: nothing was compared.
    let mut same = compared(3.0);
    for record in &mut same.records {
        for end in record.reports.iter_mut().map(|one| &mut *one.report) {
            end.effective.congestion = Some("bbr".into());
        }
    }
    assert!(matches!(verdict(&same, "congestion-control"), Verdict::Unknown { .. }));
}

#[test]
fn a_default_that_another_outpaces_is_the_bottleneck_and_not_what_it_loses() {
    let limit_of = |gain: f64| {
        let mut study = compared(gain);
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            for (name, count) in [("sent_segments", 1_000_000), ("retransmitted_segments", 2_000)] {
                let key = format!("flow0.{name}");
                end.report.readings.put_words("tcp-info", &key, count);
            }
        }
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let mut all = limits::limits(&case, &judge(&case));
        all.retain(|limit| limit.cell == "tcp-stream");
        all.remove(0).rule
    };
    assert_eq!(limit_of(3.0).as_deref(), Some("congestion-control"));
    assert_ne!(limit_of(1.02).as_deref(), Some("congestion-control"));
}

#[test]
fn noise_is_found_when_a_fifth_of_the_runs_had_it() {
    for (noisy_runs, is_found) in [(0, false), (2, false), (3, true), (6, true)] {
        let mut study = compared(1.0);
        for record in study.records.iter_mut().take(noisy_runs) {
            *record = self::record("tcp-stream", record.repeat, 1, "bbr", 0.3);
        }
        let found = matches!(verdict(&study, "noisy-host"), Verdict::Found { .. });
        assert_eq!(found, is_found, "{noisy_runs} of {} runs", study.records.len());
    }
}

/// A stream to another host whose receiver used this share of its CPU.
fn to_a_peer(busy: f64) -> StoredStudy {
    beside_others(busy, 0.0)
}

/// The same beside processes that used this share of the host.
fn beside_others(busy: f64, others: f64) -> StoredStudy {
    let mut study = study(bare());
    study.trials = vec![Trial { path: NetworkPath::Peer, ..trial("tcp-stream") }];
    for repeat in 0..6 {
        let mut record = record("tcp-stream", repeat, 1_000_000_000, "cubic", others);
        let usage = |share: f64| ThreadUsage {
            wall_ns: Nanos(1_000_000_000),
            user_ns: Nanos((share * 1e9) as u64),
            ..ThreadUsage::default()
        };
        for one in &mut record.reports {
            let share = if one.role == Role::Receiver { busy } else { 0.5 };
            one.report.threads = vec![usage(share)];
        }
        study.records.push(record);
    }
    study
}

#[test]
fn a_full_thread_is_named_and_an_idle_one_is_not() {
    let found = verdict(&to_a_peer(0.99), "generator-bound");
    let Verdict::Found { findings } = &found else { panic!("{found:?}") };
    assert!(findings[0].says.contains("receiver's thread filled its CPU"), "{}", findings[0].says);
    let clear = verdict(&to_a_peer(0.6), "generator-bound");
    assert!(matches!(clear, Verdict::Clear { .. }), "{clear:?}");
}

#[test]
fn a_noisy_host_says_who_waited_for_a_cpu_and_what_it_is_bound_to() {
    let mut study = beside_others(0.2, 0.3);
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        end.threads[0].waited_ns = Some(Nanos(700_000_000));
    }
    let mut peer = bare();
    peer.cpu.online = known(vec![0, 1]);
    peer.cpu.allowed = known(vec![1]);
    study.peer_hosts = vec![peer];
    let found = verdict(&study, "noisy-host");
    let Verdict::Found { findings } = &found else { panic!("{found:?}") };
    let wanted = "in tcp-stream the receiver waited for a CPU 70 % of the time, bound to CPU 1 \
    at the peer";
    assert!(findings[0].says.contains(wanted), "{}", findings[0].says);
}

/// A thousand round trips in a second, of which 100,000 B came to this end and 10,000 B went, by an
/// interface that received so many bytes.
fn trips(of: Role, received: u64) -> Verdict {
    let mut study = study(bare());
    let mut rr = Trial { path: NetworkPath::Peer, ..trial("tcp-rr") };
    rr.kind = "tcp-rr".into();
    rr.ends = EndSpec::pair(Placement::on([1]), Placement::on([0]), false);
    let (asks, answers) = if of == Role::Receiver { (100_000, 10_000) } else { (10_000, 100_000) };
    rr.params = Params::of_network(Bytes(asks), 1);
    rr.params.trip.get_or_insert_default().response_bytes = Some(Bytes(answers));
    study.trials = vec![rr];
    for repeat in 0..6 {
        let mut record = record("tcp-rr", repeat, 1000 * asks, "cubic", 0.0);
        for end in record.of_mut(of) {
            end.flows[0].messages = 1000;
            end.flows[0].sends = of == Role::Sender;
            end.effective.interface = Some("e0".into());
            end.readings.put_words("interface", "e0.rx_bytes", received);
            end.readings.put_words("tcp-info", "flow0.received_segments", 1000);
        }
        study.records.push(record);
    }
    verdict(&study, "other-traffic")
}

/// What comes in at the one end are the requests, at the other the answers, each maybe sent again.
#[test]
fn what_comes_in_for_round_trips_is_their_own() {
    for of in [Role::Receiver, Role::Sender] {
        let times = |times: f64| trips(of, (times * 1e8) as u64);
        let clear = times(1.25);
        assert!(matches!(clear, Verdict::Clear { .. }), "{of:?}: {clear:?}");
        let found = times(2.5);
        assert!(matches!(found, Verdict::Found { .. }), "{of:?}: {found:?}");
    }
}
