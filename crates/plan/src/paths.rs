//! What `narrows paths` runs: RDMA loop-back from each device to each memory node, from each device
//! to each other, and packets over cables that are named, as many as fit the time. What is not
//! measured is named with why.

mod unmeasured;

pub use unmeasured::Unmeasured;

use crate::on_node;
use crate::quoted::quoted;
use narrows_model::host::{Host, RdmaDevice};
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use std::fmt::Write;
use thiserror::Error;

/// Seconds before the window, which do not count.
const WARMUP_SECONDS: f64 = 0.3;
/// Seconds of a run beside its window: warm-up, cool-down, and the start of two processes.
const RUN_SECONDS: f64 = WARMUP_SECONDS + 0.3 + 0.1;
/// What is measured of each path through RDMA devices: level and workload. A read's time is of the
/// device and the memory alone: no thread of the other end takes part.
const TESTS: [(&str, Workload); 3] = [
    ("RDMA write", Workload::Stream(Transport::Rdma(RdmaVerb::Write))),
    ("RDMA read", Workload::Stream(Transport::Rdma(RdmaVerb::Read))),
    ("RDMA read, one at a time", Workload::RoundTrip(Transport::Rdma(RdmaVerb::Read))),
];
const PACKETS: &str = "packets";

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Minutes that all runs may take.
    pub minutes: f64,
    /// Seconds that count in each run.
    pub seconds: f64,
    /// Runs of each cell.
    pub repeats: u32,
    /// RDMA devices; empty: all that are up.
    pub devices: Vec<String>,
    /// Two ports of this host that a cable joins.
    pub cable: Option<[String; 2]>,
    /// Buffers of each end in a study's words; `None`: one message, over and over.
    pub buffer: Option<String>,
    /// Whether ends sleep until a completion comes.
    pub sleeps: bool,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoPaths {
    /// The time is too short for two paths, or for the only one.
    #[error("{minutes} minutes are too short: {} take {least:.2}", paths_of(*.paths))]
    TooShort {
        minutes: f64,
        /// How many are the least that say something.
        paths: usize,
        /// Minutes that those take.
        least: f64,
    },
    /// An RDMA device that this host does not have.
    #[error("this host has no RDMA device {0}")]
    NoDevice(String),
    /// An interface that this host does not have.
    #[error("this host has no interface {0}")]
    NoPort(String),
    /// No path can be measured.
    #[error("no path inside this host can be measured: {}", told(.0))]
    Nothing(Vec<Unmeasured>),
}

fn paths_of(paths: usize) -> String {
    if paths == 1 { "one path".to_owned() } else { format!("{paths} paths") }
}

fn told(whys: &[Unmeasured]) -> String {
    whys.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// One path inside the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// From memory of a node through a device and back.
    Loop {
        device: String,
        /// Node of the buffers; `None` where the host has no nodes.
        memory: Option<u32>,
        /// Node of the threads, which is another where that node has no CPU.
        threads: Option<u32>,
    },
    /// From one device to another, each end at its device's node.
    Across {
        from: String,
        to: String,
        /// Nodes of both, where they are known and have CPUs and memory.
        nodes: Option<[u32; 2]>,
    },
    /// Packets from one port to another that a cable joins.
    Cable { from: String, to: String },
}

impl Path {
    /// Its level in the study; the same on hosts that name and number alike.
    pub fn name(&self) -> String {
        match self {
            Self::Loop { device, memory: Some(node), .. } => format!("{device}, node {node}"),
            Self::Loop { device, .. } => device.clone(),
            Self::Across { from, to, .. } | Self::Cable { from, to } => format!("{from} > {to}"),
        }
    }

    fn tests(&self) -> usize {
        if matches!(self, Self::Cable { .. }) { 1 } else { TESTS.len() }
    }

    fn level(&self) -> String {
        let mut text = format!("  {{ name = {}", quoted(&self.name()));
        match self {
            Self::Loop { device, memory, threads } => {
                if let Some(node) = threads {
                    let _ = write!(text, ", affinity = \"node:{node},node:{node}\"");
                }
                if let Some(node) = memory {
                    let _ = write!(text, ", memory_node = \"{node},{node}\"");
                }
                text += &devices(device, device);
            }
            Self::Across { from, to, nodes } => {
                if let Some([a, b]) = nodes {
                    let _ = write!(text, ", affinity = \"node:{a},node:{b}\"");
                    let _ = write!(text, ", memory_node = \"{a},{b}\"");
                }
                text += &devices(from, to);
            }
            Self::Cable { from, to } => {
                let _ = write!(text, ", bind = {}, rate = \"max\"", quoted(&ports(from, to)));
            }
        }
        text + " },\n"
    }
}

fn ports(from: &str, to: &str) -> String {
    format!("{from},{to}")
}

fn devices(from: &str, to: &str) -> String {
    format!(", rdma = {{ device = {} }}", quoted(&ports(from, to)))
}

