//! Percentiles of a latency histogram.

use crate::total;
use narrows_facts::Nanos;
use serde::{Deserialize, Serialize};

/// Round-trip times of all runs of a trial together, each to the upper edge of its histogram bucket
/// (buckets are less than 1 % wide). A percentile with fewer than ten samples beyond it is `None`:
/// it would be one packet's story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Round trips counted.
    pub count: u64,
    /// Shortest.
    pub min_ns: Nanos,
    /// Half were faster.
    pub p50_ns: Option<Nanos>,
    /// 90 % were faster.
    pub p90_ns: Option<Nanos>,
    /// 99 % were faster.
    pub p99_ns: Option<Nanos>,
    /// 99.9 % were faster.
    pub p999_ns: Option<Nanos>,
    /// 99.99 % were faster.
    #[serde(default)]
    pub p9999_ns: Option<Nanos>,
    /// Longest.
    pub max_ns: Nanos,
    /// The whole distribution: (upper edge, count), ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

/// Samples that must lie beyond a percentile for it to be given.
const BEYOND_MIN: f64 = 10.0;

/// Percentiles of histograms taken together. `None` when nothing was counted.
pub fn percentiles<'a>(
    histograms: impl IntoIterator<Item = &'a [(Nanos, u64)]>,
) -> Option<Percentiles> {
    let mut all = std::collections::BTreeMap::<Nanos, u64>::new();
    for (edge, count) in histograms.into_iter().flatten() {
        let sum = all.entry(*edge).or_default();
        *sum = total([*sum, *count]);
    }
    let buckets: Vec<(Nanos, u64)> = all.into_iter().filter(|(_, count)| *count > 0).collect();
    let count = total(buckets.iter().map(|(_, count)| *count));
    let at = |share: f64| {
        if count as f64 * (1.0 - share) < BEYOND_MIN {
            return None;
        }
        let wanted = (share * count as f64).ceil() as u64;
        let mut seen: u64 = 0;
        buckets.iter().find_map(|(edge, count)| {
            seen = total([seen, *count]);
            (seen >= wanted).then_some(*edge)
        })
    };
    Some(Percentiles {
        count,
        min_ns: buckets.first()?.0,
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        p9999_ns: at(0.9999),
        max_ns: buckets.last()?.0,
        buckets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks_and_thin_tails_are_not_given() {
        let histogram: Vec<(Nanos, u64)> = (1..=2000).map(|n| (Nanos(n), 1)).collect();
        let (low, high) = histogram.split_at(700);
        let all = percentiles([high, low]).expect("counts");
        assert_eq!((all.count, all.min_ns, all.max_ns), (2000, Nanos(1), Nanos(2000)));
        assert_eq!((all.p50_ns, all.p90_ns), (Some(Nanos(1000)), Some(Nanos(1800))));
        assert_eq!((all.p99_ns, all.p999_ns), (Some(Nanos(1980)), None));
        let many: Vec<(Nanos, u64)> = (1..=1000).map(|n| (Nanos(n), 200)).collect();
        assert_eq!(percentiles([many.as_slice()]).and_then(|p| p.p9999_ns), Some(Nanos(1000)));
        assert_eq!(percentiles([[].as_slice()]), None);
    }
}
