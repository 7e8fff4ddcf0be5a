//! A study's figures and tables in the page.

use super::{Panel, StudyResults, text};
use crate::plots::panel as plot;
use crate::{Analysis, words};
use maud::{Markup, PreEscaped, html};

/// Figures, tables and sentences of all panels.
pub fn section(analysis: &Analysis<'_>, results: &StudyResults) -> Markup {
    html! {
        h2 id="study" { "The study" }
        @for line in text::cautions(analysis, &results.drift) { p class="soft" { (line) } }
        div class="grid" {
            @for (at, panel) in results.panels.iter().enumerate() {
                (card(analysis, panel, &results.across, at))
            }
        }
        p class="soft" {
            "Boxes: quartiles (type 7), median, whiskers on the last value within 1.5 interquartile \
             ranges, outliers as circles."
        }
    }
}

fn card(analysis: &Analysis<'_>, panel: &Panel, across: &str, at: usize) -> Markup {
    let title = if panel.name.is_empty() { words::metric(panel.metric) } else { &panel.name };
    let populated = panel.rows.iter().any(|row| !row.population.is_empty());
    html! {
        div class="card" id=(format!("panel-{at}")) {
            h3 { (title) }
            (PreEscaped(plot::draw(title, across, panel, &analysis.summaries)))
            ul { @for line in text::says(panel, across) { li { (line) } } }
            div class="scroll" { table {
                thead { tr {
                    th { (across) } th class="number" { "median" }
                    th class="number" { "95 % interval" } th class="number" { "n" }
                    @if populated { th { "memory by CPU" } }
                } }
                tbody { @for row in &panel.rows { tr {
                    td { b { (row.level) } }
                    td class="number" data-name="median" {
                        @match row.median { Some(m) => (words::value(m, panel.unit)), None => "-" }
                    }
                    td class="number" data-name="95 % interval" {
                        @match (row.low.zip(row.high), row.n) {
                            (Some((low, high)), 6..) => (text::between(low, high, panel.unit)),
                            (Some((low, high)), 2..) => {
                                (text::between(low, high, panel.unit)) " *"
                            },
                            _ => "-",
                        }
                    }
                    td class="number" data-name="n" { (row.n) }
                    @if populated { td data-name="memory by CPU" { (row.population.join(" / ")) } }
                } } }
            } }
        }
    }
}
