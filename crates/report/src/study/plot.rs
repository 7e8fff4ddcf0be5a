//! Boxplots side by side along one factor, as the published figures have them: the level below, the
//! value upward.

use super::names::title;
use super::{Panel, PanelRow, StudyResults};
use crate::plots::svg::{Anchor, short};
use crate::plots::{BOX_RUNS_MIN, Svg, WIDTH, ticks};
use crate::words;
use narrows_model::units::Unit;
use narrows_stats::Summary;

const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 206.0;

/// Draws a panel whose cells share a unit.
pub fn draw(results: &StudyResults, panel: &Panel, summaries: &[Summary]) -> String {
    let (title, across, names) = (title(panel), &results.across, &results.references);
    let cells: Vec<&Summary> = panel.rows.iter().map(|row| &summaries[row.trial]).collect();
    let values = cells.iter().flat_map(|summary| &summary.values).map(|value| value.value);
    let beside = panel.rows.iter().filter_map(|row| row.beside);
    let (low, high) =
        values.chain(beside).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return String::new();
    }
    let (low, high) = span(low, high);
    let y = |value: f64| BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP);
    let mut svg = Svg::new(WIDTH, &format!("{title} by {across}"));
    let (scale, unit) = scale(panel.unit, high);
    let marks = ticks(low / scale, high / scale, 6);
    // As many decimals as the step between marks has.
    let step = marks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::MAX, f64::min);
    let decimals = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
    for mark in marks {
        let at = y(mark * scale);
        svg.line("grid", (LEFT, at), (RIGHT, at));
        svg.text("axis", (LEFT - 4.0, at + 4.0), Anchor::End, &format!("{mark:.decimals$}"));
    }
    svg.text("axis", (4.0, 11.0), Anchor::Start, unit);
    let step = (RIGHT - LEFT) / cells.len().max(1) as f64;
    let every = cells.len().div_ceil(12).max(1);
    let key = key(panel.rows.iter(), step);
    for (at, summary) in cells.iter().enumerate() {
        let middle = LEFT + step * (at as f64 + 0.5);
        one(&mut svg, summary, (middle, (step * 0.36).min(22.0)), &y, (panel.unit, "box"));
        if let Some(beside) = panel.rows[at].beside {
            let tip = format!("reference: {}", words::value(beside, panel.unit));
            mark(&mut svg, (middle, y(beside)), &tip);
        }
        let level = &panel.rows[at].level;
        if let Some(at) = key.iter().position(|known| known == level) {
            svg.text("axis", (middle, BOTTOM + 15.0), Anchor::Middle, &letter(at).to_string());
        } else if at % every == 0 {
            let letters = (step * every as f64 / LETTER) as usize;
            let name = short(level, letters.max(2));
            svg.text("axis", (middle, BOTTOM + 15.0), Anchor::Middle, &name);
        }
    }
    svg.text("axis", ((LEFT + RIGHT) / 2.0, BOTTOM + 31.0), Anchor::Middle, across);
    let bottom = levels_key(&mut svg, &key, BOTTOM + 34.0, WIDTH);
    let has_reference = panel.rows.iter().any(|row| row.beside.is_some());
    let bottom = if has_reference { reference_key(&mut svg, names, bottom, WIDTH) } else { bottom };
    svg.finish(bottom + 4.0)
}

/// Units that a letter of an axis takes.
pub(super) const LETTER: f64 = 6.5;
/// Letters that may stand for levels.
const LETTERS: usize = 26;
/// Height of a line of what they stand for.
const KEY: f64 = 15.0;
/// From the middle of a reference's mark to its corners.
const MARK: f64 = 5.0;

/// The levels of rows so far apart, where their names do not fit and are no numbers, of which some
/// may be left out.
pub(super) fn key<'a>(rows: impl Iterator<Item = &'a PanelRow>, step: f64) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for row in rows {
        if !levels.contains(&row.level) {
            levels.push(row.level.clone());
        }
    }
    let fits = levels.iter().all(|level| level.chars().count() as f64 * LETTER <= step);
    let numbers = levels.iter().all(|level| level.parse::<f64>().is_ok());
    if fits || numbers || levels.len() > LETTERS { Vec::new() } else { levels }
}

/// The letter of a level.
pub(super) fn letter(at: usize) -> char {
    char::from(b'A' + (at % LETTERS) as u8)
}

/// What letters stand for, a line each, in a figure so wide; where that ends.
pub(super) fn levels_key(svg: &mut Svg, key: &[String], top: f64, width: f64) -> f64 {
    let signs = (0..key.len()).map(|at| letter(at).to_string());
    signed(svg, signs.zip(key), top, width)
}

