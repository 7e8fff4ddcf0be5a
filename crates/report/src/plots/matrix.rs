//! Pairs of hosts as a map: who sends is a row, who receives a column, both in one order. The
//! picture grows with its hosts, so that 64 of them can still be read: small fields have their
//! colour alone, and names of columns are turned.

use super::Svg;
use super::heat::shade;
use super::svg::{Anchor, short};

/// Room for the names of rows, and above for those of columns.
const LABELS: f64 = 108.0;
/// Letters that it holds.
const LETTERS: usize = 17;
/// The width of the map of few hosts.
const LEAST: f64 = 260.0;
/// Fields are as large as this at most, and as small as this.
const FIELD: std::ops::RangeInclusive<f64> = 12.0..=44.0;
/// A smaller field has no room for a figure.
const WITH_FIGURE: f64 = 24.0;
/// And one as small as this none for a word.
const WITH_WORD: f64 = 28.0;
/// What the figures of 24 hosts take; more hosts have colours alone.
const WITH_FIGURES: f64 = 24.0 * WITH_FIGURE;

/// What is known of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// How good it is against the best: 1 is as good.
    Share(f64),
    /// It gave no figure.
    Failed,
    /// One of its hosts is not there.
    Dead,
}

/// One pair, by the places of its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub from: usize,
    pub to: usize,
    pub known: Known,
    /// Its figure in words.
    pub says: String,
}

/// Draws the map; nothing of no pair.
pub fn draw(title: &str, names: &[String], fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let size = side(names.len());
    let map = size * names.len() as f64;
    let mut svg = Svg::new(LABELS + map.max(LEAST) + 6.0, title);
    for (at, name) in names.iter().enumerate() {
        let middle = LABELS + size * (at as f64 + 0.5) + 3.5;
        let name = short(name, LETTERS);
        svg.text("axis", (LABELS - 5.0, middle), Anchor::End, &name);
        svg.turned("axis", (middle, LABELS - 5.0), &name);
    }
    svg.text("axis", (4.0, 14.0), Anchor::Start, "rows send,");
    svg.text("axis", (4.0, 27.0), Anchor::Start, "columns receive");
    for field in fields {
        let [x, y] = [field.to, field.from].map(|at| LABELS + size * at as f64);
        let [from, to] = [field.from, field.to].map(|at| names.get(at).map_or("?", String::as_str));
        let tip = format!("{from} > {to}: {}", field.says);
        let (class, figure) = shown(field.known, size);
        svg.rect(class, (x + 0.5, y + 0.5), (size - 1.0, size - 1.0), &tip);
        if size >= WITH_FIGURE {
            let at = (x + size / 2.0, y + size / 2.0 + 3.5);
            svg.text("inside", at, Anchor::Middle, &figure);
        }
    }
    let height = legend(&mut svg, LABELS + map + 10.0);
    svg.finish(height)
}

/// The side of one field.
fn side(hosts: usize) -> f64 {
    let hosts = hosts.max(1) as f64;
    let of_few = (LEAST / hosts).clamp(*FIELD.start(), *FIELD.end());
    if of_few < WITH_FIGURE && hosts * WITH_FIGURE <= WITH_FIGURES { WITH_FIGURE } else { of_few }
}

/// The class of a field, and what stands in it; of a host that is not there its row is enough.
fn shown(known: Known, size: f64) -> (&'static str, String) {
    match known {
        Known::Share(share) => (shade(Some(share)), format!("{:.0}", 100.0 * share)),
        Known::Failed => ("near", (if size < WITH_WORD { "x" } else { "fail" }).to_owned()),
        Known::Dead => ("unclear", String::new()),
    }
}

/// What the shades mean, below the map in two lines; where that ends.
fn legend(svg: &mut Svg, top: f64) -> f64 {
    svg.text("axis", (6.0, top + 9.0), Anchor::Start, "per cent of the best:");
    let shades = [("alike", "95 or more"), ("worse1", "85 to 95"), ("worse2", "70 to 85")];
    entries(svg, top + 15.0, &shades);
    let others = [("worse3", "below 70"), ("near", "failed"), ("unclear", "dead")];
    entries(svg, top + 30.0, &others);
    top + 48.0
}

fn entries(svg: &mut Svg, top: f64, entries: &[(&str, &str)]) {
    for (at, (class, says)) in entries.iter().enumerate() {
        let x = 6.0 + 110.0 * at as f64;
        svg.rect(class, (x, top), (14.0, 11.0), "");
        svg.text("axis", (x + 18.0, top + 9.0), Anchor::Start, says);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(hosts: usize) -> String {
        let names: Vec<String> = (0..hosts).map(|at| format!("192.0.2.{at}")).collect();
        let mut fields = Vec::new();
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            let known = match (from, to) {
                (1, 0) => Known::Failed,
                (2, _) => Known::Dead,
                _ => Known::Share(0.97),
            };
            let says = "9.4 Gb/s".to_owned();
            fields.extend((from != to).then_some(Field { from, to, known, says }));
        }
        draw("Pairs", &names, &fields)
    }

    #[test]
    fn names_are_whole_and_figures_stand_where_they_have_room() {
        for hosts in [3, 8, 24] {
            let drawn = map(hosts);
            assert!(!drawn.contains('…'), "{hosts}: {drawn}");
            let figures = drawn.matches(">97<").count();
            assert_eq!(figures, (hosts - 1) * (hosts - 1) - 1, "{hosts}: but for one's own row");
            let fails = drawn.matches(">fail<").count() + drawn.matches(">x<").count();
            assert_eq!(fails, 1, "{hosts}");
            // A name is a row's and a column's.
            assert_eq!(drawn.matches(">192.0.2.1<").count(), 2, "{hosts}");
        }
        let large = map(64);
        assert!(!large.contains(">97<") && !large.contains('…'), "colours alone");
        assert_eq!(large.matches(">192.0.2.63<").count(), 2);
        assert!(side(64) >= 11.0, "as high as a name");
        assert_eq!(draw("", &[], &[]), "");
    }

    #[test]
    fn rows_and_columns_are_in_one_order() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let field = |from, to| Field { from, to, known: Known::Share(1.0), says: String::new() };
        let drawn = draw("", &names, &[field(0, 2), field(2, 0)]);
        let places = |text: &str| -> Vec<usize> {
            let of = |name: &str| drawn.find(&format!("{text}{name}<")).expect("a name");
            ["a", "b", "c"].map(of).to_vec()
        };
        assert!(places(">").is_sorted(), "{drawn}");
    }
}
