//! One host of several sources: which of them is believed, and what is kept where they differ.

use narrows_host::parts::{PartialHost, join};
use narrows_model::host::{
    CpuCounts, CpuPlace, CpuSocket, Device, DeviceKind, Host, Module, Nic, Node, PciHop, PciLink,
    RdmaDevice, Slot, Topic,
};
use narrows_model::{BitsPerSecond, Bytes, Fact, Source};

/// What a program says of a host.
fn part(program: &'static str, tell: impl FnOnce(&mut Host, &str)) -> PartialHost {
    let mut part = PartialHost::of(program, program);
    tell(&mut part.host, program);
    part
}

fn joined(parts: Vec<PartialHost>) -> Host {
    join(parts).expect("one host")
}

/// What it is of, the topic, and each value with its source.
type Difference<'a> = (Option<&'a str>, Topic, Vec<(&'a str, &'a str)>);

/// What the sources say differently.
fn differences(host: &Host) -> Vec<Difference<'_>> {
    host.disagreements
        .iter()
        .map(|one| {
            let said = one.said.iter().map(|said| (said.value.as_str(), said.from.0.as_str()));
            (one.of.as_deref(), one.topic, said.collect())
        })
        .collect()
}

#[test]
fn the_kernels_own_view_is_believed_before_programs_in_any_order() {
    let kernel = |program, release: &'static str| {
        part(program, |host, from| host.kernel = Fact::known(release.to_owned(), from))
    };
    for parts in [
        vec![kernel("redfish", "6.9"), kernel("lshw", "6.8"), kernel("machine", "6.7")],
        vec![kernel("machine", "6.7"), kernel("redfish", "6.9"), kernel("lshw", "6.8")],
    ] {
        let host = joined(parts);
        assert_eq!(host.kernel.value().map(String::as_str), Some("6.7"));
        let said = vec![("6.7", "machine"), ("6.8", "lshw"), ("6.9", "redfish")];
        assert_eq!(differences(&host), [(None, Topic::Kernel, said)]);
    }
}

#[test]
fn a_reason_says_more_than_what_nobody_has() {
    let product = |program, fact: Fact<String>| part(program, |host, _| host.product = fact);
    let denied = || Fact::Denied { from: Source("/dmi".to_owned()) };
    let host = joined(vec![product("lshw", denied()), product("ip", Fact::absent("nobody"))]);
    assert_eq!(host.product, denied());
    let known = || Fact::known("Server".to_owned(), "redfish");
    let host = joined(vec![product("machine", denied()), product("redfish", known())]);
    assert_eq!(host.product, known());
}

#[test]
fn memory_differs_beyond_two_per_cent() {
    let total = |program, bytes| {
        part(program, |host, from| host.memory.total_bytes = Fact::known(Bytes(bytes), from))
    };
    let of = |here, there| joined(vec![total("machine", here), total("lshw", there)]);
    assert_eq!(differences(&of(98_000, 100_000)), []);
    let apart = of(97_999 << 20, 100_000 << 20);
    let said = vec![("95.7 GiB", "machine"), ("97.7 GiB", "lshw")];
    assert_eq!(differences(&apart), [(None, Topic::MemoryBytes, said)]);
    let module = |gib| Slot {
        module: Some(Module {
            size_bytes: Some(Bytes::gib(gib)),
            is_dram: true,
            ..Module::default()
        }),
        ..Slot::default()
    };
    let flash = Slot { module: Some(Module::default()), ..Slot::default() };
    let slots = |program, slots: Vec<Slot>| {
        part(program, |host, from| host.memory.slots = Fact::known(slots, from))
    };
    // Names of slots are each source's own: sizes and their numbers are compared.
    let named = Slot { locator: "A1".to_owned(), ..module(32) };
    let same = joined(vec![
        slots("dmidecode", vec![named, module(16), flash]),
        slots("redfish", vec![module(16), module(32)]),
    ]);
    assert_eq!(differences(&same), []);
    let fewer = joined(vec![
        slots("dmidecode", vec![module(32), module(16), module(16)]),
        slots("redfish", vec![module(16)]),
    ]);
    let said = vec![("2 of 16 GiB, 1 of 32 GiB", "dmidecode"), ("1 of 16 GiB", "redfish")];
    assert_eq!(differences(&fewer), [(None, Topic::Modules, said)]);
}

