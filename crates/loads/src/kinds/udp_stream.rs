//! `udp-stream`: each flow sends datagrams of one size, at a pace or as fast as it goes. Bytes
//! counted: payload that the sink received; what was sent is not received.
//!
//! How datagrams are handed over and taken is a choice ([`crate::udp`]); without one it is a call
//! each. A datagram opens with eight bytes of the trial's token and a 64-bit sequence number,
//! big-endian; where a pace is given and there is room, the time it was sent follows. Loss is what
//! the sink misses between the sequence numbers at the two ends of its own window, so datagrams in
//! flight at the edges are no loss; one that comes twice counts once.

use crate::harness::buffer::Buffer;
use crate::harness::ends::{Flow, LaneMaker, UdpEnd};
use crate::harness::meet::Token;
use crate::harness::pace::Pace;
use crate::harness::payload::{Checker, pattern};
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::udp::arrivals::{Arrival, Arrivals};
use crate::udp::{receivers, senders};
use crate::{Kind, LoadError};
use narrows_facts::load::Job;
use socket2::Socket;
use std::io::ErrorKind;
use std::time::{SystemTime, UNIX_EPOCH};

pub static KIND: Kind = Kind {
    name: "udp-stream",
    says: "UDP throughput and loss; counts payload bytes the sink received",
    network: true,
    message_bytes_min: HEAD as u64,
    prepare: |job| UdpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    sink: receive,
    source: send,
    one_sided: false,
    engines: |job| {
        let stream = job.params.stream.clone().unwrap_or_default();
        let sender = senders::named(stream.sender.as_deref()).map_or("", |sender| sender.name);
        let receiver = receivers::named(stream.receiver.as_deref());
        (sender, receiver.map_or("", |receiver| receiver.name))
    },
};

/// Token and sequence number.
pub(super) const HEAD: usize = 16;
/// With the time it was sent.
const TIMED_HEAD: usize = 24;

/// Whether datagrams carry the time they were sent: a clock is read for each.
fn timed(job: &Job) -> bool {
    job.iperf3.is_none()
        && job.params.rate_bps.is_some()
        && job.params.message_bytes.0 >= TIMED_HEAD as u64
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The head of an iperf3 datagram: seconds, microseconds, and a number from 1.
fn iperf3_head(datagram: &mut [u8], number: u64) {
    let now = now_ns();
    datagram[..4].copy_from_slice(&((now / 1_000_000_000) as u32).to_be_bytes());
    datagram[4..8].copy_from_slice(&((now % 1_000_000_000 / 1000) as u32).to_be_bytes());
    datagram[8..HEAD].copy_from_slice(&(number + 1).to_be_bytes());
}

/// The number of an iperf3 datagram, from 0.
fn iperf3_sequence(datagram: &[u8]) -> Option<u64> {
    u64::from_be_bytes(datagram.get(8..HEAD)?.try_into().ok()?).checked_sub(1)
}

/// A batch of datagrams, one after the other, all with the same payload.
struct Batch {
    buffer: Buffer,
    message: usize,
    timed: bool,
    iperf3: bool,
}

impl Batch {
    fn new(told: &Flow, count: usize) -> Result<Self, LoadError> {
        let message = told.message();
        let mut buffer = pattern(count * message, told.job.node)?;
        let (first, rest) = buffer.bytes_mut().split_at_mut(message);
        first[..8].copy_from_slice(&told.token[..8]);
        rest.chunks_exact_mut(message).for_each(|datagram| datagram.copy_from_slice(first));
        let iperf3 = told.job.iperf3.is_some();
        Ok(Self { buffer, message, timed: timed(&told.job), iperf3 })
    }

    /// `count` datagrams from this sequence number on.
    fn numbered(&mut self, sequence: u64, count: usize) -> &[u8] {
        let datagrams = self.buffer.bytes_mut().chunks_exact_mut(self.message).take(count);
        for (datagram, number) in datagrams.zip(sequence..) {
            if self.iperf3 {
                iperf3_head(datagram, number);
                continue;
            }
            datagram[8..HEAD].copy_from_slice(&number.to_be_bytes());
            if self.timed {
                datagram[HEAD..TIMED_HEAD].copy_from_slice(&now_ns().to_be_bytes());
            }
        }
        &self.buffer.bytes()[..count * self.message]
    }
}

fn send(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let kind = senders::named(told.stream().sender.as_deref())?;
    let message = told.message();
    let mut sender = (kind.make)(&flow, message)?;
    let count = (kind.batch)(message);
    let mut batch = Batch::new(told, count)?;
    let mut sequence: u64 = 0;
    lane.wait_at_gate();
    let mut pace = Pace::of_bits(&told.job.params);
    while pace.due(lane).is_some() {
        lane.tally.called();
        match sender.send(&flow, batch.numbered(sequence, count), message) {
            Ok(sent) => {
                lane.tally.moved(sent as u64, (sent * message) as u64);
                sequence += sent as u64;
                pace.more((sent as u64).saturating_sub(1));
                continue;
            }
            Err(error) if socket::is_pause(&error) => {}
            // No buffer in the own host: these never left, and are sent again.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            // The sink is gone or not there yet: an ICMP answer to an earlier datagram.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => {
                return Err(LoadError::system(format!("sending ({})", kind.name))(error));
            }
        }
        pace.again(1);
    }
    Ok(LaneEnd::default())
}

fn receive(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let stream = told.stream();
    let kind = receivers::named(stream.receiver.as_deref())?;
    let message = told.message();
    let inward = receivers::In { message, node: told.job.node, spins: told.spins() };
    let mut receiver = (kind.make)(&flow, &inward)?;
    let timed = timed(&told.job);
    let body = if timed { TIMED_HEAD } else { HEAD };
    let mut checker = stream.verify.then(|| Checker::new(message)).transpose()?;
    let mut arrivals = Arrivals::default();
    let tally = lane.tally.clone();
    let mut take = |datagram: &[u8]| {
        let sequence = match told.job.iperf3 {
            Some(_) => iperf3_sequence(datagram),
            None => sequence(datagram, &told.token),
        };
        let Some(sequence) = sequence else { return };
        match arrivals.take(sequence) {
            Arrival::New => tally.expects(arrivals.expected()),
            Arrival::Late => tally.reordered(),
            Arrival::Duplicate => return tally.duplicate(),
        }
        if let (true, Some(sent)) = (timed, datagram[HEAD..].first_chunk()) {
            tally.jitter(arrivals.jitter_ns(u64::from_be_bytes(*sent), now_ns()));
        }
        if let (Some(checker), Some(payload)) = (&mut checker, datagram.get(body..)) {
            checker.see_at(payload, body);
        }
        tally.moved(1, datagram.len() as u64);
    };
    lane.wait_at_gate();
    while lane.phase() != Phase::Stop {
        lane.tally.called();
        match receiver.receive(&flow, &mut take) {
            Ok(()) => {}
            Err(error) if socket::is_pause(&error) => {}
            // The other end has left already: an ICMP answer to a word of ours.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => {
                return Err(LoadError::system(format!("receiving ({})", kind.name))(error));
            }
        }
    }
    let verified_bytes = checker.map(|checker| checker.seen()).transpose()?;
    Ok(LaneEnd { verified_bytes, ..LaneEnd::default() })
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
