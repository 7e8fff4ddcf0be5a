//! Memory and processors from the text that `dmidecode` prints, for hosts that only sent their
//! report.

use super::processors;
use super::sections::{self, Section, Unreadable};
use super::smbios::{Firmware, interleave};
use crate::chassis;
use narrows_model::Bytes;
use narrows_model::host::{
    CpuSocket, ExpansionSlot, Interleave, MemoryArray, MemoryRange, Module, Slot,
};

/// Reads a report. An error says what in it cannot be read surely.
pub fn parse(text: &str) -> Result<Firmware, Unreadable> {
    let sections = sections::read(text)?;
    let mut firmware = Firmware::default();
    let mut places: Vec<(u16, Interleave)> = Vec::new();
    let mut handles: Vec<Option<u16>> = Vec::new();
    let mut has_chassis = false;
    for section in &sections {
        check(section)?;
        match section.title.as_str() {
            "System Information" => {
                let pair = section.field("Manufacturer").zip(section.field("Product Name"));
                let pair = pair.map(|(maker, name)| (maker.to_owned(), name.to_owned()));
                if pair.is_some() && firmware.system.is_some() {
                    return Err(Unreadable::SeveralHosts);
                }
                firmware.system = firmware.system.or(pair);
                let [serial, uuid] = ["Serial Number", "UUID"].map(|name| section.field(name));
                firmware.serial = firmware.serial.or(serial.map(str::to_owned));
                firmware.uuid = firmware.uuid.or(uuid.map(str::to_owned));
            }
            "Base Board Information" => {
                let pair = (section.text("Manufacturer"), section.text("Product Name"));
                firmware.board = firmware.board.or(Some(pair));
            }
            "Chassis Information" => {
                // The first is the machine's own, as in the table.
                let kind = section.field("Type").filter(|_| !has_chassis);
                firmware.chassis = firmware.chassis.or(kind.and_then(chassis::kind_named));
                has_chassis = true;
            }
            "Processor Information" => firmware.sockets.push(socket(section)),
            "Physical Memory Array" => firmware.arrays.push(array(section)),
            "Memory Array Mapped Address" => firmware.ranges.extend(range(section)),
            "Memory Device" => {
                firmware.slots.push(slot(section));
                handles.push(section.handle);
            }
            "System Slot Information" => firmware.expansion.push(expansion(section)),
            "Memory Device Mapped Address" => places.extend(place(section)),
            _ => {}
        }
    }
    for (slot, handle) in firmware.slots.iter_mut().zip(handles) {
        let place = places.iter().find(|(of, _)| Some(*of) == handle);
        slot.interleave = place.map(|(_, interleave)| *interleave);
    }
    whole(&sections, &firmware, text)?;
    firmware.sockets = processors::by_socket(std::mem::take(&mut firmware.sockets));
    firmware.place();
    Ok(firmware)
}

/// What stands in the titles that are read, by type: another title is another language.
const READ: [(u8, &str); 6] = [
    (1, "System Information"),
    (4, "Processor Information"),
    (9, "System Slot Information"),
    (16, "Physical Memory Array"),
    (17, "Memory Device"),
    (20, "Memory Device Mapped Address"),
];

/// An error for a section that is there and tells less than such a one does.
fn check(section: &Section) -> Result<(), Unreadable> {
    let wanted = READ.iter().find(|(kind, _)| Some(*kind) == section.kind);
    if let Some((kind, wanted)) = wanted.filter(|(_, title)| section.title != *title) {
        let title = sections::short(&section.title);
        return Err(Unreadable::Title { kind: *kind, title, wanted });
    }
    let missing = ["Size", "Locator"].into_iter().find(|field| section.field(field).is_none());
    match missing.filter(|_| section.title == "Memory Device") {
        Some(field) => Err(Unreadable::FieldMissing(field)),
        None => check_size(section),
    }
}

