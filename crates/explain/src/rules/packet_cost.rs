//! `packet-cost`: does the kernel work long on each packet?
//!
//! Filters with long lists of rules, bridges, tunnels and encryption are paid by the packet, in
//! software interrupts. Linux counts both: their time, and the packets that it took from devices.
//! Where handling one takes many times what it takes without them, that is the work, although no
//! CPU need be full of it: on one machine the sender itself pays for the packets that it sends.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Wait};
use narrows_model::reading::{Counter, Scope, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "packet-cost",
    asks: "Does the kernel spend long on each packet?",
    of_host: false,
    judge,
};

/// Nanoseconds of a packet that are ordinary. Streams between namespaces took 600 to 2,400, beside
/// 3,000 rules of a filter 19,000 to 30,000.
const PACKET_NS: f64 = 8000.0;
/// What each segment of a packet that was joined may add: a driver handled it before. Of jumbo
/// frames there are fewer, whose bytes and pages cost as much.
const SEGMENT_NS: f64 = 500.0;
const SEGMENT_BYTES_MAX: f64 = 1448.0;
/// The kernel counts by its ticks: less time than this share of a CPU is too coarse.
const SOFTIRQ_MIN: f64 = 0.1;
/// Where TCP always had something under way, the sender did not wait for its own work.
const ENGAGED_MAX: f64 = 0.8;

/// The same of a packet that a thread sends, its call included: 2,000 to 5,000 are ordinary, beside
/// 20,000 rules of a filter 138,000.
const HANDED_NS: f64 = 25_000.0;
/// A pace is kept from this share of it on.
const KEPT_SHARE: f64 = 0.95;
/// The same in round trips, where each packet wakes a CPU: 8,900 to 14,000 on a virtual machine of
/// two CPUs with nothing planted.
const TRIP_PACKET_NS: f64 = 20_000.0;
/// What handling its packets takes of a round trip, from which on it counts.
const TRIP_SHARE: f64 = 0.25;
/// And from which on it is what the round trip is.
const MOST_SHARE: f64 = 0.5;
const REMEDY: &str = "look for long lists of filter rules (nft list ruleset, iptables -S) at both ends \
                      and in namespaces and bridges between; for bridges, tunnels and tc filters; \
                      perf top names what it is; rules: sets and maps in place of lists, \
                      established connections first";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCpuTime, None, look)
}

/// What packets cost at one end.
struct Cost {
    /// Time in software interrupts, as a share of one CPU.
    softirq: f64,
    /// The same for each packet that the kernel took from a device, in nanoseconds.
    packet_ns: f64,
    /// Bytes of the flows for each of these packets.
    packet_bytes: f64,
}

impl Cost {
    /// Medians over the runs; `median` takes them of one of the ends.
    fn of(median: impl Fn(fn(&EndReport) -> Option<f64>) -> Option<f64>) -> Option<Self> {
        Some(Self {
            softirq: median(softirq)?,
            packet_ns: median(|end| Some(softirq_ns(end)? / packets(end)?))?,
            packet_bytes: median(|end| Some(bytes(end) / packets(end)?))?,
        })
    }
}

fn softirq(end: &EndReport) -> Option<f64> {
    (end.window_ns.0 > 0).then_some(softirq_ns(end)? / end.window_ns.0 as f64)
}

fn softirq_ns(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::SOFTIRQ).map(|ns| ns as f64)
}

fn packets(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::PROCESSED).map(|count| count as f64).filter(|count| *count > 0.0)
}

fn bytes(end: &EndReport) -> f64 {
    end.flows.iter().map(|flow| flow.bytes.0 as f64).sum()
}

