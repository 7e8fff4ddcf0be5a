//! Rates of links, frames and memory beside figures worked out by hand from the standards.

use narrows_dimm::{interleave, platform};
use narrows_model::host::{Device, DeviceKind, Host, Module, Nic, Node, PciHop, PciLink, Slot};
use narrows_model::host::{Express, SlotPlace};
use narrows_model::result::ResourceName;
use narrows_model::{BitsPerSecond, Bytes, BytesPerSecond, Fact};
use narrows_predict::calibration::Calibration;
use narrows_predict::framing::{self, Rdma};
use narrows_predict::pcie::{Limit, links, packet_bps, raw_bps, smallest_packets};
use narrows_predict::{Resource, Said, bounds, dram, of_nic, pcie_paths, sockets};

fn near(is: f64, want: f64) {
    assert!((is / want - 1.0).abs() < 2e-4, "{is} is not {want}");
}

/// 8b/10b at 2.5 and 5 GT/s, 128b/130b from 8 to 32 GT/s, and FLITs of 256 bytes at 64 GT/s, of
/// which 14 are checks and, of the rest, 6 are the data link's (PCI Express base specification).
#[test]
fn pci_express_lanes_carry_what_their_coding_leaves() {
    for (gts, lanes, gbytes) in [
        (2.5, 1, 0.25),
        (2.5, 16, 4.0),
        (5.0, 8, 4.0),
        (8.0, 1, 0.98462),
        (8.0, 16, 15.7538),
        (16.0, 16, 31.5077),
        (32.0, 16, 63.0154),
        (64.0, 16, 121.0),
    ] {
        near(raw_bps(gts, lanes) / 8e9, gbytes);
    }
    near(packet_bps(64.0, 16, 256.0) / 8e9, 118.0);
}

/// Acknowledges are due after `(payload + 28) * factor / lanes + 19` symbols and the delay inside,
/// which is 51 more at 5 GT/s and 96 more at 8 (base specification 3.0, tables 3-7 to 3-9).
#[test]
fn acknowledges_come_at_the_specifications_intervals() {
    let factors = [[1.4, 1.4, 1.4, 2.5, 3.0, 3.0, 3.0], [1.4, 1.4, 1.4, 2.5, 3.0, 3.0, 3.0]];
    let factors = [factors[0], factors[1], [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]];
    for (gts, delay) in [(2.5, 19.0), (5.0, 70.0), (8.0, 115.0), (16.0, 115.0), (32.0, 115.0)] {
        for (payload, factors) in [128.0, 256.0, 512.0].into_iter().zip(factors) {
            for (lanes, factor) in [1u32, 2, 4, 8, 12, 16, 32].into_iter().zip(factors) {
                let symbols = (payload + 28.0) * factor / f64::from(lanes) + delay;
                let share = 1.0 - 16.0 / f64::floor(symbols) - 4.0 / 1538.0;
                near(packet_bps(gts, lanes, payload), raw_bps(gts, lanes) * share);
            }
        }
    }
    // Sizes and widths between are taken as the next.
    assert_eq!(packet_bps(8.0, 8, 1024.0), packet_bps(8.0, 8, 512.0));
    assert_eq!(packet_bps(8.0, 8, 300.0), packet_bps(8.0, 8, 256.0));
    near(packet_bps(8.0, 10, 256.0) / raw_bps(8.0, 10), 1.0 - 16.0 / 186.0 - 4.0 / 1538.0);
}

#[test]
fn smallest_packets_are_counted_with_all_that_goes_beside_them() {
    // 60 bytes of data: 24+60+24+16+24 in, 16+2.5+60+20 out, and a doorbell of 28, or 1/32 of it.
    let can = smallest_packets(8e9, 64.0);
    near(can.received, 1000.0 / 148.0);
    near(can.sent, 1000.0 / 126.5);
    near(can.sent_batched, 1000.0 / 99.375);
}

fn hop(address: &str, name: &str, now: (f64, u32), best: (f64, u32)) -> PciHop {
    let (speed_gts, width) = now;
    let link = PciLink { speed_gts, width, speed_max_gts: best.0, width_max: best.1 };
    PciHop {
        address: address.into(),
        name: name.into(),
        link: Fact::known(link, "test"),
        ..PciHop::default()
    }
}

