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

#[cfg(test)]
mod tests {
    use super::*;

    fn family(question: &'static str, part: Calibration, figures: usize) -> Family {
        Family {
            question,
            part,
            tables: vec!["one".into(), "other".into()],
            figures,
            mean_error: 0.125,
            median_error: 0.05,
            ranged: figures,
            inside: figures / 2,
            unpredicted: 8 - figures,
        }
    }

    #[test]
    fn a_question_has_a_line_and_each_part_with_figures_a_sum() {
        let held = Calibration::HeldOut;
        let all = [family("rate", held, 8), family("loss", Calibration::Fitted, 0)];
        let told = text(&all);
        let words: Vec<Vec<&str>> =
            told.lines().map(|line| line.split_whitespace().collect()).collect();
        let rate = ["rate", held.word(), "2", "8", "12.5", "%", "5.0", "%", "50.0", "%"];
        assert_eq!(words[1], rate);
        let none = ["loss", Calibration::Fitted.word(), "2", "0", "(+8", "not", "predicted)"];
        assert_eq!(words[2], [&none[..], &["-", "-", "-"]].concat());
        let sum = format!(
            "{}: 8 figures, mean error 12.5 %, 50.0 % in their 80 % ranges; no constants were \
             chosen on them\n",
            held.word()
        );
        assert_eq!(summary(&all), sum);
        for (part, of) in [
            (Calibration::Fitted, "constants were chosen with them in view"),
            (Calibration::Undeclared, "their tables do not say whether constants were chosen on"),
        ] {
            let told = summary(&[family("rate", part, 4)]);
            let wanted = format!("{}: 4 figures, mean error 12.5 %, 50.0 % in", part.word());
            assert!(told.starts_with(&wanted) && told.contains(of), "{told}");
        }
    }
}
