//! The threads of one end, and the timekeeper that takes them along the time line.

use super::clock::{monotonic_ns, process_ns};
use super::mark::{Mark, mark};
use super::next_hop::NextHopWatch;
use super::on_link;
use super::payload::Compared;
use super::pin;
use super::tally::{Clockwork, Phase, Tally, TallyNow};
use super::ticks::{Ticks, Waited};
use super::tracing;
use super::trips::Trips;
use crate::harness::delays::Delays;
use crate::{LoadError, ThreadMeter};
use narrows_model::load::{
    Binding, CpuList, Effective, EndReport, FlowPorts, FlowTally, Interval, Stretch, ThreadUsage,
    Timeline, Unacknowledged, ZeroCopy,
};
use narrows_model::probe::PathProbe;
use narrows_model::rdma::RdmaEffective;
use narrows_model::{Bytes, Nanos};
use socket2::{SockAddr, Socket};
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Length of a slice of the window where none was asked for.
const INTERVAL: Duration = Duration::from_millis(100);
/// A look at the counters that took longer was interrupted: the window should open right after it.
const LOOK_WITHIN: Duration = Duration::from_millis(5);
/// For how long it is taken anew: ends whose windows open further apart than their cool-down lasts
/// would hang up on each other, and on a slow host every look is a long one.
const LOOKS_WITHIN: Duration = Duration::from_millis(20);
/// How long threads may take to get to the gate: touching large buffers is the slow part.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What a thread works with.
pub struct Lane {
    /// What the thread has counted so far.
    pub tally: Arc<Tally>,
    clockwork: Arc<Clockwork>,
    seen: Phase,
    meter: ThreadMeter,
    opened: Option<ThreadUsage>,
    closed: Option<ThreadUsage>,
    /// CPU time of pacing so far.
    pacing_ns: Option<u64>,
    ready: mpsc::Sender<Result<(), LoadError>>,
}

impl Lane {
    /// Says that this thread is ready, and blocks until the signal to go.
    pub fn wait_at_gate(&mut self) {
        let _ = self.ready.send(Ok(()));
        self.clockwork.wait();
    }

    /// The phase now. Called once a message by every hot loop: one relaxed load when nothing
    /// changed.
    #[inline]
    pub fn phase(&mut self) -> Phase {
        let phase = self.clockwork.phase();
        if phase != self.seen {
            self.turn(phase);
        }
        phase
    }

    /// Whether the phase that was seen last is the window.
    #[inline]
    pub fn is_in_window(&self) -> bool {
        self.seen == Phase::Window
    }

    /// The phase, for a thread beside this one.
    pub fn clock(&self) -> Clock {
        Clock(Arc::clone(&self.clockwork))
    }

    /// Adds CPU time that went into waiting for a message's turn.
    pub fn paced(&mut self, ns: u64) {
        self.pacing_ns = Some(self.pacing_ns.unwrap_or(0).saturating_add(ns));
    }

    #[cold]
    fn turn(&mut self, phase: Phase) {
        self.seen = phase;
        if phase >= Phase::Window && self.opened.is_none() {
            self.opened = Some(self.usage_now());
        }
        if phase >= Phase::Cooldown && self.closed.is_none() {
            self.closed = Some(self.usage_now());
        }
    }

    fn usage_now(&self) -> ThreadUsage {
        ThreadUsage { pacing_ns: self.pacing_ns.map(Nanos), ..(self.meter)() }
    }

    fn usage(&self, allowed: Vec<u32>) -> ThreadUsage {
        let cpu = if let [cpu] = allowed[..] { Some(cpu) } else { None };
        let (Some(open), Some(close)) = (&self.opened, &self.closed) else {
            return ThreadUsage { cpu, allowed, ..Default::default() };
        };
        ThreadUsage {
            cpu,
            allowed,
            wall_ns: span(open.wall_ns, close.wall_ns),
            user_ns: span(open.user_ns, close.user_ns),
            system_ns: span(open.system_ns, close.system_ns),
            voluntary_switches: close.voluntary_switches.saturating_sub(open.voluntary_switches),
            involuntary_switches: close
                .involuntary_switches
                .saturating_sub(open.involuntary_switches),
            waited_ns: waited_between(open, close),
            pacing_ns: close.pacing_ns.map(|close| span(open.pacing_ns.unwrap_or_default(), close)),
            cycles: open.cycles.zip(close.cycles).map(|(open, close)| close.saturating_sub(open)),
        }
    }
}

