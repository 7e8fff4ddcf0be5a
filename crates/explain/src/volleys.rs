//! What the closer questions of probes tell: trains both ways at once, somewhat below the rate of a
//! way, at an even pace, and of other marks.

use crate::measured::Cell;
use narrows_model::probe::{Marked, Train, WayProbe};
use narrows_stats::{Capacity, Range, capacity, median};

/// Fewer packets of a train tell no rate.
const PACKETS_LEAST: u32 = 16;
/// Two trains have met for so much of the longer one's time.
const MET_SHARE: f64 = 0.7;
/// Fewer trains of a kind tell nothing.
const TRAINS_LEAST: usize = 4;

/// Bits a second at which a whole train came.
fn came_bps(train: &Train) -> Option<f64> {
    let is_long = train.came >= PACKETS_LEAST && train.came_ns.0 > 0;
    let bits = 8.0 * f64::from(train.came.saturating_sub(1)) * train.packet_bytes.0 as f64;
    is_long.then(|| 1e9 * bits / train.came_ns.0 as f64)
}

/// Bits a second at which its second half came.
fn tail_bps(train: &Train) -> Option<f64> {
    let is_long = train.came >= PACKETS_LEAST && train.tail_ns.0 > 0;
    let bits = 8.0 * f64::from(train.tail) * train.packet_bytes.0 as f64;
    is_long.then(|| 1e9 * bits / train.tail_ns.0 as f64)
}

/// Bits a second at which two trains came together. Which of them was first into a queue that both
/// fill has most of it; what came of both is what the queue's link carried. A train that was over
/// while the other still came, as one that a short queue cut or that was shorter, met it for a part
/// of the time only.
fn pair_bps((there, back): (&Train, &Train)) -> Option<f64> {
    let bytes = |train: &Train| f64::from(train.came) * train.packet_bytes.0 as f64;
    let [least_ns, longest_ns] =
        [there.came_ns.min(back.came_ns).0, there.came_ns.max(back.came_ns).0];
    let is_long = there.came.max(back.came) >= PACKETS_LEAST && longest_ns > 0;
    let have_met = least_ns as f64 >= MET_SHARE * longest_ns as f64;
    (is_long && have_met).then(|| 8e9 * (bytes(there) + bytes(back)) / longest_ns as f64)
}

fn sent_bps(train: &Train) -> Option<f64> {
    let bits = 8.0 * f64::from(train.sent) * train.packet_bytes.0 as f64;
    (train.sent_ns.0 > 0).then(|| 1e9 * bits / train.sent_ns.0 as f64)
}

fn range(values: &[f64]) -> Option<Range> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let middle = median(values)?;
    (values.len() >= TRAINS_LEAST).then_some(Range { low, middle, high })
}

/// Rates of both ways, in bits a second.
pub struct BothWays {
    /// Of trains there alone.
    pub there: f64,
    /// Of trains back alone.
    pub back: f64,
    /// What came both ways of trains that were sent at once, together.
    pub at_once: f64,
}

/// What there is of a rate that others take, in bits a second.
pub struct Taken {
    pub carried: f64,
    pub sent: f64,
    pub came: f64,
    pub others: f64,
}

/// Packets at an even pace that came in heaps.
pub struct Held {
    /// Share of the time in which none came, of the median train.
    pub share: f64,
    /// The longest of these times in nanoseconds, of the median train.
    pub longest_ns: f64,
    /// Trains of which that is so, and all.
    pub trains: usize,
    pub of: usize,
}

/// Trains of two marks.
pub struct Classes<'a> {
    pub own: &'a Marked,
    pub other: &'a Marked,
    pub own_bps: Option<Range>,
    pub other_bps: Option<Range>,
    pub own_came: f64,
    pub other_came: f64,
}

/// A train that lasted so many times as long as it should was sent by a thread that waited.
const SENDER_LATE: f64 = 1.5;
/// Share of the time of an even train without an arrival, from which on packets were held.
const HELD_SHARE: f64 = 0.3;
/// One or two rests are an accident.
const RESTS_LEAST: u32 = 3;
/// Share of an even train's packets that must have come: what is lost was not held.
const HELD_CAME: f64 = 0.9;
/// Time between two packets of an even train, with what the sender's sleep takes beyond.
const EVEN_NS: f64 = 2.08e6;

/// The same of the trains of some ways.
fn held(ways: &[&WayProbe]) -> Option<Held> {
    let told = ways.iter().flat_map(|way| &way.even).filter(|train| is_even_sent(train));
    let all: Vec<(f64, &Train)> = told
        .filter_map(|train| train.rests.map(|_| train))
        .map(|train| (train.rests_ns.0 as f64 / train.came_ns.0.max(1) as f64, train))
        .collect();
    let is_held = |(share, train): &&(f64, &Train)| {
        *share >= HELD_SHARE
            && train.rests.is_some_and(|rests| rests >= RESTS_LEAST)
            && f64::from(train.came) >= HELD_CAME * f64::from(train.sent)
    };
    Some(Held {
        share: median(&all.iter().map(|(share, _)| *share).collect::<Vec<f64>>())?,
        longest_ns: median(
            &all.iter().map(|(_, train)| train.longest_ns.0 as f64).collect::<Vec<f64>>(),
        )?,
        trains: all.iter().filter(is_held).count(),
        of: all.len(),
    })
}

