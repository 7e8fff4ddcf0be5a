//! Boxplots in rows with a common axis: quartiles of type 7, whiskers on data within 1.5
//! interquartile ranges (Tukey), outliers drawn, and every run as a faint tick below its box. Few
//! runs are dots.

use super::svg::Anchor;
use super::{BOX_RUNS_MIN, Svg, WIDTH, ticks};
use crate::words;
use narrows_model::units::Unit;
use narrows_model::units::three_digits;
use narrows_stats::Summary;

const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 6.0;
const ROW: f64 = 52.0;

/// Rows for the summaries that have values, which must share a unit.
pub fn draw(title: &str, summaries: &[&Summary]) -> String {
    let drawn: Vec<&&Summary> = summaries.iter().filter(|s| s.box_plot.is_some()).collect();
    let values = drawn.iter().flat_map(|summary| &summary.values).map(|value| value.value);
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let Some(unit) = drawn.first().and_then(|s| s.estimate).map(|e| e.unit) else {
        return String::new();
    };
    let margin = ((high - low) * 0.06).max(high.abs() * 0.01);
    let (low, high) = ((low - margin).max(0.0), high + margin);
    let at = |value: f64| LEFT + (value - low) / (high - low) * (RIGHT - LEFT);
    let mut svg = Svg::new(WIDTH, title);
    let bottom = TOP + ROW * drawn.len() as f64;
    for tick in ticks(low, high, 5) {
        svg.line("grid", (at(tick), TOP), (at(tick), bottom));
        svg.text("axis", (at(tick), bottom + 14.0), Anchor::Middle, &axis_label(tick, unit));
    }
    for (row, summary) in drawn.iter().enumerate() {
        one_row(&mut svg, summary, TOP + ROW * row as f64, &at, unit);
    }
    svg.text("axis", (RIGHT, bottom + 28.0), Anchor::End, axis_unit(unit));
    svg.finish(bottom + 34.0)
}

fn one_row(svg: &mut Svg, summary: &Summary, top: f64, at: &dyn Fn(f64) -> f64, unit: Unit) {
    let Some(plot) = &summary.box_plot else { return };
    let middle = top + 32.0;
    svg.text("label", (LEFT, top + 13.0), Anchor::Start, &summary.label);
    let middle_says = if words::is_nothing(plot.median, unit) {
        words::NOTHING.to_owned()
    } else {
        format!("median {}", words::value(plot.median, unit))
    };
    let median = format!("{middle_says}, n {}", summary.values.len());
    svg.text("value", (RIGHT, top + 13.0), Anchor::End, &median);
    if summary.values.len() < BOX_RUNS_MIN {
        for value in &summary.values {
            svg.dot("box", (at(value.value), middle), &words::value(value.value, unit));
        }
        svg.line("median", (at(plot.median), middle - 9.0), (at(plot.median), middle + 9.0));
        return ticks_of_runs(svg, summary, middle, at);
    }
    svg.line("whisker", (at(plot.whisker_low), middle), (at(plot.quartile_1), middle));
    svg.line("whisker", (at(plot.quartile_3), middle), (at(plot.whisker_high), middle));
    for end in [plot.whisker_low, plot.whisker_high] {
        svg.line("whisker", (at(end), middle - 5.0), (at(end), middle + 5.0));
    }
    let tip = format!(
        "quartiles {} and {}; whiskers {} and {}",
        words::value(plot.quartile_1, unit),
        words::value(plot.quartile_3, unit),
        words::value(plot.whisker_low, unit),
        words::value(plot.whisker_high, unit)
    );
    let (left, right) = (at(plot.quartile_1), at(plot.quartile_3));
    svg.rect("box", (left, middle - 9.0), ((right - left).max(1.0), 18.0), &tip);
    svg.line("median", (at(plot.median), middle - 9.0), (at(plot.median), middle + 9.0));
    for outlier in &plot.outliers {
        svg.dot(
            "outlier",
            (at(*outlier), middle),
            &format!("outlier {}", words::value(*outlier, unit)),
        );
    }
    ticks_of_runs(svg, summary, middle, at);
}

fn ticks_of_runs(svg: &mut Svg, summary: &Summary, middle: f64, at: &dyn Fn(f64) -> f64) {
    for value in &summary.values {
        let class = if value.noisy { "run noisy" } else { "run" };
        svg.line(class, (at(value.value), middle + 12.0), (at(value.value), middle + 16.0));
    }
}

fn axis_label(value: f64, unit: Unit) -> String {
    let scaled = match unit {
        Unit::Nanos | Unit::PerSecond => value / 1e3,
        Unit::Share => value,
        Unit::PacketsPerSecond => value / 1e6,
        _ => value / 1e9,
    };
    let text = three_digits(scaled);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn axis_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::BitsPerSecond => "Gb/s",
        Unit::BytesPerSecond => "GB/s",
        Unit::Nanos => "us",
        Unit::Share => "share",
        Unit::DatagramsPerSecond => "10^9 datagrams/s",
        Unit::PacketsPerSecond => "10^6 packets/s",
        Unit::PerSecond => "10^3/s",
        Unit::FlopsPerSecond => "Gflop/s",
    }
}