#[test]
fn processors_are_placed_by_each_source_and_counted_where_none_places_them() {
    let place = |cpu, package, core, node| CpuPlace { cpu, package, die: None, core, node };
    let places = |program, places: Vec<CpuPlace>| part(program, |host, _| host.cpu.places = places);
    let host = joined(vec![
        places("lscpu", vec![place(1, Some(0), None, None), place(0, None, Some(7), Some(0))]),
        places(
            "hwloc",
            vec![place(0, Some(1), Some(8), Some(1)), place(1, Some(9), Some(3), None)],
        ),
    ]);
    let wanted = [place(0, Some(1), Some(7), Some(0)), place(1, Some(0), Some(3), None)];
    assert_eq!(host.cpu.places, wanted);
    let counts = |program, sockets, cores| {
        part(program, |host, from| {
            host.cpu.counts = Fact::known(CpuCounts { sockets, cores }, from);
        })
    };
    let sockets = |populated: [bool; 2]| {
        let socket = |populated| CpuSocket { populated, ..CpuSocket::default() };
        let sockets = populated.map(socket).to_vec();
        part("dmidecode", |host, from| host.cpu.sockets = Fact::known(sockets, from))
    };
    let two = joined(vec![counts("lscpu", 2, 16), sockets([true, true])]);
    assert_eq!(differences(&two), []);
    let one = joined(vec![counts("lscpu", 2, 16), sockets([true, false])]);
    let said = vec![("2", "lscpu"), ("1", "dmidecode")];
    assert_eq!(differences(&one), [(None, Topic::Sockets, said)]);
    let none = joined(vec![counts("lscpu", 2, 16), sockets([false, false])]);
    assert_eq!(differences(&none), [], "firmware that fills no socket says nothing");
}

#[test]
fn nodes_are_in_order_and_their_memory_is_compared() {
    let node = |id, bytes, from: &str| Node {
        id,
        memory_bytes: Fact::known(Bytes(bytes), from),
        ..Node::default()
    };
    let nodes = |program, list: Vec<(u32, u64)>| {
        part(program, |host, from| {
            host.nodes = list.into_iter().map(|(id, bytes)| node(id, bytes, from)).collect();
        })
    };
    let host = joined(vec![
        nodes("lscpu", vec![(1, 1 << 30)]),
        nodes("numactl", vec![(0, 1 << 30), (1, 3 << 30)]),
    ]);
    let ids: Vec<u32> = host.nodes.iter().map(|node| node.id).collect();
    assert_eq!(ids, [0, 1]);
    let said = vec![("1 GiB", "lscpu"), ("3 GiB", "numactl")];
    assert_eq!(differences(&host), [(Some("node 1"), Topic::MemoryBytes, said)]);
}

#[test]
fn an_interface_is_told_by_its_name_and_differs_by_topic() {
    let nic = |from: &str, state: &str, gbps: f64, mtu| Nic {
        name: "eth0".to_owned(),
        state: Fact::known(state.to_owned(), from),
        speed_bps: Fact::known(BitsPerSecond(gbps * 1e9), from),
        mtu_bytes: Fact::known(Bytes(mtu), from),
        ..Nic::default()
    };
    let of = |program, state: &'static str, gbps, mtu| {
        part(program, move |host, from| host.nics = vec![nic(from, state, gbps, mtu)])
    };
    let host = joined(vec![of("ip", "unknown", 25.0, 9000), of("lshw", "up", 10.0, 1500)]);
    let [nic] = &host.nics[..] else { panic!("{:?}", host.nics) };
    // What a driver without a carrier's state answers is no state.
    assert_eq!(nic.state.value().map(String::as_str), Some("up"));
    assert_eq!(
        (nic.speed_bps.value(), nic.mtu_bytes.value()),
        (Some(&BitsPerSecond(25e9)), Some(&Bytes(9000)))
    );
    let speed = (Some("eth0"), Topic::Speed, vec![("25.0 Gb/s", "ip"), ("10.0 Gb/s", "lshw")]);
    let mtu = (Some("eth0"), Topic::Mtu, vec![("9000 B", "ip"), ("1500 B", "lshw")]);
    assert_eq!(differences(&host), [speed, mtu]);
    let host = joined(vec![of("ip", "up", 25.0, 9000), of("lshw", "down", 25.0, 9000)]);
    let state = (Some("eth0"), Topic::State, vec![("up", "ip"), ("down", "lshw")]);
    assert_eq!(differences(&host), [state]);
}

