//! `round-trips-stall`: do a few long round trips take much of the time?
//!
//! Asked one after another, a round trip of 100 ms takes the time of fifty of 2 ms and counts once:
//! the median tells nothing of it, and the round trips of a second all the more. Where such stalls
//! were, TCP tells: what came to an end whose program does not answer its kernel acknowledges by
//! itself, by the delayed acknowledgement of 40 ms (RFC 1122). Threads that wait for a CPU are
//! counted by the scheduler, and losses by TCP's timers; what is left is between the ends.

use crate::measured::{self, Blind, Cell, Looked, finding, waited_share};
use crate::rules::{round_trip_time, round_trips_vary};
use crate::timers::{self, DELAYED_ACK_NS};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

/// Whether a few long round trips take much of the time.
pub static RULE: Rule = Rule {
    name: "round-trips-stall",
    asks: "Do a few long round trips take much of the time?",
    of_host: false,
    judge,
};

/// A stall is so many times as long as the median, and no wake-up, which is shorter than that.
const TIMES: f64 = 10.0;
const LEAST_NS: f64 = 1e6;
/// Share of the time in stalls from which on they are told. Of ten healthy paths between two
/// namespaces the worst had 0.015.
const TOLD_SHARE: f64 = 0.08;
/// And from which on they are what holds the cell.
const HOLDS_SHARE: f64 = 0.2;
/// More than half of the runs have so much, else they are one accident.
const EACH_SHARE: f64 = 0.03;
/// What of the stalls threads must have waited for a CPU, or acknowledgements been delayed.
const PART: f64 = 0.5;
/// A stall that lasts so many times as long as a timer at the least has lost what that sent too.
const TIMERS: f64 = 1.5;
/// Threads that wait less are late by as little.
const WAITED_SHARE: f64 = 0.1;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TripsToPeer, None, look)
}

/// The stalls of all runs of a cell.
struct Stalls {
    /// Share of the flows' time.
    share: f64,
    /// Mean length, in nanoseconds.
    each_ns: f64,
    /// Whether most runs have them.
    is_again: bool,
}

