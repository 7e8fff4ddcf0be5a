//! What each configuration costs beside what it reaches, where a study names prices.

use super::StudyResults;
use super::names::{Table, levels, title};
use crate::{Analysis, words};

/// What stands above the table of prices.
pub const TITLE: &str = "Price, and what a hundred of it buys";

/// A row a configuration that has a price; `None` without any. The currency is the prices'.
pub fn table(analysis: &Analysis<'_>, results: &StudyResults) -> Option<Table> {
    let prices = &analysis.stored.study.reading.prices;
    let mut table = vec![head(results)];
    for level in levels(results) {
        let Some(price) = prices.get(level) else { continue };
        let mut row = vec![level.to_owned(), format!("{price:.2}")];
        for panel in &results.panels {
            let median =
                panel.rows.iter().find(|row| row.level == level).and_then(|row| row.median);
            let says = |value: f64| words::value(value, panel.unit);
            row.push(median.map_or("-".to_owned(), says));
            if panel.metric.larger_is_better() {
                let bought = median.filter(|_| *price > 0.0).map(|median| 100.0 * median / price);
                row.push(bought.map_or("-".to_owned(), says));
            }
        }
        table.push(row);
    }
    (table.len() > 1).then_some(table)
}

fn head(results: &StudyResults) -> Vec<String> {
    let mut head = vec![results.across.clone(), "price".to_owned()];
    for panel in &results.panels {
        head.push(title(panel).to_owned());
        if panel.metric.larger_is_better() {
            head.push("for 100".to_owned());
        }
    }
    head
}
