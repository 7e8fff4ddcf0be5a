//! `acknowledgements-lost`: are packets lost on the way back?
//!
//! The sender counts the segments that it received, the receiver those that it sent, and of a
//! stream in one direction nearly all of these are acknowledgements. What is missing was lost on
//! the way back, which no retransmit counts; the sender sends in jumps and waits for its timer.

use super::path_proxy;
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::median;

/// Whether packets are lost on the way back.
pub static RULE: Rule = Rule {
    name: "acknowledgements-lost",
    asks: "Are packets lost on the return path?",
    of_host: false,
    judge,
};

/// Windows of the two ends differ by milliseconds, and acknowledgements may be joined on the way: a
/// twentieth is neither.
const LOST_SHARE: f64 = 0.05;
/// Fewer say nothing.
const SENT_MIN: f64 = 100.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

/// Share of the acknowledgements that was lost, where both ends counted them.
pub fn share(cell: &Cell<'_>) -> Option<f64> {
    let each: Vec<f64> = cell.done.iter().filter_map(|record| missing(record)).collect();
    let missing = median(&each)? - cell.apart_share()? - under_way_share(cell);
    Some(missing.max(0.0))
}

/// Share of a run's acknowledgements that did not come. How many there are differs from run to run
/// by more than a loss: medians of both counts are not of the same runs.
fn missing(record: &Record) -> Option<f64> {
    let sent = record.receiver()?.readings.total(keys::SENT)? as f64;
    let came = record.sender()?.readings.total(keys::SEGMENTS_IN)? as f64;
    Some(1.0 - came / sent.max(1.0))
}

/// The share of a window's acknowledgements that may still be on their way at its end, one round
/// trip of it: of what arrived in the last one where the receiver's time line tells, for a stream
/// that speeds up sends more in the last than came in the first.
fn under_way_share(cell: &Cell<'_>) -> f64 {
    let Some(trips) = cell.trips() else { return 0.0 };
    let trip_ns = trips.middle_ns;
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).filter(|ns| *ns > 0.0);
    let even = window_ns.map_or(0.0, |window_ns| trip_ns / window_ns);
    let late = cell.of_receiver(|end| arrived_last(end, trip_ns));
    late.unwrap_or(0.0).max(even)
}

/// A slice that carried so many times the one before it: TCP was speeding up.
const SPEEDS_UP: f64 = 1.3;
/// Of a slice with more round trips the last one is a small part, however fast it speeds up.
const TRIPS_OF_A_SLICE: f64 = 4.0;

