//! Structures of firmware's tables, byte by byte as DSP0134 lays them out, and the same table as
//! `dmidecode --dump-bin` writes it behind an entry point.

use narrows_host::memory::{BadTable, parse_smbios};
use narrows_model::Bytes;
use narrows_model::host::{CpuSocket, ExpansionSlot, Interleave, MemoryArray, MemoryRange};

/// A structure whose fields begin behind its head of four bytes; strings are numbered from 1.
fn structure(kind: u8, handle: u16, fields: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut bytes = vec![kind, 4 + fields.len() as u8];
    bytes.extend(handle.to_le_bytes());
    bytes.extend(fields);
    strings.iter().for_each(|string| bytes.extend(format!("{string}\0").bytes()));
    bytes.extend(if strings.is_empty() { &[0, 0][..] } else { &[0][..] });
    bytes
}

/// So many bytes of fields, with these put at their offsets in the structure.
fn fields(length: usize, put: &[(usize, &[u8])]) -> Vec<u8> {
    let mut fields = vec![0; length - 4];
    for (at, bytes) in put {
        fields[at - 4..at - 4 + bytes.len()].copy_from_slice(bytes);
    }
    fields
}

fn system() -> Vec<u8> {
    let uuid: Vec<u8> = (1..=16).collect();
    let fields = fields(27, &[(0x04, &[1, 2, 0, 3]), (0x08, &uuid)]);
    structure(1, 1, &fields, &["Maker", "Server 1", "S123"])
}

#[test]
fn a_system_and_its_board_are_named_apart() {
    let board = structure(2, 2, &fields(15, &[(0x04, &[1, 2])]), &["Board Maker", "B1"]);
    let firmware = parse_smbios(&[system(), board].concat()).expect("a table");
    assert_eq!(firmware.system, Some(("Maker".to_owned(), "Server 1".to_owned())));
    assert_eq!(firmware.board, Some(("Board Maker".to_owned(), "B1".to_owned())));
    assert_eq!(firmware.serial.as_deref(), Some("S123"));
    assert_eq!(firmware.uuid.as_deref(), Some("0102030405060708090a0b0c0d0e0f10"));
    let identity = firmware.identity();
    assert_eq!((identity.maker.as_str(), identity.product.as_str()), ("Maker", "Server 1"));
    assert_eq!((identity.board_maker.as_str(), identity.board.as_str()), ("Board Maker", "B1"));
}

/// A processor's socket: status, and cores, cores in use and threads as the short fields and the
/// long ones have them.
fn socket(status: u8, short: [u8; 3], long: [u16; 3]) -> Vec<u8> {
    let long: Vec<u8> = long.iter().flat_map(|count| count.to_le_bytes()).collect();
    let put: [(usize, &[u8]); 5] =
        [(0x04, &[1]), (0x10, &[2]), (0x18, &[status]), (0x23, &short), (0x2a, &long)];
    structure(4, 4, &fields(0x30, &put), &["CPU 1", "Model X"])
}

#[test]
fn cores_that_are_in_use_count_and_long_fields_where_the_short_ones_end() {
    let parsed = |bytes: Vec<u8>| parse_smbios(&bytes).expect("a table").sockets.remove(0);
    let wanted = |populated, cores, threads| CpuSocket {
        name: "CPU 1".to_owned(),
        populated,
        model: Some("Model X".to_owned()),
        cores,
        threads,
    };
    assert_eq!(parsed(socket(0x41, [16, 12, 24], [0; 3])), wanted(true, Some(12), Some(24)));
    let long = socket(0x41, [0xff; 3], [300, 280, 560]);
    assert_eq!(parsed(long), wanted(true, Some(280), Some(560)));
    // 0 is "unknown": all cores count then. Bit 6 of the status says whether one is in.
    let none = parsed(socket(0x01, [16, 0, 0], [0; 3]));
    assert_eq!((none.populated, none.cores, none.threads), (false, Some(16), None));
    let mut table = socket(0x01, [1, 1, 1], [0; 3]);
    table.extend(socket(0x41, [1, 1, 1], [0; 3]));
    assert_eq!(parse_smbios(&table).expect("a table").processor(), Some("Model X"));
    let empty = parse_smbios(&socket(0x01, [1, 1, 1], [0; 3])).expect("a table");
    assert_eq!(empty.processor(), None, "an empty socket has no processor");
}

