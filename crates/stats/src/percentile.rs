//! Percentiles of a latency histogram.

use crate::total;
use narrows_model::Nanos;
use narrows_model::load::EndReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Round-trip times of all runs of a trial together, each to the upper edge of its histogram bucket
/// (buckets are less than 1 % wide). A percentile with fewer than ten samples beyond it is `None`:
/// it would be one packet's story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Round trips counted.
    pub count: u64,
    /// The shortest round trip of all.
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
    /// The longest round trip of all.
    pub max_ns: Nanos,
    /// The whole distribution: (upper edge, count), ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

/// Samples that must lie beyond a percentile for it to be given.
const BEYOND_MIN: u64 = 10;

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
    // In whole samples: 100 * (1 - 0.9) is less than ten.
    let at = |of_ten_thousand: u128| {
        let wanted = (u128::from(count) * of_ten_thousand).div_ceil(10_000) as u64;
        if count - wanted < BEYOND_MIN {
            return None;
        }
        let mut seen: u64 = 0;
        buckets.iter().find_map(|(edge, count)| {
            seen = total([seen, *count]);
            (seen >= wanted).then_some(*edge)
        })
    };
    Some(Percentiles {
        count,
        min_ns: buckets.first()?.0,
        p50_ns: at(5000),
        p90_ns: at(9000),
        p99_ns: at(9900),
        p999_ns: at(9990),
        p9999_ns: at(9999),
        max_ns: buckets.last()?.0,
        buckets,
    })
}

/// Percentiles of the round trips of many reports, whose ends are the shortest and the longest of
/// all exactly, where each report tells its own; else the edges of their buckets.
pub(crate) fn round_trips<'a>(
    reports: impl Iterator<Item = &'a EndReport> + Clone,
) -> Option<Percentiles> {
    let counted = reports.filter(|report| !report.round_trips.is_empty());
    let all = percentiles(counted.clone().map(|report| report.round_trips.as_slice()))?;
    let extremes = counted.map(|report| report.round_trip_extremes_ns).collect::<Option<Vec<_>>>();
    let exact =
        extremes.and_then(|all| all.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))));
    let (min_ns, max_ns) = exact.unwrap_or((all.min_ns, all.max_ns));
    Some(Percentiles { min_ns, max_ns, ..all })
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

    #[test]
    fn ten_samples_beyond_a_percentile_are_enough_and_nine_are_not() {
        let of = |count: u64| {
            let histogram: Vec<(Nanos, u64)> = (1..=count).map(|n| (Nanos(n), 1)).collect();
            let all = percentiles([histogram.as_slice()]).expect("counts");
            [all.p50_ns, all.p90_ns, all.p99_ns, all.p999_ns].map(|at| at.map(|at| at.0))
        };
        assert_eq!(of(19), [None; 4]);
        assert_eq!(of(20), [Some(10), None, None, None]);
        assert_eq!(of(99), [Some(50), None, None, None]);
        assert_eq!(of(100), [Some(50), Some(90), None, None]);
        assert_eq!(of(1000), [Some(500), Some(900), Some(990), None]);
        assert_eq!(of(10_000), [Some(5000), Some(9000), Some(9900), Some(9990)]);
    }

    #[test]
    fn the_ends_are_exact_where_all_reports_tell_them() {
        let report = |edge: u64, extremes: Option<(u64, u64)>| EndReport {
            round_trips: vec![(Nanos(edge), 100)],
            round_trip_extremes_ns: extremes.map(|(low, high)| (Nanos(low), Nanos(high))),
            ..EndReport::default()
        };
        let ends = |reports: &[EndReport]| {
            let told = round_trips(reports.iter()).expect("counted");
            (told.min_ns.0, told.max_ns.0)
        };
        let (fast, slow) = (report(1023, Some((1001, 1019))), report(2047, Some((2031, 2040))));
        assert_eq!(ends(&[fast.clone(), slow]), (1001, 2040));
        // An older record has only its buckets' edges.
        assert_eq!(ends(&[fast, report(511, None)]), (511, 1023));
    }
}
