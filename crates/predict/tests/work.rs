//! What may be said of the work beside the host: where interrupts are taken, threads, offloads,
//! tags, IPv6, IMIX, the NIC's model, the other processor; each beside a figure worked out by hand.

use narrows_model::host::{Host, Nic, PciHop};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Predictor, Reach, Resource, Said, of_host, of_nic};

fn near(is: f64, want: f64) {
    assert!((is / want - 1.0).abs() < 2e-4, "{is} is not {want}");
}

/// A Skylake at 3.4 GHz with a wire that is far away.
const BASE: [(&str, &str); 5] = [
    ("cpu", "Xeon Gold 6142"),
    ("cpu.ghz", "3.4"),
    ("nic.gbps", "1600"),
    ("memory.copy_gb_s", "4000"),
    ("streams", "1"),
];

fn engine(more: &[(&str, &str)]) -> Predictor {
    let mut said = Said::new();
    for (key, word) in BASE.iter().chain(more) {
        said.insert((*key).to_owned(), (*word).to_owned());
    }
    of_host(&Host::default(), &said, &Calibration::default()).expect("a server")
}

fn reach(more: &[(&str, &str)], path: &str) -> Reach {
    let all = engine(more).reaches();
    all.into_iter().find(|reach| reach.path == path).expect("a path")
}

fn resource(more: &[(&str, &str)], path: &str, name: &str) -> Resource {
    let found = reach(more, path).resources.into_iter().find(|one| one.name.as_str() == name);
    found.expect("a resource")
}

const CALL: f64 = 1500.0 / 65_536.0;

#[test]
fn where_interrupts_are_taken_decides_what_a_byte_costs() {
    let one = |irq: &str| resource(&[("mtu", "9000"), ("irq", irq)], "tcp", "cpu");
    let rate = |byte: f64| 8.0 * 3.4 / (byte + 300.0 / 8948.0 + CALL);
    for (irq, byte) in [("same-cpu", 0.62), ("other-cache", 0.49), ("same-cache", 0.30)] {
        let cpu = one(irq);
        near(cpu.value, rate(byte));
        near(cpu.low, rate(byte) * (-0.25f64).exp());
        near(cpu.high, rate(byte) * 0.25f64.exp());
    }
    // Where nobody says, the range reaches from the dearest to the cheapest.
    let unsaid = resource(&[("mtu", "9000")], "tcp", "cpu");
    near(unsaid.value, rate(0.56));
    assert!(unsaid.low < rate(0.62) && unsaid.high > 0.8 * rate(0.30), "{unsaid:?}");
    // The published 42 Gb/s of one core that does both.
    assert!((rate(0.62) / 42.0 - 1.0).abs() < 0.07);
}

#[test]
fn one_thread_is_one_cpu_and_unmerged_packets_are_dear() {
    let of = |more: &[(&str, &str)]| resource(more, "tcp", "cpu").value;
    let one = of(&[]);
    near(of(&[("streams", "16"), ("threads", "1")]), one);
    near(of(&[("streams", "16"), ("threads", "4")]), 4f64.powf(0.9) * one);
    near(of(&[("streams", "16")]), 16f64.powf(0.9) * one);
    near(of(&[("offloads", "no")]), 8.0 * 3.4 / (0.56 + 3500.0 / 1448.0 + CALL));
    // The NIC merges to 64 KiB: no smaller packet costs anything.
    let by_nic = [("offloads", "hardware")];
    near(of(&by_nic), 8.0 * 3.4 / (0.56 + 300.0 / 65_536.0 + CALL));
    near(of(&by_nic), of(&[by_nic[0], ("mtu", "9000")]));
}

/// 0.325 of the cost grows by 140.4 over 80.8: the 24 % that Dell published of a NIC that is local.
#[test]
fn a_nic_on_the_own_processor_is_a_quarter_faster() {
    let two = [("memory.mts", "2666"), ("memory.socket0", "1,1,1/1,1,1")];
    let two = [two[0], two[1], ("memory.socket1", "1,1,1/1,1,1"), ("nic.gbps", "100")];
    let of = |more: &[(&str, &str)]| reach(&[&two[..], more].concat(), "tcp").value;
    let (far, local) = (of(&[("work.socket", "1")]), of(&[]));
    assert!((local / far - 1.24).abs() < 0.01, "{local} over {far}");
    let direct = of(&[("work.socket", "1"), ("nic.direct", "yes")]);
    assert!(direct > far, "{direct} {far}");
    // Where the wire is far below both, there is nothing to gain.
    let slow = |more: &[(&str, &str)]| of(&[&[("nic.gbps", "10")], more].concat());
    assert!((slow(&[]) / slow(&[("work.socket", "1")]) - 1.0).abs() < 0.01);
}

