//! `slow-start-unfinished`: was TCP still speeding up as the window ended?
//!
//! Without loss a connection doubles what it sends each round trip (slow start, RFC 5681). Over a
//! long path a window of seconds has few round trips, and ends before the path is full: the figure
//! is of the beginning, not of the path. Seen where nothing was lost or marked, neither end's
//! buffer held it, the second half of the window carried far more than the first, and the
//! congestion window grew with it.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "slow-start-unfinished",
    asks: "Was TCP still speeding up as the window ended?",
    of_host: false,
    judge,
};

/// Least factor by which the congestion window grows in the measured window, and the rate of its
/// second half exceeds that of its first: less than one doubling.
const GROWS: f64 = 1.5;
/// A window of more round trips is long enough for a path of any rate.
const ROUND_TRIPS_MAX: f64 = 30.0;
/// Above this share of segments sent again, losses have ended slow start.
const AGAIN_MAX: f64 = 1e-4;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpSlices, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let halves = cell.of_receiver(halves).ok_or_else(|| cell.lacks(Measure::Slices))?;
    let window = cell.of_sender(grown).ok_or_else(|| cell.lacks(Measure::TcpWindow))?;
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(0.0);
    let count = window_ns / trips.shortest_ns.max(1.0);
    let seen = format!(
        "{count:.1} round trips of {:.1} ms in the window; its second half carried {halves:.1} times its \
         first, the congestion window grew {window:.1} times; {:.3} % sent again",
        trips.shortest_ns / 1e6,
        100.0 * losses.again
    );
    let is_growing = halves >= GROWS && window >= GROWS && count <= ROUND_TRIPS_MAX;
    let is_free = losses.again <= AGAIN_MAX
        && cell.sent_count(keys::MARKED).unwrap_or(0.0) == 0.0
        && !cell.is_limited_by_buffers()
        && !cell.is_busy();
    let wrong = (is_growing && is_free).then(|| {
        let says = format!(
            "TCP was still speeding up as the window of {} ended: that is only {count:.1} round trips of \
             {:.0} ms, and its second half carried {halves:.1} times its first",
            cell.trial.label,
            trips.shortest_ns / 1e6
        );
        let first = first_window(cell).map_or(String::new(), |first| {
            format!(
                "take initcwnd off the route, whose connections begin with {} \
                 (ip route show; ip route change ... without it); then ",
                segments(first)
            )
        });
        let remedy = first + &remedy(trips.shortest_ns);
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// How long the round trips are in which TCP speeds up.
pub fn why(cell: &Cell<'_>) -> Option<String> {
    let trips = cell.trips()?;
    let first = first_window(cell).map_or(String::new(), |first| {
        format!(" from a first window of {}, which a route asks for (initcwnd)", segments(first))
    });
    Some(format!("over round trips of {:.0} ms{first}", trips.shortest_ns / 1e6))
}

/// With how many segments the sender's connections begin, where a route asks for fewer than Linux
/// has by itself.
fn first_window(cell: &Cell<'_>) -> Option<f64> {
    let first = cell.sender()?.route_metric("net.route.initcwnd")?;
    (first < FIRST_WINDOW).then_some(first)
}

/// Segments that connections of Linux begin with (RFC 6928, `TCP_INIT_CWND`).
const FIRST_WINDOW: f64 = 10.0;

fn segments(count: f64) -> String {
    if count == 1.0 { "one segment".to_owned() } else { format!("{count:.0} segments") }
}

/// A warm-up that lasts for as many round trips as take a path of any rate out of slow start.
fn remedy(trip_ns: f64) -> String {
    let warmup_s = (ROUND_TRIPS_MAX * trip_ns / 1e9).ceil().max(1.0);
    format!(
        "measure longer, after a warm-up of {warmup_s:.0} s (--warm-up {warmup_s:.0}, -t {:.0}); what is \
         moved in short transfers gains by several flows (-P) or a larger first window (ip route \
         change ... initcwnd)",
        2.0 * warmup_s
    )
}

/// What the second half of a window carried, as a multiple of the first, at an end that receives.
fn halves(end: &EndReport) -> Option<f64> {
    let bytes = |slices: &[narrows_model::load::Interval]| -> u64 {
        slices.iter().map(|slice| slice.bytes.0).sum()
    };
    let (first, second) = end.intervals.split_at(end.intervals.len() / 2);
    let second = &second[second.len() - first.len()..];
    // Of nothing there is no multiple.
    let first = bytes(first);
    (first > 0).then(|| bytes(second) as f64 / first as f64)
}

/// By how much the congestion windows of an end that sends grew, together.
pub fn grown(end: &EndReport) -> Option<f64> {
    let sum = |moment| -> u64 {
        end.readings.each(keys::CONGESTION_WINDOW, moment).map(|(_, segments)| segments).sum()
    };
    let [opening, closing] = [Moment::Opening, Moment::Closing].map(sum);
    (opening > 0).then(|| closing as f64 / opening as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::study::StoredStudy;

    /// A second of ten gigabits in ten slices, over a path of 200 ms.
    fn study(bytes: &[u64], changes: &[(&str, u64)]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        slices(&mut study, bytes);
        for (key, value) in [
            ("opening:congestion_window_segments", 40),
            ("congestion_window_segments", 640),
            ("rtt_min_ns", 200_000_000),
            ("rtt_ns", 200_000_000),
            ("sent_segments", 20_000),
            ("retransmitted_segments", 0),
            ("limited_by_receive_window_ns", 0),
            ("limited_by_send_buffer_ns", 0),
        ]
        .iter()
        .chain(changes)
        {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), *value);
        }
        study
    }

    const DOUBLES: [u64; 10] = [1, 1, 2, 2, 4, 4, 8, 8, 16, 16];

    #[test]
    fn a_window_that_ends_in_slow_start_is_found() {
        let Verdict::Found { findings } = of_study(&RULE, &study(&DOUBLES, &[])) else {
            panic!("found")
        };
        // 1, 1, 2, 2, 4 are 10; 4, 8, 8, 16, 16 are 52.
        let says = &findings[0].says;
        assert!(says.contains("that is only 5.0 round trips of 200 ms, and"), "{says}");
        assert!(says.contains("its second half carried 5.2 times its first"), "{says}");
        let remedy = &findings[0].remedy;
        assert!(remedy.contains("--warm-up 6, -t 12"), "{remedy}");
    }

    #[test]
    fn what_ended_slow_start_is_no_want_of_time() {
        let clear = |bytes: &[u64], changes: &[(&str, u64)], why: &str| {
            let verdict = of_study(&RULE, &study(bytes, changes));
            assert!(is_clear(&verdict), "{why}: {verdict:?}");
        };
        clear(&[9; 10], &[], "an even rate");
        clear(&DOUBLES, &[("congestion_window_segments", 44)], "a window that stays");
        clear(&DOUBLES, &[("retransmitted_segments", 9)], "losses");
        clear(&DOUBLES, &[("delivered_marked_segments", 9)], "marks");
        clear(&DOUBLES, &[("limited_by_receive_window_ns", 900_000_000)], "the other's window");
        clear(&DOUBLES, &[("rtt_min_ns", 20_000_000)], "fifty round trips");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        let late = [0, 0, 0, 0, 0, 4, 8, 8, 16, 16];
        assert!(is_unknown(&of_study(&RULE, &study(&late, &[]))), "nothing to be a multiple of");
    }

    #[test]
    fn a_first_window_that_a_route_makes_small_is_told() {
        let of = |route: &str| {
            let mut study = study(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512], &[]);
            let known = narrows_model::Fact::known(route.to_owned(), "rtnetlink");
            study.host.tuning.insert("net.route.initcwnd".into(), known);
            study.peer_hosts = vec![study.host.clone()];
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.effective.interface = Some("e0".into());
            }
            format!("{:?}", of_study(&RULE, &study))
        };
        let small = of("e0 1");
        assert!(small.contains("take initcwnd off the route"), "{small}");
        assert!(small.contains("begin with one segment"), "{small}");
        assert!(!of("e0 10").contains("take initcwnd off"), "that many are usual");
        assert!(!of("e1 1").contains("take initcwnd off"), "another interface");
    }
}
