//! All TCP connections of a job, and what those have in common that do not come to stand: a limit
//! on the number of connections takes the last ones, a dead member of a bundle those that its hash
//! of their ports gives it.

use super::files;
use super::meet::{self, MEET_WITHIN, Token};
use crate::LoadError;
use narrows_model::load::Job;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// So many are begun at once: fewer than the other end keeps that say nothing.
const BATCH: usize = 64;
/// How long a batch is waited for before the next is begun.
const EACH: Duration = Duration::from_millis(300);
/// Time for three SYNs and an answer: the kernel repeats one after 1 s and after 3 s at the latest
/// (RFC 6298, sections 2.1 and 5.5). Of a call that had less, silence says nothing.
const FAIR: Duration = Duration::from_secs(4);
/// The end that listens gives up later: it does not know which ones were tried.
const SOONER: Duration = Duration::from_secs(1);
/// Ports that are named at the most.
const NAMED: usize = 8;

/// One connection, which is of the flow of this number.
struct Call {
    socket: Socket,
    flow: u32,
    begun: Instant,
    state: State,
}

enum State {
    Pending,
    /// It stands, and nothing was said over it.
    Stands,
    /// The token was said.
    Greeted,
    Failed(io::Error),
}

/// Connects all flows of a job, each with the token and its number said as soon as it stands: the
/// other end keeps few that say nothing.
pub fn connect_all(to: SocketAddr, job: &Job, token: &Token) -> Result<Vec<Socket>, LoadError> {
    let until = Instant::now() + MEET_WITHIN - SOONER;
    files::allow(job.params.flows() as usize);
    let mut calls = begin_all(to, job, token, until)?;
    wait_for_all(&mut calls, until, |call| call.greet(to, job, token))?;
    if calls.iter().any(|call| !call.stands()) {
        let says = says(to, &calls, Instant::now());
        let has_ports = !lack_ports(calls.iter());
        return Err(if has_ports { LoadError::Apart(says) } else { LoadError::NoPort(says) });
    }
    Ok(calls.into_iter().map(|call| call.socket).collect())
}

/// Begins all calls, so that each has a fair time until then.
fn begin_all(
    to: SocketAddr,
    job: &Job,
    token: &Token,
    until: Instant,
) -> Result<Vec<Call>, LoadError> {
    // An iperf3 server takes its streams one by one, and numbers them as they come.
    let batch = if job.iperf3.is_some() { 1 } else { BATCH };
    let flows: Vec<u32> = (0..job.params.flows()).collect();
    let mut calls: Vec<Call> = Vec::with_capacity(flows.len());
    for flows in flows.chunks(batch) {
        for flow in flows {
            calls.push(Call::begin(to, job, *flow)?);
        }
        let soon = (until - FAIR).min(Instant::now() + EACH);
        wait_for_all(&mut calls, soon, |call| call.greet(to, job, token))?;
    }
    Ok(calls)
}

/// Waits for all calls together, and greets each as soon as it stands.
fn wait_for_all(
    calls: &mut [Call],
    until: Instant,
    greet: impl Fn(&mut Call) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    loop {
        calls.iter_mut().try_for_each(&greet)?;
        let left = until.saturating_duration_since(Instant::now());
        let (mut look, waiting): (Vec<PollFd>, Vec<usize>) = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| matches!(call.state, State::Pending))
            .map(|(at, call)| (PollFd::new(call.socket.as_fd(), PollFlags::POLLOUT), at))
            .unzip();
        if waiting.is_empty() {
            return Ok(());
        }
        let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        // An interrupted wait is a short one.
        let is_any_ready = poll(&mut look, wait).is_ok_and(|ready| ready > 0);
        let ready: Vec<bool> =
            look.iter().map(|one| is_any_ready && one.any() == Some(true)).collect();
        for (at, is_ready) in waiting.into_iter().zip(ready) {
            calls[at].look(is_ready);
        }
        if left.is_zero() {
            return calls.iter_mut().try_for_each(&greet);
        }
    }
}

impl Call {
    fn begin(to: SocketAddr, job: &Job, flow: u32) -> Result<Self, LoadError> {
        let socket = meet::leaving(to, Type::STREAM, job)?;
        let waits = socket.set_nonblocking(true);
        waits.map_err(LoadError::system("setting how the socket waits"))?;
        let begun = Instant::now();
        let state = match socket.connect(&SockAddr::from(to)) {
            Ok(()) => State::Stands,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => State::Pending,
            Err(error) => State::Failed(error),
        };
        Ok(Self { socket, flow, begun, state })
    }

