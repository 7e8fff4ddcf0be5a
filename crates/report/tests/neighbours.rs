//! A memory job and traffic on a simulated host: what each costs the other is planted, and must be
//! told; so must that it cannot be.

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
use narrows_report::Analysis;
use narrows_stats::{NeighbourTest, Open, Regime, neighbours};

const SECOND: u64 = 1_000_000_000;
/// What the traffic moves alone, and what one core of the job does, in bytes a second.
const TRAFFIC: f64 = 11e9;
const CORE: f64 = 9e9;

/// What is planted.
#[derive(Clone, Copy)]
struct Planted {
    /// How many times slower the traffic is beside so many cores.
    traffic: fn(u32) -> f64,
    /// How many times slower the job is beside the traffic.
    job: fn(u32) -> f64,
    /// How many cores' worth so many cores move alone.
    scale: fn(u32) -> f64,
    /// Share of its time that each thread waits for a CPU.
    waited: f64,
    /// Share of a job's CPU that interrupts take.
    softirq: f64,
}

/// Memory is full from three cores on, and nobody is slower for the other.
const EVEN: Planted = Planted {
    traffic: |_| 1.0,
    job: |_| 1.0,
    scale: |cores| f64::from(cores).min(3.0),
    waited: 0.01,
    softirq: 0.0,
};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// One node of six cores.
fn host() -> Host {
    let mut host = Host::default();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: Some(cpu), node: Some(0) };
    host.cpu.places = (0..6).map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known((0..6).collect()), known((0..6).collect()));
    host.nodes = vec![Node { id: 0, cpus: (0..6).collect(), ..Node::default() }];
    let (name, node) = ("eth0".into(), known(0));
    host.nics = vec![Nic { name, physical: true, node, ..Nic::default() }];
    host
}

/// Numbers between 0 and 1 that look like chance (Knuth's linear congruence).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 1 by so much, the sum of three even numbers.
    fn around(&mut self, spread: f64) -> f64 {
        1.0 + spread * (self.next() + self.next() + self.next() - 1.5)
    }
}

/// The study that the command makes of such a host, with its runs simulated: a block is slow or
/// quick as a whole, and each run by 1 % of its own.
fn simulated(repeats: u32, planted: &Planted, seed: u64) -> StoredStudy {
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
    let mut chance = Chance(seed);
    for block in 0..repeats {
        let slow = chance.around(0.1);
        for trial in &study.trials {
            let chance = [slow * chance.around(0.012), slow * chance.around(0.012)];
            study.records.push(record(trial, block, planted, chance));
        }
    }
    study
}

