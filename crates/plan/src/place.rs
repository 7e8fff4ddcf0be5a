//! Where to run: the node next to the NIC, two cores of it, and a working set beyond its caches.

use crate::unplaced::{Unnamed, Unplaced};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::load::Binding;
use narrows_model::trial::{EndSpec, Placement};
use std::collections::BTreeSet;
use std::str::FromStr;

/// A place on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// NUMA node, when the host has nodes.
    pub node: Option<u32>,
    /// Its CPUs that this process may use.
    pub cpus: Vec<u32>,
    /// A CPU each for sender and receiver: two cores when the place has two.
    pub pair: TwoPlaces,
    /// Sum of the last-level caches that those CPUs share.
    pub cache_bytes: Bytes,
    /// Working set for memory kernels: four times the caches, at least 256 MiB, at most half of the
    /// memory that is free.
    pub working_set_bytes: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TwoPlaces {
    /// Place of the end that receives, or answers.
    pub receiver: Placement,
    /// Place of the end that sends, or asks.
    pub sender: Placement,
}

impl TwoPlaces {
    /// Two ends at these places. The controller's end sends, or in reverse receives.
    pub fn ends(self, reverse: bool) -> Vec<EndSpec> {
        EndSpec::pair(self.receiver, self.sender, reverse)
    }
}

/// Chooses the node of the fastest NIC that has CPUs this process may use, else the node of the
/// first such CPU.
pub fn choose(host: &Host) -> Spot {
    let online = host.cpu.online.value().cloned().unwrap_or_default();
    let allowed = host.cpu.allowed.value().cloned().unwrap_or(online);
    let on_node = |node: u32| -> Vec<u32> {
        allowed.iter().copied().filter(|cpu| host.node_of_cpu(*cpu) == Some(node)).collect()
    };
    let mut nics: Vec<_> = host.physical_nics().collect();
    nics.sort_by(|a, b| speed_bps(b).total_cmp(&speed_bps(a)));
    let of_nic = nics.iter().filter_map(|nic| nic.node.value().copied());
    let of_cpu = allowed.iter().filter_map(|cpu| host.node_of_cpu(*cpu));
    let node = of_nic.chain(of_cpu).find(|node| !on_node(*node).is_empty());
    spot(host, node, node.map_or_else(|| allowed.clone(), on_node))
}

fn speed_bps(nic: &narrows_model::host::Nic) -> f64 {
    nic.speed_bps.value().map_or(0.0, |s| s.0)
}

/// The place that a node is; `None` when this process may use none of its CPUs.
pub fn on_node(host: &Host, node: u32) -> Option<Spot> {
    let allowed = host.cpu.allowed.value().or(host.cpu.online.value())?;
    let cpus: Vec<u32> =
        allowed.iter().copied().filter(|cpu| host.node_of_cpu(*cpu) == Some(node)).collect();
    (!cpus.is_empty()).then(|| spot(host, Some(node), cpus))
}

/// A number beyond this is a slip: no Linux has so many CPUs, and a range would be a long list.
const CPUS_MAX: u32 = 1 << 20;

/// CPUs as a user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// CPUs by their numbers.
    Cpus(Vec<u32>),
    /// All CPUs of a NUMA node.
    Node(u32),
    /// The node of the interface that leads to the peer, else of the fastest NIC.
    Nic,
    /// The first node with CPUs that is not that one.
    OtherNode,
    /// The CPUs of the other end.
    SameCore,
}

impl FromStr for Where {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<Self, Unnamed> {
        match text.trim() {
            "nic" => Some(Self::Nic),
            "other-node" => Some(Self::OtherNode),
            "same-core" => Some(Self::SameCore),
            node if node.starts_with("node:") => number(&node[5..]).map(Self::Node),
            cpus => {
                let parts: Option<Vec<(u32, u32)>> = cpus
                    .split('+')
                    .map(|text| match text.split_once('-') {
                        Some((first, last)) => Some((number(first)?, number(last)?)),
                        None => Some((number(text)?, number(text)?)),
                    })
                    .collect();
                let parts =
                    parts.filter(|parts| parts.iter().all(|(a, b)| a <= b && *b < CPUS_MAX));
                parts.map(|parts| Self::Cpus(parts.into_iter().flat_map(|(a, b)| a..=b).collect()))
            }
        }
        .ok_or_else(|| Unnamed::Cpus(text.to_owned()))
    }
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse::<u32>().ok()
}

/// CPUs as a user names them, and how threads are bound to them: `node:0` gives each thread one of
/// them, `node:0/all` each thread all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// CPUs, a node or the NIC that the end is put at.
    pub at: Where,
    /// How threads are bound to them.
    pub binding: Binding,
}

