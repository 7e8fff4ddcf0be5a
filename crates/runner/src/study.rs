//! A study as its file defines it, and as it is begun.

use crate::refusal::Refusal;
use crate::session::SessionPlan;
use narrows_model::study::{StoredStudy, Study, Title};
use narrows_model::{Nanos, SCHEMA_VERSION};
use narrows_plan::study::{Cell, Definition, StudyError, cells};

/// A study's definition with its cells.
pub struct Defined {
    /// What its file says.
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

/// How a study is begun, beside its definition.
pub struct Begun<'a> {
    /// Seed of the order of runs.
    pub seed: u64,
    /// Cut short to be tried.
    pub quick: bool,
    /// The peer as the user named it.
    pub peer: Option<&'a str>,
    /// Unix time.
    pub began_unix_ns: Nanos,
}

impl Begun<'_> {
    /// The head of its file.
    pub fn head(&self, defined: &Defined, plan: &SessionPlan) -> Study {
        let definition = &defined.definition;
        let title = Title { name: definition.name.clone(), about: definition.about.clone() };
        Study {
            schema_version: SCHEMA_VERSION,
            narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "study".to_owned(),
            seed: self.seed,
            repeats: definition.repeats,
            path: plan.site.path,
            peer: self.peer.map(str::to_owned),
            title: Some(title),
            reading: definition.report.clone(),
            precision: definition.precision,
            spread: definition.spread,
            quick: self.quick,
            together: false,
            interface: plan.site.interface.clone(),
            began_unix_ns: self.began_unix_ns,
            path_mtu_bytes: None,
            cache_bytes: plan.site.host.last_level_cache_bytes(),
            memory_node: None,
        }
    }
}
