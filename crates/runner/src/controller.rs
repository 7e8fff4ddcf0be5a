//! Drives the ends of trials through one run after the other.

use crate::error::RunError;
use crate::iperf3;
use crate::pairs::{At, Couple, Meeting, Two, finish_within, job, run};
use crate::rates::{Counted, Onlooker, Rates};
use crate::stamp::StampBefore;
use crate::steps::{
    Broken, Heard, LOOK_UP, arm, armed, fatal, finished, go, go_as_told, go_until_told, prepare,
    release, released, silent, start, told,
};
use narrows_control::WorkerProcess;
use narrows_control::key;
use narrows_control::{End, Peer};
use narrows_hostctl::container::Launcher;
use narrows_interop::engines::{self, Place};
use narrows_interop::iperf3::client::Iperf3Server;
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Job, MemoryParams, Params, Role, Timeline};
use narrows_model::record::{
    External, Fault, Lost, LostBy, Outcome, Record, Reported, Stage, Stamp,
};
use narrows_model::trial::{EndHost, EndSpec, MemoryLoad, NetworkPath, Trial};
use narrows_plan::Step;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How long a background load may take to report once it is told that the run is over.
const LOAD_ENDS_WITHIN: Duration = Duration::from_secs(30);
/// The shortest and the longest slice of a background load's window, which is counted by those that
/// overlap the run's: a fiftieth of the run's between these.
const LOAD_SLICE: (Nanos, Nanos) = (Nanos::from_millis(10), Nanos::from_millis(1000));

/// Where the two ends of network trials are.
pub enum Ends<'a> {
    /// Both on this host.
    Local {
        /// Address the receiver listens on.
        address: IpAddr,
        /// Namespace of the receiver, if it has its own.
        receiver_namespace: Option<String>,
        /// Namespace of the sender, if it has its own.
        sender_namespace: Option<String>,
    },
    /// At agents, or one of them here: a trial's ends say at which.
    Peers(&'a mut [Option<Peer>]),
    /// An iperf3 server in place of the end that listens.
    Iperf3(&'a Iperf3Server),
}

/// Drives the ends of trials.
pub struct Controller<'a> {
    pub launcher: Launcher,
    pub ends: Ends<'a>,
    /// Whether a step is a run of all trials at once, each with an agent of its own.
    pub together: bool,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Who is told what is moved while a run lasts.
    pub onlooker: Option<Rc<dyn Onlooker>>,
}

/// What the ends of a run report.
type Ran = Vec<Reported>;

/// Runs a tool against its server at a peer, which starts it where its owner lends it; otherwise
/// somebody runs it there.
fn run_engine_at(peer: &mut Peer, trial: &Trial, stop: &AtomicBool) -> Result<External, Broken> {
    let tool = trial.engine.as_ref().map_or("", |engine| engine.tool.as_str());
    // An agent of an older version may name a tool whose ends are no client and server.
    let lent = peer.lends(tool) && engines::has_server(tool);
    if lent && let Err(error) = peer.serve_tool(trial) {
        return Err(if error.is_gone() {
            fatal(error)
        } else {
            Broken::Failed(Stage::Start, error.to_string())
        });
    }
    let place = Place {
        address: peer.address(),
        server_namespace: None,
        client_namespace: None,
        serves: !lent && peer.is_own_host(),
    };
    let ran = engines::run(trial, &place, stop).map_err(Broken::from);
    if lent && let Err(error) = peer.stop() {
        return Err(fatal(error));
    }
    ran
}

