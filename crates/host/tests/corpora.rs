//! Reads tables and trees of real machines, kept beside the checkout because of their licences,
//! and compares with what is known of them. Skipped, and said so, where they are not there.

use narrows_host::memory::parse_smbios;
use narrows_host::{Root, open, read};
use narrows_model::host::{DeviceKind, Host, Slot};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn corpora() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    if dir.is_dir() {
        return Some(dir);
    }
    // Past the test harness's capture, so that a skip is seen.
    let text = format!("skipped: {} is not there\n", dir.display());
    // In one piece: the harness writes between.
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}

/// Sizes in MiB by socket and channel, empty channels included.
type Map = BTreeMap<(u64, String), Vec<u64>>;

fn placed(slots: &[Slot]) -> Map {
    let mut map = Map::new();
    for slot in slots {
        let Some(at) = &slot.at else { continue };
        let sizes = map.entry((at.socket.into(), at.channel.to_string())).or_default();
        let module = slot.module.as_ref().filter(|module| module.is_dram);
        sizes.extend(module.and_then(|module| module.size_bytes).map(|size| size.0 >> 20));
    }
    for sizes in map.values_mut() {
        sizes.sort_unstable();
    }
    map
}

/// Memory in MiB by socket.
fn by_socket(map: &Map) -> BTreeMap<u64, u64> {
    let mut sockets = BTreeMap::new();
    for ((socket, _), sizes) in map {
        *sockets.entry(*socket).or_insert(0) += sizes.iter().sum::<u64>();
    }
    sockets
}

fn sockets_of(host: &Value) -> BTreeMap<u64, u64> {
    let sockets = host["sockets"].as_array().expect("sockets").iter();
    let number = |of: &Value, field: &str| of[field].as_u64().expect("number");
    sockets.map(|socket| (number(socket, "socket"), number(socket, "capacity_mib"))).collect()
}

fn truth(host: &Value) -> Map {
    let mut map = Map::new();
    for socket in host["sockets"].as_array().expect("sockets") {
        let Some(channels) = socket["dimm_mib_by_channel"].as_object() else { continue };
        for (channel, sizes) in channels {
            let sizes = sizes.as_array().expect("sizes").iter().filter_map(Value::as_u64);
            let mut sizes: Vec<u64> = sizes.collect();
            sizes.sort_unstable();
            map.insert((socket["socket"].as_u64().expect("number"), channel.clone()), sizes);
        }
    }
    map
}

