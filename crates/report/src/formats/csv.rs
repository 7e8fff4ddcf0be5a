//! `csv`: one line a run (RFC 4180), for spreadsheets and R.

use super::Format;
use crate::Analysis;
use narrows_model::load::Role;
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use narrows_model::workload::Metric;
use narrows_stats::Summary;

/// One line a run.
pub static FORMAT: Format = Format { name: "csv", for_people: false, write };

/// Names of the columns; units are those of `unit`.
pub const COLUMNS: [&str; 15] = [
    "trial",
    "kind",
    "path",
    "repeat",
    "outcome",
    "metric",
    "value",
    "unit",
    "noisy",
    "sink_window_s",
    "source_bytes",
    "sink_bytes",
    "source_memory_bytes_per_s",
    "sink_memory_bytes_per_s",
    "memory_counted_by",
];

fn write(analysis: &Analysis<'_>) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = csv.write_record(COLUMNS);
    for row in rows(analysis) {
        let _ = csv.write_record(row);
    }
    String::from_utf8(csv.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The fields of every run, by trial and repeat.
pub fn rows(analysis: &Analysis<'_>) -> Vec<[String; 15]> {
    let mut rows = Vec::new();
    for (trial, summary) in analysis.stored.trials.iter().zip(&analysis.summaries) {
        let mut records: Vec<&Record> = analysis.stored.records_of(trial).collect();
        records.sort_by_key(|record| record.repeat);
        for record in records {
            rows.push(row(trial, summary, record).map(|field| no_formula(super::tame(&field))));
        }
    }
    rows
}

/// A spreadsheet takes a cell that begins like this for a formula, which may run a program; behind
/// an apostrophe it is text. Numbers stay as they are.
fn no_formula(field: String) -> String {
    let begins =
        field.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if begins && field.parse::<f64>().is_err() { format!("'{field}") } else { field }
}

fn row(trial: &Trial, summary: &Summary, record: &Record) -> [String; 15] {
    let value = summary.values.iter().find(|value| value.repeat == record.repeat);
    let unit = summary.estimate.map(|estimate| super::word(&estimate.unit));
    [
        trial.label.clone(),
        trial.kind.to_string(),
        super::word(&trial.path),
        record.repeat.to_string(),
        record.outcome.to_string(),
        metric(summary.metric),
        value.map_or(String::new(), |value| value.value.to_string()),
        unit.unwrap_or_default(),
        value.map_or(String::new(), |value| value.noisy.to_string()),
        record.receiver().map_or(String::new(), |end| end.window_ns.seconds().to_string()),
        bytes(record, Role::Sender),
        bytes(record, Role::Receiver),
        memory(record, Role::Sender),
        memory(record, Role::Receiver),
        counted_by(record),
    ]
}

/// Bytes a second that crossed the memory bus of an end's host, read and written, whoever moved
/// them; nothing where they were not counted.
fn memory(record: &Record, role: Role) -> String {
    let counted = record.of(role).find_map(|end| end.memory.as_ref());
    let rate = counted.and_then(|memory| {
        let seconds = memory.span_ns.seconds();
        Some(memory.both_ways()? as f64 / seconds).filter(|rate| rate.is_finite())
    });
    rate.map_or(String::new(), |rate| rate.round().to_string())
}

/// The processor families by whose events memory traffic was counted.
fn counted_by(record: &Record) -> String {
    let mut families: Vec<&str> = record
        .measured()
        .filter_map(|end| end.memory.as_ref().filter(|memory| memory.both_ways().is_some()))
        .filter_map(|memory| memory.family.as_deref())
        .collect();
    families.dedup();
    families.join("; ")
}

/// Bytes of all flows of the ends of a role; nothing where there is no such end.
fn bytes(record: &Record, role: Role) -> String {
    let all = record
        .of(role)
        .map(|end| end.flows.iter().map(|flow| flow.bytes.0).fold(0, u64::saturating_add))
        .reduce(u64::saturating_add);
    all.map_or(String::new(), |bytes| bytes.to_string())
}

fn metric(metric: Metric) -> String {
    super::word(&metric)
}

#[cfg(test)]
mod tests {
    use super::no_formula;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay() {
        for text in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r=1", "＝1"]
        {
            assert_eq!(no_formula(text.to_owned()), format!("'{text}"));
        }
        for text in ["-1.5", "+2", "1e9", "", "tcp-stream", "a=b", "-0.25e-3"] {
            assert_eq!(no_formula(text.to_owned()), text);
        }
    }
}
