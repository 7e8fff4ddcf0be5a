//! PCI functions and links.

use crate::{Bytes, BytesPerSecond, Fact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a PCI function is for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// Network controller (class 02, InfiniBand included).
    Network,
    /// Accelerator: display or 3D controller, processing accelerator, co-processor.
    Accelerator,
    /// A controller of NVMe storage.
    Storage,
}

/// One PCI function that moves much data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// What it is for.
    pub kind: DeviceKind,
    /// Address of the function.
    pub address: String,
    /// What the kernel calls it: interfaces, RDMA devices, disks.
    pub names: Vec<String>,
    /// Kernel driver of the device, such as `nvme`.
    pub driver: Fact<String>,
    /// NUMA node of the function or of the nearest bridge above that has one.
    pub node: Fact<u32>,
    /// True for a virtual function.
    pub is_virtual: bool,
    /// PCI functions from the root port down to this one.
    pub path: Vec<PciHop>,
}

/// One PCI function on the way to a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PciHop {
    /// Domain, bus, device and function: `0000:3b:00.0`.
    pub address: String,
    /// Vendor and device as the PCI id list names them, else the hexadecimal pair.
    pub name: String,
    /// Class code, 24 bits.
    pub class: Fact<u32>,
    /// The link that ends at this function, now and at most: above a device or a switch's upstream
    /// port, below a root port or a switch's downstream port. Two neighbours describe one link.
    pub link: Fact<PciLink>,
    /// Rate of that link where only the rate is told, and not lanes and speed.
    #[serde(default)]
    pub rate_bytes_per_second: Fact<BytesPerSecond>,
    /// Packet sizes it is set to (configuration space; root).
    pub express: Fact<Express>,
    /// Whether it sends up to the root complex what devices below tell each other (configuration
    /// space; root).
    #[serde(default)]
    pub acs: Fact<Acs>,
}

/// What access control services (ACS) of a PCI Express function are set to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acs {
    /// Requests from one device to another go up to the root complex.
    pub request_redirect: bool,
    /// Answers to these go up to the root complex.
    pub completion_redirect: bool,
    /// Requests that came down are sent up again.
    pub upstream_forwarding: bool,
    /// Single ports are closed to requests from here.
    pub egress_control: bool,
}

/// Settings of a PCI Express function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Express {
    /// Largest payload of a packet it sends.
    pub max_payload_bytes: Bytes,
    /// Largest payload it could send.
    #[serde(default)]
    pub max_payload_supported_bytes: Bytes,
    /// Most that it asks for in one read.
    pub max_read_request_bytes: Bytes,
    /// Whether its writes may overtake each other.
    pub relaxed_ordering: bool,
    /// Whether its link may sleep (active state power management).
    #[serde(default)]
    pub link_sleeps: bool,
}

/// A PCI Express link as one function reports it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PciLink {
    /// Speed now, GT/s.
    pub speed_gts: f64,
    /// Lanes that are trained now.
    pub width: u32,
    /// Most speed this function can do, GT/s.
    pub speed_max_gts: f64,
    /// Most lanes this function has.
    pub width_max: u32,
}

/// One slot for cards, as firmware describes it (SMBIOS type 9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpansionSlot {
    /// Designation on the board.
    pub name: String,
    /// Lanes wired to it, for PCI Express.
    pub lanes: Option<u32>,
    /// Whether a card is in it.
    pub in_use: Option<bool>,
    /// Address of the function in it, or of its port.
    pub address: Option<String>,
}
