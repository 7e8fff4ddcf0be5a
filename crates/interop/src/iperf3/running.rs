//! A test of an iperf3 client while it runs: its streams, what they count, and its end.

use super::asked::{Direction, HEAD, SECONDS_MAX, Used, direction, flows, longest};
use super::{Parameters, Results, STEP_WITHIN, State, StreamResults, hear, stream_id, unknown};
use narrows_control::limits::Limits;
use narrows_workloads::udp::arrivals::{Arrival, Arrivals};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a thread may stay in one call.
pub const LOOK_UP: Duration = Duration::from_millis(50);

/// What one stream counted since it began.
#[derive(Default)]
pub struct Count {
    bytes: AtomicU64,
    received: AtomicU64,
    /// The number after the newest datagram's.
    expected: AtomicU64,
    jitter_ns: AtomicU64,
}

type Stream = (Arc<Count>, JoinHandle<()>);

/// A test while it runs.
pub struct Run {
    pub udp: bool,
    direction: Direction,
    pub no_delay: bool,
    pub count: u32,
    message: usize,
    /// From datagram to datagram of a stream, in nanoseconds.
    gap_ns: Option<f64>,
    wide: bool,
    omit: Duration,
    /// No test goes on for longer than this after it began.
    within: Duration,
    /// While another client waits, no test goes on for so long without a byte.
    quiet: Duration,
    /// CPU time of this process when the test began.
    used: Used,
    pub going: AtomicBool,
    over: AtomicBool,
}

impl Run {
    pub fn new(asked: &Parameters, limits: &Limits) -> Self {
        let udp = asked.udp == Some(true);
        let rate = asked.bandwidth.filter(|rate| *rate > 0);
        Self {
            udp,
            direction: direction(asked),
            no_delay: asked.nodelay == Some(true),
            count: flows(asked),
            message: asked.len as usize,
            gap_ns: rate.map(|rate| 8e9 * asked.len as f64 / rate as f64),
            wide: asked.udp_counters_64bit.unwrap_or(0) != 0,
            omit: Duration::from_secs(asked.omit.into()),
            within: longest(asked, limits),
            quiet: quiet(asked),
            used: Used::now(),
            going: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    /// Starts a stream's thread, which waits for the test to begin.
    fn start(
        self: &Arc<Self>,
        work: impl FnOnce(&Run, &Count) + Send + 'static,
    ) -> io::Result<Stream> {
        let (run, count) = (self.clone(), Arc::new(Count::default()));
        let own = count.clone();
        let thread = thread::Builder::new().name("iperf3 stream".into()).spawn(move || {
            while !run.going.load(SeqCst) && !run.over.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            work(&run, &own);
        })?;
        Ok((count, thread))
    }

    /// Whether this end sends by its n-th stream: of a test in both directions it receives by the
    /// first half, as the client makes them.
    fn sends(&self, stream: usize) -> bool {
        match self.direction {
            Direction::Here => false,
            Direction::There => true,
            Direction::Both => stream >= self.count as usize / 2,
        }
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Relaxed)
    }

    pub fn send_tcp(&self, mut stream: &TcpStream, count: &Count) {
        let bytes = vec![7; self.message];
        let began = Instant::now();
        let mut sent: u64 = 0;
        while self.goes_on() && self.due(began, sent / self.message as u64) {
            match stream.write(&bytes) {
                Ok(n) => {
                    sent += n as u64;
                    count.bytes.fetch_add(n as u64, Relaxed);
                }
                Err(error) if is_pause(&error) => {}
                Err(_) => return,
            }
        }
    }

    pub fn receive_tcp(&self, mut stream: &TcpStream, count: &Count) {
        let mut bytes = vec![0; self.message];
        while self.goes_on() {
            match stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(n) => drop(count.bytes.fetch_add(n as u64, Relaxed)),
                Err(error) if is_pause(&error) => {}
                Err(_) => return,
            }
        }
    }

    pub fn send_udp(&self, stream: &UdpSocket, count: &Count) {
        let mut bytes = vec![7; self.message];
        let began = Instant::now();
        let mut number: u64 = 0;
        while self.goes_on() && self.due(began, number) {
            let now = now();
            bytes[..4].copy_from_slice(&(now.as_secs() as u32).to_be_bytes());
            bytes[4..8].copy_from_slice(&now.subsec_micros().to_be_bytes());
            if self.wide {
                bytes[8..HEAD].copy_from_slice(&(number + 1).to_be_bytes())
            } else {
                bytes[8..12].copy_from_slice(&(number as u32 + 1).to_be_bytes())
            }
            if let Ok(n) = stream.send(&bytes) {
                number += 1;
                count.bytes.fetch_add(n as u64, Relaxed);
                count.received.fetch_add(1, Relaxed);
                count.expected.store(number, Relaxed);
            }
        }
    }

    pub fn receive_udp(&self, stream: &UdpSocket, count: &Count) {
        let mut bytes = vec![0; 1 << 16];
        let mut arrivals = Arrivals::default();
        while self.goes_on() {
            let Ok(length) = stream.recv(&mut bytes) else { continue };
            let Some(head) = bytes[..length].first_chunk::<HEAD>() else { continue };
            let word = |at: usize| {
                u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let number = if self.wide {
                u64::from(word(8)) << 32 | u64::from(word(12))
            } else {
                word(8).into()
            };
            if arrivals.take(number.saturating_sub(1)) == Arrival::Duplicate {
                continue;
            }
            let sent_ns = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)) * 1000;
            count.jitter_ns.store(arrivals.jitter_ns(sent_ns, now().as_nanos() as u64), Relaxed);
            count.expected.store(arrivals.expected(), Relaxed);
            count.bytes.fetch_add(length as u64, Relaxed);
            count.received.fetch_add(1, Relaxed);
        }
    }

    /// Waits until a message is due; false when the test is over.
    fn due(&self, began: Instant, number: u64) -> bool {
        let Some(gap_ns) = self.gap_ns else { return true };
        let due = began + Duration::from_nanos((gap_ns * number as f64) as u64);
        while self.goes_on() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if left > Duration::from_micros(200) {
                thread::sleep((left - Duration::from_micros(100)).min(LOOK_UP));
            }
        }
        false
    }
}