#[test]
fn every_population_that_is_known_is_read_right_and_no_other_is_guessed() {
    let Some(dir) = corpora() else { return };
    let text = std::fs::read_to_string(dir.join("smbios-ground-truth.json")).expect("truth");
    let hosts: Vec<Value> = serde_json::from_str(&text).expect("json");
    let (mut right, mut wrong) = (0, Vec::new());
    for host in &hosts {
        let raw = host["raw"].as_str().expect("raw");
        let slots = parse_smbios(&std::fs::read(dir.join(raw)).expect(raw)).expect(raw).slots;
        let dram = slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram);
        let known: Vec<u64> = dram.filter_map(|m| m.size_bytes).map(|size| size.0 >> 20).collect();
        assert_eq!(Some(known.iter().sum()), host["capacity_mib"].as_u64(), "{raw}: capacity");
        assert_eq!(Some(slots.len() as u64), host["type17_records"].as_u64(), "{raw}: records");
        let (have, want) = (placed(&slots), truth(host));
        let known = host["confidence"] != "socket only";
        // Of some the record claims the sockets alone.
        let alike = if known { have == want } else { by_socket(&have) == sockets_of(host) };
        if alike {
            right += 1;
        } else {
            wrong.push(format!("{raw}\n  have {have:?}\n  want {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(right, hosts.len());
}

#[test]
fn real_tables_cut_anywhere_never_panic() {
    let Some(dir) = corpora() else { return };
    for entry in std::fs::read_dir(dir.join("smbios-raw")).expect("smbios-raw").flatten() {
        let table = std::fs::read(entry.path().join("DMI")).expect("DMI");
        assert!(!parse_smbios(&table).expect("whole table").slots.is_empty(), "{:?}", entry.path());
        for cut in (0..table.len()).step_by(7) {
            let _ = parse_smbios(&table[..cut]);
        }
    }
}

fn tree(name: &str, top: &str) -> Option<Host> {
    let archive = corpora()?.join("sysfs").join(name);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !dir.is_dir() {
        std::fs::create_dir_all(&dir).expect("folder");
        let tar = Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&dir).status();
        assert!(tar.expect("tar").success(), "{name}");
    }
    Some(read(&Root::at(dir.join(top))))
}

fn packages(host: &Host) -> usize {
    let packages = host.cpu.places.iter().filter_map(|place| place.package);
    packages.collect::<std::collections::BTreeSet<_>>().len()
}

fn cores(host: &Host) -> usize {
    let places = host.cpu.places.iter();
    let cores = places.filter_map(|place| Some((place.package, place.die, place.core?)));
    cores.collect::<std::collections::BTreeSet<_>>().len()
}

/// Counted from the topologies' own `Core` objects, and from what lscpu says of the machine.
#[test]
fn cores_are_counted_right_where_their_numbers_repeat() {
    let Some(dir) = corpora() else { return };
    let opteron = tree("hwloc-64amd64-4s2n4ca2co.tar.bz2", "64amd64-4s2n4ca2co").expect("tree");
    let leads = (0..64).map(|cpu| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = format!(
            "hwloc-64amd64-4s2n4ca2co.tar.bz2/64amd64-4s2n4ca2co/sys/devices/system/cpu/cpu{cpu}/\
             topology/thread_siblings_list"
        );
        std::fs::read_to_string(root.join(file)).expect("siblings")
    });
    let known = leads.collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(cores(&opteron), known);
    for entry in std::fs::read_dir(dir.join("hwloc-xml")).expect("hwloc-xml").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("XML");
        let host = open(&entry.path()).expect("topology");
        let known = text.matches("type=\"Core\"").count();
        assert_eq!(cores(&host), known, "{:?}", entry.path());
    }
}

#[test]
fn a_two_socket_server_with_a_card_on_node_1() {
    let name = "hwloc-32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2";
    let Some(host) = tree(name, "32em64t-2n8c+1mic") else { return };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (2, 2, 16));
    let ib0 = host.nic("ib0").expect("ib0");
    assert_eq!(ib0.path.last().map(|hop| hop.address.as_str()), Some("0000:82:00.0"));
    assert_eq!(ib0.node.value(), Some(&1));
    assert!(ib0.path.iter().all(|hop| hop.link.value().is_none()), "no link files: unknown");
    assert!(ib0.path[1].name.contains("ConnectX-3"), "{}", ib0.path[1].name);
    assert_eq!(host.nic("eth1").expect("eth1").node.value(), Some(&0));
    for bare in ["br0", "eth0.1015", "mic0"] {
        assert!(host.nic(bare).is_some_and(|nic| nic.path.is_empty()), "{bare}");
    }
    let slots = host.memory.slots.value().expect("17-* structures");
    let full: Vec<&Slot> = slots.iter().filter(|slot| slot.module.is_some()).collect();
    assert_eq!((slots.len(), full.len()), (24, 8));
    let places: std::collections::BTreeSet<_> = full.iter().filter_map(|s| s.at.clone()).collect();
    assert_eq!(places.len(), 8, "one module on each of four channels a socket");
    let rdma = host.rdma.iter().find(|device| device.name == "mlx4_0").expect("mlx4_0");
    assert_eq!((rdma.address.as_deref(), rdma.node.value()), (Some("0000:82:00.0"), Some(&1)));
    let device = |kind| host.devices.iter().filter(|d| d.kind == kind).collect::<Vec<_>>();
    let network = device(DeviceKind::Network);
    assert!(network.iter().any(|device| device.names == ["ib0", "mlx4_0"]), "{network:?}");
    // Both say node -1: that is no node.
    let [nvme] = device(DeviceKind::Storage)[..] else { panic!("one NVMe controller") };
    assert!(nvme.node.value().is_none(), "{:?}", nvme.node);
}

