//! Drives an iperf3 server: its end of a trial is whatever it says of itself, ours a worker.

use super::{
    COOKIE_BYTES, Parameters, Results, State, StreamResults, hear, receive_json, say, send_json,
    stream_id, unknown,
};
use crate::RunError;
use crate::key;
use narrows_facts::load::{End, EndReport, FlowTally, Stretch, StretchOf, ThreadUsage};
use narrows_facts::trial::Trial;
use narrows_facts::{Bytes, Nanos};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long a server that is busy with another test, or with the end of the last, is asked again.
const BUSY_WITHIN: Duration = Duration::from_secs(10);

/// An iperf3 server.
pub struct Iperf3Server {
    at: SocketAddr,
    own_address: IpAddr,
}

/// One test with it, from the parameters to the results.
pub struct Test {
    control: TcpStream,
    cookie: String,
    at: SocketAddr,
}

fn failed(at: SocketAddr) -> impl Fn(std::io::Error) -> RunError {
    move |error| RunError::Unreachable(format!("iperf3 server at {at}: {error}"))
}

impl Iperf3Server {
    /// Finds the server and the own address towards it.
    pub fn find(host: &str, port: u16, family: Option<crate::Family>) -> Result<Self, RunError> {
        let unreachable = |why: String| {
            RunError::Unreachable(format!("iperf3 server at {host} port {port}: {why}"))
        };
        let addresses = (host, port).to_socket_addrs().map_err(|e| unreachable(e.to_string()))?;
        let mut last = "the name has no such address".to_owned();
        for at in addresses.filter(|at| family.is_none_or(|family| family.has(at.ip()))) {
            // Only the route is looked up: its server would take a connection for a test.
            match route_to(at) {
                Ok(own_address) => return Ok(Self { at, own_address }),
                Err(error) => last = error.to_string(),
            }
        }
        Err(unreachable(last))
    }

    /// Where it is.
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// This host's address towards it.
    pub fn own_address(&self) -> IpAddr {
        self.own_address
    }

    /// Opens a test, up to where streams are to be created.
    pub fn begin(&self, trial: &Trial) -> Result<Test, RunError> {
        let deadline = Instant::now() + BUSY_WITHIN;
        loop {
            match self.open(trial) {
                Err(RunError::Declined(_) | RunError::Unreachable(_))
                    if Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                opened => return opened,
            }
        }
    }

    fn open(&self, trial: &Trial) -> Result<Test, RunError> {
        let lost = failed(self.at);
        let control =
            TcpStream::connect_timeout(&self.at, Duration::from_secs(5)).map_err(&lost)?;
        control.set_nodelay(true).map_err(&lost)?;
        control.set_read_timeout(Some(ANSWER_WITHIN)).map_err(&lost)?;
        let cookie = cookie()?;
        let mut greeting = cookie.clone().into_bytes();
        greeting.push(0);
        (&control).write_all(&greeting).map_err(&lost)?;
        let test = Test { control, cookie, at: self.at };
        test.until(State::ParamExchange)?;
        send_json(&test.control, &parameters(trial)).map_err(&lost)?;
        test.until(State::CreateStreams)?;
        Ok(test)
    }
}

impl Test {
    /// What each data connection says first.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Waits until the server runs: the streams are there.
    pub fn running(&self) -> Result<(), RunError> {
        self.until(State::TestRunning)
    }

    /// Tells the server that the test is over: it stops sending, and counting.
    pub fn over(&self) -> Result<(), RunError> {
        say(&self.control, State::TestEnd).map_err(failed(self.at))
    }

    /// Exchanges results; what the server says of its end.
    pub fn results(&self, trial: &Trial, ours: &EndReport) -> Result<EndReport, RunError> {
        let lost = failed(self.at);
        self.until(State::ExchangeResults)?;
        send_json(&self.control, &own_results(trial, ours)).map_err(&lost)?;
        let theirs: Results = receive_json(&self.control).map_err(&lost)?;
        self.until(State::DisplayResults)?;
        say(&self.control, State::Done).map_err(&lost)?;
        their_report(trial, &theirs)
    }

    /// Waits for a state; those before it pass.
    fn until(&self, wanted: State) -> Result<(), RunError> {
        loop {
            match hear(&self.control).map_err(failed(self.at))? {
                state if state == wanted => return Ok(()),
                State::TestStart => {}
                State::AccessDenied => {
                    let why = format!("iperf3 server at {}: busy with another test", self.at);
                    return Err(RunError::Declined(why));
                }
                State::ServerError => {
                    let why = format!("iperf3 server at {}: it refuses what was asked", self.at);
                    return Err(RunError::Refused(why));
                }
                other => {
                    let why =
                        format!("iperf3 server at {}: {other:?} in place of {wanted:?}", self.at);
                    return Err(RunError::Refused(why));
                }
            }
        }
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        // A test that is broken off; one that is over is closed already.
        let _ = say(&self.control, State::ClientTerminate);
    }
}

