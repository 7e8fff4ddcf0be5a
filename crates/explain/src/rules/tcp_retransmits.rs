//! `tcp-retransmits`: did TCP have to send segments again?
//!
//! Those that the receiver had already were late and not lost; of the others it is not known where
//! they went. Where both ends are one host its own queues come first. How many were lost
//! at a time, by the kernel's count of its repairs, tells a cable from a queue: single losses are
//! random, a queue that is full or a policer drops a row.
//!
//! A flow that loses a share p of its segments over a round trip cannot hold more than 1.22 MSS /
//! (RTT sqrt(p)) (Mathis et al., 1997); of losses in a row p counts each row once, since TCP slows
//! down once for it. Found from one in a thousand on, and from a smaller share
//! where that bound is no more than four times what was reached. A stream that is faster than the
//! bound of its own congestion control is not held by its losses, and bbr does not slow down at
//! single ones at all: of both only waits for the timer show that loss costs time. A stream that
//! was cut down a few times in a run has not come down to the bound yet.

use crate::controls;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::signals::{Losses, segments_lost};
use crate::timers;
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::Bursts;

/// Whether segments were sent again, and why.
pub static RULE: Rule =
    Rule { name: "tcp-retransmits", asks: "Did TCP retransmit segments?", of_host: false, judge };

const LOST_SHARE: f64 = 0.001;
/// Fewer repeats than this are an accident and not a share.
const LOST_MIN: f64 = 3.0;
/// And in all runs together: three losses of each are about what chance makes of two or four.
const LOST_MIN_OF_ALL: f64 = 5.0;
/// How much further than the bound a stream may be and still be held by it.
const BOUND_SHARE: f64 = 0.25;
/// So many times what losses of that share allow, as they are spread evenly, a stream is not held
/// by them. Of Reno and cubic over round trips of 1 to 20 ms with 0.03 to 1.1 % lost at random, and
/// nothing else to hold them, 24 cells were at 0.5 to 3.5 times that: on a busy host the round trip
/// is not known better than that.
const BEYOND: f64 = 4.0;
/// Waits for the timer that take less of the time cost little.
const LATE_SHARE: f64 = 0.05;
/// From this share of what was sent again on, the ends' own CPUs dropped it.
const OWN_SHARE: f64 = 0.5;
/// From so many packets at a time on they were lost in a row. Policers between namespaces took 3 to
/// 8, a queue of ten packets 1.4, drops at random 0.2 to 0.7.
pub const ROW_MIN: f64 = 3.0;
const BETWEEN_HOSTS: &str = "look for drops on the way: ethtool -S at both NICs, counters and duplex \
                             of the switch's ports, cables, rings, a shaper or policer, a queue of \
                             a few packets, which is too short for TCP's bursts: lengthen it";
const WITHIN_A_HOST: &str = "both ends are on this one host: see the queues and filters of each \
                             namespace that the packets pass, tc -s qdisc and nft list ruleset, \
                             nstat -az for pruned receive queues, and a router or switch if they \
                             leave the host; a queue of a few packets (limit, txqueuelen) is too \
                             short for TCP's bursts: lengthen it";

const LARGE_ALONE: &str = "long frames alone are damaged or dropped: see a filter or a limit by \
                           length on the way (nft: meta length; iptables: -m length), and ethtool \
                           -S for CRC errors, which hit long frames, at both NICs and on the \
                           switch's ports: cables, transceivers, radio; until then smaller \
                           segments (-M, or mtu of the route) may pass";

const AT_RANDOM: &str = "see the counters of filters and queues at both ends and on routers and \
                         firewalls between (nft list ruleset, iptables -nvL, tc -s qdisc and \
                         filter), and what damages single packets: ethtool -S for CRC errors at \
                         both NICs and on the switch's ports, cables, transceivers, radio";

