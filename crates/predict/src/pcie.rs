//! `pcie`: what the slowest PCI Express link on a NIC's path carries.
//!
//! Link-layer overhead follows the acknowledge and flow-control intervals of the PCI Express base
//! specification (2.5, 5 and 8 GT/s). They were written down from memory: only 8 GT/s x8 with 256 B
//! is checked here, against the figure of a published model; a slip elsewhere moves a ceiling by a
//! few per cent at most. The packet overhead is that of memory writes with 64-bit addresses, 24 B.

use narrows_model::host::{Nic, PciHop, PciLink};
use narrows_model::units::three_digits;

/// Largest payload of one packet when the machine does not tell: common on servers.
pub const MAX_PAYLOAD_BYTES: f64 = 256.0;

/// Header and framing of a memory write with a 64-bit address.
pub const WRITE_HEADER_BYTES: f64 = 24.0;
/// Bytes of a data-link packet (acknowledge, flow-control update).
const LINK_PACKET_BYTES: f64 = 8.0;
/// A skip ordered set of 4 symbols every 1538.
const SKIP_SHARE: f64 = 4.0 / 1538.0;

/// One link as both its ends describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint<'a> {
    /// The function above, when there is one.
    pub upper: Option<&'a PciHop>,
    /// The function below.
    pub lower: &'a PciHop,
    /// Speed and lanes now, where these are told.
    pub now: Option<PciLink>,
    /// Bits per second now after line coding.
    pub raw_bps: f64,
}

/// What keeps a link from more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It runs below what both ends can do.
    Training,
    /// The port above can do less than the device.
    Slot,
    /// The device can do less than the port above.
    Device,
    /// Both ends are at their best.
    Neither,
}

impl Limit {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Slot => "slot",
            Self::Device => "device",
            Self::Neither => "neither end",
        }
    }
}

impl Joint<'_> {
    /// Speed and lanes that both ends can do.
    pub fn best(&self) -> Option<(f64, u32)> {
        let now = self.now?;
        let upper = self.upper.and_then(|upper| upper.link.value());
        Some(match upper {
            Some(upper) => {
                (now.speed_max_gts.min(upper.speed_max_gts), now.width_max.min(upper.width_max))
            }
            None => (now.speed_max_gts, now.width_max),
        })
    }

    /// What keeps it from more; unknown where only its rate is told, or only one end.
    pub fn limit(&self) -> Option<Limit> {
        let (now, (speed, width)) = (self.now?, self.best()?);
        if now.speed_gts < speed || now.width < width {
            return Some(Limit::Training);
        }
        let upper = self.upper?.link.value()?;
        let device = raw_bps(now.speed_max_gts, now.width_max);
        let slot = raw_bps(upper.speed_max_gts, upper.width_max);
        Some(match device.total_cmp(&slot) {
            std::cmp::Ordering::Greater => Limit::Slot,
            std::cmp::Ordering::Less => Limit::Device,
            std::cmp::Ordering::Equal => Limit::Neither,
        })
    }

    /// Bits per second that full packets leave for payload in the direction of memory, where the
    /// packets' size is taken as 256 B unless it was read.
    pub fn payload_bps(&self) -> f64 {
        let set = self.lower.express.value().map(|set| set.max_payload_bytes.0 as f64);
        let size = set.unwrap_or(MAX_PAYLOAD_BYTES);
        let share = packet_share(size, size, WRITE_HEADER_BYTES);
        match self.now {
            Some(now) => packet_bps(now.speed_gts, now.width, size) * share,
            // Without the lanes, the intervals of eight.
            None => self.raw_bps * packet_bps(8.0, 8, size) / raw_bps(8.0, 8) * share,
        }
    }

    /// `8 GT/s x16`, or the rate alone.
    pub fn says(&self) -> String {
        match self.now {
            Some(now) => format!("{} GT/s x{}", now.speed_gts, now.width),
            None => format!("{} GB/s", three_digits(self.raw_bps / 8e9)),
        }
    }
}

/// The links on the path to a NIC, from the root down.
pub fn joints(nic: &Nic) -> Vec<Joint<'_>> {
    links(&nic.path, nic.speed_bps.value().map(|speed| speed.0))
}

/// The links on a path, from the root down. Inside a switch there is no link, so the hops pair up
/// from the device: port and device, port and switch. `port_bps` is the rate of the device's port.
pub fn links(path: &[PciHop], port_bps: Option<f64>) -> Vec<Joint<'_>> {
    let mut joints: Vec<Joint<'_>> = path
        .rchunks(2)
        .filter_map(|pair| {
            let lower = pair.last()?;
            let upper = (pair.len() == 2).then(|| &pair[0]);
            let now = lower.link.value().copied();
            let raw_bps = match now {
                Some(now) => raw_bps(now.speed_gts, now.width),
                None => lower.rate_bytes_per_second.value()?.0 * 8.0,
            };
            Some(Joint { upper, lower, now, raw_bps })
        })
        .filter(|joint| !is_nominal(joint, port_bps))
        .collect();
    joints.reverse();
    joints
}

/// Functions inside a chipset or a processor show link registers that describe no wires: makers
/// fill in one lane. A single lane is not believed when Intel's name for a built-in controller
/// ("Ethernet Connection") is on it, or when the port is faster than the lane ever could be.
fn is_nominal(joint: &Joint<'_>, port_bps: Option<f64>) -> bool {
    let Some(now) = joint.now else { return false };
    let best = raw_bps(now.speed_max_gts, now.width_max);
    let slower = port_bps.is_some_and(|port| best < port);
    let built_in = joint.lower.name.contains("Ethernet Connection");
    now.width_max == 1 && (built_in || slower)
}

