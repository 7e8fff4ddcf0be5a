//! A study's figures and tables in the page.

use super::plot;
use super::{Panel, StudyResults, faceted, side, tabled, text, traffic};
use crate::plots::{BOX_RUNS_MIN, WIDTH};
use crate::{Analysis, words};
use maud::{Markup, PreEscaped, html};

/// More panels than this are folded where a figure has all of them.
const PANELS_OPEN: usize = 6;

/// Letters of a level for which a card has room beside three columns of figures.
const NAME_SHORT: usize = 12;

/// The figures over all panels first, then tables, what keeps them from being taken at their word,
/// and each panel by itself.
pub fn section(analysis: &Analysis<'_>, results: &StudyResults) -> Markup {
    let overview = overview(analysis, results);
    let is_folded = overview.is_some() && results.shown().count() > PANELS_OPEN
        // Of the rates that a search tried its own figure tells.
        || !analysis.searches.is_empty();
    html! {
        h2 id="study" { "The study" }
        @if let Some(overview) = overview { (overview) }
        @for (title, rows) in side::tables(analysis, results) { (together(title, &rows)) }
        @if let Some(rows) = words::pairs_table(analysis) { (together(text::PAIRS, &rows)) }
        ul class="soft" {
            @let pairs = words::pairs(analysis).into_iter().chain(words::pairs_notes(analysis));
            @for line in pairs { li { (line) } }
            @for line in traffic::uncounted(analysis) { li { (line) } }
            @for line in text::cautions(analysis, results) { li { (line) } }
        }
        details open[!is_folded] {
            summary { "Each panel by itself, with its intervals" }
            (panels(analysis, results))
        }
    }
}

/// What the papers' figures are: several panels over one axis. `None` where there is no such
/// figure.
fn overview(analysis: &Analysis<'_>, results: &StudyResults) -> Option<Markup> {
    let joint = faceted::figures(analysis, results);
    let sized = super::by_size(analysis, results);
    (!joint.is_empty() || !sized.is_empty()).then(|| {
        html! { div class="grid overview" {
            @for one in &joint {
                div class="card joint" {
                    h3 { (one.title) }
                    div class="desk" { (PreEscaped(one.draw(analysis, results, faceted::WIDE))) }
                    div class="telephone" { (PreEscaped(one.draw(analysis, results, WIDTH))) }
                }
            }
            @for one in &sized {
                div class="card" { h3 { (one.title) } (PreEscaped(one.draw())) }
            }
        } }
    })
}

fn panels(analysis: &Analysis<'_>, results: &StudyResults) -> Markup {
    html! {
        div class="grid" {
            @for (at, panel) in results.shown().enumerate() { (card(analysis, panel, results, at)) }
        }
        p class="soft" {
            "Boxes: quartiles (type 7), median, whiskers on the last value within 1.5 interquartile \
             ranges, outliers as circles. Of fewer than " (BOX_RUNS_MIN) " runs each is a dot beside \
             the median."
        }
    }
}

/// All cells side by side.
fn together(title: &str, table: &[Vec<String>]) -> Markup {
    let Some((head, rows)) = table.split_first() else { return html! {} };
    let is_number = |at: usize| tabled::is_number(table, at);
    html! { div class="scroll medians" { table {
        caption { (title) }
        thead { tr { @for (at, name) in head.iter().enumerate() {
            th class=[is_number(at).then_some("number")] { (name) }
        } } }
        tbody { @for row in rows { tr { @for (at, cell) in row.iter().enumerate() {
            @if at == 0 { td class="name" { b { (cell) } } }
            @else {
                td class=[is_number(at).then_some("number")] data-name=(head[at]) { (cell) }
            }
        } } } }
    } } }
}

fn card(analysis: &Analysis<'_>, panel: &Panel, results: &StudyResults, at: usize) -> Markup {
    let across = results.across.as_str();
    let interval = text::said_interval(results.confidence_percent);
    let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
    let beside = panel.rows.iter().any(|row| row.beside.is_some());
    let has_long_names = panel.rows.iter().any(|row| row.level.chars().count() > NAME_SHORT);
    let sent = panel.rows.iter().any(|row| row.sent.is_some());
    let predicted = panel.rows.iter().any(|row| row.predicted.is_some());
    html! {
        // More columns, or longer names, than one card has room for.
        div.card.many[beside || has_long_names] id=(format!("panel-{at}")) {
            h3 { (title) }
            (PreEscaped(plot::draw(results, panel, &analysis.summaries)))
            ul { @for line in text::says(panel, across) { li { (line) } } }
            div class="scroll" { table {
                thead { tr {
                    th { (across) } th class="number" { "median" }
                    th class="number" { (interval) } th class="number" { "n" }
                    @if sent { th class="number" { "sent" } }
                    @if predicted { th class="number" { "predicted" } }
                    @if beside { th class="number" { "reference" } th class="number" { "difference" } }
                } }
                tbody { @for row in &panel.rows { tr {
                    td class="name" { b { (row.level) } }
                    td class="number" data-name="median" data-value=[row.median] {
                        @match row.median { Some(m) => (words::exact(m, panel.unit)), None => "-" }
                    }
                    td class="number" data-name=(interval) {
                        (text::interval(panel, row))
                    }
                    td class="number" data-name="n" { (row.n) }
                    @if sent {
                        td class="number" data-name="sent" {
                            @match row.sent {
                                Some(sent) => (words::exact(sent, panel.unit)),
                                None => "-",
                            }
                        }
                    }
                    @if predicted {
                        td class="number" data-name="predicted" {
                            @match &row.predicted {
                                Some(of) => (words::exact(of.value, panel.unit)),
                                None => "-",
                            }
                        }
                    }
                    @if beside {
                        td class="number" data-name="reference" {
                            @match row.beside { Some(m) => (words::exact(m, panel.unit)), None => "-" }
                        }
                        td class="number" data-name="difference" { (text::difference(row)) }
                    }
                } } }
            } }
        }
    }
}