fn judge(case: &Case<'_>) -> Verdict {
    let needs = Needed::TcpCountersOfSender;
    measured::judge(case, needs, None, |cell| look(case, cell))
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Looked {
    let losses = match (counted(cell), cell.is_tcp_stream()) {
        (Some(losses), _) => losses,
        (None, true) => return Err(cell.lacks(Measure::TcpSegments)),
        (None, false) => return Err(Blind::OtherKind),
    };
    let bound_bps = bound(cell, &losses);
    let mut seen = format!(
        "{:.3} % of the segments sent again, less those that the receiver had already",
        100.0 * losses.lost
    );
    let held = hold(cell);
    seen += &allowed(cell, bound_bps, held);
    let is_held = bound_bps.is_some() && held == Hold::Held;
    let all = losses.lost * losses.sent * cell.done.len() as f64;
    let many = losses.lost * losses.sent >= LOST_MIN || (all >= LOST_MIN_OF_ALL && most_lose(cell));
    let wrong = (losses.lost >= LOST_SHARE || (many && is_held)).then(|| {
        let says = format!(
            "TCP retransmitted {} % of its segments in {}, spurious ones not counted{}{}",
            percent(losses.lost),
            cell.trial.label,
            at_a_time(cell),
            large_alone(cell).unwrap_or_default()
        );
        let place = match cell.bursts() {
            Some(Bursts::AtRandom { .. }) if large_alone(cell).is_some() => LARGE_ALONE,
            Some(Bursts::AtRandom { .. }) => AT_RANDOM,
            _ if cell.summary.is_one_host() => WITHIN_A_HOST,
            _ => BETWEEN_HOSTS,
        };
        let remedy = place.to_owned() + &until_then(case, cell).unwrap_or_default();
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// That small packets are spared of what is lost at random.
pub fn large_alone(cell: &Cell<'_>) -> Option<String> {
    let is_random = matches!(cell.bursts(), Some(Bursts::AtRandom { .. }));
    let by_size = cell.by_size().filter(|sizes| is_random && sizes.spares_small())?;
    Some(format!(
        "; large packets alone: {:.1} % of those of {} B, {} of {} of {} B",
        100.0 * by_size.large_lost,
        by_size.large_bytes,
        by_size.small_lost,
        by_size.small,
        by_size.small_bytes
    ))
}

/// The congestion control that moved more beside it and does not slow down at each loss.
fn until_then(case: &Case<'_>, cell: &Cell<'_>) -> Option<String> {
    let (default, other) = controls::compared(case.study, case.summaries)?;
    let name = default.congestion()?;
    let (used, gain) = controls::faster(name, default, other)?;
    let is_meant = default.label == cell.summary.label && !controls::slows_down(&used);
    is_meant.then(|| {
        format!(
            "; until then {used}, which moved {:.1} times as much here and does not slow down at \
             each loss (sysctl -w net.ipv4.tcp_congestion_control={used} at the sender)",
            gain.value
        )
    })
}

/// What the losses of a stream are to its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It is about as fast as they allow, or waits for its timer.
    Held,
    /// They allow more than it moves, or something else holds it too.
    Perhaps,
    /// It moves more than its congestion control would if they held it.
    Exceeded,
}

/// Whether the losses of a stream hold it.
pub fn is_held(cell: &Cell<'_>) -> bool {
    hold(cell) == Hold::Held
}

/// Compares a stream with what was lost of it, and sees whether anything else holds it: the bound
/// falls with the root of the loss (Mathis et al., 1997), and without a round trip nobody knows it.
/// A sender that waited for its timer is below that bound. What an end's own CPU dropped because it
/// was behind is no loss of the path's.
pub fn hold(cell: &Cell<'_>) -> Hold {
    let slowed = slowed(cell);
    if slowed == Hold::Exceeded && !waits_for_timer(cell) {
        return Hold::Exceeded;
    }
    let is_own = cell.sent_count(keys::RETRANSMITTED).is_some_and(|again| {
        let at_ends = [cell.of_sender(dropped), cell.of_receiver(dropped)];
        at_ends.into_iter().flatten().any(|dropped| dropped >= OWN_SHARE * again)
    });
    let is_slow = slowed == Hold::Held || waits_for_timer(cell);
    match is_slow && !is_own && !cell.is_busy() && !cell.is_limited_by_buffers() {
        true => Hold::Held,
        false => Hold::Perhaps,
    }
}

/// What became of the segments. Over a long path some few losses in a run hold a stream, and the
/// median run may have none: then all runs are counted as one, where most of them lost something.
fn counted(cell: &Cell<'_>) -> Option<Losses> {
    let losses = cell.losses()?;
    if losses.lost > 0.0 || !most_lose(cell) {
        return Some(losses);
    }
    let lost = of_all(cell, |end| segments_lost(end).map(|lost| lost as f64))?;
    Some(Losses { lost, ..losses })
}

/// A count of all runs, as a share of what they sent.
fn of_all(cell: &Cell<'_>, count: fn(&EndReport) -> Option<f64>) -> Option<f64> {
    let ends = cell.done.iter().filter_map(|record| record.sender());
    let counts = ends.filter_map(|end| Some([count(end)?, end.readings.total(keys::SENT)? as f64]));
    let [all, sent] = counts.reduce(|a, b| [a[0] + b[0], a[1] + b[1]])?;
    (sent > 0.0).then_some(all / sent)
}
/// Whether two thirds of the runs or more lost something: what one run lost is an accident.
fn most_lose(cell: &Cell<'_>) -> bool {
    let ends = cell.done.iter().filter_map(|record| record.sender());
    let lossy = ends.filter_map(segments_lost).filter(|lost| *lost > 0).count();
    3 * lossy >= 2 * cell.done.len()
}

/// Whether the congestion control of a stream slowed down for its losses, by its rate.
fn slowed(cell: &Cell<'_>) -> Hold {
    let Some(losses) = counted(cell) else { return Hold::Held };
    if let Some(share) = cell.summary.congestion().and_then(controls::ignores_loss_below) {
        return if losses.lost >= share { Hold::Held } else { Hold::Exceeded };
    }
    let allowed = bound(cell, &losses).zip(most(cell, &losses));
    match allowed.zip(cell.rates()) {
        Some(((_, most), rates)) if rates.middle > BEYOND * most && !is_unsettled(cell) => {
            Hold::Exceeded
        }
        Some(((bound, _), rates)) if rates.middle < BOUND_SHARE * bound => Hold::Perhaps,
        _ => Hold::Held,
    }
}

/// Whether a stream was cut down so few times in a run that it is still on the way from where slow
/// start left it to what its losses allow: how far it came is chance then, and runs lie far apart.
/// What a queue or a rate of the path cuts down comes to the same rate each time.
fn is_unsettled(cell: &Cell<'_>) -> bool {
    let repairs = of_runs(cell, repairs_of).filter(|cuts| *cuts > 0.0);
    let is_empty = cell.trips().is_some_and(|of| of.middle_ns <= NO_QUEUE * of.shortest_ns);
    let is_apart = cell.usual_rates().is_some_and(|rates| rates.spread() >= APART);
    let slows_down = cell.summary.congestion().is_some_and(controls::slows_down);
    slows_down && is_empty && is_apart && repairs.is_some_and(|cuts| cuts < SETTLED_CUTS)
}

/// After so many cuts a stream is near what they allow: each halves the window, or takes three
/// tenths of it.
const SETTLED_CUTS: f64 = 10.0;
/// Round trips of a stream that no packets wait before are at most so many times the shortest.
const NO_QUEUE: f64 = 1.1;
/// Runs that chance decides lie as far apart as their median, or further.
const APART: f64 = 1.0;

/// The mean of a count in the runs.
fn of_runs(cell: &Cell<'_>, count: fn(&EndReport) -> Option<f64>) -> Option<f64> {
    let counts: Vec<f64> = cell.done.iter().filter_map(|record| count(record.sender()?)).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<f64>() / counts.len() as f64)
}

/// Whether each flow waited for its timer in a share of the time that counts.
pub fn waits_for_timer(cell: &Cell<'_>) -> bool {
    let timeouts = cell.sent_count(keys::TIMEOUTS).or(cell.sent_count(keys::KERNEL_TIMEOUTS));
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(0.0);
    let flows = f64::from(cell.trial.params.streams.max(1));
    timeouts.is_some_and(|timeouts| {
        timeouts >= 1.0 && timeouts / flows * timers::least_ns(cell) >= LATE_SHARE * window_ns
    })
}

/// What the losses allow, in words, and whether more was measured.
fn allowed(cell: &Cell<'_>, bound_bps: Option<f64>, held: Hold) -> String {
    let used = cell.summary.congestion();
    if let Some((used, share)) =
        used.and_then(|used| Some((used, controls::ignores_loss_below(used)?)))
    {
        return format!("; {used} slows down for {:.0} % and more", 100.0 * share);
    }
    let Some(bound) = bound_bps else { return String::new() };
    let mut says = format!("; with that loss and round trip Reno reaches {:.0} Mb/s", bound / 1e6);
    if held == Hold::Held && is_unsettled(cell) {
        says += ", to which the few losses of a run have not brought it down yet";
    }
    if let Some(rates) = cell.rates().filter(|_| held == Hold::Exceeded) {
        says += &format!(", and {:.0} Mb/s were measured: they do not hold it", rates.middle / 1e6);
    }
    says
}

/// What a stream reaches of what its losses and its round trip allow Reno.
pub fn reached(cell: &Cell<'_>) -> Option<f64> {
    let bound_bps = bound(cell, &counted(cell)?)?;
    Some(cell.rates()?.middle / bound_bps)
}

fn dropped(end: &EndReport) -> Option<f64> {
    Some(end.readings.total(keys::BACKLOG_DROPPED)? as f64)
}

/// A share in per cent, with two digits that count.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent >= 0.1 => format!("{percent:.2}"),
        _ => format!("{percent:.3}"),
    }
}

