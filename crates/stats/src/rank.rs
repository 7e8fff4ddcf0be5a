//! Comparisons by rank: no assumption about the shape of the distributions, and no value so far out
//! that it moves the answer.

use crate::order::sorted;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Most values of each side for which the exact distribution is counted.
const EXACT_MAX: usize = 50;

/// The ranks of values, from 1; equal values share the middle of theirs. With them, the sum of
/// t^3 - t over groups of t equal values.
fn midranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let (mut ranks, mut ties) = (vec![0.0; values.len()], 0.0);
    let mut from = 0;
    while from < order.len() {
        let same =
            order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count();
        let middle = from as f64 + (same as f64 + 1.0) / 2.0;
        order[from..from + same].iter().for_each(|at| ranks[*at] = middle);
        ties += (same as f64).powi(3) - same as f64;
        from += same;
    }
    (ranks, ties)
}

fn normal_tail(z: f64) -> f64 {
    Normal::standard().sf(z.abs())
}

/// A test's statistic and its two-sided probability under "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The statistic; which one stands at the function.
    pub statistic: f64,
    /// Probability of one at least as far out when nothing differs.
    pub p: f64,
}

/// Mann and Whitney's test; the statistic is U of `a`. Exact without ties and with at most 50
/// values a side, else by the normal distribution with the corrections for ties and continuity.
/// `None` when a side is empty.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    let (a, b) = (sorted(a), sorted(b));
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 {
        return None;
    }
    let (ranks, ties) = midranks(&[a, b].concat());
    let (nf, mf) = (n as f64, m as f64);
    let u = ranks[..n].iter().sum::<f64>() - nf * (nf + 1.0) / 2.0;
    let far = u.max(nf * mf - u);
    if ties == 0.0 && n.max(m) <= EXACT_MAX {
        let tail: f64 = counts(n, m)[far as usize..].iter().sum();
        return Some(Test { statistic: u, p: (2.0 * tail).min(1.0) });
    }
    let all = nf + mf;
    let variance = nf * mf / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let p = if variance > 0.0 {
        (2.0 * normal_tail(((far - nf * mf / 2.0 - 0.5) / variance.sqrt()).max(0.0))).min(1.0)
    } else {
        1.0
    };
    Some(Test { statistic: u, p })
}

/// Brunner and Munzel's test (2000): as Mann and Whitney's, but also where the two sides spread
/// differently; the statistic is theirs, positive where `b` is larger, and the probability that of
/// Student's distribution with their degrees. `None` with fewer than two values a side.
pub fn brunner_munzel(a: &[f64], b: &[f64]) -> Option<Test> {
    use statrs::distribution::StudentsT;
    let (a, b) = (sorted(a), sorted(b));
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let together = midranks(&[a.as_slice(), b.as_slice()].concat()).0;
    let (of_a, of_b) = together.split_at(a.len());
    let (spread_a, spread_b) = (n * spread(of_a, &a), m * spread(of_b, &b));
    let apart = mean(of_b) - mean(of_a);
    let (all, error) = (n + m, spread_a + spread_b);
    if error <= 0.0 {
        // No value of one side lies among those of the other.
        return Some(if apart == 0.0 {
            Test { statistic: 0.0, p: 1.0 }
        } else {
            Test { statistic: f64::INFINITY.copysign(apart), p: 0.0 }
        });
    }
    let statistic = n * m * apart / (all * error.sqrt());
    let degrees = error.powi(2) / (spread_a.powi(2) / (n - 1.0) + spread_b.powi(2) / (m - 1.0));
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(Test { statistic, p: 2.0 * t.sf(statistic.abs()) })
}

fn spread(ranks: &[f64], own: &[f64]) -> f64 {
    let middle = mean(ranks) - (own.len() as f64 + 1.0) / 2.0;
    let own = midranks(own).0;
    let squares = ranks.iter().zip(&own).map(|(all, own)| (all - own - middle).powi(2));
    squares.sum::<f64>() / (own.len() as f64 - 1.0)
}

fn mean(ranks: &[f64]) -> f64 {
    ranks.iter().sum::<f64>() / ranks.len() as f64
}

