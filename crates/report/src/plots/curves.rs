//! What several tests reach by message size, both axes logarithmic, with intervals; below, what the
//! busiest thread of either end does for it.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use crate::words;
use narrows_model::Bytes;
use narrows_model::units::Unit;

pub(super) const LEFT: f64 = 58.0;
pub(super) const RIGHT: f64 = WIDTH - 8.0;
pub(super) const TOP: f64 = 14.0;
pub(super) const BOTTOM: f64 = 196.0;
/// Height of a row of bars.
const BARS: f64 = 34.0;
/// A bar is no wider.
const BAR_MAX: f64 = 9.0;
/// Room between two rows.
const GAP: f64 = 16.0;
/// Colours that lines have; more series begin again.
const COLOURS: usize = 8;

/// One size of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes of a message.
    pub size: Bytes,
    /// Median, in the figure's unit.
    pub median: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// CPU use of the whole host of the sender and of the receiver, share of all its CPUs: what the
    /// busiest thread uses is said in tables, and many threads can fill a host with little each.
    pub cpu: [Option<f64>; 2],
}

/// One test over sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the test.
    pub name: String,
    /// Its sizes, ascending.
    pub points: Vec<Point>,
}

/// A logarithmic scale of one axis.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    pub(super) fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = (low.ln(), high.ln());
        let spare = ((high - low) * 0.04).max(0.05);
        Self { low: low - spare, high: high + spare, from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value.max(1e-30).ln() - self.low) / (self.high - self.low).max(1e-9);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value.ln())
    }
}

/// Draws the lines; nothing without points.
pub fn draw(title: &str, unit: Unit, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|one| &one.points);
    if points().next().is_none() {
        return String::new();
    }
    let x = Scale::of(points().map(|point| point.size.0 as f64), LEFT + 8.0, RIGHT - 8.0);
    let y = Scale::of(points().flat_map(|point| [point.low, point.high]), BOTTOM, TOP);
    let mut svg = Svg::new(WIDTH, title);
    ordinate(&mut svg, &y, unit);
    let sizes = sizes(series);
    for (at, one) in series.iter().enumerate() {
        line(&mut svg, at, one, &x, &y, unit);
    }
    let mut bottom = BOTTOM;
    for (end, name) in
        ["CPU of the sender's host", "CPU of the receiver's host"].into_iter().enumerate()
    {
        if points().any(|point| point.cpu[end].is_some()) {
            bottom += GAP + BARS;
            bars(&mut svg, series, &x, (end, name), bottom);
        }
    }
    let every = sizes.len().div_ceil(8).max(1);
    for size in sizes.iter().step_by(every) {
        let at = x.at(size.0 as f64);
        svg.text("axis", (at, bottom + 14.0), Anchor::Middle, &size.to_string());
    }
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    let height = key(&mut svg, &names, bottom + 30.0);
    svg.finish(height)
}

/// Marks at 1, 2 and 5 of each decade; at whole decades alone where there are many.
pub(super) fn ordinate(svg: &mut Svg, y: &Scale, unit: Unit) {
    let decades = (y.high - y.low) / std::f64::consts::LN_10;
    let multiples: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (-3..=15).flat_map(|decade| multiples.iter().map(move |of| 10f64.powi(decade) * of));
    let mut marks: Vec<f64> = all.filter(|value| y.holds(*value)).collect();
    if marks.is_empty() {
        // All values lie between two marks: their middle tells what they are.
        marks.push(((y.low + y.high) / 2.0).exp());
    }
    for value in marks {
        svg.line("grid", (LEFT, y.at(value)), (RIGHT, y.at(value)));
        let label = words::value(value, unit).replace(".00 ", " ").replace(".0 ", " ");
        svg.text("axis", (LEFT - 4.0, y.at(value) + 4.0), Anchor::End, &label);
    }
}

fn sizes(series: &[Series]) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> =
        series.iter().flat_map(|one| &one.points).map(|point| point.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn line(svg: &mut Svg, at: usize, one: &Series, x: &Scale, y: &Scale, unit: Unit) {
    let (colour, dots) = classes(at);
    let place = |point: &Point| (x.at(point.size.0 as f64), y.at(point.median));
    let points: Vec<(f64, f64)> = one.points.iter().map(place).collect();
    svg.path(&colour, &points);
    for point in &one.points {
        let (left, middle) = place(point);
        svg.line(&colour, (left, y.at(point.low)), (left, y.at(point.high)));
        let tip = format!("{}, {}: {}", one.name, point.size, words::value(point.median, unit));
        svg.dot(&dots, (left, middle), &tip);
    }
}

/// A row of bars, from an idle host to a full one.
fn bars(svg: &mut Svg, series: &[Series], x: &Scale, (end, name): (usize, &str), bottom: f64) {
    svg.line("grid", (LEFT, bottom), (RIGHT, bottom));
    svg.line("grid", (LEFT, bottom - BARS), (RIGHT, bottom - BARS));
    svg.text("axis", (LEFT - 4.0, bottom - BARS + 4.0), Anchor::End, "100 %");
    svg.text("axis", (LEFT, bottom - BARS - 3.0), Anchor::Start, name);
    let middles: Vec<f64> = sizes(series).iter().map(|size| x.at(size.0 as f64)).collect();
    for (at, one) in series.iter().enumerate() {
        for point in &one.points {
            let Some(share) = point.cpu[end] else { continue };
            let middle = x.at(point.size.0 as f64);
            let width = (0.9 * room(&middles, middle) / series.len() as f64).min(BAR_MAX);
            let left = middle + (at as f64 - series.len() as f64 / 2.0) * width;
            let height = share.clamp(0.0, 1.0) * BARS;
            let tip = format!("{}, {}: {:.0} %", one.name, point.size, 100.0 * share);
            svg.rect(&classes(at).1, (left, bottom - height), (width, height), &tip);
        }
    }
}

/// What the bars of all tests may take around a size: half of the way to each neighbour, and to the
/// frame all of it.
fn room(middles: &[f64], middle: f64) -> f64 {
    let apart = middles.iter().map(|other| (other - middle).abs()).filter(|apart| *apart > 0.0);
    apart.chain([2.0 * (middle - LEFT), 2.0 * (RIGHT - middle)]).fold(f64::MAX, f64::min)
}

/// The names of the lines, a line each; where it ends.
pub(super) fn key(svg: &mut Svg, names: &[&str], top: f64) -> f64 {
    for (at, name) in names.iter().enumerate() {
        let y = top + 15.0 * at as f64;
        svg.line(&classes(at).0, (LEFT, y - 4.0), (LEFT + 18.0, y - 4.0));
        svg.text("small", (LEFT + 24.0, y), Anchor::Start, &short(name, 46));
    }
    top + 15.0 * names.len() as f64
}

/// Classes of the line and of the dots of a series.
pub(super) fn classes(at: usize) -> (String, String) {
    (format!("line{}", at % COLOURS), format!("dot{}", at % COLOURS))
}
