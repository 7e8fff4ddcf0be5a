//! `path-capacity-varies`: does what the path carries change while it is measured?
//!
//! Radio, an adaptive shaper, a bond that loses a link, an allowance that others change: a stream
//! that keeps a queue filled moves what the path carries at that moment. Its slices then stand at
//! one level for a while and at another afterwards. Congestion control that recovers from losses
//! climbs instead of standing, and its queue empties meanwhile.

use super::path_reordering;
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-capacity-varies",
    asks: "Does what the path carries change while it is measured?",
    of_host: false,
    judge,
};

/// Slices in a row that stand at one level.
const LEVEL_SLICES: usize = 3;
/// How far from the middle of the level each of them may be. Behind a token bucket slices of a
/// tenth of a second were within 0.06.
const LEVEL_WITHIN: f64 = 0.08;
/// Share of all slices that stand at some level: what climbs and falls stands rarely.
const STANDING_SHARE: f64 = 0.5;
/// Share of those that stand near the lowest or the highest level: what climbs stands in between.
const ENDS_SHARE: f64 = 0.5;
/// Levels that are further apart are two.
const APART: f64 = 1.4;
/// Each of the two stands for at least this share of what stands.
const EACH_SHARE: f64 = 0.12;
/// A shorter wait is one of wake-ups and interrupts.
const WAITED_MIN_NS: f64 = 200e3;
/// And must be of some weight beside the path itself.
const WAITED_SHARE_MIN: f64 = 0.2;

/// Share of the segments that come early, from which on the path reorders them.
const EARLY_MAX: f64 = 0.1;
/// TCP always has something under way.
const ENGAGED_MIN: f64 = 0.9;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpSlices, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

