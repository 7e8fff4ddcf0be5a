//! Why an end gave no figures of its run.

use crate::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Starting the workers.
    Start,
    /// Making the ends ready: buffers, sockets, connections.
    Prepare,
    /// Between the word to go and the end of the window.
    Run,
    /// Collecting the reports.
    Collect,
}

/// Why an end was lost: it gave no figures of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// How far it had got.
    pub at: Stage,
    #[serde(flatten)]
    pub cause: LostBy,
}

/// What became of an end that was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum LostBy {
    /// The kernel killed its process for want of memory.
    OutOfMemory {
        /// The control group that was out of memory, or whose process was chosen.
        group: String,
        /// The tightest limit above the process; `None` where the host was out of memory.
        limit_bytes: Option<Bytes>,
    },
    /// A signal ended its process.
    Killed {
        /// The signal's number (signal(7)).
        signal: i32,
    },
    /// Its process ended by itself, with this exit code.
    Exited {
        /// From 0 to 255.
        code: i32,
    },
    /// It did not answer in time.
    Silent {
        /// For how long it was waited for.
        waited_ns: Nanos,
    },
    /// It failed, and said why.
    Failed { why: String },
}

impl fmt::Display for LostBy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { group, limit_bytes } => {
                write!(to, "killed by the kernel: out of memory in cgroup {group}, ")?;
                match limit_bytes {
                    Some(limit) => write!(to, "limit {limit}"),
                    None => to.write_str("which has no limit: the host was out of memory"),
                }
            }
            Self::Killed { signal } => {
                write!(to, "the worker process ended early (signal: {signal})")
            }
            Self::Exited { code } => {
                write!(to, "the worker process ended early (exit status: {code})")
            }
            Self::Silent { waited_ns } => {
                let waited = std::time::Duration::from_nanos(waited_ns.0);
                write!(to, "an end did not answer in {waited:?}")
            }
            Self::Failed { why } => to.write_str(why),
        }
    }
}
