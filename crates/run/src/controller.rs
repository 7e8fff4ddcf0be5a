//! Drives the ends of trials through a plan, one run after the other, and stores each at once.

use crate::RunError;
use crate::end::{End, WorkerProcess};
use crate::key;
use crate::peer::Peer;
use crate::session::{Answer, Order};
use narrows_facts::Nanos;
use narrows_facts::load::{
    Beside, Bind, End as Role, EndReport, Job, MemoryParams, Params, Timeline,
};
use narrows_facts::record::{Outcome, Record, Stage, Stamp};
use narrows_facts::trial::{Path as Join, Trial};
use narrows_meters::{HOST, Look, Scene, between, look};
use narrows_plan::Step;
use narrows_store::Store;
use nix::sys::resource::{UsageWho, getrusage};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long an end may take to make its buffers or meet the other end.
const PREPARE_WITHIN: Duration = Duration::from_secs(90);
/// How long an end may take beyond its time line.
const FINISH_SPARE: Duration = Duration::from_secs(30);
/// How long the kernel beside a trial goes on after the trial's time line: the ends meet meanwhile.
const MEET_SPARE: Nanos = Nanos::from_millis(1000);
/// How often a wait looks whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

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
    /// The sink at an agent, the source here.
    Peer(&'a mut Peer),
}

/// What to run, and with what.
pub struct Course<'a> {
    /// The cells.
    pub trials: &'a [Trial],
    /// The runs in order.
    pub steps: &'a [Step],
    /// This program, for workers.
    pub binary: PathBuf,
    /// Where the ends are.
    pub ends: Ends<'a>,
    /// Where records go.
    pub store: &'a Store,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// What a course has done so far.
pub struct Progress<'a> {
    /// Runs that are over.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// The run that begins.
    pub label: &'a str,
    /// How long the rest should take.
    pub left: Duration,
}

/// How a course ended.
#[derive(Debug, PartialEq, Eq)]
pub enum CourseEnd {
    /// All runs are over.
    Complete,
    /// The user stopped it.
    Stopped,
}

/// What sink, source and the memory kernel beside them report.
type Ran = (EndReport, Option<EndReport>, Option<EndReport>);

/// How one run ended before its end.
enum Broken {
    /// It failed: a record.
    Failed(Stage, String),
    /// The user stopped it: no record, nothing was measured.
    Stopped,
    /// Nothing can run any more.
    Fatal(RunError),
}

impl Course<'_> {
    /// Runs every step. Each run is on disk before the next begins.
    pub fn run(&mut self, mut progress: impl FnMut(&Progress<'_>)) -> Result<CourseEnd, RunError> {
        let expected = |steps: &[Step]| -> f64 {
            steps.iter().map(|s| narrows_plan::run_ns(&self.trials[s.trial]).seconds()).sum()
        };
        let (all, began) = (expected(self.steps), Instant::now());
        for (done, step) in self.steps.iter().enumerate() {
            let left = expected(&self.steps[done..]);
            // As long as the rest was expected to take, times how wrong that was so far.
            let pace = if done == 0 { 1.0 } else { began.elapsed().as_secs_f64() / (all - left) };
            let trial = &self.trials[step.trial];
            progress(&Progress {
                done,
                total: self.steps.len(),
                label: &trial.label,
                left: Duration::from_secs_f64((left * pace).clamp(0.0, 1e7)),
            });
            match self.record(trial, step) {
                Ok(record) => self.store.put_record(&record)?,
                Err(Broken::Stopped) => return Ok(CourseEnd::Stopped),
                Err(Broken::Fatal(error)) => return Err(error),
                Err(Broken::Failed(..)) => {}
            }
            if self.stop.load(SeqCst) {
                return Ok(CourseEnd::Stopped);
            }
        }
        Ok(CourseEnd::Complete)
    }

    /// Runs one step and makes its record.
    fn record(&mut self, trial: &Trial, step: &Step) -> Result<Record, Broken> {
        let around = StampBefore::take();
        let ran = self.run_beside(trial);
        let (outcome, sink, source, beside) = match ran {
            Ok((sink, source, beside)) => (Outcome::Done, Some(sink), source, beside),
            // Ctrl-C may reach a worker before it has left the terminal's process group: a run that
            // breaks as the user stops was stopped.
            Err(Broken::Failed(..)) if self.stop.load(SeqCst) => return Err(Broken::Stopped),
            Err(Broken::Failed(at, why)) => (Outcome::Failed { at, why }, None, None, None),
            Err(other) => return Err(other),
        };
        Ok(Record {
            trial: trial.id.clone(),
            repeat: step.repeat,
            block: step.block,
            outcome,
            sink,
            source,
            beside,
            around: around.finish(),
        })
    }

    /// Runs a trial and, when it is to have one, a memory kernel all the while.
    fn run_beside(&mut self, trial: &Trial) -> Result<Ran, Broken> {
        let Some(wanted) = &trial.params.beside else {
            return self.run_trial(trial).map(|(sink, source)| (sink, source, None));
        };
        let mut load = start(&self.binary)?;
        prepare(&mut load, beside_job(trial, wanted)?, self.stop)?;
        arm(&mut load, Vec::new())?;
        armed(&mut load, self.stop)?;
        go(&mut load)?;
        let (sink, source) = self.run_trial(trial)?;
        if let Ok(Some(_)) = load.answer(Duration::ZERO) {
            let why = "the memory kernel beside the run ended before it: the ends met too late";
            return Err(Broken::Failed(Stage::Run, why.to_owned()));
        }
        let report = finished(&mut load, finish_within(trial), self.stop)?;
        Ok((sink, source, Some(report)))
    }

    fn run_trial(&mut self, trial: &Trial) -> Result<(EndReport, Option<EndReport>), Broken> {
        let token = key::token().map_err(Broken::Fatal)?;
        let sink = job(trial, Role::Sink, &token);
        let stop = self.stop;
        let finish = finish_within(trial);
        if trial.path == Join::Memory {
            let mut worker = start(&self.binary)?;
            prepare(&mut worker, sink, stop)?;
            arm(&mut worker, Vec::new())?;
            armed(&mut worker, stop)?;
            go(&mut worker)?;
            return Ok((finished(&mut worker, finish, stop)?, None));
        }
        let mut near = start(&self.binary)?;
        match &mut self.ends {
            Ends::Local { address, sink_namespace, source_namespace } => {
                let mut sink_end = start(&self.binary)?;
                let sink = Job { namespace: sink_namespace.clone(), ..sink };
                let source = job(trial, Role::Source, &token);
                let source = Job { namespace: source_namespace.clone(), ..source };
                both(&mut sink_end, &mut near, sink, source, (*address, None), finish, stop)
                    .map(|(sink, source)| (sink, Some(source)))
            }
            Ends::Peer(peer) => {
                peer.start().map_err(Broken::Fatal)?;
                let address = (peer.address(), trial.place.bind.as_ref());
                let source = job(trial, Role::Source, &token);
                // The peer's end listens: in reverse that is the source.
                let ran = match trial.params.is_reverse() {
                    false => both(*peer, &mut near, sink, source, address, finish, stop),
                    true => both(*peer, &mut near, source, sink, address, finish, stop)
                        .map(|(source, sink)| (sink, source)),
                };
                let ran = ran.map(|(sink, source)| (sink, Some(source)));
                peer.stop().map_err(Broken::Fatal)?;
                ran
            }
        }
    }
}

