//! What the counters of a TCP stream say of its path: rates, queues, losses.

use crate::measured::{Cell, LONG_PATH_NS};
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Gauge, Moment, Scope, keys};
use narrows_stats::{Loss, LossPlace, median};

/// Bytes of the headers of a packet that carries a segment: IPv4 and TCP with timestamps. With IPv6
/// it is 20 more, which changes a rate by 1.4 %.
const PACKET_HEADERS_BYTES: f64 = 52.0;
/// Of what a full window moves in each of the shortest round trips a stream that it holds has so
/// much: its thread may be late, and its round trips longer.
const FULL_WINDOW: f64 = 0.7;
/// Linux's first window is 64 KiB (half of 131,072 B), and only grows: below half of that something
/// keeps it small.
const GROWN_WINDOW_BYTES: f64 = 32_768.0;
/// A window is steady where its largest is at most so many times its least.
const STEADY_WINDOW: f64 = 1.25;
/// A congestion window of so many times as much does not hold what the other does.
const LARGER_WINDOW: f64 = 2.0;
/// What travels of such a window by the rate and the smoothed round trip, which is a long one.
const TRAVELS: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// And hardly more: then the window grew after it was read.
const BEYOND_WINDOW: f64 = 1.1;

/// Rates in bits a second, of payload.
pub struct Rates {
    /// The median of the runs.
    pub middle: f64,
    /// Rate of the slowest run.
    pub low: f64,
    /// Rate of the fastest run.
    pub high: f64,
}

impl Rates {
    /// How far apart the runs are: the range as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.middle.max(1.0)
    }
}

/// Shorter waits are those of wake-ups and of CPUs that others use.
pub const QUEUED_MIN_NS: f64 = 2e6;
/// In the median run.
const SEGMENTS_LEAST: f64 = 20.0;
/// Round trips that are so many times the shortest are mostly waiting.
pub const QUEUED_TIMES: f64 = 3.0;

/// Round trips of a cell in nanoseconds.
pub struct Trips {
    /// The shortest that any flow saw since it began.
    pub shortest_ns: f64,
    /// The shortest smoothed one of the window: with a queue that never empties it is far above the
    /// first.
    pub least_ns: f64,
    /// The middle of the window.
    pub middle_ns: f64,
}

impl Trips {
    /// How long packets waited at the least while the stream ran.
    pub fn waited_ns(&self) -> f64 {
        (self.least_ns - self.shortest_ns).max(0.0)
    }

    /// Whether most of what is under way stands in a queue all the time. More under way lengthens
    /// the queue then and moves no more: no window and no buffer is what holds the stream.
    pub fn are_of_a_queue(&self) -> bool {
        self.waited_ns() >= QUEUED_MIN_NS && self.least_ns >= QUEUED_TIMES * self.shortest_ns
    }
}

/// Segments of a cell, as shares of those that were sent.
pub struct Losses {
    /// Sent again, and missing until then.
    pub lost: f64,
    /// Reported by the receiver as had already.
    pub had: f64,
    /// Sent again, for whichever reason.
    pub again: f64,
    /// Came before others that were sent earlier.
    pub early: f64,
    /// How many were sent, in the median run.
    pub sent: f64,
}

