//! Trials that ran at once: what they reached together.

use crate::done::CONFIDENCE;
use crate::median_interval;
use crate::summary::Summary;
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What trials that ran at once reached together, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Sum of the trials' goodputs.
    pub estimate: Estimate,
    /// Least share of its window that all windows of this host had in common, in any run.
    pub overlap_share: Option<f64>,
}

/// The sum of trials that ran at once; `None` for other studies and other figures.
pub fn together(study: &StoredStudy, summaries: &[Summary]) -> Option<Together> {
    let streams = summaries.iter().all(|summary| summary.metric == Metric::Goodput);
    if !study.study.together || !streams || summaries.is_empty() {
        return None;
    }
    let sums: Vec<f64> = (0..study.study.repeats)
        .filter_map(|repeat| {
            summaries
                .iter()
                .map(|summary| {
                    summary
                        .values
                        .iter()
                        .find(|value| value.repeat == repeat)
                        .map(|value| value.value)
                })
                .sum::<Option<f64>>()
        })
        .collect();
    let overlaps = (0..study.study.repeats).filter_map(|repeat| overlap(study, repeat));
    Some(Together {
        estimate: median_interval(&sums, CONFIDENCE, Unit::BitsPerSecond)?,
        overlap_share: overlaps.reduce(f64::min),
    })
}

/// Share of the shortest window of this host's ends that all of them had in common. Each trial has
/// one end here: the one that connects.
fn overlap(study: &StoredStudy, repeat: u32) -> Option<f64> {
    let windows = study.trials.iter().map(|trial| {
        let record = study.records_of(trial).find(|record| record.repeat == repeat)?;
        let reverse = trial.params.is_reverse();
        let here = if reverse { record.receiver() } else { record.sender() };
        let here = here.filter(|end| end.opened_ns.0 > 0)?;
        Some((here.opened_ns.0, here.opened_ns.0.saturating_add(here.window_ns.0)))
    });
    let windows = windows.collect::<Option<Vec<(u64, u64)>>>()?;
    let (last, first) = windows
        .iter()
        .fold((0, u64::MAX), |(last, first), (open, close)| (last.max(*open), first.min(*close)));
    let shortest = windows.iter().map(|(open, close)| close - open).min()?;
    Some(first.saturating_sub(last) as f64 / shortest.max(1) as f64)
}
