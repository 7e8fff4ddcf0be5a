//! Trials of a study that differ from a cell in one thing, and what they moved: what that does.

use crate::measured::Cell;
use narrows_model::load::Params;
use narrows_model::record::Outcome;
use narrows_model::trial::Trial;
use narrows_stats::median;

/// A trial beside a cell, with what each of its runs moved.
pub struct Beside<'a> {
    pub trial: &'a Trial,
    /// Payload that came, in bits a second, of each run.
    runs_bps: Vec<f64>,
}

impl Beside<'_> {
    pub fn low_bps(&self) -> f64 {
        self.runs_bps.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn high_bps(&self) -> f64 {
        self.runs_bps.iter().copied().fold(0.0, f64::max)
    }

    pub fn middle_bps(&self) -> f64 {
        median(&self.runs_bps).unwrap_or(0.0)
    }

    /// The trial's runs, as a cell of it names them.
    pub fn runs(&self) -> String {
        format!("{} runs of {}", self.runs_bps.len(), self.trial.label)
    }
}

/// One run has no range.
const RUNS_LEAST: usize = 2;

impl<'a> Cell<'a> {
    /// The trials that are as the cell's but for what `alike` takes out of the parameters.
    pub fn beside(&self, alike: fn(Params) -> Params) -> Vec<Beside<'a>> {
        let own = alike(self.trial.params.clone());
        let others = self.study.trials.iter().filter(|trial| {
            trial.kind == self.trial.kind
                && trial.path == self.trial.path
                && trial.engine.is_none()
                && trial.params != self.trial.params
                && alike(trial.params.clone()) == own
        });
        others
            .map(|trial| Beside { trial, runs_bps: self.moved(trial) })
            .filter(|beside| beside.runs_bps.len() >= RUNS_LEAST)
            .collect()
    }

    fn moved(&self, trial: &Trial) -> Vec<f64> {
        let runs = self.study.records.iter().filter(|record| {
            record.trial == trial.id && record.outcome == Outcome::Done && record.sender().is_some()
        });
        runs.filter_map(|record| {
            let end = record.receiver().filter(|end| end.window_ns.0 > 0)?;
            let bytes: u64 = end.flows.iter().map(|flow| flow.bytes.0).sum();
            Some(8e9 * bytes as f64 / end.window_ns.0 as f64)
        })
        .collect()
    }
}

#[cfg(test)]
pub mod testing {
    //! Studies with a trial beside the first.

    use narrows_model::load::{Params, Role};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    /// Adds a trial that differs in its parameters and moves so many times what the first does.
    pub fn with_beside(study: &mut StoredStudy, change: impl FnOnce(&mut Params), times: f64) {
        let mut trial = study.trials[0].clone();
        (trial.id, trial.label) = (TrialId("beside".into()), format!("{} beside", trial.label));
        change(&mut trial.params);
        for mut record in study.records.clone() {
            record.trial = trial.id.clone();
            for end in record.of_mut(Role::Receiver) {
                for flow in &mut end.flows {
                    flow.bytes.0 = (flow.bytes.0 as f64 * times) as u64;
                    flow.messages = (flow.messages as f64 * times) as u64;
                }
            }
            study.records.push(record);
        }
        study.trials.push(trial);
    }
}
