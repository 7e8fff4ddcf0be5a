//! Hosts side by side, the "good" and the "bad" node: what differs, what matters most first.

use super::or_unknown;
use crate::drawn::Screen;
use crate::table::on_screen;
use crate::{hardware, words};
use narrows_dimm::population::Population;
use narrows_explain::rules::dimm_balance;
use narrows_model::Fact;
use narrows_model::host::{DeviceKind, Host, Nic};
use narrows_model::units::three_digits;
use narrows_predict::dram::socket_peaks;
use narrows_predict::pcie::joints;
use narrows_predict::pcie_paths::pcie_paths;
use std::collections::{BTreeMap, BTreeSet};

/// Lines of `what`, in order of weight, with the value on a host.
type Traits = Vec<(String, String)>;

/// What stands where a host tells nothing of a fact, and where it has no such thing.
const UNTOLD: [&str; 2] = ["unknown", "not there"];

/// The differences as a table, a column a host, and how many facts agree.
pub fn write(hosts: &[(&str, &Host)]) -> String {
    let told: Vec<Traits> = hosts.iter().map(|(_, host)| traits(host)).collect();
    // What only a later host has comes after what those before it have.
    let mut names: Vec<&String> = Vec::new();
    let mut known = BTreeSet::new();
    for (name, _) in told.iter().flatten() {
        if known.insert(name) {
            names.push(name);
        }
    }
    let values: Vec<BTreeMap<&String, &String>> = told
        .iter()
        .map(|traits| traits.iter().map(|(name, value)| (name, value)).collect())
        .collect();
    let row = |name: &String| {
        let cells = values.iter().map(|of| of.get(name).map_or(UNTOLD[1], |value| value.as_str()));
        std::iter::once(name.as_str()).chain(cells).map(str::to_owned).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|name| row(name))
        .filter(|row| row[1..].iter().any(|cell| *cell != row[1]))
        // What none tells is no difference.
        .filter(|row| !row[1..].iter().all(|cell| UNTOLD.contains(&cell.as_str())))
        .collect();
    let same = words::counted(names.len() - rows.len(), "fact");
    if rows.is_empty() {
        return format!("no difference in {same}\n");
    }
    let head: Vec<&str> =
        std::iter::once("what").chain(hosts.iter().map(|(name, _)| *name)).collect();
    format!("{}\nthe same in {same}\n", on_screen(&head, &rows, &Screen::FILE))
}

fn traits(host: &Host) -> Traits {
    let mut traits = memory(host);
    for nic in host.physical_nics() {
        traits.extend(of_nic(nic));
    }
    for path in pcie_paths(host).iter().filter(|path| path.device.kind != DeviceKind::Network) {
        let name = |what: &str| format!("{} {what}", path.device.address);
        let hop = path.device.path.last().map(|hop| hop.name.clone());
        traits.push((name("device"), or_unknown(hop)));
        traits.push((name("slowest PCIe link"), or_unknown(path.slowest().map(|j| j.says()))));
    }
    for device in &host.rdma {
        for port in &device.ports {
            let name = format!("{} port {}", device.name, port.number);
            let rate = or_unknown(port.rate_bps.value());
            traits.push((name, format!("{rate}, {}", or_unknown(port.state.value()))));
        }
    }
    let packages: BTreeSet<u32> =
        host.cpu.places.iter().filter_map(|place| place.package).collect();
    let known = |fact: &Fact<String>| or_unknown(fact.value());
    traits.extend([
        ("cpu model".to_owned(), known(&host.cpu.model)),
        ("sockets".to_owned(), packages.len().to_string()),
        ("CPUs online".to_owned(), host.cpu.places.len().to_string()),
        ("nodes".to_owned(), host.nodes.len().to_string()),
        ("last-level caches".to_owned(), host.last_level_cache_bytes().to_string()),
    ]);
    traits.extend(host.tuning.iter().map(|(name, fact)| (name.clone(), known(fact))));
    traits.push(("kernel".to_owned(), known(&host.kernel)));
    traits.push(("virtualised".to_owned(), known(&host.virtualised)));
    traits.push(("product".to_owned(), known(&host.product)));
    traits
}

/// Population by socket, its class and peak; without channels, the modules by locator.
fn memory(host: &Host) -> Traits {
    let mut traits = Traits::new();
    if let Some(slots) = host.memory.slots.value() {
        let population = Population::of(host);
        let class = population.as_ref().map(|population| format!("{:?}", population.balance));
        traits.push(("memory balance".to_owned(), class.unwrap_or("unknown".to_owned())));
        let sets = population.ok().and_then(|population| population.sets.ok());
        for (socket, sets) in sets.map(|sets| sets.by_socket).unwrap_or_default() {
            traits.push((format!("interleave sets, socket {socket}"), dimm_balance::list(&sets)));
        }
        let peaks = socket_peaks(slots).unwrap_or_default();
        for (socket, peak) in peaks {
            let rate = three_digits(peak.rate_bytes_per_second.gbytes());
            traits.push((format!("memory peak, socket {socket}"), format!("{rate} GB/s")));
        }
        for slot in slots {
            let holds = slot.module.as_ref().map_or("empty".to_owned(), |module| {
                let speed = or_unknown(module.configured_mts);
                format!("{} {} {speed} MT/s", or_unknown(module.size_bytes), module.technology)
            });
            traits.push((format!("slot {} {}", slot.locator, slot.bank), holds));
        }
    }
    // To a tenth of a GiB: kernels of one kind differ by a few pages.
    let gib =
        host.memory.total_bytes.value().map(|b| format!("{:.1} GiB", b.0 as f64 / 2f64.powi(30)));
    traits.push(("memory of the kernel".to_owned(), or_unknown(gib)));
    traits
}

fn of_nic(nic: &Nic) -> Traits {
    let slowest =
        joints(nic).iter().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps)).map(|joint| joint.says());
    let irqs = nic.irq_cpus.value().map(|cpus| words::counted(cpus.len(), "CPU"));
    let queues = nic.queues.value().map(|queues| format!("{} rx, {} tx", queues.rx, queues.tx));
    let name = |what: &str| format!("{} {what}", nic.name);
    vec![
        (name("link"), or_unknown(nic.speed_bps.value())),
        (name("slowest PCIe link"), or_unknown(slowest)),
        (name("node"), hardware::node(&nic.node)),
        (name("MTU"), or_unknown(nic.mtu_bytes.value().map(|mtu| mtu.0))),
        (name("state"), or_unknown(nic.state.value())),
        (name("driver"), or_unknown(nic.driver.value())),
        (name("queues"), or_unknown(queues)),
        (name("interrupts"), or_unknown(irqs)),
        (name("firmware"), or_unknown(nic.firmware.value())),
        (name("rings"), or_unknown(nic.rings.value().map(|r| format!("{} rx, {} tx", r.rx, r.tx)))),
        (name("coalescing"), or_unknown(nic.coalescing.value().map(hardware::coalescing))),
        (name("pause"), or_unknown(nic.pause.value().map(hardware::pause))),
        (name("offloads"), or_unknown(nic.offloads.value().map(hardware::offloads))),
    ]
}
