//! What `narrows check --peer` says: what the path to a second host carries both ways, how long it
//! takes, what holds it, and what to do.

use crate::diagnosis::{lines, says_limit};
use crate::drawn::Screen;
use crate::{Analysis, answer, probed, words};
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::Summary;

/// The answers, a line each.
pub struct PeerCheck {
    there: String,
    back: String,
    trips: String,
    limits: String,
    action: String,
}

impl PeerCheck {
    /// Of a study whose cells are a stream, the same the other way, round trips and a probe.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let stream = |is_back: bool| {
            of_trial(analysis, |trial| {
                trial.kind == Workload::TCP_STREAM
                    && trial.params.is_reverse() == is_back
                    && trial.params.congestion.is_none()
            })
        };
        let (there, back) = (stream(false), stream(true));
        let trips = of_trial(analysis, |trial| trial.kind == Workload::TCP_RR);
        let held = |name: &str, summary: Option<&Summary>| {
            let limit = analysis.limits.iter().find(|limit| Some(&limit.cell) == label(summary));
            limit.map(|limit| format!("{name}: {}", says_limit(limit)))
        };
        let limits = [held("there", there), held("back", back)].into_iter().flatten();
        let limits: Vec<String> = limits.chain(probed::says(analysis.stored)).collect();
        let action = answer::of(analysis).map(|answer| answer.action);
        Self {
            there: figure(there),
            back: figure(back),
            trips: figure(trips),
            limits: limits.join("; "),
            action: action.unwrap_or_else(|| "nothing was measured".to_owned()),
        }
    }

    /// Five answers, each of a line or some.
    pub fn text(&self, to: &str, screen: &Screen) -> String {
        let there = format!("{} to {to}", self.there);
        lines(
            &[
                ("there", &there),
                ("back", &self.back),
                ("round trip", &self.trips),
                ("bottleneck", &self.limits),
                ("do", &self.action),
            ],
            screen,
        )
    }
}

fn of_trial<'a>(analysis: &'a Analysis<'_>, is_it: impl Fn(&Trial) -> bool) -> Option<&'a Summary> {
    let trial = analysis.stored.trials.iter().find(|trial| is_it(trial))?;
    analysis.summaries.iter().find(|summary| summary.label == trial.label)
}

fn label(summary: Option<&Summary>) -> Option<&String> {
    summary.map(|summary| &summary.label)
}

fn figure(summary: Option<&Summary>) -> String {
    let estimate = summary.and_then(|summary| summary.estimate.as_ref());
    estimate.map_or("no value".to_owned(), |estimate| {
        let runs = words::counted(estimate.n as usize, "run");
        format!("{} ({}, {runs})", words::middle(estimate), words::range(estimate))
    })
}
