//! `narrows host`: this machine, descriptions of others, and what is none.

mod common;

use common::{err, fails, folder, narrows, out, run};
use narrows_dimm::population::{controllers_equal, sockets};
use narrows_host::open;
use narrows_model::host::{Host, Slot};
use narrows_predict::dram::socket_peaks;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

#[test]
fn this_machine_is_described_in_every_view() {
    let json = out(&run(narrows().args(["host", "--json"])));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema_version"], 1);
    let online = json["host"]["cpu"]["online"]["value"].as_array().expect("online CPUs").len();
    let drawing = out(&run(narrows().arg("host")));
    assert!(drawing.contains(&format!("{online} CPU")), "{drawing}");
    for table in ["memory", "nic", "pci", "tuning"] {
        let text = out(&run(narrows().args(["host", "--table", table])));
        assert!(!text.trim().is_empty(), "{table}");
    }
    let tree = out(&run(narrows().args(["host", "--tree"]).env("LC_ALL", "C.UTF-8")));
    assert!(tree.contains("├─ ") && tree.contains("└─ "), "{tree}");
    let picture = out(&run(narrows().args(["host", "--svg"])));
    assert!(
        picture.starts_with("<svg ")
            && picture.contains(" xmlns=\"http")
            && picture.trim().ends_with("</svg>"),
        "{picture}"
    );
}

/// The schema in the docs is the one that the program prints, and what it prints follows it.
#[test]
fn the_published_schema_is_the_programs_and_holds() {
    let printed = out(&run(narrows().args(["host", "--schema"])));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/host.schema.json");
    let published = std::fs::read_to_string(file).expect("docs/host.schema.json");
    assert_eq!(printed, published, "write it anew: narrows host --schema > docs/host.schema.json");
    let schema: Value = serde_json::from_str(&printed).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut documents = vec![out(&run(narrows().args(["host", "--json"])))];
    if let Some(dir) = corpora() {
        for path in ["smbios-raw/supermicro-1027r-wrf", "hwloc-xml/flux-corona-epyc.xml"] {
            let from = dir.join(path);
            documents.push(out(&run(narrows().args(["host", "--json", "--from"]).arg(from))));
        }
    }
    for document in documents {
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let wrong = serde_json::json!({ "schema_version": 1, "host": { "nodes": 3 } });
    assert!(!validator.is_valid(&wrong), "the schema refuses nothing");
}

#[test]
fn a_capture_reads_as_the_machine_without_its_names() {
    let file = folder("capture").join("host.json");
    assert_eq!(run(narrows().args(["host", "--capture"]).arg(&file)).status.code(), Some(0));
    let text = std::fs::read_to_string(&file).expect("capture");
    let captured: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(captured["files"]["proc/sys/kernel/hostname"]["value"]["text"], "masked");
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&out(&run(narrows().args(arguments)))).expect("JSON")
    };
    let live = json(&["host", "--json"]);
    let read = json(&["host", "--json", "--from", &file.display().to_string()]);
    for part in ["cpu", "nics", "nodes", "tuning", "virtualised", "kernel"] {
        // What changes from one second to the next is not compared.
        let steady = |host: &Value| {
            let mut part = host["host"][part].clone();
            let nodes = part.as_array_mut().into_iter().flatten();
            nodes.for_each(|node| drop(node.as_object_mut().map(|n| n.remove("memory_bytes"))));
            drop(part.as_object_mut().map(|cpu| cpu.remove("steal_share")));
            part
        };
        assert_eq!(steady(&live), steady(&read), "{part}");
    }
    std::fs::write(&file, text.replace("\"narrows_capture\": 1", "\"narrows_capture\": 9"))
        .expect("file");
    fails(narrows().args(["host", "--from"]).arg(&file), 2, "capture version 9");
    std::fs::write(&file, &text[..text.len() / 2]).expect("file");
    fails(narrows().args(["host", "--from"]).arg(&file), 2, "EOF while parsing");
}

#[test]
fn what_is_no_description_is_refused() {
    let dir = folder("no-host");
    std::fs::write(dir.join("text"), "hello").expect("file");
    std::fs::write(dir.join("empty"), "").expect("file");
    for (path, says) in [
        (dir.clone(), "no-host/empty: is empty"),
        (dir.join("text"), "not an SMBIOS table, dmidecode text"),
        (dir.join("empty"), "is empty"),
        (dir.join("none"), "No such file"),
        (PathBuf::from("/dev/zero"), "is not a regular file"),
    ] {
        fails(narrows().args(["host", "--from"]).arg(path), 2, says);
    }
}

