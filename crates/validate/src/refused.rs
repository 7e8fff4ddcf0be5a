//! Why a table is refused, in words.

use std::fmt;

/// Why a table is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// A field that nobody knows, and one that is spelt nearly so.
    Unknown {
        /// Where it stands: `[system]`, `row 3`.
        at: String,
        /// Name of the field in the table.
        field: String,
        /// What was meant, perhaps.
        near: Option<&'static str>,
    },
    /// A field that goes into no figure.
    Unused {
        at: String,
        /// Name of the field in the table.
        field: String,
        /// What its row asks; nothing for the system of all rows.
        questions: Vec<&'static str>,
    },
    /// A field with what it cannot have.
    Wrong {
        at: String,
        /// Name of the field in the table.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { at, field, near: Some(near) } => {
                write!(f, "{at}: no field is called '{field}'; is it '{near}'?")
            }
            Self::Unknown { at, field, near: None } => {
                write!(f, "{at}: no field is called '{field}'")
            }
            Self::Unused { at, field, questions } if questions.is_empty() => {
                write!(f, "{at}: {field} is not used by the question of any row")
            }
            Self::Unused { at, field, questions } => {
                write!(f, "{at}: {field} is not used by its question, '{}'", questions.join("', '"))
            }
            Self::Wrong { at, field, why } => write!(f, "{at}: {field} {why}"),
        }
    }
}

pub fn wrong(at: &str, field: &str, why: &str) -> Refused {
    Refused::Wrong { at: at.to_owned(), field: field.to_owned(), why: why.to_owned() }
}
