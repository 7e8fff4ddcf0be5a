//! Answers a real iperf3 client: TCP and UDP, forward, reverse and both, one test at a time.
//!
//! Its protocol knows no key, so whoever reaches the port can have a test: that is why it runs only
//! when it is asked for, refuses what is beyond the limits, and sends datagrams only to an address
//! that has proved itself by the control connection.

use super::asked::{Direction, HEAD, Refusal, Used, direction, flows, longest, within_limits};
use super::{
    COOKIE_BYTES, Parameters, Results, State, StreamResults, UDP_REPLY, hear, receive_json, say,
    send_json, stream_id, unknown,
};
use crate::limits::Limits;
use crate::{RunError, listen};
use narrows_workloads::udp::arrivals::{Arrival, Arrivals};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a word of the client, or a stream, may take.
const STEP_WITHIN: Duration = Duration::from_secs(5);
/// How long a thread may stay in one call.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What happened, for the log.
pub enum Event {
    /// A test began.
    Began(String),
    /// A test ended.
    Ended(String),
    /// A connection was turned away, or a test was broken off.
    Broken(String),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// Whether the address stands for those of both families.
    both_families: bool,
    limits: Limits,
}

impl Server {
    /// Listens on `port` of an address, or of all of both families, for tests within `limits`.
    pub fn listen(address: Option<IpAddr>, port: u16, limits: Limits) -> Result<Self, RunError> {
        let listening =
            listen::on(address, port).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let both_families = address.is_none();
        let (address, listener) = listening.map_err(|error| {
            let at = address.map_or("any address".to_owned(), |address| address.to_string());
            RunError::Listen { at, port, error }
        })?;
        Ok(Self { listener, address, both_families, limits })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Serves one client after the other until `stop`.
    pub fn serve(&self, stop: &AtomicBool, log: impl Fn(Event)) {
        while !stop.load(SeqCst) {
            let Some((control, from)) = crate::listen::next(&self.listener) else { continue };
            match self.test(control, from, stop, &log) {
                Ok(said) => log(Event::Ended(format!("{from}: {said}"))),
                Err(error) => log(Event::Broken(format!("{from}: {error}"))),
            }
        }
    }

    fn test(
        &self,
        control: TcpStream,
        from: SocketAddr,
        stop: &AtomicBool,
        log: &impl Fn(Event),
    ) -> io::Result<String> {
        control.set_nonblocking(false)?;
        control.set_nodelay(true)?;
        control.set_read_timeout(Some(STEP_WITHIN))?;
        control.set_write_timeout(Some(STEP_WITHIN))?;
        let mut cookie = [0; COOKIE_BYTES];
        (&control).read_exact(&mut cookie)?;
        let refused = |refusal: Refusal, why: String| {
            refusal.tell(&control)?;
            Err(io::Error::new(ErrorKind::InvalidInput, why))
        };
        if !self.limits.allows(from.ip()) {
            return refused(Refusal::Address, "not among the allowed addresses".to_owned());
        }
        say(&control, State::ParamExchange)?;
        let asked: Parameters = receive_json(&control)?;
        if let Err((refusal, why)) = within_limits(&asked, &self.limits) {
            return refused(refusal, why);
        }
        log(Event::Began(format!("{from}: {} streams", flows(&asked))));
        let run = Arc::new(Run::new(&asked, &self.limits));
        let streams = match run.udp {
            true => self.udp_streams(&control, &run, from.ip())?,
            false => self.tcp_streams(&control, &cookie, &run)?,
        };
        say(&control, State::TestStart)?;
        say(&control, State::TestRunning)?;
        let streams = Streams { run, threads: streams };
        streams.run.going.store(true, SeqCst);
        let began = match streams.wait(&control, stop) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return refused(Refusal::Seconds, "it went on for too long".to_owned());
            }
            began => began?,
        };
        let results = streams.end(began);
        say(&control, State::ExchangeResults)?;
        let _theirs: serde_json::Value = receive_json(&control)?;
        send_json(&control, &results)?;
        say(&control, State::DisplayResults)?;
        let _done = hear(&control);
        let bytes: u64 = results.streams.iter().map(|stream| stream.bytes).sum();
        Ok(format!("{bytes} bytes in {:.2} s", results.streams[0].end_time))
    }

    /// Accepts the data connections: those that say the cookie.
    fn tcp_streams(
        &self,
        control: &TcpStream,
        cookie: &[u8; COOKIE_BYTES],
        run: &Arc<Run>,
    ) -> io::Result<Vec<Stream>> {
        say(control, State::CreateStreams)?;
        let deadline = Instant::now() + STEP_WITHIN;
        let mut streams = Vec::new();
        while streams.len() < run.count as usize {
            if Instant::now() > deadline {
                return Err(ErrorKind::TimedOut.into());
            }
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(Duration::from_millis(500)))?;
            let mut said = [0; COOKIE_BYTES];
            if (&stream).read_exact(&mut said).is_err() {
                continue;
            }
            if said != *cookie {
                // Another client's control connection.
                let _ = say(&stream, State::AccessDenied);
                continue;
            }
            stream.set_nodelay(run.no_delay)?;
            stream.set_read_timeout(Some(LOOK_UP))?;
            stream.set_write_timeout(Some(LOOK_UP))?;
            let sends = run.sends(streams.len());
            streams.push(run.start(move |run, count| match sends {
                true => run.send_tcp(&stream, count),
                false => run.receive_tcp(&stream, count),
            })?);
        }
        Ok(streams)
    }

    /// Meets the data streams: each says four bytes from a port of its own and is answered.
    fn udp_streams(
        &self,
        control: &TcpStream,
        run: &Arc<Run>,
        client: IpAddr,
    ) -> io::Result<Vec<Stream>> {
        let mut door = self.door()?;
        say(control, State::CreateStreams)?;
        let mut streams = Vec::new();
        let deadline = Instant::now() + STEP_WITHIN;
        while streams.len() < run.count as usize {
            if Instant::now() > deadline {
                return Err(ErrorKind::TimedOut.into());
            }
            let mut word = [0; 16];
            let Ok((4, from)) = door.recv_from(&mut word) else { continue };
            // Only the host that holds the control connection has proved that it is there.
            if listen::canonical(from).ip() != client {
                continue;
            }
            door.connect(from)?;
            let next = self.door()?;
            let stream = std::mem::replace(&mut door, next);
            stream.send(&UDP_REPLY.to_ne_bytes())?;
            let sends = run.sends(streams.len());
            streams.push(run.start(move |run, count| match sends {
                true => run.send_udp(&stream, count),
                false => run.receive_udp(&stream, count),
            })?);
        }
        Ok(streams)
    }

    /// A UDP socket on the server's port, beside those tied to a client already.
    fn door(&self) -> io::Result<UdpSocket> {
        reusable(self.address, self.both_families)
    }
}

