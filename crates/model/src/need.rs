//! What a run needs of the world, and lacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that a run needs and that was not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "need", rename_all = "kebab-case")]
pub enum Need {
    /// The agent of a host, which cannot be spoken with any more.
    Host {
        /// As the study or the user names it.
        name: String,
        /// What the connection ended with.
        why: String,
    },
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { name, why } => write!(f, "host {name} is gone: {why}"),
        }
    }
}
