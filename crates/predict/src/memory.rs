//! `memory`: measured memory bandwidth divided by the bytes that cross the memory bus for each
//! payload byte.

use crate::{Stated, modelled};
use narrows_facts::host::{Host, Nic};
use narrows_facts::result::{Ceiling, Estimate, Method, Provenance, Unit};
use narrows_facts::study::Study;
use narrows_stats::{Label, Summary};

/// Bytes on the memory bus per payload byte of kernel sockets. The middle is fitted on the two
/// tables of the Lenovo study of memory population (one socket); the ends are 1, every copy hitting
/// the cache, and 4, none (Ohio State's accounting of sockets).
const SOCKET_DEMAND: [f64; 3] = [1.0, 2.18, 4.0];
/// The same when both ends are on this host and no byte stays in a cache: two copies, each reads,
/// fetches the line it is about to write, and writes.
const LOCAL_DEMAND_COLD: f64 = 6.0;

/// Bytes a second that the memory bus carried during the copy kernel.
fn bus(all: &[Summary]) -> Result<(Estimate, f64), String> {
    let copy = all.iter().find(|summary| summary.kind == "memory-copy");
    let Some(copy) = copy else { return Err("memory: not measured in this study".into()) };
    if copy.labels.contains(&Label::CacheResident) {
        return Err(
            "memory: the working set may fit in the caches, so memory was not measured".into()
        );
    }
    let estimate = copy.estimate.ok_or("memory: every copy run failed")?;
    let percent = copy.effective.bus_percent_of_counted.unwrap_or(100);
    Ok((estimate, f64::from(percent) / 100.0))
}

fn ceiling(all: &[Summary], demand: [f64; 3]) -> Result<(Estimate, String), String> {
    let (copy, per_counted) = bus(all)?;
    let bits = 8.0 * per_counted;
    let [least, middle, most] = demand;
    let says = format!(
        "{:.1} GB/s crossing the bus (copy: {:.1} GB/s counted x {per_counted}) / {middle} bytes a \
         payload byte ({least} to {most})",
        copy.value * per_counted / 1e9,
        copy.value / 1e9,
    );
    Ok((
        modelled(copy.value * bits / middle, copy.low * bits / most, copy.high * bits / least),
        says,
    ))
}

/// The memory behind a NIC. Measured on the node the kernels ran on: a NIC of another node gets no
/// figure of this one.
pub fn of_nic(study: &Study, nic: &Nic, all: &[Summary]) -> Stated {
    if let (Some(node), Some(ran_on)) = (nic.node.value(), study.memory_node)
        && *node != ran_on
    {
        return Err(format!("memory: {} is on node {node}, measured was node {ran_on}", nic.name));
    }
    let (range, says) = ceiling(all, SOCKET_DEMAND)?;
    Ok(Ceiling {
        resource: "memory".into(),
        range,
        says,
        only_if: None,
        provenance: vec![
            Provenance::Measured("memory-copy on this host".into()),
            Provenance::Fitted("2.18 on Lenovo LP1241, tables 1 and 2".into()),
            Provenance::Assumed("1 to 4 by the share of copies that hit the cache".into()),
        ],
    })
}

/// The memory behind the local path, if nothing stayed in the caches.
pub fn local(all: &[Summary]) -> Stated {
    let (range, says) = ceiling(all, [LOCAL_DEMAND_COLD; 3])?;
    Ok(Ceiling {
        resource: "memory".into(),
        range,
        says: format!(
            "{says}: two copies, each read, fetch and write; the measured trial reuses one hot buffer"
        ),
        only_if: Some("the data is in no cache".into()),
        provenance: vec![
            Provenance::Measured("memory-copy on this host".into()),
            Provenance::Assumed("6 bytes a payload byte: two copies that miss every cache".into()),
        ],
    })
}

/// Bytes of a transfer on one memory channel (JEDEC: 64 data bits).
const CHANNEL_BYTES: f64 = 8.0;

/// The peak of the populated channels of one node's socket for a kernel, bytes counted a second.
/// Stated only where every module's channel and speed is known and sockets and nodes are one to
/// one.
pub fn peak(host: &Host, node: Option<u32>, kernel: &Summary) -> Stated {
    let slots = host.memory.slots.value();
    let slots = slots.ok_or_else(|| {
        format!("dram: memory slots: {}", host.memory.slots.gap().unwrap_or_default())
    })?;
    let mut channels = std::collections::BTreeMap::new();
    let mut sockets = std::collections::BTreeSet::new();
    for slot in slots {
        let Some(module) = slot.module.as_ref().filter(|module| module.is_dram) else { continue };
        let at = slot.at.as_ref().ok_or("dram: the channel of a module is not known")?;
        let speed = module.configured_mts.ok_or("dram: the speed of a module is not known")?;
        sockets.insert(at.socket);
        // A channel runs at the speed of its slowest module.
        let least = channels.entry((at.socket, at.channel.clone())).or_insert(speed);
        *least = speed.min(*least);
    }
    let nodes = host.nodes.iter().filter(|node| node.memory_bytes.value().is_some_and(|b| b.0 > 0));
    if sockets.is_empty() || nodes.count().max(1) != sockets.len() {
        return Err("dram: memory nodes and sockets are not one to one".into());
    }
    let position = host.nodes.iter().position(|have| Some(have.id) == node).unwrap_or(0);
    let socket = sockets.iter().nth(position).copied().unwrap_or(0);
    let speeds: Vec<f64> = channels
        .iter()
        .filter(|((s, _), _)| *s == socket)
        .map(|(_, mts)| f64::from(*mts))
        .collect();
    let crossing = f64::from(kernel.effective.bus_percent_of_counted.unwrap_or(100)) / 100.0;
    let rate = speeds.iter().sum::<f64>() * 1e6 * CHANNEL_BYTES / crossing;
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
            speeds.len()
        ),
        only_if: None,
        provenance: vec![
            Provenance::Read(host.memory.slots.source().0.clone()),
            Provenance::DataSheet("JEDEC: 8 bytes a transfer and channel".into()),
        ],
    })
}
