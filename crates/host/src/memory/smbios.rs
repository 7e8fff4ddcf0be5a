//! Memory devices of an SMBIOS table (DMTF DSP0134, type 17).

use super::{locator, slotmap};
use narrows_facts::Bytes;
use narrows_facts::host::{Module, Slot};
use smbioslib::{
    MemoryDeviceType, MemorySize, MemorySizeExtended, MemorySpeed, MemorySpeedExtended, SMBiosData,
    SMBiosMemoryDevice, SMBiosProcessorInformation, SMBiosString, SMBiosSystemInformation,
};

/// Reads the slots from the bytes of `/sys/firmware/dmi/tables/DMI`. An error says what is wrong.
pub fn parse(table: &[u8]) -> Result<Vec<Slot>, String> {
    check(table)?;
    let data = SMBiosData::from_vec_and_version(table.to_vec(), None);
    let mut slots: Vec<Slot> = data.map(|device: SMBiosMemoryDevice<'_>| slot(&device)).collect();
    let system = data.first::<SMBiosSystemInformation<'_>>();
    let map = system.and_then(|system| {
        slotmap::of(&text(&system.manufacturer()), &text(&system.product_name()))
    });
    locator::place(&mut slots, map.as_ref());
    Ok(slots)
}

/// Product and processor of a table that [`parse`] has accepted.
pub fn names(table: &[u8]) -> (Option<String>, Option<String>) {
    let data = SMBiosData::from_vec_and_version(table.to_vec(), None);
    let told = |name: String| (!name.is_empty()).then_some(name);
    let product = data.first::<SMBiosSystemInformation<'_>>().and_then(|system| {
        let (maker, name) = (text(&system.manufacturer()), text(&system.product_name()));
        told(format!("{maker} {name}").trim().to_owned())
    });
    let processor = data
        .map(|processor: SMBiosProcessorInformation<'_>| text(&processor.processor_version()))
        .find_map(told);
    (product, processor)
}

/// Walks the structures (DSP0134, 6.1.2) so that a table cut short is an error, not a shorter host.
fn check(table: &[u8]) -> Result<(), String> {
    let mut at = 0;
    while at < table.len() {
        let head = table.get(at..at + 4).ok_or_else(|| truncated(at, table))?;
        let (kind, length) = (head[0], usize::from(head[1]));
        if length < 4 {
            return Err(format!("structure at byte {at} says it is {length} bytes long"));
        }
        let strings = at + length;
        let rest = table.get(strings..).ok_or_else(|| truncated(at, table))?;
        let end = rest.windows(2).position(|pair| pair == [0, 0]);
        at = strings + end.ok_or_else(|| truncated(at, table))? + 2;
        if kind == 127 {
            return Ok(());
        }
    }
    Ok(())
}

fn truncated(at: usize, table: &[u8]) -> String {
    format!("the table is cut short: {} bytes, inside the structure at byte {at}", table.len())
}

fn slot(device: &SMBiosMemoryDevice<'_>) -> Slot {
    Slot {
        locator: text(&device.device_locator()),
        bank: text(&device.bank_locator()),
        at: None,
        module: module(device),
    }
}

fn text(string: &SMBiosString) -> String {
    string.to_utf8_lossy().unwrap_or_default().trim().to_owned()
}

fn module(device: &SMBiosMemoryDevice<'_>) -> Option<Module> {
    let size_bytes = match device.size()? {
        MemorySize::NotInstalled => return None,
        MemorySize::Unknown => None,
        MemorySize::Kilobytes(kib) => Some(Bytes::kib(kib.into())),
        MemorySize::Megabytes(mib) => Some(Bytes::mib(mib.into())),
        MemorySize::SeeExtendedSize => match device.extended_size() {
            Some(MemorySizeExtended::Megabytes(mib)) => Some(Bytes::mib(mib.into())),
            _ => None,
        },
    };
    let (technology, is_dram) = technology(device);
    Some(Module {
        size_bytes,
        technology,
        is_dram,
        rated_mts: speed(device.speed(), device.extended_speed()),
        configured_mts: speed(
            device.configured_memory_speed(),
            device.extended_configured_memory_speed(),
        ),
        // Low nibble of the attributes; 0 is "unknown" (DSP0134, 7.18.5).
        ranks: device.attributes().map(|bits| u32::from(bits & 0x0f)).filter(|ranks| *ranks > 0),
    })
}

