//! The two ends of a network workload: they meet, and each flow gets a thread with the hot loop of
//! its part.

use super::calls;
use super::meet::{self, Token};
use super::{Lane, LaneEnd, LaneWork, ThreadsPlan, WorkerThreads, socket};
use crate::{LoadError, Prepared, ThreadMeter};
use narrows_model::Bytes;
use narrows_model::load::{Effective, Job, Role, StreamParams, Wait};
use socket2::Socket;
use std::net::SocketAddr;

/// What a flow's loop is told.
#[derive(Clone, Debug)]
pub struct Flow {
    pub job: Job,
    /// By which the ends know each other.
    pub token: Token,
    /// Number of the flow.
    pub index: u32,
}

impl Flow {
    /// Bytes of a message, a datagram, a request.
    pub fn message(&self) -> usize {
        self.job.params.message_bytes.0 as usize
    }
    /// What a stream was told.
    pub fn stream(&self) -> StreamParams {
        self.job.params.stream.clone().unwrap_or_default()
    }
    /// Bytes of the buffer that messages are taken from and put into: a multiple of the message.
    pub fn span(&self) -> usize {
        let (params, message) = (&self.job.params, self.message());
        let span = self.stream().span_bytes.map_or(0, |span| span.0 as usize);
        let span = span / params.flows().max(1) as usize / message * message;
        span.max(message)
    }
    /// Whether its thread looks for bytes without sleeping.
    pub fn spins(&self) -> bool {
        socket::wait(&self.job.params).is_ok_and(|wait| wait == Wait::Spin)
    }
}

/// The hot loop of one flow.
pub type FlowWork = fn(&mut Lane, Socket, &Flow) -> Result<LaneEnd, LoadError>;

/// The hot loops of a workload.
#[derive(Clone, Copy)]
pub struct LaneMaker {
    /// Receives, or answers.
    pub receiver: FlowWork,
    /// Sends, or asks.
    pub sender: FlowWork,
    /// Whether only the end that asks takes part.
    pub one_sided: bool,
    /// Names of what really sends and receives.
    pub engines: fn(&Job) -> (&'static str, &'static str),
}

/// Whether this end is the one that listens.
pub fn listens(job: &Job) -> bool {
    (job.end == Role::Receiver) != job.params.is_reverse()
}

/// Starts a thread a flow: first this end's own part, then, where both send, the other's.
fn start(
    job: &Job,
    token: Token,
    flows: Vec<Socket>,
    make: LaneMaker,
    meter: ThreadMeter,
) -> Result<WorkerThreads, LoadError> {
    let own = job.params.streams as usize;
    let sends = job.end == Role::Sender;
    let mut lanes: Vec<LaneWork> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let flow = flow.try_clone().map_err(LoadError::system("copying a socket handle"))?;
        let told = Flow { job: job.clone(), token, index: index as u32 };
        let work = if sends == (index < own) { make.sender } else { make.receiver };
        lanes.push(Box::new(move |lane| work(lane, flow, &told)));
    }
    let sending = if sends { 0..own } else { own..flows.len() };
    let told = Flow { job: job.clone(), token, index: 0 };
    let span = Bytes(told.span() as u64 * flows.len() as u64);
    let (sender, receiver) = (make.engines)(job);
    let both = job.params.is_bidirectional();
    let name = |engine: &str, here: bool| (here || both).then(|| engine.to_owned());
    let effective = Effective {
        sender: name(sender, sends),
        receiver: name(receiver, !sends),
        ..socket::read_back(&flows[0], job, span)
    };
    // The ends only talk over these: what counts passes them by.
    let aside = job.kind.is_rdma();
    let effective = if aside {
        Effective {
            buffer_span_bytes: span,
            wait: effective.wait,
            sender: effective.sender,
            receiver: effective.receiver,
            ..Effective::default()
        }
    } else {
        effective
    };
    let flows = if aside { Vec::new() } else { flows };
    let (cpus, binding) = (job.cpus.clone(), job.binding);
    WorkerThreads::start(ThreadsPlan {
        lanes,
        sending,
        one_sided: make.one_sided,
        sockets: flows,
        effective,
        cpus,
        binding,
        meter,
    })
}

/// One end of a TCP workload: a connection a flow.
pub struct TcpEnd {
    job: Job,
    token: Token,
    listener: Option<Socket>,
    make: LaneMaker,
}

impl TcpEnd {
    /// Makes the end ready; one that listens does so from here on.
    pub fn prepare(job: &Job, make: LaneMaker) -> Result<Box<dyn Prepared>, LoadError> {
        let token = meet::token(&job.token)?;
        let address = job.address.filter(|_| listens(job));
        let listener = address.map(|address| meet::listen(address, job)).transpose()?;
        Ok(Box::new(Self { job: job.clone(), token, listener, make }))
    }
}

impl Prepared for TcpEnd {
    fn ports(&self) -> Vec<u16> {
        self.listener.iter().map(meet::port).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let Self { job, token, listener, make } = *self;
        let flows = match (&listener, peer.first()) {
            (Some(listener), _) => meet::accept(listener, &job, &token)?,
            (None, Some(peer)) => calls::connect_all(*peer, &job, &token)?,
            (None, None) => return Err(LoadError::Order("the receiver named no port".into())),
        };
        start(&job, token, flows, make, meter)
    }
}

/// One end of a UDP workload: a socket a flow.
pub struct UdpEnd {
    job: Job,
    token: Token,
    doors: Vec<Socket>,
    make: LaneMaker,
}

impl UdpEnd {
    /// Makes the end ready; one that listens binds its sockets.
    pub fn prepare(job: &Job, make: LaneMaker) -> Result<Box<dyn Prepared>, LoadError> {
        let token = meet::token(&job.token)?;
        let doors = doors_over_udp(job)?;
        Ok(Box::new(Self { job: job.clone(), token, doors, make }))
    }
}

impl Prepared for UdpEnd {
    fn ports(&self) -> Vec<u16> {
        self.doors.iter().map(meet::port).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let Self { job, token, doors, make } = *self;
        let flows = meet_over_udp(&job, &token, doors, peer)?;
        start(&job, token, flows, make, meter)
    }
}

/// The sockets of all flows, each tied to its other end, which has proved itself; an end without
/// doors calls.
pub fn meet_over_udp(
    job: &Job,
    token: &Token,
    doors: Vec<Socket>,
    peer: &[SocketAddr],
) -> Result<Vec<Socket>, LoadError> {
    if !doors.is_empty() {
        doors.iter().try_for_each(|door| meet::answer(door, job, token))?;
        return Ok(doors);
    }
    if peer.len() < job.params.flows() as usize {
        return Err(LoadError::Order("the receiver named fewer ports than streams".into()));
    }
    peer.iter().map(|to| meet::call(*to, job, token)).collect()
}

/// The sockets that an end that listens waits on, one a flow; none where it calls.
pub fn doors_over_udp(job: &Job) -> Result<Vec<Socket>, LoadError> {
    let Some(address) = job.address.filter(|_| listens(job)) else { return Ok(Vec::new()) };
    (0..job.params.flows()).map(|_| meet::open(address, job)).collect()
}
