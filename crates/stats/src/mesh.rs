//! What a mesh of pairs says: each pair's figure, who is slow against the best, whether that stays
//! when fewer run at once, and whether it is a host's or a path's.

use crate::pairs::{OVERLAP_MIN, overlap_of};
use crate::summarise::value_of;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, Trial};
use narrows_model::units::Unit;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// From which figures on a pair is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The round that it was in.
    pub round: u32,
    /// Pairs of that round.
    pub at_once: usize,
    /// Its figure; `None` where it failed.
    pub value: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshPair {
    /// Place of the host that sent.
    pub from: usize,
    /// Place of the host that received.
    pub to: usize,
    /// Its runs, in their order.
    pub looks: Vec<Look>,
    pub state: State,
    /// What its last failure said, where it failed.
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

/// What slow or failed pairs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Suspect {
    /// No pair of this host gave a figure.
    Dead {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it sends or receives are slow.
    Host {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it sends are slow.
    Sends {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it receives are slow.
    Receives {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// One pair, and not its hosts' others.
    Path {
        /// Place of the host that sends.
        from: usize,
        /// Place of the host that receives.
        to: usize,
    },
}

/// A suspect, and the pairs that it is named for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Who or what it is.
    pub suspect: Suspect,
    /// Pairs that are slow or failed.
    pub pairs: usize,
    /// Of so many that it was in.
    pub of: usize,
    /// The worst of them, against the best of all: above 1, a latency; below 1, a rate.
    pub worst_ratio: Option<f64>,
}

/// Windows of one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    pub unit: Unit,
    /// Pairs in order of their hosts.
    pub cells: Vec<MeshPair>,
    /// The best figure of all.
    pub best: Option<f64>,
    /// Rounds in their order.
    pub rounds: Vec<Round>,
    /// Suspects, those with the most pairs first.
    pub named: Vec<Named>,
    pub limits: Limits,
}

impl Mesh {
    /// Evaluates a study's records; trials that are no pair of agents are left out.
    pub fn of(study: &StoredStudy, limits: Limits) -> Option<Self> {
        let pairs: BTreeMap<&str, (usize, usize, &Trial)> =
            study.trials.iter().filter_map(|trial| of_pair(trial)).collect();
        let rounds = rounds(&study.records, &pairs);
        let at_once: BTreeMap<u32, usize> =
            rounds.iter().map(|round| (round.round, round.pairs)).collect();
        let mut cells: BTreeMap<(usize, usize), MeshPair> = BTreeMap::new();
        let mut unit = None;
        for record in &study.records {
            let Some((from, to, trial)) = pairs.get(record.trial.0.as_str()) else { continue };
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
            cell.failed = record.outcome.why().or(cell.failed.take());
        }
        let unit = unit.or_else(|| cells.values().next().map(|_| Unit::BitsPerSecond))?;
        let apart: BTreeSet<u32> =
            rounds.iter().filter(|round| round.is_apart()).map(|round| round.round).collect();
        cells.values_mut().for_each(|cell| cell.looks = that_met(&cell.looks, &apart));
        let mut cells: Vec<MeshPair> = cells.into_values().collect();
        let values = cells.iter().flat_map(|cell| &cell.looks).filter_map(|look| look.value);
        let best = values.reduce(if is_time(unit) { f64::min } else { f64::max });
        cells.iter_mut().for_each(|cell| cell.state = state(cell, best, unit, limits));
        let named = named(&cells, best);
        Some(Self { unit, cells, best, rounds, named, limits })
    }

    /// Pairs that are worth another look: slow the last time that they ran.
    pub fn suspects(&self) -> Vec<(usize, usize)> {
        let slow = self.cells.iter().filter(|cell| cell.state == State::Slow);
        slow.map(|cell| (cell.from, cell.to)).collect()
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
    for record in records.iter().filter(|record| pairs.contains_key(record.trial.0.as_str())) {
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

/// Which hosts and paths explain the bad pairs, the one that explains the most first: what is
/// explained by one is not held against its partners.
fn named(cells: &[MeshPair], best: Option<f64>) -> Vec<Named> {
    let mut left: Vec<&MeshPair> =
        cells.iter().filter(|cell| matches!(cell.state, State::Slow | State::Failed)).collect();
    let mut named = Vec::new();
    while let Some((suspect, pairs, of)) = heaviest(&left, cells) {
        let (explained, rest): (Vec<&MeshPair>, Vec<&MeshPair>) =
            left.into_iter().partition(|cell| is_of(suspect, cell));
        left = rest;
        named.push(Named { suspect, pairs, of, worst_ratio: worst_ratio(&explained, best) });
    }
    for cell in left {
        let suspect = Suspect::Path { from: cell.from, to: cell.to };
        named.push(Named { suspect, pairs: 1, of: 1, worst_ratio: worst_ratio(&[cell], best) });
    }
    named
}

fn worst_ratio(cells: &[&MeshPair], best: Option<f64>) -> Option<f64> {
    let best = best.filter(|best| *best > 0.0)?;
    let ratios = cells.iter().filter_map(|cell| cell.last()).map(|value| value / best);
    ratios.max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()))
}

/// Whether a pair is among those that a suspect is named for.
fn is_of(suspect: Suspect, cell: &MeshPair) -> bool {
    match suspect {
        Suspect::Dead { host } | Suspect::Host { host } => cell.from == host || cell.to == host,
        Suspect::Sends { host } => cell.from == host,
        Suspect::Receives { host } => cell.to == host,
        Suspect::Path { from, to } => (cell.from, cell.to) == (from, to),
    }
}

/// The host that explains the most of the bad pairs which are left: two or more, and more than half
/// of those that it was in.
fn heaviest(left: &[&MeshPair], all: &[MeshPair]) -> Option<(Suspect, usize, usize)> {
    let hosts: BTreeSet<usize> = left.iter().flat_map(|cell| [cell.from, cell.to]).collect();
    let mut best: Option<(Suspect, usize, usize)> = None;
    for host in hosts {
        let dead = Suspect::Dead { host };
        let is_dead = all.iter().filter(|cell| is_of(dead, cell)).all(|cell| has_failed(&cell));
        let whole = if is_dead { dead } else { Suspect::Host { host } };
        for suspect in [whole, Suspect::Sends { host }, Suspect::Receives { host }] {
            let pairs = left.iter().filter(|cell| is_of(suspect, cell)).count();
            let of = all.iter().filter(|cell| is_of(suspect, cell)).count();
            let is_most = pairs >= 2 && 2 * pairs > of;
            // A host that is bad one way alone is named for that way.
            let halves = matches!(suspect, Suspect::Host { .. }) && 4 * pairs < 3 * of;
            let before = best.map_or(0, |(_, pairs, _)| pairs);
            if is_most && !halves && pairs > before {
                best = Some((suspect, pairs, of));
            }
        }
    }
    best
}

fn has_failed(cell: &&MeshPair) -> bool {
    cell.state == State::Failed
}

#[cfg(test)]
mod tests;
