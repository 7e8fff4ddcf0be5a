//! Which run is next: a function of what is stored and of nothing else, so that a study that was
//! stopped anywhere goes on as if it had not been.

use super::Definition;
use crate::Step;
use narrows_model::Nanos;
use narrows_model::study::Spread;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// What is stored of one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Runs made to the end.
    pub done: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Runs that were broken off for want of something, which count as no failure.
    pub skipped: u32,
    /// Whether the interval of the median is as narrow as the study wants.
    pub precise: bool,
    /// Whether the cell can run on the machine as it is.
    pub fits: bool,
}

impl Count {
    /// Runs that are stored, whatever became of them.
    pub fn made(&self) -> u32 {
        self.done + self.failed + self.skipped
    }
}

/// What is left of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// No run is wanted any more.
    Done,
    /// So many runs at least.
    Runs(u32),
    /// Too many failed.
    GivenUp,
    /// As many runs as are allowed did not give the precision that is wanted.
    NotPrecise,
}

/// How a study is cut: what of the definition matters here.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Runs that each cell needs.
    pub repeats: u32,
    /// Failures after which a cell is given up.
    pub retries: u32,
    /// Runs of a cell at most, when a precision is wanted.
    pub repeats_max: Option<u32>,
    /// Sessions that the runs are spread over.
    pub spread: Option<Spread>,
    /// Seed of the order.
    pub seed: u64,
}

impl Cut {
    /// Of a study, with the seed that was drawn for it.
    pub fn of(definition: &Definition, seed: u64) -> Self {
        let repeats_max = definition.precision.map(|precision| precision.repeats_max);
        let Definition { repeats, retries, spread, .. } = *definition;
        Self { repeats, retries, repeats_max, spread, seed }
    }
}

/// When a block may begin, Unix time: at once, unless it is the first of a session and none of its
/// runs is stored. `latest` is, of one cell, the last block that is stored and when its last run
/// ended.
pub fn due(cut: &Cut, block: u32, latest: Option<(u32, Nanos)>) -> Option<Nanos> {
    let spread = cut.spread?;
    let each = (cut.repeats / spread.sessions.max(1)).max(1);
    let (last, ended) = latest.filter(|(last, _)| *last < block)?;
    let apart = (spread.apart_minutes * 60e9) as u64;
    (block / each > last / each).then(|| Nanos(ended.0.saturating_add(apart)))
}

/// What is left of a cell.
pub fn left(cut: &Cut, count: &Count) -> Left {
    let runs = match cut.repeats_max {
        _ if count.done < cut.repeats => cut.repeats - count.done,
        Some(most) if !count.precise && count.done < most => 1,
        Some(_) if !count.precise => return Left::NotPrecise,
        _ => return Left::Done,
    };
    if count.failed > cut.retries { Left::GivenUp } else { Left::Runs(runs) }
}

/// A run of each of these cells, given with the block that it is of, in an order that follows from
/// the seed and the block alone. `made` is how many runs a cell has.
pub fn in_order(cut: &Cut, mut cells: Vec<(usize, u32)>, made: impl Fn(usize) -> u32) -> Vec<Step> {
    let block = cells.first().map_or(0, |(_, block)| *block);
    cells.shuffle(&mut Pcg64::seed_from_u64(cut.seed.wrapping_add(u64::from(block) << 32)));
    cells.into_iter().map(|(trial, block)| Step { trial, repeat: made(trial), block }).collect()
}

/// The runs of the next block, in order: of the cells that fit and want runs, those with the fewest
/// done, once each. Cells keep their places in a block's order, whichever of them are done already.
/// Empty when nothing is left that fits.
pub fn next_block(cut: &Cut, counts: &[Count]) -> Vec<Step> {
    let wants = |count: &Count| count.fits && matches!(left(cut, count), Left::Runs(_));
    let least = counts.iter().filter(|count| wants(count)).map(|count| count.done).min();
    let Some(block) = least else { return Vec::new() };
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.shuffle(&mut Pcg64::seed_from_u64(cut.seed.wrapping_add(u64::from(block) << 32)));
    order
        .into_iter()
        .filter_map(|trial| {
            let count = &counts[trial];
            let own = wants(count) && count.done == block;
            own.then_some(Step { trial, repeat: count.made(), block })
        })
        .collect()
}