/// This host's address on the way there; nothing is sent.
fn route_to(at: SocketAddr) -> std::io::Result<IpAddr> {
    let any: IpAddr = match at {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(at)?;
    Ok(socket.local_addr()?.ip())
}

/// 36 letters by chance.
fn cookie() -> Result<String, RunError> {
    let hex = key::token()? + &key::token()?;
    Ok(hex.chars().take(COOKIE_BYTES - 1).collect())
}

fn parameters(trial: &Trial) -> Parameters {
    let (params, line) = (&trial.params, &trial.timeline);
    let udp = trial.kind.starts_with("udp");
    let seconds = |ns: Nanos| ns.seconds().ceil() as u32;
    let socket = params.socket.clone().unwrap_or_default();
    let reverse = params.is_reverse();
    let place = if reverse { &trial.place.source } else { &trial.place.sink };
    Parameters {
        tcp: (!udp).then_some(true),
        udp: udp.then_some(true),
        omit: seconds(line.warmup_ns),
        server_affinity: place.0.first().map(|cpu| i64::from(*cpu)),
        // Its own clock ends a test that nobody ends; ours does first.
        time: seconds(line.window_ns) + seconds(line.cooldown_ns) + 2,
        mss: socket.mss_bytes,
        nodelay: socket.no_delay.filter(|no_delay| *no_delay),
        parallel: params.streams,
        reverse: reverse.then_some(true),
        window: params.socket_buffer_bytes.map(|bytes| bytes.0),
        len: params.message_bytes.0,
        bandwidth: params.rate_bps.map(|rate| rate / u64::from(params.streams.max(1))),
        pacing_timer: 1000,
        tos: socket.dscp.map(|dscp| u32::from(dscp) << 2),
        congestion: params.congestion.clone(),
        udp_counters_64bit: udp.then_some(1),
        client_version: "3.12".to_owned(),
        ..Parameters::default()
    }
}

fn own_results(trial: &Trial, ours: &EndReport) -> Results {
    let streams = ours.flows.iter().zip(0..).map(|(flow, index)| StreamResults {
        id: stream_id(index),
        bytes: flow.bytes.0,
        retransmits: unknown(),
        errors: flow.lost as i64,
        packets: if trial.kind.starts_with("udp") { flow.messages as i64 } else { 0 },
        end_time: ours.window_ns.seconds(),
        ..StreamResults::default()
    });
    let window = ours.window_ns.seconds().max(1e-9);
    let percent = |time: fn(&ThreadUsage) -> Nanos| {
        100.0 * ours.threads.iter().map(|thread| time(thread).seconds()).sum::<f64>() / window
    };
    let (user, system) = (percent(|thread| thread.user_ns), percent(|thread| thread.system_ns));
    Results {
        cpu_util_total: user + system,
        cpu_util_user: user,
        cpu_util_system: system,
        sender_has_retransmits: unknown(),
        streams: streams.collect(),
        ..Results::default()
    }
}

/// The server's end as a report; a figure that cannot be is refused, not passed on.
fn their_report(trial: &Trial, theirs: &Results) -> Result<EndReport, RunError> {
    let nonsense = |what: &str| RunError::Refused(format!("the iperf3 server reported {what}"));
    let ends = if trial.params.is_reverse() { End::Source } else { End::Sink };
    if theirs.streams.len() != trial.params.streams as usize {
        return Err(nonsense(&format!("{} streams", theirs.streams.len())));
    }
    let mut report = EndReport::default();
    let udp = trial.kind.starts_with("udp");
    for stream in &theirs.streams {
        let seconds = stream.end_time - stream.start_time;
        if !(seconds > 0.0 && seconds < 1e6) {
            return Err(nonsense(&format!("a test of {seconds} s")));
        }
        let window_ns = (seconds * 1e9) as u64;
        report.window_ns = Nanos(report.window_ns.0.max(window_ns));
        // What was lost while warming up does not count.
        let lost = (stream.errors - stream.omitted_errors.max(0)).max(0) as u64;
        let packets = (stream.packets - stream.omitted_packets.max(0)).max(0) as u64;
        report.flows.push(FlowTally {
            bytes: Bytes(stream.bytes),
            messages: packets.saturating_sub(lost),
            lost,
            stretch: udp.then(|| whole_run(stream, ends)),
            jitter_ns: (stream.jitter > 0.0 && stream.jitter < 1e3)
                .then_some(Nanos((stream.jitter * 1e9) as u64)),
            sends: ends == End::Source,
            ..FlowTally::default()
        });
    }
    Ok(report)
}

/// All datagrams that its end sent, or got: a receiving server takes the number of the last that
/// came for all, and what it missed before that for lost.
fn whole_run(stream: &StreamResults, end: End) -> Stretch {
    let missed = if end == End::Sink { stream.errors.max(0) } else { 0 };
    let datagrams = stream.packets.saturating_sub(missed).max(0) as u64;
    Stretch { of: StretchOf::WholeRun, datagrams }
}
