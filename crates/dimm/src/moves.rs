//! Which modules to move so that a host's memory is balanced: every socket alike, and one
//! interleave set, as wide as the modules allow, in each part of a socket.

use crate::interleave;
use crate::population::{Population, is_split};
use narrows_model::host::{ChannelId, Slot, SlotPlace};
use std::collections::{BTreeMap, BTreeSet};

/// A module to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Locator of the slot that holds it.
    pub from: String,
    /// Locator of an empty slot.
    pub to: String,
}

/// More channels than any socket has: what is over is a garbled table.
const CHANNELS_MAX: usize = 16;

/// One channel: its slots with a module, and those without.
#[derive(Clone, Debug, Default)]
struct Channel<'a> {
    full: Vec<&'a Slot>,
    empty: Vec<&'a Slot>,
}

/// Channels of a socket by label.
type Channels<'a> = BTreeMap<&'a ChannelId, Channel<'a>>;

/// The moves that balance the host; `None` when moves alone cannot, or when none is needed.
pub fn moves(slots: &[Slot], population: &Population) -> Option<Vec<Move>> {
    // An empty slot that firmware does not place may be the better one.
    if slots.iter().any(|slot| slot.module.is_none() && slot.at.is_none()) {
        return None;
    }
    // Not the half of a board that has no processor.
    let sockets: BTreeSet<u32> = population.sockets.iter().map(|socket| socket.socket).collect();
    let mut kinds = BTreeSet::new();
    let mut layouts: BTreeMap<u32, Channels<'_>> = BTreeMap::new();
    for slot in slots {
        let Some(at) = slot.at.as_ref().filter(|at| sockets.contains(&at.socket)) else { continue };
        let channels = layouts.entry(at.socket).or_default();
        let channel = channels.entry(&at.channel).or_default();
        match &slot.module {
            None => channel.empty.push(slot),
            // Flash and persistent memory stay where they are, and take their slot.
            Some(module) if !module.is_dram => {}
            Some(module) => {
                kinds.insert((module.size_bytes?.0, &module.technology, module.ranks));
                channel.full.push(slot);
            }
        }
    }
    let all: usize = layouts
        .values()
        .map(|channels| channels.values().map(|c| c.full.len()).sum::<usize>())
        .sum();
    if kinds.len() != 1 || !all.is_multiple_of(sockets.len()) {
        return None;
    }
    let each = all / sockets.len();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (socket, channels) in &layouts {
        let layout = layout(*socket, channels, each, population)?;
        for (channel, wanted) in channels.values().zip(layout) {
            from.extend(channel.full.iter().skip(wanted));
            to.extend(channel.empty.get(..wanted.saturating_sub(channel.full.len()))?);
        }
    }
    let moves = pair(from, to);
    (!moves.is_empty()).then_some(moves)
}

/// Pairs modules with slots, those of one socket first.
fn pair(from: Vec<&Slot>, mut to: Vec<&Slot>) -> Vec<Move> {
    let socket = |slot: &Slot| slot.at.as_ref().map(|at| at.socket);
    let mut moves = Vec::new();
    let mut late = Vec::new();
    for module in from {
        match to.iter().position(|slot| socket(slot) == socket(module)) {
            Some(at) => moves.push((module, to.remove(at))),
            None => late.push(module),
        }
    }
    moves.extend(late.into_iter().zip(to));
    moves
        .into_iter()
        .map(|(from, to)| Move { from: from.locator.clone(), to: to.locator.clone() })
        .collect()
}

/// Modules for each channel of a socket: on as many channels as divide them, the layout that is one
/// set, and of such the one with the fewest moves.
fn layout(
    socket: u32,
    channels: &Channels<'_>,
    modules: usize,
    population: &Population,
) -> Option<Vec<usize>> {
    if modules == 0 || channels.len() > CHANNELS_MAX {
        return None;
    }
    let channels: Vec<&Channel<'_>> = channels.values().collect();
    for deep in (1..=modules).filter(|deep| modules.is_multiple_of(*deep)) {
        let wide = modules / deep;
        let best = (0u32..1 << channels.len())
            .filter(|set| set.count_ones() as usize == wide)
            .map(|set| {
                (0..channels.len())
                    .map(|bit| if set >> bit & 1 == 1 { deep } else { 0 })
                    .collect::<Vec<usize>>()
            })
            .filter(|layout| layout.iter().zip(&channels).all(|(n, c)| *n <= room(c)))
            .filter(|layout| is_one_set(socket, &channels, layout, population))
            .min_by_key(|layout| {
                layout
                    .iter()
                    .zip(&channels)
                    .map(|(n, c)| c.full.len().saturating_sub(*n))
                    .sum::<usize>()
            });
        if best.is_some() {
            return best;
        }
    }
    None
}

fn room(channel: &Channel<'_>) -> usize {
    channel.full.len() + channel.empty.len()
}

