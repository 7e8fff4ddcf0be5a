//! Tables of words: columns as wide as they need, cells wrapped between words where the screen is
//! narrower, and rows as lists of their cells where even that does not fit.

use crate::drawn::Screen;
use crate::drawn::canvas::{display_width, wrap};
use crate::words::tame;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

/// Blanks between two columns.
const GAP: u16 = 2;

/// A table with a head; on a screen that is asked for columns no line is longer.
pub(crate) fn on_screen(head: &[&str], rows: &[Vec<String>], screen: &Screen) -> String {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().cloned()).collect();
    let Some(columns) = screen.columns.map(|_| screen.width()) else {
        return laid(&all, |_| false, None);
    };
    let least: usize = (0..all[0].len()).map(|at| longest_word(&all, at) + usize::from(GAP)).sum();
    if least <= columns + usize::from(GAP) {
        laid(&all, |_| false, Some(columns))
    } else {
        listed(&all, columns)
    }
}

/// Rows of words, those of the columns that `right` says set to the right; each in one line.
pub fn lines(rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> String {
    let laid = laid(rows, right, None);
    laid.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect()
}

fn longest_word(rows: &[Vec<String>], at: usize) -> usize {
    let words = rows.iter().filter_map(|row| row.get(at)).flat_map(|cell| cell.split(' '));
    words.map(display_width).max().unwrap_or(0)
}

fn laid(rows: &[Vec<String>], right: impl Fn(usize) -> bool, columns: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(columns) = columns {
        // The gap after the last column is cut off below.
        let width = u16::try_from(columns).unwrap_or(u16::MAX).saturating_add(GAP);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| tame(cell)).collect::<Vec<String>>());
    }
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..count {
        let Some(column) = table.column_mut(at) else { continue };
        column.set_padding((0, GAP));
        if right(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if columns.is_some() {
            let least = u16::try_from(longest_word(rows, at)).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least + GAP)));
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A row as its first cell with the others below, each after its name.
fn listed(rows: &[Vec<String>], columns: usize) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let name = head.iter().skip(1).map(|name| display_width(name)).max().unwrap_or(0);
    let mut out = String::new();
    if rows.is_empty() {
        wrap(&head.join("  "), columns, "  ").iter().for_each(|line| out += &format!("{line}\n"));
    }
    for row in rows {
        let first = row.first().map_or(String::new(), |cell| tame(cell));
        let title = format!("{} {first}", head.first().map_or("", String::as_str));
        let mut lines = wrap(&title, columns, "  ");
        for (head, cell) in head.iter().zip(row).skip(1) {
            let hang = " ".repeat(name + 4);
            lines.extend(wrap(&format!("  {head:<name$}  {}", tame(cell)), columns, &hang));
        }
        lines.iter().for_each(|line| out += &format!("{}\n", line.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<String>> {
        cells.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn numbers_stand_right_and_nothing_is_left_at_the_end() {
        let all = rows(&[&["size", "median"], &["64", "9.4 Gb/s"], &["1500", "10 Gb/s"]]);
        let want = "  size    median\n  64    9.4 Gb/s\n  1500   10 Gb/s\n";
        assert_eq!(lines(&all, |at| at > 0), want);
    }

    #[test]
    fn a_narrow_screen_wraps_between_words_and_then_lists() {
        let all = rows(&[&["eth0", "a driver of several words", "up"]]);
        let screen = |columns| Screen { columns: Some(columns), unicode: true };
        let words = "a driver of several words that goes on for more than the screen is wide";
        let long = rows(&[&["eth0", words, "up"]]);
        let plain = on_screen(&["name", "driver", "state"], &all, &Screen::FILE);
        assert_eq!(plain.lines().count(), 2, "{plain}");
        let wrapped = on_screen(&["name", "driver", "state"], &long, &screen(60));
        assert!(wrapped.lines().all(|line| line.len() <= 60), "{wrapped}");
        assert!(words.split(' ').all(|word| wrapped.contains(word)), "{wrapped}");
        assert!(wrapped.lines().count() > 2, "{wrapped}");
        let wide = "w".repeat(40);
        let many = rows(&[&["eth0", &wide, &wide]]);
        let listed = on_screen(&["name", "one", "two"], &many, &screen(60));
        assert_eq!(listed, format!("name eth0\n  one  {wide}\n  two  {wide}\n"));
    }
}
