//! `round-trip-time`: are round trips long because of the path, because of queues on it, or because
//! a small message waits?
//!
//! TCP keeps the shortest round trip that a connection ever had: that is the path with empty
//! queues. What the median has beyond it was waited for. Forty milliseconds are the delayed
//! acknowledgement that Nagle's algorithm waits for (RFC 1122, RFC 896); otherwise it is a queue,
//! or a link whose delay changes.

use crate::measured::{self, Blind, Cell, Looked, finding, waited_share};
use crate::rules::idle_slow_start::{Restart, restart};
use crate::rules::other_traffic;
use crate::schedule::Behind;
use crate::timers::{self, DELAYED_ACK_NS, Way};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

/// Whether the path, a queue or the message itself makes round trips long.
pub static RULE: Rule = Rule {
    name: "round-trip-time",
    asks: "Are round trips long because of the path, of queues, or of messages that wait?",
    of_host: false,
    judge,
};

/// What wake-ups and other processes add is shorter.
const WAITED_MIN_NS: f64 = 1e6;
/// And it must be of some weight beside the path.
const WAITED_SHARE: f64 = 0.5;
/// A larger message takes long by its length alone.
const SMALL_BYTES: u64 = 1448;
/// Smaller messages are hardly longer than an empty packet.
const LENGTH_BYTES: u64 = 500;
/// Nine tenths of round trips that wait for their length take so many times the median at the most.
const EVEN: f64 = 1.05;
/// A path of so much decides by itself what requests one after the other reach.
const LONG_NS: f64 = 1e6;
/// What the slowest hundredth takes longer than the middle, to be told: on a machine that eight
/// builds used it was 0 to 14 ms over free paths, and 3 in the median run.
const LATE_MIN_NS: f64 = 10e6;
/// A shorter wait than half of Linux's least timer (200 ms) is none for it.
const TIMER_NS: f64 = 100e6;
/// Less of the time than that costs requests little.
const TIMER_SHARE: f64 = 0.3;
/// From here on it is the larger part of the time.
const LARGER_SHARE: f64 = 0.5;
/// Threads that wait less are late by as little.
const WAITED_CPU_SHARE: f64 = 0.1;
/// Fewer round trips have no slowest hundredth.
const ROUND_TRIPS_MIN: u64 = 100;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::WaitsOverTcp);
    measured::judge(case, Needed::TcpTrips, idle, look)
}

/// The middle of a cell's round trips, and the shortest that TCP saw, in nanoseconds. Of those that
/// fall behind their schedule the middle is what each takes by itself.
#[derive(Clone, Copy)]
struct Trips {
    middle_ns: f64,
    shortest_ns: f64,
}

impl Trips {
    fn of(cell: &Cell<'_>) -> Result<Self, Blind> {
        let middle = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
        let middle = middle.ok_or_else(|| cell.lacks(Measure::RoundTrips))?;
        let shortest = shortest(cell).ok_or_else(|| cell.lacks(Measure::TcpShortestRoundTrip))?;
        let middle_ns = Behind::of(cell).map_or(middle.0 as f64, |behind| behind.each_ns());
        Ok(Self { middle_ns, shortest_ns: shortest })
    }

    fn waited_ns(self) -> f64 {
        (self.middle_ns - self.shortest_ns).max(0.0)
    }
}

/// What round trips wait for.
enum Wait {
    /// Those before them: more are due than the flows can serve.
    Schedule(Behind),
    /// Nagle's algorithm, and the acknowledgement that ends it.
    Nagle,
    /// Queues, or a delay that changes.
    Queues,
    /// The rate of the path, for messages of many segments.
    Length,
    /// A window that TCP cuts in each pause, from so many segments to so many.
    Restart(Restart),
    /// Single packets, of the slowest hundredth from so many nanoseconds on.
    Late(f64),
    /// A timer that sends again what was lost.
    Timer(Gap),
    /// Nothing that was counted, while segments were sent again.
    Silence(Gap),
    /// Threads of the ends that wait for a CPU, for this share of their time: the slowest
    /// hundredth takes so many nanoseconds.
    Cpu(f64, f64),
    /// A path that other traffic uses too.
    Others,
    /// For the path: it is as long as that.
    Distance,
}

