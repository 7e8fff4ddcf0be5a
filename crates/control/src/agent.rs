//! The half of an agent that speaks with strangers and controllers: it lends this host's end of a
//! trial to a controller that holds the key.
//!
//! It runs only typed workloads within [`crate::limits`], never a command of a peer, in no
//! namespace a peer names; one controller at a time measures, others are told so. It starts
//! nothing itself: the [`crate::starter`] does, and is the parent of this process, which has no
//! capability and makes no file, socket or process ([`narrows_hostctl::confine::listener`]).

use crate::door::{self, Admitted, Service, Standing};
use crate::error::{ControlError, Gone, HalvesError, Refusal};
pub use crate::events::{Event, Kind};
use crate::halves::{CALL_BYTES_MAX, Call, Link, SAID_BYTES_MAX, Said, Setup};
use crate::heart::Heart;
use crate::key::Key;
use crate::limits::{Given, LINE_MAX, Limits, WORKER_SPARE};
use crate::listen::{self, TURN};
use crate::session::{Answer, Order};
use crate::wire::{Patience, Reply, Request, Wire};
use narrows_hostctl::{confine, privilege};
use narrows_model::record::{Fault, Stage};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a connection may take from the handshake to its first request.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// A controller that orders nothing for so long does not measure, though it still beats.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// How long the starter may take to say what the agent is to be.
const SETUP_WITHIN: Duration = Duration::from_secs(60);

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    serving: Arc<Serving>,
    tells_sessions: bool,
}

/// What all sessions have in common.
struct Serving {
    key: Key,
    limits: Limits,
    patience: Patience,
    /// The starter of workers: whoever has it measures.
    starter: Mutex<Starter>,
}

/// What a process does that the starter started as its listener: gives up all that speaking needs
/// not, then serves those that come to `listening`, with the starter at the other end of `starter`.
pub fn serve_as_child(
    starter: UnixStream,
    listening: TcpListener,
    log: impl Fn(Event) + Send + Sync + 'static,
) -> Result<(), ControlError> {
    // If the parent died before this call, its end of the socketpair is closed.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    privilege::drop_all()?;
    confine::listener()?;
    Agent::over(listening, starter)?.serve(&AtomicBool::new(false), log);
    Ok(())
}

impl Agent {
    /// An agent whose starter is at the other end of `starter`, which says first what it is to be.
    pub fn over(listener: TcpListener, starter: UnixStream) -> Result<Self, ControlError> {
        let mut link = Link::over(starter, SAID_BYTES_MAX)?;
        let setup = link.hear::<Setup>(SETUP_WITHIN)?;
        let Setup { key, limits, patience, tells_sessions } = setup.ok_or(HalvesError::NoSetup)?;
        let starter = Mutex::new(Starter::over(link)?);
        let serving = Serving { key: Key::parse(&key)?, limits, patience, starter };
        Ok(Self { listener, serving: Arc::new(serving), tells_sessions })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |at| at.port())
    }

    /// Serves until `stop`.
    pub fn serve(&self, stop: &AtomicBool, log: impl Fn(Event) + Send + Sync + 'static) {
        let tells = self.tells_sessions;
        door::serve(&self.listener, &self.serving, stop, move |event| {
            if tells || !matches!(event, Event::Session(_) | Event::Ended(_)) {
                log(event);
            }
        });
    }
}

impl Service for Serving {
    type Error = ControlError;

    fn allows(&self, from: IpAddr) -> bool {
        self.limits.allows(from)
    }

    fn meet(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        admitted: &mut Admitted,
        log: &dyn Fn(Event),
    ) -> Result<Option<String>, ControlError> {
        self.session(stream, admitted, log).map(|()| Some(from.to_string()))
    }
}

impl Serving {
    fn session(
        &self,
        stream: TcpStream,
        admitted: &mut Admitted,
        log: &dyn Fn(Event),
    ) -> Result<(), ControlError> {
        let own = listen::canonical(stream.local_addr().map_err(ControlError::socket)?);
        stream.set_nonblocking(false).map_err(ControlError::socket)?;
        let mut wire = Wire::answer(stream, &self.key)?;
        // Only a message that can be decrypted proves the key: the first half of a handshake can be
        // a recorded one.
        wire.hear_proof(PROOF_WITHIN)?;
        if admitted.prove() != Standing::Proved {
            return Err(ControlError::gone(wire.peer(), Gone::Dropped));
        }
        wire.voice().beat()?;
        let Some(first) = wire.receive::<Request>(PROOF_WITHIN)? else {
            return Err(ControlError::refused(wire.peer(), Refusal::AskedNothing));
        };
        log(Event::Session(wire.peer().to_owned()));
        let mut starter = match self.starter.try_lock() {
            Ok(starter) => starter,
            Err(TryLockError::Poisoned(starter)) => starter.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let why = "another controller is measuring; two trials never overlap on a host";
                wire.send(&Reply::Refused { why: why.to_owned() })?;
                return Ok(());
            }
        };
        wire.expect_beats(self.patience.silent_max);
        let _heart = Heart::start(wire.voice().clone(), self.patience.beat_every)?;
        let rented = starter.rent(own.ip())?;
        let (line, worker_until) = (Duration::ZERO, Instant::now());
        let (address, given) = (own.ip(), Given::default());
        let session = Session { serving: self, rented, address, given, line, worker_until };
        session.go_on(&mut wire, first)
    }
}

/// One controller's session.
struct Session<'a> {
    serving: &'a Serving,
    rented: Rented<'a>,
    address: IpAddr,
    /// What its workers were given.
    given: Given,
    /// How long the last worker's run is.
    line: Duration,
    /// The starter has ended all workers by then.
    worker_until: Instant,
}

