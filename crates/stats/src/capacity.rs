//! How fast packets can follow each other on a way, from packet trains sent back to back.
//!
//! A link that carries less than the sender sends spreads a train out: the time between the first
//! and the last packet that came is the link's (Jain and Dovrolis, 2003). Only the second half of a
//! train counts, since a token bucket lets the first of it pass at once; of a train of which a
//! short queue lets few pass, all of those, where the first come no faster than the last. A link of
//! software has no rate of its own: packets come as they were sent, and the answer is a lower
//! bound. Of a train whose packets overtook each other the last to come may be one that was
//! delayed: the time is then that delay's, and no link's.

use narrows_model::Nanos;
use narrows_model::probe::{Train, WayProbe};
use schemars::JsonSchema;
use serde::Serialize;

/// What trains say of a way, in bits per second of IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "known", rename_all = "kebab-case")]
pub enum Capacity {
    /// Packets came more slowly than they were sent.
    Between {
        /// The slowest train's.
        low_bps: f64,
        /// The median train's.
        median_bps: f64,
        /// The fastest train's.
        high_bps: f64,
    },
    /// Packets came as fast as the sender could send them.
    AtLeast {
        /// The median train's.
        bps: f64,
    },
}

/// Fewer trains give no interval that holds in 19 of 20 cases: of six the smallest and the largest
/// have the median between them with 97 %.
const TRAINS_LEAST: usize = 6;
/// A train that came in less time says nothing: NICs hold interrupts back for up to a tenth of it.
const SPAN_LEAST: Nanos = Nanos(1_000_000);
/// With fewer packets the halves are too coarse.
const PACKETS_LEAST: u32 = 16;
/// Of so many all tell together, where their first and last are no further apart than this.
const FEW_LEAST: u32 = 8;
const EVEN: f64 = 1.15;
/// Packets that came at this share of the pace at which they were sent, or above, were not held
/// back by the path.
const AT_SENDERS_PACE: f64 = 0.8;
/// Share of a train's packets that may come late. One that was overtaken by its neighbour changes
/// no time to speak of.
const LATE_MOST: f64 = 0.01;
/// A train that was sent at less than so many times the rate at which most came says little: its
/// sender was kept from its CPU.
const PRESSED: f64 = 2.0;
/// A link has one rate: trains whose rates differ by more than this factor were held back by
/// something else, such as an end that others kept from its CPU.
const SPREAD_MOST: f64 = 1.5;

fn bps(train: &Train, packets: u32, time: Nanos) -> f64 {
    f64::from(packets) * train.packet_bytes.0 as f64 * 8e9 / time.0.max(1) as f64
}

/// Bits per second at which the second half of a train came; `None` where it was too short to tell.
fn came_bps(train: &Train) -> Option<f64> {
    let is_ordered = f64::from(train.late) <= LATE_MOST * f64::from(train.came);
    let is_long = train.came_ns >= SPAN_LEAST && train.tail_ns > Nanos(0);
    if !is_ordered || !is_long {
        return None;
    }
    match train.came {
        PACKETS_LEAST.. => Some(bps(train, train.tail, train.tail_ns)),
        FEW_LEAST.. if is_even(train) => Some(bps(train, train.came - 1, train.came_ns)),
        _ => None,
    }
}

/// Whether the first packets of a train come as far apart as the last.
fn is_even(train: &Train) -> bool {
    if train.head == 0 || train.tail == 0 {
        return false;
    }
    let [head, tail] =
        [bps(train, train.head, train.head_ns), bps(train, train.tail, train.tail_ns)];
    head.max(tail) <= EVEN * head.min(tail)
}

/// Bits per second at which a train was sent.
fn sent_bps(train: &Train) -> f64 {
    bps(train, train.sent, train.sent_ns)
}

/// Whether a train came more slowly than it was sent.
fn is_held(train: &Train) -> bool {
    came_bps(train).is_some_and(|came| came < AT_SENDERS_PACE * sent_bps(train))
}

/// How fast packets can follow each other on a way; `None` where too few trains tell, or they
/// disagree on who held them back.
pub fn capacity(way: &WayProbe) -> Option<Capacity> {
    let rates = sorted(way.trains.iter());
    if rates.len() < TRAINS_LEAST {
        return None;
    }
    let middle = rates[rates.len() / 2];
    let pressed = way.trains.iter().filter(|train| sent_bps(train) >= PRESSED * middle);
    let told = sorted(pressed);
    if let ([low_bps, .., high_bps], true) = (&told[..], told.len() >= TRAINS_LEAST)
        && *high_bps <= SPREAD_MOST * low_bps
    {
        let median_bps = told[told.len() / 2];
        return Some(Capacity::Between { low_bps: *low_bps, median_bps, high_bps: *high_bps });
    }
    let held = way.trains.iter().filter(|train| is_held(train)).count();
    (held * 2 < rates.len()).then_some(Capacity::AtLeast { bps: middle })
}

