//! Every reader on texts that nobody wrote: whatever becomes of one, reading it never panics. What
//! is driven is what the targets of `fuzz/` drive; this runs in every test, for fewer texts.

use narrows_host::bundle::{self, Unpacked};
use narrows_host::memory::{dmidecode, parse_smbios};
use narrows_host::parts::join;
use narrows_host::readers::{READERS, redfish};
use std::collections::BTreeSet;

/// Mutated texts of each seed.
const TEXTS: usize = 700;

/// A whole output for each reader, small.
const SEEDS: [(&str, &str); 12] = [
    (
        "ansible",
        r#"{"ansible_facts":{"ansible_architecture":"x86_64","ansible_processor_count":2,
        "ansible_processor_cores":8,"ansible_processor_threads_per_core":2,"ansible_memtotal_mb":64000,
        "ansible_kernel":"5.14","ansible_interfaces":["eth0","lo"],"ansible_hostname":"a",
        "ansible_eth0":{"device":"eth0","mtu":9000,"speed":10000,"active":true,"type":"ether",
        "macaddress":"02:00:00:00:00:01","module":"ixgbe","pciid":"0000:3b:00.0"}}}"#,
    ),
    (
        "ethtool",
        "Settings for eth0:\n\tSupported ports: [ FIBRE ]\n\tSpeed: 25000Mb/s\n\tDuplex: Full\n\
         \tAuto-negotiation: on\n\tLink detected: yes\n",
    ),
    (
        "ethtool",
        "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\n\
         Current hardware settings:\nRX:\t\t512\nTX:\t\t512\n",
    ),
    (
        "inspector",
        r#"{"inventory":{"cpu":{"count":32,"model_name":"X","architecture":"x86_64"},
        "memory":{"physical_mb":65536,"total":68719476736},"interfaces":[{"name":"eth0",
        "mac_address":"02:00:00:00:00:01","has_carrier":true}],"system_vendor":{"product_name":"R740",
        "manufacturer":"Dell Inc."}},"numa_topology":{"cpus":[{"cpu":0,"numa_node":0,
        "thread_siblings":[0,16]}],"ram":[{"numa_node":0,"size_kb":33554432}],"nics":[]}}"#,
    ),
    (
        "ip",
        "2: eth0@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT \
         group default qlen 1000\n    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n",
    ),
    (
        "ip",
        r#"[{"ifindex":2,"ifname":"eth0","flags":["UP"],"mtu":9000,"qdisc":"mq","operstate":"UP",
        "link_type":"ether","address":"02:00:00:00:00:01","linkinfo":{"info_kind":"vlan"}}]"#,
    ),
    (
        "lscpu",
        "Architecture:        x86_64\nCPU(s):              4\nOn-line CPU(s) list: 0-3\n\
         Thread(s) per core:  1\nCore(s) per socket:  2\nSocket(s):           2\n\
         NUMA node(s):        2\nModel name:          Xeon X\nNUMA node0 CPU(s):   0-1\n\
         NUMA node1 CPU(s):   2,3\nFlags:               fpu vme\n",
    ),
    (
        "lshw",
        r#"{"id":"node7","class":"system","claimed":true,"product":"R740","children":[{"id":"core",
        "class":"bus","claimed":true,"children":[{"id":"cpu:0","class":"processor","claimed":true,
        "product":"X","slot":"CPU1"},{"id":"memory","class":"memory","claimed":true,"children":[
        {"id":"bank:0","class":"memory","claimed":true,"slot":"A1","size":17179869184,
        "description":"DIMM DDR4 Synchronous 2666 MHz (0.4 ns)","clock":2666000000}]}]}]}"#,
    ),
    (
        "lspci",
        "00:00.0 Host bridge: Intel Corporation Sky Lake-E DMI3 Registers (rev 04)\n\n\
         3a:00.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 04)\n\
         \tBus: primary=3a, secondary=3b, subordinate=3b, sec-latency=0\n\
         \tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00\n\
         \t\tLnkCap:\tPort #1, Speed 8GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n\
         \tCapabilities: [148 v1] Access Control Services\n\
         \t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n\n\
         3b:00.0 Ethernet controller: Mellanox Technologies MT27800 Family [ConnectX-5]\n\
         \tNUMA node: 0\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16\n\
         \t\tLnkSta:\tSpeed 8GT/s (ok), Width x8 (downgraded)\n\
         00: b3 15 17 10 06 04 10 00 00 00 00 02 08 00 00 00\n",
    ),
    (
        "numactl",
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 65500 MB\nnode 0 free: 1 MB\n\
         node 1 cpus: 2 3\nnode 1 size: 65536 MB\nnode 1 free: 2 MB\nnode distances:\n\
         node   0   1 \n  0:  10  21 \n  1:  21  10 \n",
    ),
    (
        "redfish",
        r##"{"@odata.id":"/redfish/v1/Systems/1/Memory/DIMM1","@odata.type":"#Memory.v1_7_1.Memory",
        "Id":"DIMM1","CapacityMiB":32768,"MemoryDeviceType":"DDR4","OperatingSpeedMhz":2933,
        "DeviceLocator":"A1","MemoryLocation":{"Socket":1,"MemoryController":1,"Channel":1,"Slot":1},
        "Status":{"State":"Enabled"}}"##,
    ),
    (
        "dmidecode",
        "# dmidecode 3.2\nGetting SMBIOS data from sysfs.\nSMBIOS 3.2 present.\n\
         Handle 0x1100, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x1000\n\
         \tSize: 16384 MB\n\tLocator: A1\n\tBank Locator: Not Specified\n\tType: DDR4\n\
         \tSpeed: 2666 MT/s\n\n",
    ),
];

