//! What a rule answers. *Clear* can only be said with what was looked at, so that a rule which
//! could not look has to say that instead.

use super::{Evidence, Finding, Inapplicable, Missing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule's answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Looked, and nothing is wrong.
    Clear {
        /// What was looked at.
        looked_at: LookedAt,
    },
    /// There is nothing here that the question could be asked of.
    NotApplicable {
        /// What makes the question pointless on this host.
        why: Inapplicable,
    },
    /// Found something; there may be several (one a NIC).
    Found {
        /// What was found.
        findings: Vec<Finding>,
    },
    /// Could not tell, of all that it should have looked at or of a part.
    Unknown {
        /// What is missing.
        missing: Vec<Missing>,
        /// The part that was looked at, in which nothing is wrong.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(default)]
        looked_at: Vec<Evidence>,
    },
}

impl Verdict {
    /// Clear, by one thing that was looked at.
    pub fn clear(seen: Evidence) -> Self {
        Self::Clear { looked_at: LookedAt::new(seen, Vec::new()) }
    }
    /// Unknown, for one thing that is missing.
    pub fn unknown(missing: Missing) -> Self {
        Self::Unknown { missing: vec![missing], looked_at: Vec::new() }
    }
    /// Which of the four it is.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Clear { .. } => Answer::Clear,
            Self::NotApplicable { .. } => Answer::NotApplicable,
            Self::Found { .. } => Answer::Found,
            Self::Unknown { .. } => Answer::Unknown,
        }
    }
}

/// The kind of a verdict, to count and to name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Something was found.
    Found,
    /// Looked, and nothing is wrong.
    Clear,
    /// The question does not arise here.
    NotApplicable,
    /// Could not tell.
    Unknown,
}

impl Answer {
    /// All four, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Found, Self::Clear, Self::NotApplicable, Self::Unknown];
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::Clear => "clear",
            Self::NotApplicable => "not applicable",
            Self::Unknown => "unknown",
        })
    }
}

/// What was looked at: at least one piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Evidence>", into = "Vec<Evidence>")]
#[schemars(with = "Vec<Evidence>")]
pub struct LookedAt(Vec<Evidence>);

impl LookedAt {
    /// One piece of evidence, and others.
    pub fn new(first: Evidence, others: Vec<Evidence>) -> Self {
        let mut all = vec![first];
        all.extend(others);
        Self(all)
    }
    /// The same and others.
    #[must_use]
    pub fn and(mut self, others: Vec<Evidence>) -> Self {
        self.0.extend(others);
        self
    }
    /// All of it.
    pub fn all(&self) -> &[Evidence] {
        &self.0
    }
}

/// Nothing was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingSeen;

impl fmt::Display for NothingSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a clear verdict lists what was looked at")
    }
}

impl TryFrom<Vec<Evidence>> for LookedAt {
    type Error = NothingSeen;
    fn try_from(all: Vec<Evidence>) -> Result<Self, NothingSeen> {
        if all.is_empty() { Err(NothingSeen) } else { Ok(Self(all)) }
    }
}

impl From<LookedAt> for Vec<Evidence> {
    fn from(seen: LookedAt) -> Self {
        seen.0
    }
}
