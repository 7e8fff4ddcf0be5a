//! Two series of the same thing, before and after: larger, smaller, alike, or not to be told.

use crate::order::{median, sorted};
use crate::rank::{Ratio, cliffs_delta, mann_whitney, ratio};
use crate::sessions::{Covers, SESSIONS_MIN, mean, squares};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Median of the earlier study's runs, in the cell's unit.
    pub before: f64,
    /// Median of the later study's runs, in the cell's unit.
    pub after: f64,
    /// Runs of the earlier study that have a value.
    pub n_before: usize,
    /// Runs of the later study that have a value.
    pub n_after: usize,
    /// How many times larger after (Hodges and Lehmann), with its interval.
    pub ratio: Ratio,
    /// Share of pairs of runs where after is larger, less the share where it is smaller.
    pub cliffs_delta: f64,
    /// Mann and Whitney's probability of such a difference if nothing had changed.
    pub p: f64,
    /// What the intervals allow to say of the difference.
    pub change: Change,
    /// What the ratio's interval, and so the verdict, covers.
    pub covers: Covers,
}

/// Compares two series, each by its sessions. With three sessions on both sides it is their medians
/// that are compared, by Welch's interval of their logarithms, which holds for other sessions too.
/// Else it is the runs, and two sessions of the same thing may differ as much.
pub fn compare_sessions(
    before: &[Vec<f64>],
    after: &[Vec<f64>],
    margin: f64,
    cells: usize,
    larger_is_better: bool,
) -> Option<Compared> {
    let runs = compare(&before.concat(), &after.concat(), margin, cells, larger_is_better)?;
    let confidence = 1.0 - 0.05 / cells.max(1) as f64;
    let Some(ratio) = welch(before, after, confidence) else { return Some(runs) };
    let change = verdict(&ratio, margin, larger_is_better);
    Some(Compared { ratio, change, covers: Covers::OtherSessions, ..runs })
}

/// How many times larger the sessions' medians are after, by Welch's interval. `None` with fewer
/// than three sessions on a side, or where one reached nothing.
fn welch(before: &[Vec<f64>], after: &[Vec<f64>], confidence: f64) -> Option<Ratio> {
    let (before, after) = (logs(before)?, logs(after)?);
    if before.len().min(after.len()) < SESSIONS_MIN {
        return None;
    }
    let (a, b) = (error(&before), error(&after));
    let by = a.powi(2) / (before.len() as f64 - 1.0) + b.powi(2) / (after.len() as f64 - 1.0);
    let degrees = if by > 0.0 { (a + b).powi(2) / by } else { 1.0 };
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(1.0 - (1.0 - confidence) / 2.0);
    let (middle, reach) = (mean(&after) - mean(&before), t * (a + b).sqrt());
    Some(Ratio {
        value: middle.exp(),
        low: (middle - reach).exp(),
        high: (middle + reach).exp(),
        reaches_confidence: true,
    })
}

fn logs(sessions: &[Vec<f64>]) -> Option<Vec<f64>> {
    let medians = sessions.iter().filter_map(|runs| median(runs));
    medians.map(|median| (median > 0.0).then(|| median.ln())).collect::<Option<Vec<f64>>>()
}

fn error(logs: &[f64]) -> f64 {
    squares(logs) / (logs.len() as f64 - 1.0) / logs.len() as f64
}

fn verdict(ratio: &Ratio, margin: f64, larger_is_better: bool) -> Change {
    match () {
        // The range of a few quotients is no interval: it cannot carry a verdict.
        () if !ratio.reaches_confidence => Change::NotTold,
        () if ratio.low > 1.0 + margin && larger_is_better => Change::Better,
        () if ratio.low > 1.0 + margin => Change::Worse,
        () if ratio.high < 1.0 / (1.0 + margin) && larger_is_better => Change::Worse,
        () if ratio.high < 1.0 / (1.0 + margin) => Change::Better,
        () if ratio.low >= 1.0 / (1.0 + margin) && ratio.high <= 1.0 + margin => Change::Alike,
        () => Change::NotTold,
    }
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
    let change = verdict(&ratio, margin, larger_is_better);
    Some(Compared {
        before: median(&before)?,
        after: median(&after)?,
        n_before: before.len(),
        n_after: after.len(),
        ratio,
        cliffs_delta: cliffs_delta(&after, &before)?,
        p: mann_whitney(&after, &before)?.p,
        change,
        covers: Covers::TheseSessions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELCH: (f64, f64) = (1.0518515376066684, 1.364422328490844);

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

    /// SciPy 1.17.1: `ttest_ind(log(after), log(before), equal_var=False)`, its
    /// `confidence_interval()`.
    #[test]
    fn three_sessions_a_side_are_compared_by_their_medians() {
        let of = |medians: &[f64]| medians.iter().map(|m| vec![*m; 6]).collect::<Vec<_>>();
        let before = [90.0, 100.0, 110.0, 105.0];
        let told = |after: &[f64]| {
            compare_sessions(&of(&before), &of(after), 0.02, 1, true).expect("values")
        };
        let other = told(&[120.0, 118.0, 125.0]);
        assert_eq!((other.change, other.covers), (Change::Better, Covers::OtherSessions));
        assert!((other.ratio.low / WELCH.0 - 1.0).abs() < 1e-9, "{other:?}");
        assert!((other.ratio.high / WELCH.1 - 1.0).abs() < 1e-9, "{other:?}");
        // One session on a side: its runs alone say nothing of another session.
        let one = told(&[104.0]);
        assert_eq!(one.covers, Covers::TheseSessions);
        // Runs that differ by less than sessions do.
        assert_eq!(told(&[95.0, 104.0, 112.0]).change, Change::NotTold);
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
