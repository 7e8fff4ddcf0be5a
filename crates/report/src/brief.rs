//! One screen of a measurement: the answer first, a line a cell and a line a finding. All that is
//! left out is in `text`.

use crate::answer;
use crate::clauses::clauses;
use crate::drawn::Screen;
use crate::drawn::canvas::{BOLD, PLAIN, RED, cut, display_width, wrap};
use crate::formats::text::{details, styled};
use crate::sentences::Answer;
use crate::study::StudyResults;
use crate::study::text::{prices, tables};
use crate::{
    Analysis, judged, latency, neighbours, paths, placement, probed, profiled, searched, wire,
    words,
};
use narrows_model::result::{Finding, Prediction, Weight};
use narrows_model::shown;
use narrows_model::trial::NetworkPath;
use narrows_stats::Summary;

/// Lines of a screen. Findings and NICs take what the rest leaves of it, each whole or not at all.
pub(crate) const SCREEN_LINES: usize = 24;
/// Lines of what was done, where, when and how it ended.
const HEAD_LINES: usize = 2;
/// Lines of the bottleneck, and of what to do, at most: what is longer ends with a whole clause.
const SENTENCE_LINES: usize = 3;
/// Cells that are shown, one line each; fewer where the answer takes many lines.
const CELLS: usize = 8;
/// Predicted NICs and findings that are shown at most.
const NICS: usize = 2;
const FINDINGS: usize = 3;
/// Lines that cells leave for NICs, findings and the rules.
const LINES_BELOW_CELLS: usize = 6;
/// Behind a clause after which something is left out.
pub(crate) const MORE: &str = " (more: -v)";
/// More cells than this are shown without how they were set up.
const DETAILED: usize = 2;

/// The text; `rest` is where all else is.
pub fn text(analysis: &Analysis<'_>, screen: &Screen, rest: &str) -> String {
    let columns = screen.width();
    let mut lines = wrap(&head(analysis), columns, "  ");
    lines.truncate(HEAD_LINES);
    match answer::of(analysis) {
        Some(answer) => lines.extend(answer_lines(analysis, &answer, rest, columns)),
        None => lines.extend(said("details", rest, columns)),
    }
    if analysis.latency.is_some() {
        return on_screen(&lines, screen);
    }
    lines.extend(cells(analysis, columns, free(&lines).saturating_sub(LINES_BELOW_CELLS)));
    let rules = rules(analysis, columns);
    lines.extend(profiles(analysis, columns, free(&lines).saturating_sub(rules.len() + 2)));
    // A line each for what is left out of both.
    lines.extend(nics(analysis, columns, free(&lines).saturating_sub(rules.len() + 2)));
    lines.extend(findings(analysis, columns, free(&lines).saturating_sub(rules.len())));
    lines.extend(rules);
    on_screen(&lines, screen)
}

/// The end of an experiment: its tables, then the findings that weigh most, and the answer last,
/// where a terminal that has scrolled by shows it; `rest` is where all else is.
pub fn study(
    analysis: &Analysis<'_>,
    results: &StudyResults,
    screen: &Screen,
    rest: &str,
) -> String {
    let columns = screen.width();
    let mut lines = wrap(&head(analysis), columns, "  ");
    lines.truncate(HEAD_LINES);
    lines.push(String::new());
    let searched = searched::answer_table(analysis);
    for line in styled(&(searched + &body(analysis, results))).lines() {
        // Columns of a table are kept beside each other, however wide.
        let is_row = line.trim_start().contains("  ");
        lines.extend(if is_row { vec![line.to_owned()] } else { wrap(line, columns, "    ") });
    }
    lines.extend(findings(analysis, columns, FINDINGS * SENTENCE_LINES));
    lines.extend(rules(analysis, columns));
    lines.push(String::new());
    let answer = answer::of_study(analysis, results);
    // What leads is not said twice.
    let leads = answer.as_ref().is_some_and(|answer| answer.figure.contains(answer::WIRE));
    if let Some(wire) = wire::text::sentence(analysis).filter(|_| !leads) {
        lines.extend(said("wire rate", &wire, columns));
    }
    match answer {
        Some(answer) => {
            let figure = format!("{} ({})", answer.figure, answer.spread);
            lines.extend(said("answer", &figure, columns));
            lines.extend(said("bottleneck", &answer.bottleneck, columns));
            lines.extend(said("do", &answer.action, columns));
        }
        None => lines.extend(said("answer", "no run gave a figure", columns)),
    }
    lines.extend(said("details", rest, columns));
    on_screen(&lines, screen)
}

