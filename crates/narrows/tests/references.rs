//! What narrows reads of this machine beside what the tools that people use read: lstopo, ethtool,
//! ip.

mod common;

use common::{folder, narrows, out, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;

/// A tool's output; `None`, and said so, where it is not installed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).args(arguments).output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            let text = format!("skipped: {name} is not installed\n");
            // In one piece: the harness writes between.
            let _ = std::io::stderr().write_all(text.as_bytes());
            None
        }
    }
}

fn host(arguments: &[&str]) -> Value {
    let text = out(&run(narrows().args(["host", "--json"]).args(arguments)));
    serde_json::from_str::<Value>(&text).expect("JSON")["host"].take()
}

#[test]
fn processors_caches_and_devices_are_those_that_lstopo_exports() {
    let file = folder("lstopo").join("topology.xml");
    let path = file.display().to_string();
    if tool("lstopo-no-graphics", &["--of", "xml", "--force", &path]).is_none() {
        return;
    }
    let (theirs, ours) = (host(&["--from", &path]), host(&[]));
    let places = |host: &Value| {
        let places = host["cpu"]["places"].as_array().expect("places").iter();
        places.map(|p| (p["cpu"].as_u64(), p["package"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(places(&theirs), places(&ours));
    let cores = |host: &Value| {
        let places = host["cpu"]["places"].as_array().expect("places").iter();
        let core = |p: &Value| (p["package"].as_u64(), p["die"].as_u64(), p["core"].as_u64());
        places.map(core).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(cores(&theirs), cores(&ours));
    let caches = |host: &Value| {
        let caches = host["cpu"]["caches"].as_array().expect("caches").iter();
        let cache =
            |c: &Value| (c["level"].as_u64(), c["size_bytes"].as_u64(), c["cpus"].to_string());
        caches.map(cache).collect::<BTreeSet<_>>()
    };
    assert!(caches(&theirs).is_subset(&caches(&ours)), "{:?}", caches(&theirs));
    let devices = |host: &Value| {
        let devices = host["devices"].as_array().expect("devices").iter();
        let device = |d: &Value| (d["address"].to_string(), d["kind"].to_string());
        devices.map(device).collect::<BTreeSet<_>>()
    };
    assert_eq!(devices(&theirs), devices(&ours));
}

#[test]
fn rings_offloads_and_drivers_are_those_that_ethtool_prints() {
    if tool("ethtool", &["--version"]).is_none() {
        return;
    }
    let ours = host(&[]);
    let mut compared = 0;
    for nic in ours["nics"].as_array().expect("nics") {
        let name = nic["name"].as_str().expect("name");
        let line = |text: &str, key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.map(|value| value.trim().to_owned())
        };
        let driver = tool("ethtool", &["-i", name]).unwrap_or_default();
        if let Some(driver) = line(&driver, "driver") {
            assert_eq!(nic["driver"]["value"].as_str(), Some(driver.as_str()), "{name}");
        }
        let rings = tool("ethtool", &["-g", name]).unwrap_or_default();
        if let Some(now) = rings.split("Current hardware settings:").nth(1) {
            let value = |key: &str| line(now, key).and_then(|n| n.parse::<u64>().ok());
            assert_eq!(nic["rings"]["value"]["rx"].as_u64(), value("RX"), "{name}");
            assert_eq!(nic["rings"]["value"]["tx"].as_u64(), value("TX"), "{name}");
        }
        let features = tool("ethtool", &["-k", name]).unwrap_or_default();
        for (theirs, own) in [
            ("generic-receive-offload", "rx-gro"),
            ("large-receive-offload", "rx-lro"),
            ("rx-checksumming", "rx-checksum"),
            ("generic-segmentation-offload", "tx-generic-segmentation"),
            ("ntuple-filters", "rx-ntuple-filter"),
        ] {
            let Some(state) = line(&features, theirs) else { continue };
            let have = nic["offloads"]["value"][own].as_bool();
            assert_eq!(have, Some(state.starts_with("on")), "{name}: {theirs}");
            compared += 1;
        }
    }
    if compared == 0 {
        let _ = std::io::stderr().write_all(b"skipped: no interface here answers ethtool\n");
    }
}

/// Interfaces made for the purpose, in a network namespace with a sysfs of its own.
#[test]
fn bridges_and_veth_pairs_are_told_with_what_they_stand_on() {
    let root = out(&run(Command::new("id").arg("-u"))).trim() == "0";
    if !root || tool("ip", &["-V"]).is_none() {
        let _ =
            std::io::stderr().write_all(b"skipped: bridges_and_veth_pairs: needs root and ip\n");
        return;
    }
    let script = "mount -t sysfs none /sys && ip link add v0 type veth peer name v1 \
                  && ip link add br0 type bridge && ip link set v0 master br0 \
                  && ip link set v0 up && exec \"$0\" host --json";
    let program = env!("CARGO_BIN_EXE_narrows");
    let output = run(Command::new("unshare").args(["-nm", "sh", "-c", script, program]));
    if !output.status.success() {
        let text = format!("skipped: bridges_and_veth_pairs: {}\n", common::err(&output).trim());
        // In one piece: the harness writes between.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    }
    let document: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let nic = |name: &str| {
        let nics = document["host"]["nics"].as_array().expect("nics");
        nics.iter().find(|nic| nic["name"] == name).cloned().expect("the interface")
    };
    assert_eq!(nic("br0")["kind"]["value"], "bridge");
    assert_eq!(nic("br0")["lower"], serde_json::json!(["v0"]));
    assert_eq!(nic("v0")["kind"]["value"], "veth");
    assert_eq!(nic("v0")["master"]["value"], "br0");
    assert_eq!(nic("v0")["driver"]["value"], "veth");
    assert_eq!(nic("v0")["qdisc"]["value"], "noqueue");
    assert_eq!(nic("v1")["master"]["state"], "absent");
}