fn record(trial: &Trial, block: u32, planted: &Planted, chance: [f64; 2]) -> Record {
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

fn end(machine: &str, bytes: f64, cpus: &[u32], waited: f64) -> EndReport {
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

fn of(planted: &Planted) -> Vec<NeighbourTest> {
    neighbours(&simulated(12, planted, 11))
}

/// Traffic that copies turn red from four cores on, and cores that suffer from the first.
fn red(cores: u32) -> f64 {
    if cores < 4 { 1.0 } else { 1.0 + 0.25 * f64::from(cores - 3) }
}

#[test]
fn what_is_planted_is_told_with_its_size_and_its_turn() {
    let planted = Planted { traffic: red, job: |cores| 1.2 + 0.05 * f64::from(cores), ..EVEN };
    let tests = of(&planted);
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["TCP, sent", "TCP, received"]);
    for test in &tests {
        assert_eq!(test.regime, Regime::Traffic { from_cores: 4, with_job: true });
        assert_eq!(test.job.to_string(), "memory-copy");
        for step in &test.steps {
            let job = step.job.expect("a job");
            for (truth, times) in [
                ((planted.traffic)(step.cores), step.traffic.times),
                ((planted.job)(step.cores), job.times),
            ] {
                assert!(times.low <= truth && truth <= times.high, "{truth} in {times:?}");
            }
        }
        let first = &test.steps[0];
        assert_eq!((first.cores, first.regime), (1, Regime::Job));
        let alone = first.job_alone.expect("a rate").value / CORE;
        assert!((0.9..1.1).contains(&alone), "what one core moves alone: {alone}");
    }
}

#[test]
fn a_job_that_alone_suffers_is_blue_and_nobody_that_suffers_is_neither() {
    let blue = of(&Planted { job: |_| 1.3, ..EVEN });
    assert!(blue.iter().all(|test| test.regime == Regime::Job), "{blue:?}");
    let neither = of(&EVEN);
    assert!(neither.iter().all(|test| test.regime == Regime::Neither), "{neither:?}");
    // The traffic alone is hurt: it has the smaller share of what waits.
    let traffic = of(&Planted { traffic: |_| 1.4, ..EVEN });
    let wanted = Regime::Traffic { from_cores: 1, with_job: false };
    assert!(traffic.iter().all(|test| test.regime == wanted), "{traffic:?}");
}

#[test]
fn what_else_makes_both_slower_leaves_it_open() {
    let both = Planted { traffic: |_| 1.5, job: |_| 1.5, ..EVEN };
    let open = |planted: Planted| of(&planted)[0].regime;
    assert_eq!(open(Planted { waited: 0.3, ..both }), Regime::Open(Open::CpuShared));
    assert_eq!(open(Planted { softirq: 0.2, ..both }), Regime::Open(Open::InterruptsShared));
    let idle = Planted { scale: |cores| f64::from(cores), ..EVEN };
    assert_eq!(open(idle), Regime::Open(Open::NotLoaded), "five cores move what five do");
    let few = neighbours(&simulated(4, &both, 3));
    assert_eq!(few[0].regime, Regime::Open(Open::FewRuns));
    // Where it was lost in the runs beside the traffic nobody knows what it lost.
    let mut lost = simulated(12, &both, 5);
    let loaded: Vec<_> =
        lost.trials.iter().filter(|trial| trial.params.rate_bps.is_none()).collect();
    let loaded: Vec<_> = loaded.iter().map(|trial| trial.id.clone()).collect();
    for record in lost.records.iter_mut().filter(|record| loaded.contains(&record.trial)) {
        record.of_mut(Role::Background).for_each(|load| load.window_ns = Nanos(1));
    }
    assert_eq!(neighbours(&lost)[0].regime, Regime::Open(Open::JobUnknown));
}

#[test]
fn two_threads_on_one_core_share_more_than_memory() {
    let both = Planted { traffic: |_| 1.5, job: |_| 1.5, ..EVEN };
    let mut study = simulated(12, &both, 9);
    // CPUs 0 and 1 are of one core: the traffic has one and the job the other.
    for place in &mut study.host.cpu.places {
        place.core = Some(place.cpu / 2);
    }
    assert_eq!(neighbours(&study)[0].steps[0].regime, Regime::Open(Open::CpuShared));
}

#[test]
fn healthy_hosts_are_not_said_to_be_slower() {
    let wrong = (0..100).filter(|seed| {
        let tests = neighbours(&simulated(12, &EVEN, 1000 + seed));
        tests.iter().any(|test| matches!(test.regime, Regime::Job | Regime::Traffic { .. }))
    });
    assert_eq!(wrong.count(), 0, "of 100 simulated hosts");
}

#[test]
fn a_study_of_anything_else_has_none() {
    let mut study = simulated(12, &EVEN, 1);
    let idle = |trial: &Trial| trial.params.rate_bps.is_some();
    let gone: Vec<_> = study.trials.iter().filter(|t| idle(t)).map(|t| t.id.clone()).collect();
    study.trials.retain(|trial| !idle(trial));
    study.records.retain(|record| !gone.contains(&record.trial));
    assert!(neighbours(&study).is_empty(), "a load with nothing to set it against");
}

#[test]
fn the_report_says_it_in_a_sentence_a_table_and_a_picture() {
    let study = simulated(12, &Planted { traffic: red, job: |_| 1.3, ..EVEN }, 11);
    let analysis = Analysis::of(&study);
    let write =
        |name: &str| (narrows_report::formats::format(name).expect("a format").write)(&analysis);
    let text = write("text");
    assert!(text.contains("TCP, sent: slower with 4 cores or more that copy memory: 1."), "{text}");
    assert!(text.contains("with 5 cores; the job is slower too"), "{text}");
    assert!(text.contains("the 20 intervals hold together (95 %)"), "{text}");
    let blue = simulated(12, &Planted { job: |_| 1.3, ..EVEN }, 11);
    let blue =
        (narrows_report::formats::format("text").expect("a format").write)(&Analysis::of(&blue));
    let wanted = "TCP, sent: not slower with up to 5 cores that copy memory; the job is, 1.";
    assert!(blue.contains(wanted) && blue.contains(" with 5 cores: blue"), "{blue}");
    let page = write("html");
    assert!(page.contains("id=\"neighbours\"") && page.contains("data-name=\"job slower\""));
    assert!(write("json").contains("\"neighbours\":"));
    let drawn = narrows_report::figures::all(&analysis);
    let picture = drawn.iter().find(|(name, _)| name.starts_with("neighbours-tcp-sent"));
    let (_, svg) = picture.expect("a picture");
    assert_eq!(svg.matches("<circle").count(), 10, "two lines of five: {svg}");
}
