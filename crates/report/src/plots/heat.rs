//! Placements of two ends as a map: a row a placement here, a column one at the peer, each the
//! redder the worse it is against the first.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};

const LEFT: f64 = 132.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 46.0;
const ROW: f64 = 26.0;

/// One field of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The placement here.
    pub row: String,
    /// The placement at the peer.
    pub column: String,
    /// The figure in words.
    pub says: String,
    /// How many times better it is than the first placement: below 1 worse; `None` where nothing
    /// was measured.
    pub better: Option<f64>,
}

/// Draws a map of fields; nothing without any.
pub fn draw(title: &str, fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let rows = names(fields.iter().map(|field| &field.row));
    let columns = names(fields.iter().map(|field| &field.column));
    let width = (RIGHT - LEFT) / columns.len() as f64;
    let mut svg = Svg::new(WIDTH, title);
    svg.text("axis", (LEFT - 6.0, TOP - 8.0), Anchor::End, "here, and the peer:");
    for (at, name) in columns.iter().enumerate() {
        // Long names take turns above and below.
        let up = if at % 2 == 0 { 8.0 } else { 22.0 };
        let middle = LEFT + width * (at as f64 + 0.5);
        let letters = (2.0 * width / 6.0) as usize;
        svg.text("axis", (middle, TOP - up), Anchor::Middle, &short(name, letters.max(4)));
    }
    for (at, name) in rows.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5) + 4.0;
        svg.text("axis", (LEFT - 6.0, middle), Anchor::End, &short(name, 24));
    }
    for field in fields {
        let at = |names: &[&String], name: &String| {
            names.iter().position(|known| *known == name).unwrap_or(0) as f64
        };
        let (x, y) = (at(&columns, &field.column) * width, at(&rows, &field.row) * ROW);
        let tip = format!("{} > {}: {}", field.row, field.column, field.says);
        let place = (LEFT + x + 1.0, TOP + y + 1.0);
        svg.rect(shade(field.better), place, (width - 2.0, ROW - 2.0), &tip);
        let text = short(&field.says, (width / 6.0) as usize);
        svg.text("inside", (LEFT + x + width / 2.0, TOP + y + 17.0), Anchor::Middle, &text);
    }
    svg.finish(TOP + ROW * rows.len() as f64 + 6.0)
}

/// Names in the order in which they come first.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The class of a field: within 5 % it is as good as the first.
fn shade(better: Option<f64>) -> &'static str {
    match better {
        None => "empty",
        Some(better) if better < 0.7 => "worse3",
        Some(better) if better < 0.85 => "worse2",
        Some(better) if better < 0.95 => "worse1",
        Some(better) if better <= 1.05 => "alike",
        Some(better) if better <= 1.2 => "better1",
        Some(_) => "better2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_drawn_and_the_worst_is_the_reddest() {
        let field = |row: &str, column: &str, better| Field {
            row: row.into(),
            column: column.into(),
            says: "9.4 Gb/s".into(),
            better,
        };
        let fields = [field("node 0", "node 0", Some(1.0)), field("node 1", "node 0", Some(0.6))];
        let drawn = draw("TCP", &fields);
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(drawn.contains("class=\"alike\"") && drawn.contains("class=\"worse3\""), "{drawn}");
        assert_eq!(draw("TCP", &[]), "");
    }
}