#[test]
fn a_link_that_two_see_differently_is_shown_now_and_at_most() {
    let nic = |program, width| {
        part(program, move |host, from| {
            let link = PciLink { speed_gts: 8.0, width, speed_max_gts: 16.0, width_max: 16 };
            let hop = PciHop {
                address: "0000:3b:00.0".to_owned(),
                link: Fact::known(link, from),
                ..PciHop::default()
            };
            let (name, path) = ("0000:3b:00.0".to_owned(), vec![hop.clone()]);
            host.nics = vec![Nic { name, path, ..Nic::default() }];
            let device = Device {
                kind: DeviceKind::Network,
                address: "0000:3b:00.0".to_owned(),
                names: Vec::new(),
                driver: Fact::default(),
                node: Fact::default(),
                is_virtual: false,
                path: vec![hop],
            };
            host.devices = vec![device];
        })
    };
    let host = joined(vec![nic("lspci", 8), nic("lshw", 4)]);
    let said = vec![("8 GT/s x8 of 16 GT/s x16", "lspci"), ("8 GT/s x4 of 16 GT/s x16", "lshw")];
    assert_eq!(differences(&host), [(Some("0000:3b:00.0"), Topic::Link, said)]);
    assert_eq!(host.devices[0].path[0].link.value().map(|link| link.width), Some(8));
}

/// A function with a link of so many lanes; of a link of none nothing is known.
fn hop(address: &str, width: u32) -> PciHop {
    let link = PciLink { speed_gts: 8.0, width, speed_max_gts: 8.0, width_max: 16 };
    let link = if width > 0 { Fact::known(link, "seen") } else { Fact::default() };
    PciHop { address: address.to_owned(), link, ..PciHop::default() }
}

/// An interface and a function of two sources, each with its way.
fn nic_and_function(nic: Vec<PciHop>, function: Vec<PciHop>, names: &[&str]) -> Host {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let device = Device {
        kind: DeviceKind::Network,
        address: function.last().expect("an end").address.clone(),
        names,
        driver: Fact::known("mlx5_core".to_owned(), "lspci"),
        node: Fact::known(1, "lspci"),
        is_virtual: false,
        path: function,
    };
    joined(vec![
        part("ip", |host, _| {
            host.nics = vec![Nic { name: "eth0".to_owned(), path: nic, ..Nic::default() }];
        }),
        part("lspci", |host, _| host.devices = vec![device]),
        part("machine", |host, _| {
            let rdma = |name: &str, address: &str| RdmaDevice {
                name: name.to_owned(),
                address: Some(address.to_owned()),
                kind: Fact::default(),
                firmware: Fact::default(),
                node: Fact::default(),
                ports: Vec::new(),
            };
            host.rdma = vec![rdma("mlx5_0", "0000:3b:00.0"), rdma("mlx5_1", "0000:5e:00.0")];
        }),
    ])
}

#[test]
fn an_interface_has_what_its_function_is_and_the_function_their_names() {
    let (root, end) = ("0000:3a:00.0", "0000:3b:00.0");
    let ways = |nic: Vec<PciHop>, function: Vec<PciHop>| {
        nic_and_function(nic, function, &[]).nics[0].path.clone()
    };
    let long = vec![hop(root, 16), hop(end, 8)];
    assert_eq!(ways(vec![hop(end, 4)], long.clone()), long, "the longer one");
    assert_eq!(ways(vec![hop(end, 4)], vec![hop(end, 8)]), [hop(end, 4)], "its own, as long");
    assert_eq!(ways(long.clone(), vec![hop(end, 4)]), long);
    assert_eq!(ways(vec![hop(end, 0)], vec![hop(end, 8)]), [hop(end, 8)], "the one with links");
    for names in [&[][..], &["eth0"], &["eth0", "mlx5_0"]] {
        let host = nic_and_function(vec![hop(end, 4)], vec![hop(end, 8)], names);
        let nic = &host.nics[0];
        assert_eq!((nic.physical, nic.node.value()), (true, Some(&1)));
        assert_eq!(nic.driver.value().map(String::as_str), Some("mlx5_core"));
        assert_eq!(host.devices[0].names, ["eth0", "mlx5_0"], "once each");
    }
    let apart = nic_and_function(vec![hop(root, 4)], vec![hop(end, 8)], &[]);
    assert_eq!((apart.nics[0].physical, apart.nics[0].node.value()), (false, None));
    assert_eq!(
        (&apart.nics[0].path[0], &apart.devices[0].names[..]),
        (&hop(root, 4), &["mlx5_0".to_owned()][..])
    );
}
