//! `narrows explain FILE`: what bears on each cell of a study.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::{output, screen};
use narrows_report::documents::{self, ExplainDocument};
use narrows_report::ending::Ending;
use narrows_report::{Analysis, explained};

pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("explain");
    }
    // The command line has one where no schema is asked for.
    let Some(file) = &args.file else { return Ok(0) };
    let stored = narrows_store::read(file)?;
    let analysis = Analysis::of(&stored);
    let cells = explained::cells(&analysis);
    output::print_json_or_text(
        args.json,
        &if args.json {
            documents::printed(&ExplainDocument {
                schema_version: documents::VERSION,
                cells: &cells,
                populations: &analysis.populations,
                findings: &analysis.found,
            })
        } else {
            explained::text(&analysis, &cells)
                + &Ending::of_study(&analysis, &output::details_of_given(file))
                    .text(&screen::of_output())
        },
    )?;
    Ok(0)
}
