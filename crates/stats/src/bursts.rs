//! What a way does with packets that come faster than it carries them: trains sent back to back,
//! beside trains of as many packets sent further apart.
//!
//! A policer and a queue lose packets of a burst and none of a slower train; losses at random meet
//! both alike. Of `n` packets that are offered for a time `T` a bucket or a queue with room for `b`
//! lets `b + R T` pass, so that two trains of different length tell the rate `R` and the room. A
//! queue spreads out what it lets pass; a policer lets the first of it pass as it came.

use crate::order::{median, quantile};
use narrows_model::probe::{Train, WayProbe};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of a number: the least and the largest of several measurements, and their middle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Range {
    /// The least of them.
    pub low: f64,
    /// Their median, in the same unit.
    pub middle: f64,
    /// The largest of them.
    pub high: f64,
}

/// What becomes of bursts on a way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "known", rename_all = "kebab-case")]
pub enum Bursts {
    /// They come whole.
    Whole,
    /// They lose as many packets as trains whose packets are sent apart.
    AtRandom {
        /// Share of all packets that was lost.
        lost_share: f64,
    },
    /// They lose packets because they are bursts.
    Limited(Limited),
}

/// A way that carries only so much of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Limited {
    /// Bits per second of IP packets that pass for long; `None` where no pace that was tried was
    /// above it without being far above it.
    pub rate_bps: Option<Range>,
    /// Bytes of a burst that pass beyond that rate: a policer's bucket or a queue.
    pub room_bytes: Option<f64>,
    /// Whether those that passed were spread out from the first on, as by a queue.
    pub is_queue: bool,
}

/// Of six values the least and the largest have the median between them in 97 of 100 cases.
const TRAINS_LEAST: usize = 6;
/// Shorter trains are answers to other questions.
const PACKETS_LEAST: u32 = 16;
/// A smaller share, or fewer packets, is lost on a sound path too.
const LOST_SHARE: f64 = 0.002;
const LOST_LEAST: f64 = 3.0;
/// Trains that lose less have not filled what there is room for.
const FULL_SHARE: f64 = 0.1;
/// What drops bursts because they are bursts drops of so many of them at the least: of single ones
/// something else took a row.
const TRAINS_CUT: f64 = 0.5;
/// Standard errors between two shares that are not the same.
const BEYOND_CHANCE: f64 = 4.0;
/// Of a burst's losses so many at the least meet slower trains too where they are at random.
const ALIKE: f64 = 0.6;
/// A bucket passes the first of a burst at many times its rate, a queue at its rate.
const SPREAD_MOST: f64 = 3.0;
/// Of the rate at which a burst is sent, what its first packets come at where a slow link spreads
/// them.
const FAR_SPREAD: f64 = 0.2;
/// A burst that comes in so many times the time in which it was sent has waited for a few packets.
const WAITED_MOST: f64 = 2.5;
/// What the first packets' spacing is of all packets' where one link spaces them, and the share of
/// the trains of which that is so.
const EVEN: std::ops::Range<f64> = 0.6..1.7;
const EVEN_SHARE: f64 = 0.75;
/// Packets after the first whose spacing tells.
const HEAD_LEAST: u32 = 3;
/// A train at this share of a rate passes it whole, with the packets to spare that chance takes.
const BELOW: f64 = 0.7;
const BUNCHED_SHARE: f64 = 0.03;
/// Rates of one way that differ by more are of something else.
const RATES_APART: f64 = 3.0;