fn array_of(use_of: u8, correction: u8, kib: u32, bytes: u64) -> MemoryArray {
    let (kib, slots, bytes) = (kib.to_le_bytes(), 8u16.to_le_bytes(), bytes.to_le_bytes());
    let put: [(usize, &[u8]); 4] =
        [(0x05, &[use_of, correction]), (0x07, &kib), (0x0d, &slots), (0x0f, &bytes)];
    let table = structure(16, 0x1000, &fields(0x17, &put), &[]);
    parse_smbios(&table).expect("a table").arrays.remove(0)
}

#[test]
fn an_array_says_its_use_its_correction_and_its_most() {
    let wanted = MemoryArray {
        handle: 0x1000,
        used_for: "System Memory".to_owned(),
        correction: "Multi-bit ECC".to_owned(),
        capacity_max_bytes: Some(Bytes::gib(512)),
        slots: Some(8),
    };
    assert_eq!(array_of(3, 6, 512 << 20, 0), wanted);
    // From 2 TiB on the long field holds.
    let large = array_of(3, 6, 0x8000_0000, 4 << 40);
    assert_eq!(large.capacity_max_bytes, Some(Bytes(4 << 40)));
    assert_eq!(array_of(3, 6, 0, 0).capacity_max_bytes, None);
    for (code, used_for) in [
        (1, "Other"),
        (2, "Unknown"),
        (3, "System Memory"),
        (4, "Video Memory"),
        (5, "Flash Memory"),
        (6, "Non-volatile RAM"),
        (7, "Cache Memory"),
    ] {
        assert_eq!(array_of(code, 3, 1, 0).used_for, used_for);
    }
    for (code, correction) in [
        (1, "Other"),
        (2, "Unknown"),
        (3, "None"),
        (4, "Parity"),
        (5, "Single-bit ECC"),
        (6, "Multi-bit ECC"),
        (7, "CRC"),
    ] {
        assert_eq!(array_of(3, code, 1, 0).correction, correction);
    }
}

fn range(short: [u32; 2], long: [u64; 2]) -> Option<MemoryRange> {
    let [first, last] = short.map(u32::to_le_bytes);
    let [long_first, long_last] = long.map(u64::to_le_bytes);
    let put: [(usize, &[u8]); 6] = [
        (0x04, &first),
        (0x08, &last),
        (0x0c, &[0x00, 0x10]),
        (0x0e, &[2]),
        (0x0f, &long_first),
        (0x17, &long_last),
    ];
    parse_smbios(&structure(19, 5, &fields(0x1f, &put), &[])).expect("a table").ranges.pop()
}

#[test]
fn a_range_goes_to_the_last_byte_of_its_last_kilobyte() {
    let (array, width) = (0x1000, 2);
    let low = MemoryRange { array, first: 0x10_0000, last: 0x7fff_ffff, width };
    assert_eq!(range([0x400, 0x1f_ffff], [0; 2]), Some(low));
    let high = MemoryRange { array, first: 1 << 42, last: (1 << 43) - 1, width };
    assert_eq!(range([u32::MAX; 2], [1 << 42, (1 << 43) - 1]), Some(high));
}

fn expansion(width: u8, usage: u8, bus: u8, function: u8) -> ExpansionSlot {
    let put: [(usize, &[u8]); 3] =
        [(0x04, &[1, 0xa5, width, usage]), (0x0d, &[1, 0]), (0x0f, &[bus, function])];
    let table = structure(9, 9, &fields(0x11, &put), &["PCIE1"]);
    parse_smbios(&table).expect("a table").expansion.remove(0)
}

#[test]
fn a_slot_for_cards_tells_its_lanes_its_use_and_its_address() {
    let wanted = ExpansionSlot {
        name: "PCIE1".to_owned(),
        lanes: Some(16),
        in_use: Some(true),
        address: Some("0001:3b:02.1".to_owned()),
    };
    // Device 2 and function 1 in one byte.
    assert_eq!(expansion(0x0d, 4, 0x3b, 0x11), wanted);
    for (width, lanes) in [
        (0x08, Some(1)),
        (0x09, Some(2)),
        (0x0a, Some(4)),
        (0x0b, Some(8)),
        (0x0c, Some(12)),
        (0x0d, Some(16)),
        (0x0e, Some(32)),
        (0x05, None),
    ] {
        assert_eq!(expansion(width, 3, 0x3b, 0).lanes, lanes, "{width:#x}");
    }
    assert_eq!(expansion(0x0d, 3, 0x3b, 0).in_use, Some(false));
    assert_eq!(expansion(0x0d, 2, 0x3b, 0).in_use, None);
    assert_eq!(expansion(0x0d, 4, 0xff, 0).address, None, "bus 255 stands for none");
}

