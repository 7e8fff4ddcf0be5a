//! Network interfaces, from `/sys/class/net`.

use crate::{Root, list, pci};
use narrows_facts::host::{Nic, PciHop, Queues};
use narrows_facts::{BitsPerSecond, Bytes, Fact};

const NET: &str = "sys/class/net";

/// Reads every interface but the loopback device, by name.
pub fn read(root: &Root) -> Vec<Nic> {
    let names = root.names(NET).into_iter();
    // Some drivers leave plain files such as `bonding_masters` here.
    let is_interface = |name: &String| {
        let entry = format!("{NET}/{name}");
        root.link_name(&entry).value().is_some() || root.has(&format!("{entry}/mtu"))
    };
    names.filter(|name| name != "lo" && is_interface(name)).map(|name| nic(root, &name)).collect()
}

fn nic(root: &Root, name: &str) -> Nic {
    let file = |leaf: &str| format!("{NET}/{name}/{leaf}");
    let device = root.resolve(&file("device"));
    let path = device.as_deref().map(|device| pci::path(root, device)).unwrap_or_default();
    Nic {
        name: name.to_owned(),
        physical: device.is_some(),
        driver: root.link_name(&file("device/driver")),
        speed_bps: speed(root.number(&file("speed"))),
        state: root.text(&file("operstate")),
        mtu_bytes: root.number(&file("mtu")).and_then(|mtu| {
            u64::try_from(mtu).map(Bytes).map_err(|_| format!("{mtu} is not a size"))
        }),
        node: node(root, device.as_deref(), &file("device/numa_node")),
        irq_cpus: irq_cpus(root, device.as_deref(), &path),
        queues: queues(root, &file("queues")),
        path,
    }
}

/// Mb/s as the driver writes it; -1 and 0 and 2^32-1 all mean that it does not know.
fn speed(mbps: Fact<i64>) -> Fact<BitsPerSecond> {
    match mbps {
        Fact::Known { value, from } if !(1..=10_000_000).contains(&value) => {
            Fact::absent(format!("{from} is {value}"))
        }
        known => known.and_then(|mbps| Ok(BitsPerSecond(mbps as f64 * 1e6))),
    }
}

/// The node of the device, or of the nearest parent that has one: a virtio device has none itself.
fn node(root: &Root, device: Option<&str>, shown: &str) -> Fact<u32> {
    let mut dir = device.unwrap_or_default();
    while !dir.is_empty() {
        if let Some(node) = root.number(&format!("{dir}/numa_node")).value() {
            return match u32::try_from(*node) {
                Ok(node) => Fact::known(node, format!("/{dir}/numa_node")),
                Err(_) => Fact::absent(format!("/{dir}/numa_node is {node}")),
            };
        }
        dir = dir.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    Fact::absent(format!("/{shown}"))
}

/// CPUs that the device's interrupts are delivered to: the vectors of its PCI function.
fn irq_cpus(root: &Root, device: Option<&str>, path: &[PciHop]) -> Fact<Vec<u32>> {
    let Some(end) = path.last() else { return Fact::absent("/proc/irq (not a PCI device)") };
    let dir =
        device.and_then(|device| Some(&device[..device.find(&end.address)? + end.address.len()]));
    let Some(dir) = dir else { return Fact::absent("/proc/irq") };
    let vectors = root.names(&format!("{dir}/msi_irqs"));
    let mut cpus: Vec<u32> = Vec::new();
    let mut from = format!("/{dir}/msi_irqs");
    for vector in &vectors {
        let fact = root.text(&format!("proc/irq/{vector}/effective_affinity_list"));
        from = "/proc/irq/*/effective_affinity_list".to_owned();
        if let Fact::Denied { from } = fact {
            return Fact::Denied { from };
        }
        cpus.extend(fact.value().and_then(|text| list::parse(text).ok()).unwrap_or_default());
    }
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() { Fact::absent(from) } else { Fact::known(cpus, from) }
}

fn queues(root: &Root, dir: &str) -> Fact<Queues> {
    let (rx, tx) = (root.numbered(dir, "rx-").len(), root.numbered(dir, "tx-").len());
    match (rx, tx) {
        (0, 0) => Fact::absent(format!("/{dir}")),
        _ => Fact::known(Queues { rx: rx as u32, tx: tx as u32 }, format!("/{dir}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_speed_is_no_speed() {
        let read = |mbps: i64| speed(Fact::known(mbps, "speed"));
        assert_eq!(read(100_000).value(), Some(&BitsPerSecond(1e11)));
        for unknown in [-1, 0, 4_294_967_295] {
            assert!(matches!(read(unknown), Fact::Absent { .. }), "{unknown}");
        }
    }
}
