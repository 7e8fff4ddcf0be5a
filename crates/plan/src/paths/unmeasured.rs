//! What of a host's paths is not measured, and what would make it so.

use narrows_model::host::{DeviceKind, Host};
use std::fmt;

/// Something between a NIC and the rest of its host that is not measured, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The host has no RDMA device.
    NoDevice,
    /// No port of this device is up.
    Down(String),
    /// There is no other device to send to.
    OneDevice(String),
    /// One node has memory.
    OneNode,
    /// Nobody tells which node a device is attached to, so that no node is nearer than another.
    Unattached(String),
    /// This node has memory and no CPU that this process may use.
    NoCpu(u32),
    /// No two ports are named that a cable joins.
    NoCable,
    /// Accelerators and disks: narrows moves no data between them and a NIC.
    Others(usize),
    /// Paths that do not fit the time.
    LeftOut { paths: usize, whole: usize },
}

impl Unmeasured {
    /// Devices of the host that no workload reaches.
    pub(super) fn others(host: &Host) -> Option<Self> {
        let others = host.devices.iter().filter(|device| device.kind != DeviceKind::Network);
        Some(others.count()).filter(|count| *count > 0).map(Self::Others)
    }

    /// What and why, in one line with its hint.
    pub fn says(&self) -> String {
        format!("{self} (hint: {})", self.hint())
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NoDevice => {
                "load the NIC's driver; in software: rdma link add rxe0 type rxe netdev eth0"
            }
            Self::Down(_) => "narrows host --table rdma",
            Self::OneDevice(_) => "two ports with a cable need no RDMA: --cable eth0,eth1",
            Self::OneNode => {
                "firmware may interleave the sockets as one node, or split one (NPS, SNC)"
            }
            Self::Unattached(_) => "narrows host --table pci",
            Self::NoCpu(_) => "taskset and cpusets say which CPUs a process may use",
            Self::NoCable => "--cable eth0,eth1",
            Self::Others(_) => "narrows host --table pci says which links they share",
            Self::LeftOut { .. } => "--minutes",
        }
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => f.write_str("RDMA loop-back, since this host has no RDMA device"),
            Self::Down(device) => write!(f, "{device}, since none of its ports is up"),
            Self::OneDevice(device) => {
                write!(f, "from one RDMA device to another, since {device} is the only one")
            }
            Self::OneNode => f.write_str("memory of another node, since one node has memory"),
            Self::Unattached(device) => {
                write!(f, "how far {device} is from each node, since nothing tells its own")
            }
            Self::NoCpu(node) => write!(
                f,
                "threads on node {node}, which has memory and no CPU that this process may use: \
                 they run at the device's node"
            ),
            Self::NoCable => f.write_str("packets from port to port, since no cable is named"),
            Self::Others(count) => write!(
                f,
                "{count} accelerators and disks, since no workload here moves data between them \
                 and a NIC"
            ),
            Self::LeftOut { paths, whole } => {
                write!(f, "{paths} of {whole} paths, which do not fit the time")
            }
        }
    }
}
