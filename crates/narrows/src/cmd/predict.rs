//! `narrows predict`: what should be reached; for now, of published tables.

use crate::args::PredictArgs;
use crate::failure::{Failure, USAGE};
use crate::output;
use narrows_predict::published::{Table, predict};
use narrows_report::published;

/// Runs the command.
pub fn run(args: &PredictArgs) -> Result<u8, Failure> {
    let mut tables = Vec::new();
    for file in &args.published {
        let wrong = |why: String| {
            Failure::new(USAGE, why, "docs/predict.md has the fields of published tables")
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| wrong(format!("{} cannot be read: {error}", file.display())))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        tables.push(Table::parse(&name, &text).map_err(wrong)?);
    }
    let answers = predict(&tables);
    output::print(&match args.json {
        false => published::text(&answers),
        true => {
            let document = serde_json::json!({
                "schema_version": narrows_facts::SCHEMA_VERSION,
                "answers": answers,
                "summary": published::summary(&answers).trim(),
            });
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        }
    })?;
    Ok(0)
}
