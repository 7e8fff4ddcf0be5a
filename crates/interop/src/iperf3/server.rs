//! Answers a real iperf3 client: TCP and UDP, forward, reverse and both, one test at a time.
//!
//! Its protocol knows no key, so whoever reaches the port can have a test: that is why it runs only
//! when it is asked for, refuses what is beyond the limits, and sends datagrams only to an address
//! that has proved itself by the control connection. Who has not said what test it wants is a
//! stranger at the [`door`], and keeps nobody else from having one.

use super::asked::{Refusal, flows, prepare, within_limits};
use super::error::Iperf3Error;
use super::running::{LOOK_UP, Run, Stopped, Streams};
use super::turns::{Caller, Cookie, Granted, Turns};
use super::{
    COOKIE_BYTES, JSON_BYTES_MAX, PARAMETERS_BYTES_MAX, Parameters, STEP_WITHIN, State, UDP_REPLY,
    hear, receive_json, say, send_json,
};
use narrows_control::door::{self, Admitted, Service, Standing};
use narrows_control::events::Event;
use narrows_control::limits::Limits;
use narrows_control::listen::{self, ReadBy};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    tests: Arc<Tests>,
}

/// What all connections have in common.
struct Tests {
    address: SocketAddr,
    /// Whether the address stands for those of both families.
    both_families: bool,
    limits: Limits,
    turns: Mutex<Turns>,
    /// Set when the server is to end.
    over: AtomicBool,
}

/// The only test; another can begin when it is dropped.
struct Turn<'a> {
    tests: &'a Tests,
    granted: Granted,
}

impl Server {
    /// Listens on `port` of an address, or of all of both families, for tests within `limits`.
    pub fn listen(address: Option<IpAddr>, port: u16, limits: Limits) -> Result<Self, Iperf3Error> {
        let both_families = address.is_none();
        let (listener, address) = listen::open(address, port)?;
        let (turns, over) = (Mutex::default(), AtomicBool::new(false));
        let tests = Arc::new(Tests { address, both_families, limits, turns, over });
        Ok(Self { listener, tests })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.tests.address.port()
    }

    /// Serves one client after the other until `stop`.
    pub fn serve(&self, stop: &AtomicBool, log: impl Fn(Event) + Send + Sync + 'static) {
        door::serve(&self.listener, &self.tests, stop, log);
        self.tests.over.store(true, SeqCst);
    }
}

impl Service for Tests {
    type Error = io::Error;

    /// Who is not allowed is told so in words of the protocol.
    fn allows(&self, _from: IpAddr) -> bool {
        true
    }

    /// A stream of the test that runs has mostly said its cookie by now. It is not let in as a
    /// stranger, so that a test of many streams is no crowd.
    fn take(&self, stream: TcpStream) -> Option<TcpStream> {
        self.lock().arrivals.came(&stream);
        let mut cookie = [0; COOKIE_BYTES];
        let said = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut cookie));
        if !matches!(said, Ok(COOKIE_BYTES)) || !self.lock().is_of_current(&cookie) {
            return Some(stream);
        }
        (&stream).read_exact(&mut cookie).ok()?;
        let from = stream.peer_addr().ok()?;
        // Where the test has ended in this moment, its stream is nobody's, and closed.
        let _ = self.lock().sort(stream, &cookie, network(from), Instant::now());
        None
    }

    fn meet(
        &self,
        control: TcpStream,
        from: SocketAddr,
        admitted: &mut Admitted,
        log: &dyn Fn(Event),
    ) -> io::Result<Option<String>> {
        self.hear_out(control, from, admitted, log)
            .map_err(|error| io::Error::new(error.kind(), format!("{from}: {error}")))
    }
}

