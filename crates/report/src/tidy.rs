//! A row a run, for spreadsheets, R, pandas and databases: the columns that CSV, JSON lines and
//! Parquet have, declared once.

use crate::Analysis;
use crate::words::{tame, word};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::keys;
use narrows_model::record::Record;
use narrows_model::trial::{EndHost, Trial};
use narrows_stats::{Summary, Value, cpu_seconds, loss_of};
use serde::Serialize;

/// One field; a missing one is null in JSON and empty in CSV.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Field {
    /// A word or a name.
    Text(String),
    /// A whole number from 0.
    Count(u64),
    /// A figure, in the unit that the column's name ends with, else in that of `unit`.
    Number(f64),
    Flag(bool),
    /// Not measured, or not of this kind of run.
    Missing,
}

/// What all cells of a column hold that are not missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Words in UTF-8.
    Text,
    /// Whole numbers from 0.
    Count,
    /// Figures with a fraction.
    Number,
    /// True or false.
    Flag,
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit last.
    pub name: String,
    pub holds: Holds,
}

/// All runs of a study; every row has a cell for each column.
pub struct Table {
    /// Those of every study, then one for each of this study's factors.
    pub columns: Vec<Column>,
    /// By trial and repeat.
    pub rows: Vec<Vec<Field>>,
}

/// One run and what it is a part of.
struct Run<'a> {
    analysis: &'a Analysis<'a>,
    trial: &'a Trial,
    summary: &'a Summary,
    record: &'a Record,
}

/// A column that every study has.
struct Declared(&'static str, Holds, fn(&Run<'_>) -> Field);

/// In order; new ones are put at the end.
const COLUMNS: &[Declared] = &[
    Declared("trial", Holds::Text, |run| text(&run.trial.label)),
    Declared("kind", Holds::Text, |run| text(&run.trial.kind.to_string())),
    Declared("path", Holds::Text, |run| Field::Text(word(&run.trial.path))),
    Declared("repeat", Holds::Count, |run| Field::Count(run.record.repeat.into())),
    Declared("outcome", Holds::Text, |run| text(&run.record.outcome.to_string())),
    Declared("metric", Holds::Text, |run| Field::Text(word(&run.summary.metric))),
    Declared("value", Holds::Number, |run| number(run.value().map(|value| value.value))),
    Declared("unit", Holds::Text, |run| run.unit()),
    Declared("noisy", Holds::Flag, |run| flag(run.value().map(|value| value.noisy))),
    Declared("sink_window_s", Holds::Number, |run| run.window()),
    Declared("source_bytes", Holds::Count, |run| run.bytes(Role::Sender)),
    Declared("sink_bytes", Holds::Count, |run| run.bytes(Role::Receiver)),
    Declared("source_memory_bytes_per_s", Holds::Number, |run| run.memory(Role::Sender)),
    Declared("sink_memory_bytes_per_s", Holds::Number, |run| run.memory(Role::Receiver)),
    Declared("memory_counted_by", Holds::Text, |run| run.counted_by()),
    Declared("trial_id", Holds::Text, |run| text(&run.trial.id.0)),
    Declared("session", Holds::Count, |run| Field::Count(run.record.session.into())),
    Declared("began_unix_ns", Holds::Count, |run| Field::Count(run.record.around.began_unix_ns.0)),
    Declared("host", Holds::Text, |run| run.host()),
    Declared("peer", Holds::Text, |run| run.peer()),
    Declared("tool", Holds::Text, |run| run.tool()),
    Declared("source_cpu_s", Holds::Number, |run| run.cpu(Role::Sender)),
    Declared("sink_cpu_s", Holds::Number, |run| run.cpu(Role::Receiver)),
    Declared("received_datagrams", Holds::Count, |run| run.loss(|loss| loss.received_datagrams)),
    Declared("lost_datagrams", Holds::Count, |run| run.loss(|loss| loss.lost_datagrams)),
    Declared("retransmitted_segments", Holds::Count, |run| run.retransmitted()),
    Declared("labels", Holds::Text, |run| run.labels()),
];

/// What stands before a factor's name: no factor has the name of a column.
const FACTOR: &str = "factor_";

/// All runs of a study that was analysed.
pub fn table(analysis: &Analysis<'_>) -> Table {
    let factors = factors(analysis);
    let every = COLUMNS
        .iter()
        .map(|Declared(name, holds, _)| Column { name: (*name).to_owned(), holds: *holds });
    let own = factors
        .iter()
        .map(|factor| Column { name: tame(&format!("{FACTOR}{factor}")), holds: Holds::Text });
    let columns = every.chain(own).collect();
    let rows = runs(analysis).iter().map(|run| row(run, &factors)).collect();
    Table { columns, rows }
}

/// Names of the factors of all trials, in the order in which they come.
fn factors<'a>(analysis: &'a Analysis<'_>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for level in analysis.stored.trials.iter().flat_map(|trial| &trial.levels) {
        if !names.contains(&level.factor.as_str()) {
            names.push(&level.factor);
        }
    }
    names
}

