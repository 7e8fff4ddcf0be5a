//! Ports of network adapters: `NetworkPort` of older services, `Port` of newer ones (DSP0268).

use super::{json, kind, link, path};
use crate::parts::bare_path;
use narrows_model::host::{Device, Nic, PciHop};
use narrows_model::{BitsPerSecond, Fact};
use serde_json::Value;

/// A port as an interface, and its hardware address where that is told.
pub struct Port {
    /// Named by adapter and port, for management software knows no name of the system's.
    pub nic: Nic,
    /// Its MAC address, as the controller writes it.
    pub mac: Option<String>,
}

/// The ports of all adapters that carry packets; `devices` are the PCIe devices by their paths.
pub fn ports(all: &[&Value], devices: &[(&str, Device)], from: &str) -> Vec<Port> {
    let adapters: Vec<&Value> =
        all.iter().copied().filter(|one| kind(one) == "NetworkAdapter").collect();
    let ports = all.iter().filter(|one| ["NetworkPort", "Port"].contains(&kind(one)));
    ports
        .filter_map(|port| {
            let adapter = adapters.iter().find(|adapter| {
                path(port).strip_prefix(path(adapter)).is_some_and(|rest| rest.starts_with('/'))
            })?;
            (!is_of_storage(port)).then(|| of(port, adapter, devices, from))
        })
        .collect()
}

/// Fibre Channel is no network of packets.
fn is_of_storage(port: &Value) -> bool {
    let told = ["ActiveLinkTechnology", "LinkNetworkTechnology", "PortProtocol"];
    let mut told = told.iter().filter_map(|key| json::text(port, key));
    told.any(|protocol| ["FibreChannel", "FC", "FCP"].contains(&protocol))
}

fn of(port: &Value, adapter: &Value, devices: &[(&str, Device)], from: &str) -> Port {
    let state = match json::text(port, "LinkStatus") {
        Some("Up" | "LinkUp") => Some("up"),
        Some("Down" | "LinkDown" | "NoLink") => Some("down"),
        _ => None,
    };
    let nic = Nic {
        name: format!("{} port {}", leaf(adapter), leaf(port)),
        physical: true,
        state: match state {
            Some(state) => Fact::known(state.to_owned(), from),
            None => Fact::absent(from),
        },
        speed_bps: match speed_bps(port) {
            Some(speed) => Fact::known(BitsPerSecond(speed), from),
            None => Fact::absent(from),
        },
        path: way(adapter, devices, from),
        ..Nic::default()
    };
    Port { nic, mac: mac(port) }
}

fn leaf(one: &Value) -> String {
    path(one).rsplit('/').next().unwrap_or_default().to_owned()
}

/// The rate that the port runs at; 0 is what controllers say of a port without a link.
fn speed_bps(port: &Value) -> Option<f64> {
    let [mbps, gbps] = ["CurrentLinkSpeedMbps", "CurrentSpeedGbps"]
        .map(|key| port.get(key).and_then(Value::as_f64));
    let speed = mbps.map(|m| m * 1e6).or(gbps.map(|g| g * 1e9))?;
    (speed > 0.0 && speed <= 1e13).then_some(speed)
}

fn mac(port: &Value) -> Option<String> {
    let inner = port.get("Ethernet").unwrap_or(&Value::Null);
    let listed = [(port, "AssociatedNetworkAddresses"), (inner, "AssociatedMACAddresses")];
    let mut all = listed.iter().flat_map(|(of, key)| json::members(of, key));
    all.find_map(|text| {
        let text = text.as_str()?.trim();
        // World-wide names have eight pairs.
        let is_mac = text.len() == 17 && text.split([':', '-']).count() == 6;
        is_mac.then(|| text.replace('-', ":").to_ascii_lowercase())
    })
}

