//! A study's panels side by side over one axis, as the published figures have them: a group of
//! boxes a panel, the levels below. Where populations of memory are known, each box has the colour
//! of its balance; published figures stand beside.

use super::names::title;
use super::{Memory, Panel, PanelRow, StudyResults, plot, sized};
use crate::drawn::canvas::wrap;
use crate::plots::svg::{Anchor, short};
use crate::plots::{Svg, WIDTH, ticks};
use crate::{Analysis, words};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;

/// As wide as two figures: four panels of twelve boxes are readable.
pub const WIDE: f64 = 2.0 * WIDTH;
const LEFT: f64 = 40.0;
const MARGIN: f64 = 6.0;
/// Height of the boxes' axis.
const PLOT: f64 = 190.0;
/// Above the boxes the panel's name: what is around it, and each of its lines.
const NAME: f64 = 7.0;
const NAME_LINE: f64 = 13.0;
/// Lines that a name may take; where one takes more, numbers stand for all of them.
const NAME_LINES: usize = 4;
/// Units that a letter of a name takes.
const NAME_LETTER: f64 = 8.0;
/// Below them, the levels.
const LEVELS: f64 = 20.0;
/// Between two panels of a row.
const GAP: f64 = 10.0;
/// A box narrower than this is no box.
const STEP_MIN: f64 = 9.0;
/// A panel narrower than this has no room for its name.
const PANEL_MIN: f64 = 100.0;
/// More panels than this are no overview.
const PANELS_MAX: usize = 24;

/// Classes of populations, the class of the style sheet that each has, and its word in the legend.
const CLASSES: [(Memory, &str, &str); 5] = [
    (Memory::Balanced, "balanced", "balanced"),
    (Memory::BalancedBySource, "balanced", "balanced"),
    (Memory::ControllersAlike, "alikes", "controllers alike"),
    (Memory::NearBalanced, "near", "near balanced"),
    (Memory::Uneven, "uneven", "unbalanced"),
];
/// What has no class stands apart from those that have one.
const UNKNOWN: (&str, &str) = ("other", "unknown");

/// Panels along one factor whose figures are of one kind.
pub struct Faceted<'a> {
    /// Above the figure, and its name.
    pub title: String,
    /// What all values are.
    pub metric: Metric,
    /// Unit of all values.
    pub unit: Unit,
    /// Side by side.
    pub panels: Vec<&'a Panel>,
}

/// The joint figures of a study, one for each kind of figure; none of one panel, whose own figure
/// says the same, and none of those along message sizes, which have curves.
pub fn figures<'a>(analysis: &Analysis<'_>, results: &'a StudyResults) -> Vec<Faceted<'a>> {
    let mut all: Vec<Faceted<'a>> = Vec::new();
    for panel in &results.panels {
        let is_measured = panel.rows.iter().any(|row| row.median.is_some());
        if !is_measured || panel.rows.len() < 2 || sized::is_curve(analysis, panel) {
            continue;
        }
        let kind = (panel.metric, panel.unit);
        match all.iter_mut().find(|one| (one.metric, one.unit) == kind) {
            Some(one) => one.panels.push(panel),
            None => {
                let title = format!("{} by {}", words::metric(panel.metric), results.across);
                let (metric, unit) = (panel.metric, panel.unit);
                all.push(Faceted { title, metric, unit, panels: vec![panel] });
            }
        }
    }
    all.retain(|one| (2..=PANELS_MAX).contains(&one.panels.len()));
    all
}

/// Whether joint figures have every value of a kind, so that a figure of all cells one below the
/// other adds nothing.
pub fn has_all(analysis: &Analysis<'_>, metric: Metric) -> bool {
    let Some(results) = &analysis.study else { return false };
    let drawn: Vec<usize> = figures(analysis, results)
        .iter()
        .flat_map(|one| one.panels.iter().flat_map(|panel| panel.rows.iter().map(|row| row.trial)))
        .collect();
    let all = analysis.summaries.iter().enumerate();
    let mut of = all.filter(|(_, summary)| summary.metric == metric && summary.estimate.is_some());
    of.all(|(at, _)| drawn.contains(&at))
}

/// How a row's population is called.
pub fn class(row: &PanelRow) -> &'static str {
    let known = CLASSES.iter().find(|(memory, _, _)| Some(*memory) == row.memory);
    known.map_or(UNKNOWN.1, |(_, _, says)| says)
}

