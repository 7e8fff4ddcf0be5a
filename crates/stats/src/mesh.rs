//! What a mesh of pairs says: each pair's figure, who is slow against the best, whether that stays
//! when fewer run at once, and whether it is a host's or a path's.

mod gone;
mod suspects;

pub use self::gone::Gone;
pub use self::suspects::{Named, Suspect};

use crate::label::Label;
use crate::pairs::{OVERLAP_MIN, overlap_of};
use crate::summarise::{reconciled, value_of};
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, Trial};
use narrows_model::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// From which figures on a pair is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Times the least latency.
    pub latency_times: f64,
    /// Share of the highest rate.
    pub rate_share: f64,
}

impl Default for Limits {
    /// Those that NVIDIA's ClusterKit has.
    fn default() -> Self {
        Self { latency_times: 2.1, rate_share: 0.93 }
    }
}

impl Limits {
    /// Whether a figure is worse than the best allows.
    fn is_worse(self, value: f64, best: f64, unit: Unit) -> bool {
        if is_time(unit) {
            value > best * self.latency_times
        } else {
            value < best * self.rate_share
        }
    }
}

pub fn is_time(unit: Unit) -> bool {
    matches!(unit, Unit::Nanos)
}

/// One run of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// The round that it was in.
    pub round: u32,
    /// Pairs of that round.
    pub at_once: usize,
    /// Its figure; `None` where it failed.
    pub value: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Within the limits.
    Good,
    /// Beyond them each time that it was looked at.
    Slow,
    /// Beyond them among many pairs, and within them among fewer: they share something.
    SlowTogether,
    /// No run gave a figure.
    Failed,
}

/// One pair, from a host to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeshPair {
    /// Place of the host that sent.
    pub from: usize,
    /// Place of the host that received.
    pub to: usize,
    /// Its runs, in their order.
    pub looks: Vec<Look>,
    pub state: State,
    /// Why its last run without a figure has none, where it had one.
    pub failed: Option<String>,
}

impl MeshPair {
    /// Its figure among all pairs of its round.
    pub fn value(&self) -> Option<f64> {
        self.looks.iter().find_map(|look| look.value)
    }

    /// Its last figure by itself; `None` where others always ran beside it.
    pub fn alone(&self) -> Option<f64> {
        let by_itself = self.looks.iter().rev().filter(|look| look.at_once == 1);
        by_itself.filter_map(|look| look.value).next()
    }

    /// Its figure when the fewest ran beside it.
    pub fn last(&self) -> Option<f64> {
        self.looks.iter().rev().find_map(|look| look.value)
    }
}

/// Windows of one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// Its number, from 0.
    pub round: u32,
    /// Pairs that gave a figure.
    pub done: usize,
    /// Pairs that it had.
    pub pairs: usize,
    /// Share of the shortest window that all had in common; `None` where fewer than two ran, or
    /// nothing tells.
    pub overlap_share: Option<f64>,
}

impl Round {
    fn is_apart(&self) -> bool {
        self.overlap_share.is_some_and(|share| share < OVERLAP_MIN)
    }
}

/// A mesh, evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mesh {
    pub unit: Unit,
    /// Pairs in order of their hosts.
    pub cells: Vec<MeshPair>,
    /// The best figure of all.
    pub best: Option<f64>,
    /// Rounds in their order.
    pub rounds: Vec<Round>,
    /// Hosts that were not there or ended in its course. What was never there has no pairs.
    #[serde(default)]
    pub gone: Vec<Gone>,
    /// Suspects: those that are gone, and then those with the most pairs first.
    pub named: Vec<Named>,
    pub limits: Limits,
}

