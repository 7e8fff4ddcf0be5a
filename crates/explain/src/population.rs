//! How the memory channels of each socket are populated.

use narrows_facts::host::Slot;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Population of one socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Socket, from 0.
    pub socket: u32,
    /// Per channel label, the sizes of its modules in MiB, ascending; empty for an empty channel.
    pub channels: BTreeMap<String, Vec<u64>>,
}

/// How even a population is (docs/explain.md states the rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Every channel holds the same modules.
    Balanced,
    /// The populated channels hold the same modules; some channels are empty.
    NearBalanced,
    /// Each socket is even in itself, but the sockets differ.
    SocketAsymmetric,
    /// Channels of one socket hold different modules: its memory is several interleave sets.
    Unbalanced,
}

/// The population by socket, or what is not known of it.
pub fn sockets(slots: &[Slot]) -> Result<Vec<Socket>, String> {
    let mut sockets: BTreeMap<u32, Socket> = BTreeMap::new();
    for slot in slots {
        let module = slot.module.as_ref().filter(|module| module.is_dram);
        let Some(at) = &slot.at else {
            if module.is_some() {
                let locator = &slot.locator;
                return Err(format!(
                    "the channel of slot '{locator}', which its name does not tell"
                ));
            }
            continue;
        };
        let empty = || Socket { socket: at.socket, channels: BTreeMap::new() };
        let socket = sockets.entry(at.socket).or_insert_with(empty);
        let channel = socket.channels.entry(at.channel.clone()).or_default();
        if let Some(module) = module {
            let size = module.size_bytes.ok_or_else(|| {
                format!("the size of the module in {}: firmware does not know it", slot.locator)
            })?;
            channel.push(size.0 >> 20);
            channel.sort_unstable();
        }
    }
    let sockets: Vec<Socket> = sockets.into_values().collect();
    match sockets.iter().any(|socket| !socket.populated().is_empty()) {
        true => Ok(sockets),
        false => Err("a memory module in any slot".to_owned()),
    }
}

impl Socket {
    /// The channels that hold something.
    pub fn populated(&self) -> Vec<(&String, &Vec<u64>)> {
        self.channels.iter().filter(|(_, modules)| !modules.is_empty()).collect()
    }

    fn is_even(&self) -> bool {
        let populated = self.populated();
        populated.windows(2).all(|pair| pair[0].1 == pair[1].1)
    }

    /// What the populated channels hold, without regard to which they are.
    fn shape(&self) -> Vec<&Vec<u64>> {
        let mut shape: Vec<&Vec<u64>> =
            self.populated().into_iter().map(|(_, modules)| modules).collect();
        shape.sort();
        shape
    }
}

/// The balance of a whole host: that of its worst socket, or the sockets' difference.
pub fn balance(sockets: &[Socket]) -> Balance {
    if sockets.iter().any(|socket| !socket.is_even()) {
        return Balance::Unbalanced;
    }
    if sockets.windows(2).any(|pair| pair[0].shape() != pair[1].shape()) {
        return Balance::SocketAsymmetric;
    }
    let full = |socket: &Socket| socket.populated().len() == socket.channels.len();
    if sockets.iter().all(full) { Balance::Balanced } else { Balance::NearBalanced }
}

/// A module to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Locator of the slot that holds it.
    pub from: String,
    /// Locator of an empty slot.
    pub to: String,
}

/// The moves inside each socket after which every channel holds the same; `None` when moves alone
/// cannot do it: unlike modules, a number that does not divide, or channels with too few slots.
pub fn moves(slots: &[Slot]) -> Option<Vec<Move>> {
    let numbers: BTreeSet<u32> =
        slots.iter().filter_map(|slot| Some(slot.at.as_ref()?.socket)).collect();
    let mut moves = Vec::new();
    for number in numbers {
        moves.extend(moves_of(slots, number)?);
    }
    (!moves.is_empty()).then_some(moves)
}

