//! `udp-stream`: each flow sends datagrams of one size, at a pace or as fast as it goes. Bytes
//! counted: payload that the receiver took; what was sent is not received.
//!
//! How datagrams are handed over and taken is a choice ([`crate::udp`]); without one it is a call
//! each. A datagram opens with eight bytes of the trial's token and a 64-bit sequence number,
//! big-endian; where a pace is given and there is room, the time it was sent follows. Those that
//! are sent in the sender's window say so in the number's highest bit, and both ends count them:
//! the sender those that its kernel took, the receiver each that came once, until the sender has
//! said that it is over or nothing more comes. What is missing is lost, the last ones too.

use crate::harness::buffer::Buffer;
use crate::harness::ends::{Flow, LaneMaker, UdpEnd};
use crate::harness::meet::Token;
use crate::harness::pace::Pace;
use crate::harness::payload::{Checker, pattern};
use crate::harness::{Lane, LaneEnd, Phase, Tally, socket};
use crate::udp::arrivals::{Arrival, Arrivals};
use crate::udp::{receivers, senders};
use crate::{Kind, LoadError};
use narrows_model::load::{Job, Stretch, StretchOf};
use narrows_model::workload::Workload;
use socket2::Socket;
use std::io::ErrorKind;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub static KIND: Kind = Kind {
    workload: Workload::UDP_STREAM,
    says: "UDP throughput and loss; counts payload bytes that the receiver took",
    prepare: |job| UdpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: receive,
    sender: send,
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

/// Set in the number of a datagram that was sent in the sender's window.
const IN_WINDOW: u64 = 1 << 63;
/// In place of a number: the sender is over.
const OVER: u64 = u64::MAX;
/// How often that is said, since each may be lost.
const OVER_SAID: usize = 5;
/// How long the receiver waits for late datagrams once it knows that the sender is over.
const LATE: Duration = Duration::from_millis(50);
/// The same where it does not know.
const QUIET: Duration = Duration::from_millis(1000);
/// After this it counts no longer, whatever still comes: nothing is then known of the last ones.
const LINGER_MAX: Duration = Duration::from_secs(10);

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
    fn numbered(&mut self, sequence: u64, count: usize, mark: u64) -> &[u8] {
        let datagrams = self.buffer.bytes_mut().chunks_exact_mut(self.message).take(count);
        for (datagram, number) in datagrams.zip(sequence..) {
            if self.iperf3 {
                iperf3_head(datagram, number);
                continue;
            }
            datagram[8..HEAD].copy_from_slice(&(number | mark).to_be_bytes());
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
    let mut in_window = 0;
    lane.wait_at_gate();
    let mut pace = Pace::of_bits(&told.job.params);
    while pace.due(lane).is_some() {
        lane.tally.called();
        let mark = if lane.is_in_window() { IN_WINDOW } else { 0 };
        match sender.send(&flow, batch.numbered(sequence, count, mark), message) {
            Ok(sent) => {
                lane.tally.moved(sent as u64, (sent * message) as u64);
                sequence += sent as u64;
                in_window += if mark == 0 { 0 } else { sent as u64 };
                pace.more((sent as u64).saturating_sub(1));
                continue;
            }
            Err(error) if socket::is_pause(&error) => {}
            // No buffer in the own host: these never left, and are sent again.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            // The receiver is gone or not there yet: an ICMP answer to an earlier datagram.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => {
                return Err(LoadError::system(format!("sending ({})", kind.name))(error));
            }
        }
        pace.again(1);
    }
    // An iperf3 server counts all that comes, and knows no word of ours.
    let stretch = match told.job.iperf3 {
        Some(_) => Stretch { of: StretchOf::WholeRun, datagrams: sequence },
        None => {
            say_over(&flow, told);
            Stretch { of: StretchOf::SenderWindow, datagrams: in_window }
        }
    };
    Ok(LaneEnd { stretch: Some(stretch), ..LaneEnd::default() })
}

/// Tells the other end that nothing more will be sent.
fn say_over(flow: &Socket, told: &Flow) {
    let mut word = [0; HEAD];
    word[..8].copy_from_slice(&told.token[..8]);
    word[8..].copy_from_slice(&OVER.to_be_bytes());
    for _ in 0..OVER_SAID {
        // The other end may have left, or the own host have no room: it then waits a while longer.
        let _ = flow.send(&word);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What one flow's receiver knows.
struct Taking<'a> {
    told: &'a Flow,
    timed: bool,
    arrivals: Arrivals,
    checker: Option<Checker>,
    /// Datagrams of the stretch that both ends count, each once.
    counted: u64,
    /// When the last of this trial came, since the threads were to stop.
    latest: Option<Instant>,
    /// Whether the sender has said that it is over.
    is_over: bool,
}

impl Taking<'_> {
    /// Takes a datagram; strangers' are left alone.
    fn take(&mut self, datagram: &[u8], tally: &Tally) {
        let ours = self.told.job.iperf3.is_none();
        let number =
            if ours { sequence(datagram, &self.told.token) } else { iperf3_sequence(datagram) };
        let Some(number) = number else { return };
        if ours && number == OVER {
            self.is_over = true;
            return;
        }
        self.latest = self.latest.map(|_| Instant::now());
        let (mark, number) =
            if ours { (number & IN_WINDOW, number & !IN_WINDOW) } else { (1, number) };
        let arrival = self.arrivals.take(number);
        if arrival == Arrival::Duplicate {
            return tally.duplicate();
        }
        self.counted += u64::from(mark != 0);
        match arrival {
            Arrival::Late => tally.reordered(),
            _ => tally.expects(self.arrivals.expected()),
        }
        if let (true, Some(sent)) = (self.timed, datagram[HEAD..].first_chunk()) {
            tally.jitter(self.arrivals.jitter_ns(u64::from_be_bytes(*sent), now_ns()));
        }
        let body = if self.timed { TIMED_HEAD } else { HEAD };
        if let (Some(checker), Some(payload)) = (&mut self.checker, datagram.get(body..)) {
            checker.see_at(payload, body);
        }
        tally.moved(1, datagram.len() as u64);
    }

    /// Whether nothing more is to be waited for; `None` once it has taken too long.
    fn is_whole(&mut self, stopped: Instant) -> Option<bool> {
        let latest = *self.latest.get_or_insert(stopped);
        let quiet = if self.is_over { LATE } else { QUIET };
        if latest.elapsed() > quiet {
            Some(true)
        } else {
            (stopped.elapsed() < LINGER_MAX).then_some(false)
        }
    }
}

fn receive(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let stream = told.stream();
    let kind = receivers::named(stream.receiver.as_deref())?;
    let message = told.message();
    let inward = receivers::In { message, node: told.job.node, spins: told.spins() };
    let mut receiver = (kind.make)(&flow, &inward)?;
    let mut taking = Taking {
        told,
        timed: timed(&told.job),
        arrivals: Arrivals::default(),
        checker: stream.verify.then(|| Checker::new(message)).transpose()?,
        counted: 0,
        latest: None,
        is_over: false,
    };
    let tally = lane.tally.clone();
    lane.wait_at_gate();
    let mut stopped = None;
    // The end that sends stops a moment later, and what is on its way then counts.
    let is_whole = loop {
        if lane.phase() == Phase::Stop {
            match taking.is_whole(*stopped.get_or_insert_with(Instant::now)) {
                Some(false) => {}
                whole => break whole.is_some(),
            }
        }
        lane.tally.called();
        match receiver.receive(&flow, &mut |datagram| taking.take(datagram, &tally)) {
            Ok(()) => {}
            Err(error) if socket::is_pause(&error) => {}
            // The other end has left already: an ICMP answer to a word of ours.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => {
                return Err(LoadError::system(format!("receiving ({})", kind.name))(error));
            }
        }
    };
    let of = match told.job.iperf3 {
        Some(_) => StretchOf::WholeRun,
        None => StretchOf::SenderWindow,
    };
    let stretch = is_whole.then_some(Stretch { of, datagrams: taking.counted });
    let compared = taking.checker.map(|checker| checker.compared(told.index));
    Ok(LaneEnd { compared, stretch, ..LaneEnd::default() })
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
