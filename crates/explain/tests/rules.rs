//! Planted causes: hosts and records with one known fault each, which the rule must name, and the
//! same without it, which must stay clear.

mod common;

use common::{bare, found, is_clear, known, study, verdict};
use narrows_dimm::population::{Balance, balance, sockets};
use narrows_host::memory::parse_smbios;
use narrows_model::host::*;
use narrows_model::result::{Verdict, Weight};
use narrows_model::study::StoredStudy;
use narrows_model::{BitsPerSecond, Bytes, Fact};
use serde_json::Value;
use std::io::Write;

/// Two sockets with two CPUs and a node each.
fn two_sockets() -> Host {
    let mut host = bare();
    let places = (0..4).map(|cpu| CpuPlace {
        cpu,
        package: Some(cpu / 2),
        core: Some(cpu % 2),
        node: Some(cpu / 2),
        ..CpuPlace::default()
    });
    host.cpu.places = places.collect();
    host.cpu.online = known(vec![0, 1, 2, 3]);
    host.cpu.allowed = known(vec![0, 1, 2, 3]);
    host.nodes = (0..2)
        .map(|id| Node {
            id,
            cpus: vec![2 * id, 2 * id + 1],
            memory_bytes: known(Bytes::gib(64)),
            distances: known(vec![10, 21]),
            ..Node::default()
        })
        .collect();
    host
}

fn hop(address: &str, now: (f64, u32), most: (f64, u32)) -> PciHop {
    PciHop {
        address: address.into(),
        name: "a card".into(),
        class: known(0x02_0000),
        link: known(PciLink {
            speed_gts: now.0,
            width: now.1,
            speed_max_gts: most.0,
            width_max: most.1,
        }),
        ..PciHop::default()
    }
}

fn nic(node: u32, path: Vec<PciHop>) -> Nic {
    Nic {
        name: "eth0".into(),
        physical: true,
        driver: known("driver".into()),
        speed_bps: known(BitsPerSecond(100e9)),
        state: known("up".into()),
        mtu_bytes: known(Bytes(1500)),
        node: known(node),
        path,
        irq_cpus: known(vec![2, 3]),
        queues: known(Queues { rx: 2, tx: 2 }),
        ..Nic::default()
    }
}

fn is_idle(study: &StoredStudy, rule: &str) -> bool {
    matches!(verdict(study, rule), Verdict::NotApplicable { .. })
}

#[test]
fn a_host_of_which_nothing_is_known_gets_no_finding() {
    let study = study(bare());
    for rule in ["congestion-control", "dimm-balance", "memory-size", "noisy-host"] {
        assert!(matches!(verdict(&study, rule), Verdict::Unknown { .. }), "{rule}");
    }
}

fn module(size_bytes: Option<Bytes>) -> Slot {
    Slot {
        locator: "P1-DIMMA1".into(),
        bank: String::new(),
        at: None,
        module: Some(Module {
            size_bytes,
            technology: "DDR4".into(),
            is_dram: true,
            rated_mts: None,
            configured_mts: None,
            ranks: None,
        }),
        ..Slot::default()
    }
}

/// Slots `P1-DIMMA1`, `P1-DIMMA2`, ... of three channels with two slots each.
fn three_channels(gib: [[u64; 2]; 3]) -> Vec<Slot> {
    let slot = |channel: usize, index: usize, gib: u64| {
        let letter = ["A", "B", "C"][channel];
        let held = (gib > 0).then(|| module(Some(Bytes::gib(gib))).module).flatten();
        Slot {
            locator: format!("P1-DIMM{letter}{}", index + 1),
            at: Some(SlotPlace { channel: letter.into(), ..SlotPlace::default() }),
            module: held,
            ..module(None)
        }
    };
    let both = |channel: usize| (0..2).map(move |index| slot(channel, index, gib[channel][index]));
    (0..3).flat_map(both).collect()
}

