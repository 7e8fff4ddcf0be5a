//! Network interfaces and RDMA devices.

use super::PciHop;
use crate::{BitsPerSecond, Bytes, Fact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a port that carries messages.
const ACTIVE: &str = "ACTIVE";

/// One network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// Name of the network interface.
    pub name: String,
    /// True when a device stands behind it (`/sys/class/net/NAME/device`).
    pub physical: bool,
    /// Kernel driver of the device, such as `mlx5_core`.
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
    /// Kind of an interface without a device: `veth`, `bridge`, `bond`, `vlan`, ...
    #[serde(default)]
    pub kind: Fact<String>,
    /// Bond or bridge that it is a port of.
    #[serde(default)]
    pub master: Fact<String>,
    /// Interfaces it stands on: a VLAN's device, the ports of a bond or bridge, a veth's peer.
    #[serde(default)]
    pub lower: Vec<String>,
    /// `full` or `half`.
    #[serde(default)]
    pub duplex: Fact<String>,
    /// Root queueing discipline.
    #[serde(default)]
    pub qdisc: Fact<String>,
    /// The largest segment that the stack hands over, in bytes: 65,536 unless BIG TCP is on.
    #[serde(default)]
    pub gso_max_bytes: Fact<Bytes>,
    /// Version of its driver as that tells it; drivers of the kernel's own have the kernel's.
    #[serde(default)]
    pub driver_version: Fact<String>,
    /// Version of the card's firmware.
    #[serde(default)]
    pub firmware: Fact<String>,
    /// Descriptors of the rings.
    #[serde(default)]
    pub rings: Fact<Rings>,
    /// When an interrupt is raised.
    #[serde(default)]
    pub coalescing: Fact<Coalescing>,
    /// How long the kernel holds received packets back that more may join, in nanoseconds
    /// (`gro_flush_timeout`); 0 is not at all.
    #[serde(default)]
    pub gro_flush_ns: Fact<u64>,
    /// Offloads by the kernel's names, switched on or not.
    #[serde(default)]
    pub offloads: Fact<BTreeMap<String, bool>>,
    /// Those of them that cannot be changed here: the device or its driver does not let them be, or
    /// they were asked for in vain.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fixed_offloads: BTreeSet<String>,
    /// Ethernet flow control.
    #[serde(default)]
    pub pause: Fact<Pause>,
    /// Forward error correction in use.
    #[serde(default)]
    pub fec: Fact<String>,
    /// Each interrupt of the device with its CPUs.
    #[serde(default)]
    pub irqs: Fact<Vec<Irq>>,
    /// How packets are steered to CPUs in software.
    #[serde(default)]
    pub steering: Fact<Steering>,
    /// Virtual functions (SR-IOV), set up and at most.
    #[serde(default)]
    pub virtual_functions: Fact<VirtualFunctions>,
    /// For a virtual function: the address of its physical one.
    #[serde(default)]
    pub physical_function: Fact<String>,
}

/// Queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queues {
    /// Receive queues that are in use.
    pub rx: u32,
    /// Transmit queues that are in use.
    pub tx: u32,
}

/// Descriptors of an interface's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rings {
    /// Receive descriptors now.
    pub rx: u32,
    /// Receive descriptors at most.
    pub rx_max: u32,
    /// Transmit descriptors now.
    pub tx: u32,
    /// Transmit descriptors at most.
    pub tx_max: u32,
}

/// When an interface raises an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coalescing {
    /// Longest wait after a received packet.
    pub rx_us: u32,
    /// Packets after which it waits no longer; 0 is unlimited or unused.
    pub rx_frames: u32,
    /// Longest wait after a sent packet.
    pub tx_us: u32,
    /// Packets after which it waits no longer.
    pub tx_frames: u32,
    /// Whether the driver adapts the receive side itself.
    pub adaptive_rx: bool,
    /// Whether the driver adapts the transmit side itself.
    pub adaptive_tx: bool,
}

/// Ethernet pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// Settled between the ends of the link.
    pub negotiated: bool,
    /// Honours pause frames of the other end.
    pub rx: bool,
    /// Sends pause frames.
    pub tx: bool,
}

/// One interrupt and where it may be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Irq {
    /// Number of the interrupt, as in `/proc/interrupts`.
    pub number: u32,
    /// What the driver calls it.
    pub name: Option<String>,
    /// CPUs it may be delivered to.
    pub allowed_cpus: Vec<u32>,
    /// CPUs it is delivered to.
    pub effective_cpus: Vec<u32>,
    /// Node the kernel allots to it.
    pub node: Option<u32>,
}

/// Steering of packets in software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steering {
    /// Receive queues whose packets are spread over CPUs (RPS).
    pub rps_queues: u32,
    /// Receive queues that follow the application (RFS).
    pub rfs_queues: u32,
    /// Transmit queues with CPUs of their own (XPS).
    pub xps_queues: u32,
    /// Whether the card follows the application itself (aRFS: filters are on and RFS has flows).
    pub accelerated: Option<bool>,
}

/// Virtual functions of a card (SR-IOV).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualFunctions {
    /// How many are switched on.
    pub now: u32,
    /// How many the device has at most.
    pub most: u32,
}

/// One RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaDevice {
    /// Its name, `mlx5_0`.
    pub name: String,
    /// Node type as the kernel writes it: `CA`, `RNIC`, ...
    pub kind: Fact<String>,
    /// Version of its firmware.
    pub firmware: Fact<String>,
    /// NUMA node that the device is attached to.
    pub node: Fact<u32>,
    /// Address of its PCI function; none for a device in software.
    pub address: Option<String>,
    /// Its ports, in order of their numbers.
    pub ports: Vec<RdmaPort>,
}

impl RdmaDevice {
    /// Its first port that carries messages.
    pub fn active(&self) -> Option<&RdmaPort> {
        self.ports.iter().find(|port| port.state.value().is_some_and(|state| state == ACTIVE))
    }
}

/// One port of an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaPort {
    /// Port number, from 1.
    pub number: u32,
    /// `ACTIVE`, `DOWN`, ...
    pub state: Fact<String>,
    /// `LinkUp`, `Disabled`, ...
    pub physical_state: Fact<String>,
    /// Rate of the link.
    pub rate_bps: Fact<BitsPerSecond>,
    /// `InfiniBand` or `Ethernet`.
    pub link_layer: Fact<String>,
    /// Network interface of the port.
    pub netdev: Fact<String>,
    /// Global identifiers that are set, by index.
    #[serde(default)]
    pub gids: Fact<Vec<Gid>>,
}

/// One global identifier of an RDMA port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gid {
    /// Index in the port's table.
    pub index: u32,
    /// The identifier, as an IPv6 address is written.
    pub gid: String,
    /// Protocol it stands for: `IB/RoCE v1`, `RoCE v2`; `None` where the kernel does not tell.
    pub kind: Option<String>,
}
