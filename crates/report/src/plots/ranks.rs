//! What an application reaches by ranks, both axes logarithmic, with intervals: a straight line
//! down is all of the speed-up. Points with more ranks than cores are crosses, on no line.

use super::curves::{BOTTOM, LEFT, RIGHT, Scale, TOP, key, ordinate};
use super::svg::Anchor;
use super::{Svg, WIDTH};
use crate::words;
use narrows_model::result::Estimate;
use narrows_model::units::Unit;
use std::collections::BTreeSet;

/// Half the width of a cross.
const CROSS: f64 = 3.5;

/// One number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// Time or rate with its interval.
    pub figure: Estimate,
    /// Whether each rank had a CPU.
    pub is_scaling: bool,
}

/// One fabric over ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the fabric.
    pub name: String,
    /// Its points, ascending.
    pub points: Vec<Point>,
}

/// Draws the lines; nothing without points.
pub fn draw(title: &str, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|one| &one.points);
    let Some(first) = points().next() else { return String::new() };
    let unit = first.figure.unit;
    let x = Scale::of(points().map(|point| f64::from(point.ranks)), LEFT + 8.0, RIGHT - 8.0);
    let ends = points().flat_map(|point| [point.figure.low, point.figure.high]);
    let y = Scale::of(ends, BOTTOM, TOP);
    let mut svg = Svg::new(WIDTH, title);
    ordinate(&mut svg, &y, unit);
    svg.text("axis", (4.0, 10.0), Anchor::Start, "run time, or rate");
    for (at, one) in series.iter().enumerate() {
        line(&mut svg, at, one, (&x, &y), unit);
    }
    let ranks: BTreeSet<u32> = points().map(|point| point.ranks).collect();
    for ranks in ranks {
        let at = x.at(f64::from(ranks));
        svg.text("axis", (at, BOTTOM + 14.0), Anchor::Middle, &ranks.to_string());
    }
    svg.text("axis", (RIGHT, BOTTOM + 28.0), Anchor::End, "ranks");
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    let mut height = key(&mut svg, &names, BOTTOM + 44.0);
    if points().any(|point| !point.is_scaling) {
        let says = "x: more ranks than cores, no point of scaling";
        svg.text("small", (LEFT, height), Anchor::Start, says);
        height += 15.0;
    }
    svg.finish(height)
}

fn line(svg: &mut Svg, at: usize, one: &Series, (x, y): (&Scale, &Scale), unit: Unit) {
    let (colour, dot) = super::curves::classes(at);
    let place = |point: &Point| (x.at(f64::from(point.ranks)), y.at(point.figure.value));
    let scaling: Vec<(f64, f64)> =
        one.points.iter().filter(|point| point.is_scaling).map(place).collect();
    svg.path(&colour, &scaling);
    for point in &one.points {
        let (left, middle) = place(point);
        svg.line(&colour, (left, y.at(point.figure.low)), (left, y.at(point.figure.high)));
        if point.is_scaling {
            let value = words::value(point.figure.value, unit);
            svg.dot(&dot, (left, middle), &format!("{}, {}: {value}", one.name, point.ranks));
        } else {
            for sign in [1.0, -1.0] {
                let from = (left - CROSS, middle - sign * CROSS);
                svg.line(&colour, from, (left + CROSS, middle + sign * CROSS));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::result::Method;

    #[test]
    fn oversubscribed_points_are_on_no_line() {
        let point = |ranks: u32, value: f64, is_scaling| {
            let (n, by) = (6, Method::MedianOrderStatistic);
            let (low, high) = (0.9 * value, 1.1 * value);
            let figure = Estimate { value, low, high, unit: Unit::Nanos, n, by };
            Point { ranks, figure, is_scaling }
        };
        let points = vec![point(1, 1e9, true), point(2, 6e8, true), point(4, 7e8, false)];
        let drawn = draw("LAMMPS", &[Series { name: "shm".into(), points }]);
        let line = drawn.split("<polyline").nth(1).and_then(|rest| rest.split("/>").next());
        assert_eq!(line.expect("a line").matches(',').count(), 2, "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 2, "{drawn}");
        assert!(drawn.contains("no point of scaling"), "{drawn}");
        assert_eq!(draw("none", &[]), "");
        // All times alike, and between two marks: one of them tells what they are.
        let points = vec![point(1, 3.1e9, true), point(2, 3.1e9, true)];
        let drawn = draw("flat", &[Series { name: "shm".into(), points }]);
        assert_eq!(drawn.matches("class=\"grid\"").count(), 1, "{drawn}");
        assert!(drawn.contains(">run time, or rate<"), "{drawn}");
    }
}
