//! The agent: lends this host's end of a trial to a controller that holds the key.
//!
//! It runs only typed workloads within [`crate::limits`], never a command of a peer, in no
//! namespace a peer names; one controller at a time measures, others are told so.

use crate::RunError;
use crate::door::{self, Guest, Service, Standing};
use crate::end::{End, WorkerProcess};
pub use crate::events::{Event, Kind};
use crate::heart::Heart;
use crate::key::Key;
use crate::launch::container::Launcher;
use crate::limits::Limits;
use crate::listen::{self, TURN};
use crate::offers::Offers;
use crate::session::{Answer, Order};
use crate::wire::{Patience, Reply, Request, Wire};
use narrows_model::host::{Host, PciHop};
use narrows_model::record::{Fault, Stage};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

/// How long a connection may take from the handshake to its first request.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// How long a worker may take beside its time line: to be ordered, to prepare, to meet the other
/// end.
const WORKER_SPARE: Duration = Duration::from_secs(240);
/// No time line is longer.
const LINE_MAX: Duration = Duration::from_secs(3600);
/// A controller that orders nothing for so long does not measure, though it still beats.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// What an agent lends.
#[derive(Clone)]
pub struct Lend {
    /// This program, for workers.
    pub binary: PathBuf,
    /// What a peer may order.
    pub limits: Limits,
    /// This host as it was read with more rights than the agent has now, if it was: what only root
    /// can read is taken from it.
    pub host: Option<Host>,
    /// How soon a silent controller is taken to be gone.
    pub patience: Patience,
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    serving: Arc<Serving>,
}

/// What all sessions have in common.
struct Serving {
    key: Key,
    lend: Arc<Lend>,
    busy: Mutex<()>,
}

impl Agent {
    /// Listens on `port` of an address, or of all of both families; port 0 takes a free one.
    pub fn listen(
        address: Option<IpAddr>,
        port: u16,
        key: Key,
        lend: Lend,
    ) -> Result<Self, RunError> {
        let listener = listen::on(address, port).map_err(|error| {
            let at = address.map_or("any address".to_owned(), |address| address.to_string());
            RunError::Listen { at, port, error }
        })?;
        let serving = Serving { key, lend: Arc::new(lend), busy: Mutex::new(()) };
        Ok(Self { listener, serving: Arc::new(serving) })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |at| at.port())
    }

    /// Serves until `stop`.
    pub fn serve(&self, stop: &AtomicBool, log: impl Fn(Event) + Send + Sync + 'static) {
        door::serve(&self.listener, &self.serving, stop, log);
    }
}

impl Service for Serving {
    type Error = RunError;

    fn allows(&self, from: IpAddr) -> bool {
        self.lend.limits.allows(from)
    }

    fn meet(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        guest: &mut Guest,
        log: &dyn Fn(Event),
    ) -> Result<Option<String>, RunError> {
        let lend = self.lend.clone();
        session(stream, &self.key, lend, &self.busy, guest, log).map(|()| Some(from.to_string()))
    }
}

fn session(
    stream: TcpStream,
    key: &Key,
    lend: Arc<Lend>,
    busy: &Mutex<()>,
    guest: &mut Guest,
    log: &dyn Fn(Event),
) -> Result<(), RunError> {
    let own = stream.local_addr().map_err(|error| RunError::Machine(error.to_string()))?;
    let own = listen::canonical(own);
    stream.set_nonblocking(false).map_err(|error| RunError::Machine(error.to_string()))?;
    let mut wire = Wire::answer(stream, key)?;
    // Only a message that can be decrypted proves the key: the first half of a handshake can be a
    // recorded one.
    wire.hear_proof(PROOF_WITHIN)?;
    if guest.prove() != Standing::Proved {
        return Err(RunError::Unreachable(format!("{} was dropped", wire.peer())));
    }
    wire.voice().beat()?;
    let Some(first) = wire.receive::<Request>(PROOF_WITHIN)? else {
        return Err(RunError::Refused(format!("{}: asked for nothing", wire.peer())));
    };
    log(Event::Session(wire.peer().to_owned()));
    let _alone = match busy.try_lock() {
        Ok(alone) => alone,
        Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let why = "another controller is measuring; two trials never overlap on a host";
            wire.send(&Reply::Refused { why: why.to_owned() })?;
            return Ok(());
        }
    };
    let mut first = Some(first);
    let patience = lend.patience;
    wire.expect_beats(patience.silent_max);
    let _heart = Heart::start(wire.voice().clone(), patience.beat_every)?;
    let mut lent = Lent { lend, address: own.ip(), worker: None, line: Duration::ZERO };
    let mut heard = Instant::now();
    // A worker has a limit of its own; without one, nothing is measured.
    while lent.worker.is_some() || heard.elapsed() < IDLE_MAX {
        let request =
            match first.take().map_or_else(|| wire.receive::<Request>(TURN), |r| Ok(Some(r))) {
                Ok(request) => request,
                // The controller hung up between two requests: a session's ordinary end.
                Err(RunError::Unreachable(_)) => return Ok(()),
                Err(error) => return Err(error),
            };
        if let Some(request) = request {
            heard = Instant::now();
            if matches!(request, Request::Order { order: Order::Go }) {
                wire.excuse(Some(heard + lent.line.min(patience.excused_max)));
            }
            if let Some(reply) = lent.meet(request) {
                wire.send(&reply)?;
            }
        }
        if let Some(answer) = lent.hear() {
            heard = Instant::now();
            wire.send(&Reply::Answer { answer })?;
        }
    }
    Err(RunError::Unreachable(format!("{} ordered nothing for {IDLE_MAX:?}", wire.peer())))
}