/// An error for a size that is neither known words nor a number of bytes.
fn check_size(section: &Section) -> Result<(), Unreadable> {
    let Some(size) = section.field("Size").filter(|_| section.title == "Memory Device") else {
        return Ok(());
    };
    let known = ["No Module Installed", "Not Installed", "Unknown", "<OUT OF SPEC>"];
    if known.contains(&size) || bytes(size).is_some() {
        return Ok(());
    }
    Err(Unreadable::Size(sections::short(size)))
}

/// An error for a report that ends before its table does: it lacks the end, and slots that its
/// arrays have or structures that its head counts.
fn whole(sections: &[Section], firmware: &Firmware, text: &str) -> Result<(), Unreadable> {
    if sections.iter().any(|section| section.title == "End Of Table") {
        return Ok(());
    }
    // Without any slot, only system memory counts: flash has an array and often no device.
    let there = firmware.slots.len();
    let arrays =
        firmware.arrays.iter().filter(|array| there > 0 || array.used_for == "System Memory");
    let listed = arrays.map(|array| usize::from(array.slots.unwrap_or(0))).sum();
    if there < listed {
        return Err(Unreadable::CutShort { there, listed });
    }
    let there = sections.len();
    match sections::told(text) {
        _ if sections::gave_up(text) => Ok(()),
        Some(told) if there < told => Err(Unreadable::FewerStructures { there, told }),
        None if sections::is_of_whole_table(text) => Err(Unreadable::EndMissing { there }),
        _ => Ok(()),
    }
}

fn socket(section: &Section) -> CpuSocket {
    let status = section.field("Status").unwrap_or_default();
    CpuSocket {
        name: section.field("Socket Designation").unwrap_or_default().to_owned(),
        populated: !status.contains("Unpopulated"),
        model: section.field("Version").filter(|version| is_told(version)).map(str::to_owned),
        cores: section.number("Core Enabled").or_else(|| section.number("Core Count")),
        threads: section.number("Thread Count"),
    }
}

fn array(section: &Section) -> MemoryArray {
    MemoryArray {
        handle: section.handle.unwrap_or_default(),
        used_for: section.field("Use").unwrap_or("Unknown").to_owned(),
        correction: section.field("Error Correction Type").unwrap_or("Unknown").to_owned(),
        capacity_max_bytes: section.field("Maximum Capacity").and_then(bytes),
        slots: section.field("Number Of Devices").and_then(|count| count.parse().ok()),
    }
}

fn range(section: &Section) -> Option<MemoryRange> {
    Some(MemoryRange {
        array: u16::try_from(hex(section.field("Physical Array Handle")?)?).ok()?,
        first: hex(section.field("Starting Address")?)?,
        last: hex(section.field("Ending Address")?)?,
        width: section.field("Partition Width")?.parse().ok()?,
    })
}

fn place(section: &Section) -> Option<(u16, Interleave)> {
    let handle = u16::try_from(hex(section.field("Physical Device Handle")?)?).ok()?;
    let depth = section.number("Interleaved Data Depth")?;
    let found = interleave(section.number("Interleave Position")?, depth);
    found.map(|interleave| (handle, interleave))
}