/// What a study asks has tables of its own; of any other its panels.
fn body(analysis: &Analysis<'_>, results: &StudyResults) -> String {
    if !analysis.placements.is_empty() {
        placement::text::tables(analysis) + &prices(analysis, results)
    } else if !analysis.neighbours.is_empty() {
        neighbours::text::tables(analysis)
    } else if !analysis.paths.is_empty() {
        let around = [paths::text::head(analysis), paths::text::foot(analysis)].concat();
        around.join("\n") + "\n\n" + &paths::text::tables(analysis)
    } else {
        tables(analysis, results)
    }
}

fn on_screen(lines: &[String], screen: &Screen) -> String {
    let shown = lines.iter().map(|line| line.trim_end().replace('\u{a0}', " ") + "\n");
    screen.show(&shown.collect::<String>())
}

/// Lines of the screen that these leave.
fn free(lines: &[String]) -> usize {
    SCREEN_LINES.saturating_sub(lines.len())
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

/// The figure, what limits it, what to do, and where the rest is.
fn answer_lines(
    analysis: &Analysis<'_>,
    answer: &Answer,
    rest: &str,
    columns: usize,
) -> Vec<String> {
    let figure = shown::line(&answer.figure).into_owned();
    let spread = shown::line(&answer.spread).into_owned();
    // Two directions and their sum take more than a line of eighty columns.
    let is_both_ways = answer::headline(analysis).is_some_and(|summary| summary.there.is_some());
    let figure = if is_both_ways {
        wrap(&format!("{figure} ({spread})"), columns, "  ")
    } else {
        vec![with_spread(&figure, &spread, columns)]
    };
    let mut lines: Vec<String> =
        figure.into_iter().map(|line| format!("{BOLD}{line}{PLAIN}")).collect();
    if let Some(latency) = &analysis.latency {
        lines.extend(said("medians", &latency::medians(latency), columns));
    }
    lines.extend(said("bottleneck", &answer.bottleneck, columns));
    lines.extend(said("do", &answer.action, columns));
    lines.extend(said("details", rest, columns));
    lines
}

/// A figure in one line, with as much of its spread as that has room for: what is behind the last
/// comma is left out first, then all of it, so that no figure loses its unit.
fn with_spread(figure: &str, spread: &str, columns: usize) -> String {
    let shorter = spread.rsplit_once(", ").map(|(interval, _)| interval);
    let told = std::iter::once(spread).chain(shorter).map(|spread| format!("{figure} ({spread})"));
    let fitting = told.into_iter().find(|line| display_width(line) <= columns);
    fitting.unwrap_or_else(|| cut(figure, columns))
}

/// `name: text` in [`SENTENCE_LINES`] at most.
fn said(name: &str, text: &str, columns: usize) -> Vec<String> {
    let whole = format!("{name}: {}", shown::line(text));
    let mut lines = clauses(&whole, columns, SENTENCE_LINES, MORE);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&format!("{name}:"), &format!("{BOLD}{name}:{PLAIN}"), 1);
    }
    lines
}

/// Texts of one kind, of which some are shown.
struct Several<'a> {
    what: &'static str,
    most: usize,
    /// Names of all texts, for those that are left out; empty where they have none.
    names: &'a [&'a str],
}

