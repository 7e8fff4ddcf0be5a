//! The runs of a study as Parquet: columns for other programs.

use crate::failure::Failure;
use crate::output;
use narrows_report::tidy::{Column, Field, Holds, Table};
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::path::Path;
use std::sync::Arc;

/// Writes a row a run, in one row group.
pub fn write(table: &Table, to: &Path) -> Result<(), Failure> {
    output::keep_study(to)?;
    row_group(table, to).map_err(|error| output::unwritable(to, &error))
}

fn row_group(table: &Table, to: &Path) -> Result<(), ParquetError> {
    let fields = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
    let file = std::fs::File::create(to)?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut out) = group.next_column()? {
        let cells: Vec<&Field> = table.rows.iter().filter_map(|row| row.get(at)).collect();
        column(&mut out, table.columns.get(at).map(|column| column.holds), &cells)?;
        out.close()?;
        at += 1;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

/// A column of the schema; each may be without a value.
fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match column.holds {
        Holds::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        Holds::Count => (Physical::INT64, ConvertedType::NONE),
        Holds::Number => (Physical::DOUBLE, ConvertedType::NONE),
        Holds::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted);
    Ok(Arc::new(field.build()?))
}

fn column(
    out: &mut SerializedColumnWriter<'_>,
    holds: Option<Holds>,
    cells: &[&Field],
) -> Result<(), ParquetError> {
    match holds {
        Some(Holds::Text) => values::<ByteArrayType>(out, cells, bytes),
        Some(Holds::Count) => values::<Int64Type>(out, cells, whole),
        Some(Holds::Number) => values::<DoubleType>(out, cells, number),
        Some(Holds::Flag) => values::<BoolType>(out, cells, flag),
        None => Ok(()),
    }
}

/// Writes what is there of a column, and which rows have nothing.
fn values<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    cells: &[&Field],
    of: fn(&Field) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let all: Vec<Option<T::T>> = cells.iter().map(|cell| of(cell)).collect();
    let there: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    out.typed::<T>().write_batch(&values, Some(&there), None).map(drop)
}

fn bytes(cell: &Field) -> Option<ByteArray> {
    if let Field::Text(words) = cell { Some(ByteArray::from(words.as_str())) } else { None }
}

fn whole(cell: &Field) -> Option<i64> {
    if let Field::Count(n) = cell { i64::try_from(*n).ok() } else { None }
}

fn number(cell: &Field) -> Option<f64> {
    if let Field::Number(figure) = cell { Some(*figure) } else { None }
}

fn flag(cell: &Field) -> Option<bool> {
    if let Field::Flag(is) = cell { Some(*is) } else { None }
}
