//! Peaks of the populated memory channels, by socket and by node.

use narrows_model::BytesPerSecond;
use narrows_model::host::{ChannelId, Host, Slot};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of a transfer on one memory channel (JEDEC: 64 data bits).
const CHANNEL_BYTES: f64 = 8.0;

/// The populated channels of one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SocketPeak {
    /// Channels that hold a module.
    pub channels: u32,
    /// Their peak together.
    pub rate_bytes_per_second: BytesPerSecond,
}

/// What is not known of a module, so that the peak of its channel is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPeak {
    /// The channel that it is on.
    Channel,
    /// Its size: firmware may tell none of one that it switched off.
    Size,
    /// The speed that it runs at.
    Speed,
}

impl fmt::Display for NoPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel => "the channel of a module is not known",
            Self::Size => "whether a module works: firmware does not know its size",
            Self::Speed => "the speed a module runs at is not known",
        })
    }
}

/// The peak of each socket's populated channels, or what is not known of it. A channel runs at the
/// configured speed of its slowest module.
pub fn socket_peaks(slots: &[Slot]) -> Result<BTreeMap<u32, SocketPeak>, NoPeak> {
    let mut channels: BTreeMap<(u32, &ChannelId), u32> = BTreeMap::new();
    for slot in slots {
        let Some(module) = slot.module.as_ref().filter(|module| module.is_dram) else { continue };
        let at = slot.at.as_ref().ok_or(NoPeak::Channel)?;
        // Such a module may be switched off.
        module.size_bytes.ok_or(NoPeak::Size)?;
        let speed = module.configured_mts.ok_or(NoPeak::Speed)?;
        let least = channels.entry((at.socket, &at.channel)).or_insert(speed);
        *least = speed.min(*least);
    }
    let mut sockets: BTreeMap<u32, SocketPeak> = BTreeMap::new();
    for ((socket, _), mts) in channels {
        let peak = sockets.entry(socket).or_default();
        peak.channels += 1;
        peak.rate_bytes_per_second.0 += f64::from(mts) * 1e6 * CHANNEL_BYTES;
    }
    Ok(sockets)
}

/// Why the peak of a node is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOfNode {
    /// There are more nodes with memory than sockets, or fewer.
    Uneven,
    /// The node is of no socket.
    NoSocket,
}

impl fmt::Display for NotOfNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uneven => "memory nodes and sockets are not one to one",
            Self::NoSocket => "no socket for this node",
        })
    }
}

/// The socket of a node and its peak; told only where sockets and nodes with memory are one to one.
pub(crate) fn of_node(
    host: &Host,
    node: Option<u32>,
    sockets: &BTreeMap<u32, SocketPeak>,
) -> Result<(u32, SocketPeak), NotOfNode> {
    let nodes = host.nodes.iter().filter(|node| node.memory_bytes.value().is_some_and(|b| b.0 > 0));
    if sockets.is_empty() || nodes.count().max(1) != sockets.len() {
        return Err(NotOfNode::Uneven);
    }
    let position = host.nodes.iter().position(|have| Some(have.id) == node).unwrap_or(0);
    let found = sockets.iter().nth(position).map(|(socket, peak)| (*socket, *peak));
    found.ok_or(NotOfNode::NoSocket)
}

/// The peak of a node's socket. Where all sockets have the same no node need be known; `None` where
/// they differ and nothing tells which is the node's.
pub fn peak_of_node(host: &Host, node: Option<u32>) -> Option<SocketPeak> {
    let sockets = socket_peaks(host.memory.slots.value()?).ok()?;
    let first = *sockets.values().next()?;
    if sockets.values().all(|peak| *peak == first) {
        return Some(first);
    }
    of_node(host, Some(node?), &sockets).ok().map(|(_, peak)| peak)
}
