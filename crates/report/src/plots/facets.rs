//! Speed-up by ranks, a facet an application, one above the other: all have one pair of axes, both
//! logarithmic, and a fabric has one colour in all. The dashed line is all of the speed-up. Points
//! with more ranks than cores are crosses, on no line.

use super::curves::{Scale, classes, key};
use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use narrows_model::result::Estimate;
use narrows_model::units::three_digits;
use std::collections::BTreeSet;

const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - 8.0;
const FACET: f64 = 150.0;
/// Of a facet, what its name takes.
const NAME: f64 = 20.0;
/// Half the width of a cross.
const CROSS: f64 = 3.5;
/// Marks of the ordinate that can be.
const MARKS: [f64; 19] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0,
    4096.0, 8192.0, 16384.0, 32768.0,
];

/// One number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// How many times faster than the base, with its interval.
    pub times: Estimate,
    /// Time or rate, for people.
    pub says: String,
    /// Whether each rank had a CPU.
    pub is_scaling: bool,
}

/// One fabric over ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the fabric, the same in all facets that have it.
    pub name: String,
    /// Its points, ascending.
    pub points: Vec<Point>,
}

/// One application over its fabrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// The application, and what its speed-up is against.
    pub name: String,
    /// Ranks of the runs that others are compared with.
    pub base_ranks: Option<u32>,
    pub series: Vec<Series>,
}

impl Facet {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|one| &one.points)
    }

    /// What the most ranks that had a CPU each could reach.
    fn all_speed_up(&self) -> Option<f64> {
        let ranks = self.points().filter(|point| point.is_scaling).map(|point| point.ranks).max();
        Some(f64::from(ranks?) / f64::from(self.base_ranks?)).filter(|times| *times > 1.0)
    }
}

fn points(facets: &[Facet]) -> impl Iterator<Item = &Point> {
    facets.iter().flat_map(Facet::points)
}

