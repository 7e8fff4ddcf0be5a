//! `path-capacity`: does something between the ends carry less than both of them could?
//!
//! A shaper, a slower link or a cloud's allowance shows itself in three ways at once: the rate is
//! the same in every run and every slice of it, packets wait in a queue before it that never
//! empties (TCP's smoothed round trip stays far above the shortest that was seen), and nothing at
//! the ends is full: no CPU, no window, no buffer, and TCP always had something under way. A thread
//! that waits for its CPU makes round trips long too, and a steady rate; but then TCP has nothing
//! to send for most of the time. The rate is then its capacity, and rate x waiting time its queue.
//! A shaper on the sender's own interface is `nic-shaped`'s to name, and a link that is full is
//! what it should be. A stream that loses many of its segments with next to nothing in a queue goes
//! at the rate that its losses leave it, which may be as even: no link is full then.

use super::{acknowledgements_slow, own_queue, path_proxy, path_reordering};
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::probes::says_rate;
use crate::signals::{Rates, Trips};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-capacity",
    asks: "Does something between the ends carry less than both of them could?",
    of_host: false,
    judge,
};

/// Runs of one shaped path differ by less. Token buckets of 100 to 400 Mb/s between namespaces gave
/// 0.00 to 0.06, one with a queue of ten packets 0.15; loss gave 0.2 and more.
const SPREAD_MAX: f64 = 0.25;
/// So many segments come early where packets take turns on two ways, and so many are sent again.
const EARLY_MUCH: f64 = 0.1;
const AGAIN_MUCH: f64 = 0.02;
/// And so close are those of a link whose slices are too short to tell.
const SAME_SPREAD: f64 = 0.05;
/// The same of the slices of a run: 0.01 to 0.11 there, 0.4 and more under loss.
const UNSTEADY_MAX: f64 = 0.25;
/// A shorter queue is one of wake-ups and interrupts: 20 to 100 us without a shaper, 800 and more
/// with one.
const WAITED_MIN_NS: f64 = 300e3;
/// And the wait must be of some weight beside the path itself.
const WAITED_SHARE_MIN: f64 = 0.2;
/// Before a shaper TCP has something under way all the time (0.96 to 1.00 were counted); senders
/// that cut their segments themselves left it idle for 0.2 to 0.8 of the time.
const ENGAGED_MIN: f64 = 0.9;
/// A stream that reaches so much of what a probe's trains tell is held by that: before a queue of
/// ten packets cubic keeps 0.80 to 0.83 of 20 Mb/s over 30 ms.
const REACHED_SHARE: f64 = 0.75;
/// What trains tell may be so much below a stream's rate: they carry no acknowledgements.
const PASSED_SHARE: f64 = 1.1;
/// A stream that has less of what trains come at is not what the link allows.
const FAR_SHARE: f64 = 0.6;
/// From here on a link is full: headers, and a little that is not used.
const LINK_SHARE: f64 = 0.9;