#[test]
fn a_modules_place_in_an_interleave_is_found_by_its_handle() {
    let module = |handle: u16, locator: &str| {
        let put: [(usize, &[u8]); 4] =
            [(0x04, &[0, 0x10]), (0x0c, &[0, 0x40]), (0x10, &[1]), (0x12, &[0x1a])];
        structure(17, handle, &fields(0x28, &put), &[locator])
    };
    let mapped = |handle: u16, position: u8| {
        let handle = handle.to_le_bytes();
        structure(20, 0, &fields(0x23, &[(0x0c, &handle), (0x11, &[position, 2])]), &[])
    };
    let table = [module(0x21, "A"), module(0x22, "B"), mapped(0x22, 1), mapped(0x21, 0)].concat();
    let slots = parse_smbios(&table).expect("a table").slots;
    let told: Vec<_> = slots.iter().map(|slot| (slot.locator.as_str(), slot.interleave)).collect();
    // Position 0 is not interleaved.
    assert_eq!(told, [("A", None), ("B", Some(Interleave { position: 1, depth: 2 }))]);
    assert_eq!(slots[0].array, Some(0x1000));
    let size = slots[0].module.as_ref().and_then(|module| module.size_bytes);
    assert_eq!(size, Some(Bytes::gib(16)));
}

#[test]
fn a_table_that_does_not_follow_says_where() {
    let end = |length| [system(), vec![127, length, 0, 0, 0, 0]].concat();
    assert!(parse_smbios(&end(4)).is_ok());
    let longer = [system(), vec![127, 6, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(parse_smbios(&longer), Err(BadTable::End(6)));
    let at = system().len();
    assert_eq!(parse_smbios(&end(3)), Err(BadTable::Length { at, length: 3 }));
    let mut cut = system();
    cut.pop();
    let bytes = cut.len();
    assert_eq!(parse_smbios(&cut), Err(BadTable::CutShort { at: 0, bytes }));
}

/// What a file with these bytes is: the product, or why it is no host.
fn opened(name: &str, bytes: &[u8]) -> Result<String, String> {
    let name = format!("narrows-tables-{name}-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, bytes).expect("a file");
    let host = narrows_host::open(&file);
    std::fs::remove_file(&file).expect("no file");
    match host {
        Ok(host) => Ok(host.product.value().cloned().unwrap_or_default()),
        Err(why) => Err(why.to_string().replace(&file.display().to_string(), "FILE")),
    }
}

/// An entry point of 32 bytes with these fields, and the table behind it.
fn dumped(anchor: &[u8], put: &[(usize, &[u8])], table: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[..anchor.len()].copy_from_slice(anchor);
    for (at, field) in put {
        bytes[*at..at + field.len()].copy_from_slice(field);
    }
    bytes.extend(table);
    bytes
}

#[test]
fn a_dumped_table_is_where_its_entry_point_says() {
    let table = system();
    let product = Ok("Maker Server 1".to_owned());
    assert_eq!(opened("bare", &table), product);
    let length = (table.len() as u16).to_le_bytes();
    let most = (table.len() as u32 + 100).to_le_bytes();
    let three = dumped(b"_SM3_", &[(0x10, &32u64.to_le_bytes()), (0x0c, &most)], &table);
    assert_eq!(opened("three", &three), product, "the length of SMBIOS 3 is a most");
    let address = 32u32.to_le_bytes();
    let two = dumped(b"_SM_", &[(0x18, &address), (0x16, &length)], &table);
    assert_eq!(opened("two", &two), product);
    let legacy = dumped(b"_DMI_", &[(0x08, &address), (0x06, &length)], &table);
    assert_eq!(opened("legacy", &legacy), product);
    let refused = |name: &str, bytes: &[u8], why: &str| {
        let error = opened(name, bytes).expect_err("no table");
        assert!(error.ends_with(why), "{error}");
    };
    let there = table.len() - 4;
    let cut = format!("its table is cut short: {there} of {} bytes", table.len());
    refused("cut", &two[..two.len() - 4], &cut);
    refused("alone", &two[..32], "it is an entry point without its table");
    refused("short", b"_SM_\0\x01", "its entry point is cut short");
    assert_eq!(opened("empty", b""), Err("FILE is empty".to_owned()));
    let slot = structure(9, 9, &fields(0x11, &[]), &[]);
    let nothing = "FILE describes no system, processor or memory".to_owned();
    assert_eq!(opened("nothing", &slot), Err(nothing));
}
