//! Which command made a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The command that measured a study, or read it from elsewhere; in files its word. What a study
/// tells about its host depends on it: imported figures are of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
pub enum StudyKind {
    /// Runs of an application by ranks and fabric.
    App,
    /// `narrows check` of one host.
    Check,
    /// `narrows check --peer`: two hosts, both ways.
    CheckPeer,
    /// Cache lines in flight.
    Credits,
    /// One change at a time, and put back.
    Diagnose,
    /// A description of a host without any run.
    Host,
    /// Figures of other tools.
    Import,
    /// Round trips beside streams both ways.
    Latency,
    /// Memory kernels of one host.
    Mem,
    /// Pairs among many hosts.
    Mesh,
    /// Messages between MPI ranks.
    Mpi,
    /// Packets a second.
    Packets,
    /// One RDMA measurement that the user set up.
    Rdma,
    /// Anomalies among the options of traffic.
    Search,
    /// Cells of a TOML file.
    Study,
    /// One TCP measurement that the user set up.
    Tcp,
    /// One UDP measurement that the user set up.
    Udp,
    /// A word that this version does not know, kept as it is.
    Other(String),
}

impl StudyKind {
    const WORDS: [(Self, &'static str); 17] = [
        (Self::App, "app"),
        (Self::Check, "check"),
        (Self::CheckPeer, "check-peer"),
        (Self::Credits, "credits"),
        (Self::Diagnose, "diagnose"),
        (Self::Host, "host"),
        (Self::Import, "import"),
        (Self::Latency, "latency"),
        (Self::Mem, "mem"),
        (Self::Mesh, "mesh"),
        (Self::Mpi, "mpi"),
        (Self::Packets, "packets"),
        (Self::Rdma, "rdma"),
        (Self::Search, "search"),
        (Self::Study, "study"),
        (Self::Tcp, "tcp"),
        (Self::Udp, "udp"),
    ];

    /// The word in files, in their names and in reports.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => {
                Self::WORDS.iter().find(|(kind, _)| kind == known).map_or("", |(_, word)| word)
            }
        }
    }

    /// Whether it is one measurement of sockets that the user set up.
    pub fn is_direct(&self) -> bool {
        matches!(self, Self::Tcp | Self::Udp)
    }
}

impl fmt::Display for StudyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<StudyKind> for String {
    fn from(kind: StudyKind) -> Self {
        kind.as_str().to_owned()
    }
}

impl From<String> for StudyKind {
    fn from(word: String) -> Self {
        let known = Self::WORDS.into_iter().find(|(_, known)| *known == word);
        known.map_or(Self::Other(word), |(kind, _)| kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_older_files() {
        let words = StudyKind::WORDS.map(|(kind, _)| kind.to_string()).join(" ");
        let wanted = "app check check-peer credits diagnose host import latency mem mesh mpi \
                      packets rdma search study tcp udp";
        assert_eq!(words, wanted);
    }

    #[test]
    fn sockets_that_a_user_set_up_are_direct() {
        let direct: Vec<String> = StudyKind::WORDS
            .iter()
            .filter(|(kind, _)| kind.is_direct())
            .map(|(kind, _)| kind.to_string())
            .collect();
        assert_eq!(direct, ["tcp", "udp"]);
    }

    #[test]
    fn every_word_is_read_back_and_unknown_ones_are_kept() {
        for (kind, word) in StudyKind::WORDS {
            assert_eq!(StudyKind::from(word.to_owned()), kind);
            assert_eq!(serde_json::to_value(&kind).expect("a word"), word);
        }
        let other: StudyKind = serde_json::from_value("sweep".into()).expect("a word");
        assert_eq!(other, StudyKind::Other("sweep".into()));
        assert_eq!(format!("{other:<7}|"), "sweep  |");
    }
}
