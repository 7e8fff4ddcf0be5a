//! TCP's timers at the ends of a cell: how often they ran out, and how long they last at the least.

use crate::ends::End;
use crate::measured::Cell;
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, keys};
use narrows_model::record::Record;

/// What the kernel's delayed acknowledgement takes, and what is near it (`TCP_DELACK_MIN`, 40 ms).
pub const DELAYED_ACK_NS: std::ops::Range<f64> = 36e6..56e6;
/// What the timer lasts at the least beyond the round trip (`TCP_RTO_MIN`).
const TIMER_LEAST_NS: f64 = 200e6;
/// The setting of that, in microseconds (Linux 6.11).
pub const HOST_LEAST: &str = "net.ipv4.tcp_rto_min_us";
/// The same by routes, by interface, in milliseconds.
pub const ROUTE_LEAST: &str = "net.route.rto_min_ms";

/// Times that a timer of TCP ran out: the retransmission timer, or that of a loss probe, which
/// sends a segment again. `None` where nobody counted the first.
pub fn ran_out(cell: &Cell<'_>, again: f64) -> Option<f64> {
    let timeouts = of_either(cell, keys::TIMEOUTS)?;
    let probes = of_either(cell, keys::LOSS_PROBES).unwrap_or(0.0);
    Some(timeouts + probes.min((again - timeouts).max(0.0)))
}

/// The larger count of the two ends, in the median run; `None` where neither counted.
pub fn of_either(cell: &Cell<'_>, counter: Counter) -> Option<f64> {
    let ends = [cell.sent_count(counter), cell.received_count(counter)];
    ends.into_iter().flatten().reduce(f64::max)
}

/// What a timer lasts at the least beyond the round trip, by a route or the host, in nanoseconds.
pub fn least_ns(cell: &Cell<'_>) -> f64 {
    let set = cell.sender().and_then(|end| end.setting(HOST_LEAST)?.parse::<f64>().ok());
    of_route_ns(cell).or(set.map(|us| 1e3 * us)).unwrap_or(TIMER_LEAST_NS)
}

/// The least timer that a route of the sender asks for.
pub fn of_route_ns(cell: &Cell<'_>) -> Option<f64> {
    cell.sender()?.route_metric(ROUTE_LEAST).map(|ms| 1e6 * ms)
}

/// The way on which a cell's round trips lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// That of the requests.
    There,
    /// That of the answers.
    Back,
}

impl Way {
    /// ` on the way back`, as a clause to put behind `packets are lost`.
    pub fn says(way: Option<Self>) -> &'static str {
        match way {
            Some(Self::There) => " on the way there",
            Some(Self::Back) => " on the way back",
            None => "",
        }
    }
}

/// Whether a route or a setting of an end says how long its timer lasts at the least.
fn sets_timer(end: &End<'_>) -> bool {
    let of_host = end.setting(HOST_LEAST).and_then(|us| us.parse::<f64>().ok());
    let is_set = of_host.is_some_and(|us| 1e3 * us != TIMER_LEAST_NS);
    is_set || end.route_metric(ROUTE_LEAST).is_some()
}

/// Fewer segments that come twice tell no way.
const TWICE_MIN: u64 = 3;
/// The end that has them has so many times those of the other.
const TWICE_TIMES: u64 = 3;

/// Where round trips lose packets, as their ends count what came twice in all runs: whose answer is
/// lost sends its request again, which the other end had; where a request is lost, that end sends
/// its last answer again, whose acknowledgement was lost with it. `None` where neither prevails,
/// and where an end's timer is not as long as the other's: that end sends nothing again.
pub fn lost_on(cell: &Cell<'_>) -> Option<Way> {
    let ends = [cell.sender(), cell.receiver()];
    if ends.iter().flatten().any(sets_timer) {
        return None;
    }
    let twice = |end: Option<&EndReport>| end?.readings.total(keys::CAME_TWICE);
    let count = |of: fn(&Record) -> Option<&EndReport>| {
        cell.done.iter().filter_map(|record| twice(of(record))).reduce(|all, one| all + one)
    };
    let asks = count(|record| record.sender())?;
    let answers = count(|record| record.receiver())?;
    let prevails = |one: u64, other: u64| one >= TWICE_MIN && one >= TWICE_TIMES * other;
    match () {
        () if prevails(answers, asks) => Some(Way::Back),
        () if prevails(asks, answers) => Some(Way::There),
        () => None,
    }
}

/// Share of a window from which on a round trip is no short one in it.
const LONG_SHARE: f64 = 0.25;

/// Whether a round trip lasts as long as TCP's timer at the least, or a good part of the window.
/// What the timer sent again is then only late, and what is reported as had already is of segments
/// that were sent before the window opened: its counts of the two are not of the same segments.
pub fn is_late(cell: &Cell<'_>) -> bool {
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(f64::INFINITY);
    let most_ns = TIMER_LEAST_NS.min(LONG_SHARE * window_ns);
    cell.longest_trip_ns().is_some_and(|ns| ns >= most_ns)
}