/// The rate that the loss and the round trip allow one flow, times the flows.
fn bound(cell: &Cell<'_>, losses: &Losses) -> Option<f64> {
    let (segment, trips) = (cell.segment_bytes()?, cell.trips()?);
    let round_trip_s = trips.middle_ns / 1e9;
    let flows = f64::from(cell.trial.params.streams.max(1));
    let cuts = cuts(cell, losses);
    (cuts > 0.0 && round_trip_s > 0.0)
        .then(|| flows * 1.22 * 8.0 * segment / (round_trip_s * cuts.sqrt()))
}

/// The same of cubic where that is more, on long paths with little loss: its window is on average
/// 1.05 (round trip / share)^(3/4) segments (RFC 9438, section 5.1, with its C and beta).
fn most(cell: &Cell<'_>, losses: &Losses) -> Option<f64> {
    let reno = bound(cell, losses)?;
    let (segment, round_trip_s) = (cell.segment_bytes()?, cell.trips()?.middle_ns / 1e9);
    let flows = f64::from(cell.trial.params.streams.max(1));
    let window = 1.05 * (round_trip_s / cuts(cell, losses)).powf(0.75);
    Some(reno.max(flows * window * 8.0 * segment / round_trip_s))
}

/// Times that TCP slowed down, as a share of its segments: a row of losses is repaired at once.
fn cuts(cell: &Cell<'_>, losses: &Losses) -> f64 {
    let repairs = of_all(cell, repairs_of).filter(|share| *share > 0.0);
    repairs.map_or(losses.lost, |repairs| repairs.min(losses.lost))
}

