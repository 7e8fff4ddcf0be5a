//! What people attach: outputs of programs, against what the same machine tells otherwise.

use narrows_host::readers::{self, READERS};
use narrows_model::host::{Host, PciLink};
use std::path::{Path, PathBuf};

fn corpora() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    dir.is_dir().then_some(dir)
}

fn read(text: &str, from: &str) -> Host {
    let reader = readers::of(text).unwrap_or_else(|| panic!("{from} is of no format"));
    (reader.read)(text, from).unwrap_or_else(|error| panic!("{from}: {error}")).host
}

/// Whether a line is a row of registers.
fn is_row(line: &str) -> bool {
    let Some((at, rest)) = line.split_once(": ") else { return false };
    (2..=3).contains(&at.len()) && usize::from_str_radix(at, 16).is_ok() && rest.len() >= 47
}

/// A function's words and its registers say the same of its link and of its packet sizes.
#[test]
fn words_and_registers_of_one_function_agree() {
    let Some(dir) = corpora() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("pci-regs")).expect("pci-regs").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        for function in text.split("\n\n").filter(|function| function.contains("LnkSta:")) {
            // Only functions that move much are kept: each is listed as one.
            let (head, rest) = function.trim_start().split_once('\n').expect("lines");
            let address = head.split(' ').next().expect("address");
            let listed = |keep: fn(&&str) -> bool| {
                let lines: Vec<&str> = rest.lines().filter(keep).collect();
                let text = format!("{address} 0200: 15b3:1017\n{}\n", lines.join("\n"));
                read(&text, "one").devices.remove(0).path.remove(0)
            };
            let words = listed(|line| !is_row(line));
            let registers = listed(|line| is_row(line));
            let down = |link: &PciLink| link.width == 0;
            assert!(!words.link.value().is_some_and(down), "{function}");
            let known = |hop: &narrows_model::host::PciHop| hop.link.value().copied();
            assert_eq!(known(&words), known(&registers), "{function}");
            assert_eq!(words.express.value(), registers.express.value(), "{function}");
            compared += 1;
        }
    }
    assert!(compared >= 7, "{compared}");
}

/// The page of a sysinfo-snapshot tells what its outputs tell alone.
#[test]
fn the_page_of_a_snapshot_is_a_host() {
    let lscpu = "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: 0-1\nSocket(s): 1\n\
                 NUMA node(s): 1\nNUMA node0 CPU(s): 0-1\n";
    let ip = "2: ens9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n\
              \x20   link/ether 02:00:00:00:00:09 brd ff:ff:ff:ff:ff:ff\n";
    let html = |text: &str| {
        let text = text.replace('\t', "&nbsp;&nbsp;&nbsp;&nbsp;");
        text.replace('<', "&lt;").replace('>', "&gt;").replace('\n', "<br/>")
    };
    let page = format!(
        "<html><body><pre><h1>Mellanox Technologies</h1><h2>1. Server Commands: </h2>\
         <h2>ip link</h2><p>{}</p><h2>lscpu</h2><p>{}</p></pre></body></html>\n",
        html(ip),
        html(lscpu)
    );
    let file = std::env::temp_dir().join(format!("narrows-snapshot-{}.html", std::process::id()));
    std::fs::write(&file, page).expect("page");
    let host = narrows_host::open(&file).expect("a host");
    let _ = std::fs::remove_file(&file);
    assert_eq!(host.cpu.online.value().map(Vec::len), Some(2));
    assert_eq!(
        host.nics.first().and_then(|nic| nic.mtu_bytes.value().map(|mtu| mtu.0)),
        Some(9000)
    );
}

/// Every reader on every text, cut and garbled: an error at worst.
#[test]
fn nothing_that_is_cut_or_garbled_makes_a_reader_panic() {
    let texts = [
        "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: 0-1\nSocket(s): 1\nNUMA node(s): 1\n\
         NUMA node0 CPU(s): 0-1\n",
        "CPU NODE SOCKET CORE\n0 0 0 0\n1 0 0 1\n",
        r#"{"lscpu":[{"field":"Architecture:","data":"x86_64","children":[
            {"field":"CPU(s):","data":"1"},{"field":"On-line CPU(s) list:","data":"0"},
            {"field":"Socket(s):","data":"1"},{"field":"Model:","data":"1"}]}]}"#,
        r#"[{"ifindex":2,"ifname":"eth0","mtu":1500,"parentdev":"0000:01:00.0",
            "address":"02:00:00:00:00:01"}]"#,
        "2: eth0@eth1: <UP> mtu 1500 qdisc mq state UP\n    link/ether 02:00:00:00:00:01\n",
        "Settings for eth0:\n\tSpeed: 1000Mb/s\n\tDuplex: Full\n\
         Ring parameters for eth0:\nRX: 1\nTX: 1\n\
         RX: 1\nTX: 1\ndriver: e1000\nbus-info: 0000:01:00.0\n",
        "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n\
         node distances:\nnode 0\n 0: 10\n",
        "01:00.0 Ethernet controller: X [15b3:1017]\n\tBus: primary=00, secondary=01\n\
         \t\tLnkCap:\tSpeed 8GT/s, Width x8\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n\
         00: b3 15 17 10 06 04 10 00 00 00 00 02 08 00 80 00\n",
    ];
    let mut seed = 88_172_645_463_325_252u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for text in texts {
        let whole = readers::of(text).unwrap_or_else(|| panic!("of no format: {text}"));
        assert!((whole.read)(text, "whole").is_ok(), "{text}");
        for round in 0..400 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=round % 4 {
                let at = random() % bytes.len();
                bytes[at] = b"\n: 0x9-,[]{}\"\t(~"[random() % 16];
            }
            bytes.truncate(random() % (bytes.len() + 1));
            let garbled = String::from_utf8_lossy(&bytes).into_owned();
            for reader in READERS {
                let _ = (reader.is)(&garbled);
                let _ = (reader.read)(&garbled, "garbled");
            }
        }
    }
}
