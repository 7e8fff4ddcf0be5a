//! `tcp-connect`: connections made and closed, one after the other in each thread. A connection is
//! made, says the token, hears one byte and ends in order: the end that listens closes first, so
//! that the waiting time of closed connections (`TIME_WAIT`) uses up no ports of the other.
//! Messages counted: connections; the time is that from the call to the end of the last byte.

use crate::harness::ends::{Flow, listens};
use crate::harness::meet::{self, Token};
use crate::harness::socket::{LOOK_UP, is_pause};
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, LaneWork, Phase, ThreadsPlan, WorkerThreads};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_model::load::{Effective, Job};
use narrows_model::workload::Workload;
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub static KIND: Kind = Kind {
    workload: Workload::Connect,
    says: "TCP connections made, used once and closed a second",
    prepare: |job| {
        let token = meet::token(&job.token)?;
        let address = job.address.filter(|_| listens(job));
        let listener = address.map(|address| meet::listen(address, job)).transpose()?;
        Ok(Box::new(Ready { job: job.clone(), token, listener }))
    },
};

/// Refused connections in a row after which nobody listens any more.
const REFUSED_ROW: u32 = 100;
/// How long one connection may keep a thread from the others.
const STEP_WITHIN: Duration = Duration::from_millis(500);

struct Ready {
    job: Job,
    token: Token,
    listener: Option<Socket>,
}

impl Prepared for Ready {
    fn ports(&self) -> Vec<u16> {
        self.listener.iter().map(meet::port).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let Self { job, token, listener } = *self;
        let mut lanes: Vec<LaneWork> = Vec::new();
        for index in 0..job.params.streams {
            let told = Flow { job: job.clone(), token, index };
            lanes.push(match (&listener, peer.first()) {
                (Some(listener), _) => {
                    let door = listener.try_clone();
                    let door = door.map_err(LoadError::system("copying a socket handle"))?;
                    Box::new(move |lane| answer(lane, &door, &told))
                }
                (None, Some(&to)) => Box::new(move |lane| call(lane, to, &told)),
                (None, None) => return Err(LoadError::Order("the receiver named no port".into())),
            });
        }
        let (cpus, binding) = (job.cpus.clone(), job.binding);
        let effective = Effective::default();
        WorkerThreads::start(ThreadsPlan {
            lanes,
            sending: 0..0,
            one_sided: false,
            sockets: vec![],
            effective,
            cpus,
            binding,
            meter,
        })
    }
}

