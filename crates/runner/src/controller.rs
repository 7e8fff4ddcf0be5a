//! Drives the ends of trials through one run after the other.

use crate::error::RunError;
use crate::many;
use crate::pair::{self, Meeting, Pair, beside_iperf3, bind_of, finish_within, job, run_two};
use crate::stamp::StampBefore;
use crate::steps::{Broken, arm, armed, fatal, finished, go, go_until_told, prepare, start};
use narrows_control::Peer;
use narrows_control::WorkerProcess;
use narrows_control::key;
use narrows_hostctl::container::Launcher;
use narrows_interop::engines::{self, Place};
use narrows_interop::iperf3::client::Iperf3Server;
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Job, MemoryParams, Params, Role, Timeline};
use narrows_model::record::{
    External, Fault, Lost, LostBy, Outcome, Record, Reported, Stage, Stamp,
};
use narrows_model::trial::{EndSpec, MemoryLoad, Path as Join, Trial};
use narrows_plan::Step;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// How long a background load may take to report once it is told that the run is over.
const LOAD_ENDS_WITHIN: Duration = Duration::from_secs(30);
/// The shortest and the longest slice of a background load's window, which is counted by those that
/// overlap the run's: a fiftieth of the run's between these.
const LOAD_SLICE: (Nanos, Nanos) = (Nanos::from_millis(10), Nanos::from_millis(1000));

