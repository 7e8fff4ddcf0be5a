//! Placements as pictures: a map of each test, and bars of the placements that move an end as a
//! whole.

use super::link_share;
use crate::plots::bars::{self, Bar};
use crate::plots::heat::{self, Field};
use crate::{Analysis, words};
use narrows_model::load::Role;
use narrows_model::result::Estimate;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_stats::{Cost, HostLoad, Move, PlacedCell, PlacedTest};

/// A picture with what it is called.
pub struct Picture {
    /// Title above the figure.
    pub title: String,
    /// The picture as SVG.
    pub svg: String,
}

/// All pictures of a study's placements, without those that nothing was measured for.
pub fn all(analysis: &Analysis<'_>) -> Vec<Picture> {
    let mut all: Vec<Picture> = Vec::new();
    for test in &analysis.placements {
        let title = format!("{}: a row a placement here", test.name);
        all.push(Picture { svg: heat::draw(&title, &fields(analysis, test)), title });
    }
    for test in &analysis.placements {
        let title = format!("{}: ends at the NIC and away", test.name);
        all.push(Picture { svg: figure_bars(analysis, test, &title), title });
        for (what, unit, load) in LOADS {
            let title = format!("{}: {what}", test.name);
            let bars = load_bars(analysis, test, load);
            all.push(Picture { svg: bars::draw(&title, unit, &bars), title });
        }
    }
    all.retain(|one| !one.svg.is_empty());
    all
}

/// What the host of an end had to do, of which there are bars of both.
type Load = fn(&Analysis<'_>, &PlacedCell, Role) -> Option<f64>;
const LOADS: [(&str, Unit, Load); 5] = [
    ("CPU of whole hosts", Unit::Share, |_, cell, end| of(cell, end).cpu_share),
    ("use of the busiest socket's links", Unit::Share, link_share),
    ("link between sockets", Unit::BytesPerSecond, |_, cell, end| {
        of(cell, end).link_bytes_per_second
    }),
    ("cache misses of the cores", Unit::BytesPerSecond, |_, cell, end| {
        of(cell, end).cache_missed_bytes_per_second
    }),
    ("memory traffic", Unit::BytesPerSecond, |_, cell, end| of(cell, end).memory_bytes_per_second),
];

fn of(cell: &PlacedCell, end: Role) -> &HostLoad {
    if end == Role::Sender { &cell.sender } else { &cell.receiver }
}

fn fields(analysis: &Analysis<'_>, test: &PlacedTest) -> Vec<Field> {
    let median = |cell: &PlacedCell| analysis.summaries.get(cell.trial)?.estimate;
    let Some(first) = test.cells.first().and_then(median) else { return Vec::new() };
    let field = |cell: &PlacedCell| {
        let seating = &cell.seating;
        let nic = seating.nic.as_ref().map_or(String::new(), |nic| format!("{nic}: "));
        let floating = if seating.floating { ", floating" } else { "" };
        let ratio = median(cell).map(|of| of.value / first.value).filter(|ratio| *ratio > 0.0);
        Field {
            row: format!("{nic}{}{floating}", seating.here),
            column: seating.there.to_string(),
            says: median(cell).map_or("-".to_owned(), |of| words::value(of.value, of.unit)),
            better: if test.metric.larger_is_better() { ratio } else { ratio.map(|of| 1.0 / of) },
            open: ratio.and(cell.against_first).and_then(|of| open(of.verdict)),
        }
    };
    let column = test.cells.first().map_or(String::new(), |cell| cell.seating.there.to_string());
    let at_once = at_once(analysis, test).into_iter().map(|(name, figure)| Field {
        row: name.to_owned(),
        column: column.clone(),
        says: words::value(figure.value, figure.unit),
        better: Some(1.0),
        open: Some("several NICs at once"),
    });
    test.cells.iter().map(field).chain(at_once).collect()
}

/// Cells of a test that go by several NICs at once, which are in no one place: the level of each
/// along the axis, and its figure.
fn at_once<'a>(analysis: &'a Analysis<'_>, test: &PlacedTest) -> Vec<(&'a str, Estimate)> {
    let stored = analysis.stored;
    let across = stored.study.reading.across.as_deref();
    let first = test.cells.first().and_then(|cell| stored.trials.get(cell.trial));
    let (Some(across), Some(first)) = (across, first) else { return Vec::new() };
    let cells = stored.trials.iter().zip(&analysis.summaries).enumerate();
    let cells = cells.filter(|(at, (trial, _))| {
        let pairs = trial.pairs().count();
        pairs > 1
            && is_beside(first, trial, across)
            && test.cells.iter().all(|cell| cell.trial != *at)
    });
    cells
        .filter_map(|(_, (trial, summary))| Some((trial.level(across)?, summary.estimate?)))
        .collect()
}

