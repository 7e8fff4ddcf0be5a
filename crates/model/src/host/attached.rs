//! Where RDMA devices and interfaces are attached: their node, their PCI functions, and how far a
//! node is.

use super::{Host, Nic, PciHop, RdmaDevice};

/// Node distance from a node to itself, as firmware writes it (ACPI's SLIT).
const LOCAL: u32 = 10;

impl Host {
    /// The RDMA device by this name.
    pub fn rdma_device(&self, name: &str) -> Option<&RdmaDevice> {
        self.rdma.iter().find(|device| device.name == name)
    }

    /// The interface of a device's first port that has one.
    pub fn netdev_of(&self, device: &RdmaDevice) -> Option<&Nic> {
        device.ports.iter().find_map(|port| self.nic(port.netdev.value()?))
    }

    /// PCI functions from the root port down to an RDMA device; to its interface's where software
    /// makes it; empty where neither is on PCI.
    pub fn functions_of(&self, device: &RdmaDevice) -> &[PciHop] {
        let own = device.address.as_ref().and_then(|address| {
            let devices = self.devices.iter().map(|device| device.path.as_slice());
            let mut all = devices.chain(self.nics.iter().map(|nic| nic.path.as_slice()));
            all.find(|path| path.last().is_some_and(|hop| hop.address == *address))
        });
        own.or_else(|| Some(self.netdev_of(device)?.path.as_slice())).unwrap_or_default()
    }

    /// The node that an RDMA device is attached to: its own, or its interface's where software
    /// makes it; on a host with one node that one.
    pub fn node_of_rdma(&self, device: &RdmaDevice) -> Option<u32> {
        let own = device.node.value().copied();
        own.or_else(|| self.node_of_nic(self.netdev_of(device)?)).or_else(|| self.only_node())
    }

    /// The node that an interface is attached to; on a host with one node that one.
    pub fn node_of_nic(&self, nic: &Nic) -> Option<u32> {
        nic.node.value().copied().or_else(|| self.only_node())
    }

    fn only_node(&self) -> Option<u32> {
        let [node] = self.nodes.as_slice() else { return None };
        Some(node.id)
    }

    /// Distance from a node to another as firmware tells it, 10 to itself; `None` where it does not
    /// tell.
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        if from == to {
            return Some(LOCAL);
        }
        let place = self.nodes.iter().position(|node| node.id == to)?;
        let node = self.nodes.iter().find(|node| node.id == from)?;
        node.distances.value()?.get(place).copied()
    }
}
