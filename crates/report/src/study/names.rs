//! What levels, panels and ranges are called in all that is said of a study.

use super::{Panel, StudyResults};
use crate::words;
use narrows_model::units::Unit;

/// A table with its head first.
pub type Table = Vec<Vec<String>>;

/// Levels of the factor along the axis, in the study's order.
pub fn levels(results: &StudyResults) -> Vec<&str> {
    let mut levels: Vec<&str> = Vec::new();
    for row in results.panels.iter().flat_map(|panel| &panel.rows) {
        if !levels.contains(&row.level.as_str()) {
            levels.push(&row.level);
        }
    }
    levels
}

/// What a panel is called: where it is the only one, what its figures are.
pub fn title(panel: &Panel) -> &str {
    if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name }
}

/// Two values with their unit once, where they share it.
pub fn between(low: f64, high: f64, unit: Unit) -> String {
    let (lower, upper) = (words::exact(low, unit), words::exact(high, unit));
    if lower == upper { upper } else { words::ends(low, high, unit, words::exact) }
}
