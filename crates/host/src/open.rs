//! A host from what somebody sent: captures, folders, tables of firmware, and what other programs
//! print, alone or several of one host together.

use crate::capture;
use crate::memory::{self, Firmware, Told, dmidecode, sections};
use crate::parts::{self, Part};
use crate::unopened::{Malformed, NoHost, NotATable};
use crate::{Root, hwloc, read, readers};
use narrows_model::Fact;
use narrows_model::host::Host;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger than any description of a host.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// What stands for standard input in place of a path.
pub const STANDARD_INPUT: &str = "-";

/// Reads a host from a path; an error says what the path is not.
pub fn open(path: &Path) -> Result<Host, NoHost> {
    joined(parts_of(path)?)
}

/// Reads one host from several descriptions of it; an error names two that are of two hosts.
pub fn open_together(paths: &[PathBuf]) -> Result<Host, NoHost> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(parts_of(path)?);
    }
    joined(all)
}

/// A single description as it is, several joined.
fn joined(mut all: Vec<Part>) -> Result<Host, NoHost> {
    match all.len() {
        1 if all[0].is_whole => Ok(all.swap_remove(0).host),
        _ => parts::join(all).map_err(NoHost::SeveralHosts),
    }
}

/// What a path tells: one part, or those of an archive.
fn parts_of(path: &Path) -> Result<Vec<Part>, NoHost> {
    if path.is_dir() {
        return Ok(vec![folder(path)?]);
    }
    let bytes = bytes(path).map_err(|why| malformed(path, why))?;
    if bytes.is_empty() {
        return Err(NoHost::Empty(path.to_owned()));
    }
    Ok(vec![part_of(&bytes, path)?])
}

fn folder(path: &Path) -> Result<Part, NoHost> {
    let Some(top) = top_of(path) else {
        return match path.join("DMI").is_file() {
            true => {
                let table = path.join("DMI");
                part_of(&bytes(&table).map_err(|why| malformed(&table, why))?, &table)
            }
            false => Err(NoHost::Folder(path.to_owned())),
        };
    };
    let host = read(&Root::at(top));
    let mut part = Part::whole("machine", &path.display().to_string(), host);
    part.marks.name = part.host.name.value().cloned();
    Ok(part)
}

/// What the bytes of a file tell.
fn part_of(bytes: &[u8], path: &Path) -> Result<Part, NoHost> {
    let shown = path.display().to_string();
    let text = sections::text(bytes);
    let text = text.as_deref();
    if let Some(text) = text.filter(|text| capture::is_capture(text)) {
        let answers = capture::parse(text).map_err(|why| malformed(path, why))?;
        // Names and serial numbers of a capture are masked: they tell no machine from another.
        return Ok(Part::whole("capture", &shown, read(&Root::replay(answers))));
    }
    if let Some(text) = text.filter(|text| hwloc::is_topology(text)) {
        let host = hwloc::parse(text, &shown).map_err(|why| malformed(path, why))?;
        let mut part = Part::whole("hwloc", &shown, host);
        part.marks.name = part.host.name.value().cloned();
        return Ok(part);
    }
    if let Some(text) = text.filter(|text| sections::is_report(text)) {
        let firmware = dmidecode::parse(text).map_err(|why| malformed(path, why))?;
        return of_firmware("dmidecode", firmware, &shown, "dmidecode without -t reports it")
            .ok_or_else(|| NoHost::Nothing(path.to_owned()));
    }
    if let Some((reader, text)) = text.and_then(|text| Some((readers::of(text)?, text))) {
        return (reader.read)(text, &shown).map_err(|why| malformed(path, why));
    }
    let firmware = match text {
        Some(_) => Err(NotATable::Text),
        None => table_of(bytes).and_then(|table| Ok(memory::parse_smbios(table)?)),
    };
    let firmware = firmware.map_err(|why| NoHost::OtherKind { path: path.to_owned(), why })?;
    of_firmware("SMBIOS", firmware, &shown, "the table has no structure of type 1")
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

/// The bytes of a plain file, which a device or a pipe might never end, or of standard input.
fn bytes(path: &Path) -> Result<Vec<u8>, Malformed> {
    if path == Path::new(STANDARD_INPUT) {
        return limited(std::io::stdin().lock());
    }
    let plain = std::fs::metadata(path)?;
    if !plain.is_file() {
        return Err(Malformed::Irregular);
    }
    limited(std::fs::File::open(path)?)
}

fn limited(from: impl Read) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Vec::new();
    from.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(Malformed::TooLarge(FILE_BYTES_MAX)),
        false => Ok(bytes),
    }
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
fn of_firmware(
    program: &'static str,
    firmware: Firmware,
    from: &str,
    unnamed: &str,
) -> Option<Part> {
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
    let (serial, uuid) = (firmware.serial.clone(), firmware.uuid.clone());
    let told = Told::of(Fact::known(firmware, from));
    host.cpu.sockets = told.sockets;
    host.identity = told.identity;
    host.expansion_slots = told.expansion;
    host.memory.slots = told.slots;
    host.memory.arrays = told.arrays;
    host.memory.ranges = told.ranges;
    let mut part = Part::whole(program, from, host);
    (part.marks.serial, part.marks.uuid) = (serial, uuid);
    Some(part)
}
