//! Tables of panels: what is said of each cell, a column a panel, or a row where there are many.

use super::names::{Table, levels, title};
use super::{Panel, PanelRow, StudyResults};

/// Columns of panels; with more, panels are rows.
const PANELS_ACROSS: usize = 6;
/// Where levels are too many for columns, more panels may be.
const PANELS_WIDE: usize = 12;
/// Beyond these a table is no overview.
const PANELS: usize = 40;
const LEVELS_ACROSS: usize = 10;
/// The column that tells how memory was populated, where that is not known of any processor.
const POPULATION: &str = "memory by CPU";

/// Whether a column holds numbers.
pub fn is_number(table: &[Vec<String>], at: usize) -> bool {
    let mut cells = table.iter().skip(1).filter_map(|row| row.get(at)?.chars().next());
    at > 0 && cells.any(|first| first.is_ascii_digit())
}

/// What is said of one cell.
pub type Said<'a> = &'a dyn Fn(&Panel, &PanelRow) -> Option<String>;

/// A column or a row: its name, its panel, and what is said of each cell.
type Line<'a> = (String, &'a Panel, Said<'a>);

/// Each panel's line, and behind it one with more of it, where a cell has more.
pub fn of(results: &StudyResults, said: Said<'_>, more: Option<Said<'_>>) -> Option<Table> {
    let levels = levels(results);
    let has = |panel: &Panel, said: Said<'_>| panel.rows.iter().any(|r| said(panel, r).is_some());
    let mut lines: Vec<Line<'_>> = Vec::new();
    for panel in results.panels.iter().filter(|panel| has(panel, said)) {
        lines.push((panel.name.clone(), panel, said));
        if let Some(more) = more.filter(|more| has(panel, *more)) {
            lines.push((format!("half of {}", title(panel)), panel, more));
        }
    }
    match (lines.len(), levels.len()) {
        (2..=PANELS_ACROSS, 2..) => Some(by_level(results, &lines)),
        (2..=PANELS, 2..=LEVELS_ACROSS) => Some(by_panel(results, &lines)),
        // Both are many: the four protocols of two files at twelve populations.
        (2..=PANELS_WIDE, 2..) => Some(by_level(results, &lines)),
        _ => None,
    }
}

fn cell(panel: &Panel, level: &str, said: Said<'_>) -> String {
    let row = panel.rows.iter().find(|row| row.level == level);
    row.and_then(|row| said(panel, row)).unwrap_or_else(|| "-".to_owned())
}

/// As published tables have them: a row a level, with how the memory of each processor was
/// populated, and a column a panel.
fn by_level(results: &StudyResults, lines: &[Line<'_>]) -> Table {
    let levels = levels(results);
    let rows = || results.panels.iter().flat_map(|panel| &panel.rows);
    let processors = rows().map(|row| row.population.len()).max().unwrap_or(0);
    let is_populated = results.population_unknown.is_some() || processors > 0;
    let mut head = vec![results.across.clone()];
    match processors {
        0 if is_populated => head.push(POPULATION.to_owned()),
        all => head.extend((1..=all).map(|cpu| format!("memory, CPU {cpu}"))),
    }
    head.extend(lines.iter().map(|(name, ..)| name.clone()));
    let mut table = vec![head];
    for level in levels {
        let mut row = vec![level.to_owned()];
        if is_populated {
            let of = rows().filter(|row| row.level == level);
            let unknown = if of.clone().any(|row| row.done > 0) { "unknown" } else { "-" };
            row.extend((0..processors.max(1)).map(|cpu| {
                let words = populated(of.clone(), cpu);
                if words.is_empty() { unknown.to_owned() } else { words.join("; ") }
            }));
        }
        row.extend(lines.iter().map(|(_, panel, said)| cell(panel, level, *said)));
        table.push(row);
    }
    table
}

/// How the memory of a processor was populated in these rows, each word once: the files of a joint
/// table may differ.
fn populated<'a>(rows: impl Iterator<Item = &'a PanelRow>, cpu: usize) -> Vec<&'a str> {
    let mut words: Vec<&str> = Vec::new();
    for row in rows.filter(|row| !row.population.is_empty()) {
        let word = row.population.get(cpu).map_or("none", String::as_str);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// A row a panel and a column a level: many tests at a few sizes.
fn by_panel(results: &StudyResults, lines: &[Line<'_>]) -> Table {
    let levels = levels(results);
    let names = levels.iter().map(|level| format!("{} {level}", results.across));
    let mut table = vec![std::iter::once(String::new()).chain(names).collect::<Vec<_>>()];
    for (name, panel, said) in lines {
        let cells = levels.iter().map(|level| cell(panel, level, *said));
        table.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    table
}