impl Mesh {
    /// Evaluates a study's records; trials that are no pair of agents are left out.
    pub fn of(study: &StoredStudy, limits: Limits) -> Option<Self> {
        let pairs: BTreeMap<&str, (usize, usize, &Trial)> =
            study.trials.iter().filter_map(|trial| of_pair(trial)).collect();
        let ends = |record: &Record| {
            let (from, to, _) = pairs.get(record.trial.0.as_str())?;
            Some([*from, *to])
        };
        let gone = gone::all(study, ends);
        let rounds = rounds(&study.records, &pairs);
        let at_once: BTreeMap<u32, usize> =
            rounds.iter().map(|round| (round.round, round.pairs)).collect();
        let mut cells: BTreeMap<(usize, usize), MeshPair> = BTreeMap::new();
        let mut unit = None;
        for record in &study.records {
            let Some((from, to, trial)) = pairs.get(record.trial.0.as_str()) else { continue };
            if gone.iter().any(|one| one.was_never_there() && [*from, *to].contains(&one.host)) {
                continue;
            }
            let value = value_of(trial, record);
            unit = unit.or(value.as_ref().map(|(_, unit)| *unit));
            let value = value.map(|(value, _)| value.value);
            let cell = cells.entry((*from, *to)).or_insert_with(|| MeshPair {
                from: *from,
                to: *to,
                looks: Vec::new(),
                state: State::Failed,
                failed: None,
            });
            let at_once = at_once.get(&record.block).copied().unwrap_or(1);
            cell.looks.push(Look { round: record.block, at_once, value });
            if value.is_none() {
                cell.failed = Some(no_figure(trial, record));
            }
        }
        let unit = unit.or_else(|| cells.values().next().map(|_| Unit::BitsPerSecond))?;
        let apart: BTreeSet<u32> =
            rounds.iter().filter(|round| round.is_apart()).map(|round| round.round).collect();
        cells.values_mut().for_each(|cell| cell.looks = that_met(&cell.looks, &apart));
        let mut cells: Vec<MeshPair> = cells.into_values().collect();
        let values = cells.iter().flat_map(|cell| &cell.looks).filter_map(|look| look.value);
        let best = values.reduce(if is_time(unit) { f64::min } else { f64::max });
        cells.iter_mut().for_each(|cell| cell.state = state(cell, best, unit, limits));
        let named = suspects::named(&cells, &gone, best);
        Some(Self { unit, cells, best, rounds, gone, named, limits })
    }

    /// Pairs that are worth another look: slow the last time that they ran.
    pub fn suspects(&self) -> Vec<(usize, usize)> {
        let slow = self.cells.iter().filter(|cell| cell.state == State::Slow);
        slow.map(|cell| (cell.from, cell.to)).collect()
    }

    /// Slow pairs of which no other pair tells whether it is the path or one of the hosts.
    pub fn untold(&self) -> Vec<(usize, usize)> {
        let slow = self.suspects();
        let either = self.named.iter().filter_map(|named| match named.suspect {
            Suspect::Either { from, to } => Some((from, to)),
            _ => None,
        });
        either.filter(|pair| slow.contains(pair)).collect()
    }

    /// Hosts all of whose pairs are within the limits, in order of their places.
    pub fn well(&self) -> Vec<usize> {
        let (bad, well): (Vec<&MeshPair>, Vec<&MeshPair>) =
            self.cells.iter().partition(|cell| suspects::is_bad(cell));
        let [bad, well] = [bad, well].map(hosts_of);
        well.difference(&bad).copied().collect()
    }

    /// Which of the ends of a pair no other pair clears: whether the sender, and the receiver.
    pub fn open_ends(&self, from: usize, to: usize) -> [bool; 2] {
        let (sends, receives) =
            (suspects::sends_well(from, &self.cells), suspects::receives_well(to, &self.cells));
        [!sends, !receives]
    }

    /// Pairs that give a figure, the worst first.
    pub fn worst_first(&self) -> Vec<&MeshPair> {
        let mut cells: Vec<&MeshPair> =
            self.cells.iter().filter(|cell| cell.last().is_some()).collect();
        cells.sort_by(|one, other| {
            let (one, other) = (one.last().unwrap_or(0.0), other.last().unwrap_or(0.0));
            if is_time(self.unit) { other.total_cmp(&one) } else { one.total_cmp(&other) }
        });
        cells
    }

    /// Rounds whose pairs did not all run at the same time.
    pub fn apart(&self) -> usize {
        self.rounds.iter().filter(|round| round.is_apart()).count()
    }

    /// Of those the rounds that no figure is of, since their pairs ran again.
    pub fn made_again(&self) -> usize {
        let looks = self.cells.iter().flat_map(|cell| &cell.looks);
        let counts: BTreeSet<u32> = looks.map(|look| look.round).collect();
        let apart = self.rounds.iter().filter(|round| round.is_apart());
        apart.filter(|round| !counts.contains(&round.round)).count()
    }
}