/// Whether a layout is one interleave set in every part of the socket. Where the processor's family
/// is not known, only the same on every channel is.
fn is_one_set(
    socket: u32,
    channels: &[&Channel<'_>],
    layout: &[usize],
    population: &Population,
) -> bool {
    let Some(platform) = population.platform.filter(|_| population.sets.is_ok()) else {
        return layout.iter().all(|wanted| *wanted == layout[0]);
    };
    let mut slots: Vec<Slot> = Vec::new();
    for (channel, wanted) in channels.iter().zip(layout) {
        let Some(first) = channel.full.first().or(channel.empty.first()) else { continue };
        let at = first.at.clone().map(|at| SlotPlace { socket, ..at });
        slots.push(Slot { at: at.clone(), ..Slot::default() });
        let module = channels.iter().find_map(|channel| channel.full.first()?.module.clone());
        let module = module.map(|module| narrows_model::host::Module {
            size_bytes: Some(narrows_model::Bytes::gib(1)),
            ..module
        });
        let held = Slot { at, module: module.or_else(any_module), ..Slot::default() };
        slots.extend(std::iter::repeat_n(held, *wanted));
    }
    let sets = interleave::sets(&slots, platform, population.clusters);
    let sets = sets.ok().and_then(|mut sets| sets.by_socket.remove(&socket)).unwrap_or_default();
    // Parts without memory are no balance either.
    let parts: BTreeSet<u32> = sets.iter().map(|set| set.cluster).collect();
    parts.len() as u32 == population.clusters.max(1) && !is_split(&sets)
}

/// A module of a socket that has none yet.
fn any_module() -> Option<narrows_model::host::Module> {
    Some(narrows_model::host::Module {
        size_bytes: Some(narrows_model::Bytes::gib(1)),
        is_dram: true,
        ..narrows_model::host::Module::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Balance;
    use narrows_model::host::{CpuSocket, Host, Module};
    use narrows_model::{Bytes, Fact};

    /// A host with `P1-DIMMA1` and so on: per socket and channel the modules in two slots.
    fn host(processor: &str, sockets: &[&[usize]]) -> Host {
        let mut host = Host::default();
        host.cpu.model = Fact::known(processor.to_owned(), "planted");
        let mut slots = Vec::new();
        for (socket, channels) in sockets.iter().enumerate() {
            for (channel, modules) in channels.iter().enumerate() {
                let letter = char::from(b'A' + channel as u8);
                for slot in 0..2 {
                    let module = Module {
                        size_bytes: Some(Bytes::gib(32)),
                        technology: "DDR4".into(),
                        is_dram: true,
                        ..Module::default()
                    };
                    let at = SlotPlace {
                        socket: socket as u32,
                        channel: letter.to_string().into(),
                        controller: None,
                    };
                    slots.push(Slot {
                        locator: format!("P{}-DIMM{letter}{}", socket + 1, slot + 1),
                        at: Some(at),
                        module: (slot < *modules).then_some(module),
                        ..Slot::default()
                    });
                }
            }
        }
        host.memory.slots = Fact::known(slots, "planted");
        host
    }

    fn steps(host: &Host) -> Option<Vec<String>> {
        let population = Population::of(host).expect("population");
        let moves = moves(host.memory.slots.value().expect("slots"), &population)?;
        Some(moves.iter().map(|step| format!("{} to {}", step.from, step.to)).collect())
    }

    #[test]
    fn three_modules_on_two_controllers_go_to_one() {
        let host = host("Xeon Gold 6248", &[&[1, 1, 0, 1, 0, 0]]);
        assert_eq!(steps(&host), Some(vec!["P1-DIMMD1 to P1-DIMMC1".to_owned()]));
    }

    #[test]
    fn sockets_that_differ_are_made_alike() {
        let host = host("Xeon Gold 6248", &[&[1, 1, 1, 1, 1, 1], &[1, 0, 0, 1, 0, 0]]);
        // Eight modules: four on each socket, two on each controller.
        let moved = steps(&host).expect("moves");
        assert_eq!(moved.len(), 2, "{moved:?}");
        assert!(moved.iter().all(|step| step.starts_with("P1-") && step.contains("to P2-")));
    }

    #[test]
    fn a_socket_without_a_processor_gets_no_modules_and_is_no_asymmetry() {
        let mut host = host("Xeon Gold 6248", &[&[1, 1, 0, 1, 1, 0], &[0; 6]]);
        let balance = |host: &Host| Population::of(host).expect("population").balance;
        assert_eq!(balance(&host), Balance::SocketAsymmetric);
        let socket = |populated: bool| CpuSocket { populated, ..CpuSocket::default() };
        host.cpu.sockets = Fact::known(vec![socket(true), socket(false)], "planted");
        assert_eq!(balance(&host), Balance::NearBalanced);
        assert_eq!(steps(&host), None);
    }

    #[test]
    fn what_moves_cannot_do_is_not_proposed() {
        assert_eq!(steps(&host("Xeon Gold 6248", &[&[1, 1, 1, 1, 1, 0]])), None);
        assert_eq!(
            steps(&host("Xeon Gold 6248", &[&[1, 0, 0, 1, 0, 0]])),
            None,
            "balanced already"
        );
        assert_eq!(
            steps(&host("unknown", &[&[2, 0]])),
            Some(vec!["P1-DIMMA2 to P1-DIMMB1".into()])
        );
        assert_eq!(steps(&host("unknown", &[&[2, 1, 0, 0]])), None);
    }
}