/// Where the two ends of network trials are.
pub enum Ends<'a> {
    /// Both on this host.
    Local {
        /// Address the sink listens on.
        address: IpAddr,
        /// Namespace of the sink, if it has its own.
        sink_namespace: Option<String>,
        /// Namespace of the source, if it has its own.
        source_namespace: Option<String>,
    },
    /// The ends that listen at agents, the others here. Where there are several, trials belong to
    /// them in order and run all at once, in one step.
    Peers(&'a mut [Peer]),
    /// An iperf3 server in place of the end that listens.
    Iperf3(&'a Iperf3Server),
}

/// Drives the ends of trials.
pub struct Controller<'a> {
    /// How workers are started.
    pub launcher: Launcher,
    /// Where the ends are.
    pub ends: Ends<'a>,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// What the ends of a run report.
type Ran = Vec<Reported>;

impl Controller<'_> {
    /// Runs one step: the record of its trial, or one of each trial where there are several peers.
    pub fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        match &self.ends {
            Ends::Peers(peers) if peers.len() > 1 && !trials.iter().any(many::is_of_agents) => {
                self.records_together(trials, step)
            }
            _ => self.record(&trials[step.trial], step).map(|record| vec![record]),
        }
    }

    /// Runs one step and makes its record.
    fn record(&mut self, trial: &Trial, step: &Step) -> Result<Record, Broken> {
        let around = StampBefore::take();
        if trial.engine.is_some() {
            let (outcome, external) = outcome(self.run_engine(trial), self.stop)?;
            let record = record(trial, step, outcome, None, around.finish());
            return Ok(Record { external, ..record });
        }
        let (outcome, ran) = outcome(self.run_beside(trial), self.stop)?;
        Ok(record(trial, step, outcome, ran, around.finish()))
    }

    /// Runs an outside tool in place of our ends.
    fn run_engine(&mut self, trial: &Trial) -> Result<External, Broken> {
        let place = match &self.ends {
            Ends::Local { address, sink_namespace, source_namespace } => Place {
                address: *address,
                server_namespace: sink_namespace.as_deref(),
                client_namespace: source_namespace.as_deref(),
                serves: true,
            },
            Ends::Peers(peers) => {
                let peer = peers.first().ok_or_else(|| fatal(RunError::NoPeer))?;
                Place {
                    address: peer.address(),
                    server_namespace: None,
                    client_namespace: None,
                    serves: peer.is_own_host(),
                }
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
        let trials: Vec<&Trial> = trials.iter().collect();
        let ran = self.beside_all(&trials);
        let (outcome, ran) = outcome(ran, self.stop)?;
        let around = around.finish();
        let (pairs, beside) = ran.map_or((None, None), |(pairs, beside)| (Some(pairs), beside));
        let mut pairs = pairs.into_iter().flatten();
        let of = |trial: &&Trial| {
            let ran = pairs.next().map(|(sink, source)| of_pair(sink, Some(source), &beside));
            record(trial, step, outcome.clone(), ran, around.clone())
        };
        Ok(trials.iter().map(of).collect())
    }

    fn beside_all(&mut self, trials: &[&Trial]) -> Result<(Vec<Pair>, Option<EndReport>), Broken> {
        let load = self.start_beside(trials[0])?;
        let Ends::Peers(peers) = &mut self.ends else { return Ok((Vec::new(), None)) };
        let pairs = pair::together(peers, trials, &self.launcher, self.stop)?;
        Ok((pairs, self.end_beside(load)?))
    }

    /// Runs a trial and, when it is to have one, a background load until both its ends are done.
    fn run_beside(&mut self, trial: &Trial) -> Result<Ran, Broken> {
        if let Ends::Peers(peers) = &mut self.ends
            && many::is_of_agents(trial)
        {
            return many::run(peers, trial, self.stop);
        }
        let load = self.start_beside(trial)?;
        let (sink, source) = self.run_trial(trial)?;
        Ok(of_pair(sink, source, &self.end_beside(load)?))
    }

    fn start_beside(&self, trial: &Trial) -> Result<Option<WorkerProcess>, Broken> {
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
    fn end_beside(&self, load: Option<WorkerProcess>) -> Result<Option<EndReport>, Broken> {
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

    fn run_trial(&mut self, trial: &Trial) -> Result<(EndReport, Option<EndReport>), Broken> {
        let (stop, finish) = (self.stop, finish_within(trial));
        if trial.path == Join::Memory {
            let token = key::token().map_err(fatal)?;
            let mut worker = start(&self.launcher)?;
            prepare(&mut worker, job(trial, Role::Receiver, &token), stop)?;
            arm(&mut worker, Vec::new())?;
            armed(&mut worker, stop)?;
            go(&mut worker)?;
            return Ok((finished(&mut worker, finish, stop)?, None));
        }
        let mut near = start(&self.launcher)?;
        match &mut self.ends {
            Ends::Local { address, sink_namespace, source_namespace } => {
                let mut listens = start(&self.launcher.outside())?;
                // The end that listens is in the first namespace: in reverse that is the source.
                let namespaces = [sink_namespace.clone(), source_namespace.clone()];
                let meeting = Meeting { address: *address, bind: None, namespaces };
                let ran = run_two(trial, &mut listens, &mut near, meeting, stop)?;
                Ok((ran.0, Some(ran.1)))
            }
            Ends::Iperf3(server) => beside_iperf3(server, trial, &mut near, finish, stop),
            Ends::Peers(peers) => {
                let Some(peer) = peers.first_mut() else {
                    return Err(fatal(RunError::NoPeer));
                };
                peer.start().map_err(fatal)?;
                let (address, bind) = (peer.address(), bind_of(trial));
                let meeting = Meeting { address, bind, namespaces: [None, None] };
                let ran = run_two(trial, peer, &mut near, meeting, stop);
                peer.stop().map_err(fatal)?;
                ran.map(|(sink, source)| (sink, Some(source)))
            }
        }
    }
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

/// The reports of a pair and of its background load.
fn of_pair(sink: EndReport, source: Option<EndReport>, beside: &Option<EndReport>) -> Ran {
    let [source, beside] = [source, beside.clone()].map(|end| end.map(Box::new));
    Reported::list(Some(Box::new(sink)), source, beside)
}

/// The record of a run of two ends, whatever became of it.
pub fn record_of(
    trial: &Trial,
    step: &Step,
    ran: Result<Pair, Broken>,
    around: Stamp,
    stop: &AtomicBool,
) -> Result<Record, Broken> {
    let (outcome, ran) = outcome(ran, stop)?;
    let ran = ran.map(|(sink, source)| of_pair(sink, Some(source), &None));
    Ok(record(trial, step, outcome, ran, around))
}

/// The record of a run that could not begin.
pub fn unready(trial: &Trial, step: &Step, why: String) -> Record {
    let outcome = Outcome::Failed { at: Stage::Start, why, fault: Fault::Machine };
    record(trial, step, outcome, None, StampBefore::take().finish())
}

fn record(trial: &Trial, step: &Step, outcome: Outcome, ran: Option<Ran>, around: Stamp) -> Record {
    let (trial, repeat, block) = (trial.id.clone(), step.repeat, step.block);
    let (session, external) = (0, None);
    let reports = ran.unwrap_or_default();
    Record { trial, repeat, block, outcome, reports, around, session, external }
}

/// The source's work order of a trial, to be checked before anything is started.
pub fn source_job(trial: &Trial) -> Result<Job, RunError> {
    let job = job(trial, Role::Sender, &key::token()?);
    Ok(Job { address: Some(std::net::Ipv4Addr::LOCALHOST.into()), ..job })
}

/// The order of the background load of a trial: it runs from before the ends meet until it is told
/// that both are done, however long that takes.
fn background_job(trial: &Trial, end: &EndSpec, wanted: &MemoryLoad) -> Result<Job, Broken> {
    let (shortest, longest) = LOAD_SLICE;
    let slice = (trial.timeline.window_ns.0 / 50).clamp(shortest.0, longest.0);
    let memory = MemoryParams { node: end.place.node, ..MemoryParams::default() };
    Ok(Job {
        kind: wanted.kind.clone(),
        end: Role::Background,
        params: Params::of_memory(wanted.threads, wanted.working_set_bytes, memory),
        cpus: end.place.cpus.clone(),
        binding: end.place.binding,
        timeline: Timeline {
            warmup_ns: Nanos(0),
            window_ns: trial.timeline.window_ns,
            cooldown_ns: Nanos(0),
            interval_ns: Some(Nanos(slice)),
        },
        address: None,
        token: key::token().map_err(fatal)?,
        namespace: None,
        node: None,
        bind: None,
        iperf3: None,
        ports: None,
        grant: None,
    })
}

/// The work order of a memory trial, to be checked before anything is started.
pub fn sink_job(trial: &Trial) -> Result<Job, RunError> {
    Ok(job(trial, Role::Receiver, &key::token()?))
}
