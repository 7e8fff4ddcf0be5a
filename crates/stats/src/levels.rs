//! Cells sorted into levels, "two groups, 88 to 90 and 61 to 64", by a procedure that keeps its
//! error rate.

use crate::order::{median, sorted};
use crate::rank::{brunner_munzel, kruskal_wallis, mann_whitney};
use crate::resample::Equivalence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Levels whose medians span less than this are one.
pub const ALIKE: f64 = 0.05;
/// Most studies in which cells that do not differ may stand in different levels.
pub const ERROR_SHARE: f64 = 0.05;
/// Fewer runs than this place no cell: the omnibus test is given from here on.
pub const RUNS_MIN: usize = 6;

/// Cells that reach about the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Indices of the cells, lowest median first.
    pub cells: Vec<usize>,
    /// Lowest median of the level's cells.
    pub low: f64,
    /// Highest median of the level's cells.
    pub high: f64,
}

/// Why no levels are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The omnibus test does not tell that any cell differs.
    NoDifference,
    /// Cells differ, but a chain of neighbours that cannot be told apart joins all of them.
    NoLine,
    /// Cells differ by less than 5 % as far as medians go, and perhaps by more.
    Close,
}

/// What is claimed of the levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Levels {
    /// Fewer than two cells have the runs that a test takes.
    Untested,
    /// All cells were shown to be equal within 5 %.
    One(Level),
    /// Neither levels nor equality are shown.
    Inconclusive {
        /// What keeps a claim from being made.
        doubt: Doubt,
        /// Lowest median of the cells, in their unit.
        low: f64,
        /// Highest median of the cells, in their unit.
        high: f64,
    },
    /// Every cell of one level was told apart from every cell of the others.
    Several {
        /// The levels, that of the highest medians first.
        levels: Vec<Level>,
    },
}

/// Levels, and what they rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grouping {
    #[serde(flatten)]
    pub levels: Levels,
    /// Kruskal and Wallis' probability of such differences if no cell differed.
    pub p: Option<f64>,
    /// Indices of cells with runs, but too few of them to be placed.
    pub few: Vec<usize>,
}

impl Grouping {
    /// The levels where there are several, highest first; else nothing.
    pub fn several(&self) -> &[Level] {
        match &self.levels {
            Levels::Several { levels } => levels,
            _ => &[],
        }
    }
}

