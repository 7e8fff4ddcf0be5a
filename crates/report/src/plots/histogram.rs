//! How many pairs of a mesh have which figure: most of a sound network stand together, and what
//! stands apart is looked for.

use super::svg::Anchor;
use super::{Svg, WIDTH, ticks};
use crate::words;
use narrows_model::units::Unit;

const LEFT: f64 = 34.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 130.0;
/// Bars from the least to the most.
const BARS: usize = 24;

/// Draws it from 0 to the largest; nothing of no figure.
pub fn draw(title: &str, unit: Unit, values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    if values.is_empty() || !most.is_finite() || most <= 0.0 {
        return String::new();
    }
    let counts = counts(values, most);
    let highest = counts.iter().copied().max().unwrap_or(1).max(1);
    let (wide, high) = ((RIGHT - LEFT) / BARS as f64, BOTTOM - TOP);
    let mut svg = Svg::new(WIDTH, title);
    for tick in ticks(0.0, highest as f64, 4).into_iter().filter(|tick| tick.fract() == 0.0) {
        let y = BOTTOM - high * tick / highest as f64;
        svg.line("grid", (LEFT, y), (RIGHT, y));
        svg.text("axis", (LEFT - 5.0, y + 3.5), Anchor::End, &format!("{tick:.0}"));
    }
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let tall = high * *count as f64 / highest as f64;
        let [low, high] = [at, at + 1].map(|at| most * at as f64 / BARS as f64);
        let [low, high] = [low, high].map(|edge| words::value(edge, unit));
        let tip = format!("{} from {low} to {high}", words::counted(*count, "pair"));
        let place = (LEFT + wide * at as f64 + 0.5, BOTTOM - tall);
        svg.rect("bar", place, (wide - 1.0, tall), &tip);
    }
    svg.line("frame", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    svg.text("axis", (LEFT, BOTTOM + 14.0), Anchor::Start, "0");
    svg.text("axis", (RIGHT, BOTTOM + 14.0), Anchor::End, &words::value(most, unit));
    svg.text("axis", ((LEFT + RIGHT) / 2.0, BOTTOM + 14.0), Anchor::Middle, "pairs by figure");
    svg.finish(BOTTOM + 22.0)
}

fn counts(values: &[f64], most: f64) -> [usize; BARS] {
    let mut counts = [0; BARS];
    for value in values {
        let at = (value.max(0.0) / most * BARS as f64) as usize;
        counts[at.min(BARS - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_in_one_bar_and_the_slow_stand_apart() {
        let all = [10e9, 9.9e9, 9.8e9, 2e9];
        let bars = counts(&all, 10e9);
        assert_eq!(bars.iter().sum::<usize>(), all.len());
        assert_eq!((bars[BARS - 1], bars[4]), (3, 1));
        let drawn = draw("Rates", Unit::BitsPerSecond, &all);
        assert!(drawn.contains("3 pairs from") && drawn.contains("1 pair from"), "{drawn}");
        assert!(drawn.contains(">10.0 Gb/s<"), "{drawn}");
        assert_eq!(draw("Rates", Unit::BitsPerSecond, &[]), "");
    }
}
