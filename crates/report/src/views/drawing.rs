//! `drawing`: sockets with their channels and modules, nodes and NICs as boxes, the links between
//! them with what each carries in GB/s where it is known, and what the rules find.

use super::View;
use crate::drawn::{Screen, terminal};
use crate::{built, hardware, words};
use narrows_dimm::population::Population;
use narrows_explain::{findings, judge_host};
use narrows_model::host::{DeviceKind, Host};
use narrows_model::result::PopulationGap;
use narrows_model::shown;
use narrows_model::units::three_digits;
use narrows_predict::pcie_paths::{PciePath, SharedLink, Uplink, pcie_paths, shared};

/// The default view.
pub static VIEW: View = View { name: "drawing", write };

/// More other devices than this are counted, not drawn.
const OTHERS_MAX: usize = 12;

fn write(host: &Host, screen: &Screen) -> String {
    let population = Population::of(host);
    let paths = pcie_paths(host);
    let mut out = screen.prose(&head(host), "  ");
    out += &screen.prose(&memory(host, population.as_ref()).unwrap_or_default(), "  ");
    out.push('\n');
    for line in terminal::draw(host, population.as_ref().ok(), screen) {
        out += &(line + "\n");
    }
    out += &others(&paths, screen);
    for link in shared(&paths).iter().filter(|link| link.ports_bps > 0.0) {
        out += &format!("\n{}", screen.prose(&says_shared(link), "  "));
    }
    out + &built(host, screen) + &found(host, screen)
}

/// System, chassis, drives and what they hang on, a line each.
fn built(host: &Host, screen: &Screen) -> String {
    let lines = built::lines(host);
    let shown = lines.iter().map(|(name, line)| {
        let line = format!("{name}: {line}");
        screen.prose(&shown::line(&line), "  ")
    });
    let shown: String = shown.collect();
    if shown.is_empty() { shown } else { format!("\n{shown}") }
}

/// Name, product and what is known of the host, a line each.
fn head(host: &Host) -> String {
    let names = [host.name.value(), host.product.value()];
    let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
    // A description of memory alone: makers' slot numbers are then nobody's.
    let nameless = host.product.value().is_none() && host.memory.slots.value().is_some();
    let unknown = nameless.then(|| format!("product unknown: {}", host.product.source()));
    let named = (!names.is_empty()).then(|| names.join(", "));
    let lines = [named, unknown, Some(words::host_line(host))].into_iter().flatten();
    lines.map(|line| shown::line(&line).into_owned()).collect::<Vec<_>>().join("\n")
}

fn says_shared(link: &SharedLink) -> String {
    let left = link.payload_bps.map_or("unknown".to_owned(), |bps| three_digits(bps / 8e9));
    let others = match link.others {
        0 => String::new(),
        others => format!(" and {}", words::counted(others, "other device")),
    };
    let ports = three_digits(link.ports_bps / 8e9);
    format!("shared: {}, {left} GB/s of payload, by ports of {ports} GB/s{others}", link.says)
}

/// What the rules find that look at the host alone.
fn found(host: &Host, screen: &Screen) -> String {
    let judged = judge_host(host);
    let findings = findings(&judged);
    let mut out = String::new();
    if !findings.is_empty() {
        out += "\nfindings\n";
    }
    for finding in findings {
        let says = format!("  {}: {}", words::weight(finding.weight), finding.says);
        out += &screen.prose(&shown::line(&says), "    ");
        let remedy = format!("    do: {}", finding.remedy);
        out += &screen.prose(&shown::line(&remedy), "        ");
    }
    out
}

/// How even the memory is, or what is missing to say so.
fn memory(host: &Host, population: Result<&Population, &PopulationGap>) -> Option<String> {
    let population = match population {
        Ok(population) => population,
        Err(missing) => {
            let Some(slots) = host.memory.slots.value() else { return Some(missing.to_string()) };
            let modules = slots.iter().filter(|slot| slot.module.is_some()).count();
            let what = words::counted(modules, "module");
            let slots = words::counted(slots.len(), "slot");
            return Some(format!("memory: {what} in {slots}; balance unknown, it needs {missing}"));
        }
    };
    let processor = host.cpu.model.value().map_or("", String::as_str);
    let label = hardware::paper_label(&population.sockets, processor);
    Some(format!("memory is {}{label}", hardware::class(population)))
}

/// Devices that move much and are no network interface: RDMA-only functions, NVMe, accelerators.
fn others(paths: &[PciePath<'_>], screen: &Screen) -> String {
    let mut out = String::new();
    let others: Vec<&PciePath<'_>> = paths
        .iter()
        .filter(|path| path.device.kind != DeviceKind::Network || path.device.names.is_empty())
        .collect();
    if !others.is_empty() {
        out += "\nother devices\n";
    }
    for path in others.iter().take(OTHERS_MAX) {
        let device = path.device;
        let link = path
            .slowest()
            .map_or("no link state".to_owned(), |joint| format!("PCIe {}", joint.says()));
        let node =
            device.node.value().map_or("node unknown".to_owned(), |node| format!("node {node}"));
        let behind =
            if matches!(path.uplink, Uplink::Chipset { .. }) { ", behind the chipset" } else { "" };
        let name = device.path.last().map_or("", |hop| hop.name.as_str());
        let names = if device.names.is_empty() {
            words::or_dash(&device.driver)
        } else {
            device.names.join(", ")
        };
        let kind = hardware::device(device.kind);
        let line = format!("  {} {kind} [{names}] {link}, {node}{behind}: {name}", device.address);
        out += &screen.prose(&shown::line(&line), "    ");
    }
    if others.len() > OTHERS_MAX {
        out += &format!("  and {} more: --table pci\n", others.len() - OTHERS_MAX);
    }
    out
}