fn span(a: Nanos, b: Nanos) -> Nanos {
    Nanos(b.0.saturating_sub(a.0))
}

/// The phase, for a thread that works beside a lane.
#[derive(Clone)]
pub struct Clock(Arc<Clockwork>);

impl Clock {
    /// The phase now.
    pub fn phase(&self) -> Phase {
        self.0.phase()
    }
}

/// What a thread hands back at its end, beside its tally.
#[derive(Default)]
pub struct LaneEnd {
    /// Round trips of the window in nanoseconds.
    pub round_trips: Option<Trips>,
    /// Nanoseconds of them, all together, that went into handshakes of connections.
    pub handshakes_ns: Option<u64>,
    /// Each request that overlapped others: when it was due, by the monotonic clock, and how long
    /// it took.
    pub each: Option<Vec<(u64, Option<u64>)>>,
    /// What became of sends without a copy.
    pub zero_copy: Option<ZeroCopy>,
    /// What came of comparing bytes with what was sent.
    pub compared: Option<Compared>,
    /// Datagrams of a stretch that the other end counts too.
    pub stretch: Option<Stretch>,
    /// Packets of the sender's window by delay, in buckets of [`crate::harness::delays`].
    pub delays: Option<Vec<u64>>,
    /// Messages that nobody acknowledges.
    pub unacknowledged: Option<Unacknowledged>,
    /// What an RDMA end chose or was given.
    pub rdma: Option<RdmaEffective>,
    /// What a probe of the path found.
    pub probe: Option<Box<PathProbe>>,
}

/// A thread's work: set up, [`Lane::wait_at_gate`], then loop until [`Phase::Stop`].
pub type LaneWork = Box<dyn FnOnce(&mut Lane) -> Result<LaneEnd, LoadError> + Send>;

/// What worker threads are made of.
pub struct ThreadsPlan {
    /// One thread each.
    pub lanes: Vec<LaneWork>,
    /// The threads that send, when their bytes are not the received ones of the others.
    pub sending: Range<usize>,
    /// Whether only the threads that send count anything.
    pub one_sided: bool,
    /// Sockets of the flows, for the meters.
    pub sockets: Vec<Socket>,
    /// Settings read back.
    pub effective: Effective,
    /// CPUs to bind to.
    pub cpus: CpuList,
    /// How threads are bound to them.
    pub binding: Binding,
    /// CPU time of a thread.
    pub meter: ThreadMeter,
}

/// What reads counters around the window of a run, and in it.
pub trait Watch {
    /// The window is about to open; called anew where a look was interrupted.
    fn opened(&mut self, _flows: &[Socket]) {}
    /// A slice of the window is over, the last one included.
    fn slice(&mut self, _flows: &[Socket]) {}
    /// What was counted in a slice of the window, in whose `messages` its bytes were.
    fn moved(&mut self, _slice: &Interval, _messages: u64) {}
    /// The window has closed.
    fn closed(&mut self, _flows: &[Socket]) {}
}

/// Nobody looks on.
pub struct Unwatched;

impl Watch for Unwatched {}

/// Threads at the gate, ready to run.
pub struct WorkerThreads {
    clockwork: Arc<Clockwork>,
    tallies: Vec<Arc<Tally>>,
    sending: Range<usize>,
    one_sided: bool,
    threads: Vec<JoinHandle<(Result<LaneEnd, LoadError>, ThreadUsage)>>,
    sockets: Vec<Socket>,
    effective: Effective,
    meter: ThreadMeter,
}

fn port_of(at: std::io::Result<SockAddr>) -> Option<u16> {
    Some(at.ok()?.as_socket()?.port())
}

