//! Lines that devices have in flight in this host's root complex, by counters: cells of a study
//! that loaded memory differently. What the lines stop at, while each takes longer and longer, is
//! the root complex's credits.

use crate::measured::Measured;
use narrows_dimm::platform;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_model::workload::Workload;
use narrows_stats::{MemoryUse, QueueUse, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// A cell from this share of the most lines on has all of them in flight: a mean over the window
/// lacks what is idle between bursts, as `by_counters` has it.
const ALL: f64 = 0.95;
/// Cells with all of them that make a plateau: two may be alike by chance.
const CELLS_LEAST: usize = 3;
/// How many times longer a line takes in one of them than in another: traffic that kept its rate
/// would have as many times more lines.
const LONGER: f64 = 1.25;

/// What one cell had in flight.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RootCell {
    /// The cell's label.
    pub cell: String,
    /// Lines in the busiest root complex, a mean over the window; median of the runs.
    pub lines: f64,
    /// How long each was there, in nanoseconds.
    pub line_ns: f64,
}

/// All cells of a study in which devices wrote to this host's memory and next to nothing was read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RootLines {
    /// The processor's family; `None` where it is not known.
    family: Option<String>,
    /// From the shortest time of a line on, one or more.
    cells: Vec<RootCell>,
    credits: Option<Measured>,
}

impl RootLines {
    /// Of the processor with the most lines; `None` where nothing was counted.
    pub fn of(study: &StoredStudy, all: &[Summary]) -> Option<Self> {
        let told = all.iter().flat_map(|summary| cells(study, summary));
        let told: Vec<(Option<u32>, RootCell)> = told.collect();
        let busiest = told.iter().max_by(|a, b| a.1.lines.total_cmp(&b.1.lines))?.0;
        let own = told.into_iter().filter(|(processor, _)| *processor == busiest);
        let family = platform::of(&study.host).map(|of| of.name.clone());
        Self::at(family, own.map(|(_, cell)| cell).collect())
    }

    /// Of these cells, in any order.
    fn at(family: Option<String>, mut cells: Vec<RootCell>) -> Option<Self> {
        cells.sort_by(|a, b| a.line_ns.total_cmp(&b.line_ns));
        let credits = plateau(&cells);
        (!cells.is_empty()).then_some(Self { family, cells, credits })
    }

    /// Whether they are of such a processor.
    pub fn is_of(&self, family: &str) -> bool {
        self.family.as_deref() == Some(family)
    }

    pub fn cells(&self) -> &[RootCell] {
        &self.cells
    }

    /// The most lines that were in flight.
    pub fn most(&self) -> f64 {
        self.cells.iter().map(|cell| cell.lines).fold(0.0, f64::max)
    }

    /// The shortest time of a line, in nanoseconds.
    pub fn shortest_ns(&self) -> f64 {
        self.cells.first().map_or(0.0, |cell| cell.line_ns)
    }

    /// Credits of the root complex, from the fewest to the most lines of the plateau; `None` where
    /// more lines than were seen may be in flight.
    pub fn credits(&self) -> Option<&Measured> {
        self.credits.as_ref()
    }
}

/// The plateau of cells in the order of how long a line takes.
fn plateau(cells: &[RootCell]) -> Option<Measured> {
    let most = cells.iter().map(|cell| cell.lines).fold(0.0, f64::max);
    let full: Vec<&RootCell> = cells.iter().filter(|cell| cell.lines >= ALL * most).collect();
    let (first, last) = (full.first()?, full.last()?);
    let is_plateau = full.len() >= CELLS_LEAST && last.line_ns >= LONGER * first.line_ns;
    // Where lines took longer and were fewer, something else held the traffic.
    let mut after = cells.iter().filter(|cell| cell.line_ns > first.line_ns);
    let is_held = after.any(|cell| cell.lines < ALL * most);
    let least = full.iter().map(|cell| cell.lines).fold(most, f64::min);
    let from = format!("lines in the busiest root complex, {} cells", full.len());
    (is_plateau && !is_held).then_some(Measured { value: most, low: least, high: most, from })
}

/// What the processors of this host had in flight in a cell. Receivers of the kernel's own
/// transports copy more slowly where lines take longer, so that their lines stay alike without a
/// limit: they tell nothing.
fn cells(study: &StoredStudy, summary: &Summary) -> Vec<(Option<u32>, RootCell)> {
    let is_uncopied = summary.kind.is_rdma() || summary.kind == Workload::Packets;
    let own = summary.memory.iter().filter(|of| is_uncopied && is_here(study, summary, of));
    let of = |queues: &QueueUse| {
        let (lines, line_ns) = (queues.busiest_root_lines?, queues.root_write_ns?);
        let cell = summary.label.clone();
        (lines > 0.0 && line_ns > 0.0)
            .then_some((queues.processor, RootCell { cell, lines, line_ns }))
    };
    own.flat_map(|of_end| of_end.queues.iter().filter_map(of)).collect()
}

/// Whether an end of a cell was on the host that the study is of.
fn is_here(study: &StoredStudy, summary: &Summary, of: &MemoryUse) -> bool {
    let trial = study.trials.iter().find(|trial| trial.label == summary.label);
    trial.is_some_and(|trial| {
        let end = trial.ends_of(of.end).next();
        trial.path != NetworkPath::Peer || end.is_some_and(|end| end.host == EndHost::Controller)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(cells: &[(f64, f64)]) -> RootLines {
        let cells = cells.iter().map(|(lines, line_ns)| RootCell {
            cell: String::new(),
            lines: *lines,
            line_ns: *line_ns,
        });
        RootLines::at(None, cells.collect()).expect("cells")
    }

    /// Beside so many cores that read and write, as published: 98 Gb/s as long as credits last.
    fn published(times_ns: &[f64]) -> RootLines {
        let cells: Vec<(f64, f64)> =
            times_ns.iter().map(|ns| ((98.0 / 8.0 / 64.0 * ns).min(92.0), *ns)).collect();
        lines(&cells)
    }

    #[test]
    fn what_lines_stop_at_are_the_credits() {
        let all = published(&[312.0, 380.0, 480.0, 560.0, 690.0, 791.0]);
        let credits = all.credits().expect("a plateau");
        assert_eq!([credits.value, all.shortest_ns()], [92.0, 312.0]);
        assert!(credits.from.ends_with("4 cells"), "{credits:?}");
        // The mean of a window lacks 4 % in one of them.
        let idle = lines(&[(60.0, 312.0), (92.0, 500.0), (88.4, 600.0), (91.0, 700.0)]);
        let credits = idle.credits().expect("a plateau");
        assert_eq!([credits.value, credits.low, credits.high], [92.0, 88.4, 92.0]);
    }

    #[test]
    fn lines_that_still_rise_or_are_alike_by_chance_are_no_limit() {
        for open in [
            published(&[312.0, 350.0, 400.0, 450.0]),
            // Two that are alike, and three that took as long.
            lines(&[(60.0, 312.0), (92.0, 500.0), (92.0, 700.0)]),
            lines(&[(60.0, 312.0), (92.0, 500.0), (92.0, 550.0), (91.0, 600.0)]),
            // Something else held the traffic where lines took longest.
            lines(&[(92.0, 500.0), (92.0, 600.0), (92.0, 700.0), (60.0, 800.0)]),
        ] {
            assert_eq!(open.credits(), None, "{open:?}");
        }
        assert_eq!(RootLines::at(None, Vec::new()), None);
    }
}
