//! A study as it is made, for programs: one JSON document a line.
//!
//! `{"event":"began", ...}` once, `{"event":"run", ...}` after each run, and `{"event":"ended",
//! ...}` with the whole document of the `json` format under `results`.

use crate::{Analysis, formats};
use narrows_model::SCHEMA_VERSION;
use narrows_model::record::Record;
use narrows_model::study::Study;
use narrows_model::trial::Trial;
use serde_json::{Value, json};

/// The first line.
pub fn began(study: &Study, trials: &[Trial]) -> String {
    let labels: Vec<&str> = trials.iter().map(|trial| trial.label.as_str()).collect();
    let planned = trials.len().saturating_mul(study.repeats as usize);
    line(&json!({
        "event": "began", "schema_version": SCHEMA_VERSION, "command": study.command,
        "trials": labels, "runs_planned": planned, "seed": study.seed,
    }))
}

/// The line of one run: its value, and what passed in each slice of its window.
pub fn run(trial: &Trial, record: &Record) -> String {
    let value = narrows_stats::value_of(trial, record);
    let intervals = record.receiver().map(|receiver| &receiver.intervals);
    line(&json!({
        "event": "run", "trial": trial.label, "repeat": record.repeat, "outcome": record.outcome.word(),
        "why": record.outcome.why(), "value": value.map(|(value, _)| value.value),
        "unit": value.map(|(_, unit)| unit), "noisy": value.map(|(value, _)| value.noisy),
        "intervals": intervals, "reconciled": narrows_stats::reconciled(trial, record),
    }))
}

/// The last line.
pub fn ended(analysis: &Analysis<'_>) -> String {
    let results = (formats::json::FORMAT.write)(analysis);
    let results: Value = serde_json::from_str(&results).unwrap_or(Value::Null);
    line(&json!({"event": "ended", "results": results}))
}

fn line(value: &Value) -> String {
    let mut text = value.to_string();
    text.push('\n');
    text
}