/// Time of the flows that no round trip of ordinary length fills, where segments were sent again.
#[derive(Clone, Copy)]
struct Gap {
    /// Share of the flows' time.
    share: f64,
    /// So much of that share TCP's timers can have lasted.
    timed: f64,
    /// Whether timers were counted, and not only segments that were sent again.
    is_counted: bool,
    /// Segments that were sent again, in the median run.
    again: f64,
}

impl Gap {
    fn has_timer(&self) -> bool {
        self.timed >= TIMER_SHARE
    }
}

/// What a cell's round trips wait for; `None` where they are short.
fn wait(cell: &Cell<'_>, trips: Trips) -> Option<Wait> {
    let waits = trips.waited_ns() >= WAITED_MIN_NS.max(WAITED_SHARE * trips.shortest_ns);
    let has_nagle = cell.summary.settings.senders().any(|end| end.no_delay == Some(false));
    let params = &cell.trial.params;
    let is_small = params.message_bytes.max(params.response_bytes()).0 <= SMALL_BYTES;
    let gap = gap(cell, trips);
    let behind = Behind::of(cell);
    if let Some(behind) = behind.filter(|behind| behind.is_beyond(trips.shortest_ns)) {
        return Some(Wait::Schedule(behind));
    }
    if let Some(gap) = gap.filter(|gap| gap.timed >= LARGER_SHARE) {
        return Some(Wait::Timer(gap));
    }
    let late = late(cell, trips.middle_ns);
    if waits && has_nagle && DELAYED_ACK_NS.contains(&trips.waited_ns()) {
        Some(Wait::Nagle)
    } else if waits && !cell.is_busy() {
        let large = || restart(cell, trips.middle_ns).map_or(Wait::Length, Wait::Restart);
        Some(if is_small && !is_of_length(cell) { Wait::Queues } else { large() })
    } else if let Some((late_ns, share)) = late.zip(waited_for_cpu(cell)) {
        Some(Wait::Cpu(share, late_ns))
    } else if let Some(gap) = gap.filter(Gap::has_timer) {
        Some(Wait::Timer(gap))
    } else if let Some(late_ns) = late {
        Some(Wait::Late(late_ns))
    } else if let Some(gap) = gap {
        Some(Wait::Silence(gap))
    } else if let Some(behind) = behind {
        Some(Wait::Schedule(behind))
    } else if trips.shortest_ns >= LONG_NS {
        let is_others = other_traffic::is_more(cell) || other_traffic::is_queued_by_others(cell);
        Some(if is_others { Wait::Others } else { Wait::Distance })
    } else {
        None
    }
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::TCP_RR {
        return Err(Blind::OtherKind);
    }
    let trips = Trips::of(cell)?;
    let [middle, shortest] = [trips.middle_ns, trips.shortest_ns].map(|ns| ns / 1e6);
    let took = match Behind::of(cell) {
        None => format!("half of the round trips took {middle:.2} ms or less"),
        Some(_) => format!("a round trip took {middle:.2} ms in the mean from when it was sent"),
    };
    let seen = format!("{took}; TCP's shortest was {shortest:.2} ms");
    let wrong = wait(cell, trips).map(|wait| {
        let says = says(cell, trips, &wait);
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy(&wait))
    });
    cell.saw(seen, wrong)
}

