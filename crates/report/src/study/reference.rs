//! Medians of other studies beside a study's cells: which of them are of the same cell.
//!
//! A cell is the same where all levels of one of the two are levels of the other, and where nothing
//! else could be meant: a published table says nothing of a port's mode or of the size of a
//! message, and what it says of one cell is not said of several. A level `any` is of all levels of
//! its factor.

use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_stats::{Summary, summarise};
use serde::Serialize;
use std::collections::BTreeMap;

/// The level of a reference that holds for all levels of its factor.
const ANY: &str = "any";

/// How many medians of the references have a cell that they stand beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Joined {
    /// Medians that the references have.
    pub medians: usize,
    /// Of these, those with a cell.
    pub with_cell: usize,
}

/// Levels by factor, both in small letters.
type Levels = BTreeMap<String, String>;

/// Small letters: two studies need not write a factor alike.
pub fn levels(trial: &Trial) -> Levels {
    let all = trial.levels.iter();
    all.map(|level| (level.factor.to_lowercase(), level.level.to_lowercase())).collect()
}

/// A median of another study.
struct Median {
    levels: Levels,
    unit: Unit,
    value: f64,
}

impl Median {
    /// Whether a cell of these levels has all of its levels.
    fn is_within(&self, cell: &Levels) -> bool {
        let mut all = self.levels.iter().map(|(factor, level)| (cell.get(factor), level));
        !self.levels.is_empty()
            && all.all(|(of, level)| of.is_some_and(|of| level == ANY || of == level))
    }

    /// The levels of a cell whose factors it does not name.
    fn unnamed<'a>(&self, cell: &'a Levels) -> Vec<(&'a String, &'a String)> {
        cell.iter().filter(|(factor, _)| !self.levels.contains_key(*factor)).collect()
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
    let cells: Vec<(Levels, Unit)> = stored.trials.iter().zip(summaries).map(cell).collect();
    let files: Vec<Vec<Median>> = others.iter().map(medians).collect();
    let (beside, joined) = joined(&files, &cells);
    (beside, (!others.is_empty()).then_some(joined))
}

/// What of the medians of each file stands beside cells; what another file says of the same levels
/// takes nothing from one.
fn joined(files: &[Vec<Median>], cells: &[(Levels, Unit)]) -> (Vec<Option<f64>>, Joined) {
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

fn cell((trial, summary): (&Trial, &Summary)) -> (Levels, Unit) {
    let unit = summary.estimate.map_or(summary.metric.unit(), |estimate| estimate.unit);
    (levels(trial), unit)
}

fn medians(other: &StoredStudy) -> Vec<Median> {
    let summaries = summarise(other);
    let cells = other.trials.iter().zip(&summaries);
    cells
        .filter_map(|(trial, summary)| {
            let estimate = summary.estimate?;
            Some(Median { levels: levels(trial), unit: estimate.unit, value: estimate.value })
        })
        .collect()
}

/// The cells that a median is of, by their index.
fn of_same(one: &Median, all: &[Median], cells: &[(Levels, Unit)]) -> Vec<usize> {
    let of_unit: Vec<(usize, &Levels)> = cells
        .iter()
        .enumerate()
        .filter(|(_, (_, unit))| *unit == one.unit)
        .map(|(at, (levels, _))| (at, levels))
        .collect();
    let within: Vec<&(usize, &Levels)> =
        of_unit.iter().filter(|(_, cell)| one.is_within(cell)).collect();
    if let Some((_, first)) = within.first() {
        // Where cells differ in what it does not name, it could be of any of them.
        let is_one = within.iter().all(|(_, cell)| one.unnamed(cell) == one.unnamed(first));
        return within.iter().filter(|_| is_one).map(|(at, _)| *at).collect();
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
        Median { levels: levels(pairs), unit: Unit::BitsPerSecond, value: 1.0 }
    }

    /// What the table names, by the indices of the cells that it is of.
    fn same(all: &[Median], cells: &[&[(&str, &str)]]) -> Vec<Vec<usize>> {
        let cells: Vec<(Levels, Unit)> =
            cells.iter().map(|one| (levels(one), Unit::BitsPerSecond)).collect();
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
        let cells = [(levels(&[("protocol", "tcp")]), Unit::BitsPerSecond)];
        let of = |value: f64| Median { value, ..median(&[("protocol", "tcp"), ("sockets", "1")]) };
        let (beside, both) = joined(&[vec![of(7.0)], vec![of(9.0)]], &cells);
        assert_eq!(beside, [Some(7.0)], "of two the first");
        assert_eq!((both.medians, both.with_cell), (2, 2));
    }

    #[test]
    fn figures_of_another_unit_are_of_no_cell() {
        let cells = [(levels(&[("size", "64")]), Unit::Nanos)];
        let all = [median(&[("size", "64")])];
        assert_eq!(of_same(&all[0], &all, &cells), Vec::<usize>::new());
    }
}
