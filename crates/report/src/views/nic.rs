//! `nic`: every interface, with the facts that move its rate.

use super::{View, or_unknown};
use crate::drawn::Screen;
use crate::hardware;
use crate::table::on_screen;
use narrows_model::cpu_list;
use narrows_model::host::{Host, Nic, RdmaDevice};
use std::collections::BTreeSet;

/// A row an interface; its card, its place in the stack, and RDMA devices in tables of their own.
pub static VIEW: View = View { name: "nic", write };

const HEAD: [&str; 10] = [
    "name",
    "device",
    "driver",
    "state",
    "speed",
    "duplex",
    "MTU",
    "node",
    "queues",
    "interrupts on CPU",
];
const CARD: [&str; 8] =
    ["name", "firmware", "rings rx, tx (most)", "coalescing", "pause", "FEC", "offloads", "VFs"];
const STACK: [&str; 6] =
    ["name", "structure", "qdisc", "RPS, RFS, XPS queues", "aRFS", "IRQ nodes"];

fn write(host: &Host, screen: &Screen) -> String {
    let all = on_screen(&HEAD, &host.nics.iter().map(row).collect::<Vec<_>>(), screen);
    let cards: Vec<Vec<String>> = host.physical_nics().map(card).collect();
    let cards =
        if cards.is_empty() { String::new() } else { on_screen(&CARD, &cards, screen) + "\n" };
    let stack = on_screen(&STACK, &host.nics.iter().map(stack).collect::<Vec<_>>(), screen);
    let rdma: Vec<Vec<String>> = host.rdma.iter().flat_map(rdma).collect();
    let rdma = if rdma.is_empty() {
        String::new()
    } else {
        "\n".to_owned() + &on_screen(&RDMA, &rdma, screen)
    };
    format!("{all}\n{cards}{stack}{rdma}")
}

const RDMA: [&str; 8] =
    ["RDMA device", "port", "state", "rate", "link layer", "interface", "node", "firmware"];

fn rdma(device: &RdmaDevice) -> Vec<Vec<String>> {
    device
        .ports
        .iter()
        .map(|port| {
            vec![
                device.name.clone(),
                port.number.to_string(),
                or_unknown(port.state.value()),
                or_unknown(port.rate_bps.value()),
                or_unknown(port.link_layer.value()),
                or_unknown(port.netdev.value()),
                hardware::node(&device.node),
                or_unknown(device.firmware.value()),
            ]
        })
        .collect()
}

fn card(nic: &Nic) -> Vec<String> {
    let rings = nic
        .rings
        .value()
        .map(|rings| format!("{}, {} ({}, {})", rings.rx, rings.tx, rings.rx_max, rings.tx_max));
    let functions = nic.virtual_functions.value().map(|vfs| format!("{} of {}", vfs.now, vfs.most));
    vec![
        nic.name.clone(),
        or_unknown(nic.firmware.value()),
        or_unknown(rings),
        or_unknown(nic.coalescing.value().map(hardware::coalescing)),
        or_unknown(nic.pause.value().map(hardware::pause)),
        or_unknown(nic.fec.value()),
        or_unknown(nic.offloads.value().map(hardware::offloads)),
        functions.unwrap_or_else(|| "none".to_owned()),
    ]
}

fn stack(nic: &Nic) -> Vec<String> {
    let steering = nic.steering.value();
    let queues = steering.map(|s| format!("{}, {}, {}", s.rps_queues, s.rfs_queues, s.xps_queues));
    let accelerated = steering.and_then(|s| s.accelerated).map(|on| if on { "on" } else { "off" });
    let nodes = nic.irqs.value().map(|irqs| {
        let nodes: BTreeSet<String> = irqs.iter().map(|irq| or_unknown(irq.node)).collect();
        nodes.into_iter().collect::<Vec<_>>().join(", ")
    });
    vec![
        nic.name.clone(),
        hardware::structure(nic),
        or_unknown(nic.qdisc.value()),
        or_unknown(queues),
        or_unknown(accelerated),
        or_unknown(nodes),
    ]
}

fn row(nic: &Nic) -> Vec<String> {
    let queues = nic.queues.value().map(|queues| format!("{} rx, {} tx", queues.rx, queues.tx));
    let cpus = nic.irq_cpus.value().map(|cpus| cpu_list::show(cpus));
    let device = nic.path.last().map(|hop| hop.address.clone());
    let none = if nic.physical { "not on PCI" } else { "none" };
    vec![
        nic.name.clone(),
        device.unwrap_or_else(|| none.to_owned()),
        or_unknown(nic.driver.value()),
        or_unknown(nic.state.value()),
        speed(nic),
        or_unknown(nic.duplex.value()),
        or_unknown(nic.mtu_bytes.value().map(|mtu| mtu.0)),
        hardware::node(&nic.node),
        or_unknown(queues),
        or_unknown(cpus),
    ]
}

/// The link's rate; without a device the kernel's figure stands for no link (veth says 10 Gb/s).
fn speed(nic: &Nic) -> String {
    let rate = or_unknown(nic.speed_bps.value());
    let nominal = !nic.physical && nic.speed_bps.value().is_some();
    if nominal { format!("{rate} (nominal)") } else { rate }
}
