//! How the model does on tables: error and coverage by question, with tables that constants were
//! chosen on kept apart from those that nothing was.
//!
//! A table is left out as a whole or not at all. Where a question fits parameters on the tables it
//! is asked of, the figures with nothing fitted stand here.

use super::{Answer, Calibration, Comparison, Kind, Table, figures, predict};
use schemars::JsonSchema;
use serde::Serialize;

/// Figures of one question from tables of one part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Family {
    /// The question that their rows ask.
    pub question: &'static str,
    /// Which part the tables are of.
    pub part: Calibration,
    /// Files that they are from.
    pub tables: Vec<String>,
    /// Figures that the model predicts.
    pub figures: usize,
    /// Mean absolute error as a share of the published figure.
    pub mean_error: f64,
    /// Median absolute error as a share.
    pub median_error: f64,
    /// Figures that have a range.
    pub ranged: usize,
    /// Figures within their 80 % range.
    pub inside: usize,
    /// Figures that the model says nothing of.
    pub unpredicted: usize,
}

impl Family {
    /// Share of the figures with a range that lie within it.
    pub fn coverage(&self) -> Option<f64> {
        (self.ranged > 0).then(|| self.inside as f64 / self.ranged as f64)
    }
}

/// One figure as it is counted.
struct Scored {
    question: &'static str,
    part: Calibration,
    table: String,
    error: Option<f64>,
    is_inside: Option<bool>,
}

/// Families of all tables: by question, what nothing was chosen on first.
pub fn score(tables: &[Table]) -> Vec<Family> {
    let all: Vec<Scored> = tables.iter().flat_map(of_table).collect();
    let mut keys: Vec<(Calibration, &'static str)> = Vec::new();
    for one in &all {
        if !keys.contains(&(one.part, one.question)) {
            keys.push((one.part, one.question));
        }
    }
    keys.sort_unstable();
    keys.into_iter().map(|(part, question)| family(&all, part, question)).collect()
}

/// All figures of a part together.
pub fn overall(families: &[Family], part: Calibration) -> Option<(usize, f64, Option<f64>)> {
    let of = || families.iter().filter(move |family| family.part == part);
    let figures: usize = of().map(|family| family.figures).sum();
    let error: f64 = of().map(|family| family.mean_error * family.figures as f64).sum();
    let (inside, ranged) =
        of().fold((0, 0), |(inside, ranged), one| (inside + one.inside, ranged + one.ranged));
    let coverage = (ranged > 0).then(|| inside as f64 / ranged as f64);
    (figures > 0).then(|| (figures, error / figures as f64, coverage))
}

fn of_table(table: &Table) -> Vec<Scored> {
    let answers = predict(std::slice::from_ref(table));
    let counted = answers.iter().filter(|answer| answer.question != figures::QUESTION);
    counted.flat_map(|answer| of_answer(table, answer)).collect()
}

fn of_answer(table: &Table, answer: &Answer) -> Vec<Scored> {
    answer
        .cells
        .iter()
        .filter(|cell| cell.published.is_some() && cell.kind != Kind::Consistency)
        .map(|cell| scored(table, answer, cell))
        .collect()
}

fn scored(table: &Table, answer: &Answer, cell: &Comparison) -> Scored {
    let stated = cell.uncalibrated.or_else(|| Some((cell.predicted?, cell.low?, cell.high?)));
    let value = stated.map(|(value, ..)| value).or(cell.predicted);
    let is_inside = |(_, low, high): (f64, f64, f64)| {
        cell.published.is_some_and(|published| (low..=high).contains(&published))
    };
    Scored {
        question: answer.question,
        // A row that a constant was set by says so of itself, whatever its table is.
        part: if cell.kind == Kind::Calibration { Calibration::Fitted } else { table.part() },
        table: table.name.clone(),
        error: cell.off(value).map(f64::abs),
        is_inside: stated.map(is_inside),
    }
}

fn family(all: &[Scored], part: Calibration, question: &'static str) -> Family {
    let of = || all.iter().filter(move |one| one.part == part && one.question == question);
    let errors: Vec<f64> = of().filter_map(|one| one.error).collect();
    let mut tables: Vec<String> = of().map(|one| one.table.clone()).collect();
    tables.dedup();
    let inside = of().filter(|one| one.error.is_some()).filter_map(|one| one.is_inside);
    let inside: Vec<bool> = inside.collect();
    Family {
        question,
        part,
        tables,
        figures: errors.len(),
        mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        median_error: narrows_stats::median(&errors).unwrap_or_default(),
        ranged: inside.len(),
        inside: inside.iter().filter(|inside| **inside).count(),
        unpredicted: of().filter(|one| one.error.is_none()).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, part: &str, rows: &str) -> Table {
        let text = format!("[source]\ntitle = 'a paper'\npart = '{part}'\n{rows}");
        Table::parse(name, &text).expect("a table")
    }

    /// Framing is arithmetic: 94.148 and 99.004 Gb/s.
    #[test]
    fn errors_and_coverage_are_those_of_the_rows_and_parts_stay_apart() {
        let row = |mtu: u32, gbps: f64| {
            format!("[[row]]\nprotocol = 'tcp'\nlink_gbps = 100\nmtu = {mtu}\ngbps = {gbps}\n")
        };
        let rows = row(1500, 94.1482) + &row(9000, 49.502);
        let known = table("known", "fitted", &row(1500, 188.2964));
        let families = score(&[table("new", "held-out", &rows), known]);
        assert_eq!(families.len(), 2, "{families:?}");
        let out = &families[0];
        assert_eq!(
            (out.part, out.figures, out.ranged, out.inside),
            (Calibration::HeldOut, 2, 2, 1)
        );
        assert!((out.mean_error - 0.5).abs() < 1e-4, "{out:?}");
        assert_eq!((out.tables.as_slice(), out.coverage()), (&["new".to_owned()][..], Some(0.5)));
        let fitted = &families[1];
        assert!(fitted.part == Calibration::Fitted && (fitted.mean_error - 0.5).abs() < 1e-4);
        let (figures, error, coverage) = overall(&families, Calibration::HeldOut).expect("figures");
        assert!(figures == 2 && (error - 0.5).abs() < 1e-4 && coverage == Some(0.5));
    }
}