/// What becomes of bursts on a way that was probed so often; `None` where too few trains tell, or
/// the two sorts of trains do not differ beyond chance and are not alike either.
pub fn bursts(ways: &[&WayProbe]) -> Option<Bursts> {
    let fast: Vec<&Train> = ways.iter().flat_map(|way| &way.trains).filter(long).collect();
    let slow: Vec<&Train> = ways.iter().flat_map(|way| &way.paced).filter(long).collect();
    if fast.len() < TRAINS_LEAST {
        return None;
    }
    let (lost, of) = lost(&fast);
    if lost < LOST_LEAST || lost < LOST_SHARE * of {
        return Some(Bursts::Whole);
    }
    if slow.len() < TRAINS_LEAST {
        return None;
    }
    let (slow_lost, slow_of) = self::lost(&slow);
    let [share, slow_share] = [lost / of, slow_lost / slow_of];
    let both = (lost + slow_lost) / (of + slow_of);
    let error = (both * (1.0 - both) * (1.0 / of + 1.0 / slow_of)).sqrt();
    let is_less = share - slow_share > BEYOND_CHANCE * error;
    let is_far_less =
        slow_share <= 0.5 * share || 1.0 - slow_share >= 2.0 * (1.0 - share).max(1.0 / of);
    let cut = fast.iter().filter(|train| train.came < train.sent).count() as f64;
    if is_less && is_far_less && cut >= TRAINS_CUT * fast.len() as f64 {
        Some(Bursts::Limited(limited(&fast, &slow)))
    } else {
        (slow_share >= ALIKE * share).then_some(Bursts::AtRandom { lost_share: both })
    }
}

fn long(train: &&Train) -> bool {
    train.sent >= PACKETS_LEAST
}

/// Packets of trains that were lost, and that were sent.
fn lost(trains: &[&Train]) -> (f64, f64) {
    let of = trains.iter().map(|train| f64::from(train.sent)).sum::<f64>();
    let lost = trains.iter().map(|train| f64::from(train.sent.saturating_sub(train.came)));
    (lost.sum(), of)
}

fn is_full(train: &&Train) -> bool {
    f64::from(train.sent.saturating_sub(train.came)) >= FULL_SHARE * f64::from(train.sent)
}

fn seconds(train: &Train) -> f64 {
    train.sent_ns.0 as f64 / 1e9
}

fn bits_that_came(train: &Train) -> f64 {
    8.0 * f64::from(train.came) * train.packet_bytes.0 as f64
}

fn limited(fast: &[&Train], slow: &[&Train]) -> Limited {
    let full: Vec<&Train> = fast.iter().copied().filter(is_full).collect();
    let passed = middle(&full, bits_that_came).zip(middle(&full, seconds));
    let rates = passed.map(|(bits, time)| {
        let longer = slow.iter().filter(|train| is_full(train) && seconds(train) > 2.0 * time);
        longer
            .map(|train| (bits_that_came(train) - bits) / (seconds(train) - time))
            .collect::<Vec<f64>>()
    });
    let rate_bps = rates.as_deref().and_then(range).filter(|rate| !is_bunched(slow, rate));
    let is_near = head_bps(fast).zip(rate_bps).map(|(head, rate)| head <= SPREAD_MOST * rate.high);
    let is_dropped_at_once = is_near == Some(false) && is_far_spread(fast);
    let is_queue = is_near.map_or_else(|| is_spread(fast), |near| near || is_dropped_at_once);
    // What a queue lets pass comes at the rate of the link behind it; slower trains that come in
    // heaps fill a short one too, and tell less.
    let link = heads(fast).filter(|_| is_queue);
    let rate_bps = if is_dropped_at_once { link.or(rate_bps) } else { rate_bps.or(link) };
    let room_bytes = rate_bps.zip(passed).map(|both| room(both).max(0.0));
    // What is dropped at once passes by the gaps between, and fills no room.
    let room_bytes = room_bytes.filter(|_| !is_dropped_at_once);
    Limited { rate_bps, room_bytes, is_queue }
}

/// Whether slow trains lost packets though they were sent well below the rate that they tell: their
/// sender waited for a CPU and sent the rest at once, so that their length tells no rate.
fn is_bunched(slow: &[&Train], rate: &Range) -> bool {
    slow.iter().any(|train| {
        let lost = f64::from(train.sent.saturating_sub(train.came));
        sent_bps(train) < BELOW * rate.low && lost >= BUNCHED_SHARE * f64::from(train.sent)
    })
}

fn room((rate, (bits, time)): (Range, (f64, f64))) -> f64 {
    (bits - rate.middle * time) / 8.0
}

