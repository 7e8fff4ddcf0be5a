//! `path-holds-packets`: does something on the path hold packets and let them go together?
//!
//! Radio that sends in turns, a virtual machine that is put aside, aggregation that waits for more:
//! packets that were sent evenly come in heaps with nothing in between. None is lost, the mean of
//! the delay says little, and TCP takes the wait for a longer path. An even train of small
//! packets tells, whose sender kept its pace.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::units::Unit;

pub static RULE: Rule = Rule {
    name: "path-holds-packets",
    asks: "Does something on the path hold packets and let them go together?",
    of_host: false,
    judge,
};

/// Share of the trains of which it must be so.
const TRAINS_SHARE: f64 = 0.75;
/// Fewer tell nothing.
const TRAINS_LEAST: usize = 2;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ProbedAnyStream, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

/// Whether round trips last about as long as packets are held, and no distance is most of them.
pub fn is_most_of_trips(cell: &Cell<'_>) -> bool {
    let longest_ns = cell.held().map(|held| held.longest_ns);
    let middle_ns = cell.summary.estimate.filter(|trip| trip.unit == Unit::Nanos);
    let middle_ns = middle_ns.map(|trip| trip.value);
    let is_it = |(held, trip): (f64, f64)| trip >= TRIPS.0 * held && trip <= TRIPS.1 * held;
    cell.trial.kind.is_round_trip() && longest_ns.zip(middle_ns).is_some_and(is_it)
}

/// A request and its answer each wait for a turn, and the next request for the one after.
const TRIPS: (f64, f64) = (0.5, 3.0);

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() && !cell.trial.kind.is_round_trip() {
        return Err(Blind::OtherKind);
    }
    let held = cell.held().filter(|held| held.of >= TRAINS_LEAST);
    let held = held.ok_or_else(|| cell.lacks(Measure::TrainsEvenlyPaced))?;
    // A host whose CPUs others use handles what came when it is its turn.
    if cell.is_disturbed() {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let (percent, longest_ms) = (100.0 * held.share, held.longest_ns / 1e6);
    let seen = format!(
        "of {} trains of small packets, sent 2 ms apart, {} came in heaps: nothing for {percent:.0} % \
         of the time, for {longest_ms:.0} ms at the longest",
        held.of, held.trains
    );
    let is_held = held.trains as f64 >= TRAINS_SHARE * held.of as f64;
    let wrong = is_held.then(|| {
        let says = format!(
            "Something on the path holds packets and lets them go together in {}: of packets that \
             were sent evenly nothing came for up to {longest_ms:.0} ms, {percent:.0} % of the \
             time, and nearly all of them came",
            cell.trial.label
        );
        let remedy = "look for what sends in turns or batches: radio and its power saving, \
                      aggregation, a virtual machine or a relay that is put aside, netem's slots, \
                      interrupts that wait for a long time (ethtool -c); until then give TCP \
                      buffers for rate x that time";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::probes::testing::with_probes;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::probe::{PathProbe, Train, WayProbe};
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn packets_that_come_in_heaps_were_held() {
        let of = |rests: Option<u32>, rests_ms: u64, sent_ms: u64, came: u32| {
            let even = Train {
                packet_bytes: Bytes(128),
                sent: 160,
                sent_ns: Nanos(sent_ms * 1_000_000),
                came,
                came_ns: Nanos(330_000_000),
                rests,
                rests_ns: Nanos(rests_ms * 1_000_000),
                longest_ns: Nanos(20_000_000),
                ..Train::default()
            };
            let mut study = stream("tcp-stream");
            let there = WayProbe { even: vec![even; 2], ..WayProbe::default() };
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(Some(16), 310, 330, 160)));
        assert!(is_clear(&of(Some(0), 0, 330, 160)));
        assert!(is_clear(&of(Some(2), 200, 330, 160)), "twice by accident");
        assert!(is_clear(&of(Some(5), 200, 330, 100)), "what was not held is lost");
        assert!(is_unknown(&of(Some(16), 310, 660, 160)), "the sender was late itself");
        assert!(is_unknown(&of(None, 0, 330, 160)), "an older agent");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn round_trips_that_wait_for_turns_on_either_way_are_told_from_distance() {
        let of = |trip_ms: u64, held_back: bool| {
            let even = |rests: u32| Train {
                packet_bytes: Bytes(128),
                sent: 160,
                sent_ns: Nanos(330_000_000),
                came: 160,
                came_ns: Nanos(330_000_000),
                rests: Some(rests),
                rests_ns: Nanos(u64::from(rests) * 10_000_000),
                longest_ns: Nanos(if rests > 0 { 10_000_000 } else { 2_100_000 }),
                ..Train::default()
            };
            let way = |rests: u32| WayProbe { even: vec![even(rests); 2], ..WayProbe::default() };
            let (there, back) = if held_back { (way(0), way(32)) } else { (way(0), way(0)) };
            let mut study = stream("tcp-rr");
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.round_trips = vec![(Nanos(trip_ms * 1_000_000), 100)];
            }
            with_probes(&mut study, &[PathProbe { there, back, ..PathProbe::default() }]);
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let is_most = measured::cells(&case).any(|cell| is_most_of_trips(&cell));
            (is_found(&of_study(&RULE, &study)), is_most)
        };
        let is_turns = of(20, true);
        assert_eq!(is_turns, (true, true));
        assert_eq!(of(20, false), (false, false), "nothing is held");
        assert_eq!(of(120, true), (true, false), "most of it is distance");
    }
}