fn style(row: &PanelRow, is_coloured: bool) -> &'static str {
    let known = CLASSES.iter().find(|(memory, _, _)| Some(*memory) == row.memory);
    let plain = if is_coloured { UNKNOWN.0 } else { "box" };
    known.map_or(plain, |(_, class, _)| class)
}

/// Where everything of a figure is drawn.
struct Layout {
    /// Panels a row of panels.
    count: usize,
    /// Width of one.
    panel: f64,
    /// Width of a level.
    step: f64,
    /// The axis that all share.
    low: f64,
    high: f64,
    /// Whether boxes have the colours of their populations.
    is_coloured: bool,
    /// Levels that letters stand for, whose names are too long for the axis; else none.
    key: Vec<String>,
    /// The lines of each panel's name.
    names: Vec<Vec<String>>,
    /// Names that numbers stand for, where they are too long; else none.
    numbered: Vec<String>,
}

impl Faceted<'_> {
    /// The figure as SVG, so wide; what does not fit side by side is in rows, with the same axis.
    pub fn draw(&self, analysis: &Analysis<'_>, results: &StudyResults, width: f64) -> String {
        let Some(layout) = self.layout(analysis, width) else { return String::new() };
        let mut svg = Svg::new(width, &self.title);
        let mut top = 4.0;
        if layout.is_coloured {
            top = legend(&mut svg, self.panels.iter().flat_map(|panel| &panel.rows));
        }
        let rows = self.panels.chunks(layout.count).zip(layout.names.chunks(layout.count));
        for (row, names) in rows {
            let right = LEFT + (layout.panel + GAP) * row.len() as f64 - GAP;
            axis(&mut svg, self.unit, &layout, top, right);
            for (at, (panel, name)) in row.iter().zip(names).enumerate() {
                let left = LEFT + (layout.panel + GAP) * at as f64;
                heading(&mut svg, name, &layout, (left, top));
                group(&mut svg, analysis, panel, &layout, (left, top));
            }
            top += layout.name() + PLOT + LEVELS;
        }
        svg.text(
            "axis",
            ((LEFT + width - MARGIN) / 2.0, top + 10.0),
            Anchor::Middle,
            &results.across,
        );
        top += 17.0;
        top = plot::levels_key(&mut svg, &layout.key, top, width);
        let numbers = layout.numbered.iter().enumerate();
        let numbers = numbers.map(|(at, name)| ((at + 1).to_string(), name));
        top = plot::signed(&mut svg, numbers, top, width);
        if self.panels.iter().flat_map(|panel| &panel.rows).any(|row| row.beside.is_some()) {
            top = plot::reference_key(&mut svg, &results.references, top, width);
        }
        svg.finish(top + 6.0)
    }

    fn layout(&self, analysis: &Analysis<'_>, width: f64) -> Option<Layout> {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let seen = rows().flat_map(|row| &analysis.summaries[row.trial].values);
        let values = seen.map(|value| value.value).chain(rows().filter_map(|row| row.beside));
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return None;
        }
        let (low, high) = plot::span(low, high);
        let levels = self.panels.iter().map(|panel| panel.rows.len()).max()?.max(1) as f64;
        let room = width - LEFT - MARGIN + GAP;
        let least = (levels * STEP_MIN).max(PANEL_MIN) + GAP;
        let most = ((room / least) as usize).clamp(1, self.panels.len());
        // Rows of about as many panels each.
        let count = self.panels.len().div_ceil(self.panels.len().div_ceil(most));
        let panel = room / count as f64 - GAP;
        let is_coloured = rows().any(|row| row.memory.is_some());
        let step = panel / levels;
        let key = plot::key(rows(), step);
        let (names, numbered) = headings(&self.panels, panel);
        Some(Layout { count, panel, step, low, high, is_coloured, key, names, numbered })
    }
}

/// The lines of the names of panels so wide, and the names where numbers stand in their place.
fn headings(panels: &[&Panel], width: f64) -> (Vec<Vec<String>>, Vec<String>) {
    let names: Vec<&str> = panels.iter().map(|panel| title(panel)).collect();
    let letters = (width / NAME_LETTER) as usize;
    let lines: Vec<Vec<String>> = names.iter().map(|name| in_lines(name, letters)).collect();
    if lines.iter().all(|name| name.len() <= NAME_LINES) {
        return (lines, Vec::new());
    }
    let numbers = (1..=panels.len()).map(|at| vec![at.to_string()]);
    (numbers.collect(), names.into_iter().map(str::to_owned).collect())
}

