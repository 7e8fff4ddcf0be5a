//! The searches of a study: of each, which rate is tried next, from the runs that are stored.

use crate::study::Defined;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::{RATE, Search};
use narrows_model::trial::{Level, Trial};
use narrows_plan::study::{Cell, Left};
use narrows_stats::{Bisection, Stand, seen};
use std::collections::{BTreeMap, BTreeSet};

/// One search: the cells that differ in their rate alone.
struct Hunt {
    /// Its cells, each at the place of its rate among those of the search; `None` where the study
    /// excludes the rate.
    cells: Vec<Option<usize>>,
    bisection: Bisection,
    failed: u32,
}

/// All searches of a study.
pub struct Hunts {
    hunts: Vec<Hunt>,
    /// The cells of all of them.
    searched: BTreeSet<usize>,
    /// Failures after which a search is given up.
    retries: u32,
}

impl Hunts {
    /// Those of a study; `None` where it repeats all its cells.
    pub fn of(defined: &Defined) -> Option<Self> {
        let search = defined.definition.search.as_ref()?;
        let mut groups: Vec<(Vec<&Level>, Vec<usize>)> = Vec::new();
        let cells = defined.cells.iter().enumerate();
        for (at, cell) in cells.filter(|(_, cell)| search.has(&cell.levels)) {
            let of = others(cell);
            match groups.iter_mut().find(|(known, _)| *known == of) {
                Some((_, cells)) => cells.push(at),
                None => groups.push((of, vec![at])),
            }
        }
        let searched = groups.iter().flat_map(|(_, cells)| cells).copied().collect();
        let hunts = groups
            .into_iter()
            .map(|(_, cells): (_, Vec<usize>)| Hunt::new(search, &defined.cells, &cells))
            .collect();
        Some(Self { hunts, searched, retries: defined.definition.retries })
    }

    /// Takes what a run says.
    pub fn add(&mut self, cell: usize, trial: &Trial, record: &Record) {
        for hunt in &mut self.hunts {
            let Some(at) = hunt.cells.iter().position(|known| *known == Some(cell)) else {
                continue;
            };
            match record.outcome {
                Outcome::Done => hunt.bisection.take(at, seen(trial, record)),
                Outcome::Failed { .. } => hunt.failed += 1,
                Outcome::Skipped { .. } => {}
            }
        }
    }

    /// The next cell of every search that wants a run, and how many the search has made.
    pub fn next(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.hunts.iter().filter_map(|hunt| Some((hunt.next(self.retries)?, hunt.bisection.runs())))
    }

    /// Whether a cell is of a search.
    pub fn has(&self, cell: usize) -> bool {
        self.searched.contains(&cell)
    }

    /// What is left of a cell: runs where it is the next one of its search. `None` for a cell of no
    /// search.
    pub fn left(&self, cell: usize) -> Option<Left> {
        let hunt = self.hunts.iter().find(|hunt| hunt.cells.contains(&Some(cell)))?;
        Some(hunt.left(cell, self.retries))
    }
}

impl Hunt {
    fn new(search: &Search, all: &[Cell], own: &[usize]) -> Self {
        let bisection = Bisection::new(search);
        let rate_of = |cell: &usize| all[*cell].level(RATE).and_then(Search::rate_of);
        let by_rate: BTreeMap<u64, usize> =
            own.iter().filter_map(|cell| Some((rate_of(cell)?, *cell))).collect();
        let at = |rate: &u64| by_rate.get(rate).copied();
        Self { cells: bisection.rates().iter().map(at).collect(), bisection, failed: 0 }
    }

    fn next(&self, retries: u32) -> Option<usize> {
        match self.bisection.stand() {
            Stand::Next(at) if self.failed <= retries => self.cells.get(at).copied().flatten(),
            _ => None,
        }
    }

    fn left(&self, cell: usize, retries: u32) -> Left {
        match self.bisection.stand() {
            Stand::Next(_) if self.failed > retries => Left::GivenUp,
            Stand::Next(at) if self.cells.get(at) == Some(&Some(cell)) => {
                Left::Runs(self.bisection.runs_left())
            }
            Stand::Undecided(_) => Left::NotPrecise,
            Stand::Next(_) | Stand::Found(_) | Stand::SenderBound(_) => Left::Done,
        }
    }
}

fn others(cell: &Cell) -> Vec<&Level> {
    cell.levels.iter().filter(|level| level.factor != RATE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study that excludes the lowest rates tries the others as what they are.
    #[test]
    fn an_excluded_rate_moves_no_other() {
        let next = |exclude: &str| {
            let text = format!(
                "name = 'a'\n[search]\nrate_max_packets_per_second = 1600\n\
                 rate_min_packets_per_second = 1000\nresolution_percent = 50\n[base]\n\
                 load = 'packets'\n{exclude}"
            );
            let defined = Defined::parse(&text, false).expect(&text);
            let hunts = Hunts::of(&defined).expect("a search");
            let next = hunts.next().next();
            next.and_then(|(cell, _)| defined.cells[cell].level(RATE).map(str::to_owned))
        };
        // Steps of a quarter: 1600, 1280, 1024.
        let first = next("").expect("a rate");
        assert_eq!(next("[[exclude]]\nrate = '1024/s'"), Some(first.clone()), "another rate");
        assert_eq!(next(&format!("[[exclude]]\nrate = '{first}'")), None, "nothing in its place");
    }
}
