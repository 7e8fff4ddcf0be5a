//! One end of one trial, in a process of its own: fresh affinity, exact CPU accounting, killable.
//!
//! Orders come as lines of JSON on standard input, answers leave as lines on standard output. The
//! worker dies with the process that started it.

use crate::error::RunError;
use crate::rates::Parts;
use narrows_control::ControlError;
use narrows_control::session::{Answer, Order, Part, Turn};
use narrows_counters::memory::MemoryMeters;
use narrows_counters::profile::{Profiler, Symbols};
use narrows_counters::{END, HOST, Meters, Scene};
use narrows_hostctl::sampling::{Sampling, sampling};
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Interval, Job, Role};
use narrows_model::memory_traffic::MemoryTraffic;
use narrows_model::options::runs;
use narrows_model::profile::{NotProfiled, Profiled};
use narrows_model::reading::{Readings, Source};
use narrows_model::record::{Fault, Stage};
use narrows_workloads::harness::{Waited, Watch, WorkerThreads, way};
use narrows_workloads::{LoadError, Prepared, ThreadMeter};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The meter of the load threads' CPU time.
const THREAD_METER: ThreadMeter = narrows_counters::thread::usage;

/// Obeys orders from `input` until one run is done, one step failed, or the input ends.
pub fn serve(input: impl BufRead, output: impl Write) -> Result<(), RunError> {
    // If the parent died before this call, its end of the pipe is closed and the loop ends.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    // As much memory as may be locked: RDMA locks its buffers.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_MEMLOCK) {
        let _ = setrlimit(Resource::RLIMIT_MEMLOCK, most, most);
    }
    narrows_hostctl::child::obey_confine().map_err(ControlError::from)?;
    let mut end = WorkerEnd::default();
    let output = RefCell::new(output);
    let say = |answer: &Answer| {
        let mut output = output.borrow_mut();
        let text = serde_json::to_string(answer).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
        Ok(output.flush()?)
    };
    let mut lines = input.lines();
    while let Some(line) = lines.next() {
        let answer = match serde_json::from_str::<Order>(&line?) {
            Ok(order) => end.obey(order, &say),
            Err(error) => Trouble::from(format!("bad order: {error}")).at(Stage::Start),
        };
        let last = matches!(answer, Answer::Finished { .. } | Answer::Failed { .. });
        say(&answer)?;
        if last {
            // The word that ended a held load may be half written: whoever writes it is heard out.
            if end.turn == Turn::Release {
                lines.next();
            }
            break;
        }
    }
    Ok(())
}

/// The beginning of the id that the kernel draws at each boot.
pub fn machine() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    id.get(..8).map(str::to_owned)
}

/// The port that an end's frames leave from and come to, where it meets the other end elsewhere.
fn port_of(job: &Job) -> Option<String> {
    let bind = job.bind.as_ref().filter(|bind| bind.names_both())?;
    bind.device.clone()
}

/// What went wrong at this end, and what kind of fault it is.
struct Trouble {
    why: String,
    fault: Fault,
}

impl Trouble {
    fn at(self, at: Stage) -> Answer {
        Answer::Failed { at, why: self.why, fault: self.fault }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self { why, fault: Fault::Machine }
    }
}

impl From<&str> for Trouble {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<LoadError> for Trouble {
    fn from(error: LoadError) -> Self {
        let fault = match &error {
            LoadError::Apart(_) | LoadError::Grant(_) => Fault::Apart,
            LoadError::Responses { .. } => Fault::Beyond,
            LoadError::NoPort(_) => Fault::OutOfPorts,
            error if error.is_filtered() => Fault::Filtered,
            error if error.is_out_of_files() => Fault::OutOfFiles,
            LoadError::System { .. }
            | LoadError::Order(_)
            | LoadError::Option(_)
            | LoadError::Peer(_) => Fault::Machine,
        };
        Self { why: error.to_string(), fault }
    }
}

/// How long a load is held for other windows: beyond that the controller is not heard any more.
const HOLD_MAX: Duration = Duration::from_secs(20);

/// Gives an answer.
type Say<'a> = dyn Fn(&Answer) -> Result<(), RunError> + 'a;

/// How long a load may last.
enum Lasts<'a> {
    /// As the time line says.
    Line,
    /// The same, and after its window until every other window is over too; and what is moved is
    /// told after each so long.
    Held(&'a Say<'a>, Option<Nanos>),
    /// Until the orders end.
    UntilTold(&'a Say<'a>),
}