/// Times that the kernel of an end repaired a loss.
fn repairs_of(end: &EndReport) -> Option<f64> {
    let counters = [keys::RECOVERIES, keys::RECOVERIES_WITHOUT_SACK, keys::KERNEL_TIMEOUTS];
    let counts = counters.into_iter().map(|counter| end.readings.total(counter));
    counts.sum::<Option<u64>>().map(|repairs| repairs as f64)
}

/// How many packets were lost for each repair that the kernel made. An interface of software is
/// given many segments as one packet, and what drops it drops them all.
pub fn row(cell: &Cell<'_>) -> Option<f64> {
    // One message after the other has nothing beside it: what is sent again is the same one.
    if cell.trial.kind.is_round_trip() {
        return None;
    }
    let repairs = [keys::RECOVERIES, keys::RECOVERIES_WITHOUT_SACK, keys::KERNEL_TIMEOUTS]
        .into_iter()
        .map(|counter| cell.sent_count(counter))
        .sum::<Option<f64>>()?;
    let again = cell.sent_count(keys::RETRANSMITTED)?;
    let segments = cell.packet_bytes().zip(cell.segment_bytes());
    let segments = segments.map_or(1.0, |(packet, segment)| (packet / segment.max(1.0)).max(1.0));
    (repairs > 0.0).then(|| again / repairs / segments)
}

