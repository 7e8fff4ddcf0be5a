//! NUMA nodes, from `/sys/devices/system/node`.

use crate::{Root, list};
use narrows_facts::Bytes;
use narrows_facts::host::{HugePages, Node};

const NODES: &str = "sys/devices/system/node";

/// Reads the nodes. A kernel without NUMA has none.
pub fn read(root: &Root) -> Vec<Node> {
    let online = root.text("sys/devices/system/cpu/online").and_then(|text| list::parse(&text));
    let nodes = root.numbered(NODES, "node");
    nodes.into_iter().map(|id| node(root, id, online.value())).collect()
}

fn node(root: &Root, id: u32, online: Option<&Vec<u32>>) -> Node {
    let dir = format!("{NODES}/node{id}");
    let listed = root.text(&format!("{dir}/cpulist")).and_then(|text| list::parse(&text));
    // Captures of old kernels have the mask only.
    let mask = || root.text(&format!("{dir}/cpumap")).and_then(|text| list::parse_mask(&text));
    let mut cpus = listed.value().cloned().or_else(|| mask().value().cloned()).unwrap_or_default();
    // A node goes on naming CPUs that were taken offline.
    cpus.retain(|cpu| online.is_none_or(|online| online.contains(cpu)));
    Node {
        id,
        cpus,
        memory_bytes: root.text(&format!("{dir}/meminfo")).and_then(|text| mem_total(&text)),
        distances: root.text(&format!("{dir}/distance")).and_then(|text| {
            text.split_whitespace()
                .map(|word| word.parse().map_err(|_| format!("'{word}' is not a distance")))
                .collect()
        }),
        huge_pages: huge_pages(root, &dir),
    }
}

/// Folders such as `hugepages/hugepages-2048kB`.
fn huge_pages(root: &Root, node: &str) -> Vec<HugePages> {
    let dir = format!("{node}/hugepages");
    let pools = root.names(&dir).into_iter().filter_map(|name| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count = |file: &str| {
            let number = root.number(&format!("{dir}/{name}/{file}"));
            number.value().and_then(|count| u64::try_from(*count).ok())
        };
        Some(HugePages {
            size_bytes: Bytes(kib.checked_mul(1024)?),
            total: count("nr_hugepages")?,
            free: count("free_hugepages")?,
        })
    });
    let mut pools: Vec<HugePages> = pools.collect();
    pools.sort_by_key(|pool| pool.size_bytes);
    pools
}

/// `Node 0 MemTotal: 4810956 kB`.
fn mem_total(text: &str) -> Result<Bytes, String> {
    let line = text.lines().find(|line| line.contains("MemTotal:")).ok_or("no line MemTotal")?;
    let kib = line.split_whitespace().rev().nth(1).and_then(|word| word.parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .map(Bytes)
        .ok_or_else(|| format!("'{line}' has no size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_states_its_memory_or_is_malformed() {
        assert_eq!(mem_total("Node 0 MemTotal:  16 kB\nNode 0 MemFree: 1 kB"), Ok(Bytes::kib(16)));
        assert!(mem_total("Node 0 MemTotal: kB").is_err());
        assert!(mem_total("").is_err());
        assert!(mem_total("Node 0 MemTotal: 18446744073709551615 kB").is_err());
    }
}
