//! `tcp-stream`: each flow sends messages of one size over one connection as fast as it goes; the
//! sink copies every byte out of the kernel. Bytes counted: payload that the sink received.
//!
//! Unless a span is asked for, both ends use one buffer of one message over and over: it stays in
//! the cache ("hot"). With a span they go through it message by message. The sink may read what it
//! received once more (touch), or let the kernel drop it uncopied (truncate), which is labelled.

use crate::harness::buffer::Buffer;
use crate::harness::socket::{self, Token};
use crate::harness::{Crew, CrewPlan, Lane, LaneEnd, LaneWork, Phase};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_facts::Bytes;
use narrows_facts::load::{End, Job, StreamParams};
use socket2::Socket;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

pub static KIND: Kind = Kind {
    name: "tcp-stream",
    says: "TCP throughput; counts payload bytes the sink received",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LaneMaker { sink: receive, source: send }),
};

/// The hot loop of one flow.
type FlowWork = fn(&mut Lane, Socket, &Flow) -> Result<LaneEnd, LoadError>;

/// What a flow's loop is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of the buffer that messages are taken from and put into, a multiple of the message.
    pub span: usize,
    /// Whether the sink reads what it received.
    pub touch: bool,
    /// Whether the sink lets the kernel drop what arrived.
    pub truncate: bool,
}

impl Flow {
    fn of(job: &Job) -> Self {
        let message = job.params.message_bytes.0 as usize;
        let none = StreamParams::default();
        let stream = job.params.stream.as_ref().unwrap_or(&none);
        let span = stream.span_bytes.map_or(0, |span| span.0 as usize);
        let span = span / job.params.streams.max(1) as usize / message * message;
        let (touch, truncate) = (stream.touch, stream.truncate);
        Self { message, span: span.max(message), touch, truncate }
    }
}

/// The two hot loops of a TCP workload.
pub(super) struct LaneMaker {
    pub sink: FlowWork,
    pub source: FlowWork,
}

/// One end of a TCP workload: `streams` connections, one thread each.
pub(super) struct TcpEnd {
    job: Job,
    token: Token,
    listener: Option<Socket>,
    make: LaneMaker,
}

impl TcpEnd {
    /// Makes the end ready; a sink listens.
    pub fn prepare(job: &Job, make: LaneMaker) -> Result<Box<dyn Prepared>, LoadError> {
        let token = socket::token(&job.token)?;
        let listens = (job.end == End::Sink) != job.params.is_reverse();
        let listener = match (listens, job.address) {
            (true, Some(address)) => Some(socket::listen(address, &job.params)?),
            _ => None,
        };
        Ok(Box::new(Self { job: job.clone(), token, listener, make }))
    }

    fn meet(&self, peer: &[SocketAddr]) -> Result<Vec<Socket>, LoadError> {
        let params = &self.job.params;
        if let Some(listener) = &self.listener {
            return socket::accept(listener, params.streams, &self.token);
        }
        let Some(peer) = peer.first() else {
            return Err(LoadError::Order("the sink named no port".into()));
        };
        (0..params.streams).map(|_| socket::connect(*peer, params, &self.token)).collect()
    }
}

impl Prepared for TcpEnd {
    fn ports(&self) -> Vec<u16> {
        self.listener.iter().map(socket::port).collect()
    }

    fn arm(self: Box<Self>, peer: &[SocketAddr], meter: ThreadMeter) -> Result<Crew, LoadError> {
        let flows = self.meet(peer)?;
        let told = Flow::of(&self.job);
        let span = Bytes(told.span as u64 * flows.len() as u64);
        let work = if self.job.end == End::Sink { self.make.sink } else { self.make.source };
        let effective = socket::read_back(&flows[0], true, span);
        let mut lanes: Vec<LaneWork> = Vec::new();
        for flow in &flows {
            let flow = flow.try_clone().map_err(LoadError::system("copying a socket handle"))?;
            lanes.push(Box::new(move |lane| work(lane, flow, &told)));
        }
        let cpus = self.job.cpus.clone();
        Crew::muster(CrewPlan { lanes, sockets: flows, effective, cpus, meter })
    }
}

fn send(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut buffer = Buffer::new(told.span)?;
    buffer.touch();
    let bytes = buffer.bytes();
    lane.wait_at_gate();
    // Where the message begins in the span, and how much of it went.
    let (mut at, mut done) = (0, 0);
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        match flow.write(&bytes[at + done..at + told.message]) {
            Ok(n) => {
                done += n;
                lane.tally.moved(u64::from(done == told.message), n as u64);
                if done == told.message {
                    done = 0;
                    at = (at + told.message) % told.span;
                }
            }
            Err(error) if socket::is_pause(&error) => {}
            // The sink may close first: its cool-down ends a moment before ours.
            Err(_) if phase == Phase::Cooldown => return Ok(LaneEnd::default()),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
    }
}

fn receive(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut buffer = Buffer::new(told.span)?;
    buffer.touch();
    lane.wait_at_gate();
    let mut at = 0;
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        let bytes = &mut buffer.bytes_mut()[at..at + told.message];
        let received = match told.truncate {
            true => drop_received(&flow, bytes.len()),
            false => flow.read(bytes),
        };
        match received {
            Ok(0) if phase < Phase::Cooldown => {
                return Err(LoadError::Peer("the source closed before the window ended".into()));
            }
            Ok(0) => return Ok(LaneEnd::default()),
            Ok(n) => {
                if told.touch {
                    black_box(bytes[..n].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
                }
                lane.tally.moved(1, n as u64);
                at = (at + told.message) % told.span;
            }
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(LaneEnd::default()),
            Err(error) => return Err(LoadError::system("receiving")(error)),
        }
    }
}

/// Lets the kernel drop up to `most` bytes that arrived; how many it were.
fn drop_received(flow: &Socket, most: usize) -> std::io::Result<usize> {
    // SAFETY: with MSG_TRUNC on a stream the kernel writes nothing and takes no address (tcp(7));
    // the descriptor is the socket's own.
    let n = unsafe { libc::recv(flow.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    if n < 0 { Err(std::io::Error::last_os_error()) } else { Ok(n as usize) }
}
