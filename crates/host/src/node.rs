//! NUMA nodes, from `/sys/devices/system/node`.

use crate::folder::Folder;
use crate::garbled::Garbled;
use crate::{Root, list};
use narrows_model::host::{HugePages, Node, NodeAccess};
use narrows_model::{Bytes, BytesPerSecond, Nanos};

const NODES: &str = "sys/devices/system/node";

/// Reads the nodes. A kernel without NUMA has none.
pub fn read(root: &Root) -> Vec<Node> {
    let online = root.text("sys/devices/system/cpu/online").and_then(|text| list::parse(&text));
    let nodes = root.numbered(NODES, "node");
    nodes.into_iter().map(|id| node(root, id, online.value())).collect()
}

fn node(root: &Root, id: u32, online: Option<&Vec<u32>>) -> Node {
    let dir = format!("{NODES}/node{id}");
    let of = Folder::of(root, dir.as_str());
    // Captures of old kernels have the mask only.
    let mut cpus = match of.list("cpulist").value() {
        Some(listed) => listed.clone(),
        None => of.told("cpumap").and_then(|mask| list::parse_mask(&mask).ok()).unwrap_or_default(),
    };
    // A node goes on naming CPUs that were taken offline.
    cpus.retain(|cpu| online.is_none_or(|online| online.contains(cpu)));
    Node {
        id,
        cpus,
        memory_bytes: of.text("meminfo").and_then(|text| mem_total(&text)),
        distances: of.text("distance").and_then(|text| {
            text.split_whitespace()
                .map(|word| word.parse().map_err(|_| format!("'{word}' is not a distance")))
                .collect()
        }),
        huge_pages: huge_pages(root, &dir),
        access: access(root, &format!("{dir}/access0/initiators")),
    }
}

/// Figures of ACPI's HMAT, as the kernel gives them for the initiators nearest to a node: bandwidth
/// in MiB/s, latency in nanoseconds (Documentation/admin-guide/mm/numaperf.rst).
fn access(root: &Root, dir: &str) -> Option<NodeAccess> {
    let of = Folder::of(root, dir);
    let access = NodeAccess {
        initiators: root.numbered(dir, "node"),
        read_bytes_per_second: more_than_none(&of, "read_bandwidth").map(mib_per_second),
        write_bytes_per_second: more_than_none(&of, "write_bandwidth").map(mib_per_second),
        read_latency_ns: more_than_none(&of, "read_latency").map(Nanos),
        write_latency_ns: more_than_none(&of, "write_latency").map(Nanos),
    };
    (access.read_bytes_per_second.is_some() || access.read_latency_ns.is_some()).then_some(access)
}

/// A figure of a file; firmware that knows none gives 0.
fn more_than_none(of: &Folder<'_>, file: &str) -> Option<u64> {
    of.fitting(file).filter(|number| *number > 0)
}

fn mib_per_second(mib: u64) -> BytesPerSecond {
    BytesPerSecond(mib as f64 * 1_048_576.0)
}

/// Folders such as `hugepages/hugepages-2048kB`.
fn huge_pages(root: &Root, node: &str) -> Vec<HugePages> {
    let dir = format!("{node}/hugepages");
    let pools = root.names(&dir).into_iter().filter_map(|name| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let of = Folder::of(root, format!("{dir}/{name}"));
        Some(HugePages {
            size_bytes: Bytes(kib.checked_mul(1024)?),
            total: of.fitting("nr_hugepages")?,
            free: of.fitting("free_hugepages")?,
        })
    });
    let mut pools: Vec<HugePages> = pools.collect();
    pools.sort_by_key(|pool| pool.size_bytes);
    pools
}

/// `Node 0 MemTotal: 4810956 kB`.
fn mem_total(text: &str) -> Result<Bytes, Garbled> {
    let line = text.lines().find(|line| line.contains("MemTotal:"));
    let line = line.ok_or_else(|| Garbled::NoLine("MemTotal".to_owned()))?;
    let kib = line.split_whitespace().rev().nth(1).and_then(|word| word.parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .map(Bytes)
        .ok_or_else(|| Garbled::Lacks { line: line.to_owned(), quantity: "size" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_firmware_says_of_a_node_is_read() {
        let top = std::env::temp_dir().join(format!("narrows-hmat-{}", std::process::id()));
        let dir = top.join(NODES).join("node2/access0/initiators");
        std::fs::create_dir_all(dir.join("node0")).expect("folder");
        for (file, text) in
            [("read_bandwidth", "30720\n"), ("read_latency", "250\n"), ("write_latency", "0\n")]
        {
            std::fs::write(dir.join(file), text).expect("file");
        }
        let root = Root::at(&top);
        let access = access(&root, &format!("{NODES}/node2/access0/initiators"));
        std::fs::remove_dir_all(&top).expect("clean");
        let access = access.expect("figures");
        assert_eq!(access.initiators, [0]);
        assert_eq!(access.read_bytes_per_second, Some(BytesPerSecond(30.0 * 1024f64.powi(3))));
        assert_eq!((access.read_latency_ns, access.write_latency_ns), (Some(Nanos(250)), None));
    }

    #[test]
    fn a_node_states_its_memory_or_is_malformed() {
        assert_eq!(mem_total("Node 0 MemTotal:  16 kB\nNode 0 MemFree: 1 kB"), Ok(Bytes::kib(16)));
        assert!(mem_total("Node 0 MemTotal: kB").is_err());
        assert!(mem_total("").is_err());
        assert!(mem_total("Node 0 MemTotal: 18446744073709551615 kB").is_err());
    }
}
