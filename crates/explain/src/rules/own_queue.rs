//! `own-queue`: does a queue of an end's own interfaces drop or hold back packets?
//!
//! The queueing disciplines of every interface of both ends' hosts are counted around each run, so
//! that a shaper on a bridge, a bond, an ifb or the far end is seen at work (`overlimits` grow),
//! and what a queue or a filter of tc dropped is known to be no loss of the path. That a discipline
//! is a shaper by its name, whether it works or not, is `nic-shaped`'s to say.

use crate::ends::End;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Counter, Moment, Scope, Source, keys};
use narrows_model::result::{Activity, Needed, Verdict, Weight};
use narrows_stats::median;
use std::collections::BTreeSet;

/// Whether a queue of the ends' own interfaces drops or holds back.
pub static RULE: Rule = Rule {
    name: "own-queue",
    asks: "Does a queue of an end's own interfaces drop or hold back packets?",
    of_host: false,
    judge,
};

/// Packets that had to wait for a rate, of those that left by the interface. A shaper that works
/// holds back every one or every second packet.
const HELD_SHARE: f64 = 0.02;
/// A discipline that holds a stream back has packets waiting whenever one looks; one whose rate is
/// above the path's holds each burst back for a moment, and is empty as most runs end.
const WAITING_RUNS: f64 = 0.4;
/// Fewer in a second are other traffic's.
const HELD_A_SECOND: f64 = 5.0;
/// Of the segments or datagrams that were lost so many must have been dropped by it.
const DROPPED_OF_LOST: f64 = 0.3;
/// A queue that has room for a round trip's packets drops a few in a thousand of one TCP stream.
const LOST_SHARE: f64 = 0.005;
/// Fewer drops in all runs are an accident.
const DROPPED_MIN: f64 = 5.0;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::ReadsQueues);
    measured::judge(case, Needed::QueueCounters, idle, look)
}

