//! `narrows compare`: two studies, two cells or two times; exit code 1 when something became worse.

use crate::args::CompareArgs;
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::output;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_profile::{EndChanged, changed};
use narrows_report::documents::{self, CompareDocument, ComparedCell};
use narrows_report::profiled;
use narrows_report::words::counted;
use narrows_report::words::{value, way_of};
use narrows_stats::{Change, Compared, Covers, SESSIONS_MIN, Summary, compare_sessions, summarise};
use std::panic::resume_unwind;
use std::thread;

/// One thing measured twice.
struct Both {
    label: String,
    metric: Metric,
    unit: Unit,
    /// Values of the first side, a list for each session.
    before: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
    /// What joined the ends of each side, where that is not the same.
    paths: Option<[&'static str; 2]>,
}

struct Sides {
    cells: Vec<Both>,
    /// What the ends of both spent their CPU time on, where both sides were profiled.
    profiles: Vec<EndChanged>,
}

impl Sides {
    fn of(before: &StoredStudy, after: &StoredStudy) -> Self {
        let profiles = joined(before, after)
            .into_iter()
            .flat_map(|(first, second)| changed((before, &first.label), (after, &second.label)))
            .collect();
        Self { cells: files(before, after), profiles }
    }
}

pub fn run(args: &CompareArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("compare");
    }
    let (text, changes) = changes(args)?;
    output::print(&text)?;
    Ok(if changes.contains(&Change::Worse) { VERDICT } else { 0 })
}

/// What is printed, and what became of each cell that has values on both sides.
pub fn changes(args: &CompareArgs) -> Result<(String, Vec<Change>), Failure> {
    let Sides { cells: both, profiles } = gather(args)?;
    if both.is_empty() {
        let says = "the two sides have no cell in common";
        return Err(Failure::of(Cause::NOTHING_IN_COMMON, says));
    }
    let margin = args.margin / 100.0;
    // Cells of many runs take a while each.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let rows: Vec<(&Both, Option<Compared>)> = thread::scope(|scope| {
        let cells = both.len();
        let parts = both.chunks(both.len().div_ceil(threads));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || judged(part, margin, cells))).collect();
        let all =
            parts.into_iter().map(|part| part.join().unwrap_or_else(|why| resume_unwind(why)));
        all.flatten().collect()
    });
    let told = if args.json { json(&rows, &profiles, args) } else { text(&rows, &profiles, args) };
    let changes = rows.iter().filter_map(|(_, compared)| Some(compared.as_ref()?.change)).collect();
    Ok((told, changes))
}

/// Compares some of `cells` things.
fn judged(some: &[Both], margin: f64, cells: usize) -> Vec<(&Both, Option<Compared>)> {
    let one = |row: &Both| {
        let larger_is_better = row.metric.larger_is_better();
        compare_sessions(&row.before, &row.after, margin, cells, larger_is_better)
    };
    some.iter().map(|row| (row, one(row))).collect()
}

fn gather(args: &CompareArgs) -> Result<Sides, Failure> {
    let read = |at: usize| narrows_store::read(&args.files[at]);
    if args.files.len() == 2 {
        if args.before.is_some() || args.split.is_some() {
            let says = "--before, --after and --split are for one file";
            return Err(Failure::of(Cause::ONE_FILE, says));
        }
        // What one reading leaves of the CPUs the other takes.
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| read(0));
            let second = read(1);
            (first.join(), second)
        });
        let (first, second) = (
            first.map_err(|_| Failure::of(Cause::FAULT, "reading the first file failed"))??,
            second?,
        );
        let both = Sides::of(&first, &second);
        // The program ends soon: giving back millions of records one by one would only take time.
        std::mem::forget((first, second));
        return Ok(both);
    }
    let first = read(0)?;
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        let profiles = changed((&first, before), (&first, after));
        return Ok(Sides { cells: cells(&first, before, after)?, profiles });
    }
    let Some(split) = args.split else {
        let says = "one file alone cannot be compared";
        return Err(Failure::of(Cause::ONE_SIDE, says));
    };
    let at = u64::try_from(split.as_nanosecond()).unwrap_or(0);
    let (mut before, mut after) = (first.clone(), first);
    before.records.retain(|record| record.around.began_unix_ns.0 < at);
    after.records.retain(|record| record.around.began_unix_ns.0 >= at);
    Ok(Sides::of(&before, &after))
}

