//! What is claimed of a panel's levels, in words.

use super::Panel;
use super::names::between;
use crate::words;
use narrows_model::result::Method;
use narrows_stats::{ALIKE, Doubt, Level, Levels, RUNS_MIN};

/// More levels than this are told by their ends.
const LEVELS_TOLD: usize = 4;

/// Which rows reach about the same, or why that cannot be said.
pub fn says(panel: &Panel, across: &str) -> Vec<String> {
    let names = |cells: &[usize]| {
        let mut cells = cells.to_vec();
        cells.sort_unstable();
        let names = cells.iter().map(|at| panel.rows[*at].level.as_str());
        format!("{across} {}", names.collect::<Vec<_>>().join(", "))
    };
    let span = |low: f64, high: f64| between(low, high, panel.unit);
    let level =
        |level: &Level| format!("{} ({})", span(level.low, level.high), names(&level.cells));
    let percent = ALIKE * 100.0;
    let few = &panel.levels.few;
    let told = match &panel.levels.levels {
        Levels::Untested => untested(panel, across),
        Levels::One(one) => {
            let all = one.cells.len() == panel.rows.len();
            let of = if all { "" } else { " (of those measured)" };
            let span = span(one.low, one.high);
            let says =
                format!("one level: {span}, equal within {percent} % for every {across}{of}");
            let all = panel
                .median_of_all
                .map(|median| format!("; median of all runs {}", words::exact(median, panel.unit)));
            Some(says + &all.unwrap_or_default())
        }
        Levels::Inconclusive { doubt, low, high } => {
            let span = span(*low, *high);
            let why = match doubt {
                Doubt::NoDifference => {
                    format!("no {across} is shown to differ, and they are not shown to be equal")
                }
                Doubt::NoLine => {
                    format!("{across} matters, but these runs do not separate its levels")
                }
                Doubt::Close => {
                    format!("{across} matters, but perhaps by less than {percent} %")
                }
            };
            Some(format!("inconclusive: {why}; medians {span}"))
        }
        Levels::Several { levels } => {
            let some = match levels.as_slice() {
                [first, .., last] if levels.len() > LEVELS_TOLD => {
                    format!("from {} to {}", level(first), level(last))
                }
                all => all.iter().map(level).collect::<Vec<_>>().join("; "),
            };
            Some(format!("{} levels: {some}", levels.len()))
        }
    };
    let unplaced = (!few.is_empty() && panel.levels.p.is_some())
        .then(|| format!("not placed, with fewer than {RUNS_MIN} runs: {}", names(few)));
    told.into_iter().chain(unplaced).chain(by_memory(panel, across)).collect()
}

/// The median of each class of memory: what published studies conclude from.
fn by_memory(panel: &Panel, across: &str) -> Option<String> {
    let told = panel.by_memory.iter().map(|of| {
        let names: Vec<&str> = of.rows.iter().map(|at| panel.rows[*at].level.as_str()).collect();
        let range = match (of.median.n, of.median.by == Method::Range) {
            (1, _) => String::new(),
            (_, is_range) => {
                let mark = if is_range { " *" } else { "" };
                format!("{}{mark}; ", between(of.median.low, of.median.high, panel.unit))
            }
        };
        let median = words::exact(of.median.value, panel.unit);
        format!("{} {median} ({range}{across} {})", of.class, names.join(", "))
    });
    let told = told.collect::<Vec<_>>().join("; ");
    (!told.is_empty()).then(|| format!("medians by memory: {told}"))
}

/// Medians of too few runs: nothing is known of how runs spread.
fn untested(panel: &Panel, across: &str) -> Option<String> {
    let medians = || panel.rows.iter().filter_map(|row| row.median);
    if medians().count() < 2 {
        return None;
    }
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let span = between(low, high, panel.unit);
    Some(format!(
        "inconclusive: levels of {across} are tested from {RUNS_MIN} runs a cell on; medians {span}"
    ))
}