fn nic(address: &str, root: &str, lanes: (f64, u32), mtu: u64) -> Nic {
    Nic {
        name: "eth0".into(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(25e9), "test"),
        mtu_bytes: Fact::known(Bytes(mtu), "test"),
        path: vec![hop("0000:00:01.0", root, lanes, lanes), hop(address, "", lanes, lanes)],
        ..Nic::default()
    }
}

/// What the slot of a card carries of TCP or UDP, least and most beside it, in Gb/s.
fn slot_of(card: &Nic, path: &str) -> Option<Resource> {
    let measured = Calibration::default();
    let server = of_nic(&Host::default(), Some(card), &Said::new(), &measured).expect("a server");
    let reach = server.reaches().into_iter().find(|reach| reach.path == path)?;
    reach.resources.into_iter().find(|one| one.name == ResourceName::Pcie)
}

/// 8 GT/s x8 leaves 57.88 Gb/s with 256 B (Neugebauer et al.); a frame of 1514 B goes in 6 packets,
/// beside which are a completion of 64 B and a descriptor of 16 at most, with 24 B each.
#[test]
fn frames_cross_a_slot_in_packets_with_headers() {
    let mut card = nic("0000:01:00.0", "", (8.0, 8), 1500);
    let tcp = slot_of(&card, "tcp").expect("a slot");
    near(tcp.value, 57.886 * 1448.0 / (1514.0 + 144.0));
    near(tcp.low, 56.672 * 1448.0 / (1514.0 + 288.0) * 1658.0 / (1658.0 + 128.0));
    // Nothing comes the other way: only the skips are lost.
    let one_way = 8.0 * 8.0 * 128.0 / 130.0 * (1.0 - 4.0 / 1538.0);
    near(tcp.high, one_way * 1448.0 / (1514.0 + 72.0));
    near(slot_of(&card, "udp").expect("a slot").value, 57.886 * 1472.0 / 1658.0);
    let jumbo = slot_of(&nic("a:00.0", "", (8.0, 8), 9000), "tcp").expect("a slot");
    near(jumbo.value, 57.886 * 8948.0 / (9014.0 + 36.0 * 24.0));
    assert_eq!(jumbo.says, "8 GT/s x8, payload 256 B");
    // Packets of 512 B that were read: no other size may be.
    let express = Express { max_payload_bytes: Bytes(512), ..Express::default() };
    card.path[1].express = Fact::known(express, "test");
    let read = slot_of(&card, "tcp").expect("a slot");
    near(read.value, 57.319 * 1448.0 / 1586.0);
    near(read.high, one_way * 1448.0 / 1586.0);
    near(links(&card.path, None)[0].payload_bps() / 1e9, 57.319 * 512.0 / 536.0);
    // Where only a rate is told: that of eight lanes of the third generation.
    card.path[1].link = Fact::absent("test");
    card.path[1].rate_bytes_per_second = Fact::known(BytesPerSecond(7.8769e9), "test");
    near(slot_of(&card, "tcp").expect("a slot").value, 57.319 * 1448.0 / 1586.0);
    near(links(&card.path, None)[0].payload_bps() / 1e9, 57.319 * 512.0 / 536.0);
    assert_eq!(links(&card.path, None)[0].says(), "7.88 GB/s");
    card.path.clear();
    assert_eq!(slot_of(&card, "tcp"), None);
}

#[test]
fn a_link_is_held_back_by_the_end_that_can_less() {
    let of = |upper: (f64, u32), lower: (f64, u32), now: (f64, u32)| {
        let path = [hop("p", "", now, upper), hop("d", "", now, lower)];
        let joint = &links(&path, None)[0];
        (joint.best().expect("both told"), joint.limit().expect("both told"))
    };
    // Lanes and speed count together: 5 GT/s x16 is 8 GB/s, 8 GT/s x4 is 3.9.
    assert_eq!(of((8.0, 4), (5.0, 16), (5.0, 4)), ((5.0, 4), Limit::Slot));
    assert_eq!(of((5.0, 16), (8.0, 4), (5.0, 4)), ((5.0, 4), Limit::Device));
    assert_eq!(of((16.0, 8), (16.0, 8), (8.0, 8)), ((16.0, 8), Limit::Training));
    assert_eq!(of((16.0, 8), (16.0, 8), (16.0, 4)), ((16.0, 8), Limit::Training));
    let words = [Limit::Training, Limit::Slot, Limit::Device, Limit::Neither].map(Limit::word);
    assert_eq!(words, ["training", "slot", "device", "neither end"]);
    // Alone it is its own best, and nothing is known of the other end.
    let alone = [hop("d", "", (8.0, 4), (8.0, 8))];
    let joint = &links(&alone, None)[0];
    assert_eq!((joint.best(), joint.limit()), (Some((8.0, 8)), Some(Limit::Training)));
    // One lane of 5 GT/s carries 4 Gb/s: believed of a port of 4 Gb/s and not of one of 10.
    let one = [hop("p", "", (5.0, 1), (5.0, 1)), hop("d", "", (5.0, 1), (5.0, 1))];
    assert_eq!([4e9, 10e9].map(|port| links(&one, Some(port)).len()), [1, 0]);
    let two = [hop("d", "Ethernet Connection", (5.0, 2), (5.0, 2))];
    assert_eq!(links(&two, Some(100e9)).len(), 1);
}

