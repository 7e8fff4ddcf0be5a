//! Trials of many pairs: what each pair reached, and whether their windows were the same.

use crate::done::CONFIDENCE;
use crate::reconcile::reconcile;
use crate::{median, median_interval, percentiles, total};
use narrows_model::load::Role;
use narrows_model::record::{Outcome, Record, Reported};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run whose windows have a smaller share in common has no sum.
pub const OVERLAP_MIN: f64 = 0.5;

/// One trial of many pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pairs {
    /// The trial's label.
    pub label: String,
    /// What each pair reached, in order of the trial's pairs.
    pub each: Vec<PairRate>,
    /// Least share of its window that all windows of a run had in common; by bounds on the
    /// controller's clock where the ends were on several hosts. `None` where nothing tells.
    pub overlap_share: Option<f64>,
    /// Runs whose windows had too little in common for a sum.
    pub apart: u32,
    /// How even the pairs' rates were in a run, median over the runs: Jain's index, 1 where all
    /// were alike, one over their number where one pair had everything. Times have none.
    pub fairness: Option<f64>,
    /// The pair with the lowest median rate or the longest median time; of equals none.
    pub slowest: Option<Slowest>,
}

/// The slowest of many pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slowest {
    /// Which pair, from 0.
    pub pair: usize,
    /// Runs in which it was slower than every other.
    pub runs: u32,
    /// Runs in which all pairs have a rate.
    pub of: u32,
}

/// What came from one end to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairRate {
    /// Host of the end that sent.
    pub from: EndHost,
    /// Host of the end that received.
    pub to: EndHost,
    /// Bits a second, each run in the receiver's own window, or, as the end that asks counted
    /// them, half of its round trips or its connections a second; `None` without a run.
    pub estimate: Option<Estimate>,
    /// Bits a second that went back at once; `None` where nothing was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Estimate>,
}

/// All trials of many pairs.
pub fn pairs(study: &StoredStudy) -> Vec<Pairs> {
    let many = study.trials.iter().filter(|trial| trial.pairs().count() > 1);
    many.map(|trial| of_trial(study, trial)).collect()
}

fn of_trial(study: &StoredStudy, trial: &Trial) -> Pairs {
    let done: Vec<&Record> =
        study.records_of(trial).filter(|record| record.outcome == Outcome::Done).collect();
    let count = trial.pairs().count();
    let metric = trial.kind.metric().unwrap_or(Metric::Goodput);
    let runs: Vec<Vec<Option<f64>>> = done
        .iter()
        .map(|record| (0..count).map(|at| figure(trial, metric, record, at)).collect())
        .collect();
    let figures = |at: usize| {
        let figures: Vec<f64> = runs.iter().filter_map(|run| run[at]).collect();
        median_interval(&figures, CONFIDENCE, metric.unit())
    };
    let back = |at: usize| {
        let rates: Vec<f64> = done
            .iter()
            .filter_map(|record| bits_per_second(trial, record, Role::Sender, at))
            .collect();
        median_interval(&rates, CONFIDENCE, Unit::BitsPerSecond)
    };
    let both = trial.params.is_bidirectional();
    let each: Vec<PairRate> = trial
        .pairs()
        .enumerate()
        .map(|(at, pair)| PairRate {
            from: pair.sender.host,
            to: pair.receiver.host,
            estimate: figures(at),
            back: both.then(|| back(at)).flatten(),
        })
        .collect();
    let whole: Vec<Vec<f64>> =
        runs.into_iter().filter_map(|run| run.into_iter().collect()).collect();
    let are_rates = metric != Metric::RoundTripP50;
    let indices: Vec<f64> =
        whole.iter().filter(|_| are_rates).filter_map(|run| fairness(run)).collect();
    let shares = done.iter().filter_map(|record| overlap_share(record));
    Pairs {
        label: trial.label.clone(),
        overlap_share: shares.reduce(f64::min),
        apart: done.iter().filter(|record| is_apart(trial, record)).count() as u32,
        fairness: median(&indices),
        slowest: slowest(&each, &whole, are_rates),
        each,
    }
}

