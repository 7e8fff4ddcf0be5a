//! PCI functions that move much data, and the functions on the way to them from the root complex.

use crate::express::Gap;
use crate::folder::Folder;
use crate::{Root, acs, express, ids};
use narrows_model::Fact;
use narrows_model::host::{Device, DeviceKind, Nic, PciHop, PciLink, RdmaDevice};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The folder with an entry for each function.
pub(crate) const FUNCTIONS: &str = "sys/bus/pci/devices";

/// The node of the device, or of the nearest parent that has one: a virtio device has none itself.
pub fn node(root: &Root, device: Option<&str>, shown: &str) -> Fact<u32> {
    let mut dir = device.unwrap_or_default();
    while !dir.is_empty() {
        if let Some(node) = root.number(&format!("{dir}/numa_node")).value() {
            return match u32::try_from(*node) {
                Ok(node) => Fact::known(node, format!("/{dir}/numa_node")),
                Err(_) => Fact::said_absent(format!("/{dir}/numa_node"), node.to_string()),
            };
        }
        dir = dir.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    Fact::absent(format!("/{shown}"))
}

/// Reads functions, each once: many devices share the bridges above them.
pub struct Functions<'a> {
    root: &'a Root,
    read: RefCell<BTreeMap<String, PciHop>>,
}

impl<'a> Functions<'a> {
    /// The functions of a machine; nothing is read yet.
    pub fn of(root: &'a Root) -> Self {
        Self { root, read: RefCell::default() }
    }

    /// The hops of a resolved device path, root port first.
    pub fn path(&self, device: &str) -> Vec<PciHop> {
        let mut hops = Vec::new();
        let mut dir = String::new();
        for part in device.split('/') {
            dir = if dir.is_empty() { part.to_owned() } else { format!("{dir}/{part}") };
            if is_address(part) {
                let known = self.read.borrow().get(part).cloned();
                let hop = known.unwrap_or_else(|| hop(self.root, part, &dir));
                self.read.borrow_mut().insert(part.to_owned(), hop.clone());
                hops.push(hop);
            }
        }
        hops
    }

    /// All functions that move much data, by address.
    pub fn devices(&self, nics: &[Nic], rdma: &[RdmaDevice]) -> Vec<Device> {
        let addresses = self.root.names(FUNCTIONS).into_iter().filter(|name| is_address(name));
        addresses.filter_map(|address| self.device(address, nics, rdma)).collect()
    }

    fn device(&self, address: String, nics: &[Nic], rdma: &[RdmaDevice]) -> Option<Device> {
        let entry = format!("{FUNCTIONS}/{address}");
        let class = u32::try_from(*self.root.number(&format!("{entry}/class")).value()?).ok()?;
        let kind = kind(class)?;
        let dir = self.root.resolve(&entry)?;
        let mut names: Vec<String> = nics
            .iter()
            .filter(|nic| nic.path.last().is_some_and(|hop| hop.address == address))
            .map(|n| n.name.clone())
            .collect();
        let rdma = rdma.iter().filter(|device| device.address.as_deref() == Some(&address));
        names.extend(rdma.map(|device| device.name.clone()));
        names.extend(self.root.names(&format!("{dir}/nvme")));
        let path = self.path(&dir);
        // Trees without the link to the physical function still have the name.
        let called = path.last().is_some_and(|hop| hop.name.contains("Virtual Function"));
        Some(Device {
            kind,
            driver: self.root.link_name(&format!("{dir}/driver")),
            node: node(self.root, Some(&dir), &format!("{dir}/numa_node")),
            is_virtual: called || self.root.has(&format!("{dir}/physfn")),
            path,
            address,
            names,
        })
    }
}

/// What a class of functions is for; `None` for those that move little.
pub fn kind(class: u32) -> Option<DeviceKind> {
    match (class >> 16, class >> 8 & 0xff) {
        // Network controllers, and InfiniBand as its first cards called themselves.
        (0x02, _) | (0x0c, 0x06) => Some(DeviceKind::Network),
        (0x01, 0x08) => Some(DeviceKind::Storage),
        // A 3D controller; a display controller that no screen hangs on; a co-processor.
        (0x03, 0x02 | 0x80) | (0x0b, 0x40) | (0x12, _) => Some(DeviceKind::Accelerator),
        _ => None,
    }
}

/// The address of the function that a resolved device path ends at, or the last on the way.
pub fn address_of(device: &str) -> Option<&str> {
    device.rsplit('/').find(|part| is_address(part))
}