/// Whether the pairs of a round did not all run at the same time, by its records: then each had
/// less beside it than the round was to give it. False where nothing tells.
pub fn lie_apart(records: &[Record]) -> bool {
    let all: Vec<&Record> = records.iter().collect();
    overlap_in(&all).is_some_and(|share| share < OVERLAP_MIN)
}

/// The runs of a pair without those of rounds that lay apart and were made again.
fn that_met(looks: &[Look], apart: &BTreeSet<u32>) -> Vec<Look> {
    let is_again = |look: &Look, of: &Look| {
        look.at_once == of.at_once && look.value.is_some() && !apart.contains(&look.round)
    };
    let counts =
        |of: &&Look| !apart.contains(&of.round) || !looks.iter().any(|look| is_again(look, of));
    looks.iter().filter(counts).copied().collect()
}

/// The figures of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The smallest of its pairs.
    pub least: f64,
    /// The largest of its pairs.
    pub most: f64,
    pub unit: Unit,
}

impl Figures {
    /// From the records of a round and their trials; `None` where no pair gave a figure.
    pub fn of<'a>(ran: impl Iterator<Item = (&'a Trial, &'a Record)>) -> Option<Self> {
        let values = ran.filter_map(|(trial, record)| value_of(trial, record));
        values.map(|(value, unit)| Self { least: value.value, most: value.value, unit }).reduce(
            |one, other| Self {
                least: one.least.min(other.least),
                most: one.most.max(other.most),
                unit: one.unit,
            },
        )
    }
}

fn hosts_of(cells: Vec<&MeshPair>) -> BTreeSet<usize> {
    cells.into_iter().flat_map(|cell| [cell.from, cell.to]).collect()
}

/// Why a run has no figure.
fn no_figure(trial: &Trial, record: &Record) -> String {
    let is_impossible = reconciled(trial, record).is_some_and(|run| run.is_impossible());
    let label = if is_impossible { Label::Impossible } else { Label::Nothing };
    record.outcome.why().unwrap_or_else(|| label.says().to_owned())
}

fn of_pair(trial: &Trial) -> Option<(&str, (usize, usize, &Trial))> {
    let pair = trial.pairs().next()?;
    match (pair.sender.host, pair.receiver.host) {
        (EndHost::Peer(from), EndHost::Peer(to)) => {
            Some((trial.id.0.as_str(), (from as usize, to as usize, trial)))
        }
        _ => None,
    }
}

fn rounds(records: &[Record], pairs: &BTreeMap<&str, (usize, usize, &Trial)>) -> Vec<Round> {
    let mut by_round: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
    // What was not begun took part in no round.
    let ran = records.iter().filter(|record| !matches!(record.outcome, Outcome::Skipped { .. }));
    for record in ran.filter(|record| pairs.contains_key(record.trial.0.as_str())) {
        by_round.entry(record.block).or_default().push(record);
    }
    by_round
        .into_iter()
        .map(|(round, records)| {
            let done = records.iter().filter(|record| record.outcome == Outcome::Done).count();
            Round { round, done, pairs: records.len(), overlap_share: overlap_in(&records) }
        })
        .collect()
}

/// Share of the shortest window that those of a round's runs had in common; `None` where fewer
/// than two ran, or nothing tells.
fn overlap_in(records: &[&Record]) -> Option<f64> {
    let done: Vec<&&Record> =
        records.iter().filter(|record| record.outcome == Outcome::Done).collect();
    let reports: Vec<_> = done.iter().flat_map(|record| &record.reports).collect();
    if done.len() > 1 { overlap_of(&reports) } else { None }
}

fn state(cell: &MeshPair, best: Option<f64>, unit: Unit, limits: Limits) -> State {
    let (Some(first), Some(last), Some(best)) = (cell.value(), cell.last(), best) else {
        return State::Failed;
    };
    match (limits.is_worse(first, best, unit), limits.is_worse(last, best, unit)) {
        (_, true) => State::Slow,
        (true, false) => State::SlowTogether,
        (false, false) => State::Good,
    }
}

#[cfg(test)]
mod tests;