#[test]
fn a_move_that_evens_a_socket_out_is_named_by_its_slots() {
    let remedy = |gib: [[u64; 2]; 3]| {
        let mut host = bare();
        host.memory.slots = known(three_channels(gib));
        found(&study(host), "dimm-balance").remove(0).remedy
    };
    let moved = remedy([[32, 32], [32, 0], [0, 0]]);
    assert!(moved.contains("move the module from P1-DIMMA2 to P1-DIMMC1"), "{moved}");
    let two = remedy([[32, 32], [32, 32], [0, 0]]);
    assert!(!two.contains("move"), "four modules on three channels: {two}");
    // Unlike modules are not even after any move.
    let unlike = remedy([[32, 16], [32, 0], [0, 0]]);
    assert!(!unlike.contains("move"), "{unlike}");
    let mut host = bare();
    host.memory.slots = known(three_channels([[32, 0], [32, 0], [32, 0]]));
    assert!(is_clear(&study(host), "dimm-balance"));
}

/// The slots of a second socket, all empty.
fn second_socket() -> Vec<Slot> {
    let empty = |slot: Slot| Slot {
        locator: slot.locator.replace("P1", "P2"),
        at: slot.at.map(|at| SlotPlace { socket: 1, ..at }),
        module: None,
        ..slot
    };
    three_channels([[0, 0]; 3]).into_iter().map(empty).collect()
}

#[test]
fn slots_of_a_processor_that_is_not_fitted_are_no_asymmetry() {
    let board = |fitted: &[bool]| {
        let mut host = bare();
        let mut slots = three_channels([[32, 0]; 3]);
        slots.extend(second_socket());
        host.memory.slots = known(slots);
        let socket = |populated: &bool| CpuSocket { populated: *populated, ..CpuSocket::default() };
        host.cpu.sockets = known(fitted.iter().map(socket).collect());
        study(host)
    };
    // Firmware lists the empty socket, or only what is fitted.
    assert!(is_clear(&board(&[true, false]), "dimm-balance"));
    assert!(is_clear(&board(&[true]), "dimm-balance"));
    // Two processors, and one of them without memory.
    assert_eq!(found(&board(&[true, true]), "dimm-balance").len(), 1);
}

#[test]
fn the_slot_of_the_missing_module_is_named() {
    let mut host = bare();
    let mut slots = three_channels([[32, 0]; 3]);
    let mut second = three_channels([[32, 0], [32, 0], [0, 0]]);
    for slot in &mut second {
        slot.locator = slot.locator.replace("P1", "P2");
        slot.at = slot.at.take().map(|at| SlotPlace { socket: 1, ..at });
    }
    slots.extend(second);
    host.memory.slots = known(slots);
    let remedy = found(&study(host), "dimm-balance").remove(0).remedy;
    assert!(remedy.contains("P2-DIMMC1"), "{remedy}");
    assert!(!remedy.contains("P2-DIMMC2"), "{remedy}");
}

#[test]
fn memory_that_does_not_add_up_is_found_with_both_values() {
    let mut host = two_sockets();
    host.memory.total_bytes = known(Bytes::gib(128));
    // Nodes and kernel agree, the modules were not read: only a part was looked at.
    let partly = verdict(&study(host.clone()), "memory-size");
    let Verdict::Unknown { looked_at, .. } = partly else { panic!("{partly:?}") };
    assert!(looked_at.iter().any(|seen| seen.says == "nodes: 128 GiB"), "{looked_at:?}");
    host.memory.slots = known(vec![module(Some(Bytes::gib(64))), module(Some(Bytes::gib(72)))]);
    assert!(is_clear(&study(host.clone()), "memory-size"));
    // A module that the kernel does not have, one too many for the modules, a node short of memory.
    for (slots, node_gib, says) in [
        (vec![module(Some(Bytes::gib(256)))], 64, "The modules hold 256 GiB"),
        (vec![module(Some(Bytes::gib(64)))], 64, "The modules hold 64 GiB"),
        (vec![module(None)], 32, "The nodes (2) have 96 GiB"),
    ] {
        let mut wrong = host.clone();
        wrong.memory.slots = known(slots);
        wrong.nodes[1].memory_bytes = known(Bytes::gib(node_gib));
        let findings = found(&study(wrong), "memory-size");
        assert_eq!((findings.len(), findings[0].weight), (1, Weight::Caution));
        assert!(findings[0].says.contains(says), "{}", findings[0].says);
        assert!(findings[0].says.contains("128 GiB"), "{}", findings[0].says);
    }
    // Less than the kernel manages is ordinary where a hypervisor takes pages back; more is not.
    for (node_gib, is_wrong) in [(32, false), (96, true)] {
        let mut guest = host.clone();
        guest.virtualised = known("KVM".to_owned());
        guest.nodes[1].memory_bytes = known(Bytes::gib(node_gib));
        let verdict = verdict(&study(guest), "memory-size");
        assert_eq!(matches!(verdict, Verdict::Found { .. }), is_wrong, "{node_gib}: {verdict:?}");
    }
}

