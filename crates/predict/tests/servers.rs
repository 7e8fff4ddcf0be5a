//! What-if: each resource of a described server beside figures worked out by hand, and what is
//! refused.

use narrows_model::host::{Host, Nic, PciHop, PciLink};
use narrows_model::result::ResourceName;
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Measured, Predictor, Reach, Refused, Resource, Said, of_host, prices};

fn near(is: f64, want: f64) {
    assert!((is / want - 1.0).abs() < 2e-4, "{is} is not {want}");
}

const BASE: [(&str, &str); 4] = [
    ("cpu", "Xeon Platinum 8280"),
    ("memory.mts", "2933"),
    ("nic.gbps", "100"),
    ("memory.socket0", "1,1,1/1,1,1"),
];

fn said(more: &[(&str, &str)]) -> Said {
    BASE.iter().chain(more).map(|(key, word)| ((*key).into(), (*word).into())).collect()
}

fn try_with(more: &[(&str, &str)], measured: &Calibration) -> Result<Predictor, Refused> {
    of_host(&Host::default(), &said(more), measured)
}

fn engine(more: &[(&str, &str)]) -> Predictor {
    try_with(more, &Calibration::default()).expect("a server")
}

fn reach(more: &[(&str, &str)], path: &str) -> Reach {
    let all = engine(more).reaches();
    all.into_iter().find(|reach| reach.path == path).expect("a path")
}

fn resource(more: &[(&str, &str)], path: &str, name: &str) -> Resource {
    let found = reach(more, path).resources.into_iter().find(|one| one.name.as_str() == name);
    found.expect("a resource")
}

fn told(one: &Resource, value: f64, low: f64, high: f64) {
    near(one.value, value);
    near(one.low, low);
    near(one.high, high);
}

/// Enough streams that no CPU is near.
const MANY: (&str, &str) = ("streams", "64");

/// The kernel has 0.915 to all of what framing leaves, RDMA 0.95 to all of it.
#[test]
fn the_wire_has_its_framing() {
    let full = 94.1482;
    told(&resource(&[MANY], "tcp", "wire"), full, 0.915 * full, full);
    let udp = resource(&[MANY], "udp", "wire");
    near(udp.value, 100.0 * 65_507.0 / (65_515.0 + 45.0 * 58.0));
    for (path, share) in [
        ("rdma-write rocev2", 65_536.0 / (65_536.0 + 64.0 * 82.0 + 16.0)),
        ("rdma-read rocev2", 65_536.0 / (65_536.0 + 64.0 * 82.0 + 8.0)),
        ("rdma-send rocev2", 65_536.0 / (65_536.0 + 64.0 * 82.0)),
        ("rdma-write rocev1", 65_536.0 / (65_536.0 + 64.0 * 94.0 + 16.0)),
        ("rdma-write iwarp", 1440.0 / 1538.0),
        ("mpi rocev2", 65_536.0 / (65_536.0 + 64.0 * 82.0)),
    ] {
        told(&resource(&[], path, "wire"), 100.0 * share, 95.0 * share, 100.0 * share);
    }
    let ib = resource(&[("link", "infiniband")], "rdma-write ib", "wire");
    near(ib.value, 100.0 * 65_536.0 / (65_536.0 + 16.0 * 26.0 + 16.0));
    let two = resource(&[("nic.count", "2")], "rdma-write rocev2", "wire");
    near(two.value, 200.0 * 65_536.0 / 70_800.0);
    assert!(two.says.ends_with("at MTU 1500, 2 times"), "{}", two.says);
    let packets = resource(&[("frame", "128")], "packets", "wire");
    told(&packets, 100e3 / 8.0 / 148.0, 100e3 / 8.0 / 148.0, 100e3 / 8.0 / 148.0);
}

