//! `pci`: the functions from the root port to every device that moves much, with their links and
//! what these leave for payload, and the links that devices share.

use super::{View, or_unknown};
use crate::drawn::Screen;
use crate::table::on_screen;
use crate::{hardware, words};
use narrows_model::host::{DeviceKind, Host, PciHop};
use narrows_model::units::three_digits;
use narrows_predict::pcie::{Joint, raw_bps};
use narrows_predict::pcie_paths::{PciePath, SharedLink, Uplink, pcie_paths, shared};

/// A row a function.
pub static VIEW: View = View { name: "pci", write };

const HEAD: [&str; 9] = [
    "device",
    "function",
    "link now",
    "link at most",
    "limited by",
    "payload GB/s",
    "payload, read B",
    "ordering",
    "name",
];
const SHARED: [&str; 4] = ["shared link", "payload GB/s", "ports GB/s", "devices"];

fn write(host: &Host, screen: &Screen) -> String {
    let paths = pcie_paths(host);
    if paths.is_empty() {
        return "no network, NVMe or accelerator device on PCI\n".to_owned();
    }
    let rows: Vec<Vec<String>> = paths.iter().flat_map(of_path).collect();
    let mut out = on_screen(&HEAD, &rows, screen);
    let shared = shared(&paths);
    if !shared.is_empty() {
        let rows: Vec<Vec<String>> = shared.iter().map(of_shared).collect();
        out += "\n";
        out += &on_screen(&SHARED, &rows, screen);
    }
    let functions = host.devices.iter().filter(|device| device.is_virtual).count();
    if functions > 0 {
        out += &format!("\nnot listed: {}\n", words::counted(functions, "virtual function"));
    }
    out
}

fn of_path(path: &PciePath<'_>) -> Vec<Vec<String>> {
    let device = path.device;
    let names = if device.names.is_empty() {
        format!("({})", hardware::device(device.kind))
    } else {
        device.names.join(", ")
    };
    // The way of a network device is shown in full; of the others the tree shows it.
    let whole = device.kind == DeviceKind::Network;
    let skipped = if whole { 0 } else { device.path.len().saturating_sub(1) };
    let mut rows: Vec<Vec<String>> = device
        .path
        .iter()
        .skip(skipped)
        .map(|hop| {
            let joint = path.joints.iter().find(|joint| joint.lower.address == hop.address);
            let several = path.joints.len() > 1;
            let slowest = path.slowest().filter(|_| several).map(|joint| &joint.lower.address);
            row(&names, hop, joint, slowest == Some(&hop.address))
        })
        .collect();
    if let Uplink::Chipset { link } = path.uplink {
        let now = link.map(|(speed, width)| rate(speed, width));
        let mut cells = vec![names, "chipset uplink".to_owned(), or_unknown(now)];
        cells.resize(HEAD.len() - 1, "-".to_owned());
        cells.push("data sheet, not read".to_owned());
        rows.insert(0, cells);
    }
    rows
}

fn rate(speed: f64, width: u32) -> String {
    format!("{speed} GT/s x{width}, {} GB/s", three_digits(raw_bps(speed, width) / 8e9))
}

fn row(names: &str, hop: &PciHop, joint: Option<&Joint<'_>>, slowest: bool) -> Vec<String> {
    let (now, most) = match (hop.link.value(), joint) {
        (Some(l), _) => (rate(l.speed_gts, l.width), rate(l.speed_max_gts, l.width_max)),
        (None, Some(joint)) => (joint.says(), "unknown".to_owned()),
        (None, None) => ("unknown".to_owned(), "unknown".to_owned()),
    };
    let express = hop.express.value();
    let packets = express.map(|express| {
        format!("{}, {}", express.max_payload_bytes.0, express.max_read_request_bytes.0)
    });
    let ordering =
        express.map(|express| if express.relaxed_ordering { "relaxed" } else { "strict" });
    // The link is described once, at its lower end.
    let at_end = |text: Option<String>| match joint {
        Some(_) => or_unknown(text),
        None => "-".to_owned(),
    };
    vec![
        names.to_owned(),
        hop.address.clone(),
        if slowest { format!("{now} (slowest)") } else { now },
        most,
        at_end(joint.and_then(|joint| joint.limit()).map(|limit| limit.word().to_owned())),
        at_end(joint.map(|joint| three_digits(joint.payload_bps() / 8e9))),
        or_unknown(packets),
        or_unknown(ordering),
        hop.name.clone(),
    ]
}

fn of_shared(link: &SharedLink) -> Vec<String> {
    let ports = match (link.ports_bps > 0.0, link.others) {
        (true, 0) => three_digits(link.ports_bps / 8e9),
        (true, others) => {
            let others = words::counted(others, "unknown");
            format!("{} and {others}", three_digits(link.ports_bps / 8e9))
        }
        (false, _) => "unknown".to_owned(),
    };
    let left = link.payload_bps.map(|left| three_digits(left / 8e9));
    vec![link.says.clone(), or_unknown(left), ports, link.devices.join(", ")]
}
