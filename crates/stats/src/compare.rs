//! Two series of the same thing, before and after: larger, smaller, alike, or not to be told.

use crate::order::{median, sorted};
use crate::rank::{Ratio, cliffs_delta, mann_whitney, ratio};
use serde::{Deserialize, Serialize};

/// What two series say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Better by more than the margin, the whole interval.
    Better,
    /// Worse by more than the margin, the whole interval.
    Worse,
    /// Within the margin, the whole interval.
    Alike,
    /// The interval reaches over an end of the margin.
    NotTold,
}

/// One cell compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Median before.
    pub before: f64,
    /// Median after.
    pub after: f64,
    /// Runs before.
    pub n_before: usize,
    /// Runs after.
    pub n_after: usize,
    /// How many times larger after (Hodges and Lehmann), with its interval.
    pub ratio: Ratio,
    /// Share of pairs of runs where after is larger, less the share where it is smaller.
    pub cliffs_delta: f64,
    /// Mann and Whitney's probability of such a difference if nothing had changed.
    pub p: f64,
    /// The verdict.
    pub change: Change,
}

/// Compares two series at 95 % confidence, or at a higher one that allows for other cells looked at
/// too (`cells`, Bonferroni). `None` when a side has no values above zero.
pub fn compare(
    before: &[f64],
    after: &[f64],
    margin: f64,
    cells: usize,
    larger_is_better: bool,
) -> Option<Compared> {
    let (before, after) = (sorted(before), sorted(after));
    let confidence = 1.0 - 0.05 / cells.max(1) as f64;
    let ratio = ratio(&after, &before, confidence)?;
    let change = match () {
        // The range of a few quotients is no interval: it cannot carry a verdict.
        () if !ratio.reaches_confidence => Change::NotTold,
        () if ratio.low > 1.0 + margin && larger_is_better => Change::Better,
        () if ratio.low > 1.0 + margin => Change::Worse,
        () if ratio.high < 1.0 / (1.0 + margin) && larger_is_better => Change::Worse,
        () if ratio.high < 1.0 / (1.0 + margin) => Change::Better,
        () if ratio.low >= 1.0 / (1.0 + margin) && ratio.high <= 1.0 + margin => Change::Alike,
        () => Change::NotTold,
    };
    Some(Compared {
        before: median(&before)?,
        after: median(&after)?,
        n_before: before.len(),
        n_after: after.len(),
        ratio,
        cliffs_delta: cliffs_delta(&after, &before)?,
        p: mann_whitney(&after, &before)?.p,
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(level: f64, n: u32) -> Vec<f64> {
        (0..n).map(|i| level * (1.0 + 0.001 * f64::from(i * 7 % n))).collect()
    }

    #[test]
    fn verdicts_are_the_intervals() {
        let of = |after: &[f64], better| {
            compare(&series(100.0, 10), after, 0.02, 1, better).expect("values").change
        };
        assert_eq!(of(&series(90.0, 10), true), Change::Worse);
        assert_eq!(of(&series(90.0, 10), false), Change::Better);
        assert_eq!(of(&series(110.0, 10), true), Change::Better);
        assert_eq!(of(&series(110.0, 10), false), Change::Worse);
        assert_eq!(of(&series(100.1, 10), true), Change::Alike);
        assert_eq!(of(&series(98.0, 10), true), Change::NotTold, "at the margin");
        assert_eq!(of(&series(50.0, 1), true), Change::NotTold, "one run carries no verdict");
        assert_eq!(compare(&[], &[1.0], 0.02, 1, true), None);
    }

    #[test]
    fn more_cells_need_more_certainty() {
        let width = |cells| {
            let c =
                compare(&series(100.0, 12), &series(99.0, 12), 0.0, cells, true).expect("values");
            c.ratio.high - c.ratio.low
        };
        assert!(width(20) > width(1));
    }
}
