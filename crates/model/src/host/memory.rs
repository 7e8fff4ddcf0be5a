//! NUMA nodes, memory controllers, slots and modules.

use super::ChannelId;
use crate::{Bytes, BytesPerSecond, Fact, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Number of the node, as the kernel counts them.
    pub id: u32,
    /// Its online CPUs; empty for a memory-only node.
    pub cpus: Vec<u32>,
    /// Memory of the node.
    pub memory_bytes: Fact<Bytes>,
    /// Distances to the nodes in order (ACPI SLIT; 10 is local).
    pub distances: Fact<Vec<u32>>,
    /// Pools of huge pages.
    #[serde(default)]
    pub huge_pages: Vec<HugePages>,
    /// What firmware says of reaching this node from the nodes nearest to it (ACPI HMAT); `None`
    /// where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<NodeAccess>,
}

/// Firmware's figures of reaching a node's memory. They are what its maker wrote, not a
/// measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAccess {
    /// Nodes from which they hold.
    pub initiators: Vec<u32>,
    /// Bandwidth of reads.
    pub read_bytes_per_second: Option<BytesPerSecond>,
    /// Bandwidth of writes.
    pub write_bytes_per_second: Option<BytesPerSecond>,
    /// Latency of reads.
    pub read_latency_ns: Option<Nanos>,
    /// Latency of writes.
    pub write_latency_ns: Option<Nanos>,
}

/// Huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// Size of a page.
    pub size_bytes: Bytes,
    /// Pages set aside.
    pub total: u64,
    /// Pages that nobody uses.
    pub free: u64,
}

/// Memory of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Memory the kernel manages (`MemTotal`).
    pub total_bytes: Fact<Bytes>,
    /// Memory that could be used now without swapping (`MemAvailable`).
    pub available_bytes: Fact<Bytes>,
    /// Limit of this process's control group, when there is one.
    pub cgroup_limit_bytes: Fact<Bytes>,
    /// Slots and modules as firmware describes them (SMBIOS type 17), or, where that cannot be
    /// had, the modules that the memory controllers' driver lists.
    pub slots: Fact<Vec<Slot>>,
    /// Arrays of slots (SMBIOS type 16).
    #[serde(default)]
    pub arrays: Fact<Vec<MemoryArray>>,
    /// Ranges of addresses that arrays answer to (SMBIOS type 19).
    #[serde(default)]
    pub ranges: Fact<Vec<MemoryRange>>,
    /// Modules as the memory controllers' driver lists them (EDAC).
    #[serde(default)]
    pub controllers: Fact<Vec<ControllerModule>>,
}

/// One memory slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// Device locator, as printed on the board.
    pub locator: String,
    /// Bank locator, as firmware writes it (SMBIOS type 17).
    pub bank: String,
    /// Socket (counted from 0 in order of the maker's labels) and channel, when they are known.
    pub at: Option<SlotPlace>,
    /// What is plugged in; `None` for an empty slot.
    pub module: Option<Module>,
    /// Handle of the array that it belongs to (SMBIOS type 16).
    #[serde(default)]
    pub array: Option<u16>,
    /// Its place in firmware's interleave (SMBIOS type 20), when stated.
    #[serde(default)]
    pub interleave: Option<Interleave>,
}

impl Slot {
    /// The slot in a few words: its locator, and its bank where firmware tells one.
    pub fn named(&self) -> String {
        let placeholder = matches!(self.bank.trim(), "" | "Unknown" | "Not Specified" | "None");
        if placeholder { self.locator.clone() } else { format!("{} {}", self.locator, self.bank) }
    }
}

/// A module's place in an interleave, as firmware states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interleave {
    /// Position, from 1.
    pub position: u8,
    /// Rows that are taken from a module in turn.
    pub depth: u8,
}

/// Where a slot is wired to.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct SlotPlace {
    /// Socket, from 0.
    pub socket: u32,
    /// Channel label inside the socket, as the maker writes it (`A`, `0`).
    #[schemars(with = "String")]
    pub channel: ChannelId,
    /// Memory controller inside the socket, from 0, when that is told.
    #[serde(default)]
    pub controller: Option<u32>,
}

/// One memory module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Ranks: sets of chips that are selected together.
    pub ranks: Option<u32>,
}

/// One array of memory slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryArray {
    /// Handle that slots refer to.
    pub handle: u16,
    /// What it is used for: `system memory`, `flash`, ...
    pub used_for: String,
    /// Error correction: `none`, `single-bit`, `multi-bit`, ...
    pub correction: String,
    /// Most that it can hold.
    pub capacity_max_bytes: Option<Bytes>,
    /// Slots it has.
    pub slots: Option<u16>,
}

/// One range of physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRange {
    /// Handle of the array that answers.
    pub array: u16,
    /// Physical address of its first byte.
    pub first: u64,
    /// Physical address of its last byte.
    pub last: u64,
    /// Modules that form one row of it.
    pub width: u8,
}

/// One module as the driver of its memory controller lists it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerModule {
    /// Name of the controller.
    pub controller: String,
    /// The board's label, or the driver's own.
    pub label: String,
    /// Place by the driver: `channel 0 slot 1`.
    pub location: String,
    /// Socket, controller and channel, when they can be read from these.
    pub at: Option<SlotPlace>,
    /// Capacity; `None` where the driver tells none.
    pub size_bytes: Option<Bytes>,
    /// Memory type by the driver.
    pub technology: Option<String>,
}
