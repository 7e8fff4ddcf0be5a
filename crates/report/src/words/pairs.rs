//! Trials of many pairs, in words.

use super::{counted, middle, range};
use crate::Analysis;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_stats::{OVERLAP_MIN, PairRate, Pairs};

/// Most pairs of a trial that are all told.
const ALL_TOLD_MAX: usize = 8;

/// What each pair reached, how even that was, and what is known of their windows, a line each; of
/// several cells of a study none, for which there is a table.
pub fn pairs(analysis: &Analysis<'_>) -> Vec<String> {
    let several = analysis.pairs.len() > 1;
    if several && analysis.study.is_some() {
        return Vec::new();
    }
    analysis.pairs.iter().flat_map(|pairs| of_trial(analysis.stored, pairs, several)).collect()
}

/// The pairs of several cells of a study, a row a cell that ran; `None` without any.
pub fn pairs_table(analysis: &Analysis<'_>) -> Option<Vec<Vec<String>>> {
    let all = analysis.pairs.iter();
    let ran: Vec<&Pairs> =
        all.filter(|pairs| pairs.each.iter().any(|one| one.estimate.is_some())).collect();
    let most = ran.iter().map(|pairs| pairs.each.len()).max()?;
    if analysis.pairs.len() < 2 || analysis.study.is_none() {
        return None;
    }
    let columns = most.min(ALL_TOLD_MAX);
    let mut head = vec!["cell".to_owned()];
    head.extend((1..=columns).map(|pair| format!("pair {pair}")));
    head.extend(["fairness", "windows in common", "slowest", "hosts"].map(str::to_owned));
    let rows = ran.iter().map(|pairs| table_row(analysis.stored, pairs, columns));
    Some(std::iter::once(head).chain(rows).collect())
}

fn table_row(stored: &StoredStudy, pairs: &Pairs, columns: usize) -> Vec<String> {
    let fairness = pairs.fairness.map(|fairness| format!("{fairness:.3}"));
    let in_common = pairs.overlap_share.map(|share| format!("{:.1} %", 100.0 * share));
    let slowest = pairs.slowest.as_ref();
    let slowest =
        slowest.map(|at| format!("pair {}, in {} of {} runs", at.pair + 1, at.runs, at.of));
    let hosts = pairs
        .each
        .iter()
        .take(columns)
        .map(|one| format!("{} > {}", stored.host_name(one.from), stored.host_name(one.to)));
    let left_out = pairs.each.len().saturating_sub(columns);
    let more = (left_out > 0).then(|| format!("{left_out} more (--json)"));
    let hosts = hosts.chain(more).collect::<Vec<_>>().join(", ");
    let figures = (0..columns).map(|at| pairs.each.get(at).and_then(in_cell));
    let cells = figures.chain([fairness, in_common, slowest, Some(hosts)]);
    let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
    std::iter::once(pairs.label.clone()).chain(cells).collect()
}

/// A pair's median, and what went back.
fn in_cell(one: &PairRate) -> Option<String> {
    let back = one.back.as_ref().map_or(String::new(), |back| format!(", back {}", middle(back)));
    Some(middle(one.estimate.as_ref()?) + &back)
}

/// What holds of the table's pairs: how fairness is counted, and runs that have no sum.
pub fn pairs_notes(analysis: &Analysis<'_>) -> Vec<String> {
    if pairs_table(analysis).is_none() {
        return Vec::new();
    }
    let fair = "fairness: Jain's index, 1 where all pairs had the same".to_owned();
    let apart = analysis.pairs.iter().filter(|pairs| pairs.apart > 0);
    let apart = apart.map(|pairs| format!("{}: {}", pairs.label, windows(pairs)));
    std::iter::once(fair).chain(apart).collect()
}

fn of_trial(stored: &StoredStudy, pairs: &Pairs, several: bool) -> Vec<String> {
    let label = if several { format!("{}: ", pairs.label) } else { String::new() };
    let mut lines = vec![label + &windows(pairs)];
    lines.extend(evenness(stored, pairs));
    let mut told: Vec<&PairRate> = pairs.each.iter().collect();
    let left_out = told.len().saturating_sub(ALL_TOLD_MAX);
    if left_out > 0 {
        told.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        told.truncate(ALL_TOLD_MAX);
    }
    lines.extend(told.into_iter().map(|one| pair(stored, one)));
    if left_out > 0 {
        let are = if left_out == 1 { "is" } else { "are" };
        let left_out = counted(left_out, "pair");
        lines.push(format!("{left_out} faster than these {are} left out (--json)"));
    }
    lines
}

/// Orders pairs from the slowest to the fastest, whether their figures are rates or times.
fn speed(pair: &PairRate) -> f64 {
    pair.estimate.map_or(0.0, |one| if one.unit == Unit::Nanos { -one.value } else { one.value })
}

/// How even the pairs' rates were, and which was the slowest.
fn evenness(stored: &StoredStudy, pairs: &Pairs) -> Option<String> {
    let even = pairs.fairness.map(|fairness| {
        format!("fairness {fairness:.3} (Jain's index: 1 where all pairs had the same)")
    });
    let slowest = pairs.slowest.and_then(|at| {
        let one = pairs.each.get(at.pair)?;
        let (from, to) = (stored.host_name(one.from), stored.host_name(one.to));
        Some(format!("slowest {from} to {to}, in {} of {} runs", at.runs, at.of))
    });
    let told: Vec<String> = even.into_iter().chain(slowest).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn pair(stored: &StoredStudy, one: &PairRate) -> String {
    let (from, to) = (stored.host_name(one.from), stored.host_name(one.to));
    let mut text = match &one.estimate {
        Some(rate) => format!("{from} to {to}: {}, {}, n {}", middle(rate), range(rate), rate.n),
        None => format!("{from} to {to}: no run"),
    };
    if let Some(back) = &one.back {
        text += &format!("; back {}, {}", middle(back), range(back));
    }
    text
}

/// Whether the sum is one: rates of other times do not add up.
fn windows(pairs: &Pairs) -> String {
    let many = counted(pairs.each.len(), "pair");
    let mut text = match pairs.overlap_share {
        Some(share) => {
            format!("{many} at once: their windows had at least {:.1} % in common", 100.0 * share)
        }
        None => format!("{many} at once: it is unknown whether their windows overlapped"),
    };
    if pairs.apart > 0 {
        let runs = counted(pairs.apart as usize, "run");
        let least = 100.0 * OVERLAP_MIN;
        let times = pairs.each.iter().flat_map(|one| one.estimate).any(|of| of.unit == Unit::Nanos);
        let lacks = if times { "figure" } else { "sum" };
        text += &format!("; {runs} with less than {least:.0} % in common have no {lacks}");
    }
    text
}