impl Controller<'_> {
    /// Runs one step: the record of its trial, or one of each trial where there are several peers.
    pub fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        if self.together {
            return self.records_together(trials, step);
        }
        self.record(&trials[step.trial], step).map(|record| vec![record])
    }

    /// Runs one step and makes its record.
    fn record(&mut self, trial: &Trial, step: &Step) -> Result<Record, Broken> {
        let around = StampBefore::take();
        if trial.engine.is_some() {
            let (outcome, ran) = outcome(self.run_engine_with_background(trial), self.stop)?;
            let (external, reports) = ran.unzip();
            let record = record(trial, step, outcome, reports, around.finish());
            return Ok(Record { external, ..record });
        }
        let (outcome, ran) = outcome(self.run_with_background(&[trial]), self.stop)?;
        let ran = ran.into_iter().flatten().next();
        Ok(record(trial, step, outcome, ran, around.finish()))
    }

    /// Runs an outside tool in place of our ends.
    fn run_engine(&mut self, trial: &Trial) -> Result<External, Broken> {
        let place = match &mut self.ends {
            Ends::Local { address, receiver_namespace, sender_namespace } => Place {
                address: *address,
                server_namespace: receiver_namespace.as_deref(),
                client_namespace: sender_namespace.as_deref(),
                serves: true,
            },
            Ends::Peers(peers) => {
                let at = peer_of(trial);
                let peer = peers.get_mut(at).and_then(Option::as_mut);
                let peer = peer.ok_or_else(|| fatal(RunError::NoPeer))?;
                return run_engine_at(peer, trial, self.stop).map_err(|why| why.at_agent(at));
            }
            Ends::Iperf3(server) => Place {
                address: server.at().ip(),
                server_namespace: None,
                client_namespace: None,
                serves: false,
            },
        };
        engines::run(trial, &place, self.stop).map_err(Broken::from)
    }

    /// Runs all trials at once and makes their records.
    fn records_together(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        let around = StampBefore::take();
        let all: Vec<&Trial> = trials.iter().collect();
        let (outcome, ran) = outcome(self.run_with_background(&all), self.stop)?;
        let around = around.finish();
        let mut ran = ran.into_iter().flatten();
        Ok(trials
            .iter()
            .map(|trial| record(trial, step, outcome.clone(), ran.next(), around.clone()))
            .collect())
    }

    /// Runs trials at once and, when the first is to have one, a background load until all their
    /// ends are done.
    fn run_with_background(&mut self, trials: &[&Trial]) -> Result<Vec<Ran>, Broken> {
        let load = trials.first().map_or(Ok(None), |trial| self.start_background(trial))?;
        let mut ran = self.run_trials(trials)?;
        let load = self.end_background(load)?.map(Box::new);
        for reports in &mut ran {
            reports.extend(Reported::list(None, None, load.clone()));
        }
        Ok(ran)
    }

    /// Runs an outside tool and, when its trial is to have one, a background load until it is done.
    fn run_engine_with_background(&mut self, trial: &Trial) -> Result<(External, Ran), Broken> {
        let load = self.start_background(trial)?;
        let external = self.run_engine(trial)?;
        let load = self.end_background(load)?.map(Box::new);
        Ok((external, Reported::list(None, None, load)))
    }

    fn start_background(&self, trial: &Trial) -> Result<Option<WorkerProcess>, Broken> {
        let end = trial.background();
        let Some((end, wanted)) = end.and_then(|end| Some((end, end.load.as_ref()?))) else {
            return Ok(None);
        };
        let mut load = start(&self.launcher.outside())?;
        prepare(&mut load, background_job(trial, end, wanted)?, self.stop)?;
        arm(&mut load, Vec::new())?;
        armed(&mut load, self.stop)?;
        go_until_told(&mut load, self.stop)?;
        Ok(Some(load))
    }

    /// Tells the load that the run is over. Of one that was lost before, the report says why and
    /// holds nothing else, by which the run is labelled.
    fn end_background(&self, load: Option<WorkerProcess>) -> Result<Option<EndReport>, Broken> {
        let Some(mut load) = load else { return Ok(None) };
        load.hang_up();
        match finished(&mut load, LOAD_ENDS_WITHIN, self.stop) {
            Ok(report) => Ok(Some(report)),
            Err(Broken::Failed(at, why) | Broken::Told(at, why, _)) => {
                Ok(Some(lost(Lost { at, cause: LostBy::Failed { why } })))
            }
            Err(Broken::Lost(why)) => Ok(Some(lost(why))),
            Err(other) => Err(other),
        }
    }

    fn run_trials(&mut self, trials: &[&Trial]) -> Result<Vec<Ran>, Broken> {
        let stop = self.stop;
        if let [trial] = trials
            && trial.path == NetworkPath::Memory
        {
            return Ok(vec![self.run_kernel(trial)?]);
        }
        let (launcher, mut couples) = (&self.launcher, Vec::new());
        let peers = match &mut self.ends {
            Ends::Iperf3(server) => {
                let trial = trials.first().ok_or_else(|| fatal(RunError::NoPeer))?;
                self.onlooker.iter().for_each(|onlooker| onlooker.untold(trial));
                let two = iperf3::run(server, trial, &mut start(launcher)?, stop)?;
                return Ok(vec![of_two(two)]);
            }
            Ends::Local { address, receiver_namespace, sender_namespace } => {
                for trial in trials {
                    // The end that listens is in the first namespace: in reverse the sender.
                    let namespaces = [receiver_namespace.clone(), sender_namespace.clone()];
                    let meeting = match trial.path {
                        // Neither ports nor devices are in the namespaces.
                        NetworkPath::Cable | NetworkPath::Devices => Meeting::on_loopback(),
                        _ => Meeting { address: *address, namespaces },
                    };
                    couples.extend(of_trial(trial, launcher, &meeting, |_| {
                        Ok(At::Here(Box::new(start(&launcher.outside())?)))
                    })?);
                }
                &mut []
            }
            Ends::Peers(peers) => {
                let nowhere = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
                let meeting = Meeting { address: nowhere, namespaces: [None, None] };
                for trial in trials {
                    couples.extend(of_trial(trial, launcher, &meeting, |at| Ok(At::Agent(at)))?);
                }
                &mut **peers
            }
        };
        let mut ran = run(peers, couples, stop, self.onlooker.as_deref())?.into_iter();
        Ok(trials.iter().map(|trial| reports(trial, &mut ran)).collect())
    }

    /// Runs a memory kernel. Where somebody looks on it tells what it moved, as its timekeeper
    /// reads it slice by slice anyhow: the kernel's own threads do no more than without.
    fn run_kernel(&self, trial: &Trial) -> Result<Ran, Broken> {
        let end = trial.ends_of(Role::Receiver).next().ok_or_else(|| fatal(RunError::NoPeer))?;
        let mut worker = start(&self.launcher)?;
        prepare(&mut worker, job(trial, end, &key::token().map_err(fatal)?), self.stop)?;
        arm(&mut worker, Vec::new())?;
        armed(&mut worker, self.stop)?;
        let report = match self.onlooker.as_deref() {
            Some(onlooker) => told_to(onlooker, &mut worker, trial, self.stop)?,
            None => {
                go(&mut worker)?;
                finished(&mut worker, finish_within(trial), self.stop)?
            }
        };
        Ok(Reported::list(Some(Box::new(report)), None, None))
    }
}

