//! `markdown`: tables for a wiki, an issue or a paper's draft.

use super::{Format, tame};
use crate::study::side;
use crate::study::text::{cautions, difference, interval, recommendation, says};
use crate::{Analysis, sessions, tested, words};
use std::fmt::Write;

/// Tables in Markdown.
pub static FORMAT: Format = Format { name: "markdown", for_people: true, write };

fn write(analysis: &Analysis<'_>) -> String {
    let mut text = format!("# {} on {}\n\n", words::command(analysis), words::place(analysis));
    let study = &analysis.stored.study;
    if let Some(title) = &study.title {
        let _ = writeln!(text, "{}\n", title.about);
    }
    let _ = writeln!(
        text,
        "{}, {}, seed {}\n",
        words::when(study.began_unix_ns),
        words::ending(analysis),
        study.seed
    );
    if let Some((title, rows)) = tested::table(analysis) {
        let _ = writeln!(text, "## {title}\n");
        table(&mut text, &rows);
    }
    match &analysis.study {
        Some(_) => panels(&mut text, analysis),
        None => cells(&mut text, analysis),
    }
    without_markup(&text)
}

/// No control character of the data, and no markup of its own.
pub(crate) fn without_markup(text: &str) -> String {
    text.lines().map(|line| tame(line).replace('<', "&lt;") + "\n").collect()
}

fn panels(text: &mut String, analysis: &Analysis<'_>) {
    let Some(results) = &analysis.study else { return };
    for (title, rows) in side::tables(analysis, results) {
        let _ = writeln!(text, "## {title}\n");
        table(text, &rows);
    }
    for panel in &results.panels {
        let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
        let _ = writeln!(text, "## {title}\n");
        let head = [&results.across, "median", "95 % interval", "n", "reference", "difference"];
        let beside = panel.rows.iter().any(|row| row.beside.is_some());
        let columns = if beside { 6 } else { 4 };
        let mut rows: Vec<Vec<String>> =
            vec![head[..columns].iter().map(|name| (*name).to_owned()).collect()];
        for row in &panel.rows {
            let value =
                |of: Option<f64>| of.map_or("-".to_owned(), |of| words::exact(of, panel.unit));
            let cells = [
                row.level.clone(),
                value(row.median),
                interval(panel, row),
                row.n.to_string(),
                value(row.beside),
                difference(row),
            ];
            rows.push(cells[..columns].to_vec());
        }
        table(text, &rows);
        for line in says(panel, &results.across) {
            let _ = writeln!(text, "- {line}");
        }
        text.push('\n');
    }
    for line in recommendation(results).into_iter().chain(cautions(analysis, results)) {
        let _ = writeln!(text, "- {line}");
    }
}

fn cells(text: &mut String, analysis: &Analysis<'_>) {
    let head = ["workload", "median", "95 % interval", "n", "mind"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for summary in &analysis.summaries {
        let labels: Vec<String> =
            summary.labels.iter().map(|label| words::label(*label, summary)).collect();
        rows.push(vec![
            summary.label.clone(),
            summary.estimate.as_ref().map_or("no value".to_owned(), words::middle),
            summary.estimate.as_ref().map_or("-".to_owned(), words::interval),
            summary.values.len().to_string(),
            labels.join("; "),
        ]);
    }
    table(text, &rows);
    for summary in &analysis.summaries {
        if let Some(told) = sessions::reproducibility(summary) {
            let _ = writeln!(text, "- {}: {told}", summary.label);
        }
    }
    if let Some(coverage) = sessions::coverage(analysis) {
        let _ = writeln!(text, "- {}", coverage.says);
    }
    for found in &analysis.found {
        let finding = &found.finding;
        let weight = words::weight(finding.weight);
        let populations = analysis.holds_for(found);
        let populations = populations.map(|all| format!(" Holds for {all}.")).unwrap_or_default();
        let _ = writeln!(text, "- **{weight}**: {}{populations} {}", finding.says, finding.remedy);
    }
}

pub(crate) fn table(text: &mut String, rows: &[Vec<String>]) {
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if at == 0 {
            let _ = writeln!(text, "|{}", "---|".repeat(row.len()));
        }
    }
    text.push('\n');
}
