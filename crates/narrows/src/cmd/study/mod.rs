//! `narrows study`: a whole experiment from a TOML file, over as many sessions as it takes.

mod audience;
mod merge;
mod outlook;
pub(super) mod run;
mod status;

use crate::args::{StudyArgs, StudyCommand};
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::study::StoredStudy;
use narrows_plan::study::StudyError;
use narrows_runner::{Defined, Refusal, check_words};
use std::path::Path;

pub fn run(args: &StudyArgs) -> Result<u8, Failure> {
    match &args.command {
        StudyCommand::Merge(args) => merge::run(args),
        StudyCommand::Restore => run::restore(),
        StudyCommand::Resume(args) => run::resume(args),
        StudyCommand::Run(args) => run::run(args),
        StudyCommand::Status(args) => status::run(args),
    }
}

/// The study that a TOML file defines. A word that names nothing is a slip of the file, whatever
/// this machine has.
fn parse(text: &str, quick: bool, file: &Path) -> Result<Defined, Failure> {
    let defined = Defined::parse(text, quick).map_err(|error| unparsed(&error, file))?;
    check_words(&defined).map_err(|unknown| {
        let says = format!("{}: {unknown}", file.display());
        Failure::of(Cause::DEFINITION, says).helped_by(unknown.hint())
    })?;
    Ok(defined)
}

/// The study of a file of results.
fn of_results(stored: &StoredStudy, file: &Path) -> Result<Defined, Failure> {
    Defined::of(stored).map_err(|refusal| match refusal {
        Refusal::NoDefinition => {
            let says = format!("{} was not made by `narrows study`", file.display());
            Failure::of(Cause::NOT_OF_A_STUDY, says)
        }
        Refusal::Definition(error) => unparsed(&error, file),
        other => other.into(),
    })
}

fn unparsed(error: &StudyError, file: &Path) -> Failure {
    Failure::of(Cause::DEFINITION, format!("{}: {error}", file.display()))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let says = refusal.to_string();
        let cause = match refusal {
            Refusal::Run(error) => return error.into(),
            Refusal::NoDefinition => Cause::NOT_OF_A_STUDY,
            Refusal::Definition(_) => Cause::DEFINITION,
            Refusal::EngineWords { .. } => Cause::TOOL_WORDS,
            Refusal::UnknownFactor(_) => Cause::NO_FACTOR,
            Refusal::Unread(_) => Cause::NO_LEVEL,
            Refusal::NothingRuns(_) => Cause::NO_CELL_RUNS,
            Refusal::OtherPath { .. } => Cause::OTHER_PATH,
            Refusal::OtherMachine(_) => Cause::OTHER_MACHINE,
        };
        Self::of(cause, says)
    }
}