/// The paths of one host within the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    /// Those that are run, the telling ones first.
    pub chosen: Vec<Path>,
    /// What is not measured, and why.
    pub unmeasured: Vec<Unmeasured>,
    /// The definition of the study, as a file has it.
    pub definition: String,
}

impl Paths {
    /// The paths of a host within the time.
    pub fn of(wanted: &Wanted, host: &Host) -> Result<Self, NoPaths> {
        check(wanted, host)?;
        let mut unmeasured = Vec::new();
        let devices = usable(wanted, host, &mut unmeasured);
        let mut all = cables(wanted, &mut unmeasured);
        all.extend(loops(host, &devices, &mut unmeasured));
        all.extend(across(host, &devices, &mut unmeasured));
        unmeasured.extend(Unmeasured::others(host));
        if all.is_empty() {
            return Err(NoPaths::Nothing(unmeasured));
        }
        let whole = all.len();
        let chosen = fitting(wanted, all)?;
        let left_out = whole - chosen.len();
        unmeasured.extend((left_out > 0).then_some(Unmeasured::LeftOut { paths: left_out, whole }));
        let definition = definition(wanted, &chosen, &unmeasured);
        Ok(Self { chosen, unmeasured, definition })
    }
}

fn check(wanted: &Wanted, host: &Host) -> Result<(), NoPaths> {
    let missing = wanted.devices.iter().find(|name| host.rdma_device(name).is_none());
    if let Some(name) = missing {
        return Err(NoPaths::NoDevice(name.clone()));
    }
    let mut ports = wanted.cable.iter().flatten();
    let missing = ports.find(|name| host.nic(name).is_none());
    missing.map_or(Ok(()), |name| Err(NoPaths::NoPort(name.clone())))
}

/// The devices that are asked for and up.
fn usable<'a>(
    wanted: &Wanted,
    host: &'a Host,
    unmeasured: &mut Vec<Unmeasured>,
) -> Vec<&'a RdmaDevice> {
    if host.rdma.is_empty() {
        unmeasured.push(Unmeasured::NoDevice);
    }
    let asked = host
        .rdma
        .iter()
        .filter(|device| wanted.devices.is_empty() || wanted.devices.contains(&device.name));
    let (up, down): (Vec<_>, Vec<_>) = asked.partition(|device| device.active().is_some());
    unmeasured.extend(down.into_iter().map(|device| Unmeasured::Down(device.name.clone())));
    up
}

/// Both directions of a cable, which are paths alike.
fn cables(wanted: &Wanted, unmeasured: &mut Vec<Unmeasured>) -> Vec<Path> {
    let Some([one, other]) = &wanted.cable else {
        unmeasured.push(Unmeasured::NoCable);
        return Vec::new();
    };
    [(one, other), (other, one)]
        .map(|(from, to)| Path::Cable { from: from.clone(), to: to.clone() })
        .to_vec()
}

/// Nodes with memory, by number.
fn memory_nodes(host: &Host) -> Vec<u32> {
    let nodes = host.nodes.iter();
    let with_memory = nodes.filter(|node| node.memory_bytes.value().is_none_or(|of| of.0 > 0));
    with_memory.map(|node| node.id).collect()
}

/// From each device to each node: first each device's own node, then the others by distance.
fn loops(host: &Host, devices: &[&RdmaDevice], unmeasured: &mut Vec<Unmeasured>) -> Vec<Path> {
    let nodes = memory_nodes(host);
    if devices.is_empty() {
        return Vec::new();
    }
    if nodes.len() < 2 {
        unmeasured.push(Unmeasured::OneNode);
    }
    let mut all = Vec::new();
    for device in devices {
        let own = host.node_of_rdma(device);
        if own.is_none() && nodes.len() > 1 {
            unmeasured.push(Unmeasured::Unattached(device.name.clone()));
        }
        if nodes.is_empty() {
            let name = device.name.clone();
            all.push((0, Path::Loop { device: name, memory: None, threads: None }));
        }
        for node in &nodes {
            let distance = own.and_then(|own| host.distance(own, *node));
            let rank = if own == Some(*node) { 0 } else { distance.unwrap_or(u32::MAX) };
            all.push((rank, to_node(host, device, *node)));
        }
    }
    for node in nodes.iter().filter(|node| on_node(host, **node).is_none()) {
        unmeasured.push(Unmeasured::NoCpu(*node));
    }
    // By rank, and of one rank in the order of devices and nodes.
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, path)| path).collect()
}

/// The threads are at the memory's node, or at the device's where that has no CPU.
fn to_node(host: &Host, device: &RdmaDevice, node: u32) -> Path {
    let own = host.node_of_rdma(device).filter(|own| on_node(host, *own).is_some());
    let threads = on_node(host, node).map(|_| node).or(own);
    Path::Loop { device: device.name.clone(), memory: Some(node), threads }
}

