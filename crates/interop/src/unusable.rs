//! Why a text is no output that could be imported.

use std::fmt;
use thiserror::Error;

/// What is wrong with the output of a tool.
#[derive(Debug, Error)]
pub enum Unusable {
    /// A part that every such output has: `title of OSU's`.
    #[error("it has no {0}")]
    Lacks(&'static str),
    /// No line states what was reached.
    #[error("it states no rate")]
    NoRate,
    /// A line that should state what was reached.
    #[error("no rate in: {0}")]
    NoRateIn(String),
    /// Two parts that cannot both be right.
    #[error(
        "its title says bandwidth and its column's heading latency (us): which of them its figures \
         are is not known"
    )]
    Contradicts,
    /// It is not the JSON that it begins as.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is not TOML; the parser's words, without the place.
    #[error("{0}")]
    Toml(String),
    /// A published table whose rows are figures by name, each with its own unit or of none.
    #[error("its rows are single figures, which no run of a study has")]
    SingleFigures,
    /// A published table whose rows are servers, with what each does of a link's packets.
    #[error("its rows are servers and the packets that each does, which no study has as its cells")]
    Servers,
    /// It is whole, and nothing was measured.
    #[error("it holds no run")]
    NoRun,
}

/// Why the tool of a text is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrecognised {
    /// The text is of no tool that is known.
    Unknown,
    /// It looks like the output of each of these, by their names.
    Several(Vec<&'static str>),
}

impl fmt::Display for Unrecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no tool's output that narrows knows"),
            Self::Several(names) => write!(f, "it may be of {}", names.join(" or ")),
        }
    }
}
