//! Names of memory channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A channel within its socket, by whoever numbered it: boards print labels, drivers count the
/// channels of each controller, some firmware those of each node. They compare as they are
/// numbered, 9 before 10. Files hold the text, which reads back as the same.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String", into = "String")]
pub enum ChannelId {
    /// `A`, `3`: unique in the socket.
    OfSocket(Label),
    /// `M1C0`: channel 0 of memory controller 1.
    OfController {
        /// Memory controller inside the socket.
        controller: u32,
        /// What the channel is called in there.
        label: Label,
    },
    /// `N1C0`: channel 0 of node 1, on boards that number nodes inside a socket.
    OfNode {
        /// Node, as the board numbers it.
        node: u32,
        /// What the channel is called in there.
        label: Label,
    },
    /// `1.2`: channel 2 of board, riser or controller 1.
    OfUnit {
        /// Board, riser or controller of the socket.
        unit: u32,
        /// What the channel is called in there.
        label: Label,
    },
}

/// What a channel is called by the one who counts them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// A number, from 0 or 1.
    Number(u32),
    /// A capital letter, from A.
    Letter(char),
    /// Anything else that a maker writes.
    Other(Name),
}

/// A name that compares by its length first, as numbers with letters around them do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.len(), &self.0).cmp(&(other.0.len(), &other.0))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        let mut letters = text.chars();
        match (number(text), letters.next(), letters.next()) {
            (Some(number), ..) => Self::Number(number),
            (None, Some(letter), None) if letter.is_ascii_uppercase() => Self::Letter(letter),
            _ => Self::Other(Name(text.to_owned())),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Letter(letter) => letter.fmt(f),
            Self::Other(name) => f.write_str(&name.0),
        }
    }
}

impl ChannelId {
    /// A channel that is counted over the socket.
    pub fn numbered(number: usize) -> Self {
        Self::OfSocket(Label::from(number.to_string().as_str()))
    }
}

impl Default for ChannelId {
    fn default() -> Self {
        Self::OfSocket(Label::from(""))
    }
}

impl From<&str> for ChannelId {
    fn from(text: &str) -> Self {
        if let Some((controller, label)) = prefixed(text, 'M') {
            return Self::OfController { controller, label };
        }
        if let Some((node, label)) = prefixed(text, 'N') {
            return Self::OfNode { node, label };
        }
        let parts = text.split_once('.').and_then(|(unit, rest)| Some((number(unit)?, rest)));
        match parts.filter(|(_, rest)| !rest.is_empty()) {
            Some((unit, rest)) => Self::OfUnit { unit, label: Label::from(rest) },
            None => Self::OfSocket(Label::from(text)),
        }
    }
}

impl From<String> for ChannelId {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<ChannelId> for String {
    fn from(id: ChannelId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfSocket(label) => label.fmt(f),
            Self::OfController { controller, label } => write!(f, "M{controller}C{label}"),
            Self::OfNode { node, label } => write!(f, "N{node}C{label}"),
            Self::OfUnit { unit, label } => write!(f, "{unit}.{label}"),
        }
    }
}

/// A number as it is printed: `01` is none, for it would not read back as the same.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// `M1C0` and `N1C0`, by their first letter.
fn prefixed(text: &str, letter: char) -> Option<(u32, Label)> {
    let (of, label) = text.strip_prefix(letter)?.split_once('C')?;
    number(of).filter(|_| !label.is_empty()).map(|of| (of, Label::from(label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_reads_back_as_it_was_written() {
        let odd = ["", "01", "+1", "M01C2", "MC2", "M1C", "N1", ".2", "1.", "1.2.3", "DIMM_A", "a"];
        let plain = ["A", "7", "M1C0", "M0CB", "N1C0", "N0C00", "1.2", "4294967295", "4294967296"];
        for text in odd.into_iter().chain(plain) {
            let id = ChannelId::from(text);
            assert_eq!(id.to_string(), text);
            let json = serde_json::to_string(&id).expect("text");
            assert_eq!(json, serde_json::to_string(text).expect("text"));
            assert_eq!(serde_json::from_str::<ChannelId>(&json).expect("read"), id, "{text}");
        }
    }

    #[test]
    fn who_numbers_a_channel_is_told_by_its_name() {
        let letter = Label::Letter('B');
        assert_eq!(ChannelId::from("B"), ChannelId::OfSocket(letter.clone()));
        let of_controller = ChannelId::OfController { controller: 0, label: letter };
        assert_eq!(ChannelId::from("M0CB"), of_controller);
        let label = Label::Number(5);
        assert_eq!(ChannelId::from("N1C5"), ChannelId::OfNode { node: 1, label: label.clone() });
        assert_eq!(ChannelId::from("3.5"), ChannelId::OfUnit { unit: 3, label });
        assert_eq!(ChannelId::numbered(12), ChannelId::OfSocket(Label::Number(12)));
        assert_eq!(ChannelId::from("MXC1"), ChannelId::OfSocket(Label::from("MXC1")));
    }

    #[test]
    fn channels_compare_as_they_are_numbered() {
        for row in
            [["2", "9", "10"], ["A", "B", "C"], ["M0C9", "M0C10", "M2C0"], ["B1", "B9", "B10"]]
        {
            let mut ids = row.map(ChannelId::from);
            ids.reverse();
            ids.sort();
            assert_eq!(ids.map(|id| id.to_string()), row);
        }
    }
}
