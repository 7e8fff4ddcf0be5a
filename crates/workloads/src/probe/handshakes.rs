//! TCP handshakes, one by one: how many stand before the kernel sends a first packet again. Nothing
//! is said over the connections, and nothing of them stays.

use crate::LoadError;
use crate::harness::meet;
use narrows_model::Nanos;
use narrows_model::load::Job;
use narrows_model::probe::Handshakes;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{SockAddr, Socket, Type};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Connections that are tried: of a loss of a twentieth all stand once in 27 times.
const TRIES: u32 = 64;
/// Time between two of them: what limits first packets a second is not to be met by the probe.
const GAP: Duration = Duration::from_millis(4);
/// How long the last one is waited for, at least. A first packet is sent again after a second.
const WAIT_LEAST: Duration = Duration::from_millis(250);
/// And at most.
const WAIT_MOST: Duration = Duration::from_millis(900);

/// A connection that does not stand yet.
struct Pending {
    socket: Socket,
    since: Instant,
}

/// Tries connections; `round_trip` is the longest of the path that was seen.
pub fn probe(to: SocketAddr, job: &Job, round_trip: Duration) -> Result<Handshakes, LoadError> {
    let wait = (4 * round_trip).clamp(WAIT_LEAST, WAIT_MOST);
    let mut found = Handshakes::default();
    let mut pending: Vec<Pending> = Vec::new();
    let mut took: Vec<Duration> = Vec::new();
    let (began, mut last) = (Instant::now(), Instant::now());
    while found.tried < TRIES || (!pending.is_empty() && last.elapsed() < wait) {
        if found.tried < TRIES && began.elapsed() >= GAP * found.tried {
            pending.push(call(to, job)?);
            found.tried += 1;
            last = Instant::now();
        }
        wait_for(&pending);
        let now = Instant::now();
        for one in std::mem::take(&mut pending) {
            match settled(&one.socket) {
                None => pending.push(one),
                Some(true) => {
                    found.at_once += u32::from(now - one.since < wait);
                    took.push(now - one.since);
                    // Ended by a reset: no port stays in use.
                    let _ = one.socket.set_linger(Some(Duration::ZERO));
                }
                Some(false) => found.refused += 1,
            }
        }
    }
    took.sort_unstable();
    let median = took.get(took.len() / 2).copied().unwrap_or_default();
    found.median_ns = Nanos(median.as_nanos() as u64);
    Ok(found)
}

fn call(to: SocketAddr, job: &Job) -> Result<Pending, LoadError> {
    let socket = meet::leaving(to, Type::STREAM, job)?;
    let doing = || LoadError::system("setting how the socket waits");
    socket.set_nonblocking(true).map_err(doing())?;
    let since = Instant::now();
    // What goes wrong at once is seen as the socket is looked at.
    let _ = socket.connect(&SockAddr::from(to));
    Ok(Pending { socket, since })
}

/// Waits a moment for any of them.
fn wait_for(pending: &[Pending]) {
    let moment = PollTimeout::from(1u8);
    let all = pending.iter().map(|one| PollFd::new(one.socket.as_fd(), PollFlags::POLLOUT));
    let mut all: Vec<PollFd<'_>> = all.collect();
    // An interrupted wait is a short one.
    let _ = poll(&mut all, moment);
}

/// Whether a connection stands or was refused; `None` while neither is known.
fn settled(socket: &Socket) -> Option<bool> {
    let refused = socket.take_error().ok().flatten().is_some();
    if refused {
        return Some(false);
    }
    let mut look = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    let ready = poll(&mut look, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
    ready.then(|| socket.peer_addr().is_ok())
}
