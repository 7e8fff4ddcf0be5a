//! `udp-stream`: each flow sends datagrams of one size, at a pace or as fast as it goes. Bytes
//! counted: payload that the sink received; what was sent is not received.
//!
//! A datagram opens with eight bytes of the trial's token and a 64-bit sequence number, big-endian.
//! Loss is what the sink misses between the sequence numbers at the two ends of its own window, so
//! datagrams in flight at the edges are no loss.

use crate::harness::buffer::Buffer;
use crate::harness::socket::{self, Token};
use crate::harness::{Crew, CrewPlan, Lane, LaneEnd, LaneWork, Phase};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_facts::load::{End, Job};
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub static KIND: Kind = Kind {
    name: "udp-stream",
    says: "UDP throughput and loss; counts payload bytes the sink received",
    network: true,
    message_bytes_min: HEAD as u64,
    prepare: |job| UdpEnd::prepare(job, LaneMaker { sink: receive, source: send }),
};

/// Token and sequence number.
pub(super) const HEAD: usize = 16;

/// What a flow's loop is told.
pub(super) struct Flow {
    /// Bytes of a datagram.
    pub message: usize,
    /// By which the ends know each other.
    pub token: Token,
    /// From datagram to datagram at the asked pace, in nanoseconds.
    pub gap_ns: Option<f64>,
}

/// The hot loop of one flow.
type FlowWork = fn(&mut Lane, Socket, &Flow) -> Result<LaneEnd, LoadError>;

/// The two hot loops of a UDP workload.
pub(super) struct LaneMaker {
    pub sink: FlowWork,
    pub source: FlowWork,
}

/// One end of a UDP workload: `streams` sockets, one thread each.
pub(super) struct UdpEnd {
    job: Job,
    token: Token,
    sinks: Vec<Socket>,
    make: LaneMaker,
}

impl UdpEnd {
    /// Makes the end ready; a sink binds its sockets.
    pub fn prepare(job: &Job, make: LaneMaker) -> Result<Box<dyn Prepared>, LoadError> {
        let token = socket::token(&job.token)?;
        let sinks = match (job.end, job.address) {
            (End::Sink, Some(address)) => (0..job.params.streams)
                .map(|_| socket::receive(address, &job.params))
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        Ok(Box::new(Self { job: job.clone(), token, sinks, make }))
    }
}

impl Prepared for UdpEnd {
    fn ports(&self) -> Vec<u16> {
        self.sinks.iter().map(socket::port).collect()
    }

    fn arm(self: Box<Self>, peer: &[SocketAddr], meter: ThreadMeter) -> Result<Crew, LoadError> {
        let params = &self.job.params;
        let is_sink = self.job.end == End::Sink;
        if !is_sink && peer.len() < params.streams as usize {
            return Err(LoadError::Order("the sink named fewer ports than streams".into()));
        }
        let flows = match is_sink {
            true => self.sinks,
            false => {
                peer.iter().map(|to| socket::send_to(*to, params)).collect::<Result<_, _>>()?
            }
        };
        let message = params.message_bytes.0 as usize;
        let effective = socket::read_back(&flows[0], false, params.message_bytes);
        // One flow's share of the pace.
        let gap_ns = params
            .rate_bps
            .map(|rate| 8e9 * message as f64 * f64::from(params.streams) / rate.max(1) as f64);
        let work = if is_sink { self.make.sink } else { self.make.source };
        let mut lanes: Vec<LaneWork> = Vec::new();
        for flow in &flows {
            let flow = flow.try_clone().map_err(LoadError::system("copying a socket handle"))?;
            let told = Flow { message, token: self.token, gap_ns };
            lanes.push(Box::new(move |lane| work(lane, flow, &told)));
        }
        let cpus = self.job.cpus.clone();
        Crew::muster(CrewPlan { lanes, sockets: flows, effective, cpus, meter })
    }
}

fn send(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let Flow { message, token, gap_ns } = *told;
    let mut buffer = Buffer::new(message)?;
    buffer.touch();
    let bytes = &mut buffer.bytes_mut()[..message];
    bytes[..8].copy_from_slice(&token[..8]);
    let mut sequence: u64 = 0;
    lane.wait_at_gate();
    let began = Instant::now();
    loop {
        if lane.phase() == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        if let Some(gap_ns) = gap_ns
            && !due(began, Duration::from_nanos((gap_ns * sequence as f64) as u64))
        {
            continue;
        }
        bytes[8..HEAD].copy_from_slice(&sequence.to_be_bytes());
        match flow.write(bytes) {
            Ok(n) => {
                lane.tally.moved(1, n as u64);
                sequence += 1;
            }
            Err(error) if socket::is_pause(&error) => {}
            // No buffer in the own host: this datagram never left, and is sent again.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            // The sink is gone or not there yet: an ICMP answer to an earlier datagram.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
    }
}

/// True when `at` has come; else waits a little: asleep when it is far, spinning when near.
fn due(began: Instant, at: Duration) -> bool {
    let left = at.saturating_sub(began.elapsed());
    if left > Duration::from_micros(200) {
        std::thread::sleep((left - Duration::from_micros(100)).min(socket::LOOK_UP));
    }
    left.is_zero()
}

fn receive(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    // Larger than any datagram, so that a longer one than ordered is seen whole.
    let mut buffer = Buffer::new(1 << 16)?;
    buffer.touch();
    lane.wait_at_gate();
    let mut expected: u64 = 0;
    loop {
        if lane.phase() == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        let bytes = buffer.bytes_mut();
        let length = match flow.read(bytes) {
            Ok(length) => length,
            Err(error) if socket::is_pause(&error) => continue,
            Err(error) => return Err(LoadError::system("receiving")(error)),
        };
        let Some(sequence) = sequence(&bytes[..length], &told.token) else { continue };
        if sequence >= expected {
            expected = sequence.saturating_add(1);
            lane.tally.expects(expected);
        } else {
            lane.tally.reordered();
        }
        lane.tally.moved(1, length as u64);
    }
}

/// The sequence number of a datagram of this trial; `None` for a stranger's.
pub(super) fn sequence(datagram: &[u8], token: &Token) -> Option<u64> {
    let rest = datagram.strip_prefix(&token[..8])?;
    Some(u64::from_be_bytes(*rest.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_datagram_has_no_sequence() {
        let token = [7; 16];
        let mut own = vec![7u8; 8];
        own.extend(42u64.to_be_bytes());
        assert_eq!(sequence(&own, &token), Some(42));
        assert_eq!(sequence(&own[..15], &token), None);
        own[0] = 0;
        assert_eq!(sequence(&own, &token), None);
        assert_eq!(sequence(&[], &token), None);
    }
}
