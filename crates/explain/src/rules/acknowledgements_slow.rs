//! `acknowledgements-slow`: do acknowledgements wait on the way back?
//!
//! A way back that is much narrower than the way there (an asymmetric line, a shaper on the
//! receiver's side) lets through so many acknowledgements a second and no more. TCP's round trip
//! grows as before a shaper on the way there. What tells the two apart: acknowledgements come at
//! one rate, each for more and more segments, or in all streams of a study, whatever these carry;
//! or, as the sender puts more under way, it is more of them that have left the receiver and not
//! come, and no more data that has left the sender and not come.

use crate::measured::{self, Blind, Cell, Looked, cells, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Moment, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::median;

/// Whether the way back is the narrow one.
pub static RULE: Rule = Rule {
    name: "acknowledgements-slow",
    asks: "Do acknowledgements wait on the return path?",
    of_host: false,
    judge,
};

/// How far apart the runs' acknowledgements a second may be. Behind 1.5 Mb/s on the way back 2,836,
/// 2,840 and 2,843 came; before shapers on the way there they were 20 to 40 % apart, since the
/// kernel joins now more and now fewer segments.
const SPREAD_MAX: f64 = 0.02;
/// How far apart the runs' rates of data are at least, behind acknowledgements at one rate: 34 %
/// there.
const DATA_SPREAD_MIN: f64 = 0.1;
/// Part of what the window grew by that is found on the one way, where it is: 0.4 to 1.4 of it on
/// a slow way back, and of a shaper's on the way there 0.9 to 1.0.
const GROWN_SHARE: f64 = 0.4;
/// Segments by which the window must have grown: the ends' windows differ by a few.
const GROWTH_MIN: f64 = 8.0;
/// A receiver acknowledges every second segment, or every second packet that was joined of a few:
/// fewer for each are no choice of the way back's.
const SEGMENTS_MIN: f64 = 2.2;
/// A shorter wait is one of wake-ups.
const WAITED_MIN_NS: f64 = 1e6;
/// TCP waits for acknowledgements all the time.
const ENGAGED_MIN: f64 = 0.9;
/// From this share on losses hold the stream too.
const LOST_SHARE: f64 = 0.001;
/// Fewer runs may agree by accident.
const RUNS_MIN: usize = 3;
/// A window of fewer of the path's shortest round trips holds a stream that still speeds up.
const TRIPS_MIN: f64 = 16.0;
/// Trains that come back at so many times the pace of acknowledgements say that the way back lets
/// more of them pass.
const PASSES_TIMES: f64 = 1.5;
/// Bits of a full packet.
const FULL_BITS: f64 = 8.0 * 1500.0;
/// Bits of an acknowledgement with timestamps, as an IPv4 packet.
const ACK_BITS: f64 = 8.0 * 52.0;

/// Streams that are compared with each other, at least.
const STREAMS_MIN: usize = 3;
/// How many times as many segments the fastest of them sends as the slowest, at least.
const SENT_TIMES: f64 = 1.3;

fn judge(case: &Case<'_>) -> Verdict {
    let all: Vec<Cell<'_>> = cells(case).collect();
    measured::judge(case, Needed::TcpCountersOfSender, None, |cell| {
        let streams: Vec<Stream> =
            all.iter().filter_map(|other| Stream::beside(cell, other)).collect();
        look(cell, has_one_rate(&streams))
    })
}

/// What came back of a stream, and what it sent.
struct Stream {
    came_hz: f64,
    sent_hz: f64,
    /// Whether it waits for acknowledgements, and for nothing else.
    waits: bool,
}

impl Stream {
    /// A stream as a cell's, without a pace, over the same way; the cell's own too.
    fn beside(cell: &Cell<'_>, other: &Cell<'_>) -> Option<Self> {
        let (own, of) = (cell.trial, other.trial);
        let is_same_way = own.path == of.path
            && own.ends == of.ends
            && own.params.is_reverse() == of.params.is_reverse();
        let is_plain = other.is_tcp_stream() && !other.is_paced() && !of.params.is_bidirectional();
        (is_same_way && is_plain).then_some(())?;
        let came_hz = came_each_second(other).into_iter().reduce(f64::max)?;
        let window_s =
            other.of_sender(|end| Some(end.window_ns.seconds())).filter(|of| *of > 0.0)?;
        let sent_hz = other.losses()?.sent / window_s;
        Some(Self { came_hz, sent_hz, waits: waits(other) })
    }
}

/// Whether all streams of a way get as many acknowledgements a second, though they send more and
/// less: congestion controls and numbers of flows have that in common on a slow way back alone. One
/// that gets more says that more pass.
fn has_one_rate(all: &[Stream]) -> bool {
    let waiting: Vec<&Stream> = all.iter().filter(|one| one.waits).collect();
    let ends = |of: fn(&Stream) -> f64| {
        let low = waiting.iter().map(|one| of(one)).fold(f64::INFINITY, f64::min);
        (low, waiting.iter().map(|one| of(one)).fold(0.0, f64::max))
    };
    let (came, sent) = (ends(|one| one.came_hz), ends(|one| one.sent_hz));
    waiting.len() >= STREAMS_MIN
        && came.1 - came.0 <= SPREAD_MAX * came.1
        && all.iter().all(|one| one.came_hz <= came.0 * (1.0 + SPREAD_MAX))
        && sent.1 >= SENT_TIMES * sent.0
}

fn look(cell: &Cell<'_>, is_alike: bool) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() || cell.trial.params.is_bidirectional() {
        return Err(Blind::OtherKind);
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let rates = came_each_second(cell);
    let high = rates.iter().copied().reduce(f64::max);
    let high = high.ok_or_else(|| cell.lacks(Measure::AcknowledgementsIn))?;
    let seen = format!(
        "at most {high:.0} acknowledgements a second came in {} runs, each for {:.1} segments; \
         packets waited {:.1} ms at the least",
        rates.len(),
        segments_each(cell, losses.sent, high),
        trips.waited_ns() / 1e6
    );
    let is_held = is_alike
        && waits(cell)
        && !passes_more(cell)
        && segments_each(cell, losses.sent, high) >= SEGMENTS_MIN;
    let wrong = (is_held || is_way_back(cell)).then(|| {
        let says = format!(
            "Acknowledgements come back at {high:.0} a second and no faster in {}, about {:.2} Mb/s \
             of packets: the return path is slow, and the sender waits for it",
            cell.trial.label,
            high * ACK_BITS / 1e6
        );
        let remedy = "look at the other direction: measure it by itself (--reverse), and see what \
                      shapes what leaves the receiver: tc -s qdisc there and on routers, an \
                      asymmetric line; acknowledgements that pass first there (a priority queue) \
                      help as well";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether the sender waits for acknowledgements of what waits somewhere, and for nothing else.
fn waits(cell: &Cell<'_>) -> bool {
    let (Some(trips), Some(losses)) = (cell.trips(), cell.losses()) else { return false };
    let is_queued = trips.middle_ns - trips.shortest_ns >= WAITED_MIN_NS;
    let is_engaged = cell.engaged_share().is_none_or(|share| share >= ENGAGED_MIN);
    is_queued && is_engaged && losses.lost < LOST_SHARE && !cell.is_limited_by_buffers()
}

/// Whether what the sender waits for are acknowledgements that wait on the way back.
pub fn is_way_back(cell: &Cell<'_>) -> bool {
    let (Some(trips), Some(losses)) = (cell.trips(), cell.losses()) else { return false };
    let is_one_way = !cell.trial.params.is_bidirectional();
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(0.0);
    let is_long = window_ns >= TRIPS_MIN * trips.shortest_ns;
    let is_measured = cell.done.len() >= RUNS_MIN && is_long;
    waits(cell)
        && is_one_way
        && is_measured
        && !passes_more(cell)
        && (is_constant(cell, losses.sent) || is_where_it_grows(cell))
}

/// Whether trains of full packets come back at a faster pace than acknowledgements do.
fn passes_more(cell: &Cell<'_>) -> bool {
    let high = came_each_second(cell).into_iter().reduce(f64::max).unwrap_or(0.0);
    let carried = cell.carried_back();
    carried.is_some_and(|back| back.low / FULL_BITS >= PASSES_TIMES * high)
}

fn segments_each(cell: &Cell<'_>, sent: f64, came_hz: f64) -> f64 {
    let window_s = cell.of_sender(|end| Some(end.window_ns.seconds())).unwrap_or(1.0);
    sent / window_s.max(1e-9) / came_hz.max(1.0)
}

/// Whether acknowledgements came at one rate in all runs, each for many segments.
fn is_constant(cell: &Cell<'_>, sent: f64) -> bool {
    let rates = came_each_second(cell);
    let low = rates.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = rates.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let is_even = rates.len() >= RUNS_MIN && high - low <= SPREAD_MAX * high;
    // Before a shaper on the way there the data are as constant as what acknowledges them.
    let varies = cell.rates().is_some_and(|rates| rates.spread() >= DATA_SPREAD_MIN);
    is_even && varies && segments_each(cell, sent, high) >= SEGMENTS_MIN
}

/// Whether in every run the congestion window grew and the data under way did not, and in the
/// median run the acknowledgements under way did.
fn is_where_it_grows(cell: &Cell<'_>) -> bool {
    let ends = cell.done.iter().map(|record| record.sender().zip(record.receiver()));
    let all: Option<Vec<Growth>> =
        ends.map(|ends| ends.and_then(|(sends, takes)| Growth::of(sends, takes))).collect();
    let all = all.filter(|_| cell.trial.params.streams == 1).unwrap_or_default();
    let shares: Vec<f64> = all.iter().map(|one| one.back / one.window.max(1.0)).collect();
    all.iter().all(|one| one.is_not_there())
        && median(&shares).is_some_and(|share| share >= GROWN_SHARE)
}

/// By how much a window opened more than it closed, in segments.
#[derive(Clone, Copy)]
struct Growth {
    /// Of what TCP may have under way.
    window: f64,
    /// Of the data that had left and not come.
    there: f64,
    /// Of what the acknowledgements cover that had left and not come.
    back: f64,
}

impl Growth {
    fn of(sends: &EndReport, takes: &EndReport) -> Option<Self> {
        let at = |moment| sends.readings.each(keys::CONGESTION_WINDOW, moment).next();
        let (open, close) = (at(Moment::Opening)?.1 as f64, at(Moment::Closing)?.1 as f64);
        let again = count_of(sends, keys::RETRANSMITTED)?;
        let data_came = count_of(takes, keys::DATA_IN)?;
        let there = count_of(sends, keys::DATA_OUT)? - again - data_came;
        let acks = count_of(takes, keys::SENT)?;
        let each = data_came / acks.max(1.0);
        let back = (acks - count_of(sends, keys::SEGMENTS_IN)?) * each;
        Some(Self { window: close - open, there, back })
    }

    fn is_not_there(self) -> bool {
        self.window >= GROWTH_MIN && self.there.abs() <= 0.5 * GROWN_SHARE * self.window
    }
}

fn count_of(end: &EndReport, of: Counter) -> Option<f64> {
    end.readings.total(of).map(|count| count as f64)
}

/// Segments a second that came back to the sender, of each run.
fn came_each_second(cell: &Cell<'_>) -> Vec<f64> {
    let ends = cell.done.iter().filter_map(|record| record.sender());
    ends.filter_map(|end| {
        let came = end.readings.total(keys::SEGMENTS_IN)? as f64;
        (came > 0.0 && end.window_ns.0 > 0).then(|| came / end.window_ns.seconds())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::probes::testing::{carries, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::probe::PathProbe;
    use narrows_model::study::StoredStudy;

    /// A stream whose runs got so many acknowledgements, each for so many segments.
    fn study(came: [u64; 3], sent: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("rtt_min_ns", 8_000),
            ("rtt_ns", 10_000_000),
            ("lowest:rtt_ns", 8_000_000),
            ("highest:rtt_ns", 18_000_000),
            ("sent_segments", sent),
            ("retransmitted_segments", 0),
            ("busy_ns", 960_000_000),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        for (record, came) in study.records.iter_mut().zip(came) {
            for end in record.of_mut(Role::Sender) {
                end.readings.put_words("tcp-info", "flow0.received_segments", came);
            }
        }
        study
    }

    /// Runs that are 0, 10 and 20 % faster.
    fn unsteady(mut study: StoredStudy) -> StoredStudy {
        for (number, record) in (10..).zip(&mut study.records) {
            for end in record.of_mut(Role::Receiver) {
                end.flows[0].bytes.0 = end.flows[0].bytes.0 / 10 * number;
            }
        }
        study
    }

    #[test]
    fn a_constant_rate_of_acknowledgements_is_found() {
        let even = study([2836, 2840, 2843], 231_000);
        assert!(
            is_clear(&of_study(&RULE, &even)),
            "the data are as even: a shaper on the way there"
        );
        assert!(is_found(&of_study(&RULE, &unsteady(even))));
        let joined = study([1240, 1650, 1653], 16_500);
        assert!(is_clear(&of_study(&RULE, &joined)), "a shaper on the way there");
        let each = unsteady(study([8000, 8001, 8002], 16_000));
        assert!(is_clear(&of_study(&RULE, &each)), "every second segment");
        // 27 Mb/s behind 500 kb/s on the way back, of a sender whose packets are joined by nobody.
        let few = unsteady(study([950, 952, 957], 2330));
        assert!(is_found(&of_study(&RULE, &few)), "{:?}", of_study(&RULE, &few));
        let mut idle = unsteady(study([2836, 2840, 2843], 231_000));
        read(&mut idle, "tcp-info", "flow0.busy_ns", 300_000_000);
        assert!(is_clear(&of_study(&RULE, &idle)), "the sender had nothing to send");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn streams_that_carry_more_and_less_for_as_many_acknowledgements_are_held_by_them() {
        let stream = |came_hz, sent_hz, waits| Stream { came_hz, sent_hz, waits };
        // Behind 500 kb/s on the way back: cubic, bbr and four flows.
        let three = || [(953.0, 4140.0), (952.0, 2440.0), (950.0, 2320.0)];
        let of = |all: &[(f64, f64)], more: Option<Stream>| {
            let streams = all.iter().map(|(came, sent)| stream(*came, *sent, true));
            has_one_rate(&streams.chain(more).collect::<Vec<Stream>>())
        };
        assert!(of(&three(), None));
        assert!(!of(&three()[..2], None), "two may agree by accident");
        assert!(!of(&three(), Some(stream(1000.0, 2320.0, true))), "5 % apart");
        assert!(!of(&three(), Some(stream(2000.0, 9000.0, false))), "twice as many passed");
        assert!(of(&three(), Some(stream(500.0, 900.0, false))), "held by something else");
        // A shaper on the way there carries as much of each.
        assert!(!of(&[(950.0, 4140.0), (950.0, 4100.0), (950.0, 4000.0)], None));
    }

    /// A stream of one flow, and the same of two and of four: each gets as many acknowledgements,
    /// for more and more.
    #[test]
    fn a_cell_is_found_by_what_those_beside_it_get() {
        use crate::beside::testing::with_beside;
        let of = |came: u64| {
            let mut all = study([950, 952, 951], 2330);
            for (streams, times) in [(2, 1.4), (4, 2.0)] {
                with_beside(&mut all, |params| params.streams = streams, times);
            }
            let [own, two] = [0, 1].map(|at: usize| all.trials[at].id.clone());
            for record in all.records.iter_mut().filter(|record| record.trial != own) {
                let times = if record.trial == two { 14 } else { 20 };
                for end in record.of_mut(Role::Sender) {
                    end.readings.put_words("tcp-info", "flow0.sent_segments", 2330 * times / 10);
                    end.readings.put_words("tcp-info", "flow0.received_segments", came);
                }
            }
            of_study(&RULE, &all)
        };
        assert!(is_found(&of(951)), "{:?}", of(951));
        assert!(is_clear(&of(1500)), "more pass");
    }

    #[test]
    fn trains_that_come_back_faster_than_acknowledgements_say_that_more_would_pass() {
        let of = |mbps: u64| {
            let mut study = unsteady(study([2836, 2840, 2843], 231_000));
            let probe = PathProbe { back: carries(mbps), ..PathProbe::default() };
            with_probes(&mut study, &[probe]);
            of_study(&RULE, &study)
        };
        // Packets of 1500 B at 8,333 and at 3,333 a second.
        assert!(is_clear(&of(100)), "{:?}", of(100));
        assert!(is_found(&of(40)));
    }

    /// What one end had under way as the windows closed: data that had not come, acknowledgements
    /// that had not come.
    fn grown(data: u64, acks: u64) -> StoredStudy {
        let mut study = study([217 - acks, 211 - acks, 214 - acks], 420);
        for (key, value) in [
            ("sent_data_segments", 420 + data),
            ("opening:congestion_window_segments", 31),
            ("congestion_window_segments", 51),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        for record in &mut study.records {
            let came = record.sender().and_then(|end| end.readings.total(keys::SEGMENTS_IN));
            for end in record.of_mut(Role::Receiver) {
                let sent = came.unwrap_or(0) + acks;
                end.readings.put_words("tcp-info", "flow0.sent_segments", sent);
            }
        }
        read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 420);
        study
    }

    #[test]
    fn what_grows_tells_the_two_ways_apart() {
        assert!(is_found(&of_study(&RULE, &grown(0, 11))));
        assert!(is_clear(&of_study(&RULE, &grown(20, 0))), "a queue on the way there");
        assert!(is_clear(&of_study(&RULE, &grown(0, 0))));
        // A second has 6 round trips of a path of 160 ms: its stream still speeds up.
        let far = |shortest_ms: u64| {
            let mut study = grown(0, 11);
            for (key, more_ms) in
                [("rtt_min_ns", 0), ("lowest:rtt_ns", 0), ("rtt_ns", 5), ("highest:rtt_ns", 10)]
            {
                let value = (shortest_ms + more_ms) * 1_000_000;
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&far(60)) && is_clear(&far(160)));
    }
}
