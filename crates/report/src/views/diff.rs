//! Hosts side by side, the "good" and the "bad" node: what differs, what matters most first.

use super::or_unknown;
use crate::drawn::Screen;
use crate::fleet::Lost;
use crate::table::on_screen;
use crate::{built, hardware, words};
use narrows_dimm::population::Population;
use narrows_explain::rules::dimm_balance;
use narrows_model::Fact;
use narrows_model::host::{DeviceKind, Host, Nic};
use narrows_model::units::three_digits;
use narrows_predict::calibration::Calibration;
use narrows_predict::dram::socket_peaks;
use narrows_predict::loss::Loss;
use narrows_predict::pcie::joints;
use narrows_predict::pcie_paths::pcie_paths;
use narrows_predict::{Said, Traffic};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of `what` with the value on a host.
type Traits = Vec<(String, String)>;

/// A part of a host: its memory, an interface, or all that the model gives no figure for.
struct Part {
    /// What hosts have in common: `memory`, `eth0`; empty for the rest.
    name: String,
    /// Its lines, in order of weight.
    traits: Traits,
    /// What the model expects of it, in Gb/s: what memory costs a port, what an interface reaches.
    expected_gbps: Option<f64>,
}

/// Bits a second of a Gb/s.
const GIGABIT: f64 = 1e9;

/// What stands where a host tells nothing of a fact, and where it has no such thing.
const UNTOLD: [&str; 2] = ["unknown", "not there"];

/// The differences as a table, a column a host, and how many facts agree; what is expected to cost
/// most comes first.
pub fn write(hosts: &[(&str, &Host)], screen: &Screen) -> String {
    let parts: Vec<Vec<Part>> = hosts.iter().map(|(_, host)| parts(host)).collect();
    let order = by_cost(&parts);
    let told: Vec<Traits> = parts.into_iter().map(|parts| in_order(parts, &order)).collect();
    // What only a later host has comes after what those before it have in that part.
    let names = merged(&told);
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
    format!("{}\nthe same in {same}\n", on_screen(&head, &rows, screen))
}

/// The names of the parts, those first whose expected figures differ most between the hosts; where
/// they do not differ or are not known, memory, then interfaces, then the rest.
fn by_cost(hosts: &[Vec<Part>]) -> Vec<String> {
    let mut figures: Vec<(&str, Vec<f64>)> = Vec::new();
    for part in hosts.iter().flatten() {
        let at = figures.iter().position(|(name, _)| *name == part.name).unwrap_or_else(|| {
            figures.push((&part.name, Vec::new()));
            figures.len() - 1
        });
        figures[at].1.extend(part.expected_gbps);
    }
    figures.sort_by(|a, b| {
        let rest = a.0.is_empty().cmp(&b.0.is_empty());
        rest.then(spread(&b.1).total_cmp(&spread(&a.1)))
    });
    figures.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Between the least and the most, 0 for fewer than two.
fn spread(figures: &[f64]) -> f64 {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most - least).max(0.0)
}

/// The lines of a host's parts in the order of the parts' names.
fn in_order(mut parts: Vec<Part>, order: &[String]) -> Traits {
    parts.sort_by_key(|part| order.iter().position(|name| *name == part.name));
    parts.into_iter().flat_map(|part| part.traits).collect()
}

/// The names of all hosts' lines: those of a later host that the others lack after the line that
/// stands before them there.
fn merged(told: &[Traits]) -> Vec<&String> {
    let mut names: Vec<&String> = Vec::new();
    let mut known = BTreeSet::new();
    for traits in told {
        let mut at = 0;
        for (name, _) in traits {
            if known.insert(name) {
                names.insert(at, name)
            } else {
                at = names.iter().position(|other| *other == name).unwrap_or(at)
            }
            at += 1;
        }
    }
    names
}

fn parts(host: &Host) -> Vec<Part> {
    let mut parts = vec![memory(host)];
    parts.extend(host.physical_nics().map(|nic| of_nic(host, nic)));
    parts.push(Part { name: String::new(), traits: rest(host), expected_gbps: None });
    parts
}

