//! What belongs to which socket: channels with their slots, nodes, and the NICs of each node.

use narrows_dimm::platform;
use narrows_dimm::population::Population;
use narrows_model::host::{ChannelId, Host, Nic, Node, Slot};
use narrows_model::units::three_digits;
use std::collections::{BTreeMap, BTreeSet};

/// A host in the order in which it is drawn.
pub(crate) struct Layout<'a> {
    /// Sockets by their number, each with its nodes and modules.
    pub sockets: Vec<Package<'a>>,
    /// Nodes of no one socket: over several, without CPUs, or of a kernel that tells no packages.
    pub nodes: Vec<Home<'a>>,
    /// NICs by a node of which nothing else is told: a listing of PCI has nodes as numbers alone.
    pub unlisted: BTreeMap<u32, Vec<&'a Nic>>,
    /// NICs whose node is not known.
    pub homeless: Vec<&'a Nic>,
    /// Modules whose channel is not known, and slots of no channel.
    pub unplaced: Vec<&'a Slot>,
    /// What the links between sockets carry, where there are several sockets.
    pub links: Option<Links>,
}

/// One socket with what hangs on it.
#[derive(Default)]
pub(crate) struct Package<'a> {
    /// From 0: firmware's order of its labels, the kernel's number where firmware tells none.
    pub number: u32,
    /// `false` for a socket that firmware lists without a processor.
    pub fitted: bool,
    /// CPUs of the kernel in it; 0 where the kernel says nothing.
    pub cpus: usize,
    /// Channels in the order of their labels.
    pub channels: Vec<Channel<'a>>,
    /// NUMA nodes inside it.
    pub nodes: Vec<Home<'a>>,
}

/// A channel with its slots, in firmware's order.
pub(crate) struct Channel<'a> {
    pub id: &'a ChannelId,
    /// Controller inside the socket, where it is known.
    pub controller: Option<u32>,
    /// Slots, those that hold nothing among them.
    pub slots: Vec<&'a Slot>,
}

/// A node with the NICs that are near it.
pub(crate) struct Home<'a> {
    /// The NUMA node, as the kernel numbers it.
    pub node: &'a Node,
    /// Its physical NICs, in the host's order.
    pub nics: Vec<&'a Nic>,
    /// Sockets that its CPUs are in, by the kernel's numbers.
    pub over: BTreeSet<u32>,
}

/// The links between sockets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Links {
    /// The most that processors of this family have: links and GT/s of each, 2 bytes a transfer.
    AtMost(u32, f64),
    /// The family is not known, or nobody wrote its links down.
    Unknown,
}

/// Bytes of a transfer on a link between Intel's sockets.
const LINK_BYTES: f64 = 2.0;

impl Links {
    /// GB/s in each direction of all links together.
    pub fn gbytes(self) -> Option<f64> {
        match self {
            Self::AtMost(links, gts) => Some(f64::from(links) * gts * LINK_BYTES),
            Self::Unknown => None,
        }
    }

    /// `up to 3 of 10.4 GT/s, 62.4 GB/s each way (by family)`: a model may have fewer.
    pub fn says(self) -> String {
        match (self, self.gbytes()) {
            (Self::AtMost(links, gts), Some(rate)) => format!(
                "up to {links} of {gts} GT/s, {} GB/s each way (by family)",
                three_digits(rate)
            ),
            _ => "width unknown".to_owned(),
        }
    }
}

impl<'a> Layout<'a> {
    /// The parts of a host.
    pub fn of(host: &'a Host) -> Self {
        let population = Population::of(host).ok();
        let packages = packages(host);
        let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
        let mut sockets = of_firmware(slots, population.as_ref());
        let fitted = sockets.iter().filter(|socket| socket.fitted).count();
        let mut nodes = homes(host);
        // Firmware's labels and the kernel's packages are both in the order of the board, but only
        // equal numbers of them say that they are of the same sockets.
        if fitted == 0 {
            sockets.extend(packages.iter().map(|(number, cpus)| of_kernel(*number, *cpus)));
        }
        if fitted == 0 || fitted == packages.len() {
            let drawn = sockets.iter_mut().filter(|socket| socket.fitted);
            for (socket, (package, cpus)) in drawn.zip(&packages) {
                socket.cpus = *cpus;
                let inside: BTreeSet<u32> = [*package].into();
                let (here, rest) = nodes.into_iter().partition(|home| home.over == inside);
                socket.nodes = here;
                nodes = rest;
            }
        }
        sockets.sort_by_key(|socket| socket.number);
        let several = sockets.iter().filter(|socket| socket.fitted).count() > 1;
        let by_family = || platform::of(host).and_then(|family| family.socket_links);
        let links = || by_family().map_or(Links::Unknown, |(links, gts)| Links::AtMost(links, gts));
        Self {
            links: several.then(links),
            unlisted: unlisted(host),
            homeless: host.physical_nics().filter(|nic| is_homeless(host, nic)).collect(),
            unplaced: slots.iter().filter(|slot| slot.at.is_none()).collect(),
            sockets,
            nodes,
        }
    }
}

