//! Latency under load of runs whose every round trip is known: phases by when loads were on, the
//! moments between left out, percentiles, rises, grades, round trips a minute.

use narrows_model::host::Host;
use narrows_model::load::{EndReport, Params, Role, StreamParams, Timeline};
use narrows_model::options::{runs, trips};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::Method;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_stats::{Grade, LoadedLatency, Phase, latency};

const MS: u64 = 1_000_000;
/// The window of the round trips opened then, by the host's clock.
const OPENED: u64 = 77_000 * MS;
/// Seconds of a phase, and of the moments between.
const PHASE_MS: u64 = 5000;
const SETTLE_MS: u64 = 1000;

fn trial(label: &str, kind: Workload, reverse: bool) -> Trial {
    let mut params = Params::of_network(Bytes(64), 1);
    if kind.is_round_trip() {
        params.told.tell(&trips::OVERLAP, true);
    } else {
        params.told.tell(&runs::AFTER, 1.0);
        params.stream = Some(StreamParams { reverse, ..StreamParams::default() });
    }
    let settle = if kind.is_round_trip() { 0 } else { SETTLE_MS * MS };
    Trial {
        id: TrialId(label.into()),
        label: label.into(),
        kind,
        params,
        ends: EndSpec::anywhere(reverse),
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(settle), Nanos(1), Nanos(0)),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

/// A run of the trial whose window at this host was then, from the opening of the round trips'.
fn record(trial: &Trial, repeat: u32, (from_ms, until_ms): (u64, u64)) -> Record {
    let report = EndReport {
        opened_ns: Nanos(OPENED + from_ms * MS),
        window_ns: Nanos((until_ms - from_ms) * MS),
        ..EndReport::default()
    };
    // The far end's clock is another.
    let far = EndReport { opened_ns: Nanos(5), ..report.clone() };
    let here = if trial.params.is_reverse() { Role::Receiver } else { Role::Sender };
    let there = if trial.params.is_reverse() { Role::Sender } else { Role::Receiver };
    let of = |role, report| Reported { role, report: Box::new(report), span: None };
    Record {
        trial: trial.id.clone(),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: vec![of(here, report), of(there, far)],
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

/// What a round trip takes that is due then, in milliseconds.
type Took = fn(u64) -> Option<u64>;

/// Phases of 5 s: idle to 5, up from 6, both from 12, down from 18, after from 24, each 5 s.
fn study(repeats: u32, took_ms: Took) -> StoredStudy {
    let trials = vec![
        trial("round trips", Workload::UDP_RR, false),
        trial("streams up", Workload::TCP_STREAM, false),
        trial("streams down", Workload::TCP_STREAM, true),
    ];
    let step = PHASE_MS + SETTLE_MS;
    let mut records = Vec::new();
    for repeat in 0..repeats {
        let mut probe = record(&trials[0], repeat, (0, 5 * PHASE_MS + 4 * SETTLE_MS));
        let sender = probe.of_mut(Role::Sender).next().expect("a sender");
        let due = (0..sender.window_ns.0 / MS).step_by(5);
        let ms = |ms: u64| Nanos(ms * MS);
        sender.each_round_trip = due.map(|at| (ms(at), took_ms(at).map(ms))).collect();
        records.push(probe);
        records.push(record(&trials[1], repeat, (step, step + 2 * PHASE_MS + SETTLE_MS)));
        records.push(record(&trials[2], repeat, (2 * step, 2 * step + 2 * PHASE_MS + SETTLE_MS)));
    }
    let mut study = StoredStudy { trials, records, ..StoredStudy::unmeasured(Host::default()) };
    study.study.repeats = repeats;
    study
}

fn of(repeats: u32, took_ms: Took) -> LoadedLatency {
    latency(&study(repeats, took_ms)).expect("latency under load")
}

/// 2 ms idle, 92 up, 122 both ways, 12 down; a second each of nonsense between.
fn known(at: u64) -> Option<u64> {
    Some(match at {
        0..5000 | 24_000.. => 2,
        6000..11_000 => 92,
        12_000..17_000 => 122,
        18_000..23_000 => 12,
        _ => 7000,
    })
}

#[test]
fn each_phase_has_its_round_trips_and_the_moments_between_are_left_out() {
    let latency = of(1, known);
    let told = latency.phases.iter().map(|one| {
        let times = one.times.expect("times");
        assert_eq!((times.min_ns, times.max_ns), (times.p50_ns.expect("p50"), times.min_ns));
        (one.phase.word(), one.requests, times.min_ns.0 / MS, one.from_ns.0 / MS)
    });
    let wanted = [
        ("idle", 1000, 2, 0),
        ("up", 1000, 92, 6000),
        ("both", 1000, 122, 12_000),
        ("down", 1000, 12, 18_000),
        ("after", 1000, 2, 24_000),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
    let rise = |phase| latency.of(phase).and_then(|one| one.median_rise).map(|rise| rise.value);
    let rises = [Phase::Idle, Phase::Up, Phase::Both, Phase::Down, Phase::After].map(rise);
    assert_eq!(rises, [None, Some(90e6), Some(120e6), Some(10e6), Some(0.0)]);
    let grade = |phase| latency.of(phase).and_then(|one| one.grade);
    assert_eq!([Phase::Up, Phase::Down].map(grade), [Some(Grade::C), Some(Grade::A)]);
    assert_eq!([Phase::Idle, Phase::After].map(grade), [None, None], "no load, no grade");
    assert_eq!((latency.grade, latency.worst), (Some(Grade::C), Some(Phase::Both)));
    // 60 s / 122 ms.
    assert!((latency.per_minute.expect("trips") - 491.8).abs() < 0.1);
    assert_eq!(latency.slices.len(), 29 * 4);
    assert_eq!(latency.slices[4 * 5].median_ns, Some(Nanos(7000 * MS)), "drawn all the same");
}

#[test]
fn percentiles_are_ranks_and_need_ten_beyond() {
    // 1 to 1000 ms in each phase: the rank is the value.
    let latency = of(1, |at| Some(1 + at % 6000 / 5));
    let times = latency.of(Phase::Up).and_then(|one| one.times).expect("times");
    let told = [times.p50_ns, times.p90_ns, times.p99_ns].map(|ns| ns.map(|ns| ns.0 / MS));
    assert_eq!(told, [Some(500), Some(900), Some(990)]);
    assert_eq!((times.min_ns.0 / MS, times.max_ns.0 / MS), (1, 1000));
    // Every other one lost leaves five beyond the 99th.
    let thin = of(1, |at| (at % 10 == 0).then_some(3));
    let times = thin.of(Phase::Up).and_then(|one| one.times).expect("times");
    assert_eq!((times.p90_ns, times.p99_ns), (Some(Nanos(3 * MS)), None));
}

#[test]
fn intervals_are_over_slices_of_few_runs_and_over_runs_of_many() {
    let latency = of(1, known);
    let up = latency.of(Phase::Up).expect("up");
    let rise = up.median_rise.expect("a rise");
    assert_eq!((rise.n, rise.by), (20, Method::MedianOrderStatistic), "5 s of quarter seconds");
    assert_eq!(up.p99_rise.expect("p99").by, Method::Range);
    let many = of(6, known);
    assert_eq!(many.runs, 6);
    let rise = many.of(Phase::Up).and_then(|one| one.median_rise).expect("a rise");
    assert_eq!((rise.n, rise.by, rise.value), (6, Method::MedianOrderStatistic, 90e6));
}

#[test]
fn a_path_that_loses_most_under_load_fails_whatever_the_rest_took() {
    let latency =
        of(1, |at| if (6000..11_000).contains(&at) && at % 50 != 0 { None } else { Some(2) });
    let up = latency.of(Phase::Up).expect("up");
    assert_eq!((up.requests, up.unanswered, up.grade), (1000, 900, Some(Grade::F)));
    assert_eq!((latency.grade, latency.worst), (Some(Grade::F), Some(Phase::Up)));
}

#[test]
fn a_study_of_anything_else_has_none() {
    let mut other = study(1, known);
    other.trials.truncate(2);
    assert_eq!(latency(&other), None);
    // Nor one whose runs failed.
    let mut failed = study(1, known);
    failed.records.truncate(2);
    assert_eq!(latency(&failed), None);
}
