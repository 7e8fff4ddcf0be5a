//! Paths inside a simulated host: two nodes with an RDMA device each, whose figures are planted.
#![allow(dead_code)]

#[path = "../chance/mod.rs"]
mod chance;

use chance::Chance;
use narrows_model::host::{
    CpuPlace, Express, Host, Nic, Node, PciHop, PciLink, RdmaDevice, RdmaPort,
};
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::study::{StoredStudy, Title};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Fact};
use narrows_plan::paths::{Paths, Wanted};
use narrows_plan::study::{Definition, Ends, cells, trials};

pub fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// A link of 16 GT/s x16 that runs at so many GT/s over so many lanes.
pub fn link(speed_gts: f64, width: u32) -> Fact<PciLink> {
    known(PciLink { speed_gts, width, speed_max_gts: 16.0, width_max: 16 })
}

fn hop(address: String, name: &str) -> PciHop {
    let express = Express {
        max_payload_bytes: Bytes(512),
        max_payload_supported_bytes: Bytes(512),
        max_read_request_bytes: Bytes(4096),
        relaxed_ordering: true,
        link_sleeps: false,
    };
    let (name, link) = (name.to_owned(), link(16.0, 16));
    PciHop { address, name, link, express: known(express), ..PciHop::default() }
}

/// Two nodes of two CPUs; `mlx5_0` with `eth0` at node 0, `mlx5_1` with `eth1` at node 1.
pub fn host() -> Host {
    let mut host = Host::default();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu / 2) };
    host.cpu.places = (0..4).map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known((0..4).collect()), known((0..4).collect()));
    let node = |id: u32| Node {
        id,
        cpus: vec![2 * id, 2 * id + 1],
        memory_bytes: known(Bytes::gib(8)),
        distances: known(if id == 0 { vec![10, 21] } else { vec![21, 10] }),
        ..Node::default()
    };
    host.nodes = (0..2).map(node).collect();
    let nic = |at: u32| Nic {
        name: format!("eth{at}"),
        physical: true,
        node: known(at),
        mtu_bytes: known(Bytes(4200)),
        firmware: known("22.39".to_owned()),
        path: vec![
            hop(format!("000{at}:00:01.0"), "a processor's root port"),
            hop(format!("000{at}:01:00.0"), "ConnectX-6 Dx"),
        ],
        ..Nic::default()
    };
    host.nics = (0..2).map(nic).collect();
    let device = |at: u32| RdmaDevice {
        name: format!("mlx5_{at}"),
        node: known(at),
        address: Some(format!("000{at}:01:00.0")),
        firmware: known("22.39".to_owned()),
        ports: vec![RdmaPort {
            number: 1,
            state: known("ACTIVE".to_owned()),
            netdev: known(format!("eth{at}")),
            ..RdmaPort::default()
        }],
        ..RdmaDevice::default()
    };
    host.rdma = (0..2).map(device).collect();
    host
}

/// Nothing is slower than anything.
pub fn even(_: &str, _: Metric) -> f64 {
    1.0
}

/// What is planted: what a path's figures are multiplied by, how far runs spread, and how many of
/// each there are.
#[derive(Clone, Copy)]
pub struct Planted {
    pub times: fn(&str, Metric) -> f64,
    pub spread: f64,
    pub repeats: u32,
}

/// Twelve quiet runs of each.
pub const QUIET: Planted = Planted { times: even, spread: 0.01, repeats: 12 };

/// The study that `narrows paths` makes of a host, with its runs simulated.
pub fn simulated(host: &Host, planted: Planted) -> StoredStudy {
    over(host, planted, None)
}

/// The same with a cable from one port to another.
pub fn over(host: &Host, planted: Planted, cable: Option<[String; 2]>) -> StoredStudy {
    let Planted { times, spread, repeats } = planted;
    let (devices, buffer) = (Vec::new(), None);
    let minutes = 1000.0;
    let wanted = Wanted { minutes, seconds: 0.5, repeats, devices, cable, buffer, sleeps: false };
    let paths = Paths::of(&wanted, host).expect("paths");
    let definition = Definition::parse(&paths.definition).expect("a definition");
    let ends = Ends { host, peers: &[], path: NetworkPath::Namespaces, interface: None };
    let cells = cells(&definition).expect("cells");
    let mut study = StoredStudy::unmeasured(host.clone());
    study.trials =
        trials(&cells, &ends).expect("trials").into_iter().map(|(trial, _)| trial).collect();
    study.study.command = StudyKind::Study;
    study.study.path = NetworkPath::Namespaces;
    study.study.title = Some(Title { name: definition.name, about: definition.about });
    study.study.reading = definition.report;
    let mut chance = Chance::of(5);
    for block in 0..repeats {
        for trial in &study.trials {
            let metric = trial.kind.metric().expect("a metric");
            let base = if metric.larger_is_better() { 180e9 } else { 2_000.0 };
            let path = trial.level("path").expect("a path");
            let value = base * times(path, metric) * chance.around(spread);
            study.records.push(record(trial, block, value));
        }
    }
    study
}

fn record(trial: &Trial, block: u32, value: f64) -> Record {
    let unit = trial.kind.metric().expect("a metric").unit();
    let external = External {
        tool: "simulated".into(),
        version: None,
        command: None,
        file: None,
        figures: vec![Figure { name: "simulated".into(), value, unit }],
        output: String::new(),
        client: None,
        packets: None,
    };
    Record {
        trial: trial.id.clone(),
        repeat: block,
        block,
        outcome: Outcome::Done,
        reports: Vec::new(),
        around: Stamp::default(),
        session: 0,
        external: Some(external),
    }
}
