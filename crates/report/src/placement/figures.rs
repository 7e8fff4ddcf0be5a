//! Placements as pictures: a map of each test, and bars of the placements that move an end as a
//! whole.

use super::{AtOnce, Loads, at_once, link_share};
use crate::plots::bars::{self, Bar};
use crate::plots::heat::{self, Field};
use crate::{Analysis, words};
use narrows_model::load::Role;
use narrows_model::units::Unit;
use narrows_stats::{Cost, Move, PlacedCell, PlacedTest};

/// A picture with what it is called.
pub struct Picture {
    /// Title above the figure.
    pub title: String,
    /// The picture as SVG.
    pub svg: String,
    /// What it was drawn from, with its head first.
    pub data: Vec<Vec<String>>,
}

/// All pictures of a study's placements, without those that nothing was measured for.
pub fn all(analysis: &Analysis<'_>) -> Vec<Picture> {
    let mut all: Vec<Picture> = Vec::new();
    for test in &analysis.placements {
        let title = format!("{}: a row a placement here", test.name);
        let fields = fields(analysis, test);
        all.push(Picture { svg: heat::draw(&title, &fields), title, data: map_data(&fields) });
    }
    for test in &analysis.placements {
        let title = format!("{}: ends at the NIC and away", test.name);
        let (unit, bars) = figure_bars(analysis, test);
        let data = bar_data(unit, &bars);
        all.push(Picture { svg: bars::draw(&title, unit, &bars), title, data });
        for (what, unit, load) in LOADS {
            let title = format!("{}: {what}", test.name);
            let bars = load_bars(analysis, test, load);
            let data = bar_data(unit, &bars);
            all.push(Picture { svg: bars::draw(&title, unit, &bars), title, data });
        }
    }
    all.retain(|one| !one.svg.is_empty());
    all
}

/// What the host of an end had to do, of which there are bars of both.
type Load = fn(&Analysis<'_>, &Loads, Role) -> Option<f64>;
const LOADS: [(&str, Unit, Load); 5] = [
    ("CPU of whole hosts", Unit::Share, |_, loads, end| loads.end(end).cpu_share),
    ("use of the busiest socket's links", Unit::Share, link_share),
    ("link between sockets", Unit::BytesPerSecond, |_, loads, end| {
        loads.end(end).link_bytes_per_second
    }),
    ("cache misses of the cores", Unit::BytesPerSecond, |_, loads, end| {
        loads.end(end).cache_missed_bytes_per_second
    }),
    ("memory traffic", Unit::BytesPerSecond, |_, loads, end| {
        loads.end(end).memory_bytes_per_second
    }),
];

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
    let at_once = at_once(analysis, test).into_iter().map(|one| Field {
        row: one.level.to_owned(),
        column: column.clone(),
        says: words::value(one.figure.value, one.figure.unit),
        better: Some(1.0),
        open: Some("several NICs at once"),
    });
    test.cells.iter().map(field).chain(at_once).collect()
}

/// Why a map has no colour for a placement.
fn open(verdict: Cost) -> Option<&'static str> {
    match verdict {
        Cost::FewRuns => Some("too few runs to say (6)"),
        Cost::Unclear => Some("not told apart"),
        Cost::Worse | Cost::Better | Cost::Alike => None,
    }
}

/// A row a field: the figure in words, and how many times better it is than the first placement.
fn map_data(fields: &[Field]) -> Vec<Vec<String>> {
    let head = ["here", "there", "median", "times_better", "why_not_claimed"];
    let rows = fields.iter().map(|field| {
        let (better, open) = (field.better.map(|of| of.to_string()), field.open.map(str::to_owned));
        let last = [better, open].map(Option::unwrap_or_default);
        [&[field.row.clone(), field.column.clone(), field.says.clone()][..], &last].concat()
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

/// A row a bar.
fn bar_data(unit: Unit, bars: &[Bar]) -> Vec<Vec<String>> {
    let head = ["bar", "value", "low", "high", "unit"];
    let rows = bars.iter().map(|bar| {
        let ends = bar.interval.map(|(low, high)| [low.to_string(), high.to_string()]);
        let [low, high] = ends.unwrap_or_default();
        vec![bar.name.clone(), bar.value.to_string(), low, high, words::word(&unit)]
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn figure_bars(analysis: &Analysis<'_>, test: &PlacedTest) -> (Unit, Vec<Bar>) {
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
    for AtOnce { level, figure, .. } in at_once(analysis, test) {
        let interval = Some((figure.low, figure.high));
        all.push(Bar { name: level.to_owned(), value: figure.value, interval });
    }
    (unit, all)
}

fn load_bars(analysis: &Analysis<'_>, test: &PlacedTest, load: Load) -> Vec<Bar> {
    let wholes = test.wholes().into_iter();
    let placed = wholes.map(|(of, cell)| (name(analysis, of.as_ref(), cell), Loads::of(cell)));
    let at_once = at_once(analysis, test).into_iter();
    let at_once = at_once.map(|one| (one.level.to_owned(), one.loads));
    let mut all = Vec::new();
    for (name, loads) in placed.chain(at_once) {
        for (end, role) in [("sender", Role::Sender), ("receiver", Role::Receiver)] {
            if let Some(value) = load(analysis, &loads, role) {
                all.push(Bar { name: format!("{end}, {name}"), value, interval: None });
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
