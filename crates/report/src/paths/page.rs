//! Paths inside a host, in the page.

use super::{Matrix, below, matrices, verdict};
use crate::Analysis;
use maud::{Markup, html};

/// The verdict and a table of each test; nothing for a study of anything else.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    if analysis.paths.is_empty() {
        return html! {};
    }
    html! {
        h2 id="paths" { "Paths inside this host" }
        @for line in verdict(analysis) { p { b { (line) } } }
        @for test in &analysis.paths {
            @for matrix in matrices(analysis, test) { (table(&matrix)) }
        }
        @for line in below(analysis) {
            p class="soft" { (line) }
        }
    }
}

fn table(matrix: &Matrix) -> Markup {
    html! { div class="scroll medians" { table {
        caption { (matrix.title) }
        thead { tr { th { "" } @for name in &matrix.columns { th { (name) } } } }
        tbody { @for (name, cells) in &matrix.rows { tr {
            td class="name" { b { (name) } }
            @for cell in cells { td { (cell) } }
        } } }
    } } }
}
