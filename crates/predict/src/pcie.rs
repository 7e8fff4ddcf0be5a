//! `pcie`: what the slowest PCI Express link on a NIC's path carries.
//!
//! Link-layer overhead follows the acknowledge and flow-control intervals of the PCI Express base
//! specification (2.5, 5 and 8 GT/s). They were written down from memory: only 8 GT/s x8 with 256 B
//! is checked here, against the figure of a published model; a slip elsewhere moves a ceiling by a
//! few per cent at most. The packet overhead is that of memory writes with 64-bit addresses (24 B)
//! and read completions (20 B).

use crate::{Protocol, Stated, framing, modelled};
use narrows_facts::host::{Nic, PciHop, PciLink};
use narrows_facts::result::{Ceiling, Provenance};

/// Largest payload of one packet when the machine does not tell: common on servers.
pub const MAX_PAYLOAD_BYTES: f64 = 256.0;
/// A machine may also use the least that the specification has.
const MAX_PAYLOAD_BYTES_LOW: f64 = 128.0;
/// Or what large-page servers set.
const MAX_PAYLOAD_BYTES_HIGH: f64 = 512.0;

const WRITE_HEADER_BYTES: f64 = 24.0;
const COMPLETION_HEADER_BYTES: f64 = 20.0;
/// Bytes of a data-link packet (acknowledge, flow-control update).
const LINK_PACKET_BYTES: f64 = 8.0;
/// A skip ordered set of 4 symbols every 1538.
const SKIP_SHARE: f64 = 4.0 / 1538.0;

/// One link as both its ends describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint<'a> {
    /// The function above, when it has link files.
    pub upper: Option<&'a PciHop>,
    /// The function below.
    pub lower: &'a PciHop,
    /// Rate and width now.
    pub now: PciLink,
}

/// The links on the path to a NIC, from the root down. Inside a switch there is no link, so the
/// hops pair up from the device: port and device, port and switch.
pub fn joints(nic: &Nic) -> Vec<Joint<'_>> {
    let mut joints: Vec<Joint<'_>> = nic
        .path
        .rchunks(2)
        .filter_map(|pair| {
            let lower = pair.last()?;
            let upper = (pair.len() == 2).then(|| &pair[0]);
            Some(Joint { upper, lower, now: *lower.link.value()? })
        })
        .filter(|joint| !is_nominal(nic, joint))
        .collect();
    joints.reverse();
    joints
}

/// Functions inside a chipset or a processor show link registers that describe no wires: makers
/// fill in one lane. A single lane is not believed when Intel's name for a built-in controller
/// ("Ethernet Connection") is on it, or when the port is faster than the lane ever could be.
fn is_nominal(nic: &Nic, joint: &Joint<'_>) -> bool {
    let best = raw_bps(joint.now.speed_max_gts, joint.now.width_max);
    let slower = nic.speed_bps.value().is_some_and(|port| best < port.0);
    let built_in = joint.lower.name.contains("Ethernet Connection");
    joint.now.width_max == 1 && (built_in || slower)
}

/// Bits per second after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s.
pub fn raw_bps(speed_gts: f64, width: u32) -> f64 {
    let coding = if speed_gts < 8.0 { 0.8 } else { 128.0 / 130.0 };
    speed_gts * 1e9 * coding * f64::from(width)
}

/// Symbol times between acknowledges, by generation (rows: 2.5, 5, 8 GT/s), payload (128, 256, 512)
/// and width (1, 2, 4, 8, 12, 16, 32). Faster generations are taken as 8 GT/s.
const INTERVALS: [[[f64; 7]; 3]; 3] = [
    [
        [237.0, 128.0, 73.0, 67.0, 58.0, 48.0, 33.0],
        [416.0, 217.0, 118.0, 107.0, 90.0, 72.0, 45.0],
        [559.0, 289.0, 154.0, 86.0, 109.0, 86.0, 52.0],
    ],
    [
        [288.0, 179.0, 124.0, 118.0, 109.0, 99.0, 84.0],
        [467.0, 268.0, 169.0, 158.0, 141.0, 123.0, 96.0],
        [610.0, 340.0, 205.0, 137.0, 160.0, 137.0, 103.0],
    ],
    [
        [333.0, 224.0, 169.0, 163.0, 154.0, 144.0, 129.0],
        [512.0, 313.0, 214.0, 203.0, 186.0, 168.0, 141.0],
        [655.0, 385.0, 250.0, 182.0, 205.0, 182.0, 148.0],
    ],
];

