//! Runs whose data did not arrive as it was sent.

use narrows_model::load::{Corruption, Role};
use narrows_model::record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run whose bytes were compared with what was sent and differed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Corrupted {
    /// Repeat of the run within its cell, from 0.
    pub repeat: u32,
    /// The end that received them.
    pub end: Role,
    /// Flow and byte that differed first.
    pub corruption: Corruption,
}

impl std::fmt::Display for Corrupted {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Corruption { flow, at_byte } = self.corruption;
        let place = format!("flow {flow} differs from what was sent at byte {at_byte}");
        write!(to, "run {}: data was corrupted: {place}", self.repeat)
    }
}

impl Corrupted {
    pub(crate) fn of(record: &Record) -> Option<Self> {
        record.reports.iter().find_map(|one| {
            let corruption = one.report.corrupted?;
            Some(Self { repeat: record.repeat, end: one.role, corruption })
        })
    }
}