/// The sentence of a finding.
fn says(cell: &Cell<'_>, trips: Trips, wait: &Wait) -> String {
    let label = &cell.trial.label;
    let [middle, shortest, waited] =
        [trips.middle_ns, trips.shortest_ns, trips.waited_ns()].map(|ns| ns / 1e6);
    match wait {
        Wait::Schedule(behind) => overdue(label, behind),
        Wait::Nagle => format!(
            "Messages of {} B wait {waited:.0} ms in {label}: Nagle's algorithm keeps the last part \
             back until the peer's delayed acknowledgement comes",
            cell.trial.params.message_bytes.0
        ),
        Wait::Queues => format!(
            "Round trips vary in {label}: {middle:.1} ms in the middle where the path takes \
             {shortest:.2} ms; packets wait in queues, or the delay itself changes (jitter)"
        ),
        Wait::Length => by_length(cell, trips.waited_ns()),
        Wait::Restart(Restart { from_segments, to_segments }) => format!(
            "TCP begins slowly again after each pause in {label}: its congestion window falls from \
             {from_segments} to {to_segments} segments, so that a message takes {middle:.0} ms \
             where the path takes {shortest:.1} ms"
        ),
        Wait::Late(late_ns) => format!(
            "One round trip in a hundred takes {:.0} ms and more in {label}, where half take \
             {middle:.1} ms or less: {}",
            late_ns / 1e6,
            why_late(cell, *late_ns)
        ),
        Wait::Timer(gap) => by_timer(cell, gap, middle),
        Wait::Silence(gap) => format!(
            "No round trip fills {:.0} % of the time of {label} (segments sent again: {:.0}), and \
             TCP's timers do not add up to that; the other round trips take {middle:.1} ms",
            100.0 * gap.share,
            gap.again
        ),
        Wait::Cpu(share, late_ns) => format!(
            "One round trip in a hundred takes {:.0} ms and more in {label}, where half \
             take {middle:.1} ms or less: an end's thread waited for a CPU in {:.0} % of \
             its time",
            late_ns / 1e6,
            100.0 * share
        ),
        Wait::Others => format!(
            "Round trips of {label} take {middle:.1} ms, and none less than {shortest:.1} ms, \
            while other traffic uses the same path: measure again without it to separate its \
            queue from distance"
        ),
        Wait::Distance => format!(
            "The path itself takes {shortest:.1} of the {middle:.1} ms of a round trip in {label}: \
             distance, and not the ends, sets the rate of requests"
        ),
    }
}

fn remedy(wait: &Wait) -> &'static str {
    match wait {
        Wait::Schedule(_) => {
            "ask for fewer a second (--per-second) or over more flows (-P); without --per-second \
             round trips tell what the path and the ends take"
        }
        Wait::Nagle => {
            "switch Nagle's algorithm off (--nagle off; TCP_NODELAY in the program), or write each \
             message at once; --quickack at the peer shows the same"
        }
        Wait::Queues => {
            "look for other traffic in the same queues, radio or tunnels on the way, interrupts \
             that NICs hold back (ethtool -c) and power saving of NICs and CPUs; compare at \
             another time of day"
        }
        Wait::Length => {
            "send less at once, or raise the rate of the way (narrows tcp HOST shows what it \
             carries each way; -R the other): round trips of such messages are as fast as the path \
             is wide"
        }
        Wait::Restart(_) => {
            "at the end that sends: sysctl -w net.ipv4.tcp_slow_start_after_idle=0, which keeps the \
             window over pauses; or smaller messages more often"
        }
        Wait::Late(_) => {
            "look at the network for what delays or loses single packets: radio, a route or a \
             balancer with one slow member, a queue that fills in bursts; the ends' CPUs are not \
             it where they did not wait"
        }
        Wait::Timer(_) => {
            "find what loses packets on the way (ethtool -S, tc -s qdisc, the switches' \
             ports), and see that the next hop always answers (ip monitor neigh) and that no route \
             asks for a long timer (ip route show: rto_min), which is 200 ms without"
        }
        Wait::Silence(_) => {
            "see what else keeps the ends from asking and answering (their programs, their CPUs), \
             and find what loses packets on the way (ethtool -S, tc -s qdisc, the switches' ports)"
        }
        Wait::Cpu(..) => {
            "stop what else uses the ends' CPUs, or give both ends CPUs of their own (-A, \
             taskset, cpuset); a higher priority (nice, chrt) where that is not possible"
        }
        Wait::Others => {
            "stop or limit the other traffic and measure again; a shorter or managed queue where \
             the path is slowest (fq_codel, cake) keeps round trips short beside it"
        }
        Wait::Distance => {
            "nothing at the ends helps: keep more requests outstanding (--parallel), or bring the \
             ends nearer; traceroute shows the way"
        }
    }
}

