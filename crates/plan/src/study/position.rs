//! Lines and columns of a study's file.

use std::fmt;

/// A place in a study's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The first line is 1.
    pub line: usize,
    /// In characters; the first column is 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Where each key of a table has its value. It is no part of what the table says: two that say the
/// same are equal wherever they stand.
#[derive(Clone, Debug, Default)]
pub struct Positions(Vec<(String, Position)>);

impl PartialEq for Positions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Positions {
    pub(super) fn new(all: Vec<(String, Position)>) -> Self {
        Self(all)
    }

    /// Where a key has its value; a key of a table within is `table.key`.
    pub(super) fn of(&self, key: &str) -> Option<Position> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, at)| *at)
    }

    /// These, with the other's in their place.
    pub(super) fn with(&self, over: &Self) -> Self {
        let kept = self.0.iter().filter(|(key, _)| over.of(key).is_none());
        Self(over.0.iter().chain(kept).cloned().collect())
    }
}
