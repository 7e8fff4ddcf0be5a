//! What a memory job and traffic cost each other is told where it can be, and left open where it
//! cannot.

mod beside;

use beside::{CORE, EVEN, Planted, red, simulated};
use narrows_model::Nanos;
use narrows_model::load::Role;
use narrows_model::trial::Trial;
use narrows_stats::{NeighbourTest, Open, Slower, neighbours};

fn of(planted: &Planted) -> Vec<NeighbourTest> {
    neighbours(&simulated(12, planted, 11))
}

#[test]
fn what_is_planted_is_told_with_its_size_and_its_turn() {
    let planted = Planted { traffic: red, job: |cores| 1.2 + 0.05 * f64::from(cores), ..EVEN };
    let tests = of(&planted);
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["TCP, sent", "TCP, received"]);
    for test in &tests {
        assert_eq!(test.regime, Slower::Traffic { from_cores: 4, with_job: true });
        assert_eq!(test.job.to_string(), "memory-copy");
        for step in &test.steps {
            let job = step.job.expect("a job");
            for (truth, times) in [
                ((planted.traffic)(step.cores), step.traffic.times),
                ((planted.job)(step.cores), job.times),
            ] {
                assert!(times.low <= truth && truth <= times.high, "{truth} in {times:?}");
            }
        }
        let first = &test.steps[0];
        assert_eq!((first.cores, first.regime), (1, Slower::Job));
        let alone = first.job_alone.expect("a rate").value / CORE;
        assert!((0.9..1.1).contains(&alone), "what one core moves alone: {alone}");
    }
}

#[test]
fn a_job_that_alone_suffers_is_blue_and_nobody_that_suffers_is_neither() {
    let blue = of(&Planted { job: |_| 1.3, ..EVEN });
    assert!(blue.iter().all(|test| test.regime == Slower::Job), "{blue:?}");
    let neither = of(&EVEN);
    assert!(neither.iter().all(|test| test.regime == Slower::Neither), "{neither:?}");
    // The traffic alone is hurt: it has the smaller share of what waits.
    let traffic = of(&Planted { traffic: |_| 1.4, ..EVEN });
    let wanted = Slower::Traffic { from_cores: 1, with_job: false };
    assert!(traffic.iter().all(|test| test.regime == wanted), "{traffic:?}");
}

#[test]
fn what_else_makes_both_slower_leaves_it_open() {
    let both = Planted { traffic: |_| 1.5, job: |_| 1.5, ..EVEN };
    let open = |planted: Planted| of(&planted)[0].regime;
    assert_eq!(open(Planted { waited: 0.3, ..both }), Slower::Open(Open::CpuShared));
    assert_eq!(open(Planted { softirq: 0.2, ..both }), Slower::Open(Open::InterruptsShared));
    let idle = Planted { scale: |cores| f64::from(cores), ..EVEN };
    assert_eq!(open(idle), Slower::Open(Open::NotLoaded), "five cores move what five do");
    let few = neighbours(&simulated(4, &both, 3));
    assert_eq!(few[0].regime, Slower::Open(Open::FewRuns));
    // Two ends of the traffic on one CPU wait for each other, and the job for nobody.
    let mut ends = simulated(12, &both, 5);
    for record in &mut ends.records {
        for role in [Role::Sender, Role::Receiver] {
            for thread in record.of_mut(role).flat_map(|end| &mut end.threads) {
                thread.waited_ns = Some(Nanos(400_000_000));
            }
        }
    }
    assert_ne!(neighbours(&ends)[0].regime, Slower::Open(Open::CpuShared));
    // Where it was lost in the runs beside the traffic nobody knows what it lost.
    let mut lost = simulated(12, &both, 5);
    let loaded: Vec<_> =
        lost.trials.iter().filter(|trial| trial.params.rate_bps.is_none()).collect();
    let loaded: Vec<_> = loaded.iter().map(|trial| trial.id.clone()).collect();
    for record in lost.records.iter_mut().filter(|record| loaded.contains(&record.trial)) {
        record.of_mut(Role::Background).for_each(|load| load.window_ns = Nanos(1));
    }
    assert_eq!(neighbours(&lost)[0].regime, Slower::Open(Open::JobUnknown));
}

#[test]
fn two_threads_on_one_core_share_more_than_memory() {
    let both = Planted { traffic: |_| 1.5, job: |_| 1.5, ..EVEN };
    let mut study = simulated(12, &both, 9);
    // CPUs 0 and 1 are of one core: the traffic has one and the job the other.
    for place in &mut study.host.cpu.places {
        place.core = Some(place.cpu / 2);
    }
    assert_eq!(neighbours(&study)[0].steps[0].regime, Slower::Open(Open::CpuShared));
}

#[test]
fn healthy_hosts_are_not_said_to_be_slower() {
    let wrong = (0..100).filter(|seed| {
        let tests = neighbours(&simulated(12, &EVEN, 1000 + seed));
        tests.iter().any(|test| matches!(test.regime, Slower::Job | Slower::Traffic { .. }))
    });
    assert_eq!(wrong.count(), 0, "of 100 simulated hosts");
}

/// Of 100 even hosts whose runs differ by 6 %, those of which any interval leaves out the truth: 5
/// in the mean, where all intervals of a study hold together, and more than half where each holds
/// by itself.
#[test]
fn the_intervals_of_a_study_hold_together() {
    let wrong = (0..100).filter(|seed| {
        let tests = neighbours(&simulated(12, &Planted { noise: 0.06, ..EVEN }, 5000 + seed));
        let steps = tests.iter().flat_map(|test| &test.steps);
        let mut times = steps.flat_map(|step| {
            let job = step.job.iter().map(|job| job.times);
            job.chain([step.traffic.times])
        });
        times.any(|times| times.low > 1.0 || times.high < 1.0)
    });
    let wrong = wrong.count();
    assert!(wrong <= 12, "{wrong} of 100 simulated hosts: 1 in 1,000 sets has more");
}

#[test]
fn one_number_of_cores_does_not_tell_whether_memory_was_loaded() {
    let mut study = simulated(12, &EVEN, 7);
    study.trials.retain(|trial| {
        let load = trial.background().and_then(|end| end.load.as_ref());
        load.is_none_or(|load| load.threads == 1)
    });
    let tests = neighbours(&study);
    assert!(tests.iter().all(|test| test.regime == Slower::Open(Open::OneStep)), "{tests:?}");
}

#[test]
fn a_study_of_anything_else_has_none() {
    let mut study = simulated(12, &EVEN, 1);
    let idle = |trial: &Trial| trial.params.rate_bps.is_some();
    let gone: Vec<_> = study.trials.iter().filter(|t| idle(t)).map(|t| t.id.clone()).collect();
    study.trials.retain(|trial| !idle(trial));
    study.records.retain(|record| !gone.contains(&record.trial));
    assert!(neighbours(&study).is_empty(), "a load with nothing to set it against");
}
