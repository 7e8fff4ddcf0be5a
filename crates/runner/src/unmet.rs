//! Runs that are not made because their ends do not find each other. A filter between two hosts
//! often lets the control connection through and no data; each run would wait for its own in vain.

use narrows_model::record::{Fault, Outcome, Record};
use narrows_model::trial::{Trial, TrialId};
use narrows_model::workload::{Transport, Workload};

/// So many runs of one cell in vain are no chance.
const IN_VAIN: usize = 2;

/// What the runs of a course said so far of whether their ends meet.
#[derive(Debug, Default)]
pub struct Unmet {
    /// Cells of runs whose ends did not find each other, one for each run.
    in_vain: Vec<TrialId>,
    /// What carried runs whose ends did.
    met: Vec<Option<Transport>>,
    is_probed: bool,
}

impl Unmet {
    /// Takes what a run says.
    pub fn learn(&mut self, trial: &Trial, record: &Record) {
        match &record.outcome {
            // A probe that finds nothing to pass is done all the same.
            _ if trial.kind == Workload::PathProbe => self.is_probed = true,
            Outcome::Done => self.met.push(trial.kind.transport()),
            Outcome::Failed { fault: Fault::Apart, .. } => self.in_vain.push(trial.id.clone()),
            Outcome::Failed { .. } | Outcome::Skipped { .. } => {}
        }
    }

    /// Whether a run of this cell, one of all these, would be in vain. Nothing is said of fewer
    /// flows than those that did not meet, nor of what met once: some filters count connections.
    pub fn is_in_vain(&self, trial: &Trial, all: &[Trial]) -> bool {
        if trial.kind == Workload::PathProbe {
            let mut others =
                all.iter().filter(|other| other.kind != Workload::PathProbe).peekable();
            return self.is_probed
                && others.peek().is_some()
                && others.all(|other| self.is_in_vain(other, all));
        }
        let over = trial.kind.transport();
        let alike = |tried: &&Trial| {
            tried.kind.transport() == over && tried.params.streams <= trial.params.streams
        };
        let runs = |tried: &Trial| self.in_vain.iter().filter(|id| **id == tried.id).count();
        !self.met.contains(&over) && all.iter().filter(alike).any(|tried| runs(tried) >= IN_VAIN)
    }
}