/// Lets an end go that runs alone, and hands on what it says while its window is open.
fn told_to(
    onlooker: &dyn Onlooker,
    end: &mut dyn End,
    trial: &Trial,
    stop: &AtomicBool,
) -> Result<EndReport, Broken> {
    let (began, within) = (Instant::now(), finish_within(trial));
    let mut rates = Rates::of(1);
    go_as_told(end, trial, Some(onlooker.every()))?;
    while began.elapsed() <= within {
        match told(end, LOOK_UP, stop)? {
            Heard::Nothing => {}
            Heard::Moved(part) => {
                if let Some(period) = rates.add(0, part) {
                    onlooker.period(trial, Counted::Received, &period);
                }
            }
            Heard::Closed(early) => {
                release(end, early.as_deref())?;
                return released(end, early.map(|report| *report), stop);
            }
        }
    }
    Err(silent(within))
}

/// Agent of the end of a trial that is not on this host; the first where there are several.
pub fn peer_of(trial: &Trial) -> usize {
    trial
        .ends
        .iter()
        .find_map(|end| match end.host {
            EndHost::Peer(at) => Some(at as usize),
            EndHost::Controller => None,
        })
        .unwrap_or(0)
}

/// The pairs of a trial; `far` says where an end is that is not the controller's.
fn of_trial<'a>(
    trial: &'a Trial,
    launcher: &Launcher,
    meeting: &Meeting,
    far: impl Fn(usize) -> Result<At<'a>, Broken>,
) -> Result<Vec<Couple<'a>>, Broken> {
    let mut couples = Vec::new();
    for pair in trial.pairs() {
        let at = |end: &'a EndSpec| match end.host {
            EndHost::Controller => start(&launcher.of(end)).map(|own| At::Here(Box::new(own))),
            EndHost::Peer(peer) => far(peer as usize),
        };
        let sender = (pair.sender, at(pair.sender)?);
        let receiver = (pair.receiver, at(pair.receiver)?);
        couples.push(Couple { trial, sender, receiver, meeting: meeting.clone() });
    }
    Ok(couples)
}

