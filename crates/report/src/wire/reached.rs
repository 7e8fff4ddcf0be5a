//! What was measured in packets of a size: the highest rate without loss, else what arrived.

use super::{Frame, Range};
use crate::Analysis;
use narrows_model::host::Nic;
use narrows_model::options::packets;
use narrows_model::result::Estimate;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_stats::{Direction, SearchEnd, Searched, Summary, others};

/// A rate in packets that was measured.
#[derive(Clone, Debug)]
pub struct Reached {
    pub mpps: Range,
    /// Whether more was not asked for, or not made by the sender.
    pub is_at_least: bool,
    /// Whether a search found it, and nothing was lost.
    pub is_zero_loss: bool,
    /// Whether it went through a NIC to another machine.
    pub through_nic: bool,
    /// Whether packets went the other way at once, and the rate is that of the slower direction.
    pub is_both_ways: bool,
    pub says: String,
}

/// The figure that says most: through the NIC before inside the host, one way before both at once,
/// without loss before what arrived, the higher one before the lower.
pub(super) fn best(analysis: &Analysis<'_>, frame: Frame, nic: Option<&Nic>) -> Option<Reached> {
    let all = searched(analysis, frame, nic).into_iter().chain(arrived(analysis, frame, nic));
    let rank =
        |one: &Reached| (one.through_nic, !one.is_both_ways, one.is_zero_loss, one.mpps.value);
    all.reduce(|best, one| if rank(&one) > rank(&best) { one } else { best })
}

fn searched(analysis: &Analysis<'_>, frame: Frame, nic: Option<&Nic>) -> Vec<Reached> {
    let search = analysis.stored.study.search.as_ref().filter(|search| !search.is_of_bursts());
    let Some(search) = search else { return Vec::new() };
    let found = analysis.searches.iter().filter_map(|searched| {
        let is_of = |trial: &&Trial| {
            let names = others(trial).iter().map(|level| level.level.clone()).collect::<Vec<_>>();
            search.has(&trial.levels) && names.join(", ") == searched.of
        };
        let at = analysis.stored.trials.iter().position(|trial| is_of(&trial))?;
        let trial = &analysis.stored.trials[at];
        let one_way = Frame::of(trial) == frame && !trial.params.is_bidirectional();
        let ran = || analysis.stored.trials.iter().zip(&analysis.summaries);
        let summary = ran().find(|(trial, summary)| is_of(trial) && summary.done > 0)?.1;
        one_way.then(|| of_search(searched, place(trial, summary, nic))).flatten()
    });
    found.collect()
}

fn of_search(searched: &Searched, (through_nic, place): (bool, &str)) -> Option<Reached> {
    let is_over = searched.end != SearchEnd::Unfinished;
    let passes = searched.passes.filter(|_| is_over)? as f64 / 1e6;
    let loses = searched.loses.map(|rate| rate as f64 / 1e6);
    let lost = match searched.loss_percent {
        0.0 => "zero loss".to_owned(),
        share => format!("loss of up to {share} %"),
    };
    Some(Reached {
        mpps: Range { value: passes, low: passes, high: loses.unwrap_or(passes) },
        is_at_least: searched.end != SearchEnd::Found || loses.is_none(),
        is_zero_loss: searched.loss_percent == 0.0,
        through_nic,
        is_both_ways: false,
        says: format!("{lost}, {place}, {} runs", searched.runs),
    })
}

fn arrived<'a>(
    analysis: &'a Analysis<'_>,
    frame: Frame,
    nic: Option<&'a Nic>,
) -> impl Iterator<Item = Reached> + 'a {
    let all = analysis.stored.trials.iter().zip(&analysis.summaries);
    all.filter_map(move |(trial, summary)| {
        let search = analysis.stored.study.search.as_ref();
        let is_searched = search.is_some_and(|search| search.has(&trial.levels));
        let is_packets = trial.kind == Workload::Packets;
        // Bursts rest between each other: their mean is no rate of the server.
        let is_in_bursts = packets::BURST.of(&trial.params).is_some();
        if !is_packets || is_searched || is_in_bursts || Frame::of(trial) != frame {
            return None;
        }
        let (through_nic, place) = place(trial, summary, nic);
        if trial.params.is_bidirectional() {
            return both_ways(&summary.directions, summary.done, (through_nic, place));
        }
        let estimate = summary.estimate?;
        let lost = summary.loss.as_ref().map(|loss| loss.lost_datagrams);
        Some(Reached {
            mpps: range(&estimate),
            // Of a rate that was asked for and of which some was lost, no more would have come.
            is_at_least: trial.params.rate_bps.is_some() && lost == Some(0),
            is_zero_loss: false,
            through_nic,
            is_both_ways: false,
            says: format!("arrived, {place}, {} runs", summary.done),
        })
    })
}

