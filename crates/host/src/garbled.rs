//! Why a text that the kernel gave, or a capture kept, is not what it should be.

use thiserror::Error;

/// What is wrong with it; its own words are kept where they help.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Garbled {
    /// A line that the file always has.
    #[error("no line {0}")]
    NoLine(String),
    /// A line without the quantity that it is for.
    #[error("'{line}' has no {quantity}")]
    Lacks {
        /// The line as it stands.
        line: String,
        quantity: &'static str,
    },
    /// Memory in another unit, or none.
    #[error("'{0}' is not a number of kB")]
    NotKilobytes(String),
    /// A rate without its number.
    #[error("'{0}' is not a rate")]
    NotARate(String),
    /// A quoted word whose quote does not end.
    #[error("'{0}' has no closing quote")]
    Quote(String),
    /// A number of sectors below zero, or beyond any drive.
    #[error("{0} sectors are no size")]
    Sectors(i64),
    /// Bytes of a capture that are not written as hexadecimal digits.
    #[error("the capture's hexadecimal digits are garbled")]
    Hexadecimal,
}
