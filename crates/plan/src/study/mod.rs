//! Studies: from a TOML file to cells, which of them fit the machine as it is, and which run is
//! next. `docs/plan.md` has the file's words.

mod cells;
mod coalescing;
mod definition;
mod ends;
mod fastest;
mod fits;
mod next;
mod position;
mod raw;
mod settings;
mod source;

pub use cells::{Cell, Planned, cells, trials};
pub use coalescing::Coalescing;
pub use definition::{Definition, Factor, LevelOf, Quick, When};
pub use ends::{Ends, PeerHost};
pub use fits::{Change, LevelUnknown, Machine, NoLevel, Standing, Unread, change, standing};
pub use next::{Count, Cut, Left, due, in_order, left, next_block};
pub use position::{Position, Positions};
pub use raw::{Unsaid, is_raw_there, unsaid};
pub use settings::{Settings, nodes, seats};

use std::fmt;

/// Why a study's file cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct StudyError {
    /// Line and column of the file, where they are known.
    pub position: Option<Position>,
    /// What of the study: a key, a factor, a level, a cell; empty where the position says it all.
    pub at: String,
    pub why: String,
}

impl StudyError {
    fn new(at: impl Into<String>, why: impl Into<String>) -> Self {
        Self { position: None, at: at.into(), why: why.into() }
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position.map(|position| position.to_string());
        let words = [position.as_deref(), Some(&*self.at), Some(&*self.why)];
        let told: Vec<&str> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
        f.write_str(&told.join(": "))
    }
}

impl std::error::Error for StudyError {}
