//! All cells of a study side by side: medians, and CPU of both ends.

use super::names::{Table, levels};
use super::{Panel, PanelRow, StudyResults, priced};
use crate::{Analysis, words};

/// Columns of panels; with more, panels are rows.
const PANELS_ACROSS: usize = 6;
/// Beyond these a table is no overview.
const PANELS: usize = 40;
const LEVELS_ACROSS: usize = 10;
/// The column that tells how memory was populated.
const POPULATION: &str = "memory by CPU";

/// The tables with their titles. None with one panel or one level, or too many for a page.
pub fn tables(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<(&'static str, Table)> {
    let cpu = |_: &Panel, row: &PanelRow| {
        let cpu = analysis.summaries.get(row.trial)?.cpu.as_ref()?;
        let told = cpu.sender_share.is_some() || cpu.receiver_share.is_some();
        told.then(|| format!("{} / {}", percent(cpu.sender_share), percent(cpu.receiver_share)))
    };
    let titled = [
        ("Medians", of(results, &median_of)),
        ("CPU of the busiest thread, sender / receiver", of(results, &cpu)),
        ("Price, and what a hundred of it buys", priced::table(analysis, results)),
    ];
    titled.into_iter().filter_map(|(title, table)| Some((title, table?))).collect()
}

fn median_of(panel: &Panel, row: &PanelRow) -> Option<String> {
    row.median.map(|m| words::exact(m, panel.unit))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

/// Whether a column holds numbers.
pub fn is_number(table: &[Vec<String>], at: usize) -> bool {
    at > 0 && table[0][at] != POPULATION
}

/// What is said of one cell.
type Said<'a> = &'a dyn Fn(&Panel, &PanelRow) -> Option<String>;

fn of(results: &StudyResults, said: Said<'_>) -> Option<Table> {
    let levels = levels(results);
    let has = |panel: &&Panel| panel.rows.iter().any(|row| said(panel, row).is_some());
    let panels: Vec<&Panel> = results.panels.iter().filter(has).collect();
    match (panels.len(), levels.len()) {
        (2..=PANELS_ACROSS, 2..) => Some(by_level(results, &panels, said)),
        (2..=PANELS, 2..=LEVELS_ACROSS) => Some(by_panel(results, &panels, said)),
        _ => None,
    }
}

fn cell(panel: &Panel, level: &str, said: Said<'_>) -> String {
    let row = panel.rows.iter().find(|row| row.level == level);
    row.and_then(|row| said(panel, row)).unwrap_or_else(|| "-".to_owned())
}

/// As published tables have them: a row a level, with how memory was populated, and a column a
/// panel.
fn by_level(results: &StudyResults, panels: &[&Panel], said: Said<'_>) -> Table {
    let levels = levels(results);
    let rows = || results.panels.iter().flat_map(|panel| &panel.rows);
    let of = |level: &str| rows().find(|row| row.level == level && !row.population.is_empty());
    let populated =
        results.population_unknown.is_some() || levels.iter().any(|level| of(level).is_some());
    let mut head = vec![results.across.clone()];
    if populated {
        head.push(POPULATION.to_owned());
    }
    head.extend(panels.iter().map(|panel| panel.name.clone()));
    let mut table = vec![head];
    for level in levels {
        let mut row = vec![level.to_owned()];
        if populated {
            let measured = rows().any(|row| row.level == *level && row.done > 0);
            let unknown = if measured { "unknown" } else { "-" };
            row.push(of(level).map_or(unknown.to_owned(), |row| row.population.join(" / ")));
        }
        row.extend(panels.iter().map(|panel| cell(panel, level, said)));
        table.push(row);
    }
    table
}

/// A row a panel and a column a level: many tests at a few sizes.
fn by_panel(results: &StudyResults, panels: &[&Panel], said: Said<'_>) -> Table {
    let levels = levels(results);
    let names = levels.iter().map(|level| format!("{} {level}", results.across));
    let mut table = vec![std::iter::once(String::new()).chain(names).collect::<Vec<_>>()];
    for panel in panels {
        let cells = levels.iter().map(|level| cell(panel, level, said));
        table.push(std::iter::once(panel.name.clone()).chain(cells).collect());
    }
    table
}
