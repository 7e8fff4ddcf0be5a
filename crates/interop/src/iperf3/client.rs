//! Drives an iperf3 server: its end of a trial is whatever it says of itself, ours a worker.

use super::error::{Iperf3Error, Nonsense};
use super::{
    COOKIE_BYTES, JSON_BYTES_MAX, Parameters, Results, State, StreamResults, hear, receive_json,
    say, send_json, stream_id, unknown,
};
use narrows_control::Family;
use narrows_control::key;
use narrows_model::load::{EndReport, FlowTally, Role, Stretch, StretchOf, ThreadUsage};
use narrows_model::trial::Trial;
use narrows_model::{Bytes, Nanos};
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

fn failed(at: SocketAddr) -> impl Fn(std::io::Error) -> Iperf3Error {
    move |error| Iperf3Error::Closed { at, error }
}

impl Iperf3Server {
    /// Finds the server and the own address towards it.
    pub fn find(host: &str, port: u16, family: Option<Family>) -> Result<Self, Iperf3Error> {
        let unknown = |why: String| Iperf3Error::UnknownHost { host: host.to_owned(), why };
        let addresses = (host, port).to_socket_addrs().map_err(|e| unknown(e.to_string()))?;
        let mut last = unknown("the name has no such address".to_owned());
        for at in addresses.filter(|at| family.is_none_or(|family| family.has(at.ip()))) {
            // Only the route is looked up: its server would take a connection for a test.
            match route_to(at) {
                Ok(own_address) => return Ok(Self { at, own_address }),
                Err(error) => last = Iperf3Error::NoRoute { host: host.to_owned(), port, error },
            }
        }
        Err(last)
    }

    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// This host's address towards it.
    pub fn own_address(&self) -> IpAddr {
        self.own_address
    }

    /// Opens a test, up to where streams are to be created.
    pub fn begin(&self, trial: &Trial) -> Result<Test, Iperf3Error> {
        let deadline = Instant::now() + BUSY_WITHIN;
        loop {
            match self.open(trial) {
                Err(Iperf3Error::Busy { .. } | Iperf3Error::Closed { .. })
                    if Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                opened => return opened,
            }
        }
    }

