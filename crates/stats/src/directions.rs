//! Packets both ways at once: what each direction sent and lost by both ends' counts, and what the
//! interfaces of its two ends counted.

use crate::done::{CONFIDENCE, Done};
use crate::interface::interface;
use crate::loss::{Way, ways};
use crate::{median, median_interval, way_in};
use narrows_model::reading::keys;
use narrows_model::result::Estimate;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use serde::{Deserialize, Serialize};

/// One of two directions, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Interface that its packets leave by; `None` where it is not known.
    pub from: Option<String>,
    /// Interface that they come to.
    pub to: Option<String>,
    /// Packets a second that came, median and interval over the runs.
    pub estimate: Option<Estimate>,
    /// Packets a second that were sent, the median over the runs; `None` without a sender's count.
    pub sent_packets_per_second: Option<f64>,
    /// Packets of the sender's windows.
    pub sent_packets: u64,
    /// Those of them that came, each once.
    pub received_packets: u64,
    /// What the interface that they leave by counted between the looks at its counters, which are
    /// wider than the windows and see others' packets too; `None` where a run has no such count.
    pub out_packets: Option<u64>,
    /// The same of the interface that they come to.
    pub in_packets: Option<u64>,
}

impl Direction {
    /// Sent and not received.
    pub fn lost_packets(&self) -> u64 {
        self.sent_packets.saturating_sub(self.received_packets)
    }
}

/// Both directions of packets that go both ways at once; none of any other trial.
pub(crate) fn directions(trial: &Trial, done: &[Done<'_>]) -> Vec<Direction> {
    if trial.kind != Workload::Packets || !trial.params.is_bidirectional() || done.is_empty() {
        return Vec::new();
    }
    let runs: Vec<[Option<Way<'_>>; 2]> = done.iter().flat_map(|run| ways(trial, run)).collect();
    [0, 1].map(|at| direction(runs.iter().filter_map(|run| run[at].as_ref()))).into()
}

fn direction<'a>(runs: impl Iterator<Item = &'a Way<'a>>) -> Direction {
    let none = Direction { out_packets: Some(0), in_packets: Some(0), ..Direction::default() };
    let (mut rates, mut sent) = (Vec::new(), Vec::new());
    let mut all = runs.fold(none, |all, way| {
        let (came, lost, _) = way.counted();
        let seconds = way.to.window_ns.seconds();
        rates.extend((seconds > 0.0).then(|| way.received(|flow| flow.messages) as f64 / seconds));
        let window = way.from.map(|end| end.window_ns.seconds()).filter(|window| *window > 0.0);
        sent.extend(window.map(|window| came.saturating_add(lost) as f64 / window));
        let left = way.from.and_then(|end| interface(end, keys::TX_PACKETS));
        let arrived = interface(way.to, keys::RX_PACKETS);
        Direction {
            from: way.from.and_then(|end| end.effective.interface.clone()),
            to: way_in(way.to).map(str::to_owned),
            estimate: None,
            sent_packets_per_second: None,
            sent_packets: all.sent_packets.saturating_add(came.saturating_add(lost)),
            received_packets: all.received_packets.saturating_add(came),
            out_packets: sum(all.out_packets, left),
            in_packets: sum(all.in_packets, arrived),
        }
    });
    all.sent_packets_per_second = median(&sent);
    all.estimate = median_interval(&rates, CONFIDENCE, Unit::PacketsPerSecond);
    all
}

fn sum(all: Option<u64>, one: Option<u64>) -> Option<u64> {
    all?.checked_add(one?)
}