/// Ethernet adds 38 B a frame; IPv4 20, TCP 20 and 12 of time stamps, UDP 8.
#[test]
fn payload_is_what_headers_leave() {
    near(framing::tcp(9000.0, false), 8960.0 / 9038.0);
    near(framing::udp_full_frame(9000.0), 8972.0 / 9038.0);
    near(framing::udp(1500.0, 18.0), 18.0 / 84.0);
    // One byte more than fits: 1480 in the first fragment, 1 in the second.
    near(framing::udp(1500.0, 1473.0), 1473.0 / (1481.0 + 2.0 * 58.0));
    near(framing::udp(1500.0, 1472.0), 1472.0 / 1538.0);
    // An MTU of 1499 leaves fragments of 1472, the multiple of eight below 1479.
    near(framing::udp(1499.0, 2944.0), 2944.0 / (2952.0 + 3.0 * 58.0));
    // Room for 1441 B in 1501: iWARP fills up to four.
    near(framing::rdma(Rdma::Iwarp, 65_536.0, 1503.0), 1440.0 / 1541.0);
    near(framing::rdma(Rdma::Iwarp, 65_536.0, 9000.0), 8940.0 / 9038.0);
    near(framing::verb(Rdma::RoceV2, 4096.0, 1024.0, 0.0), 4096.0 / (4096.0 + 4.0 * 82.0));
    near(framing::verb(Rdma::InfiniBand, 4097.0, 4096.0, 8.0), 4097.0 / (4097.0 + 52.0 + 8.0));
    let sizes = [331.0, 588.0, 1099.0, 1100.0, 2123.0, 2124.0, 4171.0, 4172.0];
    let wants = [256.0, 512.0, 512.0, 1024.0, 1024.0, 2048.0, 2048.0, 4096.0];
    assert_eq!(sizes.map(framing::path_mtu), wants);
    near(framing::packets_per_second(100e9, 64.0), 148.8095e6);
    near(framing::packets_per_second(10e9, 1518.0), 812_743.8);
    near(framing::packets_per_second(10e9, 40.0), 14.88095e6);
}

fn slot(socket: u32, channel: &str, module: Option<(u64, Option<u32>)>) -> Slot {
    let place = SlotPlace { socket, channel: channel.into(), controller: None };
    let module = module.map(|(gib, configured_mts)| Module {
        size_bytes: Some(Bytes::gib(gib)),
        is_dram: true,
        configured_mts,
        ..Module::default()
    });
    Slot { at: Some(place), module, ..Slot::default() }
}

/// 8 bytes a transfer and channel (JEDEC): 2933 MT/s are 23.464 GB/s.
#[test]
fn channels_carry_eight_bytes_a_transfer() {
    let full = |socket, channel, mts| slot(socket, channel, Some((32, Some(mts))));
    let mut slots =
        vec![full(0, "A", 2933), full(0, "A", 2666), full(0, "B", 2933), full(1, "A", 3200)];
    slots.push(slot(1, "B", None));
    let peaks = dram::socket_peaks(&slots).expect("peaks");
    let of = |at: u32| (peaks[&at].channels, peaks[&at].rate_bytes_per_second.0);
    assert_eq!(of(0), (2, (2666.0 + 2933.0) * 8e6));
    assert_eq!(of(1), (1, 25.6e9));
    slots.push(slot(1, "C", Some((32, None))));
    assert!(dram::socket_peaks(&slots) == Err(dram::NoPeak::Speed));
    slots.last_mut().expect("one").module.as_mut().expect("one").is_dram = false;
    assert_eq!(dram::socket_peaks(&slots).expect("peaks").len(), 2);
}