    fn open(&self, trial: &Trial) -> Result<Test, Iperf3Error> {
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
    pub fn running(&self) -> Result<(), Iperf3Error> {
        self.until(State::TestRunning)
    }

    /// Tells the server that the test is over: it stops sending, and counting.
    pub fn over(&self) -> Result<(), Iperf3Error> {
        say(&self.control, State::TestEnd).map_err(failed(self.at))
    }

    /// Exchanges results; what the server says of its end.
    pub fn results(&self, trial: &Trial, ours: &EndReport) -> Result<EndReport, Iperf3Error> {
        let lost = failed(self.at);
        self.until(State::ExchangeResults)?;
        send_json(&self.control, &own_results(trial, ours)).map_err(&lost)?;
        let theirs: Results = receive_json(&self.control, JSON_BYTES_MAX).map_err(&lost)?;
        self.until(State::DisplayResults)?;
        say(&self.control, State::Done).map_err(&lost)?;
        their_report(trial, &theirs)
    }

    /// Waits for a state; those before it pass.
    fn until(&self, wanted: State) -> Result<(), Iperf3Error> {
        loop {
            match hear(&self.control).map_err(failed(self.at))? {
                state if state == wanted => return Ok(()),
                State::TestStart => {}
                State::AccessDenied => return Err(Iperf3Error::Busy { at: self.at }),
                State::ServerError => return Err(Iperf3Error::Refused { at: self.at }),
                heard => return Err(Iperf3Error::OutOfTurn { at: self.at, heard, wanted }),
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
fn cookie() -> Result<String, Iperf3Error> {
    let hex = key::token()? + &key::token()?;
    Ok(hex.chars().take(COOKIE_BYTES - 1).collect())
}

fn parameters(trial: &Trial) -> Parameters {
    let (params, line) = (&trial.params, &trial.timeline);
    let udp = trial.kind.is_udp();
    let socket = params.socket.clone().unwrap_or_default();
    let reverse = params.is_reverse();
    let place = trial.place(if reverse { Role::Sender } else { Role::Receiver });
    // Its server knows one CPU only: asked for a set, it is left unbound.
    let cpu = place.cpus.0.first().filter(|_| place.binding.is_each());
    Parameters {
        tcp: (!udp).then_some(true),
        udp: udp.then_some(true),
        omit: whole_seconds(line.warmup_ns),
        server_affinity: cpu.map(|cpu| i64::from(*cpu)),
        // Its own clock ends a test that nobody ends; ours does first.
        time: whole_seconds(line.window_ns) + whole_seconds(line.cooldown_ns) + 2,
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

fn whole_seconds(ns: Nanos) -> u32 {
    ns.seconds().ceil() as u32
}

fn own_results(trial: &Trial, ours: &EndReport) -> Results {
    let streams = ours.flows.iter().zip(0..).map(|(flow, index)| StreamResults {
        id: stream_id(index),
        bytes: flow.bytes.0,
        retransmits: unknown(),
        errors: flow.lost as i64,
        packets: if trial.kind.is_udp() { flow.messages as i64 } else { 0 },
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
fn their_report(trial: &Trial, theirs: &Results) -> Result<EndReport, Iperf3Error> {
    let ends = if trial.params.is_reverse() { Role::Sender } else { Role::Receiver };
    if theirs.streams.len() != trial.params.streams as usize {
        return Err(Iperf3Error::Nonsense(Nonsense::Streams(theirs.streams.len())));
    }
    let mut report = EndReport::default();
    let udp = trial.kind.is_udp();
    for stream in &theirs.streams {
        let seconds = stream.end_time - stream.start_time;
        if !(seconds > 0.0 && seconds < 1e6) {
            return Err(Iperf3Error::Nonsense(Nonsense::Seconds(seconds)));
        }
        report.window_ns = report.window_ns.max(Nanos::from_seconds(seconds));
        // What was lost while warming up does not count.
        let lost = (stream.errors - stream.omitted_errors.max(0)).max(0) as u64;
        let packets = (stream.packets - stream.omitted_packets.max(0)).max(0) as u64;
        report.flows.push(FlowTally {
            bytes: Bytes(stream.bytes),
            messages: packets.saturating_sub(lost),
            lost,
            stretch: udp.then(|| whole_run(stream, ends)),
            jitter_ns: (stream.jitter > 0.0 && stream.jitter < 1e3)
                .then_some(Nanos::from_seconds(stream.jitter)),
            sends: ends == Role::Sender,
            ..FlowTally::default()
        });
    }
    Ok(report)
}

/// All datagrams that its end sent, or got: a receiving server takes the number of the last that
/// came for all, and what it missed before that for lost.
fn whole_run(stream: &StreamResults, end: Role) -> Stretch {
    let missed = if end == Role::Receiver { stream.errors.max(0) } else { 0 };
    let datagrams = stream.packets.saturating_sub(missed).max(0) as u64;
    Stretch { of: StretchOf::WholeRun, datagrams }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, SocketParams, StreamParams, Timeline};
    use narrows_model::trial::{EndSpec, NetworkPath, Placement, TrialId};
    use std::io::Read;

    const MS: u64 = 1_000_000;

    fn trial(kind: &str, reverse: bool) -> Trial {
        let stream = reverse.then(|| StreamParams { reverse, ..StreamParams::default() });
        let socket = SocketParams {
            mss_bytes: Some(1200),
            no_delay: Some(true),
            dscp: Some(46),
            ..SocketParams::default()
        };
        Trial {
            id: TrialId("a".into()),
            label: kind.into(),
            kind: kind.into(),
            params: Params {
                stream,
                socket: Some(socket),
                rate_bps: Some(3_000_000),
                socket_buffer_bytes: Some(Bytes(4096)),
                congestion: Some("reno".into()),
                ..Params::of_network(Bytes(1400), 3)
            },
            ends: EndSpec::pair(Placement::on([6, 7]), Placement::on([5]), reverse),
            path: NetworkPath::Peer,
            timeline: Timeline {
                warmup_ns: Nanos(1001 * MS),
                window_ns: Nanos(2500 * MS),
                cooldown_ns: Nanos(600 * MS),
                interval_ns: None,
            },
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    #[test]
    fn a_server_is_asked_in_its_own_units() {
        let tcp = parameters(&trial("tcp-stream", false));
        assert_eq!((tcp.tcp, tcp.udp, tcp.udp_counters_64bit), (Some(true), None, None));
        // Whole seconds, up: 1.001, then 2.5 and 0.6, and two more for its own clock.
        assert_eq!((tcp.omit, tcp.time), (2, 3 + 1 + 2));
        assert_eq!((tcp.parallel, tcp.len, tcp.bandwidth), (3, 1400, Some(1_000_000)), "a stream");
        assert_eq!((tcp.mss, tcp.nodelay, tcp.tos), (Some(1200), Some(true), Some(184)));
        assert_eq!((tcp.window, tcp.congestion.as_deref()), (Some(4096), Some("reno")));
        assert_eq!(
            (tcp.reverse, tcp.server_affinity),
            (None, Some(6)),
            "its CPU is the receiver's"
        );
        assert_eq!((tcp.pacing_timer, tcp.num, tcp.blockcount), (1000, 0, 0));
        let udp = parameters(&trial("udp-stream", true));
        assert_eq!((udp.tcp, udp.udp, udp.udp_counters_64bit), (None, Some(true), Some(1)));
        assert_eq!((udp.reverse, udp.server_affinity), (Some(true), Some(5)), "it sends");
        let mut late = trial("tcp-stream", false);
        late.params.socket = Some(SocketParams { no_delay: Some(false), ..Default::default() });
        assert_eq!(parameters(&late).nodelay, None);
        let (one, other) = (cookie().expect("letters"), cookie().expect("letters"));
        assert!(one.len() == 36 && one != other);
    }

    #[test]
    fn a_server_that_is_busy_is_asked_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
        let at = listener.local_addr().expect("address");
        let serving = std::thread::spawn(move || {
            let mut callers = listener.incoming().map_while(Result::ok);
            // With another's test, gone in the middle of a word, and free.
            let mut busy = callers.next().expect("a client");
            busy.read_exact(&mut [0; 37]).expect("a cookie");
            busy.write_all(&[State::AccessDenied as i8 as u8]).expect("busy");
            drop(callers.next().expect("the same again"));
            let mut free = callers.next().expect("the same again");
            free.read_exact(&mut [0; 37]).expect("a cookie");
            free.write_all(&[State::ParamExchange as i8 as u8]).expect("what is wanted");
            let asked: Parameters = super::super::receive_json(&free, 4096).expect("parameters");
            free.write_all(&[State::CreateStreams as i8 as u8]).expect("it begins");
            asked.parallel
        });
        let server = Iperf3Server::find("127.0.0.1", at.port(), None).expect("a server");
        assert!(server.begin(&trial("tcp-stream", false)).is_ok());
        assert_eq!(serving.join().expect("a server"), 3);
    }

    #[test]
    fn a_server_is_told_what_was_counted_here() {
        let flow = |bytes: u64, lost: u64| FlowTally {
            bytes: Bytes(bytes),
            messages: 40,
            lost,
            ..FlowTally::default()
        };
        let thread = |user: u64, system: u64| ThreadUsage {
            user_ns: Nanos(user * MS),
            system_ns: Nanos(system * MS),
            ..ThreadUsage::default()
        };
        let ours = EndReport {
            window_ns: Nanos(500 * MS),
            flows: vec![flow(1000, 2), flow(2000, 0)],
            threads: vec![thread(50, 100), thread(100, 150)],
            ..EndReport::default()
        };
        let told = own_results(&trial("udp-stream", false), &ours);
        let all = (told.cpu_util_user, told.cpu_util_system, told.cpu_util_total);
        let percent = [all.0, all.1, all.2].map(|share| share.round());
        assert_eq!(percent, [30.0, 50.0, 80.0], "of the window");
        let each: Vec<_> = told
            .streams
            .iter()
            .map(|s| (s.id, s.bytes, s.errors, s.packets, s.start_time, s.end_time))
            .collect();
        assert_eq!(each, [(1, 1000, 2, 40, 0.0, 0.5), (3, 2000, 0, 40, 0.0, 0.5)]);
        let tcp = own_results(&trial("tcp-stream", false), &ours);
        assert_eq!((tcp.streams[0].packets, tcp.sender_has_retransmits), (0, unknown()));
    }

    fn said(change: impl Fn(&mut StreamResults)) -> Results {
        let mut stream = StreamResults {
            bytes: 9000,
            jitter: 0.002,
            errors: 15,
            omitted_errors: 5,
            packets: 130,
            omitted_packets: 30,
            start_time: 1.0,
            end_time: 3.5,
            ..StreamResults::default()
        };
        change(&mut stream);
        Results { streams: vec![stream; 3], ..Results::default() }
    }

    #[test]
    fn a_servers_account_is_taken_for_its_end() {
        let of = |kind: &str, reverse: bool, change: &dyn Fn(&mut StreamResults)| {
            their_report(&trial(kind, reverse), &said(change))
        };
        let report = of("udp-stream", false, &|_| {}).expect("a report");
        assert_eq!((report.window_ns, report.flows.len()), (Nanos(2500 * MS), 3));
        let flow = &report.flows[0];
        // 100 packets counted after the warm-up, of which 10 were lost.
        assert_eq!((flow.bytes.0, flow.lost, flow.messages), (9000, 10, 90));
        assert_eq!((flow.jitter_ns, flow.sends), (Some(Nanos(2 * MS)), false));
        let stretch = flow.stretch.expect("a stretch");
        assert_eq!(
            (stretch.of, stretch.datagrams),
            (StretchOf::WholeRun, 115),
            "of all, less lost"
        );
        let sent = of("udp-stream", true, &|_| {}).expect("a report").flows.remove(0);
        assert_eq!((sent.sends, sent.stretch.map(|s| s.datagrams)), (true, Some(130)));
        let tcp = of("tcp-stream", false, &|_| {}).expect("a report").flows.remove(0);
        assert_eq!(tcp.stretch, None);
        let jitter = |seconds: f64| {
            let told = of("udp-stream", false, &|s| s.jitter = seconds).expect("a report");
            told.flows[0].jitter_ns
        };
        assert_eq!(
            (jitter(0.0), jitter(1e3), jitter(999.0)),
            (None, None, Some(Nanos(999_000 * MS)))
        );
        // Some builds say -1 for "not known".
        let unknown =
            of("udp-stream", false, &|s| (s.omitted_errors, s.omitted_packets) = (-1, -1));
        let flow = unknown.expect("a report").flows.remove(0);
        assert_eq!((flow.lost, flow.messages), (15, 115));
        for end in [1.0, 0.5, 1e6 + 2.0, f64::NAN] {
            assert!(of("udp-stream", false, &|s| s.end_time = end).is_err(), "{end}");
        }
        let mut two = said(|_| {});
        two.streams.pop();
        let error = their_report(&trial("tcp-stream", false), &two).expect_err("two of three");
        assert!(error.to_string().contains("reported 2 streams"), "{error}");
    }
}
