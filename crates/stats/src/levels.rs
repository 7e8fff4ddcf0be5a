//! Cells sorted into levels: "two groups, 88 to 90 and 61 to 64".

use crate::order::{median, sorted};
use crate::rank::mann_whitney;
use serde::{Deserialize, Serialize};

/// Medians closer than this to each other are one level.
pub const ALIKE: f64 = 0.05;
/// Share of the variance between logarithms of medians that levels must explain.
const EXPLAINED: f64 = 0.9;
/// Neighbouring levels are joined when their runs differ with a probability above this.
const JOIN_ABOVE: f64 = 0.01;
/// More levels than this tell nobody anything.
const LEVELS_MAX: usize = 4;

/// Cells that reach about the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Indices of the cells, lowest median first.
    pub cells: Vec<usize>,
    /// Lowest median.
    pub low: f64,
    /// Highest median.
    pub high: f64,
}

/// Sorts cells, each by its values, into levels, highest first. One level when all medians lie
/// within 5 %. Else the fewest levels, at most four, that explain 90 % of the variance of the
/// medians' logarithms, cut where that leaves least (natural breaks, Fisher 1958: all cuts of the
/// sorted medians are tried); then neighbours whose runs Mann and Whitney cannot tell apart
/// (p above 1 %) are joined, or, with fewer than six
/// values a side, whose ranges overlap. Cells without values are left out.
pub fn levels(cells: &[&[f64]]) -> Vec<Level> {
    let with_median = |(at, cell): (usize, &&[f64])| Some((at, median(cell).filter(|m| *m > 0.0)?));
    let mut order: Vec<(usize, f64)> = cells.iter().enumerate().filter_map(with_median).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(first), Some(last)) = (order.first(), order.last()) else { return Vec::new() };
    let logs: Vec<f64> = order.iter().map(|(_, median)| median.ln()).collect();
    let cuts = match last.1 / first.1 - 1.0 <= ALIKE {
        true => vec![order.len()],
        false => cut(&logs),
    };
    let mut levels: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut from = 0;
    for to in cuts {
        let next = order[from..to].to_vec();
        match levels.last_mut().filter(|before| cannot_be_told_apart(cells, before, &next)) {
            Some(before) => before.extend(next),
            None => levels.push(next),
        }
        from = to;
    }
    let level = |cells: Vec<(usize, f64)>| Level {
        low: cells.first().map_or(0.0, |(_, median)| *median),
        high: cells.last().map_or(0.0, |(_, median)| *median),
        cells: cells.into_iter().map(|(at, _)| at).collect(),
    };
    levels.into_iter().rev().map(level).collect()
}

fn cannot_be_told_apart(cells: &[&[f64]], a: &[(usize, f64)], b: &[(usize, f64)]) -> bool {
    let pool = |level: &[(usize, f64)]| -> Vec<f64> {
        level.iter().flat_map(|(at, _)| sorted(cells[*at])).collect()
    };
    let (few_a, few_b) = (a.len(), b.len());
    let (a, b) = (pool(a), pool(b));
    if a.len() >= 6 && b.len() >= 6 {
        return mann_whitney(&a, &b).is_some_and(|test| test.p > JOIN_ABOVE);
    }
    // Single values, such as published medians, are taken at their word.
    let ends = |values: &[f64]| (sorted(values).first().copied(), sorted(values).last().copied());
    let ((low_a, high_a), (low_b, high_b)) = (ends(&a), ends(&b));
    a.len() > few_a && b.len() > few_b && low_a <= high_b && low_b <= high_a
}

/// Ends of the fewest runs of sorted values that explain enough of their variance.
fn cut(sorted: &[f64]) -> Vec<usize> {
    let n = sorted.len();
    let all = squares(sorted);
    // best[k][to]: least squares with k + 1 runs of the first `to` values, and where the last
    // began.
    let mut best: Vec<Vec<(f64, usize)>> =
        vec![(0..=n).map(|to| (squares(&sorted[..to]), 0)).collect()];
    for runs in 1..=LEVELS_MAX.min(n) {
        if best[runs - 1][n].0 <= (1.0 - EXPLAINED) * all || runs == LEVELS_MAX.min(n) {
            return ends(&best, runs, n);
        }
        let next = (0..=n).map(|to| {
            let tries =
                (runs..to).map(|from| (best[runs - 1][from].0 + squares(&sorted[from..to]), from));
            tries.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        });
        let next = next.collect();
        best.push(next);
    }
    vec![n]
}

fn ends(best: &[Vec<(f64, usize)>], runs: usize, n: usize) -> Vec<usize> {
    let mut ends = vec![n];
    for row in (1..runs).rev() {
        let to = ends.last().copied().unwrap_or(n);
        ends.push(best[row][to].1);
    }
    ends.reverse();
    ends
}

/// Sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(medians: &[f64]) -> Vec<Vec<usize>> {
        let cells: Vec<[f64; 1]> = medians.iter().map(|median| [*median]).collect();
        let cells: Vec<&[f64]> = cells.iter().map(|cell| cell.as_slice()).collect();
        levels(&cells).into_iter().map(|level| level.cells).collect()
    }

    /// The medians of six populations as the study LP1241 has them: it sees two groups for TCP and
    /// UDP and one for RDMA.
    #[test]
    fn the_studys_groups_are_found() {
        assert_eq!(of(&[61.15, 88.25, 63.6, 88.25, 60.8, 87.7]), [vec![5, 1, 3], vec![4, 0, 2]]);
        assert_eq!(of(&[63.5, 88.05, 71.4, 90.3, 70.4, 89.75]), [vec![1, 5, 3], vec![0, 4, 2]]);
        assert_eq!(of(&[97.3, 97.5, 97.4]), [vec![0, 2, 1]]);
        assert_eq!(of(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(of(&[5.0, 0.0]), [[0]], "a cell that reached nothing has no logarithm");
    }

    #[test]
    fn three_levels_stay_three_and_noise_stays_one() {
        assert_eq!(of(&[10.0, 20.0, 40.0, 10.1, 20.2, 40.4]), [vec![2, 5], vec![1, 4], vec![0, 3]]);
        let a: Vec<f64> = (0..20).map(|i| 60.0 + f64::from(i * 7 % 20)).collect();
        let b: Vec<f64> = a.iter().map(|x| x * 1.06).collect();
        assert_eq!(levels(&[&a, &b]).len(), 1, "6 % apart in runs that spread over 30 %");
    }
}
