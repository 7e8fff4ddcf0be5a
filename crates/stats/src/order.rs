//! Order statistics: no assumption about the shape of the distribution.

use narrows_model::result::{Estimate, Method};
use narrows_model::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Five numbers and the outliers, by Tukey's rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoxPlot {
    /// Smallest value that is no outlier: the lower whisker ends on data.
    pub whisker_low: f64,
    /// First quartile (type 7).
    pub quartile_1: f64,
    /// Median of the values, by the mean of the middle two.
    pub median: f64,
    /// Third quartile (type 7).
    pub quartile_3: f64,
    /// Largest value that is no outlier.
    pub whisker_high: f64,
    /// Values beyond 1.5 interquartile ranges from the box, ascending.
    pub outliers: Vec<f64>,
}

/// The finite values, ascending.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Quantile `q` in 0..=1 by linear interpolation between order statistics (Hyndman and Fan's type
/// 7, the default of R and NumPy). `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    of_sorted(&sorted(values), q)
}

pub(crate) fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let at = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let low = sorted.get(at.floor() as usize)?;
    let high = sorted.get(at.ceil() as usize)?;
    Some(low + (high - low) * at.fract())
}

/// The median. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The boxplot. `None` without values.
pub fn box_plot(values: &[f64]) -> Option<BoxPlot> {
    let sorted = sorted(values);
    let (quartile_1, quartile_3) = (of_sorted(&sorted, 0.25)?, of_sorted(&sorted, 0.75)?);
    let reach = 1.5 * (quartile_3 - quartile_1);
    let inside = |value: &f64| (quartile_1 - reach..=quartile_3 + reach).contains(value);
    let kept: Vec<f64> = sorted.iter().copied().filter(inside).collect();
    Some(BoxPlot {
        whisker_low: *kept.first()?,
        quartile_1,
        median: of_sorted(&sorted, 0.5)?,
        quartile_3,
        whisker_high: *kept.last()?,
        outliers: sorted.into_iter().filter(|value| !inside(value)).collect(),
    })
}

/// The median with its distribution-free interval: order statistics k and n+1-k with the largest k
/// whose binomial confidence is at least `confidence` (David and Nagaraja, Order Statistics, 7.1).
/// With fewer than six values no interval reaches 95 %: the range of the values is given, and `by`
/// says so. `None` without values.
pub fn median_interval(values: &[f64], confidence: f64, unit: Unit) -> Option<Estimate> {
    let sorted = sorted(values);
    let rank = rank(sorted.len(), confidence);
    let k = rank.unwrap_or(1);
    Some(Estimate {
        value: of_sorted(&sorted, 0.5)?,
        low: *sorted.get(k - 1)?,
        high: *sorted.get(sorted.len() - k)?,
        unit,
        n: sorted.len() as u32,
        by: if rank.is_some() { Method::MedianOrderStatistic } else { Method::Range },
    })
}

/// The largest k with P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2; `None` when even k = 1
/// fails.
pub(crate) fn rank(n: usize, confidence: f64) -> Option<usize> {
    let tail = (1.0 - confidence) / 2.0;
    let mut probability = 0.5f64.powi(i32::try_from(n).ok()?);
    if probability == 0.0 {
        // Beyond a thousand values the normal approximation is exact to a rank.
        let half_width = if confidence > 0.98 { 2.576 } else { 1.960 };
        return Some((n as f64 / 2.0 - half_width * (n as f64).sqrt() / 2.0).floor() as usize);
    }
    let (mut below, mut k) = (0.0, 0);
    while below + probability <= tail {
        below += probability;
        probability *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    (k > 0).then_some(k)
}

/// How many times larger `a` is than `b`: the ratio of the medians, with the bounds that the two
/// intervals allow. That range is wider than a 95 % interval of the ratio, never narrower.
pub fn ratio_of_medians(a: &Estimate, b: &Estimate) -> Option<Estimate> {
    (b.low > 0.0).then(|| Estimate {
        value: a.value / b.value,
        low: a.low / b.high,
        high: a.high / b.low,
        unit: Unit::Share,
        n: a.n.min(b.n),
        by: Method::MedianRatio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of SciPy 1.17.1 and NumPy 2.4.6, by `numpy.quantile(x, q)` (type 7 is its default).
    const X: [f64; 10] = [61.2, 60.8, 88.25, 63.6, 59.9, 61.15, 70.4, 61.3, 60.2, 62.7];

    #[test]
    fn quantiles_are_numpys() {
        let want = [59.9, 60.17, 60.8875, 61.25, 63.375, 72.185, 86.6435, 88.25];
        for (q, want) in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0].into_iter().zip(want) {
            let have = quantile(&X, q).expect("values");
            assert!((have - want).abs() < 1e-9, "{q}: {have} {want}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0, f64::NAN], 0.5), Some(3.0));
    }

    /// `scipy.stats.quantile_test(x, q=median, p=.5).confidence_interval(.95)`.
    #[test]
    fn median_intervals_are_scipys() {
        let interval = |values: &[f64]| {
            let estimate = median_interval(values, 0.95, Unit::Share).expect("values");
            (estimate.low, estimate.high, estimate.n)
        };
        assert_eq!(interval(&X), (60.2, 70.4, 10));
        let thirty: Vec<f64> = (1..=30).map(f64::from).collect();
        assert_eq!(interval(&thirty), (10.0, 21.0, 30));
        assert_eq!(interval(&X[..6]), (59.9, 88.25, 6));
    }

    /// Largest k with `scipy.stats.binom.cdf(k - 1, n, .5) <= .025`.
    #[test]
    fn ranks_are_the_binomials() {
        let ranks = [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (50, 18), (100, 40)];
        for (n, k) in ranks {
            assert_eq!(rank(n, 0.95), Some(k), "n = {n}");
        }
        assert_eq!(rank(5, 0.95), None);
        assert_eq!(rank(0, 0.95), None);
        assert!((rank(5000, 0.95).expect("rank") as i64 - 2431).abs() <= 1);
    }

    #[test]
    fn whiskers_end_on_data_and_outliers_are_named() {
        let plot = box_plot(&X).expect("values");
        // Upper fence: 63.375 + 1.5 * (63.375 - 60.8875) = 67.106.
        assert_eq!((plot.whisker_low, plot.whisker_high), (59.9, 63.6));
        assert_eq!(plot.outliers, [70.4, 88.25]);
        let same = box_plot(&[5.0; 4]).expect("values");
        assert_eq!((same.whisker_low, same.whisker_high, same.outliers.len()), (5.0, 5.0, 0));
    }

    #[test]
    fn a_ratio_is_bounded_by_both_intervals() {
        let a = median_interval(&[2.0, 3.0, 4.0], 0.95, Unit::BitsPerSecond).expect("values");
        let b = median_interval(&[1.0, 1.5, 2.0], 0.95, Unit::BitsPerSecond).expect("values");
        let ratio = ratio_of_medians(&a, &b).expect("ratio");
        assert_eq!((ratio.value, ratio.low, ratio.high), (2.0, 1.0, 4.0));
    }
}
