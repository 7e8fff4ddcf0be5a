//! `rdma`: every RDMA device and port, its identifiers, and what libraries need to select it.

use super::{View, or_unknown};
use crate::drawn::Screen;
use crate::hardware;
use crate::table::on_screen;
use narrows_model::host::{Host, RdmaDevice, RdmaPort};
use std::fmt;

/// A row a port; then its identifiers, and the words for other programs.
pub static VIEW: View = View { name: "rdma", write };

const HEAD: [&str; 9] =
    ["device", "port", "transport", "state", "link", "rate", "link layer", "interface", "node"];

fn write(host: &Host, screen: &Screen) -> String {
    if host.rdma.is_empty() {
        return "no RDMA device (/sys/class/infiniband is empty or not there)\n".to_owned();
    }
    let ports: Vec<(&RdmaDevice, &RdmaPort)> = host
        .rdma
        .iter()
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .collect();
    let rows: Vec<Vec<String>> = ports.iter().map(|(device, port)| row(device, port)).collect();
    let mut text = on_screen(&HEAD, &rows, screen);
    let gids: Vec<Vec<String>> =
        ports.iter().flat_map(|(device, port)| gids(device, port)).collect();
    if !gids.is_empty() {
        text += &format!(
            "\n{}",
            on_screen(&["device", "port", "GID index", "GID", "protocol"], &gids, screen)
        );
    }
    text += "\nTo select one:\n";
    for (device, port) in &ports {
        for line in words(device, port) {
            text += &format!("  {line}\n");
        }
    }
    let mut interfaces: Vec<&String> =
        ports.iter().filter_map(|(_, port)| port.netdev.value()).collect();
    interfaces.sort();
    interfaces.dedup();
    for line in interfaces.into_iter().flat_map(|interface| socket_words(interface)) {
        text += &format!("  {line}\n");
    }
    text
}

/// What carries a port's messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    InfiniBand,
    Iwarp,
    OmniPath,
    Roce,
    /// Node type or link layer are not told.
    Unknown,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Iwarp => "iWARP",
            Self::OmniPath => "Omni-Path",
            Self::Roce => "RoCE",
            Self::Unknown => "unknown",
        })
    }
}

/// What carries its messages, from node type and link layer.
fn carrier(device: &RdmaDevice, port: &RdmaPort) -> Carrier {
    let kind = device.kind.value().map_or("", String::as_str);
    let layer = port.link_layer.value().map_or("", String::as_str);
    match (kind, layer) {
        ("RNIC", _) => Carrier::Iwarp,
        ("CA", "Ethernet") => Carrier::Roce,
        ("CA", "InfiniBand") if device.name.starts_with("hfi") => Carrier::OmniPath,
        ("CA", "InfiniBand") => Carrier::InfiniBand,
        _ => Carrier::Unknown,
    }
}

fn row(device: &RdmaDevice, port: &RdmaPort) -> Vec<String> {
    vec![
        device.name.clone(),
        port.number.to_string(),
        carrier(device, port).to_string(),
        or_unknown(port.state.value()),
        or_unknown(port.physical_state.value()),
        or_unknown(port.rate_bps.value()),
        or_unknown(port.link_layer.value()),
        or_unknown(port.netdev.value()),
        hardware::node(&device.node),
    ]
}

fn gids(device: &RdmaDevice, port: &RdmaPort) -> Vec<Vec<String>> {
    let all = port.gids.value().map_or(&[][..], Vec::as_slice);
    all.iter()
        .map(|gid| {
            vec![
                device.name.clone(),
                port.number.to_string(),
                gid.index.to_string(),
                gid.gid.clone(),
                or_unknown(gid.kind.as_ref()),
            ]
        })
        .collect()
}