/// Bytes of a FLIT (6.0: 64 GT/s on), without its checks, and of those the transactions'.
const FLIT_BYTES: [f64; 3] = [256.0, 242.0, 236.0];

/// Bits per second after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then FLITs.
pub fn raw_bps(speed_gts: f64, width: u32) -> f64 {
    let coding = match speed_gts {
        gts if gts < 8.0 => 0.8,
        gts if gts < 64.0 => 128.0 / 130.0,
        _ => FLIT_BYTES[1] / FLIT_BYTES[0],
    };
    speed_gts * 1e9 * coding * f64::from(width)
}

/// Symbol times between acknowledges, by generation (rows: 2.5, 5, 8 GT/s), payload (128, 256, 512)
/// and width (1, 2, 4, 8, 12, 16, 32). Up to 32 GT/s all are taken as 8 GT/s.
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
    // A FLIT has room for acknowledges and flow control, used or not.
    if speed_gts >= 64.0 {
        return raw_bps(speed_gts, width) * FLIT_BYTES[2] / FLIT_BYTES[1];
    }
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

/// The same where next to nothing comes the other way, which would have to be acknowledged: only
/// what keeps the clocks together is lost.
pub fn one_way_bps(speed_gts: f64, width: u32, max_payload: f64) -> f64 {
    if speed_gts >= 64.0 {
        packet_bps(speed_gts, width, max_payload)
    } else {
        raw_bps(speed_gts, width) * (1.0 - SKIP_SHARE)
    }
}

/// Millions of small network packets a second that a link carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallPackets {
    /// Written to memory, each with a completion.
    pub received: f64,
    /// Read from memory, a doorbell each.
    pub sent: f64,
    /// The same, a doorbell for 32.
    pub sent_batched: f64,
}

/// Frames of `frame` bytes, check sequence included, over a link with `bps` for packets: headers of
/// 24 and 20 B, descriptors of 16 B, read 40 at a time on the way out, and doorbells of 28 B.
pub fn smallest_packets(bps: f64, frame: f64) -> SmallPackets {
    let link = bps / 8.0;
    let data = frame - 4.0;
    let received = link / (24.0 + data + 24.0 + 16.0 + 24.0) / 1e6;
    let reads = 16.0 + 20.0 * 5.0 / 40.0 + data + 20.0;
    let sent = |doorbells: f64| link / (28.0 * doorbells + reads) / 1e6;
    SmallPackets { received, sent: sent(1.0), sent_batched: sent(1.0 / 32.0) }
}

/// Share of the packets' bytes that is a transfer of `size` bytes, each packet with its header.
pub fn packet_share(size: f64, max_payload: f64, header: f64) -> f64 {
    size / (size + (size / max_payload).ceil() * header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{BitsPerSecond, Bytes, Fact};

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
            link: Fact::known(link, "test"),
            ..PciHop::default()
        }
    }

    fn nic(path: Vec<PciHop>, speed_bps: f64) -> Nic {
        Nic {
            name: "eth0".into(),
            physical: true,
            speed_bps: Fact::known(BitsPerSecond(speed_bps), "test"),
            mtu_bytes: Fact::known(Bytes(1500), "test"),
            path,
            ..Nic::default()
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
        let slow = joints(&nic).into_iter().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps));
        assert_eq!(slow.map(|joint| joint.lower.address.as_str()), Some("switch up"));
    }

    #[test]
    fn what_limits_a_link_is_told_from_its_two_ends() {
        let ends = |above: (f64, u32), below: (f64, u32), now: (f64, u32)| {
            let mut path =
                vec![hop("port", "", above.0, above.1), hop("nic", "", below.0, below.1)];
            for hop in &mut path {
                if let Fact::Known { value, .. } = &mut hop.link {
                    (value.speed_gts, value.width) = now;
                }
            }
            links(&path, None)[0].limit()
        };
        assert_eq!(ends((8.0, 16), (8.0, 16), (8.0, 16)), Some(Limit::Neither));
        assert_eq!(ends((8.0, 16), (8.0, 16), (8.0, 8)), Some(Limit::Training));
        assert_eq!(ends((8.0, 8), (16.0, 16), (8.0, 8)), Some(Limit::Slot));
        assert_eq!(ends((16.0, 16), (8.0, 8), (8.0, 8)), Some(Limit::Device));
        let mut path = vec![hop("port", "", 8.0, 16), hop("nic", "", 8.0, 16)];
        path[1].link = Fact::absent("test");
        path[1].rate_bytes_per_second = Fact::known(narrows_model::BytesPerSecond(7.88e9), "test");
        let joint = &links(&path, None)[0];
        assert_eq!((joint.limit(), joint.says().as_str()), (None, "7.88 GB/s"));
        assert!((joint.payload_bps() / 1e9 - 52.9).abs() < 0.2, "{}", joint.payload_bps());
    }

    #[test]
    fn registers_of_built_in_controllers_are_not_believed() {
        let x1 = |name: &str| vec![hop("port", "", 2.5, 1), hop("nic", name, 2.5, 1)];
        assert!(joints(&nic(x1("Ethernet Connection X722"), 1e9)).is_empty());
        assert!(joints(&nic(x1("any"), 10e9)).is_empty());
        assert_eq!(joints(&nic(x1("any"), 1e9)).len(), 1);
    }
}
