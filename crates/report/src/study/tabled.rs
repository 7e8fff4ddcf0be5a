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

/// Whether a column holds numbers, or nothing, which stands where they would.
pub fn is_number(table: &[Vec<String>], at: usize) -> bool {
    let cells: Vec<&String> = table.iter().skip(1).filter_map(|row| row.get(at)).collect();
    let mut begins = cells.iter().filter_map(|cell| cell.chars().next());
    let has_number = begins.any(|first| first.is_ascii_digit());
    at > 0 && (has_number || cells.iter().all(|cell| *cell == "-"))
}

/// What is said of one cell.
pub type Said<'a> = &'a dyn Fn(&Panel, &PanelRow) -> Option<String>;

/// A column or a row: its name, its panel, and what is said of each cell.
type Line<'a> = (String, &'a Panel, Said<'a>);

/// What more there is of a panel: how its line is called, and what is said of each cell.
pub type More<'a> = (&'a dyn Fn(&Panel) -> String, Said<'a>);

/// Each panel's line, and behind it those with more of it, where a cell has more.
pub fn of(results: &StudyResults, said: Said<'_>, more: &[More<'_>]) -> Option<Table> {
    let levels = levels(results);
    let has = |panel: &Panel, said: Said<'_>| panel.rows.iter().any(|r| said(panel, r).is_some());
    let mut lines: Vec<Line<'_>> = Vec::new();
    for panel in &results.panels {
        lines.extend(has(panel, said).then(|| (title(panel).to_owned(), panel, said)));
        let more = more.iter().filter(|(_, more)| has(panel, *more));
        lines.extend(more.map(|(name, more)| (name(panel), panel, *more)));
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
    let mut files = files(results);
    let is_populated = results.population_unknown.is_some() || !files.is_empty();
    if is_populated && files.is_empty() {
        files.push((None, 0));
    }
    let mut head = vec![results.across.clone()];
    for (file, processors) in &files {
        // Of several files each has columns of its own.
        let of = file.filter(|_| files.len() > 1).map_or(String::new(), |file| format!(", {file}"));
        match processors {
            0 => head.push(POPULATION.to_owned()),
            all => head.extend((1..=*all).map(|cpu| format!("memory, CPU {cpu}{of}"))),
        }
    }
    head.extend(lines.iter().map(|(name, ..)| name.clone()));
    let mut table = vec![head];
    for level in levels(results) {
        let mut row = vec![level.to_owned()];
        for (file, processors) in &files {
            let own = results
                .panels
                .iter()
                .filter(|panel| *processors == 0 || panel.file.as_deref() == *file);
            let rows = own.flat_map(|panel| &panel.rows);
            let of = rows.filter(|row| row.level == level);
            let unknown = if of.clone().any(|row| row.done > 0) { "unknown" } else { "-" };
            row.extend((0..(*processors).max(1)).map(|cpu| {
                let words = populated(of.clone(), cpu);
                if words.is_empty() { unknown.to_owned() } else { words.join("; ") }
            }));
        }
        row.extend(lines.iter().map(|(_, panel, said)| cell(panel, level, *said)));
        table.push(row);
    }
    table
}

/// The files of which populations are known, with the processors of each; of one study one without
/// a name.
fn files(results: &StudyResults) -> Vec<(Option<&str>, usize)> {
    let mut files: Vec<(Option<&str>, usize)> = Vec::new();
    for panel in &results.panels {
        let processors = panel.rows.iter().map(|row| row.population.len()).max().unwrap_or(0);
        let file = panel.file.as_deref();
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, most)) => *most = processors.max(*most),
            None => files.push((file, processors)),
        }
    }
    files.retain(|(_, processors)| *processors > 0);
    files
}

/// How the memory of a processor was populated in these rows, each word once: panels of one level
/// may be of several sessions.
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