fn at_a_time(cell: &Cell<'_>) -> String {
    if let Some(Bursts::AtRandom { lost_share }) = cell.bursts() {
        return format!(
            "; at random: packet trains lose {:.1} %, sent at once and apart alike (a bad \
             cable, radio, a failing link), and no queue or rate limit drops them",
            100.0 * lost_share
        );
    }
    match row(cell) {
        Some(row) if row >= ROW_MIN => {
            format!(
                "; lost in bursts, about {row:.0} packets at a time: a full queue, a policer, \
                     outages"
            )
        }
        Some(_) => {
            "; lost one or a few at a time: at random (a bad cable, radio), or by a policer or \
                    a queue that is too short for TCP's bursts; --explain tells which"
                .into()
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::NetworkPath;

    fn study(again: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        read(&mut study, "tcp-info", "flow0.sent_segments", 1_000_000);
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
        study
    }

    fn finding_of(study: &StoredStudy) -> (String, String) {
        match of_study(&RULE, study) {
            Verdict::Found { findings } => (findings[0].says.clone(), findings[0].remedy.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn small_packets_that_are_spared_are_told_beside_what_is_lost_at_random() {
        use crate::probes::testing::with_probes;
        use narrows_model::Nanos;
        use narrows_model::probe::{PathProbe, Train, WayProbe};
        let of = |small_came: u32| {
            let train = |packet_bytes, sent, came| Train {
                packet_bytes: narrows_model::Bytes(packet_bytes),
                sent,
                sent_ns: Nanos(4_000_000),
                came,
                came_ns: Nanos(4_000_000),
                ..Train::default()
            };
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", 2_000);
            let there = WayProbe {
                trains: vec![train(1500, 256, 251); 10],
                paced: vec![train(1500, 256, 251); 8],
                even: vec![train(128, 400, small_came); 2],
                ..WayProbe::default()
            };
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            format!("{:?}", of_study(&RULE, &study))
        };
        let spared = of(400);
        assert!(
            spared.contains("large packets alone: 2.0 % of those of 1500 B, 0 of 800 of 128 B"),
            "{spared}"
        );
        assert!(spared.contains("meta length"), "{spared}");
        assert!(!of(399).contains("large packets alone"), "2 are an eighth of their share, 15.6");
    }

    #[test]
    fn a_queue_that_slow_start_overran_hides_no_few_losses_of_a_long_path() {
        // 300 of 30,000 segments in six repairs over 40 ms, in packets of four segments each.
        let of = |repairs: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = 7_000_000;
                }
                for end in record.of_mut(Role::Sender) {
                    end.effective.interface = Some("e0".into());
                    end.effective.congestion = Some("reno".into());
                }
            }
            for (source, key, value) in [
                ("tcp-info", "flow0.sent_segments", 30_000),
                ("tcp-info", "flow0.retransmitted_segments", 300),
                ("tcp-info", "flow0.send_mss_bytes", 1448),
                ("tcp-info", "flow0.rtt_ns", 41_000_000),
                ("tcp-info", "flow0.rtt_min_ns", 40_000_000),
                ("interface", "e0.tx_packets", 7_500),
                ("interface", "e0.tx_bytes", 45_000_000),
                ("netstat", "TcpExt.TCPSackRecovery_events", repairs),
                ("netstat", "TcpExt.TCPRenoRecovery_events", 0),
                ("netstat", "TcpExt.TCPTimeouts_events", 0),
            ] {
                read(&mut study, source, key, value);
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            measured::cells(&case).next().map(|cell| is_held(&cell))
        };
        assert_eq!(of(6), Some(true), "0.02 % allow 24 Mb/s, and 56 were measured");
        assert_eq!(of(300), Some(false), "1 % allows 3.5 Mb/s");
    }

    #[test]
    fn few_losses_of_all_runs_are_counted_together() {
        let of = |again: [u64; 3]| {
            let mut study = stream("tcp-stream");
            for (key, value) in [
                ("sent_segments", 20_000),
                ("send_mss_bytes", 1448),
                ("rtt_ns", 40_000_000),
                ("rtt_min_ns", 40_000_000),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            for (again, record) in again.into_iter().zip(&mut study.records) {
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = 5_000_000;
                }
                for end in record.of_mut(Role::Sender) {
                    end.readings.put_words("tcp-info", "flow0.retransmitted_segments", again);
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of([2, 1, 2])), "five of 60,000 over 40 ms hold it");
        assert!(is_clear(&of([1, 0, 1])), "an accident");
        assert!(is_clear(&of([0, 0, 600])), "a burst in one run of three");
    }

    #[test]
    fn one_in_a_hundred_is_found_and_one_in_a_million_is_not() {
        assert!(is_found(&of_study(&RULE, &study(10_000))));
        assert!(is_clear(&of_study(&RULE, &study(1))));
        let mut spurious = study(10_000);
        read(&mut spurious, "tcp-info", "flow0.duplicates_reported_segments", 9_990);
        assert!(is_clear(&of_study(&RULE, &spurious)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        // The advice knows the path.
        let advice = |path: NetworkPath| {
            let mut study = study(10_000);
            study.trials[0].path = path;
            finding_of(&study).1
        };
        assert!(advice(NetworkPath::Peer).contains("switch's ports"));
        assert!(advice(NetworkPath::Namespaces).contains("a router or switch if they"));
    }

    #[test]
    fn a_small_share_is_found_where_it_holds_the_rate() {
        let over = |rtt_ns: u64| {
            let mut study = study(100);
            read(&mut study, "tcp-info", "flow0.rtt_ns", rtt_ns);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", rtt_ns);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            of_study(&RULE, &study)
        };
        // 10 Gb/s where 4.7 Gb/s are the bound at 0.3 ms, 71 Gb/s at 20 us, 0.7 Gb/s at 2 ms.
        assert!(is_found(&over(300_000)));
        assert!(is_clear(&over(20_000)));
        assert!(is_clear(&over(2_000_000)), "no loss of that share allows so much");
    }

    #[test]
    fn a_stream_that_is_faster_than_its_losses_allow_is_not_held_by_them() {
        // 10 Gb/s; two in a thousand lost over 0.2 ms allow Reno 1.6 Gb/s, and over 40 us 7.9.
        let of = |congestion: &str, lost: u64, rtt_us: u64, timeouts: u64| {
            let mut study = study(lost);
            for (key, value) in [
                ("rtt_ns", 1000 * rtt_us),
                ("rtt_min_ns", 1000 * rtt_us),
                ("send_mss_bytes", 1448),
                ("timeouts_events", timeouts),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.congestion = Some(congestion.into());
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let held = crate::measured::cells(&case).map(|cell| hold(&cell)).next();
            (held.expect("a cell"), finding_of(&study))
        };
        let (held, (_, _)) = of("cubic", 2_000, 40, 0);
        assert_eq!(held, Hold::Held);
        assert_eq!(of("cubic", 2_000, 200, 0).0, Hold::Exceeded);
        assert_eq!(of("cubic", 2_000, 200, 1).0, Hold::Held, "the timer took a fifth of the time");
        // 50 of 256 are what bbr slows down for.
        assert_eq!(of("bbr", 2_000, 40, 0).0, Hold::Exceeded);
        assert_eq!(of("bbr", 150_000, 40, 0).0, Hold::Exceeded);
        assert_eq!(of("bbr", 200_000, 40, 0).0, Hold::Held);
        assert_eq!(of("bbr", 2_000, 40, 1).0, Hold::Held, "the timer");
        assert_eq!(of("bbr3", 150_000, 40, 0).0, Hold::Held);
    }

    #[test]
    fn few_losses_of_a_run_hold_a_stream_that_has_not_come_down_to_what_they_allow() {
        // Reno over 40 ms at 93 Mb/s, 3 of 3000 segments lost: single ones allow 11 Mb/s.
        let of = |repairs: u64, rtt_us: u64, apart: bool| {
            let mut study = stream("tcp-stream");
            for (at, record) in study.records.iter_mut().enumerate() {
                let bytes =
                    if apart { [6_000_000, 46_000_000, 11_600_000][at % 3] } else { 11_600_000 };
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = bytes;
                }
                for end in record.of_mut(Role::Sender) {
                    end.effective.congestion = Some("reno".into());
                }
            }
            for (source, key, value) in [
                ("tcp-info", "flow0.sent_segments", 3_000),
                ("tcp-info", "flow0.retransmitted_segments", 3),
                ("tcp-info", "flow0.send_mss_bytes", 1448),
                ("tcp-info", "flow0.rtt_ns", 1000 * rtt_us),
                ("tcp-info", "flow0.rtt_min_ns", 40_000_000),
                ("netstat", "TcpExt.TCPSackRecovery_events", repairs),
                ("netstat", "TcpExt.TCPRenoRecovery_events", 0),
                ("netstat", "TcpExt.TCPTimeouts_events", 0),
            ] {
                read(&mut study, source, key, value);
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            crate::measured::cells(&case).map(|cell| hold(&cell)).next().expect("a cell")
        };
        assert_eq!(of(3, 40_200, true), Hold::Held);
        assert_eq!(of(3, 40_200, false), Hold::Exceeded, "the same rate each time");
        assert_eq!(of(3, 50_000, true), Hold::Exceeded, "packets wait");
        assert_eq!(of(12, 40_200, true), Hold::Exceeded, "often enough to come down");
    }

    #[test]
    fn losses_in_a_row_slow_a_stream_down_once() {
        // 100 of 10,000 segments lost at 116 Mb/s over 20 ms: 7 Mb/s is what single losses of that
        // share allow Reno, and 32 Mb/s what five cuts do.
        let of = |repairs: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 10_000 * 1448;
            }
            for (key, value) in [
                ("sent_segments", 10_000),
                ("retransmitted_segments", 100),
                ("rtt_ns", 20_000_000),
                ("rtt_min_ns", 20_000_000),
                ("send_mss_bytes", 1448),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            for (key, count) in
                [("TCPSackRecovery", repairs), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)]
            {
                read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            crate::measured::cells(&case).all(|cell| is_held(&cell))
        };
        assert!(of(5), "within four times that");
        assert!(!of(100), "more than single losses allow");
    }

    #[test]
    fn a_probe_says_that_losses_are_at_random() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::PathProbe;
        let of = |slow: u32| {
            let mut study = study(10_000);
            let there = way(251, 60, slow);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            finding_of(&study).0
        };
        assert!(of(251).contains("at random: packet trains lose 2.0 %"), "{}", of(251));
        assert!(!of(256).contains("at random"), "none of the slower trains: {}", of(256));
    }

    #[test]
    fn rows_of_losses_are_told_from_single_ones() {
        let with = |repairs: u64| {
            let mut study = study(10_000);
            for (key, count) in
                [("TCPSackRecovery", repairs), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)]
            {
                read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
            }
            finding_of(&study).0
        };
        assert!(with(9_000).contains("one or a few at a time"));
        assert!(with(250).contains("in bursts, about 40 packets at a time"), "{}", with(250));
    }
}
