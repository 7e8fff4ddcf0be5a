//! What a rule would have had to know. In JSON a gap is its words.

use super::{PopulationGap, Unmeasured};
use crate::fact::Fact;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

/// In JSON and its schema a typed answer is the text that people read.
pub(super) fn as_text<T: fmt::Display, S: Serializer>(of: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(of)
}

/// What a rule would have had to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        of: Unmeasured,
    },
    /// Something that does not follow from what was read.
    Knowledge {
        /// What does not follow.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        of: Unclear,
    },
}

/// Why a fact has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// The same, of another host than this one.
    #[must_use]
    pub fn at(self, host: &str) -> Self {
        match self {
            Self::Fact { name, gap } => Self::Fact { name: format!("{name} at {host}"), gap },
            Self::Measurement { of } => Self::Measurement { of },
            Self::Knowledge { of } => {
                Unclear::At { of: Box::new(of), host: host.to_owned() }.into()
            }
        }
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
            Self::Measurement { of } => write!(f, "{of}"),
            Self::Knowledge { of } => write!(f, "{of}"),
        }
    }
}

impl From<Unmeasured> for Missing {
    fn from(of: Unmeasured) -> Self {
        Self::Measurement { of }
    }
}

impl From<Unclear> for Missing {
    fn from(of: Unclear) -> Self {
        Self::Knowledge { of }
    }
}

/// What does not follow from the facts that a host tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// Of the host of this name.
    At {
        of: Box<Unclear>,
        host: String,
    },
    /// How memory is populated.
    Population(PopulationGap),
    MemoryOfModulesOrNodes,
    EveryModuleSize,
    AnyModuleSize,
    /// So many modules beside those whose size is known.
    OtherModuleSizes(usize),
    /// Both the rated and the configured one.
    ModuleSpeeds,
    /// Below the root port, to this NIC.
    PathPayload {
        nic: String,
    },
    PathLinks {
        nic: String,
    },
    SlotLink {
        nic: String,
    },
    /// Speed and width of a link at its best, above this PCI function.
    LinkLimit {
        address: String,
    },
    /// Payload that a shared link of this description carries.
    LinkPayload {
        link: String,
    },
    NicRates,
    PlacesOfCpus,
    NotOnPci,
    DisciplinesUnderMq,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { of, host } => write!(f, "{of} at {host}"),
            Self::Population(gap) => write!(f, "{gap}"),
            Self::MemoryOfModulesOrNodes => f.write_str("memory of the modules or of the nodes"),
            Self::EveryModuleSize => f.write_str("the size of every module"),
            Self::AnyModuleSize => f.write_str("the size of any module"),
            Self::OtherModuleSizes(count) => write!(f, "the size of {count} other modules"),
            Self::ModuleSpeeds => f.write_str("the rated and configured speed of every module"),
            Self::PathPayload { nic } => {
                write!(f, "payload that every function on the path to {nic} supports")
            }
            Self::PathLinks { nic } => write!(f, "link state on the path to {nic}"),
            Self::SlotLink { nic } => write!(f, "the link of the slot of {nic}"),
            Self::LinkLimit { address } => write!(f, "the most that the link to {address} can do"),
            Self::LinkPayload { link } => write!(f, "what {link} carries"),
            Self::NicRates => f.write_str("no NIC here tells its rate"),
            Self::PlacesOfCpus => f.write_str("which CPUs are on which socket and node is unknown"),
            Self::NotOnPci => f.write_str("it is not on PCI"),
            Self::DisciplinesUnderMq => {
                f.write_str("the disciplines under mq are not read: `tc qdisc show`")
            }
        }
    }
}
