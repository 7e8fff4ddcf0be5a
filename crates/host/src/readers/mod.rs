//! What other programs print of a host: one format a file. Each turns a text into a
//! [`PartialHost`], what that text alone tells; [`crate::parts`] puts parts together. A format is
//! told by content.

mod ansible;
mod ethtool;
mod inspector;
mod ip;
mod json;
mod lscpu;
mod lshw;
mod lspci;
mod numactl;
pub mod redfish;

use crate::parts::PartialHost;
use thiserror::Error;

/// A program whose output is read: how it is known by its content, and what it says.
pub struct Reader {
    /// The program that writes it.
    pub name: &'static str,
    /// Whether a text is of this format, as far as can be told without reading all of it.
    pub is: fn(&str) -> bool,
    /// Reads a text; the second argument names it, as the source of every fact.
    pub read: fn(&str, &str) -> Result<PartialHost, BadText>,
}

/// All formats, by name. No text is of two.
pub static READERS: &[&Reader] = &[
    &ansible::READER,
    &ethtool::READER,
    &inspector::READER,
    &ip::READER,
    &lscpu::READER,
    &lshw::READER,
    &lspci::READER,
    &numactl::READER,
    &redfish::READER,
];

/// The reader of a text.
pub fn of(text: &str) -> Option<&'static Reader> {
    READERS.iter().copied().find(|reader| (reader.is)(text))
}

/// The programs whose outputs are read: `ethtool, ip, lscpu`.
pub fn names() -> String {
    READERS.iter().map(|reader| reader.name).collect::<Vec<_>>().join(", ")
}

/// Why a text in a known format cannot be read surely.
#[derive(Debug, Error)]
pub enum BadText {
    /// It ends before it tells what its own counts or its structure promise.
    #[error("the output of {program} is cut short: {missing}")]
    CutShort {
        program: &'static str,
        /// What is promised and not there.
        missing: String,
    },
    /// The program wrote in a language that is not read.
    #[error("the output of {program} is translated ('{line}'): run it again as LC_ALL=C {program}")]
    Translated {
        program: &'static str,
        /// The first line.
        line: String,
    },
    /// A value that cannot be one.
    #[error("{program}: '{text}' is no {what}")]
    Value { program: &'static str, what: &'static str, text: String },
    /// JSON that is none, or of another shape.
    #[error("{program}: {error}")]
    Json {
        program: &'static str,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// XML that is none.
    #[error("{program}: {error}")]
    Xml {
        program: &'static str,
        /// What is wrong, and where.
        error: roxmltree::Error,
    },
    /// A text that tells of two machines.
    #[error("it holds {what} of two hosts, give them one by one")]
    SeveralHosts {
        /// What is there twice and differs.
        what: &'static str,
    },
    /// An output that tells nothing that is read here.
    #[error("{program} printed nothing: {why}")]
    Nothing {
        program: &'static str,
        /// What was asked of it, or what it said.
        why: &'static str,
    },
}

/// So much of a line as an error shows.
fn short(line: &str) -> String {
    crate::memory::sections::short(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_stand_by_name() {
        let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
