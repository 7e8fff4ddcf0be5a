//! The half of an agent that starts workers. It speaks with nobody but the listener, through a
//! socketpair, and trusts it with nothing: it takes short, typed calls, holds every order to the
//! owner's limits itself, and keeps each session to `WORKERS_MAX` workers.

use crate::end::{End, WorkerProcess};
use crate::error::{ControlError, HalvesError, MachineError};
use crate::halves::{CALL_BYTES_MAX, Call, Link, SAID_BYTES_MAX, Said, Setup};
use crate::limits::{Given, LINE_MAX, Limits, WORKER_SPARE};
use crate::not_granted::NotGranted;
use crate::offers::{Lent, Offers};
use crate::session::{Answer, Order, WORKERS_MAX};
use crate::tools::{GrantedTool, Tools};
use crate::wire::{Reply, Request};
use narrows_hostctl::child;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::sampling::Leave;
use narrows_model::Fact;
use narrows_model::host::{Host, PciHop};
use narrows_model::record::{Fault, Stage};
use std::collections::BTreeMap;
use std::iter;
use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long the starter waits for a call while there is no worker.
const IDLE_TURN: Duration = Duration::from_millis(500);
/// While a worker prepares, so that its answers are not held up.
const READY_TURN: Duration = Duration::from_millis(2);
/// While a run goes on, so that it is not disturbed.
const RUN_TURN: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub struct Lend {
    /// This program, for workers.
    pub binary: PathBuf,
    /// What a peer may order.
    pub limits: Limits,
    /// The address that the agent listens on, if it is one.
    pub bind: Option<IpAddr>,
    /// This host as it was read with more rights than the agent has now, if it was: what only root
    /// can read is taken from it.
    pub host: Option<Host>,
    /// Leave to sample where CPU time goes; `None` where the owner gives none.
    pub leave: Option<Leave>,
    /// Outside tools whose servers are lent; `None` where the owner lends none.
    pub tools: Option<Tools>,
}

/// The listener's process. It ends with this.
pub struct Listener {
    process: Child,
    orders: UnixStream,
}

impl Listener {
    /// Starts it, with the socket that it listens on and a socketpair, and nothing else. It waits
    /// to be told what it is to be. To be called before this process gives up capset(2).
    pub fn start(binary: &Path, listening: TcpListener) -> Result<Self, ControlError> {
        let failed = |error| MachineError::Listener { program: binary.to_owned(), error };
        let (orders, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = child::command(binary);
        command.arg("listener").stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(listening));
        // Ctrl-C reaches the starter alone, which ends its children.
        let process = command.process_group(0).spawn().map_err(failed)?;
        Ok(Self { process, orders })
    }

    /// Tells it what to be, and starts workers for it until `stop`.
    pub fn serve(
        mut self,
        setup: &Setup,
        lend: Lend,
        stop: &AtomicBool,
    ) -> Result<(), ControlError> {
        let orders = self.orders.try_clone();
        let orders = orders.map_err(ControlError::socket)?;
        let served = serve(orders, setup, lend, stop);
        match served.is_err().then(|| self.ended()).flatten() {
            Some(status) => Err(HalvesError::ListenerEnded(status).into()),
            None => served,
        }
    }

