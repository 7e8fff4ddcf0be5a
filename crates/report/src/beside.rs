//! What others published of an application, or measured of it elsewhere, beside one's own cells by
//! fabric, MTU and ranks: joined as the medians of any other study are, with the application as one
//! more factor, since a time of one says nothing of another.

use crate::drawn::Screen;
use crate::study::reference::{Cell, Median, medians, names, of_same};
use crate::{app, table, words};
use narrows_app::cells::{FABRIC, MTU, NONE, PLACE, RANKS};
use narrows_app::frames::{Frames, frames};
use narrows_app::scaling::{APPLICATION, Curve, Point, Scaling};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Level;
use narrows_model::units::Unit;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

pub(crate) const TITLE: &str = "Beside what others published";
pub(crate) const HEAD: [&str; 7] =
    ["fabric", "MTU", "ranks", "published", "here", "difference", "source"];

/// The column of a table's notes to its reader.
const NOTE: &str = "note";

/// A time that is told in minutes from here on, in nanoseconds.
const MINUTES_FROM_NS: f64 = 600e9;

/// Own cells beside what others say of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What the tables and studies are called.
    pub sources: Vec<String>,
    /// Cells that something stands beside.
    pub cells: Vec<CellBeside>,
    /// Larger frames, where both MTUs have a published figure from one source.
    pub frames: Vec<FramesBeside>,
    /// Own cells that nothing stands beside.
    pub cells_alone: usize,
    /// What stands beside no cell, each with why.
    pub apart: Vec<String>,
    /// What the sources note.
    pub notes: Vec<String>,
}

/// An application's results, with what others published of it where that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told<'a> {
    #[serde(flatten)]
    pub scaling: &'a Scaling,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<&'a Beside>,
}

/// An own cell with a published figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellBeside {
    pub place: String,
    pub fabric: String,
    pub mtu: String,
    /// Ranks, over all hosts.
    pub ranks: u32,
    pub source: String,
    pub unit: Unit,
    pub published: f64,
    /// The own median; `None` where no run counts.
    pub own: Option<Estimate>,
    /// How much more the own is, in per cent of the published one.
    pub difference_percent: Option<f64>,
    /// More ranks than cores.
    pub oversubscribed: bool,
}

/// What larger frames gain, as published and here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FramesBeside {
    pub source: String,
    /// How many times faster the published one is with the larger MTU.
    pub published: f64,
    /// The own comparison.
    pub own: Frames,
}

/// Why a table or study is none of an application that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It does not say which application its figures are of.
    OfNoApplication,
    /// It is of others.
    OfOthers { of: Vec<String>, here: Vec<String> },
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfNoApplication => {
                write!(f, "no figure in it says which {APPLICATION} it is of")
            }
            Self::OfOthers { of, here } => {
                write!(f, "it is of {}, and this is of {}", of.join(", "), here.join(", "))
            }
        }
    }
}

impl std::error::Error for Foreign {}

/// Checks that something of what another says is of one of these applications.
pub fn check(other: &StoredStudy, here: &[&str]) -> Result<(), Foreign> {
    let other = with_application(other);
    let levels = other.trials.iter().flat_map(|trial| &trial.levels);
    let named = levels.filter(|level| level.factor.to_lowercase() == APPLICATION);
    let of: BTreeSet<&str> = named.map(|level| level.level.as_str()).collect();
    if of.is_empty() {
        return Err(Foreign::OfNoApplication);
    }
    if of.iter().any(|name| here.iter().any(|own| own.to_lowercase() == name.to_lowercase())) {
        return Ok(());
    }
    Err(Foreign::OfOthers {
        of: of.into_iter().map(str::to_owned).collect(),
        here: here.iter().map(|name| (*name).to_owned()).collect(),
    })
}

/// A study of an application names it in each of its cells, and keeps nothing of its fabrics.
fn with_application(other: &StoredStudy) -> StoredStudy {
    let mut other = other.clone();
    if Scaling::of(&other).is_none() {
        return other;
    }
    let level = Level { factor: APPLICATION.to_owned(), level: app::name(&other).to_owned() };
    other.trials.retain(|trial| trial.kind.as_str() == APPLICATION);
    other.trials.iter_mut().for_each(|trial| trial.levels.push(level.clone()));
    other
}

/// A cell of the study.
struct Own<'a> {
    curve: &'a Curve,
    point: &'a Point,
}