/// The worker lent to one controller; it ends with the session, or when its time is over.
struct Lent {
    lend: Arc<Lend>,
    address: IpAddr,
    worker: Option<(WorkerProcess, Instant)>,
    /// How long the worker's run is.
    line: Duration,
}

impl Lent {
    fn meet(&mut self, request: Request) -> Option<Reply> {
        match request {
            Request::Describe => {
                let host = Box::new(describe(&self.lend));
                Some(Reply::Host { host, offers: Offers::own() })
            }
            Request::Start => {
                let plain = Launcher::plain(self.lend.binary.clone());
                let memory_bytes = self.lend.limits.memory_bytes;
                match WorkerProcess::start(&Launcher { memory_bytes, confined: true, ..plain }) {
                    Ok(worker) => {
                        self.worker = Some((worker, Instant::now() + WORKER_SPARE));
                        Some(Reply::Started)
                    }
                    Err(error) => Some(Reply::Refused { why: error.to_string() }),
                }
            }
            Request::Stop => {
                self.worker = None;
                None
            }
            Request::Order { order } => {
                let given = self.lend.limits.within(order, self.address);
                let given = given.and_then(|order| self.give(&order));
                let why = given.err()?;
                let (at, fault) = (Stage::Start, Fault::Machine);
                Some(Reply::Answer { answer: Answer::Failed { at, why, fault } })
            }
        }
    }

    fn give(&mut self, order: &Order) -> Result<(), String> {
        let (worker, until) = self.worker.as_mut().ok_or("no worker was started")?;
        if let Order::Prepare { job } = order {
            self.line = job.timeline.length().min(LINE_MAX);
            *until = Instant::now() + WORKER_SPARE + self.line;
        }
        worker.order(order).map_err(|error| error.to_string())
    }

    fn hear(&mut self) -> Option<Answer> {
        let (worker, until) = self.worker.as_mut()?;
        let why = match worker.answer(Duration::from_millis(1)) {
            Ok(None) if Instant::now() > *until => {
                "its time was over before it was done".to_owned()
            }
            Ok(answer) => return answer,
            Err(error) => error.to_string(),
        };
        self.worker = None;
        Some(Answer::Failed { at: Stage::Run, why, fault: Fault::Machine })
    }
}

/// This host now, with what only more rights could read from when the agent had them.
fn describe(lend: &Lend) -> Host {
    let mut host = narrows_host::read(&narrows_host::Root::live());
    let Some(before) = &lend.host else { return host };
    if host.memory.slots.value().is_none() {
        host.memory.clone_from(&before.memory);
    }
    for nic in &mut host.nics {
        if let Some(before) = before.nic(&nic.name).filter(|before| same(&before.path, &nic.path)) {
            nic.path.clone_from(&before.path);
        }
    }
    for device in &mut host.devices {
        let mut known = before.devices.iter();
        if let Some(before) = known.find(|before| same(&before.path, &device.path)) {
            device.path.clone_from(&before.path);
        }
    }
    host.cpu.sockets = before.cpu.sockets.clone();
    host.expansion_slots = before.expansion_slots.clone();
    host
}

/// Whether two paths go through the same functions.
fn same(a: &[PciHop], b: &[PciHop]) -> bool {
    a.iter().map(|hop| &hop.address).eq(b.iter().map(|hop| &hop.address))
}
