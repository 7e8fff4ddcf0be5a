//! A study that is killed anywhere, over and over, on a machine that is changed by hand in between:
//! nothing is lost, nothing is done twice, and nothing is wasted but what a kill cut short.
//!
//! `NARROWS_KILLS=1000000` tries so many seeds in place of ten thousand.

use narrows_plan::study::{Count, Cut, Left, left, next_block};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;

/// One stored run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    cell: usize,
    repeat: u32,
    done: bool,
}

/// The world outside a study: a disk that keeps what was committed, and chance.
struct World {
    random: Pcg64,
    disk: Vec<Run>,
    /// Level of the hand factor that each cell needs.
    level_of: Vec<u32>,
    level: u32,
    /// Runs after which a cell is precise.
    precise_after: Vec<u32>,
    kill_share: f64,
    failing: Vec<f64>,
    measured: usize,
    cut_short: usize,
}

enum Died {
    Killed,
}

impl World {
    fn new(seed: u64, cells: usize, levels: u32, kill_share: f64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let level_of = (0..cells).map(|_| random.random_range(0..levels)).collect();
        let precise_after = (0..cells).map(|_| random.random_range(2..12)).collect();
        let fails = |random: &mut Pcg64| if random.random_bool(0.2) { 0.4 } else { 0.0 };
        let failing = (0..cells).map(|_| fails(&mut random)).collect();
        let (disk, level, measured, cut_short) = (Vec::new(), 0, 0, 0);
        Self {
            random,
            disk,
            level_of,
            level,
            precise_after,
            kill_share,
            failing,
            measured,
            cut_short,
        }
    }

    fn counts(&self) -> Vec<Count> {
        let mut counts = vec![Count::default(); self.level_of.len()];
        for run in &self.disk {
            let count = &mut counts[run.cell];
            *(if run.done { &mut count.done } else { &mut count.failed }) += 1;
        }
        for (cell, count) in counts.iter_mut().enumerate() {
            count.precise = count.done >= self.precise_after[cell];
            count.fits = self.level_of[cell] == self.level;
        }
        counts
    }

    fn may_die(&mut self) -> Result<(), Died> {
        if self.random.random_bool(self.kill_share) { Err(Died::Killed) } else { Ok(()) }
    }

    /// One session, as `narrows study` goes about it.
    fn sit(&mut self, cut: &Cut) -> Result<(), Died> {
        loop {
            let steps = next_block(cut, &self.counts());
            if steps.is_empty() {
                return Ok(());
            }
            for step in steps {
                self.may_die()?;
                self.cut_short += 1;
                self.may_die()?;
                self.measured += 1;
                let done = !self.random.random_bool(self.failing[step.trial]);
                self.may_die()?;
                let again = |run: &Run| run.cell == step.trial && run.repeat == step.repeat;
                assert!(!self.disk.iter().any(again), "a run was made twice: {step:?}");
                self.disk.push(Run { cell: step.trial, repeat: step.repeat, done });
                self.cut_short -= 1;
                self.may_die()?;
            }
        }
    }
}

/// Sits until all levels are through; how many kills that took.
fn through(world: &mut World, cut: &Cut, levels: u32) -> usize {
    let mut kills = 0;
    while world.level < levels {
        match world.sit(cut) {
            Ok(()) => world.level += 1,
            Err(Died::Killed) => kills += 1,
        }
        assert!(kills < 100_000, "no progress");
    }
    kills
}

fn check(world: &World, cut: &Cut, kills: usize) {
    let mut of: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
    world.disk.iter().for_each(|run| of.entry(run.cell).or_default().push(run));
    for (cell, count) in world.counts().into_iter().enumerate() {
        let runs = of.remove(&cell).unwrap_or_default();
        let repeats: Vec<u32> = runs.iter().map(|run| run.repeat).collect();
        assert_eq!(repeats, (0..runs.len() as u32).collect::<Vec<_>>(), "cell {cell}");
        match left(cut, &count) {
            Left::Done => {
                let needed = match cut.repeats_max {
                    Some(_) => world.precise_after[cell].max(cut.repeats),
                    None => cut.repeats,
                };
                assert_eq!(count.done, needed, "cell {cell} has neither more nor fewer");
            }
            Left::GivenUp => assert_eq!(count.failed, cut.retries + 1, "cell {cell}"),
            Left::NotPrecise => assert_eq!(Some(count.done), cut.repeats_max),
            Left::Runs(n) => panic!("cell {cell} still wants {n} runs"),
        }
    }
    // Wasted is only what a kill cut short, once each.
    assert!(world.cut_short <= kills, "{} of {kills}", world.cut_short);
    assert!(world.measured - world.disk.len() <= kills);
}

#[test]
fn a_study_survives_kills_at_every_step() {
    let wanted = std::env::var("NARROWS_KILLS").ok();
    let seeds: u64 = wanted.map_or(10_000, |text| text.parse().expect("a number"));
    let (mut kills, mut wasted) = (0, 0);
    for seed in 0..seeds {
        let mut random = Pcg64::seed_from_u64(seed ^ 0xabcd);
        let (cells, levels) = (random.random_range(1..9), random.random_range(1..4));
        let precision = random.random_bool(0.5);
        let cut = Cut {
            repeats: random.random_range(1..6),
            retries: random.random_range(0..4),
            spread: None,
            repeats_max: precision.then(|| random.random_range(6..10)),
            seed,
        };
        let share = [0.0, 0.01, 0.1, 0.3][random.random_range(0..4)];
        let mut world = World::new(seed, cells, levels, share);
        let own = through(&mut world, &cut, levels);
        check(&world, &cut, own);
        kills += own;
        wasted += world.cut_short;
    }
    println!("{seeds} studies, {kills} kills, {wasted} runs cut short");
    assert!(kills as u64 > seeds, "the kills were tried");
}

#[test]
fn kills_do_not_change_the_order() {
    for seed in 0..200 {
        let cut = Cut { repeats: 4, retries: 0, repeats_max: None, spread: None, seed };
        let order = |share: f64| {
            let mut world = World::new(seed, 6, 1, share);
            world.failing = vec![0.0; 6];
            through(&mut world, &cut, 1);
            world.disk
        };
        assert_eq!(order(0.0), order(0.2), "seed {seed}");
    }
}

#[test]
fn blocks_are_shuffled_each_by_itself() {
    let cut = Cut { repeats: 6, retries: 0, repeats_max: None, spread: None, seed: 5 };
    let order = |done: u32| -> Vec<usize> {
        let count = Count { done, fits: true, ..Count::default() };
        next_block(&cut, &[count; 8]).iter().map(|step| step.trial).collect()
    };
    let orders: std::collections::BTreeSet<Vec<usize>> = (0..6).map(order).collect();
    assert_eq!(orders.len(), 6);
}
