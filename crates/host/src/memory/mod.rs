//! Memory: what the kernel manages, and the slots as firmware describes them.

pub mod dmidecode;
pub mod edac;
mod processors;
pub mod sections;
pub mod slot_maps;
mod smbios;

use crate::folder::Folder;
use crate::garbled::Garbled;
use crate::{Root, cgroup};
use narrows_dimm::board::Board;
use narrows_dimm::rule::Rule;
use narrows_dimm::{placement, platform};
use narrows_model::host::{
    CpuSocket, ExpansionSlot, Identity, Memory, MemoryArray, MemoryRange, Slot,
};
use narrows_model::{Bytes, Fact};

pub use smbios::{BadTable, Firmware, parse as parse_smbios};

/// Reads the memory; `firmware` is what [`firmware`] read, `maps` are the rules of the owner's own
/// maps, `processor` the kernel's name of it.
pub fn read(
    root: &Root,
    mut firmware: FirmwareTables,
    maps: &[Rule],
    processor: Option<&String>,
) -> Memory {
    let meminfo = root.text("proc/meminfo");
    let line = |key: &str| meminfo.clone().and_then(|text| meminfo_line(&text, key));
    let controllers = edac::read(root);
    place_by_kernel(&mut firmware, processor);
    slot_maps::place(maps, &mut firmware, processor);
    Memory {
        total_bytes: line("MemTotal"),
        available_bytes: line("MemAvailable"),
        cgroup_limit_bytes: cgroup::memory_limit(root),
        slots: edac::fill(edac::confirmed(firmware.slots, &controllers), &controllers),
        arrays: firmware.arrays,
        ranges: firmware.ranges,
        controllers,
    }
}

/// Places slots that firmware alone could not, for the kernel may know the processor's family where
/// the table's names do not tell it.
fn place_by_kernel(firmware: &mut FirmwareTables, processor: Option<&String>) {
    let Fact::Known { value: slots, .. } = &mut firmware.slots else { return };
    let platform = processor.and_then(|processor| platform::named(processor));
    if platform.is_none() || slots.iter().any(|slot| slot.at.is_some()) {
        return;
    }
    let board = Board {
        identity: firmware.identity.value().cloned().unwrap_or_default(),
        sockets: firmware.sockets.value().map(Vec::as_slice).unwrap_or_default(),
        arrays: firmware.arrays.value().map(Vec::as_slice).unwrap_or_default(),
        slots: slots.as_slice(),
        platform,
    };
    let trace = placement::trace(&board, &[]);
    placement::put(slots, &trace);
}

/// What firmware tells, each part with its source.
#[derive(Clone, Debug, Default)]
pub struct FirmwareTables {
    /// Sockets for processors, with what firmware says is in them.
    pub sockets: Fact<Vec<CpuSocket>>,
    /// Slots for modules, with what firmware says is in them.
    pub slots: Fact<Vec<Slot>>,
    /// Arrays of slots.
    pub arrays: Fact<Vec<MemoryArray>>,
    /// Ranges of addresses.
    pub ranges: Fact<Vec<MemoryRange>>,
    /// Slots for cards.
    pub expansion: Fact<Vec<ExpansionSlot>>,
    /// Makers and products.
    pub identity: Fact<Identity>,
    /// Kind of the chassis, in words.
    pub chassis: Fact<String>,
}

impl FirmwareTables {
    /// What one table or report tells; parts that it lacks are `Absent`.
    pub fn of(firmware: Fact<Firmware>) -> Self {
        fn part<T>(whole: &Fact<Firmware>, of: impl Fn(Firmware) -> Vec<T>) -> Fact<Vec<T>> {
            match whole.clone().map(of) {
                Fact::Known { value, from } if value.is_empty() => {
                    Fact::Absent { from, said: None }
                }
                fact => fact,
            }
        }
        Self {
            identity: firmware.clone().map(|firmware| firmware.identity()),
            chassis: match firmware.clone().map(|firmware| firmware.chassis) {
                Fact::Known { value, from } => Fact::told(value, from.0),
                gap => gap.map(|_| String::new()),
            },
            sockets: part(&firmware, |all| all.sockets),
            slots: part(&firmware, |all| all.slots),
            arrays: part(&firmware, |all| all.arrays),
            ranges: part(&firmware, |all| all.ranges),
            expansion: part(&firmware, |all| all.expansion),
        }
    }
}

/// One line of `/proc/meminfo`.
fn meminfo_line(text: &str, key: &str) -> Result<Bytes, Garbled> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let rest = rest.ok_or_else(|| Garbled::NoLine(key.to_owned()))?;
    let kib = rest.trim().strip_suffix("kB").and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .map(Bytes)
        .ok_or_else(|| Garbled::NotKilobytes(format!("{key}:{rest}")))
}

/// The table as a whole, else the structures one by one.
pub fn firmware(root: &Root) -> FirmwareTables {
    let table = root.bytes("sys/firmware/dmi/tables/DMI");
    if !matches!(table, Fact::Absent { .. }) {
        return FirmwareTables::of(table.and_then(|bytes| smbios::parse(&bytes)));
    }
    let parsed = entries(root).and_then(|all| smbios::parse(&all));
    // The structure that names the product may be missing: then the kernel's copy of it tells.
    FirmwareTables::of(parsed.map(|mut firmware| {
        let id = Folder::of(root, "sys/class/dmi/id");
        if firmware.system.is_none() {
            firmware.system = id.told("sys_vendor").zip(id.told("product_name"));
            firmware.board = firmware.board.or(id.told("board_vendor").zip(id.told("board_name")));
            firmware.place();
        }
        firmware
    }))
}

/// Structures by type and number, in the order that a table would have them.
fn entries(root: &Root) -> Fact<Vec<u8>> {
    const DIR: &str = "sys/firmware/dmi/entries";
    let mut names: Vec<(u32, u32)> =
        root.names(DIR).iter().filter_map(|name| number(name)).collect();
    names.retain(|(kind, _)| matches!(kind, 1 | 2 | 3 | 4 | 9 | 16 | 17 | 19 | 20));
    names.sort_unstable();
    if names.is_empty() {
        return Fact::absent("/sys/firmware/dmi/tables/DMI");
    }
    let mut all: Vec<u8> = Vec::new();
    for (kind, instance) in names {
        match root.bytes(&format!("{DIR}/{kind}-{instance}/raw")) {
            Fact::Known { value, .. } => all.extend(value),
            gap => return gap.map(|_| Vec::new()),
        }
    }
    Fact::known(all, format!("/{DIR}/*/raw"))
}

fn number(name: &str) -> Option<(u32, u32)> {
    let (kind, instance) = name.split_once('-')?;
    Some((kind.parse::<u32>().ok()?, instance.parse::<u32>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_lines_are_exact() {
        let text = "MemTotal:       24684084 kB\nMemAvailable: 7 kB\nHugePages_Total: 3";
        assert_eq!(meminfo_line(text, "MemTotal"), Ok(Bytes::kib(24_684_084)));
        assert_eq!(meminfo_line(text, "MemAvailable"), Ok(Bytes::kib(7)));
        assert!(meminfo_line(text, "HugePages_Total").is_err());
        assert!(meminfo_line(text, "Mem").is_err());
    }
}
