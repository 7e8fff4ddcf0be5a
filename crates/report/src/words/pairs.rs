//! Trials of many pairs, in words.

use super::{counted, middle, range};
use crate::Analysis;
use narrows_model::study::StoredStudy;
use narrows_stats::{OVERLAP_MIN, PairRate, Pairs};

/// Most pairs of a trial that are all told.
const ALL_TOLD_MAX: usize = 8;

/// What each pair reached, how even that was, and what is known of their windows, a line each.
pub fn pairs(analysis: &Analysis<'_>) -> Vec<String> {
    let several = analysis.pairs.len() > 1;
    analysis.pairs.iter().flat_map(|pairs| of_trial(analysis.stored, pairs, several)).collect()
}

fn of_trial(stored: &StoredStudy, pairs: &Pairs, several: bool) -> Vec<String> {
    let label = if several { format!("{}: ", pairs.label) } else { String::new() };
    let mut lines = vec![label + &windows(pairs)];
    lines.extend(evenness(stored, pairs));
    let mut told: Vec<&PairRate> = pairs.each.iter().collect();
    let left_out = told.len().saturating_sub(ALL_TOLD_MAX);
    if left_out > 0 {
        told.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        told.truncate(ALL_TOLD_MAX);
    }
    lines.extend(told.into_iter().map(|one| pair(stored, one)));
    if left_out > 0 {
        lines
            .push(format!("{} faster than these are left out (--json)", counted(left_out, "pair")));
    }
    lines
}

fn rate(pair: &PairRate) -> f64 {
    pair.estimate.map_or(0.0, |rate| rate.value)
}

/// How even the pairs' rates were, and which was the slowest.
fn evenness(stored: &StoredStudy, pairs: &Pairs) -> Option<String> {
    let fairness = pairs.fairness?;
    let text = format!("fairness {fairness:.3} (Jain's index: 1 where all pairs had the same)");
    let Some((slowest, one)) = pairs.slowest.and_then(|at| Some((at, pairs.each.get(at.pair)?)))
    else {
        return Some(text);
    };
    let (from, to) = (stored.host_name(one.from), stored.host_name(one.to));
    Some(format!("{text}; slowest {from} to {to}, in {} of {} runs", slowest.runs, slowest.of))
}

fn pair(stored: &StoredStudy, one: &PairRate) -> String {
    let (from, to) = (stored.host_name(one.from), stored.host_name(one.to));
    match &one.estimate {
        Some(rate) => format!("{from} to {to}: {}, {}, n {}", middle(rate), range(rate), rate.n),
        None => format!("{from} to {to}: no run"),
    }
}

/// Whether the sum is one: rates of other times do not add up.
fn windows(pairs: &Pairs) -> String {
    let many = counted(pairs.each.len(), "pair");
    let mut text = match pairs.overlap_share {
        Some(share) => {
            format!("{many} at once: their windows had at least {:.1} % in common", 100.0 * share)
        }
        None => format!("{many} at once: nothing tells whether their windows were the same"),
    };
    if pairs.apart > 0 {
        let runs = counted(pairs.apart as usize, "run");
        let least = 100.0 * OVERLAP_MIN;
        text += &format!("; {runs} with less than {least:.0} % in common have no sum");
    }
    text
}
