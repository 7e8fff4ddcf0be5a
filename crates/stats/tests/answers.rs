//! Answers of SciPy 1.17.1 and of arithmetic on paper, at the sizes and edges where a formula turns
//! into another: many values, ties, few sessions, rounded shares.

use narrows_model::result::{Estimate, Method};
use narrows_model::study::Precision;
use narrows_model::units::Unit;
use narrows_stats::*;

fn near(have: f64, want: f64) {
    assert!((have - want).abs() <= 1e-9 * want.abs().max(1.0), "{have} is not {want}");
}

/// `mannwhitneyu(a, b, method='asymptotic')`; NumPy's sorted quotients 1426 and 3600 - 1426, where
/// 1426 is n m / 2 - 1.96 sqrt(n m (n + m + 1) / 12).
#[test]
fn sixty_values_a_side_are_taken_for_many() {
    let a: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i * 37 % 60)).collect();
    let b: Vec<f64> = (0..60).map(|i| 113.0 + f64::from(i * 29 % 60) * 0.9 + 0.05).collect();
    let test = mann_whitney(&a, &b).expect("values");
    near(test.statistic, 1222.0);
    near(test.p, 0.0024367348089890046);
    let told = ratio(&a, &b, 0.95).expect("values");
    near(told.value, 0.9275978540631933);
    near(told.low, 0.8830313014827018);
    near(told.high, 0.9728586535072258);
    assert!(told.reaches_confidence);
    assert_eq!(ratio(&a, &[0.0, 1.0], 0.95), None, "no quotient by zero");
    assert_eq!(ratio(&[-1.0, 1.0], &a, 0.95), None);
}

/// `spearmanr`, `kruskal`, `brunnermunzel`.
#[test]
fn ranks_of_few_values_with_ties() {
    let of = |a: &[f64], b: &[f64]| spearman(a, b).map(|test| (test.statistic, test.p));
    let (r, p) = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2.0, 1.0, 4.0, 3.0, 6.0, 5.0]).expect("r");
    near(r, 0.8285714285714287);
    near(p, 0.04156268221574335);
    let (r, p) = of(&[1.0, 2.0, 2.0, 3.0, 5.0, 6.0], &[2.0, 1.0, 4.0, 4.0, 6.0, 5.0]).expect("r");
    near(r, 0.8088235294117647);
    near(p, 0.051329063199674334);
    assert_eq!(of(&[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0]).map(|(r, _)| r), Some(1.0));
    assert_eq!(of(&[1.0, 2.0, 3.0], &[7.0, 6.0, 5.0]).map(|(r, _)| r), Some(-1.0));
    assert_eq!(of(&[1.0, 2.0], &[1.0, 2.0]), None, "fewer than three");
    assert_eq!(of(&[1.0, 2.0, 3.0], &[4.0; 3]), None, "no order");
    let three: [&[f64]; 3] = [&[1.0, 2.0, 3.0], &[2.0, 3.0, 9.0], &[1.0, 5.0, 6.0, 7.0]];
    let test = kruskal_wallis(&three).expect("groups");
    near(test.statistic, 1.9050925925925897);
    near(test.p, 0.38575751889724896);
    let alike = kruskal_wallis(&[&[4.0, 4.0], &[4.0]]).expect("groups");
    assert_eq!((alike.statistic, alike.p), (0.0, 1.0));
    assert_eq!(kruskal_wallis(&[&[1.0]]), None);
    assert_eq!(kruskal_wallis(&[&[1.0], &[]]), None);
    let test = brunner_munzel(&[1.0, 2.0, 3.0, 4.0, 9.0], &[2.0, 3.0, 5.0, 7.0]).expect("values");
    near(test.statistic, 0.46977617561176294);
    near(test.p, 0.6533369520506407);
    // Dunn: all ranks of two groups apart, by hand: mean ranks 2 and 5, error sqrt(6 * 7 / 12 *
    // 2 / 3), z = 1.964, p = 0.0495.
    let pairs = dunn(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]);
    assert_eq!((pairs.len(), pairs[0].a, pairs[0].b), (1, 0, 1));
    assert!((pairs[0].p - 0.04953).abs() < 1e-5, "{pairs:?}");
    near(pairs[0].p_holm, pairs[0].p);
}