#[test]
fn tags_ipv6_and_mixes_change_the_frames() {
    let wire = |more: &[(&str, &str)], path: &str| {
        resource(&[&[("nic.gbps", "100")], more].concat(), path, "wire").value
    };
    near(wire(&[], "tcp"), 100.0 * 1448.0 / 1538.0);
    near(wire(&[("vlan", "1")], "tcp"), 100.0 * 1448.0 / 1542.0);
    near(wire(&[("vlan", "2")], "tcp"), 100.0 * 1448.0 / 1546.0);
    near(wire(&[("ip", "6")], "tcp"), 100.0 * 1428.0 / 1538.0);
    near(wire(&[("ip", "6"), ("vlan", "1")], "tcp"), 100.0 * 1428.0 / 1542.0);
    near(wire(&[("vlan", "1")], "packets"), 1e5 / 8.0 / 88.0);
    // Seven frames of 64 B, four of 594 and one of 1,518: 4,342 B of twelve, and 20 around each.
    near(wire(&[("frame", "imix")], "packets"), 1e5 / 8.0 / (4342.0 / 12.0 + 20.0));
}

/// Generation 6 is 64 GT/s in FLITs of 256 B, 236 of them for packets.
#[test]
fn the_sixth_generation_is_flits() {
    let slot = resource(&[("nic.pcie", "6x16/256")], "rdma-write rocev2", "pcie").value;
    near(slot, 64.0 * 16.0 * 236.0 / 256.0 * 1024.0 / 1120.0);
}

#[test]
fn models_of_nics_have_packet_and_message_rates() {
    let of = |model: &str, more: &[(&str, &str)], path: &str| {
        let more = [&[("nic.gbps", "100"), ("nic.model", model)], more].concat();
        reach(&more, path)
    };
    // 148.8 million leave a wire of 100 Gb/s; the engine does 100.
    let packets = of("ConnectX-6 Dx", &[], "packets");
    assert_eq!((packets.value, packets.bottleneck.map(|name| name.as_str())), (100.0, Some("nic")));
    // A queue pair reads 2.55 million messages a second, whatever their size.
    let read = |message: &str| of("ConnectX-6", &[("message", message)], "rdma-read rocev2");
    near(read("64").value, 2.55 * 64.0 * 8e-3);
    assert_eq!(read("64").bottleneck.map(|name| name.as_str()), Some("nic"));
    assert_ne!(read("65536").bottleneck.map(|name| name.as_str()), Some("nic"));
    // Eight post eight times as many, and the device does no more than it can.
    let many = |pairs: &str| {
        let more = [("message", "64"), ("streams", pairs)];
        let all = of("ConnectX-5", &more, "rdma-write rocev2");
        all.resources.into_iter().find(|one| one.name.as_str() == "nic").expect("nic").value
    };
    near(many("1"), 8.0 * 64.0 * 8e-3);
    near(many("8"), 64.0 * 64.0 * 8e-3);
    near(many("64"), 100.0 * 64.0 * 8e-3);
    // What is said counts more than what is known.
    let said = of("ConnectX-6 Dx", &[("nic.mpps", "20")], "packets");
    assert_eq!(said.value, 20.0);
}

#[test]
fn a_card_is_known_by_its_name() {
    let hop = PciHop { name: "MT2892 Family [ConnectX-6 Dx]".into(), ..PciHop::default() };
    let card = Nic { name: "eth0".into(), physical: true, path: vec![hop], ..Nic::default() };
    let said = Said::from([("nic.gbps".to_owned(), "100".to_owned())]);
    let engine = of_nic(&Host::default(), Some(&card), &said, &Calibration::default());
    let model = engine.expect("a server").server.asked.model.expect("a model");
    assert_eq!(model.name, "ConnectX-6 Dx");
    let wrong = Said::from([("nic.model".to_owned(), "NE2000".to_owned())]);
    let why = of_nic(&Host::default(), None, &wrong, &Calibration::default())
        .expect_err("none")
        .to_string();
    assert!(why.contains("nic.model=NE2000 is none of 82599, "), "{why}");
}