/// The PCIe device that the adapter is, else the link that its controller tells.
fn way(adapter: &Value, devices: &[(&str, Device)], from: &str) -> Vec<PciHop> {
    let Some(controller) = json::members(adapter, "Controllers").first() else { return Vec::new() };
    let links = controller.get("Links").unwrap_or(&Value::Null);
    let named = json::members(links, "PCIeDevices").first();
    let named = named.and_then(|one| json::text(one, "@odata.id"));
    let known = named.and_then(|named| devices.iter().find(|(path, _)| *path == named));
    if let Some((_, device)) = known {
        return device.path.clone();
    }
    let Some(told) = controller.get("PCIeInterface").and_then(link) else { return Vec::new() };
    let mut way = bare_path(&format!("redfish {}", json::text(adapter, "Id").unwrap_or("adapter")));
    way[0].link = Fact::known(told, from);
    way
}

#[cfg(test)]
mod tests {
    use super::super::assemble;
    use serde_json::{Value, json};

    const ADAPTER: &str = "/redfish/v1/Chassis/1/NetworkAdapters/NIC.Slot.3";

    fn resources(port: Value) -> Vec<Value> {
        vec![
            json!({ "@odata.id": "/redfish/v1/Systems/1", "Manufacturer": "Contoso",
                "@odata.type": "#ComputerSystem.v1_5_0.ComputerSystem" }),
            json!({ "@odata.id": ADAPTER, "@odata.type": "#NetworkAdapter.v1_5_0.NetworkAdapter",
                "Id": "NIC.Slot.3", "Controllers": [{ "PCIeInterface": { "PCIeType": "Gen3",
                "MaxPCIeType": "Gen4", "LanesInUse": 8, "MaxLanes": 16 } }] }),
            port,
        ]
    }

    #[test]
    fn ports_of_adapters_are_interfaces_with_rate_state_and_link() {
        let older = json!({ "@odata.id": format!("{ADAPTER}/NetworkPorts/1"),
            "@odata.type": "#NetworkPort.v1_2_0.NetworkPort", "CurrentLinkSpeedMbps": 25000,
            "LinkStatus": "Up", "AssociatedNetworkAddresses": ["B0:26:28:D8:68:C0"] });
        let newer = json!({ "@odata.id": format!("{ADAPTER}/Ports/2"),
            "@odata.type": "#Port.v1_6_0.Port", "CurrentSpeedGbps": 0, "LinkStatus": "LinkDown",
            "Ethernet": { "AssociatedMACAddresses": ["b0:26:28:d8:68:c1"] } });
        let part = assemble(&resources(older), "bmc").expect("a host");
        let nic = &part.host.nics[0];
        assert_eq!(nic.name, "NIC.Slot.3 port 1");
        assert_eq!(nic.speed_bps.value().map(|speed| speed.0), Some(25e9));
        assert_eq!(nic.state.value().map(String::as_str), Some("up"));
        let link = nic.path[0].link.value().expect("a link");
        assert_eq!((link.speed_gts, link.width, link.width_max), (8.0, 8, 16));
        assert!(part.marks.macs.contains_key(&nic.name));
        let part = assemble(&resources(newer), "bmc").expect("a host");
        let nic = &part.host.nics[0];
        assert_eq!(
            (nic.speed_bps.value(), nic.state.value().cloned()),
            (None, Some("down".into()))
        );
    }

    #[test]
    fn ports_of_storage_and_of_switches_are_no_interfaces() {
        let fibre = json!({ "@odata.id": format!("{ADAPTER}/NetworkPorts/1"), "PortProtocol": "FC",
            "@odata.type": "#NetworkPort.v1_2_0.NetworkPort" });
        let switch = json!({ "@odata.id": "/redfish/v1/Fabrics/PCIe/Switches/1/Ports/1",
            "@odata.type": "#Port.v1_6_0.Port", "CurrentSpeedGbps": 64 });
        for port in [fibre, switch] {
            assert!(assemble(&resources(port), "bmc").expect("a host").host.nics.is_empty());
        }
    }
}
