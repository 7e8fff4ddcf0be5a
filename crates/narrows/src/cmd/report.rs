//! `narrows report FILE`: everything that can be computed from a study file, again.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output;
use narrows_report::Analysis;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let stored = narrows_store::read(&args.file)?;
    let analysis = Analysis::of(&stored);
    let format = output::format(if args.json { "json" } else { &args.format });
    let text = (format.write)(&analysis);
    match &args.output {
        Some(file) => output::write_whole(file, &text)?,
        None => output::print(&text)?,
    }
    Ok(0)
}
