//! Paths inside a host, and the study that is made of them.

use narrows_model::host::{CpuPlace, Device, DeviceKind, Host, Nic, Node, RdmaDevice, RdmaPort};
use narrows_model::load::{Bind, Role};
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::{Bytes, Fact};
use narrows_plan::paths::{NoPaths, Paths, Unmeasured, Wanted};
use narrows_plan::study::{Definition, Ends, Planned, cells, trials};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// So many nodes of two CPUs each, and an RDMA device at each of these nodes.
fn host(nodes: u32, devices: &[u32]) -> Host {
    let mut host = Host::default();
    let all: Vec<u32> = (0..2 * nodes).collect();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu / 2) };
    host.cpu.places = all.iter().copied().map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known(all.clone()), known(all));
    let distance = |from: u32, to: u32| if from == to { 10 } else { 10 + 11 * from.abs_diff(to) };
    let node = |id: u32| Node {
        id,
        cpus: vec![2 * id, 2 * id + 1],
        memory_bytes: known(Bytes::gib(8)),
        distances: known((0..nodes).map(|to| distance(id, to)).collect()),
        ..Node::default()
    };
    host.nodes = (0..nodes).map(node).collect();
    let device = |(number, node): (usize, &u32)| RdmaDevice {
        name: format!("mlx5_{number}"),
        node: known(*node),
        ports: vec![RdmaPort { number: 1, state: known("ACTIVE".into()), ..RdmaPort::default() }],
        ..RdmaDevice::default()
    };
    host.rdma = devices.iter().enumerate().map(device).collect();
    let nic = |name: &str| Nic { name: name.into(), physical: true, ..Nic::default() };
    host.nics = vec![nic("eth0"), nic("eth1")];
    host
}

fn wanted(minutes: f64) -> Wanted {
    let (devices, cable, buffer) = (Vec::new(), None, None);
    Wanted { minutes, seconds: 0.5, repeats: 10, devices, cable, buffer, sleeps: false }
}

fn names(paths: &Paths) -> Vec<String> {
    paths.chosen.iter().map(narrows_plan::paths::Path::name).collect()
}

/// The study's trials where both ends are on this host.
fn planned(paths: &Paths, host: &Host) -> Vec<Planned> {
    let definition = Definition::parse(&paths.definition).expect("a definition");
    let ends = Ends { host, peers: &[], path: NetworkPath::Namespaces, interface: None };
    trials(&cells(&definition).expect("cells"), &ends).expect("trials")
}

fn nodes(trial: &Trial) -> Vec<(Vec<u32>, Option<u32>)> {
    let of =
        |role| trial.ends_of(role).next().map(|end| (end.place.cpus.0.clone(), end.place.node));
    [Role::Sender, Role::Receiver].into_iter().filter_map(of).collect()
}

#[test]
fn two_nodes_and_two_devices_make_four_loops_and_two_ways_across() {
    let host = host(2, &[0, 1]);
    let paths = Paths::of(&wanted(60.0), &host).expect("paths");
    let own = ["mlx5_0, node 0", "mlx5_1, node 1"];
    let other = ["mlx5_0, node 1", "mlx5_1, node 0"];
    assert_eq!(names(&paths), [own, other, ["mlx5_0 > mlx5_1", "mlx5_1 > mlx5_0"]].concat());
    assert_eq!(paths.unmeasured, [Unmeasured::NoCable]);
    let planned = planned(&paths, &host);
    assert_eq!(planned.len(), 18, "three tests each");
    for (trial, why) in &planned {
        assert_eq!((trial.path, why), (NetworkPath::Devices, &None), "{}", trial.label);
    }
    let of = |path: &str| &planned.iter().find(|(t, _)| t.level("path") == Some(path)).unwrap().0;
    let rdma = |path: &str| of(path).params.rdma.clone().expect("devices");
    let far = rdma("mlx5_0, node 1");
    assert_eq!(far.sender.device.as_deref(), Some("mlx5_0"));
    assert_eq!(far.receiver, far.sender, "loop-back");
    // Both ends on the memory's node, a CPU each first.
    let node_1 = |cpus| (cpus, Some(1));
    assert_eq!(nodes(of("mlx5_0, node 1")), [node_1(vec![2, 3]), node_1(vec![3, 2])]);
    let across = rdma("mlx5_1 > mlx5_0");
    assert_eq!(across.sender.device.as_deref(), Some("mlx5_1"));
    assert_eq!(across.receiver.device.as_deref(), Some("mlx5_0"));
    let sent = (vec![2, 3], Some(1));
    assert_eq!(nodes(of("mlx5_1 > mlx5_0")), [sent, (vec![0, 1], Some(0))]);
}

