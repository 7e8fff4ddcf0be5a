//! Memory and processors from the text that `dmidecode` prints, for hosts that only sent their
//! report.

use super::smbios::{Firmware, interleave};
use narrows_facts::Bytes;
use narrows_facts::host::{
    CpuSocket, ExpansionSlot, Interleave, MemoryArray, MemoryRange, Module, Slot,
};

/// True for text that looks like dmidecode's.
pub fn is_report(text: &str) -> bool {
    text.contains("DMI type 17") || text.lines().any(|line| line == "Memory Device")
}

/// Reads a report.
pub fn parse(text: &str) -> Firmware {
    let mut firmware = Firmware::default();
    let mut places: Vec<(u16, Interleave)> = Vec::new();
    let mut handles: Vec<Option<u16>> = Vec::new();
    for section in text.split("\n\n").map(Section::of) {
        match section.title {
            "System Information" => {
                let pair = section.field("Manufacturer").zip(section.field("Product Name"));
                firmware.system = pair.map(|(maker, name)| (maker.to_owned(), name.to_owned()));
            }
            "Processor Information" => firmware.sockets.push(socket(&section)),
            "Physical Memory Array" => firmware.arrays.push(array(&section)),
            "Memory Array Mapped Address" => firmware.ranges.extend(range(&section)),
            "Memory Device" => {
                firmware.slots.push(slot(&section));
                handles.push(section.handle);
            }
            "System Slot Information" => firmware.expansion.push(expansion(&section)),
            "Memory Device Mapped Address" => places.extend(place(&section)),
            _ => {}
        }
    }
    for (slot, handle) in firmware.slots.iter_mut().zip(handles) {
        let place = places.iter().find(|(of, _)| Some(*of) == handle);
        slot.interleave = place.map(|(_, interleave)| *interleave);
    }
    firmware.place();
    firmware
}

fn socket(section: &Section<'_>) -> CpuSocket {
    let count = |name: &str| section.field(name).and_then(|count| count.parse().ok());
    let status = section.field("Status").unwrap_or_default();
    CpuSocket {
        name: section.field("Socket Designation").unwrap_or_default().to_owned(),
        populated: !status.contains("Unpopulated"),
        model: section.field("Version").filter(|version| is_told(version)).map(str::to_owned),
        cores: count("Core Enabled").or_else(|| count("Core Count")),
        threads: count("Thread Count"),
    }
}

fn array(section: &Section<'_>) -> MemoryArray {
    let text = |name: &str| section.field(name).unwrap_or("Unknown").to_owned();
    MemoryArray {
        handle: section.handle.unwrap_or_default(),
        used_for: text("Use"),
        correction: text("Error Correction Type"),
        capacity_max_bytes: section.field("Maximum Capacity").and_then(bytes),
        slots: section.field("Number Of Devices").and_then(|count| count.parse().ok()),
    }
}

fn range(section: &Section<'_>) -> Option<MemoryRange> {
    let address = |name: &str| hex(section.field(name)?);
    Some(MemoryRange {
        array: u16::try_from(address("Physical Array Handle")?).ok()?,
        first: address("Starting Address")?,
        last: address("Ending Address")?,
        width: section.field("Partition Width")?.parse().ok()?,
    })
}

fn place(section: &Section<'_>) -> Option<(u16, Interleave)> {
    let handle = u16::try_from(hex(section.field("Physical Device Handle")?)?).ok()?;
    let number = |name: &str| section.field(name)?.parse::<u8>().ok();
    let found = interleave(number("Interleave Position")?, number("Interleaved Data Depth")?);
    found.map(|interleave| (handle, interleave))
}