/// Probability of each value of U from 0 to n m when nothing differs (Mann and Whitney 1947,
/// section 3): the last value belongs to one side or the other.
fn counts(n: usize, m: usize) -> Vec<f64> {
    // by[j] holds the distribution for i values of the first side and j of the second.
    let mut by: Vec<Vec<f64>> = (0..=m).map(|_| vec![1.0]).collect();
    for i in 1..=n {
        for j in 0..=m {
            let mut next = vec![0.0; i * j + 1];
            let (share_i, share_j) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            // The largest is of the first side and beats all j, or of the second and beats none.
            for (u, p) in by[j].iter().enumerate() {
                next[u + j] += share_i * p;
            }
            if j > 0 {
                for (u, p) in by[j - 1].iter().enumerate() {
                    next[u] += share_j * p;
                }
            }
            by[j] = next;
        }
    }
    by.swap_remove(m)
}

/// How many times larger values of `a` are than those of `b`: the median of all quotients (Hodges
/// and Lehmann's estimate on logarithms), with the interval that the Mann-Whitney test does not
/// reject (Moses). `None` with an empty side or values that are not above zero.
pub fn ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Ratio> {
    let (a, b) = (sorted(a), sorted(b));
    if a.is_empty() || b.is_empty() || a[0] <= 0.0 || b[0] <= 0.0 {
        return None;
    }
    let k = moses_rank(a.len(), b.len(), (1.0 - confidence) / 2.0);
    let pairs = a.len() as f64 * b.len() as f64;
    let (few_a, few_b) = (thinned(&a), thinned(&b));
    let quotients = few_a.iter().flat_map(|a| few_b.iter().map(move |b| a / b));
    let quotients = sorted(&quotients.collect::<Vec<f64>>());
    // Without a rank no interval has this confidence: the range of all quotients is given.
    let share = quotients.len() as f64 / pairs;
    let at = ((k.unwrap_or(1) as f64 * share) as usize).max(1);
    Some(Ratio {
        value: crate::order::of_sorted(&quotients, 0.5)?,
        low: *quotients.get(at - 1)?,
        high: *quotients.get(quotients.len() - at)?,
        reaches_confidence: k.is_some(),
    })
}

/// Most values of a side whose quotients are all made.
const QUOTIENTS_MAX: usize = 1500;

/// The values, or of very many ones so many at even steps of their order, which have the same
/// distribution to one part in a thousand.
fn thinned(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len();
    if n <= QUOTIENTS_MAX {
        return sorted.to_vec();
    }
    let at = |step: usize| (2 * step + 1) * n / (2 * QUOTIENTS_MAX);
    (0..QUOTIENTS_MAX).filter_map(|step| sorted.get(at(step)).copied()).collect()
}

/// How many times larger one side is than the other.
#[derive(
    Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Ratio {
    /// The Hodges-Lehmann estimate of the quotient.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// False with too few values for the confidence: the interval is then the whole range.
    pub reaches_confidence: bool,
}

/// Largest k with P(U <= k - 1) <= tail.
fn moses_rank(n: usize, m: usize, tail: f64) -> Option<usize> {
    if n.max(m) <= EXACT_MAX {
        let mut below = 0.0;
        let k = counts(n, m)
            .iter()
            .take_while(|p| {
                below += **p;
                below <= tail
            })
            .count();
        return (k > 0).then_some(k);
    }
    let (n, m) = (n as f64, m as f64);
    let z = Normal::standard().inverse_cdf(1.0 - tail);
    let k = n * m / 2.0 - z * (n * m * (n + m + 1.0) / 12.0).sqrt();
    (k >= 1.0).then_some(k as usize)
}

/// Cliff's delta: the share of pairs where `a` is larger, less the share where it is smaller; -1 to
/// 1. `None` with an empty side.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    let pairs = a.len() as f64 * b.len() as f64;
    // U counts pairs where `a` is larger, ties as half.
    mann_whitney(a, b).map(|test| 2.0 * test.statistic / pairs - 1.0)
}

/// Kruskal and Wallis' test of several groups; the statistic is H, corrected for ties, and the
/// probability that of chi squared. `None` with fewer than two groups that have values.
pub fn kruskal_wallis(groups: &[&[f64]]) -> Option<Test> {
    let ranked = Ranked::of(groups)?;
    let all = ranked.n;
    let sum: f64 = ranked.mean.iter().map(|(mean, n)| n * mean * mean).sum();
    let h = 12.0 / (all * (all + 1.0)) * sum - 3.0 * (all + 1.0);
    let corrected = 1.0 - ranked.ties / (all.powi(3) - all);
    if corrected <= 0.0 {
        return Some(Test { statistic: 0.0, p: 1.0 });
    }
    let chi = ChiSquared::new(ranked.mean.len() as f64 - 1.0).ok()?;
    let statistic = h / corrected;
    Some(Test { statistic, p: chi.sf(statistic) })
}