/// A set waits for its slowest channel, and a channel for its slowest module.
#[test]
fn sets_run_at_their_slowest_module() {
    let cascade = platform::named("Xeon Gold 6248").expect("a platform");
    let of = |speeds: [Option<u32>; 6]| {
        let slots: Vec<Slot> = speeds
            .iter()
            .enumerate()
            .map(|(at, mts)| slot(0, &at.to_string(), Some((32, *mts))))
            .collect();
        let mut sets = interleave::sets(&slots, cascade, 1).expect("sets");
        sets.by_socket.remove(&0).expect("one").remove(0)
    };
    let slow = of([2933, 2933, 2666, 2933, 2933, 2933].map(Some));
    assert_eq!(slow.peak_bytes_per_second, Some(BytesPerSecond(6.0 * 2666.0 * 8e6)));
    assert_eq!((slow.ways(), slow.size_bytes, slow.cluster), (6, Bytes::gib(192), 0));
    let unknown = of([Some(2933), None, Some(2933), Some(2933), Some(2933), Some(2933)]);
    assert_eq!(unknown.peak_bytes_per_second, None);
    // Two modules in each channel, the second slower, and one of them not told.
    let two = |second: Option<u32>| {
        let slots: Vec<Slot> = (0..12)
            .map(|at| {
                slot(
                    0,
                    &(at / 2).to_string(),
                    Some((16, if at % 2 == 0 { Some(2933) } else { second })),
                )
            })
            .collect();
        let sets = interleave::sets(&slots, cascade, 1).expect("sets");
        sets.by_socket[&0][0].peak_bytes_per_second
    };
    assert_eq!(two(Some(2400)), Some(BytesPerSecond(6.0 * 2400.0 * 8e6)));
    assert_eq!(two(None), None);
}

/// Nodes with memory and processors for each socket; else the dies (Naples has four).
#[test]
fn a_socket_is_split_as_its_nodes_are() {
    let naples = platform::named("AMD EPYC 7601").expect("a platform");
    let of = |nodes: &[(bool, u64)], sockets: usize| {
        let node = |(cpus, gib): &(bool, u64)| Node {
            cpus: if *cpus { vec![0] } else { Vec::new() },
            memory_bytes: Fact::known(Bytes::gib(*gib), "test"),
            ..Node::default()
        };
        let host = Host { nodes: nodes.iter().map(node).collect(), ..Host::default() };
        interleave::clusters(&host, naples, sockets)
    };
    assert_eq!(of(&[(true, 32); 2], 2), 1);
    assert_eq!(of(&[(true, 32); 4], 2), 2);
    assert_eq!(of(&[(true, 32); 3], 2), 4);
    assert_eq!(of(&[(true, 32)], 2), 4);
    assert_eq!(of(&[(true, 32), (true, 0), (false, 32)], 1), 1);
    assert_eq!(of(&[], 2), 4);
}

/// Sapphire Rapids: four controllers of two channels; boards number all four.
#[test]
fn controllers_are_grouped_as_they_interleave() {
    let sapphire = platform::named("Xeon Gold 5416S").expect("a platform");
    assert_eq!((sapphire.numbered(), sapphire.channels_per_socket()), ((4, 2), 8));
    let groups = [0, 1, 2, 3, 4].map(|number| sapphire.group_of(number));
    assert_eq!(groups, [Some(0), Some(0), Some(1), Some(1), None]);
    let cascade = platform::named("Xeon Platinum 8280").expect("a platform");
    assert_eq!((cascade.numbered(), cascade.channels_per_socket(), cascade.dies), ((2, 3), 6, 1));
    let mut host = Host::default();
    assert_eq!(platform::of(&host), None);
    host.cpu.model = Fact::known("AMD EPYC 7601 32-Core Processor".to_owned(), "test");
    assert_eq!(platform::of(&host).map(|one| one.name.as_str()), Some("Naples"));
}