impl<'a> Cell<'a> {
    /// The rates of both ways, where links and not hosts hold the trains of each.
    pub fn both_ways(&self) -> Option<BothWays> {
        let all: Vec<_> =
            self.probes().filter(|probe| is_held(&probe.there, &probe.back)).collect();
        let of = |ways: Vec<&WayProbe>| {
            let trains = ways.into_iter().flat_map(|way| &way.trains);
            range(&trains.filter_map(came_bps).collect::<Vec<f64>>()).map(|range| range.middle)
        };
        let pairs = all.iter().flat_map(|one| one.there.together.iter().zip(&one.back.together));
        Some(BothWays {
            there: of(all.iter().map(|probe| &probe.there).collect())?,
            back: of(all.iter().map(|probe| &probe.back).collect())?,
            at_once: range(&pairs.filter_map(pair_bps).collect::<Vec<f64>>())?.middle,
        })
    }

    /// What trains below the rate of the way lose of theirs, over all probes.
    pub fn taken(&self) -> Option<Taken> {
        let carried = self.carried()?.middle;
        let ways = self.ways();
        let below: Vec<&Train> = ways.iter().flat_map(|way| &way.below).collect();
        let below: Vec<&Train> = below
            .into_iter()
            .filter(|train| sent_bps(train).is_some_and(|bps| bps <= PRESSED * carried))
            .collect();
        let of = |value: fn(&Train) -> Option<f64>| {
            let all: Vec<f64> = below.iter().filter_map(|train| value(train)).collect();
            range(&all).map(|range| range.middle)
        };
        let (sent, came, tail) = (of(sent_bps)?, of(came_bps)?, of(tail_bps)?);
        // A bucket passes the first of a train as it comes, and the rest slower.
        let is_even = (tail / came - 1.0).abs() <= EVEN_HALVES;
        let others = sent * (carried / came - 1.0);
        is_even.then_some(Taken { carried, sent, came, others })
    }

    /// What became of packets that were sent at an even pace: on the way of a stream's data, of
    /// round trips on the way on which more were held; `None` where no train tells.
    pub fn held(&self) -> Option<Held> {
        if !self.trial.kind.is_round_trip() {
            return held(&self.ways());
        }
        let there = held(&self.probes().map(|probe| &probe.there).collect::<Vec<_>>());
        let back = held(&self.probes().map(|probe| &probe.back).collect::<Vec<_>>());
        let all = there.into_iter().chain(back);
        all.max_by(|a, b| (a.trains * b.of).cmp(&(b.trains * a.of)))
    }

    /// Trains of the traffic's own mark beside those of another, of every probe.
    pub fn classes(&self, is_other: impl Fn(&Marked, &Marked) -> bool) -> Vec<Classes<'a>> {
        let mut all = Vec::new();
        for way in self.ways() {
            let Some(own) = way.marked.iter().find(|marked| marked.is_own) else { continue };
            let others = way.marked.iter().filter(|other| !other.is_own && is_other(own, other));
            all.extend(others.map(|other| Classes {
                own,
                other,
                own_bps: rates(own),
                other_bps: rates(other),
                own_came: came_share(own),
                other_came: came_share(other),
            }));
        }
        all
    }

    /// Whether several probes found the same rate of the way, as far as each tells one.
    pub fn is_one_link(&self) -> bool {
        let rates = self.levels();
        let low = rates.iter().copied().reduce(f64::min);
        let high = rates.iter().copied().reduce(f64::max);
        low.zip(high).is_none_or(|(low, high)| high <= ONE_LINK * low)
    }

    /// Rates of the way by each of several probes, where each was one rate.
    pub fn levels(&self) -> Vec<f64> {
        let told = self.ways().into_iter().filter_map(|way| match capacity(way)? {
            Capacity::Between { median_bps, .. } => Some(median_bps),
            Capacity::AtLeast { .. } => None,
        });
        told.collect()
    }
}

/// Rates of one link by several probes are no further apart.
const ONE_LINK: f64 = 1.3;
/// Trains that were not sent well below the rate of a way tell nothing of what is left of it.
const PRESSED: f64 = 0.95;
/// How far apart the rates of a train and of its second half may be.
const EVEN_HALVES: f64 = 0.15;

/// Whether trains of both ways come at the rates of links.
fn is_held(there: &WayProbe, back: &WayProbe) -> bool {
    let is_link = |way| matches!(capacity(way), Some(Capacity::Between { .. }));
    is_link(there) && is_link(back) && !there.together.is_empty()
}

