//! `path-shared`: does other traffic take a part of the path?
//!
//! A queue that never empties is before a link that is always busy. Where the stream moves far less
//! than that link carries, by packet trains, the rest is others': they fill the queue, each
//! flow gets about the share that it has of what waits in it, and that changes all the time. Behind
//! a shaper that is the stream's alone the two are the same.

use super::{acknowledgements_slow, path_outages};
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::probes::says_rate;
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::{Capacity, capacity};

/// Whether other traffic takes a part of the path.
pub static RULE: Rule =
    Rule { name: "path-shared", asks: "Does other traffic share the path?", of_host: false, judge };

/// Of what packet trains tell; a stream by itself reaches more behind a queue that is full.
const REACHED_SHARE: f64 = 0.7;
/// The same where trains below the path's rate show that others take a part.
const REACHED_BESIDE: f64 = 0.9;
/// A shorter wait is one of wake-ups and interrupts.
const WAITED_MIN_NS: f64 = 1e6;
/// And of some weight beside the path itself.
const WAITED_SHARE: f64 = 0.2;
/// A limit on this stream alone holds it at one rate.
const UNSTEADY_MIN: f64 = 0.25;
/// An acknowledgement for every second segment takes a fiftieth of what the data does.
const BACK_SHARE: f64 = 0.05;
/// TCP always has something under way.
const ENGAGED_MIN: f64 = 0.8;

