//! `dram`: what the populated channels of a socket carry at most.

use crate::resources::Gap;
use narrows_model::BytesPerSecond;
use narrows_model::host::{ChannelId, Host, Slot};
use narrows_model::result::{Ceiling, Estimate, Method, Provenance, ResourceName};
use narrows_model::units::Unit;
use narrows_stats::Summary;
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

fn unknown(why: impl Into<String>) -> Gap {
    Gap::new(ResourceName::Dram, why)
}

/// The socket of a node and its peak; told only where sockets and nodes with memory are one to one.
fn of_node(
    host: &Host,
    node: Option<u32>,
    sockets: &BTreeMap<u32, SocketPeak>,
) -> Result<(u32, SocketPeak), Gap> {
    let nodes = host.nodes.iter().filter(|node| node.memory_bytes.value().is_some_and(|b| b.0 > 0));
    if sockets.is_empty() || nodes.count().max(1) != sockets.len() {
        return Err(unknown("memory nodes and sockets are not one to one"));
    }
    let position = host.nodes.iter().position(|have| Some(have.id) == node).unwrap_or(0);
    let found = sockets.iter().nth(position).map(|(socket, peak)| (*socket, *peak));
    found.ok_or_else(|| unknown("no socket for this node"))
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

/// The peak of one node's socket for a kernel, bytes counted a second.
pub(crate) fn peak(host: &Host, node: Option<u32>, kernel: &Summary) -> Result<Ceiling, Gap> {
    let slots = host.memory.slots.value();
    let slots = slots.ok_or_else(|| {
        unknown(format!("memory slots: {}", host.memory.slots.gap().unwrap_or_default()))
    })?;
    let sockets = socket_peaks(slots).map_err(|why| unknown(why.to_string()))?;
    let (socket, peak) = of_node(host, node, &sockets)?;
    let percent = kernel.settings.sender().and_then(|end| end.bus_percent_of_counted);
    let percent = percent
        .ok_or_else(|| unknown("how many bytes cross the bus is unknown for this kernel"))?;
    let crossing = f64::from(percent) / 100.0;
    let rate = peak.rate_bytes_per_second.0 / crossing;
    Ok(Ceiling {
        resource: ResourceName::Dram.into(),
        range: Estimate {
            value: rate,
            low: rate,
            high: rate,
            unit: Unit::BytesPerSecond,
            n: 0,
            by: Method::Model,
        },
        says: format!(
            "peak of {} populated channels of socket {socket}, {crossing} bytes a byte counted",
            peak.channels
        ),
        only_if: None,
        provenance: vec![
            Provenance::Read(host.memory.slots.source().0.clone()),
            Provenance::DataSheet("JEDEC: 8 bytes a transfer and channel".into()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::{Module, Node, SlotPlace};
    use narrows_model::{Bytes, Fact};

    /// A module on a channel of a socket, at this speed; `None` where that is not known.
    fn slot(socket: u32, channel: &str, mts: Option<u32>) -> Slot {
        let module = Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: mts,
            ..Module::default()
        };
        let at = SlotPlace { socket, channel: channel.into(), controller: None };
        Slot { at: Some(at), module: Some(module), ..Slot::default() }
    }

    fn host(slots: Vec<Slot>, nodes: &[u32]) -> Host {
        let node = |id: &u32| Node {
            id: *id,
            memory_bytes: Fact::known(Bytes::gib(32), "planted"),
            ..Node::default()
        };
        let mut host = Host { nodes: nodes.iter().map(node).collect(), ..Host::default() };
        host.memory.slots = Fact::known(slots, "planted");
        host
    }

    #[test]
    fn a_channel_carries_eight_bytes_a_transfer_at_its_slowest_modules_speed() {
        let slots = [
            slot(0, "A", Some(3200)),
            slot(0, "A", Some(2933)),
            slot(0, "B", Some(3200)),
            slot(1, "A", Some(3200)),
        ];
        let peaks = socket_peaks(&slots).expect("peaks");
        let of = |socket| (peaks[&socket].channels, peaks[&socket].rate_bytes_per_second.0);
        assert_eq!(of(0), (2, (2933.0 + 3200.0) * 8e6));
        assert_eq!(of(1), (1, 3200.0 * 8e6));
        let mut empty = slot(0, "C", None);
        empty.module = None;
        assert_eq!(socket_peaks(&[empty]).map(|peaks| peaks.len()), Ok(0));
        assert_eq!(socket_peaks(&[slot(0, "A", None)]), Err(NoPeak::Speed));
        let mut nowhere = slot(0, "A", Some(3200));
        nowhere.at = None;
        assert_eq!(socket_peaks(&[nowhere]), Err(NoPeak::Channel));
        let mut off = slot(0, "A", Some(3200));
        off.module.as_mut().expect("a module").size_bytes = None;
        assert_eq!(socket_peaks(&[off]), Err(NoPeak::Size));
    }

    #[test]
    fn a_node_has_the_peak_of_its_socket_and_none_where_sockets_differ_and_it_is_unknown() {
        let channels = |host: &Host, node| peak_of_node(host, node).map(|peak| peak.channels);
        let (one, two) = (slot(0, "A", Some(3200)), slot(1, "A", Some(3200)));
        let alike = host(vec![one.clone(), two.clone()], &[0, 1]);
        assert_eq!([None, Some(1)].map(|node| channels(&alike, node)), [Some(1); 2]);
        let differ = host(vec![one.clone(), two.clone(), slot(1, "B", Some(3200))], &[0, 1]);
        let nodes = [None, Some(0), Some(1)];
        assert_eq!(nodes.map(|node| channels(&differ, node)), [None, Some(1), Some(2)]);
        let split = host(vec![one, two, slot(1, "B", Some(3200))], &[0, 1, 2, 3]);
        assert_eq!(channels(&split, Some(1)), None, "nodes and sockets are not one to one");
        assert_eq!(channels(&Host::default(), Some(0)), None);
    }
}
