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
