//! Which run is next, from what is stored of every cell.

use crate::hosts::Hosts;
use crate::hunt::Hunts;
use crate::session::SessionPlan;
use crate::study::Defined;
use narrows_model::Nanos;
use narrows_model::record::{Need, Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Trial, TrialId};
use narrows_model::units::Unit;
use narrows_plan::Step;
use narrows_plan::study::{Count, Cut, Definition, Left, due, in_order, left, next_block};
use narrows_stats::{Looks, is_precise, value_of};
use std::collections::BTreeMap;

/// What is stored of every cell, as far as the next run depends on it.
pub struct Schedule<'a> {
    defined: &'a Defined,
    cut: Cut,
    counts: Vec<Count>,
    values: Vec<Vec<f64>>,
    /// The last block of each cell that has a measured or failed run, and when the last of them
    /// ended.
    latest: Vec<Option<(u32, Nanos)>>,
    index: BTreeMap<TrialId, usize>,
    trials: Vec<Trial>,
    /// Intervals that hold at every look, where the study stops at a precision.
    looks: Option<Looks>,
    /// Where the study searches for a rate in place of repeating its cells.
    hunts: Option<Hunts>,
}

impl<'a> Schedule<'a> {
    /// Of a study of which nothing is stored.
    pub fn new(defined: &'a Defined, seed: u64, plan: &SessionPlan) -> Self {
        let ids = defined.cells.iter().enumerate().map(|(at, cell)| (cell.id.clone(), at));
        Self {
            defined,
            cut: Cut::of(&defined.definition, seed),
            counts: plan.counts(),
            values: vec![Vec::new(); defined.cells.len()],
            latest: vec![None; defined.cells.len()],
            index: ids.collect(),
            trials: plan.trials.clone(),
            looks: looks(&defined.definition, 0),
            hunts: Hunts::of(defined),
        }
    }

    /// Of a study with what its file holds.
    pub fn resumed(defined: &'a Defined, stored: &StoredStudy, plan: &SessionPlan) -> Self {
        let mut schedule = Self::new(defined, stored.study.seed, plan);
        stored.records.iter().for_each(|record| schedule.add(record));
        let longest = schedule.values.iter().map(Vec::len).max().unwrap_or(0);
        schedule.looks = looks(&defined.definition, longest);
        (0..schedule.counts.len()).for_each(|cell| schedule.judge(cell));
        schedule
    }

    /// Seed of the order of runs.
    pub fn seed(&self) -> u64 {
        self.cut.seed
    }

    /// How the study is cut.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// The runs of the next block, in order; empty when nothing is left that fits the machine.
    pub fn next_block(&self) -> Vec<Step> {
        let Some(hunts) = &self.hunts else { return next_block(&self.cut, &self.counts) };
        let repeated = (0..self.counts.len()).filter(|cell| !hunts.has(*cell));
        let repeated = repeated.filter(|cell| matches!(self.left(*cell), Left::Runs(_)));
        let repeated = repeated.map(|cell| (cell, self.counts[cell].done));
        // A search counts its runs as a cell does, so that both grow together.
        let wanted: Vec<(usize, u32)> =
            hunts.next().chain(repeated).filter(|(cell, _)| self.fits(*cell)).collect();
        let least = wanted.iter().map(|(_, runs)| *runs).min();
        let cells = wanted.into_iter().filter(|(_, runs)| Some(*runs) == least).collect();
        in_order(&self.cut, cells, |cell| self.counts[cell].made())
    }

    /// Counts the stored runs of a block, and sees which of its cells are precise now.
    pub fn made(&mut self, steps: &[Step], records: &[Record]) {
        records.iter().for_each(|record| self.add(record));
        steps.iter().for_each(|step| self.judge(step.trial));
    }

    /// Leaves cells out that need a host which is gone.
    pub fn leave_out(&mut self, hosts: &Hosts) {
        for (count, trial) in self.counts.iter_mut().zip(&self.trials) {
            count.fits &= hosts.missing(trial).is_none();
        }
    }

