//! Packets both ways at once: what each direction sent and lost by both ends' counts, and what the
//! interfaces of its two ends counted.

use crate::done::{CONFIDENCE, Done};
use crate::interface::interface;
use crate::loss::{Way, ways};
use crate::{median, median_interval, way_in};
use narrows_model::reading::keys;
use narrows_model::record::{External, Outcome, Record, ToolPackets};
use narrows_model::result::Estimate;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of two directions, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Direction {
    /// Interface that its packets leave by; `None` where it is not known.
    pub from: Option<String>,
    /// Interface that they come to.
    pub to: Option<String>,
    /// Packets a second that came, median and interval over the runs.
    pub estimate: Option<Estimate>,
    /// Packets a second that were sent, the median over the runs; `None` where `sent_packets` is.
    pub sent_packets_per_second: Option<f64>,
    /// Packets of the sender's windows; `None` where the two ends of a run did not count the same
    /// packets, since the receiver sees nothing of those after the last that came.
    pub sent_packets: Option<u64>,
    /// Those of them that came, each once; where that is not known, those that came in the
    /// receiver's windows.
    pub received_packets: u64,
    /// What the interface that they leave by counted between the looks at its counters, which are
    /// wider than the windows and see others' packets too; `None` where a run has no such count.
    pub out_packets: Option<u64>,
    /// The same of the interface that they come to.
    pub in_packets: Option<u64>,
}

impl Direction {
    /// Sent and not received; `None` where what was sent is not known.
    pub fn lost_packets(&self) -> Option<u64> {
        Some(self.sent_packets?.saturating_sub(self.received_packets))
    }
}

