//! From the numbers that a rule finds in slots' names to sockets and channels.

use crate::board::{Board, holds_dram, is_memory_slot};
use crate::rule::{Channels, Rule, Sockets};
use crate::why_not::WhyNot;
use narrows_model::host::{ChannelId, Slot, SlotPlace};
use std::collections::{BTreeMap, BTreeSet};

/// A place for each slot of the board, sockets by the board's labels.
pub type Read = Vec<Option<SlotPlace>>;

/// What the patterns found in one slot's names.
struct Found {
    /// Index of the slot on the board.
    index: usize,
    /// Processor, by the board's label.
    socket: u32,
    /// Board or riser of the processor.
    unit: u32,
    /// The slot's number in its row.
    number: u32,
    /// Channel, where it is named.
    channel: Option<String>,
}

impl Found {
    fn named(&self) -> Option<ChannelId> {
        self.channel.as_deref().map(ChannelId::from)
    }
}

/// Places the slots by a rule.
pub fn read(rule: &Rule, board: &Board<'_>) -> Result<Read, WhyNot> {
    let mut places: Read = vec![None; board.slots.len()];
    let mut rows: BTreeMap<u32, Vec<Found>> = BTreeMap::new();
    for found in found(rule, board)? {
        if rule.bridged && is_behind_a_bridge(board, &found) {
            return Err(WhyNot::Sockets);
        }
        rows.entry(found.socket).or_default().push(found);
    }
    if let Some(most) = rule.slots.first() {
        let found = rows.values().map(Vec::len).max().unwrap_or(0);
        if found != *most || !rows.values().all(|row| rule.slots.contains(&row.len())) {
            return Err(WhyNot::Count { what: "slots", found, wanted: *most });
        }
    }
    let numbers = rows.values().flatten().map(|found| found.number);
    let first = numbers.min().unwrap_or(0);
    for (socket, row) in rows {
        let labels = channels(rule, board, &row, first)?;
        for (found, channel) in row.iter().zip(labels) {
            let mut controllers = rule.controllers.iter();
            let controller = controllers.position(|channels| channels.contains(&channel));
            let controller = controller.and_then(|index| u32::try_from(index).ok());
            places[found.index] = Some(SlotPlace { socket, channel, controller });
        }
    }
    if rule.controllers.is_empty() {
        controllers_by_arrays(board, &mut places);
        if rule.channels == Channels::Own {
            controllers_by_order(board, &mut places);
        }
    }
    Ok(places)
}

/// Whether a slot holds memory and its own socket no processor.
fn is_behind_a_bridge(board: &Board<'_>, found: &Found) -> bool {
    let own = board.sockets.get(found.socket as usize);
    holds_dram(&board.slots[found.index]) && !own.is_some_and(|socket| socket.populated)
}

/// What the patterns find. A slot of another name is an error: what is counted must be whole.
fn found(rule: &Rule, board: &Board<'_>) -> Result<Vec<Found>, WhyNot> {
    let mut all: Vec<(usize, BTreeMap<String, String>)> = Vec::new();
    for (index, slot) in board.slots.iter().enumerate().filter(|(_, slot)| is_memory_slot(slot)) {
        match fields(rule, slot) {
            Some(fields) => all.push((index, fields)),
            None if holds_dram(slot) || counts(&rule.channels) => {
                return Err(WhyNot::Name(slot.locator.clone()));
            }
            None => {}
        }
    }
    let sockets = sockets(rule, board, &all)?;
    let arrays = in_order(all.iter().map(|(index, _)| board.slots[*index].array));
    let repeated = is_repeated(&all, &sockets);
    let mut all: Vec<Found> = all
        .into_iter()
        .zip(sockets.into_iter().zip(arrays))
        .map(|((index, mut fields), (socket, array))| Found {
            index,
            socket,
            // Boards that are numbered alike are told apart by their arrays.
            unit: match fields.get("unit") {
                Some(unit) => number(unit).unwrap_or(0),
                None => array * u32::from(repeated),
            },
            number: fields.get("slot").and_then(|slot| number(slot)).unwrap_or(0),
            channel: fields.remove("channel"),
        })
        .collect();
    all.sort_by_key(|found| (found.socket, found.unit, found.number, found.index));
    Ok(all)
}