#[test]
fn kernel_sockets_take_m_bytes_of_the_narrowest_set() {
    let theta = sockets::Theta { kappa: 1.0, m: 2.0, g: 0.5, r: 0.1, q: 0.2, x: 0.25 };
    let of = |near: &[usize], far: bool, sockets: usize, udp: bool| {
        let pages = sockets::Pages { near, far, sockets, channel_gb_s: 20.0 };
        theta.memory_gbps(&pages, udp, 0.7)
    };
    // 8 x 0.7 x 20 / 2 = 56 Gb/s a channel.
    near(of(&[2], false, 1, false), 112.0);
    near(of(&[4, 1], false, 1, false), 56.0);
    near(of(&[4, 1], false, 1, true), 56.0 / 0.9);
    near(of(&[4], true, 2, true), 224.0 / 0.8 / 0.75);
    near(of(&[4], true, 2, false), 448.0 / 0.75);
    near(of(&[1], false, 2, false), 112.0);
    assert_eq!(of(&[], false, 1, false), 0.0);
}

fn device(nic: &Nic, address: &str) -> Device {
    Device {
        kind: DeviceKind::Network,
        address: address.into(),
        names: Vec::new(),
        driver: Fact::default(),
        node: Fact::default(),
        is_virtual: false,
        path: nic.path.clone(),
    }
}

/// Direct media interface 3.0 is 8 GT/s x4, 2.0 is 5 GT/s x4, the first 2.5 GT/s x4.
#[test]
fn chipsets_share_their_uplink() {
    let uplink = |name: &str| pcie_paths::uplink(&hop("r", name, (8.0, 4), (8.0, 4)));
    let of = |gts: f64| pcie_paths::Uplink::Chipset { link: Some((gts, 4)) };
    assert_eq!(uplink("82801JI (ICH10 Family) PCI Express Root Port 1"), of(2.5));
    assert_eq!(uplink("C610/X99 series chipset PCI Express Root Port"), of(5.0));
    assert_eq!(uplink("C620 Series Chipset Family PCI Express Root Port"), of(8.0));
    assert_eq!(uplink("Tiger Lake PCH-H Root Port"), pcie_paths::Uplink::Chipset { link: None });
    assert_eq!(uplink("Xeon E7 v4 PCI Express Root Port 1"), pcie_paths::Uplink::Processor);
    let mut host = Host::default();
    for address in ["0000:02:00.0", "0000:03:00.0"] {
        let card = nic(address, "C620 Series Chipset Family", (8.0, 4), 1500);
        host.devices.push(device(&card, address));
        host.nics.push(card);
    }
    let mut disk = host.devices[0].clone();
    disk.address = "0000:04:00.0".into();
    disk.path[1].address.clone_from(&disk.address);
    host.devices.push(disk);
    let paths = pcie_paths::pcie_paths(&host);
    let shared = pcie_paths::shared(&paths);
    // All three share the uplink; no slot ends at the same device.
    assert_eq!(shared.len(), 1, "{shared:?}");
    let link = &shared[0];
    assert_eq!((link.devices.len(), link.ports_bps, link.others), (3, 50e9, 1));
    // 31.508 Gb/s, acknowledges every 169 symbols of packets of 128 B, headers of 24.
    let payload = 31.5077e9 * (1.0 - 16.0 / 169.0 - 4.0 / 1538.0) * 128.0 / 152.0;
    near(link.payload_bps.expect("known"), payload);
    assert_eq!(paths[0].slowest().map(|joint| joint.lower.address.as_str()), Some("0000:02:00.0"));
}

#[test]
fn bounds_hold_at_their_ends_and_say_what_they_are() {
    assert_eq!(bounds::LANES.check(32.0), Ok(32.0));
    assert_eq!(bounds::LANES.check(1.0), Ok(1.0));
    let said = |result: Result<f64, bounds::OutOfBounds>| result.expect_err("too much").to_string();
    let lanes = "PCI Express base specification: x1 to x32";
    assert_eq!(
        said(bounds::LANES.check(33.0)),
        format!("33 is not a whole number from 1 to 32 ({lanes})")
    );
    assert_eq!(
        said(bounds::LANES.check(1.5)),
        format!("1.5 is not a whole number from 1 to 32 ({lanes})")
    );
    assert_eq!(bounds::SHARE.check(0.5), Ok(0.5));
    assert_eq!(said(bounds::SHARE.check(1.01)), "1.01 is not a number from 0 to 1 (a share)");
    assert!(said(bounds::PAYLOAD.check(64.0)).contains("from 128 to 4096 B (PCI"));
    assert!(bounds::GT_S.check(f64::NAN).is_err());
}