/// The lowest and the highest level, in bits a second of payload.
struct Levels {
    low: f64,
    high: f64,
    standing: f64,
    is_two: bool,
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let levels = levels(cell).ok_or_else(|| cell.lacks(Measure::Slices))?;
    let [low, high] = [levels.low, levels.high].map(|bps| cell.in_packets(bps) / 1e6);
    let seen = format!(
        "{:.0} % of the slices stand at a level for {LEVEL_SLICES} or more, the levels from \
         {low:.0} to {high:.0} Mb/s of packets; packets waited {:.2} ms at the least",
        100.0 * levels.standing,
        trips.waited_ns() / 1e6
    );
    let is_queued = trips.waited_ns() >= WAITED_MIN_NS.max(WAITED_SHARE_MIN * trips.shortest_ns);
    // A sender that waits for its CPU leaves the queue to empty.
    let is_engaged = cell.engaged_share().is_none_or(|share| share >= ENGAGED_MIN);
    // Packets that overtake each other take ways of different length, and TCP sends again in vain.
    let is_in_order = cell.losses().is_none_or(|losses| {
        losses.early <= EARLY_MAX.max(path_reordering::by_loss(cell, losses.lost))
    });
    let is_free = is_engaged && is_in_order && !cell.is_busy() && !cell.is_limited_by_buffers();
    let wrong = (levels.is_two && is_queued && is_free).then(|| {
        let by_trains = trains(cell);
        let says = format!(
            "The capacity of the path varies in {}: the stream stands at levels between {low:.0} \
             and {high:.0} Mb/s of packets, while its queue never empties{by_trains}",
            cell.trial.label
        );
        let remedy = "see what changes it: a radio link's rate, a shaper or an allowance that is \
                      adapted, a bond or route that changes (ip monitor), or other traffic that \
                      comes and goes; measure for longer than its changes last (-t), and judge by \
                      the slices and not by the mean";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// What trains at other times say of it.
fn trains(cell: &Cell<'_>) -> String {
    let levels = cell.levels();
    let low = levels.iter().copied().reduce(f64::min);
    let high = levels.iter().copied().reduce(f64::max);
    match low.zip(high) {
        Some((low, high)) if high >= APART * low => format!(
            "; packet trains came at {:.0} Mb/s at one time and at {:.0} Mb/s at another",
            low / 1e6,
            high / 1e6
        ),
        _ => String::new(),
    }
}

/// The levels at which the slices of all runs stand; `None` where no run has slices enough.
fn levels(cell: &Cell<'_>) -> Option<Levels> {
    let ends = cell.done.iter().filter_map(|record| record.receiver());
    let (mut all, mut standing) = (0, Vec::new());
    for rates in ends.map(rates).filter(|rates| rates.len() >= 2 * LEVEL_SLICES) {
        all += rates.len();
        standing.extend(stood(&rates));
    }
    standing.sort_by(f64::total_cmp);
    if all == 0 {
        return None;
    }
    let low = standing.first().copied().unwrap_or(0.0);
    let high = standing.last().copied().unwrap_or(0.0);
    let near = |level: f64| {
        let of = standing.iter().filter(|rate| **rate <= level * APART.sqrt());
        of.filter(|rate| **rate * APART.sqrt() >= level).count() as f64
    };
    let share = standing.len() as f64 / all as f64;
    let each = EACH_SHARE * standing.len() as f64;
    let is_two = low > 0.0
        && share >= STANDING_SHARE
        && high >= APART * low
        && near(low) >= each
        && near(high) >= each
        && near(low) + near(high) >= ENDS_SHARE * standing.len() as f64;
    Some(Levels { low, high, standing: share, is_two })
}

/// The rates of a run's slices, in bits a second; a short rest at the end is left out.
fn rates(end: &EndReport) -> Vec<f64> {
    let longest = end.intervals.iter().map(|slice| slice.length_ns.0).max().unwrap_or(0);
    let whole = end.intervals.iter().filter(|slice| 2 * slice.length_ns.0 >= longest);
    whole.map(|slice| 8e9 * slice.bytes.0 as f64 / slice.length_ns.0.max(1) as f64).collect()
}

/// The rates of the slices that stand at a level, that level for each.
fn stood(rates: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < rates.len() {
        let mut to = from + 1;
        while to < rates.len() && is_level(&rates[from..=to]) {
            to += 1;
        }
        let row = &rates[from..to];
        if row.len() >= LEVEL_SLICES {
            found.extend(std::iter::repeat_n(mean(row), row.len()));
        }
        // The first slice of a level is often that in which it changed.
        from = if row.len() >= LEVEL_SLICES { to } else { from + 1 };
    }
    found
}

fn is_level(rates: &[f64]) -> bool {
    let middle = mean(rates);
    middle > 0.0 && rates.iter().all(|rate| (rate - middle).abs() <= LEVEL_WITHIN * middle)
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn levels_behind_a_queue_are_found_and_a_sawtooth_is_not() {
        let of = |bytes: &[u64], least_us: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, bytes);
            for (key, value) in [
                ("rtt_min_ns", 10_000),
                ("rtt_ns", 20_000_000),
                ("lowest:rtt_ns", 1000 * least_us),
                ("send_mss_bytes", 1448),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        // As measured behind a token bucket that was switched between 100 and 20 Mb/s.
        let two = [94, 96, 96, 94, 96, 92, 20, 19, 19, 20, 19, 19, 19, 21, 81, 98, 95, 96, 95, 94];
        let found = of(&two, 3_000);
        assert!(is_found(&found), "{found:?}");
        assert!(is_clear(&of(&two, 12)), "no queue");
        let early = |share_percent: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, &two);
            for (key, value) in [
                ("rtt_min_ns", 10_000),
                ("rtt_ns", 20_000_000),
                ("lowest:rtt_ns", 3_000_000),
                ("send_mss_bytes", 1448),
                ("sent_segments", 100_000),
                ("retransmitted_segments", 0),
                ("received_data_segments", 100_000),
                ("received_out_of_order_segments", 1000 * share_percent),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
                read_receiver(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&early(1)));
        assert!(is_clear(&early(50)), "packets go by two ways");
        let mut idle = stream("tcp-stream");
        slices(&mut idle, &two);
        for (key, value) in [
            ("rtt_min_ns", 10_000),
            ("rtt_ns", 20_000_000),
            ("lowest:rtt_ns", 3_000_000),
            ("busy_ns", 500_000_000),
        ] {
            read(&mut idle, "tcp-info", &format!("flow0.{key}"), value);
        }
        assert!(is_clear(&of_study(&RULE, &idle)), "the sender wrote nothing for half of the time");
        assert!(is_clear(&of(&[95; 20], 3_000)), "one level");
        let climbs: Vec<u64> = (0..20).map(|n| 40 + 8 * (n % 8)).collect();
        assert!(is_clear(&of(&climbs, 3_000)), "a sawtooth");
        let once = [95, 96, 95, 94, 96, 95, 95, 94, 60, 96, 95, 94, 95, 96, 95, 95, 94, 96, 95, 96];
        assert!(is_clear(&of(&once, 3_000)), "one slice");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