/// Whether slots of one processor have the same number.
fn is_repeated(all: &[(usize, BTreeMap<String, String>)], sockets: &[u32]) -> bool {
    let slots = all.iter().map(|(_, fields)| fields.get("slot"));
    let mut seen = BTreeSet::new();
    slots.zip(sockets).any(|(slot, socket)| slot.is_some() && !seen.insert((socket, slot)))
}

/// Whether the rule counts slots, so that all of them must be there.
fn counts(channels: &Channels) -> bool {
    !matches!(channels, Channels::Named)
}

fn fields(rule: &Rule, slot: &Slot) -> Option<BTreeMap<String, String>> {
    let mut fields = rule.locators.iter().find_map(|pattern| pattern.fields(&slot.locator))?;
    if !rule.banks.is_empty() {
        fields.extend(rule.banks.iter().find_map(|pattern| pattern.fields(&slot.bank))?);
    }
    Some(fields)
}

/// The socket of each slot that the patterns fit.
fn sockets(
    rule: &Rule,
    board: &Board<'_>,
    all: &[(usize, BTreeMap<String, String>)],
) -> Result<Vec<u32>, WhyNot> {
    let field = |name: &str| {
        let each = all.iter().map(|(_, fields)| number(fields.get(name)?));
        each.collect::<Option<Vec<u32>>>()
    };
    if rule.channels == Channels::Letters {
        return by_letters(board, all);
    }
    if let Some(sockets) = field("socket") {
        return Ok(sockets);
    }
    let total = counted_over(rule, board.sockets.len(), all.len());
    if let Some(units) = field("unit") {
        return Ok(by_units(&units, rule.units.max(1)));
    }
    match rule.sockets {
        _ if total == 1 => Ok(vec![0; all.len()]),
        Sockets::Even => {
            let numbers = field("slot").ok_or(WhyNot::Sockets)?;
            even(total, numbers).or_else(|gap| by_arrays(board, all).ok_or(gap))
        }
        Sockets::Bank => {
            let banks = all.iter().map(|(index, _)| board.slots[*index].bank.as_str());
            Ok(in_order(banks))
        }
        Sockets::Told => by_arrays(board, all).ok_or(WhyNot::Sockets),
    }
}

/// Sockets that the numbers of slots run over. Firmware may leave the empty one of two sockets out
/// and list its slots nonetheless: then the rule says how many are a processor's.
fn counted_over(rule: &Rule, listed: usize, slots: usize) -> usize {
    let each = rule.slots.first().copied().unwrap_or(slots);
    let is_over_two = listed == 1 && rule.sockets == Sockets::Even && slots == 2 * each;
    if is_over_two { 2 } else { listed }
}

/// Boards or risers in the order of their labels, each processor with as many of them.
fn by_units(units: &[u32], each: u32) -> Vec<u32> {
    let ranks: BTreeSet<u32> = units.iter().copied().collect();
    let rank = |unit: &u32| ranks.iter().take_while(|other| *other < unit).count() as u32;
    units.iter().map(|unit| rank(unit) / each).collect()
}

/// Arrays of slots in the order of firmware's table: one for each processor, or as many for each as
/// it has boards or risers.
fn by_arrays(board: &Board<'_>, all: &[(usize, BTreeMap<String, String>)]) -> Option<Vec<u32>> {
    let (arrays, total) = (board.array_handles().len(), board.sockets.len());
    if arrays == 0 || total == 0 || !arrays.is_multiple_of(total) {
        return None;
    }
    let each = u32::try_from(arrays / total).ok()?;
    let ranks = in_order(all.iter().map(|(index, _)| board.slots[*index].array));
    Some(ranks.into_iter().map(|rank| rank / each).collect())
}

