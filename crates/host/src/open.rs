//! A host from what somebody sent: a capture, a folder with `/sys` and `/proc`, an SMBIOS table,
//! the text of `dmidecode`, or the XML of hwloc.

use crate::capture;
use crate::memory::{self, Firmware, Told, dmidecode, sections};
use crate::unopened::{Malformed, NoHost, NotATable};
use crate::{Root, hwloc, read};
use narrows_model::Fact;
use narrows_model::host::Host;
use std::path::{Path, PathBuf};

/// Larger than any description of a host.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads a host from a path; an error says what the path is not.
pub fn open(path: &Path) -> Result<Host, NoHost> {
    if path.is_dir() {
        if let Some(top) = top_of(path) {
            return Ok(read(&Root::at(top)));
        }
        if path.join("DMI").is_file() {
            return open(&path.join("DMI"));
        }
        return Err(NoHost::Folder(path.to_owned()));
    }
    let bytes = bytes(path).map_err(|why| malformed(path, why))?;
    if bytes.is_empty() {
        return Err(NoHost::Empty(path.to_owned()));
    }
    let shown = path.display().to_string();
    let text = sections::text(&bytes);
    let text = text.as_deref();
    if let Some(text) = text.filter(|text| capture::is_capture(text)) {
        let answers = capture::parse(text).map_err(|why| malformed(path, why))?;
        return Ok(read(&Root::replay(answers)));
    }
    if let Some(text) = text.filter(|text| hwloc::is_topology(text)) {
        return hwloc::parse(text, &shown).map_err(|why| malformed(path, why));
    }
    if let Some(text) = text.filter(|text| sections::is_report(text)) {
        let firmware = dmidecode::parse(text).map_err(|why| malformed(path, why))?;
        return of_firmware(firmware, &shown, "dmidecode without -t reports it")
            .ok_or_else(|| NoHost::Nothing(path.to_owned()));
    }
    let firmware = match text {
        Some(_) => Err(NotATable::Text),
        None => table_of(&bytes).and_then(|table| Ok(memory::parse_smbios(table)?)),
    };
    let firmware = firmware.map_err(|why| NoHost::OtherKind { path: path.to_owned(), why })?;
    of_firmware(firmware, &shown, "the table has no structure of type 1")
        .ok_or_else(|| NoHost::Nothing(path.to_owned()))
}

fn malformed(path: &Path, why: impl Into<Malformed>) -> NoHost {
    NoHost::Malformed { path: path.to_owned(), why: why.into() }
}

/// The table of a file that `dmidecode --dump-bin` wrote: the entry point, and behind it the table
/// at the address that the entry point tells (DSP0134, 5.2). Another file is the table itself.
fn table_of(bytes: &[u8]) -> Result<&[u8], NotATable> {
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    // Where the entry point keeps the table's address and length, and whether the length is a most.
    let (address, length, at_most) = match bytes {
        [b'_', b'S', b'M', b'3', b'_', ..] => (number(0x10, 8), number(0x0c, 4), true),
        [b'_', b'S', b'M', b'_', ..] => (number(0x18, 4), number(0x16, 2), false),
        [b'_', b'D', b'M', b'I', b'_', ..] => (number(0x08, 4), number(0x06, 2), false),
        _ => return Ok(bytes),
    };
    let place = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    let (start, length) = place(address).zip(place(length)).ok_or(NotATable::EntryCutShort)?;
    let table = bytes.get(start..).filter(|table| !table.is_empty());
    let table = table.ok_or(NotATable::NoTable)?;
    match table.get(..length) {
        Some(table) => Ok(table),
        None if at_most => Ok(table),
        None => Err(NotATable::CutShort { there: table.len(), length }),
    }
}

/// The bytes of a plain file; a device or a pipe might never end.
fn bytes(path: &Path) -> Result<Vec<u8>, Malformed> {
    let plain = std::fs::metadata(path)?;
    if !plain.is_file() {
        return Err(Malformed::Irregular);
    }
    if plain.len() > FILE_BYTES_MAX {
        return Err(Malformed::TooLarge(FILE_BYTES_MAX));
    }
    Ok(std::fs::read(path)?)
}

/// The folder that holds `sys` or `proc`: the given one, the one above when `sys` itself is given,
/// or the only folder inside, as an unpacked archive has it.
fn top_of(path: &Path) -> Option<PathBuf> {
    let holds = |dir: &Path| dir.join("sys").is_dir() || dir.join("proc").is_dir();
    if holds(path) {
        return Some(path.to_owned());
    }
    let whole = path.canonicalize().ok()?;
    if whole.ends_with("sys") && whole.join("devices").is_dir() {
        return whole.parent().map(Path::to_owned);
    }
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let mut inside = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    let only = inside.next().filter(|_| inside.next().is_none());
    only.filter(|dir| holds(dir))
}

/// A host of which only firmware's words are known; `None` where they tell of none.
/// `unnamed` says why there is no product.
fn of_firmware(firmware: Firmware, from: &str, unnamed: &str) -> Option<Host> {
    if firmware.slots.is_empty() && firmware.sockets.is_empty() && firmware.system.is_none() {
        return None;
    }
    let mut host = read(&Root::at("/nonexistent/narrows"));
    let system = firmware.system.as_ref();
    let product = system.map(|(maker, name)| format!("{maker} {name}").trim().to_owned());
    host.product = match product.filter(|product| !product.is_empty()) {
        Some(product) => Fact::known(product, from),
        None => Fact::absent(format!("{from} ({unnamed})")),
    };
    let model = firmware.processor().map(str::to_owned);
    host.cpu.model = model.map_or_else(|| Fact::absent(from), |model| Fact::known(model, from));
    let told = Told::of(Fact::known(firmware, from));
    host.cpu.sockets = told.sockets;
    host.identity = told.identity;
    host.expansion_slots = told.expansion;
    host.memory.slots = told.slots;
    host.memory.arrays = told.arrays;
    host.memory.ranges = told.ranges;
    Some(host)
}