/// Jain's index of fairness (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984); `None` where nothing
/// came.
fn fairness(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The pair that is below all others by its median rate, or above them by its median time; how
/// often it was so in a run of its own.
fn slowest(each: &[PairRate], runs: &[Vec<f64>], are_rates: bool) -> Option<Slowest> {
    let speed = |figure: f64| if are_rates { figure } else { -figure };
    let medians: Vec<f64> =
        each.iter().map(|pair| Some(speed(pair.estimate?.value))).collect::<Option<_>>()?;
    let pair = below_others(&medians)?;
    let speeds = |run: &Vec<f64>| run.iter().map(|figure| speed(*figure)).collect::<Vec<f64>>();
    let own = runs.iter().filter(|run| below_others(&speeds(run)) == Some(pair)).count();
    Some(Slowest { pair, runs: own as u32, of: runs.len() as u32 })
}

/// Place of the least of several values; `None` where it is there twice.
fn below_others(values: &[f64]) -> Option<usize> {
    let least = values.iter().copied().reduce(f64::min)?;
    let mut at = (0..values.len()).filter(|at| values[*at] <= least);
    at.next().filter(|_| at.next().is_none())
}

/// What a pair reached in one run, in the unit of the trial's metric.
fn figure(trial: &Trial, metric: Metric, record: &Record, pair: usize) -> Option<f64> {
    let asks = || record.of(Role::Sender).nth(pair).filter(|end| end.window_ns.0 > 0);
    match metric {
        Metric::RoundTripP50 => {
            Some(percentiles([asks()?.round_trips.as_slice()])?.p50_ns?.0 as f64)
        }
        Metric::ConnectionRate => {
            let made = total(asks()?.flows.iter().map(|flow| flow.messages));
            Some(made as f64 / asks()?.window_ns.seconds())
        }
        _ => bits_per_second(trial, record, Role::Receiver, pair),
    }
}

/// What an end of a pair counted a second of what came, without what had come before its window;
/// `None` where that cannot have come.
fn bits_per_second(trial: &Trial, record: &Record, role: Role, pair: usize) -> Option<f64> {
    let end = record.of(role).nth(pair).filter(|end| end.window_ns.0 > 0)?;
    let counted = total(end.flows.iter().filter(|flow| flow.counts()).map(|flow| flow.bytes.0));
    let run = reconcile(trial, Metric::Goodput, record);
    let beyond = run.map_or(Some(0), |run| run.beyond_bytes(role, pair))?;
    Some(8.0 * counted.saturating_sub(beyond) as f64 * 1e9 / end.window_ns.0 as f64)
}

/// Whether a run of many pairs has no sum, since its windows had too little in common.
pub(crate) fn is_apart(trial: &Trial, record: &Record) -> bool {
    trial.pairs().count() > 1 && overlap_share(record).is_none_or(|share| share < OVERLAP_MIN)
}

/// Share of the shortest window that all windows of a run surely had in common; `None` where
/// neither one clock nor the controller's tells.
pub fn overlap_share(record: &Record) -> Option<f64> {
    overlap_of(&record.reports.iter().collect::<Vec<_>>())
}

/// The same of ends that ran at once, in one run or in several with one moment of the word to go.
pub(crate) fn overlap_of(reports: &[&Reported]) -> Option<f64> {
    let measured = || reports.iter().copied().filter(|one| one.role != Role::Background);
    let shortest = measured().map(|one| one.report.window_ns.0).min().filter(|ns| *ns > 0)?;
    let first = measured().next().and_then(machine_of);
    let one_clock = first.is_some() && measured().all(|one| machine_of(one) == first);
    let windows = measured()
        .map(|one| {
            if one_clock {
                let opened = one.report.opened_ns.0;
                return (opened > 0)
                    .then(|| (opened, opened.saturating_add(one.report.window_ns.0)));
            }
            one.span.map(|span| (span.open_by_ns.0, span.close_from_ns.0))
        })
        .collect::<Option<Vec<(u64, u64)>>>()?;
    let opened = windows.iter().map(|(open, _)| *open).max()?;
    let closed = windows.iter().map(|(_, close)| *close).min()?;
    Some(closed.saturating_sub(opened) as f64 / shortest as f64)
}

fn machine_of(one: &Reported) -> Option<String> {
    one.report.effective.machine.clone()
}
