//! Placements of a simulated machine: what each move costs is planted.

#[path = "../chance/mod.rs"]
mod chance;

pub use chance::Chance;
use narrows_model::host::{CpuPlace, Host, Irq, Nic, Node};
use narrows_model::interfaces::Interfaces;
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::seating::{Axis, Seating};
use narrows_model::study::{Session, StoredStudy, Title};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Fact, Nanos};
use narrows_plan::placement::{Between, Matrix, Threads, Wanted};
use narrows_plan::study::{Definition, Ends, PeerHost, cells, trials};

/// What a move multiplies a test's figure by.
#[derive(Clone, Copy)]
pub struct Planted {
    pub process_here: f64,
    pub memory_here: f64,
    pub interrupts_here: f64,
    pub process_there: f64,
    pub memory_there: f64,
}

/// Nothing costs anything.
pub const EVEN: Planted = Planted {
    process_here: 1.0,
    memory_here: 1.0,
    interrupts_here: 1.0,
    process_there: 1.0,
    memory_there: 1.0,
};

impl Planted {
    pub fn of(&self, axis: Axis) -> f64 {
        match axis {
            Axis::ProcessHere => self.process_here,
            Axis::MemoryHere => self.memory_here,
            Axis::InterruptsHere => self.interrupts_here,
            Axis::ProcessThere => self.process_there,
            Axis::MemoryThere => self.memory_there,
            Axis::InterruptsThere => 1.0,
        }
    }
}

pub fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// Two nodes of two CPUs, the NIC at node 0.
pub fn host() -> Host {
    let mut host = Host::default();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu / 2) };
    host.cpu.places = (0..4).map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known((0..4).collect()), known((0..4).collect()));
    let node = |id: u32| Node {
        id,
        cpus: vec![2 * id, 2 * id + 1],
        memory_bytes: known(Bytes::gib(8)),
        ..Node::default()
    };
    host.nodes = (0..2).map(node).collect();
    let irq =
        Irq { number: 40, name: None, allowed_cpus: vec![0], effective_cpus: vec![0], node: None };
    let (name, irqs) = ("eth0".into(), known(vec![irq]));
    host.nics = vec![Nic { name, physical: true, node: known(0), irqs, ..Nic::default() }];
    host
}

/// The study that `narrows placement` makes of such hosts, with its runs simulated. A block is
/// slow or quick as a whole by up to a tenth, and each run by 3 % of its own.
pub fn simulated(repeats: u32, planted: &dyn Fn(Metric) -> Planted, seed: u64) -> StoredStudy {
    let host = host();
    let wanted = Wanted {
        minutes: 60.0,
        seconds: 1.0,
        repeats,
        flows: 4,
        nics: Vec::new(),
        threads: Threads::Pinned,
        beside: None,
        prices: Vec::new(),
    };
    let interface = Some("eth0");
    let between = Between { here: &host, there: &host, interface, far_interface: interface };
    let matrix = Matrix::of(&wanted, &between).expect("a matrix");
    let definition = Definition::parse(&matrix.definition).expect("a definition");
    let cells = cells(&definition).expect("cells");
    let peer = PeerHost { name: "there", host: Some(&host), interface, away: None };
    let ends = Ends { host: &host, peers: &[peer], path: NetworkPath::Peer, interface };
    let mut study = StoredStudy::unmeasured(host.clone());
    study.trials =
        trials(&cells, &ends).expect("trials").into_iter().map(|(trial, _)| trial).collect();
    study.study.command = StudyKind::Study;
    study.study.title = Some(Title { name: definition.name, about: definition.about });
    study.study.reading = definition.report;
    study.study.interfaces = Interfaces::one(interface.map(str::to_owned));
    study.peer_hosts = vec![host.clone()];
    study.sessions = vec![session(host.clone())];
    let mut chance = Chance::of(seed);
    for block in 0..repeats {
        let slow = chance.around(0.2);
        for trial in &study.trials {
            let figure = figure(trial, &host, planted) * slow * chance.around(0.03);
            study.records.push(record(trial, block, figure));
        }
    }
    study
}

pub fn figure(trial: &Trial, host: &Host, planted: &dyn Fn(Metric) -> Planted) -> f64 {
    let metric = trial.kind.metric().expect("a metric");
    let seating = Seating::of(trial, host, host).expect("a seating");
    let away = |axis: &Axis| seating.node(*axis).is_some_and(|node| node != 0);
    let moved = Axis::ALL.into_iter().filter(away);
    let base = if metric.larger_is_better() { 90e9 } else { 12_000.0 };
    moved.map(|axis| planted(metric).of(axis)).fold(base, |figure, one| figure * one)
}

pub fn session(host: Host) -> Session {
    Session {
        number: 0,
        began_unix_ns: Nanos(0),
        narrows_version: String::new(),
        peer_hosts: vec![host.clone()],
        host,
        path: NetworkPath::Peer,
        levels: Default::default(),
        cannot: Default::default(),
        ended: None,
    }
}

pub fn record(trial: &Trial, block: u32, value: f64) -> Record {
    let unit = trial.kind.metric().expect("a metric").unit();
    let figures = vec![Figure { name: "simulated".into(), value, unit }];
    let external = External {
        tool: "simulated".into(),
        version: None,
        command: None,
        file: None,
        figures,
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

/// Dell's remote CPU: a fifth less through the NIC, two fifths longer round trips; and buffers at
/// the peer cost a little.
pub fn dells(metric: Metric) -> Planted {
    match metric.larger_is_better() {
        true => Planted { process_here: 0.8, memory_there: 0.97, ..EVEN },
        false => Planted { process_here: 1.4, interrupts_here: 1.15, ..EVEN },
    }
}
