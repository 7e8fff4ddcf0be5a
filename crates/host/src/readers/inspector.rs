//! What OpenStack's inspection of a bare-metal node stores (`openstack baremetal introspection data
//! save`): the inventory, and of its optional collectors NUMA nodes and memory banks.

use super::{BadText, Reader, json};
use crate::memory::{Firmware, FirmwareTables};
use crate::parts::{PartialHost, bare_path};
use crate::pci;
use narrows_model::host::{Module, Nic, Node, Slot};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use serde_json::Value;
use std::collections::BTreeMap;

const PROGRAM: &str = "inspector";

/// OpenStack's inspection data: an inventory of a node that runs no system yet.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    json::names(text, &["inventory", "memory", "interfaces"])
        || json::names(text, &["inventory", "plugin_data"])
        || json::names(text, &["numa_topology", "ram"])
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let document = json::document(text, PROGRAM)?;
    let empty = Value::Null;
    let inventory = document.get("inventory").unwrap_or(&empty);
    let mut part = PartialHost::of(PROGRAM, from);
    part.marks.name = json::text(inventory, "hostname").map(str::to_owned);
    part.host.cpu.model =
        one_line(inventory.get("cpu").and_then(|cpu| json::text(cpu, "model_name")), from);
    let memory = inventory.get("memory").unwrap_or(&empty);
    // What the kernel manages; `physical_mb` is that of the modules.
    let total = json::count(memory, "total").filter(|total| *total > 0);
    part.host.memory.total_bytes =
        total.map_or(Fact::absent(from), |total| Fact::known(Bytes(total), from));
    let mut firmware = Firmware::default();
    if let Some(system) = inventory.get("system_vendor") {
        let maker = json::owned(system, "manufacturer");
        let product = json::owned(system, "product_name");
        let product = product.split(" (").next().unwrap_or_default().to_owned();
        part.host.product = one_line(Some(&format!("{maker} {product}")), from);
        firmware.system = Some((maker, product));
        part.marks.serial = json::text(system, "serial_number").map(str::to_owned);
    }
    interfaces(&mut part, inventory, from);
    if let Some(numa) = document.get("numa_topology") {
        part.host.nodes = nodes(numa, from);
        for nic in json::members(numa, "nics") {
            let Some(name) = json::text(nic, "name") else { continue };
            let node = json::count(nic, "numa_node").and_then(|node| u32::try_from(node).ok());
            let known = part.host.nics.iter_mut().find(|known| known.name == name);
            if let Some((known, node)) = known.zip(node) {
                known.node = Fact::known(node, from);
            }
        }
    }
    firmware.slots = banks(document.get("extra").unwrap_or(&empty));
    firmware.place();
    let told = FirmwareTables::of(Fact::known(firmware, from));
    (part.host.identity, part.host.memory.slots) = (told.identity, told.slots);
    Ok(part)
}

/// A text with single blanks between its words.
fn one_line(text: Option<&str>, from: &str) -> Fact<String> {
    let words = text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    Fact::told(words, from)
}

fn interfaces(part: &mut PartialHost, inventory: &Value, from: &str) {
    for one in json::members(inventory, "interfaces") {
        let Some(name) = json::text(one, "name").filter(|name| *name != "lo") else { continue };
        let address = json::text(one, "pci_address").filter(|text| pci::is_address(text));
        let carrier = one.get("has_carrier").and_then(Value::as_bool);
        let mbps = json::count(one, "speed_mbps").filter(|mbps| (1..=10_000_000).contains(mbps));
        if let Some(mac) = json::text(one, "mac_address") {
            part.marks.macs.insert(name.to_owned(), mac.to_owned());
        }
        part.host.nics.push(Nic {
            name: name.to_owned(),
            // The agent inspects devices, and neither bridges nor bonds.
            physical: true,
            driver: match json::text(one, "driver") {
                Some(driver) => Fact::known(driver.to_owned(), from),
                None => Fact::absent(from),
            },
            state: match carrier {
                Some(up) => Fact::known(if up { "up" } else { "down" }.to_owned(), from),
                None => Fact::absent(from),
            },
            speed_bps: match mbps {
                Some(mbps) => Fact::known(BitsPerSecond(mbps as f64 * 1e6), from),
                None => Fact::absent(from),
            },
            path: address.map(bare_path).unwrap_or_default(),
            ..Nic::default()
        });
    }
}

