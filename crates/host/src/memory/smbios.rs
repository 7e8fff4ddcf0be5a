//! Memory, processors and chassis of an SMBIOS table (DMTF DSP0134: types 3, 4, 9, 16, 17, 19 and
//! 20).

use super::processors;
use crate::chassis;
use narrows_dimm::board::Board;
use narrows_dimm::placement;
use narrows_model::Bytes;
use narrows_model::host::{
    CpuSocket, ExpansionSlot, Identity, Interleave, MemoryArray, MemoryRange, Module, Slot,
};
use smbioslib::{
    CoreCount, CoresEnabled, MaximumMemoryCapacity, MemoryArrayErrorCorrection, MemoryArrayUse,
    MemoryDeviceType, MemorySize, MemorySizeExtended, MemorySpeed, MemorySpeedExtended,
    SMBiosBaseboardInformation, SMBiosData, SMBiosMemoryArrayMappedAddress, SMBiosMemoryDevice,
    SMBiosMemoryDeviceMappedAddress, SMBiosPhysicalMemoryArray, SMBiosProcessorInformation,
    SMBiosString, SMBiosStruct, SMBiosSystemChassisInformation, SMBiosSystemInformation,
    ThreadCount,
};
use smbioslib::{SMBiosSystemSlot, SlotCurrentUsage, SlotWidth};
use thiserror::Error;

/// What firmware tells of memory and processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Firmware {
    /// Maker and product.
    pub system: Option<(String, String)>,
    /// Maker and product of the main board.
    pub board: Option<(String, String)>,
    /// Serial number of the system.
    pub serial: Option<String>,
    /// UUID of the system; its first three groups may be turned round.
    pub uuid: Option<String>,
    /// Sockets for processors, of structures of type 4.
    pub sockets: Vec<CpuSocket>,
    /// Slots for modules, of structures of type 17.
    pub slots: Vec<Slot>,
    /// Arrays of slots.
    pub arrays: Vec<MemoryArray>,
    /// Ranges of addresses.
    pub ranges: Vec<MemoryRange>,
    /// Slots for cards.
    pub expansion: Vec<ExpansionSlot>,
    /// Kind of the chassis, in words.
    pub chassis: Option<String>,
}

impl Firmware {
    /// Model of the first processor that is there.
    pub fn processor(&self) -> Option<&str> {
        let mut populated = self.sockets.iter().filter(|socket| socket.populated);
        populated.find_map(|socket| socket.model.as_deref())
    }

    /// Finds socket and channel of each slot.
    pub(crate) fn place(&mut self) {
        let identity = self.identity();
        let board = Board::of_firmware(identity, &self.sockets, &self.arrays, &self.slots);
        let trace = placement::trace(&board, &[]);
        placement::put(&mut self.slots, &trace);
    }

    /// Makers and products of the machine and of its main board.
    pub fn identity(&self) -> Identity {
        let (maker, product) = self.system.clone().unwrap_or_default();
        let (board_maker, board) = self.board.clone().unwrap_or_default();
        Identity { maker, product, board_maker, board }
    }
}

/// Why bytes are no SMBIOS table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTable {
    /// It ends inside a structure.
    #[error("the table is cut short: {bytes} bytes, inside the structure at byte {at}")]
    CutShort {
        /// Offset of the structure.
        at: usize,
        /// Length of what is there.
        bytes: usize,
    },
    /// A structure is shorter than its own head of 4 bytes.
    #[error("structure at byte {at} says it is {length} bytes long")]
    Length {
        /// Offset of the structure.
        at: usize,
        /// Its length by its own word.
        length: usize,
    },
    /// The structure that ends the table has a length of its own, in bytes.
    #[error("its end is {0} bytes long and not 4")]
    End(usize),
}