/// 57.886 Gb/s of packets at 8 GT/s x8; a frame of 1514 B is 6 packets with 24 B each, and has a
/// completion of 64 and a descriptor of 16 in packets of their own beside it.
#[test]
fn slots_carry_frames_with_headers() {
    let slot = [("nic.pcie", "3x8")];
    let tcp = 57.886 * 1448.0 / 1658.0;
    // Nobody told the payload: from 128 B to 512. At most nothing comes the other way, which costs
    // only the skips.
    let one_way = 8.0 * 8.0 * 128.0 / 130.0 * (1.0 - 4.0 / 1538.0);
    let (least, most) = (56.672 * 1448.0 / 1802.0, one_way * 1448.0 / 1586.0);
    told(&resource(&slot, "tcp", "pcie"), tcp, least * 1658.0 / 1786.0, most);
    let known = [("nic.pcie", "3x8/256")];
    let (low, high) = (tcp * 1658.0 / 1786.0, one_way * 1448.0 / 1658.0);
    told(&resource(&known, "tcp", "pcie"), tcp, low, high);
    near(resource(&slot, "udp", "pcie").value, 57.886 * 1472.0 / 1658.0);
    near(resource(&slot, "tcp-zerocopy", "pcie").value, tcp);
    // Of RDMA only the data goes to memory: 1024 B in four packets, or a short message in one.
    let rdma = 57.886 * 1024.0 / 1120.0;
    let (low, high) = (rdma * 1120.0 / 1248.0, one_way * 1024.0 / 1120.0);
    told(&resource(&known, "rdma-write rocev2", "pcie"), rdma, low, high);
    let short = resource(&[slot[0], ("message", "64")], "rdma-write rocev2", "pcie");
    near(short.value, 57.886 * 64.0 / 88.0);
    let same = resource(&[slot[0], ("message", "64")], "tcp", "pcie");
    near(same.value, tcp);
    near(resource(&[slot[0], ("nic.count", "2")], "tcp", "pcie").value, 2.0 * tcp);
    near(resource(&[("nic.pcie", "3x8/512")], "tcp", "pcie").value, 57.319 * 1448.0 / 1586.0);
    for (shape, gbps) in [("1x1", 1.917_875), ("2x8", 28.676), ("4x8", 115.77), ("5x8", 231.54)] {
        let is = resource(&[("nic.pcie", shape)], "rdma-write rocev2", "pcie").value;
        assert!((is / (gbps * 1024.0 / 1120.0) - 1.0).abs() < 2e-3, "{shape}: {is}");
    }
    // Small packets: 148 B received each, 126.5 sent with a doorbell each.
    let small = resource(&slot, "packets", "pcie");
    told(&small, 7235.7 / 148.0, 7235.7 / 148.0, 7235.7 / 126.5);
    let uplink = resource(&[("nic.uplink", "2x4/128"), ("nic.count", "2")], "packets", "chipset");
    near(uplink.value, 2e3 * (1.0 - 16.0 / 124.0 - 4.0 / 1538.0) / 148.0);
    let gap = "pcie: the slot is not known: nic.pcie=4x16";
    assert!(reach(&[], "tcp").missing.iter().any(|one| one.to_string() == gap));
}

/// 8 x 0.71 x 23.464 Gb/s a channel, over the bytes that a payload byte moves.
#[test]
fn memory_is_its_narrowest_set() {
    let channel = 8.0 * 0.71 * 23.464;
    let half = |one: f64, by: f64| one * (by * 0.032f64).exp();
    let six = 6.0 * channel / 2.16;
    told(&resource(&[], "tcp", "memory"), six, half(six, -1.0), half(six, 1.0));
    let rdma = resource(&[], "rdma-write rocev2", "memory");
    told(&rdma, 6.0 * channel, half(6.0 * channel, -1.0), half(6.0 * channel, 1.0));
    let zero = resource(&[], "tcp-zerocopy", "memory");
    told(&zero, 6.0 * channel, half(3.0 * channel, -1.0), half(6.0 * channel, 1.0));
    // MPI copies short messages: three bytes, and between one and four.
    let eager = resource(&[("message", "12288")], "mpi rocev2", "memory");
    told(&eager, 2.0 * channel, half(1.5 * channel, -1.0), half(6.0 * channel, 1.0));
    near(resource(&[("message", "12289")], "mpi rocev2", "memory").value, 6.0 * channel);
    let uneven = [("memory.socket0", "1,1,0/1,0,0")];
    near(resource(&uneven, "tcp", "memory").value, channel / 2.16);
    near(resource(&uneven, "udp", "memory").value, channel / 2.16 / (1.0 - 0.129));
    let other = [("memory.socket1", "1,1,1/1,1,1")];
    near(resource(&other, "tcp", "memory").value, six / 0.738);
    near(resource(&other, "udp", "memory").value, six / (1.0 - 0.116));
    near(resource(&[("memory.mts", "2400")], "tcp", "memory").value, six * 2400.0 / 2933.0);
    // Work on the other processor costs 0.325 of the latency's ratio of 140.4 to 80.8.
    let far = [other[0], ("work.socket", "1"), ("sockets.links", "2x10.4")];
    let memory = resource(&far, "tcp", "memory");
    near(memory.value, six / 0.738 / (0.675 + 0.325 * 140.4 / 80.8));
    assert!(memory.says.ends_with("on another processor than the NIC"), "{}", memory.says);
    near(resource(&far, "rdma-write rocev2", "memory").value, 6.0 * channel);
    // Two links of 2 B at 10.4 GT/s, 0.825 of it payload.
    let between = 2.0 * 10.4 * 16.0 * 0.825;
    let of = |path: &str| resource(&far, path, "inter-socket");
    told(&of("tcp"), between, 0.42 * between, 1.1 * between);
    told(&of("rdma-write rocev2"), between, 0.85 * between, 1.1 * between);
    // Where the own processor has none, the other's memory is used.
    let none = [("memory.socket0", "0,0,0/0,0,0"), other[0]];
    near(resource(&none, "tcp", "memory").value, six / 0.738 / (0.675 + 0.325 * 140.4 / 80.8));
    let empty = reach(&none[..1], "tcp").missing;
    assert!(empty.iter().any(|gap| gap.to_string() == "memory: no processor has any"), "{empty:?}");
    assert!(
        reach(&far[..2], "packets").resources.iter().all(|one| one.name != ResourceName::Memory)
    );
}