/// Whether a route of the sender makes the timer longer than it is without.
pub fn is_lengthened(cell: &Cell<'_>) -> bool {
    of_route_ns(cell).is_some_and(|least_ns| least_ns > TIMER_LEAST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use crate::measured::cells;
    use crate::measured::testing::{read, read_receiver, trips};
    use narrows_model::Fact;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    fn asked<T>(study: &StoredStudy, ask: impl Fn(&Cell<'_>) -> T) -> T {
        let summaries = narrows_stats::summarise(study);
        let case = Case { study, summaries: &summaries, predictions: &[] };
        let answer = cells(&case).next().map(|cell| ask(&cell));
        answer.expect("a cell")
    }

    /// Round trips over `e0`; so many segments came twice to each end, in each of three runs.
    fn twice(asks: Option<u64>, answers: Option<u64>) -> StoredStudy {
        let mut study = trips(4_000);
        for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.effective.interface = Some("e0".into());
        }
        let key = "TcpExt.TCPDSACKOldSent_events";
        asks.into_iter().for_each(|count| read(&mut study, "netstat", key, count));
        answers.into_iter().for_each(|count| read_receiver(&mut study, "netstat", key, count));
        study
    }

    fn with(mut study: StoredStudy, setting: &str, value: &str) -> StoredStudy {
        study.host.tuning.insert(setting.into(), Fact::known(value.into(), "test"));
        study
    }

    #[test]
    fn what_an_end_had_already_tells_on_which_way_packets_are_lost() {
        let of = |study: &StoredStudy| asked(study, lost_on);
        let back = || twice(Some(0), Some(1));
        assert_eq!(of(&back()), Some(Way::Back), "requests came again, three in all runs");
        assert_eq!(of(&twice(Some(1), Some(0))), Some(Way::There), "answers did");
        assert_eq!(of(&twice(Some(2), Some(6))), Some(Way::Back), "three times as many");
        assert_eq!(of(&twice(Some(6), Some(2))), Some(Way::There));
        assert_eq!(of(&twice(Some(2), Some(5))), None, "on both ways");
        assert_eq!(of(&twice(Some(0), Some(0))), None);
        assert_eq!(of(&twice(Some(1), None)), None, "an end that did not count");
        assert_eq!(of(&twice(None, Some(1))), None);
        let mut two = back();
        two.records.truncate(2);
        assert_eq!(of(&two), None, "twice is an accident");
        assert_eq!(
            [Some(Way::There), Some(Way::Back), None].map(Way::says),
            [" on the way there", " on the way back", ""]
        );
    }

    #[test]
    fn ends_whose_timers_differ_do_not_tell_the_way() {
        let of = |setting: &str, value: &str| {
            asked(&with(twice(Some(0), Some(1)), setting, value), lost_on)
        };
        assert_eq!(of(ROUTE_LEAST, "e0 3000"), None, "the other end's timer runs out first");
        assert_eq!(of(ROUTE_LEAST, "e1 3000"), Some(Way::Back), "a route elsewhere");
        assert_eq!(of(HOST_LEAST, "5000"), None);
        assert_eq!(of(HOST_LEAST, "200000"), Some(Way::Back), "as it is anyway");
    }

    #[test]
    fn a_timer_lasts_as_long_as_its_route_says_or_else_its_host() {
        let of = |all: &[(&str, &str)]| {
            let study = all
                .iter()
                .fold(twice(None, None), |study, (setting, value)| with(study, setting, value));
            asked(&study, |cell| (least_ns(cell), is_lengthened(cell)))
        };
        assert_eq!(of(&[]), (200e6, false));
        assert_eq!(of(&[(HOST_LEAST, "5000")]), (5e6, false));
        assert_eq!(of(&[(HOST_LEAST, "5000"), (ROUTE_LEAST, "e0 3000")]), (3e9, true));
        assert_eq!(of(&[(ROUTE_LEAST, "e0 200")]), (200e6, false), "no longer than without");
    }

    #[test]
    fn a_round_trip_is_late_from_the_least_timer_or_a_quarter_of_the_window_on() {
        let of = |longest_ms: u64, window_ms: u64| {
            let mut study = twice(None, None);
            read(&mut study, "tcp-info", "flow0.rtt_ns", longest_ms * 1_000_000);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.window_ns.0 = window_ms * 1_000_000;
            }
            asked(&study, is_late)
        };
        assert_eq!([of(199, 10_000), of(200, 10_000)], [false, true]);
        assert_eq!([of(124, 500), of(125, 500)], [false, true]);
        assert!(!asked(&twice(None, None), is_late), "nobody counted any");
    }
}