/// Sorts cells of at least six runs, each by its values, into levels. Where the test of Kruskal and
/// Wallis tells that cells differ (5 %), cells that no pair test tells apart are joined, and what
/// hangs together is a level. `equal` is what is known of the same cells' equality.
///
/// Pairs are tested at 2 x 5 % / k of k cells. With that, the probability that cells that do not
/// differ come to stand in different levels is at most 5 %, whichever cells these are: of m alike
/// cells, a set that parts them parts at least 2 of m (m - 1) / 2 random pairs in m, and all pairs
/// across must have been told apart; so that happens at most m / 2 times as often as one pair is
/// told apart by chance, and the groups of alike cells have at most k cells together. After a cut
/// the same holds of the cells that have not come to stand alone, which is the next step's k.
/// Levels are joined again where they overlap, or span less than 5 % together; joining adds no
/// error.
pub fn levels(cells: &[&[f64]], equal: Option<&Equivalence>) -> Grouping {
    let runs: Vec<Vec<f64>> = cells.iter().map(|cell| sorted(cell)).collect();
    let (placed, few): (Vec<usize>, Vec<usize>) = (0..cells.len())
        .filter(|at| !runs[*at].is_empty())
        .partition(|at| runs[*at].len() >= RUNS_MIN);
    let mut order: Vec<(usize, f64)> =
        placed.iter().filter_map(|at| Some((*at, median(&runs[*at])?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(first), Some(last)) = (order.first(), order.last()) else {
        return Grouping { levels: Levels::Untested, p: None, few };
    };
    let (low, high) = (first.1, last.1);
    let groups: Vec<&[f64]> = placed.iter().map(|at| runs[*at].as_slice()).collect();
    let Some(test) = kruskal_wallis(&groups) else {
        return Grouping { levels: Levels::Untested, p: None, few };
    };
    let all = || Level { cells: order.iter().map(|(at, _)| *at).collect(), low, high };
    let doubt = |doubt: Doubt| Levels::Inconclusive { doubt, low, high };
    let told = match () {
        () if equal.is_some_and(|equal| equal.bound <= 1.0 + ALIKE) => Levels::One(all()),
        () if test.p > ERROR_SHARE => doubt(Doubt::NoDifference),
        () => match apart(&runs, &order) {
            parts if parts.len() < 2 => doubt(Doubt::NoLine),
            parts => match joined(parts) {
                parts if parts.len() < 2 => doubt(Doubt::Close),
                levels => Levels::Several { levels },
            },
        },
    };
    Grouping { levels: told, p: Some(test.p), few }
}

/// Cells in order of their medians, cut where every pair across was told apart; lowest first.
fn apart(runs: &[Vec<f64>], order: &[(usize, f64)]) -> Vec<Level> {
    let mut known: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    // Kept as the ends of stretches of the order.
    let mut ends = vec![order.len()];
    loop {
        let starts = || std::iter::once(0).chain(ends.iter().copied());
        let lengths = starts().zip(&ends).map(|(from, to)| to - from);
        let open: usize = lengths.filter(|length| *length > 1).sum();
        let level = 2.0 * ERROR_SHARE / open.max(1) as f64;
        let mut alike = |a: usize, b: usize| {
            let (a, b) = (order[a].0, order[b].0);
            *known.entry((a, b)).or_insert_with(|| pair(&runs[a], &runs[b])) > level
        };
        let next: Vec<usize> =
            starts().zip(&ends).flat_map(|(from, to)| cut(from, *to, &mut alike)).collect();
        if next.len() == ends.len() {
            break;
        }
        ends = next;
    }
    let mut from = 0;
    ends.into_iter()
        .map(|to| {
            let part = &order[std::mem::replace(&mut from, to)..to];
            let cells = part.iter().map(|(cell, _)| *cell).collect();
            Level { cells, low: at(part.first()), high: at(part.last()) }
        })
        .collect()
}

fn at(end: Option<&(usize, f64)>) -> f64 {
    end.map_or(0.0, |(_, median)| *median)
}

/// Ends of the stretches of `from..to` between which no pair is alike. What is alike is joined with
/// all that lies between, so that levels never overlap.
fn cut(from: usize, to: usize, alike: &mut impl FnMut(usize, usize) -> bool) -> Vec<usize> {
    // Places after which a stretch may end, until a pair reaches over them.
    let mut ends: Vec<bool> = vec![true; to - from];
    for distance in 1..to - from {
        for a in from..to - distance {
            let between = a - from..a + distance - from;
            if ends[between.clone()].contains(&true) && alike(a, a + distance) {
                ends[between].fill(false);
            }
        }
    }
    (from..to).filter(|at| ends[at - from]).map(|at| at + 1).collect()
}

/// Probability of such a difference between two cells that do not differ: the larger of Mann and
/// Whitney's, which is exact where the cells are alike, and Brunner and Munzel's, which also holds
/// where one of them spreads wider.
fn pair(a: &[f64], b: &[f64]) -> f64 {
    p_of(mann_whitney(a, b)).max(p_of(brunner_munzel(a, b)))
}

fn p_of(test: Option<crate::rank::Test>) -> f64 {
    test.map_or(1.0, |test| test.p)
}

/// Neighbours joined, those first that span least, as long as a level spans at most 5 %; highest
/// first.
fn joined(mut parts: Vec<Level>) -> Vec<Level> {
    loop {
        let spans = parts.windows(2).map(span).enumerate();
        match spans.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, span)) if span - 1.0 <= ALIKE => {
                let upper = parts.remove(at + 1);
                parts[at].cells.extend(upper.cells);
                parts[at].high = upper.high;
            }
            _ => break,
        }
    }
    parts.reverse();
    parts
}