fn runs<'a>(analysis: &'a Analysis<'a>) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    for (trial, summary) in analysis.stored.trials.iter().zip(&analysis.summaries) {
        let mut records: Vec<&Record> = analysis.stored.records_of(trial).collect();
        records.sort_by_key(|record| record.repeat);
        let of_trial = records.into_iter().map(|record| Run { analysis, trial, summary, record });
        runs.extend(of_trial);
    }
    runs
}

fn row(run: &Run<'_>, factors: &[&str]) -> Vec<Field> {
    let every = COLUMNS.iter().map(|Declared(_, _, of)| of(run));
    every.chain(factors.iter().map(|factor| optional_text(run.trial.level(factor)))).collect()
}

impl Run<'_> {
    fn value(&self) -> Option<&Value> {
        self.summary.values.iter().find(|value| value.repeat == self.record.repeat)
    }

    /// The unit of `value`; missing where that is.
    fn unit(&self) -> Field {
        self.value().map_or(Field::Missing, |_| Field::Text(word(&self.summary.metric.unit())))
    }

    fn window(&self) -> Field {
        number(self.record.receiver().map(|end| end.window_ns.seconds()))
    }

    /// Bytes of all flows of the ends of a role.
    fn bytes(&self, role: Role) -> Field {
        let of = |end: &EndReport| {
            end.flows.iter().map(|flow| flow.bytes.0).fold(0, u64::saturating_add)
        };
        count(self.record.of(role).map(of).reduce(u64::saturating_add))
    }

    /// Bytes a second that crossed the memory bus of an end's host, read and written, whoever
    /// moved them; missing where they were not counted.
    fn memory(&self, role: Role) -> Field {
        let counted = self.record.of(role).find_map(|end| end.memory.as_ref());
        let rate = counted.and_then(|memory| {
            let seconds = memory.span_ns.seconds();
            Some(memory.both_ways()? as f64 / seconds).filter(|rate| rate.is_finite())
        });
        number(rate.map(f64::round))
    }

    /// The processor families by whose events memory traffic was counted.
    fn counted_by(&self) -> Field {
        let mut families: Vec<&str> = self
            .record
            .measured()
            .filter_map(|end| end.memory.as_ref().filter(|memory| memory.both_ways().is_some()))
            .filter_map(|memory| memory.family.as_deref())
            .collect();
        families.dedup();
        joined(families, "; ")
    }

    fn host(&self) -> Field {
        optional_text(self.analysis.stored.host.name.value().map(String::as_str))
    }

    /// The hosts at the other end, as they were reached.
    fn peer(&self) -> Field {
        let mut names: Vec<String> = Vec::new();
        for host in self.trial.pairs().flat_map(|pair| [pair.sender.host, pair.receiver.host]) {
            let name = self.analysis.stored.host_name(host);
            if host != EndHost::Controller && !names.contains(&name) {
                names.push(name);
            }
        }
        joined(names.iter().map(String::as_str).collect(), ", ")
    }

    /// The outside tool that measured; missing where narrows did.
    fn tool(&self) -> Field {
        optional_text(self.record.external.as_ref().map(|external| external.tool.as_str()))
    }

    /// CPU time of an end's threads over its window but for waiting for a pace.
    fn cpu(&self, role: Role) -> Field {
        number(self.record.of(role).filter_map(cpu_seconds).reduce(|all, one| all + one))
    }

    fn loss(&self, what: fn(&narrows_stats::Loss) -> u64) -> Field {
        count(loss_of(self.trial, self.record).as_ref().map(what))
    }

    fn retransmitted(&self) -> Field {
        let of = |end: &EndReport| end.readings.total(keys::RETRANSMITTED);
        count(self.record.of(Role::Sender).filter_map(of).reduce(u64::saturating_add))
    }

    /// What figures of this trial must not be taken for.
    fn labels(&self) -> Field {
        let words: Vec<String> = self.summary.labels.iter().map(word).collect();
        joined(words.iter().map(String::as_str).collect(), "; ")
    }
}

fn text(words: &str) -> Field {
    Field::Text(tame(words))
}

fn optional_text(words: Option<&str>) -> Field {
    words.map_or(Field::Missing, text)
}

fn joined(words: Vec<&str>, by: &str) -> Field {
    optional_text(Some(words.join(by).as_str()).filter(|all| !all.is_empty()))
}

fn number(figure: Option<f64>) -> Field {
    figure.map_or(Field::Missing, Field::Number)
}

fn count(n: Option<u64>) -> Field {
    n.map_or(Field::Missing, Field::Count)
}

fn flag(is: Option<bool>) -> Field {
    is.map_or(Field::Missing, Field::Flag)
}

/// A spreadsheet takes a cell that begins like this for a formula, which may run a program; behind
/// an apostrophe it is text. Numbers stay as they are.
pub(crate) fn no_formula(field: String) -> String {
    let begins =
        field.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if begins && field.parse::<f64>().is_err() { format!("'{field}") } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_columns_have_one_name_and_a_factor_has_none_of_theirs() {
        let mut names: Vec<&str> = COLUMNS.iter().map(|column| column.0).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| !name.starts_with(FACTOR)));
    }

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
