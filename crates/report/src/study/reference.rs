//! Medians of other studies beside a study's cells: which of them are of the same cell.
//!
//! A cell is the same where all levels of one of the two are levels of the other, and where nothing
//! else could be meant: a published table says nothing of a port's mode or of the size of a
//! message, and what it says of one cell is not said of several. A level `any` is of all levels of
//! its factor, and `best` of the one at which the cell has its best median: a peak of which nobody
//! published where it is.

use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, Trial};
use narrows_model::units::Unit;
use narrows_stats::{Summary, summarise};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The level of a reference that holds for all levels of its factor.
const ANY: &str = "any";

/// The level of a reference that is the best one of its factor, whichever that is.
const BEST: &str = "best";

/// The note of a reference whose figure is only a bound.
const BOUND: &str = "bound";

/// What stands before a factor in whose level another cell differs, of which a figure is so many
/// times that one's.
pub(crate) const AGAINST: &str = "against ";

/// How many medians of the references have a cell that they stand beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Joined {
    /// Medians that the references have.
    pub medians: usize,
    /// Of these, those with a cell.
    pub with_cell: usize,
}

/// Levels by factor, both in small letters.
pub(crate) type Levels = BTreeMap<String, String>;

/// Small letters: two studies need not write a factor alike.
pub fn levels(trial: &Trial) -> Levels {
    let all = trial.levels.iter();
    all.map(|level| (level.factor.to_lowercase(), level.level.to_lowercase())).collect()
}

/// A median of another study.
#[derive(Clone)]
pub(crate) struct Median {
    pub levels: Levels,
    /// The same in the words of the source.
    pub said: Vec<Level>,
    /// `at least` or `at most`, where it is only a bound.
    pub bound: Option<String>,
    pub unit: Unit,
    pub value: f64,
}

impl Median {
    /// Whether a cell of these levels has all of its levels.
    pub fn is_within(&self, cell: &Levels) -> bool {
        let mut all = self.levels.iter().map(|(factor, level)| (cell.get(factor), level));
        !self.levels.is_empty()
            && all.all(|(of, level)| {
                of.is_some_and(|of| level == ANY || level == BEST || of == level)
            })
    }

    /// Of cells at all levels of the factors that it has the best of, those at the best.
    pub fn best_of(&self, within: Vec<usize>, cells: &[Cell]) -> Vec<usize> {
        if !self.levels.values().any(|level| level == BEST) {
            return within;
        }
        let is_best = within.iter().map(|at| {
            // Cells at the levels that stay: those of `any` have a best each.
            let stays = self.named_of(&cells[*at]);
            let mut others = within.iter().map(|other| &cells[*other]);
            cells[*at].value.is_some()
                && others.all(|of| self.named_of(of) != stays || !of.is_better(&cells[*at]))
        });
        within.iter().zip(is_best).filter(|(_, is_best)| *is_best).map(|(at, _)| *at).collect()
    }

    /// The levels of a cell in the factors of which it names a level, or all.
    fn named_of<'a>(&self, cell: &'a Cell) -> Vec<&'a String> {
        let named = self.levels.iter().filter(|(_, level)| *level != BEST);
        named.filter_map(|(factor, _)| cell.levels.get(factor)).collect()
    }

    /// The levels of a cell whose factors it does not name.
    pub fn unnamed<'a>(&self, cell: &'a Levels) -> Vec<(&'a String, &'a String)> {
        cell.iter().filter(|(factor, _)| !self.levels.contains_key(*factor)).collect()
    }

    /// Whether it says how many times the figure of another cell is, and nothing of one alone.
    pub fn is_change(&self) -> bool {
        self.levels.keys().any(|factor| factor.starts_with(AGAINST))
    }

    /// Whether no other median has all levels of a cell, and more.
    fn is_alone(&self, all: &[Self], cell: &Levels) -> bool {
        all.iter().filter(|other| other.unit == self.unit && other.holds(cell)).count() == 1
    }

    /// Whether it has all levels of a cell, and more.
    fn holds(&self, cell: &Levels) -> bool {
        !cell.is_empty()
            && cell.len() < self.levels.len()
            && cell.iter().all(|(factor, level)| self.levels.get(factor) == Some(level))
    }
}

/// A cell of the study, with its median where it has one.
pub(crate) struct Cell {
    pub levels: Levels,
    pub unit: Unit,
    pub value: Option<f64>,
}

impl Cell {
    /// Whether its median is better than another's: times are better short.
    fn is_better(&self, than: &Self) -> bool {
        match (self.value, than.value) {
            (Some(one), Some(other)) if self.unit == Unit::Nanos => one < other,
            (Some(one), Some(other)) => one > other,
            _ => false,
        }
    }
}

