//! `pci`: the functions from the root port to every NIC, with their links.

use super::{View, or_unknown, table};
use narrows_facts::host::{Host, PciHop};
use narrows_facts::units::three_digits;
use narrows_predict::pcie::raw_bps;

/// A row a function.
pub static VIEW: View = View { name: "pci", write };

const HEAD: [&str; 6] = ["NIC", "function", "link now", "link at most", "payload, read B", "name"];

fn write(host: &Host) -> String {
    let rows = host
        .physical_nics()
        .flat_map(|nic| nic.path.iter().map(|hop| row(&nic.name, hop)).collect::<Vec<_>>());
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return "no NIC on PCI\n".to_owned();
    }
    table(&HEAD, &rows)
}

fn row(nic: &str, hop: &PciHop) -> Vec<String> {
    let link = |speed: f64, width: u32| {
        let rate = three_digits(raw_bps(speed, width) / 8e9);
        format!("{speed} GT/s x{width}, {rate} GB/s")
    };
    let (now, most) = match hop.link.value() {
        Some(l) => (link(l.speed_gts, l.width), link(l.speed_max_gts, l.width_max)),
        None => ("unknown".to_owned(), "unknown".to_owned()),
    };
    let packets = hop.express.value().map(|express| {
        format!("{}, {}", express.max_payload_bytes.0, express.max_read_request_bytes.0)
    });
    vec![nic.to_owned(), hop.address.clone(), now, most, or_unknown(packets), hop.name.clone()]
}