/// The reports of a trial's pairs, the next of all that ran. Of one pair that the controller has an
/// end of, they are in the order of older versions.
fn reports(trial: &Trial, ran: &mut impl Iterator<Item = [Reported; 2]>) -> Ran {
    let mut own: Vec<Reported> = ran.take(trial.pairs().count()).flatten().collect();
    if !trial.is_of_agents() {
        own.sort_by_key(|one| one.role);
    }
    own
}

/// The report of an end that gave none.
fn lost(why: Lost) -> EndReport {
    EndReport { lost: Some(why), ..EndReport::default() }
}

/// How a run ended: a record's outcome and what was measured, or the end of the course.
fn outcome<T>(ran: Result<T, Broken>, stop: &AtomicBool) -> Result<(Outcome, Option<T>), Broken> {
    match ran {
        Ok(ran) => Ok((Outcome::Done, Some(ran))),
        // Ctrl-C may reach a worker before it has left the terminal's process group: a run that
        // breaks as the user stops was stopped.
        Err(Broken::Failed(..) | Broken::Told(..) | Broken::Lost(_)) if stop.load(SeqCst) => {
            Err(Broken::Stopped)
        }
        Err(Broken::Lost(Lost { at, cause })) => {
            let (why, fault) = (cause.to_string(), Fault::from(&cause));
            Ok((Outcome::Failed { at, why, fault }, None))
        }
        Err(Broken::Failed(at, why)) => {
            Ok((Outcome::Failed { at, why, fault: Fault::Machine }, None))
        }
        Err(Broken::Told(at, why, fault)) => Ok((Outcome::Failed { at, why, fault }, None)),
        Err(other) => Err(other),
    }
}

/// The reports of a receiver and a sender.
fn of_two((receiver, sender): Two) -> Ran {
    Reported::list(Some(Box::new(receiver)), Some(Box::new(sender)), None)
}

/// The record of a run of two ends, whatever became of it.
pub fn record_of(
    trial: &Trial,
    step: &Step,
    ran: Result<Two, Broken>,
    around: Stamp,
    stop: &AtomicBool,
) -> Result<Record, Broken> {
    let (outcome, ran) = outcome(ran, stop)?;
    Ok(record(trial, step, outcome, ran.map(of_two), around))
}

/// The record of a run that could not begin, or was broken off.
pub fn unmade(trial: &Trial, step: &Step, outcome: Outcome) -> Record {
    record(trial, step, outcome, None, StampBefore::take().finish())
}

fn record(trial: &Trial, step: &Step, outcome: Outcome, ran: Option<Ran>, around: Stamp) -> Record {
    let (trial, repeat, block) = (trial.id.clone(), step.repeat, step.block);
    let (session, external) = (0, None);
    let reports = ran.unwrap_or_default();
    Record { trial, repeat, block, outcome, reports, around, session, external }
}

/// The sender's work order of a trial, to be checked before anything is started.
pub fn sender_job(trial: &Trial) -> Result<Job, RunError> {
    let job = job_of(trial, Role::Sender)?;
    Ok(Job { address: Some(std::net::Ipv4Addr::LOCALHOST.into()), ..job })
}

/// The order of the background load of a trial: it runs from before the ends meet until it is told
/// that both are done, however long that takes.
fn background_job(trial: &Trial, end: &EndSpec, wanted: &MemoryLoad) -> Result<Job, Broken> {
    let (shortest, longest) = LOAD_SLICE;
    let slice = (trial.timeline.window_ns.0 / 50).clamp(shortest.0, longest.0);
    let memory = MemoryParams { node: end.place.node, ..MemoryParams::default() };
    let params = Params::of_memory(wanted.threads, wanted.working_set_bytes, memory);
    let line = Timeline::new(Nanos(0), trial.timeline.window_ns, Nanos(0));
    let line = Timeline { interval_ns: Some(Nanos(slice)), ..line };
    Ok(Job {
        cpus: end.place.cpus.clone(),
        binding: end.place.binding,
        token: key::token().map_err(fatal)?,
        ..Job::new(wanted.kind.clone(), Role::Background, params, line)
    })
}

/// The work order of a memory trial, to be checked before anything is started.
pub fn receiver_job(trial: &Trial) -> Result<Job, RunError> {
    job_of(trial, Role::Receiver)
}

fn job_of(trial: &Trial, role: Role) -> Result<Job, RunError> {
    let end = trial.ends_of(role).next().ok_or(RunError::NoPeer)?;
    Ok(job(trial, end, &key::token()?))
}