fn middle(trains: &[&Train], value: fn(&Train) -> f64) -> Option<f64> {
    median(&trains.iter().map(|train| value(train)).collect::<Vec<f64>>())
}

fn range(values: &[f64]) -> Option<Range> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let middle = median(values)?;
    let is_one = low > 0.0 && high <= RATES_APART * low;
    (values.len() >= TRAINS_LEAST && is_one).then_some(Range { low, middle, high })
}

/// Bits per second at which the first packets of a train came, of the median train.
fn head_bps(trains: &[&Train]) -> Option<f64> {
    median(&of_heads(trains))
}

/// The same with the middle half of the trains: those whose receiver was late are outside.
fn heads(trains: &[&Train]) -> Option<Range> {
    let all = of_heads(trains);
    let at = |share: f64| quantile(&all, share);
    Some(Range { low: at(0.25)?, middle: at(0.5)?, high: at(0.75)? })
        .filter(|range| all.len() >= TRAINS_LEAST && range.high <= RATES_APART * range.low)
}

fn of_heads(trains: &[&Train]) -> Vec<f64> {
    let known = trains.iter().filter(|train| train.head >= HEAD_LEAST);
    known
        .map(|train| {
            let bits = 8.0 * f64::from(train.head) * train.packet_bytes.0 as f64;
            bits / (train.head_ns.0.max(1) as f64 / 1e9)
        })
        .collect()
}

/// Whether the first packets of trains came five times as far apart as they were sent, and all that
/// came at all soon after and as far apart: a slow link spreads them, and a queue before it has
/// room for few. Before a policer behind a slow link the others would have waited, and what passes
/// a policer comes in bursts with gaps between.
fn is_far_spread(trains: &[&Train]) -> bool {
    let full: Vec<&Train> = trains.iter().copied().filter(is_full).collect();
    let sent = median(&full.iter().map(|train| sent_bps(train)).collect::<Vec<f64>>());
    let waited = |train: &&Train| train.came_ns.0 as f64 / train.sent_ns.0.max(1) as f64;
    let waited = median(&full.iter().map(waited).collect::<Vec<f64>>());
    let is_spread = head_bps(&full).zip(sent).is_some_and(|(head, sent)| head <= FAR_SPREAD * sent);
    let even = full.iter().filter(|train| is_even(train)).count();
    is_spread
        && waited.is_some_and(|waited| waited <= WAITED_MOST)
        && even as f64 >= EVEN_SHARE * full.len() as f64
}

/// Whether the first packets of a train came as far apart as all that came.
fn is_even(train: &Train) -> bool {
    let head = train.head_ns.0 as f64 / f64::from(train.head.max(1));
    let all = train.came_ns.0 as f64 / f64::from(train.came.saturating_sub(1).max(1));
    train.head >= HEAD_LEAST && EVEN.contains(&(head / all.max(1.0)))
}

fn sent_bps(train: &Train) -> f64 {
    8.0 * f64::from(train.sent) * train.packet_bytes.0 as f64 / seconds(train).max(1e-9)
}