/// Each value's rank in the order in which values first come.
fn in_order<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<u32> {
    let mut seen: Vec<T> = Vec::new();
    values
        .map(|value| {
            let known = seen.iter().position(|other| *other == value);
            let rank = known.unwrap_or_else(|| {
                seen.push(value);
                seen.len() - 1
            });
            u32::try_from(rank).unwrap_or(u32::MAX)
        })
        .collect()
}

/// Slots numbered over a machine of so many sockets, each with as many.
fn even(total: usize, numbers: Vec<u32>) -> Result<Vec<u32>, WhyNot> {
    if total == 0 || !numbers.len().is_multiple_of(total) {
        return Err(WhyNot::Count { what: "slots", found: numbers.len(), wanted: total });
    }
    let each = numbers.len() / total;
    let ranks: BTreeSet<u32> = numbers.iter().copied().collect();
    if ranks.len() != numbers.len() {
        return Err(WhyNot::Gaps);
    }
    let rank = |number: u32| ranks.iter().take_while(|other| **other < number).count();
    Ok(numbers.into_iter().map(|number| (rank(number) / each) as u32).collect())
}

/// Letters of channels that run on over the sockets: as many as these have channels together.
fn by_letters(
    board: &Board<'_>,
    all: &[(usize, BTreeMap<String, String>)],
) -> Result<Vec<u32>, WhyNot> {
    let each = board.channels().ok_or(WhyNot::Family)?;
    let letters: BTreeSet<String> = all.iter().filter_map(|(_, fields)| letter(fields)).collect();
    let wanted = each * board.sockets.len();
    if wanted == 0 || letters.len() != wanted {
        return Err(WhyNot::Count { what: "letters", found: letters.len(), wanted });
    }
    let rank = |fields: &BTreeMap<String, String>| {
        let letter = letter(fields).unwrap_or_default();
        letters.iter().take_while(|other| **other < letter).count()
    };
    Ok(all.iter().map(|(_, fields)| (rank(fields) / each) as u32).collect())
}

fn letter(fields: &BTreeMap<String, String>) -> Option<String> {
    fields.get("channel").cloned()
}

/// The label of the channel of each slot of one socket; the row is in the order of its numbers, and
/// the board's least is `first`.
fn channels(
    rule: &Rule,
    board: &Board<'_>,
    row: &[Found],
    first: u32,
) -> Result<Vec<ChannelId>, WhyNot> {
    let family = || board.channels().ok_or(WhyNot::Family);
    match &rule.channels {
        Channels::Named | Channels::Letters => {
            row.iter().map(|found| found.named().ok_or(WhyNot::Gaps)).collect()
        }
        Channels::Own => {
            wanted("slots", row.len(), family()?, |found, all| found == all)?;
            let own = |found: &Found| ChannelId::numbered(found.number as usize);
            Ok(row.iter().map(|found| found.named().unwrap_or_else(|| own(found))).collect())
        }
        Channels::Neighbours => {
            let all = family()?;
            wanted("slots", row.len(), all, |found, all| found.is_multiple_of(all))?;
            in_one_row(row)?;
            let deep = row.len() / all;
            // Where slots count on over the machine, so do the labels.
            let of_row = row.first().map_or(0, |found| found.number - first) as usize;
            let before = if rule.units > 1 { 0 } else { of_row };
            Ok((0..row.len()).map(|index| ChannelId::numbered((before + index) / deep)).collect())
        }
        Channels::Through => {
            let each = family()? / rule.units.max(1) as usize;
            // Whole rounds, or one slot over, which is again on the first channel. Boards with
            // more over skip channels: their rules are tables.
            wanted("slots", row.len(), each, |found, all| {
                found.is_multiple_of(all) || found == all + 1
            })?;
            through(rule, row, each)
        }
        Channels::Modulo(each) => through(rule, row, *each as usize),
        Channels::Pair(slots) => {
            let first = |found: &Found| found.number.checked_sub(1).ok_or(WhyNot::Gaps);
            row.iter()
                .map(|found| {
                    first(found).map(|slot| ChannelId::numbered((slot / (*slots).max(1)) as usize))
                })
                .collect()
        }
        Channels::Table(table) => row
            .iter()
            .map(|found| {
                let mut rows = table.iter().filter(|(_, slots)| slots.contains(&found.number));
                rows.next().map(|(channel, _)| channel.clone()).ok_or(WhyNot::Gaps)
            })
            .collect(),
    }
}

