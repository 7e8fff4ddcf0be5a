//! Panels of a study along message sizes, those with one unit in one figure. Round trips are drawn
//! as halves, as what others call latency: so they stand beside figures of tools that have it so.

use super::{Panel, StudyResults};
use crate::plots::curves::{Point, Series, draw};
use crate::{Analysis, words};
use narrows_model::Bytes;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use std::collections::BTreeSet;

/// The title of what takes time.
const LATENCY: &str = "latency by message size: half of a round trip, or as the tool has it";
/// Fewer sizes are no curve.
const SIZES_MIN: usize = 3;

/// One figure of several tests over sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    pub title: String,
    /// Unit of all values of the figure.
    pub unit: Unit,
    /// A line a test.
    pub series: Vec<Series>,
}

impl Sized {
    /// The figure as SVG.
    pub fn draw(&self) -> String {
        draw(&self.title, self.unit, &self.series)
    }
}

/// The figures of a study by message size: one a unit; none where sizes are not varied.
pub fn figures(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<Sized> {
    let mut all: Vec<Sized> = Vec::new();
    for panel in &results.panels {
        let Some(series) = series(analysis, panel) else { continue };
        match all.iter_mut().find(|one| one.unit == panel.unit) {
            Some(one) => one.series.push(series),
            None => {
                let title = format!("{} by message size", words::metric(panel.metric));
                let title = if panel.unit == Unit::Nanos { LATENCY.to_owned() } else { title };
                all.push(Sized { title, unit: panel.unit, series: vec![series] });
            }
        }
    }
    all
}

/// The size of a cell's messages.
pub(super) fn size(analysis: &Analysis<'_>, trial: usize) -> Option<Bytes> {
    Some(analysis.stored.trials.get(trial)?.params.message_bytes)
}

/// Whether each cell of a panel has a size of its own.
pub fn is_curve(analysis: &Analysis<'_>, panel: &Panel) -> bool {
    let sizes: BTreeSet<Bytes> =
        panel.rows.iter().filter_map(|row| size(analysis, row.trial)).collect();
    sizes.len() == panel.rows.len() && sizes.len() >= SIZES_MIN
}

/// A panel as a line.
fn series(analysis: &Analysis<'_>, panel: &Panel) -> Option<Series> {
    if !is_curve(analysis, panel) {
        return None;
    }
    let is_trip = panel.metric == Metric::RoundTripP50;
    let part = if is_trip { 0.5 } else { 1.0 };
    let mut points = Vec::new();
    for row in &panel.rows {
        let of = [row.median, row.low, row.high].map(|of| of.map(|of| part * of));
        let [Some(median), Some(low), Some(high)] = of else { continue };
        let cpu = analysis.summaries.get(row.trial).and_then(|summary| summary.cpu.as_ref());
        let cpu = cpu.map_or([None; 2], |cpu| [cpu.sender_host_share, cpu.receiver_host_share]);
        points.push(Point { size: size(analysis, row.trial)?, median, low, high, cpu });
    }
    points.retain(|point| point.median > 0.0);
    points.sort_by_key(|point| point.size);
    let name = if is_trip { panel.half.as_str() } else { super::names::title(panel) };
    let name = name.to_owned();
    (!points.is_empty()).then_some(Series { name, points })
}
