//! The runs of a study as Parquet: columns for other programs.

use crate::failure::Failure;
use crate::output;
use narrows_model::study::StoredStudy;
use narrows_stats::value_of;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::Path;
use std::sync::Arc;

/// Columns of the Parquet file, in order.
const COLUMNS: &str = "message runs {
  required binary trial (UTF8);
  required binary label (UTF8);
  required binary kind (UTF8);
  required binary levels (UTF8);
  required int64 session;
  required int64 repeat;
  required int64 began_unix_ns;
  required binary outcome (UTF8);
  optional double value;
  required binary unit (UTF8);
}";

/// Writes a row a run.
pub fn write(stored: &StoredStudy, to: &Path) -> Result<(), Failure> {
    row_group(stored, to).map_err(|error| output::unwritable(to, &error))
}

/// One run as a row.
struct Row {
    words: [String; 6],
    numbers: [i64; 3],
    value: Option<f64>,
}

fn rows(stored: &StoredStudy) -> Vec<Row> {
    let row = |record: &narrows_model::record::Record| {
        let trial = stored.trials.iter().find(|trial| trial.id == record.trial)?;
        let value = value_of(trial, record);
        let outcome = record.outcome.to_string();
        let levels: serde_json::Map<String, serde_json::Value> = trial
            .levels
            .iter()
            .map(|level| (level.factor.clone(), level.level.clone().into()))
            .collect();
        let unit = value.map(|(_, unit)| serde_json::json!(unit));
        let unit = unit.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        Some(Row {
            words: [
                trial.id.0.clone(),
                trial.label.clone(),
                trial.kind.to_string(),
                serde_json::Value::Object(levels).to_string(),
                outcome,
                unit.to_owned(),
            ],
            numbers: [
                record.session.into(),
                record.repeat.into(),
                i64::try_from(record.around.began_unix_ns.0).unwrap_or(i64::MAX),
            ],
            value: value.map(|(value, _)| value.value),
        })
    };
    stored.records.iter().filter_map(row).collect()
}

/// Writes one row group with all runs.
fn row_group(stored: &StoredStudy, to: &Path) -> Result<(), ParquetError> {
    let rows = rows(stored);
    let schema = Arc::new(parse_message_type(COLUMNS)?);
    let file = std::fs::File::create(to)?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties)?;
    let mut group = writer.next_row_group()?;
    // Columns in the order of the schema: a word, a number or the value by its place among its
    // like.
    for column in ["w0", "w1", "w2", "w3", "n0", "n1", "n2", "w4", "v", "w5"] {
        let Some(mut out) = group.next_column()? else { break };
        let at = column[1..].parse::<usize>().unwrap_or(0);
        match column.as_bytes()[0] {
            b'w' => {
                let values: Vec<ByteArray> =
                    rows.iter().map(|row| ByteArray::from(row.words[at].as_str())).collect();
                out.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            b'n' => {
                let values: Vec<i64> = rows.iter().map(|row| row.numbers[at]).collect();
                out.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            _ => {
                let values: Vec<f64> = rows.iter().filter_map(|row| row.value).collect();
                let there: Vec<i16> =
                    rows.iter().map(|row| i16::from(row.value.is_some())).collect();
                out.typed::<DoubleType>().write_batch(&values, Some(&there), None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}