/// Where they were.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The thread of this end waited for a CPU, for such a share of its time.
    Cpu(&'static str, f64),
    /// The program of this end did not answer what its kernel had.
    Program(&'static str),
    /// Segments were lost, and a timer of TCP sent them again.
    Lost,
    /// Segments were lost, and what the timer sent again as well.
    Outage,
    /// Neither of these, and each end's program had answered what came.
    Between,
    /// Too short for acknowledgements to tell.
    Unknown,
}

impl Stalls {
    fn of(cell: &Cell<'_>) -> Option<Self> {
        let ends = cell.done.iter().filter_map(|record| record.sender());
        let runs: Vec<Run> = ends.filter_map(Run::of).collect();
        let sum = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>();
        let [took_ns, time_ns, count] =
            [sum(|run| run.took_ns), sum(|run| run.time_ns), sum(|run| run.count)];
        let again = runs.iter().filter(|run| run.took_ns >= EACH_SHARE * run.time_ns).count();
        (time_ns > 0.0).then(|| Self {
            // Of no stall at all the sum is a negative zero.
            share: (took_ns / time_ns).clamp(0.0, 1.0).abs(),
            each_ns: took_ns / count.max(1.0),
            is_again: 2 * again > runs.len(),
        })
    }

    fn is_told(&self) -> bool {
        self.is_again && self.share >= TOLD_SHARE
    }

    /// `stalls of about 52 ms take 28 % of the time`.
    fn says(&self) -> String {
        let ms = self.each_ns / 1e6;
        let digits = if ms < 9.95 { 1 } else { 0 };
        format!("stalls of about {ms:.digits$} ms take {:.0} % of the time", 100.0 * self.share)
    }
}

/// The stalls of one run.
struct Run {
    took_ns: f64,
    time_ns: f64,
    count: f64,
}

impl Run {
    fn of(end: &EndReport) -> Option<Self> {
        let bound = bound_ns(end)?;
        let flows = end.flows.len().max(1) as f64;
        let stalls = || end.round_trips.iter().filter(move |(ns, _)| ns.0 as f64 >= bound);
        Some(Self {
            took_ns: stalls().map(|(ns, count)| ns.0 as f64 * *count as f64).sum(),
            time_ns: end.window_ns.0 as f64 * flows,
            count: stalls().map(|(_, count)| *count as f64).sum(),
        })
    }
}

/// What a round trip of a run takes at the least to be a stall.
fn bound_ns(end: &EndReport) -> Option<f64> {
    let mut all = end.round_trips.clone();
    all.sort_unstable();
    let count: u64 = all.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let middle = all.iter().find(|(_, of)| {
        seen += of;
        2 * seen >= count
    })?;
    Some((TIMES * middle.0.0 as f64).max(LEAST_NS))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !is_asked(cell) {
        return Err(Blind::OtherKind);
    }
    let stalls = Stalls::of(cell).ok_or_else(|| cell.lacks(Measure::RoundTrips))?;
    let seen = format!(
        "round trips of {TIMES:.0} times the median and more take {:.1} % of the time",
        100.0 * stalls.share
    );
    let is_told_elsewhere =
        round_trips_vary::is_found(cell) || round_trip_time::waits_for_timer(cell);
    let is_theirs = stalls.is_told() && !is_told_elsewhere;
    let wrong = is_theirs.then(|| {
        let place = place(cell);
        let says = format!(
            "In {} {}, which the median does not show: {}",
            cell.trial.label,
            stalls.says(),
            at(place)
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy(place))
    });
    cell.saw(seen, wrong)
}

/// Round trips that are asked one after another, as fast as they come: of those that are due so
/// many a second several are under way at once, and the times add up to more than the window.
fn is_asked(cell: &Cell<'_>) -> bool {
    let is_due = cell.trial.params.trip.as_ref().is_some_and(|trip| trip.per_second.is_some());
    cell.trial.kind.is_round_trip() && !is_due && !cell.is_paced() && !cell.is_probe()
}

/// Whether stalls, rather than the median, hold a cell: where they take much of the time, and where
/// the packets that are lost are lost in them.
pub fn hold(cell: &Cell<'_>) -> bool {
    let is_lost = || matches!(place(cell), Place::Lost | Place::Outage);
    Stalls::of(cell).is_some_and(|stalls| stalls.share >= HOLDS_SHARE || is_lost())
}

/// How much, and where they were, in some words.
pub fn why(cell: &Cell<'_>) -> Option<String> {
    let stalls = Stalls::of(cell)?;
    let place = match place(cell) {
        Place::Cpu(end, _) => format!(", in which the {end}'s thread waited for a CPU"),
        Place::Program(end) => format!(", in which the {end}'s program did not run"),
        Place::Lost => ", for packets that are lost".to_owned(),
        Place::Outage => ", outages in which what is sent again is lost too".to_owned(),
        Place::Between => ", between the ends".to_owned(),
        Place::Unknown => String::new(),
    };
    let [ms, percent] = [stalls.each_ns / 1e6, 100.0 * stalls.share];
    let digits = if ms < 9.95 { 1 } else { 0 };
    Some(format!("{ms:.digits$} ms each, {percent:.0} % of the time{place}"))
}

/// The stalls of a cell that something else holds more, as a clause.
pub fn beside(cell: &Cell<'_>) -> Option<String> {
    Some(Stalls::of(cell).filter(Stalls::is_told)?.says())
}

fn place(cell: &Cell<'_>) -> Place {
    let stalls = Stalls::of(cell);
    let (share, each_ns) = stalls.map_or((0.0, 0.0), |stalls| (stalls.share, stalls.each_ns));
    let ends =
        [("sender", cell.of_sender(waited_share)), ("receiver", cell.of_receiver(waited_share))];
    let waited = ends.into_iter().filter_map(|(name, share)| Some((name, share?)));
    let most = waited.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, waited)) = most.filter(|most| most.1 >= WAITED_SHARE.max(PART * share)) {
        return Place::Cpu(name, waited);
    }
    let again = timers::of_either(cell, keys::RETRANSMITTED).unwrap_or(0.0);
    if timers::ran_out(cell, again).is_some_and(|timers| timers >= 1.0) {
        let is_longer = each_ns >= TIMERS * timers::least_ns(cell);
        return if is_longer { Place::Outage } else { Place::Lost };
    }
    match [delayed(cell, true), delayed(cell, false)] {
        [Some(sender), Some(receiver)] if sender.max(receiver) >= PART => {
            Place::Program(if sender > receiver { "sender" } else { "receiver" })
        }
        [Some(_), Some(_)] => Place::Between,
        _ => Place::Unknown,
    }
}