#[test]
fn a_link_trained_below_what_both_ends_can_do_is_a_fault() {
    let full = [hop("port", (8.0, 16), (8.0, 16)), hop("card", (8.0, 16), (8.0, 16))];
    let mut host = two_sockets();
    host.nics = vec![nic(1, full.to_vec())];
    assert!(is_clear(&study(host.clone()), "pcie-link"));
    for now in [(2.5, 16), (8.0, 8)] {
        host.nics[0].path = vec![hop("port", now, (8.0, 16)), hop("card", now, (8.0, 16))];
        let findings = found(&study(host.clone()), "pcie-link");
        assert_eq!((findings.len(), findings[0].weight), (1, Weight::Fault));
        let says = &findings[0].says;
        assert!(says.contains("8 GT/s x16") && says.contains(&format!("x{}", now.1)), "{says}");
    }
}

#[test]
fn a_slot_narrower_than_the_card_matters_only_when_the_port_is_faster() {
    let mut host = two_sockets();
    // Gen 3 x8 carries 63 Gb/s: less than a port of 100, more than one of 25.
    host.nics =
        vec![nic(1, vec![hop("port", (8.0, 8), (8.0, 8)), hop("card", (8.0, 8), (8.0, 16))])];
    let findings = found(&study(host.clone()), "pcie-link");
    assert_eq!(findings[0].weight, Weight::Advice);
    assert!(findings[0].says.contains("because of the slot"), "{}", findings[0].says);
    host.nics[0].speed_bps = known(BitsPerSecond(25e9));
    assert!(is_clear(&study(host), "pcie-link"));
}

#[test]
fn interrupts_memory_or_cpus_away_from_the_nic_are_found() {
    let mut host = two_sockets();
    host.nics = vec![nic(1, vec![])];
    assert!(is_clear(&study(host.clone()), "nic-remote-node"));
    let mut away = host.clone();
    away.nics[0].irq_cpus = known(vec![0, 2]);
    assert!(found(&study(away), "nic-remote-node")[0].says.contains("1 of 2 CPUs"));
    let mut bare_node = host.clone();
    bare_node.nodes[1].memory_bytes = known(Bytes(0));
    assert!(found(&study(bare_node), "nic-remote-node")[0].says.contains("no memory"));
    let mut confined = host.clone();
    confined.cpu.allowed = known(vec![0, 1]);
    assert!(found(&study(confined), "nic-remote-node")[0].says.contains("no CPU of node 1"));
    let mut unknown = host.clone();
    unknown.nics[0].node = Fact::said_absent("numa_node", "-1");
    assert!(matches!(verdict(&study(unknown), "nic-remote-node"), Verdict::Unknown { .. }));
}

#[test]
fn a_window_smaller_than_the_link_needs_is_found() {
    let mut host = bare();
    host.tuning.insert("net.ipv4.tcp_congestion_control".into(), known("cubic".into()));
    host.tuning.insert("net.ipv4.tcp_rmem".into(), known("4096 131072 6291456".into()));
    host.nics = vec![nic(0, vec![])];
    let findings = found(&study(host.clone()), "congestion-control");
    assert!(findings[0].says.contains("25.2 Gb/s"), "{}", findings[0].says);
    host.nics[0].speed_bps = known(BitsPerSecond(10e9));
    assert!(is_clear(&study(host), "congestion-control"));
}

#[test]
fn modules_below_their_speed_are_found_with_the_likeliest_reason() {
    // Two modules on channel A, one on B: rated and configured speed of each.
    let verdict = |speeds: [(u32, u32); 3]| {
        let mut slots = three_channels([[32, 32], [32, 0], [0, 0]]);
        let full = slots.iter_mut().filter_map(|slot| slot.module.as_mut());
        for (module, (rated, configured)) in full.zip(speeds) {
            (module.rated_mts, module.configured_mts) = (Some(rated), Some(configured));
        }
        let mut host = bare();
        host.memory.slots = known(slots);
        study(host)
    };
    assert!(is_clear(&verdict([(2933, 2933); 3]), "memory-speed"));
    let says = |speeds| found(&verdict(speeds), "memory-speed").remove(0).says;
    assert!(says([(2933, 2666); 3]).contains("2 modules on a channel"));
    let slow = says([(2933, 2400), (2400, 2400), (2933, 2400)]);
    assert!(slow.contains("the slowest module is made for 2400 MT/s"), "{slow}");
}

