//! Placements in words and tables.

use super::{Loads, answer, at_once, compared, has_table, interval, link_share, moved};
use super::{not_compared, percent, uncounted, verdict};
use crate::{Analysis, table, words};
use narrows_model::load::Role;
use narrows_model::units::Unit;
use narrows_stats::PlacedTest;
use std::fmt::Write;

/// What every move costs in every test, and what the hosts had to do; empty for a study of
/// anything else.
pub fn tables(analysis: &Analysis<'_>) -> String {
    let mut text = String::new();
    for test in compared(analysis) {
        let _ = writeln!(text, "{}", answer(analysis, test));
        if has_table(&test) {
            let _ = writeln!(text, "{}", effects(analysis, test));
        }
    }
    if let Some(says) = not_compared(analysis) {
        let _ = writeln!(text, "{says}\n");
    }
    if !analysis.placements.is_empty() {
        let claims: usize = analysis.placements.iter().map(|test| test.effects.len()).sum();
        if let Some(effect) = compared(analysis).find_map(|test| test.effects.first()) {
            let _ = writeln!(
                text,
                "  runs of one block set against each other, {} blocks; the {claims} intervals hold \
                 together (95 %)\n",
                effect.ratio.n
            );
        }
        for test in &analysis.placements {
            let _ = writeln!(text, "CPU, {}\n{}", test.name, cpu(analysis, test));
        }
        for line in uncounted(analysis) {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    text
}

/// A row a move.
fn effects(analysis: &Analysis<'_>, test: &PlacedTest) -> String {
    let head = ["moved", "change", "interval", "pairs", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for effect in &test.effects {
        rows.push(vec![
            moved(analysis, effect),
            percent(effect.ratio.value),
            interval(&effect.ratio),
            effect.pairs.to_string(),
            verdict(effect.verdict).to_owned(),
        ]);
    }
    table::lines(&rows, |at| (1..=3).contains(&at))
}

/// A row a placement: what its figure is and what the hosts did for it.
fn cpu(analysis: &Analysis<'_>, test: &PlacedTest) -> String {
    let head =
        ["placement", "median", "busiest thread", "whole hosts", "link", "of the link", "memory"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let placed = test.cells.iter().map(|cell| (cell.seating.to_string(), Loads::of(cell)));
    let at_once = at_once(analysis, test).into_iter();
    let at_once = at_once.map(|one| (one.level.to_owned(), one.loads));
    for (place, loads) in placed.chain(at_once) {
        let Some(summary) = analysis.summaries.get(loads.trial) else { continue };
        let cpu = summary.cpu.as_ref();
        let threads =
            [cpu.and_then(|cpu| cpu.sender_share), cpu.and_then(|cpu| cpu.receiver_share)];
        let ends = [&loads.sender, &loads.receiver];
        rows.push(vec![
            place,
            summary.estimate.map_or("-".to_owned(), |of| words::exact(of.value, of.unit)),
            shares(threads),
            shares(ends.map(|load| load.cpu_share)),
            rates(ends.map(|load| load.link_bytes_per_second)),
            shares([Role::Sender, Role::Receiver].map(|end| link_share(analysis, &loads, end))),
            rates(ends.map(|load| load.memory_bytes_per_second)),
        ]);
    }
    table::lines(&rows, |at| at > 0)
}

/// Sender and receiver, a dash where it was not counted.
fn rates(both: [Option<f64>; 2]) -> String {
    format!("{} / {}", rate_or_dash(both[0]), rate_or_dash(both[1]))
}

fn rate_or_dash(rate: Option<f64>) -> String {
    rate.map_or("-".to_owned(), |rate| words::value(rate, Unit::BytesPerSecond))
}

/// Sender and receiver: `31 % / 55 %`.
fn shares(both: [Option<f64>; 2]) -> String {
    format!("{} / {}", share_or_dash(both[0]), share_or_dash(both[1]))
}

fn share_or_dash(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |of| format!("{:.0} %", 100.0 * of))
}
