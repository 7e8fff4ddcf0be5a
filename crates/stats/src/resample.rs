//! Intervals and tests by resampling, from a stated seed: the same values give the same answer.

use crate::order::{median, of_sorted, sorted};
use crate::rank::Test;
use narrows_model::result::{Estimate, Method};
use narrows_model::units::Unit;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Seed of every resampling here: results are computed anew wherever a study is read, and must not
/// differ.
const SEED: u64 = 0x6e61_7272_6f77_7331;
/// Resamples for an interval.
const RESAMPLES: usize = 10_000;
/// Most values that are drawn one by one for the median of a resample.
const DRAWN_MAX: usize = 300;
/// Most orders of two sides that are counted one by one.
const ORDERS_MAX: u64 = 50_000;

fn draw(random: &mut Pcg64, from: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.extend((0..from.len()).map(|_| from[random.random_range(0..from.len())]));
}

/// A bootstrap interval of any statistic, corrected for bias and acceleration (BCa; Efron 1987).
/// `None` with fewer than two values, or when the statistic is the same in every resample.
pub fn bca(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    confidence: f64,
    unit: Unit,
) -> Option<Estimate> {
    let values = sorted(values);
    if values.len() < 2 {
        return None;
    }
    let seen = statistic(&values);
    let mut random = Pcg64::seed_from_u64(SEED);
    let mut sample = Vec::with_capacity(values.len());
    let mut resampled = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        draw(&mut random, &values, &mut sample);
        resampled.push(statistic(&sample));
    }
    resampled.sort_by(f64::total_cmp);
    let normal = Normal::standard();
    // Ties count half: a statistic that often repeats its value is no bias.
    let below = resampled.partition_point(|r| *r < seen) as f64;
    let to = resampled.partition_point(|r| *r <= seen) as f64;
    let share = (below + to) / 2.0 / RESAMPLES as f64;
    if share <= 0.0 || share >= 1.0 || resampled[0] == resampled[RESAMPLES - 1] {
        return None;
    }
    let bias = normal.inverse_cdf(share);
    let acceleration = acceleration(&values, statistic);
    let end = |p: f64| {
        let z = bias + normal.inverse_cdf(p);
        of_sorted(&resampled, normal.cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = (end(tail)?, end(1.0 - tail)?);
    Some(Estimate { value: seen, low, high, unit, n: values.len() as u32, by: Method::Bootstrap })
}

/// From the statistic with each value left out once.
fn acceleration(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let left: Vec<f64> = (0..values.len())
        .map(|at| {
            let rest: Vec<f64> = [&values[..at], &values[at + 1..]].concat();
            statistic(&rest)
        })
        .collect();
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    let power = |k: i32| left.iter().map(|x| (mean - x).powi(k)).sum::<f64>();
    let spread = power(2).powf(1.5);
    if spread > 0.0 { power(3) / (6.0 * spread) } else { 0.0 }
}

/// Whether the medians of two sides differ, by permutation: exact where few orders exist, else by
/// ten thousand drawn ones. The statistic is the difference of the medians. `None` when a side is
/// empty.
pub fn permutation(a: &[f64], b: &[f64]) -> Option<Test> {
    let (a, b) = (sorted(a), sorted(b));
    let seen = median(&a)? - median(&b)?;
    let mut all = [a.as_slice(), b.as_slice()].concat();
    let far = seen.abs() * (1.0 - 1e-12);
    if orders(all.len(), a.len()) <= ORDERS_MAX {
        let (mut low, mut high, mut count) = (0u64, 0u64, 0u64);
        each_choice(&all, a.len(), |first, second| {
            let d = difference(first, second);
            count += 1;
            low += u64::from(d <= seen + 1e-12 * far);
            high += u64::from(d >= seen - 1e-12 * far);
        });
        let p = (2.0 * low.min(high) as f64 / count as f64).min(1.0);
        return Some(Test { statistic: seen, p });
    }
    let mut random = Pcg64::seed_from_u64(SEED);
    let mut beyond = 0;
    for _ in 0..RESAMPLES {
        use rand::seq::SliceRandom;
        all.shuffle(&mut random);
        let (first, second) = all.split_at(a.len());
        beyond += u32::from(difference(first, second).abs() >= far);
    }
    let p = (f64::from(beyond) + 1.0) / (RESAMPLES as f64 + 1.0);
    Some(Test { statistic: seen, p })
}

fn difference(first: &[f64], second: &[f64]) -> f64 {
    median(first).zip(median(second)).map_or(0.0, |(a, b)| a - b)
}

fn orders(n: usize, k: usize) -> u64 {
    let k = k.min(n - k) as u64;
    (0..k)
        .try_fold(1u64, |all, i| Some(all.checked_mul(n as u64 - i)? / (i + 1)))
        .unwrap_or(u64::MAX)
}

/// Calls with every way to choose `k` of the values, and the rest.
fn each_choice(values: &[f64], k: usize, mut call: impl FnMut(&[f64], &[f64])) {
    let n = values.len();
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        let mut at = chosen.iter().peekable();
        let (mut first, mut second) = (Vec::with_capacity(k), Vec::with_capacity(n - k));
        for (index, value) in values.iter().enumerate() {
            match at.next_if(|next| **next == index) {
                Some(_) => first.push(*value),
                None => second.push(*value),
            }
        }
        call(&first, &second);
        let Some(move_up) = (0..k).rev().find(|i| chosen[*i] < n - k + i) else { return };
        chosen[move_up] += 1;
        for i in move_up + 1..k {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

/// Whether several cells are equal within a margin: a claim by itself, not the absence of a
/// difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Equivalence {
    /// The margin, as a share: 0.02 allows medians 2 % apart.
    pub margin: f64,
    /// Largest quotient of two medians.
    pub widest: f64,
    /// Upper end of the 90 % interval of the largest quotient, over all pairs: with two one-sided
    /// tests at 5 %, the claim holds when this stays within the margin.
    pub bound: f64,
    pub holds: bool,
}

/// Two one-sided tests on the quotient of medians for every pair of cells, by bootstrap: all must
/// hold for the claim (intersection-union, Berger 1982), so no correction for their number is
/// needed. `None` with fewer than two cells, a cell of fewer than six values, or one with a median
/// of zero beside others: a quotient tells nothing of it.
pub fn equivalence(cells: &[&[f64]], margin: f64) -> Option<Equivalence> {
    if cells.len() < 2 || cells.iter().any(|cell| cell.len() < 6) {
        return None;
    }
    let mut random = Pcg64::seed_from_u64(SEED);
    let mut sample = Vec::new();
    let mut medians: Vec<Vec<f64>> = Vec::new();
    for cell in cells {
        let ordered = sorted(cell);
        // The median of a resample of many values is the value at a place in their order that
        // scatters around the middle by one half over the root of their number.
        let scatter = 0.5 / (ordered.len() as f64).sqrt();
        let place = Some(scatter).filter(|_| ordered.len() > DRAWN_MAX);
        let place = place.and_then(|scatter| Normal::new(0.5, scatter).ok());
        medians.push(
            (0..RESAMPLES / 2)
                .map(|_| {
                    if let Some(place) = &place {
                        return of_sorted(
                            &ordered,
                            place.inverse_cdf(random.random_range(1e-9..1.0)),
                        );
                    }
                    draw(&mut random, cell, &mut sample);
                    median(&sample)
                })
                .collect::<Option<_>>()?,
        );
    }
    let seen: Vec<f64> = cells.iter().map(|cell| median(cell)).collect::<Option<_>>()?;
    if cells.iter().all(|cell| cell.iter().all(|value| *value == 0.0)) {
        return Some(Equivalence { margin, widest: 1.0, bound: 1.0, holds: true });
    }
    if seen.iter().any(|median| *median <= 0.0) {
        return None;
    }
    let (mut widest, mut bound) = (1.0f64, 1.0f64);
    for a in 0..cells.len() {
        for b in 0..cells.len() {
            if a == b || seen[a] < seen[b] {
                continue;
            }
            widest = widest.max(seen[a] / seen[b]);
            let quotients = medians[a].iter().zip(&medians[b]).map(|(a, b)| a / b);
            let quotients = sorted(&quotients.collect::<Vec<f64>>());
            let (low, high) = (of_sorted(&quotients, 0.05)?, of_sorted(&quotients, 0.95)?);
            bound = bound.max(high).max(1.0 / low);
        }
    }
    Some(Equivalence { margin, widest, bound, holds: bound <= 1.0 + margin })
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 10] = [61.2, 60.8, 88.25, 63.6, 59.9, 61.15, 70.4, 61.3, 60.2, 62.7];
    const Y: [f64; 8] = [63.1, 64.8, 62.2, 66.0, 71.2, 65.5, 64.1, 63.3];

    fn within(have: f64, want: f64, share: f64) {
        assert!((have / want - 1.0).abs() < share, "{have} is not {want}");
    }

    /// SciPy 1.17.1: `bootstrap((X,), mean, method='BCa', n_resamples=200000)`; ours draws ten
    /// thousand, hence the half percent.
    #[test]
    fn bca_is_scipys() {
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let interval = bca(&X, mean, 0.95, Unit::Share).expect("values");
        within(interval.low, 61.620000000000005, 0.005);
        within(interval.high, 74.48157741778442, 0.005);
        let again = bca(&X, mean, 0.95, Unit::Share).expect("values");
        assert_eq!(interval, again, "a seed is stated");
        assert_eq!(bca(&[3.0; 5], mean, 0.95, Unit::Share), None);
    }

    /// SciPy 1.17.1: `permutation_test((X, Y), difference of medians, n_resamples=inf)`.
    #[test]
    fn permutation_is_scipys() {
        let test = permutation(&X, &Y).expect("values");
        within(test.statistic, -3.1999999999999886, 1e-9);
        within(test.p, 0.04063257004433475, 1e-9);
    }

    #[test]
    fn equality_is_claimed_only_when_shown() {
        let close: Vec<Vec<f64>> = (0..3)
            .map(|c| {
                (0..30).map(|i| 97.0 + f64::from(i % 7) * 0.01 + f64::from(c) * 0.02).collect()
            })
            .collect();
        let of = |cells: &[Vec<f64>]| {
            let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
            equivalence(&cells, 0.02).expect("cells")
        };
        assert!(of(&close).holds);
        let apart = vec![close[0].clone(), close[1].iter().map(|x| x * 0.97).collect()];
        assert!(!of(&apart).holds);
        // Wide and alike: no difference is shown, and no equality either.
        let wide: Vec<f64> = (0..8).map(|i| 80.0 + 5.0 * f64::from(i)).collect();
        assert!(!of(&[wide.clone(), wide]).holds);
        assert_eq!(equivalence(&[&X, &X[..5]], 0.02), None);
        // SciPy 1.17.1: the 90 % percentile interval of median(X) / median(Y) is 0.9309 to 0.9930.
        let pair = equivalence(&[&X, &Y], 0.02).expect("cells");
        within(pair.bound, 1.0 / 0.930916030534351, 0.003);
    }

    /// Values that lie evenly from 100 to 101: the median scatters by 0.5 / root of n, the quotient
    /// of two by root of 2 times that over 100.5, and 1.645 of it is the end of a 90 % interval.
    #[test]
    fn medians_of_many_values_scatter_by_the_root_of_their_number() {
        for n in [301u32, 2001] {
            let even: Vec<f64> = (0..n).map(|i| 100.0 + f64::from(i) / f64::from(n - 1)).collect();
            let told = equivalence(&[&even, &even], 0.01).expect("cells");
            let want = 1.645 * 2f64.sqrt() * 0.5 / f64::from(n).sqrt() / 100.5;
            within(told.bound - 1.0, want, 0.04);
            assert_eq!(told.widest, 1.0);
            // Shifted up by 1 %, the same holds around the shift.
            let up: Vec<f64> = even.iter().map(|value| value * 1.01).collect();
            let told = equivalence(&[&even, &up], 0.01).expect("cells");
            within(told.bound / 1.01 - 1.0, want, 0.04);
            assert!(!told.holds);
        }
    }
}
