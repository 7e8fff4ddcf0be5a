//! A figure over many files: where it took a step.
//!
//! Each file counts once, by its median: runs of one afternoon are alike in what changes from day
//! to day. A step is where the sums of ranks run farthest from even (Pettitt 1979), its
//! probability by a thousand shuffles of the files; it stands where two levels leave least. On
//! either side of it the next is looked for.

use crate::drift;
use schemars::JsonSchema;
use serde::Serialize;

/// Less than this is no news, however certain.
const WORTH: f64 = 0.01;
/// Probability that any figure of a folder is said to have taken a step although none did, at most.
const ERROR_SHARE: f64 = 0.01;
/// A thousand shuffles show no smaller probability than this.
const SHUFFLED_LEAST: f64 = 0.001;
/// More files are never asked for.
const FILES_MAX: usize = 50;

/// A step of a figure in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Turn {
    /// Index of the first file after it.
    pub at: usize,
    /// Median of the files before it, since the last step.
    pub before: f64,
    /// Median of the files after it, until the next.
    pub after: f64,
    /// Probability of such a step when the order of the files means nothing.
    pub p: f64,
}

impl Turn {
    /// How many times larger the figure is after it.
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// Probability below which a step of one of so many figures is told.
pub fn told_below(figures: usize) -> f64 {
    (ERROR_SHARE / figures.max(1) as f64).max(SHUFFLED_LEAST)
}

/// The steps of a figure, by time; `values` are medians of files in the order in which they were
/// measured.
pub fn turns(values: &[f64], told_below: f64) -> Vec<Turn> {
    let mut found = Vec::new();
    split(values, 0, told_below, &mut found);
    found.sort_by_key(|turn| turn.at);
    // A step's sides end where the next one is.
    let edges: Vec<usize> =
        std::iter::once(0).chain(found.iter().map(|turn| turn.at)).chain([values.len()]).collect();
    for (turn, sides) in found.iter_mut().zip(edges.windows(3)) {
        turn.before = drift::middle(&values[sides[0]..sides[1]]).unwrap_or(turn.before);
        turn.after = drift::middle(&values[sides[1]..sides[2]]).unwrap_or(turn.after);
    }
    found.retain(|turn| (turn.ratio() - 1.0).abs() >= WORTH);
    found
}

/// Chance up to which a step is suspected, over that below which one is told: of folders of a few
/// figures that took none, one in ten has a suspect.
const SUSPECT_TIMES: f64 = 10.0;

/// A step that may be one, of a figure that took none for certain: more files may tell.
pub fn suspected(values: &[f64], told_below: f64) -> Option<Turn> {
    if values.len() < files_for(told_below) {
        return None;
    }
    let step = drift::step(values).filter(|step| step.p <= SUSPECT_TIMES * told_below)?;
    let at = border(values);
    let sides = drift::middle(&values[..at]).zip(drift::middle(&values[at..]));
    let (before, after) = sides?;
    let turn = Turn { at, before, after, p: step.p };
    ((turn.ratio() - 1.0).abs() >= WORTH).then_some(turn)
}

fn split(values: &[f64], from: usize, told_below: f64, found: &mut Vec<Turn>) {
    if values.len() < files_for(told_below) {
        return;
    }
    let step = drift::step(values).filter(|step| step.p <= told_below);
    let Some(step) = step else { return };
    let at = border(values);
    found.push(Turn { at: from + at, before: 0.0, after: 0.0, p: step.p });
    split(&values[..at], from, told_below, found);
    split(&values[at..], from + at, told_below, found);
}

/// Where two levels leave least: the sum of distances from the medians of both sides. The sums of
/// ranks run farthest one file away where that file is on the middle rank.
fn border(values: &[f64]) -> usize {
    let cuts = 1..values.len().max(2);
    let left = |at: &usize| distances(&values[..*at]) + distances(&values[*at..]);
    cuts.min_by(|a, b| left(a).total_cmp(&left(b))).unwrap_or(1)
}

fn distances(side: &[f64]) -> f64 {
    let middle = drift::middle(side).unwrap_or(0.0);
    side.iter().map(|value| (value - middle).abs()).sum()
}

/// Files that a step takes to be told: of `n` files in any order, two orders in `n` over `n / 2`
/// have the smaller half of the figures on one side.
pub fn files_for(told_below: f64) -> usize {
    (2..FILES_MAX).find(|n| 2.0 / ways(*n) <= told_below).unwrap_or(FILES_MAX)
}

/// In how many ways half of `n` things can be picked.
fn ways(n: usize) -> f64 {
    let half = n / 2;
    (1..=half).map(|at| (n - half + at) as f64 / at as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between 0 and 1 that look like chance (Knuth's linear congruence).
    fn chance(seed: u64, n: usize) -> Vec<f64> {
        let mut state = seed;
        let mut all = Vec::new();
        for _ in 0..n + 5 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            all.push((state >> 11) as f64 / (1u64 << 53) as f64);
        }
        // The first ones of small seeds are alike.
        all.split_off(5)
    }

    /// Figures around 1 by 2 %, times what each file was.
    fn course(seed: u64, levels: &[f64]) -> Vec<f64> {
        chance(seed, levels.len()).iter().zip(levels).map(|(c, l)| l * (0.98 + 0.04 * c)).collect()
    }

    #[test]
    fn planted_steps_are_found_where_they_are() {
        let one: Vec<f64> = (0..16).map(|at| if at < 9 { 1.0 } else { 0.9 }).collect();
        let two: Vec<f64> = (0..30).map(|at| [1.0, 0.8, 1.1][at / 10]).collect();
        let right = (0..20).filter(|seed| {
            let first = turns(&course(*seed, &one), told_below(1));
            let both = turns(&course(*seed, &two), told_below(1));
            first.iter().map(|turn| turn.at).eq([9])
                && (first[0].ratio() - 0.9).abs() < 0.02
                && both.iter().map(|turn| turn.at).eq([10, 20])
                && (both[1].ratio() - 1.375).abs() < 0.04
        });
        assert!(right.count() >= 19);
    }

    #[test]
    fn a_figure_that_stays_takes_no_step() {
        let flat = vec![1.0; 20];
        let wrong = (0..400).filter(|seed| !turns(&course(*seed, &flat), told_below(1)).is_empty());
        // 1 % of 400 are 4; three times the spread of such a count is 6.
        assert!(wrong.count() <= 10);
        let none = (0..400).filter(|seed| !turns(&course(*seed, &flat), told_below(50)).is_empty());
        assert!(none.count() <= 3, "of fifty figures");
    }

    #[test]
    fn a_step_below_a_percent_is_no_news_and_few_files_show_none() {
        let small: Vec<f64> = (0..20).map(|at| if at < 10 { 1.0 } else { 1.005 }).collect();
        assert!(turns(&small, told_below(1)).is_empty());
        let large: Vec<f64> = (0..20).map(|at| if at < 10 { 1.0 } else { 1.02 }).collect();
        assert_eq!(turns(&large, told_below(1)).len(), 1);
        // 2 of C(6, 3) = 20 orders are 10 %, 2 of C(8, 4) = 70 are 2.9 %.
        assert_eq!(files_for(0.05), 8);
        assert_eq!(files_for(0.01), 10);
        assert!(turns(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], told_below(1)).is_empty());
    }

    #[test]
    fn a_step_that_too_few_files_show_is_suspected_and_one_of_a_flat_figure_is_not() {
        // Of 210 orders of ten files two have these four first: chance enough at 1 %, and little.
        let capped: Vec<f64> = (0..10).map(|at| if at < 4 { 14.0 } else { 1.0 }).collect();
        let mut suspects = 0;
        for seed in 0..8 {
            let values = course(seed, &capped);
            if let [turn] = turns(&values, told_below(1)).as_slice() {
                assert_eq!(turn.at, 4);
                continue;
            }
            let step = suspected(&values, told_below(1)).expect("a step");
            assert_eq!(step.at, 4);
            assert!((0.06..0.08).contains(&step.ratio()) && step.p < 0.1, "{step:?}");
            assert_eq!(suspected(&values[..9], told_below(1)), None, "too few to tell any");
            suspects += 1;
        }
        assert!(suspects >= 2, "{suspects}");
        let flat = vec![1.0; 12];
        let told = |seed: &u64| suspected(&course(*seed, &flat), told_below(1)).is_some();
        assert!((0..100).filter(told).count() <= 19, "a tenth, and three times its spread");
        let many = |folder: &u64| {
            let of = |at: u64| course(1000 * folder + at, &[1.0; 16]);
            (0..20).any(|at| suspected(&of(at), told_below(20)).is_some())
        };
        // Of twenty figures each may be one in a hundred, as no smaller chance is told: 18 %.
        assert!((0..40).filter(many).count() <= 15);
    }

    /// Of three levels the first border is where most is left, and the other on either side of it.
    #[test]
    fn both_sides_of_a_step_are_looked_at() {
        for (levels, ratios) in [([1.0, 2.0, 8.0], [2.0, 4.0]), ([8.0, 2.0, 1.0], [0.25, 0.5])] {
            let values: Vec<f64> = (0..36).map(|at| levels[at / 12]).collect();
            let found = turns(&values, told_below(1));
            assert_eq!(found.iter().map(|turn| turn.at).collect::<Vec<_>>(), [12, 24]);
            let told: Vec<[f64; 2]> = found.iter().map(|turn| [turn.before, turn.after]).collect();
            assert_eq!(told, [[levels[0], levels[1]], [levels[1], levels[2]]]);
            assert_eq!([found[0].ratio(), found[1].ratio()], ratios);
        }
        assert_eq!([told_below(1), told_below(5), told_below(1000)], [0.01, 0.002, 0.001]);
    }
}