/// The texts that fit into so many lines, whole, and how many are left out; the first is shown
/// wherever it ends.
fn whole(texts: &[Vec<String>], of: &Several<'_>, room: usize, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut shown = 0;
    for text in texts.iter().take(of.most) {
        let left = usize::from(shown + 1 < texts.len());
        if shown > 0 && lines.len() + text.len() + left > room {
            break;
        }
        lines.extend_from_slice(text);
        shown += 1;
    }
    let names = of.names.get(shown..).filter(|names| !names.is_empty());
    let names = names.map_or(String::new(), |names| format!(": {}", names.join(", ")));
    let more = more(texts.len(), shown, of.what);
    lines.extend(more.map(|line| cut(&format!("{line}{names}"), columns)));
    lines
}

/// A line a cell, and how it was set up where there are few.
fn cells(analysis: &Analysis<'_>, columns: usize, room: usize) -> Vec<String> {
    let network = analysis.summaries.iter().find(|summary| summary.path != NetworkPath::Memory);
    let path = network.map_or(String::new(), |summary| format!("; {}", words::way_of(summary)));
    let mut lines = wrap(&format!("Measured (median, 95 % interval{path})"), columns, "  ");
    let labels = analysis.summaries.iter().map(|summary| display_width(&summary.label));
    let width = labels.max().unwrap_or(0).clamp(8, 30);
    let most = CELLS.min(room.saturating_sub(lines.len() + 1)).max(DETAILED);
    for summary in analysis.summaries.iter().take(most) {
        lines.push(in_a_line(&cell(analysis, summary, width), columns));
        if analysis.summaries.len() <= DETAILED {
            for text in details(analysis, summary) {
                lines.extend(wrap(&styled(&format!("    {text}")), columns, "      "));
            }
        }
    }
    lines.extend(more(analysis.summaries.len(), most, "cell").map(|left| {
        let cells = analysis.summaries.iter().skip(most);
        // A run that failed is told wherever its cell stands.
        match cells.map(|summary| summary.failed.len()).sum() {
            0 => left,
            failed => format!("{left}; {} failed in them", words::counted(failed, "run")),
        }
    }));
    let sums = words::together(analysis).into_iter().chain(words::pairs(analysis));
    let path = probed::says(analysis.stored).into_iter().map(|says| format!("path: {says}"));
    for text in sums.chain(path).take(CELLS) {
        lines.extend(wrap(&styled(&format!("  {text}")), columns, "    "));
    }
    lines
}

/// What is said of a cell, in parts of which none is shown by half.
fn cell(analysis: &Analysis<'_>, summary: &Summary, width: usize) -> Vec<String> {
    let label = cut(&shown::line(&summary.label), width);
    let Some(estimate) = &summary.estimate else {
        let why = words::no_value(summary);
        return vec![shown::line(&format!("  {label:<width$} no value: {why}")).into_owned()];
    };
    let middle = words::figure(analysis, summary, estimate);
    let mut parts = vec![format!("  {label:<width$} {middle:>9}")];
    // What is left out at the end of the line is never that runs failed.
    if !summary.failed.is_empty() {
        parts.push(format!("  {} failed", words::counted(summary.failed.len(), "run")));
    }
    let between = if parts.len() > 1 { "; " } else { "  " };
    parts.push(format!("{between}{}", words::range(estimate)));
    let share = words::expectation(analysis, summary).and_then(share);
    parts.extend(share.map(|share| format!("; {share}")));
    parts
}

/// The first part, and those behind it that a line has room for: one that is cut would have a
/// figure without its unit.
fn in_a_line(parts: &[String], columns: usize) -> String {
    let mut line = parts.first().map_or(String::new(), |first| cut(first, columns));
    for part in parts.iter().skip(1) {
        if display_width(&line) + display_width(part) > columns {
            break;
        }
        line += part;
    }
    line
}

/// `94 % of wire`, of a round trip what was expected.
fn share(prediction: &Prediction) -> Option<String> {
    let range = prediction.range.filter(|range| range.value > 0.0)?;
    if words::is_of_time(prediction) {
        return Some(format!("expected {}", words::middle(&range)));
    }
    let percent = 100.0 * prediction.measured?.value / range.value;
    Some(format!("{percent:.0} % of {}", prediction.bottleneck.as_ref()?))
}