fn wanted(
    what: &'static str,
    found: usize,
    wanted: usize,
    fits: fn(usize, usize) -> bool,
) -> Result<(), WhyNot> {
    if wanted > 0 && found > 0 && fits(found, wanted) {
        Ok(())
    } else {
        Err(WhyNot::Count { what, found, wanted })
    }
}

/// Slots that count through the channels, each board or riser of the processor by itself.
fn through(rule: &Rule, row: &[Found], each: usize) -> Result<Vec<ChannelId>, WhyNot> {
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    for found in row {
        let least = first.entry(found.unit).or_insert(found.number);
        *least = (*least).min(found.number);
    }
    Ok(row
        .iter()
        .map(|found| {
            // Counted from 1 or from 0.
            let base = first.get(&found.unit).copied().unwrap_or(1).min(1);
            let index = (found.number - base) as usize % each.max(1) + 1;
            if rule.units > 1 {
                ChannelId::from(format!("{}.{index}", found.unit))
            } else {
                ChannelId::numbered(index)
            }
        })
        .collect())
}

/// Numbers without gaps in each board or riser: with gaps, slots are missing from the table.
fn in_one_row(row: &[Found]) -> Result<(), WhyNot> {
    if row
        .windows(2)
        .all(|pair| pair[0].unit != pair[1].unit || pair[1].number == pair[0].number + 1)
    {
        Ok(())
    } else {
        Err(WhyNot::Gaps)
    }
}

/// Where there are as many arrays of slots as memory controllers, an array is a controller.
fn controllers_by_arrays(board: &Board<'_>, places: &mut Read) {
    let Some(platform) = board.platform.filter(|platform| platform.controllers > 1) else { return };
    let handles = board.array_handles();
    let sockets: BTreeSet<u32> = places.iter().flatten().map(|at| at.socket).collect();
    if handles.len() != sockets.len() * platform.controllers as usize {
        return;
    }
    let (numbered, _) = platform.numbered();
    let each = numbered / platform.controllers;
    let mut arrays_of: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
    for (slot, at) in board.slots.iter().zip(places.iter()) {
        let (Some(at), Some(handle)) = (at, slot.array) else { continue };
        let arrays = arrays_of.entry(at.socket).or_default();
        if !arrays.contains(&handle) {
            arrays.push(handle);
        }
    }
    if arrays_of.values().any(|arrays| arrays.len() != platform.controllers as usize) {
        return;
    }
    for (slot, at) in board.slots.iter().zip(places.iter_mut()) {
        let (Some(at), Some(handle)) = (at, slot.array) else { continue };
        let arrays = arrays_of.get(&at.socket).map(Vec::as_slice).unwrap_or_default();
        let rank = arrays.iter().position(|other| *other == handle);
        at.controller = rank.map(|rank| rank as u32 * each);
    }
}

/// Firmware lists slots controller by controller and channel by channel. Where a slot is a channel
/// and its number says nothing of controllers, that order does.
fn controllers_by_order(board: &Board<'_>, places: &mut Read) {
    let Some(platform) = board.platform.filter(|platform| platform.controllers > 1) else { return };
    let (_, each) = platform.numbered();
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    for at in places.iter_mut().flatten().filter(|at| at.controller.is_none()) {
        let index = seen.entry(at.socket).or_insert(0);
        at.controller = Some(*index / each.max(1));
        *index += 1;
    }
}

