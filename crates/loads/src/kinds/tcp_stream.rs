//! `tcp-stream`: each flow sends messages of one size over one connection as fast as it goes; the
//! sink copies every byte out of the kernel. Bytes counted: payload that the sink received.
//!
//! Both ends use one buffer of one message over and over: it stays in the cache ("hot").

use crate::harness::buffer::Buffer;
use crate::harness::socket::{self, Token};
use crate::harness::{Crew, CrewPlan, Lane, LaneEnd, LaneWork, Phase};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_facts::load::{End, Job};
use socket2::Socket;
use std::io::{Read, Write};
use std::net::SocketAddr;

pub static KIND: Kind = Kind {
    name: "tcp-stream",
    says: "TCP throughput; counts payload bytes the sink received",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LaneMaker { sink: receive, source: send }),
};

/// The hot loop of one flow.
type FlowWork = fn(&mut Lane, Socket, usize) -> Result<LaneEnd, LoadError>;

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
        let listener = match (job.end, job.address) {
            (End::Sink, Some(address)) => Some(socket::listen(address, &job.params)?),
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
        let message = self.job.params.message_bytes;
        let work = if self.job.end == End::Sink { self.make.sink } else { self.make.source };
        let effective = socket::read_back(&flows[0], true, message);
        let mut lanes: Vec<LaneWork> = Vec::new();
        for flow in &flows {
            let flow = flow.try_clone().map_err(LoadError::system("copying a socket handle"))?;
            lanes.push(Box::new(move |lane| work(lane, flow, message.0 as usize)));
        }
        let cpus = self.job.cpus.clone();
        Crew::muster(CrewPlan { lanes, sockets: flows, effective, cpus, meter })
    }
}

fn send(lane: &mut Lane, mut flow: Socket, message: usize) -> Result<LaneEnd, LoadError> {
    let mut buffer = Buffer::new(message)?;
    buffer.touch();
    let bytes = &buffer.bytes()[..message];
    lane.wait_at_gate();
    let mut done = 0;
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        match flow.write(&bytes[done..]) {
            Ok(n) => {
                done += n;
                lane.tally.moved(u64::from(done == message), n as u64);
                if done == message {
                    done = 0;
                }
            }
            Err(error) if socket::is_pause(&error) => {}
            // The sink may close first: its cool-down ends a moment before ours.
            Err(_) if phase == Phase::Cooldown => return Ok(LaneEnd::default()),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
    }
}

fn receive(lane: &mut Lane, mut flow: Socket, message: usize) -> Result<LaneEnd, LoadError> {
    let mut buffer = Buffer::new(message)?;
    buffer.touch();
    let bytes = &mut buffer.bytes_mut()[..message];
    lane.wait_at_gate();
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        match flow.read(bytes) {
            Ok(0) if phase < Phase::Cooldown => {
                return Err(LoadError::Peer("the source closed before the window ended".into()));
            }
            Ok(0) => return Ok(LaneEnd::default()),
            Ok(n) => lane.tally.moved(1, n as u64),
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(LaneEnd::default()),
            Err(error) => return Err(LoadError::system("receiving")(error)),
        }
    }
}
