//! A study in words and tables.

use super::names::{Table, between, levels, title};
use super::{
    Change, FILE, Memory, Panel, PanelRow, StudyResults, grouped, priced, side, tabled, told,
    traffic,
};
use crate::{Analysis, table, words};
use narrows_model::result::{Estimate, Method};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Title of the table of cells in which pairs ran at once.
pub(super) const PAIRS: &str = "Pairs that ran at once";

/// Tables of all panels, what is equal and what differs, and what time did.
pub fn tables(analysis: &Analysis<'_>, results: &StudyResults) -> String {
    let mut text = String::new();
    for (title, rows) in side::tables(analysis, results) {
        text += &titled(title, &rows);
    }
    for panel in results.shown() {
        text += &of_panel(panel, &results.across, results.confidence_percent);
        for line in says(panel, &results.across) {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    if let Some(rows) = words::pairs_table(analysis) {
        let lines = table::lines(&rows, |at| tabled::is_number(&rows, at));
        text += &format!("{PAIRS}\n{lines}");
    }
    for line in words::pairs(analysis).into_iter().chain(words::pairs_notes(analysis)) {
        let _ = writeln!(text, "  {line}");
    }
    for line in traffic::uncounted(analysis) {
        let _ = writeln!(text, "  {line}");
    }
    let unknown = results.population_unknown.as_ref();
    let unknown = unknown.map(|why| format!("how memory is populated is unknown: {why}"));
    let cautions = unknown.into_iter().chain(cautions(analysis, results));
    for line in recommendation(results).into_iter().chain(cautions) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn titled(title: &str, rows: &Table) -> String {
    let lines = table::lines(rows, |at| tabled::is_number(rows, at));
    format!("{title}\n{lines}\n")
}

/// What each configuration costs beside what it reaches, by itself; empty without prices.
pub fn prices(analysis: &Analysis<'_>, results: &StudyResults) -> String {
    let rows = priced::table(analysis, results);
    rows.map_or(String::new(), |rows| titled(priced::TITLE, &rows))
}

/// Which levels are among the best in every panel, and how memory is populated in them. `None`
/// where nobody chooses the level, or no panel has more than one level of throughput.
pub fn recommendation(results: &StudyResults) -> Option<String> {
    let panels: Vec<&Panel> = results
        .panels
        .iter()
        .filter(|panel| !panel.levels.several().is_empty() && panel.metric.larger_is_better())
        .filter(|_| results.is_choice)
        .collect();
    let names: Vec<&str> = levels(results)
        .into_iter()
        .filter(|level| panels.iter().all(|panel| is_best(panel, level)))
        .collect();
    if panels.is_empty() || names.is_empty() {
        return None;
    }
    let split: Vec<&str> = panels.iter().map(|panel| title(panel)).collect();
    let across = &results.across;
    let mut text = format!("best for {}: {across} {}", split.join(" and "), listed(&names));
    // A level that was measured with several populations has the worst of them.
    let memory = |level: &str| {
        let rows = panels.iter().flat_map(|panel| &panel.rows);
        rows.filter(|row| row.level == level).filter_map(|row| row.memory).max()
    };
    for (kind, says) in POPULATED {
        let of = |name: &&&str| memory(name) == Some(kind);
        let of: Vec<&str> = names.iter().filter(of).copied().collect();
        if !of.is_empty() {
            text += &format!("; {says}: {}", of.join(", "));
        }
    }
    Some(text)
}

fn is_best(panel: &Panel, level: &str) -> bool {
    let best = panel.levels.several().first().map_or(&[][..], |level| &level.cells);
    best.iter().any(|at| panel.rows[*at].level == level)
}

/// Names one after the other, the first of many, parted so that commas inside do not matter.
fn listed(names: &[&str]) -> String {
    let between = if names.iter().any(|name| name.contains(',')) { "; " } else { ", " };
    let text = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(between);
    match names.len().saturating_sub(NAMES) {
        0 => text,
        more => format!("{text}{between}and {more} more"),
    }
}

/// More names than this are no recommendation.
const NAMES: usize = 6;

/// What a recommendation says of memory. Balanced without more is only said of all channels.
const POPULATED: [(Memory, &str); 4] = [
    (Memory::Balanced, "memory balanced on every processor, all channels in use"),
    (Memory::BalancedBySource, "memory balanced on every processor, as the source says"),
    (
        Memory::ControllersAlike,
        "both memory controllers of every processor alike (balanced by LP1241), channels empty",
    ),
    (
        Memory::NearBalanced,
        "like memory on the channels in use of every processor, but channels empty",
    ),
];

/// The head of the column of intervals.
pub fn said_interval(confidence_percent: f64) -> String {
    format!("{confidence_percent} % interval")
}

fn of_panel(panel: &Panel, across: &str, confidence: f64) -> String {
    let beside = panel.rows.iter().any(|row| row.beside.is_some());
    let mut rows =
        vec![vec![across.to_owned(), "median".into(), said_interval(confidence), "n".into()]];
    let sent = panel.rows.iter().any(|row| row.sent.is_some());
    if sent {
        rows[0].push("sent".to_owned());
    }
    let predicted = panel.rows.iter().any(|row| row.predicted.is_some());
    if predicted {
        rows[0].push("predicted".to_owned());
    }
    if beside {
        rows[0].extend(["reference".to_owned(), "difference".to_owned()]);
    }
    for row in &panel.rows {
        let value =
            |value: Option<f64>| value.map_or("-".to_owned(), |v| words::exact(v, panel.unit));
        let mut cells =
            vec![row.level.clone(), value(row.median), interval(panel, row), row.n.to_string()];
        if sent {
            cells.push(value(row.sent));
        }
        if predicted {
            cells.push(value(row.predicted.map(|estimate| estimate.value)));
        }
        if beside {
            cells.extend([value(row.beside), difference(row)]);
        }
        rows.push(cells);
    }
    format!("{}\n{}", title(panel), table::lines(&rows, |at| at > 0))
}

/// How much more a row has than the same cell of the other study.
pub fn difference(row: &PanelRow) -> String {
    let both = row.median.zip(row.beside.filter(|beside| *beside > 0.0));
    both.map_or("-".to_owned(), |(own, other)| format!("{:+.1} %", (own / other - 1.0) * 100.0))
}

/// The interval of a row, marked where it is only the range of few runs.
pub fn interval(panel: &Panel, row: &PanelRow) -> String {
    match (row.low.zip(row.high), row.n) {
        (Some((low, high)), _) if !row.is_range => between(low, high, panel.unit),
        (Some((low, high)), 2..) => between(low, high, panel.unit) + " *",
        _ => "-".to_owned(),
    }
}

/// What a panel says, in sentences.
pub fn says(panel: &Panel, across: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |at: &usize| panel.rows[*at].level.as_str();
    lines.extend(grouped::says(panel, across));
    if let Some(equal) = &panel.equal {
        lines.push(if equal.holds {
            format!(
                "equal within {}: medians at most {} apart, with 95 % confidence at most {}",
                percent(1.0 + equal.margin),
                percent(equal.widest),
                percent(equal.bound)
            )
        } else {
            format!(
                "not shown to be equal within {}: medians up to {} apart, perhaps {}",
                percent(1.0 + equal.margin),
                percent(equal.widest),
                percent(equal.bound)
            )
        });
    }
    if let Some(p) = panel.p_value {
        lines.push(format!(
            "differences this large between levels by chance alone (Kruskal and Wallis): p {}",
            probability(p)
        ));
    }
    for (row, told) in
        panel.rows.iter().filter_map(|row| Some((row, row.reproducibility.as_ref()?)))
    {
        lines.push(format!("{across} {}: {told}", row.level));
    }
    for failed in &panel.failures {
        let runs = words::counted(failed.runs, "run");
        let names: Vec<&str> = failed.rows.iter().map(name).collect();
        lines.push(format!("{runs} failed ({across} {}): {}", names.join(", "), failed.why));
    }
    for marked in &panel.labels {
        let measured = panel.rows.iter().filter(|row| row.done > 0).count();
        let names: Vec<&str> = marked.rows.iter().map(name).collect();
        let of = if marked.rows.len() == measured {
            String::new()
        } else {
            format!(" ({across} {})", names.join(", "))
        };
        lines.push(format!("{}{of}", marked.label.says()));
    }
    if let Some(repeats) = panel.repeats_needed {
        lines.push(format!("an interval within the margin takes about {repeats} runs a cell"));
    }
    lines
}

fn percent(quotient: f64) -> String {
    format!("{:.1} %", (quotient - 1.0) * 100.0)
}

fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "below 0.01 %".to_owned(),
        p if p < 0.1 => format!("{:.2} %", p * 100.0),
        p => format!("{:.0} %", p * 100.0),
    }
}

/// Whether an interval is only the range of few runs.
fn is_range(of: &Estimate) -> bool {
    of.n > 1 && of.by == Method::Range
}

/// What keeps the figures from being taken at their word.
pub fn cautions(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<String> {
    let mut lines = Vec::new();
    let drift = &results.drift;
    if analysis.stored.study.quick {
        lines.push("quick: few short runs, to try the study; not its results".to_owned());
    }
    let classes = results.panels.iter().flat_map(|panel| &panel.by_memory);
    let mut estimates = analysis.summaries.iter().filter_map(|summary| summary.estimate);
    if estimates.any(|of| is_range(&of)) || classes.map(|of| &of.median).any(is_range) {
        let says = "* too few runs for an interval (95 % takes 6, more where a study stops at a \
                    precision): the range of the runs";
        lines.push(says.to_owned());
    }
    lines.extend(crate::sessions::coverage(analysis).map(|coverage| coverage.says));
    if let Some(precision) = &analysis.stored.study.precision {
        lines.push(format!(
            "the study stops at a precision of {} %: intervals are those that hold at every look, \
             up to {} runs",
            precision.within_percent, precision.repeats_max
        ));
    }
    if let Some(step) = &drift.step {
        lines.push(format!(
            "a step in time: from run {} of {} on, runs are {:+.1} % ({} by chance)",
            step.at + 1,
            drift.runs,
            (step.ratio - 1.0) * 100.0,
            probability(step.p),
        ));
    }
    if let Some(trend) = drift.trend {
        let way = if trend > 0.0 { "up" } else { "down" };
        lines.push(format!(
            "runs drift {way} over the study (rank correlation with time {trend:.2})"
        ));
    }
    if let Some(p) = drift.order {
        let p = probability(p);
        lines.push(format!("the preceding run has an effect ({p} by chance): unbalanced order"));
    }
    let said = analysis.stored.sessions.iter().flat_map(|session| &session.levels);
    let said: BTreeSet<&str> =
        said.filter(|(_, at)| !at.read).map(|(factor, _)| factor.as_str()).collect();
    if !said.is_empty() {
        let names = said.into_iter().collect::<Vec<_>>().join(", ");
        lines.push(format!("as the user said, not as read from the machine: {names}"));
    }
    lines.extend(results.reference.filter(|of| of.with_cell < of.medians).map(|of| {
        let is_joint = analysis.stored.trials.iter().any(|trial| trial.level(FILE).is_some());
        let whose = if is_joint { " (--reference NAME=FILE is of one file's)" } else { "" };
        format!(
            "reference: {} of {} medians stand beside a cell; the others are of levels that this \
             study lacks, or could be of several cells{whose}",
            of.with_cell, of.medians
        )
    }));
    lines.extend(results.changes.iter().map(Change::says));
    lines.extend(told::lines(analysis, &results.told));
    lines.extend(missing(analysis, results));
    lines
}

/// Why cells cannot run, and of which panels, where those are whole.
fn missing(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<String> {
    let Some(session) = analysis.stored.sessions.last() else { return Vec::new() };
    let why = |row: &PanelRow| session.cannot.get(&analysis.stored.trials.get(row.trial)?.id.0);
    let whys: BTreeSet<&String> = session.cannot.values().collect();
    let told = whys.into_iter().map(|one| {
        let cells = session.cannot.values().filter(|other| *other == one).count();
        let whole = results.panels.iter().filter(|panel| {
            !panel.name.is_empty() && panel.rows.iter().all(|row| why(row) == Some(one))
        });
        let names: Vec<&str> = whole.map(|panel| panel.name.as_str()).collect();
        let of = if names.is_empty() { String::new() } else { format!(" ({})", listed(&names)) };
        format!("{}{of} cannot run: {one}", words::counted(cells, "cell"))
    });
    told.collect()
}
