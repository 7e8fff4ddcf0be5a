//! Descriptions that end too early, are in another language or are of two hosts: a refusal that
//! names what is wrong, and never a smaller host.

use narrows_host::{open, open_together};
use narrows_model::host::Host;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Places at which each description is cut.
const CUTS: usize = 50;

fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("narrows-cut-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("folder");
    dir
}

/// What a host is made of, as far as it is told: CPUs, processors, nodes, slots and modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts([Option<usize>; 5]);

impl Counts {
    fn of(host: &Host) -> Self {
        let sockets = host.cpu.sockets.value();
        let populated = sockets.map(|all| all.iter().filter(|one| one.populated).count());
        let slots = host.memory.slots.value();
        let modules = slots.map(|all| all.iter().filter(|slot| slot.module.is_some()).count());
        let nodes = Some(host.nodes.len()).filter(|nodes| *nodes > 0);
        Self([
            host.cpu.online.value().map(Vec::len),
            populated,
            nodes,
            slots.map(Vec::len),
            modules,
        ])
    }

    /// Whether nothing is told to be less than it is: unknown is no smaller host.
    fn is_no_less_than(&self, whole: &Self) -> bool {
        self.0.iter().zip(&whole.0).all(|(cut, whole)| cut.is_none() || cut >= whole)
    }
}

fn lscpu(cpus: usize) -> String {
    format!(
        "Architecture:        x86_64\nCPU(s):              {cpus}\nOn-line CPU(s) list: 0-{}\n\
         Thread(s) per core:  1\nCore(s) per socket:  {}\nSocket(s):           2\n\
         NUMA node(s):        2\nModel name:          Xeon X\nNUMA node0 CPU(s):   0-{}\n\
         NUMA node1 CPU(s):   {}-{}\nFlags:               fpu vme\n",
        cpus - 1,
        cpus / 2,
        cpus / 2 - 1,
        cpus / 2,
        cpus - 1
    )
}

fn lscpu_json() -> String {
    let text = lscpu(24);
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let fields: Vec<String> = lines
        .map(|(key, value)| format!(r#"{{"field":"{key}:","data":"{}"}}"#, value.trim()))
        .collect();
    format!("{{\n   \"lscpu\": [\n      {}\n   ]\n}}\n", fields.join(",\n      "))
}

fn numactl() -> String {
    let cpus = |from: usize| (from..from + 12).map(|n| format!(" {n}")).collect::<String>();
    format!(
        "available: 2 nodes (0-1)\nnode 0 cpus:{}\nnode 0 size: 65500 MB\nnode 0 free: 60000 MB\n\
         node 1 cpus:{}\nnode 1 size: 65536 MB\nnode 1 free: 60100 MB\nnode distances:\n\
         node   0   1 \n  0:  10  21 \n  1:  21  10 \n",
        cpus(0),
        cpus(12)
    )
}

fn dmidecode(slots: usize) -> String {
    let mut text = format!(
        "# dmidecode 3.2\nGetting SMBIOS data from sysfs.\nSMBIOS 3.2 present.\n\
         {} structures occupying 6543 bytes.\nTable at 0x000E0000.\n\n\
         Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: Dell Inc.\n\
         \tProduct Name: PowerEdge R740\n\n",
        slots + 5
    );
    for cpu in 1..=2 {
        let _ = write!(
            text,
            "Handle 0x040{cpu}, DMI type 4, 48 bytes\nProcessor Information\n\
             \tSocket Designation: CPU{cpu}\n\tVersion: Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz\n\
             \tStatus: Populated, Enabled\n\tCore Count: 18\n\n"
        );
    }
    let _ = write!(
        text,
        "Handle 0x1000, DMI type 16, 23 bytes\nPhysical Memory Array\n\tUse: System Memory\n\
         \tNumber Of Devices: {slots}\n\n"
    );
    for slot in 0..slots {
        let (letter, number) = (["A", "B"][slot / (slots / 2)], slot % (slots / 2) + 1);
        let _ = write!(
            text,
            "Handle 0x11{slot:02X}, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x1000\n\
             \tSize: 16384 MB\n\tLocator: {letter}{number}\n\tBank Locator: Not Specified\n\
             \tType: DDR4\n\tSpeed: 2666 MT/s\n\n"
        );
    }
    text + "Handle 0x7F00, DMI type 127, 4 bytes\nEnd Of Table\n\n"
}

fn lshw() -> String {
    let bank = |n: usize| {
        format!(
            r#"{{"id":"bank:{n}","class":"memory","claimed":true,"slot":"A{n}","size":17179869184,
            "description":"DIMM DDR4 Synchronous 2666 MHz (0.4 ns)","clock":2666000000}}"#
        )
    };
    let banks: Vec<String> = (1..=8).map(bank).collect();
    format!(
        r#"{{"id":"node7","class":"system","claimed":true,"children":[{{"id":"core","class":"bus",
        "claimed":true,"children":[{{"id":"cpu:0","class":"processor","claimed":true,"product":"X",
        "slot":"CPU1"}},{{"id":"memory","class":"memory","claimed":true,"children":[{}]}}]}}]}}"#,
        banks.join(",\n")
    )
}

