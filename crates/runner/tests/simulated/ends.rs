//! Ends that hold the controller's real conversation, and measure a figure that follows from the
//! seed, the cell and the block.

use crate::world::{Shared, Where, fatal, gone};
use narrows_control::session::{Answer, Order, Turn};
use narrows_control::{ControlError, End, OrderError};
use narrows_model::load::{EndReport, FlowTally, Role, Stretch, StretchOf};
use narrows_model::record::{Fault, LostBy, Outcome, Record, Stage, Stamp};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_plan::Step;
use narrows_plan::study::Cell;
use narrows_runner::controller::record_of;
use narrows_runner::outside::{Ends, HostSettings};
use narrows_runner::{Broken, Meeting, run_two};
use narrows_runner::{Setting, SettingError};
use narrows_stats::rate_of;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

/// One end: answers each order in its turn, unless a fault comes.
struct SimEnd {
    world: Shared,
    /// The agent that it is spoken with through, of a study that names several.
    peer: Option<usize>,
    turn: Turn,
    answers: VecDeque<Answer>,
    report: EndReport,
}

impl SimEnd {
    /// What each word can meet with on its way.
    fn on_the_way(&self, word: &str) -> Result<bool, ControlError> {
        let mut world = self.world.borrow_mut();
        if world.step(word) {
            return Err(gone("this process"));
        }
        let faults = world.faults;
        if world.chance(faults.peer_gone) {
            world.log.push(format!("peer gone: {word}"));
            match self.peer {
                Some(peer) => drop(world.gone.insert(peer)),
                None => world.peer_is_gone = true,
            }
        }
        if self.peer.map_or(world.peer_is_gone, |peer| world.gone.contains(&peer)) {
            return Err(gone("the peer"));
        }
        if world.failure(faults.worker_dies) {
            world.log.push(format!("worker died: {word}"));
            return Err(ControlError::WorkerEnded(LostBy::Killed { signal: 9 }));
        }
        let lost = world.failure(faults.message_lost);
        if lost {
            world.log.push(format!("lost: {word}"));
        }
        Ok(!lost)
    }
}

impl End for SimEnd {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        self.turn = self.turn.after(order).map_err(|why| OrderError::Turn(why.into()))?;
        if self.on_the_way("an order")? {
            self.answers.push_back(match order {
                Order::Prepare { .. } => Answer::Prepared { ports: vec![5001] },
                Order::Arm { .. } => Answer::Armed,
                Order::Go { hold: true, .. } => Answer::Closed,
                Order::Go { hold: false, .. } | Order::Release => {
                    Answer::Finished { report: Box::new(self.report.clone()) }
                }
                Order::GoUntilTold => Answer::Running,
            });
        }
        Ok(())
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        if let Some(answer) = self.answers.pop_front()
            && self.on_the_way("an answer")?
        {
            return Ok(Some(answer));
        }
        self.world.borrow_mut().pass(within);
        Ok(None)
    }
}

/// The ends of a world's study.
pub struct SimEnds {
    pub world: Shared,
    pub seed: u64,
    pub cells: Vec<Cell>,
    /// Cells of which every run fails, whatever happens.
    pub hopeless: Vec<TrialId>,
    /// Whether the study names hosts, of which one may go alone.
    pub names_hosts: bool,
}

impl SimEnds {
    /// What the host must be set to while this trial runs.
    fn expected(&self, trial: &Trial) -> BTreeMap<Setting, String> {
        let mut expected = self.world.borrow().defaults.clone();
        let cell = self.cells.iter().find(|cell| cell.id == trial.id).expect("a cell");
        let is_memory = trial.path == NetworkPath::Memory;
        if let Some(mtu) = cell.settings.told(&narrows_model::options::places::MTU) {
            expected.insert(Setting::Mtu, mtu.to_string());
        }
        for (feature, on) in &cell.settings.offloads {
            let word = if *on { "on" } else { "off" };
            expected.insert(Setting::Offload(feature.clone()), word.to_owned());
        }
        for (word, value) in cell.settings.coalescing.words() {
            expected.insert(Setting::Coalescing(word), value);
        }
        for (name, value) in &cell.settings.sysctl {
            expected.insert(Setting::Kernel(name.clone()), value.clone());
        }
        // A memory trial minds huge pages alone.
        expected.retain(|setting, _| !is_memory || *setting == Self::pages());
        expected
    }

    fn pages() -> Setting {
        Setting::Kernel(narrows_hostctl::namespaces::HUGE_PAGES.to_owned())
    }

    fn end(&self, trial: &Trial, block: u32, role: Role) -> SimEnd {
        if let Some(rate) = rate_of(trial) {
            return self.end_with(trial, packets(self.seed, &trial.id, block, rate, role));
        }
        let report = EndReport {
            window_ns: Nanos::from_millis(1000),
            flows: vec![FlowTally {
                bytes: Bytes(figure(self.seed, &trial.id, block)),
                messages: 1000,
                ..FlowTally::default()
            }],
            ..EndReport::default()
        };
        self.end_with(trial, report)
    }

