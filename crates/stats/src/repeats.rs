//! How many repeats a statement needs.

use crate::order::{of_sorted, rank, sorted};

/// More are not looked for.
pub const REPEATS_MAX: usize = 5000;

/// The fewest repeats after which the interval of the median is within `share` of it, on average
/// (the question of Maricq and others, "Taming Performance Variability", OSDI 2018, section 5, who
/// draw series; here the mean of order statistics answers it). `None` with fewer than ten values,
/// or beyond 5000.
pub fn repeats_needed(values: &[f64], share: f64, confidence: f64) -> Option<usize> {
    let values = sorted(values);
    if values.len() < 10 {
        return None;
    }
    let enough = |n: usize| reached(&values, n, confidence).is_some_and(|reach| reach <= share);
    let mut high = 6;
    while !enough(high) {
        high *= 2;
        if high > REPEATS_MAX {
            return None;
        }
    }
    let mut low = (high / 2).max(5);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// How far from the median the farther end of the interval is after `n` repeats, as a share, in the
/// mean: order statistic k of n values stands at k / (n + 1) of their distribution.
fn reached(values: &[f64], n: usize, confidence: f64) -> Option<f64> {
    let k = rank(n, confidence)? as f64;
    let at = |k: f64| of_sorted(values, k / (n as f64 + 1.0));
    let middle = of_sorted(values, 0.5).filter(|middle| *middle > 0.0)?;
    let far = |end: f64| (end / middle - 1.0).abs();
    Some(far(at(k)?).max(far(at(n as f64 + 1.0 - k)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_series_need_more() {
        let of = |spread: f64| -> Vec<f64> {
            (0..200).map(|i| 100.0 + spread * (f64::from(i * 37 % 200) / 100.0 - 1.0)).collect()
        };
        let need = |spread: f64| repeats_needed(&of(spread), 0.02, 0.95).expect("a number");
        assert_eq!(need(0.5), 6);
        let (narrow, wide) = (need(5.0), need(10.0));
        // The interval of a uniform series shrinks with the root: twice as wide needs four times.
        assert!((3.0..5.5).contains(&(wide as f64 / narrow as f64)), "{narrow} {wide}");
        assert_eq!(repeats_needed(&of(5.0)[..9], 0.02, 0.95), None);
    }
}
