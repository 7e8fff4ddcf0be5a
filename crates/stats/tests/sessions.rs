//! Whether intervals hold another session's runs, by simulation: sessions scatter about one middle,
//! and runs about their session.

mod drawn;

use drawn::Shape;
use narrows_model::units::Unit;
use narrows_stats::{median, median_interval, reproducibility};
use rand::SeedableRng;
use rand_pcg::Pcg64;

/// A session of so many runs.
fn session(random: &mut Pcg64, runs: usize, between: f64, within: f64) -> Vec<f64> {
    let middle = Shape::Normal.draw(random, between) / 100.0;
    (0..runs).map(|_| middle * Shape::Normal.draw(random, within)).collect()
}

#[test]
fn another_sessions_runs_lie_in_the_interval_for_them() {
    let trials = 400;
    let one = 1.0 / f64::from(trials);
    for (between, within, sessions, runs) in [
        (0.03, 0.02, 3, 6),
        (0.03, 0.02, 6, 6),
        (0.05, 0.01, 5, 10),
        (0.0, 0.03, 6, 6),
        (0.01, 0.05, 10, 2),
    ] {
        let mut random = Pcg64::seed_from_u64(11);
        let (mut medians, mut singles, mut naive) = (0.0, 0.0, 0.0);
        for _ in 0..trials {
            let mut draw = || session(&mut random, runs, between, within);
            let made: Vec<Vec<f64>> = (0..sessions).map(|_| draw()).collect();
            let other = draw();
            let told = reproducibility(&made).expect("sessions");
            let of_other = median(&other).expect("runs");
            medians +=
                if (told.session_low..=told.session_high).contains(&of_other) { one } else { 0.0 };
            let (low, high) = told.run_low.zip(told.run_high).expect("runs");
            singles += if (low..=high).contains(&other[0]) { one } else { 0.0 };
            let inside = median_interval(&made[0], 0.95, Unit::Share).expect("runs");
            naive += if (inside.low..=inside.high).contains(&of_other) { one } else { 0.0 };
        }
        println!(
            "between {:.0} %, within {:.0} %, {sessions} sessions of {runs}: another session's median \
             {:.1} %, its run {:.1} %; by the interval of one session {:.1} %",
            between * 100.0,
            within * 100.0,
            medians * 100.0,
            singles * 100.0,
            naive * 100.0
        );
        let least = 0.95 - 3.1 * (0.05 * 0.95 * one).sqrt();
        assert!(medians >= least && singles >= least, "{medians} {singles}");
        // What the reproducibility is for.
        assert!(between < 0.03 || naive < 0.8, "{naive}");
    }
}
