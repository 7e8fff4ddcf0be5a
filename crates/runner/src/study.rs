//! A study as its file defines it.

use crate::refusal::Refusal;
use narrows_model::study::StoredStudy;
use narrows_plan::study::{Cell, Definition, StudyError, cells};

/// A study's definition with its cells.
pub struct Defined {
    pub definition: Definition,
    /// Every combination of levels that is not excluded.
    pub cells: Vec<Cell>,
}

impl Defined {
    /// Of a file's text; `quick` cuts it short.
    pub fn parse(text: &str, quick: bool) -> Result<Self, StudyError> {
        let definition = Definition::parse(text)?;
        let definition = if quick { definition.quickly() } else { definition };
        let cells = cells(&definition)?;
        Ok(Self { definition, cells })
    }

    /// Of a file of results.
    pub fn of(stored: &StoredStudy) -> Result<Self, Refusal> {
        let text = stored.definition.as_deref().ok_or(Refusal::NoDefinition)?;
        Ok(Self::parse(text, stored.study.quick)?)
    }
}