/// Rates at which trains came, ascending; those that do not tell are left out.
fn sorted<'a>(trains: impl Iterator<Item = &'a Train>) -> Vec<f64> {
    let mut rates: Vec<f64> = trains.filter_map(came_bps).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Share of the packets of trains that came after one that was sent later; `None` where none came.
pub fn reordered_share(way: &WayProbe) -> Option<f64> {
    let came: u32 = way.trains.iter().map(|train| train.came).fold(0, u32::saturating_add);
    let late: u32 = way.trains.iter().map(|train| train.late).fold(0, u32::saturating_add);
    (came > 0).then(|| f64::from(late) / f64::from(came))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;

    fn train(sent_us: u64, tail_us: u64) -> Train {
        Train {
            packet_bytes: Bytes(1500),
            sent: 200,
            sent_ns: Nanos(1000 * sent_us),
            came: 200,
            late: 0,
            came_ns: Nanos(1000 * (tail_us + 500)),
            tail: 100,
            tail_ns: Nanos(1000 * tail_us),
            ..Train::default()
        }
    }

    fn way(trains: Vec<Train>) -> WayProbe {
        WayProbe { trains, ..WayProbe::default() }
    }

    #[test]
    fn a_capacity_is_told_where_the_path_held_packets_back() {
        // 100 packets of 1500 B in 6 ms are 200 Mb/s.
        let held = capacity(&way((0..8).map(|n| train(500, 6000 + 10 * n)).collect()));
        let Some(Capacity::Between { low_bps, median_bps, high_bps }) = held else {
            panic!("no capacity: {held:?}")
        };
        assert!(low_bps < median_bps && median_bps < high_bps);
        assert!((median_bps / 200e6 - 1.0).abs() < 0.02, "{median_bps}");
    }

    #[test]
    fn few_packets_tell_a_link_where_they_come_evenly() {
        // Ten of 100 pass a queue of ten before a link of 20 Mb/s, 0.6 ms apart.
        let of = |came: u32, head_us: u64| {
            let train = Train {
                sent: 100,
                came,
                came_ns: Nanos(600_000 * u64::from(came - 1)),
                head: 7,
                head_ns: Nanos(1000 * head_us),
                tail: 4,
                tail_ns: Nanos(2_400_000),
                ..train(180, 0)
            };
            capacity(&way(vec![train; 8]))
        };
        let Some(Capacity::Between { median_bps, .. }) = of(10, 4_200) else {
            panic!("{:?}", of(10, 4_200))
        };
        assert!((median_bps - 20e6).abs() < 1.0, "{median_bps}");
        assert_eq!(of(10, 3_500), None, "a bucket lets the first pass");
        assert_eq!(of(10, 0), None, "nobody timed the first");
        assert_eq!(of(7, 4_200), None, "too few");
    }

    #[test]
    fn trains_whose_packets_overtook_each_other_tell_no_capacity() {
        let late =
            |late: u32| way((0..8).map(|n| Train { late, ..train(500, 6000 + 10 * n) }).collect());
        assert!(matches!(capacity(&late(2)), Some(Capacity::Between { .. })));
        assert_eq!(capacity(&late(38)), None, "a fifth came late");
    }

    #[test]
    fn what_came_as_it_was_sent_is_a_lower_bound_and_too_little_is_nothing() {
        let free = capacity(&way(vec![train(2000, 1000); 8]));
        assert!(matches!(free, Some(Capacity::AtLeast { .. })), "{free:?}");
        assert_eq!(capacity(&way(vec![train(100, 6000); 5])), None);
        // 300 us from first to last may be one interrupt.
        let short = Train { came_ns: Nanos(300_000), ..train(100, 200) };
        assert_eq!(capacity(&way(vec![short; 8])), None);
        // Two of eight whose sender had to wait for its CPU do not hide the link.
        let waited = [vec![train(100, 6000); 6], vec![train(16_000, 12_000); 2]].concat();
        let known = capacity(&way(waited));
        assert!(matches!(known, Some(Capacity::Between { .. })), "{known:?}");
        // A link has one rate.
        let unsteady = capacity(&way((1..9).map(|n| train(100, 3000 * n)).collect()));
        assert_eq!(unsteady, None);
        // Half of them were held back, and half were not.
        let both = [vec![train(100, 6000); 4], vec![train(6000, 3000); 4]].concat();
        assert_eq!(capacity(&way(both)), None);
    }

    #[test]
    fn late_packets_are_counted_over_all_trains() {
        let late = Train { late: 4, ..train(100, 6000) };
        assert_eq!(reordered_share(&way(vec![late, train(100, 6000)])), Some(0.01));
        assert_eq!(reordered_share(&WayProbe::default()), None);
    }
}
