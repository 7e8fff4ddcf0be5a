//! `narrows report FILE`: everything that can be computed from a study file, again.

use crate::args::{FormatName, ReportArgs};
use crate::failure::Failure;
use crate::output;
use narrows_report::{Analysis, formats};

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let stored = narrows_store::read(&args.file)?;
    let analysis = Analysis::of(&stored);
    let format = match (args.json, args.format) {
        (true, _) | (_, FormatName::Json) => &formats::json::FORMAT,
        (_, FormatName::Html) => &formats::html::FORMAT,
        (_, FormatName::Text) => &formats::text::FORMAT,
    };
    let text = (format.write)(&analysis);
    match &args.output {
        Some(file) => output::write_whole(file, &text)?,
        None => output::print(&text)?,
    }
    Ok(0)
}