/// Whether the first packets of trains came further apart than they were sent.
fn is_spread(trains: &[&Train]) -> bool {
    let sent = median(&trains.iter().map(|train| sent_bps(train)).collect::<Vec<f64>>());
    head_bps(trains).zip(sent).is_some_and(|(head, sent)| head < 0.5 * sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, Nanos};

    /// A train of 256 packets of 1500 B that was sent so far apart, through a bucket or a queue.
    fn train(gap_us: f64, rate_bps: f64, room: f64, is_queue: bool) -> Train {
        let each_us = 12_000.0 / (rate_bps / 1e6);
        let time_us = 256.0 * gap_us;
        let came = (room + time_us / each_us).min(256.0).floor();
        let (head, tail) = ((came / 2.0).floor(), came - (came / 2.0).floor() - 1.0);
        let fast = |packets: f64| {
            if is_queue {
                packets * each_us.max(gap_us)
            } else {
                packets.min(room) * gap_us + (packets - room).max(0.0) * each_us.max(gap_us)
            }
        };
        let (whole, first) = (fast(came), fast(head));
        Train {
            packet_bytes: Bytes(1500),
            sent: 256,
            sent_ns: Nanos((1e3 * time_us) as u64),
            came: came as u32,
            late: 0,
            came_ns: Nanos((1e3 * whole) as u64),
            tail: tail as u32,
            tail_ns: Nanos((1e3 * (whole - first)) as u64),
            head: came.min(8.0) as u32 - 1,
            head_ns: Nanos((1e3 * fast(came.min(8.0) - 1.0)) as u64),
            ..Train::default()
        }
    }

    fn way(rate_bps: f64, room: f64, is_queue: bool, gap_us: f64) -> WayProbe {
        let trains = vec![train(8.0, rate_bps, room, is_queue); 10];
        let paced = vec![train(gap_us, rate_bps, room, is_queue); 6];
        WayProbe { trains, paced, ..WayProbe::default() }
    }

    fn limited_of(way: &WayProbe) -> Limited {
        match bursts(&[way]) {
            Some(Bursts::Limited(limited)) => limited,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_policer_is_told_with_its_rate_and_its_bucket() {
        // 20 Mb/s, ten packets.
        let found = limited_of(&way(20e6, 10.0, false, 400.0));
        let rate = found.rate_bps.expect("a rate");
        assert!((rate.middle / 20e6 - 1.0).abs() < 0.05, "{found:?}");
        let room = found.room_bytes.expect("a bucket");
        assert!((12_000.0..18_000.0).contains(&room), "{found:?}");
        assert!(!found.is_queue, "{found:?}");
    }

    #[test]
    fn a_short_queue_is_told_by_what_it_spreads_out() {
        let found = limited_of(&way(200e6, 5.0, true, 40.0));
        let rate = found.rate_bps.expect("a rate");
        assert!((rate.middle / 200e6 - 1.0).abs() < 0.05, "{found:?}");
        assert!(found.is_queue, "{found:?}");
    }

    #[test]
    fn a_policer_behind_a_slow_link_is_no_short_queue() {
        // The link of 200 Mb/s holds all that waits, and the policer of 20 Mb/s takes most of it.
        let behind = |gap_us: f64, came: u32| Train {
            came,
            came_ns: Nanos(15_360_000),
            ..train(gap_us, 200e6, 256.0, true)
        };
        let trains = vec![behind(8.0, 35); 10];
        let paced = vec![train(400.0, 20e6, 10.0, false); 6];
        let found = limited_of(&WayProbe { trains, paced, ..WayProbe::default() });
        assert!(!found.is_queue, "{found:?}");
        // A bucket that lets seven pass as they were sent, or after a gap among them.
        let gaps = |head_us: u64| Train {
            head_ns: Nanos(1000 * head_us),
            came_ns: Nanos(1_500_000),
            ..train(8.0, 100e6, 13.0, false)
        };
        let trains = [vec![gaps(29); 4], vec![gaps(1400); 6]].concat();
        let paced = vec![train(400.0, 20e6, 10.0, false); 6];
        let bucket = limited_of(&WayProbe { trains, paced, ..WayProbe::default() });
        assert!(!bucket.is_queue, "{bucket:?}");
        let at_once = limited_of(&WayProbe {
            trains: vec![train(8.0, 200e6, 5.0, true); 10],
            paced: vec![train(400.0, 20e6, 10.0, false); 6],
            ..WayProbe::default()
        });
        assert!(at_once.is_queue && at_once.room_bytes.is_none(), "{at_once:?}");
        let link = at_once.rate_bps.expect("the link's");
        assert!((link.middle / 200e6 - 1.0).abs() < 0.05, "{at_once:?}");
    }

    #[test]
    fn slow_trains_that_were_sent_in_bunches_tell_no_rate() {
        // A queue of eight before 200 Mb/s. The sender of slow trains was put aside: at 68 Mb/s
        // they lost a fifth, as a rate of 54 Mb/s would take it, and at 21 a tenth.
        let fast = train(4.0, 200e6, 8.0, true);
        let slow = |came: u32, ms: u64| Train {
            came,
            sent_ns: Nanos(1_000_000 * ms),
            ..train(176.0, 1e12, 256.0, false)
        };
        let of = |last: Train| {
            let mut paced = vec![slow(205, 45); 6];
            paced.push(last);
            let way = WayProbe { trains: vec![fast; 10], paced, ..WayProbe::default() };
            limited_of(&way)
        };
        let found = of(slow(231, 148));
        assert!(found.is_queue, "{found:?}");
        let rate = found.rate_bps.expect("as its packets came");
        assert!((rate.middle / 200e6 - 1.0).abs() < 0.05, "{found:?}");
        // 25 packets pass while 17 leave.
        let room = found.room_bytes.expect("of the link's rate");
        assert!((11_000.0..13_000.0).contains(&room), "{found:?}");
        // Without that train the bursts themselves still say so.
        let told = of(slow(256, 148)).rate_bps.expect("a rate");
        assert!((told.middle / 200e6 - 1.0).abs() < 0.05, "{told:?}");
    }

    #[test]
    fn losses_at_random_meet_slow_trains_too() {
        let lossy = |gap_us: f64, lost: u32| {
            let free = train(gap_us, 1e12, 256.0, false);
            Train { came: 256 - lost, ..free }
        };
        let of = |fast: u32, slow: u32| WayProbe {
            trains: vec![lossy(8.0, fast); 10],
            paced: vec![lossy(500.0, slow); 8],
            ..WayProbe::default()
        };
        let Some(Bursts::AtRandom { lost_share }) = bursts(&[&of(5, 5)]) else {
            panic!("two in a hundred at random")
        };
        assert!((lost_share - 5.0 / 256.0).abs() < 1e-9);
        assert_eq!(bursts(&[&of(0, 0)]), Some(Bursts::Whole));
        // Half of all packets at random.
        assert!(matches!(bursts(&[&of(128, 128)]), Some(Bursts::AtRandom { .. })));
        // Fewer than chance explains, and more than nothing.
        assert_eq!(bursts(&[&of(5, 2)]), None);
        let alone = WayProbe { paced: Vec::new(), ..of(5, 5) };
        assert_eq!(bursts(&[&alone]), None, "no slower train");
    }

    #[test]
    fn bursts_that_lose_more_by_chance_are_not_called_limited() {
        let lossy = |gap_us: f64, lost: u32| {
            let free = train(gap_us, 1e12, 256.0, false);
            Train { came: 256 - lost, ..free }
        };
        // Ten fast trains and six slow ones, of 256 packets: 2560 and 1536.
        let of = |fast: u32| {
            let paced = [1, 1, 1, 1, 1, 0].map(|lost| lossy(500.0, lost));
            let trains = vec![lossy(8.0, fast); 10];
            let way = WayProbe { trains, paced: paced.to_vec(), ..WayProbe::default() };
            bursts(&[&way])
        };
        // 40 and 5 lost: 1.56 % and 0.33 %. One standard error of the difference is the root of
        // 0.01099 * 0.98901 * (1/2560 + 1/1536), 0.34 %; four are more than 1.24 %.
        assert_eq!(of(4), None);
        // 50 and 5 lost: 1.95 % and 0.33 %, four standard errors are 1.49 %.
        assert!(matches!(of(5), Some(Bursts::Limited(_))), "{:?}", of(5));
    }

    #[test]
    fn rows_that_few_trains_lose_are_no_short_queue() {
        // Ten trains of 256 at once and six apart, of which none lost any.
        let of = |cut: usize| {
            let free = train(8.0, 1e12, 256.0, false);
            let mut trains = vec![free; 10];
            trains[..cut].iter_mut().for_each(|train| train.came = 188);
            let paced = vec![train(500.0, 1e12, 256.0, false); 6];
            bursts(&[&WayProbe { trains, paced, ..WayProbe::default() }])
        };
        assert_eq!(of(2), None, "two of ten lost a row of 68");
        assert_eq!(of(4), None);
        assert!(matches!(of(5), Some(Bursts::Limited(_))), "{:?}", of(5));
    }
}
