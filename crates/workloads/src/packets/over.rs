//! What senders and receivers of packets share: how the end of a run is said, how packets of a flow
//! are counted, and how far apart they are.

use super::stamp::{self, Stamp, now_ns};
use crate::LoadError;
use crate::harness::delays::Delays;
use crate::harness::ends::Flow;
use crate::harness::meet::Token;
use crate::harness::{LaneEnd, Phase, Tally};
use crate::udp::arrivals::{Arrival, Arrivals};
use narrows_model::load::{IpVersion, Stretch, StretchOf};
use narrows_model::options::packets::frames_bytes;
use narrows_model::{Bytes, packets};
use socket2::Socket;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// In place of a stamp: the sender is over. It opens with the other half of the token.
const OVER: u64 = u64::MAX;
/// Bytes of that word: less than any packet's payload.
pub const OVER_BYTES: usize = 16;
/// How much of a schedule that was held up is made up for at once: a sender that was kept from its
/// CPU for longer lets the rest go, or it would send above its rate in the window that follows. Of
/// a window of a second that is half a per cent.
pub const CATCH_UP: Duration = Duration::from_millis(5);
/// How often it is said, since each may be lost.
const OVER_SAID: usize = 5;
/// How long a receiver waits for late packets once it knows that the sender is over.
const LATE: Duration = Duration::from_millis(50);
/// The same where it does not know.
const QUIET: Duration = Duration::from_millis(1000);
/// After this it counts no longer, whatever still comes: nothing is then known of the last ones.
const LINGER_MAX: Duration = Duration::from_secs(10);

fn over_word(token: &Token) -> [u8; OVER_BYTES] {
    let mut word = [0; OVER_BYTES];
    word[..8].copy_from_slice(&token[8..]);
    word[8..].copy_from_slice(&OVER.to_be_bytes());
    word
}

