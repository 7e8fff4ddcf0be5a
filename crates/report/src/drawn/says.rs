//! What is written beside the parts of a host: rates, sizes and names.

use super::layout::{Home, Package};
use crate::words;
use narrows_dimm::population::Population;
use narrows_model::host::{ChannelId, Host, Nic, Node, NodeAccess, Slot};
use narrows_model::shown;
use narrows_model::units::three_digits;
use narrows_predict::dram::socket_peaks;
use narrows_predict::pcie::{Joint, joints, raw_bps};
use narrows_predict::pcie_paths::{Uplink, uplink};
use std::collections::{BTreeMap, BTreeSet};

/// `6 of 6 channels, peak 128 GB/s, 2666 MT/s (rated 2933, 2 modules on a channel)`.
pub(crate) fn channels(
    host: &Host,
    socket: &Package<'_>,
    population: Option<&Population>,
) -> String {
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let of = |population: &Population| {
        let own = population.sockets.iter().find(|one| one.socket == socket.number)?;
        Some(format!("{} of {} channels", own.populated().len(), own.width()))
    };
    let counted = population.and_then(of).unwrap_or_else(|| {
        let populated = socket
            .channels
            .iter()
            .filter(|channel| {
                channel
                    .slots
                    .iter()
                    .any(|slot| slot.module.as_ref().is_some_and(|module| module.is_dram))
            })
            .count();
        format!("{populated} of {} channels", socket.channels.len())
    });
    let peak = match socket_peaks(slots) {
        Ok(peaks) => peaks.get(&socket.number).map_or("no memory".to_owned(), |peak| {
            let rate = three_digits(peak.rate_bytes_per_second.gbytes());
            format!("peak {rate} GB/s{}", speeds(slots, socket.number))
        }),
        Err(gap) => format!("peak unknown: {gap}"),
    };
    format!("{counted}, {peak}")
}

/// `interleave sets: 4-way 128 GiB, 1-way 32 GiB`; nothing where they are not known.
pub(crate) fn sets(socket: u32, population: Option<&Population>) -> Option<String> {
    let sets = population?.sets.as_ref().ok()?;
    let here = sets.by_socket.get(&socket).filter(|sets| !sets.is_empty())?;
    let each = here.iter().map(|set| {
        let peak = set.peak_bytes_per_second.map(|peak| three_digits(peak.gbytes()));
        let peak = peak.map_or(String::new(), |peak| format!(" ({peak} GB/s)"));
        format!("{}-way {}{peak}", set.ways(), set.size_bytes)
    });
    let what = if here.len() == 1 { "interleave set" } else { "interleave sets" };
    Some(format!("{what}: {}", each.collect::<Vec<_>>().join(", ")))
}

/// `, 2400 MT/s (rated 2666)`.
fn speeds(slots: &[Slot], socket: u32) -> String {
    let here = slots.iter().filter(|slot| slot.at.as_ref().is_some_and(|at| at.socket == socket));
    let modules: Vec<_> =
        here.filter_map(|slot| slot.module.as_ref()).filter(|module| module.is_dram).collect();
    let now: BTreeSet<u32> = modules.iter().filter_map(|module| module.configured_mts).collect();
    let rated: BTreeSet<u32> = modules.iter().filter_map(|module| module.rated_mts).collect();
    let mut deep: BTreeMap<&ChannelId, u32> = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|m| m.is_dram)) {
        if let Some(at) = slot.at.as_ref().filter(|at| at.socket == socket) {
            *deep.entry(&at.channel).or_default() += 1;
        }
    }
    let several = deep.into_values().max().filter(|modules| *modules > 1);
    let several = several.map_or(String::new(), |n| format!(", {n} modules on a channel"));
    if rated.is_empty() || rated == now {
        return format!(", {} MT/s", list(now));
    }
    format!(", {} MT/s (rated {}{several})", list(now), list(rated))
}

fn list(values: BTreeSet<u32>) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// `node 0: 18 CPUs, 93.1 GiB memory, L3 24.8 MiB`.
pub(crate) fn node(host: &Host, home: &Home<'_>) -> String {
    let node = home.node;
    let memory = words::or_dash(&node.memory_bytes);
    let cpus = match node.cpus.as_slice() {
        [] => "no CPU".to_owned(),
        cpus => words::counted(cpus.len(), "CPU"),
    };
    let sockets: Vec<String> = home.over.iter().map(u32::to_string).collect();
    let over = match sockets.len() {
        0 | 1 => String::new(),
        _ => format!(", over sockets {}", sockets.join(", ")),
    };
    format!("node {}: {cpus}, {memory} memory{}{over}", node.id, cache(host, node))
}