/// Share of the stalls, of those that last as long as a delayed acknowledgement, in which an end's
/// kernel sent one. `None` where nobody counted, where most of the time is in shorter ones, or
/// where Nagle's algorithm waits for them.
fn delayed(cell: &Cell<'_>, is_sender: bool) -> Option<f64> {
    let has_nagle = cell.summary.settings.senders().any(|end| end.no_delay == Some(false));
    if has_nagle {
        return None;
    }
    let (mut long, mut took_ns, mut all_ns, mut acknowledged) = (0.0, 0.0, 0.0, 0.0);
    for record in &cell.done {
        let asks = record.sender()?;
        let end = if is_sender { Some(asks) } else { record.receiver() }?;
        let counted = end.readings.total(keys::DELAYED_ACKS)? as f64;
        let bound = bound_ns(asks)?;
        all_ns += Run::of(asks)?.took_ns;
        let least = bound.max(DELAYED_ACK_NS.start);
        let of = || asks.round_trips.iter().filter(move |(ns, _)| ns.0 as f64 >= least);
        let count: f64 = of().map(|(_, count)| *count as f64).sum();
        took_ns += of().map(|(ns, count)| ns.0 as f64 * *count as f64).sum::<f64>();
        long += count;
        acknowledged += counted.min(count);
    }
    (long > 0.0 && took_ns >= PART * all_ns).then(|| acknowledged / long)
}

fn at(place: Place) -> String {
    match place {
        Place::Cpu(end, waited) => {
            format!("the {end}'s thread waited for a CPU in {:.0} % of its time", 100.0 * waited)
        }
        Place::Program(end) => format!(
            "the {end}'s program did not run meanwhile, while its kernel acknowledged what had come \
             for it"
        ),
        Place::Lost => "packets were lost, and TCP waited for its timer".to_owned(),
        Place::Outage => "packets were lost, and what TCP's timer sent again as well: nothing \
                          passed for as long"
            .to_owned(),
        Place::Between => "nothing was lost, no thread waited for a CPU and each end had answered \
                           what came: packets wait between the ends"
            .to_owned(),
        Place::Unknown => "no thread waited for a CPU as long, and whether they wait at an end or \
                           between is not told"
            .to_owned(),
    }
}

