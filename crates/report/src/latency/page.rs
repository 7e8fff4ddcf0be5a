//! Latency under load in the page.

use super::{HEAD, about, cells, medians, rises};
use crate::Analysis;
use crate::plots::latency;
use maud::{Markup, PreEscaped, html};
use narrows_stats::LoadedLatency;

const TITLE: &str = "Round trips over time, before, beside and after streams";

/// The picture; what is read aloud in its place has the medians.
pub fn picture(latency: &LoadedLatency) -> String {
    latency::draw(&format!("{TITLE}: {}", medians(latency)), latency)
}

/// Picture and table; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    let Some(latency) = &analysis.latency else { return html! {} };
    html! {
        h2 id="latency" { "Latency under load" }
        div class="card" { h3 { (TITLE) } (PreEscaped(picture(latency))) }
        div class="scroll" { table {
            thead { tr {
                @for (at, head) in HEAD.iter().enumerate() {
                    @if at == 0 { th { (head) } } @else { th class="number" { (head) } }
                }
            } }
            tbody { @for one in &latency.phases { tr {
                td { (one.phase) }
                @for (name, cell) in HEAD[1..].iter().zip(cells(one)) {
                    td class="number" data-name=(name) { (cell) }
                }
            } } }
        } }
        @for rise in rises(latency) { p { (rise) } }
        p class="soft" { (about(latency)) }
    }
}
