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
    /// A published table whose `factors`, at this line, are no list of words.
    #[error("line {line}: factors is a list of the names of columns")]
    NoFactors { line: usize },
    /// A published table that names its factors has a row with a column that is none of them.
    #[error(
        "line {line}: the column {column} is none of its factors, ends in no unit that is known, \
         and is not note, bound or against"
    )]
    UnnamedColumn { line: usize, column: String },
    /// A published table names a factor that none of its rows has.
    #[error("line {line}: no row has its factor {factor}")]
    FactorOfNoRow { line: usize, factor: String },
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
