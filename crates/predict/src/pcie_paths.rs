//! Paths from devices to a socket: every link on the way, whether a chipset's uplink is among them,
//! and which links devices share.

use crate::pcie::{Joint, WRITE_HEADER_BYTES, links, packet_bps, packet_share};
use narrows_model::host::{Device, Host, PciHop};
use std::collections::BTreeMap;

/// How a device's root port reaches memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Uplink {
    /// The root port is the processor's own, or that of an I/O hub beside it.
    Processor,
    /// The root port is the chipset's: all behind it share one uplink.
    Chipset {
        /// Speed in GT/s and lanes of the uplink, when the chipset is known.
        link: Option<(f64, u32)>,
    },
    /// There is no root port above it: it is built into the processor or the chipset, or the
    /// machine is virtual.
    Unknown,
}

/// The path of one device.
#[derive(Clone, Debug)]
pub struct PciePath<'a> {
    /// The device at its end.
    pub device: &'a Device,
    /// Links from the root down.
    pub joints: Vec<Joint<'a>>,
    /// What lies above the first of them.
    pub uplink: Uplink,
    /// Rates of the device's network ports together, when all are known.
    pub ports_bps: Option<f64>,
}

/// A link that several devices use.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedLink {
    /// Address of the function at its lower end; the chipset's uplink has none.
    pub lower: Option<String>,
    /// What it is, in words.
    pub says: String,
    /// Bits per second it leaves for payload, where known.
    pub payload_bps: Option<f64>,
    /// Addresses of the devices.
    pub devices: Vec<String>,
    /// Rates of the network ports among them together.
    pub ports_bps: f64,
    /// Devices whose demand is not known (disks, accelerators, ports without a rate).
    pub others: usize,
}

/// Chipsets by the names of their root ports: generation of the uplink in GT/s and lanes. Intel's
/// data sheets of the platform controller hubs, from knowledge; chipsets of AMD show their uplink
/// as an ordinary link.
const CHIPSETS: [(&str, f64, u32); 16] = [
    ("ICH9", 2.5, 4),
    ("ICH10", 2.5, 4),
    ("5 Series/3400 Series Chipset", 2.5, 4),
    ("6 Series/C200 Series Chipset", 5.0, 4),
    ("7 Series/C21", 5.0, 4),
    ("7 Series/C216 Chipset", 5.0, 4),
    ("C600/X79 series chipset", 5.0, 4),
    ("8 Series/C220 Series Chipset", 5.0, 4),
    ("C610/X99 series chipset", 5.0, 4),
    ("9 Series Chipset", 5.0, 4),
    ("100 Series/C230 Series Chipset", 8.0, 4),
    ("200 Series PCH", 8.0, 4),
    ("C620 Series Chipset", 8.0, 4),
    ("Cannon Lake PCH", 8.0, 4),
    ("Comet Lake PCH", 8.0, 4),
    ("Sunrise Point", 8.0, 4),
];

/// Payload of packets on a chipset's uplink: what Intel's chipsets are set to.
const UPLINK_PAYLOAD: f64 = 128.0;

/// Words in the names of root ports of chipsets, whether or not their uplink is known.
const CHIPSET_WORDS: [&str; 5] = ["Chipset", "chipset", "PCH", "ICH", "Platform Controller Hub"];

/// The paths of all devices but virtual functions, which share their physical one's.
pub fn pcie_paths(host: &Host) -> Vec<PciePath<'_>> {
    let devices = host.devices.iter().filter(|device| !device.is_virtual);
    devices.map(|device| pcie_path(host, device)).collect()
}

fn pcie_path<'a>(host: &'a Host, device: &'a Device) -> PciePath<'a> {
    let ports: Vec<Option<f64>> = host
        .nics
        .iter()
        .filter(|nic| nic.path.last().is_some_and(|hop| hop.address == device.address))
        .map(|nic| nic.speed_bps.value().map(|speed| speed.0))
        .collect();
    let known: Option<Vec<f64>> = ports.into_iter().collect();
    let ports_bps = known.filter(|ports| !ports.is_empty()).map(|ports| ports.iter().sum());
    PciePath {
        device,
        joints: links(&device.path, ports_bps),
        uplink: device
            .path
            .first()
            .filter(|_| device.path.len() > 1)
            .map_or(Uplink::Unknown, uplink),
        ports_bps,
    }
}

/// What lies above a root port.
pub fn uplink(port: &PciHop) -> Uplink {
    let found = CHIPSETS.iter().filter(|(words, ..)| port.name.contains(words));
    // The longest name that fits: `ICH10` before `ICH1`.
    match found.max_by_key(|(words, ..)| words.len()) {
        Some((_, speed, width)) => Uplink::Chipset { link: Some((*speed, *width)) },
        None if CHIPSET_WORDS.iter().any(|word| port.name.contains(word)) => {
            Uplink::Chipset { link: None }
        }
        None => Uplink::Processor,
    }
}