    fn end_with(&self, trial: &Trial, report: EndReport) -> SimEnd {
        let (turn, answers) = (Turn::default(), VecDeque::new());
        SimEnd {
            world: Rc::clone(&self.world),
            peer: peer_of(trial).filter(|_| self.names_hosts),
            turn,
            answers,
            report,
        }
    }

    fn stamp(&self, began_unix_ns: Nanos, took: Duration) -> Stamp {
        Stamp { began_unix_ns, took_ns: Nanos(took.as_nanos() as u64), ..Stamp::default() }
    }
}

/// The agent of a trial's far end, of a study that names several.
fn peer_of(trial: &Trial) -> Option<usize> {
    trial.ends.iter().find_map(|end| match end.host {
        EndHost::Peer(at) => Some(at as usize),
        EndHost::Controller => None,
    })
}

/// About 100 MB with a tenth of noise, the same for a cell's block however often it is made.
fn figure(seed: u64, cell: &TrialId, block: u32) -> u64 {
    let mut hash = seed ^ u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in cell.0.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    100_000_000 + (hash >> 20) % 10_000_000
}

/// What the path of a world carries, in packets a second.
pub fn carries(seed: u64) -> f64 {
    1_500.0 + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as f64 / 4_294_967_296.0 * 80_000.0
}

/// A second of packets at a rate, of which what is too much is lost, and in one run of sixteen
/// some of what is not.
fn packets(seed: u64, cell: &TrialId, block: u32, rate: u64, role: Role) -> EndReport {
    let is_wrong = figure(seed, cell, block).is_multiple_of(16);
    let came = (carries(seed) as u64).min(rate) - u64::from(is_wrong);
    let datagrams = if role == Role::Sender { rate } else { came };
    let stretch = Some(Stretch { of: StretchOf::SenderWindow, datagrams });
    let sends = role == Role::Sender;
    let bytes = Bytes(18 * datagrams);
    let flow = FlowTally { bytes, messages: datagrams, sends, stretch, ..FlowTally::default() };
    EndReport { window_ns: Nanos::from_millis(1000), flows: vec![flow], ..EndReport::default() }
}

impl Ends for SimEnds {
    fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        let trial = &trials[step.trial];
        let stop = Rc::clone(&self.world.borrow().stop);
        {
            let mut world = self.world.borrow_mut();
            if world.step("before a run") {
                return Err(fatal("dead"));
            }
            assert!(world.unstored.is_empty(), "a run begins before the last one is on disk");
        }
        let peer = peer_of(trial).filter(|_| self.names_hosts);
        {
            let mut world = self.world.borrow_mut();
            let is_gone = peer.is_some_and(|peer| world.gone.contains(&peer));
            assert!(!is_gone, "a run of '{}' with a host that is gone", trial.label);
            world.went_on += u64::from(!world.gone.is_empty());
        }
        let expected = self.expected(trial);
        for (setting, value) in &expected {
            let now = self.world.borrow().setting(setting).expect("a setting");
            assert_eq!(now, *value, "{setting} in a run of '{}'", trial.label);
        }
        let began = self.world.borrow().now();
        let (mut listens, mut connects) = (
            self.end(trial, step.block, Role::Receiver),
            self.end(trial, step.block, Role::Sender),
        );
        let address = Ipv4Addr::LOCALHOST.into();
        let meeting = Meeting { address, namespaces: [None, None] };
        // A kernel's trial too has two ends in this world.
        let two = Trial { ends: EndSpec::anywhere(trial.params.is_reverse()), ..trial.clone() };
        let ran = run_two(&two, &mut listens, &mut connects, meeting, &stop);
        let ran = match peer {
            Some(peer) => ran.map_err(|broken| broken.at_agent(peer)),
            None => ran,
        };
        let took = Duration::from_nanos(narrows_plan::run_ns(trial).0);
        self.world.borrow_mut().pass(took);
        if self.world.borrow_mut().step("after a run") {
            return Err(fatal("dead"));
        }
        let mut record = record_of(trial, step, ran, self.stamp(began, took), &stop)?;
        if self.hopeless.contains(&trial.id) {
            record.outcome = failed("it always does");
        }
        self.world.borrow_mut().unstored.push(record.clone());
        Ok(vec![record])
    }

    fn unmade(&mut self, trial: &Trial, step: &Step, outcome: Outcome) -> Record {
        let around = self.stamp(self.world.borrow().now(), Duration::ZERO);
        Record {
            trial: trial.id.clone(),
            repeat: step.repeat,
            block: step.block,
            outcome,
            reports: Vec::new(),
            around,
            session: 0,
            external: None,
        }
    }
}

fn failed(why: &str) -> Outcome {
    Outcome::Failed { at: Stage::Start, why: why.to_owned(), fault: Fault::Machine }
}

/// The settings of a world.
pub struct SimSettings(pub Shared);

impl HostSettings for SimSettings {
    fn interrupts(&self, _: Option<&str>) -> Vec<String> {
        Vec::new()
    }

    fn has_routes(&self) -> bool {
        self.0.borrow().settings_are == Where::Namespaces
    }

    fn get(&mut self, setting: &Setting) -> Result<String, SettingError> {
        self.0.borrow().setting(setting)
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        self.0.borrow_mut().set(setting, value)
    }

    fn release(&mut self) {
        self.0.borrow_mut().release();
    }
}