/// From each device to each other, both ways.
fn across(host: &Host, devices: &[&RdmaDevice], unmeasured: &mut Vec<Unmeasured>) -> Vec<Path> {
    if let [only] = devices {
        unmeasured.push(Unmeasured::OneDevice(only.name.clone()));
    }
    let mut all = Vec::new();
    for from in devices {
        for to in devices.iter().filter(|to| to.name != from.name) {
            let nodes = whole_node(host, from).zip(whole_node(host, to)).map(<[u32; 2]>::from);
            let (from, to) = (from.name.clone(), to.name.clone());
            all.push(Path::Across { from, to, nodes });
        }
    }
    all
}

/// The node of a device, where it has memory and CPUs.
fn whole_node(host: &Host, device: &RdmaDevice) -> Option<u32> {
    let node = host.node_of_rdma(device)?;
    (memory_nodes(host).contains(&node) && on_node(host, node).is_some()).then_some(node)
}

/// Minutes that all tests of these paths take.
fn minutes(wanted: &Wanted, paths: &[Path]) -> f64 {
    let tests = paths.iter().map(Path::tests).sum::<usize>() as f64;
    tests * f64::from(wanted.repeats) * (wanted.seconds + RUN_SECONDS) / 60.0
}

/// The first that fit the time.
fn fitting(wanted: &Wanted, all: Vec<Path>) -> Result<Vec<Path>, NoPaths> {
    let mut fit = all.len();
    while fit > 0 && minutes(wanted, &all[..fit]) > wanted.minutes {
        fit -= 1;
    }
    let least = all.len().min(2);
    if fit < least {
        let (paths, least_minutes) = (least, minutes(wanted, &all[..least]));
        return Err(NoPaths::TooShort { minutes: wanted.minutes, paths, least: least_minutes });
    }
    Ok(all.into_iter().take(fit).collect())
}

/// The study's file.
fn definition(wanted: &Wanted, chosen: &[Path], unmeasured: &[Unmeasured]) -> String {
    let mut text = String::from(
        "# Made by `narrows paths`: RDMA loop-back from a device to memory of a node, from device \
         to\n# device, and packets from port to port.\nname = \"paths\"\n",
    );
    let _ = writeln!(text, "about = {}", quoted(&about(unmeasured)));
    let _ = writeln!(text, "repeats = {}\n\n[quick]\nrepeats = 2\nseconds = 0.2\n", wanted.repeats);
    let seconds = wanted.seconds;
    let _ = writeln!(text, "[base]\nseconds = {seconds:?}\nwarmup_seconds = {WARMUP_SECONDS:?}\n");
    text += "[[factor]]\nname = \"path\"\nlevels = [\n";
    chosen.iter().for_each(|path| text += &path.level());
    text += "]\n\n[[factor]]\nname = \"test\"\nlevels = [\n";
    let (cables, through): (Vec<&Path>, Vec<&Path>) =
        chosen.iter().partition(|path| matches!(path, Path::Cable { .. }));
    if !through.is_empty() {
        TESTS.iter().for_each(|(name, load)| text += &test(wanted, name, load));
    }
    if !cables.is_empty() {
        let _ = writeln!(text, "  {{ name = \"{PACKETS}\", load = \"{}\" }},", Workload::Packets);
    }
    text += "]\n";
    if !cables.is_empty() && !through.is_empty() {
        let _ = write!(text, "\n[[exclude]]\npath = [{}]\n", names(&cables));
        let tests: Vec<String> = TESTS.iter().map(|(name, _)| quoted(name)).collect();
        let _ = writeln!(text, "test = [{}]", tests.join(", "));
        let _ = write!(text, "\n[[exclude]]\npath = [{}]\n", names(&through));
        let _ = writeln!(text, "test = [\"{PACKETS}\"]");
    }
    text + "\n[report]\nacross = \"path\"\n"
}

fn names(paths: &[&Path]) -> String {
    paths.iter().map(|path| quoted(&path.name())).collect::<Vec<_>>().join(", ")
}

fn test(wanted: &Wanted, name: &str, load: &Workload) -> String {
    let wait = if wanted.sleeps { "block" } else { "spin" };
    let mut text = format!("  {{ name = \"{name}\", load = \"{load}\", wait = \"{wait}\"");
    let buffer = wanted.buffer.as_ref().filter(|_| matches!(load, Workload::Stream(_)));
    if let Some(buffer) = buffer {
        let _ = write!(text, ", buffer = {}", quoted(buffer));
    }
    text + " },\n"
}

/// What the study asks, and what is not measured.
fn about(unmeasured: &[Unmeasured]) -> String {
    let mut text = String::from("Is a path inside this host slower than its like?");
    for why in unmeasured {
        let _ = write!(text, " Not measured: {}.", why.says());
    }
    text
}
