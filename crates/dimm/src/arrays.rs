//! Slots whose names tell the channel, and whose arrays (SMBIOS type 16) tell the processor.

use crate::board::{Board, holds_dram, is_memory_slot};
use crate::locator::{self, Spelt};
use crate::number::Read;
use crate::why_not::WhyNot;
use narrows_model::host::{Slot, SlotPlace};
use std::collections::BTreeSet;

/// Where bank strings number the memory controllers (`NODE 1` to `NODE 4` on two processors of
/// Xeon E5 v3 with two home agents each) and every controller has an array of slots. Nodes that
/// count the processors have as many arrays as these, or are told without arrays: not here.
pub fn of_controllers(board: &Board<'_>) -> Result<Read, WhyNot> {
    let (handles, total) = (board.array_handles(), board.sockets.len());
    if total == 0 || handles.len() <= total || !handles.len().is_multiple_of(total) {
        return Err(WhyNot::Sockets);
    }
    let mut bases = BTreeSet::new();
    for slot in board.slots.iter().filter(|slot| is_memory_slot(slot)) {
        if let Some(node) = locator::node(&slot.bank) {
            let rank = rank(&handles, slot).ok_or(WhyNot::Sockets)?;
            bases.insert(i64::from(node) - rank as i64);
        }
    }
    // Numbered as the arrays are, from 0 or from 1.
    if bases.len() != 1 || !bases.iter().all(|base| matches!(base, 0 | 1)) {
        return Err(WhyNot::Sockets);
    }
    named(board, &handles, handles.len() / total)
}

/// Where each processor's array has slots of the same names.
pub fn of_sockets(board: &Board<'_>) -> Result<Read, WhyNot> {
    let (handles, total) = (board.array_handles(), board.sockets.len());
    if total < 2 || handles.len() != total {
        return Err(WhyNot::Sockets);
    }
    let names = |handle: u16| -> BTreeSet<&str> {
        let own = board.slots.iter().filter(|slot| slot.array == Some(handle));
        own.map(|slot| slot.locator.as_str()).collect()
    };
    let first = handles.first().map(|handle| names(*handle)).unwrap_or_default();
    match handles.iter().all(|handle| names(*handle) == first) {
        true => named(board, &handles, 1),
        false => Err(WhyNot::Sockets),
    }
}

/// The channels that locators name, on sockets of so many arrays each.
fn named(board: &Board<'_>, handles: &[u16], each: usize) -> Result<Read, WhyNot> {
    let mut places = Vec::with_capacity(board.slots.len());
    for slot in board.slots {
        let at = locator::channel(&slot.locator, "").filter(|_| is_memory_slot(slot));
        let at = at.zip(rank(handles, slot)).map(|(spelt, rank)| on(spelt, rank / each.max(1)));
        if at.is_none() && holds_dram(slot) {
            return Err(WhyNot::Name(slot.locator.clone()));
        }
        places.push(at);
    }
    Ok(places)
}

fn on(spelt: Spelt, socket: usize) -> SlotPlace {
    SlotPlace { socket: u32::try_from(socket).unwrap_or(u32::MAX), ..spelt.placed() }
}

fn rank(handles: &[u16], slot: &Slot) -> Option<usize> {
    handles.iter().position(|handle| Some(*handle) == slot.array)
}