fn nodes(numa: &Value, from: &str) -> Vec<Node> {
    let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
    for ram in json::members(numa, "ram") {
        let Some(id) = number(ram, "numa_node") else { continue };
        let kib = json::count(ram, "size_kb").and_then(|kib| kib.checked_mul(1024)).map(Bytes);
        let node = nodes.entry(id).or_insert(Node { id, ..Node::default() });
        node.memory_bytes = kib.map_or(Fact::absent(from), |bytes| Fact::known(bytes, from));
    }
    for core in json::members(numa, "cpus") {
        let Some(id) = number(core, "numa_node") else { continue };
        let node = nodes.entry(id).or_insert(Node { id, ..Node::default() });
        let threads = json::members(core, "thread_siblings").iter().filter_map(Value::as_u64);
        node.cpus.extend(threads.filter_map(|cpu| u32::try_from(cpu).ok()));
    }
    nodes.values_mut().for_each(|node| {
        node.cpus.sort_unstable();
        node.cpus.dedup();
    });
    nodes.into_values().collect()
}

fn number(value: &Value, key: &str) -> Option<u32> {
    json::count(value, key).and_then(|number| u32::try_from(number).ok())
}

/// Banks as the collector `extra-hardware` lists them: `{"memory": {"bank:0": {"size": ..}}}`.
fn banks(extra: &Value) -> Vec<Slot> {
    let all = extra.get("memory").and_then(Value::as_object).into_iter().flatten();
    let banks = all.filter(|(name, _)| name.starts_with("bank"));
    let slots = banks.map(|(_, bank)| {
        let size = json::count(bank, "size").filter(|size| *size > 0);
        let words = json::text(bank, "description").unwrap_or_default();
        let kind = words.split_whitespace().find(|word| word.starts_with("DDR"));
        let clock =
            json::count(bank, "clock").and_then(|hertz| u32::try_from(hertz / 1_000_000).ok());
        let module = Module {
            size_bytes: size.map(Bytes),
            technology: kind.unwrap_or("unknown").to_owned(),
            is_dram: true,
            configured_mts: clock.filter(|mts| *mts > 0),
            ..Module::default()
        };
        Slot {
            locator: json::text(bank, "slot").unwrap_or_default().to_owned(),
            module: size.map(|_| module),
            ..Slot::default()
        }
    });
    slots.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"inventory":{"hostname":"node7","cpu":{"count":4,
      "model_name":"Intel Xeon Gold 6130"},
        "memory":{"total":405000000000,"physical_mb":393216},"system_vendor":{"manufacturer":"HPE",
        "product_name":"ProLiant DL360 Gen10 (867959-B21)","serial_number":"CZ1"},
        "interfaces":[{"name":"ens1","mac_address":"02:00:00:00:00:01","has_carrier":true,
        "speed_mbps":25000,"pci_address":"0000:3b:00.0","driver":"ice"}]},
        "numa_topology":{"ram":[{"numa_node":0,"size_kb":1024}],"cpus":[{"cpu":0,"numa_node":0,
        "thread_siblings":[2,0]}],"nics":[{"name":"ens1","numa_node":0}]},
        "extra":{"memory":{"total":{"size":1},"bank:0":{"size":34359738368,"slot":"PROC 1 DIMM 1",
        "description":"DIMM DDR4 Synchronous","clock":2666000000},
          "bank:1":{"slot":"PROC 1 DIMM 2"}}}}"#;

    #[test]
    fn inventory_nodes_and_banks_are_read() {
        assert!(is(TEXT));
        let part = read(TEXT, "data").expect("data");
        assert_eq!(part.host.nodes[0].cpus, [0, 2]);
        assert_eq!(part.host.nics[0].node.value(), Some(&0));
        // 25,000 Mb/s, and 1024 KiB.
        assert_eq!(part.host.nics[0].speed_bps.value(), Some(&BitsPerSecond(25e9)));
        assert_eq!(part.host.nodes[0].memory_bytes.value(), Some(&Bytes::mib(1)));
        assert_eq!(part.host.nics[0].path[0].address, "0000:3b:00.0");
        let slots = part.host.memory.slots.value().expect("banks");
        assert_eq!(
            (slots.len(), slots[0].module.is_some(), slots[1].module.is_some()),
            (2, true, false)
        );
        assert_eq!(part.marks.serial.as_deref(), Some("CZ1"));
        assert_eq!(part.host.product.value().map(String::as_str), Some("HPE ProLiant DL360 Gen10"));
        assert!(matches!(read(&TEXT[..200], "cut"), Err(BadText::Json { .. })));
    }

    /// What the API returns: an inventory beside the data of plugins, in any completeness.
    #[test]
    fn the_answer_of_the_api_is_read() {
        let text = r#"{"inventory":{"interfaces":[{"name":"eth0","has_carrier":true}],
            "cpu":{"model_name":"Xeon X","count":1}},"plugin_data":{"memory_mb":2048}}"#;
        let reader = crate::readers::of(text).expect("a reader");
        assert_eq!(reader.name, PROGRAM);
        let part = (reader.read)(text, "x").expect("a part");
        assert_eq!(part.host.cpu.model.value().map(String::as_str), Some("Xeon X"));
        assert_eq!(part.host.nics.len(), 1);
    }
}