/// What one interface of an end counted, in the median run.
struct Queue {
    interface: String,
    dropped: f64,
    filtered: f64,
    held: f64,
    sent: f64,
    /// Share of the runs in which packets waited in it as the window closed; `None` where nobody
    /// looked.
    waiting: Option<f64>,
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let ends = [
        (cell.sender(), queues(cell, Role::Sender)),
        (cell.receiver(), queues(cell, Role::Receiver)),
    ];
    if ends.iter().all(|(_, queues)| queues.is_empty()) {
        return Err(Blind::OtherKind);
    }
    let lost = lost(cell).unwrap_or(0.0);
    let all = ends.iter().flat_map(|(end, queues)| queues.iter().map(move |queue| (end, queue)));
    let worst = all.max_by(|a, b| weight(a.1).total_cmp(&weight(b.1)));
    let Some((end, queue)) = worst else { return Err(Blind::OtherKind) };
    let (at, name) = (end.map_or("", |end: End<'_>| end.at), &queue.interface);
    let seen = format!(
        "{name} {at}: {:.0} packets dropped by its queue, {:.0} by filters of what comes in, {:.0} \
         held back, of {:.0} in the median run; {lost:.0} lost",
        queue.dropped, queue.filtered, queue.held, queue.sent
    );
    let wrong = does(cell, queue, lost).map(|does| {
        let (says, remedy) = words(does, queue, at, lost);
        let (says, remedy) = if is_too_short(cell, queue, lost) {
            (
                format!(
                    "{says}; it dropped {:.0} of the {lost:.0} that were lost: it is too short for \
                     what comes at once",
                    queue.dropped
                ),
                format!("{remedy}; a longer queue under its rate (limit) loses fewer"),
            )
        } else {
            (says, remedy)
        };
        let says = format!("{says}, in {}", cell.trial.label);
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen.clone(), wrong)
}

/// Whether the queue that was found is only full, and neither holds to a rate nor filters.
pub fn is_full(cell: &Cell<'_>) -> bool {
    let lost = lost(cell).unwrap_or(0.0);
    let all = [Role::Sender, Role::Receiver].into_iter().flat_map(|role| queues(cell, role));
    let worst = all.max_by(|a, b| weight(a).total_cmp(&weight(b)));
    worst.is_some_and(|queue| matches!(does(cell, &queue, lost), Some(Does::Drops)))
}

/// Whether what comes in at the receiver waits in a shaper there, the last hop of all.
pub fn is_of_what_comes_in(cell: &Cell<'_>) -> bool {
    let lost = lost(cell).unwrap_or(0.0);
    let shaped = queues(cell, Role::Receiver).into_iter().filter(|q| is_intermediate(&q.interface));
    shaped.into_iter().any(|queue| matches!(does(cell, &queue, lost), Some(Does::Holds)))
}

/// Whether the discipline of the interface that a cell's sender uses was empty as most runs ended:
/// what it holds back it lets go at once, and something slower holds the stream.
pub fn is_mostly_empty(cell: &Cell<'_>) -> bool {
    let ends: Vec<&EndReport> = cell.done.iter().filter_map(|record| record.sender()).collect();
    let interface = ends.iter().find_map(|end| end.effective.interface.clone());
    let share = interface.and_then(|interface| waiting(&ends, &interface));
    share.is_some_and(|share| share < WAITING_RUNS)
}

/// Whether segments are lost that none of the sender's own queues dropped: beyond it something
/// drops, and a shaper of the sender's own that is slower would have kept it from that.
pub fn is_lost_beyond(cell: &Cell<'_>) -> bool {
    let queues = queues(cell, Role::Sender);
    let own: f64 = queues.iter().map(|queue| queue.dropped).sum();
    let stream = cell.losses().map_or(0.0, |losses| losses.lost);
    let is_stream = stream >= LOST_SHARE && own < DROPPED_OF_LOST * lost(cell).unwrap_or(0.0);
    let is_counted = cell.is_tcp_stream() && !queues.is_empty();
    is_counted && (is_stream || (own < 1.0 && are_trains_lost_beyond(cell)))
}

/// The same of the trains of probes between the cell's hosts, which fill a queue that a stream
/// leaves in peace. Where nobody counted what the own queue dropped of them, it is none if it
/// dropped none of the stream. Of trains that come back the other end's queue is not counted.
fn are_trains_lost_beyond(cell: &Cell<'_>) -> bool {
    if cell.trial.params.is_reverse() {
        return false;
    }
    let [mut sent, mut lost, mut own] = [0.0; 3];
    let beside = cell.study.records.iter().filter(|record| cell.is_probe_beside(record));
    for end in beside.filter_map(|record| record.sender()) {
        let Some(probe) = end.probe.as_deref() else { continue };
        for train in probe.there.trains.iter().chain(&probe.there.paced) {
            sent += f64::from(train.sent);
            lost += f64::from(train.sent.saturating_sub(train.came));
        }
        own += end.readings.total(keys::QDISC_DROPPED).unwrap_or(0) as f64;
    }
    lost > TRAINS_LOST_SHARE * sent && own < DROPPED_OF_LOST * lost
}

/// Trains that lose fewer packets lose them by chance, or because an end is late.
const TRAINS_LOST_SHARE: f64 = 0.05;

/// Whether a queue that holds packets back also drops so many that TCP cannot fill its rate.
fn is_too_short(cell: &Cell<'_>, queue: &Queue, lost: f64) -> bool {
    let sent = cell.losses().map_or(f64::MAX, |losses| losses.sent);
    let does = does(cell, queue, lost);
    matches!(does, Some(Does::Holds))
        && lost >= LOST_SHARE * sent
        && queue.dropped >= DROPPED_OF_LOST * lost
}

/// What a queue does to packets.
enum Does {
    Holds,
    Filters,
    Drops,
}

fn does(cell: &Cell<'_>, queue: &Queue, lost: f64) -> Option<Does> {
    let seconds = cell.of_sender(|end| Some(end.window_ns.0 as f64 / 1e9)).unwrap_or(1.0);
    let least = (HELD_SHARE * queue.sent.max(1.0)).max(HELD_A_SECOND * seconds);
    let is_filled = queue.waiting.is_none_or(|share| share >= WAITING_RUNS);
    if queue.held >= least && is_filled {
        return Some(Does::Holds);
    }
    let dropped = queue.dropped + queue.filtered;
    let is_many = dropped * cell.done.len() as f64 >= DROPPED_MIN;
    let is_lost = lost > 0.0 && dropped >= DROPPED_OF_LOST * lost && is_many;
    let which = if queue.filtered > queue.dropped { Does::Filters } else { Does::Drops };
    is_lost.then_some(which)
}

/// What is said of it, and what to do.
fn words(does: Does, queue: &Queue, at: &str, lost: f64) -> (String, String) {
    let name = &queue.interface;
    // What comes in is shaped by sending it through an intermediate device (ifb).
    let comes_in = if is_intermediate(name) {
        ", through which a filter sends what comes in by another interface (ingress),"
    } else {
        ""
    };
    match does {
        Does::Holds => (
            format!(
                "A queueing discipline of {name} ({at}){comes_in} holds packets back, a shaper at work: {:.0} \
                 times in the median run one waited for its rate",
                queue.held
            ),
            format!(
                "{at}: tc -s qdisc show dev {name}; raise its rate (of htb and hfsc that of the \
                 class which this traffic falls into: tc -s class show dev {name}), or tc qdisc \
                 del dev {name} root"
            ),
        ),
        Does::Filters => (
            format!(
                "A filter of tc on what comes in by {name} ({at}) drops packets: {:.0} in the \
                 median run, where {lost:.0} were lost",
                queue.filtered
            ),
            format!(
                "{at}: tc -s filter show dev {name} ingress; raise or remove its rate (police)"
            ),
        ),
        Does::Drops => (
            format!(
                "The queue of {name} ({at}){comes_in} drops packets: {:.0} in the median run, where {lost:.0} \
                 were lost, so that it is no loss of the path",
                queue.dropped
            ),
            format!(
                "{at}: tc -s qdisc show dev {name}, ip -s link show dev {name}; a longer queue \
                 (limit, ip link set dev {name} txqueuelen 1000, ethtool -G), or fq, which holds \
                 one flow back before it drops"
            ),
        ),
    }
}

/// Whether an interface is one of those by which what comes in is queued (`ip link add type ifb`).
fn is_intermediate(name: &str) -> bool {
    name.trim_end_matches(|c: char| c.is_ascii_digit()) == "ifb"
}

fn weight(queue: &Queue) -> f64 {
    queue.held + queue.dropped + queue.filtered
}

/// Segments or datagrams that were lost, in the median run.
fn lost(cell: &Cell<'_>) -> Option<f64> {
    let datagrams = cell.summary.loss.as_ref();
    let datagrams = datagrams.map(|l| l.lost_datagrams as f64 / cell.done.len().max(1) as f64);
    datagrams.or_else(|| cell.losses().map(|losses| losses.lost * losses.sent))
}

/// What the interfaces of one end counted; none where it read no disciplines.
fn queues(cell: &Cell<'_>, role: Role) -> Vec<Queue> {
    let ends = cell.done.iter().filter_map(|record| record.of(role).next());
    let ends: Vec<&EndReport> = ends.collect();
    let keys = ends.iter().flat_map(|end| end.readings.from_source(Source::Qdisc));
    let named = keys.filter_map(|(key, _)| match &key.scope {
        Scope::Nic(name) => Some(name.clone()),
        _ => None,
    });
    // A driver's own queue may be full too: a ring, or that of a TAP, which is its queue's length.
    // Each once: a look at all runs for each of them is their square.
    let used: BTreeSet<String> =
        ends.iter().filter_map(|end| end.effective.interface.clone()).collect();
    let used = used.into_iter().filter(|name| count(&ends, keys::TX_DROPPED, name) > 0.0);
    let names: BTreeSet<String> = named.chain(used).collect();
    names
        .into_iter()
        .map(|interface| Queue {
            dropped: count(&ends, keys::QDISC_DROPPED, &interface)
                + count(&ends, keys::TX_DROPPED, &interface),
            filtered: count(&ends, keys::INGRESS_DROPPED, &interface),
            held: count(&ends, keys::QDISC_OVERLIMITS, &interface),
            sent: count(&ends, keys::TX_PACKETS, &interface),
            waiting: waiting(&ends, &interface),
            interface,
        })
        .collect()
}

/// Share of the runs in which packets waited in an interface's discipline as the window closed.
fn waiting(ends: &[&EndReport], interface: &str) -> Option<f64> {
    let scope = Scope::Nic(interface.to_owned());
    let of = |end: &&EndReport| {
        let mut all = end.readings.each(keys::QDISC_WAITING, Moment::Closing);
        all.find(|(of, _)| **of == scope).map(|(_, packets)| packets)
    };
    let all: Vec<u64> = ends.iter().filter_map(of).collect();
    let filled = all.iter().filter(|packets| **packets > 0).count();
    (!all.is_empty()).then(|| filled as f64 / all.len() as f64)
}

/// A count of one interface, in the median run; 0 where it was not read.
fn count(ends: &[&EndReport], counter: Counter, interface: &str) -> f64 {
    let all: Vec<f64> = ends
        .iter()
        .filter_map(|end| end.readings.of(counter, Scope::Nic(interface.to_owned())))
        .map(|count| count as f64)
        .collect();
    median(&all).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_idle};
    use narrows_model::study::StoredStudy;

    /// A stream of 100,000 segments of which so many were lost.
    fn study(lost: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", lost);
        study
    }

    fn says(study: &StoredStudy) -> (String, String) {
        match of_study(&RULE, study) {
            Verdict::Found { findings } => (findings[0].says.clone(), findings[0].remedy.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_driver_itself_drops_is_found() {
        let of = |lost: u64, dropped: u64| {
            let mut study = study(lost);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.interface = Some("tap0".into());
                end.readings.put_words("interface", "tap0.tx_dropped_packets", dropped);
            }
            study
        };
        let (said, remedy) = says(&of(1_000, 990));
        assert!(said.contains("The queue of tap0") && remedy.contains("txqueuelen"), "{said}");
        assert!(!matches!(of_study(&RULE, &of(1_000, 3)), Verdict::Found { .. }));
    }

    #[test]
    fn a_shaper_whose_queue_is_short_is_told_from_one_with_room() {
        let of = |lost: u64, dropped: u64| {
            let mut study = study(lost);
            read(&mut study, "qdisc", "e0.overlimits_events", 50_000);
            read(&mut study, "qdisc", "e0.dropped_packets", dropped);
            says(&study)
        };
        assert!(of(2_000, 1_990).0.contains("too short for what comes at once"));
        assert!(of(2_000, 1_990).1.contains("a longer queue under its rate"));
        assert!(!of(100, 99).0.contains("too short"), "one in a thousand");
        assert!(!of(2_000, 5).0.contains("too short"), "lost elsewhere");
    }

    #[test]
    fn a_shaper_at_work_is_found_on_any_interface_of_either_end() {
        let of = |held: u64| {
            let mut study = study(0);
            read_receiver(&mut study, "qdisc", "ifb0.overlimits_events", held);
            read_receiver(&mut study, "qdisc", "e0.overlimits_events", 0);
            read_receiver(&mut study, "interface", "ifb0.tx_packets", 20_000);
            study
        };
        let (said, remedy) = says(&of(9_000));
        assert!(said.contains("ifb0") && said.contains("shaper at work"), "{said}");
        assert!(said.contains("sends what comes in"), "{said}");
        assert!(remedy.contains("show dev ifb0"), "{remedy}");
        assert!(is_clear(&of_study(&RULE, &of(100))), "one packet in two hundred");
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))), "no discipline");
    }

