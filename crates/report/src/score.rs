//! How the model does on published tables, as text: a line a question, then what all come to.

use crate::table;
use narrows_validate::{Calibration, Family, overall};
use std::fmt::Write;

/// A table of the families and the summary.
pub fn text(families: &[Family]) -> String {
    let head = ["question", "constants", "tables", "figures", "mean error", "median", "in 80 %"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for family in families {
        let missing = match family.unpredicted {
            0 => String::new(),
            n => format!(" (+{n} not predicted)"),
        };
        rows.push(vec![
            family.question.to_owned(),
            family.part.word().to_owned(),
            family.tables.len().to_string(),
            format!("{}{missing}", family.figures),
            percent(Some(family.mean_error).filter(|_| family.figures > 0)),
            percent(Some(family.median_error).filter(|_| family.figures > 0)),
            percent(family.coverage()),
        ]);
    }
    table::lines(&rows, |at| at >= 2) + &summary(families)
}

/// A line for each part that has figures; of which tables are made is said once.
pub fn summary(families: &[Family]) -> String {
    let mut text = String::new();
    for part in [Calibration::HeldOut, Calibration::Fitted, Calibration::Undeclared] {
        let Some((figures, error, coverage)) = overall(families, part) else { continue };
        let of = match part {
            Calibration::HeldOut => "no constants were chosen on them",
            Calibration::Fitted => "constants were chosen with them in view",
            Calibration::Undeclared => {
                "their tables do not say whether constants were chosen on them"
            }
        };
        let _ = writeln!(
            text,
            "{}: {figures} figures, mean error {}, {} in their 80 % ranges; {of}",
            part.word(),
            percent(Some(error)),
            percent(coverage),
        );
    }
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}
