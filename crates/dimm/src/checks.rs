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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::host::{CpuSocket, Identity, Module, Slot};

    /// What the checks say of slots as `socket channel GiB`, 0 for an empty one, on a board
    /// with these processors, `""` for an empty socket.
    fn checked(
        processors: &[&str],
        technology: &str,
        slots: &[(u32, &str, u64)],
        confidence: Confidence,
    ) -> Result<(), Contradiction> {
        let socket = |model: &&str| CpuSocket {
            populated: !model.is_empty(),
            model: (!model.is_empty()).then(|| (*model).to_owned()),
            ..CpuSocket::default()
        };
        let module = |gib: u64| Module {
            size_bytes: Some(Bytes::gib(gib)),
            technology: technology.to_owned(),
            is_dram: true,
            ..Module::default()
        };
        let fitted: Vec<CpuSocket> = processors.iter().map(socket).collect();
        let boards: Vec<Slot> = slots
            .iter()
            .map(|(_, _, gib)| Slot { module: (*gib > 0).then(|| module(*gib)), ..Slot::default() })
            .collect();
        let places: Vec<Option<SlotPlace>> = slots
            .iter()
            .map(|(socket, channel, _)| {
                let channel = (*channel).into();
                Some(SlotPlace { socket: *socket, channel, controller: None })
            })
            .collect();
        all(&Board::of_firmware(Identity::default(), &fitted, &[], &boards), &places, confidence)
    }

    const MANUAL: Confidence = Confidence::Manual;
    const SIX: &str = "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz";

    #[test]
    fn a_channel_has_three_slots_up_to_ddr4_and_two_since_ddr5() {
        let deep = |technology, slots: usize| {
            checked(
                &[],
                technology,
                &[(0, "A", 16), (0, "A", 0), (0, "A", 0), (0, "A", 0)][..slots],
                MANUAL,
            )
        };
        let over =
            |slots, most| Err(Contradiction::Deep { socket: 0, channel: "A".into(), slots, most });
        assert_eq!([deep("DDR4", 2), deep("DDR4", 3), deep("DDR5", 2)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!([deep("DDR4", 4), deep("DDR5", 3)], [over(4, 3), over(3, 2)]);
    }

    #[test]
    fn a_socket_has_the_channels_of_its_family_and_no_more() {
        let named = ["A", "B", "C", "D", "E", "F", "G"].map(|channel| (0, channel, 16));
        assert_eq!(checked(&[SIX], "DDR4", &named[..6], MANUAL), Ok(()));
        let over = Contradiction::Channels { socket: 0, found: 7, most: 6 };
        assert_eq!(checked(&[SIX], "DDR4", &named, MANUAL), Err(over));
    }

    #[test]
    fn memory_is_on_processors_that_are_there() {
        let both = [(0, "A", 16), (1, "A", 16)];
        let one = [(0, "A", 16), (1, "A", 0)];
        let of = |processors: &[&str], slots: &[(u32, &str, u64)]| {
            checked(processors, "DDR4", slots, MANUAL)
        };
        assert_eq!(of(&[SIX, SIX], &both), Ok(()));
        assert_eq!(of(&[], &both), Ok(()), "nothing is listed");
        assert_eq!(of(&[SIX, ""], &both), Err(Contradiction::Sockets { found: 2, fitted: 1 }));
        assert_eq!(of(&[SIX, ""], &one), Ok(()));
        assert_eq!(of(&[SIX], &one), Ok(()), "firmware may leave the empty socket out");
        let three = [(0, "A", 16), (1, "A", 0), (2, "A", 0)];
        assert_eq!(of(&[SIX], &three), Err(Contradiction::Named { named: 3, listed: 1 }));
        assert_eq!(of(&[SIX, ""], &three), Err(Contradiction::Named { named: 3, listed: 2 }));
        assert_eq!(of(&[SIX, "", ""], &three), Ok(()));
    }

    #[test]
    fn counted_slots_speak_against_themselves_where_the_other_way_is_even() {
        let of = |slots: &[(u32, &str, u64)]| checked(&[], "DDR4", slots, Confidence::Counted);
        let pairs = [(0, "A", 16), (0, "A", 16), (0, "B", 0), (0, "B", 0)];
        assert_eq!(of(&pairs), Ok(()), "one channel alone is even");
        let crossed = [(0, "A", 16), (0, "A", 8), (0, "B", 16), (0, "B", 16)];
        assert_eq!(of(&crossed), Ok(()), "even neither way");
        let through = [(0, "A", 16), (0, "A", 8), (0, "B", 16), (0, "B", 0)];
        assert_eq!(of(&through), Ok(()));
        let other = [(0, "A", 16), (0, "A", 16), (0, "B", 8), (0, "B", 8)];
        assert_eq!(of(&other), Err(Contradiction::Pairs));
        // A second channel that is less deep changes nothing: the deepest counts.
        let uneven = [(0, "A", 16), (0, "A", 16), (0, "B", 8), (0, "B", 8), (1, "A", 16)];
        assert_eq!(of(&uneven), Err(Contradiction::Pairs));
        assert_eq!(checked(&[], "DDR4", &other, MANUAL), Ok(()));
        let single = [(0, "A", 16), (0, "B", 8)];
        assert_eq!(of(&single), Ok(()), "one slot a channel has no other way");
    }

    #[test]
    fn without_a_manual_every_channel_of_every_processor_must_hold_the_same() {
        let of = |processors: &[&str], slots: &[(u32, &str, u64)]| {
            checked(processors, "DDR4", slots, Confidence::Evident)
        };
        let full = |socket, gib| ["A", "B", "C", "D", "E", "F"].map(|name| (socket, name, gib));
        let unconfirmed = Err(Contradiction::Unconfirmed);
        assert_eq!(of(&[SIX], &full(0, 16)), Ok(()));
        assert_eq!(of(&[SIX, SIX], &[full(0, 16), full(1, 16)].concat()), Ok(()));
        assert_eq!(of(&[SIX, SIX], &[full(0, 16), full(1, 8)].concat()), unconfirmed);
        assert_eq!(of(&[SIX, SIX], &full(0, 16)), unconfirmed, "a processor without memory");
        assert_eq!(of(&[SIX], &full(0, 16)[..5]), unconfirmed, "a channel is missing");
        let mut holed = full(0, 16);
        holed[3].2 = 0;
        assert_eq!(of(&[SIX], &holed), unconfirmed);
        holed[3].2 = 32;
        assert_eq!(of(&[SIX], &holed), unconfirmed);
    }
}
