//! What a host is made of, as far as narrows reads it.

use crate::{BitsPerSecond, Bytes, Fact};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One machine, as read at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Name of the machine (`/proc/sys/kernel/hostname`).
    pub name: Fact<String>,
    /// Maker and product, as firmware tells (`dmi/id`).
    pub product: Fact<String>,
    /// Kernel release.
    pub kernel: Fact<String>,
    /// Hypervisor or container that this system runs in, when it shows.
    pub virtualised: Fact<String>,
    /// Processors.
    pub cpu: Cpu,
    /// NUMA nodes, ordered by number.
    pub nodes: Vec<Node>,
    /// Memory: what the kernel has and what firmware says is plugged in.
    pub memory: Memory,
    /// Network interfaces with a device behind them, and those without (veth, bridges), by name.
    pub nics: Vec<Nic>,
    /// Settings that move network throughput: sysctls, governor, huge pages, by name.
    pub tuning: BTreeMap<String, Fact<String>>,
}

/// The processors of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name as the processor gives it.
    pub model: Fact<String>,
    /// CPUs the kernel runs on, by number.
    pub online: Fact<Vec<u32>>,
    /// CPUs this process may use (affinity mask), by number.
    pub allowed: Fact<Vec<u32>>,
    /// Where each online CPU sits.
    pub places: Vec<CpuPlace>,
    /// Caches, each listed once with the CPUs that share it.
    pub caches: Vec<Cache>,
}

/// Package, core and node of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// CPU number.
    pub cpu: u32,
    /// Physical package (socket), when the kernel says.
    pub package: Option<u32>,
    /// Core number, unique inside its package.
    pub core: Option<u32>,
    /// NUMA node, when the kernel says.
    pub node: Option<u32>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of this one cache.
    pub size_bytes: Bytes,
    /// CPUs that share it.
    pub cpus: Vec<u32>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Node number.
    pub id: u32,
    /// Its online CPUs; empty for a memory-only node.
    pub cpus: Vec<u32>,
    /// Memory of the node.
    pub memory_bytes: Fact<Bytes>,
    /// Distances to the nodes in order (ACPI SLIT; 10 is local).
    pub distances: Fact<Vec<u32>>,
}

/// Memory of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Memory the kernel manages (`MemTotal`).
    pub total_bytes: Fact<Bytes>,
    /// Memory that could be used now without swapping (`MemAvailable`).
    pub available_bytes: Fact<Bytes>,
    /// Limit of this process's control group, when there is one.
    pub cgroup_limit_bytes: Fact<Bytes>,
    /// Slots and modules as firmware describes them (SMBIOS type 17).
    pub slots: Fact<Vec<Slot>>,
}

/// One memory slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Device locator, as printed on the board.
    pub locator: String,
    /// Bank locator.
    pub bank: String,
    /// Socket (counted from 0 in order of the maker's labels) and channel, when the locators spell
    /// them out.
    pub at: Option<SlotPlace>,
    /// What is plugged in; `None` for an empty slot.
    pub module: Option<Module>,
}

/// Where a slot is wired to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotPlace {
    /// Socket, from 0.
    pub socket: u32,
    /// Channel label inside the socket, as the maker writes it (`A`, `0`).
    pub channel: String,
}

/// One memory module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// Capacity; `None` when firmware says "unknown".
    pub size_bytes: Option<Bytes>,
    /// `DDR4`, `DDR5`, `Flash`, ...
    pub technology: String,
    /// True for DRAM; false for flash, ROM and persistent memory, which are no population of
    /// channels.
    pub is_dram: bool,
    /// Speed the module is made for, in MT/s.
    pub rated_mts: Option<u32>,
    /// Speed it runs at, in MT/s.
    pub configured_mts: Option<u32>,
    /// Ranks.
    pub ranks: Option<u32>,
}

/// One network interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nic {
    /// Interface name.
    pub name: String,
    /// True when a device stands behind it (`/sys/class/net/NAME/device`).
    pub physical: bool,
    /// Kernel driver.
    pub driver: Fact<String>,
    /// Link rate now.
    pub speed_bps: Fact<BitsPerSecond>,
    /// `up`, `down`, `unknown`, ...
    pub state: Fact<String>,
    /// Largest IP packet in bytes.
    pub mtu_bytes: Fact<Bytes>,
    /// NUMA node of the device.
    pub node: Fact<u32>,
    /// PCI functions from the root port down to the device; empty when it is not on PCI.
    pub path: Vec<PciHop>,
    /// CPUs that the interface's interrupts are delivered to, over all its interrupts.
    pub irq_cpus: Fact<Vec<u32>>,
    /// Receive and transmit queues.
    pub queues: Fact<Queues>,
}

/// Queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Receive queues.
    pub rx: u32,
    /// Transmit queues.
    pub tx: u32,
}

/// One PCI function on the way to a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PciHop {
    /// `0000:3b:00.0`.
    pub address: String,
    /// Vendor and device as the PCI id list names them, else the hexadecimal pair.
    pub name: String,
    /// Class code, 24 bits.
    pub class: Fact<u32>,
    /// The link that ends at this function, now and at most: above a device or a switch's upstream
    /// port, below a root port or a switch's downstream port. Two neighbours describe one link.
    pub link: Fact<PciLink>,
    /// Packet sizes it is set to (configuration space; root).
    pub express: Fact<Express>,
}

/// Settings of a PCI Express function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Express {
    /// Largest payload of a packet it sends.
    pub max_payload_bytes: Bytes,
    /// Most that it asks for in one read.
    pub max_read_request_bytes: Bytes,
    /// Whether its writes may overtake each other.
    pub relaxed_ordering: bool,
}

/// A PCI Express link as the kernel reports it for one function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PciLink {
    /// Speed now, GT/s.
    pub speed_gts: f64,
    /// Lanes now.
    pub width: u32,
    /// Most speed this function can do, GT/s.
    pub speed_max_gts: f64,
    /// Most lanes this function has.
    pub width_max: u32,
}

impl Host {
    /// The interface by this name.
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.iter().find(|nic| nic.name == name)
    }
    /// The node that a CPU belongs to.
    pub fn node_of_cpu(&self, cpu: u32) -> Option<u32> {
        self.cpu.places.iter().find(|place| place.cpu == cpu).and_then(|place| place.node)
    }
    /// Sum of the distinct caches of the highest level, over the whole machine; 0 when none is
    /// listed.
    pub fn last_level_cache_bytes(&self) -> Bytes {
        let level = self.cpu.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
        let caches = self.cpu.caches.iter().filter(|cache| cache.level == level);
        Bytes(caches.map(|cache| cache.size_bytes.0).fold(0, u64::saturating_add))
    }
    /// Interfaces with a device behind them.
    pub fn physical_nics(&self) -> impl Iterator<Item = &Nic> {
        self.nics.iter().filter(|nic| nic.physical)
    }
}
