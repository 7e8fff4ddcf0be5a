//! A log that strangers cannot fill: a few lines a second of each kind, and how many were left out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Lines of one kind in a [`SPAN`].
const LINES_MAX: u32 = 5;
/// What they are counted over.
const SPAN: Duration = Duration::from_secs(1);

/// Counts the lines of each kind.
#[derive(Debug)]
pub struct Throttle<K> {
    spans: BTreeMap<K, Span>,
}

#[derive(Debug)]
struct Span {
    began: Instant,
    said: u32,
    left_out: u64,
    told: Instant,
}

impl<K: Ord + Copy> Throttle<K> {
    /// Nothing said yet.
    pub fn new() -> Self {
        Self { spans: BTreeMap::new() }
    }

    /// Whether one more line of a kind may be said now; if not, it is counted.
    pub fn may_say(&mut self, kind: K, now: Instant) -> bool {
        let new = Span { began: now, said: 0, left_out: 0, told: now };
        let span = self.spans.entry(kind).or_insert(new);
        if now.saturating_duration_since(span.began) >= SPAN {
            (span.began, span.said) = (now, 0);
        }
        let may = span.said < LINES_MAX;
        if may {
            span.said += 1
        } else {
            span.left_out += 1
        }
        may
    }

    /// How many lines of each kind were left out, at most once in a span.
    pub fn left_out(&mut self, now: Instant) -> Vec<(K, u64)> {
        let due = self.spans.iter_mut().filter(|(_, span)| {
            span.left_out > 0 && now.saturating_duration_since(span.told) >= SPAN
        });
        due.map(|(kind, span)| {
            span.told = now;
            (*kind, std::mem::take(&mut span.left_out))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_is_counted_and_silences_no_other() {
        let (mut throttle, began) = (Throttle::new(), Instant::now());
        let (mut said, mut told, mut lines) = (0, 0, 0);
        for step in 0..10_000 {
            let now = began + Duration::from_millis(step);
            said += u64::from(throttle.may_say('a', now));
            for (kind, count) in throttle.left_out(now) {
                assert_eq!(kind, 'a');
                (told, lines) = (told + count, lines + 1);
            }
        }
        assert!(throttle.may_say('b', began + Duration::from_secs(10)));
        let end = throttle.left_out(began + Duration::from_secs(20));
        told += end.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!((said, said + told), (10 * u64::from(LINES_MAX), 10_000));
        assert!((9..=10).contains(&lines), "{lines} lines of what was left out in 10 s");
        assert!(throttle.left_out(began + Duration::from_secs(30)).is_empty(), "told once");
    }

    #[test]
    fn five_lines_a_second_and_the_rest_is_told_a_second_later() {
        let (mut throttle, began) = (Throttle::new(), Instant::now());
        let at = |ms| began + Duration::from_millis(ms);
        let said: Vec<bool> = (0..7).map(|n| throttle.may_say('a', at(n))).collect();
        assert_eq!(said, [true, true, true, true, true, false, false]);
        assert_eq!(throttle.left_out(at(999)), []);
        assert!(!throttle.may_say('a', at(999)), "of the same second");
        assert!(throttle.may_say('a', at(1000)), "of the next");
        assert_eq!(throttle.left_out(at(1000)), [('a', 3)]);
        assert_eq!(throttle.left_out(at(3000)), [], "told once");
    }
}