/// Both directions of packets that go both ways at once; none of any other trial.
pub(crate) fn directions(trial: &Trial, done: &[Done<'_>]) -> Vec<Direction> {
    if trial.kind != Workload::Packets || !trial.params.is_bidirectional() || done.is_empty() {
        return Vec::new();
    }
    let runs: Vec<[Option<Way<'_>>; 2]> = done.iter().flat_map(|run| ways(trial, run)).collect();
    [0, 1]
        .map(|at| direction(&runs.iter().filter_map(|run| run[at].as_ref()).collect::<Vec<_>>()))
        .into()
}

/// What a generator says it has sent over its whole runs, and what those who saw it counted.
pub(crate) fn of_generator(runs: &[&Record]) -> Option<Direction> {
    let runs = runs.iter().filter(|run| run.outcome == Outcome::Done);
    let runs: Vec<&External> = runs.filter_map(|run| run.external.as_ref()).collect();
    let counted: Vec<&ToolPackets> = runs.iter().filter_map(|run| run.packets.as_deref()).collect();
    let first = counted.first()?;
    Some(Direction {
        from: Some(first.from.clone()),
        to: Some(first.to.clone()),
        estimate: median_interval(&figures(&runs, 0), CONFIDENCE, Unit::PacketsPerSecond),
        // What left its interface in the window: what the tool says has no window.
        sent_packets_per_second: median(&figures(&runs, 1)),
        sent_packets: added(&counted, |run| run.told),
        received_packets: added(&counted, |run| Some(run.came)).unwrap_or(u64::MAX),
        out_packets: added(&counted, |run| Some(run.out)),
        in_packets: added(&counted, |run| Some(run.into)),
    })
}

/// A sum over runs; `None` where one of them has no such count.
fn added(runs: &[&ToolPackets], of: fn(&ToolPackets) -> Option<u64>) -> Option<u64> {
    runs.iter().try_fold(0, |all, run| sum(Some(all), of(run)))
}

/// A figure of each run, by its place.
fn figures(runs: &[&External], at: usize) -> Vec<f64> {
    runs.iter().filter_map(|run| run.figures.get(at)).map(|one| one.value).collect()
}

fn direction(runs: &[&Way<'_>]) -> Direction {
    // Of no run nothing is known, and no sum.
    let zero = (!runs.is_empty()).then_some(0);
    let none = Direction {
        sent_packets: zero,
        out_packets: zero,
        in_packets: zero,
        ..Direction::default()
    };
    let (mut rates, mut sent) = (Vec::new(), Vec::new());
    let mut all = runs.iter().fold(none, |all, way| {
        let (came, lost, is_whole) = way.counted();
        let of_windows = is_whole.then(|| came.saturating_add(lost));
        let seconds = way.to.window_ns.seconds();
        rates.extend((seconds > 0.0).then(|| way.received(|flow| flow.messages) as f64 / seconds));
        let window = way.from.map(|end| end.window_ns.seconds()).filter(|window| *window > 0.0);
        sent.extend(of_windows.zip(window).map(|(packets, window)| packets as f64 / window));
        let left = way.from.and_then(|end| interface(end, keys::TX_PACKETS));
        let arrived = interface(way.to, keys::RX_PACKETS);
        Direction {
            from: way.from.and_then(|end| end.effective.interface.clone()),
            to: way_in(way.to).map(str::to_owned),
            estimate: None,
            sent_packets_per_second: None,
            sent_packets: sum(all.sent_packets, of_windows),
            received_packets: all.received_packets.saturating_add(came),
            out_packets: sum(all.out_packets, left),
            in_packets: sum(all.in_packets, arrived),
        }
    });
    all.sent_packets_per_second = all.sent_packets.and_then(|_| median(&sent));
    all.estimate = median_interval(&rates, CONFIDENCE, Unit::PacketsPerSecond);
    all
}

fn sum(all: Option<u64>, one: Option<u64>) -> Option<u64> {
    all?.checked_add(one?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{EndReport, FlowTally, Stretch, StretchOf};
    use narrows_model::record::{Figure, Stamp};
    use narrows_model::trial::TrialId;
    use narrows_model::{Bytes, Nanos};

    const COUNTED: StretchOf = StretchOf::SenderWindow;

    /// An end over two seconds; `stretch` is what it counts of the sender's window.
    fn end(sends: bool, messages: u64, stretch: Option<u64>) -> EndReport {
        let stretch = stretch.map(|datagrams| Stretch { of: COUNTED, datagrams });
        let flow = FlowTally {
            bytes: Bytes(64 * messages),
            messages,
            sends,
            stretch,
            ..FlowTally::default()
        };
        EndReport { window_ns: Nanos(2_000_000_000), flows: vec![flow], ..EndReport::default() }
    }

    fn of(ends: &[(EndReport, EndReport)]) -> Direction {
        let ways: Vec<Way<'_>> =
            ends.iter().map(|(from, to)| Way { from: Some(from), to, message: 64 }).collect();
        direction(&ways.iter().collect::<Vec<_>>())
    }

    /// A run of a generator that says so much, of which so many came, with figures a second.
    fn of_tool(told: Option<u64>, came: u64, outcome: Outcome, figures: [f64; 2]) -> Record {
        let figure = |value| Figure { name: String::new(), value, unit: Unit::PacketsPerSecond };
        let packets = ToolPackets {
            from: "a".to_owned(),
            to: "b".to_owned(),
            told,
            out: 1000,
            out_dropped: 5,
            came,
            into: 990,
        };
        let external = External {
            tool: "trafgen".to_owned(),
            version: None,
            command: None,
            file: None,
            figures: figures.map(figure).to_vec(),
            output: String::new(),
            client: None,
            packets: Some(Box::new(packets)),
        };
        Record {
            trial: TrialId(String::new()),
            repeat: 0,
            block: 0,
            outcome,
            reports: Vec::new(),
            around: Stamp::default(),
            session: 0,
            external: Some(external),
        }
    }

    #[test]
    fn a_generators_word_stands_beside_what_was_counted() {
        let runs = [
            of_tool(Some(1000), 980, Outcome::Done, [98.0, 101.0]),
            of_tool(Some(990), 990, Outcome::Done, [99.0, 102.0]),
            of_tool(Some(9), 9, Outcome::Skipped { missing: Vec::new() }, [1.0, 1.0]),
        ];
        let all: Vec<&Record> = runs.iter().collect();
        let way = of_generator(&all).expect("a direction");
        assert_eq!((way.from.as_deref(), way.to.as_deref()), (Some("a"), Some("b")));
        let packets = (way.sent_packets, way.received_packets, way.out_packets, way.in_packets);
        assert_eq!(packets, (Some(1990), 1970, Some(2000), Some(1980)));
        assert_eq!((way.lost_packets(), way.sent_packets_per_second), (Some(20), Some(101.5)));
        assert_eq!(way.estimate.map(|rate| rate.value), Some(98.5));
        let silent = of_tool(None, 980, Outcome::Done, [98.0, 101.0]);
        let way = of_generator(&[&runs[0], &silent]).expect("a direction");
        assert_eq!((way.sent_packets, way.lost_packets()), (None, None), "one says nothing");
        assert_eq!(of_generator(&[&runs[2]]), None);
    }

    #[test]
    fn a_generator_is_believed_between_what_came_and_what_left() {
        let of = |told| of_tool(told, 980, Outcome::Done, [1.0, 1.0]).external;
        let believed = |told| !of(told).and_then(|of| of.packets).expect("packets").is_miscounted();
        assert!(believed(None) && believed(Some(980)) && believed(Some(1000)));
        assert!(!believed(Some(979)), "more came than it says");
        assert!(!believed(Some(1001)), "its interface saw fewer");
    }

    #[test]
    fn what_was_sent_is_known_only_where_both_ends_count_the_same_packets() {
        let whole = (end(true, 1000, Some(1000)), end(false, 900, Some(900)));
        let way = of(std::slice::from_ref(&whole));
        assert_eq!((way.sent_packets, way.lost_packets()), (Some(1000), Some(100)));
        assert_eq!(way.sent_packets_per_second, Some(500.0));
        // An older agent counts no stretch, and nothing came: the receiver has seen no gap either.
        let deaf = (end(true, 1000, Some(1000)), end(false, 0, None));
        for runs in [&[deaf.clone()][..], &[whole, deaf]] {
            let way = of(runs);
            let sent = (way.sent_packets, way.lost_packets(), way.sent_packets_per_second);
            assert_eq!(sent, (None, None, None), "{} runs", runs.len());
        }
        // No run has this direction.
        assert_eq!(of(&[]), Direction::default());
    }
}