impl Tests {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a test, unless one runs or its network leaves the server to others.
    fn begin(&self, cookie: Cookie, asked: &Parameters, from: SocketAddr) -> Option<Turn<'_>> {
        let missing = if asked.udp == Some(true) { 0 } else { flows(asked) };
        let granted = self.lock().begin(cookie, missing, network(from), Instant::now())?;
        Some(Turn { tests: self, granted })
    }

    /// Hears what a connection is for, all of it in the time of one step, and serves it.
    fn hear_out(
        &self,
        control: TcpStream,
        from: SocketAddr,
        admitted: &mut Admitted,
        log: &dyn Fn(Event),
    ) -> io::Result<Option<String>> {
        control.set_nonblocking(false)?;
        control.set_nodelay(true)?;
        control.set_write_timeout(Some(STEP_WITHIN))?;
        let deadline = Instant::now() + STEP_WITHIN;
        let mut cookie = [0; COOKIE_BYTES];
        ReadBy { stream: &control, deadline }.read_exact(&mut cookie)?;
        if !self.limits.allows(from.ip()) {
            let why = "not among the allowed addresses".to_owned();
            return refused(&control, Refusal::Address, why);
        }
        let sorted = self.lock().sort(control, &cookie, network(from), Instant::now());
        let control = match sorted {
            Caller::Stream => return Ok(None),
            Caller::TooEarly(control) => return busy(&control),
            Caller::Client(control) => control,
        };
        say(&control, State::ParamExchange)?;
        let asked: Parameters =
            receive_json(ReadBy { stream: &control, deadline }, PARAMETERS_BYTES_MAX)?;
        if let Err((refusal, why)) = within_limits(&asked, &self.limits) {
            return refused(&control, refusal, why);
        }
        // A client that says all of this is as little a stranger as this protocol can tell.
        if admitted.prove() != Standing::Proved {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let Some(turn) = self.begin(cookie, &asked, from) else { return busy(&control) };
        log(Event::Session(format!("{from}: {} streams", flows(&asked))));
        self.test(&control, from, &asked, turn).map(|said| Some(format!("{from}: {said}")))
    }

    fn test(
        &self,
        control: &TcpStream,
        from: SocketAddr,
        asked: &Parameters,
        turn: Turn<'_>,
    ) -> io::Result<String> {
        let mut streams = Streams::none_yet(Run::new(asked, &self.limits));
        if streams.run.udp {
            self.udp_streams(control, &mut streams, from.ip(), asked)?
        } else {
            turn.tcp_streams(control, &mut streams, asked)?
        }
        say(control, State::TestStart)?;
        say(control, State::TestRunning)?;
        streams.run.going.store(true, SeqCst);
        let began = match streams.wait(control, &self.over, &turn.granted.is_awaited) {
            Err(Stopped::Broken(error)) => return Err(error),
            Err(stopped) => return refused(control, Refusal::Seconds, stopped.to_string()),
            Ok(began) => began,
        };
        let results = streams.end(began);
        drop(streams);
        say(control, State::ExchangeResults)?;
        let by = || ReadBy { stream: control, deadline: Instant::now() + STEP_WITHIN };
        let _theirs: serde_json::Value = receive_json(by(), JSON_BYTES_MAX)?;
        send_json(control, &results)?;
        // Before the client knows that this test is over: its next one may follow at once.
        drop(turn);
        say(control, State::DisplayResults)?;
        let _done = hear(by());
        let bytes: u64 = results.streams.iter().map(|stream| stream.bytes).sum();
        Ok(format!("{bytes} bytes in {:.2} s", results.streams[0].end_time))
    }

    /// Meets the data streams: each says four bytes from a port of its own and is answered.
    fn udp_streams(
        &self,
        control: &TcpStream,
        streams: &mut Streams,
        client: IpAddr,
        asked: &Parameters,
    ) -> io::Result<()> {
        let mut door = self.door()?;
        say(control, State::CreateStreams)?;
        let deadline = Instant::now() + STEP_WITHIN;
        while streams.are_missing() {
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
            prepare((&stream).into(), asked)?;
            stream.send(&UDP_REPLY.to_ne_bytes())?;
            let sends = streams.next_sends();
            streams.add(move |run, count| {
                if sends { run.send_udp(&stream, count) } else { run.receive_udp(&stream, count) }
            })?;
        }
        Ok(())
    }

    /// A UDP socket on the server's port, beside those tied to a client already.
    fn door(&self) -> io::Result<UdpSocket> {
        reusable(self.address, self.both_families)
    }
}

impl Turn<'_> {
    /// Takes the data connections: those that say the cookie.
    fn tcp_streams(
        &self,
        control: &TcpStream,
        streams: &mut Streams,
        asked: &Parameters,
    ) -> io::Result<()> {
        say(control, State::CreateStreams)?;
        let deadline = Instant::now() + STEP_WITHIN;
        let mut taken = Vec::new();
        while taken.len() < streams.run.count as usize {
            let left = deadline.saturating_duration_since(Instant::now());
            let stream = self.granted.streams.recv_timeout(left);
            taken.push(stream.map_err(|_| io::Error::from(ErrorKind::TimedOut))?);
        }
        // By its place a stream sends or receives.
        self.tests.lock().arrivals.sort(&mut taken);
        for stream in taken {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(streams.run.no_delay)?;
            prepare((&stream).into(), asked)?;
            stream.set_read_timeout(Some(LOOK_UP))?;
            stream.set_write_timeout(Some(LOOK_UP))?;
            let sends = streams.next_sends();
            streams.add(move |run, count| {
                if sends { run.send_tcp(&stream, count) } else { run.receive_tcp(&stream, count) }
            })?;
        }
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.tests.lock().end(Instant::now());
    }
}

/// What a client's share is counted for: an address of IPv4, a /64 of IPv6.
fn network(from: SocketAddr) -> IpAddr {
    door::network(from.ip())
}

fn refused<T>(control: &TcpStream, refusal: Refusal, why: String) -> io::Result<T> {
    refusal.tell(control)?;
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

fn busy<T>(control: &TcpStream) -> io::Result<T> {
    say(control, State::AccessDenied)?;
    Err(io::Error::new(ErrorKind::ResourceBusy, "another client's test runs"))
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