const LSCPU: &str = "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: 0,1\nSocket(s): 1\n\
    Core(s) per socket: 2\nThread(s) per core: 1\nNUMA node(s): 1\nModel name: AMD EPYC 7763\n\
    NUMA node0 CPU(s): 0,1\n";
const LSPCI: &str = "00:00.0 Host bridge: X\n\n3a:00.0 PCI bridge: Y\n\
    \tBus: primary=3a, secondary=3b, subordinate=3b\n\t\tLnkCap:\tPort #1, Speed 8GT/s, Width x16\n\
    \t\tLnkSta:\tSpeed 8GT/s, Width x8\n\n3b:00.0 Ethernet controller: Z\n\
    \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n";

/// Outputs of several programs are one host, also from standard input; of two hosts they are none.
#[test]
fn what_people_attach_is_read_together() {
    let dir = folder("attached");
    let file = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text).expect(name);
        dir.join(name)
    };
    let (cpus, pci) = (file("cpus", LSCPU), file("pci", LSPCI));
    let json = |command: &mut std::process::Command| -> Value {
        serde_json::from_str(&out(&run(command))).expect("JSON")
    };
    let both = json(narrows().args(["host", "--json", "--from"]).args([&cpus, &pci]));
    assert_eq!(both["host"]["cpu"]["places"].as_array().map(Vec::len), Some(2));
    assert_eq!(both["results"]["roads"][0]["limited_by"], "training");
    let stdin = std::fs::File::open(&pci).expect("file");
    let piped = json(narrows().args(["host", "--json", "--from", "-"]).stdin(stdin));
    assert_eq!(piped["host"]["devices"][0]["path"].as_array().map(Vec::len), Some(2));
    let other = file("other", &LSCPU.replace("AMD EPYC 7763", "AMD EPYC 7742"));
    let says = "these are of two hosts: the processor is 'AMD EPYC 7763'";
    fails(narrows().args(["host", "--from"]).args([&cpus, &other]), 2, says);
    let translated = file("de", &LSCPU.replacen("Architecture:", "Architektur:", 1));
    fails(narrows().args(["host", "--from"]).arg(translated), 2, "LC_ALL=C lscpu");
    let cut = file("cut", &LSCPU[..LSCPU.find("NUMA node0").expect("node")]);
    fails(narrows().args(["host", "--from"]).arg(cut), 2, "is cut short");
}

/// Many hosts: who differs from its siblings is named, and a file that is none costs a line.
#[test]
fn many_hosts_are_a_table_and_a_bad_file_is_a_line() {
    let dir = folder("fleet");
    let report = |serial: u32, sizes: [&str; 2]| {
        let slot = |at: usize, size: &str| {
            format!(
                "Handle 0x11{at:02}, DMI type 17, 84 bytes\nMemory Device\n\tSize: {size}\n\
                 \tLocator: A{}\n\tBank Locator: Not Specified\n\tType: DDR4\n\n",
                at + 1
            )
        };
        let slots: String = sizes.iter().enumerate().map(|(at, size)| slot(at, size)).collect();
        format!(
            "# dmidecode 3.2\nHandle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\
             \tManufacturer: Dell Inc.\n\tProduct Name: PowerEdge R740\n\
             \tSerial Number: S{serial}\n\n{slots}Handle 0x7F00, DMI type 127, 4 bytes\n\
             End Of Table\n"
        )
    };
    for host in 0..4 {
        let sizes = if host == 2 { ["16 GB", "8 GB"] } else { ["16 GB", "16 GB"] };
        std::fs::write(dir.join(format!("node{host}.txt")), report(host, sizes)).expect("file");
    }
    std::fs::write(dir.join("readme.txt"), "the nodes of row 7").expect("file");
    let files: Vec<PathBuf> = (0..4).map(|host| dir.join(format!("node{host}.txt"))).collect();
    let text = |command: &mut std::process::Command| {
        let output = run(command);
        String::from_utf8(output.stdout).expect("text")
    };
    let all = text(narrows().args(["host", "--from"]).arg(&dir));
    assert!(all.contains("4 hosts, 1 file not read"), "{all}");
    assert!(all.contains("1 of 8 GiB, 1 of 16 GiB") && all.contains("(3 of 4)"), "{all}");
    assert!(all.contains("readme.txt: ") && all.contains("text of another kind"), "{all}");
    let json: Value =
        serde_json::from_str(&text(narrows().args(["host", "--json", "--from"]).args(&files)))
            .expect("JSON");
    assert_eq!(json["hosts"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["classes"][0]["model"], "PowerEdge R740");
    let csv = text(narrows().args(["host", "--csv", "--from"]).arg(&dir));
    assert_eq!(csv.lines().count(), 6, "{csv}");
    // All of it fits the screen, whole words and all, but for a file's name that is longer.
    let narrow = dir.join("node0.txt").display().to_string().len();
    for columns in [80, 120, 200] {
        let asked =
            |command: &mut std::process::Command| text(command.env("COLUMNS", columns.to_string()));
        let fleet = asked(narrows().args(["host", "--from"]).arg(&dir));
        let diff = asked(narrows().args(["host", "--diff"]).args(&files[1..]));
        let slots = asked(narrows().args(["host", "--explain-slots", "--from"]).arg(&files[2]));
        assert!(slots.contains("placed by dell"), "{slots}");
        for line in [fleet, diff, slots].iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= columns.max(narrow + 12), "{columns}: {line}");
        }
    }
    // Three hosts side by side.
    let three = text(narrows().args(["host", "--diff"]).args(&files[1..]));
    assert!(three.lines().next().is_some_and(|head| head.contains("node3.txt")), "{three}");
    assert!(three.contains("slot A2"), "{three}");
}

