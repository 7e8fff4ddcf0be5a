//! What figures were drawn from, as CSV: for those who draw their own.

use crate::plots::ceilings;
use crate::study::faceted::{self, Faceted};
use crate::study::{Panel, StudyResults};
use crate::{Analysis, figures, placement, words};
use narrows_model::result::{Estimate, Prediction};
use narrows_model::workload::Metric;
use narrows_stats::Percentiles;

/// A file of each figure of a study's cells, of placements, of round trips and of ceilings, by the
/// name that the figure has.
pub fn all(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> =
        analysis.study.iter().flat_map(|study| of_study(analysis, study)).collect();
    let placed = placement::figures::all(analysis).into_iter();
    files.extend(placed.map(|one| (figures::placed(&one.title), csv(&one.data))));
    for summary in &analysis.summaries {
        if let Some(trips) = &summary.round_trips {
            files.push((figures::times(summary), csv(&times(trips))));
        }
    }
    let drawn = figures::predictions(analysis).filter(|one| !ceilings::draw(one).is_empty());
    files.extend(drawn.map(|one| (figures::ceilings_of(one), csv(&parts(one)))));
    figures::apart(&mut files);
    files
}

/// A row a bucket of round trips: how many were above the one before and at most as long.
fn times(trips: &Percentiles) -> Vec<Vec<String>> {
    let head = ["at_most_ns", "count", "share_at_most"].map(str::to_owned).to_vec();
    let mut seen = 0;
    let rows = trips.buckets.iter().map(|(edge, count)| {
        seen += count;
        let share = seen as f64 / trips.count.max(1) as f64;
        vec![edge.0.to_string(), count.to_string(), share.to_string()]
    });
    std::iter::once(head).chain(rows).collect()
}

/// A row a ceiling, the bottleneck marked, and what was measured at last.
fn parts(prediction: &Prediction) -> Vec<Vec<String>> {
    let head = ["resource", "value", "low", "high", "unit", "is_bottleneck", "only_if", "says"];
    let row = |name: String, of: &Estimate, rest: [String; 3]| {
        let [value, low, high] = [of.value, of.low, of.high].map(|one| one.to_string());
        let cells = vec![name, value, low, high, words::word(&of.unit)];
        cells.into_iter().chain(rest).collect::<Vec<String>>()
    };
    let ceilings = prediction.ceilings.iter().map(|one| {
        let only_if = one.only_if.clone().unwrap_or_default();
        let is_bottleneck =
            one.only_if.is_none() && prediction.bottleneck.as_ref() == Some(&one.resource);
        let rest = [is_bottleneck.to_string(), only_if, one.says.clone()];
        row(one.resource.to_string(), &one.range, rest)
    });
    let measured = prediction.measured.iter();
    let measured = measured.map(|of| row("measured".to_owned(), of, Default::default()));
    let head = std::iter::once(head.map(str::to_owned).to_vec());
    head.chain(ceilings).chain(measured).collect()
}

fn of_study(analysis: &Analysis<'_>, study: &StudyResults) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (at, panel) in study.panels.iter().enumerate().filter(|(_, panel)| is_drawn(panel)) {
        let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
        let unit = crate::words::word(&panel.unit);
        let head =
            [&study.across, "median", "low", "high", "runs", "unit", "beside"].map(str::to_owned);
        // What other tests call latency is half of it.
        let is_trip = panel.metric == Metric::RoundTripP50;
        let half = is_trip.then(|| "half_of_median".to_owned());
        let mut rows: Vec<Vec<String>> = vec![head.into_iter().chain(half).collect()];
        for row in &panel.rows {
            let mut cells = vec![
                row.level.clone(),
                number(row.median),
                number(row.low),
                number(row.high),
                row.n.to_string(),
                unit.clone(),
                number(row.beside),
            ];
            cells.extend(is_trip.then(|| number(row.median.map(|median| median / 2.0))));
            rows.push(cells);
        }
        files.push((figures::of_panel(at, title), csv(&rows)));
    }
    for one in crate::study::by_size(analysis, study) {
        let head = ["test", "bytes", "median", "low", "high", "unit"];
        let cpu = ["sender_host_cpu", "receiver_host_cpu"];
        let mut rows = vec![head.into_iter().chain(cpu).map(str::to_owned).collect::<Vec<_>>()];
        let unit = crate::words::word(&one.unit);
        for series in &one.series {
            for point in &series.points {
                rows.push(vec![
                    series.name.clone(),
                    point.size.0.to_string(),
                    point.median.to_string(),
                    point.low.to_string(),
                    point.high.to_string(),
                    unit.clone(),
                    number(point.cpu[0]),
                    number(point.cpu[1]),
                ]);
            }
        }
        files.push((figures::by_size(&one.title), csv(&rows)));
    }
    for one in faceted::figures(analysis, study) {
        files.push((figures::joint(&one.title), csv(&joint(analysis, &study.across, &one))));
    }
    files
}

/// Whether a panel's figure has anything in it.
fn is_drawn(panel: &Panel) -> bool {
    panel.rows.iter().any(|row| row.median.is_some() || row.beside.is_some())
}

/// What a joint figure's boxes were drawn from.
fn joint(analysis: &Analysis<'_>, across: &str, one: &Faceted<'_>) -> Vec<Vec<String>> {
    let boxes = ["whisker_low", "quartile_1", "quartile_3", "whisker_high", "outliers"];
    let head = ["panel", across, "memory", "median", "low", "high", "runs", "unit", "beside"];
    let mut rows = vec![head.into_iter().chain(boxes).map(str::to_owned).collect()];
    for panel in &one.panels {
        rows.extend(panel.rows.iter().map(|row| {
            let plot = analysis.summaries.get(row.trial).and_then(|one| one.box_plot.as_ref());
            let outliers = plot.map_or(&[][..], |plot| &plot.outliers);
            let outliers: Vec<String> = outliers.iter().map(f64::to_string).collect();
            vec![
                panel.name.clone(),
                row.level.clone(),
                faceted::class(row).to_owned(),
                number(row.median),
                number(row.low),
                number(row.high),
                row.n.to_string(),
                crate::words::word(&panel.unit),
                number(row.beside),
                number(plot.map(|plot| plot.whisker_low)),
                number(plot.map(|plot| plot.quartile_1)),
                number(plot.map(|plot| plot.quartile_3)),
                number(plot.map(|plot| plot.whisker_high)),
                outliers.join(" "),
            ]
        }));
    }
    rows
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Rows as RFC 4180 has them, without what would act on a terminal.
fn csv(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| quoted(&words::tame(cell))).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