/// From this share of segments lost on, losses may be what makes a rate.
const LOST_SHARE: f64 = 0.05;
/// Packets of a queue below which it is empty between the segments of one flow.
const QUEUE_MIN_PACKETS: f64 = 4.0;
/// Packets that wait for longer are worth a shorter queue: what manages queues lets them wait for
/// 5 ms (RFC 8290).
const LONG_QUEUE_NS: f64 = 20e6;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCountersOfSender, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let rates = cell.usual_rates().ok_or_else(|| cell.lacks(Measure::Rate))?;
    let waited_ns = trips.waited_ns();
    // Short windows have no slices; trains need none.
    let unsteady = cell.unsteadiness();
    let seen = says_steadiness(rates.spread(), unsteady, &trips);
    let engaged = cell.engaged_share().is_none_or(|share| share >= ENGAGED_MIN);
    // A window that a queue fills is no limit: a larger one only makes the queue longer.
    let is_bounded = cell.is_limited_by_buffers() && !trips.are_of_a_queue();
    let free = engaged && !cell.is_busy() && !is_bounded;
    // Trains that come no faster than the stream say that it is the path, though a thread that had
    // little to do waited for others each time.
    let is_paths = engaged && !cell.is_full() && !is_bounded;
    let capacity_bps = cell.in_packets(rates.middle);
    let is_elsewhere = is_own(cell, capacity_bps) || acknowledgements_slow::is_way_back(cell);
    if let Some(carried) = cell.carried().filter(|_| is_paths && !is_elsewhere)
        && (REACHED_SHARE * carried.low..=PASSED_SHARE * carried.high).contains(&capacity_bps)
    {
        let share = 100.0 * capacity_bps / carried.middle;
        let says = format!(
            "Something between the ends carries {} and no more, and {} reaches {share:.0} % of \
             that: a shaper or a slower link",
            says_rate(&carried),
            cell.trial.label
        );
        let seen = format!("{seen}; packet trains come at {}", says_rate(&carried));
        return cell.saw(
            seen.clone(),
            Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy(&trips))),
        );
    }
    let unsteady = unsteady.ok_or_else(|| cell.lacks(Measure::Slices))?;
    let queued = waited_ns >= WAITED_MIN_NS.max(WAITED_SHARE_MIN * trips.shortest_ns);
    let is_even = unsteady <= UNSTEADY_MAX || is_coarse_and_queued(cell, &trips, &rates);
    let is_steady = rates.spread() <= SPREAD_MAX && is_even;
    if let Some(packets) = cell.packets_a_second().filter(|_| free && is_steady && !is_elsewhere) {
        let says = format!(
            "Something between the ends carries about {packets:.0} packets a second and no more in \
             {}, whatever their size: trains of full ones come at that pace too",
            cell.trial.label
        );
        return cell
            .saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, FULLER)));
    }
    // What trains pass, this path carries: that the stream has far less is no slower link's doing.
    let is_more = cell.carried().is_some_and(|all| capacity_bps < FAR_SHARE * all.low);
    let wait_ns = (trips.middle_ns - trips.shortest_ns).max(waited_ns);
    let queue_bytes = capacity_bps / 8.0 * wait_ns / 1e9;
    let is_other = is_elsewhere || is_more || is_no_capacitys(cell, queue_bytes);
    if !(queued && is_steady && free) || is_other {
        return cell.saw(seen, None);
    }
    let says = format!(
        "Something between the ends carries {} and no more in {}: a shaper or a slower link, with \
         a queue of about {:.0} KiB in which packets wait {:.1} ms",
        range(cell, rates.low, rates.high, capacity_bps),
        cell.trial.label,
        queue_bytes / 1024.0,
        wait_ns / 1e6
    );
    let remedy = remedy(&trips);
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy)))
}

/// Whether an even rate is what losses, the order of packets or a proxy leave.
fn is_no_capacitys(cell: &Cell<'_>, queue_bytes: f64) -> bool {
    is_of_losses(cell, queue_bytes) || is_of_order(cell) || path_proxy::holds(cell)
}

/// Whether so many segments come early, and next to none is missing, that TCP slows down for those
/// which it takes for lost: the wait is that of the longer way.
fn is_of_order(cell: &Cell<'_>) -> bool {
    let losses = cell.losses();
    let is_much = losses.is_some_and(|of| of.early >= EARLY_MUCH && of.again >= AGAIN_MUCH);
    is_much && path_reordering::is_found(cell)
}

/// Whether slices are too short to tell how steady a rate is, and packets wait for it. Slices in
/// which less than a message comes say when messages end, and not how fast they come.
fn is_coarse_and_queued(cell: &Cell<'_>, trips: &Trips, rates: &Rates) -> bool {
    let is_coarse = slice_bytes(cell).is_some_and(|bytes| bytes < message_bytes(cell));
    // Of a slow link one packet is a wait, whatever a round trip takes.
    let packet = cell.in_packets(cell.segment_bytes().unwrap_or(1448.0));
    let is_packet = cell.in_packets(rates.middle) / 8.0 * trips.waited_ns() / 1e9 >= packet;
    let is_one_rate = is_packet && rates.spread() <= SAME_SPREAD;
    is_coarse && (trips.are_of_a_queue() || is_one_rate)
}

/// Whether a stream loses so much, with so little of it in a queue, that the losses make its rate.
fn is_of_losses(cell: &Cell<'_>, queue_bytes: f64) -> bool {
    let packet = cell.in_packets(cell.segment_bytes().unwrap_or(1448.0));
    let is_empty = queue_bytes < QUEUE_MIN_PACKETS * packet;
    is_empty && cell.losses().is_some_and(|losses| losses.lost >= LOST_SHARE)
}

