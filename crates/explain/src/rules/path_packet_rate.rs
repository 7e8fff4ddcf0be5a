//! `path-packet-rate`: does the path carry a number of packets a second, whatever their size?
//!
//! A firewall's limit of packets, a virtual machine's allowance or a router's CPU let through so
//! many packets, large or small; a link or shaper so many bytes. At one size of datagrams the two
//! look alike. At two sizes and one pace as many datagrams come under a limit of packets, and as
//! many bytes under one of bytes (`narrows udp --explain`). So do two sizes of TCP's segments where
//! neither stream fills a CPU of its ends (`narrows diagnose`).

use crate::beside::Beside;
use crate::evidence::evidence;
use crate::measured::{Blind, Cell, cells, finding, joined};
use crate::survey::Survey;
use crate::{Case, Rule};
use narrows_model::Bytes;
use narrows_model::load::Params;
use narrows_model::options::SocketParams;
use narrows_model::result::{
    Activity, Finding, Inapplicable, Measure, Needed, Unmeasured, Verdict, Weight,
};
use narrows_model::workload::Workload;
use narrows_stats::LossPlace;

pub static RULE: Rule = Rule {
    name: "path-packet-rate",
    asks: "Does the path carry a number of packets a second, whatever their size?",
    of_host: false,
    judge,
};

/// A stream that loses less meets no limit.
const LOST_SHARE: f64 = 0.1;
/// Sizes must be so many times apart to tell packets from bytes.
const SIZES_APART: f64 = 1.5;
/// Datagrams a second that are no further apart are one figure: as the two paces of
/// `path-rate-limit`, whose slower one has 0.87 of the faster one's.
const SAME_RATE: f64 = 1.15;

fn judge(case: &Case<'_>) -> Verdict {
    let (mut survey, mut findings) = (Survey::default(), Vec::new());
    for cell in cells(case).filter(is_lossy) {
        let others = cell.beside(|params| Params { message_bytes: Bytes(0), ..params });
        let others: Vec<_> = others.into_iter().filter(|other| is_apart(&cell, other)).collect();
        if others.is_empty() {
            survey.lacks(Unmeasured::Run(Needed::UdpOfOtherSize).into());
        }
        for other in &others {
            let seen = seen(&cell, other);
            if is_of_packets(&cell, other) {
                findings.push(found(&cell, other, seen));
            } else if let (true, Blind::Lacks(missing)) =
                (cell.is_disturbed(), cell.lacks(Measure::UndisturbedRuns))
            {
                survey.lacks(missing);
            } else {
                survey.fine(seen, cell.runs());
            }
        }
    }
    let streams = streams(case);
    survey_streams(&streams, &mut survey, &mut findings);
    joined(findings).into_iter().for_each(|finding| survey.found(finding));
    survey.conclude(Inapplicable::NoRun { that: Activity::LosesDatagramsOnPath })
}

/// What TCP's stream may have of the rate at which the path passes trains, and still be held by it:
/// its acknowledgements take packets too, and trains are short.
const OF_TRAINS: std::ops::RangeInclusive<f64> = 0.4..=1.3;
/// Above this rate it may be a CPU of the ends' own kernels.
const RATE_MOST_BPS: f64 = 1.2e9;

/// TCP's streams as fast as the path lets them, with the bytes of their segments.
fn streams<'a>(case: &'a Case<'a>) -> Vec<(Cell<'a>, f64)> {
    let all = cells(case).filter(|cell| cell.is_tcp_stream() && !cell.is_paced());
    let free = all.filter(|cell| !cell.is_busy() && !cell.is_limited_by_buffers());
    free.filter_map(|cell| cell.segment_bytes().map(|bytes| (cell, bytes))).collect()
}

