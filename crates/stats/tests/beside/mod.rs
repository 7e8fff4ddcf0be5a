//! A memory job and traffic on a simulated host: what each costs the other is planted.

#[path = "../chance/mod.rs"]
mod chance;

pub use chance::Chance;
use narrows_model::host::{CpuPlace, Host, Nic, Node};
use narrows_model::interfaces::Interfaces;
use narrows_model::load::{EndReport, FlowTally, Role, ThreadUsage};
use narrows_model::reading::{Scope, keys};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::study::{StoredStudy, Title};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Kernel;
use narrows_model::{Bytes, Fact, Nanos};
use narrows_plan::neighbours::{Neighbours, Traffic, Wanted};
use narrows_plan::study::{Definition, Ends, PeerHost, cells, trials};

pub const SECOND: u64 = 1_000_000_000;
/// What the traffic moves alone, and what one core of the job does, in bytes a second.
pub const TRAFFIC: f64 = 11e9;
pub const CORE: f64 = 9e9;

/// What is planted.
#[derive(Clone, Copy)]
pub struct Planted {
    /// How many times slower the traffic is beside so many cores.
    pub traffic: fn(u32) -> f64,
    /// How many times slower the job is beside the traffic.
    pub job: fn(u32) -> f64,
    /// How many cores' worth so many cores move alone.
    pub scale: fn(u32) -> f64,
    /// Share of its time that each thread waits for a CPU.
    pub waited: f64,
    /// Share of a job's CPU that interrupts take.
    pub softirq: f64,
    /// How far a run is off for reasons of its own, as a share.
    pub noise: f64,
}

/// Memory is full from three cores on, and nobody is slower for the other.
pub const EVEN: Planted = Planted {
    traffic: |_| 1.0,
    job: |_| 1.0,
    scale: |cores| f64::from(cores).min(3.0),
    waited: 0.01,
    softirq: 0.0,
    noise: 0.012,
};

pub fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// One node of six cores.
pub fn host() -> Host {
    let mut host = Host::default();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: Some(cpu), node: Some(0) };
    host.cpu.places = (0..6).map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known((0..6).collect()), known((0..6).collect()));
    host.nodes = vec![Node { id: 0, cpus: (0..6).collect(), ..Node::default() }];
    let (name, node) = ("eth0".into(), known(0));
    host.nics = vec![Nic { name, physical: true, node, ..Nic::default() }];
    host
}

/// The study that the command makes of such a host, with its runs simulated: a block is slow or
/// quick as a whole, and each run by noise of its own.
pub fn simulated(repeats: u32, planted: &Planted, seed: u64) -> StoredStudy {
    let host = host();
    let wanted = Wanted {
        minutes: 60.0,
        seconds: 1.0,
        repeats,
        cores: None,
        jobs: vec![Kernel::Copy],
        traffic: Traffic::ALL[..2].to_vec(),
        node: None,
    };
    let made = Neighbours::of(&wanted, &host, Some("eth0"), false).expect("a study");
    let definition = Definition::parse(&made.definition).expect("a definition");
    let cells = cells(&definition).expect("cells");
    let interface = Some("eth0");
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
    let mut chance = Chance::of(seed);
    for block in 0..repeats {
        let slow = chance.around(0.1);
        for trial in &study.trials {
            let noise = planted.noise;
            let chance = [slow * chance.around(noise), slow * chance.around(noise)];
            study.records.push(record(trial, block, planted, chance));
        }
    }
    study
}

pub fn record(trial: &Trial, block: u32, planted: &Planted, chance: [f64; 2]) -> Record {
    let is_idle = trial.params.rate_bps.is_some();
    let cores = trial.background().and_then(|end| end.load.as_ref()).map_or(0, |load| load.threads);
    let job = trial.background().map(|end| end.place.cpus.0.clone()).unwrap_or_default();
    let slower = if cores == 0 { 1.0 } else { (planted.traffic)(cores) };
    let traffic = if is_idle { 125e3 } else { TRAFFIC / slower * chance[0] };
    let beside = if is_idle { 1.0 } else { (planted.job)(cores) };
    let moved = CORE * (planted.scale)(cores) / beside * chance[1];
    let mut own = end("here", traffic, &[0], planted.waited);
    for cpu in &job {
        let ns = (planted.softirq * SECOND as f64) as u64;
        own.readings.put(keys::SOFTIRQ.key(Scope::Cpu(*cpu)), ns);
    }
    let far = end("there", traffic, &[0], planted.waited);
    let is_sender =
        trial.ends_of(Role::Sender).next().is_some_and(|end| end.host == Default::default());
    let [receiver, sender] = if is_sender { [far, own] } else { [own, far] };
    let load = (cores > 0).then(|| {
        let mut load = end("here", moved, &job[..cores as usize], planted.waited);
        // From before the others until after them.
        (load.opened_ns, load.window_ns) = (Nanos(0), Nanos(3 * SECOND));
        load.flows[0].bytes = Bytes((3.0 * moved) as u64);
        Box::new(load)
    });
    Record {
        trial: trial.id.clone(),
        repeat: block,
        block,
        outcome: Outcome::Done,
        reports: Reported::list(Some(Box::new(receiver)), Some(Box::new(sender)), load),
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

pub fn end(machine: &str, bytes: f64, cpus: &[u32], waited: f64) -> EndReport {
    let thread = |cpu: &u32| ThreadUsage {
        cpu: Some(*cpu),
        wall_ns: Nanos(SECOND),
        waited_ns: Some(Nanos((waited * SECOND as f64) as u64)),
        ..ThreadUsage::default()
    };
    let mut end = EndReport {
        opened_ns: Nanos(SECOND),
        window_ns: Nanos(SECOND),
        flows: vec![FlowTally { bytes: Bytes(bytes as u64), messages: 1, ..FlowTally::default() }],
        threads: cpus.iter().map(thread).collect(),
        ..EndReport::default()
    };
    end.effective.machine = Some(machine.to_owned());
    end
}

/// Traffic that copies turn red from four cores on, and cores that suffer from the first.
pub fn red(cores: u32) -> f64 {
    if cores < 4 { 1.0 } else { 1.0 + 0.25 * f64::from(cores - 3) }
}