    /// What the kernel has to say of a call, where it has.
    fn look(&mut self, is_ready: bool) {
        match self.socket.take_error() {
            Ok(None) if is_ready => self.state = State::Stands,
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => self.state = State::Failed(error),
        }
    }

    fn greet(&mut self, to: SocketAddr, job: &Job, token: &Token) -> Result<(), LoadError> {
        if matches!(self.state, State::Stands) {
            meet::greet(&self.socket, to, job, token, self.flow)?;
            self.state = State::Greeted;
        }
        Ok(())
    }

    fn stands(&self) -> bool {
        matches!(self.state, State::Stands | State::Greeted)
    }

    /// Whether its own host had no port for it.
    fn has_no_port(&self) -> bool {
        let error = match &self.state {
            State::Failed(error) => error.kind(),
            State::Pending | State::Stands | State::Greeted => return false,
        };
        error == io::ErrorKind::AddrNotAvailable
    }

    /// Whether silence says something of it.
    fn had_time(&self, now: Instant) -> bool {
        !matches!(self.state, State::Pending) || self.waited(now) >= FAIR
    }

    fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    fn port(&self) -> u16 {
        meet::port(&self.socket)
    }
}

/// What is known of connections of which some do not stand. Those that had no time are told apart.
fn says(to: SocketAddr, calls: &[Call], now: Instant) -> String {
    let (fair, late): (Vec<&Call>, Vec<&Call>) = calls.iter().partition(|call| call.had_time(now));
    let stands: Vec<bool> = fair.iter().map(|call| call.stands()).collect();
    let (all, good) = (calls.len(), stands.iter().filter(|stands| **stands).count());
    let no_time = format!(
        "time ran out for {} of {all} connections to {to}: they were begun less than {} s before \
         the end, too late to say why",
        late.len(),
        FAIR.as_secs()
    );
    if good == fair.len() {
        return no_time;
    }
    let why = why(&fair, now);
    if good == 0 {
        return format!("connecting to {to}: {why}");
    }
    let failing = fair.iter().zip(&stands).filter(|(_, stands)| !**stands);
    let ports: Vec<String> = failing.take(NAMED).map(|(call, _)| call.port().to_string()).collect();
    let how = match pattern(&fair, &stands) {
        Pattern::NoPort => NO_PORT.to_owned(),
        Pattern::Last => format!(
            "the first {good} connected and none after them: a limit on the number of connections \
             (a firewall's connlimit or ct count, a full table of connections: nf_conntrack_max, \
             maxconn), or a bundle of links with a dead member"
        ),
        Pattern::Mixed => format!(
            "others begun before and after them connected: a bundle of links (LAG, ECMP) with a \
             dead member, or a filter by port (source ports without an answer: {})",
            ports.join(", ")
        ),
    };
    let more = if late.is_empty() { String::new() } else { format!("; {no_time}") };
    format!("{} of {all} connections to {to} failed ({why}); {how}{more}", fair.len() - good)
}

/// Whether some connections stand, and most that do not had no port here: without any that stands
/// it is no address to leave from that lacks.
fn lack_ports<'a>(calls: impl Iterator<Item = &'a Call>) -> bool {
    let (stand, rest): (Vec<&Call>, Vec<&Call>) = calls.partition(|call| call.stands());
    let portless = rest.iter().filter(|call| call.has_no_port()).count();
    !stand.is_empty() && 2 * portless > rest.len()
}

/// Why connections fail that this host has no port for.
const NO_PORT: &str = "this host has no port left for more connections to that one \
                       (net.ipv4.ip_local_port_range)";

/// The system's words for the first that failed, or how long all others were waited for.
fn why(calls: &[&Call], now: Instant) -> String {
    let error = calls.iter().find_map(|call| match &call.state {
        State::Failed(error) => Some(error.to_string()),
        State::Pending | State::Stands | State::Greeted => None,
    });
    let silent = calls.iter().filter(|call| matches!(call.state, State::Pending));
    let within = silent.map(|call| call.waited(now).as_secs()).min().unwrap_or(0);
    error.unwrap_or_else(|| format!("no answer within {within} s"))
}

/// Which ones do not stand.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// Those that the own host had no port for.
    NoPort,
    /// All that were begun after those that stand.
    Last,
    Mixed,
}

