//! Coverage of searches for a rate on simulated machines of known capacity, whose runs are wrong
//! now and then, from stated seeds.

use narrows_model::study::Search;
use narrows_stats::{Bisection, Seen, Stand};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const SEEDS: u64 = 400;

/// A machine that carries so many packets a second.
struct Machine {
    carries: f64,
    /// Share of runs below that in which something is lost all the same.
    false_loss: f64,
    /// Share of runs beyond it in which a queue takes what is too much.
    false_pass: f64,
    random: Pcg64,
}

impl Machine {
    /// The capacity and the noise are drawn.
    fn of(seed: u64, false_loss_max: f64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let carries = 10f64.powf(random.random_range(3.05..4.95));
        let false_loss = random.random_range(0.0..false_loss_max);
        let false_pass = random.random_range(0.0..0.1);
        Self { carries, false_loss, false_pass, random }
    }

    fn run(&mut self, rate: f64) -> Seen {
        let sent_per_second = rate * self.random.random_range(0.998..1.002);
        let over = (1.0 - self.carries / sent_per_second).max(0.0);
        let wrong = match over > 0.0 {
            true => self.random.random_bool(self.false_pass),
            false => self.random.random_bool(self.false_loss),
        };
        let lost_share = match (over > 0.0, wrong) {
            (true, true) | (false, false) => 0.0,
            (true, false) => over,
            (false, true) => self.random.random_range(0.0001..0.2),
        };
        Seen { sent_per_second, lost_share }
    }
}

/// What became of many searches.
#[derive(Debug, Default)]
struct All {
    found: u64,
    /// Of those, searches whose interval holds the capacity.
    covered: u64,
    /// Of all, those whose interval holds it, however wide.
    held: u64,
    runs: u64,
    widest: f64,
}

fn searches(false_loss_max: f64) -> All {
    let search = Search {
        rate_max_packets_per_second: 1e5,
        burst_max_frames: None,
        throughput_packets_per_second: None,
        rate_min_packets_per_second: None,
        resolution_percent: 2.0,
        loss_percent: 0.0,
        confidence_percent: 95.0,
        runs_max: 150,
    };
    let mut all = All::default();
    for seed in 0..SEEDS {
        let mut machine = Machine::of(seed, false_loss_max);
        let mut bisection = Bisection::new(&search);
        let (found, border) = loop {
            match bisection.stand() {
                Stand::Next(at) => {
                    let seen = machine.run(bisection.rates()[at] as f64);
                    bisection.take(at, Some(seen));
                }
                Stand::Found(border) => break (true, border),
                Stand::SenderBound(border) | Stand::Undecided(border) => break (false, border),
            }
        };
        let rate =
            |at: Option<usize>, none: f64| at.map_or(none, |at| bisection.rates()[at] as f64);
        let (low, high) = (rate(border.passes, 0.0), rate(border.loses, f64::INFINITY));
        let holds = low <= machine.carries && machine.carries < high;
        all.runs += u64::from(bisection.runs());
        all.held += u64::from(holds);
        if found {
            all.found += 1;
            all.covered += u64::from(holds);
            all.widest = all.widest.max(high / low.max(1.0) - 1.0);
        }
    }
    all
}

#[test]
fn the_interval_of_a_search_holds_the_capacity_as_often_as_it_says() {
    // On quiet machines and on loud ones: up to a third of the runs below the border lose.
    for false_loss_max in [0.02, 0.1, 0.33] {
        let all = searches(false_loss_max);
        println!("up to {false_loss_max} wrong: {all:?}");
        assert!(all.held * 100 >= 95 * SEEDS, "up to {false_loss_max} wrong: {all:?}");
        assert!(all.covered * 100 >= 95 * all.found, "{all:?}");
        assert!(all.found * 100 >= 95 * SEEDS, "{all:?}");
        assert!(all.widest < 0.031, "{all:?}");
    }
}
