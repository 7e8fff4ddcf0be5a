//! A capture: every answer that a machine gave while it was read, in one JSON file that can be sent
//! and read again elsewhere. What names the machine or its owner is masked before anything is
//! written: host name, serial and asset numbers, UUIDs, hardware addresses in interface names, and
//! long hexadecimal names such as those of containers.

use crate::tuning;
use narrows_facts::Fact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the file's form.
const CAPTURE_VERSION: u32 = 1;
/// The file that holds the host's name.
const HOST_NAME: &str = "proc/sys/kernel/hostname";
/// The kernel's command line, of which only settings are kept.
const CMDLINE: &str = "proc/cmdline";
/// The file that holds the SMBIOS table.
const TABLE: &str = "sys/firmware/dmi/tables/DMI";
/// What is kept of a PCI function's configuration space.
const PCI_CONFIG_BYTES: usize = 256;
/// Structures of the table that are kept: what narrows reads or may read of a host. Makers' own
/// structures can hold anything, and are dropped.
const TYPES_KEPT: [u8; 12] = [0, 1, 2, 3, 4, 7, 9, 16, 17, 19, 20, 127];
/// Where structures keep numbers of their own string that name the very piece: (type, offsets).
const SERIALS: [(u8, &[usize]); 5] =
    [(1, &[0x07]), (2, &[0x07, 0x08]), (3, &[0x07, 0x08]), (4, &[0x20, 0x21]), (17, &[0x18, 0x19])];
/// Where type 1 keeps its UUID.
const UUID: std::ops::Range<usize> = 0x08..0x18;

/// What a file held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Readable text.
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
            _ => {
                let word =
                    |four: &[u8]| four.iter().map(|b| format!("{b:02x}")).collect::<String>();
                Self::Hex(bytes.chunks(4).map(word).collect::<Vec<_>>().join(" "))
            }
        }
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Hex(hex) => hex
                .replace(' ', "")
                .as_bytes()
                .chunks(2)
                .map(|pair| std::str::from_utf8(pair).ok())
                .map(|pair| u8::from_str_radix(pair?, 16).ok())
                .collect::<Option<_>>()
                .ok_or_else(|| "the capture's hexadecimal digits are garbled".to_owned()),
        }
    }
}

/// Writes a capture, masked.
pub fn write(answers: Answers) -> String {
    let answers = Answers { narrows_capture: CAPTURE_VERSION, ..mask(answers) };
    serde_json::to_string_pretty(&answers).unwrap_or_default() + "\n"
}

/// True for text that begins like a capture.
pub fn is_capture(text: &str) -> bool {
    text.trim_start().starts_with("{") && text.contains("\"narrows_capture\"")
}

/// Reads a capture.
pub fn parse(text: &str) -> Result<Answers, String> {
    let answers: Answers = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match answers.narrows_capture {
        CAPTURE_VERSION => Ok(answers),
        other => Err(format!("capture version {other}, this narrows reads {CAPTURE_VERSION}")),
    }
}

fn mask(mut answers: Answers) -> Answers {
    let mut secrets = Secrets::default();
    if let Some(Fact::Known { value, .. }) = answers.files.get_mut(HOST_NAME) {
        *value = Content::Text("masked".to_owned());
    }
    if let Some(Fact::Known { value, .. }) = answers.files.get_mut(TABLE) {
        *value = match value.bytes().ok().and_then(|table| mask_table(&table)) {
            Some(table) => Content::of(&table),
            None => Content::Text("left out: the table could not be masked".to_owned()),
        };
    }
    if let Some(Fact::Known { value: Content::Text(line), .. }) = answers.files.get_mut(CMDLINE) {
        let kept = line.split_whitespace().filter(|word| tuning::is_setting(word));
        *line = kept.collect::<Vec<_>>().join(" ");
    }
    // Beyond the first 256 bytes a PCI function may tell its serial number.
    for (_, fact) in answers.files.iter_mut().filter(|(path, _)| path.ends_with("/config")) {
        if let Fact::Known { value, .. } = fact {
            let bytes = value.bytes().unwrap_or_default();
            *value = Content::of(&bytes[..bytes.len().min(PCI_CONFIG_BYTES)]);
        }
    }
    // Single structures may hold serial numbers at any place of their strings.
    answers.files.retain(|path, _| !path.starts_with("sys/firmware/dmi/entries/"));
    let mut text = serde_json::to_string(&answers).unwrap_or_default();
    text = secrets.hide(&text);
    serde_json::from_str(&text).unwrap_or_default()
}

/// What must not be told, and what stands in its place: the same word each time.
#[derive(Default)]
struct Secrets {
    known: BTreeMap<String, String>,
}

