//! Figures beside what the user demands of them, after a measurement or of a stored study.

use crate::args::DemandArgs;
use crate::cause::{Cause, Exit};
use crate::failure::Failure;
use narrows_model::study::StoredStudy;
use narrows_report::words;
use narrows_stats::{Demand, Met, Summary, summarise};
use std::path::Path;

/// How a demand came out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Undecided,
    Failed,
}

/// The exit code of a command that ends with `code` where nothing is demanded.
pub fn judged(file: &Path, demands: &DemandArgs, code: u8) -> Result<u8, Failure> {
    if demands.fail_if.is_empty() && demands.expect.is_none() {
        return Ok(code);
    }
    judged_of(&narrows_store::read(file)?, demands, code)
}

/// The same of a study that was read already, or of a table that is none.
pub fn judged_of(stored: &StoredStudy, demands: &DemandArgs, code: u8) -> Result<u8, Failure> {
    if demands.fail_if.is_empty() && demands.expect.is_none() {
        return Ok(code);
    }
    let summaries = summarise(stored);
    let mut all = Vec::new();
    for demand in &demands.fail_if {
        all.push(one(demand, &summaries, None)?);
    }
    for (name, demand) in demands.expect.iter().flat_map(|expected| &expected.0) {
        all.push(one(demand, &summaries, Some(name))?);
    }
    let worst = match (all.contains(&Outcome::Failed), all.contains(&Outcome::Undecided)) {
        (true, _) => Exit::Verdict.code(),
        (false, true) => Exit::Precision.code(),
        (false, false) => Exit::Ok.code(),
    };
    Ok(if code == Exit::Ok.code() { worst } else { code })
}

/// Holds one demand beside every cell that it speaks of, and says so. With a name it is expected;
/// without one it must not be.
fn one(demand: &Demand, summaries: &[Summary], name: Option<&str>) -> Result<Outcome, Failure> {
    let fit = summaries.iter().filter(|cell| demand.fits(cell));
    let cells: Vec<(&Summary, Met)> = fit.map(|cell| (cell, demand.met(cell))).collect();
    if cells.is_empty() {
        let says = format!("'{}' speaks of no cell of this study", demand.text());
        return Err(Failure::of(Cause::NO_SUCH_CELL, says));
    }
    // `tcp` means streams and round trips: the unit says which.
    let in_unit = cells.iter().filter(|(_, met)| !matches!(met, Met::OtherUnit(_)));
    let told: Vec<(&Summary, Met)> = in_unit.copied().collect();
    let mut worst = Outcome::Passed;
    for (cell, met) in if told.is_empty() { cells } else { told } {
        if let Met::OtherUnit(unit) = met {
            let says = format!("'{}': {} is in {}", demand.text(), cell.label, words::word(&unit));
            return Err(Failure::of(Cause::OTHER_UNIT, says));
        }
        let outcome = outcome(met, name.is_some());
        let subject = name.unwrap_or("fail-if");
        note!("{}: {subject}: {} ({})", word(outcome), demand.text(), figure(cell, met));
        if outcome == Outcome::Failed || worst == Outcome::Passed {
            worst = outcome;
        }
    }
    Ok(worst)
}

/// A figure that is not there passes nothing.
fn outcome(met: Met, is_expected: bool) -> Outcome {
    match (met, is_expected) {
        (Met::Yes, true) | (Met::No, false) => Outcome::Passed,
        (Met::Undecided, _) => Outcome::Undecided,
        _ => Outcome::Failed,
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Undecided => "undecided",
        Outcome::Failed => "failed",
    }
}

/// The cell with its median, and what stands in the way of an answer.
fn figure(cell: &Summary, met: Met) -> String {
    let median = cell.estimate.map_or_else(
        || "no median".to_owned(),
        |figure| {
            let [low, median, high] =
                [figure.low, figure.value, figure.high].map(|end| words::value(end, figure.unit));
            format!("median {median}, {low} to {high}")
        },
    );
    let why = match met {
        Met::Missing => ": there is no such figure",
        Met::Undecided => ": the bound is inside, more runs would tell",
        _ => "",
    };
    format!("{}: {median}{why}", cell.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_not_measured_passes() {
        for is_expected in [true, false] {
            assert!(outcome(Met::Missing, is_expected) == Outcome::Failed);
            assert!(outcome(Met::Undecided, is_expected) == Outcome::Undecided);
        }
        assert!(outcome(Met::Yes, false) == Outcome::Failed);
        assert!(outcome(Met::No, true) == Outcome::Failed);
        assert!(outcome(Met::Yes, true) == Outcome::Passed);
        assert!(outcome(Met::No, false) == Outcome::Passed);
    }
}
