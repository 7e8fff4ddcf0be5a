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
    use crate::harness::payload::Compared;
    use narrows_model::load::{Corruption, Params, Role, Timeline};
    use narrows_model::{Bytes, Nanos};

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

    fn told(message: u64, change: impl FnOnce(&mut Job)) -> Flow {
        let line = Timeline::new(Nanos(1), Nanos(1), Nanos(1));
        let params = Params::of_network(Bytes(message), 1);
        let mut job = Job::new(Workload::UDP_STREAM, Role::Receiver, params, line);
        job.params.rate_bps = Some(1_000_000);
        change(&mut job);
        Flow { job, token: [7; 16], index: 3 }
    }

    #[test]
    fn a_datagram_has_its_token_number_and_time_and_then_the_pattern() {
        let sent = pattern(300, None).expect("a pattern");
        let now = now_ns();
        for (message, is_timed) in [(100, true), (24, true), (23, false)] {
            let flow = told(message as u64, |_| {});
            assert_eq!(timed(&flow.job), is_timed, "{message}");
            let mut batch = Batch::new(&flow, 3).expect("a batch");
            let bytes = batch.numbered(5, 2, IN_WINDOW);
            assert_eq!(bytes.len(), 2 * message);
            for (datagram, number) in bytes.chunks(message).zip(5u64..) {
                assert_eq!(datagram[..8], [7; 8]);
                assert_eq!(datagram[8..16], (1 << 63 | number).to_be_bytes());
                let body = if is_timed { 24 } else { 16 };
                if is_timed {
                    let at = u64::from_be_bytes(*datagram[16..].first_chunk().expect("a time"));
                    assert!((now..now + 3_600_000_000_000).contains(&at), "{at} of {now}");
                }
                assert_eq!(datagram[body..], sent.bytes()[body..message], "{message}");
            }
        }
        // Without a pace no clock is read.
        assert!(!timed(&told(100, |job| job.params.rate_bps = None).job));
    }

    #[test]
    fn an_iperf3_datagram_has_its_time_and_a_number_from_one() {
        let flow = told(100, |job| job.iperf3 = Some("x".into()));
        assert!(!timed(&flow.job));
        let mut batch = Batch::new(&flow, 1).expect("a batch");
        let (before, datagram) = (now_ns(), batch.numbered(41, 1, IN_WINDOW));
        let word = |at: usize| u32::from_be_bytes(*datagram[at..].first_chunk().expect("four"));
        let told_us = u64::from(word(0)) * 1_000_000 + u64::from(word(4));
        assert!(word(4) < 1_000_000 && told_us >= before / 1000, "{told_us} of {before} ns");
        assert!(told_us < before / 1000 + 3_600_000_000);
        assert_eq!(datagram[8..16], 42u64.to_be_bytes());
        assert_eq!(iperf3_sequence(datagram), Some(41));
        assert_eq!(iperf3_sequence(&[0; 16]), None, "numbers begin at one");
        assert_eq!(iperf3_sequence(&[1; 15]), None);
    }

    fn taking(flow: &Flow) -> Taking<'_> {
        Taking {
            told: flow,
            timed: timed(&flow.job),
            arrivals: Arrivals::default(),
            checker: Some(Checker::new(flow.message()).expect("a checker")),
            counted: 0,
            latest: None,
            is_over: false,
        }
    }

    #[test]
    fn what_comes_is_counted_once_by_its_number_and_compared_behind_its_head() {
        let flow = told(100, |_| {});
        let (mut taking, tally) = (taking(&flow), Tally::default());
        let mut batch = Batch::new(&flow, 1).expect("a batch");
        let mut datagram = |number: u64, mark| batch.numbered(number, 1, mark).to_vec();
        // Before the sender's window, in it (2 never comes, 4 late, 5 twice), after it.
        let own = [(0, 0), (1, IN_WINDOW), (3, IN_WINDOW), (5, IN_WINDOW), (4, IN_WINDOW)];
        let own = own.map(|(number, mark)| datagram(number, mark));
        own.iter().for_each(|datagram| taking.take(datagram, &tally));
        taking.take(&datagram(5, IN_WINDOW), &tally);
        taking.take(&datagram(6, 0), &tally);
        let mut stranger = datagram(7, IN_WINDOW);
        stranger[0] ^= 1;
        taking.take(&stranger, &tally);
        assert_eq!((taking.counted, taking.is_over), (4, false));
        let now = tally.now();
        assert_eq!((now.messages, now.bytes), (6, 600));
        assert_eq!((now.reordered, now.duplicates, now.expected), (1, 1, 7));
        assert!(now.jitter_ns > 0);
        let compared = |taking: &Taking<'_>| taking.checker.as_ref().expect("one").compared(3);
        assert_eq!(compared(&taking), Compared { bytes: 6 * 76, corrupted: None });
        let mut wrong = datagram(8, 0);
        wrong[30] ^= 1;
        taking.take(&wrong, &tally);
        let corrupted = Some(Corruption { flow: 3, at_byte: 6 * 76 + 6 });
        assert_eq!(compared(&taking).corrupted, corrupted);
        let mut over = datagram(0, 0);
        over[8..16].copy_from_slice(&OVER.to_be_bytes());
        taking.take(&over, &tally);
        assert!(taking.is_over && tally.now().messages == 7, "it is a word and no datagram");
    }

    #[test]
    fn late_ones_are_waited_for_a_while_and_longer_where_the_end_is_not_known() {
        let flow = told(100, |_| {});
        let mut taking = taking(&flow);
        let ago = |ms| Instant::now() - Duration::from_millis(ms);
        assert_eq!(taking.is_whole(ago(0)), Some(false));
        for (silent_ms, is_over, whole) in
            [(60, true, Some(true)), (60, false, Some(false)), (1100, false, Some(true))]
        {
            (taking.latest, taking.is_over) = (Some(ago(silent_ms)), is_over);
            assert_eq!(taking.is_whole(ago(2000)), whole, "{silent_ms} ms, over: {is_over}");
        }
        taking.latest = Some(ago(0));
        assert_eq!(taking.is_whole(ago(10_500)), None, "it never ends");
    }
}