/// Draws them; nothing without points.
pub fn draw(title: &str, facets: &[Facet]) -> String {
    if points(facets).next().is_none() {
        return String::new();
    }
    let ranks: BTreeSet<u32> = points(facets).map(|point| point.ranks).collect();
    let x = Scale::of(ranks.iter().map(|ranks| f64::from(*ranks)), LEFT + 8.0, RIGHT - 8.0);
    let mut names: Vec<&str> = Vec::new();
    for one in facets.iter().flat_map(|facet| &facet.series) {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let mut svg = Svg::new(WIDTH, title);
    for (at, facet) in facets.iter().enumerate() {
        let top = FACET * at as f64;
        let ends = points(facets).flat_map(|point| [point.times.low, point.times.high]);
        let all = facets.iter().filter_map(Facet::all_speed_up);
        let y = Scale::of(ends.chain(all).chain([1.0]), top + FACET - 6.0, top + NAME);
        frame(&mut svg, facet, top, (&x, &y));
        for one in &facet.series {
            let colour = names.iter().position(|name| *name == one.name).unwrap_or(0);
            line(&mut svg, colour, one, (&x, &y));
        }
    }
    let bottom = FACET * facets.len() as f64;
    let mut told = f64::MIN;
    for ranks in ranks {
        let at = x.at(f64::from(ranks));
        // Numbers that would lie on each other are left out.
        if at - told > 22.0 {
            svg.text("axis", (at, bottom + 8.0), Anchor::Middle, &ranks.to_string());
            told = at;
        }
    }
    svg.text("axis", (RIGHT, bottom + 22.0), Anchor::End, "ranks");
    svg.text("axis", (LEFT, bottom + 22.0), Anchor::Start, "speed-up, times");
    let mut height = key(&mut svg, &names, bottom + 38.0);
    svg.text("small", (LEFT, height), Anchor::Start, "dashed: all of the speed-up");
    height += 15.0;
    if points(facets).any(|point| !point.is_scaling) {
        let says = "x: more ranks than cores, no point of scaling";
        svg.text("small", (LEFT, height), Anchor::Start, says);
        height += 15.0;
    }
    svg.finish(height)
}

/// Name, marks and the line of all speed-up of a facet.
fn frame(svg: &mut Svg, facet: &Facet, top: f64, (x, y): (&Scale, &Scale)) {
    svg.text("label", (LEFT, top + 12.0), Anchor::Start, &short(&facet.name, 50));
    for mark in MARKS.into_iter().filter(|mark| y.holds(*mark)) {
        svg.line("grid", (LEFT, y.at(mark)), (RIGHT, y.at(mark)));
        svg.text("axis", (LEFT - 4.0, y.at(mark) + 4.0), Anchor::End, &mark.to_string());
    }
    let Some(base) = facet.base_ranks.map(f64::from) else { return };
    let Some(all) = facet.all_speed_up() else { return };
    svg.line("ideal", (x.at(base), y.at(1.0)), (x.at(base * all), y.at(all)));
}

fn line(svg: &mut Svg, colour: usize, one: &Series, (x, y): (&Scale, &Scale)) {
    let (colour, dot) = classes(colour);
    let place = |point: &Point| (x.at(f64::from(point.ranks)), y.at(point.times.value));
    let scaling: Vec<(f64, f64)> =
        one.points.iter().filter(|point| point.is_scaling).map(place).collect();
    svg.path(&colour, &scaling);
    for point in &one.points {
        let (left, middle) = place(point);
        svg.line(&colour, (left, y.at(point.times.low)), (left, y.at(point.times.high)));
        if point.is_scaling {
            let times = three_digits(point.times.value);
            let tip = format!("{}, {} ranks: {times} x, {}", one.name, point.ranks, point.says);
            svg.dot(&dot, (left, middle), &tip);
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
    use narrows_model::units::Unit;

    fn series(name: &str, points: &[(u32, f64, bool)]) -> Series {
        let point = |(ranks, value, is_scaling): &(u32, f64, bool)| {
            let (low, high, by) = (value * 0.9, value * 1.1, Method::MedianRatio);
            let times = Estimate { value: *value, low, high, unit: Unit::Share, n: 6, by };
            Point { ranks: *ranks, times, says: "1 s".to_owned(), is_scaling: *is_scaling }
        };
        Series { name: name.to_owned(), points: points.iter().map(point).collect() }
    }

    fn facet(name: &str, series: Vec<Series>) -> Facet {
        Facet { name: name.to_owned(), base_ranks: Some(1), series }
    }

    /// Heights of the dots of a facet above its foot.
    fn heights(drawn: &str, facet: usize) -> Vec<f64> {
        let dots = drawn.split("<circle").skip(1);
        let y = dots.filter_map(|dot| dot.split("cy=\"").nth(1)?.split('"').next()?.parse().ok());
        let from = FACET * facet as f64;
        let own = y.filter(|y: &f64| (from..from + FACET).contains(y));
        own.map(|y| from + FACET - y).collect()
    }

    #[test]
    fn facets_have_one_axis_and_fabrics_one_colour() {
        let near = facet("near", vec![series("shm", &[(1, 1.0, true), (2, 1.9, true)])]);
        let far = facet(
            "far",
            vec![
                series("tcp", &[(1, 1.0, true), (2, 1.2, true), (8, 6.0, true)]),
                series("shm", &[(1, 1.0, true), (2, 1.9, true)]),
            ],
        );
        let drawn = draw("two", &[near, far]);
        let (first, second) = (heights(&drawn, 0), heights(&drawn, 1));
        assert_eq!((first.len(), second.len()), (2, 5), "{drawn}");
        // The same speed-up is as high in both, though the second reaches further.
        assert!((first[1] - second[4]).abs() < 0.2, "{first:?} {second:?}");
        assert_eq!(drawn.matches("class=\"dot0\"").count(), 4, "{drawn}");
        assert_eq!(drawn.matches("class=\"dot1\"").count(), 3, "{drawn}");
        assert_eq!(drawn.matches("class=\"ideal\"").count(), 2, "{drawn}");
        assert!(drawn.contains(">speed-up, times<") && drawn.contains(">ranks<"), "{drawn}");
    }

    #[test]
    fn more_ranks_than_cores_are_crosses_on_no_line() {
        let points = [(1, 1.0, true), (2, 1.8, true), (4, 1.5, false)];
        let drawn = draw("one", &[facet("a", vec![series("shm", &points)])]);
        let path = drawn.split("<polyline").nth(1).and_then(|rest| rest.split("/>").next());
        assert_eq!(path.expect("a line").matches(',').count(), 2, "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 2, "{drawn}");
        assert!(drawn.contains("no point of scaling"), "{drawn}");
        assert_eq!(draw("none", &[facet("a", Vec::new())]), "");
    }
}