/// Counted over all choices (35, 35, 35), each by hand of `itertools.combinations`.
#[test]
fn permutations_are_counted_one_by_one() {
    let of = |a: &[f64], b: &[f64]| permutation(a, b).map(|test| (test.statistic, test.p));
    let (d, p) = of(&[1.0, 2.0, 9.0], &[4.0, 5.0, 6.0, 8.0]).expect("values");
    near(d, -3.5);
    near(p, 10.0 / 35.0);
    let (d, p) = of(&[7.0, 8.0, 9.0], &[4.0, 5.0, 6.0, 1.0]).expect("values");
    near(d, 3.5);
    near(p, 4.0 / 35.0);
    near(of(&[1.0, 2.0, 3.0, 4.0], &[2.5, 2.6, 2.4]).expect("values").1, 1.0);
    assert_eq!(of(&[], &[1.0]), None);
    // Drawn where there are too many: none of ten thousand is as far, and itself is one.
    let low: Vec<f64> = (0..30).map(f64::from).collect();
    let high: Vec<f64> = (0..30).map(|i| f64::from(i) + 100.0).collect();
    let (d, p) = of(&low, &high).expect("values");
    near(d, -100.0);
    near(p, 1.0 / 10_001.0);
    let (_, p) = of(&low, &low).expect("values");
    near(p, 1.0);
}

/// `bootstrap(x, mean, method='BCa', n_resamples=400000, confidence_level=0.9)`: 3.5 to 18.83.
#[test]
fn a_skewed_bootstrap_is_accelerated() {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let told = bca(&[1.0, 2.0, 3.0, 4.0, 10.0, 30.0], mean, 0.9, Unit::Nanos).expect("values");
    // Means of six whole numbers are a sixth apart: ours draws fewer, and may end a step beside.
    assert!((told.low - 3.5).abs() < 0.17, "{told:?}");
    assert!((told.high - 18.833_333).abs() < 0.17, "{told:?}");
    near(told.value, 50.0 / 6.0);
    assert_eq!((told.n, told.unit, told.by), (6, Unit::Nanos, Method::Bootstrap));
    assert_eq!(bca(&[1.0], mean, 0.9, Unit::Nanos), None);
    let two = bca(&[1.0, 3.0], mean, 0.9, Unit::Nanos).expect("two values");
    assert_eq!((two.low, two.high), (1.0, 3.0));
}

/// `t.ppf(.975, 2)`, `var(ddof=1)` of logarithms, computed with NumPy.
#[test]
fn sessions_tell_what_another_would_measure() {
    let sessions = [vec![90.0, 100.0, 97.0], vec![110.0, 120.0], vec![100.0, 104.0, 102.0, 99.0]];
    let told = reproducibility(&sessions).expect("sessions");
    near(told.value, 104.05516673758007);
    near(told.session_low, 66.89039854229249);
    near(told.session_high, 161.86893725771043);
    near(told.between_share, 0.08911361584582435);
    near(told.run_low.expect("runs"), 63.41549009337612);
    near(told.run_high.expect("runs"), 169.21263783337295);
    near(told.within_share.expect("runs"), 0.043025553176096756);
    assert_eq!((told.sessions, told.runs), (3, 9));
    // A value that is not above zero: no logarithms.
    let plain = [vec![-1.0, 1.0, 4.0], vec![3.0, 5.0], vec![7.0, 8.0, 9.0], vec![]];
    let told = reproducibility(&plain).expect("sessions");
    near(told.value, 4.333333333333333);
    near(told.session_low, -13.11467653693692);
    near(told.between_share, 0.8104349040655953);
    assert_eq!(told.sessions, 3, "an empty session is none");
    // `ttest_ind(log(after), log(before), equal_var=False).confidence_interval(.99)`.
    let of = |medians: &[f64]| medians.iter().map(|m| vec![*m]).collect::<Vec<_>>();
    let before = of(&[90.0, 100.0, 110.0, 105.0, 97.0]);
    let told = compare_sessions(&before, &of(&[95.0, 101.0, 99.0]), 0.02, 5, true).expect("values");
    assert!((told.ratio.low - 0.84704665).abs() < 1e-7, "{told:?}");
    assert!((told.ratio.high - 1.13703622).abs() < 1e-7, "{told:?}");
    assert_eq!((told.n_before, told.n_after, told.before, told.after), (5, 3, 100.0, 99.0));
}