fn speed(short: Option<MemorySpeed>, long: Option<MemorySpeedExtended>) -> Option<u32> {
    match (short?, long) {
        (MemorySpeed::MTs(mts), _) => Some(mts.into()),
        (MemorySpeed::SeeExtendedSpeed, Some(MemorySpeedExtended::MTs(mts))) => Some(mts),
        _ => None,
    }
}

/// Name of the technology, and whether it is DRAM in a channel. Boards list their firmware flash as
/// a memory device, and persistent modules (type detail: non-volatile) share slots with DRAM.
fn technology(device: &SMBiosMemoryDevice<'_>) -> (String, bool) {
    use MemoryDeviceType as T;
    let Some(kind) = device.memory_type() else { return ("unknown".into(), true) };
    let name = match &kind.value {
        T::Ddr2Fbdimm => "DDR2 FB-DIMM".into(),
        T::LogicalNonVolatileDevice => "persistent memory".into(),
        T::None => format!("type {:#04x}", kind.raw),
        T::Ddr5
        | T::Ddr4
        | T::Ddr3
        | T::Ddr2
        | T::Ddr
        | T::Lpddr5
        | T::Lpddr4
        | T::Hbm3
        | T::Sdram
        | T::Dram
        | T::Ram => format!("{:?}", kind.value).to_uppercase(),
        other => format!("{other:?}"),
    };
    let stored = matches!(
        kind.value,
        T::Flash | T::Rom | T::Eeprom | T::Feprom | T::Eprom | T::LogicalNonVolatileDevice
    );
    let non_volatile = device.type_detail().is_some_and(|detail| detail.non_volatile());
    (name, !stored && !non_volatile)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type 17 structure of SMBIOS 2.8 with the given size field and strings.
    fn device(size: u16, locator: &str, bank: &str) -> Vec<u8> {
        let mut bytes = vec![17, 40, 1, 0, 0, 0, 0xfe, 0xff, 72, 0, 64, 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend([9, 0, 1, 2, 0x1a, 0x80, 0x20]); // DIMM, no set, strings 1 and 2, DDR4
        bytes.extend(2933u16.to_le_bytes());
        bytes.extend([0, 0, 0, 0, 2]); // no more strings, two ranks
        bytes.extend(65536u32.to_le_bytes());
        bytes.extend(2400u16.to_le_bytes());
        bytes.extend([0; 6]);
        bytes.extend(format!("{locator}\0{bank}\0\0").bytes());
        bytes
    }

    #[test]
    fn a_module_is_read_field_by_field() {
        let slots = parse(&device(0x7fff, "CPU1_DIMM_A1", "NODE 1")).expect("table");
        let module = slots[0].module.as_ref().expect("module");
        assert_eq!(module.size_bytes, Some(Bytes::gib(64)));
        assert_eq!((module.rated_mts, module.configured_mts), (Some(2933), Some(2400)));
        assert_eq!((module.ranks, module.technology.as_str()), (Some(2), "DDR4"));
        assert!(module.is_dram);
    }

    #[test]
    fn empty_and_unknown_are_not_the_same() {
        assert_eq!(parse(&device(0, "A", "B")).expect("table")[0].module, None);
        let unknown = parse(&device(0xffff, "A", "B")).expect("table");
        assert_eq!(unknown[0].module.as_ref().map(|module| module.size_bytes), Some(None));
    }

    #[test]
    fn a_table_cut_anywhere_is_an_error_and_never_a_panic() {
        let whole: Vec<u8> =
            [device(16384, "P1-DIMMA1", "x"), device(0, "P1-DIMMB1", "y")].concat();
        let first = device(16384, "P1-DIMMA1", "x").len();
        for cut in 1..whole.len() {
            let parsed = parse(&whole[..cut]);
            assert_eq!(parsed.is_err(), cut != first, "cut at {cut}");
        }
    }

    #[test]
    fn garbled_tables_never_panic() {
        let whole: Vec<u8> = [device(16384, "P1-DIMMA1", "x"), device(1, "y", "z")].concat();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            let mut garbled = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 33) as usize % garbled.len();
                garbled[at] = (state >> 11) as u8;
            }
            let _ = parse(&garbled);
        }
    }
}
