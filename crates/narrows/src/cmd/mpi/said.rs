//! What `narrows mpi` prints: a line a pattern and size.

use super::sheet::{CARRIED, LIBRARY, OVERSUBSCRIBED};
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::units::three_digits;
use std::collections::BTreeSet;

/// A mean over so many times its median is of other programs' time on the CPU.
const MEAN_TIMES: f64 = 2.0;

/// The table of a file's cells.
pub fn text(stored: &StoredStudy) -> String {
    let mut rows = vec![
        ["", "p50", "fastest", "p99", "slowest", "runs", "carried by"].map(str::to_owned).to_vec(),
    ];
    let mut marks = BTreeSet::new();
    for trial in &stored.trials {
        let records: Vec<&Record> = stored.records_of(trial).collect();
        rows.push(row(trial, &records, &mut marks));
        let noted = trial.notes.iter().filter(|note| note.factor == OVERSUBSCRIBED);
        marks.extend(noted.map(|note| format!("oversubscribed: {}", note.level)));
    }
    let library = stored.trials.iter().flat_map(|trial| &trial.notes);
    let library = library.into_iter().find(|note| note.factor == LIBRARY);
    let library = library.map_or("", |note| note.level.as_str());
    let mut text = format!("{library}; medians of runs, each of iterations timed one by one\n\n");
    text += &lines(&rows);
    text += "\n";
    for mark in marks {
        text += &format!("  {mark}\n");
    }
    text
}

fn row(trial: &Trial, records: &[&Record], marks: &mut BTreeSet<String>) -> Vec<String> {
    let done: Vec<&&Record> =
        records.iter().filter(|record| record.outcome == Outcome::Done).collect();
    let value = |name: &str| {
        let values: Vec<f64> = done
            .iter()
            .filter_map(|record| {
                let figures = &record.external.as_ref()?.figures;
                figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
            })
            .collect();
        narrows_stats::median(&values)
    };
    let unit =
        records.iter().find_map(|record| Some(record.external.as_ref()?.figures.first()?.unit));
    if let (Some(mean), Some(p50)) = (value("mean"), value("p50"))
        && unit == Some(Unit::Nanos)
        && mean > MEAN_TIMES * p50
    {
        marks.insert("a mean is over twice its median: other programs used the CPU".into());
    }
    for record in records {
        if let Outcome::Failed { why, .. } = &record.outcome {
            marks.insert(format!("{}: {why}", trial.label));
        }
    }
    let runs = format!("{} of {}", done.len(), records.len());
    let cells = ["p50", "fastest", "p99", "slowest"]
        .map(|name| value(name).map_or_else(|| "-".to_owned(), |value| shown(value, unit)));
    let mut row = vec![trial.label.clone()];
    row.extend(cells);
    row.extend([runs, carried(&done)]);
    row
}

/// What carried most of the runs; a hyphen where nothing shows it.
fn carried(done: &[&&Record]) -> String {
    let named = done.iter().filter_map(|record| {
        let figures = &record.external.as_ref()?.figures;
        let figure = figures.iter().find(|figure| figure.name.starts_with(CARRIED))?;
        figure.name.strip_prefix(CARRIED).map(str::to_owned)
    });
    let named: Vec<String> = named.collect();
    let different: BTreeSet<&String> = named.iter().collect();
    match (named.len(), different.len()) {
        (0, _) => "not proven".to_owned(),
        (all, 1) if all == done.len() => named.into_iter().next().unwrap_or_default(),
        (some, _) => {
            let names: Vec<&str> = different.iter().map(|name| name.as_str()).collect();
            format!("{} in {some} of {}", names.join(", "), done.len())
        }
    }
}

fn shown(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(Unit::Nanos) => format!("{} us", three_digits(value / 1e3)),
        Some(Unit::BitsPerSecond) => format!("{} Gb/s", three_digits(value / 1e9)),
        _ => three_digits(value),
    }
}

fn lines(rows: &[Vec<String>]) -> String {
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let last = rows.first().map_or(0, Vec::len).saturating_sub(1);
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(at, cell)| match at {
                _ if at == 0 || at == last => format!("{cell:<width$}", width = width(at)),
                _ => format!("{cell:>width$}", width = width(at)),
            });
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        })
        .collect()
}
