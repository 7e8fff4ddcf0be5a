//! Coverage and cost of stopping at a precision, by simulation from stated seeds. What the long
//! test prints stands in docs/stats.md:
//!
//! `cargo test -p narrows-stats --release --test stopping -- --ignored --nocapture`

mod drawn;

use drawn::Shape;
use narrows_model::result::{Estimate, Method};
use narrows_model::study::Precision;
use narrows_model::units::Unit;
use narrows_stats::{Looks, is_precise, median_interval};
use rand::SeedableRng;
use rand_pcg::Pcg64;

/// What became of many studies of one cell that stopped at a precision.
#[derive(Default)]
struct Stopped {
    /// Share whose printed interval holds the median.
    covered: f64,
    /// Share whose interval held it at every look.
    always: f64,
    /// Share that reached the precision.
    reached: f64,
    /// Runs, on average.
    runs: f64,
}

struct Design {
    shape: Shape,
    spread: f64,
    within_percent: f64,
    repeats: u32,
    repeats_max: u32,
}

impl Design {
    /// Studies that look after every run, as `narrows study` does; `fixed` takes the interval that
    /// is for one look.
    fn stopped(&self, trials: u32, fixed: bool) -> Stopped {
        let Self { within_percent, repeats_max, .. } = *self;
        let precision = Precision { within_percent, confidence_percent: 95.0, repeats_max };
        let looks = Looks::new(&precision, self.repeats, 0);
        let mut random = Pcg64::seed_from_u64(5);
        let mut all = Stopped::default();
        let one = 1.0 / f64::from(trials);
        for _ in 0..trials {
            let (mut values, mut end, mut always): (Vec<f64>, Option<Estimate>, bool) =
                (Vec::new(), None, true);
            while values.len() < repeats_max as usize {
                values.push(self.shape.draw(&mut random, self.spread));
                if values.len() < self.repeats as usize {
                    continue;
                }
                let interval = match fixed {
                    true => median_interval(&values, 0.95, Unit::Share),
                    false => looks.interval(&values, Unit::Share),
                };
                let interval = interval.expect("values");
                let holds = interval.low <= 100.0 && 100.0 <= interval.high;
                always &= holds || interval.by == Method::Range;
                if end.is_none() && is_precise(&interval, within_percent / 100.0) {
                    all.reached += one;
                    end = Some(interval);
                    all.runs += one * values.len() as f64;
                }
                if end.is_none() && values.len() == repeats_max as usize {
                    end = Some(interval);
                    all.runs += one * values.len() as f64;
                }
            }
            let holds = end.is_some_and(|end| end.low <= 100.0 && 100.0 <= end.high);
            all.covered += if holds { one } else { 0.0 };
            all.always += if always { one } else { 0.0 };
        }
        all
    }
}

/// Precisions that are reached somewhere between the first look and the last.
fn designs() -> Vec<Design> {
    let of = |shape: Shape| {
        let within_percent = match shape {
            Shape::Skewed => 16.0,
            Shape::Bimodal => 9.0,
            Shape::HeavyTailed => 3.5,
            Shape::Normal | Shape::Ties => 2.5,
        };
        [(10, 60), (6, 100)].map(|(repeats, repeats_max)| Design {
            shape,
            spread: 0.05,
            within_percent,
            repeats,
            repeats_max,
        })
    };
    Shape::ALL.into_iter().flat_map(of).collect()
}

fn check(trials: u32) {
    let least = 0.95 - 3.1 * (0.05 * 0.95 / f64::from(trials)).sqrt();
    for design in designs() {
        let (ours, fixed) = (design.stopped(trials, false), design.stopped(trials, true));
        println!(
            "{:?}, CV {:.0} %, within {} %, {} to {} runs: covered {:.1} % (at every look {:.1} %; \
             by the fixed interval {:.1} %), reached {:.0} %, runs {:.1} (fixed {:.1})",
            design.shape,
            design.spread * 100.0,
            design.within_percent,
            design.repeats,
            design.repeats_max,
            ours.covered * 100.0,
            ours.always * 100.0,
            fixed.covered * 100.0,
            ours.reached * 100.0,
            ours.runs,
            fixed.runs,
        );
        assert!(ours.covered >= least, "{:?}: {}", design.shape, ours.covered);
        assert!(ours.always >= least, "{:?}: {}", design.shape, ours.always);
        assert!(ours.runs < 3.0 * fixed.runs, "{:?}: {} runs", design.shape, ours.runs);
    }
}

#[test]
fn the_interval_at_the_stop_covers() {
    check(300);
}

#[test]
#[ignore = "a minute; the table in docs/stats.md"]
fn the_interval_at_the_stop_covers_at_length() {
    check(20_000);
    for (spread, within_percent) in [(0.01, 1.0), (0.02, 2.0), (0.05, 5.0), (0.05, 2.0), (0.1, 5.0)]
    {
        let (shape, repeats, repeats_max) = (Shape::Normal, 10, 200);
        let design = Design { shape, spread, within_percent, repeats, repeats_max };
        let (ours, fixed) = (design.stopped(4000, false), design.stopped(4000, true));
        println!(
            "CV {:.0} % within {within_percent} %: runs {:.1} (fixed {:.1}), reached {:.0} %",
            spread * 100.0,
            ours.runs,
            fixed.runs,
            ours.reached * 100.0
        );
    }
}
