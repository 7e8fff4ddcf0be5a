//! What one change does to a figure, by runs with and without it in turn.

use crate::order::{median_interval, quantile};
use crate::summarise::value_of;
use narrows_model::Change;
use narrows_model::record::Outcome;
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Trial, TrialId};
use narrows_model::units::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    pub change: Change,
    /// The trial that changes it.
    pub trial: TrialId,
    /// The same in words: `4 flows`.
    pub says: String,
    /// Figure with the change by that without it, of the pairs by which it was picked or left.
    pub tried_ratio: f64,
    /// The same of pairs of their own, with its 95 % interval; `None` where it was left.
    pub ratio: Option<Estimate>,
}

/// What is said of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    /// Up by a tenth or more, with its whole interval.
    Up,
    /// Down by a tenth or more, with its whole interval.
    Down,
    /// By less than a tenth, with its whole interval.
    Not,
    /// Its interval has more than one of these in it.
    Unclear,
    /// Not confirmed: two pairs of runs are all that there is of it.
    Left,
}

/// A change that moves a figure by less is none that anybody would make.
pub const TENTH: f64 = 1.1;
/// Below it a figure is zero: no flow is that slow and still counts as one.
const LEAST_BPS: f64 = 1000.0;
/// How sure the interval of a ratio is.
const CONFIDENCE: f64 = 0.95;

impl Changed {
    /// What is said of it.
    pub fn moved(&self) -> Moved {
        match self.ratio {
            None => Moved::Left,
            Some(ratio) if ratio.low > TENTH => Moved::Up,
            Some(ratio) if ratio.high < 1.0 / TENTH => Moved::Down,
            Some(ratio) if ratio.low >= 1.0 / TENTH && ratio.high <= TENTH => Moved::Not,
            Some(_) => Moved::Unclear,
        }
    }
}

/// Values of a block, in order: without the change, and with it.
type Block = [Vec<f64>; 2];

/// What each change of a diagnosis does, in order of the trials.
pub fn changed(study: &StoredStudy) -> Vec<Changed> {
    let Some(base) = study.trials.first() else { return Vec::new() };
    study.trials.iter().filter_map(|trial| one(study, base, trial)).collect()
}

fn one(study: &StoredStudy, base: &Trial, trial: &Trial) -> Option<Changed> {
    let change = Change::of(trial)?;
    // What one of the hosts refused was not tried.
    if study
        .records
        .iter()
        .any(|record| record.trial == trial.id && record.outcome != Outcome::Done)
    {
        return None;
    }
    let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
    for record in &study.records {
        let Some(side) = [&base.id, &trial.id].iter().position(|id| **id == record.trial) else {
            continue;
        };
        let of = if side == 0 { base } else { trial };
        // A run in which nothing came has no rate.
        let value = value_of(of, record).map_or(0.0, |(value, _)| value.value);
        blocks.entry(record.block).or_default()[side].push(value.max(LEAST_BPS));
    }
    let mut pairs = blocks.into_values().map(ratios).filter(|ratios| !ratios.is_empty());
    let tried = pairs.next()?;
    let tried_ratio = quantile(&tried, 0.5)?;
    let confirmed: Vec<f64> = pairs.flatten().collect();
    let ratio = median_interval(&confirmed, CONFIDENCE, Unit::Share);
    Some(Changed {
        change,
        trial: trial.id.clone(),
        says: says(change, base, trial),
        tried_ratio,
        ratio,
    })
}

/// A change in words, for people: what the trial's label has beyond the traffic's.
fn says(change: Change, base: &Trial, trial: &Trial) -> String {
    if let (Change::Congestion, Some(name)) = (change, &trial.params.congestion) {
        return name.clone();
    }
    let rest = trial.label.strip_prefix(&format!("{}, ", base.label));
    rest.unwrap_or(&trial.label).to_owned()
}

/// The ratio of each run with the change to the run without it that was made next to it.
fn ratios([without, with]: Block) -> Vec<f64> {
    without.iter().zip(&with).map(|(without, with)| with / without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, value: f64, high: f64) -> Moved {
        let by = narrows_model::result::Method::MedianOrderStatistic;
        let ratio = Some(Estimate { value, low, high, unit: Unit::Share, n: 6, by });
        let says = String::new();
        let trial = TrialId("a".into());
        Changed { change: Change::Flows, trial, says, tried_ratio: 1.0, ratio }.moved()
    }

    #[test]
    fn only_a_whole_interval_moves_a_figure() {
        assert_eq!(of(1.2, 1.5, 1.9), Moved::Up);
        assert_eq!(of(1.05, 1.5, 1.9), Moved::Unclear);
        assert_eq!(of(0.95, 1.0, 1.06), Moved::Not);
        assert_eq!(of(0.3, 0.5, 0.8), Moved::Down);
        assert_eq!(of(0.5, 1.0, 1.5), Moved::Unclear);
    }
}