/// Looks at pairs of streams that differ in the segments that were asked for and in nothing else.
fn survey_streams(all: &[(Cell<'_>, f64)], survey: &mut Survey, findings: &mut Vec<Finding>) {
    for (cell, bytes) in all.iter().filter(|(cell, _)| is_paths(cell)) {
        let others = cell.beside(without_segments);
        for (other, its) in others.iter().filter_map(|other| {
            let its = all.iter().find(|(one, _)| one.trial.id == other.trial.id)?.1;
            (bytes.max(its) >= SIZES_APART * bytes.min(its)).then_some((other, its))
        }) {
            let of = |bps: f64, bytes: f64| bps / 8.0 / bytes;
            let own = cell.rates().map_or(0.0, |rates| of(rates.middle, *bytes));
            let beside = of(other.middle_bps(), its);
            let seen = format!(
                "{own:.0} segments of {bytes:.0} B a second come, and {beside:.0} of {its:.0} B"
            );
            if own.min(beside) > 0.0 && own.max(beside) <= SAME_RATE * own.min(beside) {
                findings.push(told(cell, other, own, seen));
            } else {
                survey.fine(seen, cell.runs());
            }
        }
    }
}

/// Whether the path, and not an end, holds a stream: trains come at about its rate, or, where none
/// told one, the ends' threads have most of their time left and packets wait. A window of so many
/// segments, and losses, let as many a second pass of any size, and no packet waits.
fn is_paths(cell: &Cell<'_>) -> bool {
    let measured = cell.rates().map(|rates| rates.middle);
    let share = |bps: f64| Some(cell.in_packets(bps) / cell.carried()?.middle);
    let is_known = cell.carried().is_some();
    let is_queued = || cell.trips().is_some_and(|trips| trips.are_of_a_queue());
    measured.is_some_and(|bps| {
        let is_at_trains = || share(bps).is_some_and(|share| OF_TRAINS.contains(&share));
        bps <= RATE_MOST_BPS
            && if is_known { is_at_trains() } else { cell.is_idle() && is_queued() }
    })
}

fn without_segments(mut params: Params) -> Params {
    if let Some(socket) = &mut params.socket {
        socket.mss_bytes = None;
    }
    params.socket = params.socket.filter(|socket| *socket != SocketParams::default());
    params
}

/// Whether a stream of datagrams at a pace loses many of them on the way.
fn is_lossy(cell: &Cell<'_>) -> bool {
    let Some(loss) = cell.summary.loss.as_ref().filter(|_| cell.is_paced()) else { return false };
    let (place, _) = loss.main_place();
    let is_on_the_way = matches!(place, LossPlace::Path | LossPlace::OneHost | LossPlace::Unknown);
    let all = loss.all_datagrams() as f64;
    cell.trial.kind == Workload::UDP_STREAM
        && is_on_the_way
        && loss.lost_datagrams as f64 >= LOST_SHARE * all
}

/// Whether the packets of both are of sizes that tell bytes from packets, and one for a datagram.
fn is_apart(cell: &Cell<'_>, other: &Beside<'_>) -> bool {
    let sizes = [cell.trial, other.trial].map(|trial| trial.params.message_bytes.0);
    let is_whole = sizes.iter().all(|size| size + HEADERS_BYTES <= mtu_bytes(cell));
    let [own, its] = sizes.map(|size| frame_bytes(size) as f64);
    is_whole && own.max(its) >= SIZES_APART * own.min(its)
}

/// Bytes of the headers of UDP and IPv4. With IPv6 it is 20 more, which brings sizes nearer to each
/// other and leaves the least ratio above what is one figure: 1.15.
const HEADERS_BYTES: u64 = 28;
/// Header and check sequence of an Ethernet frame, and the least that a frame has.
const FRAME_BYTES: u64 = 18;
const FRAME_LEAST_BYTES: u64 = 64;
/// Of an interface that nobody asked: that of Ethernet.
const MTU_BYTES: u64 = 1500;

/// A datagram of this payload on the wire.
fn frame_bytes(payload: u64) -> u64 {
    (payload + HEADERS_BYTES + FRAME_BYTES).max(FRAME_LEAST_BYTES)
}

/// The largest packet that leaves the sender whole.
fn mtu_bytes(cell: &Cell<'_>) -> u64 {
    let nic = cell.sender().and_then(|end| end.nic());
    nic.and_then(|nic| nic.mtu_bytes.value()).map_or(MTU_BYTES, |mtu| mtu.0)
}

/// Datagrams a second that come of the cell and of the other, in the fastest run of each: what
/// keeps a sender from its pace lowers what comes, and a limit is what is reached at best.
fn packets(cell: &Cell<'_>, other: &Beside<'_>) -> [f64; 2] {
    let own = cell.rates().map_or(0.0, |rates| rates.high);
    [(own, cell.trial), (other.high_bps(), other.trial)]
        .map(|(bps, trial)| bps / 8.0 / trial.params.message_bytes.0.max(1) as f64)
}

fn is_of_packets(cell: &Cell<'_>, other: &Beside<'_>) -> bool {
    let [own, its] = packets(cell, other);
    own.min(its) > 0.0 && own.max(its) <= SAME_RATE * own.min(its)
}

fn seen(cell: &Cell<'_>, other: &Beside<'_>) -> String {
    let [own, its] = packets(cell, other);
    format!(
        "{own:.0} datagrams of {} B a second come, and {its:.0} of {} B",
        cell.trial.params.message_bytes.0, other.trial.params.message_bytes.0
    )
}

fn found(cell: &Cell<'_>, other: &Beside<'_>, seen: String) -> Finding {
    told(cell, other, packets(cell, other)[0], seen)
}

const REMEDY: &str = "look for what carries so many packets and no more, and raise it (nft list \
                      ruleset: limit rate; a provider's packets a second; the CPU of a router, of \
                      a virtual switch or of a program that forwards: top on it), or send larger \
                      packets (-l of datagrams, up to the path MTU; a larger MTU; GSO and GRO save \
                      the ends' work, not the path's packets)";

fn told(cell: &Cell<'_>, other: &Beside<'_>, packets: f64, seen: String) -> Finding {
    let says = format!(
        "Something on the way carries about {packets:.0} packets a second in {}, whatever their \
         size: {seen}",
        cell.trial.label
    );
    let mut found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY);
    found.evidence.push(evidence(seen, other.runs()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside::testing::with_beside;
    use crate::measured::testing::{of_study, read, stream};
    use crate::probes::testing::{carries, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::{Role, Stretch, StretchOf};
    use narrows_model::probe::PathProbe;
    use narrows_model::study::StoredStudy;

    /// Datagrams of 200 B of which so many of 10,000 come.
    fn study(came: u64) -> StoredStudy {
        let mut study = stream("udp-stream");
        study.trials[0].params.rate_bps = Some(16_000_000);
        study.trials[0].params.message_bytes = Bytes(200);
        for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            let datagrams = if one.role == Role::Receiver { came } else { 10_000 };
            let flow = &mut one.report.flows[0];
            (flow.messages, flow.bytes) = (datagrams, Bytes(200 * datagrams));
            flow.stretch = Some(Stretch { of: StretchOf::SenderWindow, datagrams });
        }
        study
    }

    #[test]
    fn as_many_datagrams_of_another_size_are_a_limit_of_packets() {
        let of = |came: u64, size: u64, times: f64| {
            let mut study = study(came);
            with_beside(&mut study, |params| params.message_bytes = Bytes(size), times);
            of_study(&RULE, &study)
        };
        // Bytes that come of the other size, in those of the first.
        assert!(is_found(&of(2_000, 400, 2.0)));
        assert!(is_found(&of(2_000, 400, 1.8)));
        assert!(is_clear(&of(2_000, 400, 1.0)), "as many bytes");
        assert!(is_clear(&of(2_000, 400, 1.6)), "neither");
        assert!(is_found(&of(2_000, 100, 0.5)));
        let mut busy = study(2_000);
        with_beside(&mut busy, |params| params.message_bytes = Bytes(400), 1.6);
        for end in busy.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.threads[0].waited_ns = Some(narrows_model::Nanos(400_000_000));
        }
        assert!(is_unknown(&of_study(&RULE, &busy)), "threads waited for a CPU");
        assert!(is_unknown(&of(2_000, 240, 1.2)), "about the same size");
        assert!(is_unknown(&of(2_000, 2_000, 10.0)), "two packets for a datagram");
        assert!(is_unknown(&of_study(&RULE, &study(2_000))), "one size");
        assert!(is_idle(&of(9_950, 400, 2.0)), "next to nothing lost");
    }

    #[test]
    fn small_datagrams_are_as_large_as_their_frames() {
        assert_eq!([1, 18, 19, 200].map(frame_bytes), [64, 64, 65, 246]);
        let of = |size: u64| {
            let mut study = study(2_000);
            for trial in &mut study.trials {
                trial.params.message_bytes = Bytes(size);
            }
            for flow in study
                .records
                .iter_mut()
                .flat_map(|record| &mut record.reports)
                .map(|one| &mut one.report.flows[0])
            {
                flow.bytes = Bytes(size * flow.messages);
            }
            with_beside(&mut study, |params| params.message_bytes = Bytes(2 * size), 2.0);
            of_study(&RULE, &study)
        };
        assert!(is_unknown(&of(8)), "64 B either");
        assert!(is_unknown(&of(40)), "86 and 126 B");
        assert!(is_found(&of(100)), "146 and 246 B");
    }

    #[test]
    fn what_an_interface_drops_is_not_lost_on_the_way() {
        use narrows_stats::summarise;
        let of = |change: fn(&mut narrows_stats::Loss)| {
            let mut study = study(2_000);
            with_beside(&mut study, |params| params.message_bytes = Bytes(400), 2.0);
            let mut summaries = summarise(&study);
            for loss in summaries.iter_mut().filter_map(|summary| summary.loss.as_mut()) {
                loss.lost_unplaced_datagrams = 0;
                change(loss);
            }
            let places = summaries[0].loss.as_ref().map(|loss| loss.places());
            assert!(places.is_some_and(|all| all.iter().any(|(_, lost)| *lost > 0)));
            judge(&Case { study: &study, summaries: &summaries, predictions: &[] })
        };
        assert!(is_found(&of(|loss| loss.lost_on_path_datagrams = 24_000)));
        assert!(is_found(&of(|loss| loss.lost_unplaced_datagrams = 24_000)));
        assert!(is_idle(&of(|loss| loss.lost_at_receiver_interface_datagrams = 24_000)));
        assert!(is_idle(&of(|loss| loss.lost_at_sender_interface_datagrams = 24_000)));
        assert!(is_idle(&of(|loss| loss.lost_corrupted_datagrams = 24_000)));
    }

    #[test]
    fn as_many_segments_of_another_size_are_a_limit_of_packets() {
        let pair = |times: f64| {
            let mut study = stream("tcp-stream");
            for flow in study
                .records
                .iter_mut()
                .flat_map(|record| &mut record.reports)
                .flat_map(|one| &mut one.report.flows)
            {
                flow.bytes = Bytes(20_000_000);
            }
            let segments = |params: &mut Params| {
                params.socket = Some(SocketParams { mss_bytes: Some(500), ..Default::default() });
            };
            with_beside(&mut study, segments, times);
            for record in &mut study.records {
                let bytes = if record.trial.0 == "beside" { 488 } else { 1448 };
                for end in record.of_mut(Role::Sender) {
                    end.readings.put_words("tcp-info", "flow0.send_mss_bytes", bytes);
                    end.threads[0].system_ns = narrows_model::Nanos(10_000_000);
                }
            }
            study
        };
        let of = |times: f64, carried_mbps: u64| {
            let mut study = pair(times);
            let there = carries(carried_mbps);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        let found = of(488.0 / 1448.0, 230);
        assert!(format!("{found:?}").contains("about 13812 packets a second"), "{found:?}");
        assert!(is_clear(&of(0.9, 230)), "bytes");
        assert!(!is_found(&of(488.0 / 1448.0, 900)), "the path carries far more: an end");
        assert!(!is_found(&of(488.0 / 1448.0, 30)), "or less");
        let alone = |times: f64, ran_ms: u64, trip_ns: u64| {
            let mut study = pair(times);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 100_000);
            for at in ["", "lowest:", "highest:"] {
                read(&mut study, "tcp-info", &format!("flow0.{at}rtt_ns"), trip_ns);
            }
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.threads[0].system_ns = narrows_model::Nanos(1_000_000 * ran_ms);
                end.report.threads[0].user_ns = narrows_model::Nanos(0);
            }
            of_study(&RULE, &study)
        };
        let (alike, queued) = (488.0 / 1448.0, 6_000_000);
        assert!(is_found(&alone(alike, 10, queued)), "no trains, and idle ends");
        assert!(!is_found(&alone(alike, 600, queued)), "an end may be what packets cost");
        assert!(!is_found(&alone(alike, 10, 110_000)), "a window of so many segments");
        assert!(!is_found(&alone(0.9, 10, queued)), "bytes");
    }
}
