//! When the next message is due.

use super::clock::thread_ns;
use super::socket::LOOK_UP;
use super::{Lane, Phase};
use narrows_model::load::Params;
use narrows_model::options::packets::BURST;
use std::time::{Duration, Instant};

/// Farther than this it sleeps; nearer it spins, since waking takes a good part of it.
const SPIN_WITHIN: Duration = Duration::from_micros(200);

/// Between two bursts: a queue that holds less than this is empty again.
const REST: Duration = Duration::from_millis(200);

/// A schedule of one flow, or none.
pub struct Pace {
    began: Instant,
    gap_ns: Option<f64>,
    sent: u64,
    /// How much of lost time is made up for; `None` for all of it.
    makes_up: Option<Duration>,
    /// Messages that go back to back before a rest.
    burst: Option<u64>,
}

impl Pace {
    /// Requests at a rate over all flows, those of this flow between those of the others.
    pub fn of_requests(params: &Params, flow: u32) -> Self {
        let rate = params.trip.as_ref().and_then(|trip| trip.per_second);
        let each_ns = rate.map(|rate| 1e9 / rate.max(1) as f64);
        let own = Duration::from_nanos((each_ns.unwrap_or(0.0) * f64::from(flow)) as u64);
        let gap_ns = each_ns.map(|each| each * f64::from(params.streams));
        Self { began: Instant::now() + own, gap_ns, sent: 0, makes_up: None, burst: None }
    }

    /// Messages at a rate in bits over the flows of one direction.
    pub fn of_bits(params: &Params) -> Self {
        let bits = 8.0 * params.message_bytes.0 as f64 * f64::from(params.streams);
        let gap_ns = params.rate_bps.map(|rate| 1e9 * bits / rate.max(1) as f64);
        let burst = BURST.of(params).map(u64::from);
        Self { began: Instant::now(), gap_ns, sent: 0, makes_up: None, burst }
    }

    /// The same, of a sender that lets go what it is more than so far behind: after it was held up
    /// it would else be above its rate in the window that follows.
    #[must_use]
    pub fn making_up(self, most: Duration) -> Self {
        Self { makes_up: Some(most), ..self }
    }

    /// Waits until the next message is due; when that was, or is now where there is no schedule.
    /// `None` when the run is over.
    pub fn due(&mut self, lane: &mut Lane) -> Option<Instant> {
        let Some(gap_ns) = self.gap_ns else {
            if let Some(burst) = self.burst {
                let between = self.sent.is_multiple_of(burst);
                self.sent += 1;
                let due = if between { Instant::now() + REST } else { Instant::now() };
                return self.wait(due, lane).then_some(due);
            }
            return (lane.phase() != Phase::Stop).then(Instant::now);
        };
        let due = self.next(gap_ns, Instant::now());
        self.wait(due, lane).then_some(due)
    }

    /// When the next message is due, and at the earliest so long ago as is made up for.
    fn next(&mut self, gap_ns: f64, now: Instant) -> Instant {
        let due = self.began + Duration::from_nanos((gap_ns * self.sent as f64) as u64);
        let behind = now.saturating_duration_since(due);
        let lost = self.makes_up.map_or(Duration::ZERO, |most| behind.saturating_sub(most));
        self.began += lost;
        self.sent += 1;
        due + lost
    }

    /// How many messages may go at once with the one that is due, itself among them: what is left
    /// of its burst.
    pub fn at_once(&self) -> usize {
        self.burst.map_or(usize::MAX, |burst| {
            let within = self.sent.saturating_sub(1) % burst;
            usize::try_from(burst - within).unwrap_or(usize::MAX)
        })
    }

    /// Takes back the last message: it is sent again.
    pub fn again(&mut self, messages: u64) {
        self.sent = self.sent.saturating_sub(messages);
    }

    /// Counts more messages that went with the last one.
    pub fn more(&mut self, messages: u64) {
        self.sent += messages;
    }

    /// What waiting takes of the CPU is told apart from the work.
    fn wait(&self, due: Instant, lane: &mut Lane) -> bool {
        if due <= Instant::now() {
            return lane.phase() != Phase::Stop;
        }
        let before = thread_ns();
        let ready = Self::wait_until(due, lane);
        if let Some((before, after)) = before.zip(thread_ns()) {
            lane.paced(after.saturating_sub(before));
        }
        ready
    }