/// What a number becomes, and words that mean something to one reader or another.
const WORDS: [&str; 12] = [
    "0",
    "18446744073709551615",
    "-1",
    "4294967296",
    "1e999",
    "",
    "\u{fffd}",
    "\r\n",
    "]}",
    "0-99999999",
    "N/A",
    "Speed unknown, Width x0",
];

/// A small generator, so that a failure can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % most.max(1)
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len());
        let end = (at + self.below(60)).min(bytes.len());
        match self.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes[at] = self.below(256) as u8,
            4 => {
                let from = self.below(other.len());
                let to = (from + self.below(60)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(at..at + digits, WORDS[self.below(WORDS.len())].bytes());
            }
        }
    }
}

/// All entry points of what people attach, as the targets of `fuzz/` call them; the readers that
/// took the text.
fn drive(bytes: &[u8]) -> BTreeSet<&'static str> {
    if let Some(Ok(Unpacked::Tree(tree))) = bundle::unpack(bytes) {
        let none = |_: &str, _: &str| None::<Result<_, std::fmt::Error>>;
        let _ = join(bundle::parts(tree, "mutated", none));
    }
    let _ = parse_smbios(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = bundle::is_divided(&text);
    let mut took = BTreeSet::new();
    if dmidecode::parse(&text).is_ok() {
        took.insert("dmidecode");
    }
    for reader in READERS {
        let _ = (reader.is)(&text);
        let Ok(part) = (reader.read)(&text, "mutated") else { continue };
        took.insert(reader.name);
        let _ = redfish::assemble(&part.resources, "mutated");
        let _ = join(vec![part]);
    }
    took
}

#[test]
fn every_reader_has_a_seed_that_it_reads() {
    let seeded: BTreeSet<&str> = SEEDS.iter().map(|(reader, _)| *reader).collect();
    let known: BTreeSet<&str> =
        READERS.iter().map(|reader| reader.name).chain(["dmidecode"]).collect();
    assert_eq!(seeded, known);
    for (reader, seed) in SEEDS {
        assert!(drive(seed.as_bytes()).contains(reader), "{reader} does not read {seed}");
    }
}

#[test]
fn no_reader_panics_on_a_mutated_text() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for (reader, seed) in SEEDS {
        let (mut read, mut refused) = (0, 0);
        for _ in 0..TEXTS {
            let mut bytes = seed.as_bytes().to_vec();
            let other = SEEDS[chance.below(SEEDS.len())].1.as_bytes();
            for _ in 0..=chance.below(4) {
                if !bytes.is_empty() {
                    chance.mutate(&mut bytes, other);
                }
            }
            *(if drive(&bytes).contains(reader) { &mut read } else { &mut refused }) += 1;
        }
        assert!(read > 20 && refused > 20, "{reader}: {read} read, {refused} refused");
    }
}