/// Tells the other end that nothing more will be sent.
pub fn say_over(flow: &Socket, token: &Token) {
    for _ in 0..OVER_SAID {
        // The other end may have left, or the own host have no room: it then waits a while longer.
        let _ = flow.send(&over_word(token));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the word that the sender is over has come to a socket whose packets are counted
/// elsewhere; does not wait.
pub fn hears_over(flow: &Socket, token: &Token) -> bool {
    let mut heard = [std::mem::MaybeUninit::uninit(); OVER_BYTES];
    while let Ok(length) = flow.recv_with_flags(&mut heard, libc::MSG_DONTWAIT) {
        // SAFETY: the kernel has written the first `length` bytes.
        let word = unsafe { &*(&raw const heard[..length] as *const [u8]) };
        if word == over_word(token) {
            return true;
        }
    }
    false
}

/// Bytes of UDP's payload in a flow's frames, in turn by their number.
pub fn payloads_bytes(told: &Flow, flow: &Socket) -> Result<Vec<usize>, LoadError> {
    let own = flow.local_addr().ok().and_then(|at| at.as_socket()).map(|at| at.ip());
    let ip = match own.map(|own| own.to_canonical()) {
        Some(IpAddr::V6(_)) => IpVersion::V6,
        _ => IpVersion::V4,
    };
    let frames = frames_bytes(&told.job.params);
    let each = frames.into_iter().map(|frame| {
        let bytes = packets::payload_bytes(Bytes(frame), ip.header_bytes());
        let room = bytes.map(|bytes| bytes.0 as usize);
        room.ok_or_else(|| {
            LoadError::Order(format!("a frame of {frame} B has no room for IPv6, UDP and a stamp"))
        })
    });
    each.collect()
}

/// The longest of a flow's frames, without its check sequence.
pub fn longest_bytes(told: &Flow) -> usize {
    let longest = frames_bytes(&told.job.params).into_iter().max().unwrap_or(0);
    longest.saturating_sub(packets::FCS_BYTES) as usize
}

/// Nanoseconds between two of a flow's packets at the rate that was asked for, of all flows of a
/// direction together; 0 as fast as it goes.
pub fn gap_ns(told: &Flow) -> f64 {
    let params = &told.job.params;
    let bits = 8.0 * params.message_bytes.0 as f64 * f64::from(params.streams);
    params.rate_bps.map_or(0.0, |rate| 1e9 * bits / rate.max(1) as f64)
}

/// What a sender hands back.
pub fn sender_end(in_window: u64) -> LaneEnd {
    let stretch = Stretch { of: StretchOf::SenderWindow, datagrams: in_window };
    LaneEnd { stretch: Some(stretch), ..LaneEnd::default() }
}

/// What a receiver hands back; without a count where more was still coming.
pub fn receiver_end(in_window: Option<u64>, delays: Vec<u64>) -> LaneEnd {
    let of = StretchOf::SenderWindow;
    let stretch = in_window.map(|datagrams| Stretch { of, datagrams });
    LaneEnd { stretch, delays: Some(delays), ..LaneEnd::default() }
}

/// Until when a receiver whose threads are to stop still counts.
#[derive(Default)]
pub struct Lingering {
    stopped: Option<Instant>,
    latest: Option<Instant>,
    is_over: bool,
}

impl Lingering {
    /// The sender has said that it is over.
    pub fn over(&mut self) {
        self.is_over = true;
    }

    /// A packet came.
    pub fn came(&mut self) {
        if self.stopped.is_some() {
            self.latest = Some(Instant::now());
        }
    }

    /// Whether a receiver that is in this phase has all that will come, and ends; `None` while it
    /// goes on.
    pub fn ends(&mut self, phase: Phase) -> Option<bool> {
        if phase != Phase::Stop {
            return None;
        }
        let now = Instant::now();
        let stopped = *self.stopped.get_or_insert(now);
        let latest = *self.latest.get_or_insert(stopped);
        self.ended(now - stopped, now - latest)
    }

    /// The same, so long after the threads were to stop and after the last packet.
    fn ended(&self, stopped: Duration, quiet: Duration) -> Option<bool> {
        let enough = if self.is_over { LATE } else { QUIET };
        if quiet > enough { Some(true) } else { (stopped >= LINGER_MAX).then_some(false) }
    }
}

/// What a receiver in this process knows of one thread's flows.
pub struct Taking {
    mark: [u8; 4],
    over: [u8; OVER_BYTES],
    arrivals: Vec<Arrivals>,
    expected: u64,
    /// Packets of the sender's window, each once.
    pub in_window: u64,
    /// Their times since they were sent.
    pub delays: Delays,
    /// Until when it counts.
    pub lingering: Lingering,
}

impl Taking {
    /// For so many flows of a trial.
    pub fn new(token: &Token, flows: usize) -> Self {
        Self {
            mark: stamp::mark(token),
            over: over_word(token),
            arrivals: (0..flows).map(|_| Arrivals::default()).collect(),
            expected: 0,
            in_window: 0,
            delays: Delays::default(),
            lingering: Lingering::default(),
        }
    }

    /// Takes what UDP carried in one packet of a flow; strangers' are left alone.
    pub fn take(&mut self, flow: usize, payload: &[u8], tally: &Tally) {
        if payload == self.over {
            return self.lingering.over();
        }
        let Some(stamp) = Stamp::read(self.mark, payload) else { return };
        let Some(arrivals) = self.arrivals.get_mut(flow) else { return };
        self.lingering.came();
        let before = arrivals.expected();
        match arrivals.take(stamp.number) {
            Arrival::Duplicate => return tally.duplicate(),
            Arrival::Late => tally.reordered(),
            Arrival::New => {}
        }
        self.expected = self.expected.saturating_add(arrivals.expected() - before);
        tally.expects(self.expected);
        if stamp.is_in_window {
            self.in_window += 1;
            if let Some(delay_ns) = now_ns().checked_sub(stamp.sent_ns) {
                self.delays.count(delay_ns);
            }
        }
        tally.moved(1, payload.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    #[test]
    fn a_receiver_ends_when_all_is_quiet_or_it_has_taken_too_long() {
        let ms = Duration::from_millis;
        let ended = |is_over: bool, stopped: u64, quiet: u64| {
            Lingering { is_over, ..Lingering::default() }.ended(ms(stopped), ms(quiet))
        };
        // It does not know that the sender is over, or knows.
        assert_eq!(
            [0, 1000, 1001].map(|quiet| ended(false, 2000, quiet)),
            [None, None, Some(true)]
        );
        assert_eq!([0, 50, 51].map(|quiet| ended(true, 2000, quiet)), [None, None, Some(true)]);
        assert_eq!([9_999, 10_000].map(|stopped| ended(true, stopped, 9)), [None, Some(false)]);
        assert_eq!(ended(false, 20_000, 1001), Some(true));
        let mut lingering = Lingering { is_over: true, ..Lingering::default() };
        for phase in [Phase::Warmup, Phase::Window, Phase::Cooldown] {
            assert_eq!(lingering.ends(phase), None);
            lingering.came();
        }
        assert!(lingering.stopped.is_none() && lingering.latest.is_none());
        assert_eq!(lingering.ends(Phase::Stop), None, "what is on its way may come");
        let long_ago = Instant::now().checked_sub(ms(60)).expect("a time");
        (lingering.stopped, lingering.latest) = (Some(long_ago), Some(long_ago));
        lingering.came();
        assert_eq!(lingering.ends(Phase::Stop), None, "something came since");
        lingering.latest = Some(long_ago);
        assert_eq!(lingering.ends(Phase::Stop), Some(true));
    }

    #[test]
    fn the_word_that_a_sender_is_over_is_of_its_trial() {
        let (near, far) =
            Socket::pair(socket2::Domain::UNIX, socket2::Type::DGRAM, None).expect("two");
        let hears = |token: u8| hears_over(&far, &[token; 16]);
        assert!(!hears(7), "nothing was said");
        say_over(&near, &[7; 16]);
        assert!(hears(7) && hears(7));
        assert!(!hears(8), "of another trial");
        near.send(b"another datagram").expect("sent");
        assert!(!hears(7), "the rest was of no use");
        say_over(&near, &[7; 16]);
        let mut seen = 0;
        while hears(7) {
            seen += 1;
        }
        assert_eq!(seen, OVER_SAID);
    }

    #[test]
    fn packets_leave_as_far_apart_as_the_rate_of_all_flows_asks() {
        let gap = |bytes: u64, streams: u32, rate_bps: Option<u64>| {
            let params = narrows_model::load::Params {
                rate_bps,
                ..narrows_model::load::Params::of_network(Bytes(bytes), streams)
            };
            let line = narrows_model::load::Timeline::new(Nanos(0), Nanos(1), Nanos(0));
            let end = narrows_model::load::Role::Sender;
            let job = narrows_model::load::Job::new("udp-stream".into(), end, params, line);
            gap_ns(&Flow { job, token: [0; 16], index: 0 })
        };
        assert_eq!(gap(1000, 1, Some(8_000_000)), 1e6);
        assert_eq!(gap(1000, 4, Some(8_000_000)), 4e6);
        assert_eq!((gap(1000, 4, None), gap(1, 1, Some(0))), (0.0, 8e9));
        assert_eq!(sender_end(7).stretch.map(|stretch| stretch.datagrams), Some(7));
        let [whole, cut] = [Some(8), None].map(|count| receiver_end(count, vec![1, 2]));
        assert_eq!(whole.stretch.map(|stretch| stretch.datagrams), Some(8));
        assert_eq!((cut.stretch.is_none(), cut.delays), (true, Some(vec![1, 2])));
    }

    #[test]
    fn a_flow_s_packets_are_counted_once_each_and_in_order() {
        let (token, tally) = ([7; 16], Tally::default());
        let mut taking = Taking::new(&token, 2);
        let mut packet = |flow: usize, number: u64, is_in_window: bool| {
            let mut payload = [0; 18];
            Stamp { number, is_in_window, sent_ns: 0 }.write([7; 4], &mut payload);
            taking.take(flow, &payload, &tally);
        };
        for number in [0, 1, 3, 2, 2] {
            packet(0, number, true);
        }
        packet(1, 0, false);
        // There is no third flow.
        packet(2, 0, true);
        taking.take(0, &[0; 18], &tally);
        assert_eq!(taking.in_window, 4, "each once, and those of the window alone");
        assert_eq!(taking.delays.filled().iter().map(|(_, count)| count).sum::<u64>(), 4);
        taking.take(0, &over_word(&token), &tally);
        assert!(taking.lingering.is_over);
    }
}
