//! What of the ends themselves holds a cell, and is no rule's to find: the pace or load that was
//! asked for, a thread without CPU time left, other processes, a sender that does not write.

use super::{Answer, Sureness};
use crate::ends::End;
use crate::measured::{Cell, waited_share};
use crate::names;
use crate::rules::noisy_host;
use crate::schedule::Behind;
use crate::timers;
use narrows_model::Fact;
use narrows_model::result::Finding;
use narrows_model::workload::Workload;
use narrows_stats::Label;

/// A shorter wait for a CPU is ordinary.
const WAITED_SHARE: f64 = 0.1;
/// From this share of the time on, waiting for a CPU is what a thread mostly did.
const STARVED_SHARE: f64 = 0.5;
/// Where TCP had something under way for less of the time, the sender is what was waited for.
pub const ENGAGED_MIN: f64 = 0.8;
/// What holds a stream that keeps its pace.
pub const PACE: &str = "the requested pace";
/// A pace is held from this share of it on.
pub const HELD_SHARE: f64 = 0.95;
const PACE_ACTION: &str = "nothing: the stream keeps the pace that -b asks for; a higher one, or \
                           none, shows what the path carries";
/// What to do about a timer that a route lengthens.
const STALLED_ACTION: &str = "take rto_min off the route at the sender (ip route show; ip route \
                              change ... without it), and see what loses packets on the way; \
                              measure for several times as long as the timer lasts (-t)";

/// Whether an end's threads waited for a CPU for most of the time: which congestion control gets
/// more out of what they had is another question.
pub fn is_starved(cell: &Cell<'_>) -> bool {
    let waits = [cell.of_sender(waited_share), cell.of_receiver(waited_share)];
    waits.into_iter().flatten().any(|waited| waited >= STARVED_SHARE)
}

/// What of the ends themselves holds a cell, and is no rule's to find.
pub fn of_ends(cell: &Cell<'_>, found: &[&Finding]) -> Option<Answer> {
    let is_noisy = found.iter().any(|one| one.rule == names::NOISY_HOST);
    // A thread that waits for its pace fills a CPU with that.
    pace(cell)
        .or_else(|| overdue(cell))
        .or_else(|| full_cpu(cell))
        .or_else(|| disturbed(cell).filter(|_| is_noisy))
        .or_else(|| idle_sender(cell))
        .or_else(|| stalled(cell))
}

/// Round trips of which more are due than are served; of TCP's `round-trip-time` tells.
fn overdue(cell: &Cell<'_>) -> Option<Answer> {
    Behind::of(cell).map(|_| Answer::counted(OVERDUE.to_owned(), OVERDUE_ACTION))
}

/// What holds round trips that are asked for more often than they are served.
pub const OVERDUE: &str =
    "the load asked for, more requests a second than can be served one after another,";
const OVERDUE_ACTION: &str = "ask for fewer a second (--per-second) or over more flows (-P); \
                              without --per-second round trips tell what the path and the ends \
                              take";

/// Round trips too few for a figure, of which one was unanswered for nearly all of the window,
/// where a route makes TCP wait for as long before it sends anything again.
fn stalled(cell: &Cell<'_>) -> Option<Answer> {
    let is_trips = cell.trial.kind == Workload::TCP_RR && cell.rates().is_none();
    let least_ns = timers::of_route_ns(cell).filter(|_| is_trips)?;
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64))?;
    let is_waiting = cell.engaged_share().is_some_and(|share| share >= ENGAGED_MIN);
    (is_waiting && timers::is_lengthened(cell) && 2.0 * least_ns >= window_ns).then(|| {
        let what = format!(
            "TCP's timer, which a route makes at least {:.1} s and which what was lost waits for,",
            least_ns / 1e9
        );
        Answer::inferred(what, STALLED_ACTION)
    })
}

/// Whether a host of the ends has no CPU for each of so many flows.
fn share_cpus(cell: &Cell<'_>, flows: u32) -> bool {
    let few = |end: Option<End<'_>>| {
        let cpu = &end?.host.cpu;
        let usable = cpu.allowed.value().or(cpu.online.value())?;
        Some(usable.len() <= flows as usize)
    };
    [cell.sender(), cell.receiver()].into_iter().any(|end| few(end) == Some(true))
}

/// The end whose thread had no CPU left to give, or too little of one.
pub fn full_cpu(cell: &Cell<'_>) -> Option<Answer> {
    let cpu = cell.summary.cpu.as_ref().filter(|_| cell.is_busy())?;
    let waited = [cell.of_sender(waited_share), cell.of_receiver(waited_share)];
    let [sends, takes] = waited.map(|share| share.unwrap_or(0.0));
    let ends = [
        ("sender", cell.sender(), cpu.sender_share.unwrap_or(0.0), sends),
        ("receiver", cell.receiver(), cpu.receiver_share.unwrap_or(0.0), takes),
    ];
    let (end, host, ran, waited) =
        ends.into_iter().max_by(|a, b| (a.2 + a.3).total_cmp(&(b.2 + b.3)))?;
    let mut what = format!("the {end}'s thread, {:.0} % of a CPU,", 100.0 * ran);
    if waited >= WAITED_SHARE {
        let waited = 100.0 * waited;
        // Others' work explains the wait by itself.
        if are_others_known(cell) {
            what += &format!(" which waited {waited:.0} % of the time for a CPU that others used,");
            return Some(Answer::counted(what, &cpu_action(cell)));
        }
        what += &format!(" which waited for a CPU {waited:.0} % of the time,");
        if host.is_some_and(|end| hides_quota(&end)) {
            what += " for others or for a quota of its group, which it cannot read,";
        }
    }
    Some(Answer::counted(what, &cpu_action(cell)))
}

