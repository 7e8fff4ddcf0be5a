//! Figures as inline SVG, drawn 360 units wide so that their text is readable on a telephone; wide
//! screens set several side by side. One figure a file.

pub mod bars;
pub mod boxes;
pub mod ceilings;
pub mod curve;
pub mod curves;
pub mod fabric;
pub mod facets;
pub mod flame;
pub mod heat;
pub mod histogram;
pub mod host;
#[cfg(test)]
mod kept_tests;
pub mod latency;
pub mod matrix;
pub mod pareto;
pub mod percentiles;
pub mod pipe;
pub mod population;
pub mod ranks;
pub mod slowdown;
pub mod stacked;
pub(crate) mod svg;
pub mod tried;

pub(crate) use svg::Svg;

/// Fewer runs are drawn each by itself: quartiles of them would look like a distribution.
pub(crate) const BOX_RUNS_MIN: usize = 6;

/// Width of every figure.
pub(crate) const WIDTH: f64 = 360.0;

/// Up to about `count` round numbers that cover `low` to `high`.
pub(crate) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let span = (high - low).max(f64::MIN_POSITIVE);
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power * 10.0);
    let mut ticks = Vec::new();
    let mut tick = (low / step).ceil() * step;
    while tick <= high + step * 1e-6 && ticks.len() < 50 {
        ticks.push(tick);
        tick += step;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert!(ticks(61.0, 88.0, 4).iter().all(|tick| (61.0..=88.0).contains(tick)));
        assert_eq!(ticks(5.0, 5.0, 4).len().min(2), ticks(5.0, 5.0, 4).len());
    }
}
