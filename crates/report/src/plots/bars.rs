//! Bars with their intervals, one below the other from zero: a figure in each of a few placements.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use crate::words;
use narrows_model::units::Unit;

const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 76.0;
const ROW: f64 = 34.0;

/// A bar with its label and range.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    /// Its length, in the figure's unit.
    pub value: f64,
    /// Its interval, where there is one.
    pub interval: Option<(f64, f64)>,
}

/// Draws the bars; nothing without any.
pub fn draw(title: &str, unit: Unit, bars: &[Bar]) -> String {
    let ends = bars.iter().map(|bar| bar.interval.map_or(bar.value, |(_, high)| high));
    let high = ends.fold(0.0, f64::max);
    if bars.is_empty() || high <= 0.0 {
        return String::new();
    }
    let mut svg = Svg::new(WIDTH, title);
    let x = |value: f64| LEFT + value / high * (RIGHT - LEFT);
    for (at, bar) in bars.iter().enumerate() {
        let top = ROW * at as f64;
        let says = match unit {
            Unit::Share => format!("{:.0} %", 100.0 * bar.value),
            unit => words::value(bar.value, unit),
        };
        svg.text("axis", (LEFT, top + 12.0), Anchor::Start, &short(&bar.name, 56));
        svg.rect("box", (LEFT, top + 16.0), (x(bar.value) - LEFT, 13.0), &says);
        if let Some((low, high)) = bar.interval {
            svg.line("median", (x(low), top + 22.5), (x(high), top + 22.5));
        }
        svg.text("value", (RIGHT + 6.0, top + 27.0), Anchor::Start, &says);
    }
    svg.finish(ROW * bars.len() as f64 + 4.0)
}
