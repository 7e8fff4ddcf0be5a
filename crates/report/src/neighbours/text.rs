//! Neighbours in words and tables.

use super::{about_intervals, answer, median, predicted, rate, shows, slower};
use crate::{Analysis, table};
use narrows_stats::NeighbourTest;
use std::fmt::Write;

const HEAD: [&str; 7] =
    ["cores", "traffic", "times slower", "job alone", "with traffic", "times slower", "together"];

/// A sentence and a table of every test; empty for a study of anything else.
pub fn tables(analysis: &Analysis<'_>) -> String {
    let mut text = String::new();
    for test in &analysis.neighbours {
        let _ = writeln!(text, "{}\n{}", answer(analysis, test), rows(analysis, test));
        let _ = writeln!(text, "  {}\n", predicted::says(analysis, test));
    }
    if !analysis.neighbours.is_empty() {
        let _ = writeln!(text, "  {}\n", about_intervals(analysis));
    }
    text
}

/// A row a number of cores, the first without any.
fn rows(analysis: &Analysis<'_>, test: &NeighbourTest) -> String {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    let mut first = vec![String::new(); HEAD.len()];
    (first[0], first[1]) = ("0".to_owned(), median(analysis, test.alone));
    rows.push(first);
    for step in &test.steps {
        rows.push(vec![
            step.cores.to_string(),
            median(analysis, step.trial),
            slower(Some(&step.traffic)),
            rate(step.job_alone),
            rate(step.job_beside),
            slower(step.job.as_ref()),
            shows(step).to_owned(),
        ]);
    }
    table::lines(&rows, |at| at < 6)
}
