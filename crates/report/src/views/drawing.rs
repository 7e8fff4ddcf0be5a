//! `drawing`: sockets with their channels and modules, nodes, and NICs, and the width of each road
//! in GB/s where it is known.

use super::View;
use crate::{hardware, words};
use narrows_dimm::interleave::Sets;
use narrows_dimm::population::{Population, Socket, controllers_equal};
use narrows_explain::{findings, judge_host};
use narrows_model::host::{DeviceKind, Host, Nic, Node, NodeAccess, Slot};
use narrows_model::units::three_digits;
use narrows_predict::dram::{SocketPeak, socket_peaks};
use narrows_predict::pcie::{joints, raw_bps};
use narrows_predict::roads::{Road, Uplink, roads, shared, uplink};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The default view.
pub static VIEW: View = View { name: "drawing", write };

/// Channels in one line of the drawing.
const CHANNELS_A_LINE: usize = 6;
/// More other devices than this are counted, not drawn.
const OTHERS_MAX: usize = 12;

fn write(host: &Host) -> String {
    let mut out = String::new();
    let names = [host.name.value(), host.product.value()];
    let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
    if !names.is_empty() {
        let _ = writeln!(out, "{}", names.join(", "));
    }
    // A description of memory alone: makers' slot numbers are then nobody's.
    if host.product.value().is_none() && host.memory.slots.value().is_some() {
        let _ = writeln!(out, "product unknown: {}", host.product.source());
    }
    let _ = writeln!(out, "{}", words::host_line(host));
    memory(&mut out, host);
    for node in &host.nodes {
        draw_node(&mut out, host, node);
    }
    let roads = roads(host);
    others(&mut out, &roads);
    for link in shared(&roads).iter().filter(|link| link.ports_bps > 0.0) {
        let left = link.payload_bps.map_or("unknown".to_owned(), |bps| three_digits(bps / 8e9));
        let _ = writeln!(
            out,
            "\nshared: {}, {left} GB/s of payload, by ports of {} GB/s{}",
            link.says,
            three_digits(link.ports_bps / 8e9),
            if link.others > 0 {
                format!(" and {}", words::counted(link.others, "other device"))
            } else {
                String::new()
            }
        );
    }
    let homeless: Vec<&Nic> =
        host.physical_nics().filter(|nic| home(host, nic).is_none()).collect();
    if !homeless.is_empty() {
        let _ = writeln!(out, "\nnode unknown");
        homeless.iter().for_each(|nic| draw_nic(&mut out, host, nic));
    }
    found(&mut out, host);
    out.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

/// What the rules find that look at the host alone.
fn found(out: &mut String, host: &Host) {
    let judged = judge_host(host);
    let findings = findings(&judged);
    if !findings.is_empty() {
        let _ = writeln!(out, "\nfindings");
    }
    for finding in findings {
        let _ = writeln!(out, "  {}: {}", words::weight(finding.weight), finding.says);
        let _ = writeln!(out, "    do: {}", finding.remedy);
    }
}

fn memory(out: &mut String, host: &Host) {
    let population = match Population::of(host) {
        Ok(population) => population,
        Err(missing) => {
            let Some(slots) = host.memory.slots.value() else {
                let _ = writeln!(out, "\n{missing}");
                return;
            };
            let modules = slots.iter().filter(|slot| slot.module.is_some()).count();
            let what = words::counted(modules, "module");
            let slots = words::counted(slots.len(), "slot");
            let _ =
                writeln!(out, "\nmemory: {what} in {slots}; balance unknown, it needs {missing}");
            return;
        }
    };
    let processor = host.cpu.model.value().map_or("", String::as_str);
    let label = match controllers_equal(&population.sockets, processor) {
        Some(true) => "; both controllers hold the same (lenovo-2019: balanced)",
        Some(false) => "; the controllers differ (lenovo-2019: unbalanced)",
        None => "",
    };
    let _ = writeln!(out, "\nmemory is {}{label}", hardware::class(&population));
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let peaks = socket_peaks(slots);
    for socket in &population.sockets {
        draw_socket(out, socket, slots, peaks.as_ref(), population.sets.as_ref().ok());
        draw_sets(out, socket, &population);
    }
}

/// `interleave sets: 4-way 128 GiB, 1-way 32 GiB`, when there are several, or one narrower than the
/// socket.
fn draw_sets(out: &mut String, socket: &Socket, population: &Population) {
    let Ok(sets) = &population.sets else { return };
    let Some(here) = sets.by_socket.get(&socket.socket).filter(|sets| !sets.is_empty()) else {
        return;
    };
    let each = here.iter().map(|set| {
        let peak = set.peak_bytes_per_second.map(|peak| three_digits(peak.gbytes()));
        let peak = peak.map_or(String::new(), |peak| format!(" ({peak} GB/s)"));
        format!("{}-way {}{peak}", set.ways(), set.size_bytes)
    });
    let what = if here.len() == 1 { "interleave set" } else { "interleave sets" };
    let _ = writeln!(out, "    {what}: {}", each.collect::<Vec<_>>().join(", "));
}

fn draw_socket(
    out: &mut String,
    socket: &Socket,
    slots: &[Slot],
    peaks: Result<&BTreeMap<u32, SocketPeak>, &String>,
    sets: Option<&Sets>,
) {
    let controller =
        |label: &String| sets?.controllers.get(&(socket.socket, label.clone())).copied();
    let populated = socket.populated().len();
    let peak = match peaks {
        Ok(peaks) => peaks.get(&socket.socket).map_or("no memory".to_owned(), |peak| {
            let rate = three_digits(peak.rate_bytes_per_second.gbytes());
            format!("peak {rate} GB/s{}", speeds(slots, socket.socket))
        }),
        Err(gap) => format!("peak unknown: {gap}"),
    };
    let all = socket.width();
    let _ = writeln!(out, "  socket {}: {populated} of {all} channels, {peak}", socket.socket);
    for line in socket.ordered().chunks(CHANNELS_A_LINE) {
        let cells = line.iter().enumerate().map(|(index, (label, modules))| {
            // A bar between the channels of two controllers.
            let before = index.checked_sub(1).map(|index| controller(line[index].0));
            let bar =
                if before.is_some_and(|before| before != controller(label)) { "| " } else { "" };
            let gib = |mib: &u64| format!("{}", *mib as f64 / 1024.0);
            let held: Vec<String> = modules.iter().map(gib).collect();
            let held = if held.is_empty() { "-".to_owned() } else { held.join("+") };
            format!("{bar}{label}[{held:^5}]")
        });
        let _ = writeln!(out, "    {}", cells.collect::<Vec<_>>().join(" "));
    }
}

/// `, 2400 MT/s (rated 2666)`.
fn speeds(slots: &[Slot], socket: u32) -> String {
    let here = slots.iter().filter(|slot| slot.at.as_ref().is_some_and(|at| at.socket == socket));
    let modules: Vec<_> =
        here.filter_map(|slot| slot.module.as_ref()).filter(|module| module.is_dram).collect();
    let list = |values: BTreeSet<u32>| {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    let now: BTreeSet<u32> = modules.iter().filter_map(|module| module.configured_mts).collect();
    let rated: BTreeSet<u32> = modules.iter().filter_map(|module| module.rated_mts).collect();
    let mut deep: BTreeMap<&str, u32> = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|m| m.is_dram)) {
        if let Some(at) = slot.at.as_ref().filter(|at| at.socket == socket) {
            *deep.entry(&at.channel).or_default() += 1;
        }
    }
    let several = deep.into_values().max().filter(|modules| *modules > 1);
    let several = several.map_or(String::new(), |n| format!(", {n} modules on a channel"));
    match rated.is_empty() || rated == now {
        true => format!(", {} MT/s", list(now)),
        false => format!(", {} MT/s (rated {}{several})", list(now), list(rated)),
    }
}