/// `, L3 24.8 MiB`: the caches of the highest level together.
pub(crate) fn cache(host: &Host, node: &Node) -> String {
    let level = host.cpu.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let caches = host.cpu.caches.iter().filter(|cache| {
        cache.level == level && cache.cpus.iter().any(|cpu| node.cpus.contains(cpu))
    });
    match caches.map(|cache| cache.size_bytes.0).fold(0, u64::saturating_add) {
        0 => String::new(),
        bytes => format!(", L{level} {}", narrows_model::Bytes(bytes)),
    }
}

/// `126 GB/s, 90 ns for reads from node 0 (HMAT)`.
pub(crate) fn firmware(access: &NodeAccess) -> Option<String> {
    let rate =
        access.read_bytes_per_second.map(|rate| format!("{} GB/s", three_digits(rate.gbytes())));
    let latency = access.read_latency_ns.map(|latency| format!("{} ns", latency.0));
    let figures: Vec<String> = rate.into_iter().chain(latency).collect();
    let from: Vec<String> = access.initiators.iter().map(u32::to_string).collect();
    let from = if from.is_empty() { "?".to_owned() } else { from.join(", ") };
    (!figures.is_empty())
        .then(|| format!("{} for reads from node {from} (HMAT)", figures.join(", ")))
}

/// The path of a NIC from its socket to the wire.
pub(crate) struct Way {
    /// Links down to the NIC: `PCIe 8 GT/s x16 (15.8 GB/s)`.
    pub links: Vec<String>,
    /// Interface and driver: `eth0 mlx5_core`.
    pub nic: String,
    /// `100 Gb/s (12.5 GB/s)`.
    pub wire: String,
    /// What the card is, and the slot it is in.
    pub card: Option<String>,
    /// The link that carries least, where that is less than the port does.
    pub narrow: Option<usize>,
}

impl Way {
    /// Of one NIC.
    pub fn of(host: &Host, nic: &Nic) -> Self {
        let joints = joints(nic);
        let mut links: Vec<(String, Option<f64>)> = Vec::new();
        if let Some(Uplink::Chipset { link }) = nic.path.first().map(uplink) {
            let bps = link.map(|(speed, width)| raw_bps(speed, width));
            let rate = bps.map(|bps| three_digits(bps / 8e9));
            let rate = rate.map_or(String::new(), |rate| format!(" ({rate} GB/s, data sheet)"));
            links.push((format!("chipset uplink{rate}"), bps));
        }
        links.extend(joints.iter().map(|joint| (of_joint(joint), Some(joint.raw_bps))));
        if links.is_empty() {
            let says = match nic.path.last() {
                Some(hop) => format!("PCI {}, no link state", shown::line(&hop.address)),
                None => "not on PCI".to_owned(),
            };
            links.push((says, None));
        }
        let speed = nic.speed_bps.value();
        let rates = links.iter().enumerate().filter_map(|(at, (_, bps))| Some((at, (*bps)?)));
        let slowest = rates.min_by(|a, b| a.1.total_cmp(&b.1));
        let driver = nic.driver.value().map_or(String::new(), |driver| format!(" {driver}"));
        Self {
            narrow: slowest
                .filter(|(_, bps)| speed.is_some_and(|speed| *bps < speed.0))
                .map(|s| s.0),
            links: links.into_iter().map(|(says, _)| says).collect(),
            nic: shown::line(&format!("{}{driver}", nic.name)).into_owned(),
            wire: speed.map_or("link speed unknown".to_owned(), |speed| {
                format!("{speed} ({} GB/s)", three_digits(speed.0 / 8e9))
            }),
            card: nic.path.last().map(|hop| {
                let slot = host.slot_of(&nic.path);
                let slot = slot.map_or(String::new(), |slot| format!(", in {}", slot.name));
                shown::line(&format!("{}{slot}", hop.name)).into_owned()
            }),
        }
    }
}

/// `PCIe 8 GT/s x16 (15.8 GB/s)`.
fn of_joint(joint: &Joint<'_>) -> String {
    match joint.now {
        Some(_) => format!("PCIe {} ({} GB/s)", joint.says(), three_digits(joint.raw_bps / 8e9)),
        None => format!("PCIe {}", joint.says()),
    }
}