/// Two groups of several, compared after Kruskal and Wallis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DunnPair {
    /// Index of the first group.
    pub a: usize,
    /// Index of the second.
    pub b: usize,
    /// Probability of such a difference if they were alike, before correction.
    pub p: f64,
    /// The same, corrected for the number of pairs (Holm 1979).
    pub p_holm: f64,
}

/// Dunn's comparison of every pair of groups by their mean ranks among all (Dunn 1964).
pub fn dunn(groups: &[&[f64]]) -> Vec<DunnPair> {
    let Some(ranked) = Ranked::of(groups) else { return Vec::new() };
    let all = ranked.n;
    let variance = all * (all + 1.0) / 12.0 - ranked.ties / (12.0 * (all - 1.0));
    let mut pairs = Vec::new();
    for (a, (mean_a, n)) in ranked.mean.iter().enumerate() {
        for (b, (mean_b, m)) in ranked.mean.iter().enumerate().skip(a + 1) {
            let error = (variance * (1.0 / n + 1.0 / m)).sqrt();
            let p = if error > 0.0 { 2.0 * normal_tail((mean_a - mean_b) / error) } else { 1.0 };
            pairs.push(DunnPair { a, b, p, p_holm: p });
        }
    }
    holm(&mut pairs);
    pairs
}

fn holm(pairs: &mut [DunnPair]) {
    let many = pairs.len();
    let mut order: Vec<usize> = (0..many).collect();
    order.sort_by(|x, y| pairs[*x].p.total_cmp(&pairs[*y].p));
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(pairs[at].p * (many - rank) as f64).min(1.0);
        pairs[at].p_holm = least;
    }
}

/// Groups by their ranks among all values.
struct Ranked {
    /// Mean rank and number of values of each group.
    mean: Vec<(f64, f64)>,
    n: f64,
    ties: f64,
}

impl Ranked {
    fn of(groups: &[&[f64]]) -> Option<Self> {
        let all: Vec<f64> = groups.concat();
        if groups.len() < 2 || groups.iter().any(|group| group.is_empty()) {
            return None;
        }
        if all.iter().any(|value| value.is_nan()) {
            return None;
        }
        let (ranks, ties) = midranks(&all);
        let mut rest = ranks.as_slice();
        let mut mean = Vec::new();
        for group in groups {
            let (own, others) = rest.split_at(group.len());
            mean.push((own.iter().sum::<f64>() / own.len() as f64, own.len() as f64));
            rest = others;
        }
        Some(Self { mean, n: all.len() as f64, ties })
    }
}

