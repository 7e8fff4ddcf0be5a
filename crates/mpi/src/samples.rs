//! What a rank says of the iterations that it timed.

/// Numbers in [`Summary::words`].
pub const WORDS: usize = 9;

/// Times of one rank's iterations, in nanoseconds, and what it sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many it timed; 0 where it took no part.
    pub count: u64,
    /// The shortest of them.
    pub min_ns: u64,
    /// The median of them.
    pub p50_ns: u64,
    /// Nine of ten take no longer.
    pub p90_ns: u64,
    /// 99 of 100 take no longer.
    pub p99_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
    pub total_ns: u64,
    /// Payload sent to ranks of other hosts, those that were not timed included, in bytes.
    pub away_bytes: u64,
    /// The same to ranks of the own host.
    pub within_bytes: u64,
}

impl Summary {
    /// Of times in any order.
    pub fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            // The smallest that so many per cent do not exceed.
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or_default()
        };
        Self {
            count: times.len() as u64,
            min_ns: times.first().copied().unwrap_or_default(),
            p50_ns: at(50),
            p90_ns: at(90),
            p99_ns: at(99),
            max_ns: times.last().copied().unwrap_or_default(),
            total_ns: times.iter().sum(),
            away_bytes: 0,
            within_bytes: 0,
        }
    }

    /// As it travels.
    pub fn words(&self) -> [u64; WORDS] {
        [
            self.count,
            self.min_ns,
            self.p50_ns,
            self.p90_ns,
            self.p99_ns,
            self.max_ns,
            self.total_ns,
            self.away_bytes,
            self.within_bytes,
        ]
    }

    /// As it arrives.
    pub fn from_words(words: [u64; WORDS]) -> Self {
        let [count, min_ns, p50_ns, p90_ns, p99_ns, max_ns, total_ns, away_bytes, within_bytes] =
            words;
        Self { count, min_ns, p50_ns, p90_ns, p99_ns, max_ns, total_ns, away_bytes, within_bytes }
    }

    /// The mean, which other programs on the CPU and not the fabric may decide.
    pub fn mean_ns(&self) -> f64 {
        if self.count > 0 { self.total_ns as f64 / self.count as f64 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_times_themselves() {
        let of = Summary::of((1..=200).rev().collect());
        let told = [of.min_ns, of.p50_ns, of.p90_ns, of.p99_ns, of.max_ns, of.total_ns];
        assert_eq!(told, [1, 100, 180, 198, 200, 20_100]);
        assert_eq!(of.mean_ns(), 100.5);
        assert_eq!(Summary::from_words(of.words()), of);
        assert_eq!(Summary::of(vec![7]).p99_ns, 7);
        assert_eq!(Summary::of(Vec::new()), Summary::default());
    }
}
