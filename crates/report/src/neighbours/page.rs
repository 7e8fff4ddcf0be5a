//! Neighbours in the page.

use super::{about_intervals, answer, median, pictures, predicted, rate, shows, slower};
use crate::Analysis;
use maud::{Markup, PreEscaped, html};
use narrows_stats::{NeighbourStep, NeighbourTest};

/// Answers, tables and pictures; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    if analysis.neighbours.is_empty() {
        return html! {};
    }
    html! {
        h2 id="neighbours" { "Neighbours" }
        @for test in &analysis.neighbours { p { b { (answer(analysis, test)) } } }
        @for test in &analysis.neighbours {
            (steps(analysis, test))
            p class="soft" { (predicted::says(analysis, test)) }
        }
        p class="soft" { (about_intervals(analysis)) }
        div class="grid" { @for (title, svg) in pictures(analysis) {
            div class="card" { h3 { (title) } (PreEscaped(svg)) }
        } }
    }
}

fn steps(analysis: &Analysis<'_>, test: &NeighbourTest) -> Markup {
    html! { div class="scroll medians" { table {
        caption { (test.name) }
        thead { tr {
            th class="number" { "cores" } th class="number" { "traffic" }
            th class="number" { "times slower" } th class="number" { "job alone" }
            th class="number" { "job with traffic" } th class="number" { "times slower" } th { "together" }
        } }
        tbody {
            tr {
                td class="number" data-name="cores" { "0" }
                td class="number" data-name="traffic" { (median(analysis, test.alone)) }
                @for _ in 0..4 { td class="number" { "-" } }
                td { "" }
            }
            @for step in &test.steps { (row(analysis, step)) }
        }
    } } }
}

fn row(analysis: &Analysis<'_>, step: &NeighbourStep) -> Markup {
    html! { tr {
        td class="number" data-name="cores" { (step.cores) }
        td class="number" data-name="traffic" { (median(analysis, step.trial)) }
        td class="number" data-name="traffic slower" { (slower(Some(&step.traffic))) }
        td class="number" data-name="job alone" { (rate(step.job_alone)) }
        td class="number" data-name="job with traffic" { (rate(step.job_beside)) }
        td class="number" data-name="job slower" { (slower(step.job.as_ref())) }
        td { (shows(step)) }
    } }
}