/// A report that gathers many files of a host, as an archive and as a folder.
#[test]
fn an_archive_of_outputs_is_one_host() {
    let dir = folder("sos");
    let top = dir.join("sosreport-node7");
    for (file, text) in [
        ("sos_commands/pci/lspci_-nnvv", LSPCI),
        ("sos_commands/processor/lscpu", LSCPU),
        ("sos_commands/networking/ethtool_-i_ens9", "driver: ice\nbus-info: 0000:3b:00.0\n"),
        ("sos_commands/networking/namespaces/blue/ethtool_-i_ens8", "driver: x\nbus-info: none\n"),
        ("sos_commands/kernel/sysctl_-a", "net.core.rmem_max = 212992\n"),
        ("sos_commands/numa/numactl_--hardware", "available: 2 nodes (0-1)\n"),
        ("proc/meminfo", "MemTotal:       1024 kB\n"),
        ("proc/sys/kernel/osrelease", "5.14.0\n"),
    ] {
        let path = top.join(file);
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    }
    let packed = dir.join("sosreport.tar.xz");
    let mut tar = std::process::Command::new("tar");
    tar.args(["-cJf"]).arg(&packed).arg("-C").arg(&dir).arg("sosreport-node7");
    let mut shapes = vec![top];
    if tar.status().is_ok_and(|status| status.success()) {
        shapes.push(packed.clone());
    }
    for shape in shapes {
        let output = run(narrows().args(["host", "--json", "--from"]).arg(&shape));
        let says = err(&output);
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let nic = &json["host"]["nics"][0];
        assert_eq!((&nic["name"], &nic["driver"]["value"]), (&"ens9".into(), &"ice".into()));
        assert_eq!(nic["path"].as_array().map(Vec::len), Some(2), "{nic}");
        assert_eq!(json["host"]["tuning"]["net.core.rmem_max"]["value"], "212992");
        assert_eq!(json["host"]["memory"]["total_bytes"]["value"], 1_048_576);
        assert_eq!(json["host"]["cpu"]["places"].as_array().map(Vec::len), Some(2));
        assert!(says.contains("numactl") && says.contains("is cut short"), "{says}");
        assert_eq!(json["host"]["nics"].as_array().map(Vec::len), Some(1), "of no namespace");
    }
    if packed.is_file() {
        let bytes = std::fs::read(&packed).expect("archive");
        std::fs::write(&packed, &bytes[..bytes.len() / 2]).expect("archive");
        fails(narrows().args(["host", "--from"]).arg(&packed), 2, "cut short or damaged");
    }
}

fn corpora() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    if dir.is_dir() {
        return Some(dir);
    }
    let text = format!("skipped: {} is not there\n", dir.display());
    // In one piece: the harness writes between.
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}

fn truth(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("smbios-ground-truth.json")).expect("truth");
    serde_json::from_str(&text).expect("JSON")
}

fn slots(host: &Host) -> &[Slot] {
    host.memory.slots.value().expect("slots")
}