/// What arrived where packets went both ways at once: of the slower direction, both said.
fn both_ways(
    directions: &[Direction],
    runs: u32,
    (through_nic, place): (bool, &str),
) -> Option<Reached> {
    let [there, back] = directions else { return None };
    let (there, back) = (range(there.estimate.as_ref()?), range(back.estimate.as_ref()?));
    Some(Reached {
        mpps: if back.value < there.value { back } else { there },
        is_at_least: false,
        is_zero_loss: false,
        through_nic,
        is_both_ways: true,
        says: format!(
            "arrived there {:.2} and back {:.2} M/s at once, {place}, {runs} runs",
            there.value, back.value
        ),
    })
}

/// An estimate in millions a second.
fn range(of: &Estimate) -> Range {
    let mpps = |rate: f64| rate / 1e6;
    Range { value: mpps(of.value), low: mpps(of.low), high: mpps(of.high) }
}

/// Whether a trial's packets crossed a NIC, and where they went.
fn place(trial: &Trial, summary: &Summary, nic: Option<&Nic>) -> (bool, &'static str) {
    match trial.path {
        NetworkPath::Peer if summary.one_machine => (false, "inside the host"),
        NetworkPath::Peer if nic.is_some_and(|nic| nic.physical) => (true, "through the NIC"),
        NetworkPath::Peer => (false, "through an interface without a device"),
        NetworkPath::Cable if nic.is_some_and(|nic| nic.physical) => (true, "from port to port"),
        NetworkPath::Cable => (false, "between ports without a device"),
        NetworkPath::Namespaces => (false, "between namespaces"),
        _ => (false, "inside the host"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::result::Method;
    use narrows_model::units::Unit;

    fn way(value: f64) -> Direction {
        let (low, high, by) = (0.9 * value, 1.1 * value, Method::Range);
        let unit = Unit::PacketsPerSecond;
        let estimate = Some(Estimate { value, low, high, unit, n: 3, by });
        Direction { estimate, ..Direction::default() }
    }

    #[test]
    fn a_search_tells_the_rate_that_passed_unless_it_was_broken_off() {
        let searched = |end, passes, loses, loss_percent| Searched {
            of: String::new(),
            back_to_back: false,
            throughput_packets_per_second: None,
            frame_bytes: 64,
            end,
            passes,
            loses,
            confidence_percent: 95.0,
            loss_percent,
            runs: 17,
            curve: Vec::new(),
        };
        let (low, high) = (Some(2_000_000), Some(2_500_000));
        let all = [
            // End, what loses, the share that may be lost; the highest it can be, whether more may.
            (SearchEnd::Found, high, 0.0, 2.5, false),
            (SearchEnd::Found, None, 0.0, 2.0, true),
            (SearchEnd::SenderBound, None, 0.0, 2.0, true),
            (SearchEnd::Undecided, high, 0.0, 2.5, true),
            (SearchEnd::Found, high, 0.1, 2.5, false),
        ];
        for (end, loses, share, most, is_at_least) in all {
            let one = of_search(&searched(end, low, loses, share), (true, "here")).expect("a rate");
            assert_eq!(one.mpps, Range { value: 2.0, low: 2.0, high: most }, "{end:?}");
            let seen = (one.is_at_least, one.is_zero_loss, one.through_nic, one.is_both_ways);
            assert_eq!(seen, (is_at_least, share == 0.0, true, false), "{end:?}");
            let lost = if share > 0.0 { "loss of up to 0.1 %" } else { "zero loss" };
            assert_eq!(one.says, format!("{lost}, here, 17 runs"));
        }
        let place = (false, "here");
        assert!(of_search(&searched(SearchEnd::Unfinished, low, high, 0.0), place).is_none());
        assert!(of_search(&searched(SearchEnd::Found, None, high, 0.0), place).is_none());
    }

    #[test]
    fn of_both_ways_the_slower_direction_counts_and_both_are_said() {
        let place = (true, "from port to port");
        for (there, back) in [(3e6, 2e6), (2e6, 3e6)] {
            let one = both_ways(&[way(there), way(back)], 3, place).expect("a rate");
            assert_eq!(one.mpps, Range { value: 2.0, low: 1.8, high: 2.2 });
            let says = format!("there {:.2} and back {:.2} M/s at once", there / 1e6, back / 1e6);
            assert_eq!(one.says, format!("arrived {says}, from port to port, 3 runs"));
        }
        let silent = Direction::default();
        assert!(both_ways(&[way(3e6), silent], 3, place).is_none(), "one direction is not both");
    }
}