impl FromStr for Seat {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<Self, Unnamed> {
        let (at, binding) = match text.trim().strip_suffix("/all") {
            Some(at) => (at, Binding::All),
            None => (text, Binding::Each),
        };
        Ok(Self { at: at.parse()?, binding })
    }
}

/// The node of the interface that leads to the peer, else that of the fastest NIC with CPUs that
/// this process may use.
pub(crate) fn nic_node(host: &Host, interface: Option<&str>) -> Option<u32> {
    let leading = interface.and_then(|name| host.nic(name));
    let node = leading.and_then(|nic| nic.node.value().copied());
    node.or_else(|| choose(host).node)
}

/// The CPUs of a place on a host, cores first; `interface` leads to the peer.
pub fn cpus(host: &Host, place: Where, interface: Option<&str>) -> Result<Vec<u32>, Unplaced> {
    let of = |node: u32| {
        let spot = on_node(host, node);
        spot.map(|s| s.cpus).ok_or(Unplaced::NoCpu(node))
    };
    match place {
        Where::Cpus(cpus) => {
            let online = host.cpu.online.value();
            let missing = cpus.iter().find(|cpu| online.is_some_and(|all| !all.contains(cpu)));
            missing.map_or(Ok(()), |cpu| Err(Unplaced::Cpu(*cpu)))?;
            Ok(cpus)
        }
        Where::Node(node) => of(node),
        Where::SameCore => Err(Unplaced::FirstOfTwo),
        // On a host with one node every CPU is near.
        Where::Nic => nic_node(host, interface).map_or_else(|| Ok(choose(host).cpus), of),
        Where::OtherNode => {
            let near = nic_node(host, interface).ok_or(Unplaced::NicNode)?;
            let mut others = host.nodes.iter().filter(|node| node.id != near);
            let found = others.find_map(|node| on_node(host, node.id));
            found.map(|spot| spot.cpus).ok_or(Unplaced::OnlyNode(near))
        }
    }
}

fn spot(host: &Host, node: Option<u32>, cpus: Vec<u32>) -> Spot {
    let cache_bytes = cache(host, &cpus);
    Spot {
        node,
        pair: pair(host, &cpus),
        cache_bytes,
        working_set_bytes: working_set(host, node, cache_bytes),
        cpus: cores_first(host, cpus),
    }
}

/// The CPUs with one of each core first, so that few threads share no core.
fn cores_first(host: &Host, cpus: Vec<u32>) -> Vec<u32> {
    let core = |cpu: &u32| {
        let place = host.cpu.places.iter().find(|place| place.cpu == *cpu)?;
        Some((place.package, place.die, place.core?))
    };
    let mut seen = BTreeSet::new();
    let (firsts, seconds): (Vec<u32>, Vec<u32>) =
        cpus.into_iter().partition(|cpu| core(cpu).is_none_or(|core| seen.insert(core)));
    firsts.into_iter().chain(seconds).collect()
}

/// The first CPU, and the first of another core; of one core there is only the same CPU.
fn pair(host: &Host, cpus: &[u32]) -> TwoPlaces {
    let core = |cpu: u32| {
        let place = host.cpu.places.iter().find(|place| place.cpu == cpu);
        place.map(|p| (p.package, p.die, p.core)).filter(|(.., core)| core.is_some())
    };
    let Some(first) = cpus.first() else { return TwoPlaces::default() };
    let others = || cpus.iter().filter(|cpu| *cpu != first);
    let other_core = others().find(|cpu| core(**cpu).is_none() || core(**cpu) != core(*first));
    let second = other_core.or_else(|| others().next()).unwrap_or(first);
    TwoPlaces { sender: Placement::on([*first]), receiver: Placement::on([*second]) }
}

fn cache(host: &Host, cpus: &[u32]) -> Bytes {
    let level = host.cpu.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let wanted: BTreeSet<u32> = cpus.iter().copied().collect();
    let shared =
        host.cpu.caches.iter().filter(|cache| {
            cache.level == level && cache.cpus.iter().any(|cpu| wanted.contains(cpu))
        });
    Bytes(shared.map(|cache| cache.size_bytes.0).sum())
}

fn working_set(host: &Host, node: Option<u32>, cache_bytes: Bytes) -> Bytes {
    let node = host.nodes.iter().find(|have| Some(have.id) == node);
    let limits = [
        host.memory.available_bytes.value().copied(),
        host.memory.cgroup_limit_bytes.value().copied(),
        node.and_then(|node| node.memory_bytes.value().copied()),
    ];
    let free = limits.into_iter().flatten().min().unwrap_or(Bytes::gib(1));
    let wanted = (4 * cache_bytes.0).max(Bytes::mib(256).0);
    Bytes(wanted.min(free.0 / 2))
}
