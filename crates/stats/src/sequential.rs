//! An interval of the median that may be looked at after every run: a study that stops when it is
//! narrow enough stops at a lucky moment, and a fixed interval then covers too rarely.

use crate::order::{of_sorted, sorted};
use narrows_model::result::{Estimate, Method};
use narrows_model::study::Precision;
use narrows_model::units::Unit;

/// Weight of the first look beside the logarithm of how much longer the last one takes: chosen so
/// that the nominal confidence of a look changes little from first to last.
const FIRST_LOOK: f64 = 0.5;
/// Share of the error that is kept for looks after the last planned one, where files are merged.
const KEPT: f64 = 0.02;
/// Standard deviations beyond which a walk does not come back.
const FAR: f64 = 12.0;

/// Ranks of the interval after every number of runs.
///
/// How many of n values lie below the median is a walk that goes up with a probability of one half
/// at every step, whatever their distribution. The interval after n runs is that of order
/// statistics k and n+1-k, and misses the median on one side when the walk stands below k. So the
/// probability that any look misses is that of a walk meeting a bound, counted exactly; each k is
/// the largest that keeps it within what may be spent until then (Lan and DeMets 1983), by the
/// logarithm of the number of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// By the number of runs; 0 where there is no interval yet.
    ranks: Vec<usize>,
}

impl Looks {
    /// Looks from `repeats` runs to the most that a precision allows, and on to `longest` where
    /// there are more.
    pub fn new(precision: &Precision, repeats: u32, longest: usize) -> Self {
        let tail = (1.0 - precision.confidence_percent / 100.0) / 2.0;
        let least = (1..).find(|n| 0.5f64.powi(*n) <= tail).unwrap_or(1) as usize;
        let first = (repeats as usize).max(least);
        let last = (precision.repeats_max as usize).max(first);
        let planned = FIRST_LOOK + (last as f64 / first as f64).ln();
        let spent = |n: usize| {
            let planned = (FIRST_LOOK + (n as f64 / first as f64).ln()) / planned;
            match n {
                n if n < first => 0.0,
                n if n <= last => tail * (1.0 - KEPT) * planned,
                n => tail * (1.0 - KEPT * last as f64 / n as f64),
            }
        };
        Self { ranks: ranks(spent, longest.max(last)) }
    }

    /// The median of the runs so far with its interval. Before there is one, the range of the runs
    /// is given, and `by` says so. `None` without values.
    pub fn interval(&self, values: &[f64], unit: Unit) -> Option<Estimate> {
        let sorted = sorted(values);
        let (n, k) = (sorted.len(), self.ranks.get(sorted.len()).copied().unwrap_or(0));
        let by = if k > 0 { Method::MedianSequential } else { Method::Range };
        let k = k.max(1);
        Some(Estimate {
            value: of_sorted(&sorted, 0.5)?,
            low: *sorted.get(k - 1)?,
            high: *sorted.get(n - k)?,
            unit,
            n: n as u32,
            by,
        })
    }
}

/// Whether an interval lies within `share` of its value on both sides. A range of few runs does
/// not, however narrow it is.
pub fn is_precise(interval: &Estimate, share: f64) -> bool {
    let allowed = share * interval.value.abs();
    let reach = (interval.high - interval.value).max(interval.value - interval.low);
    interval.by != Method::Range && reach <= allowed
}

/// For every n the largest k so that walks which stood below their k at n or before have at most
/// the probability that may be spent until n.
fn ranks(spent: impl Fn(usize) -> f64, longest: usize) -> Vec<usize> {
    // Probability of every number of values below the median, from `base` on, of walks that met no
    // bound.
    let (mut base, mut mass, mut met) = (0, vec![1.0], 0.0);
    let mut ranks = vec![0];
    for n in 1..=longest {
        let far = (n as f64 / 2.0 + FAR / 2.0 * (n as f64).sqrt()) as usize;
        let length = (mass.len() + 1).min(far + 1 - base.min(far));
        mass = (0..length)
            .map(|at| {
                let stays = mass.get(at).copied().unwrap_or(0.0);
                let comes = at.checked_sub(1).and_then(|at| mass.get(at)).copied().unwrap_or(0.0);
                0.5 * (stays + comes)
            })
            .collect();
        let allowed = spent(n);
        let mut below = 0;
        while mass.get(below).is_some_and(|mass| met + mass <= allowed) {
            met += mass[below];
            below += 1;
        }
        mass.drain(..below);
        base += below;
        ranks.push(base);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precision(confidence_percent: f64, repeats_max: u32) -> Precision {
        Precision { within_percent: 2.0, confidence_percent, repeats_max }
    }

    /// All 2^18 ways in which values can lie below the median or not.
    #[test]
    fn the_walks_that_miss_are_as_many_as_allowed() {
        for (confidence, first, last) in [(95.0, 6, 18), (80.0, 4, 18), (99.0, 10, 18)] {
            let looks = Looks::new(&precision(confidence, last), first, 0);
            let missed = (0u32..1 << last).filter(|walk| {
                let below = |n: u32| (walk & ((1 << n) - 1)).count_ones() as usize;
                (1..=last).any(|n| below(n) < looks.ranks[n as usize])
            });
            let share = missed.count() as f64 / f64::from(1u32 << last);
            let tail = (1.0 - confidence / 100.0) / 2.0;
            assert!(share <= tail, "{confidence} %: {share}");
            // One rank more at the last look would miss more often than allowed.
            let more = looks.ranks[last as usize] as u32;
            let nearer = (0u32..1 << last).filter(|walk| {
                let below = |n: u32| (walk & ((1 << n) - 1)).count_ones();
                below(last) <= more
                    || (1..last).any(|n| (below(n) as usize) < looks.ranks[n as usize])
            });
            let share = nearer.count() as f64 / f64::from(1u32 << last);
            assert!(share > tail * (1.0 - KEPT), "{confidence} %: {share}");
        }
    }

    #[test]
    fn looks_cost_little_and_ranks_never_fall() {
        let looks = Looks::new(&precision(95.0, 60), 10, 200);
        assert_eq!(looks.ranks.len(), 201);
        assert!(looks.ranks.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(looks.ranks[9], 0, "no look before the first");
        // A fixed interval of 10 runs takes the second, of 60 the 22nd.
        assert!((1..=2).contains(&looks.ranks[10]), "{:?}", &looks.ranks[10..20]);
        assert!((18..22).contains(&looks.ranks[60]), "{}", looks.ranks[60]);
    }

    #[test]
    fn a_range_is_never_precise() {
        let looks = Looks::new(&precision(95.0, 60), 3, 0);
        let of = |n: usize| looks.interval(&vec![5.0; n], Unit::Share).expect("values");
        assert_eq!(of(4).by, Method::Range);
        assert!(!is_precise(&of(4), 0.02));
        assert_eq!(of(20).by, Method::MedianSequential);
        assert!(is_precise(&of(20), 0.02));
        assert_eq!(looks.interval(&[], Unit::Share), None);
    }
}