/// How far the runs and their slices are apart, as shares, and the round trips.
fn says_steadiness(spread: f64, unsteady: Option<f64>, trips: &Trips) -> String {
    let slices =
        unsteady.map_or(String::new(), |by| format!(", slices within {:.0} %", 100.0 * by));
    format!(
        "runs within {:.0} % of each other{slices}; round trips of {:.2} ms at the least, {:.2} ms \
         without load",
        100.0 * spread,
        trips.least_ns / 1e6,
        trips.shortest_ns / 1e6
    )
}

const REMEDY: &str = "raise what limits it (tc -s qdisc on hosts and routers between, the rate \
                      that a provider allows), or take it as the path's capacity";

/// A queue that is not long needs no advice to shorten it.
fn remedy(trips: &Trips) -> String {
    let is_long = trips.middle_ns - trips.shortest_ns >= LONG_QUEUE_NS;
    let shorter = "; a shorter queue there (fq_codel) spares other traffic the wait";
    format!("{REMEDY}{}", if is_long { shorter } else { "" })
}

const FULLER: &str = "send fuller packets: see what keeps segments small (ip route show: mtu, \
                      advmss; a firewall that clamps the MSS), or raise what limits packets a \
                      second (a router, a firewall's limit, a cloud's allowance)";

/// Bytes of a slice, at the rate of the median run.
fn slice_bytes(cell: &Cell<'_>) -> Option<f64> {
    cell.of_receiver(|end| {
        let bytes: u64 = end.intervals.iter().map(|slice| slice.bytes.0).sum();
        (!end.intervals.is_empty()).then(|| bytes as f64 / end.intervals.len() as f64)
    })
}

fn message_bytes(cell: &Cell<'_>) -> f64 {
    cell.trial.params.message_bytes.0 as f64
}

/// Megabits a second in words, with the digits that count.
fn mbps(bps: f64) -> String {
    let mbps = bps / 1e6;
    if mbps < 10.0 { format!("{mbps:.2}") } else { format!("{mbps:.0}") }
}

/// The capacity in words, with the range of the runs where there is one.
fn range(cell: &Cell<'_>, low: f64, high: f64, capacity_bps: f64) -> String {
    let [low, high, all] = [cell.in_packets(low), cell.in_packets(high), capacity_bps].map(mbps);
    if low == high {
        format!("{all} Mb/s of packets")
    } else {
        format!("{all} Mb/s of packets ({low} to {high})")
    }
}

