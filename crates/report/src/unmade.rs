//! Cells of which every run failed: what kept them from coming to be, and what to do.

use crate::Analysis;
use narrows_model::record::{Fault, Outcome};
use narrows_stats::Summary;

/// Whether runs were made, and each failed.
pub fn has_only_failed(summary: &Summary) -> bool {
    summary.done == 0 && !summary.failed.is_empty()
}

/// What kept the runs from coming to be, where all of them had one fault.
pub fn says(analysis: &Analysis<'_>, summary: &Summary) -> String {
    match fault(analysis, summary).and_then(Fault::in_short) {
        Some((what, _)) => format!("{what} (each of its runs failed so)"),
        None => "not known, since each of its runs failed".to_owned(),
    }
}

/// What to do about it.
pub fn action(analysis: &Analysis<'_>, summary: &Summary) -> &'static str {
    let fault = fault(analysis, summary).unwrap_or_default();
    fault.remedy("mend what its runs failed for, and measure again")
}

/// The fault of all runs of a cell; `None` where they had several.
fn fault(analysis: &Analysis<'_>, summary: &Summary) -> Option<Fault> {
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label)?;
    let mut all = analysis.stored.records_of(trial).filter_map(|record| match &record.outcome {
        Outcome::Failed { fault, .. } => Some(*fault),
        Outcome::Done | Outcome::Skipped { .. } => None,
    });
    let first = all.next()?;
    all.all(|fault| fault == first).then_some(first)
}