#[test]
fn one_device_and_one_node_say_what_there_is_no_other_of() {
    let mut host = host(1, &[0]);
    let disk = Device {
        kind: DeviceKind::Storage,
        address: "0000:01:00.0".into(),
        names: Vec::new(),
        driver: Fact::default(),
        node: Fact::default(),
        is_virtual: false,
        path: Vec::new(),
    };
    host.devices.push(disk);
    let paths = Paths::of(&wanted(10.0), &host).expect("paths");
    assert_eq!(names(&paths), ["mlx5_0, node 0"]);
    let only = Unmeasured::OneDevice("mlx5_0".into());
    let whys = [Unmeasured::NoCable, Unmeasured::OneNode, only, Unmeasured::Others(1)];
    assert_eq!(paths.unmeasured, whys);
    for why in &paths.unmeasured {
        let says = why.says();
        assert!(says.contains("(hint: ") && !says.contains('\n'), "{says}");
        assert!(paths.definition.contains(&format!("Not measured: {says}.")), "{says}");
    }
}

#[test]
fn without_a_device_or_a_cable_there_is_nothing_and_why() {
    let bare = host(2, &[]);
    let why = Paths::of(&wanted(10.0), &bare).expect_err("nothing");
    assert_eq!(why, NoPaths::Nothing(vec![Unmeasured::NoDevice, Unmeasured::NoCable]));
    assert!(
        why.to_string()
            .ends_with("no RDMA device; packets from port to port, since no cable is named")
    );
    let mut down = host(1, &[0]);
    down.rdma[0].ports[0].state = known("DOWN".into());
    let why = Paths::of(&wanted(10.0), &down).expect_err("nothing");
    let of = vec![Unmeasured::Down("mlx5_0".into()), Unmeasured::NoCable];
    assert_eq!(why, NoPaths::Nothing(of));
    let other = Wanted { devices: vec!["mlx5_7".into()], ..wanted(10.0) };
    assert_eq!(Paths::of(&other, &bare), Err(NoPaths::NoDevice("mlx5_7".into())));
}

#[test]
fn a_cable_is_measured_both_ways_and_by_packets_alone() {
    let cable = Some(["eth0", "eth1"].map(str::to_owned));
    let bare = host(2, &[]);
    let paths = Paths::of(&Wanted { cable: cable.clone(), ..wanted(10.0) }, &bare).expect("paths");
    let planned_of = |paths: &Paths, host: &Host| {
        let all = planned(paths, host);
        let cables = all.iter().filter(|(trial, _)| trial.path == NetworkPath::Cable);
        let bound = |trial: &Trial| trial.controllers().and_then(|end| end.bind.clone());
        let bound: Vec<Option<Bind>> = cables.map(|(trial, _)| bound(trial)).collect();
        (all.len(), bound)
    };
    let both = ["eth0,eth1", "eth1,eth0"].map(Bind::of_ports).to_vec();
    assert_eq!(planned_of(&paths, &bare), (2, both.clone()));
    let with = host(1, &[0]);
    let paths = Paths::of(&Wanted { cable, ..wanted(10.0) }, &with).expect("paths");
    assert_eq!(planned_of(&paths, &with), (5, both), "packets of the cable, verbs of the device");
    let odd = Wanted { cable: Some(["eth0", "eth9"].map(str::to_owned)), ..wanted(10.0) };
    assert_eq!(Paths::of(&odd, &with), Err(NoPaths::NoPort("eth9".into())));
}

#[test]
fn what_does_not_fit_the_time_is_counted() {
    let host = host(2, &[0, 1]);
    // Three tests of ten runs of 1.2 s: 36 s a path.
    let paths = Paths::of(&wanted(2.5), &host).expect("paths");
    assert_eq!(names(&paths).len(), 4, "the loops");
    assert_eq!(paths.unmeasured.last(), Some(&Unmeasured::LeftOut { paths: 2, whole: 6 }));
    let short = Paths::of(&wanted(1.0), &host);
    assert!(matches!(short, Err(NoPaths::TooShort { paths: 2, .. })), "{short:?}");
}

/// A node of memory alone, as CXL's are, has its buffers and no thread.
#[test]
fn a_node_without_cpus_has_the_buffers_and_the_devices_node_the_threads() {
    let mut host = host(2, &[0]);
    host.nodes[1].cpus.clear();
    host.cpu.places.retain(|place| place.node == Some(0));
    (host.cpu.online, host.cpu.allowed) = (known(vec![0, 1]), known(vec![0, 1]));
    let paths = Paths::of(&wanted(10.0), &host).expect("paths");
    assert!(paths.unmeasured.contains(&Unmeasured::NoCpu(1)));
    let planned = planned(&paths, &host);
    let far = planned.iter().find(|(trial, _)| trial.level("path") == Some("mlx5_0, node 1"));
    assert_eq!(nodes(&far.expect("a path").0)[0], (vec![0, 1], Some(1)));
}