impl Cell<'_> {
    /// Rates of the runs that have one.
    pub fn rates(&self) -> Option<Rates> {
        let values: Vec<f64> = self.summary.values.iter().map(|value| value.value).collect();
        let middle = median(&values)?;
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        (middle > 0.0).then_some(Rates { middle, low, high })
    }

    /// The same of six runs or more without the one that is furthest from the middle: an accident
    /// of one run hides nothing.
    pub fn usual_rates(&self) -> Option<Rates> {
        let all = self.rates()?;
        let mut values: Vec<f64> = self.summary.values.iter().map(|value| value.value).collect();
        let far = |value: &f64| (value - all.middle).abs();
        values.sort_by(|a, b| far(a).total_cmp(&far(b)));
        if values.len() >= USUAL_RUNS_MIN {
            values.pop();
        }
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        Some(Rates { middle: all.middle, low, high })
    }

    /// How much the rate changed between the slices of a run: standard deviation over mean, median
    /// of the runs.
    pub fn unsteadiness(&self) -> Option<f64> {
        self.of_receiver(|end| {
            let rates = slice_rates(end);
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
            (rates.len() >= SLICES_MIN && mean > 0.0)
                .then(|| (squares / rates.len() as f64).sqrt() / mean)
        })
    }

    /// The fastest slices of the runs.
    pub fn fastest_slices(&self) -> Option<Rates> {
        let all = self.each_fastest();
        let low = all.iter().copied().reduce(f64::min)?;
        let high = all.iter().copied().reduce(f64::max)?;
        Some(Rates { middle: median(&all)?, low, high })
    }

    /// Share of the runs whose fastest slices are so near to the middle one of all; `None` of fewer
    /// than four runs.
    pub fn fastest_alike(&self, within: f64) -> Option<f64> {
        let all = self.each_fastest();
        let middle = median(&all).filter(|_| all.len() >= ALIKE_RUNS_MIN)?;
        let near = all.iter().filter(|rate| (*rate - middle).abs() <= within * middle);
        Some(near.count() as f64 / all.len() as f64)
    }

    /// The fastest slice of each run, in bits a second.
    fn each_fastest(&self) -> Vec<f64> {
        let ends = self.done.iter().filter_map(|record| record.receiver());
        // Bytes a nanosecond.
        ends.filter_map(|end| {
            let rates = slice_rates(end);
            (rates.len() >= SLICES_MIN).then(|| rates.into_iter().reduce(f64::max)).flatten()
        })
        .map(|rate| 8e9 * rate)
        .collect()
    }

    /// Nanoseconds of a run in whole slices in which nothing came, median of the runs.
    pub fn silent_ns(&self) -> Option<f64> {
        self.of_receiver(|end| {
            (end.intervals.len() >= SLICES_MIN).then(|| {
                let silent = end.intervals.iter().filter(|slice| slice.bytes.0 == 0);
                silent.map(|slice| slice.length_ns.0 as f64).sum()
            })
        })
    }

    /// Round trips, as the sender's TCP measured them.
    pub fn trips(&self) -> Option<Trips> {
        let of = |gauge, at| self.of_sender(|end| median(&each(end, gauge, at)));
        let closing = of(keys::RTT, Moment::Closing)?;
        let least_ns = of(keys::RTT, Moment::Lowest).unwrap_or(closing);
        let highest = of(keys::RTT, Moment::Highest).unwrap_or(closing);
        let middle_ns = median(&[least_ns, closing, highest])?;
        Some(Trips {
            shortest_ns: self.of_sender(|end: &EndReport| {
                each(end, keys::RTT_MIN, Moment::Closing).into_iter().reduce(f64::min)
            })?,
            least_ns,
            middle_ns,
        })
    }

    /// The longest smoothed round trip of the window, of the median run.
    pub fn longest_trip_ns(&self) -> Option<f64> {
        self.of_sender(|end| {
            let all =
                [each(end, keys::RTT, Moment::Highest), each(end, keys::RTT, Moment::Closing)];
            all.concat().into_iter().reduce(f64::max)
        })
    }

    /// Whether so few segments were sent that their round trips are those of handshakes and of
    /// timers, and tell nothing of queues.
    pub fn is_nearly_silent(&self) -> bool {
        self.is_tcp_stream()
            && self.sent_count(keys::SENT).is_some_and(|sent| sent < SEGMENTS_LEAST)
    }

    /// A count of the sender's flows, in the median run.
    pub fn sent_count(&self, counter: Counter) -> Option<f64> {
        self.of_sender(|end| end.readings.total(counter).map(|count| count as f64))
    }

    /// The same of the receiver's.
    pub fn received_count(&self, counter: Counter) -> Option<f64> {
        self.of_receiver(|end| end.readings.total(counter).map(|count| count as f64))
    }

    /// What became of the segments.
    pub fn losses(&self) -> Option<Losses> {
        let sent = self.sent_count(keys::SENT).filter(|sent| *sent > 0.0)?;
        let again = self.sent_count(keys::RETRANSMITTED)?;
        let had = self.sent_count(keys::DUPLICATES).unwrap_or(0.0);
        let early = self.received_count(keys::OUT_OF_ORDER).unwrap_or(0.0);
        let lost = self.of_sender(|end| segments_lost(end).map(|lost| lost as f64))?;
        Some(Losses {
            lost: lost / sent,
            had: had / sent,
            again: again / sent,
            early: early / sent,
            sent,
        })
    }

    /// Largest segment that was sent, in bytes.
    pub fn segment_bytes(&self) -> Option<f64> {
        self.of_sender(|end| {
            each(end, keys::SEND_MSS, Moment::Closing).into_iter().reduce(f64::max)
        })
    }

    /// The largest segment that the receiver's TCP says it takes, options counted in.
    pub fn advertised_bytes(&self) -> Option<f64> {
        self.of_receiver(|end| {
            each(end, keys::ADVERTISED_MSS, Moment::Closing).into_iter().reduce(f64::max)
        })
    }

    /// The smallest MTU of the flows' paths that TCP knew of as the window closed.
    pub fn path_mtu_bytes(&self) -> Option<f64> {
        self.of_sender(|end| {
            each(end, keys::PATH_MTU, Moment::Closing).into_iter().reduce(f64::min)
        })
    }

    /// The largest congestion window of the flows as the window closed, in segments.
    pub fn congestion_window(&self) -> Option<f64> {
        self.of_sender(|end| {
            each(end, keys::CONGESTION_WINDOW, Moment::Closing).into_iter().reduce(f64::max)
        })
    }

    /// Whether a stream moves the largest window that it is offered in each round trip of a long
    /// path and its congestion window allows more: then the window holds it, whoever uses the CPUs.
    pub fn keeps_window_full(&self) -> bool {
        self.window_bps().zip(self.rates()).is_some_and(|(most, rates)| {
            (FULL_WINDOW * most..=BEYOND_WINDOW * most).contains(&rates.middle)
        })
    }

    /// The window, in bytes, that each flow is offered throughout, where it is smaller than any
    /// that grows by itself and all that travels is about as much, while congestion windows allow
    /// more: each time it is used up the next acknowledgement opens it, and TCP counts little
    /// waiting.
    pub fn small_steady_window(&self) -> Option<f64> {
        let of = |moment, pick: fn(f64, f64) -> f64| {
            self.of_sender(|end| each(end, keys::SEND_WINDOW, moment).into_iter().reduce(pick))
        };
        let (least, most) = (of(Moment::Lowest, f64::min)?, of(Moment::Highest, f64::max)?);
        let allowed = self.of_sender(|end| {
            each(end, keys::CONGESTION_WINDOW, Moment::Lowest).into_iter().reduce(f64::min)
        })?;
        let flows = f64::from(self.trial.params.streams.max(1));
        let travels = self.rates()?.middle / 8.0 * self.trips()?.middle_ns / 1e9 / flows;
        let is_steady = least > 0.0 && most <= STEADY_WINDOW * least;
        let is_of_window = allowed * self.segment_bytes()? >= LARGER_WINDOW * most;
        (most < GROWN_WINDOW_BYTES
            && is_steady
            && is_of_window
            && TRAVELS.contains(&(travels / most)))
        .then_some(most)
    }

    /// What the windows that the flows are offered move in the shortest round trip, in bits a
    /// second of payload; `None` on short paths, and where congestion windows are no larger.
    fn window_bps(&self) -> Option<f64> {
        let shortest_ns = self.trips()?.shortest_ns;
        let flows = f64::from(self.trial.params.streams.max(1));
        let window = self.of_sender(|end| {
            each(end, keys::SEND_WINDOW, Moment::Highest).into_iter().reduce(f64::max)
        })?;
        let allowed = self.of_sender(|end| {
            each(end, keys::CONGESTION_WINDOW, Moment::Lowest).into_iter().reduce(f64::min)
        })?;
        let is_of_window = allowed * self.segment_bytes()? > window;
        (is_of_window && shortest_ns >= LONG_PATH_NS).then(|| flows * 8e9 * window / shortest_ns)
    }

    /// The smallest window at which slow start of a flow ended in the median run, in segments;
    /// `None` where it had no end, or an older agent does not tell.
    pub fn slow_start_threshold(&self) -> Option<f64> {
        self.of_sender(|end| {
            each(end, keys::SLOW_START_THRESHOLD, Moment::Closing).into_iter().reduce(f64::min)
        })
        .filter(|at| *at < keys::NO_THRESHOLD as f64)
    }

    /// Whether no flow of the median run had sent a segment again since it connected; `None` where
    /// an older agent does not tell.
    pub fn has_never_lost(&self) -> Option<bool> {
        let again = self.of_sender(|end| {
            each(end, keys::RETRANSMITTED_SO_FAR, Moment::Closing).into_iter().reduce(f64::max)
        });
        again.map(|again| again == 0.0)
    }

    /// Segments of each flow that are under way at once, at the most: what the rate makes of a
    /// round trip, or the largest congestion window where that is larger.
    pub fn under_way(&self) -> Option<f64> {
        let flows = f64::from(self.trial.params.streams.max(1));
        let travels = || {
            let bytes = self.rates()?.middle / 8.0 * self.trips()?.middle_ns / 1e9;
            Some(bytes / flows / self.segment_bytes()?.max(1.0))
        };
        let highest = self.of_sender(|end| {
            each(end, keys::CONGESTION_WINDOW, Moment::Highest).into_iter().reduce(f64::max)
        });
        let all = [highest, self.congestion_window(), travels()];
        all.into_iter().flatten().reduce(f64::max)
    }

    /// Mean size of what the sender's interface was given.
    pub fn packet_bytes(&self) -> Option<f64> {
        self.of_sender(|end| {
            let of = || end.effective.interface.clone().map(Scope::Nic);
            let packets =
                end.readings.of(keys::TX_PACKETS, of()?).filter(|packets| *packets > 0)?;
            Some(end.readings.of(keys::TX_BYTES, of()?)? as f64 / packets as f64)
        })
    }

    /// A rate of payload as a rate of IP packets.
    pub fn in_packets(&self, payload_bps: f64) -> f64 {
        let segment = self.segment_bytes().unwrap_or(1448.0).max(1.0);
        payload_bps * (segment + PACKET_HEADERS_BYTES) / segment
    }

    /// Whether TCP itself says that a window or a buffer held the sender back.
    pub fn is_limited_by_buffers(&self) -> bool {
        [keys::LIMITED_BY_WINDOW, keys::LIMITED_BY_BUFFER]
            .into_iter()
            .any(|limit| self.limited_share(limit).is_some_and(|share| share >= BUFFERS_SHARE))
    }

    /// Whether most of the datagrams that are lost reached the receiver's host, and its sockets
    /// were not given them or had no room for them.
    pub fn is_lost_at_receiver(&self) -> bool {
        let loss = self.summary.loss.as_ref();
        let (place, lost) = loss.map_or((LossPlace::Unknown, 0), Loss::main_place);
        matches!(place, LossPlace::ReceiverHost | LossPlace::ReceiverSocket) && lost > 0
    }

    /// The shortest round trip that any TCP flow of the study saw between the same addresses, in
    /// nanoseconds: that of a nearer peer is another path's.
    pub fn shortest_ns(&self) -> Option<f64> {
        let alike = self.study.trials.iter().filter(|trial| self.is_beside(trial));
        let ends = alike.flat_map(|trial| self.study.records_of(trial));
        let all = ends.filter_map(|record| record.sender());
        let all = all.flat_map(|end| end.readings.each(keys::RTT_MIN, Moment::Closing));
        all.map(|(_, ns)| ns as f64).filter(|ns| *ns > 0.0).reduce(f64::min)
    }

    /// Whether someone asked for less than what goes.
    pub fn is_paced(&self) -> bool {
        self.trial.params.rate_bps.is_some_and(|rate| rate > 0)
    }

    /// Whether the ends of all connections agreed on an option, by its bit; `None` where it was not
    /// read.
    pub fn agreed(&self, option: u64) -> Option<bool> {
        let ends = self.done.iter().filter_map(|record| record.sender());
        let flags = ends.flat_map(|end| end.readings.each(keys::TCP_OPTIONS, Moment::Closing));
        let common = flags.map(|(_, flags)| flags).reduce(|all, flags| all & flags)?;
        Some(common & option != 0)
    }
}