fn pattern(calls: &[&Call], stands: &[bool]) -> Pattern {
    if lack_ports(calls.iter().copied()) {
        return Pattern::NoPort;
    }
    let first = stands.iter().position(|stands| !stands).unwrap_or(stands.len());
    match stands.iter().skip(first).any(|stands| *stands) {
        true => Pattern::Mixed,
        false => Pattern::Last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn call(stands: bool, begun: Instant) -> Call {
        let socket = Socket::new(socket2::Domain::IPV4, Type::STREAM, None).expect("a socket");
        let state = if stands { State::Stands } else { State::Pending };
        Call { socket, flow: 0, begun, state }
    }

    /// What is said of calls that stand or not, each with the seconds that it had.
    fn told(calls: &[(bool, u64)]) -> String {
        let first = Instant::now();
        let most = calls.iter().map(|(_, seconds)| *seconds).max().expect("some");
        let begun = |seconds| first + Duration::from_secs(most - seconds);
        let calls: Vec<Call> =
            calls.iter().map(|(stands, seconds)| call(*stands, begun(*seconds))).collect();
        let now = first + Duration::from_secs(most);
        says(SocketAddr::from(([10, 0, 0, 1], 9)), &calls, now)
    }

    #[test]
    fn a_limit_on_connections_is_told_from_ports_that_do_not_pass() {
        let limited = told(&[(true, 9), (true, 9), (true, 9), (false, 9), (false, 9)]);
        assert!(limited.starts_with("2 of 5 connections to 10.0.0.1:9 failed"), "{limited}");
        assert!(limited.contains("the first 3 connected and none after them"), "{limited}");
        assert!(limited.contains("connlimit") && !limited.contains("time ran out"), "{limited}");
        let mixed = told(&[(true, 9), (false, 9), (true, 9), (false, 9), (true, 9)]);
        assert!(mixed.contains("begun before and after them connected"), "{mixed}");
        assert!(mixed.contains("dead member") && !mixed.contains("connlimit"), "{mixed}");
        let none = told(&[(false, 9), (false, 9)]);
        assert!(none.ends_with("no answer within 9 s") && !none.contains("first"), "{none}");
    }

    #[test]
    fn calls_that_had_no_time_say_nothing_of_a_limit() {
        let late = told(&[(true, 9), (true, 8), (false, 3), (false, 0)]);
        assert!(late.starts_with("time ran out for 2 of 4 connections"), "{late}");
        assert!(!late.contains("connlimit") && !late.contains("dead member"), "{late}");
        let both = told(&[(true, 9), (false, 8), (true, 8), (false, 0)]);
        assert!(both.starts_with("1 of 4 connections") && both.contains("within 8 s"), "{both}");
        assert!(both.contains("begun before and after them") && both.contains("time ran out"));
    }

    #[test]
    fn calls_that_are_slow_to_be_answered_do_not_keep_the_next_ones_from_their_time() {
        // A queue of one: the kernel drops what says SYN to it, and each waits.
        let door = Socket::new(socket2::Domain::IPV4, Type::STREAM, None).expect("a socket");
        door.bind(&SockAddr::from(SocketAddr::from(([127, 0, 0, 1], 0)))).expect("bound");
        door.listen(0).expect("listens");
        let to = SocketAddr::from(([127, 0, 0, 1], meet::port(&door)));
        let mut job = meet::tests::job();
        job.params = narrows_model::load::Params::of_network(narrows_model::Bytes(64), 80);
        let until = Instant::now() + MEET_WITHIN - SOONER;
        let calls = begin_all(to, &job, &[7; 16], until).expect("begun");
        assert_eq!(calls.len(), 80);
        assert!(calls.iter().any(|call| !call.stands()), "the queue has room for few");
        assert!(calls.iter().all(|call| call.had_time(until)), "begun in time");
    }

    #[test]
    fn a_refusal_is_told_by_the_systems_words() {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = door.local_addr().expect("an address");
        let job = meet::tests::job();
        let until = Instant::now() + Duration::from_secs(5);
        let mut calls = vec![Call::begin(to, &job, 0).expect("begun")];
        wait_for_all(&mut calls, until, |_| Ok(())).expect("waited");
        assert!(matches!(calls[0].state, State::Stands));
        drop(door);
        calls.push(Call::begin(to, &job, 0).expect("begun"));
        wait_for_all(&mut calls, until, |_| Ok(())).expect("waited");
        let told = says(to, &calls, Instant::now());
        assert!(told.contains("1 of 2 connections"), "{told}");
        assert!(told.contains("Connection refused"), "{told}");
        // Kinds of Rust's have no such word.
        let mut down = call(false, Instant::now());
        down.state = State::Failed(io::Error::from_raw_os_error(libc::EHOSTDOWN));
        assert!(says(to, &[down], Instant::now()).contains("Host is down"));
        let mut portless = [call(true, Instant::now()), call(false, Instant::now())];
        portless[1].state = State::Failed(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
        let told = says(to, &portless, Instant::now());
        assert!(told.contains("no port left") && !told.contains("connlimit"), "{told}");
        assert!(lack_ports(portless.iter()) && !lack_ports(portless[1..].iter()));
    }
}
