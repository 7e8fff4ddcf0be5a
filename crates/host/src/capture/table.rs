//! The SMBIOS table without what names the very machine.

use super::secrets::{Kind, Secrets};

/// Structures of the table that are kept: what narrows reads or may read of a host. Makers' own
/// structures can hold anything, and are dropped.
const TYPES_KEPT: [u8; 12] = [0, 1, 2, 3, 4, 7, 9, 16, 17, 19, 20, 127];
/// Where structures keep numbers of their own string that name the very piece: (type, offsets).
const SERIALS: [(u8, &[usize]); 5] =
    [(1, &[0x07]), (2, &[0x07, 0x08]), (3, &[0x07, 0x08]), (4, &[0x20, 0x21]), (17, &[0x18, 0x19])];
/// Where type 1 keeps its UUID.
const UUID: std::ops::Range<usize> = 0x08..0x18;

/// One structure of an SMBIOS table (DSP0134, 6.1).
struct Structure<'a> {
    kind: u8,
    /// Header and fields.
    fields: &'a [u8],
    strings: Vec<String>,
}

impl Structure<'_> {
    /// Indices of the strings that name the very piece.
    fn serials(&self) -> Vec<usize> {
        let offsets = SERIALS.iter().find(|(of, _)| *of == self.kind).map_or(&[][..], |(_, o)| *o);
        let numbers = offsets.iter().filter_map(|offset| self.fields.get(*offset));
        numbers.filter_map(|number| usize::from(*number).checked_sub(1)).collect()
    }
}

/// The structures up to the last; `None` when the table cannot be followed.
fn structures(table: &[u8]) -> Option<Vec<Structure<'_>>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < table.len() {
        let length = usize::from(*table.get(at + 1)?);
        let fields = table.get(at..at + length).filter(|_| length >= 4)?;
        let rest = table.get(at + length..)?;
        let end = rest.windows(2).position(|pair| pair == [0, 0])?;
        let strings = rest[..end].split(|byte| *byte == 0).filter(|string| !string.is_empty());
        let strings = strings.map(|string| String::from_utf8_lossy(string).into_owned()).collect();
        all.push(Structure { kind: fields[0], fields, strings });
        at += length + end + 2;
        if fields[0] == 127 {
            break;
        }
    }
    Some(all)
}

/// Learns what names the machine, to find it elsewhere too: not what is also a name of a slot, a
/// product or a part, which the reader needs.
pub fn learn(table: &[u8], secrets: &mut Secrets) {
    let Some(all) = structures(table) else { return };
    let others: Vec<&String> = all
        .iter()
        .filter(|structure| TYPES_KEPT.contains(&structure.kind))
        .flat_map(|structure| {
            let serials = structure.serials();
            let strings = structure.strings.iter().enumerate();
            strings.filter(move |(index, _)| !serials.contains(index)).map(|(_, string)| string)
        })
        .collect();
    for structure in &all {
        let strings = structure.serials().into_iter().filter_map(|at| structure.strings.get(at));
        strings.filter(|string| !others.contains(string)).for_each(|s| secrets.serial(s));
        if let Some(uuid) = structure.fields.get(UUID).filter(|_| structure.kind == 1) {
            learn_uuid(uuid, secrets);
        }
    }
}

/// Both orders of its bytes: versions of the standard differ.
fn learn_uuid(uuid: &[u8], secrets: &mut Secrets) {
    let turned = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let turned: Vec<u8> = turned.iter().filter_map(|at| uuid.get(*at).copied()).collect();
    for bytes in [uuid, &turned] {
        secrets.serial(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
}

/// The table with its serial numbers and asset tags masked, its UUID blanked, what else is known to
/// name the machine masked in every string, and makers' own structures left out; `None` when it
/// cannot be followed.
pub fn mask(table: &[u8], secrets: &mut Secrets) -> Option<Vec<u8>> {
    let mut masked = Vec::new();
    for structure in structures(table)? {
        if !TYPES_KEPT.contains(&structure.kind) {
            continue;
        }
        let mut fields = structure.fields.to_vec();
        if let Some(uuid) = fields.get_mut(UUID).filter(|_| structure.kind == 1) {
            uuid.fill(0);
        }
        masked.extend(fields);
        let serials = structure.serials();
        for (index, string) in structure.strings.iter().enumerate() {
            let shown = if serials.contains(&index) {
                secrets.word_for(string.trim())
            } else {
                secrets.hide(string, Kind::Version)
            };
            masked.extend(shown.bytes().chain([0]));
        }
        let ending: &[u8] = if structure.strings.is_empty() { &[0, 0] } else { &[0] };
        masked.extend(ending);
    }
    Some(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_leave_the_table_and_locators_stay() {
        let mut table = vec![1, 27, 1, 0, 1, 2, 0, 3];
        table.extend([0xab; 16]);
        table.extend([6, 0, 0]);
        table.extend(b"Maker\0Product SERIAL99\0SERIAL99\0\0");
        table.extend([200, 4, 2, 0]);
        table.extend(b"OWNER-TAG\0\0");
        table.extend([127, 4, 3, 0, 0, 0]);
        let mut secrets = Secrets::default();
        learn(&table, &mut secrets);
        let masked = mask(&table, &mut secrets).expect("table");
        let text = String::from_utf8_lossy(&masked).into_owned();
        assert!(text.contains("Product masked") && text.contains("Maker"), "{text}");
        assert!(!text.contains("SERIAL99") && !text.contains("OWNER"), "{text}");
        assert!(!masked.windows(4).any(|four| four == [0xab; 4]));
        assert!(crate::memory::parse_smbios(&masked).is_ok());
        for cut in 0..table.len() {
            let _ = mask(&table[..cut], &mut secrets);
        }
    }
}