/// Bits per second left for transaction packets.
pub fn packet_bps(speed_gts: f64, width: u32, max_payload: f64) -> f64 {
    let row = match speed_gts {
        gts if gts < 5.0 => 0,
        gts if gts < 8.0 => 1,
        _ => 2,
    };
    let payload = if max_payload < 256.0 { 0 } else { usize::from(max_payload >= 512.0) + 1 };
    let column = [1, 2, 4, 8, 12, 16].iter().position(|lanes| width <= *lanes).unwrap_or(6);
    let interval = INTERVALS[row][payload][column];
    raw_bps(speed_gts, width) * (1.0 - 2.0 * LINK_PACKET_BYTES / interval - SKIP_SHARE)
}

/// Share of the packets' bytes that is a transfer of `size` bytes, each packet with its header.
pub fn packet_share(size: f64, max_payload: f64, header: f64) -> f64 {
    size / (size + (size / max_payload).ceil() * header)
}

/// Payload bits per second of the lower direction: frames written to memory (receive), or
/// completions of reads (transmit).
fn payload_bps(link: &PciLink, mtu: f64, protocol: Protocol, max_payload: f64) -> f64 {
    let payload = match protocol {
        Protocol::Tcp => framing::tcp_payload_bytes(mtu, true),
        Protocol::Udp => mtu - 28.0,
    };
    let frame = mtu + 14.0;
    let header = WRITE_HEADER_BYTES.max(COMPLETION_HEADER_BYTES);
    packet_bps(link.speed_gts, link.width, max_payload)
        * packet_share(frame, max_payload, header)
        * (payload / frame)
}

