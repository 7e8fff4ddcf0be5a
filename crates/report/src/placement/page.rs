//! Placements in the page.

use super::{
    answer, compared, figures, has_table, interval, moved, not_compared, percent, verdict,
};
use crate::Analysis;
use maud::{Markup, PreEscaped, html};
use narrows_stats::PlacedTest;

/// Answers, effects and pictures; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    if analysis.placements.is_empty() {
        return html! {};
    }
    html! {
        h2 id="placement" { "Placement" }
        @for test in compared(analysis) { p { b { (answer(analysis, test)) } } }
        @if let Some(says) = not_compared(analysis) { p { (says) } }
        @for test in compared(analysis).filter(has_table) { (effects(analysis, test)) }
        div class="grid" { @for picture in figures::all(analysis) {
            div class="card" { h3 { (picture.title) } (PreEscaped(picture.svg)) }
        } }
        @for line in super::uncounted(analysis) { p class="soft" { (line) } }
    }
}

fn effects(analysis: &Analysis<'_>, test: &PlacedTest) -> Markup {
    html! { div class="scroll medians" { table {
        caption { (test.name) }
        thead { tr {
            th { "moved" } th class="number" { "change" } th class="number" { "interval" }
            th class="number" { "pairs" } th { "" }
        } }
        tbody { @for effect in &test.effects { tr {
            td class="name" { b { (moved(analysis, effect)) } }
            td class="number" data-name="change" { (percent(effect.ratio.value)) }
            td class="number" data-name="interval" { (interval(&effect.ratio)) }
            td class="number" data-name="pairs" { (effect.pairs) }
            td { (verdict(effect.verdict)) }
        } } }
    } } }
}