/// CPUs of each of the kernel's packages.
fn packages(host: &Host) -> BTreeMap<u32, usize> {
    let mut packages: BTreeMap<u32, usize> = BTreeMap::new();
    for package in host.cpu.places.iter().filter_map(|place| place.package) {
        *packages.entry(package).or_default() += 1;
    }
    packages
}

fn of_kernel<'a>(number: u32, cpus: usize) -> Package<'a> {
    Package { number, fitted: true, cpus, ..Package::default() }
}

/// The sockets that firmware's slots are of.
fn of_firmware<'a>(slots: &'a [Slot], population: Option<&Population>) -> Vec<Package<'a>> {
    let sets = population.and_then(|population| population.sets.as_ref().ok());
    let mut sockets: BTreeMap<u32, Package<'a>> = BTreeMap::new();
    for slot in slots {
        let Some(at) = &slot.at else { continue };
        let socket = sockets
            .entry(at.socket)
            .or_insert_with(|| Package { number: at.socket, ..Package::default() });
        let position = socket.channels.iter().position(|channel| *channel.id == at.channel);
        let position = position.unwrap_or_else(|| {
            let key = (at.socket, at.channel.clone());
            let controller = sets.and_then(|sets| sets.controllers.get(&key).copied());
            socket.channels.push(Channel { id: &at.channel, controller, slots: Vec::new() });
            socket.channels.len() - 1
        });
        socket.channels[position].slots.push(slot);
    }
    for socket in sockets.values_mut() {
        socket.channels.sort_by_key(|channel| channel.id);
        socket.fitted = match population {
            Some(population) => population.sockets.iter().any(|one| one.socket == socket.number),
            None => socket.slots().any(|slot| slot.module.is_some()),
        };
    }
    sockets.into_values().collect()
}

impl<'a> Package<'a> {
    /// Slots of all its channels.
    pub fn slots(&self) -> impl Iterator<Item = &'a Slot> {
        self.channels.iter().flat_map(|channel| channel.slots.iter().copied())
    }
}

/// Nodes with their NICs and the packages of their CPUs.
fn homes(host: &Host) -> Vec<Home<'_>> {
    let mut homes: Vec<Home<'_>> = host.nodes.iter().map(|node| of_node(host, node)).collect();
    let near: Vec<Option<BTreeSet<u32>>> = homes.iter().map(|home| nearest(home, &homes)).collect();
    for (home, near) in homes.iter_mut().zip(near) {
        home.over.extend(near.into_iter().flatten());
    }
    homes
}

fn of_node<'a>(host: &'a Host, node: &'a Node) -> Home<'a> {
    let inside = host.cpu.places.iter().filter(|place| node.cpus.contains(&place.cpu));
    Home {
        node,
        nics: host.physical_nics().filter(|nic| home(host, nic) == Some(node.id)).collect(),
        over: inside.filter_map(|place| place.package).collect(),
    }
}

/// The socket of a node without CPUs: that of the nodes which are nearest to it.
fn nearest(home: &Home<'_>, homes: &[Home<'_>]) -> Option<BTreeSet<u32>> {
    if !home.node.cpus.is_empty() {
        return None;
    }
    let distances = home.node.distances.value().filter(|list| list.len() == homes.len())?;
    let others = homes.iter().zip(distances).filter(|(other, _)| !other.node.cpus.is_empty());
    let least = others.clone().map(|(_, distance)| distance).min()?;
    let near = others.filter(|(_, distance)| *distance == least);
    Some(near.flat_map(|(other, _)| other.over.iter().copied()).collect())
}

/// The NICs of nodes that the host does not list.
fn unlisted(host: &Host) -> BTreeMap<u32, Vec<&Nic>> {
    let mut nodes = BTreeMap::<u32, Vec<&Nic>>::new();
    for nic in host.physical_nics().filter(|nic| home(host, nic).is_none()) {
        nic.node.value().into_iter().for_each(|node| nodes.entry(*node).or_default().push(nic));
    }
    nodes
}

fn is_homeless(host: &Host, nic: &Nic) -> bool {
    home(host, nic).is_none() && nic.node.value().is_none()
}

/// The node that a NIC is drawn at: its own, or the only one.
fn home(host: &Host, nic: &Nic) -> Option<u32> {
    match host.nodes.as_slice() {
        [only] => Some(only.id),
        nodes => nic.node.value().copied().filter(|id| nodes.iter().any(|node| node.id == *id)),
    }
}
