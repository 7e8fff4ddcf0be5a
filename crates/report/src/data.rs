//! What figures were drawn from, as CSV: for those who draw their own.

use crate::study::{faceted, sized};
use crate::{Analysis, figures, words};

/// A file of each figure of a study's cells, by the name that the figure has.
pub fn all(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let Some(study) = &analysis.study else { return files };
    for (at, panel) in study.panels.iter().enumerate() {
        let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
        let unit = crate::words::word(&panel.unit);
        let head =
            [&study.across, "median", "low", "high", "runs", "unit", "beside"].map(str::to_owned);
        let mut rows = vec![head.to_vec()];
        for row in &panel.rows {
            rows.push(vec![
                row.level.clone(),
                number(row.median),
                number(row.low),
                number(row.high),
                row.n.to_string(),
                unit.clone(),
                number(row.beside),
            ]);
        }
        files.push((figures::of_panel(at, title), csv(&rows)));
    }
    for one in sized::figures(analysis, study) {
        let head = ["test", "bytes", "median", "low", "high", "unit", "sender_cpu", "receiver_cpu"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
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
    for one in faceted::figures(study) {
        let head = ["panel", &study.across, "memory", "median", "low", "high", "unit", "beside"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for panel in &one.panels {
            rows.extend(panel.rows.iter().map(|row| {
                vec![
                    panel.name.clone(),
                    row.level.clone(),
                    faceted::class(row).to_owned(),
                    number(row.median),
                    number(row.low),
                    number(row.high),
                    crate::words::word(&panel.unit),
                    number(row.beside),
                ]
            }));
        }
        files.push((figures::by_population(&one.title), csv(&rows)));
    }
    files
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