/// True for `0000:3b:00.0`; the domain may be longer than four digits.
pub fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    matches!(parts[..], [domain, bus, slot, function]
        if hex(domain, 4) && hex(bus, 2) && hex(slot, 2) && hex(function, 1))
}

fn hex(text: &str, least: usize) -> bool {
    text.len() >= least && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hop(root: &Root, address: &str, dir: &str) -> PciHop {
    let config = root.bytes(&format!("{dir}/config"));
    PciHop {
        address: address.to_owned(),
        name: name(root, dir),
        class: root.number(&format!("{dir}/class")).and_then(|class| {
            u32::try_from(class).map_err(|_| format!("{class} is not a class code"))
        }),
        link: link(root, dir, &config),
        rate_bytes_per_second: Fact::default(),
        express: settings(&config, express::parse),
        acs: settings(&config, acs::parse),
    }
}

/// What the function in this folder is called.
pub(crate) fn name(root: &Root, dir: &str) -> String {
    let of = Folder::of(root, dir);
    match (of.fitting("vendor"), of.fitting("device")) {
        (Some(vendor), Some(device)) => known_as(vendor, device),
        _ => "unknown".to_owned(),
    }
}

/// Vendor and device by the PCI id list, else the hexadecimal pair.
pub fn known_as(vendor: u16, device: u16) -> String {
    ids::name(vendor, device).unwrap_or_else(|| format!("{vendor:04x}:{device:04x}"))
}

/// The number that a file begins with, such as `8.0 GT/s PCIe`.
fn first_number(of: &Folder<'_>, file: &str) -> Option<f64> {
    let first = of.told(file)?.split_whitespace().next()?.parse::<f64>().ok();
    first.filter(|number| number.is_finite() && *number >= 0.0)
}

/// The link of a function. Kernels before 4.13 have no files for it: then the registers tell, to
/// root. A function without a link (conventional PCI, virtio) is `Absent`, as is a link that is
/// down.
fn link(root: &Root, dir: &str, config: &Fact<Vec<u8>>) -> Fact<PciLink> {
    let from = format!("/{dir}/current_link_speed");
    let of = Folder::of(root, dir);
    if !root.has(&from[1..]) {
        return match config.value().map(|bytes| express::link(bytes)) {
            Some(Ok(link)) => Fact::Known { value: link, from: config.source().clone() },
            _ => Fact::absent(from),
        };
    }
    let read = (|| {
        Some(PciLink {
            speed_gts: first_number(&of, "current_link_speed")?,
            width: first_number(&of, "current_link_width")? as u32,
            speed_max_gts: first_number(&of, "max_link_speed")?,
            width_max: first_number(&of, "max_link_width")? as u32,
        })
    })();
    match read {
        // 255 lanes and "Unknown" are what the kernel writes for a link it cannot read.
        Some(link) if link.width > 0 && link.width <= 64 && link.speed_gts > 0.0 => {
            Fact::known(link, from)
        }
        _ => Fact::absent(from),
    }
}

/// What a reader of configuration spaces finds in one.
fn settings<T>(config: &Fact<Vec<u8>>, parse: fn(&[u8]) -> Result<T, Gap>) -> Fact<T> {
    let from = config.source().clone();
    let Some(bytes) = config.value() else {
        return config.clone().and_then(|_| Err(String::new()));
    };
    match parse(bytes) {
        Ok(value) => Fact::Known { value, from },
        Err(Gap::Absent) => Fact::Absent { from, said: None },
        Err(Gap::Denied) => Fact::Denied { from },
        Err(Gap::Malformed(text)) => Fact::Malformed { from, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_directories() {
        assert!(is_address("0000:3b:00.0"));
        assert!(is_address("10000:e1:00.1"));
        for other in ["pci0000:3a", "virtio2", "0000:3b:00", "", "net", "0000:zz:00.0"] {
            assert!(!is_address(other), "{other}");
        }
        let device = "sys/devices/pci0000:00/0000:00:03.0/virtio1";
        assert_eq!(address_of(device), Some("0000:00:03.0"));
        assert_eq!(address_of("sys/devices/virtual/net/veth0"), None);
    }

    #[test]
    fn only_functions_that_move_much_are_devices() {
        assert_eq!(kind(0x02_0000), Some(DeviceKind::Network));
        assert_eq!(kind(0x02_0700), Some(DeviceKind::Network));
        assert_eq!(kind(0x01_0802), Some(DeviceKind::Storage));
        assert_eq!(kind(0x03_0200), Some(DeviceKind::Accelerator));
        // A screen, a bridge, a USB controller.
        for other in [0x03_0000, 0x06_0400, 0x0c_0330] {
            assert_eq!(kind(other), None, "{other:#x}");
        }
    }
}
