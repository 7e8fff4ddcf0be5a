//! What a host is made of, as far as narrows reads it.

mod attached;
mod channel;
mod cpu;
mod memory;
mod nic;
mod pci;
mod sources;
mod storage;

pub use channel::{ChannelId, Label};
pub use cpu::{Cache, Cpu, CpuCounts, CpuId, CpuPlace, CpuSocket, IdleState};
pub use memory::{
    ControllerModule, HugePages, Interleave, Memory, MemoryArray, MemoryRange, Module, Node,
    NodeAccess, Slot, SlotPlace,
};
pub use nic::{
    Coalescing, Gid, Irq, Nic, Pause, Queues, RdmaDevice, RdmaPort, Rings, Steering,
    VirtualFunctions,
};
pub use pci::{Acs, Device, DeviceKind, ExpansionSlot, Express, PciHop, PciLink};
pub use sources::{Disagreement, Said, Topic, Unused};
pub use storage::{ControllerKind, Drive, StorageController, Transport};

use crate::{Bytes, Fact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Makers and products as firmware names them (SMBIOS types 1 and 2); empty where it does not.
/// Sellers put their own name on a machine and leave the board's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Maker of the machine.
    pub maker: String,
    /// Product name of the machine.
    pub product: String,
    /// Maker of the main board.
    pub board_maker: String,
    /// Product name of the main board.
    pub board: String,
}

/// One machine, as read at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Name of the machine (`/proc/sys/kernel/hostname`).
    pub name: Fact<String>,
    /// Maker and product, as firmware tells (`dmi/id`).
    pub product: Fact<String>,
    /// Release of the kernel, as `uname -r` tells it.
    pub kernel: Fact<String>,
    /// Name and version of the operating system (`PRETTY_NAME` of `/etc/os-release`).
    #[serde(default, skip_serializing_if = "Fact::is_unasked")]
    pub system: Fact<String>,
    /// Kind of the chassis as firmware tells it, such as `rack mount chassis`.
    #[serde(default, skip_serializing_if = "Fact::is_unasked")]
    pub chassis: Fact<String>,
    /// Hypervisor or container that this system runs in, when it shows.
    pub virtualised: Fact<String>,
    /// Processors, their places and how they sleep and clock.
    pub cpu: Cpu,
    /// NUMA nodes, ordered by number.
    pub nodes: Vec<Node>,
    /// Memory: what the kernel has and what firmware says is plugged in.
    pub memory: Memory,
    /// Network interfaces with a device behind them, and those without (veth, bridges), by name.
    pub nics: Vec<Nic>,
    /// RDMA devices, by name.
    #[serde(default)]
    pub rdma: Vec<RdmaDevice>,
    /// PCI functions that move much data, by address: network, NVMe, accelerators.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// Drives with a device behind them, by name.
    #[serde(default, skip_serializing_if = "Fact::is_unasked")]
    pub drives: Fact<Vec<Drive>>,
    /// PCI functions that drives hang on, by address.
    #[serde(default, skip_serializing_if = "Fact::is_unasked")]
    pub storage_controllers: Fact<Vec<StorageController>>,
    /// Slots for cards as firmware lists them.
    #[serde(default)]
    pub expansion_slots: Fact<Vec<ExpansionSlot>>,
    /// Settings that move network throughput: sysctls, power, memory, firewall, by name.
    pub tuning: BTreeMap<String, Fact<String>>,
    /// Makers and products of the machine and of its main board.
    #[serde(default)]
    pub identity: Fact<Identity>,
    /// What the sources of this description say differently; empty where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disagreements: Vec<Disagreement>,
    /// What of the sources could not be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<Unused>,
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
    /// The slot that one of these functions is in.
    pub fn slot_of(&self, path: &[PciHop]) -> Option<&ExpansionSlot> {
        let slots = self.expansion_slots.value()?;
        // The lowest function that a slot names: bridges above may be in other slots.
        path.iter().rev().find_map(|hop| {
            let here = device(&hop.address)?;
            slots.iter().find(|slot| slot.address.as_deref().and_then(device) == Some(here.clone()))
        })
    }
    /// Interfaces with a device behind them.
    pub fn physical_nics(&self) -> impl Iterator<Item = &Nic> {
        self.nics.iter().filter(|nic| nic.physical)
    }
}

fn device(address: &str) -> Option<String> {
    address.rsplit_once('.').map(|(d, _)| d.to_owned())
}