    fn wait_until(due: Instant, lane: &mut Lane) -> bool {
        loop {
            if lane.phase() == Phase::Stop {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if left > SPIN_WITHIN {
                std::thread::sleep((left - SPIN_WITHIN / 2).min(LOOK_UP));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::load::TripParams;

    #[test]
    fn a_pace_in_bits_is_shared_by_the_flows() {
        let of = |rate_bps, streams| {
            let params = Params { rate_bps, ..Params::of_network(Bytes(1000), streams) };
            Pace::of_bits(&params).gap_ns
        };
        // 8000 bits at 8 Mb/s are a millisecond; each of four flows has a quarter of the rate.
        assert_eq!(of(Some(8_000_000), 1), Some(1e6));
        assert_eq!(of(Some(8_000_000), 4), Some(4e6));
        assert_eq!(of(None, 4), None);
    }

    #[test]
    fn requests_of_several_flows_take_turns() {
        let of = |per_second, flow| {
            let trip = Some(TripParams { response_bytes: None, per_second });
            let params = Params { trip, ..Params::of_network(Bytes(1), 4) };
            Pace::of_requests(&params, flow)
        };
        // A thousand a second over four flows: each has one every 4 ms, a millisecond apart.
        let (now, first, third) = (Instant::now(), of(Some(1000), 0), of(Some(1000), 2));
        assert_eq!((first.gap_ns, third.gap_ns), (Some(4e6), Some(4e6)));
        let later = third.began.saturating_duration_since(now);
        assert!(later >= Duration::from_millis(2), "{later:?}");
        assert!(third.began - first.began < Duration::from_millis(2) + now.elapsed());
        assert_eq!(of(None, 3).gap_ns, None);
    }

    #[test]
    fn a_schedule_that_was_held_up_is_made_up_for_as_far_as_it_says() {
        let ms = Duration::from_millis;
        let now = Instant::now() + Duration::from_secs(1);
        let pace = |most| Pace {
            began: now - ms(100),
            gap_ns: Some(1e6),
            sent: 0,
            makes_up: most,
            burst: None,
        };
        let mut all = pace(None);
        assert_eq!([0; 2].map(|_| now - all.next(1e6, now)), [ms(100), ms(99)]);
        let mut some = pace(Some(ms(5)));
        assert_eq!([0; 3].map(|_| now - some.next(1e6, now)), [ms(5), ms(4), ms(3)]);
        // One that is ahead waits, as it would have.
        let mut ahead = Pace { began: now + ms(2), ..pace(Some(ms(5))) };
        assert_eq!(ahead.next(1e6, now) - now, ms(2));
    }

    #[test]
    fn what_is_sent_again_or_with_another_is_counted_so() {
        let mut pace =
            Pace { began: Instant::now(), gap_ns: Some(1.0), sent: 5, makes_up: None, burst: None };
        pace.more(3);
        assert_eq!(pace.sent, 8);
        pace.again(2);
        assert_eq!(pace.sent, 6);
        pace.again(10);
        assert_eq!(pace.sent, 0);
    }

    #[test]
    fn what_is_left_of_a_burst_may_go_at_once() {
        let mut pace =
            Pace { began: Instant::now(), gap_ns: None, sent: 1, makes_up: None, burst: Some(5) };
        assert_eq!(pace.at_once(), 5);
        pace.more(2);
        // Three are gone, and the fourth is due.
        pace.more(1);
        assert_eq!(pace.at_once(), 2);
        pace.more(1);
        // The last of them, then the first of the next.
        assert_eq!(pace.at_once(), 1);
        pace.more(1);
        assert_eq!(pace.at_once(), 5);
        assert_eq!(Pace { burst: None, ..pace }.at_once(), usize::MAX);
    }

    #[test]
    fn a_rate_is_in_bits_and_a_request_in_seconds() {
        let now = Instant::now();
        // 1500 B are 12,000 bits: at 12 Mb/s a thousand a second.
        let params = Params { rate_bps: Some(12_000_000), ..Params::of_network(Bytes(1500), 1) };
        let mut pace = Pace::of_bits(&params);
        pace.began = now;
        let due: Vec<Duration> =
            [0; 4].map(|_| pace.next(pace.gap_ns.expect("a pace"), now) - now).into();
        assert_eq!(due, [0, 1, 2, 3].map(Duration::from_millis));
        let mut kept = pace.making_up(Duration::from_millis(7));
        assert_eq!((kept.makes_up, kept.sent), (Some(Duration::from_millis(7)), 4));
        kept.more(6);
        assert_eq!(kept.next(1e6, now) - now, Duration::from_millis(10));
        let mut told = Params::of_network(Bytes(1), 1);
        told.told.tell(&BURST, 9);
        assert_eq!((Pace::of_bits(&told).burst, Pace::of_bits(&told).at_once()), (Some(9), 9));
    }
}