/// Trials of both, joined by their ids, else by kind and levels, else by label.
fn joined<'a>(before: &'a StoredStudy, after: &'a StoredStudy) -> Vec<(&'a Trial, &'a Trial)> {
    let other = |trial: &Trial| {
        let same = |how: &dyn Fn(&Trial) -> bool| after.trials.iter().find(|one| how(one));
        same(&|other| other.id == trial.id)
            .or_else(|| {
                let levels = !trial.levels.is_empty();
                same(&|other| levels && other.levels == trial.levels && other.kind == trial.kind)
            })
            .or_else(|| same(&|other| other.label == trial.label && other.kind == trial.kind))
    };
    before.trials.iter().filter_map(|trial| Some((trial, other(trial)?))).collect()
}

/// Cells of both.
fn files(before: &StoredStudy, after: &StoredStudy) -> Vec<Both> {
    let (first, second) = (summarise(before), summarise(after));
    joined(before, after)
        .into_iter()
        .filter_map(|(one, other)| {
            both(&first[place_of(&before.trials, one)?], &second[place_of(&after.trials, other)?])
        })
        .collect()
}

fn place_of(all: &[Trial], trial: &Trial) -> Option<usize> {
    all.iter().position(|one| one.id == trial.id)
}

fn both(before: &Summary, after: &Summary) -> Option<Both> {
    Some(Both {
        label: before.label.clone(),
        metric: before.metric,
        unit: before.estimate.filter(|_| before.metric == after.metric)?.unit,
        before: before.by_session(),
        after: after.by_session(),
        paths: Some([before, after].map(way_of)).filter(|[before, after]| before != after),
    })
}

fn cells(stored: &StoredStudy, before: &str, after: &str) -> Result<Vec<Both>, Failure> {
    let summaries = summarise(stored);
    let find = |label: &str| {
        summaries.iter().find(|summary| summary.label == label).ok_or_else(|| {
            let all: Vec<&str> = summaries.iter().map(|s| s.label.as_str()).collect();
            let says = format!("there is no cell '{label}'; its cells are: {}", all.join("; "));
            Failure::of(Cause::NO_CELL, says)
        })
    };
    let both = both(find(before)?, find(after)?);
    Ok(both
        .map(|both| Both { label: format!("{before} -> {after}"), ..both })
        .into_iter()
        .collect())
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Better => "better",
        Change::Worse => "WORSE",
        Change::Alike => "alike",
        Change::NotTold => "inconclusive",
    }
}

fn text(rows: &[(&Both, Option<Compared>)], profiles: &[EndChanged], args: &CompareArgs) -> String {
    let width = rows.iter().map(|(row, _)| row.label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (row, compared) in rows {
        let label = narrows_report::words::tame(&row.label);
        text += &match compared {
            None => format!("{label:<width$}  no value on one side\n"),
            Some(c) => format!(
                "{label:<width$}  {} -> {}, {:+.1} % ({:+.1} to {:+.1} %{}), n {} and {}: {}\n",
                value(c.before, row.unit),
                value(c.after, row.unit),
                percent(c.ratio.value),
                percent(c.ratio.low),
                percent(c.ratio.high),
                if c.ratio.reaches_confidence { "" } else { ", the whole range" },
                c.n_before,
                c.n_after,
                word(c.change),
            ),
        };
        if let Some([before, after]) = row.paths {
            text += &format!("{:width$}  not the same path: {before}; then {after}\n", "");
        }
    }
    let count =
        |change: Change| rows.iter().filter(|(_, c)| c.is_some_and(|c| c.change == change)).count();
    text += &format!(
        "{} worse, {} better, {} alike within {} %, {} inconclusive; intervals hold together at 95 % \
         ({})\n",
        count(Change::Worse),
        count(Change::Better),
        count(Change::Alike),
        args.margin,
        count(Change::NotTold),
        counted(rows.len(), "cell")
    );
    let covers = |covers: Covers| rows.iter().any(|(_, c)| c.is_some_and(|c| c.covers == covers));
    if covers(Covers::TheseSessions) {
        text += &format!(
            "these compare the runs of these sessions, and do not cover another day's: two sessions \
             of one setting may differ as much; with {SESSIONS_MIN} sessions on both sides their \
             medians are compared\n"
        );
    }
    if covers(Covers::OtherSessions) {
        text += "where both sides have several sessions their medians are compared, which covers \
                 other sessions\n";
    }
    for line in profiles.iter().flat_map(profiled::changes) {
        text += &format!("{line}\n");
    }
    text
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn json(rows: &[(&Both, Option<Compared>)], profiles: &[EndChanged], args: &CompareArgs) -> String {
    let cells = rows.iter().map(|(row, compared)| ComparedCell {
        label: &row.label,
        metric: row.metric,
        unit: row.unit,
        compared: *compared,
        different_paths: row.paths,
    });
    documents::printed(&CompareDocument {
        schema_version: documents::VERSION,
        margin_percent: args.margin,
        cells: cells.collect(),
        profiles,
    })
}