/// What the table says and what dmidecode printed of it must come out the same.
#[test]
fn a_table_and_its_dmidecode_text_tell_the_same() {
    let Some(dir) = corpora() else { return };
    for known in truth(&dir) {
        let path = |key: &str| dir.join(known[key].as_str().expect(key));
        let binary = open(&path("raw")).expect("table");
        let text = open(&path("file")).expect("text");
        assert_eq!(slots(&binary).len(), slots(&text).len(), "{}", known["file"]);
        assert_eq!(binary.product.value(), text.product.value(), "{}", known["file"]);
        for (a, b) in slots(&binary).iter().zip(slots(&text)) {
            let shown = format!("{}: {} {}", known["file"], a.locator, b.locator);
            assert_eq!(a.at, b.at, "{shown}");
            let facts = |slot: &Slot| {
                let module = slot.module.as_ref()?;
                Some((module.size_bytes, module.is_dram, module.configured_mts, module.ranks))
            };
            assert_eq!(facts(a), facts(b), "{shown}");
        }
    }
}

/// Peak bandwidth by socket, and the label of the Lenovo study, as they are known of each host.
#[test]
fn peaks_and_controllers_are_those_that_are_known() {
    let Some(dir) = corpora() else { return };
    let (mut peaks_compared, mut labels_compared) = (0, 0);
    for known in truth(&dir).iter().filter(|known| known["confidence"] != "socket only") {
        let name = known["raw"].as_str().expect("raw");
        let host = open(&dir.join(name)).expect(name);
        let peaks = socket_peaks(slots(&host));
        for socket in known["sockets"].as_array().expect("sockets") {
            let Some(want) = socket["peak_gb_s"].as_f64() else { continue };
            let number = socket["socket"].as_u64().expect("number") as u32;
            let Ok(peaks) = &peaks else { continue };
            let have = peaks.get(&number).map_or(0.0, |peak| peak.rate_bytes_per_second.gbytes());
            assert!((have - want).abs() < 0.1, "{name}: socket {number}: {have}, known {want}");
            peaks_compared += 1;
        }
        let Ok(population) = sockets(slots(&host)) else { continue };
        let processor = host.cpu.model.value().map_or("", String::as_str);
        assert_eq!(
            controllers_equal(&population, processor),
            known["controllers_equal"].as_bool(),
            "{name}: {processor}"
        );
        labels_compared += usize::from(known["controllers_equal"].is_boolean());
    }
    assert!(peaks_compared > 60, "{peaks_compared}");
    assert!(labels_compared > 15, "{labels_compared}");
}

#[test]
fn two_hosts_are_told_apart_by_what_matters_first() {
    let Some(dir) = corpora() else { return };
    let host = |name: &str| dir.join("smbios-derived").join(name);
    let (good, bad) =
        (host("dell-poweredge-r640-34DAF9822B89"), host("dell-poweredge-r640-759F6C3485FD"));
    let text = out(&run(narrows().args(["host", "--diff"]).args([&good, &bad])));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("memory balance"), "{text}");
    assert!(lines[1].contains(" balanced ") && lines[1].ends_with(" near-balanced"), "{text}");
    assert!(text.contains("slot A3"), "{text}");
    let same = out(&run(narrows().args(["host", "--diff"]).args([&good, &good])));
    assert!(same.starts_with("no difference in "), "{same}");
    fails(narrows().args(["host", "--diff", "/none"]).arg(&good), 2, "/none");
    fails(narrows().args(["host", "--diff"]).arg(&good), 2, "2 values required");
}

