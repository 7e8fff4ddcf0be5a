//! Ceilings of one path as bars with their ranges, the bottleneck first, and what was measured as a
//! line across them.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use crate::words;
use narrows_model::result::Prediction;

const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 8.0;
const ROW: f64 = 38.0;
const TOP: f64 = 22.0;

/// The bars; empty when the path has no ceiling.
pub fn draw(prediction: &Prediction) -> String {
    let ranges = prediction.ceilings.iter().map(|ceiling| ceiling.range.value);
    let top = ranges.chain(prediction.measured.map(|m| m.value)).fold(0.0, f64::max) * 1.08;
    if top <= 0.0 || prediction.ceilings.is_empty() {
        return String::new();
    }
    let at = |value: f64| LEFT + (value / top).clamp(0.0, 1.0) * (RIGHT - LEFT);
    let what = if words::is_of_time(prediction) { "Parts" } else { "Ceilings" };
    let title = format!("{what} of {}, {}", prediction.path, prediction.protocol());
    let mut svg = Svg::new(WIDTH, &title);
    let bottom = TOP + ROW * prediction.ceilings.len() as f64;
    for (row, ceiling) in prediction.ceilings.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let bottleneck =
            ceiling.only_if.is_none() && prediction.bottleneck.as_ref() == Some(&ceiling.resource);
        let class = match (bottleneck, ceiling.only_if.is_some()) {
            (true, _) => "bar bottleneck",
            (_, true) => "bar conditional",
            _ => "bar",
        };
        let name = match &ceiling.only_if {
            Some(condition) => format!("{}, if {}", ceiling.resource, short(condition, 28)),
            None => ceiling.resource.to_string(),
        };
        svg.text("label", (LEFT, y + 12.0), Anchor::Start, &name);
        svg.text("value", (RIGHT, y + 12.0), Anchor::End, &words::middle(&ceiling.range));
        let length = at(ceiling.range.value) - LEFT;
        svg.rect(class, (LEFT, y + 17.0), (length, 12.0), &ceiling.says);
        let (low, high) = (at(ceiling.range.low), at(ceiling.range.high));
        if high - low > 1.0 {
            svg.line("whisker", (low, y + 23.0), (high, y + 23.0));
            svg.line("whisker", (low, y + 20.0), (low, y + 26.0));
            svg.line("whisker", (high, y + 20.0), (high, y + 26.0));
        }
    }
    if let Some(measured) = &prediction.measured {
        let x = at(measured.value);
        svg.line("measured", (x, TOP - 4.0), (x, bottom));
        let says = format!("measured {}", words::middle(measured));
        let anchor = if x > WIDTH / 2.0 { Anchor::End } else { Anchor::Start };
        svg.text("measured-text", (x, TOP - 9.0), anchor, &says);
    }
    svg.finish(bottom + 4.0)
}
