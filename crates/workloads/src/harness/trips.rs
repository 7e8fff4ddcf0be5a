//! Times of round trips: a histogram whose buckets are less than 1 % wide, and the two that were
//! farthest apart, exactly.

use crate::LoadError;
use hdrhistogram::Histogram;
use narrows_model::Nanos;

/// Round trips of one flow, or of several.
pub struct Trips {
    pub(super) histogram: Histogram<u64>,
    extremes: Option<(u64, u64)>,
}

impl Trips {
    /// None yet. Buckets keep two significant digits from 1 ns to a minute, an error below 1 %.
    pub fn none() -> Result<Self, LoadError> {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        let histogram = histogram.map_err(|error| LoadError::Order(error.to_string()))?;
        Ok(Self { histogram, extremes: None })
    }

    /// Counts one round trip of so many nanoseconds.
    pub fn took(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
        let (shortest, longest) = self.extremes.unwrap_or((ns, ns));
        self.extremes = Some((shortest.min(ns), longest.max(ns)));
    }

    /// Adds those of another flow.
    pub fn add(&mut self, more: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&more.histogram);
        let both = self.extremes.into_iter().chain(more.extremes);
        self.extremes = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }

    /// The shortest and the longest.
    pub fn extremes_ns(&self) -> Option<(Nanos, Nanos)> {
        self.extremes.map(|(shortest, longest)| (Nanos(shortest), Nanos(longest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trip_is_in_a_bucket_of_its_length_from_a_nanosecond_to_a_minute() {
        let mut trips = Trips::none().expect("trips");
        for ns in [0, 1, 100, 1_000_000, u64::MAX] {
            trips.took(ns);
        }
        let buckets = trips.histogram.iter_recorded().map(|bucket| bucket.value_iterated_to());
        let buckets: Vec<u64> = buckets.collect();
        assert_eq!(buckets[..2], [1, 100], "none is shorter than a nanosecond");
        assert!(buckets[2].abs_diff(1_000_000) < 10_000 && buckets[3] >= 60_000_000_000);
        assert_eq!((buckets.len(), trips.histogram.len()), (4, 5));
        assert_eq!(trips.extremes_ns(), Some((Nanos(0), Nanos(u64::MAX))));
    }

    #[test]
    fn extremes_are_exact_whatever_the_buckets() {
        let mut trips = Trips::none().expect("trips");
        let mut others = Trips::none().expect("trips");
        assert_eq!(trips.extremes_ns(), None);
        for ns in [700_001, 123_457, 654_321] {
            trips.took(ns);
        }
        others.took(987_653);
        trips.add(&others);
        trips.add(&Trips::none().expect("trips"));
        assert_eq!(trips.extremes_ns(), Some((Nanos(123_457), Nanos(987_653))));
        assert_eq!(trips.histogram.len(), 4);
        // The bucket's edge is another.
        let edge = trips.histogram.iter_recorded().next().expect("a bucket").value_iterated_to();
        assert_ne!(edge, 123_457);
    }
}