/// What Open MPI, UCX and libfabric are told to use this port. Those of libfabric, alone and under
/// Open MPI 4.1.4, are tried in the lab's guest over rxe and siw; UCX 1.13 takes the device there
/// and gets no answer from rxe.
fn words(device: &RdmaDevice, port: &RdmaPort) -> Vec<String> {
    let (name, number) = (&device.name, port.number);
    let at = format!("{name}:{number}");
    // What it opens for 256 peers is more completions than a device in software has.
    let few = if device.address.is_none() { " FI_UNIVERSE_SIZE=4" } else { "" };
    let libfabric = [
        format!("{at}  libfabric: FI_PROVIDER='verbs;ofi_rxm' FI_VERBS_DEVICE_NAME={name}{few}"),
        format!(
            "{at}  Open MPI over libfabric: --mca pml cm --mca mtl ofi \
             --mca mtl_ofi_provider_include 'verbs;ofi_rxm' -x FI_VERBS_DEVICE_NAME={name}{}",
            few.replacen(' ', " -x ", 1)
        ),
    ];
    match carrier(device, port) {
        // UCX has no transport over iWARP.
        Carrier::Iwarp => libfabric.to_vec(),
        Carrier::OmniPath => vec![format!(
            "{at}  Open MPI: --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include opx,psm2"
        )],
        Carrier::Unknown => {
            vec![format!("{at}  not known: its node type or link layer was not read")]
        }
        Carrier::InfiniBand | Carrier::Roce => [
            format!("{at}  Open MPI: --mca pml ucx -x UCX_NET_DEVICES={at}"),
            format!("{at}  UCX: UCX_NET_DEVICES={at} UCX_TLS=rc,self,sm"),
        ]
        .into_iter()
        .chain(libfabric)
        .collect(),
    }
}

/// The same for sockets over the interface of a port.
fn socket_words(interface: &str) -> [String; 3] {
    [
        format!(
            "tcp:{interface}  Open MPI: --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include \
             {interface}"
        ),
        format!("tcp:{interface}  UCX: UCX_NET_DEVICES={interface} UCX_TLS=tcp,self,sm"),
        format!("tcp:{interface}  libfabric: FI_PROVIDER=tcp FI_TCP_IFACE={interface}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;
    use narrows_model::host::Gid;

    #[test]
    fn transports_are_told_apart_and_only_fitting_words_are_given() {
        let known = |text: &str| Fact::known(text.to_owned(), "test");
        let host = |name: &str, kind: &str, layer: &str| {
            let gid = Gid { index: 3, gid: "::ffff:10.0.0.1".into(), kind: Some("RoCE v2".into()) };
            let port = RdmaPort {
                number: 1,
                link_layer: known(layer),
                gids: Fact::known(vec![gid], "test"),
                netdev: known("eth0"),
                ..RdmaPort::default()
            };
            let device = RdmaDevice {
                name: name.into(),
                kind: known(kind),
                ports: vec![port],
                ..RdmaDevice::default()
            };
            write(&Host { rdma: vec![device], ..Host::default() }, &Screen::FILE)
        };
        let roce = host("mlx5_0", "CA", "Ethernet");
        assert!(roce.contains("RoCE v2") && roce.contains("UCX_NET_DEVICES=mlx5_0:1"), "{roce}");
        let iwarp = host("siw0", "RNIC", "Ethernet");
        assert!(iwarp.contains("iWARP") && !iwarp.contains("UCX_NET_DEVICES=siw0"), "{iwarp}");
        // These have no PCI function, so they are software.
        assert!(iwarp.contains("FI_VERBS_DEVICE_NAME=siw0 -x FI_UNIVERSE_SIZE=4"), "{iwarp}");
        assert!(iwarp.contains("btl_tcp_if_include eth0"), "{iwarp}");
        assert!(host("hfi1_0", "CA", "InfiniBand").contains("Omni-Path"));
        assert!(host("x0", "", "").contains("not known"));
        assert!(write(&Host::default(), &Screen::FILE).starts_with("no RDMA device"));
    }
}
