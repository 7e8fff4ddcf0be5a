//! Facts of Ansible (`ansible -m setup`, a cache of facts): processors by count, memory, kernel,
//! interfaces with driver, MTU and link rate.

use super::{BadText, Reader, json};
use crate::parts::{PartialHost, bare_path};
use crate::pci;
use narrows_model::host::{CpuCounts, Identity, Nic};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use serde_json::Value;

const PROGRAM: &str = "ansible";

/// Facts of Ansible, from management software: trusted after what the host itself prints.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    let inside = body(text);
    json::names(inside, &["ansible_processor"]) || json::names(inside, &["ansible_memtotal_mb"])
}

/// The document behind `host7 | SUCCESS => `.
fn body(text: &str) -> &str {
    let first = text.lines().next().unwrap_or_default();
    match first.split_once("=> ").filter(|(head, _)| head.contains(" | ")) {
        Some((head, _)) => &text[head.len() + 3..],
        None => text,
    }
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let document = json::document(body(text), PROGRAM)?;
    let facts = document.get("ansible_facts").unwrap_or(&document);
    let mut part = PartialHost::of(PROGRAM, from);
    part.marks.name = json::text(facts, "ansible_nodename")
        .or(json::text(facts, "ansible_hostname"))
        .map(str::to_owned);
    part.marks.serial = json::text(facts, "ansible_product_serial").map(str::to_owned);
    part.marks.uuid = json::text(facts, "ansible_product_uuid").map(str::to_owned);
    let host = &mut part.host;
    host.name = json::told(json::text(facts, "ansible_hostname"), from);
    host.kernel = json::told(json::text(facts, "ansible_kernel"), from);
    host.cpu.model = Fact::told(model(facts), from);
    host.cpu.counts = Fact::told(counts(facts), from);
    let mib = json::count(facts, "ansible_memtotal_mb").and_then(|mib| mib.checked_mul(1 << 20));
    host.memory.total_bytes = mib.map_or(Fact::absent(from), |mib| Fact::known(Bytes(mib), from));
    let identity = Identity {
        maker: word(facts, "ansible_system_vendor"),
        product: word(facts, "ansible_product_name"),
        board_maker: word(facts, "ansible_board_vendor"),
        board: word(facts, "ansible_board_name"),
    };
    if identity != Identity::default() {
        let product = format!("{} {}", identity.maker, identity.product);
        host.product = Fact::known(product.trim().to_owned(), from);
        host.identity = Fact::known(identity, from);
    }
    if json::text(facts, "ansible_virtualization_role") == Some("guest") {
        let kind = json::text(facts, "ansible_virtualization_type").unwrap_or("unknown kind");
        host.virtualised = Fact::known(format!("virtual machine ({kind})"), from);
    }
    for name in json::members(facts, "ansible_interfaces").iter().filter_map(Value::as_str) {
        // Names with dashes and colons have keys with underscores.
        let key = format!("ansible_{}", name.replace(['-', ':'], "_"));
        let Some(about) = facts.get(&key).filter(|_| name != "lo") else { continue };
        let nic = nic(name, about, from);
        if let Some(mac) = json::text(about, "macaddress").filter(|_| nic.physical) {
            part.marks.macs.insert(name.to_owned(), mac.to_owned());
        }
        part.host.nics.push(nic);
    }
    if part.host.cpu.counts.value().is_none() && part.host.memory.total_bytes.value().is_none() {
        let why = "neither processors nor memory: gather_subset left the hardware out";
        return Err(BadText::Nothing { program: PROGRAM, why });
    }
    Ok(part)
}

/// `["0", "GenuineIntel", "Intel(R) Xeon(R) ..", "1", ..]`: number, maker and name of each CPU.
fn model(facts: &Value) -> Option<String> {
    let words = json::members(facts, "ansible_processor").iter().filter_map(Value::as_str);
    let longest =
        words.filter(|word| word.parse::<u32>().is_err()).max_by_key(|word| word.len())?;
    Some(longest.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A word of the firmware's; empty where it is not told.
fn word(facts: &Value, key: &str) -> String {
    json::text(facts, key).filter(|text| *text != "NA").unwrap_or_default().to_owned()
}

fn counts(facts: &Value) -> Option<CpuCounts> {
    let sockets = json::count(facts, "ansible_processor_count").filter(|count| *count > 0)?;
    let cores = json::count(facts, "ansible_processor_cores")?.checked_mul(sockets)?;
    Some(CpuCounts { sockets: u32::try_from(sockets).ok()?, cores: u32::try_from(cores).ok()? })
}

fn nic(name: &str, about: &Value, from: &str) -> Nic {
    let address = json::text(about, "pciid").filter(|text| pci::is_address(text));
    let mbps = about.get("speed").and_then(Value::as_f64).filter(|mbps| (1.0..=1e7).contains(mbps));
    let kind = json::text(about, "type").filter(|kind| !["ether", "infiniband"].contains(kind));
    let active = about.get("active").and_then(Value::as_bool);
    Nic {
        name: name.to_owned(),
        physical: address.is_some(),
        driver: json::told(json::text(about, "module"), from),
        kind: json::told(kind, from),
        state: json::told(active.map(|up| if up { "up" } else { "down" }), from),
        mtu_bytes: Fact::told(json::count(about, "mtu").map(Bytes), from),
        speed_bps: Fact::told(mbps.map(|mbps| BitsPerSecond(mbps * 1e6)), from),
        path: address.map(bare_path).unwrap_or_default(),
        ..Nic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"ansible_facts":{"ansible_hostname":"node7","ansible_nodename":"node7.x",
        "ansible_kernel":"5.14.0","ansible_memtotal_mb":385000,"ansible_processor_count":2,
        "ansible_processor_cores":16,"ansible_processor":["0","GenuineIntel",
          "Intel(R) Xeon(R) Gold 6130"],
        "ansible_system_vendor":"Dell Inc.","ansible_product_name":"PowerEdge R740",
        "ansible_interfaces":["lo","ens1-f0"],"ansible_ens1_f0":{"device":"ens1-f0","active":true,
        "macaddress":"02:00:00:00:00:01","module":"mlx5_core","mtu":9000,"pciid":"0000:3b:00.0",
        "speed":25000,"type":"ether"}},"changed":false}"#;

    #[test]
    fn facts_are_read_from_a_cache_and_from_the_command() {
        for text in [TEXT.to_owned(), format!("node7 | SUCCESS => {TEXT}")] {
            assert!(is(&text));
            let part = read(&text, "facts").expect("facts");
            assert_eq!(part.host.cpu.counts.value(), Some(&CpuCounts { sockets: 2, cores: 32 }));
            assert_eq!(part.host.memory.total_bytes.value(), Some(&Bytes::mib(385_000)));
            let nic = &part.host.nics[0];
            assert_eq!((nic.name.as_str(), nic.physical), ("ens1-f0", true));
            assert_eq!(nic.speed_bps.value(), Some(&BitsPerSecond(25e9)));
            assert_eq!(
                part.host.product.value().map(String::as_str),
                Some("Dell Inc. PowerEdge R740")
            );
            assert_eq!(part.marks.name.as_deref(), Some("node7.x"));
        }
        assert!(matches!(read(&TEXT[..TEXT.len() - 9], "cut"), Err(BadText::Json { .. })));
        let bare = r#"{"ansible_facts":{"ansible_processor":[]}}"#;
        assert!(matches!(read(bare, "bare"), Err(BadText::Nothing { .. })));
    }
}
