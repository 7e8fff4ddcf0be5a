//! `narrows study`: a whole experiment from a TOML file, over as many sessions as it takes.

mod merge;
mod run;
mod same;
mod sitting;
mod status;

use crate::args::{StudyArgs, StudyCommand};
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::study::StoredStudy;
use narrows_plan::study::{Cell, Definition, StudyError, cells};
use std::path::Path;

/// Runs the command.
pub fn run(args: &StudyArgs) -> Result<u8, Failure> {
    match &args.command {
        StudyCommand::Merge(args) => merge::run(args),
        StudyCommand::Restore => run::restore(),
        StudyCommand::Resume(args) => run::resume(args),
        StudyCommand::Run(args) => run::run(args),
        StudyCommand::Status(args) => status::run(args),
    }
}

/// A study's definition with its cells.
struct Defined {
    definition: Definition,
    cells: Vec<Cell>,
}

impl Defined {
    fn parse(text: &str, quick: bool, file: &Path) -> Result<Self, Failure> {
        let wrong = |error: StudyError| {
            let says = format!("{}: {error}", file.display());
            Failure::of(Cause::DEFINITION, says)
        };
        let definition = Definition::parse(text).map_err(wrong)?;
        let definition = if quick { definition.quickly() } else { definition };
        let cells = cells(&definition).map_err(wrong)?;
        Ok(Self { definition, cells })
    }

    /// Of a file of results.
    fn of(stored: &StoredStudy, file: &Path) -> Result<Self, Failure> {
        let text = stored.definition.as_deref().ok_or_else(|| {
            let says = format!("{} is no study of `narrows study`", file.display());
            Failure::of(Cause::NOT_OF_A_STUDY, says)
        })?;
        Self::parse(text, stored.study.quick, file)
    }
}
