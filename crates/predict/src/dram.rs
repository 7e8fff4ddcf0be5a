//! `dram`: what the populated channels of a socket carry at most.

use narrows_model::BytesPerSecond;
use narrows_model::host::{Host, Slot};
use narrows_model::result::{Ceiling, Estimate, Method, Provenance, Unit};
use narrows_stats::Summary;
use std::collections::BTreeMap;

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

/// The peak of each socket's populated channels, or what is not known of it. A channel runs at the
/// configured speed of its slowest module.
pub fn socket_peaks(slots: &[Slot]) -> Result<BTreeMap<u32, SocketPeak>, String> {
    let mut channels: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for slot in slots {
        let Some(module) = slot.module.as_ref().filter(|module| module.is_dram) else { continue };
        let at = slot.at.as_ref().ok_or("the channel of a module is not known")?;
        // Such a module may be switched off.
        module.size_bytes.ok_or("whether a module works: firmware does not know its size")?;
        let speed = module.configured_mts.ok_or("the speed a module runs at is not known")?;
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

/// The peak of one node's socket for a kernel, bytes counted a second. Stated only where sockets
/// and nodes with memory are one to one.
pub(crate) fn peak(host: &Host, node: Option<u32>, kernel: &Summary) -> Result<Ceiling, String> {
    let slots = host.memory.slots.value();
    let slots = slots.ok_or_else(|| {
        format!("dram: memory slots: {}", host.memory.slots.gap().unwrap_or_default())
    })?;
    let sockets = socket_peaks(slots).map_err(|gap| format!("dram: {gap}"))?;
    let nodes = host.nodes.iter().filter(|node| node.memory_bytes.value().is_some_and(|b| b.0 > 0));
    if sockets.is_empty() || nodes.count().max(1) != sockets.len() {
        return Err("dram: memory nodes and sockets are not one to one".into());
    }
    let position = host.nodes.iter().position(|have| Some(have.id) == node).unwrap_or(0);
    let (socket, peak) = sockets.iter().nth(position).ok_or("dram: no socket for this node")?;
    let percent = kernel.effective.bus_percent_of_counted;
    let percent =
        percent.ok_or("dram: how many bytes cross the bus is not known of this kernel")?;
    let crossing = f64::from(percent) / 100.0;
    let rate = peak.rate_bytes_per_second.0 / crossing;
    Ok(Ceiling {
        resource: "dram".into(),
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