/// Takes the two ends of a network trial through one run; the reports of the end that listens and
/// of the end that connects.
fn both(
    listener: &mut dyn End,
    connector: &mut dyn End,
    listener_job: Job,
    connector_job: Job,
    (address, bind): (IpAddr, Option<&Bind>),
    finish: Duration,
    stop: &AtomicBool,
) -> Result<(EndReport, EndReport), Broken> {
    let sink_listens = listener_job.end == Role::Sink;
    let connector_job = Job { bind: bind.cloned(), ..connector_job };
    let ports = prepare(listener, Job { address: Some(address), ..listener_job }, stop)?;
    prepare(connector, Job { address: Some(address), ..connector_job }, stop)?;
    arm(listener, Vec::new())?;
    arm(connector, ports.into_iter().map(|port| SocketAddr::new(address, port)).collect())?;
    armed(connector, stop)?;
    armed(listener, stop)?;
    // The sink goes first, so that it is there when the source's bytes come.
    if sink_listens {
        go(listener)?;
        go(connector)?;
    } else {
        go(connector)?;
        go(listener)?;
    }
    let connected = finished(connector, finish, stop)?;
    let listened = finished(listener, FINISH_SPARE, stop)?;
    Ok((listened, connected))
}

fn finish_within(trial: &Trial) -> Duration {
    let line = &trial.timeline;
    let line_ns = line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0;
    Duration::from_nanos(line_ns) + FINISH_SPARE
}

/// The source's work order of a trial, to be checked before anything is started.
pub fn source_job(trial: &Trial) -> Result<Job, RunError> {
    let job = job(trial, Role::Source, &key::token()?);
    Ok(Job { address: Some(std::net::Ipv4Addr::LOCALHOST.into()), ..job })
}

/// The order of the kernel beside a trial. It starts before the ends meet and counts for as long as
/// the trial's whole time line; it runs on while the ends meet, so that it covers the window.
fn beside_job(trial: &Trial, wanted: &Beside) -> Result<Job, Broken> {
    let line = &trial.timeline;
    let window = line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0;
    Ok(Job {
        kind: wanted.kind.clone(),
        end: Role::Sink,
        params: Params::of_memory(
            wanted.threads,
            wanted.working_set_bytes,
            MemoryParams::default(),
        ),
        cpus: wanted.cpus.clone(),
        timeline: Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(window),
            cooldown_ns: MEET_SPARE,
        },
        address: None,
        token: key::token().map_err(Broken::Fatal)?,
        namespace: None,
        node: None,
        bind: None,
        ports: None,
    })
}