#[test]
fn a_core_and_a_nic_have_packets_of_their_own() {
    let core = [("cpu.ghz", "3.4"), ("memory.core_gb_s", "11"), ("streams", "2")];
    let each = 1e3 / (188.5 / 3.4 + 174.5 / 11.0);
    let cpu = resource(&core, "packets", "cpu");
    told(&cpu, 2.0 * each, 2.0 * each * (-0.13f64).exp(), 2.0 * each * 0.13f64.exp());
    near(resource(&core[..2], "packets", "cpu").value, each);
    let engine = [("nic.mpps", "10"), ("nic.count", "3")];
    near(resource(&engine, "packets", "nic").value, 30.0);
    near(resource(&engine[..1], "tcp", "nic").value, 10.0 * 1448.0 * 8e-3);
    near(resource(&engine[..1], "udp", "nic").value, 10.0 * 1472.0 * 8e-3);
    near(resource(&engine[..1], "rdma-write rocev2", "nic").value, 10.0 * 1024.0 * 8e-3);
    let short = [engine[0], ("message", "64")];
    near(resource(&short, "rdma-write rocev2", "nic").value, 10.0 * 64.0 * 8e-3);
    near(resource(&short, "tcp", "nic").value, 10.0 * 1448.0 * 8e-3);
    let units = ["packets", "tcp"].map(|path| reach(&[], path).unit);
    assert_eq!(units, ["M packets/s", "Gb/s"]);
}

#[test]
fn paths_are_asked_for_by_name() {
    let names = |more: &[(&str, &str)]| {
        engine(more).reaches().into_iter().map(|reach| reach.path).collect::<Vec<_>>().join(",")
    };
    let rdma = "rdma-write rocev2,rdma-read rocev2,rdma-send rocev2,rdma-write rocev1,\
                rdma-write iwarp";
    assert_eq!(
        names(&[]),
        format!("tcp,tcp-zerocopy,udp,{rdma},mpi rocev2,packets,tcp-rr,udp-rr,rdma-write-rr")
    );
    assert_eq!(names(&[("path", "rr")]), "tcp-rr,udp-rr,rdma-write-rr");
    assert_eq!(names(&[("path", "udp-rr,tcp")]), "tcp,udp-rr");
    assert_eq!(names(&[("path", "rdma")]), rdma);
    assert_eq!(names(&[("path", "tcp, packets")]), "tcp,packets");
    assert_eq!(names(&[("path", "rdma-read")]), "rdma-read rocev2");
    let ib = "rdma-write ib,rdma-read ib,rdma-send ib,mpi ib,rdma-write-rr";
    assert_eq!(names(&[("link", "infiniband")]), ib);
}