/// What the model gives no figure for: other devices, processors, settings, the system.
fn rest(host: &Host) -> Traits {
    let mut traits = Traits::new();
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
    traits.extend([
        ("cpu model".to_owned(), known(&host.cpu.model)),
        ("sockets".to_owned(), packages.len().to_string()),
        ("CPUs online".to_owned(), host.cpu.places.len().to_string()),
        ("nodes".to_owned(), host.nodes.len().to_string()),
        ("last-level caches".to_owned(), host.last_level_cache_bytes().to_string()),
    ]);
    traits.extend(host.tuning.iter().map(|(name, fact)| (name.clone(), known(fact))));
    traits.push(("drives".to_owned(), or_unknown(built::drives(host))));
    traits.push(("storage controllers".to_owned(), or_unknown(built::controllers(host))));
    traits.push(("system".to_owned(), known(&host.system)));
    traits.push(("kernel".to_owned(), known(&host.kernel)));
    traits.push(("virtualised".to_owned(), known(&host.virtualised)));
    traits.push(("product".to_owned(), known(&host.product)));
    traits.push(("chassis".to_owned(), known(&host.chassis)));
    traits
}

fn known(fact: &Fact<String>) -> String {
    or_unknown(fact.value())
}

/// Population by socket, its class, cost and peak; without channels, the modules by locator.
fn memory(host: &Host) -> Part {
    let mut traits = Traits::new();
    let population = Population::of(host);
    let loss = population.as_ref().ok().and_then(|known| Loss::of(host, known).ok());
    if let Some(slots) = host.memory.slots.value() {
        let class = population.as_ref().map(|population| population.balance.to_string());
        traits.push(("memory balance".to_owned(), class.unwrap_or("unknown".to_owned())));
        let cost = loss.as_ref().map(|loss| Lost::of(loss).says());
        traits.push(("memory costs".to_owned(), or_unknown(cost)));
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
            traits.push((format!("slot {}", slot.named()), holds));
        }
    }
    // To a tenth of a GiB: kernels of one kind differ by a few pages.
    let gib =
        host.memory.total_bytes.value().map(|b| format!("{:.1} GiB", b.0 as f64 / 2f64.powi(30)));
    traits.push(("memory of the kernel".to_owned(), or_unknown(gib)));
    let worst = loss.as_ref().and_then(Loss::worst);
    let expected_gbps = worst.map(|port| port.lost.value / GIGABIT);
    Part { name: "memory".to_owned(), traits, expected_gbps }
}

/// An interface with what TCP is expected to reach through it.
fn of_nic(host: &Host, nic: &Nic) -> Part {
    let server = narrows_predict::of_nic(host, Some(nic), &Said::new(), &Calibration::default());
    let reach = server.ok().and_then(|server| server.reach(Traffic::Tcp));
    let expected_gbps = reach.map(|reach| reach.value);
    Part { name: nic.name.clone(), traits: lines(nic, expected_gbps), expected_gbps }
}

fn lines(nic: &Nic, expected_gbps: Option<f64>) -> Traits {
    let slowest =
        joints(nic).iter().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps)).map(|joint| joint.says());
    let irqs = nic.irq_cpus.value().map(|cpus| words::counted(cpus.len(), "CPU"));
    let queues = nic.queues.value().map(|queues| format!("{} rx, {} tx", queues.rx, queues.tx));
    let name = |what: &str| format!("{} {what}", nic.name);
    let expected = expected_gbps.map(|gbps| format!("{} Gb/s", three_digits(gbps)));
    vec![
        (name("expected over TCP"), or_unknown(expected)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, expected_gbps: Option<f64>) -> Part {
        let traits = vec![(format!("{name} a"), "1".to_owned())];
        Part { name: name.to_owned(), traits, expected_gbps }
    }

    #[test]
    fn what_costs_most_comes_first_and_what_has_no_figure_last() {
        let host = |memory: f64, eth: f64| {
            vec![
                part("memory", Some(memory)),
                part("eth0", Some(eth)),
                part("eth1", None),
                part("", None),
            ]
        };
        let order = by_cost(&[host(1.0, 40.0), host(2.0, 90.0)]);
        assert_eq!(order, ["eth0", "memory", "eth1", ""]);
        let order = by_cost(&[host(1.0, 40.0), host(60.0, 90.0)]);
        assert_eq!(order, ["memory", "eth0", "eth1", ""]);
        // Nothing differs: as they stand.
        assert_eq!(by_cost(&[host(1.0, 4.0), host(1.0, 4.0)]), ["memory", "eth0", "eth1", ""]);
    }

    #[test]
    fn lines_that_a_later_host_has_alone_stand_among_their_neighbours() {
        let lines = |names: &[&str]| -> Traits {
            names.iter().map(|name| ((*name).to_owned(), String::new())).collect()
        };
        let told = [lines(&["a", "b", "d"]), lines(&["a", "b", "c", "d", "e"])];
        assert_eq!(merged(&told), ["a", "b", "c", "d", "e"]);
    }
}