fn span(pair: &[Level]) -> f64 {
    match (pair[0].low, pair[1].high) {
        (low, high) if low == high => 1.0,
        (low, high) if low > 0.0 => high / low,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resample::equivalence;

    /// Runs around a middle, spread over 2 %.
    fn around(middle: f64, n: u32) -> Vec<f64> {
        (0..n).map(|i| middle * (0.99 + 0.02 * f64::from(i * 7 % n) / f64::from(n))).collect()
    }

    fn of(cells: &[Vec<f64>]) -> Grouping {
        let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
        levels(&cells, equivalence(&cells, 0.02).as_ref())
    }

    fn parts(cells: &[Vec<f64>]) -> Vec<Vec<usize>> {
        of(cells).several().iter().map(|level| level.cells.clone()).collect()
    }

    /// Medians of six populations as the study LP1241 has them, with runs around each: it sees two
    /// groups for TCP and UDP and one for RDMA.
    #[test]
    fn the_studys_groups_are_found_in_runs() {
        let cells = |medians: [f64; 6]| medians.map(|median| around(median, 30));
        let tcp = cells([61.15, 88.25, 63.6, 88.25, 60.8, 87.7]);
        assert_eq!(parts(&tcp), [vec![5, 1, 3], vec![4, 0, 2]]);
        let rdma = of(&cells([97.3, 97.5, 97.4, 97.3, 97.3, 97.4]));
        assert!(matches!(rdma.levels, Levels::One(_)), "{rdma:?}");
    }

    #[test]
    fn single_values_are_not_tested() {
        let published = of(&[vec![61.15], vec![88.25], vec![63.6]]);
        assert_eq!(published, Grouping { levels: Levels::Untested, p: None, few: vec![0, 1, 2] });
        assert_eq!(of(&[]).levels, Levels::Untested);
        let mixed = of(&[around(60.0, 10), vec![88.25; 5], around(80.0, 10), Vec::new()]);
        assert_eq!((mixed.several().len(), mixed.few), (2, vec![1]));
    }

    #[test]
    fn wide_and_apart_is_inconclusive_and_not_one_level() {
        // A ladder of wide cells: the ends differ, and every neighbour overlaps the next.
        let wide = |middle: f64| -> Vec<f64> {
            (0..8).map(|i| middle * (0.7 + 0.6 * f64::from(i * 3 % 8) / 8.0)).collect()
        };
        let ladder: Vec<Vec<f64>> = (0..8).map(|i| wide(110.0 * 1.29f64.powi(i))).collect();
        let told = of(&ladder).levels;
        assert!(matches!(told, Levels::Inconclusive { doubt: Doubt::NoLine, .. }), "{told:?}");
        let told = of(&[wide(100.0), wide(101.0)]).levels;
        assert!(
            matches!(told, Levels::Inconclusive { doubt: Doubt::NoDifference, .. }),
            "{told:?}"
        );
        // Told apart with certainty, by perhaps a little more or less than 5 %.
        let near = [around(100.0, 20), around(104.9, 20)];
        let told = of(&near).levels;
        assert!(matches!(told, Levels::Inconclusive { doubt: Doubt::Close, .. }), "{told:?}");
    }

    #[test]
    fn a_cell_that_reached_nothing_has_its_place() {
        assert_eq!(parts(&[around(5.0, 8), vec![0.0; 8]]), [vec![0], vec![1]]);
        let told = of(&[vec![0.0; 8], vec![0.0; 8]]);
        assert!(matches!(&told.levels, Levels::One(level) if level.cells == [0, 1]), "{told:?}");
    }

    #[test]
    fn no_chain_of_small_steps_makes_one_level() {
        let ladder: Vec<Vec<f64>> = (0..6).map(|i| around(100.0 * 1.04f64.powi(i), 40)).collect();
        let levels = of(&ladder);
        let widest = levels.several().iter().map(|level| level.high / level.low);
        assert!(widest.fold(1.0, f64::max) <= 1.0 + ALIKE, "{levels:?}");
        assert!((3..=4).contains(&levels.several().len()), "{levels:?}");
    }
}
