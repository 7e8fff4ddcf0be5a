//! What the sequence numbers of arriving datagrams say: new, late or seen before; and jitter.

/// Sequence numbers behind the newest that are remembered.
const REMEMBERED: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Newer than all before it.
    New,
    /// Older than one that came before it.
    Late,
    Duplicate,
}

/// The datagrams of one flow so far.
pub struct Arrivals {
    expected: u64,
    seen: [u64; (REMEMBERED / 64) as usize],
    transit_ns: Option<i128>,
    jitter_ns: f64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { expected: 0, seen: [0; _], transit_ns: None, jitter_ns: 0.0 }
    }
}

impl Arrivals {
    /// Takes the next datagram's number. One that is older than what is remembered counts as late.
    #[inline]
    pub fn take(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.expected {
            self.forget(self.expected, sequence);
            self.expected = sequence.saturating_add(1);
            self.mark(sequence);
            return Arrival::New;
        }
        if self.expected - sequence > REMEMBERED {
            return Arrival::Late;
        }
        if self.mark(sequence) { Arrival::Duplicate } else { Arrival::Late }
    }

    /// The number after the newest.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Notes a number; whether it was noted before.
    fn mark(&mut self, sequence: u64) -> bool {
        let (word, bit) = ((sequence % REMEMBERED / 64) as usize, 1 << (sequence % 64));
        let was = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        was
    }

    /// Forgets what was at the places of the numbers from `first` to `last`.
    fn forget(&mut self, first: u64, last: u64) {
        if last - first >= REMEMBERED {
            self.seen = [0; _];
            return;
        }
        for sequence in first..=last {
            self.seen[(sequence % REMEMBERED / 64) as usize] &= !(1 << (sequence % 64));
        }
    }

    /// Takes when a datagram was sent and when it arrived, each by its own host's clock: only
    /// differences count. The smoothed variation in nanoseconds (RFC 3550, section 6.4.1).
    pub fn jitter_ns(&mut self, sent_ns: u64, arrived_ns: u64) -> u64 {
        let transit_ns = i128::from(arrived_ns) - i128::from(sent_ns);
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            let difference_ns = (transit_ns - before).unsigned_abs() as f64;
            self.jitter_ns += (difference_ns - self.jitter_ns) / 16.0;
        }
        self.jitter_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_and_doubled_datagrams_are_told_apart() {
        let mut arrivals = Arrivals::default();
        let mut take = |n| arrivals.take(n);
        assert_eq!([0, 1, 3].map(&mut take), [Arrival::New; 3]);
        assert_eq!(take(2), Arrival::Late);
        assert_eq!([2, 3, 0].map(&mut take), [Arrival::Duplicate; 3]);
        assert_eq!(take(5000), Arrival::New);
        // In reach and never seen; out of reach.
        assert_eq!(
            (take(4999), take(4999), take(5)),
            (Arrival::Late, Arrival::Duplicate, Arrival::Late)
        );
        // The place of 5001 was that of 905, which nobody sent.
        assert_eq!(
            (take(5001), take(u64::MAX), take(3)),
            (Arrival::New, Arrival::New, Arrival::Late)
        );
        assert_eq!(arrivals.expected(), u64::MAX);
    }

    #[test]
    fn jitter_is_that_of_the_rfc() {
        let mut arrivals = Arrivals::default();
        // A constant delay, whatever the clocks say, has none.
        for n in 0..100 {
            assert_eq!(arrivals.jitter_ns(n * 1000, 77_000_000 + n * 1000), 0);
        }
        assert_eq!(arrivals.jitter_ns(100_000, 77_100_000 + 1600), 100);
        // 100 + (1600 - 100) / 16
        assert_eq!(arrivals.jitter_ns(101_000, 77_101_000), 193);
    }
}