/// A UDP socket on an address that others may have too.
fn reusable(address: SocketAddr, both_families: bool) -> io::Result<UdpSocket> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(!both_families)?;
    }
    socket.set_reuse_address(true)?;
    let _ = socket.set_recv_buffer_size(8 << 20);
    socket.bind(&address.into())?;
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(LOOK_UP))?;
    socket.set_write_timeout(Some(LOOK_UP))?;
    Ok(socket)
}

/// What one stream counted since the last reset.
#[derive(Default)]
struct Count {
    bytes: AtomicU64,
    received: AtomicU64,
    /// The number after the newest datagram's.
    expected: AtomicU64,
    jitter_ns: AtomicU64,
}

type Stream = (Arc<Count>, JoinHandle<()>);

/// A test while it runs.
struct Run {
    udp: bool,
    direction: Direction,
    no_delay: bool,
    count: u32,
    message: usize,
    /// From datagram to datagram of a stream, in nanoseconds.
    gap_ns: Option<f64>,
    wide: bool,
    omit: Duration,
    /// No test goes on for longer than this after it began.
    within: Duration,
    /// CPU time of this process when the test began.
    used: Used,
    going: AtomicBool,
    over: AtomicBool,
}

impl Run {
    fn new(asked: &Parameters, limits: &Limits) -> Self {
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
            within: longest(asked, limits) + STEP_WITHIN * 2,
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

    fn send_tcp(&self, mut stream: &TcpStream, count: &Count) {
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

    fn receive_tcp(&self, mut stream: &TcpStream, count: &Count) {
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

    fn send_udp(&self, stream: &UdpSocket, count: &Count) {
        let mut bytes = vec![7; self.message];
        let began = Instant::now();
        let mut number: u64 = 0;
        while self.goes_on() && self.due(began, number) {
            let now = now();
            bytes[..4].copy_from_slice(&(now.as_secs() as u32).to_be_bytes());
            bytes[4..8].copy_from_slice(&now.subsec_micros().to_be_bytes());
            match self.wide {
                true => bytes[8..HEAD].copy_from_slice(&(number + 1).to_be_bytes()),
                false => bytes[8..12].copy_from_slice(&(number as u32 + 1).to_be_bytes()),
            }
            if let Ok(n) = stream.send(&bytes) {
                number += 1;
                count.bytes.fetch_add(n as u64, Relaxed);
                count.received.fetch_add(1, Relaxed);
                count.expected.store(number, Relaxed);
            }
        }
    }

    fn receive_udp(&self, stream: &UdpSocket, count: &Count) {
        let mut bytes = vec![0; 1 << 16];
        let mut arrivals = Arrivals::default();
        while self.goes_on() {
            let Ok(length) = stream.recv(&mut bytes) else { continue };
            let Some(head) = bytes[..length].first_chunk::<HEAD>() else { continue };
            let word = |at: usize| {
                u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let number = match self.wide {
                true => u64::from(word(8)) << 32 | u64::from(word(12)),
                false => word(8).into(),
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

/// What a stream had counted when the time that counts began.
type Before = (u64, u64, u64);

/// The streams of a test; they end with it.
struct Streams {
    run: Arc<Run>,
    threads: Vec<Stream>,
}

impl Streams {
    fn counts(&self) -> Vec<Before> {
        let read = |count: &Count| {
            (count.bytes.load(Relaxed), count.received.load(Relaxed), count.expected.load(Relaxed))
        };
        self.threads.iter().map(|(count, _)| read(count)).collect()
    }

    /// Waits for the client's end of the test; when the time that counts began, and with what.
    fn wait(&self, control: &TcpStream, stop: &AtomicBool) -> io::Result<(Instant, Vec<Before>)> {
        let mut began = (Instant::now(), self.counts());
        let mut omitting = !self.run.omit.is_zero();
        let last = began.0 + self.run.within;
        control.set_read_timeout(Some(LOOK_UP))?;
        loop {
            if omitting && began.0.elapsed() >= self.run.omit {
                (began, omitting) = ((Instant::now(), self.counts()), false);
            }
            match hear(control) {
                Ok(State::TestEnd) => break,
                Ok(State::ClientTerminate) => return Err(ErrorKind::ConnectionAborted.into()),
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            if stop.load(SeqCst) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if Instant::now() > last {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        control.set_read_timeout(Some(STEP_WITHIN))?;
        Ok(began)
    }

    fn end(&self, (began, before): (Instant, Vec<Before>)) -> Results {
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

impl Drop for Streams {
    fn drop(&mut self) {
        self.run.over.store(true, SeqCst);
        for (_, thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