/// The longest pause of a test that does what it asked for: a slow one has seconds from message to
/// message, but no longer ones than it lasts.
fn quiet(asked: &Parameters) -> Duration {
    let rate = asked.bandwidth.filter(|rate| *rate > 0);
    let gap = rate.map_or(0.0, |rate| 8.0 * asked.len as f64 / rate as f64);
    STEP_WITHIN.max(Duration::from_secs_f64((2.0 * gap).min(SECONDS_MAX.into())))
}

/// Why a test did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error("it took too long")]
    TooLong,
    #[error("it moved nothing for {} s while another client waited", .0.as_secs())]
    Idle(Duration),
    #[error(transparent)]
    Broken(#[from] io::Error),
}

/// When a test's bytes last became more.
struct Motion {
    since: Instant,
    bytes: u64,
}

impl Motion {
    /// How long nothing has moved, with so many bytes now.
    fn ended_for(&mut self, now: Instant, bytes: u64) -> Duration {
        if bytes != self.bytes {
            *self = Self { since: now, bytes };
        }
        now.saturating_duration_since(self.since)
    }
}

/// What a stream had counted when the time that counts began.
type Before = (u64, u64, u64);

/// The streams of a test; they end with it.
pub struct Streams {
    pub run: Arc<Run>,
    threads: Vec<Stream>,
}

impl Streams {
    fn counts(&self) -> Vec<Before> {
        self.threads.iter().map(|(count, _)| read(count)).collect()
    }

    /// Streams of a test whose threads are added to it.
    pub fn none_yet(run: Run) -> Self {
        Self { run: Arc::new(run), threads: Vec::new() }
    }

    /// Starts the next stream's thread, which waits for the test to begin.
    pub fn add(&mut self, work: impl FnOnce(&Run, &Count) + Send + 'static) -> io::Result<()> {
        self.threads.push(self.run.start(work)?);
        Ok(())
    }

    /// Whether this end sends by the stream that is added next.
    pub fn next_sends(&self) -> bool {
        self.run.sends(self.threads.len())
    }

    pub fn are_missing(&self) -> bool {
        self.threads.len() < self.run.count as usize
    }

    /// Waits for the client's end of the test; when the time that counts began, and with what. A
    /// test that moves nothing makes room for a client that waits.
    pub fn wait(
        &self,
        control: &TcpStream,
        stop: &AtomicBool,
        is_awaited: &AtomicBool,
    ) -> Result<(Instant, Vec<Before>), Stopped> {
        let mut began = (Instant::now(), self.counts());
        let mut omitting = !self.run.omit.is_zero();
        let last = began.0 + self.run.within;
        let mut motion = Motion { since: Instant::now(), bytes: self.moved() };
        control.set_read_timeout(Some(LOOK_UP))?;
        loop {
            if omitting && began.0.elapsed() >= self.run.omit {
                (began, omitting) = ((Instant::now(), self.counts()), false);
            }
            match hear(control) {
                Ok(State::TestEnd) => break,
                Ok(State::ClientTerminate) => return Err(aborted()),
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if stop.load(SeqCst) {
                return Err(aborted());
            }
            if Instant::now() > last {
                return Err(Stopped::TooLong);
            }
            let quiet = motion.ended_for(Instant::now(), self.moved());
            if is_awaited.load(SeqCst) && quiet > self.run.quiet {
                return Err(Stopped::Idle(self.run.quiet));
            }
        }
        control.set_read_timeout(Some(STEP_WITHIN))?;
        Ok(began)
    }

    /// Bytes of all streams since they began.
    fn moved(&self) -> u64 {
        self.threads.iter().map(|(count, _)| count.bytes.load(Relaxed)).sum()
    }

    pub fn end(&self, (began, before): (Instant, Vec<Before>)) -> Results {
        let seconds = began.elapsed().as_secs_f64();
        let after = self.counts();
        self.run.over.store(true, SeqCst);
        let streams = before.iter().zip(&after).zip(&self.threads).zip(0..);
        let streams = streams.map(|(((before, after), (count, _)), index)| {
            let received = after.1 - before.1;
            let packets = after.2.saturating_sub(before.2);
            let lost = packets.saturating_sub(received);
            StreamResults {
                id: stream_id(index),
                bytes: after.0 - before.0,
                retransmits: unknown(),
                jitter: count.jitter_ns.load(Relaxed) as f64 / 1e9,
                errors: lost as i64,
                packets: packets as i64,
                end_time: seconds,
                ..StreamResults::default()
            }
        });
        let receives = self.run.direction == Direction::Here;
        let (user, system) = self.run.used.shares();
        Results {
            cpu_util_total: user + system,
            cpu_util_user: user,
            cpu_util_system: system,
            sender_has_retransmits: if receives { unknown() } else { Value::from(0) },
            streams: streams.collect(),
            ..Results::default()
        }
    }
}

fn read(count: &Count) -> (u64, u64, u64) {
    (count.bytes.load(Relaxed), count.received.load(Relaxed), count.expected.load(Relaxed))
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.run.over.store(true, SeqCst);
        for (_, thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn aborted() -> Stopped {
    io::Error::from(ErrorKind::ConnectionAborted).into()
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
