//! Studies: from a TOML file to cells, which of them fit the machine as it is, and which run is
//! next. `docs/plan.md` has the file's words.

mod cells;
mod coalescing;
mod definition;
mod ends;
mod fastest;
mod fits;
mod next;
mod raw;
mod settings;

pub use cells::{Cell, Planned, cells, trials};
pub use coalescing::Coalescing;
pub use definition::{Definition, Factor, LevelOf, Quick, When};
pub use ends::{Ends, PeerHost};
pub use fits::{Change, LevelUnknown, Machine, NoLevel, Standing, Unread, change, standing};
pub use next::{Count, Cut, Left, due, in_order, left, next_block};
pub use raw::{Unsaid, unsaid};
pub use settings::{Settings, nodes, seats};

use thiserror::Error;

/// Why a study's file cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{at}: {why}")]
pub struct StudyError {
    /// Where in the file: a line, a factor, a level.
    pub at: String,
    pub why: String,
}

impl StudyError {
    fn new(at: impl Into<String>, why: impl Into<String>) -> Self {
        Self { at: at.into(), why: why.into() }
    }
}
