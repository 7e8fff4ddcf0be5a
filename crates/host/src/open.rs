//! A host from what somebody sent: a capture, a folder with `/sys` and `/proc`, an SMBIOS table,
//! the text of `dmidecode`, or the XML of hwloc.

use crate::capture;
use crate::memory::{self, Firmware, Told, dmidecode};
use crate::{Root, hwloc, read};
use narrows_facts::Fact;
use narrows_facts::host::Host;
use std::path::{Path, PathBuf};

/// Larger than any description of a host.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads a host from a path; an error says what the path is not.
pub fn open(path: &Path) -> Result<Host, String> {
    let shown = path.display();
    if path.is_dir() {
        if let Some(top) = top_of(path) {
            return Ok(read(&Root::at(top)));
        }
        if path.join("DMI").is_file() {
            return open(&path.join("DMI"));
        }
        return Err(format!("{shown} holds neither sys nor proc nor a table DMI"));
    }
    let bytes = bytes(path).map_err(|error| format!("{shown}: {error}"))?;
    if bytes.is_empty() {
        return Err(format!("{shown} is empty"));
    }
    let text = std::str::from_utf8(&bytes).ok();
    if let Some(text) = text.filter(|text| capture::is_capture(text)) {
        let answers = capture::parse(text).map_err(|error| format!("{shown}: {error}"))?;
        return Ok(read(&Root::replay(answers)));
    }
    if let Some(text) = text.filter(|text| hwloc::is_topology(text)) {
        return hwloc::parse(text, &format!("{shown}")).map_err(|e| format!("{shown}: {e}"));
    }
    let firmware = match text.filter(|text| dmidecode::is_report(text)) {
        Some(text) => dmidecode::parse(text),
        None => memory::parse_smbios(&bytes).map_err(|why| {
            format!(
                "{shown} is no SMBIOS table, no dmidecode text, no capture, no hwloc XML: {why}"
            )
        })?,
    };
    Ok(of_firmware(firmware, &format!("{shown}")))
}

/// The bytes of a plain file; a device or a pipe might never end.
fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let plain = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !plain.is_file() {
        return Err("is no plain file".to_owned());
    }
    if plain.len() > FILE_BYTES_MAX {
        return Err(format!("larger than {FILE_BYTES_MAX} bytes"));
    }
    std::fs::read(path).map_err(|error| error.to_string())
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

/// A host of which only firmware's words are known.
fn of_firmware(firmware: Firmware, from: &str) -> Host {
    let mut host = read(&Root::at("/nonexistent/narrows"));
    let system = firmware.system.as_ref();
    let product = system.map(|(maker, name)| format!("{maker} {name}").trim().to_owned());
    host.product = known(product.filter(|product| !product.is_empty()), from);
    host.cpu.model = known(firmware.processor().map(str::to_owned), from);
    let told = Told::of(Fact::known(firmware, from));
    host.cpu.sockets = told.sockets;
    host.expansion_slots = told.expansion;
    host.memory.slots = told.slots;
    host.memory.arrays = told.arrays;
    host.memory.ranges = told.ranges;
    host
}

fn known(value: Option<String>, from: &str) -> Fact<String> {
    value.map_or_else(|| Fact::absent(from), |value| Fact::known(value, from))
}