#[test]
fn a_familys_speeds_say_whether_two_modules_on_a_channel_are_why() {
    let finding = |processor: &str, channels: [[u64; 2]; 3], configured: u32| {
        let mut slots = three_channels(channels);
        for module in slots.iter_mut().filter_map(|slot| slot.module.as_mut()) {
            (module.rated_mts, module.configured_mts) = (Some(2933), Some(configured));
        }
        let mut host = bare();
        host.cpu.model = known(processor.into());
        host.memory.slots = known(slots);
        found(&study(host), "memory-speed").remove(0)
    };
    const CASCADE: &str = "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz";
    let two = [[32, 32], [32, 0], [0, 0]];
    let deep = finding(CASCADE, two, 2666);
    assert!(deep.says.contains("2 modules on a channel are why: Cascade Lake-SP runs 2 at 2666"));
    assert!(deep.remedy.contains("one module a channel would run at up to 2933"), "{deep:?}");
    assert_eq!(deep.evidence.len(), 2, "the family's rule with its source");
    // Slower than two on a channel need to be: they are not why.
    let says = finding(CASCADE, two, 2400).says;
    assert!(says.contains("modules on a channel are not why"), "{says}");
    let says = finding(CASCADE, [[32, 0], [32, 0], [0, 0]], 2400).says;
    assert!(says.contains("model of processor or a setting"), "{says}");
    let skylake = finding("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", two, 2666);
    assert!(skylake.says.contains("Skylake-SP runs 2 on a channel at no more"), "{skylake:?}");
    // Nothing is said of a family whose speeds are not known.
    let says = finding("Intel(R) Xeon(R) CPU E3-1240 V2 @ 3.40GHz", two, 2666).says;
    assert!(says.contains("lower it on many processors"), "{says}");
}

#[test]
fn firmware_and_kernel_are_held_against_each_other() {
    let socket = |populated: bool| CpuSocket { populated, ..CpuSocket::default() };
    let mut host = two_sockets();
    host.cpu.sockets = known(vec![socket(true), socket(true)]);
    assert!(is_clear(&study(host.clone()), "socket-count"));
    host.cpu.places.retain(|place| place.package == Some(0));
    let says = found(&study(host.clone()), "socket-count").remove(0).says;
    assert!(says.contains("2 processors") && says.contains("1 packages"), "{says}");
    host.cpu.sockets = known(vec![socket(true), socket(false)]);
    assert!(is_clear(&study(host), "socket-count"));
}

#[test]
fn address_ranges_and_controllers_that_know_of_less_are_found() {
    let mut host = bare();
    host.memory.total_bytes = known(Bytes::gib(62));
    host.memory.slots = known(vec![module(Some(Bytes::gib(32))), module(Some(Bytes::gib(32)))]);
    let range = |first: u64, last: u64| MemoryRange { array: 1, first, last: last - 1, width: 1 };
    // The same addresses twice, as boards list them.
    host.memory.ranges = known(vec![range(0, 64 << 30), range(0, 64 << 30)]);
    assert!(is_clear(&study(host.clone()), "memory-size"));
    let mut mirrored = host.clone();
    mirrored.memory.ranges = known(vec![range(0, 32 << 30), range(0, 32 << 30)]);
    let says = found(&study(mirrored), "memory-size").remove(0).says;
    assert!(says.contains("addresses to 32 GiB"), "{says}");
    let seen = ControllerModule { size_bytes: Some(Bytes::gib(32)), ..ControllerModule::default() };
    host.memory.controllers = known(vec![seen]);
    let says = found(&study(host), "memory-size").remove(0).says;
    assert!(says.contains("the memory controllers see 32 GiB"), "{says}");
}