/// Trains that were sent so far below the path's rate come as they were sent, where nobody else
/// uses it.
const SENT_MOST: f64 = 0.9;
/// Of the rate at which they were sent so much comes at the most where others take a part.
const LEFT_SHARE: f64 = 0.9;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::StreamBesideProbe, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    if cell.is_nearly_silent() {
        return Err(cell.lacks(Measure::TcpSegments));
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let rates = cell.rates().ok_or_else(|| cell.lacks(Measure::Rate))?;
    let carried = cell.carried().ok_or_else(|| cell.lacks(Measure::PathCapacity))?;
    let base_ns = cell.shortest_ns().unwrap_or(trips.shortest_ns);
    let (bps, waited_ns) = (cell.in_packets(rates.middle), trips.least_ns - base_ns);
    let share = bps / carried.low.max(1.0);
    let seen = format!(
        "{:.0} Mb/s of packets, runs within {:.0} % of each other, where trains come at {}; round \
         trips of {:.1} ms at the least, {:.1} ms at another time",
        bps / 1e6,
        100.0 * rates.spread(),
        says_rate(&carried),
        trips.least_ns / 1e6,
        base_ns / 1e6
    );
    let is_queued = waited_ns >= WAITED_MIN_NS.max(WAITED_SHARE * base_ns);
    let is_unsteady = rates.spread() >= UNSTEADY_MIN
        || cell.unsteadiness().is_some_and(|spread| spread >= UNSTEADY_MIN);
    let is_free = cell.engaged_share().is_some_and(|share| share >= ENGAGED_MIN)
        && !cell.is_busy()
        && !cell.is_limited_by_buffers();
    let is_back_free = back_bps(cell).is_some_and(|bps| bps >= BACK_SHARE * carried.middle);
    // Others that send at one rate leave a steady rest; trains below the capacity lose as much.
    let taken = cell.taken().filter(|taken| {
        taken.sent <= SENT_MOST * taken.carried && taken.came <= LEFT_SHARE * taken.sent
    });
    let is_shared = is_queued
        && (is_unsteady || taken.is_some())
        && is_free
        && share <= taken.as_ref().map_or(REACHED_SHARE, |_| REACHED_BESIDE)
        && is_back_free;
    // A path that stands still at times fills its queue as well, and is nobody else's.
    let is_other = acknowledgements_slow::is_way_back(cell) || path_outages::is_found(cell);
    let wrong = (is_shared && !is_other).then(|| {
        let says = format!(
            "Other traffic takes a part of the path in {}: its queue never empties, packets wait \
             {:.0} ms in it or more, and the stream has {:.0} % of the {} that it carries{}",
            cell.trial.label,
            waited_ns / 1e6,
            100.0 * share,
            says_rate(&carried),
            taken.map_or(String::new(), |taken| format!(
                "; trains of {:.0} Mb/s come at {:.0} Mb/s, so that others send about {:.0} Mb/s",
                taken.sent / 1e6,
                taken.came / 1e6,
                taken.others / 1e6
            ))
        );
        let remedy = "see what else uses the path (the routers' counters by flow, other hosts' \
                      backups and downloads) and stop or limit it, measure at another time, or \
                      give the flows fair shares there (fq_codel, cake); several flows (-P) get a \
                      larger share";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// What the way back carries at the least, by packet trains: acknowledgements that wait there
/// look like data that waits.
fn back_bps(cell: &Cell<'_>) -> Option<f64> {
    let is_back = cell.trial.params.is_reverse();
    let ways = cell.probes().map(|probe| if is_back { &probe.there } else { &probe.back });
    ways.filter_map(|way| match capacity(way)? {
        Capacity::Between { low_bps, .. } => Some(low_bps),
        Capacity::AtLeast { bps } => Some(bps),
    })
    .reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::probes::testing::{carries, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::probe::PathProbe;
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn a_full_queue_before_a_link_that_the_stream_does_not_fill_is_shared() {
        let with =
            |segments: u64, mbps: [u64; 3], least_ms: u64, carried: Option<u64>, back: u64| {
                let mut study = stream("tcp-stream");
                slices(&mut study, &[125_000_000; 10]);
                for (record, mbps) in study.records.iter_mut().zip(mbps) {
                    let end = record.of_mut(Role::Receiver).next().expect("an end");
                    end.flows[0].bytes = Bytes(mbps * 125_000);
                    end.window_ns = Nanos(1_000_000_000);
                }
                for (key, value) in [
                    ("rtt_min_ns", 20_000_000),
                    ("rtt_ns", least_ms * 1_000_000),
                    ("lowest:rtt_ns", least_ms * 1_000_000),
                    ("send_mss_bytes", 1448),
                    ("busy_ns", 1_000_000_000),
                    ("sent_segments", segments),
                    ("retransmitted_segments", 20),
                    ("limited_by_receive_window_ns", 0),
                ] {
                    read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
                }
                if let Some(mbps) = carried {
                    let way = carries(mbps);
                    let back = carries(back);
                    let probe = PathProbe { there: way, back, ..PathProbe::default() };
                    with_probes(&mut study, &[probe]);
                }
                of_study(&RULE, &study)
            };
        let behind = |mbps, least_ms, carried, back| with(10_000, mbps, least_ms, carried, back);
        let silent = with(8, [8, 12, 20], 120, Some(50), 50);
        assert!(is_unknown(&silent), "round trips of handshakes");
        let beside = |came_mbps: f64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, &[5_000_000; 10]);
            for record in &mut study.records {
                let end = record.of_mut(Role::Receiver).next().expect("an end");
                (end.flows[0].bytes, end.window_ns) = (Bytes(5_000_000), Nanos(1_000_000_000));
            }
            for (key, value) in [
                ("rtt_min_ns", 20_000),
                ("rtt_ns", 30_000_000),
                ("lowest:rtt_ns", 20_000_000),
                ("send_mss_bytes", 1448),
                ("busy_ns", 1_000_000_000),
                ("limited_by_receive_window_ns", 0),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            let below = vec![crate::volleys::testing::at(70.0, came_mbps, 100); 6];
            let there = narrows_model::probe::WayProbe { below, ..carries(100) };
            let probe = PathProbe { there, back: carries(100), ..PathProbe::default() };
            with_probes(&mut study, &[probe]);
            of_study(&RULE, &study)
        };
        let steady = beside(54.0);
        assert!(format!("{steady:?}").contains("others send about 60 Mb/s"), "{steady:?}");
        assert!(is_clear(&beside(70.0)), "a limit on the stream alone");
        let of = |mbps, least_ms, carried| behind(mbps, least_ms, carried, 50);
        assert!(is_clear(&behind([8, 12, 20], 120, Some(50), 1)), "the way back is slow");
        let shared = of([8, 12, 20], 120, Some(50));
        assert!(is_found(&shared), "{shared:?}");
        assert!(is_clear(&of([8, 12, 20], 20, Some(50))), "no queue");
        assert!(is_clear(&of([12, 12, 12], 120, Some(50))), "held at one rate");
        assert!(is_clear(&of([43, 48, 58], 120, Some(50))), "the link is the stream's");
        assert!(is_unknown(&of([8, 12, 20], 120, None)));
    }
}
