//! What is known of a machine against what a rule says of its slots. A placement that contradicts
//! any of it is not given: no verdict is better than a wrong one.

use crate::board::{Board, holds_dram, is_memory_slot};
use crate::rule::Confidence;
use narrows_model::host::{ChannelId, SlotPlace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Most slots on one channel: three up to DDR4, two since DDR5 (JEDEC, makers' guides).
const DEEP_MAX: usize = 3;
const DEEP_MAX_DDR5: usize = 2;

/// What speaks against a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A module without a place: a map with holes makes an unbalanced machine look balanced.
    Hole(String),
    /// More channels on a socket than the family has.
    Channels {
        /// Socket, from 0.
        socket: u32,
        /// Channels by the placement.
        found: usize,
        /// Channels of the family.
        most: usize,
    },
    /// More slots on a channel than boards have.
    Deep {
        /// Socket, from 0.
        socket: u32,
        /// Label of the channel.
        channel: ChannelId,
        /// Slots by the placement.
        slots: usize,
        /// Most that the platform takes.
        most: usize,
    },
    /// Memory on more sockets than processors are fitted.
    Sockets {
        /// Sockets with memory by the placement.
        found: usize,
        /// Processors that are fitted in sockets.
        fitted: usize,
    },
    /// Slots of more sockets than the machine has.
    Named {
        /// Sockets by the placement.
        named: usize,
        /// Sockets that firmware lists, fitted or not.
        listed: usize,
    },
    /// An array of slots (SMBIOS type 16) on two sockets, where there is one for each or more.
    Array(u16),
    /// Modules of one kind would lie unevenly, and evenly if slots were counted the other way.
    Pairs,
    /// Nothing but the modules could confirm it, and they do not lie alike on every channel.
    Unconfirmed,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hole(locator) => write!(f, "it does not place '{locator}', which holds a module"),
            Self::Channels { socket, found, most } => {
                write!(f, "it gives socket {socket} {found} channels, its processor has {most}")
            }
            Self::Deep { socket, channel, slots, most } => write!(
                f,
                "it puts {slots} slots on channel {channel} of socket {socket}, where boards have \
                 at most {most}"
            ),
            Self::Sockets { found, fitted } => {
                write!(f, "it puts memory on {found} sockets, {fitted} processors are fitted")
            }
            Self::Named { named, listed } => {
                write!(f, "it puts slots on {named} sockets, the machine has {listed}")
            }
            Self::Array(handle) => {
                write!(f, "it spreads the array of slots {handle:#06x} over two sockets")
            }
            Self::Pairs => f.write_str(
                "equal modules would be uneven on the channels, and even if slots counted otherwise",
            ),
            Self::Unconfirmed => f.write_str(
                "no manual was read for it, and not every channel of every processor would hold the \
                 same modules, which alone would confirm it",
            ),
        }
    }
}

/// All checks; the first contradiction is the answer.
pub fn all(
    board: &Board<'_>,
    places: &[Option<SlotPlace>],
    confidence: Confidence,
) -> Result<(), Contradiction> {
    holes(board, places)?;
    channels(board, places)?;
    deep(board, places)?;
    sockets(board, places)?;
    arrays(board, places)?;
    match confidence {
        Confidence::Counted => pairs(board, places),
        Confidence::Evident => evident(board, places),
        _ => Ok(()),
    }
}

fn holes(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let mut both = board.slots.iter().zip(places);
    match both.find(|(slot, at)| holds_dram(slot) && at.is_none()) {
        Some((slot, _)) => Err(Contradiction::Hole(slot.locator.clone())),
        None => Ok(()),
    }
}

/// Slots by socket and channel.
fn by_channel(places: &[Option<SlotPlace>]) -> BTreeMap<u32, BTreeMap<&ChannelId, Vec<usize>>> {
    let mut sockets: BTreeMap<u32, BTreeMap<&ChannelId, Vec<usize>>> = BTreeMap::new();
    for (index, at) in places.iter().enumerate() {
        let Some(at) = at else { continue };
        let channels = sockets.entry(at.socket).or_default();
        channels.entry(&at.channel).or_default().push(index);
    }
    sockets
}

fn channels(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let Some(most) = board.channels() else { return Ok(()) };
    for (socket, channels) in by_channel(places) {
        if channels.len() > most {
            return Err(Contradiction::Channels { socket, found: channels.len(), most });
        }
    }
    Ok(())
}