/// Long reports of many outputs: a supportconfig's file, a log of nvidia-bug-report.
const REPORTS: [(&str, &str); 2] = [
    (
        "scc_a/hardware.txt",
        "#==[ Command ]======================================#\n# /usr/bin/lscpu\nCPU(s):   4\n\
         On-line CPU(s) list: 0-3\nSocket(s): 2\nArchitecture: x86_64\n\n\
         #==[ Command ]======================================#\n# /sbin/lspci -vvv\n\
         00:00.0 Host bridge: Intel Corporation Sky Lake-E DMI3 Registers\n\n",
    ),
    (
        "nvidia-bug-report.log",
        "Start of NVIDIA bug report log file. nvidia-bug-report.sh\n\
         ____________________________________________\n\n*** /proc/cpuinfo\nprocessor\t: 0\n\
         model name\t: X\nphysical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\ncpu cores\t: 1\n\n\
         ____________________________________________\n\nEnd of NVIDIA bug report log file.\n",
    ),
];

/// An archive of one file.
fn archive(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, name, bytes).expect("a file");
    archive.into_inner().expect("an archive")
}

#[test]
fn no_archive_of_mutated_reports_panics() {
    let mut chance = Chance(11);
    for (name, text) in REPORTS {
        for _ in 0..TEXTS / 3 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..chance.below(4) {
                if !bytes.is_empty() {
                    chance.mutate(&mut bytes, SEEDS[6].1.as_bytes());
                }
            }
            drive(&archive(name, &bytes));
            // And one whose headers are broken.
            let mut whole = archive(name, text.as_bytes());
            chance.mutate(&mut whole, &bytes);
            drive(&whole);
        }
    }
}

/// A topology with distances, caches, a NIC and its slot.
const TOPOLOGY: &str = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">
    <topology version="3.0"><object type="Machine" os_index="0" cpuset="0xf" nodeset="0x3">
    <info name="CPUModel" value="A processor"/><info name="HostName" value="node7"/>
    <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
    <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
    <object type="L3Cache" cpuset="0x3" nodeset="0x1" cache_size="4194304" depth="3" cache_type="0">
    <object type="Core" os_index="0"><object type="PU" os_index="0"/></object>
    <object type="Core" os_index="1"><object type="PU" os_index="1"/></object></object>
    <object type="Bridge" bridge_type="0-1"><object type="Bridge" pci_busid="0000:00:01.0"
    pci_type="0604 [8086:3408] [0000:0000] 13" pci_link_speed="4.0">
    <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0200 [15b3:1013] [0000:0000] 0"
    pci_link_speed="4.0"><object type="OSDev" name="eth0" osdev_type="16"/>
    </object></object></object></object>
    <object type="Package" os_index="1" cpuset="0xc" nodeset="0x2">
    <object type="NUMANode" os_index="1" cpuset="0xc" nodeset="0x2" local_memory="2147483648"/>
    <object type="Core" os_index="2"><object type="PU" os_index="2"/></object>
    <object type="Core" os_index="3"><object type="PU" os_index="3"/></object></object></object>
    <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes><u64values length="12">10 21 21 10 </u64values></distances2>
    </topology>"#;

/// What is read of each seed, whole: NARROWS_GOLDEN=write keeps it anew.
#[test]
fn each_seed_is_read_as_it_was_found_right() {
    let dir = std::env::temp_dir().join(format!("narrows-seeds-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let mut text = String::new();
    for (name, seed) in SEEDS.into_iter().chain([("hwloc", TOPOLOGY)]) {
        let path = dir.join(name);
        std::fs::write(&path, seed).expect("a file");
        let read = match narrows_host::open(&path) {
            Ok(host) => serde_json::to_value(&host).expect("JSON").to_string(),
            Err(why) => why.to_string(),
        };
        // A line a field: those that nobody asked for are the same in all.
        let read = read.replace(&dir.display().to_string(), "seeds").replace(",\"", ",\n  \"");
        text += &format!("==== {name}\n{read}\n");
    }
    std::fs::remove_dir_all(&dir).expect("gone");
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read.txt");
    if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
        std::fs::write(&kept, &text).expect("written");
    }
    let before = std::fs::read_to_string(&kept).expect("what was kept");
    for (at, (now, before)) in text.lines().zip(before.lines()).enumerate() {
        assert_eq!(now, before, "line {}: NARROWS_GOLDEN=write keeps it anew", at + 1);
    }
    assert_eq!(text.lines().count(), before.lines().count());
}