#[test]
fn what_is_said_is_within_its_bounds() {
    let wrong = |more: &[(&str, &str)]| {
        try_with(more, &Calibration::default()).expect_err("wrong").to_string()
    };
    for (key, word, says) in [
        ("nic.gbps", "fast", "nic.gbps=fast is not a number"),
        ("nic.gbps", "-1", "nic.gbps=-1 is not a number"),
        ("memory.mts", "1", "memory.mts=1 is not"),
        ("nic.pcie", "16", "nic.pcie=16 is not GENERATIONxLANES"),
        ("nic.pcie", "0x16", "nic.pcie=0: 0 is not a whole number from 1"),
        ("nic.pcie", "3x3", "nic.pcie=3x3: PCI Express has 1, 2, 4, 8"),
        ("nic.pcie", "3x33", "nic.pcie=33: 33 is not"),
        ("nic.pcie", "3x16/64", "nic.pcie=64: 64 is not"),
        ("link", "token-ring", "link=token-ring is none of ethernet, infiniband"),
        ("nic.direct", "maybe", "nic.direct=maybe is none of yes, no"),
        ("nic.direct", "yes", "nic.direct=yes needs two processors"),
        ("nic.socket", "1", "nic.socket=1: there are 1 processors"),
        ("nic.socket", "x", "nic.socket=x is not a processor"),
        ("work.socket", "1", "work.socket=1: there are 1 processors"),
        ("sockets.links", "3", "sockets.links=3 is not LINKSxRATE"),
        ("sockets.links", "9x1", "sockets.links=9 is not"),
        ("memory.socket2", "1,1,1/1,1,1", "the next processor is memory.socket1"),
        ("memory.socket1", "1,1", "has 6 channels a socket"),
        ("memory.socket1", "1,1,x/0,0,0", "is not modules of each channel"),
        ("memory.socketN", "1", "memory.socketN: it is none of cpu, memory.socketN"),
        ("colour", "red", "colour: it is none of"),
    ] {
        let why = wrong(&[(key, word)]);
        assert!(why.contains(says), "{key}={word}: {why}");
    }
    let empty = engine(&[("memory.socket0", "0,0,0/0,0,0")]).server;
    assert_eq!(empty.runs(), Err(Refused::NoModules));
    assert_eq!(engine(&[]).server.runs(), Ok(()));
    let two = [("memory.socket1", "1,1,1/1,1,1"), ("nic.socket", "0,1"), ("nic.count", "3")];
    assert_eq!(wrong(&two), "nic.count=3, and nic.socket names 2");
    assert_eq!(engine(&[two[0], two[1], ("nic.count", "2")]).server.nics, [0, 1]);
    assert_eq!(engine(&[two[0], ("nic.socket", "1"), ("nic.count", "2")]).server.nics, [1, 1]);
    assert_eq!(engine(&[two[0], ("nic.direct", "yes")]).server.nics, [0, 1]);
    let slot = engine(&[("nic.pcie", "4x8")]).server.slot.expect("a slot");
    assert_eq!((slot.gts, slot.lanes, slot.payload), (16.0, 8, 256.0));
    // Ultra Path Interconnect of Cascade Lake-SP: 10.4 GT/s.
    assert!(engine(&[]).server.socket_links.is_some_and(|(_, gts, _)| gts == 10.4));
    let engine = engine(&[]);
    let known = [engine.server.mtu.value, engine.server.message.value, engine.server.frame.value];
    assert_eq!(known, [1500.0, 65_536.0, 64.0]);
    near(engine.server.channel_gb_s(), 23.464);
}

fn measured(value: f64) -> Measured {
    let (low, high) = (value * 0.9, value * 1.1);
    Measured { value, low, high, from: "a test".into() }
}

