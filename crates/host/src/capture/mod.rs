//! A capture: every answer that a machine gave while it was read, in one JSON file that can be sent
//! and read again elsewhere. What names the machine or its owner is masked before anything is
//! written (`mask`): the same value by the same stand-in, so that what fitted together still does.

mod addresses;
mod mask;
mod owner;
mod secrets;
mod table;

pub use owner::Owner;

use crate::garbled::Garbled;
use narrows_model::Fact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Version of the file's form.
const CAPTURE_VERSION: u32 = 1;
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Text that can be read as it stands.
    Text(String),
    /// Anything else, as hexadecimal digits.
    Hex(String),
}

/// Questions and answers, by path. What is not in it was absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    narrows_capture: u32,
    pub(crate) files: BTreeMap<String, Fact<Content>>,
    pub(crate) folders: BTreeMap<String, Vec<String>>,
    pub(crate) links: BTreeMap<String, Fact<String>>,
    pub(crate) there: BTreeMap<String, bool>,
    pub(crate) resolved: BTreeMap<String, Option<String>>,
}

impl Content {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text.to_owned()),
            // Words of eight digits: short enough not to be taken for a name and masked.
            _ => Self::Hex(
                bytes
                    .chunks(4)
                    .map(|four| four.iter().map(|b| format!("{b:02x}")).collect::<String>())
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Garbled> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Hex(hex) => hex
                .replace(' ', "")
                .as_bytes()
                .chunks(2)
                .map(|pair| std::str::from_utf8(pair).ok())
                .map(|pair| u8::from_str_radix(pair?, 16).ok())
                .collect::<Option<_>>()
                .ok_or(Garbled::Hexadecimal),
        }
    }
}

/// Writes a capture, masked. `owner` is what else names the machine, whether it was asked or not.
pub fn write(answers: Answers, owner: &Owner) -> String {
    let answers = Answers { narrows_capture: CAPTURE_VERSION, ..mask::mask(answers, owner) };
    serde_json::to_string_pretty(&answers).unwrap_or_default() + "\n"
}

/// True for text that begins like a capture.
pub fn is_capture(text: &str) -> bool {
    text.trim_start().starts_with("{") && text.contains("\"narrows_capture\"")
}

/// Why a text is no capture that could be read.
#[derive(Debug, Error)]
pub enum BadCapture {
    /// It is not the JSON of one.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A later narrows wrote it, with this version of the format.
    #[error("capture version {0}, this narrows reads {CAPTURE_VERSION}")]
    Version(u32),
}

/// Reads a capture.
pub fn parse(text: &str) -> Result<Answers, BadCapture> {
    let answers: Answers = serde_json::from_str(text)?;
    match answers.narrows_capture {
        CAPTURE_VERSION => Ok(answers),
        other => Err(BadCapture::Version(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_name_is_never_written() {
        let mut answers = Answers::default();
        let path = "proc/sys/kernel/hostname";
        let name = Fact::known(Content::Text("db7\n".to_owned()), path);
        answers.files.insert(path.to_owned(), name);
        let text = write(answers, &Owner::default());
        assert!(text.contains("masked") && !text.contains("db7"), "{text}");
        assert!(parse(&text).is_ok());
    }
}
