//! Other streams of a study between the same two ends in the same direction, whichever options they
//! have: what they move and lose says whether a path has a rate, or one stream makes little of it.

use crate::measured::Cell;
use crate::signals::segments_lost;
use narrows_model::reading::keys;
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;

/// Runs of another trial.
pub struct OtherStream<'a> {
    pub trial: &'a Trial,
    runs: Vec<&'a Record>,
    /// Payload that came, in bits a second, of each run.
    pub each_bps: Vec<f64>,
}

impl<'a> OtherStream<'a> {
    /// Those of the cell's workload.
    pub fn all(cell: &Cell<'a>) -> Vec<Self> {
        Self::of(cell, &cell.trial.kind)
    }

    /// Those of a workload.
    pub fn of(cell: &Cell<'a>, kind: &Workload) -> Vec<Self> {
        let trials = cell.study.trials.iter().filter(|trial| {
            trial.id != cell.trial.id
                && trial.kind == *kind
                && trial.engine.is_none()
                && trial.params.is_reverse() == cell.trial.params.is_reverse()
                && cell.is_beside(trial)
        });
        let of = |trial| {
            let flows_bps = cell.flows_bps(trial);
            let each_bps = flows_bps.iter().map(|flows| flows.iter().sum()).collect();
            Self { trial, runs: cell.study.records_of(trial).collect(), each_bps }
        };
        trials.map(of).collect()
    }

    /// Whether someone asked for less than what goes.
    pub fn is_paced(&self) -> bool {
        self.trial.params.rate_bps.is_some_and(|rate| rate > 0)
    }

    /// Segments that all runs sent, and how many of them were lost; none of a run in which TCP did
    /// not count them.
    pub fn segments(&self) -> (u64, u64) {
        let ends = self.runs.iter().filter_map(|record| record.sender());
        let counted =
            ends.filter_map(|end| Some((end.readings.total(keys::SENT)?, segments_lost(end)?)));
        counted.fold((0, 0), |all, run| (all.0 + run.0, all.1 + run.1))
    }

    /// Payload that came in the slowest run, in bits a second.
    pub fn low_bps(&self) -> f64 {
        self.each_bps.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Share of the datagrams of all runs that did not come; `None` where none was counted.
    pub fn lost_share(&self) -> Option<f64> {
        let flows = self.runs.iter().filter_map(|record| record.receiver());
        let flows = flows.flat_map(|end| &end.flows);
        let (came, lost) =
            flows.fold((0, 0), |all, flow| (all.0 + flow.messages, all.1 + flow.lost));
        (came + lost > 0).then(|| lost as f64 / (came + lost) as f64)
    }
}