fn expansion(section: &Section<'_>) -> ExpansionSlot {
    // `x4 PCI Express 2 x8`: lanes wired, kind, size of the connector.
    let first = section.field("Type").and_then(|kind| kind.split(' ').next());
    let address = section.field("Bus Address").filter(|address| !address.contains(":ff:"));
    ExpansionSlot {
        name: section.field("Designation").unwrap_or_default().to_owned(),
        lanes: first.and_then(|word| word.strip_prefix('x')?.parse().ok()),
        in_use: match section.field("Current Usage") {
            Some("In Use") => Some(true),
            Some("Available") => Some(false),
            _ => None,
        },
        address: address.map(str::to_owned),
    }
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// A structure of the report: its handle, its title and its lines of `name: value`.
struct Section<'a> {
    handle: Option<u16>,
    title: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Section<'a> {
    fn of(text: &'a str) -> Self {
        let head = text.lines().find_map(|line| line.strip_prefix("Handle ")?.split(',').next());
        let mut lines = text.lines().filter(|line| !line.starts_with("Handle "));
        let title = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let fields = lines.filter_map(|line| line.strip_prefix('\t')?.split_once(':'));
        Self {
            handle: head.and_then(hex).and_then(|handle| u16::try_from(handle).ok()),
            title: title.unwrap_or_default().trim(),
            lines: fields.collect(),
        }
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    }
}

/// False for the words that stand for nothing.
fn is_told(value: &str) -> bool {
    !matches!(value, "" | "Unknown" | "Not Specified" | "None")
}

fn slot(section: &Section<'_>) -> Slot {
    let text = |name: &str| section.field(name).unwrap_or_default().to_owned();
    let array = section.field("Array Handle").and_then(hex);
    Slot {
        locator: text("Locator"),
        bank: text("Bank Locator"),
        module: module(section),
        array: array.and_then(|handle| u16::try_from(handle).ok()),
        ..Slot::default()
    }
}

fn module(section: &Section<'_>) -> Option<Module> {
    let size = section.field("Size")?;
    if size == "No Module Installed" {
        return None;
    }
    let technology = section.field("Type").unwrap_or("unknown").to_owned();
    let detail = section.field("Type Detail").unwrap_or_default();
    let stored = ["Flash", "ROM", "EEPROM", "Logical non-volatile device"];
    let is_dram = !stored.contains(&technology.as_str()) && !detail.contains("Non-Volatile");
    let mts = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| section.field(name))?;
        value.strip_suffix("MT/s").or(value.strip_suffix("MHz"))?.trim().parse().ok()
    };
    Some(Module {
        size_bytes: bytes(size),
        technology,
        is_dram,
        rated_mts: mts(["Speed", "Speed"]),
        configured_mts: mts(["Configured Memory Speed", "Configured Clock Speed"]),
        ranks: section.field("Rank").and_then(|rank| rank.parse().ok()),
    })
}

fn bytes(size: &str) -> Option<Bytes> {
    let (number, unit) = size.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let shift = match unit {
        "bytes" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.checked_shl(shift).filter(|bytes| bytes >> shift == number).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(bytes("32 GB"), Some(Bytes::gib(32)));
        assert_eq!(bytes("512 kB"), Some(Bytes::kib(512)));
        for bad in ["Unknown", "", "x GB", "99999999999999999999 GB", "99999999999 TB"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_report_cut_anywhere_never_panics() {
        let text = "System Information\n\tManufacturer: Dell Inc.\n\tProduct Name: PowerEdge R740\n\n\
            Handle 0x1, DMI type 17, 84 bytes\nMemory Device\n\tSize: 16 GB\n\tLocator: B7\n\
            \tBank Locator: Not Specified\n\tType: DDR4\n\tConfigured Memory Speed: 2400 MT/s\n";
        let whole = parse(text);
        assert_eq!(whole.slots[0].at.as_ref().map(|at| at.channel.as_str()), Some("1"));
        assert_eq!(whole.slots[0].module.as_ref().and_then(|m| m.configured_mts), Some(2400));
        (0..text.len()).for_each(|cut| drop(parse(&text[..cut])));
    }
}
