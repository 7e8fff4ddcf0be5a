//! What differs between a path that is slow and its like: what is planted is told, and no other.

#[path = "../../stats/tests/inside/mod.rs"]
mod inside;

use inside::{Planted, QUIET, even, host, known, link, simulated};
use narrows_explain::paths::{Beside, SlowPath, slow_paths};
use narrows_model::host::{Acs, Device, DeviceKind, Host};
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Fact};
use narrows_stats::{InsidePath, paths, summarise};

fn half(path: &str, metric: Metric) -> f64 {
    let is_it = path == "mlx5_1, node 1" && metric.larger_is_better();
    if is_it { 0.5 } else { even(path, metric) }
}

/// The paths of this host that are named, where its second device has half the rate.
fn named(host: &Host) -> Vec<SlowPath> {
    let study = simulated(host, Planted { times: half, ..QUIET });
    slow_paths(host, &paths(&study, &summarise(&study)))
}

fn the_one(host: &Host) -> Beside {
    let mut named = named(host);
    assert_eq!(named.len(), 1, "{named:?}");
    named.remove(0).beside
}

fn told(beside: &Beside) -> Vec<String> {
    let of = |one: &narrows_explain::paths::Differing| {
        format!("{}: {} / {}", one.what, one.slow, one.like)
    };
    beside.differs.iter().map(of).collect()
}

#[test]
fn with_facts_alike_only_the_node_differs() {
    let named = named(&host());
    let [slow] = named.as_slice() else { panic!("{named:?}") };
    let loop_of = |device: &str, node| InsidePath::Loop { device: device.into(), node: Some(node) };
    assert_eq!((&slow.path, &slow.like), (&loop_of("mlx5_1", 1), &loop_of("mlx5_0", 0)));
    // Writes and reads; its times are those of its like.
    assert_eq!(slow.tests, [(0, 1), (1, 1)]);
    assert_eq!(told(&slow.beside), [""; 0]);
    assert_eq!(slow.beside.nodes, Some(["1 to 1", "0 to 0"].map(str::to_owned)));
    // Of a made host nobody read these.
    assert_eq!(slow.beside.unread, ["driver", "rate of the port", "queueing discipline"]);
}

#[test]
fn each_fact_that_differs_is_told_alone() {
    let told_of = |change: fn(&mut Host)| {
        let mut host = host();
        change(&mut host);
        told(&the_one(&host))
    };
    assert_eq!(
        told_of(|host| host.nics[1].path[1].link = link(8.0, 8)),
        ["link: 8 GT/s x8 of 16 GT/s x16 / 16 GT/s x16 of 16 GT/s x16",]
    );
    let express = |host: &mut Host, change: fn(&mut narrows_model::host::Express)| {
        let mut set = *host.nics[1].path[1].express.value().expect("a setting");
        change(&mut set);
        host.nics[1].path[1].express = known(set);
    };
    let with = |change: fn(&mut narrows_model::host::Express)| {
        let mut host = host();
        express(&mut host, change);
        told(&the_one(&host))
    };
    assert_eq!(
        with(|set| set.max_payload_bytes = Bytes(128)),
        [
            "MaxPayload: 128 B of 512 B / 512 B of 512 B",
            "least MaxPayload on the way: 128 B / 512 B"
        ]
    );
    assert_eq!(with(|set| set.max_read_request_bytes = Bytes(512)), ["MaxReadReq: 512 B / 4 KiB"]);
    assert_eq!(with(|set| set.relaxed_ordering = false), ["relaxed ordering: off / on"]);
    assert_eq!(with(|set| set.link_sleeps = true), ["link may sleep (ASPM): on / off"]);
    let firmware = told_of(|host| host.rdma[1].firmware = known("22.30".to_owned()));
    assert_eq!(firmware, ["firmware: 22.30 / 22.39"]);
    assert_eq!(
        told_of(|host| host.nics[1].mtu_bytes = known(Bytes(1500))),
        ["MTU: 1500 B / 4200 B"]
    );
}

#[test]
fn a_slow_link_above_a_switch_is_told() {
    let mut host = host();
    let path = &mut host.nics[1].path;
    let mut up = path[1].clone();
    (up.address, up.link) = ("0001:02:00.0".into(), link(8.0, 4));
    let mut down = path[0].clone();
    down.address = "0001:03:00.0".into();
    path.splice(1..1, [up, down]);
    assert_eq!(told(&the_one(&host)), ["slowest link above: 8 GT/s x4 / none"]);
}

#[test]
fn redirection_and_who_shares_a_root_port_are_told() {
    let mut host = host();
    for (at, request_redirect) in [(0, false), (1, true)] {
        let acs = Acs { request_redirect, ..Acs::default() };
        host.nics[at].path[0].acs = known(acs);
    }
    let beside = the_one(&host);
    assert_eq!(told(&beside), ["ACS redirect on the ports above: on at 1 of 1 / off"]);
    assert!(!beside.unread.contains(&"ACS redirect on the ports above"));
    let mut path = host.nics[1].path.clone();
    path[1].address = "0001:02:00.0".into();
    let disk = Device {
        kind: DeviceKind::Storage,
        address: path[1].address.clone(),
        names: Vec::new(),
        driver: Fact::default(),
        node: Fact::default(),
        is_virtual: false,
        path,
    };
    host.devices.push(disk);
    host.nics[1].path[0].acs = known(Acs::default());
    let shared = the_one(&host);
    assert_eq!(told(&shared), ["other devices behind its root port: 1 / 0"]);
    host.nics[1].path[0].name = "Intel 6 Series/C200 Series Chipset root port".into();
    assert_eq!(told(&the_one(&host))[0], "root port: the chipset's / the processor's");
}

/// What this user may not read is told as that, and is no difference.
#[test]
fn what_was_not_read_is_no_difference() {
    let mut host = host();
    host.nics[1].path[1].express = Fact::Denied { from: host.name.source().clone() };
    let beside = the_one(&host);
    assert_eq!(told(&beside), [""; 0]);
    let of = ["MaxPayload", "least MaxPayload on the way", "MaxReadReq", "relaxed ordering"];
    assert!(of.iter().all(|what| beside.unread.contains(what)), "{:?}", beside.unread);
}
