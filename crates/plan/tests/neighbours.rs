//! The study of a memory job beside traffic, by what the host has.

use narrows_model::Fact;
use narrows_model::host::{CpuPlace, Host, Nic, Node};
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Kernel;
use narrows_plan::neighbours::{Neighbours, NoNeighbours, Traffic, Wanted};
use narrows_plan::study::{Definition, Ends, cells, trials};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// Nodes of so many cores with two CPUs each, those of one core far apart; the NIC is on the last.
fn host(nodes: u32, cores: u32) -> Host {
    let mut host = Host::default();
    let all = nodes * cores;
    let place = |cpu: u32| CpuPlace {
        cpu,
        package: Some(cpu % all / cores),
        die: None,
        core: Some(cpu % all),
        node: Some(cpu % all / cores),
    };
    host.cpu.places = (0..2 * all).map(place).collect();
    let cpus: Vec<u32> = (0..2 * all).collect();
    (host.cpu.online, host.cpu.allowed) = (known(cpus.clone()), known(cpus));
    let node = |id: u32| Node {
        id,
        cpus: (0..2 * all).filter(|cpu| cpu % all / cores == id).collect(),
        ..Node::default()
    };
    host.nodes = (0..nodes).map(node).collect();
    host.nics =
        vec![Nic { name: "eth0".into(), physical: true, node: known(nodes - 1), ..Nic::default() }];
    host
}

fn wanted(minutes: f64) -> Wanted {
    let traffic = Traffic::ALL[..3].to_vec();
    let (jobs, cores, node) = (vec![Kernel::Copy], None, None);
    Wanted { minutes, seconds: 1.0, repeats: 10, cores, jobs, traffic, node }
}

fn of(wanted: &Wanted, host: &Host, is_alone: bool) -> Neighbours {
    Neighbours::of(wanted, host, Some("eth0"), is_alone).expect("a study")
}

#[test]
fn the_job_has_cores_that_the_traffic_does_not_use() {
    let one = of(&wanted(60.0), &host(1, 4), false);
    assert_eq!(
        (one.cores.network.as_slice(), one.cores.job.as_slice()),
        (&[0][..], &[1, 2, 3][..])
    );
    assert!(!one.cores.is_shared);
    assert_eq!(one.steps, [1, 2, 3]);
    let two = of(&wanted(60.0), &host(1, 4), true);
    assert_eq!(
        (two.cores.network.as_slice(), two.cores.job.as_slice()),
        (&[0, 1][..], &[2, 3][..])
    );
    // The NIC is on the second node.
    let near = of(&wanted(60.0), &host(2, 4), false);
    assert_eq!((near.cores.network.as_slice(), near.cores.node), (&[4][..], Some(1)));
    assert!(near.definition.contains("memory_load = \"copy:2@5+6/memory:1\""));
    let far = of(&Wanted { node: Some(0), ..wanted(60.0) }, &host(2, 4), false);
    assert_eq!(
        (far.cores.network.as_slice(), far.cores.job.as_slice()),
        (&[4][..], &[0, 1, 2, 3][..])
    );
    let missing = Wanted { node: Some(7), ..wanted(60.0) };
    let none = Neighbours::of(&missing, &host(2, 4), Some("eth0"), false);
    assert_eq!(none, Err(NoNeighbours::NoCpu(7)));
}

#[test]
fn where_no_core_is_free_the_study_says_so() {
    let shared = of(&wanted(60.0), &host(1, 2), true);
    assert!(shared.cores.is_shared, "{:?}", shared.cores);
    assert_eq!(shared.steps, [1, 2]);
    assert!(shared.definition.contains("No core is free for the job alone"));
    let single = of(&wanted(60.0), &host(1, 1), true);
    assert!(single.cores.is_shared && single.cores.network == [0, 0], "{:?}", single.cores);
}

#[test]
fn each_is_measured_alone_and_together() {
    let study = of(&wanted(60.0), &host(1, 4), false);
    let definition = Definition::parse(&study.definition).expect("a definition");
    let cells = cells(&definition).expect("cells");
    // Three kinds of traffic with 0 to 3 cores beside, and the job on 1 to 3 cores alone.
    assert_eq!(cells.len(), 3 * 4 + 3);
    let both = Wanted { jobs: vec![Kernel::Read, Kernel::WriteNt], ..wanted(60.0) };
    let study = of(&both, &host(1, 4), false);
    let definition = Definition::parse(&study.definition).expect("a definition");
    assert_eq!(narrows_plan::study::cells(&definition).expect("cells").len(), 3 * 7 + 6);
}

#[test]
fn what_does_not_fit_the_time_is_left_out_but_the_first_and_the_last() {
    let big = host(1, 32);
    assert_eq!(of(&wanted(60.0), &big, false).steps, [1, 2, 4, 8, 16, 31]);
    let few = of(&Wanted { cores: Some(9), ..wanted(60.0) }, &big, false);
    assert_eq!(few.steps, [1, 2, 4, 8, 9]);
    // 3 (1 + 2) + 2 cells of ten runs of 1.8 s are 3.3 minutes.
    assert_eq!(of(&wanted(3.4), &big, false).steps, [1, 31]);
    let short = Neighbours::of(&wanted(3.2), &big, Some("eth0"), false);
    let says = short.expect_err("too short").to_string();
    assert_eq!(says, "3.2 minutes are too short: 11 cells take 3.30");
}

#[test]
fn a_job_runs_beside_redis_as_beside_traffic_of_ours() {
    let redis = Wanted { traffic: vec![Traffic::RedisSets], ..wanted(60.0) };
    let text = of(&redis, &host(1, 4), true).definition;
    let definition = Definition::parse(&text).expect("a definition");
    let host = host(1, 4);
    let ends = Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
    let planned = trials(&cells(&definition).expect("cells"), &ends).expect("trials");
    let redis = planned.iter().filter_map(|(trial, _)| Some((trial, trial.engine.as_ref()?)));
    let loads: Vec<_> = redis
        .map(|(trial, engine)| {
            assert_eq!((engine.tool.as_str(), trial.kind.as_str()), ("redis", "tcp-latency"));
            trial.background().and_then(|end| Some(end.load.as_ref()?.threads))
        })
        .collect();
    assert_eq!(loads, [None, Some(1), Some(2)]);
}

#[test]
fn every_word_of_traffic_is_its_own() {
    for traffic in Traffic::ALL {
        assert_eq!(Traffic::named(traffic.word()), Some(traffic));
        let one = Wanted { traffic: vec![traffic], ..wanted(60.0) };
        let study = of(&one, &host(1, 4), false);
        assert!(Definition::parse(&study.definition).is_ok(), "{}", traffic.word());
    }
    assert_eq!(Traffic::named("tcp-rr"), None);
}

#[test]
fn more_cores_than_there_are_is_said() {
    let [three, many] = [3, 64].map(|cores| {
        let wanted = Wanted { cores: Some(cores), ..wanted(60.0) };
        of(&wanted, &host(1, 4), false).definition
    });
    assert!(many.contains("64 cores were asked for; the job can have 3."), "{many}");
    assert!(!three.contains("asked for"), "{three}");
}
