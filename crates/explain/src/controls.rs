//! Congestion controls that were measured beside each other, and what tells them apart.

use narrows_model::load::Params;
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::{Summary, ratio_of_medians};

/// A gain must be at least this, at the low end of its range, to be worth a change.
const GAIN_MIN: f64 = 1.10;

/// Of fewer runs each, which is faster may be chance.
const RUNS_LEAST: usize = 3;

/// Whether a congestion control slows down at each loss, and lets its window grow without.
pub fn slows_down(name: &str) -> bool {
    matches!(name, "cubic" | "reno")
}

/// Share of lost segments below which a congestion control that models the path does not slow down;
/// `None` of those that slow down at each loss, and of what is not known here.
///
/// bbr keeps its pace below `bbr_lt_loss_thresh`, 50 of 256 (Linux, net/ipv4/tcp_bbr.c); its second
/// and third versions below 2 % (BBR.LossThresh, draft-ietf-ccwg-bbr). A third version that calls
/// itself bbr is taken for the first: what it slows down for is then not claimed.
pub fn ignores_loss_below(name: &str) -> Option<f64> {
    match name {
        "bbr" => Some(50.0 / 256.0),
        "bbr2" | "bbr3" => Some(0.02),
        _ => None,
    }
}

/// The stream with the default and the one with another congestion control, when both ran and
/// nothing else is between them. `all` has a summary for each trial of the study, in its order.
pub fn compared<'a>(study: &StoredStudy, all: &'a [Summary]) -> Option<(&'a Summary, &'a Summary)> {
    let of = study.trials.iter().zip(all);
    let streams: Vec<(&Trial, &Summary)> = of
        .filter(|(trial, _)| trial.kind == Workload::TCP_STREAM && trial.engine.is_none())
        .collect();
    // Without one that has the default, the first is what was asked for.
    let has_default = |(trial, _): &&(&Trial, &Summary)| trial.params.congestion.is_none();
    let (plain, default) = streams.iter().find(has_default).or_else(|| streams.first())?;
    let alike = Params { congestion: None, ..plain.params.clone() };
    let (_, other) = streams.iter().find(|(trial, _)| {
        let params = Params { congestion: None, ..trial.params.clone() };
        let is_another = trial.params.congestion != plain.params.congestion;
        trial.params.congestion.is_some() && is_another && params == alike
    })?;
    let differ = used(other).is_some() && used(other) != used(default);
    (differ && default.estimate.is_some() && other.estimate.is_some()).then_some((default, other))
}

/// Asked for another and given the same, nothing was compared.
pub fn used(summary: &Summary) -> Option<String> {
    summary.congestion().map(str::to_owned)
}

/// The other congestion control and what it gains, where that is clearly more.
pub fn faster(name: &str, default: &Summary, other: &Summary) -> Option<(String, Estimate)> {
    let gain = ratio_of_medians(other.estimate.as_ref()?, default.estimate.as_ref()?)?;
    // What was in use is what the sockets said, not what was asked for.
    let used = other.congestion()?.to_owned();
    let is_clear = gain.low >= GAIN_MIN && gain.n as usize >= RUNS_LEAST;
    (is_clear && used != name).then_some((used, gain))
}