#[test]
fn a_report_that_was_sent_is_drawn() {
    let Some(dir) = corpora() else { return };
    let path = dir.join("smbios-text/dell-poweredge-r640-953E314D7CA9.txt");
    let output = run(narrows().args(["host", "--from"]).arg(path));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for part in [
        "PowerEdge R640",
        "near-balanced",
        "lenovo-2019: balanced",
        "peak 76.8 GB/s",
        "interleave set: 4-way 128 GiB",
        "advice: Memory channels are empty",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// A host of one socket.
fn small_host(dir: &Path) -> PathBuf {
    let text = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
        <object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1"><info name="HostName" value="n"/>
        <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
        <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="8589934592"/>
        <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>
        </object></object></topology>"#;
    let file = dir.join("host.xml");
    std::fs::write(&file, text).expect("file");
    file
}

#[test]
fn a_drawing_suits_its_screen() {
    let from = small_host(&folder("screen"));
    let drawn = |variables: &[(&str, &str)]| {
        let mut command = narrows();
        command.args(["host", "--from"]).arg(&from);
        for name in ["LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        out(&run(command.envs(variables.iter().copied())))
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    for (locale, is_ascii) in [("C", true), ("en_US.ISO-8859-1", true), ("C.UTF-8", false)] {
        let text = drawn(&[("LC_ALL", locale), ("COLUMNS", "100")]);
        assert_eq!(text.is_ascii(), is_ascii, "{locale}\n{text}");
        assert_eq!(widest(&text), Some(100), "{text}");
    }
    assert_eq!(widest(&drawn(&[("LANG", "C.UTF-8"), ("COLUMNS", "9999")])), Some(200));
    assert!(drawn(&[("CLICOLOR_FORCE", "1")]).contains("\x1b[1msocket 0"));
    assert!(!drawn(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\x1b'));
    let pipe = drawn(&[]);
    assert!(pipe.contains("+- socket 0: 2 CPUs ---") && !pipe.contains('\x1b'), "{pipe}");
}

/// A report of four slots that no bundled rule knows; `map` counts them through two channels.
const UNKNOWN_BOARD: &str = "\
Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: Somebody\n\
\tProduct Name: Board\n\nHandle 0x0004, DMI type 4, 42 bytes\nProcessor Information\n\
\tSocket Designation: CPU\n\tVersion: Intel(R) Xeon(R) CPU E3-1230 v5 @ 3.40GHz\n\
\tStatus: Populated, Enabled\n\n";

fn unknown_board(dir: &Path) -> PathBuf {
    let slot = |number: usize| {
        let size = if number < 3 { "8 GB" } else { "No Module Installed" };
        format!(
            "Handle 0x001{number}, DMI type 17, 40 bytes\nMemory Device\n\tSize: {size}\n\
             \tLocator: SOCKET{number}\n\tBank Locator: none\n\tType: DDR4\n\n"
        )
    };
    let file = dir.join("report.txt");
    let slots: String = (1..5).map(slot).collect();
    std::fs::write(&file, format!("{UNKNOWN_BOARD}{slots}")).expect("report");
    file
}

#[test]
fn a_users_slot_map_places_what_no_rule_knows_and_the_reasons_are_told() {
    let dir = folder("slot-map");
    let report = unknown_board(&dir);
    let explain = |map: Option<&Path>| {
        let mut command = narrows();
        command.args(["host", "--explain-slots", "--from"]).arg(&report);
        if let Some(map) = map {
            command.arg("--slot-map").arg(map);
        }
        out(&run(&mut command))
    };
    let text = explain(None);
    assert!(text.contains("not placed by any rule"), "{text}");
    assert!(text.contains("one-slot-a-channel: 'SOCKET1' is not named that way"), "{text}");
    let maps = dir.join("maps");
    std::fs::create_dir_all(&maps).expect("folder");
    let map = |locator: &str, channels: &str| {
        let text = format!(
            r#"{{"maker": "Somebody", "source": "printed on the board", "rules": [{{"name": "mine",
                "products": ["board"], "locators": ["{locator}"], "channels": {channels}}}]}}"#
        );
        let file = maps.join("mine.json");
        std::fs::write(&file, text).expect("map");
        file
    };
    let file = map("SOCKET{slot}", "\"through\"");
    for given in [file.as_path(), maps.as_path()] {
        let text = explain(Some(given));
        assert!(text.contains("placed by mine: given by the user"), "{text}");
        assert!(text.contains("SOCKET2  0       -           2        8 GiB   mine"), "{text}");
    }
    let verdict = |map: &Path| {
        run(narrows().args(["host", "--from"]).arg(&report).arg("--slot-map").arg(map))
    };
    assert!(out(&verdict(&file)).contains("balanced"), "{}", out(&verdict(&file)));
    // A map that contradicts the processor is not taken, and that is said.
    let wrong = verdict(&map("SOCKET{slot}", r#"{"modulo": 4}"#));
    assert!(err(&wrong).contains("no rule of --slot-map placed the slots"), "{}", err(&wrong));
    for (locator, channels, says) in [
        ("SOCKET{slot}", "\"sideways\"", "sideways"),
        ("SOCKET{pin}", "\"through\"", "field 'pin'"),
        ("SOCKET{slot", "\"through\"", "brace"),
    ] {
        let bad = verdict(&map(locator, channels));
        assert_eq!(bad.status.code(), Some(2), "{}", err(&bad));
        assert!(err(&bad).contains(says) && err(&bad).contains("mine.json"), "{}", err(&bad));
    }
    std::fs::remove_file(maps.join("mine.json")).expect("gone");
    assert_eq!(verdict(&maps).status.code(), Some(2));
}
