//! Latency under load in the page.

use super::{HEAD, about, cells, rises};
use crate::Analysis;
use crate::plots::latency;
use maud::{Markup, PreEscaped, html};

/// Title of the picture.
pub const TITLE: &str = "Round trips over time, before, beside and after streams";

/// Picture and table; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    let Some(latency) = &analysis.latency else { return html! {} };
    html! {
        h2 id="latency" { "Latency under load" }
        div class="card" { h3 { (TITLE) } (PreEscaped(latency::draw(TITLE, latency))) }
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
