//! Results: computed from facts and records, always recomputable, never stored as truth.

mod inapplicable;
mod measure;
mod missing;
mod population;
mod prediction;
mod resource;
pub mod verdict;

use crate::units::Unit;
pub use inapplicable::{Devices, Inapplicable, NotSo};
pub use measure::{Activity, Measure, Needed, Unmeasured};
pub use missing::{Gap, Missing, Unclear};
pub use population::{FamilyFor, PopulationGap};
pub use prediction::{Ceiling, PredictedPath, Prediction, Unstated};
pub use resource::{ResourceAt, ResourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
pub use verdict::{Answer, LookedAt, NothingSeen, Verdict};

/// How an estimate was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Median, with the order-statistic interval named by `confidence`.
    MedianOrderStatistic,
    /// Median, with an interval that holds at every look of a study that stops at a precision.
    MedianSequential,
    /// Median, with the range of the values: too few for an interval.
    Range,
    /// Arithmetic on facts and parameters; the range carries their uncertainty.
    Model,
    /// A difference of two medians, with the interval of their ratio or difference by bounds.
    MedianRatio,
    /// Bootstrap interval, corrected for bias and acceleration.
    Bootstrap,
}

/// A value with its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median of the runs, or what the model says, in the unit.
    pub value: f64,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// Unit of all three.
    pub unit: Unit,
    /// Number of samples; 0 for a model.
    pub n: u32,
    /// How it was made.
    pub by: Method,
}

/// Where a number in a prediction comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "provenance", content = "where", rename_all = "kebab-case")]
pub enum Provenance {
    /// Measured on this host in this study.
    Measured(String),
    /// Read from this host.
    Read(String),
    /// Stated by whoever asked.
    Given(String),
    /// From a standard or data sheet.
    DataSheet(String),
    /// Fitted on a published table.
    Fitted(String),
    /// Taken for granted; the weakest kind.
    Assumed(String),
}

impl Provenance {
    /// One word for the kind.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Measured(_) => "measured",
            Self::Read(_) => "read",
            Self::Given(_) => "given",
            Self::DataSheet(_) => "data sheet",
            Self::Fitted(_) => "fitted",
            Self::Assumed(_) => "assumed",
        }
    }
    /// Where it comes from.
    pub fn at(&self) -> &str {
        match self {
            Self::Measured(at)
            | Self::Read(at)
            | Self::Given(at)
            | Self::DataSheet(at)
            | Self::Fitted(at)
            | Self::Assumed(at) => at,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(what) => write!(f, "measured here: {what}"),
            Self::Read(_) => f.write_str("read from the host"),
            Self::Given(_) => f.write_str("given"),
            Self::DataSheet(which) => write!(f, "data sheet: {which}"),
            Self::Fitted(on) => write!(f, "fitted on {on}"),
            Self::Assumed(why) if why.is_empty() => f.write_str("assumed"),
            Self::Assumed(why) => write!(f, "assumed: {why}"),
        }
    }
}

/// One piece of evidence under a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was seen.
    pub says: String,
    /// Where it was seen.
    pub from: String,
}

/// How much a finding weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The hardware is not as it should be: exit code 1.
    Fault,
    /// A setting or circumstance worth a change.
    Advice,
    /// The measurement is not to be trusted fully.
    Caution,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the rule.
    pub rule: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What is wrong, in a sentence.
    pub says: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What a change would bring, when that was measured or can be computed.
    pub worth: Option<Estimate>,
    /// What to do.
    pub remedy: String,
}
