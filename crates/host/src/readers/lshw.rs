//! `lshw -json`: processors, memory banks, PCI functions below their bridges, interfaces.
//!
//! It tells no links of PCI Express and no NUMA nodes.

use super::{BadText, Reader, json};
use crate::memory::{Firmware, Told};
use crate::parts::{Part, bare_path};
use crate::pci;
use narrows_model::host::{CpuSocket, Module, Nic, Slot};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use serde_json::Value;

const PROGRAM: &str = "lshw";

/// Objects inside objects, at most.
const DEPTH_MAX: usize = 64;

/// Modules, functions and interfaces without links and nodes.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    json::names(text, &["id", "class", "claimed"])
}

fn read(text: &str, from: &str) -> Result<Part, BadText> {
    let document = json::document(text, PROGRAM)?;
    let mut nodes: Vec<&Value> = Vec::new();
    match &document {
        Value::Array(all) => all.iter().for_each(|one| gather(one, &mut nodes, 0)),
        one => gather(one, &mut nodes, 0),
    }
    let systems =
        nodes.iter().filter(|node| class(node) == Some("system") && id(node) != "pnp00:00");
    let system = systems.clone().find(|node| json::text(node, "product").is_some());
    let mut part = Part::of(PROGRAM, from);
    let mut firmware = Firmware::default();
    if let Some(system) = system {
        let text = |key: &str| json::text(system, key).unwrap_or_default();
        // `PowerEdge R740 (SKU=NotProvided;ModelName=PowerEdge R740)`.
        let product = text("product").split(" (").next().unwrap_or_default();
        firmware.system = Some((text("vendor").to_owned(), product.to_owned()));
        part.host.product = Fact::known(format!("{} {product}", text("vendor")), from);
        part.marks.serial = json::text(system, "serial").map(str::to_owned);
        let uuid = system.get("configuration").and_then(|set| json::text(set, "uuid"));
        part.marks.uuid = uuid.map(str::to_owned);
    }
    for node in &nodes {
        match class(node) {
            Some("processor") => firmware.sockets.push(socket(node)),
            Some("memory") if id(node).starts_with("bank") => firmware.slots.push(slot(node)),
            Some("network") => part.host.nics.extend(nics(node, from)),
            Some("bus") if id(node) == "core" => {
                let text = |key: &str| json::text(node, key).unwrap_or_default().to_owned();
                firmware.board = Some((text("vendor"), text("product")));
            }
            _ => {}
        }
    }
    for nic in &part.host.nics {
        let mac = nodes.iter().find(|node| names(node).contains(&nic.name.as_str()));
        if let Some(mac) = mac.and_then(|node| json::text(node, "serial")).filter(|_| nic.physical)
        {
            part.marks.macs.insert(nic.name.clone(), mac.to_owned());
        }
    }
    if firmware.slots.is_empty() && firmware.sockets.is_empty() && part.host.nics.is_empty() {
        let why = "no processor, memory bank or interface: run it as root, without -class";
        return Err(BadText::Nothing { program: PROGRAM, why });
    }
    let model = firmware.processor().map(str::to_owned);
    part.host.cpu.model = model.map_or(Fact::absent(from), |model| Fact::known(model, from));
    // Not as root there are no banks, but one size for all.
    if firmware.slots.is_empty() {
        part.unused("lshw without root lists no memory banks");
    }
    firmware.place();
    let told = Told::of(Fact::known(firmware, from));
    part.host.identity = told.identity;
    part.host.cpu.sockets = told.sockets;
    part.host.memory.slots = told.slots;
    Ok(part)
}

fn gather<'a>(node: &'a Value, into: &mut Vec<&'a Value>, depth: usize) {
    into.push(node);
    for child in json::members(node, "children").iter().filter(|_| depth < DEPTH_MAX) {
        gather(child, into, depth + 1);
    }
}

fn class<'a>(node: &&'a Value) -> Option<&'a str> {
    json::text(node, "class")
}

fn id<'a>(node: &&'a Value) -> &'a str {
    json::text(node, "id").unwrap_or_default()
}

