//! Which socket and channel each slot is on: rules are tried in turn, the surest first, and the
//! first whose placement nothing contradicts is taken. What was tried and why it failed is kept.

use crate::arrays;
use crate::board::{Board, holds_dram, is_memory_slot};
use crate::checks;
use crate::locator::{self, Spelt};
use crate::number::{self, Read};
use crate::population::{SlotsFrom, slots_from};
use crate::rule::{BUNDLED, Confidence, Rule};
pub use crate::why_not::WhyNot;
use narrows_model::host::{Host, Slot, SlotPlace};
use std::collections::BTreeSet;

/// What was tried to place the slots of one machine, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Rules that were tried and failed, in turn.
    pub failed: Vec<(String, WhyNot)>,
    /// The rule that placed the slots.
    pub placed: Option<Placed>,
}

/// A placement that nothing contradicts.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Name of the rule.
    pub rule: String,
    pub confidence: Confidence,
    /// Where the rule is from.
    pub source: String,
    /// For each slot where it is, sockets counted from 0 in the order of the board's labels.
    pub places: Vec<Option<SlotPlace>>,
}

/// Places the slots of a host anew, with a user's rules first; says what was tried. What the driver
/// of the memory controllers lists has its places from there.
pub fn place(host: &mut Host, given: &[Rule]) -> Trace {
    if slots_from(&host.memory) == SlotsFrom::Driver {
        return Trace::default();
    }
    let trace = trace(&Board::of(host), given);
    let slots = match &mut host.memory.slots {
        narrows_model::Fact::Known { value, .. } => value.as_mut_slice(),
        _ => &mut [],
    };
    put(slots, &trace);
    trace
}

/// Writes a placement into its slots.
pub fn put(slots: &mut [Slot], trace: &Trace) {
    let places = trace.placed.iter().flat_map(|placed| &placed.places);
    for (slot, place) in slots.iter_mut().zip(places) {
        slot.at.clone_from(place);
    }
}

/// Tries all rules on a machine: the user's, what names spell out, makers' rules, what names spell
/// out together with the bank, and rules for all makers.
pub fn trace(board: &Board<'_>, given: &[Rule]) -> Trace {
    let mut trace = Trace::default();
    if !board.slots.iter().any(holds_dram) {
        return trace;
    }
    let bundled = BUNDLED.iter().filter(|rule| is_for(rule, board));
    let (any, makers): (Vec<&Rule>, Vec<&Rule>) = bundled.partition(|rule| rule.is_for_all());
    let tries = given
        .iter()
        .filter(|rule| is_for(rule, board))
        .map(Try::Rule)
        .chain([Try::Spelt(Spelling::Whole)])
        .chain(makers.into_iter().map(Try::Rule))
        .chain(
            [Spelling::Agents, Spelling::Together, Spelling::Alone, Spelling::Arrays]
                .map(Try::Spelt),
        )
        .chain(any.into_iter().map(Try::Rule));
    for attempt in tries {
        match attempt.on(board) {
            Ok(placed) => {
                trace.placed = Some(placed);
                return trace;
            }
            Err(why) => trace.failed.push((attempt.name(), why)),
        }
    }
    trace
}

fn is_for(rule: &Rule, board: &Board<'_>) -> bool {
    let names = &board.identity;
    let family = board.platform.map(|platform| platform.name.as_str());
    rule.is_for([&names.maker, &names.board_maker], [&names.product, &names.board], family)
}

/// One thing to try.
enum Try<'a> {
    Rule(&'a Rule),
    Spelt(Spelling),
}

/// Where socket and channel may be spelt out.
#[derive(Clone, Copy)]
enum Spelling {
    /// Both in the locator, or both in the bank string.
    Whole,
    /// The channel in the locator, its memory controller in the bank string.
    Agents,
    /// One in the locator, the other in the bank string.
    Together,
    /// The channel alone, on a machine with one socket.
    Alone,
    /// The channel alone, alike in each socket's array of slots.
    Arrays,
}

impl Try<'_> {
    fn name(&self) -> String {
        match self {
            Self::Rule(rule) => rule.name.clone(),
            Self::Spelt(Spelling::Whole) => "named".to_owned(),
            Self::Spelt(Spelling::Agents) => "named-with-controller".to_owned(),
            Self::Spelt(Spelling::Together) => "named-with-bank".to_owned(),
            Self::Spelt(Spelling::Alone) => "named-on-one-socket".to_owned(),
            Self::Spelt(Spelling::Arrays) => "named-in-each-array".to_owned(),
        }
    }

    fn on(&self, board: &Board<'_>) -> Result<Placed, WhyNot> {
        let (read, confidence, source) = match self {
            Self::Rule(rule) => (number::read(rule, board)?, rule.confidence, rule.source.clone()),
            Self::Spelt(spelling) => {
                let read = match spelling {
                    Spelling::Agents => arrays::of_controllers(board)?,
                    Spelling::Arrays => arrays::of_sockets(board)?,
                    _ => spelt(*spelling, board)?,
                };
                (read, Confidence::Named, "firmware's own names of the slots".to_owned())
            }
        };
        let places = ranked(read);
        checks::all(board, &places, confidence).map_err(WhyNot::Contradiction)?;
        Ok(Placed { rule: self.name(), confidence, source, places })
    }
}

fn spelt(spelling: Spelling, board: &Board<'_>) -> Result<Read, WhyNot> {
    let alone = board.sockets.len() == 1;
    if matches!(spelling, Spelling::Alone) && !alone {
        return Err(WhyNot::Sockets);
    }
    let mut places = Vec::with_capacity(board.slots.len());
    for slot in board.slots {
        let spelt = match spelling {
            Spelling::Whole => locator::read(&slot.locator).or_else(|| locator::read(&slot.bank)),
            Spelling::Together => locator::together(&slot.locator, &slot.bank),
            _ => locator::channel(&slot.locator, &slot.bank),
        };
        if spelt.is_none() && holds_dram(slot) {
            return Err(WhyNot::Name(slot.locator.clone()));
        }
        places.push(spelt.filter(|_| is_memory_slot(slot)));
    }
    if matches!(spelling, Spelling::Alone) {
        one_letter_is_no_channel(&places, board)?;
    }
    Ok(places.into_iter().map(|spelt| spelt.map(Spelt::placed)).collect())
}

/// One letter on all slots, without the word "channel", may as well name the processor.
fn one_letter_is_no_channel(places: &[Option<Spelt>], board: &Board<'_>) -> Result<(), WhyNot> {
    let spelt: Vec<&Spelt> = places.iter().flatten().collect();
    let labels: BTreeSet<&str> = spelt.iter().filter_map(|spelt| spelt.label()).collect();
    let says_so = spelt.iter().all(|spelt| spelt.is_named());
    let wanted = board.channels().unwrap_or(2);
    match labels.len() {
        1 if spelt.len() > 1 && wanted > 1 && !says_so => {
            Err(WhyNot::Count { what: "letters", found: 1, wanted })
        }
        _ => Ok(()),
    }
}

/// Sockets counted from 0: makers count from 0 or 1, and leave numbers out.
fn ranked(mut places: Read) -> Vec<Option<SlotPlace>> {
    let labels: BTreeSet<u32> = places.iter().flatten().map(|at| at.socket).collect();
    for at in places.iter_mut().flatten() {
        at.socket = labels.iter().take_while(|label| **label < at.socket).count() as u32;
    }
    places
}