/// What each NIC can reach with TCP.
fn nics(analysis: &Analysis<'_>, columns: usize, room: usize) -> Vec<String> {
    let reach = analysis.predictions.iter().filter(|one| one.is_unmeasured_tcp()).map(|one| {
        let says = format!("{} can reach {} (predicted)", one.path, words::prediction(one));
        wrap(&shown::line(&says), columns, "  ")
    });
    let several = Several { what: "NIC", most: NICS, names: &[] };
    whole(&reach.collect::<Vec<_>>(), &several, room, columns)
}

/// What each end of the profiled trials spent its CPU time on.
fn profiles(analysis: &Analysis<'_>, columns: usize, room: usize) -> Vec<String> {
    let ends = analysis.profiles.iter().flat_map(|one| &one.ends);
    let lines: Vec<Vec<String>> =
        ends.map(|end| wrap(&shown::line(&profiled::brief(end)), columns, "  ")).collect();
    let several = Several { what: "profiled end", most: CELLS, names: &[] };
    if lines.is_empty() { lines.concat() } else { whole(&lines, &several, room, columns) }
}

/// The findings that weigh most.
fn findings(analysis: &Analysis<'_>, columns: usize, room: usize) -> Vec<String> {
    if analysis.is_imported() {
        return Vec::new();
    }
    let found = analysis.found.iter().map(|found| finding(&found.finding, columns));
    // One that is not shown may be what the reader looks for: its rule says which.
    let rules: Vec<&str> = analysis.found.iter().map(|found| &*found.finding.rule).collect();
    let several = Several { what: "finding", most: FINDINGS, names: &rules };
    whole(&found.collect::<Vec<_>>(), &several, room, columns)
}

fn finding(finding: &Finding, columns: usize) -> Vec<String> {
    let says = format!("{}: {}", words::weight(finding.weight), finding.says);
    let mut lines = clauses(&shown::line(&says), columns, SENTENCE_LINES, MORE);
    if finding.weight == Weight::Fault {
        for line in &mut lines {
            *line = format!("{RED}{line}{PLAIN}");
        }
    }
    lines
}

/// How many rules answered what.
fn rules(analysis: &Analysis<'_>, columns: usize) -> Vec<String> {
    if analysis.is_imported() {
        return Vec::new();
    }
    let rules = words::counted(analysis.judged.len(), "rule");
    wrap(&format!("{rules}: {}", judged::answers(&analysis.judged)), columns, "  ")
}

fn more(all: usize, most: usize, what: &str) -> Option<String> {
    let left = all.checked_sub(most).filter(|left| *left > 0)?;
    Some(format!("  and {}, left out here", words::counted(left, what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_is_longer_than_a_line_loses_whole_parts() {
        let parts = ["  packets 9.72 M packets/s", "  9.70 to 9.73 M packets/s", "; 65 % of wire"];
        let parts = parts.map(str::to_owned);
        assert_eq!(in_a_line(&parts, 80), parts.concat());
        assert_eq!(in_a_line(&parts, 60), parts[..2].concat());
        assert_eq!(in_a_line(&parts, 45), parts[0]);
        assert_eq!(in_a_line(&parts, 10), "  packets…", "what alone is too long is cut");
    }

    #[test]
    fn a_figure_has_as_much_of_its_spread_as_fits() {
        let of = |columns| {
            with_spread("TCP: 92.1 Gb/s", "95 % interval 72 to 103 Gb/s, 6 runs", columns)
        };
        assert_eq!(of(60), "TCP: 92.1 Gb/s (95 % interval 72 to 103 Gb/s, 6 runs)");
        assert_eq!(of(50), "TCP: 92.1 Gb/s (95 % interval 72 to 103 Gb/s)");
        assert_eq!(of(40), "TCP: 92.1 Gb/s");
    }
}