fn deep(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let modules = board.slots.iter().filter_map(|slot| slot.module.as_ref());
    let ddr5 = modules.filter(|module| module.is_dram).any(|module| module.technology == "DDR5");
    let most = if ddr5 { DEEP_MAX_DDR5 } else { DEEP_MAX };
    for (socket, channels) in by_channel(places) {
        if let Some((channel, slots)) = channels.iter().find(|(_, slots)| slots.len() > most) {
            let (channel, slots) = ((*channel).clone(), slots.len());
            return Err(Contradiction::Deep { socket, channel, slots, most });
        }
    }
    Ok(())
}

fn sockets(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let slots = || board.slots.iter().zip(places);
    let named = on(&mut places.iter());
    let found = on(&mut slots().filter(|(slot, _)| holds_dram(slot)).map(|(_, at)| at));
    let (fitted, listed) = (board.fitted(), board.sockets.len());
    // Firmware may leave the empty one of two sockets out and name its slots nonetheless.
    let unlisted = (fitted, listed, found, named) == (1, 1, 1, 2);
    match () {
        () if fitted > 0 && found > fitted => Err(Contradiction::Sockets { found, fitted }),
        () if listed > 0 && named > listed && !unlisted => {
            Err(Contradiction::Named { named, listed })
        }
        () => Ok(()),
    }
}

fn on(places: &mut dyn Iterator<Item = &Option<SlotPlace>>) -> usize {
    places.flatten().map(|at| at.socket).collect::<BTreeSet<u32>>().len()
}

fn arrays(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let handles = board.array_handles();
    let total = board.sockets.len();
    if total < 2 || handles.len() < total || !handles.len().is_multiple_of(total) {
        return Ok(());
    }
    for handle in handles {
        let slots = board.slots.iter().zip(places);
        let own = slots.filter(|(slot, _)| is_memory_slot(slot) && slot.array == Some(handle));
        let on: BTreeSet<u32> = own.filter_map(|(_, at)| Some(at.as_ref()?.socket)).collect();
        if on.len() > 1 {
            return Err(Contradiction::Array(handle));
        }
    }
    Ok(())
}

/// Where only counts speak for a placement: modules of several slots a channel that lie unevenly
/// under it, and evenly if the same slots counted through the channels instead.
fn pairs(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let sockets = by_channel(places);
    let deep = sockets.values().flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(1);
    if deep < 2 {
        return Ok(());
    }
    let even_here = sockets
        .values()
        .map(|channels| channels.values().cloned().collect())
        .all(|channels| is_even(board, channels));
    let even_there = sockets
        .values()
        .map(|channels| {
            let mut slots: Vec<usize> = channels.values().flatten().copied().collect();
            slots.sort_unstable();
            let wide = channels.len();
            let through = (0..wide).map(|first| slots.iter().copied().skip(first).step_by(wide));
            through.map(Iterator::collect).collect::<Vec<Vec<usize>>>()
        })
        .all(|channels| is_even(board, channels));
    if !even_here && even_there { Err(Contradiction::Pairs) } else { Ok(()) }
}

/// Where nobody's manual speaks for a placement, the modules must: each processor that is fitted
/// has memory, on all channels of its family, and all of it is alike. Modules that were put in at
/// random, or by another numbering, would hardly lie so; where all slots are full, any numbering is
/// as even.
fn evident(board: &Board<'_>, places: &[Option<SlotPlace>]) -> Result<(), Contradiction> {
    let all = board.channels().unwrap_or(usize::MAX);
    let filled: Vec<Vec<Vec<usize>>> = by_channel(places)
        .into_values()
        .map(|channels| channels.into_values().collect::<Vec<Vec<usize>>>())
        .filter(|channels| channels.iter().flatten().any(|slot| holds_dram(&board.slots[*slot])))
        .collect();
    let every = filled.len() == board.fitted()
        && filled.iter().all(|channels| {
            channels.len() == all
                && channels
                    .iter()
                    .all(|slots| slots.iter().any(|slot| holds_dram(&board.slots[*slot])))
        });
    if every && is_even(board, filled.into_iter().flatten().collect()) {
        Ok(())
    } else {
        Err(Contradiction::Unconfirmed)
    }
}

/// Whether the channels that hold something hold the same.
fn is_even(board: &Board<'_>, channels: Vec<Vec<usize>>) -> bool {
    let held = |slots: Vec<usize>| {
        let modules = slots.into_iter().filter_map(|index| board.slots[index].module.as_ref());
        let modules = modules.filter(|module| module.is_dram);
        let mut sizes: Vec<Option<u64>> =
            modules.map(|module| module.size_bytes.map(|size| size.0)).collect();
        sizes.sort_unstable();
        sizes
    };
    let mut held = channels.into_iter().map(held).filter(|sizes| !sizes.is_empty());
    let first = held.next();
    held.all(|sizes| Some(sizes) == first)
}