fn moves_of(slots: &[Slot], socket: u32) -> Option<Vec<Move>> {
    let mut channels: BTreeMap<&str, (Vec<&Slot>, Vec<&Slot>)> = BTreeMap::new();
    let mut kinds = BTreeSet::new();
    for slot in slots {
        let Some(at) = slot.at.as_ref().filter(|at| at.socket == socket) else { continue };
        let (full, empty) = channels.entry(&at.channel).or_default();
        match &slot.module {
            None => empty.push(slot),
            // Flash and persistent memory stay where they are, and take their slot.
            Some(module) if !module.is_dram => {}
            Some(module) => {
                kinds.insert((module.size_bytes?.0, &module.technology, module.ranks));
                full.push(slot);
            }
        }
    }
    let all: usize = channels.values().map(|(full, _)| full.len()).sum();
    if kinds.len() > 1 || all == 0 || !all.is_multiple_of(channels.len()) {
        return None;
    }
    let each = all / channels.len();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (full, empty) in channels.values() {
        from.extend(full.iter().skip(each));
        let missing = each.saturating_sub(full.len());
        to.extend(empty.get(..missing)?);
    }
    let pair =
        |(from, to): (&&Slot, &&Slot)| Move { from: from.locator.clone(), to: to.locator.clone() };
    Some(from.iter().zip(&to).map(|(from, to)| pair((from, to))).collect())
}

/// Whether both memory controllers of every populated socket hold the same, which is what the
/// Lenovo study LP1241 of 2019 calls balanced. Only for processors with two controllers of three
/// channels (Xeon Scalable of the first two generations); `None` for others. Channels are taken in
/// the order of their labels: the first three belong to one controller.
pub fn controllers_equal(sockets: &[Socket], processor: &str) -> Option<bool> {
    if !is_two_by_three(processor) || sockets.iter().any(|socket| socket.channels.len() != 6) {
        return None;
    }
    let equal = |socket: &Socket| {
        let mut channels: Vec<(&String, &Vec<u64>)> = socket.channels.iter().collect();
        // 9 before 10.
        channels.sort_by_key(|(label, _)| (label.len(), label.as_str()));
        let mut halves = channels.chunks(3).map(|half| {
            let mut held: Vec<&Vec<u64>> = half.iter().map(|(_, modules)| *modules).collect();
            held.sort();
            held
        });
        halves.next() == halves.next()
    };
    Some(sockets.iter().filter(|socket| !socket.populated().is_empty()).all(equal))
}

/// Xeon Bronze, Silver, Gold and Platinum whose four-digit number has 1 or 2 in its second place.
fn is_two_by_three(processor: &str) -> bool {
    let mut words = processor.split_whitespace();
    let metal = ["Bronze", "Silver", "Gold", "Platinum"];
    let number = words.position(|word| metal.contains(&word)).and_then(|_| words.next());
    let digits: Vec<char> =
        number.unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.len() == 4 && matches!(digits[1], '1' | '2')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sockets given as lists of channels, each a list of module sizes.
    fn host(sockets: &[&[&[u64]]]) -> Vec<Socket> {
        let channels = |list: &[&[u64]]| {
            list.iter()
                .enumerate()
                .map(|(at, modules)| (at.to_string(), modules.to_vec()))
                .collect()
        };
        let sockets = sockets.iter().enumerate();
        sockets.map(|(at, list)| Socket { socket: at as u32, channels: channels(list) }).collect()
    }

    #[test]
    fn processors_with_two_controllers_of_three_channels_are_known_by_name() {
        assert!(is_two_by_three("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"));
        assert!(is_two_by_three("Intel(R) Xeon(R) Platinum 8280L CPU @ 2.60GHz"));
        for other in ["Intel(R) Xeon(R) Gold 6342 CPU", "AMD EPYC 7262", "Intel(R) Xeon(R) Gold"] {
            assert!(!is_two_by_three(other), "{other}");
        }
    }

    #[test]
    fn each_class_has_its_population() {
        let full: &[&[u64]] = &[&[32], &[32]];
        let half: &[&[u64]] = &[&[32], &[]];
        let uneven: &[&[u64]] = &[&[32, 32], &[32]];
        assert_eq!(balance(&host(&[full, full])), Balance::Balanced);
        assert_eq!(balance(&host(&[half, half])), Balance::NearBalanced);
        assert_eq!(balance(&host(&[full, half])), Balance::SocketAsymmetric);
        assert_eq!(balance(&host(&[full, uneven])), Balance::Unbalanced);
        assert_eq!(balance(&host(&[&[&[32], &[16]]])), Balance::Unbalanced);
    }
}