/// A label as a number: digits, or a letter counted from A.
fn number(label: &str) -> Option<u32> {
    let letter = label.chars().next().filter(char::is_ascii_uppercase);
    label.parse().ok().or_else(|| Some(letter? as u32 - 'A' as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_by_one_within_a_board_and_begin_anew_in_the_next() {
        let row = |numbers: &[(u32, u32)]| -> Vec<Found> {
            let found = |(index, (unit, number)): (usize, &(u32, u32))| Found {
                index,
                socket: 0,
                unit: *unit,
                number: *number,
                channel: None,
            };
            numbers.iter().enumerate().map(found).collect()
        };
        let is_row = |numbers: &[(u32, u32)]| in_one_row(&row(numbers)).is_ok();
        assert!(is_row(&[(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]));
        assert!(is_row(&[(0, 7)]) && is_row(&[]));
        // A gap between two, at the end of three, and a number that is there twice.
        assert!(!is_row(&[(0, 1), (0, 3)]));
        assert!(!is_row(&[(0, 1), (0, 2), (0, 4)]));
        assert!(!is_row(&[(0, 1), (0, 1)]));
        assert!(!is_row(&[(0, 2), (0, 1)]));
    }

    #[test]
    fn controllers_follow_the_order_of_slots_or_their_arrays() {
        use crate::platform::named;
        use narrows_model::host::{Identity, Slot};
        // Four numbered controllers of two channels each, which are two that interleave.
        let platform = named("Xeon Gold 5416S");
        let placed = |arrays: &[Option<u16>], sockets: &[u32], by_order: bool| {
            let array = |array: &Option<u16>| Slot { array: *array, ..Slot::default() };
            let slots: Vec<Slot> = arrays.iter().map(array).collect();
            let identity = Identity::default();
            let board = Board { identity, sockets: &[], arrays: &[], slots: &slots, platform };
            let place = |(at, socket): (usize, &u32)| {
                let channel = ChannelId::numbered(at);
                Some(SlotPlace { socket: *socket, channel, controller: None })
            };
            let mut places: Read = sockets.iter().enumerate().map(place).collect();
            if by_order {
                controllers_by_order(&board, &mut places);
            } else {
                controllers_by_arrays(&board, &mut places);
            }
            places.into_iter().map(|at| at.expect("a place").controller).collect::<Vec<_>>()
        };
        let eight = [0, 0, 1, 1, 2, 2, 3, 3].map(Some);
        assert_eq!(placed(&[None; 8], &[0; 8], true), eight);
        // Each socket counts for itself, however they take turns.
        let turns = placed(&[None; 8], &[0, 1, 0, 1, 0, 1, 0, 1], true);
        assert_eq!(turns, [0, 0, 0, 0, 1, 1, 1, 1].map(Some));
        // An array is two of the numbered ones, in the order in which they first come.
        let arrays = [7, 7, 3, 3].map(Some);
        assert_eq!(placed(&arrays, &[0; 4], false), [0, 0, 2, 2].map(Some));
        let both = [7, 3, 5, 9].map(Some);
        assert_eq!(placed(&both, &[0, 0, 1, 1], false), [0, 2, 0, 2].map(Some));
        // As many arrays as controllers in all, and not on each socket.
        assert_eq!(placed(&both, &[0, 0, 0, 1], false), [None; 4]);
        assert_eq!(placed(&[7; 4].map(Some), &[0; 4], false), [None; 4], "one array");
    }

    #[test]
    fn slots_are_shared_evenly_in_the_order_of_their_numbers() {
        assert_eq!(even(2, vec![1, 2, 3, 4]), Ok(vec![0, 0, 1, 1]));
        assert_eq!(even(2, vec![8, 1, 7, 2]), Ok(vec![1, 0, 1, 0]));
        assert_eq!(even(1, vec![5, 6]), Ok(vec![0, 0]));
        let count = |found, wanted| Err(WhyNot::Count { what: "slots", found, wanted });
        assert_eq!(even(2, vec![1, 2, 3]), count(3, 2));
        assert_eq!(even(0, vec![1, 2]), count(2, 0));
        assert_eq!(even(2, vec![1, 1, 2, 3]), Err(WhyNot::Gaps));
        assert_eq!(by_units(&[3, 1, 7, 1], 1), [1, 0, 2, 0]);
        assert_eq!(by_units(&[3, 1, 7, 9], 2), [0, 0, 1, 1]);
    }
}