/// Share of an end's payload that came in the last so many nanoseconds of its slices.
fn arrived_last(end: &EndReport, last_ns: f64) -> Option<f64> {
    let last = end.intervals.last()?;
    let from_ns = (last.start_ns.0 + last.length_ns.0) as f64 - last_ns;
    let all: f64 = end.intervals.iter().map(|slice| slice.bytes.0 as f64).sum();
    // Of a stream that speeds up, most of a slice longer than a round trip came at its end.
    let before = end.intervals.len().checked_sub(2).and_then(|at| end.intervals.get(at));
    let speeds_up =
        before.is_some_and(|slice| last.bytes.0 as f64 >= SPEEDS_UP * slice.bytes.0 as f64);
    let trips = last.length_ns.0 as f64 / last_ns.max(1.0);
    if speeds_up && (1.0..=TRIPS_OF_A_SLICE).contains(&trips) {
        return (all > 0.0).then_some(last.bytes.0 as f64 / all);
    }
    let late: f64 = end
        .intervals
        .iter()
        .map(|slice| {
            let (start, length) = (slice.start_ns.0 as f64, slice.length_ns.0 as f64);
            let inside = (start + length - from_ns.max(start)).max(0.0);
            slice.bytes.0 as f64 * inside / length.max(1.0)
        })
        .sum();
    (all > 0.0).then_some(late / all)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.trial.params.is_bidirectional() {
        return Err(Blind::OtherKind);
    }
    let sent = cell.received_count(keys::SENT);
    let came = cell.sent_count(keys::SEGMENTS_IN);
    let (Some(sent), Some(came)) = (sent, came) else {
        return Err(cell.lacks(Measure::AcknowledgementsOfBoth));
    };
    // What was sent outside the sender's window is not lost.
    let share = share(cell).ok_or_else(|| cell.lacks(Measure::WindowsAtOnce))?;
    let seen = format!("{sent:.0} acknowledgements sent, {came:.0} came in the median run");
    let is_much = sent >= SENT_MIN && share >= LOST_SHARE;
    // Counts of two connections are not of the same acknowledgements.
    if is_much && (path_proxy::is_found(cell) || path_proxy::is_translated(cell)) {
        return Err(cell.lacks(Measure::AcknowledgementsOfBoth));
    }
    let wrong = is_much.then(|| {
        let says = format!(
            "{:.0} % of the acknowledgements were lost on the return path in {}",
            100.0 * share,
            cell.trial.label
        );
        let remedy = "look at the other direction: measure it by itself (--reverse), and see drops \
                      and shapers of what leaves the receiver: tc -s qdisc, ethtool -S, an \
                      asymmetric link";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::{FlowPorts, Role};
    use narrows_model::record::Span;

    #[test]
    fn acknowledgements_that_did_not_come_are_found() {
        let of = |sent: u64, came: u64| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", sent);
            read(&mut study, "tcp-info", "flow0.received_segments", came);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(17_000, 10_200)));
        assert!(is_clear(&of(17_000, 16_900)));
        assert!(is_clear(&of(50, 20)), "too few to tell");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn runs_of_unlike_counts_are_compared_each_by_itself() {
        // The median run sent 900 and the median run had 840: of no run a sixteenth is missing.
        let mut study = stream("tcp-stream");
        let counts = [(100, 150), (900, 840), (1100, 1101)];
        for (run, (sent, came)) in study.records.iter_mut().zip(counts) {
            let put = |end: &mut EndReport, key: &str, count| {
                end.readings.put_words("tcp-info", &format!("flow0.{key}_segments"), count);
            };
            run.of_mut(Role::Receiver).for_each(|end| put(end, "sent", sent));
            run.of_mut(Role::Sender).for_each(|end| put(end, "received", came));
        }
        assert!(is_clear(&of_study(&RULE, &study)), "{:?}", of_study(&RULE, &study));
    }

    #[test]
    fn two_connections_have_no_acknowledgements_in_common() {
        let of = |seen_port: u16| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 17_000);
            read(&mut study, "tcp-info", "flow0.received_segments", 10_200);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.ports = vec![FlowPorts { own: 40_000, peer: 5201 }];
            }
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.ports = vec![FlowPorts { own: 5201, peer: seen_port }];
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(40_000)));
        assert!(is_unknown(&of(51_234)), "a proxy, or addresses that are translated");
    }

    #[test]
    fn acknowledgements_that_are_still_under_way_are_not_lost() {
        let of = |trip_ms: u64| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 17_000);
            read(&mut study, "tcp-info", "flow0.received_segments", 15_500);
            for key in ["rtt_ns", "lowest:rtt_ns", "highest:rtt_ns", "rtt_min_ns"] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), trip_ms * 1_000_000);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(1)), "nine in a hundred of a short path");
        assert!(is_found(&of(30)), "three in a hundred may be under way");
        assert!(is_clear(&of(150)), "less than a round trip's of a second");
    }

    /// A path of 160 ms whose stream doubles: a quarter of all came in the last round trip.
    #[test]
    fn a_stream_that_speeds_up_has_more_under_way_than_its_mean() {
        let of = |bytes: &[u64]| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 17_000);
            read(&mut study, "tcp-info", "flow0.received_segments", 13_000);
            for key in ["rtt_ns", "lowest:rtt_ns", "highest:rtt_ns", "rtt_min_ns"] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), 160_000_000);
            }
            slices(&mut study, bytes);
            of_study(&RULE, &study)
        };
        // Of 100: the last slice's 20, and six tenths of the 12 before.
        assert!(is_clear(&of(&[1, 4, 8, 9, 10, 11, 12, 13, 12, 20])), "a quarter is under way");
        assert!(is_found(&of(&[10; 10])), "of an even stream a sixth");
    }

    #[test]
    fn the_last_slice_of_a_stream_that_speeds_up_is_of_its_last_round_trips() {
        let of = |trip_ms: u64, last: u64| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 17_000);
            read(&mut study, "tcp-info", "flow0.received_segments", 13_000);
            for key in ["rtt_ns", "lowest:rtt_ns", "highest:rtt_ns", "rtt_min_ns"] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), trip_ms * 1_000_000);
            }
            slices(&mut study, &[1, 1, 2, 2, 4, 4, 8, 10, 16, last]);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(40, 30)), "a quarter is missing, and more came in that slice");
        assert!(is_found(&of(40, 16)), "it no longer speeds up");
        assert!(is_found(&of(10, 30)), "ten round trips a slice");
    }

    #[test]
    fn counts_of_windows_that_overlap_in_part_are_not_compared() {
        let of = |later_ns: u64| {
            let mut study = stream("tcp-stream");
            read_receiver(&mut study, "tcp-info", "flow0.sent_segments", 17_000);
            read(&mut study, "tcp-info", "flow0.received_segments", 15_500);
            for (at, one) in study.records.iter_mut().flat_map(|r| r.reports.iter_mut().enumerate())
            {
                let open_by_ns = Nanos(if at == 0 { 0 } else { later_ns });
                let close_from_ns = Nanos(open_by_ns.0 + 1_000_000_000);
                one.span = Some(Span { open_by_ns, close_from_ns });
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(0)));
        assert!(is_clear(&of(60_000_000)), "as much as the windows may differ");
        assert!(is_unknown(&of(730_000_000)));
    }
}
