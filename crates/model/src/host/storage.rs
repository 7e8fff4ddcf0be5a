//! Drives and what they hang on: no part of what limits a network, but of what a host is made of.

use crate::{Bytes, Fact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A whole block device with a device behind it. Serial numbers and world-wide names are not kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// What the kernel calls it, such as `sda`.
    pub name: String,
    /// Model as it calls itself, behind its maker where it tells one.
    pub model: Fact<String>,
    /// How much it holds.
    pub size_bytes: Fact<Bytes>,
    /// Whether it turns.
    pub is_rotating: Fact<bool>,
    /// What it is reached by; absent where a controller shows a drive of its own making.
    pub transport: Fact<Transport>,
}

/// What a drive is reached by.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// NVM Express, also over a network.
    Nvme,
    /// Serial ATA, also behind a controller of SAS.
    Sata,
    /// Serial attached SCSI.
    Sas,
    /// Universal serial bus.
    Usb,
    /// Through a virtio device of a virtual machine.
    Virtio,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvme => "NVMe",
            Self::Sata => "SATA",
            Self::Sas => "SAS",
            Self::Usb => "USB",
            Self::Virtio => "virtio",
        })
    }
}

/// A PCI function that drives hang on, other than NVMe, where each drive is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageController {
    /// Address of the function.
    pub address: String,
    /// What its class says it is.
    pub kind: ControllerKind,
    /// Vendor and device as the PCI id list names them, else the hexadecimal pair.
    pub name: String,
    /// Kernel driver of the function, such as `megaraid_sas`.
    pub driver: Fact<String>,
}

/// What kind of storage controller a PCI function is, by its class.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerKind {
    /// It joins drives to volumes (class 01 04).
    Raid,
    /// Serial attached SCSI (class 01 07).
    Sas,
    /// SCSI, and what shows itself as such (class 01 00).
    Scsi,
    /// Serial ATA (class 01 06).
    Sata,
}

impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raid => "RAID",
            Self::Sas => "SAS",
            Self::Scsi => "SCSI",
            Self::Sata => "SATA",
        })
    }
}