/// More that is due than can be served, one request of a flow after the other.
fn overdue(label: &str, behind: &Behind) -> String {
    let Behind { due_hz, served_hz, flows } = behind;
    let (flows, serve) = match *flows as u64 {
        1 => ("one flow".to_owned(), "serves"),
        many => (format!("{many} flows"), "serve"),
    };
    format!(
        "{due_hz:.0} requests a second are due in {label}, and {flows} {serve} {served_hz:.0}, each \
         after the answer to the one before ({:.0} us): timed from when they were due, round trips \
         tell how far they fall behind",
        behind.each_ns() / 1e3
    )
}

/// Time that TCP's timer took, or may have taken where only segments were counted.
fn by_timer(cell: &Cell<'_>, gap: &Gap, middle_ms: f64) -> String {
    let waited = if gap.is_counted { "waited" } else { "perhaps waited" };
    let asked = timers::of_route_ns(cell).filter(|_| timers::is_lengthened(cell));
    let asked = asked.map_or(String::new(), |least_ns| {
        format!(", which a route makes {:.0} ms long (rto_min),", least_ns / 1e6)
    });
    format!(
        "TCP {waited} for its timer{asked} in {:.0} % of the time of {}: packets were lost{}, and one \
         message after the other has nothing behind it that would show the loss sooner; the other \
         round trips take {middle_ms:.1} ms",
        100.0 * gap.timed,
        cell.trial.label,
        Way::says(timers::lost_on(cell))
    )
}

/// Messages of many segments, which wait for their own length: one way alone may be slow, or both.
fn by_length(cell: &Cell<'_>, waited_ns: f64) -> String {
    let params = &cell.trial.params;
    let (asks, answers) = (params.message_bytes.0 as f64, params.response_bytes().0 as f64);
    let bps = |bytes: f64| 8e9 * bytes / waited_ns;
    let (unit_bps, unit) = if bps(asks) < 1e6 { (1e3, "kb/s") } else { (1e6, "Mb/s") };
    format!(
        "Messages of {} wait {:.1} ms for their own length in {}: the path carries about {:.0} to \
         {:.0} {unit}, by whether both ways are as slow",
        params.message_bytes,
        waited_ns / 1e6,
        cell.trial.label,
        bps(asks) / unit_bps,
        bps(asks + answers) / unit_bps
    )
}

/// In some words, what the round trips of a cell wait for.
pub fn why(cell: &Cell<'_>) -> Option<String> {
    let wait = wait(cell, Trips::of(cell).ok()?)?;
    let lost = || format!("packets that are lost{}", Way::says(timers::lost_on(cell)));
    let says = match wait {
        Wait::Schedule(_) => return None,
        Wait::Nagle => "Nagle's algorithm and a delayed acknowledgement",
        Wait::Queues => "queues, or a delay that changes",
        Wait::Length => "the length of the messages at the path's rate",
        Wait::Restart(_) => "slow start, begun again after each pause",
        Wait::Late(_) => "single packets that come late",
        Wait::Timer(_) if timers::is_lengthened(cell) => {
            return Some(lost() + ", and TCP's timer, which a route makes longer (rto_min)");
        }
        Wait::Timer(gap) if gap.is_counted => return Some(lost() + ", and TCP's timer"),
        Wait::Timer(_) => return Some(lost() + ", and perhaps TCP's timer"),
        Wait::Silence(_) => "time without a round trip, while segments were sent again",
        Wait::Cpu(..) => "threads that wait for a CPU",
        Wait::Others => "distance, or the queue of other traffic",
        Wait::Distance => "distance",
    };
    Some(says.to_owned())
}

/// Whether messages of a packet take what a slow link takes for their bytes: all as long, where
/// queues and delays that change are now longer and now shorter.
fn is_of_length(cell: &Cell<'_>) -> bool {
    let params = &cell.trial.params;
    let bytes = params.message_bytes.max(params.response_bytes()).0;
    let trips = cell.summary.round_trips.as_ref();
    let percentiles = trips.and_then(|trips| trips.p50_ns.zip(trips.p90_ns));
    let is_even = percentiles.is_some_and(|(p50, p90)| p90.0 as f64 <= EVEN * p50.0 as f64);
    bytes >= LENGTH_BYTES && is_even
}

