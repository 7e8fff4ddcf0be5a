//! Where to run: the node next to the NIC, two cores of it, and a working set beyond its caches.

use narrows_facts::Bytes;
use narrows_facts::host::Host;
use narrows_facts::load::CpuList;
use narrows_facts::trial::Placement;
use std::collections::BTreeSet;

/// A place on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// NUMA node, when the host has nodes.
    pub node: Option<u32>,
    /// Its CPUs that this process may use.
    pub cpus: Vec<u32>,
    /// A CPU each for source and sink: two cores when the place has two.
    pub pair: Placement,
    /// Sum of the last-level caches that those CPUs share.
    pub cache_bytes: Bytes,
    /// Working set for memory kernels: four times the caches, at least 256 MiB, at most half of the
    /// memory that is free.
    pub working_set_bytes: Bytes,
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
    nics.sort_by(|a, b| {
        let speed = |nic: &narrows_facts::host::Nic| nic.speed_bps.value().map_or(0.0, |s| s.0);
        speed(b).total_cmp(&speed(a))
    });
    let of_nic = nics.iter().filter_map(|nic| nic.node.value().copied());
    let of_cpu = allowed.iter().filter_map(|cpu| host.node_of_cpu(*cpu));
    let node = of_nic.chain(of_cpu).find(|node| !on_node(*node).is_empty());
    spot(host, node, node.map_or_else(|| allowed.clone(), on_node))
}

/// The place that a node is; `None` when this process may use none of its CPUs.
pub fn on_node(host: &Host, node: u32) -> Option<Spot> {
    let allowed = host.cpu.allowed.value().or(host.cpu.online.value())?;
    let here = |cpu: &u32| host.node_of_cpu(*cpu) == Some(node);
    let cpus: Vec<u32> = allowed.iter().copied().filter(here).collect();
    (!cpus.is_empty()).then(|| spot(host, Some(node), cpus))
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
    let is_first = |cpu: &u32| core(cpu).is_none_or(|core| seen.insert(core));
    let (firsts, seconds): (Vec<u32>, Vec<u32>) = cpus.into_iter().partition(is_first);
    firsts.into_iter().chain(seconds).collect()
}

/// The first CPU, and the first of another core; of one core there is only the same CPU.
fn pair(host: &Host, cpus: &[u32]) -> Placement {
    let core = |cpu: u32| {
        let place = host.cpu.places.iter().find(|place| place.cpu == cpu);
        place.map(|p| (p.package, p.die, p.core)).filter(|(.., core)| core.is_some())
    };
    let Some(first) = cpus.first() else { return Placement::default() };
    let others = || cpus.iter().filter(|cpu| *cpu != first);
    let other_core = others().find(|cpu| core(**cpu).is_none() || core(**cpu) != core(*first));
    let second = other_core.or_else(|| others().next()).unwrap_or(first);
    Placement { source: CpuList(vec![*first]), sink: CpuList(vec![*second]) }
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