/// Ranks by `binom.cdf(k - 1, n, .5)`; the values are 1 to n, so that an end tells its rank.
#[test]
fn an_interval_ends_at_its_ranks() {
    let of = |n: u32, confidence: f64| {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let told = median_interval(&values, confidence, Unit::Share).expect("values");
        (told.low, told.high, told.by)
    };
    let ranked = Method::MedianOrderStatistic;
    assert_eq!(of(20, 0.99), (4.0, 17.0, ranked));
    assert_eq!(of(20, 0.9), (6.0, 15.0, ranked));
    assert_eq!(of(30, 0.8), (11.0, 20.0, ranked));
    assert_eq!(of(5, 0.95), (1.0, 5.0, Method::Range));
    for (n, confidence, want) in [(2000, 0.95, 956.0), (2000, 0.99, 942.0), (6000, 0.95, 2924.0)] {
        let (low, high, _) = of(n, confidence);
        assert!((low - want).abs() <= 1.0 && low + high == f64::from(n) + 1.0, "{n}: {low} {high}");
    }
    let estimate =
        |value, low, high, by| Estimate { value, low, high, unit: Unit::Share, n: 8, by };
    assert!(is_precise(&estimate(100.0, 98.0, 102.0, ranked), 0.02));
    assert!(!is_precise(&estimate(100.0, 97.9, 100.0, ranked), 0.02));
    assert!(!is_precise(&estimate(100.0, 100.0, 102.1, ranked), 0.02));
    assert!(!is_precise(&estimate(100.0, 100.0, 100.0, Method::Range), 0.02));
    assert!(is_precise(&estimate(-100.0, -102.0, -98.0, ranked), 0.02));
    assert_eq!(
        ratio_of_medians(&estimate(1.0, 1.0, 1.0, ranked), &estimate(1.0, 0.0, 2.0, ranked)),
        None
    );
    // The first look of six runs may spend what lets no rank yet: half of the odds of six alike.
    let precision = Precision { within_percent: 2.0, confidence_percent: 95.0, repeats_max: 6 };
    let looks = Looks::new(&precision, 6, 6);
    let values: Vec<f64> = (1..=6).map(f64::from).collect();
    let told = looks.interval(&values, Unit::Nanos).expect("values");
    assert_eq!((told.value, told.low, told.high, told.n), (3.5, 1.0, 6.0, 6));
    assert_eq!((told.by, told.unit), (Method::MedianSequential, Unit::Nanos));
}

/// A uniform series of 1001 values from 90 to 110: of n runs the ends lie at k / (n + 1) of it.
#[test]
fn repeats_that_a_precision_needs() {
    let uniform: Vec<f64> = (0..=1000).map(|i| 90.0 + 0.02 * f64::from(i)).collect();
    let needs = |share: f64| repeats_needed(&uniform, share, 0.95);
    // Six runs have the ends: 1/7 and 6/7 of the series, 7.14 % off. Nine have the second of ten:
    // 6 % off. Fifteen have the fourth of sixteen: 5 %.
    assert_eq!(needs(0.0715), Some(6));
    assert_eq!(needs(0.0601), Some(9));
    assert_eq!(needs(0.0501), Some(15));
    assert_eq!(needs(0.0001), None, "more than five thousand");
    assert_eq!(repeats_needed(&uniform[..9], 0.5, 0.95), None);
    assert_eq!(repeats_needed(&[0.0; 20], 0.5, 0.95), None);
}

fn placed(values: &[f64]) -> Vec<Placed> {
    values.iter().map(|value| Placed { cell: 0, value: *value }).collect()
}

