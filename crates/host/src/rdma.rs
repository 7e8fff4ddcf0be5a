//! RDMA devices, from `/sys/class/infiniband`.

use crate::folder::Folder;
use crate::garbled::Garbled;
use crate::{Root, pci};
use narrows_model::BitsPerSecond;
use narrows_model::Fact;
use narrows_model::host::{Gid, RdmaDevice, RdmaPort};

const DEVICES: &str = "sys/class/infiniband";
const NETDEVS: &str = "sys/class/net";

/// Reads every device, by name.
pub fn read(root: &Root) -> Vec<RdmaDevice> {
    root.names(DEVICES).iter().map(|name| device(root, name)).collect()
}

fn device(root: &Root, name: &str) -> RdmaDevice {
    let of = Folder::of(root, format!("{DEVICES}/{name}"));
    let device = root.resolve(&of.path_of("device"));
    let address = device.as_deref().and_then(pci::address_of).map(str::to_owned);
    let ports = root.numbered(&of.path_of("ports"), "");
    RdmaDevice {
        name: name.to_owned(),
        kind: of.text("node_type").map(after_colon),
        firmware: of.text("fw_ver"),
        node: pci::node(root, device.as_deref(), &of.path_of("device/numa_node")),
        address,
        ports: ports.into_iter().map(|number| port(root, name, number)).collect(),
    }
}

/// The interface of a port: the one that the kernel names, or, for iWARP, whose driver may not, the
/// one whose hardware address the first identifier begins with.
fn netdev(root: &Root, ports: &str, number: u32) -> Fact<String> {
    let named = root.text(&format!("{ports}/{number}/gid_attrs/ndevs/0"));
    if named.value().is_some() {
        return named;
    }
    let from = format!("{ports}/{number}/gids/0");
    let gid = root.text(&from);
    let Some(hardware) = gid.value().and_then(|gid| hardware_address(gid)) else { return named };
    match root.names(NETDEVS).into_iter().find(|name| {
        let address = root.text(&format!("{NETDEVS}/{name}/address"));
        address.value().is_some_and(|address| address.trim() == hardware)
    }) {
        Some(name) => Fact::known(name, format!("/{from} and /{NETDEVS}/*/address")),
        None => named,
    }
}

/// The six bytes that an iWARP identifier begins with, as interfaces write theirs; the rest is
/// zero.
fn hardware_address(gid: &str) -> Option<String> {
    let digits: String = gid.chars().filter(char::is_ascii_hexdigit).collect();
    let (own, rest) = (digits.get(..12)?, digits.get(12..32)?);
    let is_iwarp = rest.chars().all(|digit| digit == '0') && own.chars().any(|digit| digit != '0');
    let pairs = own.as_bytes().chunks(2).map(String::from_utf8_lossy);
    is_iwarp.then(|| pairs.collect::<Vec<_>>().join(":"))
}

fn port(root: &Root, name: &str, number: u32) -> RdmaPort {
    let of = Folder::of(root, format!("{DEVICES}/{name}/ports/{number}"));
    RdmaPort {
        number,
        state: of.text("state").map(after_colon),
        physical_state: of.text("phys_state").map(after_colon),
        rate_bps: of.text("rate").and_then(|text| rate(&text)),
        link_layer: of.text("link_layer"),
        netdev: netdev(root, &format!("{DEVICES}/{name}/ports"), number),
        gids: gids(root, &of.path_of("gids"), &of.path_of("gid_attrs/types")),
    }
}

/// The entries of a port's table that are set; a table has 128 and more, most of them zero.
fn gids(root: &Root, table: &str, kinds: &str) -> Fact<Vec<Gid>> {
    let numbers = root.numbered(table, "");
    if numbers.is_empty() {
        Fact::absent(format!("/{table}"))
    } else {
        Fact::known(
            numbers
                .into_iter()
                .filter_map(|index| {
                    let gid = root.text(&format!("{table}/{index}")).value()?.clone();
                    let is_set = gid.chars().any(|c| c.is_ascii_hexdigit() && c != '0');
                    let kind = root.text(&format!("{kinds}/{index}")).value().cloned();
                    is_set.then_some(Gid { index, gid, kind })
                })
                .collect(),
            format!("/{table}/*"),
        )
    }
}

/// `4: ACTIVE` and `1: CA` are a number and its name.
fn after_colon(text: String) -> String {
    text.split_once(": ").map_or(text.clone(), |(_, name)| name.to_owned())
}

/// `100 Gb/sec (4X EDR)`.
fn rate(text: &str) -> Result<BitsPerSecond, Garbled> {
    let number = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let gbps = number.filter(|gbps| gbps.is_finite() && *gbps >= 0.0);
    gbps.map(|gbps| BitsPerSecond(gbps * 1e9)).ok_or_else(|| Garbled::NotARate(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iwarp_identifier_is_a_hardware_address() {
        let siw = "56c9:fdf2:2d4a:0000:0000:0000:0000:0000";
        assert_eq!(hardware_address(siw).as_deref(), Some("56:c9:fd:f2:2d:4a"));
        let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
        for other in [zero, "fe80:0000:0000:0000:b8d6:02ff:fed1:260a", "", "56c9"] {
            assert_eq!(hardware_address(other), None, "{other}");
        }
    }

    #[test]
    fn rates_and_states_lose_their_numbers() {
        assert_eq!(rate("2.5 Gb/sec (1X SDR)"), Ok(BitsPerSecond(2.5e9)));
        assert_eq!(rate("100 Gb/sec (4X EDR)"), Ok(BitsPerSecond(1e11)));
        for bad in ["", "x Gb/sec", "NaN Gb/sec", "-1 Gb/sec"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        assert_eq!(after_colon("4: ACTIVE".into()), "ACTIVE");
        assert_eq!(after_colon("RNIC".into()), "RNIC");
    }
}
