//! How many times slower things are, over growing numbers of cores beside them: a line each with
//! its intervals, above one that stands for "as fast as alone".

use super::curves::{BOTTOM, LEFT, RIGHT, TOP, classes, key};
use super::svg::Anchor;
use super::{Svg, WIDTH, ticks};

/// What is slower by less is drawn at this height all the same.
const TIMES_MIN: f64 = 1.2;
/// Lines across the picture.
const GRID_LINES: usize = 4;

/// One number of cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub cores: u32,
    /// Times slower than alone.
    pub times: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the key.
    pub name: &'static str,
    /// Ascending by cores.
    pub points: Vec<Point>,
}

/// Where numbers of cores and slowdowns are drawn.
struct Axes {
    most: u32,
    low: f64,
    high: f64,
}

impl Axes {
    fn of(points: &[Point]) -> Self {
        Self {
            most: points.iter().map(|point| point.cores).max().unwrap_or(1).max(1),
            low: points.iter().map(|point| point.low).fold(1.0, f64::min),
            high: points.iter().map(|point| point.high).fold(TIMES_MIN, f64::max),
        }
    }

    fn x(&self, cores: u32) -> f64 {
        LEFT + 12.0 + f64::from(cores) / f64::from(self.most) * (RIGHT - LEFT - 24.0)
    }

    fn y(&self, times: f64) -> f64 {
        BOTTOM - (times - self.low) / (self.high - self.low) * (BOTTOM - TOP)
    }
}

/// Draws the lines; nothing without points.
pub fn draw(title: &str, lines: &[Line]) -> String {
    let points: Vec<Point> = lines.iter().flat_map(|line| line.points.iter().copied()).collect();
    if points.is_empty() {
        return String::new();
    }
    let axes = Axes::of(&points);
    let mut svg = Svg::new(WIDTH, title);
    for times in ticks(axes.low, axes.high, GRID_LINES) {
        svg.line("grid", (LEFT, axes.y(times)), (RIGHT, axes.y(times)));
        let says = format!("{times:.2} x");
        svg.text("axis", (LEFT - 4.0, axes.y(times) + 4.0), Anchor::End, &says);
    }
    svg.line("median", (LEFT, axes.y(1.0)), (RIGHT, axes.y(1.0)));
    for (at, line) in lines.iter().enumerate() {
        draw_line(&mut svg, at, line, &axes);
    }
    let every = axes.most.div_ceil(8).max(1) as usize;
    for cores in (0..=axes.most).step_by(every) {
        svg.text("axis", (axes.x(cores), BOTTOM + 16.0), Anchor::Middle, &cores.to_string());
    }
    svg.text("axis", (RIGHT, BOTTOM + 30.0), Anchor::End, "cores");
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    let height = key(&mut svg, &names, BOTTOM + 34.0);
    svg.finish(height)
}

/// One line from no core, where each is as fast as alone.
fn draw_line(svg: &mut Svg, at: usize, line: &Line, axes: &Axes) {
    let (colour, dots) = classes(at);
    let drawn = line.points.iter().map(|point| (axes.x(point.cores), axes.y(point.times)));
    let whole: Vec<(f64, f64)> = std::iter::once((axes.x(0), axes.y(1.0))).chain(drawn).collect();
    svg.path(&colour, &whole);
    for point in &line.points {
        let left = axes.x(point.cores);
        svg.line(&colour, (left, axes.y(point.low)), (left, axes.y(point.high)));
        let tip = format!("{}, {} cores: {:.2} x", line.name, point.cores, point.times);
        svg.dot(&dots, (left, axes.y(point.times)), &tip);
    }
}
