//! `jsonl`: a JSON object a run and line, for pandas, DuckDB and jq.

use super::Format;
use crate::Analysis;
use crate::tidy::{Column, Field, table};
use serde_json::{Map, Value};

/// One object a run, whose keys are the columns of `csv`; what is missing is null.
pub static FORMAT: Format = Format { name: "jsonl", for_people: false, write };

fn write(analysis: &Analysis<'_>) -> String {
    let table = table(analysis);
    let lines = table.rows.iter().map(|row| object(&table.columns, row).to_string() + "\n");
    lines.collect()
}

fn object(columns: &[Column], row: &[Field]) -> Value {
    let keys = columns.iter().map(|column| column.name.clone());
    let fields: Map<String, Value> =
        keys.zip(row.iter().map(|cell| serde_json::json!(cell))).collect();
    Value::Object(fields)
}