#[test]
fn drift_is_told_when_it_is_sure_and_worth_it() {
    // Up by 2 % over 24 runs, each larger than the last.
    let rising: Vec<f64> = (0..24).map(|i| 100.0 * (1.0 + 0.02 * f64::from(i) / 23.0)).collect();
    let told = drift(&placed(&rising));
    assert_eq!((told.runs, told.trend), (24, Some(1.0)));
    let slight: Vec<f64> = rising.iter().map(|v| 100.0 + (v - 100.0) * 0.1).collect();
    let told = drift(&placed(&slight));
    assert_eq!((told.trend, told.step), (None, None), "a fifth of a per cent is no news");
    assert_eq!(drift(&placed(&rising[..11])), Drift { runs: 11, ..Drift::default() });
    // Half of the runs, then 5 % more.
    let mut step: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i * 5 % 12) * 0.01).collect();
    let above: Vec<f64> = step.iter().map(|value| value * 1.05).collect();
    step.extend(above);
    let told = drift(&placed(&step)).step.expect("a step");
    assert_eq!((told.at, told.p), (12, 0.001), "none of 999 orders is as far");
    near(told.ratio, 1.05);
    // More than two thousand: Pettitt's formula, 2 exp(-6 K^2 / (n^3 + n^2)).
    let many: Vec<f64> = (0..2400)
        .map(|i| if i < 1200 { 100.0 } else { 103.0 } + f64::from(i * 7 % 1200) * 1e-4)
        .collect();
    let told = drift(&placed(&many)).step.expect("a step");
    assert_eq!(told.at, 1200);
    assert!(told.p < 1e-9, "{told:?}");
    // A cell of one run has no share; cells of any size are taken together.
    let mut mixed = placed(&rising);
    mixed.push(Placed { cell: 7, value: 1e9 });
    mixed.push(Placed { cell: 0, value: f64::NAN });
    assert_eq!(drift(&mixed).runs, 24);
}

#[test]
fn comparisons_have_their_margins() {
    let series =
        |level: f64| -> Vec<f64> { (0..12).map(|i| level * (1.0 + 1e-6 * f64::from(i))).collect() };
    let of = |after: f64, larger: bool| {
        compare(&series(100.0), &series(after), 0.25, 1, larger).expect("values")
    };
    assert_eq!(of(126.0, true).change, Change::Better);
    assert_eq!(of(126.0, false).change, Change::Worse);
    assert_eq!(of(124.0, true).change, Change::Alike);
    // Down, the margin is its reciprocal: 80 of 100.
    assert_eq!(of(81.0, true).change, Change::Alike);
    assert_eq!(of(79.0, true).change, Change::Worse);
    assert_eq!(of(79.0, false).change, Change::Better);
    let told = of(79.0, true);
    assert_eq!((told.n_before, told.n_after, told.cliffs_delta), (12, 12, -1.0));
    assert_eq!(told.covers, Covers::TheseSessions);
    near(told.ratio.value, 0.79);
}

#[test]
fn equality_is_held_to_the_widest_pair() {
    let cell = |level: f64| -> Vec<f64> { (0..9).map(|i| level + 1e-9 * f64::from(i)).collect() };
    let of = |levels: &[f64], margin: f64| {
        let cells: Vec<Vec<f64>> = levels.iter().map(|level| cell(*level)).collect();
        let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
        equivalence(&cells, margin)
    };
    let told = of(&[100.0, 103.0, 101.0], 0.02).expect("cells");
    assert!((told.widest - 1.03).abs() < 1e-6 && (told.bound - 1.03).abs() < 1e-6, "{told:?}");
    assert!(!told.holds && of(&[100.0, 103.0, 101.0], 0.031).expect("cells").holds);
    assert_eq!(of(&[100.0], 0.02), None, "one cell");
    assert_eq!(of(&[-1.0, 100.0], 0.02), None);
    let zero = equivalence(&[&[0.0; 6], &[0.0; 6]], 0.02).expect("cells");
    assert!(zero.holds && zero.bound == 1.0);
    assert_eq!(equivalence(&[&[0.0; 6], &[1.0; 6]], 0.02), None);
    // Many values: the median scatters by half the root of their number. 1601 values from 90 to
    // 110 have a median of 100, good to 20 * 0.5 / 40 * 1.645 a side: a quotient to 0.58 %.
    let many: Vec<f64> = (0..=1600).map(|i| 90.0 + f64::from(i) / 80.0).collect();
    let told = equivalence(&[&many, &many], 0.02).expect("cells");
    assert!((told.bound - 1.00583).abs() < 0.0005, "{told:?}");
}
