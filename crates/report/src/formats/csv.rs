//! `csv`: one line a run (RFC 4180), for spreadsheets and R.

use super::Format;
use crate::Analysis;
use crate::tidy::{Field, Table, no_formula, table};

/// One line a run.
pub static FORMAT: Format = Format { name: "csv", for_people: false, write };

fn write(analysis: &Analysis<'_>) -> String {
    let table = table(analysis);
    let mut csv = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = csv.write_record(names(&table));
    for row in &table.rows {
        let _ = csv.write_record(fields(row));
    }
    String::from_utf8(csv.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Names of the columns; a study's own factors may begin like a formula.
pub fn names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| no_formula(column.name.clone())).collect()
}

/// The fields of a run as a spreadsheet may have them.
pub fn fields(row: &[Field]) -> Vec<String> {
    row.iter().map(field).collect()
}

fn field(cell: &Field) -> String {
    match cell {
        Field::Text(words) => no_formula(words.clone()),
        Field::Count(n) => n.to_string(),
        Field::Number(figure) => figure.to_string(),
        Field::Flag(is) => is.to_string(),
        Field::Missing => String::new(),
    }
}
