//! Placements of two ends as a map: a row a placement here, a column one at the peer, each the
//! redder the worse it is against the first.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use std::collections::BTreeSet;

const LEFT: f64 = 132.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 46.0;
const ROW: f64 = 26.0;
/// Width of a letter of the small type.
const LETTER: f64 = 6.0;
/// Letters of a row's name in one line.
const ROW_LETTERS: usize = 21;

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
    /// Why nothing is claimed of that, where its runs show nothing: the field has no colour.
    pub open: Option<&'static str>,
}

/// Draws a map of fields of a placement here and one at the peer; nothing without any.
pub fn draw(title: &str, fields: &[Field]) -> String {
    draw_of(title, "here, and the peer:", fields)
}

/// The same of other rows and columns; `corner` says what they are.
pub fn draw_of(title: &str, corner: &str, fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let rows = names(fields.iter().map(|field| &field.row));
    let columns = names(fields.iter().map(|field| &field.column));
    let width = (RIGHT - LEFT) / columns.len() as f64;
    let mut svg = Svg::new(WIDTH, title);
    svg.text("axis", (LEFT - 6.0, TOP - 8.0), Anchor::End, corner);
    for (at, name) in columns.iter().enumerate() {
        // Long names take turns above and below.
        let up = if at % 2 == 0 { 8.0 } else { 22.0 };
        let letters = ((2.0 * width / LETTER) as usize).max(4);
        let (x, anchor) = column_name(at, columns.len(), width, name, letters);
        svg.text("axis", (x, TOP - up), anchor, &short(name, letters));
    }
    for (at, name) in rows.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5) + 4.0;
        let lines = in_lines(name, ROW_LETTERS);
        let up = if lines.len() > 1 { 5.5 } else { 0.0 };
        for (line, text) in lines.iter().enumerate() {
            let at = (LEFT - 6.0, middle - up + 11.0 * line as f64);
            svg.text("axis", at, Anchor::End, &short(text, ROW_LETTERS));
        }
    }
    for field in fields {
        let (x, y) = (place_of(&columns, &field.column) * width, place_of(&rows, &field.row) * ROW);
        let why = field.open.map_or(String::new(), |why| format!(" ({why})"));
        let tip = format!("{} > {}: {}{why}", field.row, field.column, field.says);
        let place = (LEFT + x + 1.0, TOP + y + 1.0);
        let class = if field.open.is_some() { "unclear" } else { shade(field.better) };
        svg.rect(class, place, (width - 2.0, ROW - 2.0), &tip);
        let text = short(&field.says, (width / 6.0) as usize);
        svg.text("inside", (LEFT + x + width / 2.0, TOP + y + 17.0), Anchor::Middle, &text);
    }
    let mut height = legend(&mut svg, TOP + ROW * rows.len() as f64 + 10.0);
    let open: BTreeSet<&str> = fields.iter().filter_map(|field| field.open).collect();
    if !open.is_empty() {
        let says = open.into_iter().collect::<Vec<_>>().join(", or ");
        svg.rect("unclear", (6.0, height), (14.0, 11.0), "");
        svg.text("axis", (24.0, height + 9.0), Anchor::Start, &says);
        height += 17.0;
    }
    svg.finish(height)
}

fn place_of(names: &[&String], name: &String) -> f64 {
    names.iter().position(|known| *known == name).unwrap_or(0) as f64
}

/// Where the name of a column stands: over its middle, or as far from there as keeps it inside.
fn column_name(at: usize, of: usize, width: f64, name: &str, letters: usize) -> (f64, Anchor) {
    let middle = LEFT + width * (at as f64 + 0.5);
    let half = LETTER * name.chars().count().min(letters) as f64 / 2.0;
    let is_last = at + 1 == of;
    if is_last && middle + half > RIGHT { (RIGHT, Anchor::End) } else { (middle, Anchor::Middle) }
}

/// A name in two lines where it is too long for one, parted at a comma or colon, or between words.
fn in_lines(name: &str, letters: usize) -> Vec<&str> {
    if name.chars().count() <= letters {
        return vec![name];
    }
    let mut parts = name.match_indices([',', ':']).map(|(at, _)| at + 1);
    let mut words = name.match_indices(' ').map(|(at, _)| at);
    // Bytes up to the first letter that is too much.
    let most = name.char_indices().nth(letters).map_or(name.len(), |(at, _)| at);
    match parts.rfind(|at| *at <= most).or_else(|| words.rfind(|at| *at <= most)) {
        Some(at) => vec![&name[..at], name[at..].trim_start()],
        None => vec![name],
    }
}

/// What the shades mean, below the map; where that ends.
fn legend(svg: &mut Svg, top: f64) -> f64 {
    let mut x = 6.0;
    svg.text("axis", (x, top + 9.0), Anchor::Start, "against the first:");
    x += 96.0;
    for (class, says) in [
        ("better1", "better"),
        ("alike", "5 %"),
        ("worse1", "worse"),
        ("worse2", "15 %"),
        ("worse3", "30 %"),
    ] {
        svg.rect(class, (x, top), (14.0, 11.0), "");
        svg.text("axis", (x + 18.0, top + 9.0), Anchor::Start, says);
        x += 52.0;
    }
    top + 17.0
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
pub(super) fn shade(better: Option<f64>) -> &'static str {
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
            open: None,
        };
        let fields = [field("node 0", "node 0", Some(1.0)), field("node 1", "node 0", Some(0.6))];
        let drawn = draw("TCP", &fields);
        assert_eq!(drawn.matches("</title>").count(), 2);
        assert_eq!(
            drawn.matches("class=\"alike\"").count(),
            2,
            "its field, and the legend: {drawn}"
        );
        assert_eq!(drawn.matches("class=\"worse3\"").count(), 2, "{drawn}");
        assert_eq!(draw("TCP", &[]), "");
        // What its runs do not show has no colour, and the legend says why.
        let unclear = Field { open: Some("grey: too few runs"), ..fields[1].clone() };
        let drawn = draw("TCP", &[fields[0].clone(), unclear]);
        assert_eq!(drawn.matches("class=\"worse3\"").count(), 1, "the legend's: {drawn}");
        assert_eq!(drawn.matches("class=\"unclear\"").count(), 2, "{drawn}");
        assert!(drawn.contains(">grey: too few runs<"), "{drawn}");
    }

    #[test]
    fn long_names_are_parted_and_the_last_column_ends_inside() {
        let two = in_lines("eth0: node 1, memory 0, irq 0", 24);
        assert_eq!(two, ["eth0: node 1, memory 0,", "irq 0"]);
        assert_eq!(in_lines("node 1, irq 0", 24), ["node 1, irq 0"]);
        assert_eq!(in_lines(&"x".repeat(30), 24).len(), 1);
        let two = in_lines("an adapter on each node, both at once", 21);
        assert_eq!(two, ["an adapter on each", "node, both at once"]);
        let (x, _) = column_name(3, 4, 55.0, "node 0, memory 1", 18);
        assert_eq!(x, RIGHT);
        let (x, _) = column_name(0, 4, 55.0, "node 0", 18);
        assert_eq!(x, LEFT + 27.5);
    }
}
