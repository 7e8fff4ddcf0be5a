//! A host from what somebody sent: captures, folders, tables of firmware, and what other programs
//! print, alone or several of one host together.

use crate::bundle::{self, Unpacked};
use crate::capture;
use crate::memory::{self, Firmware, FirmwareTables, dmidecode, sections};
use crate::parts::{self, PartialHost};
use crate::tree::Tree;
use crate::unopened::{Malformed, NoHost, NotATable};
use crate::{Root, hwloc, read, readers, virt};
use narrows_model::Fact;
use narrows_model::host::Host;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
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
    open_with(paths, Vec::new())
}

/// The same, together with what was asked elsewhere.
pub fn open_with(paths: &[PathBuf], asked: Vec<PartialHost>) -> Result<Host, NoHost> {
    let mut all = asked;
    for path in paths {
        all.extend(parts_of(path)?);
    }
    joined(all)
}

/// A single description as it is, several joined.
fn joined(all: Vec<PartialHost>) -> Result<Host, NoHost> {
    let mut all = assembled(all)?;
    let mut host = match all.len() {
        1 if all[0].is_whole => all.swap_remove(0).host,
        _ => parts::join(all).map_err(NoHost::SeveralHosts)?,
    };
    virt::by_product(&mut host);
    Ok(host)
}

/// What the resources of one management controller tell; `from` names it.
pub fn of_redfish(resources: &[serde_json::Value], from: &str) -> Result<PartialHost, NoHost> {
    readers::redfish::assemble(resources, from).map_err(|why| malformed(Path::new(from), why))
}

/// Resources of Redfish become one part.
fn assembled(all: Vec<PartialHost>) -> Result<Vec<PartialHost>, NoHost> {
    let (pieces, mut all): (Vec<PartialHost>, Vec<PartialHost>) =
        all.into_iter().partition(|part| !part.resources.is_empty());
    let Some(first) = pieces.first() else { return Ok(all) };
    let from = match pieces.len() {
        1 => first.from.clone(),
        more => format!("{} and {} more", first.from, more - 1),
    };
    let path = PathBuf::from(&from);
    let resources: Vec<_> = pieces.into_iter().flat_map(|part| part.resources).collect();
    all.push(readers::redfish::assemble(&resources, &from).map_err(|why| malformed(&path, why))?);
    Ok(all)
}

/// What a path tells: one part, or those of an archive.
fn parts_of(path: &Path) -> Result<Vec<PartialHost>, NoHost> {
    if path.is_dir() {
        return folder(path);
    }
    let bytes = bytes(path).map_err(|why| malformed(path, why))?;
    if bytes.is_empty() {
        return Err(NoHost::Empty(path.to_owned()));
    }
    match bundle::unpack(&bytes) {
        None => of_text_or_table(&bytes, path),
        Some(Err(why)) => Err(malformed(path, why)),
        Some(Ok(Unpacked::File(inside))) => of_text_or_table(&inside, path),
        Some(Ok(Unpacked::Tree(tree))) => of_tree(tree, path),
    }
}

/// One file: a text of many outputs, or of one.
fn of_text_or_table(bytes: &[u8], path: &Path) -> Result<Vec<PartialHost>, NoHost> {
    let text = sections::text(bytes);
    if !text.as_deref().is_some_and(bundle::is_divided) {
        return Ok(vec![part_of(bytes, path)?]);
    }
    let mut tree = Tree::default();
    let name = path.file_name().map_or_else(|| "text".into(), |name| name.to_string_lossy());
    tree.put(&name, bytes.to_vec());
    of_tree(tree, path)
}

fn of_tree(tree: Tree, path: &Path) -> Result<Vec<PartialHost>, NoHost> {
    let found = bundle::parts(tree, &path.display().to_string(), |text, name| {
        let is_known =
            sections::is_report(text) || hwloc::is_topology(text) || readers::of(text).is_some();
        is_known.then(|| part_of(text.as_bytes(), Path::new(name)))
    });
    if found.is_empty() { Err(NoHost::Folder(path.to_owned())) } else { Ok(found) }
}

fn folder(path: &Path) -> Result<Vec<PartialHost>, NoHost> {
    let table = path.join("DMI");
    let Some(top) = top_of(path) else {
        if table.is_file() {
            let bytes = bytes(&table).map_err(|why| malformed(&table, why))?;
            return Ok(vec![part_of(&bytes, &table)?]);
        }
        let tree = bundle::folder(path).map_err(|why| malformed(path, why))?;
        return of_tree(tree.below_top(), path);
    };
    if bundle::is_bundle(&top) {
        return of_tree(bundle::folder(&top).map_err(|why| malformed(&top, why))?, path);
    }
    let host = read(&Root::at(top));
    let mut part = PartialHost::whole("machine", &path.display().to_string(), host);
    part.marks.name = part.host.name.value().cloned();
    Ok(vec![part])
}

