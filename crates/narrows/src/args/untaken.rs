//! Why a word of the command line is not one that its option takes.

use narrows_predict::NoKit;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Why an option does not take a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untaken {
    /// It is not a number.
    Number(String),
    /// It is not of the form that is wanted.
    Form {
        /// What was given.
        text: String,
        /// The form, with an example where that helps.
        wanted: &'static str,
    },
    /// It is none of the things that are known.
    Unknown {
        /// What was given.
        text: String,
        /// What it should name.
        what: &'static str,
    },
    /// It is beyond its bounds, which are told with their unit.
    Beyond(&'static str),
    /// It names no modules of memory.
    Kit {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: NoKit,
    },
    /// It is not the head of a chain of records.
    Head,
    /// The file that it names cannot be used.
    File {
        /// As it was named on the command line.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Untaken {
    pub fn number(text: &str) -> Self {
        Self::Number(text.to_owned())
    }

    pub fn form(text: &str, wanted: &'static str) -> Self {
        Self::Form { text: text.to_owned(), wanted }
    }

    pub fn unknown(text: &str, what: &'static str) -> Self {
        Self::Unknown { text: text.to_owned(), what }
    }
}

impl fmt::Display for Untaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(f, "'{text}' is not a number"),
            Self::Form { text, wanted } => write!(f, "'{text}' is not {wanted}"),
            Self::Unknown { text, what } => write!(f, "'{text}' is no {what}"),
            Self::Beyond(bounds) => write!(f, "must be {bounds}"),
            Self::Kit { text, why } => write!(f, "'{text}' is not {why}"),
            Self::File { file, why } => write!(f, "{}: {why}", file.display()),
            Self::Head => f.write_str("a head has 64 hexadecimal digits"),
        }
    }
}

impl Error for Untaken {}
