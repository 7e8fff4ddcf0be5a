//! What is moved while a run lasts: an end tells it part by part, and the parts of all ends that
//! tell make the rate of a period. Nothing of this is stored: the ends' reports have every slice.

use narrows_control::session::Part;
use narrows_model::Nanos;
use narrows_model::load::Interval;
use narrows_model::trial::Trial;
use std::collections::VecDeque;

/// No end tells oftener: a word costs a wake-up of three processes beside what is measured.
pub const TELL_EVERY_MIN: Nanos = Nanos::from_millis(100);

/// The slices of an end's window, joined to parts of about the same length.
#[derive(Debug)]
pub struct Parts {
    every_ns: u64,
    part: Part,
}

impl Parts {
    /// Parts of so long, to the nearest slice.
    pub fn every(length: Nanos) -> Self {
        Self { every_ns: length.max(TELL_EVERY_MIN).0, part: Part::default() }
    }

    /// Adds the next slice; a part that is whole with it.
    pub fn add(&mut self, slice: &Interval, messages: u64) -> Option<Part> {
        if self.part.length_ns.0 == 0 {
            self.part.start_ns = slice.start_ns;
        }
        let length = self.part.length_ns.0.saturating_add(slice.length_ns.0);
        self.part.length_ns = Nanos(length);
        self.part.bytes = self.part.bytes.saturating_add(slice.bytes.0);
        self.part.messages = self.part.messages.saturating_add(messages);
        // Another slice would bring it further from its length than it is now.
        let is_whole = length.saturating_add(slice.length_ns.0 / 2) >= self.every_ns;
        if is_whole { self.rest() } else { None }
    }

    /// What is left when the window has closed.
    pub fn rest(&mut self) -> Option<Part> {
        let part = std::mem::take(&mut self.part);
        Some(part).filter(|part| part.length_ns.0 > 0)
    }
}

/// What the bytes of a run's periods are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// What arrived, or was completed by a NIC.
    Received,
    /// What was handed to the sender's kernel: nobody at the other end tells.
    Sent,
}

/// A period of a run's window, all its ends together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// From the opening of the window, as the first end has it.
    pub start_ns: Nanos,
    pub end_ns: Nanos,
    pub bytes: u64,
    pub bytes_per_second: f64,
    pub messages_per_second: f64,
}

/// Who is told of a run's periods as they end.
pub trait Onlooker {
    /// How long a period is to be.
    fn every(&self) -> Nanos;
    /// A period of a run of this trial is over.
    fn period(&self, trial: &Trial, counted: Counted, period: &Period);
    /// Nobody tells in a run of this trial.
    fn untold(&self, trial: &Trial);
}

/// Joins the parts of all ends that tell. The windows of two ends open within milliseconds of each
/// other: their n-th parts are taken as of the same time, each with its own length.
#[derive(Debug, Default)]
pub struct Rates {
    ends: Vec<VecDeque<Part>>,
    /// Ends that tell no more.
    closed: Vec<bool>,
}

impl Rates {
    /// Of so many ends.
    pub fn of(ends: usize) -> Self {
        Self { ends: vec![VecDeque::new(); ends], closed: vec![false; ends] }
    }

    /// An end whose window is over has no part in later periods.
    pub fn close(&mut self, end: usize) {
        if let Some(closed) = self.closed.get_mut(end) {
            *closed = true;
        }
    }

