//! Why a session of a study does not begin.

use crate::difference::Difference;
use crate::error::RunError;
use narrows_interop::engines;
use narrows_model::trial::NetworkPath;
use narrows_plan::study::{StudyError, Unread};
use std::fmt;
use thiserror::Error;

/// Why a session of a study does not begin.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The file of results is no study from a TOML file.
    #[error("it has no definition of a study")]
    NoDefinition,
    /// The definition makes no sense.
    #[error(transparent)]
    Definition(#[from] StudyError),
    /// A cell has words for an outside tool that no study may give it.
    #[error("cell '{cell}': {why}")]
    EngineWords {
        /// Its levels in a line.
        cell: String,
        /// Which word it was, and why not.
        why: engines::Refused,
    },
    /// The user tells the level of a factor that the study does not have.
    #[error("--at: the study has no factor '{0}'")]
    UnknownFactor(String),
    /// It is not known at which levels of these factors the machine is.
    #[error("{}", unread(.0))]
    Unread(Vec<Unread>),
    /// No cell can run here, whatever is changed by hand.
    #[error("no cell can run here: {0}")]
    NothingRuns(String),
    /// The ends are joined in another way than they were.
    #[error("the study ran its network cells over: {}; now they would go {now}", path(*.was))]
    OtherPath {
        /// What joined them in the first session.
        was: NetworkPath,
        /// What joins them, in words.
        now: String,
    },
    #[error("this is not the machine of the study's sessions: {}", Listed(.0))]
    OtherMachine(Vec<Difference>),
    /// The machines cannot be reached, or not be looked at.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// All at once: who is told of one alone is refused again for the next.
fn unread(all: &[Unread]) -> String {
    let each = all.iter().map(|one| format!("factor '{}': {}", one.factor, one.why));
    each.collect::<Vec<_>>().join("; ")
}

fn path(path: NetworkPath) -> String {
    format!("{path:?}").to_lowercase()
}

/// Differences in one line.
struct Listed<'a>(&'a [Difference]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, one) in self.0.iter().enumerate() {
            write!(f, "{}{one}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::MachinePart;
    use narrows_plan::study::NoLevel;

    #[test]
    fn a_refusal_says_what_it_was_and_what_it_is() {
        let part =
            |part, was: &str, now: &str| Difference { part, was: was.into(), now: now.into() };
        let kernel = part(MachinePart::Kernel, "6.1", "6.8");
        let cpus = part(MachinePart::Cpus, "8", "4");
        let unread = |factor: &str| Unread {
            factor: factor.into(),
            why: NoLevel::NotAt { said: "8".into() },
        };
        let path = |was| Refusal::OtherPath { was, now: "through this host".into() };
        let over = "the study ran its network cells over:";
        let machine = "this is not the machine of the study's sessions:";
        for (refusal, words) in [
            (Refusal::UnknownFactor("mtu".into()), "--at: the study has no factor 'mtu'".into()),
            (
                Refusal::Unread(vec![unread("dimms"), unread("mode")]),
                "factor 'dimms': the machine is not at '8'; factor 'mode': the machine is not at '8'"
                    .into(),
            ),
            (path(NetworkPath::Peer), format!("{over} peer; now they would go through this host")),
            (
                path(NetworkPath::Loopback),
                format!("{over} loopback; now they would go through this host"),
            ),
            (
                Refusal::OtherMachine(vec![kernel.clone()]),
                format!("{machine} kernel: was 6.1, is 6.8"),
            ),
            (
                Refusal::OtherMachine(vec![kernel, cpus]),
                format!("{machine} kernel: was 6.1, is 6.8; CPUs online: was 8, is 4"),
            ),
        ] {
            assert_eq!(refusal.to_string(), words);
        }
    }
}
