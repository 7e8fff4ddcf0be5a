//! Memory populations in one figure: a facet a panel, one above the other, with one axis for all of
//! a unit, each box coloured by how balanced its population is. Published figures stand beside.

use super::{Memory, Panel, PanelRow, StudyResults, plot};
use crate::plots::svg::{Anchor, short};
use crate::plots::{Svg, WIDTH, ticks};
use crate::{Analysis, words};
use narrows_model::units::Unit;

const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - 6.0;
const FACET: f64 = 118.0;
/// Of a facet, what its name takes.
const NAME: f64 = 18.0;
/// More levels than this are not all named.
const NAMED: usize = 12;

/// Classes of populations, the class of the style sheet that each has, and its word in the legend.
const CLASSES: [(Memory, &str, &str); 5] = [
    (Memory::Balanced, "balanced", "balanced"),
    (Memory::BalancedBySource, "balanced", "balanced"),
    (Memory::ControllersAlike, "alikes", "controllers alike"),
    (Memory::NearBalanced, "near", "near balanced"),
    (Memory::Uneven, "uneven", "unbalanced"),
];

/// Panels of one unit whose cells have populations that are known.
pub struct Faceted<'a> {
    /// Above the figure, and its name.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// A facet each.
    pub panels: Vec<&'a Panel>,
}

/// Figures of a study of memory populations, one a unit; none with one panel, whose own figure says
/// the same.
pub fn figures<'a>(results: &'a StudyResults) -> Vec<Faceted<'a>> {
    let mut all: Vec<Faceted<'a>> = Vec::new();
    for panel in &results.panels {
        if !panel.rows.iter().any(|row| row.memory.is_some() && row.median.is_some()) {
            continue;
        }
        match all.iter_mut().find(|one| one.unit == panel.unit) {
            Some(one) => one.panels.push(panel),
            None => {
                let title = format!("{} by memory population", words::metric(panel.metric));
                all.push(Faceted { title, unit: panel.unit, panels: vec![panel] });
            }
        }
    }
    all.retain(|one| one.panels.len() > 1);
    all
}

/// How a row's population is called.
pub fn class(row: &PanelRow) -> &'static str {
    let known = CLASSES.iter().find(|(memory, _, _)| Some(*memory) == row.memory);
    known.map_or("unknown", |(_, _, says)| says)
}

fn style(row: &PanelRow) -> &'static str {
    let known = CLASSES.iter().find(|(memory, _, _)| Some(*memory) == row.memory);
    known.map_or("box", |(_, class, _)| class)
}

impl Faceted<'_> {
    /// The figure as SVG.
    pub fn draw(&self, analysis: &Analysis<'_>, across: &str) -> String {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let seen = rows().flat_map(|row| &analysis.summaries[row.trial].values);
        let values = seen.map(|value| value.value).chain(rows().filter_map(|row| row.beside));
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return String::new();
        }
        let (low, high) = plot::span(low, high);
        let mut svg = Svg::new(WIDTH, &self.title);
        let mut top = legend(&mut svg, rows());
        for panel in &self.panels {
            facet(&mut svg, analysis, panel, top, (low, high));
            top += FACET;
        }
        let longest = self.panels.iter().max_by_key(|panel| panel.rows.len());
        let step = (RIGHT - LEFT) / longest.map_or(1, |panel| panel.rows.len().max(1)) as f64;
        for (at, row) in longest.iter().flat_map(|panel| panel.rows.iter().enumerate()) {
            let every = longest.map_or(1, |panel| panel.rows.len()).div_ceil(NAMED).max(1);
            if at % every == 0 {
                let middle = LEFT + step * (at as f64 + 0.5);
                let letters = ((step * every as f64 / 6.5) as usize).max(2);
                svg.text("axis", (middle, top + 12.0), Anchor::Middle, &short(&row.level, letters));
            }
        }
        svg.text("axis", ((LEFT + RIGHT) / 2.0, top + 28.0), Anchor::Middle, across);
        svg.finish(top + 35.0)
    }
}

/// What the colours mean, of those that there are; where that ends.
fn legend<'a>(svg: &mut Svg, rows: impl Iterator<Item = &'a PanelRow>) -> f64 {
    let there: Vec<&str> = rows.map(class).collect();
    let mut x = LEFT;
    let mut told: Vec<&str> = Vec::new();
    for (_, class, says) in CLASSES {
        if there.contains(&says) && !told.contains(&says) {
            told.push(says);
            svg.rect(class, (x, 4.0), (12.0, 10.0), "");
            svg.text("axis", (x + 16.0, 13.0), Anchor::Start, says);
            x += 24.0 + 6.0 * says.len() as f64;
        }
    }
    18.0
}

/// One panel between `top` and the next.
fn facet(svg: &mut Svg, analysis: &Analysis<'_>, panel: &Panel, top: f64, span: (f64, f64)) {
    let (low, high) = span;
    let (from, to) = (top + NAME, top + FACET - 4.0);
    let y = |value: f64| to - (value - low) / (high - low) * (to - from);
    let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
    let (scale, unit) = plot::scale(panel.unit, high);
    svg.text("label", (LEFT, top + 12.0), Anchor::Start, &short(title, 40));
    svg.text("axis", (4.0, top + 12.0), Anchor::Start, unit);
    for mark in ticks(low / scale, high / scale, 4) {
        let at = y(mark * scale);
        svg.line("grid", (LEFT, at), (RIGHT, at));
        let text = format!("{}", (mark * 1000.0).round() / 1000.0);
        svg.text("axis", (LEFT - 4.0, at + 4.0), Anchor::End, &text);
    }
    let step = (RIGHT - LEFT) / panel.rows.len().max(1) as f64;
    for (at, row) in panel.rows.iter().enumerate() {
        let middle = LEFT + step * (at as f64 + 0.5);
        let half = (step * 0.36).min(22.0);
        let summary = &analysis.summaries[row.trial];
        plot::one(svg, summary, (middle, half), &y, (panel.unit, style(row)));
        if let Some(beside) = row.beside {
            let tip = format!("reference: {}", words::value(beside, panel.unit));
            svg.rect("beside", (middle - 3.5, y(beside) - 3.5), (7.0, 7.0), &tip);
        }
    }
}
