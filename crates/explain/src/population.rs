//! How the memory channels of each socket are populated.

use narrows_facts::host::Slot;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
                return Err(format!("the channel of slot '{locator}': it does not spell it out"));
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