/// Programs of whose outputs a host may have several, each telling of a part of it.
const PIECES: [&str; 6] = ["ethtool", "ip", "lscpu", "lspci", "numactl", "redfish"];

/// So much of a file tells what it is.
const HEAD_BYTES: u64 = 1 << 16;

/// Whether several paths are of several hosts: a folder that is no host itself, or two
/// descriptions of a kind of which a host has one. Files of other kinds are of one host.
pub fn is_fleet(paths: &[PathBuf]) -> bool {
    if let [path] = paths {
        return path.is_dir() && !is_host(path);
    }
    let mut seen = std::collections::BTreeSet::new();
    paths.iter().filter_map(|path| whole_kind(path)).any(|kind| !seen.insert(kind))
}

fn is_host(folder: &Path) -> bool {
    if top_of(folder).is_some() || folder.join("DMI").is_file() || bundle::is_bundle(folder) {
        return true;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // A mockup of Redfish, or a handful of outputs of different programs.
    let mockup = folder.join("redfish").is_dir() || folder.join("index.json").is_file();
    let outputs = files.len() > 1
        && files.iter().all(|file| file.is_file())
        && files.iter().any(|file| whole_kind(file).is_some() || is_piece(file))
        && !is_fleet(&files);
    mockup || outputs
}

/// Whether a file is an output of which a host has several.
fn is_piece(path: &Path) -> bool {
    let text = head(path).and_then(|head| sections::text(&head));
    let reader = text.as_deref().and_then(readers::of);
    reader.is_some_and(|reader| PIECES.contains(&reader.name))
}

fn head(path: &Path) -> Option<Vec<u8>> {
    // What a pipe gave is gone: only a file can be looked at before it is read.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The kind of a description of which a host has one.
fn whole_kind(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        return Some("folder");
    }
    let head = head(path)?;
    if matches!(head.as_slice(), [0x1f, 0x8b, ..] | [0xfd, b'7', ..]) {
        return Some("archive");
    }
    let Some(text) = sections::text(&head) else { return Some("table") };
    if capture::is_capture(&text) {
        return Some("capture");
    }
    if hwloc::is_topology(&text) {
        return Some("hwloc");
    }
    if sections::is_report(&text) {
        let whole = text.contains("System Information") && text.contains("Memory Device");
        return (whole || text.contains("# dmidecode")).then_some("dmidecode");
    }
    // Each of those tells of a part of a host, of which there may be several.
    let reader = readers::of(&text)?.name;
    (!PIECES.contains(&reader)).then_some(reader)
}

/// What the bytes of a file tell.
fn part_of(bytes: &[u8], path: &Path) -> Result<PartialHost, NoHost> {
    let shown = path.display().to_string();
    let text = sections::text(bytes);
    let text = text.as_deref();
    if let Some(text) = text.filter(|text| capture::is_capture(text)) {
        let answers = capture::parse(text).map_err(|why| malformed(path, why))?;
        // Names and serial numbers of a capture are masked: they tell no machine from another.
        return Ok(PartialHost::whole("capture", &shown, read(&Root::replay(answers))));
    }
    if let Some(text) = text.filter(|text| hwloc::is_topology(text)) {
        let host = hwloc::parse(text, &shown).map_err(|why| malformed(path, why))?;
        let mut part = PartialHost::whole("hwloc", &shown, host);
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
    let (start, length) = place(address).zip(place(length)).ok_or(NotATable::EntryCutShort)?;
    let table = bytes.get(start..).filter(|table| !table.is_empty());
    let table = table.ok_or(NotATable::NoTable)?;
    match table.get(..length) {
        Some(table) => Ok(table),
        None if at_most => Ok(table),
        None => Err(NotATable::CutShort { there: table.len(), length }),
    }
}

fn place(number: Option<u64>) -> Option<usize> {
    number.and_then(|number| usize::try_from(number).ok())
}

/// The bytes of a file, of a pipe as `<(command)` makes one, or of standard input. A device might
/// never end.
fn bytes(path: &Path) -> Result<Vec<u8>, Malformed> {
    if path == Path::new(STANDARD_INPUT) {
        return limited(std::io::stdin().lock(), FILE_BYTES_MAX);
    }
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(Malformed::Irregular);
    }
    limited(std::fs::File::open(path)?, FILE_BYTES_MAX)
}

fn limited(from: impl Read, bytes_max: u64) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(Malformed::TooLarge(bytes_max)) } else { Ok(bytes) }
}

