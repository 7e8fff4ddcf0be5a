//! A fact about a host: its value or the reason why there is none, with where it was read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fmt;

/// Where a fact comes from: a file, a system call, or a firmware structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Source(pub String);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One fact. Unknown is a value: a reader can tell "not there" from "not allowed" and "garbled".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Fact<T> {
    /// The value, and where it was read.
    Known {
        /// What was read.
        value: T,
        /// The file, system call or structure that it was read from.
        from: Source,
    },
    /// The machine has no such thing, or does not tell.
    Absent {
        /// Where it was looked for.
        from: Source,
        /// What stands there where that means that there is none, such as `-1`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// It is there, but this user may not read it.
    Denied {
        /// What would have to be readable.
        from: Source,
    },
    /// It is there and cannot be understood.
    Malformed {
        /// Where it was read.
        from: Source,
        /// What stood there, or what was wrong with it.
        text: String,
    },
}

/// Source of a fact that nobody asked for.
const UNASKED: &str = "not asked for";

impl<T> Default for Fact<T> {
    /// A fact that nobody asked for, as in a file of an older version.
    fn default() -> Self {
        Self::absent(UNASKED)
    }
}

impl<T> Fact<T> {
    /// A known fact.
    pub fn known(value: T, from: impl Into<String>) -> Self {
        Self::Known { value, from: Source(from.into()) }
    }
    /// Known where there is a value, else absent.
    pub fn told(value: Option<T>, from: impl Into<String>) -> Self {
        match value {
            Some(value) => Self::known(value, from),
            None => Self::absent(from),
        }
    }
    /// A fact that the machine does not offer.
    pub fn absent(from: impl Into<String>) -> Self {
        Self::Absent { from: Source(from.into()), said: None }
    }
    /// A fact whose file says that there is none.
    pub fn said_absent(from: impl Into<String>, said: impl Into<String>) -> Self {
        Self::Absent { from: Source(from.into()), said: Some(said.into()) }
    }
    /// A fact that stood there garbled.
    pub fn malformed(from: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Malformed { from: Source(from.into()), text: text.into() }
    }
    /// The value, if known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            _ => None,
        }
    }
    /// Whether nobody asked for it, so that nothing says that the machine has no such thing.
    pub fn is_unasked(&self) -> bool {
        matches!(self, Self::Absent { from, .. } if from.0 == UNASKED)
    }
    /// Where the fact was looked for.
    pub fn source(&self) -> &Source {
        match self {
            Self::Known { from, .. }
            | Self::Absent { from, .. }
            | Self::Denied { from }
            | Self::Malformed { from, .. } => from,
        }
    }
    /// Why there is no value, in words; `None` when there is one.
    pub fn gap(&self) -> Option<String> {
        match self {
            Self::Known { .. } => None,
            Self::Absent { from, said: None } => {
                Some(format!("not offered by this machine ({from})"))
            }
            Self::Absent { from, said: Some(said) } => {
                Some(format!("not offered by this machine ({from} is {said})"))
            }
            Self::Denied { from } => Some(format!("no permission to read {from}")),
            Self::Malformed { from, text } => Some(format!("{from} cannot be understood: {text}")),
        }
    }
    /// The same fact with its value turned into another.
    pub fn map<U>(self, turn: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Ok::<U, Infallible>(turn(value)))
    }
    /// The same fact with its value turned into another, or malformed when it cannot be.
    pub fn and_then<U, E: fmt::Display>(self, turn: impl FnOnce(T) -> Result<U, E>) -> Fact<U> {
        match self {
            Self::Known { value, from } => match turn(value) {
                Ok(value) => Fact::Known { value, from },
                Err(error) => Fact::Malformed { from, text: error.to_string() },
            },
            Self::Absent { from, said } => Fact::Absent { from, said },
            Self::Denied { from } => Fact::Denied { from },
            Self::Malformed { from, text } => Fact::Malformed { from, text },
        }
    }
}