impl Own<'_> {
    /// A single rank uses no fabric, whichever curve it is drawn with.
    fn of_fabric<'b>(&self, level: &'b str) -> &'b str {
        if self.point.ranks == 1 { NONE } else { level }
    }

    fn cell(&self, name: &str, unit: Unit) -> Cell {
        let ranks = self.point.ranks.to_string();
        let levels = [
            (APPLICATION, name),
            (PLACE, &self.curve.place),
            (FABRIC, self.of_fabric(&self.curve.fabric)),
            (MTU, self.of_fabric(&self.curve.mtu)),
            (RANKS, &ranks),
        ];
        let levels = levels.map(|(factor, level)| (factor.to_lowercase(), level.to_lowercase()));
        let figure = self.point.figure;
        Cell {
            levels: levels.into_iter().collect(),
            unit: figure.map_or(unit, |of| of.unit),
            value: figure.map(|of| of.value),
        }
    }
}

/// The cells, each once: one rank is a point of each curve of its hosts.
fn own(scaling: &Scaling) -> Vec<Own<'_>> {
    let mut all: Vec<Own<'_>> = Vec::new();
    for curve in &scaling.curves {
        for point in &curve.points {
            let alone = all.iter().filter(|one| point.ranks == 1 && one.point.ranks == 1);
            if alone.filter(|one| one.curve.hosts == curve.hosts).count() == 0 {
                all.push(Own { curve, point });
            }
        }
    }
    all
}

/// Sets what others say beside the cells; of two that say something of one cell the first counts.
/// `None` without others.
pub fn of(name: &str, scaling: &Scaling, others: &[StoredStudy]) -> Option<Beside> {
    if others.is_empty() {
        return None;
    }
    let own = own(scaling);
    let figure = own.iter().find_map(|one| one.point.figure);
    let unit = figure.map_or(Unit::Nanos, |figure| figure.unit);
    let cells: Vec<Cell> = own.iter().map(|one| one.cell(name, unit)).collect();
    let mut found: Vec<Option<(String, f64)>> = vec![None; cells.len()];
    let (mut apart, mut notes) = (Vec::new(), Vec::new());
    for other in others {
        let other = with_application(other);
        let source = names(std::slice::from_ref(&other)).join("; ");
        notes.extend(noted(&other, &source));
        let all = medians(&other);
        for one in &all {
            let same = if one.is_change() { Vec::new() } else { of_same(one, &all, &cells) };
            if same.is_empty() {
                apart.push(format!("{source}: {}: {}", said(one), why(one, &cells, name)));
            }
            for at in same {
                found[at].get_or_insert_with(|| (source.clone(), one.value));
            }
        }
    }
    let beside: Vec<CellBeside> = own
        .iter()
        .zip(&cells)
        .zip(&found)
        .filter_map(|((one, cell), found)| Some(cell_beside(one, cell.unit, found.as_ref()?)))
        .collect();
    Some(Beside {
        sources: names(others),
        frames: frames(scaling).iter().filter_map(|one| frames_beside(one, &beside)).collect(),
        cells_alone: cells.len() - beside.len(),
        cells: beside,
        apart,
        notes,
    })
}

fn cell_beside(one: &Own<'_>, unit: Unit, (source, published): &(String, f64)) -> CellBeside {
    let own = one.point.figure;
    CellBeside {
        place: one.curve.place.clone(),
        fabric: one.of_fabric(&one.curve.fabric).to_owned(),
        mtu: one.of_fabric(&one.curve.mtu).to_owned(),
        ranks: one.point.ranks,
        source: source.clone(),
        unit,
        published: *published,
        own,
        difference_percent: own
            .filter(|_| *published > 0.0)
            .map(|own| 100.0 * (own.value / published - 1.0)),
        oversubscribed: one.point.oversubscribed,
    }
}

fn frames_beside(own: &Frames, cells: &[CellBeside]) -> Option<FramesBeside> {
    let [small, large] = own.mtus.map(|mtu| {
        cells.iter().find(|cell| {
            cell.place == own.place
                && cell.fabric == own.fabric
                && cell.ranks == own.ranks
                && cell.mtu == mtu.to_string()
        })
    });
    let (small, large) = (small?, large?);
    // Two sources may have had different machines: their quotient is no gain.
    let published = match small.unit {
        _ if small.source != large.source => return None,
        Unit::Nanos => small.published / large.published,
        _ => large.published / small.published,
    };
    let source = small.source.clone();
    published.is_finite().then(|| FramesBeside { source, published, own: own.clone() })
}

fn noted(other: &StoredStudy, source: &str) -> Vec<String> {
    let notes = other.trials.iter().flat_map(|trial| &trial.notes);
    let notes = notes.filter(|note| note.factor == NOTE).map(|note| note.level.as_str());
    let notes: BTreeSet<&str> = notes.collect();
    notes.into_iter().map(|note| format!("{source} notes: {note}")).collect()
}

/// Levels in the words of the source, and the figure.
fn said(one: &Median) -> String {
    let levels = one.said.iter().map(|level| format!("{} {}", level.factor, level.level));
    let levels: Vec<String> = levels.collect();
    format!("{} of {}", shown(one.value, one.unit), levels.join(", "))
}

