//! What crossed the memory bus of each end's host beside the network: bytes for each byte of
//! payload, and a second, with what a copy reaches there.

use super::names::Table;
use super::sized::{self, Sized};
use super::{PanelRow, StudyResults, tabled};
use crate::plots::curves::{Point, Series};
use crate::{Analysis, words};
use narrows_model::Bytes;
use narrows_model::load::Role;
use narrows_model::trial::NetworkPath;
use narrows_model::units::{Unit, three_digits};
use narrows_model::workload::{Kernel, Workload};
use narrows_predict::calibration::attainable_gb_s;
use narrows_stats::{MemoryUse, Summary};
use std::collections::BTreeSet;

/// The ends on whose hosts traffic is counted.
const ENDS: [Role; 2] = [Role::Sender, Role::Receiver];
/// The line of a copy.
const COPY: &str = "what a copy of this host's memory reaches";

/// What a cell counted on the host of an end; of two ends on one host the first tells all.
fn of(summary: &Summary, end: Role) -> Option<&MemoryUse> {
    let mut all = summary.memory.iter();
    let first = all.clone().next().filter(|one| one.both_ends);
    if first.is_some() { first.filter(|_| end == ENDS[0]) } else { all.find(|one| one.end == end) }
}

/// Figures by message size, of each end's host: memory bytes a byte of payload, and a second.
pub fn figures(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<Sized> {
    let mut all = Vec::new();
    for end in ENDS {
        let bytes = series(analysis, results, end, &|one| {
            let of = one.per_network_byte.as_ref()?;
            Some((of.value, of.low, of.high))
        });
        all.extend(sized(analysis, end, "memory bytes per network byte", Unit::Share, bytes));
        let rates = series(analysis, results, end, &|one| {
            one.bytes_per_second.map(|rate| (rate, rate, rate))
        });
        let rates = with_copy(analysis, end, rates);
        all.extend(sized(analysis, end, "memory traffic", Unit::BytesPerSecond, rates));
    }
    all
}

/// A figure whose title begins with whose host it is of.
fn sized(
    analysis: &Analysis<'_>,
    end: Role,
    what: &str,
    unit: Unit,
    series: Vec<Series>,
) -> Option<Sized> {
    let counted = analysis.summaries.iter().find_map(|summary| Some((summary, of(summary, end)?)));
    let (summary, one) = counted?;
    let host = words::host_of(summary, one);
    let title = format!("{host}: {what} by message size");
    (!series.is_empty()).then_some(Sized { title, unit, series })
}

/// A figure of a use, with the ends of its interval.
type Counted<'a> = &'a dyn Fn(&MemoryUse) -> Option<(f64, f64, f64)>;

/// A line a test of which it was counted.
fn series(
    analysis: &Analysis<'_>,
    results: &StudyResults,
    end: Role,
    counted: Counted<'_>,
) -> Vec<Series> {
    let panels = results.panels.iter().filter(|panel| sized::is_curve(analysis, panel));
    let lines = panels.map(|panel| {
        let points = panel.rows.iter().filter_map(|row| {
            let size = sized::size(analysis, row.trial)?;
            let (median, low, high) = counted(of(analysis.summaries.get(row.trial)?, end)?)?;
            (median > 0.0).then_some(Point { size, median, low, high, cpu: [None; 2] })
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by_key(|point| point.size);
        Series { name: super::names::title(panel).to_owned(), points }
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// The lines, and that of a copy where one was measured on this end's host.
fn with_copy(analysis: &Analysis<'_>, end: Role, mut lines: Vec<Series>) -> Vec<Series> {
    let copy = copy_bytes(analysis).filter(|_| is_own(analysis, end));
    let sizes: Vec<Bytes> =
        lines.iter().flat_map(|line| &line.points).map(|point| point.size).collect();
    if let (Some(rate), Some(least), Some(most)) = (copy, sizes.iter().min(), sizes.iter().max()) {
        let ends = [least, most].into_iter();
        let points = ends.map(|size| Point {
            size: *size,
            median: rate,
            low: rate,
            high: rate,
            cpu: [None; 2],
        });
        lines.push(Series { name: COPY.to_owned(), points: points.collect() });
    }
    lines
}

/// Whether an end of the network's cells ran on this host, where a copy is measured.
fn is_own(analysis: &Analysis<'_>, end: Role) -> bool {
    let mut trials = analysis.stored.trials.iter().zip(&analysis.summaries);
    trials.any(|(trial, summary)| {
        let near = trial.controllers().map(|near| near.role);
        of(summary, end).is_some_and(|one| one.both_ends || near == Some(end))
    })
}

/// Bytes a second that the study's copy moves over the bus of this host; of several hosts none is
/// meant.
fn copy_bytes(analysis: &Analysis<'_>) -> Option<f64> {
    analysis.has_host().then_some(())?;
    attainable_gb_s(analysis.stored, &analysis.summaries).map(|rate| rate * 1e9)
}

/// Whether a study is about memory beside the network: it loads memory beside its traffic, or holds
/// the traffic against a copy.
fn asks(analysis: &Analysis<'_>) -> bool {
    let trials = &analysis.stored.trials;
    let has_network = trials.iter().any(|trial| trial.path != NetworkPath::Memory);
    let has_copy = trials.iter().any(|trial| trial.kind == Workload::Memory(Kernel::Copy));
    let has_load = trials.iter().any(|trial| trial.ends_of(Role::Background).next().is_some());
    has_network && (has_copy || has_load)
}

/// That no run counted any of it, and then why, each reason once; nothing where placements say it.
pub fn uncounted(analysis: &Analysis<'_>) -> Vec<String> {
    let uses = || analysis.summaries.iter().flat_map(|summary| &summary.memory);
    let gaps: BTreeSet<String> =
        uses().flat_map(|one| &one.missing).map(ToString::to_string).collect();
    let is_counted = uses().any(|one| one.bytes_per_second.is_some());
    if !asks(analysis) || !analysis.placements.is_empty() || is_counted || gaps.is_empty() {
        return Vec::new();
    }
    let has_links = uses().any(|one| one.socket_link_bytes_per_second.is_some());
    let links = if has_links { "" } else { ", use of the link between sockets" };
    std::iter::once(format!("not counted: memory traffic{links}")).chain(gaps).collect()
}

/// Both tables with their titles: a cell has sender's and receiver's host.
pub fn tables(
    analysis: &Analysis<'_>,
    results: &StudyResults,
) -> [(&'static str, Option<Table>); 2] {
    let copy = copy_bytes(analysis);
    [
        (
            "Memory bytes per network byte, sender's host / receiver's",
            tabled::of(results, &|_, row| both(analysis, row, &|one, _| ratio(one)), &[]),
        ),
        (
            "Memory traffic, sender's host / receiver's (and of what a copy reaches there)",
            tabled::of(
                results,
                &|_, row| both(analysis, row, &|one, is_own| rate(one, copy.filter(|_| is_own))),
                &[],
            ),
        ),
    ]
}

fn ratio(one: &MemoryUse) -> Option<String> {
    Some(three_digits(one.per_network_byte.as_ref()?.value))
}

/// Bytes a second, and their share of what a copy moves.
fn rate(one: &MemoryUse, copy: Option<f64>) -> Option<String> {
    let rate = one.bytes_per_second?;
    let share = copy.map(|copy| format!(" ({:.0} %)", 100.0 * rate / copy));
    Some(words::value(rate, Unit::BytesPerSecond) + &share.unwrap_or_default())
}

/// What is said of a use, and of whether it is of this host.
type Said<'a> = &'a dyn Fn(&MemoryUse, bool) -> Option<String>;

/// What both ends counted, parted; what they share once.
fn both(analysis: &Analysis<'_>, row: &PanelRow, said: Said<'_>) -> Option<String> {
    let summary = analysis.summaries.get(row.trial)?;
    let near = analysis.stored.trials.get(row.trial)?.controllers().map(|near| near.role);
    summary.metric.larger_is_better().then_some(())?;
    let ends = ENDS.map(|end| {
        let one = of(summary, end)?;
        said(one, one.both_ends || near == Some(end))
    });
    let is_shared = of(summary, ENDS[0]).is_some_and(|one| one.both_ends);
    match ends {
        [None, None] => None,
        [Some(of_all), _] if is_shared => Some(of_all),
        ends => Some(ends.map(|end| end.unwrap_or_else(|| "-".to_owned())).join(" / ")),
    }
}