impl Session<'_> {
    /// Passes requests and answers on until the controller hangs up, or is idle for too long.
    fn go_on(mut self, wire: &mut Wire, first: Request) -> Result<(), ControlError> {
        let mut first = Some(first);
        let mut until = Instant::now() + IDLE_MAX;
        while Instant::now() < until {
            let request = match first.take() {
                Some(request) => Ok(Some(request)),
                None => wire.receive::<Request>(TURN),
            };
            let request = match request {
                // The controller hung up between two requests: a session's ordinary end.
                Err(ControlError::Unreachable { .. }) => return Ok(()),
                // A newer controller tells what this agent does not know: to leave it out would be
                // to measure something else.
                Err(refused @ ControlError::Refused { .. }) => {
                    wire.send(&Reply::Refused { why: refused.to_string() })?;
                    return Err(refused);
                }
                request => request?,
            };
            if let Some(request) = request {
                if let Some(refusal) = self.meet(request, wire)? {
                    wire.send(&refusal)?;
                }
                until = self.idle_until();
            }
            while let Some(reply) = self.rented.reply(Duration::from_millis(1))? {
                wire.send(&reply)?;
                until = self.idle_until();
            }
        }
        Err(ControlError::gone(wire.peer(), Gone::Idle(IDLE_MAX)))
    }

    /// When a controller that says nothing from now on is idle. A worker has a limit of its own;
    /// without one, nothing is measured.
    fn idle_until(&self) -> Instant {
        self.worker_until.max(Instant::now() + IDLE_MAX)
    }

    /// Passes a request on to the starter, or says why not.
    fn meet(&mut self, request: Request, wire: &mut Wire) -> Result<Option<Reply>, ControlError> {
        let request = match request {
            Request::Order { order, worker } => {
                match self.given.admit(&self.serving.limits, worker, order, self.address) {
                    Ok(order) => Request::Order { order, worker },
                    Err(why) => return Ok(Some(failed(worker, why.to_string(), why.fault()))),
                }
            }
            other => other,
        };
        let now = Instant::now();
        match &request {
            Request::Start { worker } => {
                self.given.drop_worker(*worker);
                self.worker_until = self.worker_until.max(now + WORKER_SPARE);
            }
            Request::Stop => {
                self.given.clear();
                self.worker_until = now;
            }
            Request::Order { order: Order::Prepare { job }, .. } => {
                self.line = job.length().min(LINE_MAX);
                self.worker_until = self.worker_until.max(now + WORKER_SPARE + self.line);
            }
            Request::Order { order: Order::Go { .. }, .. } => {
                wire.excuse(Some(now + self.line.min(self.serving.patience.excused_max)));
            }
            Request::Tool { trial } => {
                let line = trial.timeline.length().min(LINE_MAX);
                self.worker_until = self.worker_until.max(now + WORKER_SPARE + line);
            }
            Request::Order { .. } | Request::Describe => {}
        }
        let worker = match &request {
            Request::Order { worker, .. } => *worker,
            Request::Start { .. } | Request::Tool { .. } | Request::Stop | Request::Describe => 0,
        };
        match self.rented.ask(request) {
            Err(ControlError::Order(why)) => {
                Ok(Some(failed(worker, why.to_string(), Fault::Machine)))
            }
            asked => asked.map(|()| None),
        }
    }
}

fn failed(worker: u32, why: String, fault: Fault) -> Reply {
    let answer = Answer::Failed { at: Stage::Start, why, fault };
    Reply::Answer { answer, worker }
}

/// The starter of workers, as this process sees it.
struct Starter {
    calls: Link,
    replies: Receiver<Said>,
    sessions: u64,
}

impl Starter {
    /// Listens to the starter all the time, so that it never waits for a session to be read.
    fn over(link: Link) -> Result<Self, ControlError> {
        let calls = link.handle()?;
        let (say, replies) = channel();
        let thread = thread::Builder::new().name("starter replies".into());
        let started = thread.spawn(move || {
            let mut link = link;
            // An error is the starter's end, and with it this process's.
            while let Ok(said) = link.hear::<Said>(Duration::from_secs(60)) {
                if said.is_some_and(|said| say.send(said).is_err()) {
                    break;
                }
            }
        });
        started.map_err(ControlError::thread)?;
        Ok(Self { calls, replies, sessions: 0 })
    }

    /// The starter for one session.
    fn rent(&mut self, address: IpAddr) -> Result<Rented<'_>, ControlError> {
        self.sessions += 1;
        let session = self.sessions;
        self.calls.send(&Call::Begin { session, address }, CALL_BYTES_MAX)?;
        Ok(Rented { starter: self, session })
    }
}

/// The starter while it is one session's.
struct Rented<'a> {
    starter: &'a mut Starter,
    session: u64,
}

impl Rented<'_> {
    fn ask(&mut self, request: Request) -> Result<(), ControlError> {
        self.starter.calls.send(&Call::Ask { request }, CALL_BYTES_MAX)
    }

    /// The next reply for this session; what is left of one before it is nobody's.
    fn reply(&mut self, within: Duration) -> Result<Option<Reply>, ControlError> {
        loop {
            match self.starter.replies.recv_timeout(within) {
                Ok(said) if said.session == self.session => return Ok(Some(said.reply)),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(HalvesError::StarterEnded.into());
                }
            }
        }
    }
}

impl Drop for Rented<'_> {
    fn drop(&mut self) {
        // The worker ends with its session.
        let _ = self.starter.calls.send(&Call::End, CALL_BYTES_MAX);
    }
}
