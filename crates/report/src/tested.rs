//! The hosts under test side by side, as papers begin: what each is made of.

use crate::study::Table;
use crate::{Analysis, built, hardware, words};
use maud::{Markup, html};
use narrows_dimm::population::Population;
use narrows_model::host::{Host, Module, Nic};
use std::collections::BTreeMap;

const TITLE: &str = "Hosts under test";
/// NICs of a host that have a row.
const NICS: usize = 8;

/// A row a thing and a column a host; `None` where no host is known.
pub fn table(analysis: &Analysis<'_>) -> Option<(&'static str, Table)> {
    let stored = analysis.stored;
    let is_unknown = stored.host.name.value().is_none() && stored.host.cpu.model.value().is_none();
    if !analysis.has_host() || (is_unknown && stored.peer_hosts.is_empty()) {
        return None;
    }
    let hosts: Vec<&Host> = std::iter::once(&stored.host).chain(&stored.peer_hosts).collect();
    let mut head = vec![String::new(), "this host".to_owned()];
    let peers = 0..stored.peer_hosts.len() as u32;
    head.extend(peers.map(|at| stored.host_name(narrows_model::trial::EndHost::Peer(at))));
    let mut table = vec![head];
    let cells = |of: &dyn Fn(&Host) -> Option<String>| hosts.iter().map(|host| of(host)).collect();
    table.extend(BEFORE_NICS.iter().filter_map(|(name, of)| row(name, cells(of))));
    for at in 0..hosts.iter().map(|host| host.physical_nics().count()).max()?.min(NICS) {
        let nics = cells(&|host| host.physical_nics().nth(at).map(|one| nic(host, one)));
        table.extend(row(&format!("NIC {}", at + 1), nics));
    }
    table.extend(BEHIND_NICS.iter().filter_map(|(name, of)| row(name, cells(of))));
    Some((TITLE, table))
}

/// What is told of a host, where it is known.
type Told = fn(&Host) -> Option<String>;
/// In the order of papers: what the host is built of, and what runs on it.
const BEFORE_NICS: &[(&str, Told)] = &[
    ("name", |host| host.name.value().cloned()),
    ("product", |host| host.product.value().cloned()),
    ("chassis", |host| host.chassis.value().cloned()),
    ("processors", |host| Some(words::host_line(host))),
    ("memory", modules),
    ("its population", |host| Some(hardware::class(&Population::of(host).ok()?))),
    ("drives", built::drives),
    ("storage controllers", built::controllers),
];
const BEHIND_NICS: &[(&str, Told)] = &[
    ("accelerators", built::accelerators),
    ("system", |host| host.system.value().cloned()),
    ("kernel", |host| host.kernel.value().cloned()),
    ("BIOS", bios),
    ("BMC's firmware", |host| host.tuning.get("bmc.version")?.value().cloned()),
];

/// A row with a dash where a host does not tell; `None` where no host has or tells any.
fn row(name: &str, cells: Vec<Option<String>>) -> Option<Vec<String>> {
    if cells.iter().flatten().all(|cell| cell == built::NONE) {
        return None;
    }
    let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
    Some(std::iter::once(name.to_owned()).chain(cells).collect())
}

/// `2.12.2, 07/11/2024`: version and date as firmware writes them.
fn bios(host: &Host) -> Option<String> {
    let parts = ["bios.version", "bios.date"].map(|name| host.tuning.get(name));
    let parts: Vec<&str> =
        parts.into_iter().flatten().filter_map(|fact| Some(fact.value()?.as_str())).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `12 x 16 GiB DDR4 at 2933 MT/s`, a part for each kind of module.
fn modules(host: &Host) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let slots = host.memory.slots.value()?;
    for module in slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|one| one.is_dram) {
        *kinds.entry(kind(module)).or_default() += 1;
    }
    let parts: Vec<String> = kinds.iter().map(|(kind, many)| format!("{many} x {kind}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn kind(module: &Module) -> String {
    let size = module.size_bytes.map_or("unknown size".to_owned(), |size| size.to_string());
    let speed = module.configured_mts.map_or(String::new(), |speed| format!("at {speed} MT/s"));
    let parts = [size, module.technology.clone(), speed];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn nic(host: &Host, nic: &Nic) -> String {
    let version = nic.driver_version.value();
    let version = version.map_or(String::new(), |of| format!(", driver's version {of}"));
    let firmware = nic.firmware.value().map_or(String::new(), |of| format!(", firmware {of}"));
    let slot = host.slot_of(&nic.path).filter(|slot| !slot.name.is_empty());
    let slot = slot.map_or(String::new(), |slot| format!(", in {}", slot.name));
    format!("{}: {}{slot}{version}{firmware}", nic.name, words::nic_line(nic))
}

/// The table in a page; nothing where no host is known.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    let Some((title, table)) = table(analysis) else { return html! {} };
    let (head, rows) = table.split_at(1);
    html! { div class="scroll" { table {
        caption { (title) }
        thead { @for row in head { tr { @for cell in row { th { (cell) } } } } }
        tbody { @for row in rows { tr { @for (at, cell) in row.iter().enumerate() {
            @if at == 0 { td class="name" { b { (cell) } } } @else { td { (cell) } }
        } } } }
    } } }
}
