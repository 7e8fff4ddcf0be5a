//! The sections of a report of `dmidecode`, in whatever shape mail programs, terminals and editors
//! have left it: spaces for tabs, no indentation at all, other line ends, quotation marks before
//! each line, bytes that are no UTF-8. What cannot be read surely is an error.

use thiserror::Error;

/// How many characters of a line are shown in an error.
const SHOWN_CHARS: usize = 60;

/// Why a report cannot be read surely.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// `dmidecode` itself could not read the whole table.
    #[error("the report says of its table: {0}")]
    TableTruncated(String),
    /// A line that begins like a structure's head and is none.
    #[error("cannot read '{0}'")]
    Head(String),
    /// A structure of two joined reports is not the same in both.
    #[error(
        "handle {0:#06x} occurs twice and differs: these are the reports of several hosts, give \
         them one by one"
    )]
    HandleDiffers(u16),
    /// Two systems in one text.
    #[error("it holds the reports of several hosts, give them one by one")]
    SeveralHosts,
    /// A structure whose title is not that of its type.
    #[error(
        "a structure of type {kind} is called '{title}' and not '{wanted}': the report is cut \
         short or translated"
    )]
    Title {
        /// SMBIOS type (DSP0134, 7).
        kind: u8,
        /// What the report calls it, shortened.
        title: String,
        /// What `dmidecode` calls it.
        wanted: &'static str,
    },
    /// A memory device without a line that each has.
    #[error("a Memory Device has no line '{0}': the report is cut short or translated")]
    FieldMissing(&'static str),
    /// A size that is neither a known word nor a number of bytes.
    #[error("'Size: {0}' of a Memory Device is not a size")]
    Size(String),
    /// Fewer memory devices than the memory arrays have slots, and no end of the table.
    #[error("the report is cut short: {there} of {listed} Memory Devices")]
    CutShort {
        /// Memory devices in the report.
        there: usize,
        /// Slots of all memory arrays.
        listed: usize,
    },
    /// No end of the table, and fewer structures than its head says.
    #[error("the report is cut short: {there} of {told} structures")]
    FewerStructures {
        /// Structures in the report.
        there: usize,
        /// Structures of the table, as the report's head has them.
        told: usize,
    },
    /// A report of the whole table whose head counts nothing (SMBIOS 3), without the table's end.
    #[error("the report is cut short: it has {there} structures and not the end of the table")]
    EndMissing {
        /// Structures in the report.
        there: usize,
    },
}

/// How many structures a report of the whole table is to have, by its head: "90 structures
/// occupying 6543 bytes." Reports of some types (`-t`) and quiet ones (`-q`) have no such line.
pub fn told(text: &str) -> Option<usize> {
    let (before, _) = text.split_once(" structures occupying ")?;
    before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Whether a report is of the whole table by its head, "Table at 0x000E8980.": `dmidecode` writes
/// that without `-t` and `-q` alone. The end of the table is then its last structure.
pub fn is_of_whole_table(text: &str) -> bool {
    text.lines().map(bare).any(|line| line.starts_with("Table at 0x"))
}

/// Whether `dmidecode` itself gave up before the end that the head promises: the report then
/// has all that there is.
pub fn gave_up(text: &str) -> bool {
    text.contains("DMI table is broken! Stop.") || text.contains("Wrong DMI structures count")
}

/// Titles that begin a section where the report has no handles (`dmidecode -q`).
const TITLES: [&str; 40] = [
    "32-bit Memory Error Information",
    "64-bit Memory Error Information",
    "Additional Information",
    "BIOS Information",
    "BIOS Language Information",
    "Base Board Information",
    "Boot Integrity Services Entry Point",
    "Built-in Pointing Device",
    "Cache Information",
    "Chassis Information",
    "Cooling Device",
    "Electrical Current Probe",
    "End Of Table",
    "Firmware Inventory Information",
    "Group Associations",
    "Hardware Security",
    "IPMI Device Information",
    "Management Controller Host Interface",
    "Management Device",
    "Management Device Component",
    "Management Device Threshold Data",
    "Memory Array Mapped Address",
    "Memory Channel",
    "Memory Controller Information",
    "Memory Device",
    "Memory Device Mapped Address",
    "Memory Module Information",
    "OEM Strings",
    "On Board Device Information",
    "Onboard Device",
    "Physical Memory Array",
    "Port Connector Information",
    "Processor Information",
    "System Boot Information",
    "System Configuration Options",
    "System Event Log",
    "System Information",
    "System Power Supply",
    "System Slot Information",
    "TPM Device",
];

/// The title of the last section.
const END: &str = "End Of Table";
/// Types of structures that are read, and must not differ.
const KINDS_READ: [u8; 7] = [1, 4, 9, 16, 17, 19, 20];

/// A structure of the report: its handle, its type, its title and its lines of `name: value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Handle; none with `-q`.
    pub handle: Option<u16>,
    /// Type of the structure; none with `-q`.
    pub kind: Option<u8>,
    pub title: String,
    fields: Vec<(String, String)>,
    /// Which of the joined reports it is of.
    report: u32,
}

impl Section {
    fn is_like(&self, other: &Self) -> bool {
        (self.kind, &self.title, &self.fields) == (other.kind, &other.title, &other.fields)
    }

    /// The value of a field; empty where it is not told.
    pub fn text(&self, name: &str) -> String {
        self.field(name).unwrap_or_default().to_owned()
    }