fn cpuinfo() -> String {
    let cpu = |n: usize| {
        format!(
            "processor\t: {n}\nmodel name\t: X\nphysical id\t: {}\nsiblings\t: 8\n\
             core id\t\t: {}\ncpu cores\t: 8\n\n",
            n / 8,
            n % 8
        )
    };
    let all: String = (0..16).map(cpu).collect();
    let rule = "_".repeat(44);
    format!(
        "Start of NVIDIA bug report log file. nvidia-bug-report.sh\n{rule}\n\n*** /proc/cpuinfo\n\
         {all}{rule}\n\nEnd of NVIDIA bug report log file.\n"
    )
}

fn hwloc() -> String {
    let core = |n: usize| {
        format!(
            "<object type=\"Core\" os_index=\"{n}\" cpuset=\"0x{0:08x}\">\n<object type=\"PU\" \
             os_index=\"{n}\" cpuset=\"0x{0:08x}\"/>\n</object>\n",
            1u32 << n
        )
    };
    let package = |n: usize| {
        let cores: String = (n * 4..n * 4 + 4).map(core).collect();
        let set = 0xfu32 << (n * 4);
        format!(
            "<object type=\"Package\" os_index=\"{n}\" cpuset=\"0x{set:08x}\">\n<object \
             type=\"NUMANode\" os_index=\"{n}\" cpuset=\"0x{set:08x}\" local_memory=\"1073741824\"/>\n\
             {cores}</object>\n"
        )
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"0x000000ff\">\n\
         {}{}</object>\n</topology>\n",
        package(0),
        package(1)
    )
}

fn shapes() -> Vec<(&'static str, String)> {
    vec![
        ("dmidecode", dmidecode(24)),
        ("hwloc", hwloc()),
        ("lscpu", lscpu(24)),
        ("lscpu-json", lscpu_json()),
        ("lshw", lshw()),
        ("numactl", numactl()),
        ("nvidia-bug-report", cpuinfo()),
    ]
}

fn write(dir: &Path, name: &str, text: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn one_file_is_one_host_and_a_folder_that_is_none_a_fleet() {
    let dir = std::env::temp_dir().join(format!("narrows-fleet-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let file = dir.join("lscpu.txt");
    std::fs::write(&file, "no output of anything").expect("a file");
    assert!(!narrows_host::is_fleet(std::slice::from_ref(&file)));
    assert!(!narrows_host::is_fleet(&[file.clone(), file]), "of no kind that a host has once");
    assert!(narrows_host::is_fleet(std::slice::from_ref(&dir)));
    std::fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn what_ends_too_early_is_refused_or_unknown_and_never_a_smaller_host() {
    let dir = folder("short");
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut smaller: Vec<String> = Vec::new();
    for (name, text) in shapes() {
        let whole = open(&write(&dir, name, text.as_bytes()));
        let whole = Counts::of(&whole.unwrap_or_else(|error| panic!("{name}: {error}")));
        assert!(whole.0.iter().flatten().any(|count| *count > 1), "{name}: {whole:?}");
        let mut refused = 0;
        for _ in 0..CUTS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = 1 + (seed >> 33) as usize % (text.trim_end().len() - 1);
            match open(&write(&dir, &format!("{name}-cut"), &text.as_bytes()[..at])) {
                Ok(host) if Counts::of(&host).is_no_less_than(&whole) => {}
                Ok(host) => smaller.push(format!("{name} at {at}: {:?}", Counts::of(&host))),
                Err(why) => {
                    assert!(!why.to_string().is_empty(), "{name} at {at}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0, "{name}: no cut was refused");
    }
    let _ = std::fs::remove_dir_all(&dir);
    assert!(smaller.is_empty(), "{}", smaller.join("\n"));
}

#[test]
fn another_language_is_refused_by_what_to_do() {
    let dir = folder("language");
    let german = "Architektur:             x86_64\nCPU Operationsmodus:     32-bit, 64-bit\n\
                  CPU(s):                  2\nListe der Online-CPU(s): 0,1\n\
                  Thread(s) pro Kern:      1\nKern(e) pro Socket:      1\nSockel:        2\n";
    let french = "Architecture :                          x86_64\nProcesseur(s) :      8\n\
                  Liste de processeur(s) en ligne :       0-7\nThread(s) par cœur :  2\n";
    for (name, text) in [("german", german), ("french", french)] {
        let error = open(&write(&dir, name, text.as_bytes())).expect_err(name).to_string();
        assert!(error.contains("translated") && error.contains("LC_ALL=C"), "{name}: {error}");
    }
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn two_hosts_are_no_host() {
    let dir = folder("mixed");
    let (first, second) = (dmidecode(24), dmidecode(16).replace("R740", "R640"));
    let mixed = format!("{first}{second}");
    let error = open(&write(&dir, "both", mixed.as_bytes())).expect_err("both").to_string();
    assert!(error.contains("hosts"), "{error}");
    let apart = [
        write(&dir, "lscpu", lscpu(24).as_bytes()),
        write(&dir, "numactl", numactl().replace("23\n", "23 24 25\n").as_bytes()),
    ];
    // Which of two programs is right is not known: what they say differently is told.
    let host = open_together(&apart).expect("one host");
    assert!(!host.disagreements.is_empty(), "24 CPUs and 26");
    let same = [write(&dir, "a", lscpu(24).as_bytes()), write(&dir, "b", numactl().as_bytes())];
    assert!(open_together(&same).expect("one host").disagreements.is_empty());
    let other = [write(&dir, "c", lscpu(24).as_bytes()), write(&dir, "d", lscpu(16).as_bytes())];
    assert!(open_together(&other).is_err(), "24 CPUs and 16");
    let _ = std::fs::remove_dir_all(&dir);
}