    /// How it ended, if it did: its end of the socketpair closes a little before.
    fn ended(&mut self) -> Option<ExitStatus> {
        (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(2));
            self.process.try_wait().ok().flatten()
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves a listener until `stop`, or until it ends, which is an error.
pub fn serve(
    orders: UnixStream,
    setup: &Setup,
    lend: Lend,
    stop: &AtomicBool,
) -> Result<(), ControlError> {
    let mut link = Link::over(orders, CALL_BYTES_MAX)?;
    link.send(setup, SAID_BYTES_MAX)?;
    let mut starter = Starter { lend, session: None };
    while !stop.load(SeqCst) {
        let reply = match link.hear::<Call>(starter.turn()) {
            Ok(call) => call.and_then(|call| starter.meet(call)),
            // Who asks this process to stop may have asked the listener too.
            Err(_) if stop.load(SeqCst) => break,
            Err(error) => return Err(error),
        };
        // All that workers have to say: one of many is not held up by the turns of the others.
        for said in reply.into_iter().chain(iter::from_fn(|| starter.hear())) {
            tell(&mut link, said)?;
        }
    }
    Ok(())
}

/// Tells the listener, or, where it is more than one word may be, that it cannot be told.
fn tell(link: &mut Link, said: Said) -> Result<(), ControlError> {
    match link.send(&said, SAID_BYTES_MAX) {
        Err(ControlError::Order(why)) => {
            let (at, fault, why) = (Stage::Run, Fault::Machine, why.to_string());
            let worker = match &said.reply {
                Reply::Answer { worker, .. } => *worker,
                Reply::Host { .. }
                | Reply::Started
                | Reply::Serving { .. }
                | Reply::Refused { .. } => 0,
            };
            let reply = Reply::Answer { answer: Answer::Failed { at, why, fault }, worker };
            link.send(&Said { reply, ..said }, SAID_BYTES_MAX)
        }
        told => told,
    }
}

/// Why no worker has an order.
#[derive(Debug, Error)]
enum NotGiven {
    #[error(transparent)]
    Beyond(#[from] NotGranted),
    #[error("no worker was started")]
    NoWorker,
    #[error(transparent)]
    Worker(#[from] ControlError),
}

impl NotGiven {
    fn fault(&self) -> Fault {
        match self {
            Self::Beyond(beyond) => beyond.fault(),
            Self::NoWorker | Self::Worker(_) => Fault::Machine,
        }
    }
}

/// Why a worker will say nothing more.
#[derive(Debug, Error)]
enum Silenced {
    #[error("its time was over before it was done")]
    Overdue,
    #[error(transparent)]
    Worker(#[from] ControlError),
}

struct Starter {
    lend: Lend,
    session: Option<Session>,
}

/// What is lent to one controller.
struct Session {
    number: u64,
    address: IpAddr,
    given: Given,
    workers: BTreeMap<u32, StartedWorker>,
    tool: GrantedTool,
}

/// A worker; it ends with the session, or when its time is over.
struct StartedWorker {
    process: WorkerProcess,
    until: Instant,
    runs: bool,
}

impl StartedWorker {
    /// What it says, or why it will say nothing more.
    fn hear(&mut self) -> Option<Result<Answer, Silenced>> {
        match self.process.answer(Duration::ZERO) {
            Ok(None) if Instant::now() > self.until => Some(Err(Silenced::Overdue)),
            Ok(answer) => answer.map(Ok),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Starter {
    /// How long to wait for a call.
    fn turn(&self) -> Duration {
        let workers = || self.session.iter().flat_map(|session| session.workers.values());
        if workers().any(|worker| !worker.runs) {
            READY_TURN
        } else if workers().next().is_some() {
            RUN_TURN
        } else {
            IDLE_TURN
        }
    }

    fn meet(&mut self, call: Call) -> Option<Said> {
        match call {
            Call::Begin { session, address } => {
                self.session = None;
                if self.may_listen_on(address) {
                    self.session = Some(Session::begin(session, address))
                } else {
                    let why = format!("this agent does not offer ends on {address}");
                    return Some(Said { session, reply: Reply::Refused { why } });
                }
                None
            }
            Call::End => {
                self.session = None;
                None
            }
            Call::Ask { request } => {
                let session = self.session.as_mut()?;
                let reply = session.meet(request, &self.lend)?;
                Some(Said { session: session.number, reply })
            }
        }
    }

    /// Whether a controller can have called that address.
    fn may_listen_on(&self, address: IpAddr) -> bool {
        let bind = self.lend.bind.filter(|bind| !bind.is_unspecified());
        let one = !address.is_unspecified() && !address.is_multicast();
        one && bind.is_none_or(|bind| bind.to_canonical() == address.to_canonical())
    }

    fn hear(&mut self) -> Option<Said> {
        let session = self.session.as_mut()?;
        let (worker, answer) = session.hear()?;
        Some(Said { session: session.number, reply: Reply::Answer { answer, worker } })
    }
}

impl Session {
    fn begin(number: u64, address: IpAddr) -> Self {
        let (given, workers) = (Given::default(), BTreeMap::new());
        Self { number, address, given, workers, tool: GrantedTool::default() }
    }

    fn meet(&mut self, request: Request, lend: &Lend) -> Option<Reply> {
        match request {
            Request::Describe => {
                let host = Box::new(describe(lend));
                let tools = lend.tools.as_ref().map_or(Vec::new(), |tools| tools.names.clone());
                let meets_nobody = lend.limits.peers.is_empty();
                let interfaces = Lent::of(&lend.limits.interfaces, &host);
                let offers = Offers { tools, meets_nobody, interfaces, ..Offers::own() };
                Some(Reply::Host { host, offers })
            }
            Request::Start { worker } => Some(self.start(worker, lend)),
            Request::Tool { trial } => {
                let started = self.tool.start(lend.tools.as_ref(), &lend.limits, &trial);
                Some(match started {
                    Ok(port) => Reply::Serving { port },
                    Err(error) => Reply::Refused { why: error.to_string() },
                })
            }
            Request::Stop => {
                self.tool.end();
                self.given.clear();
                self.workers.clear();
                None
            }
            Request::Order { order, worker } => {
                let given = self.given.admit(&lend.limits, worker, order, self.address);
                let given = given.map_err(NotGiven::from);
                let error = given.and_then(|order| self.give(worker, &order)).err()?;
                let (at, fault, why) = (Stage::Start, error.fault(), error.to_string());
                Some(Reply::Answer { answer: Answer::Failed { at, why, fault }, worker })
            }
        }
    }

    fn start(&mut self, worker: u32, lend: &Lend) -> Reply {
        // Before another is there: the owner's limits are for those that there are.
        self.workers.remove(&worker);
        self.given.drop_worker(worker);
        if self.workers.len() >= WORKERS_MAX {
            return Reply::Refused { why: NotGranted::Workers.to_string() };
        }
        let plain = Launcher::plain(lend.binary.clone());
        let memory_bytes = lend.limits.memory_bytes;
        let leave = lend.leave.clone();
        match WorkerProcess::start(&Launcher { memory_bytes, confined: true, leave, ..plain }) {
            Ok(process) => {
                let until = Instant::now() + WORKER_SPARE;
                self.workers.insert(worker, StartedWorker { process, until, runs: false });
                Reply::Started
            }
            Err(error) => Reply::Refused { why: error.to_string() },
        }
    }

    fn give(&mut self, worker: u32, order: &Order) -> Result<(), NotGiven> {
        let worker = self.workers.get_mut(&worker).ok_or(NotGiven::NoWorker)?;
        match order {
            Order::Prepare { job } => {
                let line = job.length().min(LINE_MAX);
                worker.until = Instant::now() + WORKER_SPARE + line;
            }
            Order::Arm { .. } | Order::Release => {}
            Order::Go { .. } | Order::GoUntilTold => worker.runs = true,
        }
        Ok(worker.process.order(order)?)
    }

    /// The first word that any worker has, and whose it is.
    fn hear(&mut self) -> Option<(u32, Answer)> {
        self.tool.end_when_late();
        let (number, heard) =
            self.workers.iter_mut().find_map(|(number, worker)| Some((*number, worker.hear()?)))?;
        let answer = heard.unwrap_or_else(|why| {
            self.workers.remove(&number);
            self.given.drop_worker(number);
            Answer::Failed { at: Stage::Run, why: why.to_string(), fault: Fault::Machine }
        });
        Some((number, answer))
    }
}

/// This host now, with what only more rights could read from when the agent had them.
fn describe(lend: &Lend) -> Host {
    let host = narrows_host::read(&narrows_host::Root::live());
    match &lend.host {
        Some(before) => with_rights_of(before, host),
        None => host,
    }
}

/// A host with what only more rights could read, from when it was read with them.
fn with_rights_of(before: &Host, mut host: Host) -> Host {
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
    // The control groups may be seen with rights alone: `ip netns exec` hides their file system.
    if matches!(host.cpu.quota_cpus, Fact::Denied { .. }) {
        host.cpu.quota_cpus.clone_from(&before.cpu.quota_cpus);
    }
    if matches!(host.memory.cgroup_limit_bytes, Fact::Denied { .. }) {
        host.memory.cgroup_limit_bytes.clone_from(&before.memory.cgroup_limit_bytes);
    }
    host.cpu.sockets = before.cpu.sockets.clone();
    host.expansion_slots = before.expansion_slots.clone();
    host
}

/// Whether two paths go through the same functions.
fn same(a: &[PciHop], b: &[PciHop]) -> bool {
    a.iter().map(|hop| &hop.address).eq(b.iter().map(|hop| &hop.address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::host::{ExpansionSlot, Memory, Nic, Slot};
    use std::process::Command;

    fn hop(address: &str, name: &str) -> PciHop {
        PciHop { address: address.into(), name: name.into(), ..PciHop::default() }
    }

    fn nic(name: &str, path: &[PciHop]) -> Nic {
        Nic { name: name.into(), path: path.to_vec(), ..Nic::default() }
    }

    #[test]
    fn what_only_root_could_read_is_kept_and_what_moved_is_not() {
        let memory = |slots, total| Memory {
            total_bytes: Fact::known(Bytes(total), "meminfo"),
            slots,
            ..Memory::default()
        };
        let slots = Fact::known(vec![Slot::default()], "SMBIOS");
        let cards = Fact::known(vec![ExpansionSlot::default()], "SMBIOS");
        let read = [hop("0000:00:01.0", "read by root"), hop("0000:01:00.0", "read by root")];
        let seen = [hop("0000:00:01.0", "seen"), hop("0000:01:00.0", "seen")];
        let moved = [hop("0000:00:01.0", "seen"), hop("0000:02:00.0", "seen")];
        let before = Host {
            memory: memory(slots.clone(), 1),
            nics: vec![nic("eth0", &read), nic("eth1", &read)],
            expansion_slots: cards.clone(),
            ..Host::default()
        };
        let now = Host {
            memory: memory(Fact::default(), 2),
            nics: vec![nic("eth0", &seen), nic("eth1", &moved), nic("eth2", &seen)],
            ..Host::default()
        };
        let host = with_rights_of(&before, now.clone());
        assert_eq!(host.memory.slots, slots);
        assert_eq!(host.nics[0].path, read, "with what its configuration space says");
        assert_eq!((&host.nics[1].path[..], &host.nics[2].path[..]), (&moved[..], &seen[..]));
        assert_eq!(host.expansion_slots, cards);
        let known = Host { memory: memory(slots, 3), ..now };
        let host = with_rights_of(&Host::default(), known.clone());
        assert_eq!(host.memory, known.memory, "what can be read now is newer");
    }

    fn program(runs: bool) -> PathBuf {
        std::env::temp_dir().join(format!("narrows-starter-{}-{runs}", std::process::id()))
    }

    /// A worker that says nothing.
    fn silent(runs: bool, until: Instant) -> StartedWorker {
        let path = program(runs);
        let text = path.with_extension("text");
        std::fs::write(&text, "#!/bin/sh\ncat > /dev/null\n").expect("a text");
        // Another process writes it, so that no child of this one holds it open.
        let mut install = Command::new("install");
        let made = install.args(["-m", "755"]).args([&text, &path]).status().expect("it runs");
        assert!(made.success());
        let process = WorkerProcess::start(&Launcher::plain(path.clone())).expect("started");
        let _ = std::fs::remove_file(text);
        StartedWorker { process, until, runs }
    }

    #[test]
    fn a_starter_waits_as_its_workers_allow_and_ends_those_that_are_overdue() {
        let later = Instant::now() + Duration::from_secs(600);
        let lend = Lend {
            binary: PathBuf::new(),
            limits: Limits::default(),
            bind: None,
            host: None,
            leave: None,
            tools: None,
        };
        let mut starter = Starter { lend, session: None };
        assert_eq!(starter.turn(), IDLE_TURN);
        let mut session = Session::begin(7, [127, 0, 0, 1].into());
        session.workers.insert(3, silent(true, later));
        starter.session = Some(session);
        assert_eq!(starter.turn(), RUN_TURN, "a run is not disturbed");
        let session = starter.session.as_mut().expect("a session");
        session.workers.insert(4, silent(false, Instant::now()));
        assert_eq!(starter.turn(), READY_TURN, "nor is one held up that prepares");
        let said = starter.hear().expect("one is overdue");
        let Reply::Answer { answer: Answer::Failed { at, why, fault }, worker } = said.reply else {
            panic!("{said:?}")
        };
        assert_eq!((said.session, worker, at, fault), (7, 4, Stage::Run, Fault::Machine));
        assert_eq!(why, "its time was over before it was done");
        assert_eq!(starter.turn(), RUN_TURN, "it is gone");
        assert!(starter.hear().is_none(), "the other has time");
        starter.meet(Call::End);
        assert_eq!(starter.turn(), IDLE_TURN);
        [true, false].map(program).into_iter().for_each(|path| {
            let _ = std::fs::remove_file(path);
        });
    }
}