    /// Adds a part of an end, unless it is of no time; the period that is whole with it.
    pub fn add(&mut self, end: usize, part: Part) -> Option<Period> {
        if part.length_ns.0 > 0 {
            self.ends.get_mut(end)?.push_back(part);
        }
        let mut waits = self.ends.iter().zip(&self.closed);
        if waits.any(|(parts, closed)| parts.is_empty() && !closed) {
            return None;
        }
        let parts: Vec<Part> = self.ends.iter_mut().filter_map(VecDeque::pop_front).collect();
        let first = parts.first()?;
        let rate = |count: u64, part: &Part| count as f64 / part.length_ns.seconds();
        Some(Period {
            start_ns: first.start_ns,
            end_ns: Nanos(first.start_ns.0.saturating_add(first.length_ns.0)),
            bytes: parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add),
            bytes_per_second: parts.iter().map(|part| rate(part.bytes, part)).sum(),
            messages_per_second: parts.iter().map(|part| rate(part.messages, part)).sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;

    fn slice(start_ms: u64, length_ms: u64, bytes: u64) -> Interval {
        Interval {
            start_ns: Nanos::from_millis(start_ms),
            length_ns: Nanos::from_millis(length_ms),
            bytes: Bytes(bytes),
        }
    }

    fn part(start_ms: u64, length_ms: u64, bytes: u64, messages: u64) -> Part {
        let (start_ns, length_ns) = (Nanos::from_millis(start_ms), Nanos::from_millis(length_ms));
        Part { start_ns, length_ns, bytes, messages }
    }

    #[test]
    fn slices_are_joined_to_the_nearest_of_the_length() {
        let mut parts = Parts::every(Nanos::from_millis(250));
        let told: Vec<Part> =
            (0..6).filter_map(|n| parts.add(&slice(n * 100, 100, 10 + n), 1)).collect();
        // 200 ms are as far from 250 as 300 are, and are told sooner.
        assert_eq!(told, [part(0, 200, 21, 2), part(200, 200, 25, 2), part(400, 200, 29, 2)]);
        assert_eq!(parts.add(&slice(600, 70, 7), 3), None);
        assert_eq!(parts.rest(), Some(part(600, 70, 7, 3)));
        assert_eq!(parts.rest(), None, "each slice is told once");
    }

    #[test]
    fn nothing_is_told_oftener_than_ten_times_a_second() {
        let mut parts = Parts::every(Nanos::from_millis(1));
        let told = (0..1000).filter_map(|n| parts.add(&slice(n, 1, 1), 0)).count();
        assert_eq!(told, 10);
    }

    #[test]
    fn a_period_is_the_sum_of_the_rates_of_its_ends() {
        let mut rates = Rates::of(2);
        assert_eq!(rates.add(0, part(0, 1000, 1_000_000, 10)), None);
        assert_eq!(rates.add(0, part(1000, 500, 3_000_000, 30)), None);
        let first = rates.add(1, part(3, 500, 2_000_000, 5)).expect("both told");
        assert_eq!((first.start_ns, first.end_ns), (Nanos(0), Nanos::from_millis(1000)));
        // 1 MB in a second, and 2 MB in half of one.
        assert_eq!(first.bytes_per_second, 5e6);
        assert_eq!((first.messages_per_second, first.bytes), (20.0, 3_000_000));
        assert_eq!(rates.add(7, part(0, 1, 1, 1)), None, "no such end");
        let second = rates.add(1, part(503, 1000, 4_000_000, 0)).expect("both told");
        assert_eq!((second.bytes_per_second, second.messages_per_second), (10e6, 60.0));
        assert_eq!(second.end_ns, Nanos::from_millis(1500));
    }

    #[test]
    fn an_end_that_closes_early_and_a_part_of_no_time_stop_nothing() {
        let mut rates = Rates::of(2);
        assert_eq!(rates.add(0, part(0, 1000, 1_000_000, 0)), None);
        assert_eq!(rates.add(1, part(0, 0, 5_000_000, 0)), None, "no rate of no time");
        rates.close(1);
        let alone = rates.add(0, part(1000, 1000, 2_000_000, 0)).expect("one end is left");
        assert_eq!((alone.bytes, alone.bytes_per_second), (1_000_000, 1e6));
        let next = rates.add(0, part(2000, 1000, 3_000_000, 0)).expect("one end is left");
        assert_eq!(next.bytes, 2_000_000);
    }
}