    /// Cells that a host which is gone has left without runs that they want, and what they lack.
    pub fn lacking<'h>(&'h self, hosts: &'h Hosts) -> impl Iterator<Item = (&'h TrialId, Need)> {
        self.trials.iter().enumerate().filter_map(|(cell, trial)| {
            let wants = matches!(self.left(cell), Left::Runs(_));
            Some((&trial.id, hosts.missing(trial).filter(|_| wants)?))
        })
    }

    fn add(&mut self, record: &Record) {
        let Some(cell) = self.index.get(&record.trial).copied() else { return };
        let count = &mut self.counts[cell];
        match record.outcome {
            Outcome::Done => count.done += 1,
            Outcome::Failed { .. } => count.failed += 1,
            // Nothing was measured: neither has a session begun with it.
            Outcome::Skipped { .. } => return count.skipped += 1,
        }
        if let Some(hunts) = &mut self.hunts {
            hunts.add(cell, &self.trials[cell], record);
        }
        let around = &record.around;
        let ended = Nanos(around.began_unix_ns.0.saturating_add(around.took_ns.0));
        let (block, before) = self.latest[cell].unwrap_or_default();
        self.latest[cell] = Some((block.max(record.block), before.max(ended)));
        self.values[cell]
            .extend(value_of(&self.trials[cell], record).map(|(value, _)| value.value));
    }

    fn judge(&mut self, cell: usize) {
        if let Some(precision) = &self.defined.definition.precision {
            // The very interval that is printed.
            let interval = self
                .looks
                .as_ref()
                .and_then(|looks| looks.interval(&self.values[cell], Unit::Share));
            let share = precision.within_percent / 100.0;
            self.counts[cell].precise = interval.is_some_and(|of| is_precise(&of, share));
        }
    }

    /// What is left of a cell.
    pub fn left(&self, cell: usize) -> Left {
        let searched = self.hunts.as_ref().and_then(|hunts| hunts.left(cell));
        searched.unwrap_or_else(|| left(&self.cut, &self.counts[cell]))
    }

    /// What is left of every cell, in order.
    pub fn all_left(&self) -> impl Iterator<Item = Left> + '_ {
        (0..self.counts.len()).map(|cell| self.left(cell))
    }

    /// Whether a cell can run on the machine as it is.
    pub fn fits(&self, cell: usize) -> bool {
        self.counts[cell].fits
    }

    /// When these runs may begin, if that is after `now`.
    pub fn due(&self, steps: &[Step], now: Nanos) -> Option<Nanos> {
        // Cell by cell: those of a host that was gone may be behind all others.
        let dues =
            steps.iter().filter_map(|step| due(&self.cut, step.block, self.latest[step.trial]));
        dues.max().filter(|due| *due > now)
    }

    /// Runs that are left at least on the machine as it is, and the seconds that they take.
    pub fn runs_left(&self) -> (u64, f64) {
        let fitting = (0..self.counts.len()).filter(|cell| self.fits(*cell));
        fitting.fold((0, 0.0), |(runs, seconds), cell| match self.left(cell) {
            Left::Runs(n) => {
                let one = narrows_plan::run_ns(&self.trials[cell]).seconds();
                (runs + u64::from(n), seconds + f64::from(n) * one)
            }
            _ => (runs, seconds),
        })
    }

    /// Cells that want runs on a machine that is changed by hand.
    pub fn elsewhere(&self, plan: &SessionPlan) -> Vec<usize> {
        (0..self.counts.len())
            .filter(|cell| {
                !plan.fits[*cell]
                    && plan.missing[*cell].is_none()
                    && matches!(self.left(*cell), Left::Runs(_))
            })
            .collect()
    }
}

fn looks(definition: &Definition, longest: usize) -> Option<Looks> {
    definition.precision.map(|precision| Looks::new(&precision, definition.repeats, longest))
}
