//! What responses may have of the rate of an agent's owner.
//!
//! A run that asks in a closed loop fails beyond it: to hold its answers back would be measured as
//! the path's round trip. No more is answered, and the failure is told once the run is over: were
//! it told at once, the other end's, which finds nobody any more, would be heard first. Requests at
//! a rate, which were admitted for that rate, wait: only their bursts are held.

use super::ends::Flow;
use super::socket::LOOK_UP;
use super::{Lane, Phase};
use crate::LoadError;
use std::time::{Duration, Instant};

/// How much of its share a flow may save up, in seconds.
const SAVED_S: f64 = 0.1;
/// It may always save so many responses up: one may come late and the next in time.
const SAVED_RESPONSES: f64 = 2.0;

/// One flow's share of what all responses may have: a bucket of bits that fills at its rate.
pub struct Quota {
    bucket: Option<Bucket>,
    most_bps: u64,
    waits: bool,
    /// A closed loop has asked for more.
    spent: bool,
}

struct Bucket {
    share_bps: f64,
    response_bits: f64,
    bits: f64,
    at: Instant,
}

impl Quota {
    /// That of a flow of this order, beginning now.
    pub fn of(told: &Flow) -> Self {
        let params = &told.job.params;
        let most_bps = told.job.responses_bps;
        let response_bits = 8.0 * params.response_bytes().0 as f64;
        let bucket = most_bps.map(|most_bps| {
            let share_bps = most_bps as f64 / f64::from(params.streams.max(1));
            Bucket::full(share_bps, response_bits, Instant::now())
        });
        let waits = params.trip.as_ref().is_some_and(|trip| trip.per_second.is_some());
        Self { bucket, most_bps: most_bps.unwrap_or(u64::MAX), waits, spent: false }
    }

    /// Takes one response from it before that is sent; false when the run is over.
    pub fn take(&mut self, lane: &mut Lane) -> Result<bool, LoadError> {
        let Some(bucket) = &mut self.bucket else { return Ok(true) };
        loop {
            let short = bucket.take(Instant::now());
            if short.is_zero() && !self.spent {
                return Ok(true);
            }
            self.spent |= !self.waits;
            if lane.phase() == Phase::Stop {
                let most_bps = self.most_bps;
                return if self.spent { Err(LoadError::Responses { most_bps }) } else { Ok(false) };
            }
            std::thread::sleep(if self.spent { LOOK_UP } else { short.min(LOOK_UP) });
        }
    }
}

impl Bucket {
    fn full(share_bps: f64, response_bits: f64, at: Instant) -> Self {
        let mut bucket = Self { share_bps, response_bits, bits: 0.0, at };
        bucket.bits = bucket.most_bits();
        bucket
    }

    fn most_bits(&self) -> f64 {
        (SAVED_S * self.share_bps).max(SAVED_RESPONSES * self.response_bits)
    }

    /// Takes a response, or tells how long it is until there are bits enough for one.
    fn take(&mut self, now: Instant) -> Duration {
        let filled = now.saturating_duration_since(self.at).as_secs_f64() * self.share_bps;
        self.bits = (self.bits + filled).min(self.most_bits());
        self.at = now;
        let short = self.response_bits - self.bits;
        if short > 0.0 {
            return Duration::from_secs_f64(short / self.share_bps.max(1.0));
        }
        self.bits -= self.response_bits;
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_rate_and_what_was_saved_up() {
        let began = Instant::now();
        // A megabit a second in responses of ten kilobits: a hundred a second, ten at once.
        let mut bucket = Bucket::full(1e6, 1e4, began);
        let mut taken = 0;
        for ms in 0..2000 {
            while bucket.take(began + Duration::from_millis(ms)).is_zero() {
                taken += 1;
            }
        }
        assert!((208..=210).contains(&taken), "{taken}");
        // Idleness saves no more than that up.
        let later = began + Duration::from_secs(60);
        let at_once = (0..100).take_while(|_| bucket.take(later).is_zero()).count();
        assert_eq!(at_once, 10);
        let short = bucket.take(later);
        assert!(short > Duration::from_millis(9) && short < Duration::from_millis(11), "{short:?}");
    }
}
