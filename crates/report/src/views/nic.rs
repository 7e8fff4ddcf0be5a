//! `nic`: every interface, with the facts that move its rate.

use super::{View, or_unknown, table};
use narrows_facts::host::{Host, Nic};

/// A row an interface.
pub static VIEW: View = View { name: "nic", write };

const HEAD: [&str; 9] =
    ["name", "device", "driver", "state", "speed", "MTU", "node", "queues", "interrupts on CPU"];

fn write(host: &Host) -> String {
    table(&HEAD, &host.nics.iter().map(row).collect::<Vec<_>>())
}

fn row(nic: &Nic) -> Vec<String> {
    let queues = nic.queues.value().map(|queues| format!("{} rx, {} tx", queues.rx, queues.tx));
    let cpus = nic
        .irq_cpus
        .value()
        .map(|cpus| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    let device = nic.path.last().map(|hop| hop.address.clone());
    let none = if nic.physical { "not on PCI" } else { "none" };
    vec![
        nic.name.clone(),
        device.unwrap_or_else(|| none.to_owned()),
        or_unknown(nic.driver.value()),
        or_unknown(nic.state.value()),
        speed(nic),
        or_unknown(nic.mtu_bytes.value().map(|mtu| mtu.0)),
        or_unknown(nic.node.value()),
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