/// Waits so long, or until there is an order, or no more of them.
fn wait_for_the_end(time: Duration) -> Waited {
    let until = Instant::now() + time;
    let orders = std::io::stdin();
    let mut orders = [PollFd::new(orders.as_fd(), PollFlags::POLLIN)];
    loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut orders, left) {
            Ok(0) if Instant::now() < until => {}
            Ok(0) => return Waited::Out,
            Err(Errno::EINTR) => {}
            // Whatever there is to read says that it is over: the word for that, or the end.
            Ok(_) | Err(_) => return Waited::Told,
        }
    }
}

/// Reads counters around a window and in it.
#[derive(Default)]
struct Watching<'a> {
    wanted: &'a [Source],
    meters: Meters,
    readings: Readings,
    /// Until the window closes; `None` at ends that do not count it.
    memory: Option<MemoryMeters>,
    traffic: Option<MemoryTraffic>,
    /// `None` where no profile was asked for.
    profiler: Option<Result<Profiler, NotProfiled>>,
    /// `None` where nobody is told what is moved.
    teller: Option<(Parts, &'a Say<'a>)>,
}

impl Watching<'_> {
    fn profiler(&mut self) -> Option<&mut Profiler> {
        self.profiler.as_mut()?.as_mut().ok()
    }

    fn tell(&self, part: Option<Part>) {
        // A controller that hears nothing more ends this process.
        if let (Some((_, say)), Some(part)) = (&self.teller, part) {
            let _ = say(&Answer::Moved { part });
        }
    }
}

/// The profile of the window of a report.
fn profiled(profiler: Result<Profiler, NotProfiled>, report: &EndReport) -> Profiled {
    match profiler {
        Ok(profiler) => Profiled::Taken(profiler.finish(report.opened_ns, report.window_ns)),
        Err(why) => Profiled::NotTaken(why),
    }
}

/// Calls with what senders may look at.
fn with_scene<T>(sockets: &[socket2::Socket], call: impl FnOnce(&Scene<'_>) -> T) -> T {
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    call(&Scene { sockets: &sockets })
}

impl Watch for Watching<'_> {
    fn opened(&mut self, sockets: &[socket2::Socket]) {
        self.profiler().map(Profiler::start);
        self.meters = with_scene(sockets, |scene| Meters::open(self.wanted, scene));
        // Last, so that what it counts is as little more than the window as can be.
        if let Some(memory) = &mut self.memory {
            memory.start();
        }
    }

    fn slice(&mut self, sockets: &[socket2::Socket]) {
        with_scene(sockets, |scene| self.meters.sample(scene));
        self.profiler().map(Profiler::read);
    }

    fn moved(&mut self, slice: &Interval, messages: u64) {
        let part = self.teller.as_mut().and_then(|(parts, _)| parts.add(slice, messages));
        self.tell(part);
    }

    fn closed(&mut self, sockets: &[socket2::Socket]) {
        self.traffic = self.memory.take().map(MemoryMeters::close);
        self.profiler().map(Profiler::stop);
        let meters = std::mem::take(&mut self.meters);
        self.readings = with_scene(sockets, |scene| meters.close(scene));
        let rest = self.teller.as_mut().and_then(|(parts, _)| parts.rest());
        self.tell(rest);
    }
}

/// Begins a profile, as far as this worker may.
fn attach() -> Result<Profiler, NotProfiled> {
    match sampling() {
        Sampling::Free | Sampling::Given(None) => Profiler::attach(Symbols::Own),
        Sampling::Given(Some(number)) => Profiler::attach(Symbols::Inherited(number)),
        Sampling::NotGiven => Err(NotProfiled::Owner),
    }
}

/// Opens the counters of the memory bus, as far as this worker may: they show what all of its host
/// does, as a profile does.
fn memory_meters() -> MemoryMeters {
    match sampling() {
        Sampling::Free | Sampling::Given(_) => MemoryMeters::attach(),
        Sampling::NotGiven => MemoryMeters::refused(),
    }
}

/// Whether an end was asked for a profile. A background load is not what is measured.
fn is_profiled(job: &Job) -> bool {
    job.end != Role::Background && runs::PROFILE.of(&job.params).unwrap_or(false)
}

#[derive(Default)]
struct WorkerEnd {
    turn: Turn,
    job: Option<Job>,
    prepared: Option<Box<dyn Prepared>>,
    threads: Option<WorkerThreads>,
    memory: Option<MemoryMeters>,
    profiler: Option<Result<Profiler, NotProfiled>>,
}

