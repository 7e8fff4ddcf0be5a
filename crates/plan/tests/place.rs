//! Where runs go on machines nobody here owns: made hosts, and trees of real ones where they are.

use narrows_host::{Root, read};
use narrows_model::host::{Cache, CpuPlace, Host, Nic, Node};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_plan::{Unplaced, Where, choose, cpus};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

fn nic(name: &str, node: u32, gbps: f64) -> Nic {
    Nic {
        name: name.into(),
        physical: true,
        driver: known("d".into()),
        speed_bps: known(BitsPerSecond(gbps * 1e9)),
        state: known("up".into()),
        mtu_bytes: known(Bytes(1500)),
        node: known(node),
        ..Nic::default()
    }
}

/// Two sockets of four cores with two threads each; CPUs 0 to 7 are first threads, 8 to 15 second.
fn host() -> Host {
    let mut host = read(&Root::at("/nowhere/at/all"));
    let node = |cpu: u32| cpu % 8 / 4;
    host.cpu.places = (0..16)
        .map(|cpu| CpuPlace {
            cpu,
            package: Some(node(cpu)),
            core: Some(cpu % 4),
            node: Some(node(cpu)),
            ..CpuPlace::default()
        })
        .collect();
    host.cpu.online = known((0..16).collect());
    host.cpu.allowed = known((0..16).collect());
    let on = |id: u32| (0..16).filter(|cpu| node(*cpu) == id).collect::<Vec<u32>>();
    host.cpu.caches = (0..2)
        .map(|id| Cache {
            level: 3,
            kind: "Unified".into(),
            size_bytes: Bytes::mib(32),
            cpus: on(id),
        })
        .collect();
    host.nodes = (0..2)
        .map(|id| Node {
            id,
            cpus: on(id),
            memory_bytes: known(Bytes::gib(64)),
            distances: known(vec![10, 21]),
            ..Node::default()
        })
        .collect();
    host.memory.available_bytes = known(Bytes::gib(100));
    host
}

#[test]
fn runs_go_to_the_node_of_the_fastest_nic_and_to_two_cores() {
    let mut host = host();
    assert_eq!(choose(&host).node, Some(0));
    host.nics = vec![nic("slow", 0, 1.0), nic("fast", 1, 100.0)];
    let spot = choose(&host);
    assert_eq!(spot.node, Some(1));
    assert_eq!(spot.cpus, [4, 5, 6, 7, 12, 13, 14, 15]);
    assert_eq!((spot.pair.sender.cpus.0, spot.pair.receiver.cpus.0), (vec![4], vec![5]));
}

#[test]
fn a_process_that_may_not_use_the_nics_node_runs_where_it_may() {
    let mut host = host();
    host.nics = vec![nic("fast", 1, 100.0)];
    host.cpu.allowed = known(vec![0, 8, 1]);
    let spot = choose(&host);
    assert_eq!((spot.node, spot.cpus.as_slice()), (Some(0), &[0, 1, 8][..]));
    // One CPU of each core first. CPU 8 is the other thread of CPU 0's core.
    assert_eq!((spot.pair.sender.cpus.0, spot.pair.receiver.cpus.0), (vec![0], vec![1]));
    host.cpu.allowed = known(vec![3]);
    let pair = choose(&host).pair;
    assert_eq!((pair.sender.cpus.0, pair.receiver.cpus.0), (vec![3], vec![3]));
}

#[test]
fn the_working_set_is_beyond_the_caches_and_within_what_is_free() {
    let mut host = host();
    let spot = choose(&host);
    assert_eq!(spot.cache_bytes, Bytes::mib(32));
    assert_eq!(spot.working_set_bytes, Bytes::mib(256));
    host.cpu.caches[0].size_bytes = Bytes::gib(1);
    assert_eq!(choose(&host).working_set_bytes, Bytes::gib(4));
    host.memory.cgroup_limit_bytes = known(Bytes::gib(2));
    assert_eq!(choose(&host).working_set_bytes, Bytes::gib(1));
}

#[test]
fn places_are_named_by_cpu_node_or_nic() {
    let mut host = host();
    host.nics = vec![nic("eth0", 1, 100.0), nic("eth1", 0, 10.0)];
    let at = |text: &str, interface: Option<&str>| {
        cpus(&host, text.parse::<Where>().expect(text), interface)
    };
    assert_eq!(at("3", None), Ok(vec![3]));
    assert_eq!(at("0-2", None), Ok(vec![0, 1, 2]));
    // One CPU of each core first.
    assert_eq!(at("node:1", None), Ok(vec![4, 5, 6, 7, 12, 13, 14, 15]));
    assert_eq!(at("nic", None), at("node:1", None), "the fastest NIC's");
    assert_eq!(at("nic", Some("eth1")), at("node:0", None), "the one that leads to the peer");
    assert_eq!(at("other-node", Some("eth1")), at("node:1", None));
    assert!(at("99", None).is_err_and(|why| why == Unplaced::Cpu(99)));
    assert!(at("node:7", None).is_err_and(|why| why == Unplaced::NoCpu(7)));
    for bad in ["", "node:", "3-1", "node:x", "core:1", "-1"] {
        assert!(bad.parse::<Where>().is_err(), "{bad}");
    }
    host.nodes.truncate(1);
    assert!(cpus(&host, Where::OtherNode, Some("eth1")).is_err());
}