#[test]
fn what_was_measured_moves_the_parameter_that_held_it_back() {
    // Half of ln(1.1 / 0.9), and 0.02 from day to day.
    let half = ((1.1f64 / 0.9).ln() / 2.0).hypot(0.02);
    near(measured(5.0).half(), half);
    let wire = Calibration { tcp_gbps: Some(measured(80.0)), ..Calibration::default() };
    let even = engine(&[]);
    let found = even.parameters.clone().calibrated(&even.server, &wire);
    // Four streams are near the wire: that 80 Gb/s were reached is the wire's share then.
    let reached = found.tcp.reached.expect("a share of the wire");
    near(reached.share, 0.80 / 0.941_482);
    near(reached.half, half);
    assert_eq!(
        (reached.link_gbps, reached.from.to_string().as_str()),
        (100.0, "measured here: a test")
    );
    assert!(found.udp.reached.is_none() && found.tcp.memory_half.is_none());
    // One stream is not: it is the CPU that was slower than the table has it.
    let one = engine(&[("streams", "1")]);
    let slow = Calibration { tcp_gbps: Some(measured(20.0)), ..Calibration::default() };
    let found = one.parameters.clone().calibrated(&one.server, &slow);
    let alone = (20f64.powi(-5) - 94.1482f64.powi(-5)).powf(-0.2);
    // 0.56 cycles a byte, 300 a packet of 1448, 1500 a message of 64 KiB, at 3.6 GHz.
    let table = 8.0 * 3.6 / (0.56 + 300.0 / 1448.0 + 1500.0 / 65_536.0);
    near(found.tcp.cpu.expect("what the CPU did").by, alone / table);
    let memory = Calibration { udp_gbps: Some(measured(50.0)), ..Calibration::default() };
    let uneven = engine(&[("memory.socket0", "1,1,0/1,0,0")]);
    let found = uneven.parameters.clone().calibrated(&uneven.server, &memory);
    near(found.udp.theta.m, 8.0 * 0.71 * 23.464 / 50.0 / (1.0 - 0.129));
    near(found.udp.memory_half.expect("a range"), half);
    near(found.tcp.theta.m, 2.16);
    // Remote latency twice the local: 0.325 of the cost doubles; nearer than local is a slip.
    let remote = |ratio: f64| Calibration {
        remote_over_local: Some(measured(ratio)),
        ..Calibration::default()
    };
    near(try_with(&[], &remote(2.0)).expect("one").parameters.remote_loss.value, 1.325);
    near(try_with(&[], &remote(0.8)).expect("one").parameters.remote_loss.value, 1.0);
    // A copy of the one set of six channels: its share of 140.784 GB/s, if that can be.
    let copy =
        |gb_s: f64| Calibration { copy_gb_s: Some(measured(gb_s)), ..Calibration::default() };
    let eta = |gb_s: f64| even.parameters.clone().calibrated(&even.server, &copy(gb_s));
    near(eta(100.0).eta.value, 100.0 / 140.784);
    near(eta(100.0).eta_half.expect("a range"), half);
    assert!(
        eta(150.0).unused[0].contains("107 % of the channels' peak"),
        "{:?}",
        eta(150.0).unused
    );
    near(eta(10.0).eta.value, 0.71);
    assert!(!copy(1.0).is_empty() && Calibration::default().is_empty());
    let names: Vec<(String, &str)> =
        wire.all().into_iter().map(|(name, unit, _)| (name, unit)).collect();
    assert_eq!(names, [("TCP through the NIC".to_owned(), "Gb/s")]);
}

#[test]
fn what_is_bought_has_its_price() {
    let prices = [("dimm".to_owned(), 100.0), ("nic".to_owned(), 500.0)];
    let before = engine(&[("memory.socket0", "1,1,0/1,0,0")]);
    let cost = |after: &Predictor| prices::cost(&before.server, &after.server, &prices);
    let more = cost(&engine(&[("nic.count", "3")]));
    assert_eq!(more.total, 3.0 * 100.0 + 2.0 * 500.0);
    assert_eq!(more.parts, [("dimm".to_owned(), 3, 100.0), ("nic".to_owned(), 2, 500.0)]);
    let faster = cost(&engine(&[("memory.mts", "3200")]));
    assert_eq!(faster.total, 600.0);
    assert_eq!(cost(&before).total, 0.0);
    let slots = engine(&[("memory.socket1", "0,0,0/0,0,0"), ("nic.direct", "yes")]);
    assert_eq!(cost(&slots).parts[1], ("nic".to_owned(), 1, 500.0));
    let (was, is) = (before.reaches(), engine(&[]).reaches());
    let (says, gain) = prices::for_a_hundred(&cost(&engine(&[])), &was, &is).expect("a gain");
    assert_eq!(says, "Gb/s of tcp");
    near(gain, (is[0].value - 8.0 * 0.71 * 23.464 / 2.16) / 3.0);
    assert_eq!(prices::for_a_hundred(&cost(&before), &was, &was), None);
}