    #[test]
    fn a_shaper_that_is_empty_as_runs_end_holds_nobody() {
        let of = |waiting: [u64; 3]| {
            let mut study = study(0);
            read(&mut study, "qdisc", "e0.overlimits_events", 50_000);
            let ends = study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender));
            for (end, packets) in ends.zip(waiting) {
                end.effective.interface = Some("e0".into());
                end.readings.put_words("qdisc", "e0.waiting_packets", packets);
            }
            study
        };
        let empty = |study: &StoredStudy| {
            let summaries = narrows_stats::summarise(study);
            let case = Case { study, summaries: &summaries, predictions: &[] };
            measured::cells(&case).all(|cell| is_mostly_empty(&cell))
        };
        assert!(says(&of([3, 90, 1])).0.contains("shaper at work"));
        assert!(says(&of([3, 0, 1])).0.contains("shaper at work"), "two of three");
        assert!(is_clear(&of_study(&RULE, &of([0, 0, 9]))), "one of three");
        assert!(empty(&of([0, 0, 9])) && !empty(&of([3, 0, 1])));
        assert!(!empty(&study(0)), "nobody looked");
    }

    #[test]
    fn drops_count_beside_what_was_lost() {
        let of = |lost: u64, key: &str, dropped: u64| {
            let mut study = study(lost);
            read(&mut study, "qdisc", "e0.dropped_packets", 0);
            read(&mut study, "qdisc", key, dropped);
            study
        };
        let (said, _) = says(&of(1_000, "e0.dropped_packets", 900));
        assert!(said.contains("queue of e0") && said.contains("no loss of the path"), "{said}");
        let (said, remedy) = says(&of(1_000, "e0.ingress_dropped_packets", 900));
        assert!(said.contains("filter of tc") && remedy.contains("ingress"), "{said}");
        assert!(is_clear(&of_study(&RULE, &of(1_000, "e0.dropped_packets", 90))), "of others");
        assert!(is_clear(&of_study(&RULE, &of(0, "e0.dropped_packets", 900))), "nothing lost");
    }
}
