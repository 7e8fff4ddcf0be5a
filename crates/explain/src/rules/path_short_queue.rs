//! `path-short-queue`: is a queue on the path too short for TCP's bursts?
//!
//! A link that is slower than the sender needs a queue for what comes at once. One of a few packets
//! drops the rest of every burst, long before the link is full and without any delay: TCP takes it
//! for congestion. A stream alone does not tell it from losses at random; packet trains do,
//! which lose what comes at once, none of what comes apart, and arrive spread out from the first.
//! So do streams beside it, of which one with a pace loses nothing and another moves far more.

use super::{other_traffic, path_capacity_varies, path_half_duplex};
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::other_streams::OtherStream;
use crate::probes::says_rate;
use crate::signals::Losses;
use crate::{Case, Rule};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_stats::{Bursts, median};

pub static RULE: Rule = Rule {
    name: "path-short-queue",
    asks: "Is a queue on the path too short for TCP's bursts?",
    of_host: false,
    judge,
};

/// Fewer lost segments hold no stream.
const LOST_SHARE: f64 = 0.0005;
/// A stream that reaches so much of the link's rate is not held by its queue.
const REACHED_SHARE: f64 = 0.85;

/// A shorter wait is one of wake-ups, or of a queue that is often empty.
const WAITED_MIN_NS: f64 = 1e6;
/// And of some weight beside the path itself.
const WAITED_SHARE: f64 = 0.2;
/// What a stream has under way fills a queue in which packets wait for this share of the time at
/// the least.
const WAITED_OF_QUEUE: f64 = 0.3;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::LosesSegments);
    measured::judge(case, Needed::ProbedStream, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    if losses.lost < LOST_SHARE {
        return cell.saw(format!("{:.3} % of the segments lost", 100.0 * losses.lost), None);
    }
    // Trains of a path that changes were sent at different times, and tell of no one queue.
    let is_of_one_path = !path_capacity_varies::is_found(cell)
        && !path_half_duplex::is_found(cell)
        && cell.is_one_link();
    if !is_of_one_path {
        return cell.saw("packet trains at different times tell of different links", None);
    }
    let Some(bursts) = cell.bursts() else {
        let by_streams = look_at_streams(cell, &losses);
        return by_streams.unwrap_or_else(|| Err(cell.lacks(Measure::TrainsByExplain)));
    };
    let Bursts::Limited(limited) = bursts else {
        return cell.saw("packet trains lose no more at once than apart", None);
    };
    // Without the link's rate nobody knows whether it is full.
    // Slow trains whose packets come in heaps lose some to a short queue as well, and tell less
    // than the spacing of those that came.
    let told = [limited.rate_bps, cell.carried()].into_iter().flatten();
    let rate = told.max_by(|a, b| a.middle.total_cmp(&b.middle));
    let rate = rate.ok_or_else(|| cell.lacks(Measure::TrainRate))?;
    let reached = cell.rates().map_or(0.0, |rates| cell.in_packets(rates.middle)) / rate.low;
    let seen = format!(
        "{:.2} % of the segments lost; packet trains lose what comes at once, less of what \
         comes apart, and arrive {}",
        100.0 * losses.lost,
        if limited.is_queue { "spread out" } else { "as they were sent" }
    );
    // What drops then is the queue of a link that others fill.
    if other_traffic::fills_the_path(cell) {
        return cell.saw(format!("{seen}; others' packets take the rest of the path"), None);
    }
    // A queue in which packets always wait is before a link that is always busy, with others' too.
    // One that is always full shows no connection a round trip without it, and another may have.
    let is_never_empty = cell.trips().is_some_and(|trips| {
        let base_ns = cell.shortest_ns().unwrap_or(trips.shortest_ns);
        let waited_ns = trips.least_ns - base_ns;
        waited_ns >= WAITED_MIN_NS.max(WAITED_SHARE * base_ns)
            && (is_filled(cell, rate.middle, waited_ns) || others_wait(cell, base_ns, waited_ns))
    });
    let holds_enough = limited.room_bytes.zip(needed_bytes(cell, rate.middle));
    let is_long = holds_enough.is_some_and(|(room, needed)| room >= needed);
    if is_long {
        // TCP sends several segments at once, however short the way: other streams tell.
        let enough = || cell.saw(format!("{seen}; it holds as much as a round trip needs"), None);
        return look_at_streams(cell, &losses).unwrap_or_else(enough);
    }
    let is_short =
        limited.is_queue && reached < REACHED_SHARE && !is_never_empty && !cell.is_busy();
    let wrong = is_short.then(|| {
        let room = says_room(limited.room_bytes);
        let carries = format!(", which carries {}", says_rate(&rate));
        let says = format!(
            "A queue on the path is too short for TCP's bursts in {}: it holds {room} before a \
             link{carries}, and drops the rest of what comes at once though the link is not full",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "lengthen the queue there (switch or router buffer, txqueuelen, tc -s qdisc: \
                      limit), to rate x round trip / sqrt(flows); or pace at the sender: fq, bbr, \
                      --bitrate below the link's rate";

/// Of a stream with a pace so many lost segments would be expected at the least, at the share that
/// one without loses: where a fifth of them are lost at the most, pace spares them.
const EXPECTED_MIN: f64 = 7.0;
const SPARED_TIMES: f64 = 5.0;
/// What other streams move beyond this one, from which on no rate holds it.
const BEYOND: f64 = 1.5;

/// The same by other streams between the same ends, where no trains were sent: one with a pace
/// loses next to nothing, and one that spreads its packets, or several, move far more. `None` where
/// they do not tell.
fn look_at_streams(cell: &Cell<'_>, losses: &Losses) -> Option<Looked> {
    let all = OtherStream::all(cell);
    let paced = all.iter().filter(|one| one.is_paced()).map(OtherStream::segments);
    let (sent, lost) = paced.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let expected = sent as f64 * losses.lost;
    let is_spared = expected >= EXPECTED_MIN && SPARED_TIMES * lost as f64 <= expected;
    let free = all.iter().filter(|one| !one.is_paced());
    let rates = free.filter_map(|one| Some((median(&one.each_bps)?, one.trial.label.as_str())));
    let (most_bps, label) = rates.max_by(|one, other| one.0.total_cmp(&other.0))?;
    if !is_spared || most_bps < BEYOND * cell.rates()?.middle || cell.is_busy() {
        return None;
    }
    let seen = format!(
        "{:.2} % of the segments lost, and {lost} of {sent} with a pace; {label} moves {:.0} Mb/s",
        100.0 * losses.lost,
        most_bps / 1e6
    );
    let says = format!(
        "A queue on the path is too short for TCP's bursts in {}: it drops what comes at once and \
         nearly nothing of what comes apart, though the link carries {:.0} Mb/s or more",
        cell.trial.label,
        cell.in_packets(most_bps) / 1e6
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY);
    Some(cell.saw(seen, Some(found)))
}

fn says_room(bytes: Option<f64>) -> String {
    match bytes.map(|bytes| (bytes / 1500.0).ceil()) {
        None => "a few packets".to_owned(),
        Some(packets) if packets <= 1.0 => "a packet at the most".to_owned(),
        Some(packets) => format!("about {packets:.0} packets"),
    }
}

/// Whether what a stream has under way fills a queue in which packets wait so long:
/// acknowledgements that are late are no queue of it.
fn is_filled(cell: &Cell<'_>, rate_bps: f64, waited_ns: f64) -> bool {
    let under_way_ns = cell.under_way().zip(cell.segment_bytes()).map(|(segments, bytes)| {
        8e9 * segments * bytes * f64::from(cell.trial.params.streams.max(1)) / rate_bps
    });
    under_way_ns.is_none_or(|ns| ns >= WAITED_OF_QUEUE * waited_ns)
}

/// Whether a probe, which runs without the stream, waited in that queue too: others fill it.
/// Without round trips of probes they may.
fn others_wait(cell: &Cell<'_>, base_ns: f64, waited_ns: f64) -> bool {
    let beside = cell.study.records.iter().filter(|record| cell.is_probe_beside(record));
    let shortest = beside.filter_map(|record| {
        let trips = record.sender()?.round_trips.iter();
        trips.map(|(ns, _)| ns.0).min()
    });
    shortest.min().is_none_or(|ns| ns as f64 - base_ns >= WAITED_OF_QUEUE * waited_ns)
}

/// What a queue before a link of so many bits a second holds that keeps it busy: the bytes of a
/// round trip, over the root of the number of flows (Appenzeller et al., SIGCOMM 2004).
fn needed_bytes(cell: &Cell<'_>, rate_bps: f64) -> Option<f64> {
    let shortest_ns = cell.shortest_ns().or(cell.trips().map(|trips| trips.shortest_ns))?;
    let flows = f64::from(cell.trial.params.streams.max(1));
    Some(rate_bps * shortest_ns / 8e9 / flows.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::probes::testing::{way, with_probes};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;
    use narrows_model::probe::PathProbe;
    use narrows_model::study::StoredStudy;

    #[test]
    fn a_queue_of_five_packets_is_found_and_a_bucket_is_not() {
        let of = |there, mbps: u64, again: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = mbps * 125_000;
            }
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        // 20 Mb/s: 3 packets in 2 ms beside the five, 167 in 100 ms; the first eight 0.6 ms apart.
        let queue = || way(8, 4_200, 172);
        let verdict = of(queue(), 2, 900);
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        let says = &findings[0].says;
        assert!(says.contains("about 5 packets before a link, which carries 20 Mb/s"), "{says}");
        assert!(is_clear(&of(queue(), 19, 900)), "the link is full");
        assert!(is_clear(&of(queue(), 2, 1)), "nothing lost");
        assert!(is_clear(&of(way(8, 60, 172), 2, 900)), "a bucket");
        assert!(is_clear(&of(way(253, 60, 253), 2, 900)), "at random");
        // The same queue, in probes that found another rate each.
        use crate::probes::testing::carries;
        use narrows_model::probe::WayProbe;
        let at = |mbps: u64| WayProbe { paced: queue().paced, ..carries(mbps) };
        let mut changing = stream("tcp-stream");
        for (key, value) in [("sent_segments", 100_000), ("retransmitted_segments", 900)] {
            read(&mut changing, "tcp-info", &format!("flow0.{key}"), value);
        }
        let probes = [queue(), at(20), at(60)];
        let probes = probes.map(|there| PathProbe { there, ..PathProbe::default() });
        with_probes(&mut changing, &probes);
        assert!(is_clear(&of_study(&RULE, &changing)), "a path that changes");
        let mut filled = stream("tcp-stream");
        for (key, value) in [("send_mss_bytes", 1448), ("sent_segments", 100_000)]
            .into_iter()
            .chain([("retransmitted_segments", 900), ("rtt_min_ns", 10_000_000)])
        {
            read(&mut filled, "tcp-info", &format!("flow0.{key}"), value);
        }
        for end in filled.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.flows[0].bytes.0 = 250_000;
        }
        let mut at_least = |ns: u64| {
            read(&mut filled, "tcp-info", "flow0.rtt_ns", ns);
            read(&mut filled, "tcp-info", "flow0.lowest:rtt_ns", ns);
            let mut study = filled.clone();
            with_probes(&mut study, &[PathProbe { there: queue(), ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&at_least(27_000_000)), "a queue that never empties");
        assert!(matches!(at_least(10_500_000), Verdict::Found { .. }), "one that does");
        let mut lacks = stream("tcp-stream");
        read(&mut lacks, "tcp-info", "flow0.sent_segments", 1_000);
        read(&mut lacks, "tcp-info", "flow0.retransmitted_segments", 50);
        assert!(is_unknown(&of_study(&RULE, &lacks)), "no probe");
    }

    #[test]
    fn a_pace_that_loses_nothing_and_a_faster_stream_tell_of_a_short_queue() {
        use narrows_model::trial::TrialId;
        // Segments that a stream with a pace sent and lost, and what bbr moves.
        let of = |paced: (u64, u64), mbps: u64, is_reverse: bool| {
            let mut study = stream("tcp-stream");
            let at = |rate: u64| rate * 125_000;
            let counted = |study: &mut StoredStudy, id: &str, (sent, again): (u64, u64), mbps| {
                for run in study.records.iter_mut().filter(|run| run.trial.0 == id) {
                    for end in run.of_mut(Role::Sender) {
                        let read = &mut end.readings;
                        read.put_words("tcp-info", "flow0.sent_segments", sent);
                        read.put_words("tcp-info", "flow0.retransmitted_segments", again);
                    }
                    run.of_mut(Role::Receiver).for_each(|end| end.flows[0].bytes.0 = at(mbps));
                }
            };
            for (id, rate_bps) in [("paced", Some(1_000_000)), ("bbr", None)] {
                let mut trial = study.trials[0].clone();
                (trial.id, trial.label) = (TrialId(id.into()), id.into());
                trial.params.rate_bps = rate_bps;
                trial.params.stream.get_or_insert_default().reverse = is_reverse;
                let mut run = study.records[0].clone();
                run.trial = trial.id.clone();
                study.trials.push(trial);
                study.records.push(run);
            }
            let own = study.trials[0].id.0.clone();
            counted(&mut study, &own, (75, 16), 2);
            counted(&mut study, "paced", paced, 1);
            counted(&mut study, "bbr", (8_000, 1_300), mbps);
            of_study(&RULE, &study)
        };
        let found = of((60, 0), 188, false);
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        assert!(findings[0].says.contains("the link carries 195 Mb/s or more"), "{findings:?}");
        assert!(findings[0].evidence[0].says.contains("0 of 60 with a pace"), "{findings:?}");
        assert!(is_unknown(&of((30, 0), 188, false)), "six of thirty may all be spared");
        assert!(is_unknown(&of((60, 3), 188, false)), "a pace loses as well");
        assert!(is_unknown(&of((60, 0), 2, false)), "a rate that none passes");
        assert!(is_unknown(&of((60, 0), 188, true)), "the other direction");
    }

    #[test]
    fn late_answers_are_no_queue_that_a_probe_finds_empty() {
        // Round trips of 47 ms on a path of 10: ten segments take 6 ms of 20 Mb/s.
        let beside_probe = |ns: u64| {
            let mut study = stream("tcp-stream");
            for (key, value) in [
                ("send_mss_bytes", 1448),
                ("sent_segments", 100_000),
                ("retransmitted_segments", 900),
                ("rtt_min_ns", 10_000_000),
                ("rtt_ns", 47_000_000),
                ("lowest:rtt_ns", 47_000_000),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 250_000;
            }
            let runs = study.records.len();
            let there = way(8, 4_200, 172);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            for record in study.records.iter_mut().skip(runs) {
                let ends = record.of_mut(Role::Sender);
                ends.for_each(|end| end.round_trips = vec![(Nanos(ns), 3)]);
            }
            of_study(&RULE, &study)
        };
        assert!(matches!(beside_probe(11_000_000), Verdict::Found { .. }), "late answers");
        assert!(is_clear(&beside_probe(46_000_000)), "others fill it");
    }

    #[test]
    fn a_queue_that_holds_what_a_round_trip_needs_is_not_too_short() {
        let queue = || way(8, 4_200, 172);
        // 20 Mb/s over 2 ms need 5,000 B, over 10 ms 25,000: it holds 7,500.
        let over = |ns: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 250_000;
            }
            for (key, value) in [
                ("send_mss_bytes", 1448),
                ("sent_segments", 100_000),
                ("retransmitted_segments", 900),
                ("rtt_min_ns", ns),
                ("rtt_ns", ns),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            with_probes(&mut study, &[PathProbe { there: queue(), ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&over(2_000_000)), "as much as a round trip needs");
        assert!(matches!(over(10_000_000), Verdict::Found { .. }), "a third of it");
    }
}