/// The slowest link on the way to a NIC.
pub fn of_nic(nic: &Nic, protocol: Protocol) -> Stated {
    let joints = joints(nic);
    let slowest = joints.iter().min_by(|a, b| {
        let rate = |joint: &Joint<'_>| raw_bps(joint.now.speed_gts, joint.now.width);
        rate(a).total_cmp(&rate(b))
    });
    let Some(slowest) = slowest else {
        return Err(match nic.path.last() {
            None => format!("pcie: {} is not on PCI", nic.name),
            Some(hop) => format!("pcie: no link state for {} ({})", hop.address, nic.name),
        });
    };
    let mtu = nic.mtu_bytes.value().map_or(1500.0, |mtu| mtu.0 as f64);
    let rate = |max_payload| payload_bps(&slowest.now, mtu, protocol, max_payload);
    let set = nic.path.last().and_then(|hop| hop.express.value());
    let [low, middle, high] = match set {
        Some(set) => [set.max_payload_bytes.0 as f64; 3],
        None => [MAX_PAYLOAD_BYTES_LOW, MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES_HIGH],
    };
    let PciLink { speed_gts, width, .. } = slowest.now;
    let packets = match set {
        Some(set) => format!("{} B", set.max_payload_bytes.0),
        None => format!("{middle} ({low} to {high}) B"),
    };
    let size_from = match (set, nic.path.last()) {
        (Some(_), Some(hop)) => Provenance::Read(hop.express.source().0.clone()),
        _ => Provenance::Assumed("largest packet payload 256 B, between 128 and 512".into()),
    };
    Ok(Ceiling {
        resource: "pcie".into(),
        range: modelled(rate(middle), rate(low), rate(high)),
        says: format!(
            "{speed_gts} GT/s x{width} to {}, full frames in packets of {packets}, without \
             descriptors",
            slowest.lower.address
        ),
        only_if: None,
        provenance: vec![
            Provenance::Read(slowest.lower.link.source().0.clone()),
            Provenance::DataSheet(
                "PCI Express base specification, overheads (intervals not re-read)".into(),
            ),
            size_from,
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_facts::{BitsPerSecond, Bytes, Fact};

    #[test]
    fn rates_are_those_of_the_published_model() {
        // Neugebauer et al., SIGCOMM 2018: generation 3 x8 with 256 B leaves 57.88 Gb/s.
        assert!((packet_bps(8.0, 8, 256.0) / 1e9 - 57.88).abs() < 0.01);
        assert!((raw_bps(8.0, 8) / 1e9 - 63.02).abs() < 0.01);
        assert_eq!(raw_bps(5.0, 8) / 1e9, 32.0);
        assert_eq!(packet_share(256.0, 256.0, 24.0), 256.0 / 280.0);
        assert_eq!(packet_share(257.0, 256.0, 24.0), 257.0 / 305.0);
    }

    fn hop(address: &str, name: &str, speed_gts: f64, width: u32) -> PciHop {
        let link = PciLink { speed_gts, width, speed_max_gts: speed_gts, width_max: width };
        PciHop {
            address: address.into(),
            name: name.into(),
            class: Fact::absent("test"),
            link: Fact::known(link, "test"),
            express: Fact::absent("test"),
        }
    }

    fn nic(path: Vec<PciHop>, speed_bps: f64) -> Nic {
        Nic {
            name: "eth0".into(),
            physical: true,
            driver: Fact::absent("test"),
            speed_bps: Fact::known(BitsPerSecond(speed_bps), "test"),
            state: Fact::absent("test"),
            mtu_bytes: Fact::known(Bytes(1500), "test"),
            node: Fact::absent("test"),
            path,
            irq_cpus: Fact::absent("test"),
            queues: Fact::absent("test"),
        }
    }

    #[test]
    fn the_slowest_link_of_a_path_with_a_switch_is_found() {
        let path = vec![
            hop("root", "", 8.0, 8),
            hop("switch up", "", 8.0, 8),
            hop("switch down", "", 8.0, 16),
            hop("nic", "", 8.0, 16),
        ];
        let nic = nic(path, 100e9);
        assert_eq!(joints(&nic).len(), 2);
        let ceiling = of_nic(&nic, Protocol::Tcp).expect("ceiling");
        assert!(ceiling.says.contains("x8 to switch up"), "{}", ceiling.says);
        assert!((45e9..57e9).contains(&ceiling.range.value), "{:?}", ceiling.range);
        assert!(
            ceiling.range.low < ceiling.range.value && ceiling.range.value < ceiling.range.high
        );
    }

    #[test]
    fn a_payload_that_was_read_replaces_the_assumed_range() {
        let mut nic = nic(vec![hop("port", "", 8.0, 8), hop("nic", "", 8.0, 8)], 100e9);
        let assumed = of_nic(&nic, Protocol::Tcp).expect("ceiling");
        nic.path[1].express = Fact::known(
            narrows_facts::host::Express {
                max_payload_bytes: Bytes(256),
                max_read_request_bytes: Bytes(512),
                relaxed_ordering: true,
            },
            "test",
        );
        let read = of_nic(&nic, Protocol::Tcp).expect("ceiling");
        assert_eq!(read.range.value, assumed.range.value);
        assert_eq!((read.range.low, read.range.high), (read.range.value, read.range.value));
        assert!(matches!(&read.provenance[2], Provenance::Read(from) if from == "test"));
    }

    #[test]
    fn registers_of_built_in_controllers_are_not_believed() {
        let x1 = |name: &str| vec![hop("port", "", 2.5, 1), hop("nic", name, 2.5, 1)];
        assert!(of_nic(&nic(x1("Ethernet Connection X722"), 1e9), Protocol::Tcp).is_err());
        assert!(of_nic(&nic(x1("any"), 10e9), Protocol::Tcp).is_err());
        assert!(of_nic(&nic(x1("any"), 1e9), Protocol::Tcp).is_ok());
    }
}
