//! Slots from the text that `dmidecode` prints, for hosts that only sent their report.

use super::{locator, slotmap};
use narrows_facts::Bytes;
use narrows_facts::host::{Module, Slot};

/// What a report tells of a host.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    /// Maker and product.
    pub system: Option<(String, String)>,
    /// Model of the first processor that is there.
    pub processor: Option<String>,
    /// Memory devices.
    pub slots: Vec<Slot>,
}

/// True for text that looks like dmidecode's.
pub fn is_report(text: &str) -> bool {
    text.contains("DMI type 17") || text.lines().any(|line| line == "Memory Device")
}

/// Reads a report.
pub fn parse(text: &str) -> Report {
    let mut report = Report::default();
    for section in text.split("\n\n").map(Section::of) {
        match section.title {
            "System Information" => {
                let pair = section.field("Manufacturer").zip(section.field("Product Name"));
                report.system = pair.map(|(maker, name)| (maker.to_owned(), name.to_owned()));
            }
            "Processor Information" if report.processor.is_none() => {
                let populated = section.field("Status").is_none_or(|s| !s.contains("Unpopulated"));
                let version = section.field("Version").filter(|_| populated);
                report.processor = version.filter(|v| is_told(v)).map(str::to_owned);
            }
            "Memory Device" => report.slots.push(slot(&section)),
            _ => {}
        }
    }
    let map = report.system.as_ref().and_then(|(maker, name)| slotmap::of(maker, name));
    locator::place(&mut report.slots, map.as_ref());
    report
}

/// A structure of the report: its title and its lines of `name: value`.
struct Section<'a> {
    title: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Section<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines = text.lines().filter(|line| !line.starts_with("Handle "));
        let title = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let fields = lines.filter_map(|line| line.strip_prefix('\t')?.split_once(':'));
        Self { title: title.unwrap_or_default().trim(), lines: fields.collect() }
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
    Slot { locator: text("Locator"), bank: text("Bank Locator"), at: None, module: module(section) }
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