/// The work order of a memory trial, to be checked before anything is started.
pub fn sink_job(trial: &Trial) -> Result<Job, RunError> {
    Ok(job(trial, Role::Sink, &key::token()?))
}

fn job(trial: &Trial, end: Role, token: &str) -> Job {
    let place = &trial.place;
    let (cpus, node) = match end {
        Role::Sink => (&place.sink, place.sink_node),
        Role::Source => (&place.source, place.source_node),
    };
    Job {
        kind: trial.kind.clone(),
        end,
        params: trial.params.clone(),
        cpus: cpus.clone(),
        timeline: trial.timeline,
        address: None,
        token: token.to_owned(),
        namespace: None,
        node,
        bind: None,
        ports: None,
    }
}

fn start(binary: &Path) -> Result<WorkerProcess, Broken> {
    WorkerProcess::start(binary).map_err(Broken::Fatal)
}

fn prepare(end: &mut dyn End, job: Job, stop: &AtomicBool) -> Result<Vec<u16>, Broken> {
    say(end, &Order::Prepare { job: Box::new(job) }, Stage::Prepare)?;
    match hear(end, PREPARE_WITHIN, Stage::Prepare, stop)? {
        Answer::Prepared { ports } => Ok(ports),
        other => Err(out_of_turn(&other, Stage::Prepare)),
    }
}

fn arm(end: &mut dyn End, peer: Vec<SocketAddr>) -> Result<(), Broken> {
    say(end, &Order::Arm { peer }, Stage::Prepare)
}

fn armed(end: &mut dyn End, stop: &AtomicBool) -> Result<(), Broken> {
    match hear(end, PREPARE_WITHIN, Stage::Prepare, stop)? {
        Answer::Armed => Ok(()),
        other => Err(out_of_turn(&other, Stage::Prepare)),
    }
}

fn go(end: &mut dyn End) -> Result<(), Broken> {
    say(end, &Order::Go, Stage::Run)
}

fn finished(end: &mut dyn End, within: Duration, stop: &AtomicBool) -> Result<EndReport, Broken> {
    match hear(end, within, Stage::Run, stop)? {
        Answer::Finished { report } => Ok(*report),
        other => Err(out_of_turn(&other, Stage::Collect)),
    }
}

fn out_of_turn(answer: &Answer, at: Stage) -> Broken {
    Broken::Failed(at, format!("an end answered out of turn: {answer:?}"))
}

fn say(end: &mut dyn End, order: &Order, at: Stage) -> Result<(), Broken> {
    end.order(order).map_err(|error| broken(error, at))
}

/// Waits for an answer, looking up now and then whether the user wants to stop.
fn hear(
    end: &mut dyn End,
    within: Duration,
    at: Stage,
    stop: &AtomicBool,
) -> Result<Answer, Broken> {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if stop.load(SeqCst) {
            return Err(Broken::Stopped);
        }
        match end.answer(LOOK_UP).map_err(|error| broken(error, at))? {
            Some(Answer::Failed { at, why }) => return Err(Broken::Failed(at, why)),
            Some(answer) => return Ok(answer),
            None => {}
        }
    }
    Err(Broken::Failed(at, format!("an end did not answer in {within:?}")))
}

/// A worker that dies is one failed run; a peer that goes away ends the course.
fn broken(error: RunError, at: Stage) -> Broken {
    match error {
        RunError::Machine(why) => Broken::Failed(at, why),
        other => Broken::Fatal(other),
    }
}

/// The state of the host as a run begins.
struct StampBefore {
    began_unix: Duration,
    began: Instant,
    load_hundredths: Option<u64>,
    host: Look,
    own_cpu: Duration,
}

impl StampBefore {
    fn take() -> Self {
        Self {
            began_unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            load_hundredths: load_average(),
            host: look(&HOST, &Scene { sockets: &[] }),
            own_cpu: own_cpu(),
            began: Instant::now(),
        }
    }

    fn finish(self) -> Stamp {
        let after = look(&HOST, &Scene { sockets: &[] });
        Stamp {
            began_unix_ns: Nanos(self.began_unix.as_nanos() as u64),
            took_ns: Nanos(self.began.elapsed().as_nanos() as u64),
            load_hundredths: self.load_hundredths,
            host: between(&self.host, &after),
            own_cpu_ns: Nanos(own_cpu().saturating_sub(self.own_cpu).as_nanos() as u64),
        }
    }
}

fn load_average() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some((load * 100.0).round() as u64)
}

/// CPU time of this process and of its workers that have ended.
fn own_cpu() -> Duration {
    let of = |who| {
        let usage = getrusage(who).ok()?;
        let micros = |t: nix::sys::time::TimeVal| {
            Duration::from_micros((t.tv_sec() * 1_000_000 + t.tv_usec()) as u64)
        };
        Some(micros(usage.user_time()) + micros(usage.system_time()))
    };
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].into_iter().filter_map(of).sum()
}