fn expansion(section: &Section) -> ExpansionSlot {
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

/// Transfers of a second, which older versions call MHz.
fn mts(text: &str) -> Option<u32> {
    text.strip_suffix("MT/s").or(text.strip_suffix("MHz"))?.trim().parse().ok()
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// False for the words that stand for nothing.
fn is_told(value: &str) -> bool {
    !matches!(value, "" | "Unknown" | "Not Specified" | "None")
}

fn slot(section: &Section) -> Slot {
    let array = section.field("Array Handle").and_then(hex);
    Slot {
        locator: section.text("Locator"),
        bank: section.text("Bank Locator"),
        module: module(section),
        array: array.and_then(|handle| u16::try_from(handle).ok()),
        ..Slot::default()
    }
}

fn module(section: &Section) -> Option<Module> {
    let size = section.field("Size")?;
    if matches!(size, "No Module Installed" | "Not Installed") {
        return None;
    }
    let technology = section.field("Type").unwrap_or("unknown").to_owned();
    let detail = section.field("Type Detail").unwrap_or_default();
    let stored = ["Flash", "ROM", "EEPROM", "Logical non-volatile device"];
    let is_dram = !stored.contains(&technology.as_str()) && !detail.contains("Non-Volatile");
    let configured = section.field("Configured Memory Speed");
    // As older versions of dmidecode call it.
    let configured = configured.or_else(|| section.field("Configured Clock Speed"));
    Some(Module {
        size_bytes: bytes(size),
        technology,
        is_dram,
        rated_mts: section.field("Speed").and_then(mts),
        configured_mts: configured.and_then(mts),
        ranks: section.field("Rank").and_then(|rank| rank.parse().ok()),
    })
}

/// A size with its unit. dmidecode writes `32 GB` up to 3.6 and `32 GiB` since 3.7; both are powers
/// of two.
fn bytes(size: &str) -> Option<Bytes> {
    let (number, unit) = size.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let shift = match unit {
        "bytes" => 0,
        "kB" | "KB" | "KiB" => 10,
        "MB" | "MiB" => 20,
        "GB" | "GiB" => 30,
        "TB" | "TiB" => 40,
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
        assert_eq!(bytes("32 GiB"), Some(Bytes::gib(32)));
        assert_eq!(bytes("512 kB"), Some(Bytes::kib(512)));
        assert_eq!(bytes("512 KiB"), Some(Bytes::kib(512)));
        for bad in ["Unknown", "", "x GB", "99999999999999999999 GB", "99999999999 TB"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_report_cut_anywhere_never_panics() {
        let text = "System Information\n\tManufacturer: Dell Inc.\n\tProduct Name: PowerEdge R740\n\n\
            Handle 0x1, DMI type 17, 84 bytes\nMemory Device\n\tSize: 16 GB\n\tLocator: B7\n\
            \tBank Locator: Not Specified\n\tType: DDR4\n\tConfigured Memory Speed: 2400 MT/s\n";
        let read = parse(text).expect("report");
        assert_eq!(read.slots[0].at.as_ref().map(|at| at.channel.clone()), Some("1".into()));
        assert_eq!(read.slots[0].module.as_ref().and_then(|m| m.configured_mts), Some(2400));
        (0..text.len()).for_each(|cut| drop(parse(&text[..cut])));
    }

    const REPORT: &str = "# dmidecode 3.2\nGetting SMBIOS data from sysfs.\n\n\
        Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: Dell Inc.\n\
        \tProduct Name: PowerEdge R740\n\n\
        Handle 0x1000, DMI type 16, 23 bytes\nPhysical Memory Array\n\tUse: System Memory\n\
        \tNumber Of Devices: 2\n\n\
        Handle 0x1100, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x1000\n\
        \tSize: 16 GB\n\tLocator: A1\n\tBank Locator: Not Specified\n\tType: DDR4\n\
        \tType Detail: Synchronous\n\n\
        Handle 0x1101, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x1000\n\
        \tSize: No Module Installed\n\tLocator: A2\n\tBank Locator: Not Specified\n\n\
        Handle 0x7F00, DMI type 127, 4 bytes\nEnd Of Table\n\n";

    #[test]
    fn a_report_reads_alike_in_every_shape() {
        let want = parse(REPORT).expect("report");
        assert_eq!((want.slots.len(), want.arrays.len()), (2, 1));
        assert!(want.slots[0].module.is_some() && want.slots[1].module.is_none());
        let quoted =
            |mark: &str| REPORT.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
        let memory = REPORT.find("Handle 0x1000").expect("memory");
        let again = format!("{REPORT}\n# dmidecode 3.2\n\n{}", &REPORT[memory..]);
        for (name, text) in [
            ("spaces", REPORT.replace('\t', "        ")),
            ("two spaces", REPORT.replace('\t', "  ")),
            ("no indentation", REPORT.replace('\t', "")),
            ("Windows", REPORT.replace('\n', "\r\n")),
            ("old Macintosh", REPORT.replace('\n', "\r")),
            ("every line twice ended", REPORT.replace('\n', "\n\n")),
            ("blanks behind", REPORT.replace('\n', "  \n")),
            ("indented", quoted("    ")),
            ("indented by tabs", quoted("\t\t")),
            ("mail", quoted("> ")),
            ("mail of mail", quoted("> > ")),
            ("mail without blanks", quoted(">>")),
            ("a part joined again", again),
        ] {
            assert_eq!(parse(&text).as_ref(), Ok(&want), "{name}");
        }
        let quiet: Vec<&str> = REPORT.lines().filter(|l| !l.starts_with("Handle")).collect();
        let slots = parse(&quiet.join("\n")).expect("-q").slots;
        assert_eq!(slots.len(), 2);
    }

    #[test]
    fn heads_of_old_reports_are_in_two_lines() {
        let want = parse(REPORT).expect("report");
        let old: Vec<String> = REPORT
            .lines()
            .map(|line| match line.split_once(", DMI type") {
                Some((handle, rest)) => format!("{handle}\n\tDMI type{rest}."),
                None => format!("\t{line}"),
            })
            .collect();
        assert_eq!(parse(&old.join("\n")).as_ref(), Ok(&want));
    }

    #[test]
    fn what_cannot_be_read_surely_is_an_error() {
        let error = |text: &str| parse(text).expect_err("it cannot be read surely");
        let other = REPORT.replace("16 GB", "32 GB");
        assert_eq!(error(&format!("{REPORT}{other}")), Unreadable::HandleDiffers(0x1100));
        let quiet = |text: &str| {
            let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("Handle")).collect();
            lines.join("\n")
        };
        assert_eq!(error(&quiet(&format!("{REPORT}{other}"))), Unreadable::SeveralHosts);
        let translated = error(&REPORT.replace("Memory Device", "Speichermodul"));
        assert!(matches!(translated, Unreadable::Title { kind: 17, .. }), "{translated}");
        let field = error(&REPORT.replace("\tSize:", "\tTaille:"));
        assert_eq!(field, Unreadable::FieldMissing("Size"));
        assert_eq!(error(&REPORT.replace("16 GB", "16 Go")), Unreadable::Size("16 Go".into()));
        let cut = error(&REPORT[..REPORT.find("Handle 0x1101").expect("last")]);
        assert_eq!(cut, Unreadable::CutShort { there: 1, listed: 2 });
        let cut = error(&REPORT[..REPORT.find("\tLocator: A2").expect("last")]);
        assert_eq!(cut, Unreadable::FieldMissing("Locator"));
    }

    #[test]
    fn a_report_cut_between_two_structures_says_what_is_missing() {
        let error = |text: &str| parse(text).expect_err("it is cut short");
        // Cut off before its memory, it would be a host that reports none.
        let head = "# dmidecode 3.2\n90 structures occupying 6543 bytes.\n\n";
        let until = |title: &str| &REPORT[..REPORT.find(title).expect("a section")];
        let cut = error(&format!("> {head}{}", until("Handle 0x1000")));
        assert_eq!(cut, Unreadable::FewerStructures { there: 1, told: 90 });
        // Between the array and its slots, and behind all of them.
        assert_eq!(error(until("Handle 0x1100")), Unreadable::CutShort { there: 0, listed: 2 });
        let cut = error(&format!("{head}{}", until("Handle 0x7F00")));
        assert_eq!(cut, Unreadable::FewerStructures { there: 4, told: 90 });
        let broken = "Invalid entry length (0). DMI table is broken! Stop.\n";
        let all = format!("{head}{}{broken}", until("Handle 0x7F00"));
        assert!(parse(&all).is_ok_and(|host| host.slots.len() == 2));
        assert_eq!(cut.to_string(), "the report is cut short: 4 of 90 structures");
        let newer = format!("Table at 0x000E8980.\n\n{}", until("Handle 0x7F00"));
        assert_eq!(error(&newer), Unreadable::EndMissing { there: 4 });
        // One that ends, one that lacks nothing, and one of a type alone say what they say.
        for text in [
            format!(
                "{head}{}Handle 0x7F00, DMI type 127, 4 bytes\nEnd Of Table\n",
                until("Handle 0x1000")
            ),
            format!("1{}{}", &head[18..], until("Handle 0x1000")),
            until("Handle 0x1000").to_owned(),
        ] {
            assert!(parse(&text).is_ok_and(|host| host.slots.is_empty()), "{text}");
        }
    }

    #[test]
    fn an_expansion_slot_tells_its_lanes_use_and_address() {
        let slot = |kind: &str, usage: &str, address: &str| {
            let text = format!(
                "Handle 0x0900, DMI type 9, 17 bytes\nSystem Slot Information\n\
                 \tDesignation: PCIe Slot 1\n\tType: {kind}\n\tCurrent Usage: {usage}\n\
                 \tBus Address: {address}\n\n{REPORT}"
            );
            parse(&text).expect("report").expansion.first().cloned().expect("a slot")
        };
        let used = slot("x4 PCI Express 2 x8", "In Use", "0000:3b:00.0");
        assert_eq!(
            (used.name.as_str(), used.lanes, used.in_use),
            ("PCIe Slot 1", Some(4), Some(true))
        );
        assert_eq!(used.address.as_deref(), Some("0000:3b:00.0"));
        // Firmware writes bus ff where nothing is plugged in.
        let empty = slot("PCI Express 3", "Available", "0000:ff:00.0");
        assert_eq!((empty.lanes, empty.in_use, empty.address), (None, Some(false), None));
        assert_eq!(slot("x16", "Unknown", "0000:01:00.0").in_use, None);
    }

    #[test]
    fn the_first_chassis_is_told_by_its_kind() {
        let told = |kinds: &[&str]| {
            let each = kinds.iter().enumerate().map(|(at, kind)| {
                format!(
                    "Handle 0x030{at}, DMI type 3, 22 bytes\nChassis Information\n\
                     \tManufacturer: Maker\n\tType: {kind}\n\tLock: Present\n\
                     \tSerial Number: S1\n\tAsset Tag: T1\n\n"
                )
            });
            let text = format!("{}{REPORT}", each.collect::<String>());
            parse(&text).expect("a report").chassis
        };
        assert_eq!(told(&["Rack Mount Chassis"]).as_deref(), Some("rack mount chassis"));
        assert_eq!(told(&["Blade", "Blade Enclosing"]).as_deref(), Some("blade"));
        assert_eq!(told(&["Unknown", "Rack Mount Chassis"]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_system_has_its_maker_and_product_its_number_and_its_identity() {
        let text = "# dmidecode 3.3\nGetting SMBIOS data from sysfs.\nSMBIOS 3.2.0 present.\n\n\
                    Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\
                    \tManufacturer: Maker\n\tProduct Name: Server 1\n\
                    \tSerial Number: S1\n\tUUID: 0123\n\n\
                    Handle 0x0002, DMI type 2, 15 bytes\nBase Board Information\n\
                    \tManufacturer: Other\n\tProduct Name: Board 2\n\n";
        let read = parse(text).expect("a report");
        let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(read.system, pair("Maker", "Server 1"));
        assert_eq!((read.serial.as_deref(), read.uuid.as_deref()), (Some("S1"), Some("0123")));
        let board = read.board.expect("a board");
        assert_eq!((board.0.as_str(), board.1.as_str()), ("Other", "Board 2"));
        let two = format!(
            "{text}Handle 0x0003, DMI type 1, 27 bytes\nSystem Information\n\
                           \tManufacturer: Maker\n\tProduct Name: Server 9\n\n"
        );
        assert!(matches!(parse(&two), Err(Unreadable::SeveralHosts)));
    }
}
