//! `tree`: the machine as a tree: sockets with their memory, nodes with CPUs and caches, and the
//! PCI functions down to every device that moves much.

use super::View;
use crate::drawn::Screen;
use crate::{hardware, words};
use narrows_dimm::population::Population;
use narrows_explain::rules::dimm_balance;
use narrows_model::Bytes;
use narrows_model::cpu_list;
use narrows_model::host::{Cache, Device, Host, Node};
use narrows_predict::pcie::links;
use std::collections::{BTreeMap, BTreeSet};

/// The machine as a tree: `narrows host --tree`.
pub static VIEW: View = View { name: "tree", write };

/// A line with the lines that hang on it.
#[derive(Default)]
struct Branch {
    /// Address of the PCI function that it stands for, if it does.
    address: Option<String>,
    label: String,
    children: Vec<Branch>,
}

impl Branch {
    fn leaf(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    fn write(&self, out: &mut String, before: &str) {
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (here, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            *out += &format!("{before}{here}{}\n", child.label);
            child.write(out, &format!("{before}{below}"));
        }
    }
}

fn write(host: &Host, _: &Screen) -> String {
    let mut root = Branch::leaf(words::host_line(host));
    root.children.push(memory(host));
    root.children.extend(host.nodes.iter().map(|node| of_node(host, node)));
    let known: BTreeSet<u32> = host.nodes.iter().map(|node| node.id).collect();
    let homeless: Vec<&Device> = host
        .devices
        .iter()
        .filter(|device| device.node.value().is_none_or(|node| !known.contains(node)))
        .collect();
    if !homeless.is_empty() {
        let what = if host.nodes.len() == 1 { "PCI" } else { "PCI, node unknown" };
        root.children.push(Branch { children: functions(host, &homeless), ..Branch::leaf(what) });
    }
    let mut out = format!("{}\n", root.label);
    root.write(&mut out, "");
    out.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

fn memory(host: &Host) -> Branch {
    let total = words::or_dash(&host.memory.total_bytes);
    let population = match Population::of(host) {
        Ok(population) => population,
        Err(missing) => return Branch::leaf(format!("memory {total}; modules unknown: {missing}")),
    };
    let mut branch = Branch::leaf(format!("memory {total}, {}", hardware::class(&population)));
    for socket in &population.sockets {
        let sets =
            population.sets.as_ref().ok().and_then(|sets| sets.by_socket.get(&socket.socket));
        let sets = sets.map_or(String::new(), |sets| format!(": {}", dimm_balance::list(sets)));
        let mut at = Branch::leaf(format!("socket {}{sets}", socket.socket));
        for (channel, modules) in &socket.channels {
            let sizes: Vec<String> =
                modules.iter().map(|mib| Bytes::mib(*mib).to_string()).collect();
            let held = if sizes.is_empty() { "empty".to_owned() } else { sizes.join(" + ") };
            at.children.push(Branch::leaf(format!("channel {channel}: {held}")));
        }
        if socket.unnamed > 0 {
            let more = words::counted(socket.unnamed as usize, "more channel");
            at.children.push(Branch::leaf(format!("{more}: empty, of no name")));
        }
        branch.children.push(at);
    }
    branch
}

fn of_node(host: &Host, node: &Node) -> Branch {
    let cpus = match node.cpus.as_slice() {
        [] => "no CPU".to_owned(),
        cpus => {
            format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, cpu_list::show(cpus))
        }
    };
    let places = host.cpu.places.iter().filter(|place| node.cpus.contains(&place.cpu));
    let packages: BTreeSet<u32> = places.filter_map(|place| place.package).collect();
    let packages: Vec<String> =
        packages.iter().map(|package| format!(", package {package}")).collect();
    let memory = words::or_dash(&node.memory_bytes);
    let mut branch =
        Branch::leaf(format!("node {}: {memory}, {cpus}{}", node.id, packages.join("")));
    branch.children.extend(caches(host, node));
    let devices: Vec<&Device> =
        host.devices.iter().filter(|device| device.node.value() == Some(&node.id)).collect();
    branch.children.extend(functions(host, &devices));
    branch
}

/// Caches of a node: `L3 27.5 MiB, CPUs 0-15`, those of single cores in one line a level.
fn caches(host: &Host, node: &Node) -> Vec<Branch> {
    let mut levels: BTreeMap<(u32, &str, Bytes), Vec<&Cache>> = BTreeMap::new();
    for cache in
        host.cpu.caches.iter().filter(|cache| cache.cpus.iter().any(|cpu| node.cpus.contains(cpu)))
    {
        levels.entry((cache.level, &cache.kind, cache.size_bytes)).or_default().push(cache);
    }
    let lines = levels.into_iter().rev().map(|((level, kind, size), caches)| {
        let kind = match kind {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let count = if caches.len() > 1 { format!("{} x ", caches.len()) } else { String::new() };
        let shared = caches.first().map_or(0, |cache| cache.cpus.len());
        let cpus = words::counted(shared, "CPU");
        Branch::leaf(format!("L{level}{kind} {count}{size}, {cpus} each"))
    });
    lines.collect()
}

/// The functions above the devices, each once.
fn functions(host: &Host, devices: &[&Device]) -> Vec<Branch> {
    let mut roots: Vec<Branch> = Vec::new();
    for device in devices.iter().filter(|device| !device.is_virtual) {
        let joints = links(&device.path, None);
        let mut level = &mut roots;
        for hop in &device.path {
            let joint = joints.iter().find(|joint| joint.lower.address == hop.address);
            let link = joint.map_or(String::new(), |joint| format!(" [{}]", joint.says()));
            let end = device.path.last().is_some_and(|last| last.address == hop.address);
            let end = if end { of_device(host, device) } else { String::new() };
            let label = format!("{}{link}{end} {}", hop.address, hop.name);
            let address = Some(hop.address.clone());
            let at = level.iter().position(|branch| branch.address == address);
            let at = at.unwrap_or_else(|| {
                level.push(Branch { address, ..Branch::leaf(label) });
                level.len() - 1
            });
            level = &mut level[at].children;
        }
    }
    roots
}

/// ` eth0 100 Gb/s, mlx5_0`.
fn of_device(host: &Host, device: &Device) -> String {
    let names = device.names.iter().map(|name| {
        let speed = host.nic(name).and_then(|nic| nic.speed_bps.value());
        speed.map_or(name.clone(), |speed| format!("{name} {speed}"))
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        format!(" ({}, {})", hardware::device(device.kind), words::or_dash(&device.driver))
    } else {
        format!(" {}", names.join(", "))
    }
}
