//! Panels of a study along message sizes, those with one unit in one figure.

use super::{Panel, StudyResults};
use crate::plots::curves::{Point, Series, draw};
use crate::{Analysis, words};
use narrows_model::Bytes;
use narrows_model::units::Unit;
use std::collections::BTreeSet;

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
                all.push(Sized { title, unit: panel.unit, series: vec![series] });
            }
        }
    }
    all
}

fn size(analysis: &Analysis<'_>, trial: usize) -> Option<Bytes> {
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
    let mut points = Vec::new();
    for row in &panel.rows {
        let (Some(median), Some(low), Some(high)) = (row.median, row.low, row.high) else {
            continue;
        };
        let cpu = analysis.summaries.get(row.trial).and_then(|summary| summary.cpu.as_ref());
        let cpu = [cpu.and_then(|cpu| cpu.sender_share), cpu.and_then(|cpu| cpu.receiver_share)];
        points.push(Point { size: size(analysis, row.trial)?, median, low, high, cpu });
    }
    points.retain(|point| point.median > 0.0);
    points.sort_by_key(|point| point.size);
    let name =
        if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name }.to_owned();
    (!points.is_empty()).then_some(Series { name, points })
}