/// The node that a NIC is drawn at: its own, or the only one.
fn home(host: &Host, nic: &Nic) -> Option<u32> {
    match host.nodes.as_slice() {
        [only] => Some(only.id),
        _ => nic.node.value().copied(),
    }
}

/// Devices that move much and are no network interface: RDMA-only functions, NVMe, accelerators.
fn others(out: &mut String, roads: &[Road<'_>]) {
    let is_other =
        |road: &&Road<'_>| road.device.kind != DeviceKind::Network || road.device.names.is_empty();
    let others: Vec<&Road<'_>> = roads.iter().filter(is_other).collect();
    if !others.is_empty() {
        let _ = writeln!(out, "\nother devices");
    }
    for road in others.iter().take(OTHERS_MAX) {
        let device = road.device;
        let link = road
            .slowest()
            .map_or("no link state".to_owned(), |joint| format!("PCIe {}", joint.says()));
        let node =
            device.node.value().map_or("node unknown".to_owned(), |node| format!("node {node}"));
        let behind =
            if matches!(road.uplink, Uplink::Chipset { .. }) { ", behind the chipset" } else { "" };
        let name = device.path.last().map_or("", |hop| hop.name.as_str());
        let names = if device.names.is_empty() {
            words::or_dash(&device.driver)
        } else {
            device.names.join(", ")
        };
        let _ = writeln!(
            out,
            "  {} {} [{names}] {link}, {node}{behind}: {name}",
            device.address,
            hardware::device(device.kind)
        );
    }
    if others.len() > OTHERS_MAX {
        let _ = writeln!(out, "  and {} more: --table pci", others.len() - OTHERS_MAX);
    }
}

fn draw_node(out: &mut String, host: &Host, node: &Node) {
    let memory = words::or_dash(&node.memory_bytes);
    let cpus = match node.cpus.as_slice() {
        [] => "no CPU".to_owned(),
        cpus => words::counted(cpus.len(), "CPU"),
    };
    let level = host.cpu.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let caches = host.cpu.caches.iter().filter(|cache| {
        cache.level == level && cache.cpus.iter().any(|cpu| node.cpus.contains(cpu))
    });
    let bytes = caches.map(|cache| cache.size_bytes.0).fold(0, u64::saturating_add);
    let cache = match bytes {
        0 => String::new(),
        bytes => format!(", L{level} {}", narrows_model::Bytes(bytes)),
    };
    let _ = writeln!(out, "\nnode {}: {cpus}, {memory} memory{cache}", node.id);
    if let Some(says) = node.access.as_ref().and_then(firmware_says) {
        let _ = writeln!(out, "  firmware says {says}");
    }
    for nic in host.physical_nics().filter(|nic| home(host, nic) == Some(node.id)) {
        draw_nic(out, host, nic);
    }
}

/// `read 126 GB/s, 90 ns from node 0 (HMAT)`.
fn firmware_says(access: &NodeAccess) -> Option<String> {
    let rate =
        access.read_bytes_per_second.map(|rate| format!("{} GB/s", three_digits(rate.gbytes())));
    let latency = access.read_latency_ns.map(|latency| format!("{} ns", latency.0));
    let figures: Vec<String> = rate.into_iter().chain(latency).collect();
    let from: Vec<String> = access.initiators.iter().map(u32::to_string).collect();
    let from = if from.is_empty() { "?".to_owned() } else { from.join(", ") };
    let says = || format!("{} for reads from node {from} (HMAT)", figures.join(", "));
    (!figures.is_empty()).then(says)
}

fn draw_nic(out: &mut String, host: &Host, nic: &Nic) {
    let wire = match nic.speed_bps.value() {
        Some(speed) => format!("{speed} ({} GB/s)", three_digits(speed.0 / 8e9)),
        None => "link speed unknown".to_owned(),
    };
    let links: Vec<String> = joints(nic)
        .iter()
        .map(|joint| match joint.now {
            Some(_) => {
                format!("PCIe {} ({} GB/s)", joint.says(), three_digits(joint.raw_bps / 8e9))
            }
            None => format!("PCIe {}", joint.says()),
        })
        .collect();
    let mut links = links;
    if let Some(Uplink::Chipset { link }) = nic.path.first().map(uplink) {
        let rate = link.map(|(speed, width)| three_digits(raw_bps(speed, width) / 8e9));
        let rate = rate.map_or(String::new(), |rate| format!(" ({rate} GB/s, data sheet)"));
        links.insert(0, format!("chipset uplink{rate}"));
    }
    let road = match (links.is_empty(), nic.path.last()) {
        (false, _) => links.join(" -- "),
        (true, Some(hop)) => format!("PCI {}, no link state", hop.address),
        (true, None) => "not on PCI".to_owned(),
    };
    let driver = words::or_dash(&nic.driver);
    let _ = writeln!(out, "  -- {road} -- {} [{driver}] -- {wire}", nic.name);
    if let Some(hop) = nic.path.last() {
        let slot =
            host.slot_of(&nic.path).map_or(String::new(), |slot| format!(", in {}", slot.name));
        let _ = writeln!(out, "       {}{slot}", hop.name);
    }
}
