//! `narrows export`: the runs of a study for other programs.

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::{columns, output};
use narrows_report::{Analysis, tidy};

pub fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let stored = narrows_store::read(&args.file)?;
    let (for_people, text) = match (args.format.as_str(), &args.output) {
        ("parquet", Some(to)) => {
            columns::write(&tidy::table(&Analysis::of(&stored)), to)?;
            return Ok(0);
        }
        ("json", _) => (false, serde_json::to_string(&stored).unwrap_or_default() + "\n"),
        (name, _) => {
            let format = output::format(name);
            (format.for_people, (format.write)(&Analysis::of(&stored)))
        }
    };
    match &args.output {
        Some(to) => output::write_whole(to, &text)?,
        None => output::print_json_or_text(!for_people, &text)?,
    }
    Ok(0)
}