/// Whether a cell's round trips wait for those before them, of which too many are due.
pub fn is_overdue(cell: &Cell<'_>) -> bool {
    let wait = Trips::of(cell).ok().and_then(|trips| wait(cell, trips));
    matches!(wait, Some(Wait::Schedule(_)))
}

/// Whether a cell's round trips wait for TCP's timer, or for nothing that was counted while
/// segments were sent again.
pub fn waits_for_timer(cell: &Cell<'_>) -> bool {
    let wait = Trips::of(cell).ok().and_then(|trips| wait(cell, trips));
    matches!(wait, Some(Wait::Timer(_) | Wait::Silence(_)))
}

/// The shortest that TCP saw in any run: a queue that was there throughout one run is no path.
fn shortest(cell: &Cell<'_>) -> Option<f64> {
    let ends = cell.done.iter().filter_map(|record| record.sender());
    ends.filter_map(|end| {
        let all = end.readings.each(keys::RTT_MIN, Moment::Closing);
        all.map(|(_, ns)| ns as f64).reduce(f64::min)
    })
    .reduce(f64::min)
}

/// What the slowest hundredth takes in the median run, where that is far from the middle.
fn late(cell: &Cell<'_>, middle_ns: f64) -> Option<f64> {
    let late_ns = cell.of_sender(slowest_hundredth)?;
    let is_late = late_ns - middle_ns >= LATE_MIN_NS.max(middle_ns);
    // Behind a schedule all are late.
    (is_late && !cell.is_busy() && Behind::of(cell).is_none()).then_some(late_ns)
}

/// Time that no round trip of ordinary length fills, where that is much and segments were sent
/// again: what is still under way as the window closes counts too. Timers took no more of it than
/// their number allows; that a timer doubles is not known of any, and not taken for granted.
fn gap(cell: &Cell<'_>, trips: Trips) -> Option<Gap> {
    let flows = f64::from(cell.trial.params.streams.max(1));
    let longest_ns = trips.middle_ns + TIMER_NS;
    let share = cell.of_sender(|end| {
        let ordinary = end.round_trips.iter().filter(|(ns, _)| ns.0 as f64 <= longest_ns);
        let filled: f64 = ordinary.map(|(ns, count)| ns.0 as f64 * *count as f64).sum();
        (end.window_ns.0 > 0).then(|| 1.0 - filled / (end.window_ns.0 as f64 * flows))
    })?;
    let time_ns = flows * cell.of_sender(|end| Some(end.window_ns.0 as f64))?;
    let again = timers::of_either(cell, keys::RETRANSMITTED).unwrap_or(0.0);
    let counted = timers::ran_out(cell, again);
    let timers = counted.unwrap_or(again);
    let timed = share.min(timers * timer_ns(cell, trips) / time_ns);
    let is_again = again.max(timers) >= 1.0;
    let gap = Gap { share, timed, is_counted: counted.is_some(), again: again.max(timers) };
    (share >= TIMER_SHARE && is_again).then_some(gap)
}

/// What a timer lasts at the least (RFC 6298): the round trip, and what a route or the host sets
/// beside it.
fn timer_ns(cell: &Cell<'_>, trips: Trips) -> f64 {
    trips.shortest_ns + timers::least_ns(cell)
}

/// Share of its time that an end's thread waited for a CPU, where that was much.
fn waited_for_cpu(cell: &Cell<'_>) -> Option<f64> {
    let waits = [cell.of_sender(waited_share), cell.of_receiver(waited_share)];
    waits.into_iter().flatten().reduce(f64::max).filter(|share| *share >= WAITED_CPU_SHARE)
}

fn slowest_hundredth(end: &EndReport) -> Option<f64> {
    let mut all = end.round_trips.clone();
    all.sort_unstable();
    let count: u64 = all.iter().map(|(_, count)| count).sum();
    if count < ROUND_TRIPS_MIN {
        return None;
    }
    let mut slower = count;
    let at = all.iter().find(|(_, of)| {
        slower -= of;
        slower * 100 <= count
    })?;
    Some(at.0.0 as f64)
}

