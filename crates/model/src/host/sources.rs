//! What a host was put together from, where it came from more than one description.

use crate::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What two sources of one host may say differently.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// Processor sockets with a processor.
    Sockets,
    /// Cores of all sockets.
    Cores,
    /// CPUs that are online.
    Cpus,
    /// NUMA nodes: how many there are, with or without CPUs.
    Nodes,
    /// CPUs of one node.
    NodeCpus,
    /// Memory of one node, or of the host.
    MemoryBytes,
    /// Memory modules by size.
    Modules,
    /// Kernel release, as `uname -r` prints it.
    Kernel,
    /// Link of a PCI function: speed and lanes, now and at most.
    Link,
    /// Packet sizes that a PCI function is set to.
    PacketSizes,
    /// NUMA node of a device.
    DeviceNode,
    /// Driver of a device.
    Driver,
    /// PCI address of an interface.
    Address,
    /// Link rate of an interface.
    Speed,
    /// MTU of an interface.
    Mtu,
    /// Whether an interface is up.
    State,
    /// Version of a card's firmware.
    Firmware,
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sockets => "processor sockets",
            Self::Cores => "cores",
            Self::Cpus => "CPUs online",
            Self::Nodes => "NUMA nodes",
            Self::NodeCpus => "CPUs of the node",
            Self::MemoryBytes => "memory",
            Self::Modules => "memory modules",
            Self::Kernel => "kernel",
            Self::Link => "PCIe link",
            Self::PacketSizes => "PCIe packet sizes",
            Self::DeviceNode => "NUMA node",
            Self::Driver => "driver",
            Self::Address => "PCI address",
            Self::Speed => "link rate",
            Self::Mtu => "MTU",
            Self::State => "state",
            Self::Firmware => "firmware",
        })
    }
}

/// One thing that the sources of a host say differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    /// Interface, PCI address or node that it is about; `None` for the host as a whole.
    pub of: Option<String>,
    /// What of it.
    pub topic: Topic,
    /// What each source says; the first is the one that is believed.
    pub said: Vec<Said>,
}

/// What one source says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// The value in words, with its unit.
    pub value: String,
    /// Who says so.
    pub from: Source,
}

/// What a source held and nothing was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unused {
    /// The file or program that gave it.
    pub from: Source,
    /// What it is, and why it was of no use.
    pub what: String,
}
