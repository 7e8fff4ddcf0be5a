//! The agent: lends this host's end of a trial to a controller that holds the key.
//!
//! It runs only typed workloads within the limits of [`narrows_loads::check`], never a command of a
//! peer, in no namespace a peer names; one controller at a time measures, others are told so.

use crate::RunError;
use crate::end::{End, WorkerProcess};
use crate::key::Key;
use crate::session::{Answer, Order};
use crate::wire::{Reply, Request, Wire};
use narrows_facts::record::Stage;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Connections in hand at once, shaking hands or measuring; more are closed at once.
const SESSIONS_MAX: u32 = 16;
/// A controller that says nothing for so long is gone.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// How long one look at the wire or the worker takes.
const TURN: Duration = Duration::from_millis(20);

/// What happened, for the log that the command prints.
pub enum Event {
    /// A controller with the key came.
    Session(String),
    /// A connection was turned away or ended by a fault.
    TurnedAway(String),
    /// A controller left.
    Ended(String),
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    key: Key,
    binary: PathBuf,
}

impl Agent {
    /// Listens on `address:port`; port 0 takes a free one.
    pub fn listen(address: IpAddr, port: u16, key: Key, binary: PathBuf) -> Result<Self, RunError> {
        let listener = TcpListener::bind((address, port)).map_err(|error| {
            RunError::Unreachable(format!("cannot listen on {address} port {port}: {error}"))
        })?;
        listener.set_nonblocking(true).map_err(|error| RunError::Machine(error.to_string()))?;
        Ok(Self { listener, key, binary })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |at| at.port())
    }

    /// Serves until `stop`. Each connection has a thread of its own, so that a silent one holds up
    /// nobody.
    pub fn serve(&self, stop: &AtomicBool, log: impl Fn(Event) + Send + Sync + 'static) {
        let log = Arc::new(log);
        let busy = Arc::new(Mutex::new(()));
        let sessions = Arc::new(AtomicU32::new(0));
        while !stop.load(SeqCst) {
            let Ok((stream, from)) = self.listener.accept() else {
                thread::sleep(TURN);
                continue;
            };
            if sessions.load(SeqCst) >= SESSIONS_MAX {
                log(Event::TurnedAway(format!("{from}: too many connections")));
                continue;
            }
            sessions.fetch_add(1, SeqCst);
            let (log, busy, sessions) = (log.clone(), busy.clone(), sessions.clone());
            let (key, binary) = (self.key.clone(), self.binary.clone());
            thread::spawn(move || {
                let ended = session(stream, &key, binary, &busy, &*log);
                log(match ended {
                    Ok(()) => Event::Ended(from.to_string()),
                    Err(error) => Event::TurnedAway(error.to_string()),
                });
                sessions.fetch_sub(1, SeqCst);
            });
        }
    }
}

fn session(
    stream: TcpStream,
    key: &Key,
    binary: PathBuf,
    busy: &Mutex<()>,
    log: &dyn Fn(Event),
) -> Result<(), RunError> {
    let own = stream.local_addr().map_err(|error| RunError::Machine(error.to_string()))?;
    stream.set_nonblocking(false).map_err(|error| RunError::Machine(error.to_string()))?;
    let mut wire = Wire::answer(stream, key)?;
    log(Event::Session(wire.peer().to_owned()));
    let _alone = match busy.try_lock() {
        Ok(alone) => alone,
        Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let why = "another controller is measuring; two trials never overlap on a host";
            let _ = wire.receive::<Request>(Duration::from_secs(5));
            wire.send(&Reply::Refused { why: why.to_owned() })?;
            return Ok(());
        }
    };
    let mut lent = Lent { binary, address: own.ip(), worker: None };
    let mut heard = Instant::now();
    while heard.elapsed() < IDLE_MAX {
        let request = match wire.receive::<Request>(TURN) {
            Ok(request) => request,
            // The controller hung up between two requests: a session's ordinary end.
            Err(RunError::Unreachable(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(request) = request {
            heard = Instant::now();
            if let Some(reply) = lent.meet(request) {
                wire.send(&reply)?;
            }
        }
        if let Some(answer) = lent.hear() {
            heard = Instant::now();
            wire.send(&Reply::Answer { answer })?;
        }
    }
    Err(RunError::Unreachable(format!("{} was silent for {IDLE_MAX:?}", wire.peer())))
}

/// The worker lent to one controller; it ends with the session.
struct Lent {
    binary: PathBuf,
    address: IpAddr,
    worker: Option<WorkerProcess>,
}

impl Lent {
    fn meet(&mut self, request: Request) -> Option<Reply> {
        match request {
            Request::Describe => {
                let host = narrows_host::read(&narrows_host::Root::live());
                Some(Reply::Host { host: Box::new(host) })
            }
            Request::Start => match WorkerProcess::start(&self.binary) {
                Ok(worker) => {
                    self.worker = Some(worker);
                    Some(Reply::Started)
                }
                Err(error) => Some(Reply::Refused { why: error.to_string() }),
            },
            Request::Stop => {
                self.worker = None;
                None
            }
            Request::Order { order } => {
                let order = self.within_bounds(order);
                let given = self.worker.as_mut().map(|worker| worker.order(&order));
                let why = match given {
                    Some(Ok(())) => return None,
                    Some(Err(error)) => error.to_string(),
                    None => "no worker was started".to_owned(),
                };
                Some(Reply::Answer { answer: Answer::Failed { at: Stage::Start, why } })
            }
        }
    }

    /// A peer names no namespace, and a sink listens only where the peer reached this agent.
    fn within_bounds(&self, order: Order) -> Order {
        let Order::Prepare { mut job } = order else { return order };
        job.namespace = None;
        job.address = job.address.map(|_| self.address);
        Order::Prepare { job }
    }

    fn hear(&mut self) -> Option<Answer> {
        let worker = self.worker.as_mut()?;
        match worker.answer(Duration::from_millis(1)) {
            Ok(answer) => answer,
            Err(error) => {
                self.worker = None;
                Some(Answer::Failed { at: Stage::Run, why: error.to_string() })
            }
        }
    }
}