impl WorkerEnd {
    fn obey(&mut self, order: Order, say: &Say<'_>) -> Answer {
        match self.turn.after(&order) {
            Ok(turn) => self.turn = turn,
            Err(why) => return Trouble::from(why.to_string()).at(Stage::Start),
        }
        let (at, answer) = match order {
            Order::Prepare { job } => (Stage::Prepare, self.prepare(*job)),
            Order::Arm { peer } => (Stage::Prepare, self.arm(&peer)),
            Order::Go { hold: false, .. } => (Stage::Run, self.go(Lasts::Line)),
            Order::Go { hold: true, tell_ns } => (Stage::Run, self.go(Lasts::Held(say, tell_ns))),
            Order::GoUntilTold => (Stage::Run, self.go(Lasts::UntilTold(say))),
            // Heard by the run that it ends; here it is late.
            Order::Release => (Stage::Run, Err(Trouble::from("no load is held"))),
        };
        answer.unwrap_or_else(|trouble| trouble.at(at))
    }

    fn prepare(&mut self, job: Job) -> Result<Answer, Trouble> {
        if let Some(namespace) = &job.namespace {
            let file = File::open(namespace).map_err(|error| format!("{namespace}: {error}"))?;
            setns(file, CloneFlags::CLONE_NEWNET)
                .map_err(|error| format!("entering the network namespace {namespace}: {error}"))?;
        }
        narrows_hostctl::child::obey_hold(job.params.flows()).map_err(|error| error.to_string())?;
        let prepared = narrows_workloads::prepare(&job)?;
        let ports = prepared.ports();
        self.prepared = Some(prepared);
        self.job = Some(job);
        Ok(Answer::Prepared { ports })
    }

    fn arm(&mut self, peer: &[std::net::SocketAddr]) -> Result<Answer, Trouble> {
        let prepared = self.prepared.take().ok_or("not prepared")?;
        let threads = prepared.arm(peer, THREAD_METER)?;
        self.threads = Some(threads);
        let wanted = self.job.as_ref().is_some_and(is_profiled);
        self.profiler = wanted.then(attach);
        let is_measured = self.job.as_ref().is_some_and(|job| job.end != Role::Background);
        self.memory = is_measured.then(memory_meters);
        Ok(Answer::Armed)
    }

    /// Runs the time line, or as long as it is told.
    fn go(&mut self, lasts: Lasts<'_>) -> Result<Answer, Trouble> {
        let (threads, job) = self.threads.take().zip(self.job.take()).ok_or("not armed")?;
        if let Some(seconds) = runs::AFTER.of(&job.params) {
            std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
        let wanted: &[Source] = if job.address.is_some() { &END } else { &HOST };
        let port = port_of(&job);
        let interface = port.clone().or_else(|| way::common(threads.sockets(), way::out));
        let interface_in = port.or_else(|| way::common(threads.sockets(), way::inward));
        let mut watching = Watching {
            wanted,
            memory: self.memory.take(),
            profiler: self.profiler.take(),
            teller: match lasts {
                Lasts::Held(say, Some(every)) => Some((Parts::every(every), say)),
                Lasts::Line | Lasts::Held(_, None) | Lasts::UntilTold(_) => None,
            },
            ..Watching::default()
        };
        let ran = match lasts {
            Lasts::Line => threads.run(&job.timeline, &mut watching),
            Lasts::Held(say, _) => threads.run_held(&job.timeline, &mut watching, || {
                if say(&Answer::Closed).is_ok() {
                    wait_for_the_end(HOLD_MAX);
                }
            }),
            Lasts::UntilTold(say) => {
                let mut running = false;
                threads.run_until_told(&job.timeline, &mut watching, |time| {
                    // The window is open by now.
                    let heard = running || say(&Answer::Running).is_ok();
                    running = true;
                    if heard { wait_for_the_end(time) } else { Waited::Told }
                })
            }
        };
        let mut report = ran?;
        report.readings = watching.readings;
        report.memory = watching.traffic.map(Box::new);
        report.profile = watching.profiler.map(|profiler| profiled(profiler, &report));
        report.effective.interface = interface;
        report.effective.interface_in = interface_in;
        report.effective.machine = machine();
        Ok(Answer::Finished { report: Box::new(report) })
    }
}
