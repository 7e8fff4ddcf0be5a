//! `narrows explain FILE`: what bears on each cell of a study.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::output;
use narrows_report::{Analysis, explained};

pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let stored = narrows_store::read(&args.file)?;
    let analysis = Analysis::of(&stored);
    let cells = explained::cells(&analysis);
    output::print_json_or_text(
        args.json,
        &if args.json {
            let document = serde_json::json!({
                "schema_version": narrows_model::SCHEMA_VERSION,
                "cells": cells,
                "populations": analysis.populations,
                "findings": analysis.found,
            });
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        } else {
            explained::text(&analysis, &cells)
        },
    )?;
    Ok(0)
}