/// The folder that holds `sys` or `proc`: the given one, the one above when `sys` itself is given,
/// or the only folder inside, as an unpacked archive has it.
fn top_of(path: &Path) -> Option<PathBuf> {
    if holds_a_tree(path) {
        return Some(path.to_owned());
    }
    let whole = path.canonicalize().ok()?;
    if whole.ends_with("sys") && whole.join("devices").is_dir() {
        return whole.parent().map(Path::to_owned);
    }
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let mut inside = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    let only = inside.next().filter(|_| inside.next().is_none());
    only.filter(|dir| holds_a_tree(dir))
}

fn holds_a_tree(dir: &Path) -> bool {
    dir.join("sys").is_dir() || dir.join("proc").is_dir()
}

/// A host of which only firmware's words are known; `None` where they tell of none.
/// `unnamed` says why there is no product.
fn of_firmware(
    program: &'static str,
    firmware: Firmware,
    from: &str,
    unnamed: &str,
) -> Option<PartialHost> {
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
    let told = FirmwareTables::of(Fact::known(firmware, from));
    host.cpu.sockets = told.sockets;
    host.identity = told.identity;
    host.chassis = told.chassis;
    host.expansion_slots = told.expansion;
    host.memory.slots = told.slots;
    host.memory.arrays = told.arrays;
    host.memory.ranges = told.ranges;
    let mut part = PartialHost::whole(program, from, host);
    (part.marks.serial, part.marks.uuid) = (serial, uuid);
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_as_long_as_its_limit() {
        for (text, wanted) in [("", Some("")), ("1234", Some("1234")), ("12345", None)] {
            let told = limited(text.as_bytes(), 4);
            match wanted {
                Some(wanted) => assert_eq!(told.expect(text), wanted.as_bytes()),
                None => assert!(matches!(told, Err(Malformed::TooLarge(4))), "{told:?}"),
            }
        }
        assert_eq!(FILE_BYTES_MAX, 256 * 1024 * 1024);
        assert!(matches!(bytes(Path::new("/dev/null")), Err(Malformed::Irregular)));
    }

    /// An entry point with the table's address and length at these places, and `table` behind it.
    fn written(head: &[u8], numbers: [(usize, usize, u64); 2]) -> Vec<u8> {
        let mut bytes = [0xee; 32];
        bytes[..head.len()].copy_from_slice(head);
        for (at, size, number) in numbers {
            bytes[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
        }
        [&bytes[..], b"table"].concat()
    }

    /// DSP0134, 5.2.1 and 5.2.2: 64 bits of address at 10h and 32 of a most length at 0Ch; 32 bits
    /// at 18h and 16 at 16h; of the older part alone at 08h and 06h.
    #[test]
    fn a_table_lies_where_its_entry_point_says() {
        let of_3 = |length| written(b"_SM3_", [(0x10, 8, 32), (0x0c, 4, length)]);
        let of_2 = |length| written(b"_SM_", [(0x18, 4, 32), (0x16, 2, length)]);
        let of_dmi = |length| written(b"_DMI_", [(0x08, 4, 32), (0x06, 2, length)]);
        for bytes in [of_3(5), of_2(5), of_dmi(5)] {
            assert_eq!(table_of(&bytes).ok(), Some(&b"table"[..]));
        }
        for bytes in [of_3(3), of_2(3), of_dmi(3)] {
            assert_eq!(table_of(&bytes).ok(), Some(&b"tab"[..]));
        }
        assert_eq!(table_of(&of_3(9)).ok(), Some(&b"table"[..]), "9 bytes at the most");
        for bytes in [of_2(9), of_dmi(9)] {
            let told = table_of(&bytes);
            assert!(matches!(told, Err(NotATable::CutShort { there: 5, length: 9 })), "{told:?}");
        }
        let nowhere = written(b"_SM3_", [(0x10, 8, 37), (0x0c, 4, 5)]);
        assert!(matches!(table_of(&nowhere), Err(NotATable::NoTable)));
        assert!(matches!(table_of(b"_SM3_ cut"), Err(NotATable::EntryCutShort)));
        assert_eq!(table_of(b"any other").ok(), Some(&b"any other"[..]));
    }

    #[test]
    fn a_folder_of_a_machine_is_found_from_within_and_from_above() {
        let top = std::env::temp_dir().join(format!("narrows-top-{}", std::process::id()));
        let tree = top.join("archive/host");
        std::fs::create_dir_all(tree.join("sys/devices")).expect("folders");
        assert_eq!(top_of(&tree), Some(tree.clone()));
        assert_eq!(top_of(&tree.join("sys")), tree.canonicalize().ok());
        assert_eq!(top_of(&top.join("archive")), Some(tree.clone()), "the only one inside");
        assert_eq!((top_of(&top), top_of(&tree.join("sys/devices"))), (None, None));
        std::fs::create_dir(top.join("archive/other")).expect("a folder");
        assert_eq!(top_of(&top.join("archive")), None, "one of two");
        std::fs::remove_dir_all(&top).expect("gone");
    }
}