/// Whether a trial is the same test, with another level along the axis.
fn is_beside(first: &Trial, trial: &Trial, across: &str) -> bool {
    let mut others = first.levels.iter().filter(|level| level.factor != across);
    trial.kind == first.kind
        && others.all(|level| trial.level(&level.factor) == Some(level.level.as_str()))
}

/// Why a map has no colour for a placement.
fn open(verdict: Cost) -> Option<&'static str> {
    match verdict {
        Cost::FewRuns => Some("too few runs to say (6)"),
        Cost::Unclear => Some("not told apart"),
        Cost::Worse | Cost::Better | Cost::Alike => None,
    }
}

fn figure_bars(analysis: &Analysis<'_>, test: &PlacedTest, title: &str) -> String {
    let mut all = Vec::new();
    let mut unit = Unit::Share;
    for (of, cell) in test.wholes() {
        let estimate = analysis.summaries.get(cell.trial).and_then(|summary| summary.estimate);
        if let Some(estimate) = estimate {
            unit = estimate.unit;
            let (value, interval) = (estimate.value, Some((estimate.low, estimate.high)));
            all.push(Bar { name: name(analysis, of.as_ref(), cell), value, interval });
        }
    }
    for (level, estimate) in at_once(analysis, test) {
        let interval = Some((estimate.low, estimate.high));
        all.push(Bar { name: level.to_owned(), value: estimate.value, interval });
    }
    bars::draw(title, unit, &all)
}

fn load_bars(analysis: &Analysis<'_>, test: &PlacedTest, load: Load) -> Vec<Bar> {
    let mut all = Vec::new();
    for (of, cell) in test.wholes() {
        for (end, role) in [("sender", Role::Sender), ("receiver", Role::Receiver)] {
            if let Some(value) = load(analysis, cell, role) {
                let name = format!("{end}, {}", name(analysis, of.as_ref(), cell));
                all.push(Bar { name, value, interval: None });
            }
        }
    }
    all
}

/// What a placement is called: the study's own name of it before where it is, or, where the study
/// has no other name, which end is away.
fn name(analysis: &Analysis<'_>, of: Option<&Move>, cell: &PlacedCell) -> String {
    let stored = analysis.stored;
    let place = cell.seating.to_string();
    let trial = stored.trials.get(cell.trial);
    let across = stored.study.reading.across.as_deref();
    let level = across.and_then(|across| trial?.level(across)).filter(|level| *level != place);
    match level {
        Some(level) => format!("{level}: {place}"),
        None => format!("{}: {place}", away(of)),
    }
}

fn away(of: Option<&Move>) -> &'static str {
    match of {
        None => "at the NIC",
        Some(Move::Both) => "both ends away",
        Some(Move::There) => "the peer's end away",
        Some(Move::One(axis)) if !axis.is_here() => "the peer's end away",
        Some(_) => "this host's end away",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::seating::Axis;

    #[test]
    fn bars_say_which_end_is_away() {
        for (of, wanted) in [
            (None, "at the NIC"),
            (Some(Move::Both), "both ends away"),
            (Some(Move::There), "the peer's end away"),
            (Some(Move::One(Axis::ProcessThere)), "the peer's end away"),
            (Some(Move::One(Axis::ProcessHere)), "this host's end away"),
            (Some(Move::Here), "this host's end away"),
        ] {
            assert_eq!(away(of.as_ref()), wanted, "{of:?}");
        }
    }
}
