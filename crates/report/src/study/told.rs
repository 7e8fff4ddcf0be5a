//! What others say of a cell in words, of which no figure is surely the same, beside what the study
//! has of it: whether a latency is half of a round trip, or of which CPUs a share is, the reader
//! decides, and nothing is compared.

use super::reference::{Cell, Median, cells, levels};
use crate::{Analysis, placement, words};
use narrows_model::load::Role;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// The note of a reference that holds a source's own words.
const SAYS: &str = "says";
/// Cells that words stand beside, at most.
const CELLS: usize = 4;

/// A source's words, and the cells that they are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Told {
    /// The levels of the cell, as the source has them.
    pub cell: String,
    /// What the source says of it, as it is written there.
    pub says: String,
    /// Indices of the study's trials that have these levels.
    pub trials: Vec<usize>,
}

/// All that references say in words, in their order.
pub(super) fn all(
    stored: &StoredStudy,
    summaries: &[Summary],
    others: &[StoredStudy],
) -> Vec<Told> {
    let cells = cells(stored, summaries);
    let trials = others.iter().flat_map(|other| &other.trials);
    let told = trials.filter_map(|trial| {
        let says = trial.notes.iter().find(|note| note.factor == SAYS)?;
        let of = Median {
            levels: levels(trial),
            said: trial.levels.clone(),
            bound: None,
            unit: Unit::Share,
            value: 0.0,
        };
        // Of a row with a figure too, the run of the words is the one without.
        (trial.kind.as_str() == SAYS).then(|| found(&of, &says.level, &cells))
    });
    told.collect()
}

fn found(of: &Median, says: &str, cells: &[Cell]) -> Told {
    let within = cells.iter().enumerate().filter(|(_, cell)| of.is_within(&cell.levels));
    let trials = of.best_of(within.map(|(at, _)| at).collect(), cells);
    let cell = of.said.iter().map(|level| level.level.as_str()).collect::<Vec<_>>().join(", ");
    Told { cell, says: says.to_owned(), trials }
}

/// A line each: the source's words, and what the study has of the same cells.
pub fn lines(analysis: &Analysis<'_>, all: &[Told]) -> Vec<String> {
    let line = |told: &Told| {
        let label = |at: usize| match (analysis.stored.trials.get(at), told.trials.len()) {
            (Some(trial), 2..) => format!("{}: ", trial.label),
            _ => String::new(),
        };
        let shown = told.trials.iter().take(CELLS);
        let own = shown.map(|at| format!("{}{}", label(*at), own(analysis, *at)));
        let mut own: Vec<String> = own.collect();
        match told.trials.len().saturating_sub(CELLS) {
            0 => {}
            more => own.push(format!("and {} more", words::counted(more, "cell"))),
        }
        let own = match own.as_slice() {
            [] => "no such cell".to_owned(),
            own => own.join("; "),
        };
        format!("reference: {}: the source says: {}; here {own}", told.cell, told.says)
    };
    all.iter().map(line).collect()
}

/// A cell's figure, and what its hosts did for it, as far as that is known.
fn own(analysis: &Analysis<'_>, at: usize) -> String {
    let Some(summary) = analysis.summaries.get(at) else { return "not measured".to_owned() };
    let Some(estimate) = &summary.estimate else { return "not measured".to_owned() };
    let mut all = vec![words::exact(estimate.value, estimate.unit)];
    if summary.metric == Metric::RoundTripP50 {
        all.push(format!("half of that {}", words::exact(estimate.value / 2.0, estimate.unit)));
    }
    if let Some(cpu) = &summary.cpu {
        all.extend(both("CPU of the busiest thread", [cpu.sender_share, cpu.receiver_share]));
        let hosts = [cpu.sender_host_share, cpu.receiver_host_share];
        all.extend(both("of whole hosts", hosts));
    }
    all.extend(both("of the link between sockets", placement::link_shares(analysis, at)));
    let bytes = [Role::Sender, Role::Receiver].map(|end| {
        let mut of_end = summary.memory.iter().filter(|one| one.both_ends || one.end == end);
        Some(of_end.next()?.per_network_byte.as_ref()?.value)
    });
    if bytes.iter().any(Option::is_some) {
        let bytes = bytes.map(|one| one.map_or("-".to_owned(), |of| format!("{of:.2}")));
        all.push(format!("memory bytes per network byte {}", bytes.join(" / ")));
    }
    all.join(", ")
}

/// `CPU of whole hosts 13 % / 25 %`, of the sender and the receiver.
fn both(what: &str, shares: [Option<f64>; 2]) -> Option<String> {
    let is_told = shares.iter().any(Option::is_some);
    let says =
        |share: Option<f64>| share.map_or("-".to_owned(), |of| format!("{:.0} %", 100.0 * of));
    is_told.then(|| format!("{what} {} / {}", says(shares[0]), says(shares[1])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::trial::Level;

    fn cell(size: &str, value: Option<f64>) -> Cell {
        let levels = [("size", size), ("test", "tcp stream")];
        let levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned()));
        Cell { levels: levels.into(), unit: Unit::BitsPerSecond, value }
    }

    fn of(size: &str, cells: &[Cell]) -> Told {
        let said = [("size", size), ("test", "TCP stream")]
            .map(|(factor, level)| Level { factor: factor.to_owned(), level: level.to_owned() });
        let levels = said.iter().map(|of| (of.factor.clone(), of.level.to_lowercase())).collect();
        let of = Median { levels, said: said.to_vec(), bound: None, unit: Unit::Share, value: 0.0 };
        found(&of, "80 to 100 % CPU", cells)
    }

    #[test]
    fn words_stand_beside_the_cells_of_their_levels_whatever_their_unit() {
        let cells = [cell("64", Some(1.0)), cell("1k", Some(3.0)), cell("64k", Some(2.0))];
        assert_eq!(of("64", &cells).trials, [0]);
        assert_eq!(of("any", &cells).trials, [0, 1, 2]);
        let best = of("best", &cells);
        assert_eq!((best.trials.as_slice(), best.cell.as_str()), (&[1][..], "best, TCP stream"));
        assert!(of("128", &cells).trials.is_empty());
    }
}
