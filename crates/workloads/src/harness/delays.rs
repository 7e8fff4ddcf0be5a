//! Times between sending and arriving, by eighths of octaves: a program in the kernel can count so.

use narrows_model::Nanos;

/// Bits of a time within its octave.
const WITHIN: u32 = 3;
/// Buckets: times of less than 8 ns each their own, then eight an octave.
pub const BUCKETS: usize = 512;

/// The bucket of a time in nanoseconds.
pub fn bucket(ns: u64) -> usize {
    if ns < 1 << WITHIN {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros();
    let within = (ns >> (octave - WITHIN)) & ((1 << WITHIN) - 1);
    (((octave - WITHIN + 1) << WITHIN) as u64 + within) as usize
}

/// The longest time of a bucket.
pub fn longest(bucket: usize) -> Nanos {
    if bucket < 1 << WITHIN {
        return Nanos(bucket as u64);
    }
    let shift = (bucket >> WITHIN) as u32 - 1;
    let within = (bucket & ((1 << WITHIN) - 1)) as u128 + (1 << WITHIN);
    Nanos(u64::try_from(((within + 1) << shift) - 1).unwrap_or(u64::MAX))
}

/// Times counted by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays(Vec<u64>);

impl Default for Delays {
    fn default() -> Self {
        Self(vec![0; BUCKETS])
    }
}

impl Delays {
    /// Counts one delay, in nanoseconds.
    pub fn count(&mut self, ns: u64) {
        self.0[bucket(ns)] += 1;
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, more: &[u64]) {
        self.0.iter_mut().zip(more).for_each(|(all, more)| *all += more);
    }

    /// How many delays fell into each bucket.
    pub fn into_buckets(self) -> Vec<u64> {
        self.0
    }

    /// The buckets that hold any, by their longest time.
    pub fn filled(&self) -> Vec<(Nanos, u64)> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, count)| **count > 0).map(|(at, count)| (longest(at), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_within_its_bucket_and_no_other() {
        for ns in (0..5000).chain([65_535, 65_536, 1 << 40, (1 << 40) - 1, u64::MAX]) {
            let at = bucket(ns);
            assert!(at < BUCKETS, "{ns}");
            assert!(ns <= longest(at).0, "{ns} in {at}");
            assert!(at == 0 || ns > longest(at - 1).0, "{ns} in {at}");
            // An eighth of an octave: no bucket is wider than an eighth of its shortest time.
            assert!(longest(at).0 - ns <= ns / 8, "{ns} in {at}");
        }
        assert_eq!([bucket(7), bucket(8), bucket(15), bucket(16)], [7, 8, 15, 16]);
    }
}
