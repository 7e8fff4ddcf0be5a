//! Latency of memory by working set (the cache staircase) or by the load beside it: medians with
//! their intervals. The working set's axis is logarithmic, the load's is not.

use super::svg::Anchor;
use super::{Svg, WIDTH, ticks};
use narrows_model::Bytes;
use narrows_model::load::Role;
use narrows_model::trial::Trial;
use narrows_model::units::three_digits;
use narrows_model::workload::Metric;
use narrows_stats::Summary;
use std::collections::BTreeMap;

const LEFT: f64 = 48.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 190.0;

/// What the horizontal axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Working set in bytes.
    WorkingSet,
    /// Bytes a second that other threads read.
    Load,
}

/// One point: abscissa, median, interval, label.
struct Point<'a> {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
    label: &'a str,
}

/// The latency trials of a study that belong on an axis, all from the same CPUs to the same memory;
/// fewer than three are no curve.
pub fn of<'a>(trials: &[Trial], summaries: &'a [Summary], axis: Axis) -> Vec<&'a Summary> {
    let mut by_place: BTreeMap<(&[u32], Option<u32>), Vec<&Summary>> = BTreeMap::new();
    for (trial, summary) in trials.iter().zip(summaries) {
        let loaded = summary.background.is_some();
        let on_it = summary.metric == Metric::LoadToUse && loaded == (axis == Axis::Load);
        if on_it && summary.estimate.is_some() {
            let node = trial.params.memory.as_ref().and_then(|memory| memory.node);
            let place = (trial.place(Role::Receiver).cpus.0.as_slice(), node);
            by_place.entry(place).or_default().push(summary);
        }
    }
    // A matrix of nodes has one size a pair, and is no curve.
    let longest = by_place.into_values().max_by_key(Vec::len).unwrap_or_default();
    if longest.len() < 3 { Vec::new() } else { longest }
}

/// Draws the curve.
pub fn draw(title: &str, summaries: &[&Summary], axis: Axis) -> String {
    let mut svg = Svg::new(WIDTH, title);
    let mut points: Vec<Point<'_>> =
        summaries.iter().filter_map(|summary| point(summary, axis)).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return svg.finish(0.0);
    };
    let (left, right) = (first.x, last.x.max(first.x + 1e-9));
    let high = points.iter().map(|point| point.high).fold(1.0, f64::max) * 1.05;
    let x = |value: f64| LEFT + (value - left) / (right - left) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - (value / high).clamp(0.0, 1.0) * (BOTTOM - TOP);
    for tick in ticks(0.0, high, 6) {
        svg.line("grid", (LEFT, y(tick)), (RIGHT, y(tick)));
        svg.text("axis", (LEFT - 5.0, y(tick) + 4.0), Anchor::End, &short(tick));
    }
    abscissa(&mut svg, &points, axis, x);
    for point in &points {
        svg.line("run", (x(point.x), y(point.low)), (x(point.x), y(point.high)));
    }
    let line: Vec<(f64, f64)> = points.iter().map(|point| (x(point.x), y(point.y))).collect();
    svg.path("curve", &line);
    for point in &points {
        let tip = format!("{}: {} ns", point.label, three_digits(point.y));
        svg.dot("outlier", (x(point.x), y(point.y)), &tip);
    }
    svg.text("axis", (LEFT - 5.0, TOP - 2.0), Anchor::End, "ns");
    let says = match axis {
        Axis::WorkingSet => "working set",
        Axis::Load => "background reads, GB/s",
    };
    svg.text("axis", (RIGHT, BOTTOM + 30.0), Anchor::End, says);
    svg.finish(BOTTOM + 36.0)
}

/// A round number without needless digits.
fn short(tick: f64) -> String {
    format!("{}", (tick * 1e6).round() / 1e6)
}

fn point(summary: &Summary, axis: Axis) -> Option<Point<'_>> {
    let estimate = summary.estimate.as_ref()?;
    let x = match axis {
        Axis::WorkingSet => (summary.settings.sender()?.buffer_span_bytes.0.max(1) as f64).log2(),
        Axis::Load => summary.background.as_ref()?.value / 1e9,
    };
    Some(Point {
        x,
        y: estimate.value,
        low: estimate.low,
        high: estimate.high,
        label: &summary.label,
    })
}

fn abscissa(svg: &mut Svg, points: &[Point<'_>], axis: Axis, x: impl Fn(f64) -> f64) {
    let (left, right) = (points[0].x, points[points.len() - 1].x);
    let marks: Vec<(f64, String)> = match axis {
        Axis::Load => ticks(left, right, 6).iter().map(|t| (*t, short(*t))).collect(),
        Axis::WorkingSet => (10..50)
            .step_by(4)
            .map(|power| (f64::from(power), Bytes(1 << power).to_string()))
            .filter(|(at, _)| (left..=right).contains(at))
            .collect(),
    };
    for (at, label) in marks {
        svg.line("grid", (x(at), TOP), (x(at), BOTTOM));
        svg.text("axis", (x(at), BOTTOM + 15.0), Anchor::Middle, &label);
    }
}
