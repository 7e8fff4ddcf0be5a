//! `narrows study status`: a grid of what is done, left and failed.

use super::of_results;
use crate::args::StatusArgs;
use crate::failure::Failure;
use crate::output;
use narrows_model::study::StoredStudy;
use narrows_plan::study::{Count, Cut, Left, left};
use narrows_report::table;
use narrows_runner::Defined;
use narrows_store::Counts;
use std::collections::BTreeMap;
use std::fmt::Write;

pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let stored = narrows_store::head(&args.file)?;
    let counts = narrows_store::counts(&args.file)?;
    let defined = of_results(&stored, &args.file)?;
    let status = Status { defined: &defined, stored: &stored, counts: &counts };
    output::print_json_or_text(args.json, &if args.json { status.json() } else { status.text() })?;
    Ok(0)
}

struct Status<'a> {
    defined: &'a Defined,
    stored: &'a StoredStudy,
    counts: &'a BTreeMap<String, Counts>,
}

impl Status<'_> {
    fn count(&self, cell: usize) -> Count {
        let of = self.counts.get(&self.defined.cells[cell].id.0).copied().unwrap_or_default();
        // Whether a cell is precise stands in its records, which a status does not read.
        let Counts { done, failed, skipped } = of;
        Count { done, failed, skipped, precise: true, fits: true }
    }

    fn left(&self, cell: usize) -> Left {
        left(&Cut::of(&self.defined.definition, self.stored.study.seed), &self.count(cell))
    }

    /// Why a cell cannot run, by the last session.
    fn cannot(&self, cell: usize) -> Option<&str> {
        let session = self.stored.sessions.last()?;
        session.cannot.get(&self.defined.cells[cell].id.0).map(String::as_str)
    }

    /// Seconds that the runs left take at least.
    fn seconds_left(&self) -> f64 {
        self.repeated()
            .map(|cell| match self.left(cell) {
                Left::Runs(_) if self.cannot(cell).is_some() => 0.0,
                Left::Runs(n) => {
                    f64::from(n) * narrows_plan::run_ns(&self.stored.trials[cell]).seconds()
                }
                _ => 0.0,
            })
            .sum()
    }

    /// The cells that are repeated, and whose rate nothing searches for.
    fn repeated(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.defined.cells.len()).filter(|cell| !self.is_searched(*cell))
    }

    fn is_searched(&self, cell: usize) -> bool {
        let search = self.defined.definition.search;
        search.is_some_and(|search| search.has(&self.defined.cells[cell].levels))
    }

    /// A cell in a word: `30`, `12/30`, `3/30 !4` with failures.
    fn word(&self, cell: usize) -> String {
        let (count, wanted) = (self.count(cell), self.defined.definition.repeats);
        let failed = match count.failed {
            0 => String::new(),
            n if self.left(cell) == Left::GivenUp => format!(" !{n} given up"),
            n => format!(" !{n}"),
        };
        match count.done {
            0 if self.cannot(cell).is_some() => "cannot".to_owned(),
            done if done >= wanted => format!("{done}{failed}"),
            done => format!("{done}/{wanted}{failed}"),
        }
    }

    /// What is there of a study that searches for rates: which runs are next its records tell,
    /// which a status does not read.
    fn of_search(&self) -> String {
        let searched = (0..self.defined.cells.len()).filter(|cell| self.is_searched(*cell));
        let runs: u32 = searched.map(|cell| self.count(cell).made()).sum();
        let (name, seed) = (&self.defined.definition.name, self.stored.study.seed);
        format!(
            "{name}: {runs} runs of a search for rates, seed {seed}; `narrows report` has where it \
             stands\n"
        )
    }

    fn text(&self) -> String {
        let definition = &self.defined.definition;
        let cells: Vec<usize> = self.repeated().collect();
        let search = definition.search.map(|_| self.of_search()).unwrap_or_default();
        if cells.is_empty() {
            return search;
        }
        let done = cells.iter().filter(|cell| self.left(**cell) == Left::Done).count();
        let left = if done == cells.len() {
            String::new()
        } else {
            format!(", at least {} left", output::lasting(self.seconds_left()))
        };
        let mut text = search;
        let _ = writeln!(
            text,
            "{}{}: {done} of {} cells done{left}, {} {}, seed {}",
            definition.name,
            if self.stored.study.quick { " (quick)" } else { "" },
            cells.len(),
            self.stored.sessions.len(),
            if self.stored.sessions.len() == 1 { "session" } else { "sessions" },
            self.stored.study.seed,
        );
        if let Some(session) = self.stored.sessions.last() {
            let at: Vec<String> = session
                .levels
                .iter()
                .map(|(factor, at)| {
                    let how = if at.read { "read" } else { "as you said" };
                    format!("{factor} {} ({how})", at.level)
                })
                .collect();
            let at = if at.is_empty() { String::new() } else { format!(": {}", at.join(", ")) };
            let _ = writeln!(text, "last session{at}");
        }
        text += &self.grid();
        text += "done of wanted runs; ! marks failures\n";
        let mut whys: Vec<&str> = cells.iter().filter_map(|cell| self.cannot(*cell)).collect();
        whys.sort_unstable();
        whys.dedup();
        for why in whys {
            let _ = writeln!(text, "cannot: {why}");
        }
        text
    }

    /// The last factor across, all others down.
    fn grid(&self) -> String {
        let mut rows: Vec<(String, BTreeMap<String, usize>)> = Vec::new();
        let mut columns: Vec<String> = Vec::new();
        for (at, cell) in self.repeated().map(|at| (at, &self.defined.cells[at])) {
            let names: Vec<&str> = cell.levels.iter().map(|l| l.level.as_str()).collect();
            let (column, row) =
                names.split_last().map_or(("runs", String::new()), |(c, r)| (*c, r.join(", ")));
            if !columns.iter().any(|known| known == column) {
                columns.push(column.to_owned());
            }
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, cells)) => drop(cells.insert(column.to_owned(), at)),
                None => rows.push((row, BTreeMap::from([(column.to_owned(), at)]))),
            }
        }
        let factors: Vec<&str> =
            self.defined.definition.factors.iter().map(|f| f.name.as_str()).collect();
        let head = factors.split_last().map_or(String::new(), |(_, rest)| rest.join(", "));
        let mut table =
            vec![std::iter::once(head).chain(columns.iter().cloned()).collect::<Vec<String>>()];
        for (row, cells) in rows {
            let words =
                columns.iter().map(|c| cells.get(c).map_or("-".to_owned(), |at| self.word(*at)));
            table.push(std::iter::once(row).chain(words).collect());
        }
        table::lines(&table, |_| false)
    }

    fn json(&self) -> String {
        let cell = |at: usize| {
            let (cell, count) = (&self.defined.cells[at], self.count(at));
            let levels: BTreeMap<&str, &str> =
                cell.levels.iter().map(|l| (l.factor.as_str(), l.level.as_str())).collect();
            let (state, runs_left) = match self.left(at) {
                _ if self.is_searched(at) => ("searched", 0),
                Left::Done | Left::NotPrecise => ("done", 0),
                Left::GivenUp => ("given-up", 0),
                Left::Runs(n) if self.cannot(at).is_some() => ("cannot", n),
                Left::Runs(n) if count.done == 0 => ("left", n),
                Left::Runs(n) => ("begun", n),
            };
            serde_json::json!({
                "trial": cell.id, "levels": levels, "state": state, "runs_done": count.done,
                "runs_failed": count.failed, "runs_left_at_least": runs_left,
                "cannot": self.cannot(at),
            })
        };
        let document = serde_json::json!({
            "schema_version": narrows_model::SCHEMA_VERSION,
            "name": self.defined.definition.name,
            "quick": self.stored.study.quick,
            "seed": self.stored.study.seed,
            "sessions": self.stored.sessions.len(),
            "seconds_left_at_least": self.seconds_left(),
            "cells": (0..self.defined.cells.len()).map(cell).collect::<Vec<_>>(),
        });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}
