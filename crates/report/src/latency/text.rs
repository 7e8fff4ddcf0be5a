//! Latency under load as a table.

use super::{HEAD, about, cells, rises};
use crate::table;
use narrows_stats::LoadedLatency;

/// A row a phase.
pub fn rows(latency: &LoadedLatency) -> String {
    let head = HEAD.map(str::to_owned).to_vec();
    let phases = latency.phases.iter().map(|one| {
        std::iter::once(one.phase.to_string()).chain(cells(one)).collect::<Vec<String>>()
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(phases).collect();
    table::lines(&rows, |at| at > 0)
}

/// What stands below the table.
pub fn notes(latency: &LoadedLatency) -> Vec<String> {
    let mut lines = rises(latency);
    lines.push(about(latency));
    lines
}