#[test]
fn links_are_read_where_the_kernel_lists_them() {
    let Some(host) = tree("hwloc-32intel64-2p8co2t+8ve.tar.bz2", "32intel64-2p8co2t+8ve") else {
        return;
    };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (2, 2, 32));
    let nic = host.nic("enp96s0f0").expect("enp96s0f0");
    let link = nic.path.last().and_then(|hop| hop.link.value()).expect("link");
    assert_eq!((link.width, link.width_max), (1, 1));
    assert_eq!((link.speed_gts, link.speed_max_gts), (2.5, 8.0));
    // InfiniBand functions without an interface: class 0x0207.
    for address in ["0000:1a:00.0", "0000:3e:00.0"] {
        let device = host.devices.iter().find(|d| d.address == address).expect(address);
        assert_eq!((device.kind, device.node.value()), (DeviceKind::Network, Some(&0)));
        let link = device.path.last().and_then(|hop| hop.link.value()).expect("link");
        assert_eq!((link.width, link.width_max), (16, 16));
        assert_eq!((link.speed_gts, link.speed_max_gts), (8.0, 8.0));
    }
}

#[test]
fn offline_cpus_do_not_count() {
    let name = "hwloc-offline-cpu0-node0.tar.bz2";
    let Some(host) = tree(name, "") else { return };
    let Some(top) = std::fs::read_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
        .expect("unpacked")
        .flatten()
        .next()
    else {
        panic!("{name} is empty")
    };
    drop(host);
    let host = read(&Root::at(top.path()));
    assert_eq!(host.cpu.online.value().map(Vec::len), Some(17));
    let cpus: usize = host.nodes.iter().map(|node| node.cpus.len()).sum();
    assert!(host.nodes.iter().all(|node| node.cpus.iter().all(|cpu| (4..=20).contains(cpu))));
    assert!(cpus > 0);
}

/// The bytes under a function's heading: rows such as `10: 00 00 ...`.
fn bytes(function: &str) -> Vec<u8> {
    let rows = function.lines().filter_map(|line| line.split_once(": "));
    rows.filter(|(at, _)| at.len() <= 3 && usize::from_str_radix(at, 16).is_ok())
        .flat_map(|(_, row)| row.split(' ').map(|byte| u8::from_str_radix(byte, 16)))
        .collect::<Result<_, _>>()
        .expect("bytes")
}

/// Configuration spaces of real functions with what lspci makes of them, in one text.
#[test]
fn packet_sizes_are_what_lspci_reads_from_the_same_bytes() {
    let Some(dir) = corpora() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("pci-regs")).expect("pci-regs").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        for function in text.split("\n\n").filter(|function| !function.trim().is_empty()) {
            let bytes = bytes(function);
            // The control register's line is the one that also names the read request.
            let line = function.lines().find(|line| line.contains("MaxReadReq"));
            let parsed = narrows_host::express::parse(&bytes);
            let Some(line) = line else {
                // Not decoded by lspci, or decoded and without the capability.
                assert!(!function.contains("Capabilities:") || parsed.is_err(), "{function}");
                continue;
            };
            let want: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let have = parsed.unwrap_or_else(|gap| panic!("{gap:?}: {function}"));
            assert_eq!(
                [have.max_payload_bytes.0, have.max_read_request_bytes.0],
                want[..],
                "{line}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared}");
}