/// Segments of an end that were sent again, without those that the receiver had already: they were
/// late, and not lost (duplicate SACK, RFC 2883).
pub fn segments_lost(end: &EndReport) -> Option<u64> {
    let had = end.readings.total(keys::DUPLICATES).unwrap_or(0);
    Some(end.readings.total(keys::RETRANSMITTED)?.saturating_sub(had))
}

/// Of fewer runs no single one is left out.
const USUAL_RUNS_MIN: usize = 6;
/// Fewer slices do not tell how steady a rate is.
const SLICES_MIN: usize = 5;
/// Fewer runs may agree by accident.
const ALIKE_RUNS_MIN: usize = 4;
/// From this share of the time on, a window or a buffer is a limit beside others.
pub const BUFFERS_SHARE: f64 = 0.25;

/// Rates of a run's slices; a short rest at its end is left out.
fn slice_rates(end: &EndReport) -> Vec<f64> {
    let longest = end.intervals.iter().map(|slice| slice.length_ns.0).max().unwrap_or(0);
    let whole = end.intervals.iter().filter(|slice| 2 * slice.length_ns.0 >= longest);
    whole.map(|slice| slice.bytes.0 as f64 / slice.length_ns.0.max(1) as f64).collect()
}

/// A state of each flow.
fn each(end: &EndReport, gauge: Gauge, at: Moment) -> Vec<f64> {
    end.readings.each(gauge, at).map(|(_, value)| value as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use crate::measured::cells;
    use crate::measured::testing::{read, read_receiver, slices, stream};
    use narrows_model::study::StoredStudy;

    /// What is asked of the only cell of a study.
    fn asked<T>(study: &StoredStudy, ask: impl Fn(&Cell<'_>) -> T) -> T {
        let summaries = narrows_stats::summarise(study);
        let case = Case { study, summaries: &summaries, predictions: &[] };
        let answer = cells(&case).next().map(|cell| ask(&cell));
        answer.expect("a cell")
    }

    fn with(readings: &[(&str, u64)]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        readings.iter().for_each(|(key, value)| read(&mut study, "tcp-info", key, *value));
        study
    }

    #[test]
    fn slices_tell_how_steady_a_rate_is_its_fastest_and_its_silence() {
        // Ten of 0.1 s: 5 MB/s and 15 MB/s in turn, and none in the last two.
        let mut study = stream("tcp-stream");
        let (slow, fast) = (500_000, 1_500_000);
        slices(&mut study, &[slow, fast, slow, fast, slow, fast, slow, fast, 0, 0]);
        // A mean of 0.8 MB; squares of eight about it and of two that are empty.
        let squares = 4.0 * 0.3f64.powi(2) + 4.0 * 0.7f64.powi(2) + 2.0 * 0.8f64.powi(2);
        let spread = asked(&study, |cell| cell.unsteadiness()).expect("slices");
        assert!((spread - (squares / 10.0).sqrt() / 0.8).abs() < 1e-9, "{spread}");
        assert_eq!(asked(&study, |cell| cell.silent_ns()), Some(2e8));
        let told = asked(&study, |cell| cell.fastest_slices()).expect("slices");
        assert_eq!([told.low, told.middle, told.high], [1.2e8; 3]);
        assert_eq!(told.spread(), 0.0);
        assert_eq!(asked(&study, |cell| cell.fastest_alike(0.1)), None, "three runs");
        let mut four = study.clone();
        four.records.push(four.records[0].clone());
        for (at, bytes) in [(1, 1_650_000), (3, 1_800_000)] {
            let end = four.records[at].of_mut(narrows_model::load::Role::Receiver).next();
            end.expect("a receiver").intervals[1].bytes.0 = bytes;
        }
        // 120, 132, 120 and 144 Mb/s: the middle one is 126.
        let near = |share: f64| asked(&four, |cell| cell.fastest_alike(share));
        assert_eq!([near(0.01), near(0.05), near(0.15)], [Some(0.0), Some(0.75), Some(1.0)]);
        slices(&mut study, &[1, 1, 1, 1]);
        assert_eq!(asked(&study, |cell| cell.unsteadiness()), None, "four slices");
        assert_eq!(asked(&study, |cell| cell.silent_ns()), None);
        slices(&mut study, &[7; 5]);
        assert_eq!(asked(&study, |cell| cell.unsteadiness()), Some(0.0));
    }

    #[test]
    fn a_short_rest_of_a_run_is_no_slice() {
        let mut study = stream("tcp-stream");
        slices(&mut study, &[100; 6]);
        for record in &mut study.records {
            let end = record.of_mut(narrows_model::load::Role::Receiver).next().expect("an end");
            let whole = end.intervals[0].length_ns.0;
            (end.intervals[4].length_ns.0, end.intervals[4].bytes.0) = (whole / 2, 50);
            (end.intervals[5].length_ns.0, end.intervals[5].bytes.0) = (whole / 3, 1_000_000);
        }
        let fastest = asked(&study, |cell| cell.fastest_slices()).expect("slices").high;
        assert!((fastest - 8.0 * 600.0).abs() < 0.01, "{fastest}");
    }

    #[test]
    fn round_trips_are_the_shortest_of_all_flows_and_those_of_the_window() {
        let study = with(&[
            ("flow0.rtt_min_ns", 2_000_000),
            ("flow1.rtt_min_ns", 1_000_000),
            ("flow0.rtt_ns", 7_000_000),
            ("flow1.rtt_ns", 9_000_000),
            ("flow0.lowest:rtt_ns", 4_000_000),
            ("flow1.lowest:rtt_ns", 6_000_000),
            ("flow0.highest:rtt_ns", 20_000_000),
            ("flow1.highest:rtt_ns", 30_000_000),
        ]);
        let trips = asked(&study, |cell| cell.trips()).expect("round trips");
        assert_eq!([trips.shortest_ns, trips.least_ns, trips.middle_ns], [1e6, 5e6, 8e6]);
        assert_eq!(trips.waited_ns(), 4e6);
        assert!(trips.are_of_a_queue());
        assert_eq!(asked(&study, |cell| cell.longest_trip_ns()), Some(3e7));
        assert!(asked(&stream("tcp-stream"), |cell| cell.trips()).is_none());
        let queue = |shortest_ns: f64, least_ns: f64| {
            Trips { shortest_ns, least_ns, middle_ns: least_ns }.are_of_a_queue()
        };
        assert!(queue(1e6, 3e6), "two milliseconds, and three times the shortest");
        assert!(!queue(1e6, 2.99e6) && !queue(0.5e6, 2.49e6) && !queue(4e6, 1e6));
        assert!(queue(0.5e6, 2.5e6) && !queue(2e6, 5.9e6) && queue(2e6, 6e6));
    }

    #[test]
    fn what_came_already_was_late_and_not_lost() {
        let mut study = with(&[
            ("flow0.sent_segments", 600),
            ("flow1.sent_segments", 400),
            ("flow0.retransmitted_segments", 50),
        ]);
        let [duplicates, early] = [keys::DUPLICATES, keys::OUT_OF_ORDER]
            .map(|counter| counter.key(Scope::Flow(0)).to_string());
        read(&mut study, "tcp-info", &duplicates, 20);
        read_receiver(&mut study, "tcp-info", &early, 30);
        let losses = asked(&study, |cell| cell.losses()).expect("counts");
        let shares = [losses.lost, losses.had, losses.again, losses.early];
        assert_eq!((shares, losses.sent), ([0.03, 0.02, 0.05, 0.03], 1000.0));
        read(&mut study, "tcp-info", &duplicates, 60);
        assert_eq!(asked(&study, |cell| cell.losses()).expect("counts").lost, 0.0);
        let none = with(&[("flow0.sent_segments", 0), ("flow0.retransmitted_segments", 0)]);
        assert!(asked(&none, |cell| cell.losses()).is_none());
    }

    #[test]
    fn of_several_flows_the_largest_segment_and_window_and_the_smallest_mtu_count() {
        let mut study = with(&[
            ("flow0.send_mss_bytes", 1000),
            ("flow1.send_mss_bytes", 1448),
            ("flow0.path_mtu_bytes", 1500),
            ("flow1.path_mtu_bytes", 1400),
        ]);
        let window = |flow, at| keys::CONGESTION_WINDOW.key(Scope::Flow(flow), at).to_string();
        for (flow, at, segments) in
            [(0, Moment::Closing, 40), (1, Moment::Closing, 30), (1, Moment::Highest, 50)]
        {
            read(&mut study, "tcp-info", &window(flow, at), segments);
        }
        assert_eq!(asked(&study, |cell| cell.segment_bytes()), Some(1448.0));
        assert_eq!(asked(&study, |cell| cell.path_mtu_bytes()), Some(1400.0));
        assert_eq!(asked(&study, |cell| cell.congestion_window()), Some(40.0));
        assert_eq!(asked(&study, |cell| cell.under_way()), Some(50.0), "the highest window");
        // Ten gigabits a second for 2 ms are 2.5 MB.
        read(&mut study, "tcp-info", "flow0.rtt_ns", 2_000_000);
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", 1_000_000);
        let under_way = asked(&study, |cell| cell.under_way()).expect("a rate");
        assert!((under_way - 2.5e6 / 1448.0).abs() < 1e-6, "{under_way}");
        study.trials[0].params.streams = 4;
        let each = asked(&study, |cell| cell.under_way()).expect("a rate");
        assert!((each - 2.5e6 / 4.0 / 1448.0).abs() < 1e-6, "{each}");
        // 52 bytes of headers beside 1448.
        assert_eq!(asked(&study, |cell| cell.in_packets(1448.0)), 1500.0);
        assert_eq!(asked(&stream("tcp-stream"), |cell| cell.in_packets(2896.0)), 3000.0);
    }

    #[test]
    fn packets_are_those_of_the_senders_interface_and_options_those_that_all_agreed_on() {
        // The least number of the two is the first, and has a bit that the second has not.
        let mut study = with(&[("flow0.agreed_options", 0b0110), ("flow1.agreed_options", 0b1010)]);
        for (key, value) in [
            ("eth0.tx_packets", 1_000),
            ("eth0.tx_bytes", 9_000_000),
            ("eth1.tx_packets", 1),
            ("eth1.tx_bytes", 1),
        ] {
            read(&mut study, "interface", key, value);
        }
        assert_eq!(asked(&study, |cell| cell.packet_bytes()), None, "which interface is not known");
        for record in &mut study.records {
            let end = record.of_mut(narrows_model::load::Role::Sender).next().expect("an end");
            end.effective.interface = Some("eth0".to_owned());
        }
        assert_eq!(asked(&study, |cell| cell.packet_bytes()), Some(9_000.0));
        let agreed = |bit| asked(&study, |cell| cell.agreed(bit));
        assert_eq!(
            [agreed(0b010), agreed(0b100), agreed(0b001)],
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(asked(&stream("tcp-stream"), |cell| cell.agreed(1)), None);
        let limited = |key: Counter, share: u64| {
            let key = key.key(Scope::Flow(0)).to_string();
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", &key, share * 10_000_000);
            asked(&study, |cell| cell.is_limited_by_buffers())
        };
        for key in [keys::LIMITED_BY_WINDOW, keys::LIMITED_BY_BUFFER] {
            assert!(limited(key, 25) && !limited(key, 24), "a quarter of the time");
        }
        assert!(!limited(keys::BUSY, 100));
        let paced = |rate: Option<u64>| {
            let mut study = stream("tcp-stream");
            study.trials[0].params.rate_bps = rate;
            asked(&study, |cell| cell.is_paced())
        };
        assert_eq!([paced(None), paced(Some(0)), paced(Some(1))], [false, false, true]);
    }

    #[test]
    fn a_small_window_that_is_always_filled_is_told_by_what_travels_of_it() {
        // Ten gigabits a second for 20 us are 25 kB, of windows of 24 to 26 kB.
        let of = |least: u64, most: u64, congestion: u64, trip_us: u64, streams: u32| {
            let mut study = with(&[
                ("flow0.lowest:send_window_bytes", least),
                ("flow0.highest:send_window_bytes", most),
                ("flow0.lowest:congestion_window_segments", congestion),
                ("flow0.send_mss_bytes", 1448),
                ("flow0.rtt_ns", 1_000 * trip_us),
                ("flow0.rtt_min_ns", 1_000),
            ]);
            study.trials[0].params.streams = streams;
            asked(&study, |cell| cell.small_steady_window())
        };
        assert_eq!(of(24_000, 26_000, 100, 20, 1), Some(26_000.0));
        assert_eq!(of(24_000, 26_000, 36, 20, 1), Some(26_000.0), "52,128 B of congestion window");
        assert_eq!(of(24_000, 26_000, 35, 20, 1), None, "50,680 B: it may hold the stream itself");
        assert_eq!(of(20_000, 26_000, 100, 20, 1), None, "it grows");
        assert_eq!(of(0, 0, 100, 20, 1), None, "no window at all");
        assert_eq!(of(32_000, 32_767, 100, 20, 1), Some(32_767.0));
        assert_eq!(of(32_000, 32_768, 100, 20, 1), None, "half of Linux's first window");
        assert_eq!(of(24_000, 26_000, 100, 10, 1), None, "half of it is unused");
        assert_eq!(of(24_000, 26_000, 100, 41, 1), Some(26_000.0));
        assert_eq!(of(24_000, 26_000, 100, 42, 1), None, "more than twice of it travels");
        assert_eq!(of(24_000, 26_000, 100, 80, 4), Some(26_000.0), "a quarter for each flow");
        assert_eq!(asked(&stream("tcp-stream"), |cell| cell.small_steady_window()), None);
    }
}
