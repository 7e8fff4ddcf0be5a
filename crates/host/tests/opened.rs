//! What a path is taken for: one host or several, and which file of a folder tells what.

use narrows_host::{is_fleet, of_redfish, open, open_together};
use narrows_model::host::Topic;
use std::path::{Path, PathBuf};

/// A folder that is gone with its test.
struct Folder(PathBuf);

impl Folder {
    fn of(name: &str, files: &[(&str, &str)]) -> Self {
        let name = format!("narrows-opened-{name}-{}", std::process::id());
        let of = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&of.0).expect("a folder");
        for (path, text) in files {
            let file = of.at(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        of
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const LSCPU: &str = "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: 0-1\nSocket(s): 1\n\
                     NUMA node(s): 1\nNUMA node0 CPU(s): 0-1\n";
const IP: &str = "2: eth0: <UP> mtu 9000 qdisc mq state UP\n    link/ether 02:00:00:00:00:01\n";
const DMIDECODE: &str = "# dmidecode 3.3\nGetting SMBIOS data from sysfs.\nSMBIOS 3.2.0 present.\n\
                         \nHandle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\
                         \tManufacturer: Maker\n\tProduct Name: Server 1\n\tSerial Number: S1\n\
                         \nHandle 0x1000, DMI type 16, 23 bytes\nPhysical Memory Array\n\
                         \tLocation: System Board Or Motherboard\n\tUse: System Memory\n\
                         \tError Correction Type: Multi-bit ECC\n\tMaximum Capacity: 512 GB\n\
                         \tNumber Of Devices: 1\n\
                         \nHandle 0x1300, DMI type 19, 31 bytes\nMemory Array Mapped Address\n\
                         \tStarting Address: 0x00040000000\n\tEnding Address: 0x0007FFFFFFF\n\
                         \tRange Size: 1 GB\n\tPhysical Array Handle: 0x1000\n\
                         \tPartition Width: 2\n\
                         \nHandle 0x1100, DMI type 17, 40 bytes\nMemory Device\n\
                         \tArray Handle: 0x1000\n\tSize: 16 GB\n\tLocator: A1\n\
                         \tType: DDR4\n";

#[test]
fn outputs_of_one_host_are_no_fleet_and_two_whole_descriptions_are() {
    let of = Folder::of(
        "fleet",
        &[("lscpu", LSCPU), ("ip", IP), ("a.txt", DMIDECODE), ("b.txt", DMIDECODE)],
    );
    let paths = |names: &[&str]| names.iter().map(|name| of.at(name)).collect::<Vec<_>>();
    assert!(!is_fleet(&paths(&["lscpu"])), "one file");
    assert!(!is_fleet(&paths(&["lscpu", "ip", "a.txt"])), "one of each kind");
    assert!(!is_fleet(&paths(&["lscpu", "lscpu"])), "of which a host may have several");
    assert!(is_fleet(&paths(&["a.txt", "b.txt"])), "of which a host has one");
    let empty = Folder::of("fleet-empty", &[]);
    assert!(is_fleet(&[empty.0.clone(), of.0.clone()]), "two folders");
    assert!(is_fleet(std::slice::from_ref(&empty.0)), "a folder that is no host");
    let pieces = Folder::of("fleet-pieces", &[("lscpu", LSCPU), ("ip", IP)]);
    assert!(!is_fleet(std::slice::from_ref(&pieces.0)), "outputs of one host");
    for (name, file) in [
        ("tree", "proc/cpuinfo"),
        ("sys", "sys/devices/system/cpu/online"),
        ("table", "DMI"),
        ("sos", "sos_commands/processor/lscpu"),
        ("supportconfig", "basic-environment.txt"),
        ("mockup", "redfish/v1/index.json"),
    ] {
        let host = Folder::of(&format!("fleet-{name}"), &[(file, "x")]);
        assert!(!is_fleet(std::slice::from_ref(&host.0)), "{name}");
    }
}

fn online(host: &narrows_model::host::Host) -> Option<usize> {
    host.cpu.online.value().map(Vec::len)
}

#[test]
fn a_folder_is_the_tree_in_it_or_the_outputs_in_it() {
    let tree = [("machine/proc/sys/kernel/hostname", "db7\n")];
    let inside = Folder::of("inside", &tree);
    let name = |path: &Path| open(path).expect("a host").name.value().cloned();
    assert_eq!(name(&inside.0).as_deref(), Some("db7"), "the only folder inside");
    assert_eq!(name(&inside.at("machine")).as_deref(), Some("db7"));
    let sys = Folder::of(
        "sys",
        &[("sys/devices/system/cpu/online", "0-2\n"), ("proc/sys/kernel/hostname", "db8\n")],
    );
    assert_eq!(name(&sys.at("sys")).as_deref(), Some("db8"), "the folder above");
    let outputs = Folder::of("outputs", &[("lscpu", LSCPU), ("ip", IP), ("notes", "x\n")]);
    let host = open(&outputs.0).expect("a host");
    assert_eq!((online(&host), host.nics.len()), (Some(2), 1));
    let sos = Folder::of("sos", &[("sos_commands/processor/lscpu", LSCPU), ("proc/x", "y")]);
    assert_eq!(online(&open(&sos.0).expect("a host")), Some(2));
    let nothing = Folder::of("nothing", &[("notes", "x\n")]);
    let why = open(&nothing.0).expect_err("no host").to_string();
    let says = "holds neither sys nor proc nor a table DMI nor an output that narrows reads";
    assert!(why.ends_with(says), "{why}");
}

#[test]
fn descriptions_of_one_host_are_read_together_and_each_fact_has_its_source() {
    let other = IP.replace("9000", "1500");
    let files = [("lscpu", LSCPU), ("ip", IP), ("later", &other), ("dmi.txt", DMIDECODE)];
    let of = Folder::of("together", &files);
    let host = open_together(&["lscpu", "ip", "later", "dmi.txt"].map(|name| of.at(name)))
        .expect("one host");
    assert_eq!((online(&host), host.nics.len()), (Some(2), 1));
    assert_eq!(host.product.value().map(String::as_str), Some("Maker Server 1"));
    let [differ] = &host.disagreements[..] else { panic!("{:?}", host.disagreements) };
    assert_eq!((differ.of.as_deref(), differ.topic), (Some("eth0"), Topic::Mtu));
    assert_eq!(host.nics[0].mtu_bytes.value().map(|mtu| mtu.0), Some(9000), "the first is kept");
    let [array] = &host.memory.arrays.value().expect("arrays")[..] else { panic!("one array") };
    assert_eq!((array.handle, array.slots), (0x1000, Some(1)));
    assert_eq!(array.capacity_max_bytes.map(|bytes| bytes.0), Some(512 << 30));
    assert_eq!(
        (array.used_for.as_str(), array.correction.as_str()),
        ("System Memory", "Multi-bit ECC")
    );
    let [range] = &host.memory.ranges.value().expect("ranges")[..] else { panic!("one range") };
    assert_eq!((range.array, range.width), (0x1000, 2));
    assert_eq!((range.first, range.last), (1 << 30, (2 << 30) - 1));
}

#[test]
fn no_resource_of_redfish_is_no_host() {
    let why = of_redfish(&[], "bmc7").expect_err("nothing").to_string();
    assert!(why.starts_with("bmc7: "), "{why}");
}
