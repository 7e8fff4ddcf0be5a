//! Latency under load of runs whose every round trip is known: phases by when loads were on, the
//! moments between left out, percentiles, rises, grades, round trips a minute.

mod loaded;

use loaded::{MS, Took, known, study};
use narrows_model::Nanos;
use narrows_model::result::Method;
use narrows_stats::{Grade, LoadedLatency, Phase, latency};

fn of(repeats: u32, took_ms: Took) -> LoadedLatency {
    latency(&study(repeats, took_ms)).expect("latency under load")
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
fn a_rise_is_the_difference_of_the_medians_that_stand_beside_it() {
    // Of five slices one takes 100 ms throughout; of the others just more than half takes 2 ms.
    let latency = of(1, |at| {
        let is_up = (6000..11_000).contains(&at);
        let is_long = at / 250 % 5 == 0 || at % 250 >= 135;
        Some(if is_up && is_long { 100 } else { 2 })
    });
    let up = latency.of(Phase::Up).expect("up");
    let p50 = up.times.and_then(|times| times.p50_ns).expect("p50");
    let rise = up.median_rise.expect("a rise");
    // The median of the slices' medians is 2 ms, no longer than idle.
    assert_eq!((p50, rise.value), (Nanos(100 * MS), 98e6));
    assert_eq!((rise.low, rise.high), (0.0, 98e6));
    assert_eq!(rise.by, Method::Range, "no interval of the slices reaches it");
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