/// Spearman's rank correlation with its probability by Student's distribution with n - 2 degrees.
/// `None` with fewer than three pairs, or when one side is all the same.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<Test> {
    use statrs::distribution::StudentsT;
    let n = a.len().min(b.len());
    if n < 3 {
        return None;
    }
    let (a, b) = (midranks(&a[..n]).0, midranks(&b[..n]).0);
    let middle = (n as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| {
        x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    if spread <= 0.0 {
        return None;
    }
    let r = (product(&a, &b) / spread).clamp(-1.0, 1.0);
    let degrees = n as f64 - 2.0;
    let t = r * (degrees / (1.0 - r * r).max(f64::MIN_POSITIVE)).sqrt();
    Some(Test { statistic: r, p: 2.0 * StudentsT::new(0.0, 1.0, degrees).ok()?.sf(t.abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 10] = [61.2, 60.8, 88.25, 63.6, 59.9, 61.15, 70.4, 61.3, 60.2, 62.7];
    const Y: [f64; 8] = [63.1, 64.8, 62.2, 66.0, 71.2, 65.5, 64.1, 63.3];
    const Z: [f64; 7] = [61.2, 61.2, 62.7, 63.1, 63.1, 60.2, 64.8];

    fn near(have: f64, want: f64) {
        assert!((have - want).abs() < 1e-9, "{have} is not {want}");
    }

    /// SciPy 1.17.1: `mannwhitneyu(X, Y, method='exact')`, `mannwhitneyu(X, Z,
    /// method='asymptotic')`.
    #[test]
    fn mann_whitney_is_scipys() {
        let exact = mann_whitney(&X, &Y).expect("values");
        near(exact.statistic, 19.0);
        near(exact.p, 0.0675990675990676);
        let tied = mann_whitney(&X, &Z).expect("values");
        near(tied.statistic, 31.0);
        near(tied.p, 0.7315686952274962);
        assert_eq!(mann_whitney(&X, &[]), None);
        near(mann_whitney(&[5.0; 4], &[5.0; 4]).expect("values").p, 1.0);
    }

    /// SciPy 1.17.1: `brunnermunzel(X, Y)`, `brunnermunzel(X, Z)`.
    #[test]
    fn brunner_munzel_is_scipys() {
        let test = brunner_munzel(&X, &Y).expect("values");
        near(test.statistic, 2.066486345507681);
        near(test.p, 0.06504251880159467);
        let tied = brunner_munzel(&X, &Z).expect("values");
        near(tied.statistic, 0.3860936712526721);
        near(tied.p, 0.7049809497143025);
        assert_eq!(brunner_munzel(&[1.0; 4], &[2.0; 4]).map(|test| test.p), Some(0.0));
        assert_eq!(brunner_munzel(&[1.0; 4], &[1.0; 4]).map(|test| test.p), Some(1.0));
        assert_eq!(brunner_munzel(&X, &X[..1]), None);
    }

    /// SciPy 1.17.1: `kruskal(X, Y, Z)`; scikit-posthocs: `posthoc_dunn([X, Y, Z])`, and with
    /// `p_adjust='holm'`.
    #[test]
    fn kruskal_wallis_and_dunn_are_scipys() {
        let test = kruskal_wallis(&[&X, &Y, &Z]).expect("values");
        near(test.statistic, 5.596341665287213);
        near(test.p, 0.060921396199540026);
        let pairs = dunn(&[&X, &Y, &Z]);
        let raw = [0.02994292637757526, 0.9370783249530222, 0.05556350637731945];
        let corrected = [0.08982877913272579, 0.9370783249530222, 0.1111270127546389];
        for ((pair, raw), corrected) in pairs.iter().zip(raw).zip(corrected) {
            near(pair.p, raw);
            near(pair.p_holm, corrected);
        }
    }

    /// NumPy 2.4.6: `median(divide.outer(X, Y))`; the ends are the sorted quotients 18 and 63,
    /// where 18 is the smallest q with P(U <= q) of at least 2.5 % by the recursion of Mann and
    /// Whitney, as R's `wilcox.test` takes them.
    #[test]
    fn the_ratio_is_hodges_and_lehmanns() {
        let ratio = ratio(&X, &Y, 0.95).expect("values");
        near(ratio.value, 0.9632862143996412);
        near(ratio.low, 0.928_787_878_787_879);
        near(ratio.high, 1.007_923_930_269_413_4);
        near(cliffs_delta(&X, &Y).expect("values"), -0.525);
        // Thinned to even steps, many values say the same.
        let many =
            |from: f64| -> Vec<f64> { (0..20_000).map(|i| from + f64::from(i) / 1e4).collect() };
        let few =
            |from: f64| -> Vec<f64> { (0..1000).map(|i| from + f64::from(i) / 500.0).collect() };
        let (all, some) = (
            super::ratio(&many(11.0), &many(10.0), 0.95),
            super::ratio(&few(11.0), &few(10.0), 0.95),
        );
        let (all, some) = (all.expect("values"), some.expect("values"));
        assert!((all.value / some.value - 1.0).abs() < 1e-3, "{all:?} {some:?}");
        let width = |ratio: Ratio| ratio.high - ratio.low;
        // Twenty times as many: the interval is narrower by the root of twenty.
        assert!((width(some) / width(all) / 20f64.sqrt() - 1.0).abs() < 0.05, "{all:?} {some:?}");
        assert!(!super::ratio(&X[..2], &Y[..2], 0.95).expect("values").reaches_confidence);
    }

    /// SciPy 1.17.1: `spearmanr(range(10), X)`.
    #[test]
    fn spearman_is_scipys() {
        let order: Vec<f64> = (0..10).map(f64::from).collect();
        let test = spearman(&order, &X).expect("values");
        near(test.statistic, -0.01818181818181818);
        near(test.p, 0.9602404181286242);
    }
}