/// Signs with what they stand for, a line each; where that ends.
pub(super) fn signed<'a>(
    svg: &mut Svg,
    signs: impl Iterator<Item = (String, &'a String)>,
    top: f64,
    width: f64,
) -> f64 {
    let mut bottom = top;
    for (sign, name) in signs {
        bottom += KEY;
        let name = short(name, ((width - LEFT) / LETTER) as usize);
        svg.text("small", (LEFT, bottom), Anchor::Start, &format!("{sign}  {name}"));
    }
    bottom
}

/// A reference's median: a diamond, which nothing else is.
pub(super) fn mark(svg: &mut Svg, (x, y): (f64, f64), tip: &str) {
    let corners = [(x, y - MARK), (x + MARK, y), (x, y + MARK), (x - MARK, y)];
    svg.polygon("beside", &corners, tip);
}

/// What the diamonds are; where that ends.
pub(super) fn reference_key(svg: &mut Svg, names: &[String], top: f64, width: f64) -> f64 {
    let bottom = top + KEY;
    mark(svg, (LEFT + MARK, bottom - 4.0), "");
    let says = format!("reference: {}", names.join("; "));
    let says = short(&says, ((width - LEFT - 18.0) / LETTER) as usize);
    svg.text("small", (LEFT + 16.0, bottom), Anchor::Start, &says);
    bottom
}

/// From zero, unless all that is seen lies in a narrow band far from it.
pub(super) fn span(low: f64, high: f64) -> (f64, f64) {
    let low = if low > 0.5 * high { low - 0.3 * (high - low) - 0.02 * high } else { 0.0 };
    (low, high + 0.05 * (high - low))
}

/// What an axis up to `high` counts in.
pub(super) fn scale(unit: Unit, high: f64) -> (f64, &'static str) {
    let scales: &[(f64, &str)] = match unit {
        Unit::BitsPerSecond => &[(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")],
        Unit::BytesPerSecond => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
        Unit::Nanos => &[(1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        Unit::DatagramsPerSecond => &[(1e6, "10^6 datagrams/s"), (1.0, "datagrams/s")],
        Unit::PacketsPerSecond => {
            &[(1e6, "10^6 packets/s"), (1e3, "10^3 packets/s"), (1.0, "packets/s")]
        }
        Unit::PerSecond => &[(1e6, "10^6/s"), (1e3, "10^3/s"), (1.0, "1/s")],
        Unit::FlopsPerSecond => &[(1e9, "Gflop/s"), (1e6, "Mflop/s"), (1.0, "flop/s")],
        Unit::Share => &[(1.0, "share")],
    };
    let fits = scales.iter().find(|(scale, _)| high >= 2.0 * scale);
    fits.or(scales.last()).copied().unwrap_or((1.0, ""))
}

/// One cell's box around `x`, so wide to each side, or its runs and their median where they are
/// few; its unit, and the class that it is drawn with.
pub(super) fn one(
    svg: &mut Svg,
    summary: &Summary,
    (x, half): (f64, f64),
    y: &dyn Fn(f64) -> f64,
    (unit, class): (Unit, &str),
) {
    let Some(plot) = &summary.box_plot else { return };
    let of = |value: f64| words::value(value, unit);
    if summary.values.len() == 1 {
        let tip = format!("{}: {}", summary.label, of(plot.median));
        let class = if class == "box" { "single" } else { class };
        svg.rect(class, (x - half, y(plot.median) - 1.5), (2.0 * half, 3.0), &tip);
        return;
    }
    if summary.values.len() < BOX_RUNS_MIN {
        for value in &summary.values {
            svg.dot(class, (x, y(value.value)), &format!("{}: {}", summary.label, of(value.value)));
        }
        svg.line("median", (x - half, y(plot.median)), (x + half, y(plot.median)));
        return;
    }
    for (from, to) in [(plot.whisker_low, plot.quartile_1), (plot.quartile_3, plot.whisker_high)] {
        svg.line("whisker", (x, y(from)), (x, y(to)));
    }
    for end in [plot.whisker_low, plot.whisker_high] {
        svg.line("whisker", (x - half * 0.5, y(end)), (x + half * 0.5, y(end)));
    }
    let tip = format!(
        "{}: median {}, quartiles {} and {}, whiskers {} and {}, n {}",
        summary.label,
        of(plot.median),
        of(plot.quartile_1),
        of(plot.quartile_3),
        of(plot.whisker_low),
        of(plot.whisker_high),
        summary.values.len()
    );
    let (top, bottom) = (y(plot.quartile_3), y(plot.quartile_1));
    svg.rect(class, (x - half, top), (2.0 * half, (bottom - top).max(1.0)), &tip);
    svg.line("median", (x - half, y(plot.median)), (x + half, y(plot.median)));
    for outlier in &plot.outliers {
        svg.dot("outlier", (x, y(*outlier)), &format!("outlier {}", of(*outlier)));
    }
}