/// Links of the same functions, from their registers.
#[test]
fn links_are_what_lspci_reads_from_the_same_bytes() {
    let Some(dir) = corpora() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("pci-regs")).expect("pci-regs").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        for function in text.split("\n\n").filter(|function| function.contains("LnkSta:")) {
            let link = narrows_host::express::link(&bytes(function));
            // `LnkSta: Speed 16GT/s (downgraded), Width x2`; speeds this program does not know and
            // links that are down are no link.
            let field = |line: &str, word: &str| {
                let line = function.lines().find(|l| l.trim_start().starts_with(line))?;
                let rest = line.split(word).nth(1)?;
                let digits: String =
                    rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
                digits.parse::<f64>().ok()
            };
            let want = [
                field("LnkSta:", "Speed "),
                field("LnkSta:", "Width x"),
                field("LnkCap:", "Speed "),
                field("LnkCap:", "Width x"),
            ];
            let Ok(link) = link else {
                let down = want.iter().any(|value| value.is_none_or(|value| value == 0.0));
                assert!(down, "{link:?}: {function}");
                continue;
            };
            let (width, most) = (f64::from(link.width), f64::from(link.width_max));
            assert_eq!(
                [Some(link.speed_gts), Some(width), Some(link.speed_max_gts), Some(most)],
                want,
                "{function}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 7, "{compared}");
}

/// Topologies that others exported, against what was counted in them.
#[test]
fn exported_topologies_have_the_parts_that_were_counted() {
    let Some(dir) = corpora() else { return };
    for (file, [sockets, nodes, cores, cpus], nics) in [
        ("24em64t-2n6c2t-pci.xml", [2, 2, 12, 24], vec!["eth0", "eth1", "eth2", "ib0"]),
        ("32em64t-2n8c2t-pci-wholeio.xml", [2, 2, 16, 32], vec!["eth0", "eth1", "ib0"]),
        (
            "96em64t-4n4d3ca2co-pci.xml",
            [16, 4, 96, 96],
            vec!["eth0", "eth1", "eth2", "eth3", "eth4", "eth5", "eth6", "eth7"],
        ),
        ("AMD-19h-Zen3-2xEpyc-7763.xml", [2, 1, 128, 128], vec![]),
        ("Intel-CascadeLake-2xXeon6230.xml", [2, 1, 40, 80], vec![]),
        ("Intel-Westmere-2xXeon-X5650.xml", [2, 1, 12, 24], vec![]),
        ("flux-catalyst.xml", [2, 2, 24, 48], vec!["eno1", "eno2", "eno3", "eno4", "hsi0"]),
        ("flux-corona-epyc.xml", [2, 8, 48, 96], vec!["enp3s0f0", "enp3s0f1", "hsi0"]),
        ("nvidiaDGX2.xml", [2, 2, 4, 4], vec![]),
    ] {
        let host = open(&dir.join("hwloc-xml").join(file)).expect(file);
        let core = |place: &narrows_model::host::CpuPlace| (place.package, place.die, place.core);
        let counted = host.cpu.places.iter().map(core).collect::<std::collections::BTreeSet<_>>();
        let have = [packages(&host), host.nodes.len(), counted.len(), host.cpu.places.len()];
        assert_eq!(have, [sockets, nodes, cores, cpus], "{file}");
        let names: Vec<&str> = host.nics.iter().map(|nic| nic.name.as_str()).collect();
        assert_eq!(names, nics, "{file}");
    }
    let corona = open(&dir.join("hwloc-xml/flux-corona-epyc.xml")).expect("topology");
    let hop = corona.nic("hsi0").and_then(|nic| nic.path.last()).expect("hsi0");
    assert_eq!(hop.address, "0000:33:00.0");
    let rate = hop.rate_bytes_per_second.value().map(|rate| rate.gbytes());
    assert!(rate.is_some_and(|rate| (rate - 15.75).abs() < 0.01), "{rate:?}");
    assert!(corona.rdma.iter().any(|device| device.name == "mlx5_0"));
}

/// What firmware says of the functions of one card disagrees: both are told as they stand.
#[test]
fn two_functions_of_a_card_on_two_nodes() {
    let Some(host) = tree("ghw-xeon-l5640-2node.tar.gz", "") else { return };
    let node = |address: &str| {
        let device = host.devices.iter().find(|device| device.address == address);
        device.and_then(|device| device.node.value().copied())
    };
    assert_eq!((node("0000:05:00.0"), node("0000:05:00.1")), (Some(0), Some(1)));
    assert!(host.devices.iter().any(|device| device.is_virtual));
}

#[test]
fn eight_nodes_by_mask_and_their_caches() {
    let Some(host) = tree("lscpu-x86_64-epyc_7451.tar.gz", "x86_64-epyc_7451") else { return };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (2, 8, 96));
    assert!(host.nodes.iter().all(|node| node.cpus.len() == 12));
    let third = host.cpu.caches.iter().filter(|cache| cache.level == 3);
    assert_eq!(third.clone().count(), 16);
    assert_eq!(host.last_level_cache_bytes().0, 128 << 20);
}

