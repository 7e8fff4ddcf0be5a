//! What time and order did to a study: trends, steps, and what the run before left behind.

use crate::order::{median, of_sorted};
use crate::rank::{kruskal_wallis, spearman};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewest runs that a trend is looked for in.
const RUNS_MIN: usize = 12;
/// Less than this is no news, however certain.
const WORTH: f64 = 0.01;
/// Most runs whose order is shuffled to see what chance does.
const SHUFFLED_MAX: usize = 2000;
/// Probability below which something is told.
const TOLD_BELOW: f64 = 0.01;

/// One run among all of a study: its cell, and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Index of the cell.
    pub cell: usize,
    /// The run's figure, in the cell's unit.
    pub value: f64,
}

/// A step in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Index of the first run after it, over all runs in time.
    pub at: usize,
    /// How many times larger the runs are after it.
    pub ratio: f64,
    /// Probability of such a step when the order of runs means nothing.
    pub p: f64,
}

/// What time and order did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Runs looked at.
    pub runs: usize,
    /// Rank correlation of runs with time, when it is told: at least 1 % over the study, and less
    /// than 1 % likely by chance.
    pub trend: Option<f64>,
    /// The largest step in time, by the same measure.
    pub step: Option<Step>,
    /// Probability of such differences if the run before meant nothing, where it is below 1 %.
    pub order: Option<f64>,
}

/// Looks at all runs of a study in time, each as a share of its cell's median, so that cells of any
/// size can be taken together. A trend is Spearman's correlation with time; a step is where the
/// sums of shares' ranks run farthest from even (Pettitt 1979), its probability by a thousand
/// shuffles; order is Kruskal and Wallis' test of runs grouped by the cell that ran before.
pub fn drift(runs: &[Placed]) -> Drift {
    let shares = shares(runs);
    let mut found = Drift { runs: shares.len(), ..Drift::default() };
    if shares.len() < RUNS_MIN {
        return found;
    }
    let values: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    let times: Vec<f64> = (0..values.len()).map(|at| at as f64).collect();
    let third = values.len() / 3;
    let ends = median(&values[values.len() - third..]).zip(median(&values[..third]));
    let moved = ends.is_some_and(|(last, first)| (last / first - 1.0).abs() >= WORTH);
    let trend = spearman(&times, &values).filter(|test| test.p < TOLD_BELOW);
    found.trend = trend.filter(|_| moved).map(|test| test.statistic);
    found.step =
        step(&values).filter(|step| step.p < TOLD_BELOW && (step.ratio - 1.0).abs() >= WORTH);
    let mut after = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    for pair in shares.windows(2) {
        after.entry(pair[0].0).or_default().push(pair[1].1);
    }
    let groups: Vec<&[f64]> = after.values().map(Vec::as_slice).filter(|g| g.len() >= 5).collect();
    found.order = kruskal_wallis(&groups).map(|test| test.p).filter(|p| *p < TOLD_BELOW);
    found
}

/// Each run's cell and share of the cell's median; cells with one run are left out.
fn shares(runs: &[Placed]) -> Vec<(usize, f64)> {
    let mut cells = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    for run in runs.iter().filter(|run| run.value.is_finite()) {
        cells.entry(run.cell).or_default().push(run.value);
    }
    let medians: std::collections::BTreeMap<usize, f64> = cells
        .into_iter()
        .filter(|(_, values)| values.len() > 1)
        .filter_map(|(cell, values)| Some((cell, median(&values).filter(|m| *m > 0.0)?)))
        .collect();
    runs.iter()
        .filter(|run| run.value.is_finite())
        .filter_map(|run| Some((run.cell, run.value / medians.get(&run.cell)?)))
        .collect()
}

pub(crate) fn step(values: &[f64]) -> Option<Step> {
    let mut ranks = ranks(values);
    let (far, at) = farthest(&ranks);
    let n = values.len() as f64;
    let p = if values.len() > SHUFFLED_MAX {
        // Pettitt's own approximation.
        (2.0 * (-6.0 * far * far / (n.powi(3) + n.powi(2))).exp()).min(1.0)
    } else {
        let mut random = Pcg64::seed_from_u64(1);
        let beyond = (0..999).filter(|_| {
            ranks.shuffle(&mut random);
            farthest(&ranks).0 >= far
        });
        (beyond.count() as f64 + 1.0) / 1000.0
    };
    Some(Step { at, ratio: middle(&values[at..])? / middle(&values[..at])?, p })
}

pub(crate) fn middle(part: &[f64]) -> Option<f64> {
    of_sorted(&crate::order::sorted(part), 0.5)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank as f64 + 1.0;
    }
    ranks
}

/// The farthest that the sum of ranks runs from even, and where.
fn farthest(ranks: &[f64]) -> (f64, usize) {
    let even = (ranks.len() as f64 + 1.0) / 2.0;
    let (mut sum, mut far, mut after) = (0.0f64, 0.0f64, 1);
    for (at, rank) in ranks.iter().enumerate().take(ranks.len().saturating_sub(1)) {
        sum += rank - even;
        if sum.abs() > far {
            (far, after) = (sum.abs(), at + 1);
        }
    }
    (far, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn noise(n: usize, seed: u64, of: impl Fn(usize, usize) -> f64) -> Vec<Placed> {
        let mut random = Pcg64::seed_from_u64(seed);
        let run = |at: usize| {
            let cell = random.random_range(0..3usize);
            let base = [10.0, 200.0, 3000.0][cell];
            Placed { cell, value: base * of(at, cell) * (1.0 + 0.01 * random.random::<f64>()) }
        };
        (0..n).map(run).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let found = drift(&noise(120, 7, |at, _| if at < 80 { 1.0 } else { 0.95 }));
        let step = found.step.expect("a step");
        assert!((78..=82).contains(&step.at), "{step:?}");
        assert!((step.ratio - 0.95).abs() < 0.005, "{step:?}");
    }

    #[test]
    fn quiet_runs_are_left_alone() {
        let told = (0..100).filter(|seed| drift(&noise(60, *seed, |_, _| 1.0)).step.is_some());
        assert!(told.count() <= 3, "at 1 % each");
    }

    #[test]
    fn what_ran_before_is_seen() {
        let mut runs = noise(150, 3, |_, _| 1.0);
        for at in 1..runs.len() {
            if runs[at - 1].cell == 1 {
                runs[at].value *= 0.97;
            }
        }
        assert!(drift(&runs).order.is_some());
        assert_eq!(drift(&noise(150, 3, |_, _| 1.0)).order, None);
    }
}