impl WorkerThreads {
    /// Starts the threads; returns when all stand at the gate.
    pub fn start(plan: ThreadsPlan) -> Result<Self, LoadError> {
        let clockwork = Arc::new(Clockwork::new());
        let (ready, all_ready) = mpsc::channel();
        let mut workers = Self {
            clockwork: clockwork.clone(),
            tallies: Vec::new(),
            sending: plan.sending,
            one_sided: plan.one_sided,
            threads: Vec::new(),
            sockets: plan.sockets,
            effective: plan.effective,
            meter: plan.meter,
        };
        for (index, work) in plan.lanes.into_iter().enumerate() {
            let cpus = cpus_of(&plan.cpus.0, plan.binding, index);
            let tally = Arc::new(Tally::default());
            workers.tallies.push(tally.clone());
            let lane = Lane {
                tally,
                clockwork: clockwork.clone(),
                seen: Phase::Gate,
                meter: plan.meter,
                opened: None,
                closed: None,
                pacing_ns: None,
                ready: ready.clone(),
            };
            let thread = thread::Builder::new().name(format!("lane {index}"));
            let thread = thread.spawn(move || work_lane(lane, &cpus, work));
            workers.threads.push(thread.map_err(LoadError::system("starting a thread"))?);
        }
        drop(ready);
        for _ in 0..workers.threads.len() {
            let answer = all_ready.recv_timeout(READY_WITHIN);
            if let Err(error) = answer.map_err(|_| late()).and_then(|ready| ready) {
                workers.clockwork.set(Phase::Stop);
                return Err(error);
            }
        }
        Ok(workers)
    }

    /// Sockets of the flows.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// Runs the time line; the report's own readings are left empty.
    pub fn run(self, timeline: &Timeline, watch: &mut dyn Watch) -> Result<EndReport, LoadError> {
        self.run_held(timeline, watch, || {})
    }

    /// The same; after the window the load lasts until `hold` returns, and at least as long as the
    /// cool-down.
    pub fn run_held(
        self,
        timeline: &Timeline,
        watch: &mut dyn Watch,
        hold: impl FnOnce(),
    ) -> Result<EndReport, LoadError> {
        self.run_while(
            timeline,
            watch,
            |time| {
                thread::sleep(time);
                Waited::Out
            },
            hold,
        )
    }

    /// The same, with a window that lasts until `wait` says that it was told so; of the time line
    /// only the rest counts.
    pub fn run_until_told(
        self,
        timeline: &Timeline,
        watch: &mut dyn Watch,
        wait: impl FnMut(Duration) -> Waited,
    ) -> Result<EndReport, LoadError> {
        let endless = Timeline { window_ns: Nanos(u64::MAX), ..*timeline };
        self.run_while(&endless, watch, wait, || {})
    }

    fn run_while(
        self,
        timeline: &Timeline,
        watch: &mut dyn Watch,
        mut wait: impl FnMut(Duration) -> Waited,
        hold: impl FnOnce(),
    ) -> Result<EndReport, LoadError> {
        let sends = !self.sending.is_empty();
        let (next_hop, traced) = (self.sockets.first().and_then(NextHopWatch::of), tracing::now());
        mark(Mark::Begins, sends);
        self.clockwork.set(Phase::Warmup);
        thread::sleep(duration(timeline.warmup_ns));
        let look_began = look_quickly(Instant::now, || watch.opened(&self.sockets));
        self.clockwork.set(Phase::Window);
        let (began, began_ns) = (Instant::now(), monotonic_ns());
        let (keeper, process) = ((self.meter)(), process_ns());
        let opened_ns = keeper.wall_ns;
        mark(Mark::Opens, sends);
        let first = self.tally_now();
        let slice = timeline.interval_ns.map_or(INTERVAL, duration);
        let window = (duration(timeline.window_ns), slice);
        let mut clock = Ticks { began, wait: &mut wait, late: Duration::ZERO };
        let intervals = self.keep_window(&mut clock, window, self.total(&first), watch);
        let late = clock.late;
        mark(Mark::Closes, sends);
        let last = self.tally_now();
        let window_ns = Nanos(began.elapsed().as_nanos() as u64);
        self.clockwork.set(Phase::Cooldown);
        let kept = (self.meter)();
        let keeper_ns = cpu_between(&keeper, &kept);
        let process_ns = process
            .zip(process_ns())
            .map(|(open, close)| Nanos(close.saturating_sub(open).saturating_sub(keeper_ns.0)));
        watch.closed(&self.sockets);
        let looked_ns = Some(Nanos(look_began.elapsed().as_nanos() as u64));
        let closed = Instant::now();
        let tracing = tracing::most(traced, tracing::now());
        let next_hop = next_hop.and_then(NextHopWatch::end);
        let left_aside = self.sockets.first().and_then(on_link::left_aside);
        hold();
        thread::sleep(duration(timeline.cooldown_ns).saturating_sub(closed.elapsed()));
        self.clockwork.set(Phase::Stop);
        let report = EndReport {
            window_ns,
            opened_ns,
            flows: self.flows(&first, &last),
            intervals,
            looked_ns,
            keeper_ns: Some(keeper_ns),
            keeper_waited_ns: waited_between(&keeper, &kept),
            keeper_late_ns: Some(Nanos(late.as_nanos() as u64)),
            process_ns,
            tracing,
            next_hop,
            left_aside,
            ports: self.ports(),
            ..Default::default()
        };
        self.dismiss(report, began_ns)
    }