    /// The number that is a field's value.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.field(name)?.parse().ok()
    }

    /// The value of a field, the first where a name stands twice.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Text from bytes, if they can be text at all: UTF-8 or UTF-16 with their marks, else every byte
/// a character as in Latin-1.
pub fn text(bytes: &[u8]) -> Option<String> {
    let utf16 = |big: bool| {
        let units: Vec<u16> = bytes[2..].chunks(2).map(|pair| wide(pair, big)).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => utf16(false),
        [0xfe, 0xff, ..] => utf16(true),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    // Control characters are single bytes in UTF-8, and bytes are looked at faster.
    let strange = text.bytes().any(|byte| byte < b' ' && !is_blank(char::from(byte)));
    (!strange).then_some(text)
}

fn wide(pair: &[u8], big: bool) -> u16 {
    match (pair, big) {
        ([a, b], true) => u16::from_be_bytes([*a, *b]),
        ([a, b], false) => u16::from_le_bytes([*a, *b]),
        _ => 0,
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{c}')
}

/// A line without what mail programs put before it, and without blanks around.
fn bare(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(rest) = line.strip_prefix('>') {
        line = rest.trim_start();
    }
    line
}

/// True for text that says of itself that it is a report.
pub fn is_report(text: &str) -> bool {
    text.lines().map(bare).any(|line| {
        head(line).is_some() || line.starts_with("# dmidecode") || line == "Memory Device"
    })
}

/// `Handle 0x0041, DMI type 17, 84 bytes`.
fn head(line: &str) -> Option<(u16, u8)> {
    let (handle, rest) = line.strip_prefix("Handle 0x")?.split_once(',')?;
    let kind = rest.trim_start().strip_prefix("DMI type ")?;
    let digits = kind.bytes().take_while(u8::is_ascii_digit).count();
    Some((u16::from_str_radix(handle.trim(), 16).ok()?, kind[..digits].parse().ok()?))
}

/// A report of dmidecode before 2.7 with its heads in one line: there the type stood in the next.
fn with_whole_heads(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        let is_type = bare(line).starts_with("DMI type ") && bare(line).ends_with("bytes.");
        let before = whole.trim_end();
        let is_bare = before.rsplit(['\n', '\r']).next().map(bare).is_some_and(|before| {
            before.strip_prefix("Handle 0x").is_some_and(|digits| digits.len() == 4)
        });
        if is_type && is_bare {
            whole.truncate(before.len());
            whole.push_str(", ");
            whole.push_str(bare(line).trim_end_matches('.'));
            whole.push('\n');
        } else {
            whole.push_str(line);
        }
    }
    whole
}

/// The sections of a report; one that stands there twice is one.
pub fn read(text: &str) -> Result<Vec<Section>, Unreadable> {
    let mut all: Vec<Section> = Vec::new();
    let mut open: Option<Section> = None;
    let mut report = 0;
    let text = &with_whole_heads(text);
    // Joined lines and separate ones are both ended by `\r\n`, `\r` or `\n`.
    for line in text.split(['\n', '\r']).map(bare).filter(|line| !line.is_empty()) {
        if line.contains("<TRUNCATED>") {
            return Err(Unreadable::TableTruncated(short(line)));
        }
        let begun = head(line);
        let titled = open.as_ref().is_some_and(|section| !section.title.is_empty());
        if let Some((handle, kind)) = begun {
            close(&mut all, open.take())?;
            let (handle, kind) = (Some(handle), Some(kind));
            open = Some(Section { handle, kind, report, ..Section::default() });
        } else if line.starts_with("Handle 0x") {
            return Err(Unreadable::Head(short(line)));
        } else if line.starts_with('#') {
            // The head of a report, which may have been joined to another.
            close(&mut all, open.take())?;
            report += 1;
        } else if TITLES.contains(&line) && (open.is_none() || titled) {
            close(&mut all, open.take())?;
            open = Some(Section { title: line.to_owned(), report, ..Section::default() });
        } else if let Some(section) = &mut open {
            match line.split_once(':') {
                _ if section.title.is_empty() => {
                    section.title = line.to_owned();
                    report += u32::from(section.title == END);
                }
                Some((name, value)) => {
                    section.fields.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                None => {}
            }
        }
    }
    close(&mut all, open)?;
    Ok(all)
}

/// Adds a section to the others. One of another report stands there twice when both are of one
/// host; inside a report, firmware gives handles twice.
fn close(all: &mut Vec<Section>, section: Option<Section>) -> Result<(), Unreadable> {
    let Some(section) = section else { return Ok(()) };
    let mut twins = all
        .iter()
        .filter(|other| {
            other.handle.is_some()
                && other.handle == section.handle
                && other.report != section.report
        })
        .peekable();
    let read = section.kind.is_some_and(|kind| KINDS_READ.contains(&kind));
    if twins.peek().is_none() {
        all.push(section);
    } else if read && !twins.any(|twin| twin.is_like(&section)) {
        return Err(Unreadable::HandleDiffers(section.handle.unwrap_or_default()));
    }
    Ok(())
}

/// So much of a line as an error shows.
pub fn short(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_utf8_are_text_and_binaries_are_not() {
        assert_eq!(text(b"Maker: M\xfcller").as_deref(), Some("Maker: M\u{fc}ller"));
        assert_eq!(text(b"\xff\xfeH\0i\0").as_deref(), Some("Hi"));
        assert_eq!(text(b"\xef\xbb\xbfHi").as_deref(), Some("Hi"));
        assert_eq!(text(b"\x7fELF\x02\x01\x01\0"), None);
    }
}