fn why_late(cell: &Cell<'_>, late_ns: f64) -> &'static str {
    let again = timers::of_either(cell, keys::RETRANSMITTED).unwrap_or(0.0);
    let timers = timers::ran_out(cell, again);
    if again < 1.0 {
        "nothing was lost, so that single packets wait somewhere on the path"
    } else if late_ns >= timers::least_ns(cell) && timers.is_none_or(|timers| timers >= 1.0) {
        "packets were lost, and TCP waited for its timer (200 ms at the least)"
    } else {
        "segments were sent again, sooner than TCP's timer would"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream, trips};
    use crate::setting::testing::{is_clear, is_idle, is_unknown, known};
    use narrows_model::host::Host;
    use narrows_model::load::{Role, TripParams};
    use narrows_model::study::StoredStudy;
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn a_late_hundredth_is_found() {
        let of = |late_ms: u64, again: u64| {
            let mut study = trips(2_000);
            study.trials[0].params.message_bytes = Bytes(64);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 2_000_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.round_trips.push((Nanos(late_ms * 1_000_000), 30));
                }
            }
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].says.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(of(80, 0).contains("takes 80 ms and more"), "{}", of(80, 0));
        assert!(of(210, 4).contains("waited for its timer"));
        assert!(of(80, 4).contains("sooner than TCP's timer"), "{}", of(80, 4));
        assert!(of(9, 0).contains("distance"));
    }

    /// Round trips of 10.4 ms in a second, where the path takes 10.1.
    fn with_gap(trips_done: u64, counted: &[(&str, u64)]) -> StoredStudy {
        let mut study = trips(10_400);
        study.trials[0].params.message_bytes = Bytes(64);
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", 10_100_000);
        for (key, count) in counted {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), *count);
        }
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.round_trips[0].1 = trips_done;
        }
        study
    }

    fn said(study: &StoredStudy) -> String {
        match of_study(&RULE, study) {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn time_that_a_timer_took_is_not_called_distance() {
        let of = |trips_done: u64, again: u64, timers: u64| {
            let counted = [("retransmitted_segments", again), ("timeouts_events", timers)];
            said(&with_gap(trips_done, &counted))
        };
        // Four timers of 210.1 ms each are longer than the 79 % that no round trip fills.
        assert!(of(20, 4, 4).contains("TCP waited for its timer in 79 %"), "{}", of(20, 4, 4));
        assert!(!of(20, 4, 4).contains("  "), "one space between words: {}", of(20, 4, 4));
        assert!(of(20, 2, 2).contains("TCP waited for its timer in 42 %"), "{}", of(20, 2, 2));
        // One lasts 210.1 ms of the second.
        let one = of(20, 1, 1);
        assert!(
            one.contains("No round trip fills 79 %") && one.contains("sent again: 1)"),
            "{one}"
        );
        assert!(of(20, 9, 0).contains("sent again: 9)"), "no timer: {}", of(20, 9, 0));
        assert!(of(90, 1, 1).contains("distance"), "one loss, and hardly a wait");
        assert!(of(20, 0, 0).contains("distance"), "nothing was sent again");
    }

    #[test]
    fn segments_that_were_sent_again_are_perhaps_timers_where_those_are_not_counted() {
        let of = |again: u64| said(&with_gap(20, &[("retransmitted_segments", again)]));
        assert!(of(4).contains("TCP perhaps waited for its timer in 79 %"), "{}", of(4));
        assert!(of(1).contains("No round trip fills 79 %"), "{}", of(1));
    }

    #[test]
    fn the_end_that_has_segments_twice_tells_the_way_of_the_losses() {
        let of = |asks: u64, answers: u64| {
            let counted = [("retransmitted_segments", 4), ("timeouts_events", 4)];
            let mut study = with_gap(20, &counted);
            let twice = "TcpExt.TCPDSACKOldSent_events";
            read(&mut study, "netstat", twice, asks);
            read_receiver(&mut study, "netstat", twice, answers);
            said(&study)
        };
        // Of three runs each.
        assert!(of(0, 3).contains("lost on the way back, and"), "{}", of(0, 3));
        assert!(of(3, 1).contains("lost on the way there, and"), "{}", of(3, 1));
        assert!(of(2, 2).contains("were lost, and"), "either: {}", of(2, 2));
        let mut longer = with_gap(20, &[("retransmitted_segments", 4), ("timeouts_events", 4)]);
        read_receiver(&mut longer, "netstat", "TcpExt.TCPDSACKOldSent_events", 3);
        read(&mut longer, "netstat", "TcpExt.TCPDSACKOldSent_events", 0);
        let mut far = Host::default();
        far.tuning.insert(timers::HOST_LEAST.into(), known("1000000".to_owned()));
        longer.peer_hosts = vec![far];
        assert!(said(&longer).contains("were lost, and"), "its timer is longer: {}", said(&longer));
    }

    #[test]
    fn a_timer_lasts_what_the_host_sets() {
        let mut study = with_gap(20, &[("retransmitted_segments", 1), ("timeouts_events", 1)]);
        let setting = known("600000".to_owned());
        study.host.tuning.insert(timers::HOST_LEAST.into(), setting);
        assert!(said(&study).contains("TCP waited for its timer in 61 %"), "{}", said(&study));
    }

    #[test]
    fn a_route_that_makes_the_timer_longer_is_named() {
        let of = |route: &str, probes: u64| {
            let counted = [("retransmitted_segments", 1), ("timeouts_events", 0)];
            let mut study = with_gap(20, &counted);
            read(&mut study, "netstat", "TcpExt.TCPLossProbes_events", probes);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
            }
            study.host.tuning.insert(timers::ROUTE_LEAST.into(), known(route.to_owned()));
            said(&study)
        };
        // One loss probe of 710.1 ms, though the retransmission timer never ran out.
        let long = of("e0 700", 1);
        assert!(long.contains("a route makes 700 ms long (rto_min), in 71 %"), "{long}");
        assert!(of("e0 700", 0).contains("No round trip fills 79 %"), "nothing ran out");
        assert!(of("e1 700", 1).contains("No round trip fills 79 %"), "another interface");
        assert!(!of("e0 100", 1).contains("rto_min"), "a shorter one");
    }

    #[test]
    fn a_timer_hides_no_other_wait_that_takes_the_larger_part() {
        let counted = [("retransmitted_segments", 2), ("timeouts_events", 2)];
        let with = |middle_us: u64, count: u64, no_delay: bool| {
            let mut study = with_gap(20, &counted);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 50_000);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.round_trips = vec![(Nanos(middle_us * 1000), count)];
                end.effective.no_delay = Some(no_delay);
            }
            study
        };
        // Thirteen of 44 ms fill 57 %, and two timers take 40 of the other 43.
        assert!(said(&with(44_000, 13, false)).contains("Nagle"));
        assert!(said(&with(44_000, 13, true)).contains("jitter"));
        let mut waits = with_gap(2, &counted);
        for end in waits.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.round_trips = vec![(Nanos(100_000), 1000), (Nanos(150_000_000), 12)];
            end.threads[0].system_ns = Nanos(0);
            end.threads[0].waited_ns = Some(Nanos(450_000_000));
        }
        read(&mut waits, "tcp-info", "flow0.rtt_min_ns", 50_000);
        assert!(said(&waits).contains("waited for a CPU in 45 %"), "{}", said(&waits));
    }

    #[test]
    fn more_than_flows_can_serve_is_the_load_and_not_the_path() {
        let of = |due: u64, shortest_us: u64| {
            let mut study = trips(900_000);
            let params = &mut study.trials[0].params;
            params.message_bytes = Bytes(64);
            params.trip = Some(TripParams { response_bytes: None, per_second: Some(due) });
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", shortest_us * 1_000);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.flows[0].messages = 18_000;
            }
            of_study(&RULE, &study)
        };
        // One of a second's 18,000 takes 55.6 us.
        let says = |due: u64, shortest_us: u64| format!("{:?}", of(due, shortest_us));
        let beyond = says(400_000, 20);
        assert!(beyond.contains("400000 requests a second are due"), "{beyond}");
        assert!(beyond.contains("one flow serves 18000") && beyond.contains("(56 us)"), "{beyond}");
        assert!(says(19_000, 20).contains("19000 requests a second are due"), "the ends are slow");
        assert!(says(18_000, 20).contains("Round trips vary"), "they keep up, and take long");
        assert!(says(18_080, 20).contains("Round trips vary"), "as near as counts are");
        assert!(says(18_100, 20).contains("18100 requests a second are due"), "a little more");
    }

    #[test]
    fn messages_that_all_take_as_long_wait_for_their_length_and_not_for_jitter() {
        let of = |bytes: u64, late_ms: u64| {
            let mut study = trips(57_000);
            study.trials[0].params.message_bytes = Bytes(bytes);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 50_000);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.round_trips.push((Nanos(late_ms * 1_000_000), 300));
            }
            said(&study)
        };
        // 1000 B in 57 ms are 140 kb/s, and there and back twice that.
        let slow = of(1000, 58);
        assert!(slow.contains("wait 57.0 ms for their own length"), "{slow}");
        assert!(slow.contains("about 140 to 281 kb/s"), "{slow}");
        assert!(of(1000, 70).contains("Round trips vary"), "a quarter of them take longer");
        assert!(of(499, 58).contains("Round trips vary"), "hardly longer than an empty packet");
    }

    #[test]
    fn threads_that_wait_for_a_cpu_are_not_called_a_path_that_is_late() {
        let of = |waited_percent: u64| {
            let mut study = trips(20);
            study.trials[0].params.message_bytes = Bytes(64);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 10_000);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.round_trips.push((Nanos(23_000_000), 30));
                end.threads[0].system_ns = Nanos(0);
                end.threads[0].waited_ns = Some(Nanos(waited_percent * 10_000_000));
            }
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].says.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(of(64).contains("waited for a CPU in 64 %"), "{}", of(64));
        assert!(!of(64).contains("  "), "one space between words: {}", of(64));
        assert!(of(2).contains("single packets wait somewhere"), "{}", of(2));
    }

    #[test]
    fn long_messages_wait_for_the_rate_of_the_path() {
        // 64 KiB one way at 10 Mb/s take 52 ms.
        let of = |middle_us: u64| {
            let mut study = trips(middle_us);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 2_200_000);
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(54_600) else { panic!("{:?}", of(54_600)) };
        let says = &findings[0].says;
        assert!(says.contains("wait 52.4 ms for their own length"), "{says}");
        assert!(says.contains("about 10 to 20 Mb/s"), "{says}");
        let Verdict::Found { findings } = of(2_700) else { panic!("{:?}", of(2_700)) };
        assert!(findings[0].says.contains("distance"), "{}", findings[0].says);
    }

    #[test]
    fn what_others_queue_is_not_called_distance() {
        let of = |others_bytes: u64| {
            let mut study = trips(150_000);
            study.trials[0].params.message_bytes = Bytes(64);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 140_000_000);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                (end.flows[0].bytes, end.flows[0].messages) = (Bytes(640), 10);
                end.effective.interface = Some("e0".into());
                end.readings.put_words("interface", "e0.tx_bytes", others_bytes);
            }
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].says.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(of(2_500_000_000).contains("other traffic uses the same path"));
        assert!(of(10_000).contains("distance, and not the ends"));
    }

    #[test]
    fn distance_queues_and_nagle_are_told_apart() {
        let of = |middle_us: u64, shortest_us: u64, no_delay: bool| {
            let mut study = trips(middle_us);
            study.trials[0].params.message_bytes = Bytes(64);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 1000 * shortest_us);
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.effective.no_delay = Some(no_delay);
                }
            }
            of_study(&RULE, &study)
        };
        let says = |verdict: Verdict| match verdict {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => panic!("{other:?}"),
        };
        assert!(is_clear(&of(40, 8, true)));
        assert!(says(of(10_300, 10_100, true)).contains("distance"));
        assert!(says(of(5_000, 700, true)).contains("jitter"));
        assert!(says(of(44_000, 50, false)).contains("Nagle"));
        assert!(says(of(44_000, 50, true)).contains("jitter"));
        assert!(is_unknown(&of_study(&RULE, &trips(40))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