fn remedy(place: Place) -> String {
    match place {
        Place::Cpu(..) => {
            "stop what else uses the ends' CPUs, or give both ends CPUs of their own (-A, taskset, \
             cpuset); see that no quota of their control groups stops them (nr_throttled); else a \
             higher priority (nice, chrt), of kernel threads that handle packets too (ksoftirqd, \
             threaded NAPI)"
                .to_owned()
        }
        Place::Program(end) => format!(
            "see what stops the {end}'s process for as long: a debugger or SIGSTOP, the freezer of \
             its control group (cgroup.freeze), a quota of CPU time (cpu.max, nr_throttled in \
             cpu.stat), memory that is reclaimed or swapped, a virtual machine that is paused"
        ),
        Place::Lost => {
            "find what loses packets on the way (ethtool -S, tc -s qdisc, the switches' ports), and \
             see that the next hop answers (ip monitor neigh)"
                .to_owned()
        }
        Place::Outage => {
            "look for a link that flaps or a route that changes (ip monitor, the switch's log), radio \
             that scans or roams, and a next hop that does not answer (ip monitor neigh)"
                .to_owned()
        }
        Place::Between | Place::Unknown => {
            "find the hop that stops: ping each one along the way in parallel (-i 0.01; the first \
             that stalls too), ip monitor neigh and route at both ends; a radio link or interface \
             that sleeps, a router whose CPU is taken (a virtual machine, a job), a program that \
             passes packets on (VPN, tunnel, proxy)"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream, trips};
    use crate::setting::testing::{is_clear, is_unknown, known};
    use narrows_model::Nanos;
    use narrows_model::load::{Role, TripParams};
    use narrows_model::study::StoredStudy;

    /// Round trips of so many microseconds, which fill what so many stalls of a length leave of the
    /// second; with delayed acknowledgements at the two ends.
    fn study(median_us: u64, stalls: u64, each_ms: u64, delayed: [u64; 2]) -> StoredStudy {
        let mut study = trips(median_us);
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            let rest_us = 1_000_000 - 1000 * stalls * each_ms;
            end.flows.truncate(1);
            end.round_trips = vec![
                (Nanos(median_us * 1000), rest_us / median_us),
                (Nanos(each_ms * 1_000_000), stalls),
            ];
        }
        let key = "TcpExt.DelayedACKs_events";
        read(&mut study, "netstat", key, delayed[0]);
        read_receiver(&mut study, "netstat", key, delayed[1]);
        study
    }

    fn says(study: &StoredStudy) -> String {
        match of_study(&RULE, study) {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn stalls_are_told_by_what_they_take_of_the_time() {
        let found = says(&study(2000, 3, 100, [0, 0]));
        assert!(found.contains("stalls of about 100 ms take 30 % of the time"), "{found}");
        assert!(is_clear(&of_study(&RULE, &study(2000, 3, 19, [0, 0]))), "no ten medians");
        assert!(is_clear(&of_study(&RULE, &study(2000, 1, 70, [0, 0]))), "seven per cent");
        assert!(is_clear(&of_study(&RULE, &study(50, 0, 0, [0, 0]))), "none");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-rr"))));
    }

    #[test]
    fn one_run_of_three_is_an_accident() {
        let mut study = study(2000, 3, 100, [0, 0]);
        for record in study.records.iter_mut().skip(1) {
            record.of_mut(Role::Sender).for_each(|end| end.round_trips.truncate(1));
        }
        assert!(is_clear(&of_study(&RULE, &study)));
    }

    #[test]
    fn a_delayed_acknowledgement_tells_whose_program_did_not_answer() {
        let at = |delayed| says(&study(5, 5, 52, delayed));
        assert!(at([0, 5]).contains("the receiver's program did not run"), "{}", at([0, 5]));
        assert!(at([4, 0]).contains("the sender's program did not run"), "{}", at([4, 0]));
        assert!(at([0, 0]).contains("packets wait between the ends"), "{}", at([0, 0]));
        assert!(at([1, 1]).contains("packets wait between the ends"), "others' connections");
        let short = says(&study(5, 50, 5, [0, 0]));
        assert!(short.contains("at an end or between is not told"), "{short}");
    }

    #[test]
    fn threads_that_wait_and_timers_come_first() {
        let mut waits = study(5, 5, 52, [0, 5]);
        for end in waits.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.threads[0].waited_ns = Some(Nanos(250_000_000));
        }
        let found = says(&waits);
        assert!(found.contains("the receiver's thread waited for a CPU in 25 %"), "{found}");
        let lost = |each_ms: u64, least_us: u64| {
            let mut lost = study(5, 1, each_ms, [0, 0]);
            read(&mut lost, "tcp-info", "flow0.rtt_min_ns", 4_000);
            read(&mut lost, "tcp-info", "flow0.retransmitted_segments", 1);
            read(&mut lost, "tcp-info", "flow0.timeouts_events", 1);
            lost.host.tuning.insert(timers::HOST_LEAST.into(), known(least_us.to_string()));
            lost
        };
        let once = says(&lost(250, 200_000));
        assert!(once.contains("lost, and TCP waited for its timer"), "{once}");
        let twice = says(&lost(250, 160_000));
        assert!(twice.contains("what TCP's timer sent again as well"), "{twice}");
        let told = of_study(&RULE, &lost(400, 200_000));
        assert!(is_clear(&told), "round-trip-time tells of the timer");
    }

    #[test]
    fn requests_that_are_due_so_many_a_second_are_another_matter() {
        let mut study = study(2000, 3, 100, [0, 0]);
        study.trials[0].params.trip =
            Some(TripParams { per_second: Some(500), ..TripParams::default() });
        assert!(is_unknown(&of_study(&RULE, &study)));
    }
}
