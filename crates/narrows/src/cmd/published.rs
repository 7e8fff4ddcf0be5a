//! Published tables: what the model says of them, a table to begin with, and how the model does on
//! a folder of them.

use crate::cause::Cause;
use crate::failure::Failure;
use crate::input;
use crate::output;
use narrows_report::documents::{self, PredictDocument, PublishedScore, PublishedTables};
use narrows_report::{published, score};
use narrows_validate::{ServerRow, TEMPLATE, Table, predict};
use std::path::{Path, PathBuf};

/// The word that asks for a table to begin with.
const NEW: &str = "new";

/// What the model says of each file's figures.
pub fn beside(files: &[PathBuf], json: bool) -> Result<u8, Failure> {
    if let [only] = files
        && only == Path::new(NEW)
        && !only.exists()
    {
        output::print_json_or_text(false, TEMPLATE)?;
        return Ok(0);
    }
    let tables = files.iter().map(|file| read(file)).collect::<Result<Vec<Table>, Failure>>()?;
    let answers = predict(&tables);
    let summary = published::summary(&answers);
    let document = PredictDocument::Published(PublishedTables {
        schema_version: documents::VERSION,
        answers: &answers,
        summary: summary.trim(),
    });
    print(json, &document, &published::text(&answers))
}

/// Error and coverage by question of all tables in a folder.
pub fn scored(folder: &Path, json: bool) -> Result<u8, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::unread(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    if files.is_empty() {
        let says = format!("{}: no file of it ends with .toml", folder.display());
        return Err(Failure::of(Cause::NO_TABLE, says));
    }
    let tables = files.iter().map(|file| sourced(file)).collect::<Result<Vec<Table>, Failure>>()?;
    let families = narrows_validate::score(&tables);
    let summary = score::summary(&families);
    let document = PredictDocument::Score(PublishedScore {
        schema_version: documents::VERSION,
        families: &families,
        summary: summary.trim(),
    });
    print(json, &document, &score::text(&families))
}

/// The servers of one file, with what the model says of them.
pub fn servers(file: &Path) -> Result<Vec<ServerRow>, Failure> {
    let answers = predict(std::slice::from_ref(&read(file)?));
    let rows: Vec<ServerRow> = answers.into_iter().flat_map(|answer| answer.servers).collect();
    if rows.is_empty() {
        let says = format!("{}: no row has mem_mb_s and mpps or wire_rate", file.display());
        return Err(Failure::of(Cause::NO_TABLE, says));
    }
    Ok(rows)
}

fn print(json: bool, document: &PredictDocument<'_>, text: &str) -> Result<u8, Failure> {
    output::print_json_or_text(
        json,
        &if json { documents::printed(document) } else { text.to_owned() },
    )?;
    Ok(0)
}

fn read(file: &Path) -> Result<Table, Failure> {
    let text = input::text(file)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    Table::parse(&name, &text).map_err(|why| Failure::of(Cause::NO_TABLE, why.to_string()))
}

/// A table whose every row says where it is from.
fn sourced(file: &Path) -> Result<Table, Failure> {
    let table = read(file)?;
    match table.unsourced() {
        None => Ok(table),
        Some(row) => {
            let why = "names no source: a field `source`, or `title` or `url` in [source]";
            let says = format!("{}, row {row}: it {why}", file.display());
            Err(Failure::of(Cause::NO_TABLE, says))
        }
    }
}