    /// The ports of the flows that have some, in their order.
    fn ports(&self) -> Vec<FlowPorts> {
        let flows = self.sockets.iter();
        let ports = flows.map(|flow| {
            Some(FlowPorts { own: port_of(flow.local_addr())?, peer: port_of(flow.peer_addr())? })
        });
        // A gap would give the next ones another flow's number.
        ports.collect::<Option<Vec<FlowPorts>>>().unwrap_or_default()
    }

    /// What each flow counted between two readings.
    fn flows(&self, first: &[TallyNow], last: &[TallyNow]) -> Vec<FlowTally> {
        let flows = first.iter().zip(last).enumerate();
        let flows = flows.map(|(index, (first, last))| FlowTally {
            sends: self.sending.contains(&index),
            one_sided: self.one_sided,
            ..flow(first, last)
        });
        flows.collect()
    }

    /// Waits for the threads to end, and adds what they hand back; the window opened at this time
    /// of the monotonic clock.
    fn dismiss(self, report: EndReport, opened_ns: u64) -> Result<EndReport, LoadError> {
        let mut report = EndReport { effective: self.effective, ..report };
        let window_ns = report.window_ns;
        let mut all: Option<Trips> = None;
        let mut delays = Delays::default();
        for (index, thread) in self.threads.into_iter().enumerate() {
            let (ended, usage) =
                thread.join().map_err(|_| LoadError::Order("a thread panicked".into()))?;
            report.threads.push(usage);
            let ended = ended?;
            ended.delays.iter().for_each(|more| delays.add(more));
            let each = ended.each.iter().flatten();
            report.each_round_trip.extend(each.filter_map(|(due, took)| {
                let due = Nanos(due.checked_sub(opened_ns).filter(|due| *due < window_ns.0)?);
                Some((due, took.map(Nanos)))
            }));
            add_end(&mut report, &mut all, index, ended);
        }
        report.delays = delays.filled();
        if let Some(all) = all {
            let buckets = all.histogram.iter_recorded();
            report.round_trips = buckets
                .map(|bucket| (Nanos(bucket.value_iterated_to()), bucket.count_at_value()))
                .collect();
            report.round_trip_extremes_ns = all.extremes_ns();
        }
        Ok(report)
    }