impl PciePath<'_> {
    /// The slowest of its links.
    pub fn slowest(&self) -> Option<&Joint<'_>> {
        self.joints.iter().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps))
    }
}

/// Links that more than one device uses, from the root down; the chipset's uplink is one of them.
pub fn shared<'a>(paths: &'a [PciePath<'a>]) -> Vec<SharedLink> {
    let mut by_lower: BTreeMap<&str, (&Joint<'_>, Vec<&PciePath<'_>>)> = BTreeMap::new();
    for path in paths {
        for joint in &path.joints {
            // The functions of one card share the link that ends at the first of them.
            let slot = slot(&joint.lower.address);
            by_lower.entry(slot).or_insert((joint, Vec::new())).1.push(path);
        }
    }
    let mut shared: Vec<SharedLink> = by_lower
        .into_values()
        .filter(|(_, users)| users.len() > 1)
        .map(|(joint, users)| {
            let says = format!("{} to {}", joint.says(), joint.lower.address);
            let lower = Some(joint.lower.address.clone());
            link(lower, says, Some(joint.payload_bps()), &users)
        })
        .collect();
    let behind: Vec<&PciePath<'_>> =
        paths.iter().filter(|path| matches!(path.uplink, Uplink::Chipset { .. })).collect();
    if let Some(PciePath { uplink: Uplink::Chipset { link: of }, .. }) = behind.first().copied() {
        let payload = of.map(|(speed, width)| {
            let share = packet_share(UPLINK_PAYLOAD, UPLINK_PAYLOAD, WRITE_HEADER_BYTES);
            packet_bps(speed, width, UPLINK_PAYLOAD) * share
        });
        shared.insert(0, link(None, "the chipset's uplink".to_owned(), payload, &behind));
    }
    shared
}

fn link(
    lower: Option<String>,
    says: String,
    payload_bps: Option<f64>,
    users: &[&PciePath<'_>],
) -> SharedLink {
    SharedLink {
        lower,
        says,
        payload_bps,
        devices: users.iter().map(|path| path.device.address.clone()).collect(),
        ports_bps: users.iter().filter_map(|path| path.ports_bps).sum(),
        others: users.iter().filter(|path| path.ports_bps.is_none()).count(),
    }
}

/// An address without its function.
fn slot(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(slot, _)| slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;
    use narrows_model::host::{DeviceKind, Nic, PciLink};
    use narrows_model::{BitsPerSecond, Bytes};

    fn hop(address: &str, name: &str) -> PciHop {
        let link = PciLink { speed_gts: 8.0, width: 8, speed_max_gts: 8.0, width_max: 8 };
        PciHop {
            address: address.into(),
            name: name.into(),
            link: Fact::known(link, "planted"),
            ..PciHop::default()
        }
    }

    fn host(root: &str, ports: &[(&str, f64)]) -> Host {
        let mut host = Host::default();
        for (address, gbps) in ports {
            let path = vec![hop("0000:00:01.0", root), hop(address, "a card")];
            host.nics.push(Nic {
                name: format!("eth{}", host.nics.len()),
                physical: true,
                speed_bps: Fact::known(BitsPerSecond(gbps * 1e9), "planted"),
                mtu_bytes: Fact::known(Bytes(1500), "planted"),
                path: path.clone(),
                ..Nic::default()
            });
            host.devices.push(Device {
                kind: DeviceKind::Network,
                address: (*address).into(),
                names: Vec::new(),
                driver: Fact::default(),
                node: Fact::default(),
                is_virtual: false,
                path,
            });
        }
        host
    }

    #[test]
    fn two_ports_of_a_card_share_its_link() {
        let host =
            host("Sky Lake-E PCI Express Root Port A", &[("a:00.0", 40.0), ("a:00.1", 40.0)]);
        let paths = pcie_paths(&host);
        let shared = shared(&paths);
        let [link] = shared.as_slice() else { panic!("{shared:?}") };
        assert_eq!((link.devices.len(), link.ports_bps, link.others), (2, 80e9, 0));
        assert!(link.payload_bps.is_some_and(|left| (50e9..58e9).contains(&left)));
        assert_eq!(paths[0].uplink, Uplink::Processor);
    }

    #[test]
    fn what_is_behind_a_chipset_shares_its_uplink() {
        let name = "Intel Corporation 6 Series/C200 Series Chipset Family PCI Express Root Port 1";
        let host = host(name, &[("a:00.0", 10.0), ("b:00.0", 10.0)]);
        let paths = pcie_paths(&host);
        let shared = shared(&paths);
        assert_eq!((shared.len(), shared[0].lower.is_none()), (1, true));
        assert_eq!(paths[0].uplink, Uplink::Chipset { link: Some((5.0, 4)) });
        assert!(shared[0].payload_bps.is_some_and(|left| left < shared[0].ports_bps));
    }
}
