//! Paths inside a host, on a screen.

use super::{Matrix, below, matrices, verdict};
use crate::{Analysis, table};
use std::fmt::Write;

/// The verdict's lines, which the screen folds.
pub fn head(analysis: &Analysis<'_>) -> Vec<String> {
    verdict(analysis)
}

/// A table of each test; empty for a study of anything else.
pub fn tables(analysis: &Analysis<'_>) -> String {
    let mut text = String::new();
    for test in &analysis.paths {
        for matrix in matrices(analysis, test) {
            let _ = writeln!(text, "{}\n{}", matrix.title, rows(&matrix));
        }
    }
    text
}

/// Lines below the tables, which the screen folds.
pub fn foot(analysis: &Analysis<'_>) -> Vec<String> {
    below(analysis)
}

fn rows(matrix: &Matrix) -> String {
    let mut rows = vec![[vec![String::new()], matrix.columns.clone()].concat()];
    for (name, cells) in &matrix.rows {
        rows.push([vec![name.clone()], cells.clone()].concat());
    }
    table::lines(&rows, |_| false)
}
