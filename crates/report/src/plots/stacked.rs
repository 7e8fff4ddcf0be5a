//! Every profiled end as one bar of its classes, one below the other on a common axis: message
//! sizes and both ends are compared at a glance.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use narrows_profile::{Breakdown, Class, TrialProfile};

const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 6.0;
const ROW: f64 = 38.0;
/// Height of a line of the key.
const KEY: f64 = 16.0;
/// Characters of a label.
const LABEL: usize = 44;

/// A bar for each end that has samples.
pub fn draw(title: &str, profiles: &[TrialProfile]) -> String {
    let rows: Vec<(String, &Breakdown)> = profiles
        .iter()
        .flat_map(|one| one.ends.iter().map(move |end| (one, end)))
        .filter_map(|(one, end)| {
            Some((format!("{}, {}", one.label, end.name()), end.breakdown.as_ref()?))
        })
        .collect();
    let mut svg = Svg::new(WIDTH, title);
    for (row, (label, breakdown)) in rows.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        svg.text("label", (LEFT, top + 11.0), Anchor::Start, &short(label, LABEL));
        bar(&mut svg, breakdown, top + 16.0);
    }
    let bottom = TOP + ROW * rows.len() as f64 + 8.0;
    let height = key(&mut svg, &rows, bottom);
    svg.finish(height)
}

fn bar(svg: &mut Svg, breakdown: &Breakdown, top: f64) {
    let mut from = LEFT;
    for one in in_order(breakdown) {
        let width = one.1 * (RIGHT - LEFT);
        let tip = format!("{}: {:.1} %", one.0, 100.0 * one.1);
        svg.rect(&format!("p-{}", one.0.key()), (from, top), (width, 16.0), &tip);
        if one.1 >= 0.08 {
            let share = format!("{:.0}", 100.0 * one.1);
            svg.text("inside", (from + width / 2.0, top + 12.0), Anchor::Middle, &share);
        }
        from += width;
    }
}

/// The classes in the order of the table, so that a class is at the same place in every bar.
fn in_order(breakdown: &Breakdown) -> Vec<(Class, f64)> {
    let mut all: Vec<(Class, f64)> =
        breakdown.classes.iter().map(|one| (one.class, one.share)).collect();
    all.sort_by_key(|(class, _)| *class);
    all
}

/// The classes that are seen, two a line; where it ends.
fn key(svg: &mut Svg, rows: &[(String, &Breakdown)], top: f64) -> f64 {
    let shares = rows.iter().flat_map(|(_, breakdown)| in_order(breakdown));
    // All of them: a colour in a bar that the key lacks says nothing.
    let mut seen: Vec<Class> =
        shares.filter(|(_, share)| *share > 0.0).map(|(class, _)| class).collect();
    seen.sort();
    seen.dedup();
    for (at, class) in seen.iter().enumerate() {
        let (column, line) = (at % 2, at / 2);
        let (left, top) = (LEFT + column as f64 * WIDTH / 2.0, top + KEY * line as f64);
        svg.rect(&format!("p-{}", class.key()), (left, top), (10.0, 10.0), "");
        svg.text("small", (left + 15.0, top + 9.0), Anchor::Start, class.name());
    }
    top + KEY * seen.len().div_ceil(2) as f64 + 4.0
}