/// What to do about a thread that has no CPU left, or too little of one.
fn cpu_action(cell: &Cell<'_>) -> String {
    let flows = cell.trial.params.streams;
    let length = length_option(cell);
    let says = if waits_for_hidden_quota(cell) {
        "see whether the end's control group may use less CPU time than it asks for, as its host \
         sees it (cpu.max, or cpu.cfs_quota_us and nr_throttled in cpu.stat), and raise that; then \
         give the end a CPU that nobody else uses (-A LOCAL,REMOTE)"
    } else if cell.trial.kind == Workload::Packets {
        // A larger frame is no more packets a second.
        "give the end a CPU that nobody else uses (-A LOCAL,REMOTE), several flows on CPUs of their \
         own (-P), or another way to send and to receive (--sender, --receiver); larger frames \
         (-s) carry more bytes in fewer packets"
    } else if flows > 1 && share_cpus(cell, flows) {
        return format!(
            "fewer flows (-P) or larger messages ({length}): these flows share all CPUs that their \
             host lends; more CPUs, or a host with more of them"
        );
    } else if is_starved(cell) {
        "give the end CPU time that others do not take: a CPU of its own (-A LOCAL,REMOTE), fewer \
         other programs (real-time ones first: ps -eo cls,rtprio,comm), or a higher weight of its \
         control group (cpu.weight, cpu.shares)"
    } else {
        return format!(
            "give the end a CPU that nobody else uses (-A LOCAL,REMOTE), larger messages \
             ({length}), or several flows on CPUs of their own (-P); --profile shows what its time \
             goes to"
        );
    };
    says.to_owned()
}

fn length_option(cell: &Cell<'_>) -> &'static str {
    if cell.trial.kind.is_rdma() { "-s" } else { "-l" }
}

/// Whether other processes were counted on the CPUs of a host that both ends are on: what is
/// counted around a run is the controller's host, and the peer's is not known by it.
fn are_others_known(cell: &Cell<'_>) -> bool {
    let machine = |end: Option<End<'_>>| end?.report?.effective.machine.clone();
    let machines = [machine(cell.sender()), machine(cell.receiver())];
    let is_one = machines[0].is_some() && machines[0] == machines[1];
    // In a minority of the runs they do not explain what the median run waited for.
    let values = &cell.summary.values;
    let noisy = values.iter().filter(|value| value.noisy).count();
    is_one && cell.summary.labels.contains(&Label::Noisy) && 2 * noisy >= values.len()
}

/// Whether an end runs in a control group whose quota it cannot read: what it waits for may be that
/// as well as others' work.
fn hides_quota(end: &End<'_>) -> bool {
    matches!(end.host.cpu.quota_cpus, Fact::Denied { .. })
}

/// Whether either end does, as its threads wait for CPUs that no others are known to use.
fn waits_for_hidden_quota(cell: &Cell<'_>) -> bool {
    if are_others_known(cell) {
        return false;
    }
    let ends = [
        (cell.sender(), cell.of_sender(waited_share)),
        (cell.receiver(), cell.of_receiver(waited_share)),
    ];
    ends.into_iter().any(|(end, waited)| {
        end.is_some_and(|end| hides_quota(&end)) && waited.is_some_and(|it| it >= WAITED_SHARE)
    })
}

/// Other processes, where they kept an end's threads from their CPUs and those had work.
fn disturbed(cell: &Cell<'_>) -> Option<Answer> {
    let has_work = cell.is_busy() || is_sender_idle(cell);
    (cell.is_disturbed() && has_work).then(|| {
        let what = format!("CPU time that other processes took{}", noisy_host::at_end(cell));
        Answer::named(names::NOISY_HOST, what, Sureness::Counted)
    })
}

/// The sender, where its TCP was left with nothing to send: neither path nor receiver held it then.
fn idle_sender(cell: &Cell<'_>) -> Option<Answer> {
    let engaged = cell.engaged_share()?;
    is_sender_idle(cell).then(|| {
        let idle = 100.0 * (1.0 - engaged);
        let what =
            format!("the sender, which gave TCP nothing to send for {idle:.0} % of the time,");
        let action = format!(
            "see what keeps the sending program from writing: other work of its CPU, small messages \
             ({}), or a filter that each packet meets on the way out",
            length_option(cell)
        );
        Answer::counted(what, &action)
    })
}

pub fn is_sender_idle(cell: &Cell<'_>) -> bool {
    let is_own = cell.is_tcp_stream() && !cell.is_paced();
    is_own && cell.engaged_share().is_some_and(|share| share < ENGAGED_MIN)
}

/// The pace that was asked for, where the stream held it.
pub fn pace(cell: &Cell<'_>) -> Option<Answer> {
    let asked = cell.trial.params.rate_bps.filter(|rate| *rate > 0)? as f64;
    // A window has whole messages: of a slow pace one more or less is no other rate.
    let seconds = cell.trial.timeline.window_ns.0 as f64 / 1e9;
    let one = 8.0 * cell.trial.params.message_bytes.0 as f64 / seconds.max(1e-9);
    let held = cell.rates()?.middle >= (HELD_SHARE * asked).min(asked - one);
    held.then(|| Answer::counted(PACE.to_owned(), PACE_ACTION))
}
