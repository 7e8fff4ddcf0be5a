//! Socket and channel of a slot, from locators that spell them out.
//!
//! Only what a board says in so many words is believed: `P1-DIMMA1` names socket and channel,
//! `A1` does not (on a Dell it is CPU 1, on others channel A). Where the slot's own locator and
//! the bank string disagree, the slot's locator wins: it is printed on the board, and bank strings
//! of real boards carry typing errors. Everything else stays unplaced.

use super::slotmap::SlotMap;
use narrows_facts::host::{Slot, SlotPlace};
use std::collections::BTreeSet;

/// Fills in [`Slot::at`] for all slots, when *every* DRAM slot that holds a module can be placed.
/// A map with holes would make an unbalanced machine look balanced.
///
/// Where the strings do not spell it out, the maker's slot map tells, if there is one.
pub fn place(slots: &mut [Slot], map: Option<&SlotMap>) {
    let spelt = |slot: &Slot| read(&slot.locator).or_else(|| read_bank(&slot.bank));
    let mapped = |slot: &Slot| map?.place(&slot.locator, &slot.bank);
    let mut raw: Vec<Option<(u32, String)>> = slots.iter().map(spelt).collect();
    if raw.iter().all(Option::is_none) {
        raw = slots.iter().map(mapped).collect();
    }
    let dram = |slot: &Slot| slot.module.as_ref().is_some_and(|module| module.is_dram);
    if slots.iter().zip(&raw).any(|(slot, at)| dram(slot) && at.is_none()) {
        return;
    }
    // Makers count sockets from 0 or 1: rank the labels.
    let labels: BTreeSet<u32> = raw.iter().flatten().map(|(socket, _)| *socket).collect();
    for (slot, at) in slots.iter_mut().zip(raw) {
        slot.at = at.map(|(label, channel)| SlotPlace {
            socket: labels.iter().position(|known| *known == label).unwrap_or(0) as u32,
            channel,
        });
    }
}

/// Socket label and channel from a slot's locator.
fn read(locator: &str) -> Option<(u32, String)> {
    const PATTERNS: [&str; 6] =
        ["P#-DIMM@#", "P#_DIMM@#", "CPU#_DIMM_@#", "CPU#_DIMM@#", "DIMM_P#_@#", "CPU#_C#D#"];
    let fields = PATTERNS.iter().find_map(|pattern| matches(pattern, locator))?;
    Some((fields[0].parse().ok()?, fields[1].clone()))
}

/// Socket label and channel from a bank string.
fn read_bank(bank: &str) -> Option<(u32, String)> {
    if let Some(fields) = matches("P#_NODE#_CHANNEL*_DIMM#", bank) {
        // Boards number the nodes over the machine or inside a socket: the pair is what is unique.
        return Some((fields[0].parse().ok()?, format!("N{}C{}", fields[1], fields[2])));
    }
    const PATTERNS: [&str; 3] =
        ["_NODE#_CHANNEL*_DIMM#", "SOCKET # CHANNEL * DIMM #", "P# CHANNEL *"];
    let fields = PATTERNS.iter().find_map(|pattern| matches(pattern, bank))?;
    Some((fields[0].parse().ok()?, fields[1].clone()))
}

/// Matches a whole text, without regard to case: `#` stands for digits, `@` for one letter, `*` for
/// one letter or digits. Returns what they stood for.
pub(super) fn matches(pattern: &str, text: &str) -> Option<Vec<String>> {
    let text = text.trim().to_ascii_uppercase();
    let mut rest = text.as_str();
    let mut fields = Vec::new();
    for wanted in pattern.chars() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letter = usize::from(rest.starts_with(|c: char| c.is_ascii_uppercase()));
        let length = match wanted {
            '#' => digits,
            '@' => letter,
            '*' => digits.max(letter),
            other => {
                rest = rest.strip_prefix(other)?;
                continue;
            }
        };
        if length == 0 {
            return None;
        }
        fields.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    rest.is_empty().then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(locator: &str, bank: &str) -> Option<(u32, String)> {
        read(locator).or_else(|| read_bank(bank))
    }

    #[test]
    fn spelt_out_locators_are_placed_and_others_are_not() {
        let placed = |socket: u32, channel: &str| Some((socket, channel.to_owned()));
        assert_eq!(at("P2-DIMMF1", "NO DIMM"), placed(2, "F"));
        assert_eq!(at("P1_DIMMA1", ""), placed(1, "A"));
        assert_eq!(at("CPU2_DIMM_F2", "_Node1_Channel6_Dimm1"), placed(2, "F"));
        assert_eq!(at("DIMM_P1_L1", ""), placed(1, "L"));
        assert_eq!(at("CPU1_C7D1", "NODE 7"), placed(1, "7"));
        assert_eq!(at("DIMM151 J45", "_Node1_Channel5_Dimm1"), placed(1, "5"));
        assert_eq!(at("DIMM000 J27", "SOCKET 0 CHANNEL 0 DIMM 0"), placed(0, "0"));
        assert_eq!(at("DIMM 0", "P0 CHANNEL A"), placed(0, "A"));
        assert_eq!(at("P1-DIMM1A", "P0_Node1_Channel0_Dimm0"), placed(0, "N1C0"));
        for unplaced in ["A1", "PROC 1 DIMM 1", "DIMM 0", "", "P-DIMMA1", "P1-DIMMA1x"] {
            assert_eq!(at(unplaced, "Not Specified"), None, "{unplaced}");
        }
    }
}
