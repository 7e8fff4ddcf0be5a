//! The classes of one end's CPU time, the largest first, with the sum of each and all before it.

use super::svg::Anchor;
use super::{Svg, WIDTH};
use narrows_profile::{Breakdown, ClassShare};

/// As wide as the longest name of a class.
const LEFT: f64 = 164.0;
const RIGHT: f64 = WIDTH - 44.0;
const TOP: f64 = 6.0;
const ROW: f64 = 20.0;
/// A smaller share is no wider than the line around its bar.
const SMALL: f64 = 0.0005;

/// Bars of the classes and a line of their sums, from 0 to 100 %.
pub fn draw(title: &str, breakdown: &Breakdown) -> String {
    let shown: Vec<&ClassShare> =
        breakdown.classes.iter().filter(|one| one.share >= SMALL).collect();
    let bottom = TOP + ROW * shown.len() as f64;
    let mut svg = Svg::new(WIDTH, title);
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        svg.line("grid", (at(tick), TOP), (at(tick), bottom));
        svg.text("axis", (at(tick), bottom + 14.0), Anchor::Middle, &percent(tick));
    }
    let mut sums = Vec::new();
    for (row, one) in shown.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        let middle = top + ROW / 2.0;
        svg.text("inside", (LEFT - 6.0, middle + 4.0), Anchor::End, one.class.name());
        let tip =
            format!("{}: {:.1} %, +-{:.1} %", one.class, 100.0 * one.share, 100.0 * one.by_chance);
        let size = (at(one.share) - LEFT, ROW - 6.0);
        svg.rect(&format!("p-{}", one.class.key()), (LEFT, top + 3.0), size, &tip);
        let share = format!("{:.1} %", 100.0 * one.share);
        svg.text("value", (WIDTH - 2.0, middle + 4.0), Anchor::End, &share);
        sums.push((at(one.cumulative), middle));
    }
    svg.path("curve", &sums);
    for ((x, y), one) in sums.iter().zip(&shown) {
        svg.dot("single", (*x, *y), &format!("sum {:.1} %", 100.0 * one.cumulative));
    }
    svg.finish(bottom + 22.0)
}

fn at(share: f64) -> f64 {
    LEFT + share * (RIGHT - LEFT)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