fn look(cell: &Cell<'_>) -> Looked {
    if matches!(cell.trial.kind, Workload::TCP_RR | Workload::UDP_RR) {
        return look_at_trips(cell);
    }
    let is_behind = is_behind(cell);
    if !cell.is_network_stream() || (cell.is_paced() && !is_behind) {
        return Err(Blind::OtherKind);
    }
    if let Some(handed_ns) = handed_ns(cell).filter(|ns| is_behind && *ns >= HANDED_NS) {
        return of_datagrams(cell, handed_ns);
    }
    let sends = Cost::of(|value| cell.of_sender(value));
    let takes = Cost::of(|value| cell.of_receiver(value));
    let dearest = match (sends, takes) {
        (None, None) => return Err(cell.lacks(Measure::SoftirqTimeAndPackets)),
        (Some(sends), Some(takes)) if sends.packet_ns < takes.packet_ns => ("receiver", takes),
        (Some(sends), _) => ("sender", sends),
        (None, Some(takes)) => ("receiver", takes),
    };
    let (end, cost) = dearest;
    let segment = cell.segment_bytes().unwrap_or(SEGMENT_BYTES_MAX).clamp(1.0, SEGMENT_BYTES_MAX);
    let ordinary_ns = PACKET_NS + SEGMENT_NS * cost.packet_bytes / segment;
    let seen = format!(
        "each packet took {:.1} us of software interrupts at the {end}, {:.0} % of a CPU in all",
        cost.packet_ns / 1e3,
        100.0 * cost.softirq
    );
    let is_held = is_behind
        || cell.is_busy()
        || cell.engaged_share().is_some_and(|share| share < ENGAGED_MAX);
    let dear = cost.softirq >= SOFTIRQ_MIN && cost.packet_ns >= ordinary_ns && is_held;
    if let Some(copies) = copies(cell).filter(|_| is_held && cost.softirq >= COPIES_SOFTIRQ) {
        return of_copies(cell, copies, cost.softirq);
    }
    let wrong = dear.then(|| {
        let says = format!(
            "The kernel spends {:.0} us on each packet at the {end}'s host in {}, where 1 to 3 are \
             ordinary: long lists of filter rules, bridges, tunnels or encryption on the way, or a \
             profiler that interrupts it",
            cost.packet_ns / 1e3,
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// Packets that a host's CPUs handle for each one of the stream.
struct Copies {
    /// For each packet that the receiver's interface counts, which may be many segments.
    packets: f64,
    /// For each segment.
    segments: f64,
}

/// Many more packets than the stream has; `None` where that is not counted or not so.
fn copies(cell: &Cell<'_>) -> Option<Copies> {
    let segment = cell.segment_bytes()?.max(1.0);
    let of = |packets: fn(&EndReport) -> Option<f64>| cell.of_receiver(packets);
    let own = of(|end| {
        let counted = [keys::RX_PACKETS, keys::TX_PACKETS].map(|key| interface(end, key));
        Some(counted.into_iter().sum::<Option<u64>>()?.max(1) as f64)
    })?;
    let segments = of(|end| Some(bytes(end)))? / segment;
    let all = of(packets)?;
    let copies = Copies { packets: all / own, segments: all / segments.max(1.0) };
    (copies.packets >= COPIES_OF_PACKETS && copies.segments >= COPIES_OF_SEGMENTS).then_some(copies)
}

/// A stream passes a namespace, a bridge or a tunnel at the cost of one packet each; four of them
/// in a row on one host are rare, and so are fewer than eight for a packet of many segments. A
/// bridge that flooded to 60 ports had 65 and 4.4.
const COPIES_OF_PACKETS: f64 = 8.0;
const COPIES_OF_SEGMENTS: f64 = 4.0;
/// Less than a whole CPU, and they are not what holds the stream.
const COPIES_SOFTIRQ: f64 = 1.0;
const COPIES_REMEDY: &str = "see who gets them: bridge -d link (flood, learning), bridge fdb show \
                             and tc filter (mirred) on this host, ip -s link for interfaces that \
                             count as many; take away mirrors, let the bridge learn (ageing_time, \
                             learning on)";

fn of_copies(cell: &Cell<'_>, copies: Copies, softirq: f64) -> Looked {
    let seen = format!(
        "the CPUs handled {:.0} packets for each one of the receiver's interface and {:.1} for each \
         segment, in {:.0} % of a CPU",
        copies.packets,
        copies.segments,
        100.0 * softirq
    );
    let says = format!(
        "The host's CPUs handle {:.0} packets for each one of the stream in {}: copies of it (a \
         bridge that floods, a mirror), many devices in a row, or others' traffic",
        copies.packets, cell.trial.label
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), COPIES_REMEDY);
    cell.saw(seen, Some(found))
}

fn interface(end: &EndReport, counter: Counter) -> Option<u64> {
    end.readings.of(counter, Scope::Nic(narrows_stats::way_in(end)?.to_owned()))
}

/// Time in the kernel that the sender's threads took for each packet of their datagrams. On one
/// machine a thread that sends pays for what the receiver's kernel does with it.
fn handed_ns(cell: &Cell<'_>) -> Option<f64> {
    let mtu = cell.path_mtu_bytes().unwrap_or(1500.0);
    let packets = (cell.trial.params.message_bytes.0 as f64 / mtu).ceil().max(1.0);
    let datagrams = cell.trial.kind == Workload::UDP_STREAM;
    cell.of_sender(|end| {
        let kernel: f64 = end.threads.iter().map(|thread| thread.system_ns.0 as f64).sum();
        let sent: f64 = end.flows.iter().map(|flow| flow.messages as f64).sum();
        (datagrams && sent > 0.0).then(|| kernel / (sent * packets))
    })
}

fn of_datagrams(cell: &Cell<'_>, handed_ns: f64) -> Looked {
    let us = handed_ns / 1e3;
    let seen = format!("the sender's threads took {us:.0} us in the kernel for each packet");
    let says = format!(
        "The kernel spends {us:.0} us on each packet that the sender hands to it in {}, where 2 to \
         5 are ordinary, and the pace is not kept: long lists of filter rules, bridges, tunnels \
         or encryption on the way",
        cell.trial.label
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY);
    cell.saw(seen, Some(found))
}

/// Whether datagrams go out at less than the pace that was asked for, or are lost.
fn is_behind(cell: &Cell<'_>) -> bool {
    let asked = cell.trial.params.rate_bps.filter(|rate| *rate > 0);
    let rates = asked.zip(cell.rates());
    cell.trial.kind == Workload::UDP_STREAM
        && rates.is_some_and(|(asked, rates)| rates.middle < KEPT_SHARE * asked as f64)
}

/// The packets of a round trip, one each way, beside all of it.
fn look_at_trips(cell: &Cell<'_>) -> Looked {
    let cost =
        Cost::of(|value| cell.of_sender(value)).or(Cost::of(|value| cell.of_receiver(value)));
    let cost = cost.ok_or_else(|| cell.lacks(Measure::SoftirqTimeAndPackets))?;
    let trip = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
    let trip_ns = trip.ok_or_else(|| cell.lacks(Measure::RoundTrips))?.0 as f64;
    let share = 2.0 * cost.packet_ns / trip_ns.max(1.0);
    let seen = format!(
        "each packet took {:.1} us of software interrupts, {:.0} % of a CPU in all; the median round \
         trip is {:.0} us",
        cost.packet_ns / 1e3,
        100.0 * cost.softirq,
        trip_ns / 1e3
    );
    let is_dear = cost.packet_ns >= TRIP_PACKET_NS && cost.softirq >= SOFTIRQ_MIN;
    if let Some(sides) = sides(cell).filter(|_| !is_dear || share < TRIP_SHARE) {
        return of_one_side(cell, &sides);
    }
    let wrong = (is_dear && share >= TRIP_SHARE).then(|| {
        let says = format!(
            "The kernel spends {:.0} us on each packet in {}, where up to 14 are ordinary, {:.0} \
            % of the median round trip: long lists of filter rules, bridges, tunnels or encryption",
            cost.packet_ns / 1e3,
            cell.trial.label,
            100.0 * share.min(1.0)
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// What the kernel does in the calls of each end's thread for a round trip, in nanoseconds.
struct Sides {
    /// The end where that is more.
    dear: &'static str,
    dear_ns: f64,
    other_ns: f64,
    trip_ns: f64,
}

/// Both ends of a round trip make the same calls. Of ten paths with nothing planted the one took
/// 0.9 to 1.3 times as long in them as the other, beside 3,000 rules of a filter of one end 2.6.
const SIDES_TIMES: f64 = 2.0;
/// Less of that than so many nanoseconds is of their clocks and their kernels' versions.
const SIDES_NS: f64 = 10_000.0;

/// Whether the kernel of one end works much longer in the same calls, where that is a good part of
/// a round trip. Threads that do not sleep spend their time in calls that find nothing.
pub fn is_one_sided(cell: &Cell<'_>) -> bool {
    sides(cell).is_some()
}

/// Which end that is. On one host what a sender's call does goes as far as the receiver's filters.
pub fn dear_end(cell: &Cell<'_>) -> Option<String> {
    let sides = sides(cell).filter(|_| !cell.summary.is_one_host())?;
    Some(format!("at the {}", sides.dear))
}

/// Whether what the kernel of one end works beyond the other's is most of the median round trip.
pub fn is_most(cell: &Cell<'_>) -> bool {
    let most = |sides: Sides| sides.dear_ns - sides.other_ns >= MOST_SHARE * sides.trip_ns;
    sides(cell).is_some_and(most)
}

fn sides(cell: &Cell<'_>) -> Option<Sides> {
    let socket = cell.trial.params.socket.as_ref();
    let sleeps = socket.and_then(|of| of.wait.as_ref()).is_none_or(|wait| *wait == Wait::Block);
    let is_due = cell.trial.params.trip.as_ref().is_some_and(|trip| trip.per_second.is_some());
    let is_trips = matches!(cell.trial.kind, Workload::TCP_RR | Workload::UDP_RR) && !is_due;
    if !is_trips || !sleeps || cell.is_paced() {
        return None;
    }
    let trip_ns = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns)?.0 as f64;
    let [asks, answers] = [cell.of_sender(called_ns)?, cell.of_receiver(called_ns)?];
    let (dear, dear_ns, other_ns) =
        if asks > answers { ("sender", asks, answers) } else { ("receiver", answers, asks) };
    let more_ns = dear_ns - other_ns;
    let is_dear = dear_ns >= SIDES_TIMES * other_ns && more_ns >= SIDES_NS;
    (is_dear && more_ns >= TRIP_SHARE * trip_ns).then_some(Sides {
        dear,
        dear_ns,
        other_ns,
        trip_ns,
    })
}

/// Time in the kernel of an end's threads for each of its messages; `None` where ticks are too
/// coarse for it.
fn called_ns(end: &EndReport) -> Option<f64> {
    let kernel: f64 = end.threads.iter().map(|thread| thread.system_ns.0 as f64).sum();
    let messages: u64 = end.flows.iter().map(|flow| flow.messages).sum();
    (messages > 0 && kernel >= SOFTIRQ_MIN * end.window_ns.0 as f64)
        .then(|| kernel / messages as f64)
}

fn of_one_side(cell: &Cell<'_>, sides: &Sides) -> Looked {
    let Sides { dear, dear_ns, other_ns, trip_ns } = sides;
    let [us, other_us, trip_us] = [dear_ns, other_ns, trip_ns].map(|ns| ns / 1e3);
    let is_one_host = cell.summary.is_one_host();
    let seen = format!(
        "for each round trip the kernel worked {us:.0} us in the calls of the {dear}'s thread and \
         {other_us:.0} us in the other end's; the median round trip is {trip_us:.0} us"
    );
    let says = format!(
        "The kernel works {us:.0} us for each round trip in the calls of the {dear}'s thread in {}, \
         and {other_us:.0} us at the other end in the same calls: {}, a tunnel or encryption \
         there, or a slower CPU",
        cell.trial.label,
        if is_one_host {
            "long lists of filter rules on the way of what it sends (on one host its calls go as far \
             as the other end's input)"
                .to_owned()
        } else {
            format!(
                "long lists of filter rules at the {dear}'s host (what is sent passes output and \
                 postrouting within the call)"
            )
        }
    );
    let place = if is_one_host { "each end".to_owned() } else { format!("the {dear}") };
    let remedy = format!("{REMEDY}; count them: nft list ruleset | wc -l at {place}");
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
    cell.saw(seen, Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// A stream of 10 Gb/s in packets of 20 kB, with so much time in software interrupts.
    fn study(softirq_ms: u64, busy_ms: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        read(&mut study, "cpu", "cpu0.softirq_ns", softirq_ms * 1_000_000);
        read(&mut study, "softnet", "processed_packets", 62_500);
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        read(&mut study, "tcp-info", "flow0.busy_ns", busy_ms * 1_000_000);
        study
    }

    #[test]
    fn packets_that_cost_much_are_found() {
        let found = of_study(&RULE, &study(1300, 300));
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        assert!(findings[0].says.contains("spends 21 us on each packet"), "{}", findings[0].says);
        assert!(is_clear(&of_study(&RULE, &study(120, 300))), "2 us a packet");
        assert!(is_clear(&of_study(&RULE, &study(1300, 1000))), "TCP never waited for its sender");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn a_host_that_handles_many_more_packets_than_the_stream_has_copies_them() {
        // 10 Gb/s in 863,000 segments, and packets of 40 of them.
        let of = |processed: u64, softirq_ms: u64| {
            let mut study = study(softirq_ms, 300);
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let end = &mut end.report;
                end.flows[0].bytes = narrows_model::Bytes(1_250_000_000);
                end.effective.interface = Some("e0".into());
                end.readings.put_words("cpu", "cpu0.softirq_ns", softirq_ms * 1_000_000);
                end.readings.put_words("softnet", "processed_packets", processed);
                end.readings.put_words("tcp-info", "flow0.send_mss_bytes", 1448);
                for way in ["rx", "tx"] {
                    end.readings.put_words("interface", &format!("e0.{way}_packets"), 21_500);
                }
            }
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(5_400_000, 1_620) else { panic!("found") };
        let says = &findings[0].says;
        assert!(says.starts_with("The host's CPUs handle 126 packets for each one"), "{says}");
        assert!(is_clear(&of(1_800_000, 1_620)), "two hops, cut into segments");
        assert!(is_found(&of(3_750_000, 1_620)) && is_clear(&of(3_300_000, 1_620)), "four of each");
        assert!(is_clear(&of(5_400_000, 300)), "a third of a CPU");
    }

    #[test]
    fn jumbo_frames_may_cost_what_as_many_bytes_in_small_ones_do() {
        // 20 kB a packet are 14 segments of 1448 B or 3 of 8948 B: 14.9 us are ordinary of both.
        let of = |softirq_ms: u64, mss: u64| {
            let mut study = study(softirq_ms, 300);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", mss);
            of_study(&RULE, &study)
        };
        for mss in [1448, 8948] {
            assert!(is_clear(&of(900, mss)), "14.4 us at {mss} B");
            assert!(matches!(of(960, mss), Verdict::Found { .. }), "15.4 us at {mss} B");
        }
    }

    #[test]
    fn packets_that_take_much_of_a_round_trip_are_found() {
        let of = |softirq_ms: u64, p50_us: u64| {
            let mut study = crate::measured::testing::trips(p50_us);
            read(&mut study, "cpu", "cpu0.softirq_ns", softirq_ms * 1_000_000);
            read(&mut study, "softnet", "processed_packets", 10_000);
            of_study(&RULE, &study)
        };
        let found = of(300, 140);
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        assert!(findings[0].says.contains("43 % of the median round trip"), "{findings:?}");
        assert!(is_clear(&of(20, 10)), "2 us a packet");
        assert!(is_clear(&of(140, 70)), "14 us, as a virtual machine without filters took");
        assert!(is_clear(&of(300, 1000)), "a path of a millisecond");
    }

    #[test]
    fn an_end_that_works_longer_in_the_same_calls_is_named() {
        let of = |asks_us: u64, answers_us: u64, p50_us: u64| {
            let mut study = crate::measured::testing::trips(p50_us);
            read(&mut study, "cpu", "cpu0.softirq_ns", 100_000_000);
            read(&mut study, "softnet", "processed_packets", 20_000);
            for record in &mut study.records {
                for (role, us) in [(Role::Sender, asks_us), (Role::Receiver, answers_us)] {
                    let end = record.of_mut(role).next().expect("an end");
                    end.flows[0].messages = 10_000;
                    end.threads[0].system_ns = narrows_model::Nanos(10_000_000 * us);
                }
            }
            of_study(&RULE, &study)
        };
        let found = of(46, 18, 82);
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        let says = &findings[0].says;
        assert!(says.starts_with("The kernel works 46 us for each round trip"), "{says}");
        assert!(says.contains("the sender's host"), "{says}");
        let back = format!("{:?}", of(18, 46, 82));
        assert!(back.contains("the receiver's host"), "{back}");
        assert!(is_clear(&of(17, 15, 53)), "as with nothing planted");
        assert!(is_clear(&of(46, 18, 400)), "little of a long path");
        assert!(is_clear(&of(19, 9, 30)), "ten microseconds are of clocks");
    }

    #[test]
    fn a_pace_that_is_not_kept_is_the_packets_where_they_are_dear() {
        let of = |softirq_ms: u64, pace_gbps: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = Some(pace_gbps * 1_000_000_000);
            read(&mut study, "cpu", "cpu0.softirq_ns", softirq_ms * 1_000_000);
            read(&mut study, "softnet", "processed_packets", 850_000);
            of_study(&RULE, &study)
        };
        assert!(matches!(of(10_000, 20), Verdict::Found { .. }));
        assert!(is_clear(&of(900, 20)), "1 us a packet");
        // 20,000 datagrams in half a second of the kernel's time are 25 us each; of 64 KiB each has
        // 44 packets.
        let handed = |message: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = Some(20_000_000_000);
            study.trials[0].params.message_bytes = narrows_model::Bytes(message);
            of_study(&RULE, &study)
        };
        assert!(matches!(handed(1400), Verdict::Found { .. }));
        assert!(!matches!(handed(65_000), Verdict::Found { .. }));
        assert!(!matches!(of(10_000, 10), Verdict::Found { .. }), "the pace is kept");
    }

    #[test]
    fn few_ticks_are_too_coarse() {
        let mut study = study(60, 300);
        read(&mut study, "softnet", "processed_packets", 2000);
        assert!(is_clear(&of_study(&RULE, &study)));
    }
}