/// Whether the sender kept the pace: one that waited for its CPU sends late itself.
fn is_even_sent(train: &Train) -> bool {
    train.sent > PACKETS_LEAST
        && train.sent_ns.0 as f64 <= SENDER_LATE * EVEN_NS * f64::from(train.sent)
}

fn rates(marked: &Marked) -> Option<Range> {
    range(&marked.trains.iter().filter_map(tail_bps).collect::<Vec<f64>>())
}

fn came_share(marked: &Marked) -> f64 {
    let sent: u32 = marked.trains.iter().map(|train| train.sent).sum();
    let came: u32 = marked.trains.iter().map(|train| train.came.min(train.sent)).sum();
    f64::from(came) / f64::from(sent.max(1))
}

#[cfg(test)]
pub mod testing {
    //! Trains of all kinds.

    use super::*;
    use narrows_model::{Bytes, Nanos};

    /// A train of 100 full packets of which so many came, at these rates.
    pub fn at(sent_mbps: f64, came_mbps: f64, came: u32) -> Train {
        let each_ns = |mbps: f64| 12e6 / mbps;
        Train {
            packet_bytes: Bytes(1500),
            sent: 100,
            sent_ns: Nanos((100.0 * each_ns(sent_mbps)) as u64),
            came,
            came_ns: Nanos((f64::from(came.max(1) - 1) * each_ns(came_mbps)) as u64),
            tail: came / 2,
            tail_ns: Nanos((f64::from(came / 2) * each_ns(came_mbps)) as u64),
            ..Train::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, Nanos};

    /// Full packets, of which the second half came more slowly.
    fn train() -> Train {
        Train {
            packet_bytes: Bytes(1500),
            sent: 100,
            sent_ns: Nanos(1_200_000),
            came: 81,
            came_ns: Nanos(9_600_000),
            tail: 40,
            tail_ns: Nanos(6_000_000),
            ..Train::default()
        }
    }

    #[test]
    fn a_trains_rates_are_bits_over_the_time_between_its_arrivals() {
        // 100 packets of 12,000 bits in 1.2 ms; 80 after the first in 9.6 ms; 40 in 6 ms.
        let of = |train: &Train| [sent_bps(train), came_bps(train), tail_bps(train)];
        assert_eq!(of(&train()), [Some(1e9), Some(1e8), Some(8e7)]);
        let few = Train { came: 15, ..train() };
        assert_eq!(of(&few), [Some(1e9), None, None], "fewer than 16 tell no rate");
        let least = Train { came: 16, ..train() };
        assert_eq!(came_bps(&least), Some(12_000.0 * 15.0 / 9.6e-3));
        let none = Nanos(0);
        let at_once = Train { sent_ns: none, came_ns: none, tail_ns: none, ..train() };
        assert_eq!(of(&at_once), [None; 3]);
    }

    #[test]
    fn two_trains_at_once_carry_their_sum_in_the_time_of_the_longer() {
        let other = Train { came: 19, came_ns: Nanos(6_720_000), ..train() };
        // 81 and 19 packets of 12,000 bits in 9.6 ms.
        for pair in [(&train(), &other), (&other, &train())] {
            assert_eq!(pair_bps(pair), Some(1.25e8));
        }
        let few = Train { came: 15, ..train() };
        assert_eq!(pair_bps((&few, &few)), None);
        assert!(pair_bps((&few, &train())).is_some(), "one of them is long enough");
        let over = Train { came_ns: Nanos(6_700_000), ..other };
        assert_eq!(pair_bps((&over, &train())), None, "met for less than seven tenths");
    }

    #[test]
    fn four_trains_make_a_range_with_its_median() {
        let four = range(&[4.0, 1.0, 2.0, 9.0]).expect("a range");
        assert_eq!((four.low, four.middle, four.high), (1.0, 3.0, 9.0));
        assert!(range(&[4.0, 1.0, 2.0]).is_none() && range(&[]).is_none());
    }

    #[test]
    fn a_marks_share_counts_no_packet_twice_and_its_rates_are_of_second_halves() {
        let twice = Train { came: 120, ..train() };
        let marked = |trains: Vec<Train>| Marked { trains, ..Marked::default() };
        assert_eq!(came_share(&marked(vec![train(), twice])), 181.0 / 200.0);
        assert_eq!(came_share(&marked(Vec::new())), 0.0);
        let all = marked(vec![train(), train(), twice, train()]);
        assert_eq!(rates(&all).map(|range| range.middle), Some(8e7));
    }

    #[test]
    fn a_pace_was_kept_within_half_as_long_again() {
        // 100 packets 2.08 ms apart are 208 ms.
        let even = |sent: u32, ms: u64| {
            is_even_sent(&Train { sent, sent_ns: Nanos(ms * 1_000_000), ..train() })
        };
        assert!(even(100, 208) && even(100, 312));
        assert!(!even(100, 313) && !even(16, 1));
        assert!(even(17, 1));
    }
}