/// Why a figure stands beside no cell.
fn why(one: &Median, cells: &[Cell], name: &str) -> String {
    if one.is_change() {
        return "it is one cell against another, and no figure of one".to_owned();
    }
    let known: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.levels.keys()).collect();
    if let Some(factor) = one.levels.keys().find(|factor| !known.contains(factor)) {
        return format!("{factor} is no factor of an application's study");
    }
    match one.levels.get(APPLICATION) {
        None => return format!("it does not say which {APPLICATION} it is of"),
        Some(of) if *of != name.to_lowercase() => return format!("this is {name}"),
        Some(_) => {}
    }
    let within: Vec<&Cell> = cells.iter().filter(|cell| one.is_within(&cell.levels)).collect();
    if within.is_empty() {
        let missing = one.levels.iter().map(|(factor, level)| format!("{factor} {level}"));
        let missing: Vec<String> = missing.collect();
        return format!("no cell here has {}", missing.join(", "));
    }
    if within.iter().all(|cell| cell.unit != one.unit) {
        return "it is a time where this is a rate, or a rate where this is a time".to_owned();
    }
    let unnamed = known.into_iter().filter(|factor| !one.levels.contains_key(*factor));
    let differ = unnamed.filter_map(|factor| {
        let levels: BTreeSet<&String> =
            within.iter().filter_map(|cell| cell.levels.get(factor)).collect();
        let levels: Vec<&str> = levels.into_iter().map(String::as_str).collect();
        (levels.len() > 1).then(|| format!("{factor} ({})", levels.join(", ")))
    });
    let differ: Vec<String> = differ.collect();
    format!("it could be of several cells here: it says nothing of {}", differ.join(" and "))
}

/// A time with as many digits as two per cent of it need; the rest as everywhere.
fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanos if value >= MINUTES_FROM_NS => format!("{:.2} min", value / 60e9),
        Unit::Nanos => format!("{:.2} s", value / 1e9),
        _ => words::value(value, unit),
    }
}

pub(crate) fn rows(beside: &Beside) -> Vec<Vec<String>> {
    beside.cells.iter().map(row).collect()
}

fn row(one: &CellBeside) -> Vec<String> {
    let difference = one.difference_percent.map(|percent| format!("{percent:+.1} %"));
    let mark = if one.oversubscribed { " *" } else { "" };
    vec![
        format!("{} ({})", one.fabric, one.place),
        one.mtu.clone(),
        format!("{}{mark}", one.ranks),
        shown(one.published, one.unit),
        one.own.map_or("-".to_owned(), |own| shown(own.value, own.unit)),
        difference.unwrap_or_else(|| "-".to_owned()),
        one.source.clone(),
    ]
}

/// What the table does not have: what larger frames gain, and what stands alone and why.
pub(crate) fn sentences(beside: &Beside) -> Vec<String> {
    let mut all: Vec<String> = beside.frames.iter().map(gain).collect();
    if beside.cells.is_empty() {
        let sources = beside.sources.join("; ");
        all.push(format!("no cell here has a figure of {sources} beside it"));
    } else if beside.cells_alone > 0 {
        let alone = words::counted(beside.cells_alone, "cell");
        all.push(format!("without a published figure: {alone} of this study"));
    }
    all.extend(beside.apart.iter().map(|apart| format!("beside no cell: {apart}")));
    all.extend(beside.notes.iter().cloned());
    all
}

fn gain(one: &FramesBeside) -> String {
    let Frames { fabric, place, ranks, mtus: [small, large], faster, .. } = &one.own;
    let [published, own, low, high] =
        [one.published, faster.value, faster.low, faster.high].map(|of| 100.0 * (of - 1.0));
    format!(
        "MTU {small} to {large}, {fabric} ({place}), {ranks} ranks: {published:+.1} % faster as \
         published ({}), {own:+.1} % here ({low:+.1} to {high:+.1})",
        one.source
    )
}

/// The table and its sentences, as a report has them.
pub(crate) fn lines(beside: &Beside) -> String {
    let mut text = format!("  {TITLE}\n");
    if !beside.cells.is_empty() {
        let head = HEAD.map(str::to_owned).to_vec();
        let all: Vec<Vec<String>> = [head].into_iter().chain(rows(beside)).collect();
        text += &table::lines(&all, |_| false);
    }
    text + &sentences(beside).iter().map(|says| format!("  {says}\n")).collect::<String>()
}

/// The same for a screen.
pub fn text(beside: &Beside, screen: &Screen) -> String {
    let mut text = format!("\n{TITLE}\n");
    if !beside.cells.is_empty() {
        text += &table::on_screen(&HEAD, &rows(beside), screen);
    }
    text + &sentences(beside).iter().map(|says| screen.prose(says, "  ")).collect::<String>()
}

#[cfg(test)]
mod tests;
