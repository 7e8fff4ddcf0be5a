//! What a machine is built into (SMBIOS type 3): its kind alone, no serial number or asset tag.

use crate::Root;
use narrows_model::Fact;

/// Set in the byte of the kind where a lock is there (DSP0134, 7.4).
const LOCK: u8 = 0x80;

/// Kinds from 1 on (DSP0134, 7.4.1), as dmidecode writes them.
const KINDS: [&str; 36] = [
    "Other",
    "Unknown",
    "Desktop",
    "Low Profile Desktop",
    "Pizza Box",
    "Mini Tower",
    "Tower",
    "Portable",
    "Laptop",
    "Notebook",
    "Hand Held",
    "Docking Station",
    "All In One",
    "Sub Notebook",
    "Space-saving",
    "Lunch Box",
    "Main Server Chassis",
    "Expansion Chassis",
    "Sub Chassis",
    "Bus Expansion Chassis",
    "Peripheral Chassis",
    "RAID Chassis",
    "Rack Mount Chassis",
    "Sealed-case PC",
    "Multi-system",
    "CompactPCI",
    "AdvancedTCA",
    "Blade",
    "Blade Enclosing",
    "Tablet",
    "Convertible",
    "Detachable",
    "IoT Gateway",
    "Embedded PC",
    "Mini PC",
    "Stick PC",
];

/// The kind by its byte, in words; `None` for one that says nothing or that the standard lacks.
pub(crate) fn kind(byte: u8) -> Option<String> {
    let number = usize::from(byte & !LOCK);
    KINDS.get(number.checked_sub(1)?).and_then(|name| kind_named(name))
}

/// The kind by dmidecode's word: `rack mount chassis`, names of makes and short forms as they are.
pub(crate) fn kind_named(name: &str) -> Option<String> {
    let known = KINDS.iter().skip(2).find(|known| known.eq_ignore_ascii_case(name))?;
    let is_plain = |word: &str| word.chars().skip(1).all(|c| !c.is_ascii_uppercase());
    let words = known
        .split(' ')
        .map(|word| if is_plain(word) { word.to_ascii_lowercase() } else { word.to_owned() });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// What firmware's table tells, else what the kernel keeps of it for everybody; of two gaps the one
/// that says more.
pub(crate) fn read(root: &Root, table: &Fact<String>) -> Fact<String> {
    if table.value().is_some() {
        return table.clone();
    }
    const FILE: &str = "sys/class/dmi/id/chassis_type";
    match root.number(FILE) {
        Fact::Known { value, .. } => match u8::try_from(value).ok().and_then(kind) {
            Some(kind) => Fact::known(kind, format!("/{FILE}")),
            None => Fact::said_absent(format!("/{FILE}"), value.to_string()),
        },
        Fact::Absent { .. } if !table.is_unasked() => table.clone(),
        gap => gap.map(|_| String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_kind_is_the_byte_without_its_lock() {
        for (byte, wanted) in [
            (0x17, Some("rack mount chassis")),
            (0x97, Some("rack mount chassis")),
            (0x11, Some("main server chassis")),
            (0x1c, Some("blade")),
            (0x16, Some("RAID chassis")),
            (0x1a, Some("CompactPCI")),
            (0x24, Some("stick PC")),
            (0x03, Some("desktop")),
            (0x01, None),
            (0x82, None),
            (0x00, None),
            (0x80, None),
            (0x25, None),
            (0xff, None),
        ] {
            assert_eq!(kind(byte).as_deref(), wanted, "{byte:#04x}");
        }
        assert_eq!(kind_named("Rack Mount Chassis").as_deref(), Some("rack mount chassis"));
        assert_eq!(kind_named("<OUT OF SPEC>"), None);
    }

    #[test]
    fn the_kernels_number_stands_in_for_a_table_that_nobody_may_read() {
        let denied = Fact::Denied { from: narrows_model::Source("/the/table".into()) };
        for (text, wanted) in [("23\n", Some("rack mount chassis")), ("2\n", None), ("x", None)] {
            let machine = Scratch::of("chassis", &[("sys/class/dmi/id/chassis_type", text)]);
            let told = read(&machine.root(), &denied);
            assert_eq!(told.value().map(String::as_str), wanted, "{text}");
            assert_eq!(told.source().0, "/sys/class/dmi/id/chassis_type");
            let table = Fact::known("blade".to_owned(), "/the/table");
            assert_eq!(read(&machine.root(), &table), table);
        }
        let nothing = Scratch::of("no-chassis", &[]);
        assert_eq!(read(&nothing.root(), &denied), denied);
    }
}