    /// Whether nothing is left to wait for: all threads have ended, as those of a probe do when
    /// everything is known, and of another load when it fails.
    fn is_done(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    fn tally_now(&self) -> Vec<TallyNow> {
        self.tallies.iter().map(|tally| tally.now()).collect()
    }

    /// Bytes and messages so far: where an end does both, those that it received.
    fn total(&self, tallies: &[TallyNow]) -> (u64, u64) {
        let both =
            !self.one_sided && !self.sending.is_empty() && self.sending.len() < tallies.len();
        let counted = tallies.iter().enumerate();
        let counted = counted.filter(|(index, _)| !both || !self.sending.contains(index));
        counted.fold((0, 0), |(bytes, messages), (_, tally)| {
            (bytes + tally.bytes, messages + tally.messages)
        })
    }

    /// Sleeps through the window, reading the bytes of each slice.
    fn keep_window(
        &self,
        clock: &mut Ticks<'_>,
        (window, slice): (Duration, Duration),
        before: (u64, u64),
        watch: &mut dyn Watch,
    ) -> Vec<Interval> {
        let mut intervals = Vec::new();
        let (mut at, (mut bytes, mut messages)) = (Duration::ZERO, before);
        let (mut due, mut told) = (slice, Waited::Out);
        while at < window && told == Waited::Out && !self.is_done() {
            // A last slice shorter than half is joined to the one before it.
            if window.saturating_sub(due) < slice / 2 {
                due = window;
            }
            told = clock.until(due);
            watch.slice(&self.sockets);
            let now = clock.began.elapsed();
            let (sum, count) = self.total(&self.tally_now());
            let interval = Interval {
                start_ns: Nanos(at.as_nanos() as u64),
                length_ns: Nanos((now - at).as_nanos() as u64),
                bytes: Bytes(sum.saturating_sub(bytes)),
            };
            watch.moved(&interval, count.saturating_sub(messages));
            intervals.push(interval);
            (at, bytes, messages) = (now, sum, count);
            due = now.max(due) + slice;
        }
        intervals
    }
}

fn late() -> LoadError {
    LoadError::Order(format!("not ready in {READY_WITHIN:?}"))
}

fn duration(ns: Nanos) -> Duration {
    Duration::from_nanos(ns.0)
}

/// Takes a look at the counters, anew while it is interrupted; when the last one began.
fn look_quickly(now: impl Fn() -> Instant, mut look: impl FnMut()) -> Instant {
    let first = now();
    loop {
        let began = now();
        look();
        let ended = now();
        if ended - began < LOOK_WITHIN || ended - first >= LOOKS_WITHIN {
            return began;
        }
    }
}

/// CPU time that a thread used between two readings.
fn cpu_between(open: &ThreadUsage, close: &ThreadUsage) -> Nanos {
    Nanos(cpu_ns(close).saturating_sub(cpu_ns(open)))
}

fn waited_between(open: &ThreadUsage, close: &ThreadUsage) -> Option<Nanos> {
    let waited = open.waited_ns.zip(close.waited_ns);
    waited.map(|(open, close)| Nanos(close.0.saturating_sub(open.0)))
}

fn cpu_ns(usage: &ThreadUsage) -> u64 {
    usage.user_ns.0.saturating_add(usage.system_ns.0)
}

/// The CPUs of one of the threads.
fn cpus_of(all: &[u32], binding: Binding, thread: usize) -> Vec<u32> {
    match binding {
        Binding::All => all.to_vec(),
        Binding::Each => all.iter().copied().cycle().nth(thread).into_iter().collect(),
    }
}

fn work_lane(
    mut lane: Lane,
    cpus: &[u32],
    work: LaneWork,
) -> (Result<LaneEnd, LoadError>, ThreadUsage) {
    let bound = if cpus.is_empty() { Ok(Vec::new()) } else { pin::to_cpus(cpus) };
    let (allowed, ended) = match bound {
        Ok(allowed) => (allowed, work(&mut lane)),
        Err(error) => (Vec::new(), Err(error)),
    };
    // A thread that fails before the gate must say so, or the others would wait for it.
    if lane.seen == Phase::Gate
        && let Err(error) = ended
    {
        let _ = lane.ready.send(Err(error));
        return (Ok(LaneEnd::default()), ThreadUsage::default());
    }
    lane.phase();
    let usage = lane.usage(allowed);
    (ended, usage)
}

/// Adds what one thread hands back.
fn add_end(report: &mut EndReport, all: &mut Option<Trips>, index: usize, end: LaneEnd) {
    if let Some(more) = end.round_trips {
        match all {
            Some(all) => all.add(&more),
            None => *all = Some(more),
        }
    }
    if let Some(more) = end.handshakes_ns {
        report.handshakes_ns.get_or_insert_default().0 += more;
    }
    if let Some(flow) = report.flows.get_mut(index) {
        flow.stretch = end.stretch;
    }
    if let Some(more) = end.zero_copy {
        let told = report.zero_copy.get_or_insert_default();
        told.completed += more.completed;
        told.copied += more.copied;
    }
    if let Some(more) = end.compared {
        report.verified_bytes.get_or_insert_default().0 += more.bytes;
        report.corrupted = report.corrupted.or(more.corrupted);
    }
    if let Some(more) = end.unacknowledged {
        let told = report.unacknowledged.get_or_insert_default();
        told.sent = told.sent.saturating_add(more.sent);
        told.received = told.received.saturating_add(more.received);
    }
    if end.probe.is_some() {
        report.probe = end.probe;
    }
    if end.rdma.is_some() {
        report.effective.rdma = end.rdma;
    }
}

fn flow(first: &TallyNow, last: &TallyNow) -> FlowTally {
    let messages = last.messages - first.messages;
    FlowTally {
        bytes: Bytes(last.bytes - first.bytes),
        messages,
        lost: (last.expected - first.expected).saturating_sub(messages),
        reordered: last.reordered - first.reordered,
        refused: last.refused - first.refused,
        calls: last.calls - first.calls,
        duplicates: last.duplicates - first.duplicates,
        jitter_ns: (last.jitter_ns > 0).then_some(Nanos(last.jitter_ns)),
        sends: false,
        one_sided: false,
        stretch: None,
    }
}

#[cfg(test)]
mod tests;