/// What references are called, each once: a study by its own name, a table by that of the work that
/// it is from, and an output by its tool.
pub fn names(others: &[StoredStudy]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for other in others {
        let title = other.study.title.as_ref().map(|title| &title.name);
        let source = other.records.iter().find_map(|record| record.external.as_ref());
        let from = source.map(|of| of.version.as_ref().unwrap_or(&of.tool));
        let name = title.or(from).map_or("another study", String::as_str).to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What stands beside each cell, and how many of the others' medians do; of two that are of one
/// cell the first. `None` without another study.
pub fn beside(
    stored: &StoredStudy,
    summaries: &[Summary],
    others: &[StoredStudy],
) -> (Vec<Option<f64>>, Option<Joined>) {
    let cells = cells(stored, summaries);
    let mut files: Vec<Vec<Median>> = others.iter().map(medians).collect();
    files.iter_mut().for_each(|all| all.retain(|one| !one.is_change()));
    let (beside, joined) = joined(&files, &cells);
    (beside, (!others.is_empty()).then_some(joined))
}

/// What of the medians of each file stands beside cells; what another file says of the same levels
/// takes nothing from one.
fn joined(files: &[Vec<Median>], cells: &[Cell]) -> (Vec<Option<f64>>, Joined) {
    let mut beside = vec![None; cells.len()];
    let mut joined = Joined::default();
    for all in files {
        joined.medians += all.len();
        for one in all {
            let same = of_same(one, all, cells);
            joined.with_cell += usize::from(!same.is_empty());
            for at in same {
                beside[at] = beside[at].or(Some(one.value));
            }
        }
    }
    (beside, joined)
}

/// A study's cells, in its order.
pub(crate) fn cells(stored: &StoredStudy, summaries: &[Summary]) -> Vec<Cell> {
    stored.trials.iter().zip(summaries).map(cell).collect()
}

fn cell((trial, summary): (&Trial, &Summary)) -> Cell {
    let unit = summary.estimate.map_or(summary.metric.unit(), |estimate| estimate.unit);
    let value = summary.estimate.map(|estimate| estimate.value);
    Cell { levels: levels(trial), unit, value }
}

/// What a reference says.
pub(crate) fn medians(other: &StoredStudy) -> Vec<Median> {
    let summaries = summarise(other);
    let cells = other.trials.iter().zip(&summaries);
    cells.filter_map(|(trial, summary)| median(other, trial, summary)).collect()
}

fn median(other: &StoredStudy, trial: &Trial, summary: &Summary) -> Option<Median> {
    let is_change = trial.levels.iter().any(|level| level.factor.starts_with(AGAINST));
    let (unit, value) = if is_change {
        // A quotient is no rate or time, which alone have medians.
        let figures = other.records_of(trial).flat_map(|record| record.external.iter());
        let first = figures.flat_map(|external| &external.figures).next();
        first.filter(|one| one.unit == Unit::Share).map(|one| (one.unit, one.value))?
    } else {
        let estimate = summary.estimate?;
        (estimate.unit, estimate.value)
    };
    let bound = trial.notes.iter().find(|note| note.factor == BOUND);
    Some(Median {
        levels: levels(trial),
        said: trial.levels.clone(),
        bound: bound.map(|note| note.level.clone()),
        unit,
        value,
    })
}

/// The cells that a median is of, by their index.
pub(crate) fn of_same(one: &Median, all: &[Median], cells: &[Cell]) -> Vec<usize> {
    let of_unit: Vec<(usize, &Levels)> = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.unit == one.unit)
        .map(|(at, cell)| (at, &cell.levels))
        .collect();
    let within: Vec<&(usize, &Levels)> =
        of_unit.iter().filter(|(_, cell)| one.is_within(cell)).collect();
    if let Some((_, first)) = within.first() {
        // Where cells differ in what it does not name, it could be of any of them.
        let is_one = within.iter().all(|(_, cell)| one.unnamed(cell) == one.unnamed(first));
        let within = within.iter().filter(|_| is_one).map(|(at, _)| *at).collect();
        return one.best_of(within, cells);
    }
    let larger = of_unit.iter().filter(|(_, cell)| one.holds(cell) && one.is_alone(all, cell));
    larger.map(|(at, _)| *at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(pairs: &[(&str, &str)]) -> Levels {
        pairs.iter().map(|(factor, level)| (factor.to_string(), level.to_string())).collect()
    }

    fn median(pairs: &[(&str, &str)]) -> Median {
        let (said, bound) = (Vec::new(), None);
        Median { levels: levels(pairs), said, bound, unit: Unit::BitsPerSecond, value: 1.0 }
    }

    fn cell(pairs: &[(&str, &str)], value: Option<f64>) -> Cell {
        Cell { levels: levels(pairs), unit: Unit::BitsPerSecond, value }
    }

    /// What the table names, by the indices of the cells that it is of.
    fn same(all: &[Median], cells: &[&[(&str, &str)]]) -> Vec<Vec<usize>> {
        let cells: Vec<Cell> = cells.iter().map(|one| cell(one, None)).collect();
        all.iter().map(|one| of_same(one, all, &cells)).collect()
    }

    #[test]
    fn a_table_need_not_name_what_its_cells_share() {
        let cells: [&[(&str, &str)]; 3] = [
            &[("dimms", "1"), ("mode", "eth"), ("protocol", "tcp")],
            &[("dimms", "2"), ("mode", "eth"), ("protocol", "tcp")],
            &[("dimms", "2"), ("mode", "ib"), ("protocol", "infiniband")],
        ];
        let two = median(&[("dimms", "2"), ("protocol", "tcp")]);
        assert_eq!(same(&[two], &cells), [[1]]);
        // Of all populations together: beside none, unless it says so.
        let any = [median(&[("protocol", "tcp")])];
        assert_eq!(same(&any, &cells), [Vec::<usize>::new()]);
        let any = [median(&[("protocol", "tcp"), ("dimms", "any")])];
        assert_eq!(same(&any, &cells), [[0, 1]]);
        let none = [median(&[]), median(&[("dimms", "2"), ("nic", "x")])];
        assert_eq!(same(&none, &cells), [Vec::<usize>::new(), Vec::new()]);
    }

    #[test]
    fn a_cell_may_lack_what_the_other_names_once() {
        let cells: [&[(&str, &str)]; 1] = [&[("protocol", "tcp")]];
        let one = || median(&[("protocol", "tcp"), ("sockets", "1")]);
        assert_eq!(same(&[one()], &cells), [[0]]);
        let other = median(&[("protocol", "tcp"), ("sockets", "2")]);
        assert_eq!(same(&[one(), other], &cells), [Vec::<usize>::new(), Vec::new()]);
    }

    #[test]
    fn a_second_file_takes_nothing_from_the_first() {
        let cells = [cell(&[("protocol", "tcp")], None)];
        let of = |value: f64| Median { value, ..median(&[("protocol", "tcp"), ("sockets", "1")]) };
        let (beside, both) = joined(&[vec![of(7.0)], vec![of(9.0)]], &cells);
        assert_eq!(beside, [Some(7.0)], "of two the first");
        assert_eq!((both.medians, both.with_cell), (2, 2));
    }

    #[test]
    fn figures_of_another_unit_are_of_no_cell() {
        let cells = [Cell { unit: Unit::Nanos, ..cell(&[("size", "64")], Some(1.0)) }];
        let all = [median(&[("size", "64")])];
        assert_eq!(of_same(&all[0], &all, &cells), Vec::<usize>::new());
    }

    #[test]
    fn a_peak_stands_beside_the_best_cell_of_each_level_that_is_not_its() {
        let of = |size: &'static str, mtu: &'static str, value: Option<f64>| {
            cell(&[("size", size), ("mtu", mtu), ("test", "fan-in")], value)
        };
        let mut cells = vec![
            of("64", "1500", Some(1.0)),
            of("4k", "1500", Some(7.0)),
            of("16k", "1500", Some(5.0)),
            of("64", "9000", Some(2.0)),
            of("4k", "9000", Some(3.0)),
            of("16k", "9000", None),
            cell(&[("size", "64"), ("mtu", "9000"), ("test", "fan-out")], Some(9.0)),
        ];
        let mut peak = median(&[("test", "fan-in"), ("size", "best"), ("mtu", "9000")]);
        let found = |peak: &Median, cells: &[Cell]| of_same(peak, &[], cells);
        assert_eq!(found(&peak, &cells), [4]);
        peak.levels.insert("mtu".to_owned(), "any".to_owned());
        assert_eq!(found(&peak, &cells), [1, 4], "the best of each MTU");
        peak.levels.insert("mtu".to_owned(), "best".to_owned());
        assert_eq!(found(&peak, &cells), [1]);
        peak.levels.remove("mtu");
        assert_eq!(found(&peak, &cells), Vec::<usize>::new(), "of which MTU nobody says");
        for cell in &mut cells {
            cell.unit = Unit::Nanos;
        }
        let least = Median {
            unit: Unit::Nanos,
            ..median(&[("test", "fan-in"), ("size", "best"), ("mtu", "any")])
        };
        assert_eq!(found(&least, &cells), [0, 3], "times are better short");
    }
}