/// A name in lines, parted between words and behind hyphens, as names of files have them.
fn in_lines(name: &str, letters: usize) -> Vec<String> {
    const PARTED: &str = "-\u{e004} ";
    let lines = wrap(&name.replace('-', PARTED), letters, "");
    lines.iter().map(|line| line.replace(PARTED, "-").replace(PARTED.trim_end(), "-")).collect()
}

/// What the colours mean, of those that there are; where that ends.
fn legend<'a>(svg: &mut Svg, rows: impl Iterator<Item = &'a PanelRow>) -> f64 {
    let there: Vec<&str> = rows.map(class).collect();
    let mut x = LEFT;
    let mut told: Vec<&str> = Vec::new();
    let classes = CLASSES.iter().map(|(_, class, says)| (*class, *says)).chain([UNKNOWN]);
    for (class, says) in classes {
        if there.contains(&says) && !told.contains(&says) {
            told.push(says);
            svg.rect(class, (x, 4.0), (12.0, 10.0), "");
            svg.text("axis", (x + 16.0, 13.0), Anchor::Start, says);
            x += 24.0 + 6.0 * says.len() as f64;
        }
    }
    22.0
}

/// The axis of a row of panels, and its lines across all of them.
fn axis(svg: &mut Svg, unit: Unit, layout: &Layout, top: f64, right: f64) {
    let (scale, unit) = plot::scale(unit, layout.high);
    svg.text("axis", (4.0, top + 12.0), Anchor::Start, unit);
    for mark in ticks(layout.low / scale, layout.high / scale, 6) {
        let at = layout.y(top, mark * scale);
        svg.line("grid", (LEFT, at), (right, at));
        let text = format!("{}", (mark * 1000.0).round() / 1000.0);
        svg.text("axis", (LEFT - 4.0, at + 4.0), Anchor::End, &text);
    }
}

impl Layout {
    /// Where a value stands in the row of panels that begins at `top`.
    fn y(&self, top: f64, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        top + self.name() + PLOT * (1.0 - share)
    }

    /// Height of the names above the boxes.
    fn name(&self) -> f64 {
        NAME + NAME_LINE * self.names.iter().map(Vec::len).max().unwrap_or(1) as f64
    }
}

/// A panel's name above its boxes, down to them.
fn heading(svg: &mut Svg, lines: &[String], layout: &Layout, (left, top): (f64, f64)) {
    let last = top + layout.name() - 8.0;
    for (at, line) in lines.iter().enumerate() {
        let up = NAME_LINE * (lines.len() - 1 - at) as f64;
        svg.text("label", (left + layout.panel / 2.0, last - up), Anchor::Middle, line);
    }
}

/// One panel's boxes and its levels below, from the upper left corner of its name.
fn group(svg: &mut Svg, analysis: &Analysis<'_>, panel: &Panel, layout: &Layout, at: (f64, f64)) {
    let (left, top) = at;
    let y = |value: f64| layout.y(top, value);
    svg.rect("frame", (left, top + layout.name()), (layout.panel, PLOT), "");
    // Two letters of a name at least are told, and stand apart.
    let longest = panel.rows.iter().map(|row| row.level.chars().count()).max().unwrap_or(1);
    let wanted = 6.0 * longest.clamp(1, 2) as f64 + 2.0;
    let every = (wanted / layout.step).ceil().max(1.0) as usize;
    for (place, row) in panel.rows.iter().enumerate() {
        let middle = left + layout.step * (place as f64 + 0.5);
        let half = (layout.step * 0.36).min(22.0);
        let summary = &analysis.summaries[row.trial];
        let class = style(row, layout.is_coloured);
        plot::one(svg, summary, (middle, half), &y, (panel.unit, class));
        if let Some(beside) = row.beside {
            let tip = format!("reference: {}", words::value(beside, panel.unit));
            plot::mark(svg, (middle, y(beside)), &tip);
        }
        let below = top + layout.name() + PLOT + 13.0;
        if let Some(at) = layout.key.iter().position(|level| *level == row.level) {
            svg.text("axis", (middle, below), Anchor::Middle, &plot::letter(at).to_string());
        } else if place % every == 0 {
            let letters = ((layout.step * every as f64 / plot::LETTER) as usize).max(2);
            svg.text("axis", (middle, below), Anchor::Middle, &short(&row.level, letters));
        }
    }
}
