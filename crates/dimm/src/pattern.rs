//! Patterns of locators and bank strings: text with named fields, as slot maps write them.
//!
//! `P{socket}-DIMM{channel}{slot:letter}` matches `P1-DIMM2A`. Case does not count, and several
//! blanks count as one, which some makers pad numbers with. A field is a run of digits, `:letter`
//! makes it one letter, `:any` either.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A way in which a maker spells its locators.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field { name: String, kind: Kind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Digits,
    Letter,
    Any,
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPattern {
    /// A brace that is not closed.
    Open(String),
    /// A field that no rule reads.
    Field(String),
    /// A kind behind the colon that does not exist.
    Kind(String),
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(text) => write!(f, "'{text}': a brace is not closed"),
            Self::Field(name) => {
                write!(f, "field '{name}' is none of {}", FIELDS.join(", "))
            }
            Self::Kind(kind) => write!(f, "kind '{kind}' is neither letter nor any"),
        }
    }
}

/// The fields that rules read: the processor, a board or riser with a part of a processor's slots,
/// the channel, the slot's number, and one that stands for nothing.
const FIELDS: [&str; 5] = ["socket", "unit", "channel", "slot", "skip"];

impl TryFrom<String> for Pattern {
    type Error = BadPattern;

    fn try_from(text: String) -> Result<Self, BadPattern> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            parts.push(Part::Text(plain(before)));
            let (field, after) =
                after.split_once('}').ok_or_else(|| BadPattern::Open(text.clone()))?;
            parts.push(part(field)?);
            rest = after;
        }
        parts.push(Part::Text(plain(rest)));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self { text, parts })
    }
}

fn part(field: &str) -> Result<Part, BadPattern> {
    let (name, kind) = field.split_once(':').unwrap_or((field, "digits"));
    if !FIELDS.contains(&name) {
        return Err(BadPattern::Field(name.to_owned()));
    }
    let kind = match kind {
        "digits" => Kind::Digits,
        "letter" => Kind::Letter,
        "any" => Kind::Any,
        other => return Err(BadPattern::Kind(other.to_owned())),
    };
    Ok(Part::Field { name: name.to_owned(), kind })
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Capitals, without blanks around and with single ones inside.
fn plain(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    let mut plain = String::with_capacity(upper.len());
    for c in upper.chars() {
        let blank = c.is_whitespace();
        if !(blank && plain.ends_with(' ')) {
            plain.push(if blank { ' ' } else { c });
        }
    }
    plain
}

impl Pattern {
    /// The fields of a text that matches as a whole, by name.
    pub fn fields(&self, text: &str) -> Option<BTreeMap<String, String>> {
        let text = plain(text.trim());
        let mut rest = text.as_str();
        let mut fields = BTreeMap::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Field { name, kind } => {
                    // Numbers are padded with a blank where others have two digits.
                    let bare = rest.trim_start();
                    let length = kind.length(bare)?;
                    let (value, after) = bare.split_at(length);
                    fields.insert(name.clone(), value.to_owned());
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(fields)
    }
}

impl Kind {
    /// Bytes that the field takes of a text; `None` where it does not begin with one.
    fn length(self, text: &str) -> Option<usize> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let letter = usize::from(text.starts_with(|c: char| c.is_ascii_uppercase()));
        let length = match self {
            Self::Digits => digits,
            Self::Letter => letter,
            Self::Any => digits.max(letter),
        };
        (length > 0).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pattern: &str, text: &str) -> Option<Vec<(String, String)>> {
        let pattern = Pattern::try_from(pattern.to_owned()).expect(pattern);
        Some(pattern.fields(text)?.into_iter().collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    }

    #[test]
    fn fields_are_read_and_the_rest_must_match() {
        let hp = "PROC {socket} DIMM {slot}";
        assert_eq!(fields(hp, "PROC 2 DIMM 12"), pairs(&[("slot", "12"), ("socket", "2")]));
        assert_eq!(fields(hp, "PROC  1 DIMM  1 "), pairs(&[("slot", "1"), ("socket", "1")]));
        assert_eq!(fields(hp, "PROC 2 DIMM 12A"), None);
        let supermicro = "P{socket}-DIMM{channel}{slot:letter}";
        let want = pairs(&[("channel", "2"), ("slot", "A"), ("socket", "1")]);
        assert_eq!(fields(supermicro, "p1-dimm2a"), want);
        assert_eq!(fields("{socket:any}{slot}", "B7"), pairs(&[("slot", "7"), ("socket", "B")]));
        assert_eq!(fields("DIMM{slot}", "DIMM"), None);
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let bad = |text: &str| Pattern::try_from(text.to_owned()).expect_err(text);
        assert_eq!(bad("P{socket"), BadPattern::Open("P{socket".into()));
        assert_eq!(bad("{sock}"), BadPattern::Field("sock".into()));
        assert_eq!(bad("{slot:word}"), BadPattern::Kind("word".into()));
    }
}
