//! Why a rule of a maker places no slots.

use crate::checks::Contradiction;
use std::fmt;

/// Why a rule placed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// A slot's name is not of the rule's pattern.
    Name(String),
    /// The family, whose channels the rule counts, is not known.
    Family,
    /// The rule needs as many slots (or letters) as this, and the board has others.
    Count {
        what: &'static str,
        found: usize,
        /// Of which they should be a multiple, or which they should be.
        wanted: usize,
    },
    /// Slots are not numbered in one row.
    Gaps,
    /// Nothing tells which slot is on which processor.
    Sockets,
    /// What is known of the machine speaks against it.
    Contradiction(Contradiction),
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(locator) => write!(f, "'{locator}' is not named that way"),
            Self::Family => f.write_str("the processor's family is not known"),
            Self::Count { what, found, wanted } => {
                write!(f, "there are {found} {what}, which does not go with {wanted}")
            }
            Self::Gaps => f.write_str("the slots are not numbered in one row"),
            Self::Sockets => f.write_str("nothing tells which slot is on which processor"),
            Self::Contradiction(contradiction) => write!(f, "{contradiction}"),
        }
    }
}
