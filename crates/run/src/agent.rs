//! The agent: lends this host's end of a trial to a controller that holds the key.
//!
//! It runs only typed workloads within the limits of [`narrows_loads::check`], never a command of a
//! peer, in no namespace a peer names; one controller at a time measures, others are told so.

use crate::RunError;
use crate::end::{End, WorkerProcess};
use crate::key::Key;
use crate::session::{Answer, Order};
use crate::wire::{Reply, Request, Wire};
use narrows_facts::load::End as Role;
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

/// What an agent lends.
#[derive(Clone)]
pub struct Lend {
    /// This program, for workers.
    pub binary: PathBuf,
    /// Ports that data connections may come to, first to last; `None` is any.
    pub ports: Option<(u16, u16)>,
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    key: Key,
    lend: Lend,
}

impl Agent {
    /// Listens on `address:port`; port 0 takes a free one.
    pub fn listen(address: IpAddr, port: u16, key: Key, lend: Lend) -> Result<Self, RunError> {
        let listener = TcpListener::bind((address, port)).map_err(|error| {
            RunError::Unreachable(format!("cannot listen on {address} port {port}: {error}"))
        })?;
        listener.set_nonblocking(true).map_err(|error| RunError::Machine(error.to_string()))?;
        Ok(Self { listener, key, lend })
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
            let (key, lend) = (self.key.clone(), self.lend.clone());
            thread::spawn(move || {
                let ended = session(stream, &key, lend, &busy, &*log);
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
    lend: Lend,
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
    let mut lent = Lent { lend, address: own.ip(), worker: None };
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
    lend: Lend,
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
            Request::Start => match WorkerProcess::start(&self.lend.binary) {
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
                let given = within_bounds(order, self.address, self.lend.ports).and_then(|order| {
                    let worker = self.worker.as_mut().ok_or("no worker was started")?;
                    worker.order(&order).map_err(|error| error.to_string())
                });
                let why = given.err()?;
                Some(Reply::Answer { answer: Answer::Failed { at: Stage::Start, why } })
            }
        }
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

/// What an agent does for a peer: the end of a network workload that listens, only where the peer
/// reached this agent, in no namespace of the peer's choice. An end that connects would send
/// wherever the peer says, and a memory kernel would take what memory the peer says. In reverse the
/// end that listens sends, but only over connections that opened with the trial's token.
fn within_bounds(
    order: Order,
    address: IpAddr,
    ports: Option<(u16, u16)>,
) -> Result<Order, String> {
    match order {
        Order::Prepare { mut job } => {
            let kind = narrows_loads::kind(&job.kind).map_err(|error| error.to_string())?;
            let listens = (job.end == Role::Sink) != job.params.is_reverse();
            if !kind.network || !listens {
                return Err(
                    "an agent runs only the end of a network workload that listens".to_owned()
                );
            }
            job.namespace = None;
            job.bind = None;
            job.iperf3 = None;
            job.ports = ports;
            job.address = Some(address);
            Ok(Order::Prepare { job })
        }
        // An end that listens connects to nobody.
        Order::Arm { .. } => Ok(Order::Arm { peer: Vec::new() }),
        Order::Go => Ok(Order::Go),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_facts::load::{Bind, CpuList, Job, Params, StreamParams, Timeline};
    use narrows_facts::{Bytes, Nanos};

    fn order(kind: &str, end: Role) -> Order {
        let span = Nanos(1_000_000);
        let job = Job {
            kind: kind.into(),
            end,
            params: Params::of_network(Bytes(64), 1),
            cpus: CpuList::default(),
            timeline: Timeline { warmup_ns: span, window_ns: span, cooldown_ns: span },
            address: Some("203.0.113.9".parse().expect("address")),
            token: "00".repeat(16),
            namespace: Some("/proc/1/ns/net".into()),
            node: None,
            bind: Some(Bind { address: None, device: Some("lo".into()) }),
            iperf3: Some("x".into()),
            ports: Some((1, 2)),
        };
        Order::Prepare { job: Box::new(job) }
    }

    #[test]
    fn a_peer_chooses_neither_address_nor_namespace_nor_target() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let kept = within_bounds(order("tcp-stream", Role::Sink), own, None).expect("a sink");
        let Order::Prepare { job } = kept else { panic!("{kept:?}") };
        assert_eq!((job.address, job.namespace), (Some(own), None));
        assert_eq!((job.bind, job.ports, job.iperf3), (None, None, None));
        for (kind, end) in [
            ("tcp-stream", Role::Source),
            ("udp-stream", Role::Source),
            ("memory-copy", Role::Sink),
            ("sh -c reboot", Role::Sink),
        ] {
            assert!(within_bounds(order(kind, end), own, None).is_err(), "{kind} {end:?}");
        }
        let mut reversed = order("tcp-stream", Role::Source);
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
        assert!(within_bounds(reversed.clone(), own, None).is_ok(), "it listens and sends");
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.end = Role::Sink;
        assert!(within_bounds(reversed, own, None).is_err(), "it would connect");
        let aimed = Order::Arm { peer: vec!["203.0.113.9:53".parse().expect("address")] };
        assert_eq!(within_bounds(aimed, own, None), Ok(Order::Arm { peer: vec![] }));
    }
}
