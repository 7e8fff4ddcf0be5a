//! All TCP connections of a job, and what those have in common that do not come to stand: a limit
//! on the number of connections takes the last ones, a dead member of a bundle those that its hash
//! of their ports gives it.

use super::meet::{self, MEET_WITHIN, Token};
use crate::LoadError;
use narrows_model::load::Job;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long one is waited for before the next is begun: the other end accepts one by one.
const EACH: Duration = Duration::from_millis(300);
/// The end that listens gives up later: it does not know which ones were tried.
const SOONER: Duration = Duration::from_secs(1);
/// Ports that are named at the most.
const NAMED: usize = 8;

/// One connection, which is of the flow of this number.
struct Call {
    socket: Socket,
    flow: u32,
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
    let mut calls: Vec<Call> = Vec::new();
    for flow in 0..job.params.flows() {
        let mut call = Call::begin(to, job, flow)?;
        call.wait_until(until.min(Instant::now() + EACH));
        call.greet(to, job, token)?;
        calls.push(call);
    }
    for call in &mut calls {
        call.wait_until(until);
        call.greet(to, job, token)?;
    }
    if calls.iter().any(|call| !call.stands()) {
        return Err(LoadError::Apart(says(to, &calls)));
    }
    Ok(calls.into_iter().map(|call| call.socket).collect())
}

impl Call {
    fn begin(to: SocketAddr, job: &Job, flow: u32) -> Result<Self, LoadError> {
        let socket = meet::leaving(to, Type::STREAM, job)?;
        let waits = socket.set_nonblocking(true);
        waits.map_err(LoadError::system("setting how the socket waits"))?;
        let state = match socket.connect(&SockAddr::from(to)) {
            Ok(()) => State::Stands,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => State::Pending,
            Err(error) => State::Failed(error),
        };
        Ok(Self { socket, flow, state })
    }

    fn wait_until(&mut self, until: Instant) {
        while matches!(self.state, State::Pending) {
            let left = until.saturating_duration_since(Instant::now());
            let mut look = [PollFd::new(self.socket.as_fd(), PollFlags::POLLOUT)];
            let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            // An interrupted wait is a short one.
            let is_ready = poll(&mut look, wait).is_ok_and(|ready| ready > 0);
            match self.socket.take_error() {
                Ok(None) if is_ready => self.state = State::Stands,
                Ok(None) if left.is_zero() => return,
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => self.state = State::Failed(error),
            }
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

    fn port(&self) -> u16 {
        meet::port(&self.socket)
    }
}

/// What is known of connections of which some do not stand.
fn says(to: SocketAddr, calls: &[Call]) -> String {
    let stands: Vec<bool> = calls.iter().map(Call::stands).collect();
    let error = calls.iter().find_map(|call| match &call.state {
        State::Failed(error) => Some(error.kind().to_string()),
        State::Pending | State::Stands | State::Greeted => None,
    });
    let within = (MEET_WITHIN - SOONER).as_secs();
    let why = error.unwrap_or_else(|| format!("no answer within {within} s"));
    let (all, good) = (calls.len(), stands.iter().filter(|stands| **stands).count());
    if good == 0 {
        return format!("connecting to {to}: {why}");
    }
    let failing = calls.iter().zip(&stands).filter(|(_, stands)| !**stands);
    let ports: Vec<String> = failing.take(NAMED).map(|(call, _)| call.port().to_string()).collect();
    let how = match pattern(&stands) {
        Pattern::Last => format!(
            "the first {good} stand and none after them: a limit on the number of connections (a \
             firewall's connlimit or ct count, maxconn), or a bundle of links with a dead member"
        ),
        Pattern::Mixed => format!(
            "others that were begun before and after them stand: a bundle of links (LAG, ECMP) with \
             a dead member, or a filter by port (source ports without an answer: {})",
            ports.join(", ")
        ),
    };
    format!("{} of {all} connections to {to} failed ({why}); {how}", all - good)
}

/// Which ones do not stand.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// All that were begun after those that stand.
    Last,
    Mixed,
}

fn pattern(stands: &[bool]) -> Pattern {
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

    fn call(stands: bool) -> Call {
        let socket = Socket::new(socket2::Domain::IPV4, Type::STREAM, None).expect("a socket");
        Call { socket, flow: 0, state: if stands { State::Stands } else { State::Pending } }
    }

    #[test]
    fn a_limit_on_connections_is_told_from_ports_that_do_not_pass() {
        let of = |stands: &[bool]| {
            let calls: Vec<Call> = stands.iter().map(|stands| call(*stands)).collect();
            says(SocketAddr::from(([10, 0, 0, 1], 9)), &calls)
        };
        let limited = of(&[true, true, true, false, false]);
        assert!(limited.starts_with("2 of 5 connections to 10.0.0.1:9 failed"), "{limited}");
        assert!(limited.contains("the first 3 stand") && limited.contains("connlimit"));
        let mixed = of(&[true, false, true, false, true]);
        assert!(mixed.contains("dead member") && !mixed.contains("connlimit"), "{mixed}");
        let none = of(&[false, false]);
        assert!(none.ends_with("no answer within 9 s") && !none.contains("stand"), "{none}");
    }

    #[test]
    fn a_refusal_is_told_by_the_kernels_word() {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = door.local_addr().expect("an address");
        let job = meet::tests::job();
        let until = Instant::now() + Duration::from_secs(5);
        let mut good = Call::begin(to, &job, 0).expect("begun");
        good.wait_until(until);
        assert!(matches!(good.state, State::Stands));
        drop(door);
        let mut bad = Call::begin(to, &job, 0).expect("begun");
        bad.wait_until(until);
        let told = says(to, &[good, bad]);
        assert!(told.contains("1 of 2 connections") && told.contains("refused"), "{told}");
    }
}