/// Whether the limit is an end's own: its link is full, or its interface is shaped.
pub fn is_own(cell: &Cell<'_>, capacity_bps: f64) -> bool {
    let ends = [cell.sender(), cell.receiver()];
    let nics = ends.iter().flatten().filter_map(|end| end.nic());
    let links = nics.filter(|nic| nic.physical).filter_map(|nic| nic.speed_bps.value());
    let is_full = links.map(|speed| speed.0).any(|speed| capacity_bps >= LINK_SHARE * speed);
    let qdisc = cell.sender().and_then(|end| end.nic()?.qdisc.value().cloned());
    let is_shaped = qdisc.is_some_and(|qdisc| super::nic_shaped::is_shaper(&qdisc));
    is_full || (is_shaped && !own_queue::is_lost_beyond(cell) && !own_queue::is_mostly_empty(cell))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// Ten slices, each with a tenth of what was received, more or less by so much.
    fn study(unsteady: u64, least_us: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        let each = |n: u64| {
            if n.is_multiple_of(2) { 125_000_000 + unsteady } else { 125_000_000 - unsteady }
        };
        slices(&mut study, &(0..10).map(each).collect::<Vec<u64>>());
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", 20_000);
        read(&mut study, "tcp-info", "flow0.rtt_ns", 1_000 * least_us + 500);
        read(&mut study, "tcp-info", "flow0.lowest:rtt_ns", 1_000 * least_us);
        read(&mut study, "tcp-info", "flow0.highest:rtt_ns", 1_000 * least_us + 900);
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        study
    }

    #[test]
    fn a_constant_rate_with_a_queue_is_a_capacity() {
        let verdict = of_study(&RULE, &study(3_000_000, 20_000));
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        // 10 Gb/s of payload are 10.36 of packets; 20 ms of those are 25 MiB.
        assert!(findings[0].says.contains("10359 Mb/s"), "{}", findings[0].says);
        assert!(findings[0].says.contains("wait 20.0 ms"), "{}", findings[0].says);
        assert!(is_clear(&of_study(&RULE, &study(60_000_000, 20_000))), "unsteady");
        assert!(is_clear(&of_study(&RULE, &study(3_000_000, 90))), "no queue");
        let bounded = |least_us: u64| {
            let mut bounded = study(3_000_000, least_us);
            read(&mut bounded, "tcp-info", "flow0.limited_by_receive_window_ns", 950_000_000);
            of_study(&RULE, &bounded)
        };
        assert!(is_found(&bounded(20_000)), "a window that stands in the queue");
        assert!(is_clear(&bounded(1_000)), "a window that may be the limit");
        let mut idle = study(3_000_000, 20_000);
        read(&mut idle, "tcp-info", "flow0.busy_ns", 200_000_000);
        assert!(is_clear(&of_study(&RULE, &idle)), "a sender that is slow itself");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn an_even_rate_at_which_a_proxy_takes_data_is_no_capacity() {
        // The window that the receiver offers; the sender is offered 64 KiB, and waits for it.
        let of = |offered: u64| {
            let mut study = study(3_000_000, 20_000);
            read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 950_000_000);
            read(&mut study, "tcp-info", "flow0.highest:send_window_bytes", 65_536);
            read_receiver(&mut study, "tcp-info", "flow0.receive_window_bytes", offered);
            for record in &mut study.records {
                // Its own connection to the receiver comes from another port.
                let ports = narrows_model::load::FlowPorts { own: 40_000, peer: 7500 };
                record.of_mut(Role::Sender).for_each(|end| end.ports = vec![ports]);
                let ports = narrows_model::load::FlowPorts { own: 7500, peer: 51_000 };
                record.of_mut(Role::Receiver).for_each(|end| end.ports = vec![ports]);
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(1 << 20)), "two connections");
        assert!(is_found(&of(65_536)), "an address translated, and one connection");
    }

    #[test]
    fn an_even_rate_that_losses_make_is_no_capacity() {
        // 2 Mb/s of payload in round trips of 9 ms: a packet and a half.
        let of = |lost: u64, least_us: u64| {
            let mut study = study(0, least_us);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 250_000;
            }
            slices(&mut study, &[25_000; 10]);
            study.trials[0].params.message_bytes = narrows_model::Bytes(1_000);
            read(&mut study, "tcp-info", "flow0.sent_segments", 1_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", lost);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(200, 9_000)), "a fifth lost");
        let few = format!("{:?}", of(10, 9_000));
        assert!(few.contains("carries 2.07 Mb/s") && !few.contains("shorter queue"), "{few}");
        let long = format!("{:?}", of(200, 90_000));
        assert!(long.contains("carries 2.07 Mb/s") && long.contains("a shorter queue"), "{long}");
    }

    #[test]
    fn one_run_of_six_that_went_wrong_hides_no_capacity() {
        let of = |runs: &[u64]| {
            let mut study = study(3_000_000, 20_000);
            let first = study.records[0].clone();
            study.records.clear();
            for (repeat, mbps) in (0..).zip(runs) {
                let mut record = narrows_model::record::Record { repeat, ..first.clone() };
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = mbps * 125_000;
                }
                study.records.push(record);
            }
            of_study(&RULE, &study)
        };
        let found = format!("{:?}", of(&[297, 280, 71, 283, 282, 285]));
        assert!(found.contains("carries 293 Mb/s of packets (290 to 308)"), "{found}");
        assert!(is_clear(&of(&[297, 280, 71, 90, 282, 285])), "two of six");
        assert!(is_clear(&of(&[297, 280, 71, 283, 282])), "one of five");
    }

    #[test]
    fn a_longer_way_that_every_second_packet_takes_is_no_queue() {
        let of = |early: u64, again: u64| {
            let mut study = study(3_000_000, 20_000);
            for (key, value) in [
                ("sent_segments", 10_000),
                ("retransmitted_segments", again),
                ("duplicates_reported_segments", again),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", early);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(0, 0)), "a queue");
        assert!(is_clear(&of(4_500, 500)), "two ways");
        assert!(is_found(&of(4_500, 0)), "early ones that cost nothing");
    }

    #[test]
    fn slices_of_less_than_a_message_do_not_tell_how_steady_a_rate_is() {
        // 0.26 Mb/s of payload: in most slices no message of 64 KiB ends.
        let of = |runs: [u64; 3], least_us: u64| {
            let mut study = study(0, least_us);
            slices(&mut study, &[0, 0, 0, 32_000, 0, 0, 0, 0, 0, 0]);
            for (record, bytes) in study.records.iter_mut().zip(runs) {
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = bytes;
                }
            }
            of_study(&RULE, &study)
        };
        let slow = format!("{:?}", of([32_000, 32_100, 31_900], 600_000));
        assert!(slow.contains("carries 0.27 Mb/s of packets (0.26 to 0.27)"), "{slow}");
        // Round trips of 100 ms without load, and of twice that: one packet takes 45 ms.
        let released = |runs: [u64; 3]| {
            let mut study = study(0, 200_000);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 100_000_000);
            slices(&mut study, &[0, 0, 0, 32_000, 0, 0, 0, 0, 0, 0]);
            for (record, bytes) in study.records.iter_mut().zip(runs) {
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = bytes;
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&released([32_000, 32_100, 31_900])));
        assert!(is_clear(&released([32_000, 36_000, 29_000])), "runs differ a little");
        assert!(is_clear(&of([32_000, 62_100, 21_900], 600_000)), "runs differ");
        assert!(is_clear(&of([32_000, 32_100, 31_900], 900)), "no queue that explains it");
    }

    #[test]
    fn a_stream_at_the_rate_of_a_probes_trains_is_held_by_the_path() {
        use crate::probes::testing::{carries, with_probes};
        use narrows_model::probe::PathProbe;
        // Unsteady, as where a queue overflows, and with no wait worth the name.
        let of = |mbps: u64| {
            let mut study = study(60_000_000, 90);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 125_000_000;
            }
            let there = carries(mbps);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        let verdict = of(1_100);
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        assert!(findings[0].says.contains("reaches 94 % of that"), "{}", findings[0].says);
        assert!(is_clear(&of(2_000)), "half of what the path carries");
        let starved = |ran_ms: u64, waited_ms: u64| {
            let mut study = study(60_000_000, 90);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 125_000_000;
                end.threads[0].system_ns.0 = 1_000_000 * ran_ms;
                end.threads[0].waited_ns = Some(narrows_model::Nanos(1_000_000 * waited_ms));
            }
            with_probes(&mut study, &[PathProbe { there: carries(1_100), ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&starved(100, 780)), "a thread that others put aside each time");
        assert!(is_clear(&starved(950, 0)), "a thread that is full");
        assert!(is_clear(&of(500)), "twice what its trains tell");
        let short = |mbps: u64| {
            let mut study = study(60_000_000, 90);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = 125_000_000;
                end.intervals.clear();
            }
            with_probes(&mut study, &[PathProbe { there: carries(mbps), ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&short(1_100)), "a window too short for slices");
        assert!(is_unknown(&short(2_000)), "of which trains do not decide");
    }

    #[test]
    fn a_limit_on_packets_is_told_from_one_on_bytes() {
        use crate::probes::testing::{carries, with_probes};
        use narrows_model::Bytes;
        use narrows_model::probe::PathProbe;
        let of = |segment: u64, mbps: u64| {
            let mut study = study(3_000_000, 20_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", segment);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes = Bytes(mbps * 125_000);
            }
            // 4,000 packets of 1,500 B a second.
            let there = carries(48);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        let verdict = of(524, 17);
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        assert!(findings[0].says.contains("packets a second"), "{}", findings[0].says);
        assert!(findings[0].remedy.contains("fuller packets"), "{}", findings[0].remedy);
        assert!(is_clear(&of(524, 8)), "half of the packets");
        assert!(is_clear(&of(1448, 17)), "full packets, of which trains pass three times as many");
    }

    #[test]
    fn a_full_link_a_shaper_of_ones_own_and_a_full_window_are_other_things() {
        let with = |nic: Nic| {
            let mut study = study(3_000_000, 20_000);
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.effective.interface = Some("e0".into());
                }
            }
            study.host = Host { nics: vec![Nic { name: "e0".into(), ..nic }], ..Host::default() };
            of_study(&RULE, &study)
        };
        let link = |speed: f64| {
            let speed_bps = known(BitsPerSecond(speed));
            with(Nic { physical: true, speed_bps, ..Nic::default() })
        };
        assert!(is_clear(&link(10e9)));
        assert!(is_found(&link(25e9)));
        assert!(is_clear(&with(Nic { qdisc: known("tbf".into()), ..Nic::default() })));
        // Of a window that is not in a queue for the most part.
        let mut limited = study(3_000_000, 1_000);
        read(&mut limited, "tcp-info", "flow0.limited_by_receive_window_ns", 900_000_000);
        assert!(is_clear(&of_study(&RULE, &limited)));
    }
}