#[test]
fn nodes_without_cpus_are_memory_only() {
    let name = "nri-4socket+pmem2socket+desktop.tar.bz2";
    let Some(host) = tree(name, "sysfs/server") else { return };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (2, 6, 112));
    let bare: Vec<u32> =
        host.nodes.iter().filter(|node| node.cpus.is_empty()).map(|node| node.id).collect();
    assert_eq!(bare, [4, 5]);
    let four = tree(name, "sysfs/4-socket-server-nosnc").expect("the same archive");
    assert_eq!((packages(&four), four.nodes.len(), four.cpu.places.len()), (4, 4, 144));
    assert_eq!(four.nodes[0].distances.value(), Some(&vec![10, 21, 21, 21]));
}

#[test]
fn an_arm_host_tells_its_cores_by_number() {
    let Some(host) = tree("hwloc-nvidia-dgx-gb10.tar.bz2", "nvidia-dgx-gb10") else { return };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (1, 1, 20));
    assert!(host.cpu.model.value().is_some_and(|model| model.contains("implementer 0x41")));
}

#[test]
fn a_node_is_not_a_range_of_cpus() {
    let Some(host) = tree("hwloc-memorysidecaches.tar.bz2", "memorysidecaches") else { return };
    assert_eq!((packages(&host), host.nodes.len(), host.cpu.places.len()), (2, 4, 80));
    let first = &host.nodes[0].cpus;
    assert!(first.starts_with(&[0, 4, 8]) && first.ends_with(&[76]), "{first:?}");
}

#[test]
fn this_machine_reads_within_bounds() {
    let began = std::time::Instant::now();
    let host = read(&Root::live());
    assert!(began.elapsed().as_millis() < 2000, "{:?}", began.elapsed());
    let online = host.cpu.online.value().expect("online CPUs");
    assert_eq!(online.len(), host.cpu.places.len());
    let allowed = host.cpu.allowed.value().expect("affinity");
    assert!(!allowed.is_empty() && allowed.iter().all(|cpu| online.contains(cpu)));
    assert!(host.memory.total_bytes.value().is_some_and(|total| total.0 > 1 << 26));
}

/// What `dmidecode --dump-bin` writes: the entry point with the table at byte 32, then the table.
#[test]
fn dumped_tables_are_the_tables_and_programs_are_no_hosts() {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for program in ["/bin/ls", "/bin/sh"] {
        let error = open(Path::new(program)).expect_err(program);
        assert!(error.to_string().contains("is not an SMBIOS table"), "{error}");
    }
    let Some(dir) = corpora() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("smbios-raw")).expect("smbios-raw").flatten() {
        let Ok(mut point) = std::fs::read(entry.path().join("smbios_entry_point")) else {
            continue;
        };
        let table = std::fs::read(entry.path().join("DMI")).expect("DMI");
        let address = if point.starts_with(b"_SM3_") { 0x10 } else { 0x18 };
        point[address..address + 4].copy_from_slice(&32u32.to_le_bytes());
        point.resize(32, 0);
        let file = here.join("dump.bin");
        std::fs::write(&file, [point.as_slice(), &table].concat()).expect("dump");
        let (dumped, plain) = (open(&file).expect("dump"), open(&entry.path()).expect("table"));
        assert_eq!(dumped.memory.slots.value(), plain.memory.slots.value(), "{:?}", entry.path());
        std::fs::write(&file, &point).expect("dump");
        assert!(open(&file).is_err_and(|error| error.to_string().contains("without its table")));
        compared += 1;
    }
    assert!(compared >= 4, "{compared} tables with an entry point");
}