/// The root port's name says what it hangs on: DMI 2.0 is four lanes at 5 GT/s (data sheet of the
/// C200 series), of which 4 Gb/s each are left by 8b/10b.
#[test]
fn a_nic_behind_the_chipset_has_its_uplink_and_others_have_none() {
    let hop = |name: &str| {
        let link = PciLink { speed_gts: 8.0, width: 8, speed_max_gts: 8.0, width_max: 8 };
        PciHop { name: name.into(), link: Fact::known(link, "planted"), ..PciHop::default() }
    };
    let with = |path: Vec<PciHop>| {
        let mut host = Host::default();
        host.nics.push(Nic {
            name: "eth0".into(),
            physical: true,
            speed_bps: Fact::known(BitsPerSecond(100e9), "planted"),
            mtu_bytes: Fact::known(Bytes(1500), "planted"),
            path,
            ..Nic::default()
        });
        let engine = of_host(&host, &said(&[]), &Calibration::default()).expect("a server");
        engine.server.uplink.map(|slot| (slot.gts, slot.lanes, slot.payload))
    };
    let chipset = "6 Series/C200 Series Chipset Family PCI Express Root Port 1";
    assert_eq!(with(vec![hop(chipset), hop("a card")]), Some((5.0, 4, 128.0)));
    // On a bus behind a switch it is still the root port that counts.
    let deep = vec![hop(chipset), hop("a switch"), hop("a card")];
    assert_eq!(with(deep), Some((5.0, 4, 128.0)));
    let processor = "Sky Lake-E PCI Express Root Port A";
    assert_eq!(with(vec![hop(processor), hop("a card")]), None);
    // What is built into the chipset has no root port.
    assert_eq!(with(vec![hop(chipset)]), None);
}

/// What one stream of TCP, or several, can reach where nothing was measured, by processor.
#[test]
fn a_cpu_is_its_familys_cycles() {
    let of = |cpu: &str, more: &[(&str, &str)]| {
        let base =
            [("cpu", cpu), ("nic.gbps", "1600"), ("memory.copy_gb_s", "400"), ("path", "tcp")];
        let all = base.iter().chain(more).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let engine = of_host(&Host::default(), &all.collect(), &Calibration::default());
        let reach = engine.expect("a server").reaches().remove(0);
        reach.resources.into_iter().find(|one| one.name == ResourceName::Cpu).expect("cpu")
    };
    let one = ("streams", "1");
    // Sandy Bridge: 3.2 GHz and 0.72 of Skylake's work; 9000 B make packets cheap.
    let cycles = |payload: f64| 0.56 + 300.0 / payload + 1500.0 / 65_536.0;
    near(of("Xeon E5-2690 0", &[one]).value, 8.0 * 3.2 * 0.72 / cycles(1448.0));
    near(of("Xeon E5-2690 0", &[one, ("mtu", "9000")]).value, 8.0 * 3.2 * 0.72 / cycles(8948.0));
    // A clock that is said is used, and a call costs the more the shorter its message is.
    let said = of("Xeon E5-2690 0", &[one, ("cpu.ghz", "3.8"), ("message", "1500")]);
    near(said.value, 8.0 * 3.8 * 0.72 / (0.56 + 300.0 / 1448.0 + 1.0));
    // Four streams on two CPUs act as two to the power of 0.9.
    let two = of("Xeon E5-2690 0", &[("streams", "4"), ("cpu.count", "2")]);
    near(two.value / of("Xeon E5-2690 0", &[one]).value, 2f64.powf(0.9));
    let generations = ["Xeon E5-2690 0", "Xeon Gold 6140", "Xeon Gold 6342", "AMD EPYC 9654"];
    let rates = generations.map(|cpu| of(cpu, &[one]).value);
    assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
}

/// A wire that is far below what the CPUs can is filled; one close to it is not.
#[test]
fn the_kernel_reaches_what_framing_and_cpus_leave() {
    let of = |gbps: &str, streams: &str| {
        let reach = reach(&[("nic.gbps", gbps), ("streams", streams)], "tcp");
        assert!(reach.low <= reach.value && reach.value <= reach.high, "{reach:?}");
        reach.value / (0.941_482 * gbps.parse::<f64>().expect("a rate"))
    };
    assert!([of("1", "1"), of("10", "1")].iter().all(|share| *share > 0.998));
    assert!((of("100", "4") - 0.96).abs() < 0.01, "{}", of("100", "4"));
    assert!(of("100", "64") > 0.998 && of("400", "4") < 0.4);
}

/// A port that tells no rate still has the MTU that is asked about.
#[test]
fn a_rate_that_is_said_is_of_the_port_that_tells_none() {
    let card = Nic {
        name: "eth0".into(),
        physical: true,
        mtu_bytes: Fact::known(Bytes(1400), "planted"),
        ..Nic::default()
    };
    let host = Host { nics: vec![card], ..Host::default() };
    let engine = of_host(&host, &said(&[]), &Calibration::default()).expect("a server");
    assert_eq!(engine.server.mtu.value, 1400.0);
}
