//! One screen of a measurement: the answer first, a line a cell and a line a finding. All that is
//! left out is in `text`.

use crate::answer::{self, Answer};
use crate::drawn::Screen;
use crate::drawn::canvas::{BOLD, PLAIN, RED, cut, display_width, wrap};
use crate::formats::text::{details, no_value, styled};
use crate::{Analysis, judged, words};
use narrows_model::result::{Prediction, Weight};
use narrows_model::shown;
use narrows_model::trial::Path;
use narrows_stats::Summary;

/// Lines of an answer at most.
pub const ANSWER_LINES: usize = 5;
/// Lines of what was done, where, when and how it ended.
const HEAD_LINES: usize = 2;
/// Cells, predicted NICs and findings that are shown, one line each.
const CELLS: usize = 8;
const NICS: usize = 2;
const FINDINGS: usize = 3;
/// More cells than this are shown without how they were set up.
const DETAILED: usize = 2;

/// The text; `rest` is where all else is.
pub fn text(analysis: &Analysis<'_>, screen: &Screen, rest: &str) -> String {
    let columns = screen.width();
    let mut lines = wrap(&head(analysis), columns, "  ");
    lines.truncate(HEAD_LINES);
    match answer::of(analysis) {
        Some(answer) => lines.extend(answer_lines(&answer, rest, columns)),
        None => lines.extend(said("details", rest, columns, 1)),
    }
    lines.extend(cells(analysis, columns));
    lines.extend(nics(analysis, columns));
    lines.extend(findings(analysis, columns));
    let shown = lines.iter().map(|line| line.trim_end().replace('\u{a0}', " ") + "\n");
    screen.show(&shown.collect::<String>())
}

fn head(analysis: &Analysis<'_>) -> String {
    let study = &analysis.stored.study;
    let to = study.peer.as_ref().map_or(String::new(), |peer| format!(" to {peer}"));
    let name = words::command(analysis);
    let place = words::place(analysis);
    let when = words::when(study.began_unix_ns);
    let ending = words::ending(analysis);
    shown::line(&format!("{name}{to} on {place}, {when}, {ending}")).into_owned()
}

/// At most [`ANSWER_LINES`]: what to do is cut before the others.
fn answer_lines(answer: &Answer, rest: &str, columns: usize) -> Vec<String> {
    let figure = shown::line(&answer.figure).into_owned();
    let mut lines = vec![format!("{BOLD}{}{PLAIN}", cut(&figure, columns))];
    let bottleneck = said("bottleneck", &answer.bottleneck, columns, 2);
    lines.extend(bottleneck);
    lines.extend(said("do", &answer.action, columns, ANSWER_LINES - 1 - lines.len()));
    lines.extend(said("details", rest, columns, 1));
    lines
}

/// `name: text` in so many lines at most, the last of them cut.
fn said(name: &str, text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(&format!("{name}: {}", shown::line(text)), columns, "  ");
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1));
        lines.push(cut(&rest.join(" ").replace("   ", " "), columns));
    }
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&format!("{name}:"), &format!("{BOLD}{name}:{PLAIN}"), 1);
    }
    lines
}

/// A line a cell, and how it was set up where there are few.
fn cells(analysis: &Analysis<'_>, columns: usize) -> Vec<String> {
    let network = analysis.summaries.iter().find(|summary| summary.path != Path::Memory);
    let path = network.map_or(String::new(), |summary| format!("; {}", words::path(summary.path)));
    let mut lines = wrap(&format!("Measured (median, 95 % interval{path})"), columns, "  ");
    let labels = analysis.summaries.iter().map(|summary| display_width(&summary.label));
    let width = labels.max().unwrap_or(0).clamp(8, 30);
    for summary in analysis.summaries.iter().take(CELLS) {
        lines.push(cut(&cell(analysis, summary, width), columns));
        if analysis.summaries.len() <= DETAILED {
            for text in details(analysis, summary) {
                lines.extend(wrap(&styled(&format!("    {text}")), columns, "      "));
            }
        }
    }
    lines.extend(more(analysis.summaries.len(), CELLS, "cell"));
    let sums = words::together(analysis).into_iter().chain(words::pairs(analysis));
    for text in sums.take(CELLS) {
        lines.extend(wrap(&styled(&format!("  {text}")), columns, "    "));
    }
    lines
}

fn cell(analysis: &Analysis<'_>, summary: &Summary, width: usize) -> String {
    let label = cut(&shown::line(&summary.label), width);
    let Some(estimate) = &summary.estimate else {
        let why = no_value(summary);
        return shown::line(&format!("  {label:<width$} no value: {why}")).into_owned();
    };
    let middle = words::middle(estimate);
    let mut text = format!("  {label:<width$} {middle:>9}  ");
    // What is cut at the end of the line is never that runs failed.
    if !summary.failed.is_empty() {
        text += &format!("{} failed; ", words::counted(summary.failed.len(), "run"));
    }
    text += &words::range(estimate);
    if let Some(share) = words::expectation(analysis, summary).and_then(share) {
        text += &format!("; {share}");
    }
    text
}

/// `94 % of wire`.
fn share(prediction: &Prediction) -> Option<String> {
    let range = prediction.range.filter(|range| range.value > 0.0)?;
    let percent = 100.0 * prediction.measured?.value / range.value;
    Some(format!("{percent:.0} % of {}", prediction.narrowest.as_ref()?))
}

/// What each NIC can reach with TCP.
fn nics(analysis: &Analysis<'_>, columns: usize) -> Vec<String> {
    let of_tcp = |one: &&Prediction| one.measured.is_none() && one.protocol == "tcp";
    let all: Vec<&Prediction> = analysis.predictions.iter().filter(of_tcp).collect();
    let line = |one: &&Prediction| {
        let says = format!("{} can reach {} (predicted)", one.path, words::prediction(one));
        cut(&shown::line(&says), columns)
    };
    let mut lines: Vec<String> = all.iter().take(NICS).map(line).collect();
    lines.extend(more(all.len(), NICS, "NIC"));
    lines
}

/// A line a finding, and one for all rules.
fn findings(analysis: &Analysis<'_>, columns: usize) -> Vec<String> {
    if analysis.is_imported() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for found in analysis.found.iter().take(FINDINGS) {
        let finding = &found.finding;
        let weight = words::weight(finding.weight);
        let says = cut(&shown::line(&format!("{weight}: {}", finding.says)), columns);
        let is_fault = finding.weight == Weight::Fault;
        lines.push(if is_fault { format!("{RED}{says}{PLAIN}") } else { says });
    }
    lines.extend(more(analysis.found.len(), FINDINGS, "finding"));
    let rules = words::counted(analysis.judged.len(), "rule");
    lines.push(cut(&format!("{rules}: {}", judged::answers(&analysis.judged)), columns));
    lines
}

fn more(all: usize, most: usize, what: &str) -> Option<String> {
    let left = all.checked_sub(most).filter(|left| *left > 0)?;
    Some(format!("  and {}, left out here", words::counted(left, what)))
}