/// Names of an interface: one, or a list.
fn names(node: &Value) -> Vec<&str> {
    match node.get("logicalname") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn socket(node: &Value) -> CpuSocket {
    let configuration = node.get("configuration");
    let count = |key: &str| {
        let count = configuration.and_then(|set| json::count(set, key));
        count.and_then(|count| u32::try_from(count).ok())
    };
    let product = json::text(node, "product").or_else(|| json::text(node, "version"));
    let disabled = node.get("disabled").and_then(Value::as_bool).unwrap_or(false);
    CpuSocket {
        name: json::text(node, "slot").unwrap_or_default().to_owned(),
        populated: !disabled && product.is_some(),
        model: product.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        cores: count("enabledcores").or_else(|| count("cores")),
        threads: count("threads"),
    }
}

fn slot(node: &Value) -> Slot {
    let description = json::text(node, "description").unwrap_or_default();
    let words: Vec<&str> = description.split_whitespace().collect();
    let size = json::count(node, "size").filter(|size| *size > 0);
    let kind = words.iter().find(|word| word.starts_with("DDR") || word.starts_with("LPDDR"));
    let clock = json::count(node, "clock").and_then(|hertz| u32::try_from(hertz / 1_000_000).ok());
    let is_empty = size.is_none() && (words.contains(&"[empty]") || kind.is_none());
    let module = Module {
        size_bytes: size.map(Bytes),
        technology: kind.map_or("unknown", |kind| kind).to_owned(),
        is_dram: !words.iter().any(|word| word.contains("Non-Volatile") || *word == "Flash"),
        rated_mts: None,
        configured_mts: clock.filter(|mts| *mts > 0),
        ranks: None,
    };
    Slot {
        locator: json::text(node, "slot").unwrap_or_default().to_owned(),
        module: (!is_empty).then_some(module),
        ..Slot::default()
    }
}

fn nics(node: &Value, from: &str) -> Vec<Nic> {
    let configuration = node.get("configuration");
    let word = |key: &str| configuration.and_then(|set| json::text(set, key));
    let known = |text: Option<&str>| match text {
        Some(text) => Fact::known(text.to_owned(), from),
        None => Fact::absent(from),
    };
    let address = json::text(node, "businfo").and_then(|bus| bus.strip_prefix("pci@"));
    let path = address.filter(|text| pci::is_address(text)).map(bare_path).unwrap_or_default();
    let speed = json::count(node, "size").filter(|_| json::text(node, "units") == Some("bit/s"));
    let of = |name: &str| Nic {
        name: name.to_owned(),
        physical: !path.is_empty(),
        driver: known(word("driver")),
        firmware: known(word("firmware")),
        duplex: known(word("duplex")),
        state: known(match word("link") {
            Some("yes") => Some("up"),
            Some("no") => Some("down"),
            _ => None,
        }),
        speed_bps: match speed.filter(|speed| *speed > 0) {
            Some(speed) => Fact::known(BitsPerSecond(speed as f64), from),
            None => Fact::absent(from),
        },
        path: path.clone(),
        ..Nic::default()
    };
    names(node).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"id":"node7","class":"system","claimed":true,
      "product":"PowerEdge R740 (SKU=1)",
        "vendor":"Dell Inc.","serial":"ABC1234","children":[{"id":"core","class":"bus",
          "claimed":true,
        "product":"0WGD1","vendor":"Dell Inc.","children":[
        {"id":"cpu:0","class":"processor","claimed":true,"slot":"CPU1",
          "product":"Intel(R) Xeon(R) Gold 6130",
         "configuration":{"cores":"16","enabledcores":"16","threads":"32"}},
        {"id":"cpu:1","class":"processor","disabled":true,"claimed":true,"slot":"CPU2"},
        {"id":"memory","class":"memory","claimed":true,"children":[
         {"id":"bank:0","class":"memory","claimed":true,"slot":"A1","size":34359738368,
           "clock":2666000000,
          "description":"DIMM DDR4 Synchronous Registered (Buffered) 2666 MHz (0.4 ns)"},
         {"id":"bank:1","class":"memory","claimed":true,"slot":"A2","description":"[empty]"}]},
        {"id":"network:0","class":"network","claimed":true,"businfo":"pci@0000:3b:00.0",
         "logicalname":"ens1f0","serial":"02:00:00:00:00:01","units":"bit/s","size":25000000000,
         "configuration":{"driver":"mlx5_core","firmware":"14.20","link":"yes",
           "duplex":"full"}}]}]}"#;

    #[test]
    fn banks_processors_and_interfaces_are_read() {
        assert!(is(TEXT));
        for text in [TEXT.to_owned(), format!("[{TEXT}]")] {
            let part = read(&text, "lshw").expect("JSON");
            let slots = part.host.memory.slots.value().expect("banks");
            assert_eq!(slots[0].module.as_ref().and_then(|m| m.size_bytes), Some(Bytes::gib(32)));
            assert_eq!(slots[0].module.as_ref().and_then(|m| m.configured_mts), Some(2666));
            assert!(slots[1].module.is_none());
            let sockets = part.host.cpu.sockets.value().expect("processors");
            assert_eq!(
                (sockets[0].cores, sockets[0].populated, sockets[1].populated),
                (Some(16), true, false)
            );
            let nic = &part.host.nics[0];
            assert_eq!(
                (nic.name.as_str(), nic.speed_bps.value()),
                ("ens1f0", Some(&BitsPerSecond(25e9)))
            );
            assert_eq!(part.marks.serial.as_deref(), Some("ABC1234"));
            assert_eq!(part.marks.macs.len(), 1);
        }
        for cut in (1..TEXT.len()).step_by(97) {
            assert!(matches!(read(&TEXT[..cut], "cut"), Err(BadText::Json { .. })), "{cut}");
        }
    }
}
