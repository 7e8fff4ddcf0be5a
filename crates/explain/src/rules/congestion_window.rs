//! `congestion-window`: does something other than the path keep TCP's congestion window small?
//!
//! Without loss, marks or a queue the window doubles every round trip (slow start, RFC 5681). One
//! that is small after many of them, is the same as every run ends, and gives just the rate that
//! was measured is kept there: by a route's `cwnd lock`, or by its `ssthresh`, which ends slow
//! start (ip-route(8)), where the sender's host has one, else perhaps by what TCP saved of earlier
//! connections, which nobody reads. Congestion controls that model the path (BBR) hold a window
//! that does not change by design, and a link or a shaper of the sender's own that is full needs no
//! larger one.

use super::path_capacity;
use crate::controls;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::{Moment, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use std::ops::RangeInclusive;

/// Whether a window stays small for which the path has room.
pub static RULE: Rule = Rule {
    name: "congestion-window",
    asks: "Does something other than the path keep the congestion window small?",
    of_host: false,
    judge,
};

/// Fewer runs may end on one window by accident.
const RUNS_MIN: usize = 3;
/// Windows of all runs that are no further apart are one.
const APART_MAX: f64 = 0.1;
/// So many round trips would have made of one segment far more than any window here.
const ROUND_TRIPS_MIN: f64 = 15.0;
/// A larger window has grown.
const SEGMENTS_MAX: f64 = 100.0;
/// What the window gives, as a share of what was measured; it is still growing under `ssthresh`.
const GIVES: RangeInclusive<f64> = 0.7..=2.0;
/// More of the segments that were sent again end slow start by themselves.
const AGAIN_MAX: f64 = 1e-4;
/// A longer wait beside the path's round trip is a queue, here or on the way back.
const WAITED_SHARE: f64 = 0.2;
/// TCP always has something under way.
const ENGAGED_MIN: f64 = 0.9;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::IsOneFlow);
    measured::judge(case, Needed::TcpCountersOfSender, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let flows = cell.trial.params.streams;
    if !cell.is_tcp_stream() || cell.is_paced() || flows > 1 {
        return Err(Blind::OtherKind);
    }
    let control =
        cell.summary.congestion().ok_or_else(|| cell.lacks(Measure::CongestionControl))?;
    let windows = windows(cell);
    let least = windows.iter().copied().reduce(f64::min);
    let most = windows.iter().copied().reduce(f64::max);
    let (least, most) = least.zip(most).ok_or_else(|| cell.lacks(Measure::TcpWindow))?;
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let segment = cell.segment_bytes().ok_or_else(|| cell.lacks(Measure::SegmentSize))?;
    let rates = cell.rates().ok_or_else(|| cell.lacks(Measure::Rate))?;
    let trip_s = (trips.least_ns / 1e9).max(1e-9);
    let gives = most * segment * 8.0 / trip_s / rates.middle.max(1.0);
    let window_s = cell.of_sender(|end| Some(end.window_ns.0 as f64 / 1e9)).unwrap_or(0.0);
    let seen = format!(
        "{control}; windows of {least:.0} to {most:.0} segments as the runs end, {:.2} of the rate; {:.3} % \
         sent again; round trips of {:.2} ms at the least, {:.2} ms without load",
        gives,
        100.0 * losses.again,
        trips.least_ns / 1e6,
        trips.shortest_ns / 1e6
    );
    let is_kept = windows.len() >= RUNS_MIN
        && most - least <= (APART_MAX * most).max(1.0)
        && most <= SEGMENTS_MAX
        && GIVES.contains(&gives)
        && window_s >= ROUND_TRIPS_MIN * trip_s;
    let is_free = losses.again <= AGAIN_MAX
        && trips.waited_ns() <= WAITED_SHARE * trips.shortest_ns
        && cell.sent_count(keys::MARKED).unwrap_or(0.0) == 0.0
        && cell.engaged_share().is_some_and(|share| share >= ENGAGED_MIN)
        && !cell.is_busy()
        && !cell.is_limited_by_buffers()
        && !path_capacity::is_own(cell, cell.in_packets(rates.middle))
        // One that models the path bounds its own window, and no route's lock.
        && (controls::slows_down(control) || is_locked(cell));
    let wrong = (is_kept && is_free).then(|| {
        let why = of_route(cell).unwrap_or_else(|| "most likely saved metrics bound it".to_owned());
        let says = format!(
            "TCP's congestion window ends at {most:.0} segments in every run of {}, though nothing \
             was lost, marked or queued that keeps it there: {why}",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// What a route of the sender's host has that bounds the window, where the window is as small.
pub fn of_route(cell: &Cell<'_>) -> Option<String> {
    let end = cell.sender()?;
    let most = windows(cell).into_iter().reduce(f64::max)?;
    let held = end.route_metric(CWND).filter(|held| most <= held + 1.0);
    let ended = end.route_metric(SSTHRESH).filter(|ended| *ended <= most);
    match (held, ended) {
        (Some(held), _) => Some(format!("a route {} has cwnd {held:.0} locked", end.at)),
        (None, Some(ended)) => {
            Some(format!("a route {} ends slow start at {ended:.0} (ssthresh)", end.at))
        }
        (None, None) => None,
    }
}

/// Whether a route of the sender's host locks the window at what the runs end with.
fn is_locked(cell: &Cell<'_>) -> bool {
    let held = cell.sender().and_then(|end| end.route_metric(CWND));
    let windows = windows(cell);
    held.is_some_and(|held| windows.iter().all(|window| (window - held).abs() <= 1.0))
}

/// Metrics of routes, by interface, in segments.
const CWND: &str = "net.route.cwnd";
const SSTHRESH: &str = "net.route.ssthresh";

const REMEDY: &str = "at the sender: ip route show and ip tcp_metrics show; take `cwnd` and \
                      `ssthresh` off the route (ip route change), ip tcp_metrics flush";

/// The largest congestion window of each run's flows as it ended, in segments.
fn windows(cell: &Cell<'_>) -> Vec<f64> {
    let ends = cell.done.iter().filter_map(|record| record.sender());
    ends.filter_map(|end| {
        let all = end.readings.each(keys::CONGESTION_WINDOW, Moment::Closing);
        all.map(|(_, segments)| segments as f64).reduce(f64::max)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown, known};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic};
    use narrows_model::load::{Effective, Role};
    use narrows_model::study::StoredStudy;

    fn set(study: &mut StoredStudy, change: impl Fn(&mut Effective)) {
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            change(&mut end.effective);
        }
    }

    /// Ten gigabits a second in windows of eight segments of 64 KiB over 0.4 ms, by default.
    fn study(window: u64, changes: &[(&str, u64)]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        set(&mut study, |end| end.congestion = Some("cubic".into()));
        for (key, value) in [
            ("congestion_window_segments", window),
            ("rtt_min_ns", 400_000),
            ("rtt_ns", 410_000),
            ("lowest:rtt_ns", 405_000),
            ("highest:rtt_ns", 420_000),
            ("send_mss_bytes", 65_536),
            ("sent_segments", 20_000),
            ("retransmitted_segments", 0),
            ("busy_ns", 1_000_000_000),
            ("limited_by_receive_window_ns", 0),
        ]
        .iter()
        .chain(changes)
        {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), *value);
        }
        study
    }

    #[test]
    fn a_window_that_nothing_on_the_path_keeps_small_is_found() {
        let of = |changes: &[(&str, u64)]| of_study(&RULE, &study(8, changes));
        assert!(is_found(&of(&[])), "{:?}", of(&[]));
        assert!(is_clear(&of(&[("retransmitted_segments", 20)])), "losses keep it");
        assert!(is_clear(&of(&[("lowest:rtt_ns", 800_000)])), "packets wait in a queue");
        assert!(is_clear(&of(&[("delivered_marked_segments", 100)])), "marks keep it");
        assert!(is_clear(&of(&[("busy_ns", 500_000_000)])), "the program gives it nothing");
        let full = [("limited_by_receive_window_ns", 900_000_000)];
        assert!(is_clear(&of(&full)), "the receiver's window is full");
    }

    #[test]
    fn a_route_that_bounds_the_window_is_named() {
        let of = |name: &str, value: &str| {
            let mut study = study(8, &[]);
            set(&mut study, |end| end.interface = Some("e0".into()));
            study.host.tuning.insert(name.to_owned(), known(value.to_owned()));
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].says.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(of(CWND, "e0 8").contains("a route here has cwnd 8 locked"));
        assert!(of(SSTHRESH, "e0 7").contains("ends slow start at 7"));
        for (name, value) in [(CWND, "e1 8"), (CWND, "e0 4"), (SSTHRESH, "e0 30"), (CWND, "e0 x")] {
            assert!(of(name, value).contains("saved metrics"), "{name} {value}");
        }
    }

    #[test]
    fn only_congestion_controls_that_slow_down_at_losses_are_judged() {
        let with = |control: Option<&str>, locked: Option<&str>| {
            let mut study = study(8, &[]);
            set(&mut study, |end| {
                end.congestion = control.map(str::to_owned);
                end.interface = Some("e0".into());
            });
            if let Some(route) = locked {
                study.host.tuning.insert(CWND.to_owned(), known(route.to_owned()));
            }
            of_study(&RULE, &study)
        };
        let of = |control| with(control, None);
        assert!(is_found(&with(Some("bbr"), Some("e0 8"))), "a route locks it");
        assert!(is_clear(&with(Some("bbr"), Some("e0 12"))), "it does not reach the lock");
        assert!(is_clear(&with(Some("bbr"), Some("e1 8"))), "of another interface");
        assert!(is_found(&of(Some("reno"))));
        assert!(is_clear(&of(Some("bbr"))), "it holds its window by design");
        assert!(is_unknown(&of(None)), "{:?}", of(None));
    }

    #[test]
    fn a_full_link_and_a_shaper_of_ones_own_keep_no_window_small() {
        let of = |gbps: f64, qdisc: &str| {
            let mut study = study(8, &[]);
            set(&mut study, |end| end.interface = Some("e0".into()));
            let speed_bps = known(BitsPerSecond(gbps * 1e9));
            let (name, qdisc) = ("e0".into(), known(qdisc.to_owned()));
            let nic = Nic { name, physical: true, speed_bps, qdisc, ..Nic::default() };
            study.host = Host { nics: vec![nic], ..Host::default() };
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(25.0, "fq_codel")));
        assert!(is_clear(&of(10.0, "fq_codel")), "a link that is full");
        assert!(is_clear(&of(25.0, "tbf")), "a shaper of its own");
    }

    #[test]
    fn windows_that_grow_or_differ_are_the_paths() {
        assert!(is_clear(&of_study(&RULE, &study(400, &[]))), "a window that has grown");
        let mut apart = study(8, &[]);
        for end in apart.records[0].of_mut(Role::Sender) {
            end.readings.put_words("tcp-info", "flow0.congestion_window_segments", 12);
        }
        assert!(is_clear(&of_study(&RULE, &apart)), "runs that end on several windows");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        assert!(is_idle(&of_study(&RULE, &stream("udp-stream"))));
    }
}
