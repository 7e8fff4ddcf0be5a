//! What a rule answers. *Clear* can only be said with what was looked at, so that a rule which
//! could not look has to say that instead.

use super::{Evidence, Finding};
use crate::fact::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
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

/// Why a question does not arise on this host or in this study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Inapplicable {
    /// The kernel has no such setting.
    NoSetting {
        /// Name of the setting, as the kernel spells it.
        name: String,
        /// Where it was looked for.
        from: String,
    },
    /// The host has none of the devices that are meant.
    NoDevice {
        /// Which: `NIC of 10 Gb/s or more that is up`.
        of: String,
    },
    /// None of the runs did what the question is about.
    NoRun {
        /// What they would have done: `binds memory to a node`.
        that: String,
    },
    /// The host is not built or set up so that the question would arise.
    NotSo {
        /// What it is not: `no CPU is kept free of other work`.
        because: String,
    },
}

impl fmt::Display for Inapplicable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSetting { name, from } => write!(f, "this kernel has no {name} ({from})"),
            Self::NoDevice { of } => write!(f, "this host has no {of}"),
            Self::NoRun { that } => write!(f, "no run {that}"),
            Self::NotSo { because } => f.write_str(because),
        }
    }
}

/// What a rule would have had to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "lacks", rename_all = "kebab-case")]
pub enum Missing {
    /// A fact of the host.
    Fact {
        /// Name of the fact, in words of `narrows host`.
        name: String,
        /// Why there is none.
        gap: Gap,
    },
    /// A measurement that no run made.
    Measurement {
        /// What no run has measured.
        of: String,
    },
    /// Something that does not follow from what was read.
    Knowledge {
        /// What does not follow.
        of: String,
    },
}

/// Why a fact has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "gap", rename_all = "kebab-case")]
pub enum Gap {
    /// Nobody asked for it.
    NotRead,
    /// The machine does not tell.
    Absent {
        /// Where it was looked for.
        from: String,
    },
    /// It may not be read.
    Denied {
        /// What would have to be readable.
        from: String,
    },
    /// What stood there is not understood.
    Malformed {
        /// Where it was read.
        from: String,
        /// What stood there.
        text: String,
    },
}

impl Missing {
    /// A fact without a value.
    pub fn fact<T>(name: impl Into<String>, fact: &Fact<T>) -> Self {
        let from = fact.source().0.clone();
        let gap = match fact {
            _ if fact.is_unasked() => Gap::NotRead,
            Fact::Denied { .. } => Gap::Denied { from },
            Fact::Malformed { text, .. } => Gap::Malformed { from, text: text.clone() },
            Fact::Known { .. } | Fact::Absent { .. } => Gap::Absent { from },
        };
        Self::Fact { name: name.into(), gap }
    }
    /// A fact that nobody asked for.
    pub fn unread(name: impl Into<String>) -> Self {
        Self::Fact { name: name.into(), gap: Gap::NotRead }
    }
    /// A value that is not understood.
    pub fn malformed(name: &str, from: &str, text: &str) -> Self {
        let gap = Gap::Malformed { from: from.to_owned(), text: text.to_owned() };
        Self::Fact { name: name.to_owned(), gap }
    }
    /// A measurement that was not made.
    pub fn measurement(of: impl Into<String>) -> Self {
        Self::Measurement { of: of.into() }
    }
    /// The same, of another host than this one.
    #[must_use]
    pub fn at(self, host: &str) -> Self {
        match self {
            Self::Fact { name, gap } => Self::Fact { name: format!("{name} at {host}"), gap },
            Self::Measurement { of } => Self::Measurement { of },
            Self::Knowledge { of } => Self::Knowledge { of: format!("{of} at {host}") },
        }
    }
    /// Something that does not follow from what was read.
    pub fn knowledge(of: impl Into<String>) -> Self {
        Self::Knowledge { of: of.into() }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRead => f.write_str("not read"),
            Self::Absent { from } => write!(f, "not reported by this machine ({from})"),
            Self::Denied { from } => write!(f, "no permission to read {from}"),
            Self::Malformed { from, text } => write!(f, "{from} is not understood: {text}"),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fact { name, gap } => write!(f, "{name}: {gap}"),
            Self::Measurement { of } | Self::Knowledge { of } => f.write_str(of),
        }
    }
}