fn call(lane: &mut Lane, to: SocketAddr, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut trips = Trips::none()?;
    let (mut handshakes, mut refused_row) = (Duration::ZERO, 0);
    lane.wait_at_gate();
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            let handshakes_ns = Some(handshakes.as_nanos() as u64);
            return Ok(LaneEnd { round_trips: Some(trips), handshakes_ns, ..LaneEnd::default() });
        }
        let began = Instant::now();
        match once(to, told) {
            Ok(handshake) => {
                refused_row = 0;
                lane.tally.moved(1, told.token.len() as u64);
                if phase == Phase::Window {
                    trips.took(began.elapsed().as_nanos() as u64);
                    handshakes += handshake;
                }
            }
            Err(_) if lane.phase() >= Phase::Cooldown => {}
            // The other end has no room for now, or this one no port: told, and tried again.
            Err(error) if is_refusal(&error) => lane.tally.refused(),
            // Something on the way refuses one now and then; who refuses all is gone.
            Err(error) if is_reset(&error) && refused_row < REFUSED_ROW => {
                refused_row += 1;
                lane.tally.refused();
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_reset(error: &LoadError) -> bool {
    let LoadError::System { source, .. } = error else { return false };
    source.kind() == ErrorKind::ConnectionRefused
}

fn is_refusal(error: &LoadError) -> bool {
    let LoadError::System { source, .. } = error else { return false };
    let kinds = [ErrorKind::AddrNotAvailable, ErrorKind::AddrInUse, ErrorKind::ConnectionReset];
    kinds.contains(&source.kind()) || is_pause(source)
}

/// One connection from its beginning to its end; how long its handshake took.
fn once(to: SocketAddr, told: &Flow) -> Result<Duration, LoadError> {
    let began = Instant::now();
    let mut socket = meet::dial(to, &told.job)?;
    let handshake = began.elapsed();
    let used = (|| {
        socket.set_tcp_nodelay(true)?;
        socket.set_read_timeout(Some(STEP_WITHIN))?;
        socket.write_all(&told.token)?;
        let mut heard = [0; 2];
        let mut length = 0;
        // One byte, and then the end.
        loop {
            match socket.read(&mut heard[length.min(1)..])? {
                0 => return Ok(length),
                n => length += n,
            }
        }
    })();
    match used.map_err(LoadError::system(format!("using a connection to {to}")))? {
        1 => Ok(handshake),
        n => Err(LoadError::Peer(format!("{to} answered a connection with {n} bytes"))),
    }
}

fn answer(lane: &mut Lane, door: &Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let wait = door.set_read_timeout(Some(LOOK_UP));
    wait.map_err(LoadError::system("setting a timeout"))?;
    lane.wait_at_gate();
    while lane.phase() != Phase::Stop {
        let mut socket = match door.accept() {
            Ok((socket, _)) => socket,
            Err(_) => continue,
        };
        let mut said = Token::default();
        let heard = socket.set_read_timeout(Some(STEP_WITHIN));
        if heard.and_then(|()| socket.read_exact(&mut said)).is_ok()
            && said == told.token
            && socket.write_all(&[1]).is_ok()
        {
            lane.tally.moved(1, said.len() as u64);
        }
    }
    Ok(LaneEnd::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::net::TcpListener;
    use std::thread;

    fn told() -> Flow {
        let job = meet::tests::job();
        let token = meet::token(&job.token).expect("a token");
        Flow { job, token, index: 0 }
    }

    #[test]
    fn a_connection_is_made_used_once_and_closed_by_the_other_end() {
        let door = TcpListener::bind("127.0.0.1:0").expect("listens");
        let to = door.local_addr().expect("an address");
        let answers: [&[u8]; 3] = [&[1], &[], &[1, 1, 1]];
        let serving = thread::spawn(move || {
            answers.map(|answer| {
                let (mut stream, _) = door.accept().expect("a connection");
                let mut said = [0; 16];
                stream.read_exact(&mut said).expect("the token");
                stream.write_all(answer).expect("answered");
                stream.shutdown(std::net::Shutdown::Write).expect("closed");
                // It says nothing more.
                assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
                said
            })
        });
        let flow = told();
        assert!(once(to, &flow).is_ok());
        for says in ["answered a connection with 0 bytes", "answered a connection with 3 bytes"] {
            let why = once(to, &flow).expect_err("no single byte").to_string();
            assert!(why.contains(says), "{why}");
        }
        assert_eq!(serving.join().expect("a thread"), [[7; 16]; 3]);
    }

    #[test]
    fn want_of_ports_or_room_is_told_and_any_other_error_ends_the_run() {
        let system = |kind: ErrorKind| LoadError::system("x")(io::Error::from(kind));
        for kind in [
            ErrorKind::AddrNotAvailable,
            ErrorKind::AddrInUse,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
            ErrorKind::WouldBlock,
        ] {
            assert!(is_refusal(&system(kind)), "{kind}");
        }
        for kind in [ErrorKind::ConnectionRefused, ErrorKind::PermissionDenied] {
            assert!(!is_refusal(&system(kind)), "{kind}");
            assert_eq!(is_reset(&system(kind)), kind == ErrorKind::ConnectionRefused);
        }
        assert!(!is_refusal(&LoadError::Peer("x".into())));
    }
}