#[test]
fn ports_that_outrun_the_link_they_share_are_found() {
    let card = |ports: &[f64]| {
        let mut host = bare();
        for (function, gbps) in ports.iter().enumerate() {
            let address = format!("0000:02:00.{function}");
            let gen3 = (8.0, 16);
            let path = vec![hop("0000:00:01.0", gen3, gen3), hop(&address, gen3, gen3)];
            let mut port = nic(0, path.clone());
            port.name = format!("eth{function}");
            port.speed_bps = known(BitsPerSecond(gbps * 1e9));
            host.nics.push(port);
            host.devices.push(Device {
                kind: DeviceKind::Network,
                address,
                names: vec![format!("eth{function}")],
                driver: Fact::default(),
                node: known(0),
                is_virtual: false,
                path,
            });
        }
        study(host)
    };
    assert!(is_idle(&card(&[100.0]), "pcie-shared"), "not shared");
    assert!(is_clear(&card(&[25.0, 25.0]), "pcie-shared"), "wide enough");
    let says = found(&card(&[100.0, 100.0]), "pcie-shared").remove(0).says;
    assert!(says.contains("200 Gb/s together"), "{says}");
}

#[test]
fn a_narrow_slot_is_named_with_the_free_ones_that_are_wider() {
    let mut host = two_sockets();
    let (slot, card) = ((8.0, 4), (8.0, 16));
    let path = vec![hop("0000:00:01.0", slot, slot), hop("0000:3b:00.0", slot, card)];
    host.nics = vec![nic(0, path.clone())];
    let expansion = |name: &str, lanes: u32, address: Option<&str>| ExpansionSlot {
        name: name.into(),
        lanes: Some(lanes),
        in_use: Some(address.is_some()),
        address: address.map(str::to_owned),
    };
    host.expansion_slots = known(vec![
        expansion("Slot 1", 4, Some("0000:3b:00.0")),
        expansion("Slot 2", 16, None),
        expansion("Slot 3", 4, None),
    ]);
    assert_eq!(host.slot_of(&path).map(|slot| slot.name.as_str()), Some("Slot 1"));
    let remedy = found(&study(host), "pcie-link").remove(0).remedy;
    assert!(remedy.contains("free are Slot 2 (x16)") && !remedy.contains("Slot 3"), "{remedy}");
}

/// Populations of real servers, from locators that spell it out and from makers' slot maps.
#[test]
fn real_populations_get_the_class_that_is_known_of_them() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let Ok(text) = std::fs::read_to_string(dir.join("smbios-ground-truth.json")) else {
        let text = format!("skipped: {} is not there\n", dir.display());
        // In one piece: the harness writes between.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    };
    let hosts: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut judged = 0;
    for host in hosts.iter().filter(|host| host["confidence"] != "socket only") {
        let raw = host["raw"].as_str().expect("raw");
        let slots = parse_smbios(&std::fs::read(dir.join(raw)).expect(raw)).expect(raw).slots;
        if host["present_but_unknown_size"].as_array().is_some_and(|modules| !modules.is_empty()) {
            // Such a module may work or not: no class is claimed.
            let missing = sockets(&slots).expect_err(raw);
            assert!(missing.to_string().contains("size of the module"), "{raw}: {missing}");
            continue;
        }
        let sockets = sockets(&slots).unwrap_or_else(|missing| panic!("{raw}: {missing}"));
        let want = match host["channel_verdict"].as_str().expect(raw) {
            "balanced, every channel populated" => Balance::Balanced,
            "equal on the populated channels, some channels empty" => Balance::NearBalanced,
            "unbalanced between sockets" => Balance::SocketAsymmetric,
            "unbalanced between channels" => Balance::Unbalanced,
            other => panic!("{raw}: {other}"),
        };
        // By channels alone; what the interleave sets add is tried below.
        let have = balance(&sockets, None);
        // A host may be uneven in both ways: then the channels' verdict is the graver one.
        let agrees =
            have == want || (want == Balance::SocketAsymmetric && have == Balance::Unbalanced);
        assert!(agrees, "{raw}: {have:?}, known: {want:?}\n{sockets:?}");
        let mut study = study(bare());
        study.host.memory.slots = known(slots);
        let clear = is_clear(&study, "dimm-balance");
        assert_eq!(clear, have == Balance::Balanced, "{raw}");
        judged += 1;
    }
    assert!(judged >= 50, "{judged}");
}