impl Secrets {
    /// The text with long hexadecimal words replaced. A word of digits alone is a number
    /// and stays, unless an interface's name says that it is an address.
    fn hide(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut word = String::new();
        for c in text.chars().chain(['\n']) {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                word.push(c);
                continue;
            }
            shown.push_str(&self.word(&word));
            word.clear();
            shown.push(c);
        }
        shown.pop();
        shown
    }

    fn word(&mut self, word: &str) -> String {
        if let Some(stand_in) = self.known.get(word) {
            return stand_in.clone();
        }
        // Interfaces named by their hardware address: `enx` and the like for other kinds of link.
        let named = ["enx", "ibx", "slx", "wlx", "wwx"].into_iter().find(|p| word.starts_with(p));
        let tail = named.and_then(|prefix| word.strip_prefix(prefix)).unwrap_or(word);
        let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        let letters = tail.bytes().any(|b| b.is_ascii_alphabetic());
        let address = named.is_some() && tail.len() == 12 && hex(tail);
        if address || tail.len() >= 12 && hex(tail) && letters {
            let number = self.known.len() + 1;
            let kind = match named.filter(|_| address) {
                Some(prefix) => format!("{prefix}masked"),
                None => "masked".to_owned(),
            };
            self.known.insert(word.to_owned(), format!("{kind}{number}"));
            return format!("{kind}{number}");
        }
        word.to_owned()
    }
}

/// The table with its serial numbers, asset tags and UUID blanked, and makers' own structures left
/// out; `None` when it cannot be followed.
fn mask_table(table: &[u8]) -> Option<Vec<u8>> {
    let (mut masked, mut at) = (Vec::new(), 0);
    while at < table.len() {
        let length = usize::from(*table.get(at + 1)?);
        let strings = table.get(at + length..)?;
        let end = at + length + strings.windows(2).position(|pair| pair == [0, 0])? + 2;
        let mut structure = table.get(at..end).filter(|_| length >= 4)?.to_vec();
        let kind = structure[0];
        if TYPES_KEPT.contains(&kind) {
            if kind == 1 && length >= UUID.end {
                structure[UUID].fill(0);
            }
            let offsets = SERIALS.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, o)| *o);
            for offset in offsets.iter().filter(|offset| **offset < length) {
                let number = structure[*offset];
                blank(&mut structure[length..], number);
            }
            masked.extend(structure);
        }
        at = end;
        if kind == 127 {
            break;
        }
    }
    Some(masked)
}

/// Overwrites the string by this number, counted from 1.
fn blank(strings: &mut [u8], number: u8) {
    let wanted = usize::from(number);
    let mut count = 1;
    for byte in strings {
        match *byte {
            0 => count += 1,
            _ if count == wanted => *byte = b'*',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_machine_is_masked_and_numbers_stay() {
        let mut secrets = Secrets::default();
        let text = "enx001122334455 0fb03cd416ed70aa 9223372036854771712 00000000,0000ffff";
        let hidden = secrets.hide(text);
        assert_eq!(hidden, "enxmasked1 masked2 9223372036854771712 00000000,0000ffff");
        assert_eq!(secrets.hide("0fb03cd416ed70aa"), "masked2");
    }

    #[test]
    fn the_host_name_is_never_written() {
        let mut answers = Answers::default();
        let name = Fact::known(Content::Text("db7\n".to_owned()), HOST_NAME);
        answers.files.insert(HOST_NAME.to_owned(), name);
        let text = write(answers);
        assert!(text.contains("masked") && !text.contains("db7"), "{text}");
        assert!(parse(&text).is_ok());
    }

    #[test]
    fn serial_numbers_leave_the_table_and_locators_stay() {
        let mut table = vec![1, 27, 1, 0, 1, 2, 0, 3];
        table.extend([0xab; 16]);
        table.extend([6, 0, 0]);
        table.extend(b"Maker\0Product\0SERIAL99\0\0");
        table.extend([200, 4, 2, 0]);
        table.extend(b"OWNER-TAG\0\0");
        table.extend([127, 4, 3, 0, 0, 0]);
        let masked = mask_table(&table).expect("table");
        let text = String::from_utf8_lossy(&masked).into_owned();
        assert!(text.contains("Product") && text.contains("********"), "{text}");
        assert!(!text.contains("SERIAL99") && !text.contains("OWNER"), "{text}");
        assert!(!masked.windows(4).any(|four| four == [0xab; 4]));
        for cut in 0..table.len() {
            let _ = mask_table(&table[..cut]);
        }
    }
}