/// Reads the bytes of `/sys/firmware/dmi/tables/DMI`. An error says what is wrong.
pub fn parse(table: &[u8]) -> Result<Firmware, BadTable> {
    check(table)?;
    let data = SMBiosData::from_vec_and_version(table.to_vec(), None);
    let system = data.first::<SMBiosSystemInformation<'_>>();
    let board = data.first::<SMBiosBaseboardInformation<'_>>();
    let mut firmware = Firmware {
        serial: system.as_ref().map(|system| text(&system.serial_number())),
        uuid: system.as_ref().and_then(|system| system.parts().fields.get(0x08..0x18).map(hex)),
        system: system.map(|system| (text(&system.manufacturer()), text(&system.product_name()))),
        board: board.map(|board| (text(&board.manufacturer()), text(&board.product()))),
        sockets: processors::by_socket(
            data.map(|socket: SMBiosProcessorInformation<'_>| self::socket(&socket)).collect(),
        ),
        slots: slots(&data),
        arrays: data.map(|array: SMBiosPhysicalMemoryArray<'_>| self::array(&array)).collect(),
        ranges: data
            .filter_map(|range: SMBiosMemoryArrayMappedAddress<'_>| self::range(&range))
            .collect(),
        expansion: data.map(|slot: SMBiosSystemSlot<'_>| expansion(&slot)).collect(),
        // The first is the machine's own; what it stands in may follow.
        chassis: data
            .first::<SMBiosSystemChassisInformation<'_>>()
            .and_then(|first| first.parts().get_field_byte(0x05).and_then(chassis::kind)),
    };
    firmware.place();
    Ok(firmware)
}

fn slots(data: &SMBiosData) -> Vec<Slot> {
    let places: Vec<(u16, Interleave)> = data
        .filter_map(|place: SMBiosMemoryDeviceMappedAddress<'_>| {
            let handle = *place.memory_device_handle()?;
            interleave(place.interleave_position()?, place.interleaved_data_depth()?)
                .map(|interleave| (handle, interleave))
        })
        .collect();
    data.map(|device: SMBiosMemoryDevice<'_>| {
        let handle = *device.parts().header.handle();
        let place = places.iter().find(|(of, _)| *of == handle);
        Slot { interleave: place.map(|(_, interleave)| *interleave), ..slot(&device) }
    })
    .collect()
}

fn expansion(slot: &SMBiosSystemSlot<'_>) -> ExpansionSlot {
    let lanes = slot.slot_data_bus_width().and_then(|width| match width.value {
        SlotWidth::X1 => Some(1),
        SlotWidth::X2 => Some(2),
        SlotWidth::X4 => Some(4),
        SlotWidth::X8 => Some(8),
        SlotWidth::X12 => Some(12),
        SlotWidth::X16 => Some(16),
        SlotWidth::X32 => Some(32),
        _ => None,
    });
    let in_use = slot.current_usage().and_then(|usage| match usage.value {
        SlotCurrentUsage::InUse => Some(true),
        SlotCurrentUsage::Available => Some(false),
        _ => None,
    });
    // Bus 255 stands for none.
    let parts = slot.parts();
    let address = (|| {
        let (segment, bus) = (parts.get_field_word(0x0d)?, parts.get_field_byte(0x0f)?);
        let function = parts.get_field_byte(0x10)?;
        let (device, function) = (function >> 3, function & 7);
        (bus != 0xff).then(|| format!("{segment:04x}:{bus:02x}:{device:02x}.{function:x}"))
    })();
    ExpansionSlot { name: text(&slot.slot_designation()), lanes, in_use, address }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Position 0 is "not interleaved" and 255 is "unknown" (DSP0134, 7.21).
pub(super) fn interleave(position: u8, depth: u8) -> Option<Interleave> {
    (1..0xff).contains(&position).then_some(Interleave { position, depth })
}

fn socket(socket: &SMBiosProcessorInformation<'_>) -> CpuSocket {
    let cores = match (socket.cores_enabled(), socket.core_count()) {
        (Some(CoresEnabled::Count(cores)), _) => Some(cores.into()),
        (Some(CoresEnabled::SeeCoresEnabled2), _) => {
            socket.cores_enabled_2().and_then(|_| raw_word(socket, 0x2c))
        }
        (_, Some(CoreCount::Count(cores))) => Some(cores.into()),
        _ => None,
    };
    let threads = match socket.thread_count() {
        Some(ThreadCount::Count(threads)) => Some(threads.into()),
        Some(ThreadCount::SeeThreadCount2) => raw_word(socket, 0x2e),
        _ => None,
    };
    let model = text(&socket.processor_version());
    CpuSocket {
        name: text(&socket.socket_designation()),
        populated: socket.status().is_none_or(|status| status.socket_populated()),
        model: (!model.is_empty()).then_some(model),
        cores: count(cores),
        threads: count(threads),
    }
}

fn count(count: Option<u32>) -> Option<u32> {
    count.filter(|count| *count > 0)
}

/// A 16-bit field of the structure.
fn raw_word<'a>(of: &impl SMBiosStruct<'a>, at: usize) -> Option<u32> {
    of.parts().get_field_word(at).map(u32::from)
}

fn array(array: &SMBiosPhysicalMemoryArray<'_>) -> MemoryArray {
    let used_for = match array.usage().map(|usage| usage.value) {
        Some(MemoryArrayUse::SystemMemory) => "System Memory",
        Some(MemoryArrayUse::VideoMemory) => "Video Memory",
        Some(MemoryArrayUse::FlashMemory) => "Flash Memory",
        Some(MemoryArrayUse::NonVolatileRam) => "Non-volatile RAM",
        Some(MemoryArrayUse::CacheMemory) => "Cache Memory",
        Some(MemoryArrayUse::Other) => "Other",
        _ => "Unknown",
    };
    let correction = match array.memory_error_correction().map(|correction| correction.value) {
        Some(MemoryArrayErrorCorrection::NoCorrection) => "None",
        Some(MemoryArrayErrorCorrection::Parity) => "Parity",
        Some(MemoryArrayErrorCorrection::SingleBitEcc) => "Single-bit ECC",
        Some(MemoryArrayErrorCorrection::MultiBitEcc) => "Multi-bit ECC",
        Some(MemoryArrayErrorCorrection::Crc) => "CRC",
        Some(MemoryArrayErrorCorrection::Other) => "Other",
        _ => "Unknown",
    };
    let most = match array.maximum_capacity() {
        Some(MaximumMemoryCapacity::Kilobytes(kib)) => Some(Bytes::kib(kib.into())),
        Some(MaximumMemoryCapacity::SeeExtendedMaximumCapacity) => {
            array.extended_maximum_capacity().map(Bytes)
        }
        None => None,
    };
    MemoryArray {
        handle: *array.parts().header.handle(),
        used_for: used_for.to_owned(),
        correction: correction.to_owned(),
        capacity_max_bytes: most.filter(|most| most.0 > 0),
        slots: array.number_of_memory_devices(),
    }
}

fn range(range: &SMBiosMemoryArrayMappedAddress<'_>) -> Option<MemoryRange> {
    // The short addresses count kilobytes; all ones say that the long ones hold.
    let short = range.starting_address().zip(range.ending_address());
    let short = short.filter(|(first, _)| *first != u32::MAX);
    let (first, last) = match short {
        Some((first, last)) => (u64::from(first) << 10, (u64::from(last) << 10) + 1023),
        None => range.extended_starting_address().zip(range.extended_ending_address())?,
    };
    let array = *range.physical_memory_array_handle()?;
    Some(MemoryRange { array, first, last, width: range.partition_width()? })
}

/// Walks the structures (DSP0134, 6.1.2) so that a table cut short is an error, not a shorter host.
fn check(table: &[u8]) -> Result<(), BadTable> {
    let mut at = 0;
    while at < table.len() {
        let head = table.get(at..at + 4).ok_or_else(|| truncated(at, table))?;
        let (kind, length) = (head[0], usize::from(head[1]));
        if length < 4 {
            return Err(BadTable::Length { at, length });
        }
        let strings = at + length;
        let rest = table.get(strings..).ok_or_else(|| truncated(at, table))?;
        let end = rest.windows(2).position(|pair| pair == [0, 0]);
        at = strings + end.ok_or_else(|| truncated(at, table))? + 2;
        if kind == 127 {
            return match length {
                4 => Ok(()),
                other => Err(BadTable::End(other)),
            };
        }
    }
    Ok(())
}

fn truncated(at: usize, table: &[u8]) -> BadTable {
    BadTable::CutShort { at, bytes: table.len() }
}

fn slot(device: &SMBiosMemoryDevice<'_>) -> Slot {
    Slot {
        locator: text(&device.device_locator()),
        bank: text(&device.bank_locator()),
        module: module(device),
        array: device.physical_memory_array_handle().map(|handle| *handle),
        ..Slot::default()
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
        let slots = parse(&device(0x7fff, "CPU1_DIMM_A1", "NODE 1")).expect("table").slots;
        let module = slots[0].module.as_ref().expect("module");
        assert_eq!(module.size_bytes, Some(Bytes::gib(64)));
        assert_eq!((module.rated_mts, module.configured_mts), (Some(2933), Some(2400)));
        assert_eq!((module.ranks, module.technology.as_str()), (Some(2), "DDR4"));
        assert!(module.is_dram);
    }

    #[test]
    fn the_first_chassis_counts_without_its_lock() {
        let chassis = |kind: u8| {
            let mut bytes = vec![3, 22, 2, 0, 1, kind, 0, 2, 3];
            bytes.extend([0; 13]);
            bytes.extend(b"Maker\0SERIAL9\0TAG9\0\0");
            bytes
        };
        let told = |table: &[u8]| parse(table).expect("a table").chassis;
        assert_eq!(told(&chassis(0x97)).as_deref(), Some("rack mount chassis"));
        let blade = [chassis(0x1c), chassis(0x1d), device(16384, "A1", "x")].concat();
        assert_eq!(told(&blade).as_deref(), Some("blade"));
        assert_eq!(told(&chassis(2)), None);
        assert_eq!(told(&device(16384, "A1", "x")), None);
    }

    #[test]
    fn empty_and_unknown_are_not_the_same() {
        assert_eq!(parse(&device(0, "A", "B")).expect("table").slots[0].module, None);
        let unknown = parse(&device(0xffff, "A", "B")).expect("table").slots;
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
