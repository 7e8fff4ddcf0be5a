//! What it costs to be away from the NIC: runs that differ in one place only, set against each
//! other within the blocks in which they were made.

use crate::levels::ALIKE;
use crate::paths;
use crate::summarise::value_of;
use crate::traffic::host_share;
use crate::{median, median_interval};
use narrows_model::host::Host;
use narrows_model::load::{EndReport, Role};
use narrows_model::memory_traffic::{MemoryTraffic, Quantity};
use narrows_model::result::{Estimate, Method};
use narrows_model::seating::{Axis, EndNodes, Seating};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Probability that any interval of a study's effects misses what it is of, at most.
const ERROR_SHARE: f64 = 0.05;

/// What is moved between two placements that are alike in all else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// One thing alone.
    One(Axis),
    /// Process and memory of this host's end together; the interrupts stay.
    Here,
    /// Process and memory of the other end together.
    There,
    /// Process and memory of both ends.
    Both,
    /// Threads that the scheduler may move within their node, in place of pinned ones.
    Floating,
    /// The NIC: one at the node of this host's end, in place of one at another.
    Nearer,
    /// The NIC: another at the same node, in place of the first placement's. `None` is the one that
    /// the study goes by unless a level names another.
    Nic { from: Option<String>, to: Option<String> },
}

/// What a move does to a test's figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    pub of: Move,
    /// Node from which it is moved, where it is one thing.
    pub from: Option<u32>,
    /// Figure after the move by that before it, with an interval that holds for all effects of the
    /// study together; `by` says where the runs are too few for one.
    pub ratio: Estimate,
    /// Pairs of placements that it is of.
    pub pairs: usize,
    /// What may be said of it.
    pub verdict: Cost,
}

/// What may be said of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// It makes the figure worse by more than 5 %, with its whole interval.
    Worse,
    /// It makes it better by more than 5 %, with its whole interval.
    Better,
    /// By less than 5 %, with its whole interval.
    Alike,
    /// The interval has more than one of these in it.
    Unclear,
    /// Too few runs for an interval that holds for all effects.
    FewRuns,
}

/// A placement's figure by that of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Of runs of the same block; its interval holds for itself alone.
    pub ratio: Estimate,
    pub verdict: Cost,
}

/// One placement of one test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacedCell {
    /// Index of its trial and summary.
    pub trial: usize,
    pub seating: Seating,
    /// What it gives against the first; `None` of the first, and where no block has both.
    pub against_first: Option<Against>,
    /// What the sending host had to do.
    pub sender: HostLoad,
    /// What the receiving host had to do.
    pub receiver: HostLoad,
}

/// What a whole host did while a test's window was open, medians over runs; `None` where it was
/// not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HostLoad {
    /// Share of the CPU time of all its CPUs that was used, 0 to 1.
    pub cpu_share: Option<f64>,
    /// Bytes that were read from and written to its memory each second.
    pub memory_bytes_per_second: Option<f64>,
    /// Bytes that its cores asked for and the last-level caches did not hold, each second.
    pub cache_missed_bytes_per_second: Option<f64>,
    /// Bytes of data that were sent over the links between its sockets each second.
    pub link_bytes_per_second: Option<f64>,
    /// Of these what the socket sent that sent most, to be held against what its links carry.
    pub busiest_link_bytes_per_second: Option<f64>,
}

impl HostLoad {
    /// What the sending and the receiving host of a trial did, in one place or in several.
    pub fn of_trial(study: &StoredStudy, trial: &Trial) -> [Self; 2] {
        [Role::Sender, Role::Receiver].map(|role| {
            let runs = study.records.iter().filter(|record| record.trial == trial.id);
            Self::of(&runs.flat_map(|record| record.of(role)).collect::<Vec<_>>())
        })
    }

    fn of(ends: &[&EndReport]) -> Self {
        let over = |of: &dyn Fn(&EndReport) -> Option<f64>| {
            median(&ends.iter().filter_map(|end| of(end)).collect::<Vec<_>>())
        };
        Self {
            cpu_share: over(&host_share),
            memory_bytes_per_second: over(&|end| per_second(end, MemoryTraffic::both_ways)),
            cache_missed_bytes_per_second: over(&|end| {
                per_second(end, |traffic| traffic.bytes(Quantity::CacheMissed))
            }),
            link_bytes_per_second: over(&|end| {
                per_second(end, |traffic| traffic.bytes(Quantity::SocketLinkSent))
            }),
            busiest_link_bytes_per_second: over(&|end| {
                per_second(end, |traffic| traffic.most(Quantity::SocketLinkSent))
            }),
        }
    }
}

fn per_second(end: &EndReport, bytes: fn(&MemoryTraffic) -> Option<u64>) -> Option<f64> {
    let traffic = end.memory.as_ref()?;
    let seconds = traffic.span_ns.seconds();
    bytes(traffic).filter(|_| seconds > 0.0).map(|bytes| bytes as f64 / seconds)
}

/// A test, run in several placements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacedTest {
    /// Its name: levels of the factors that are no places.
    pub name: String,
    pub metric: Metric,
    /// The placements, that with everything near the NIC first.
    pub cells: Vec<PlacedCell>,
    pub effects: Vec<Effect>,
}

impl PlacedTest {
    /// The first placement, those that move an end as a whole away from it, or both, and those with
    /// everything near another NIC, which are no move.
    pub fn wholes(&self) -> Vec<(Option<Move>, &PlacedCell)> {
        let Some(first) = self.cells.first() else { return Vec::new() };
        let whole = |cell: &PlacedCell| {
            let moves = moves(&first.seating, &cell.seating, &first.seating).into_iter();
            moves.map(|(of, _)| of).find(|of| match of {
                Move::Here | Move::There | Move::Both => true,
                Move::One(Axis::ProcessHere) => first.seating.here.memory.is_none(),
                Move::One(Axis::ProcessThere) => first.seating.there.memory.is_none(),
                Move::One(_) | Move::Floating | Move::Nearer | Move::Nic { .. } => false,
            })
        };
        let others = self.cells.iter().filter_map(|cell| match whole(cell) {
            Some(of) => Some((Some(of), cell)),
            None => {
                let is_near = cell.seating.nic != first.seating.nic
                    && cell.seating == base(self, &cell.seating);
                is_near.then_some((None, cell))
            }
        });
        std::iter::once((None, first)).chain(others).collect()
    }
}

/// The tests of a study in which one test was run in several placements; empty for others.
pub fn placements(study: &StoredStudy) -> Vec<PlacedTest> {
    let there = study.peer_hosts.first().unwrap_or(&study.host);
    let all = study.trials.iter().enumerate().filter(|(_, trial)| could_run(study, trial));
    // Paths inside the host are held against their likes: their places are what they lead to.
    let all = all.filter(|(_, trial)| paths::of_trial(trial).is_none());
    let all: Vec<PlacedCell> =
        all.filter_map(|(at, trial)| placed(study, at, trial, there)).collect();
    let others = other_factors(study, &all);
    let mut tests: Vec<PlacedTest> = Vec::new();
    for cell in all {
        let trial = &study.trials[cell.trial];
        let same = |test: &&mut PlacedTest| {
            let first = &study.trials[test.cells[0].trial];
            is_same(first, trial) && others.iter().all(|of| first.level(of) == trial.level(of))
        };
        match tests.iter_mut().find(same) {
            Some(test) => test.cells.push(cell),
            None => {
                let metric = trial.kind.metric().unwrap_or(Metric::Goodput);
                let (name, effects) = (String::new(), Vec::new());
                tests.push(PlacedTest { name, metric, cells: vec![cell], effects });
            }
        }
    }
    tests.retain(|test| test.cells.iter().any(|cell| cell.seating != test.cells[0].seating));
    tests.iter_mut().for_each(|test| test.name = name(study, test));
    let found: Vec<Vec<Pairs>> = tests.iter().map(|test| pairs(study, test)).collect();
    let claims = found.iter().map(Vec::len).sum::<usize>().max(1);
    for (test, found) in tests.iter_mut().zip(found) {
        let larger = test.metric.larger_is_better();
        test.effects = found.iter().filter_map(|pairs| effect(pairs, claims, larger)).collect();
        let by_block = values(study, test);
        for (at, cell) in test.cells.iter_mut().enumerate().skip(1) {
            cell.against_first = against(&by_block, at, larger);
        }
    }
    tests
}

fn placed(study: &StoredStudy, at: usize, trial: &Trial, there: &Host) -> Option<PlacedCell> {
    let seating = Seating::of(trial, &study.host, there)?;
    let [sender, receiver] = HostLoad::of_trial(study, trial);
    Some(PlacedCell { trial: at, seating, against_first: None, sender, receiver })
}

/// Whether a trial could run in any session: where one could not, nobody knows its place.
fn could_run(study: &StoredStudy, trial: &Trial) -> bool {
    let mut sessions = study.sessions.iter();
    sessions.len() == 0 || sessions.any(|session| !session.cannot.contains_key(&trial.id.0))
}

/// Factors that are no places, as containers or an MTU: trials in one place differ in them alone.
fn other_factors<'a>(study: &'a StoredStudy, cells: &[PlacedCell]) -> BTreeSet<&'a str> {
    let across = study.study.reading.across.as_deref();
    let mut others = BTreeSet::new();
    for (at, one) in cells.iter().enumerate() {
        let same = cells[at + 1..].iter().filter(|other| other.seating == one.seating);
        let levels = &study.trials[one.trial].levels;
        others.extend(same.filter_map(|other| {
            let trial = &study.trials[other.trial];
            let differs = |level: &&Level| trial.level(&level.factor) != Some(&*level.level);
            let mut differing = levels.iter().filter(differs).map(|level| level.factor.as_str());
            let alone = differing.next().filter(|_| differing.next().is_none())?;
            (Some(alone) != across).then_some(alone)
        }));
    }
    others
}

/// Whether two trials do the same, wherever.
fn is_same(a: &Trial, b: &Trial) -> bool {
    let load = |trial: &Trial| trial.background().map(|end| (end.load.clone(), end.place.clone()));
    a.kind == b.kind && a.params == b.params && a.engine == b.engine && load(a) == load(b)
}

/// Levels that all trials of a test share, of the factors that are not the one along the axis.
fn name(study: &StoredStudy, test: &PlacedTest) -> String {
    let Some(first) = test.cells.first().map(|cell| &study.trials[cell.trial]) else {
        return String::new();
    };
    let across = study.study.reading.across.as_deref();
    let shared = first.levels.iter().filter(|level| {
        Some(level.factor.as_str()) != across
            && test.cells.iter().all(|cell| {
                study.trials[cell.trial].level(&level.factor) == Some(level.level.as_str())
            })
    });
    let names: Vec<&str> = shared.map(|level| level.level.as_str()).collect();
    if names.is_empty() { first.kind.to_string() } else { names.join(", ") }
}

/// Placements of one test that differ by one move, as indices of its cells, and the ratio of their
/// figures in each block.
struct Pairs {
    of: Move,
    from: Option<u32>,
    pairs: usize,
    /// One a block: the geometric mean over the pairs that were both made in it.
    ratios: Vec<f64>,
}

/// A move, and the node that it leaves.
type MoveFrom = (Move, Option<u32>);

/// All moves that a test's placements show.
fn pairs(study: &StoredStudy, test: &PlacedTest) -> Vec<Pairs> {
    let by_block = values(study, test);
    let mut found: BTreeMap<MoveFrom, Vec<(usize, usize)>> = BTreeMap::new();
    for (from, a) in test.cells.iter().enumerate() {
        for (to, b) in test.cells.iter().enumerate() {
            let near = base(test, &a.seating);
            for (of, node) in moves(&a.seating, &b.seating, &near) {
                found.entry((of, node)).or_default().push((from, to));
            }
            let is_away = a.seating.here.process != near.here.process;
            if is_away && is_nearer(&a.seating, &b.seating) && b.seating == base(test, &b.seating) {
                found.entry((Move::Nearer, None)).or_default().push((from, to));
            }
            if from == 0 && is_nearer(&a.seating, &b.seating) && b.seating == base(test, &b.seating)
            {
                let [one, other] = [a, b].map(|cell| cell.seating.nic.clone());
                let nic = Move::Nic { from: one, to: other };
                found.entry((nic, None)).or_default().push((from, to));
            }
        }
    }
    let mut all = Vec::new();
    for ((of, from), pairs) in found {
        let ratios: Vec<f64> = by_block.values().filter_map(|block| ratio(block, &pairs)).collect();
        if !ratios.is_empty() {
            all.push(Pairs { of, from, pairs: pairs.len(), ratios });
        }
    }
    all
}

/// The first placement over the same NIC: everything is near it.
fn base(test: &PlacedTest, of: &Seating) -> Seating {
    let same = test.cells.iter().find(|cell| cell.seating.nic == of.nic);
    same.map_or_else(|| of.clone(), |cell| cell.seating.clone())
}

/// Whether two placements differ in the NIC alone.
fn is_nearer(a: &Seating, b: &Seating) -> bool {
    a.nic != b.nic && Seating { nic: b.nic.clone(), ..a.clone() } == *b
}

/// What is moved from one placement to another, if that is one move away from what is near the
/// NIC; and the node that it is moved from.
fn moves(a: &Seating, b: &Seating, base: &Seating) -> Vec<MoveFrom> {
    let mut all = Vec::new();
    for axis in Axis::ALL {
        let (from, to) = (a.node(axis), b.node(axis));
        let is_away = from == base.node(axis) && to.is_some() && to != from;
        if is_away && a.with(axis, to) == *b {
            all.push((Move::One(axis), from));
        }
    }
    let here = Seating { here: moved(a.here, b.here), ..a.clone() };
    let there = Seating { there: moved(a.there, b.there), ..a.clone() };
    let (moves_here, moves_there) = (here.here != a.here, there.there != a.there);
    if moves_here && a.here == base.here && here == *b {
        all.push((Move::Here, None));
    }
    if moves_there && a.there == base.there && there == *b {
        all.push((Move::There, None));
    }
    let both = Seating { there: there.there, ..here };
    if moves_here && moves_there && a == base && both == *b {
        all.push((Move::Both, None));
    }
    if !a.floating && b.floating && (Seating { floating: true, ..a.clone() }) == *b {
        all.push((Move::Floating, None));
    }
    all
}

/// Process and memory of an end moved to those of another, where both move together.
fn moved(from: EndNodes, to: EndNodes) -> EndNodes {
    let together = to.process.is_some() && to.process == to.memory && from.process == from.memory;
    if together && to.process != from.process {
        EndNodes { interrupts: from.interrupts, ..to }
    } else {
        from
    }
}

/// Figure of each cell in each block; those of failed runs are missing.
fn values(study: &StoredStudy, test: &PlacedTest) -> BTreeMap<u32, BTreeMap<usize, f64>> {
    let mut blocks: BTreeMap<u32, BTreeMap<usize, f64>> = BTreeMap::new();
    for record in &study.records {
        let cell = test.cells.iter().position(|one| study.trials[one.trial].id == record.trial);
        let Some(cell) = cell else { continue };
        let value = value_of(&study.trials[test.cells[cell].trial], record);
        if let Some(value) = value.map(|(value, _)| value.value).filter(|value| *value > 0.0) {
            blocks.entry(record.block).or_default().insert(cell, value);
        }
    }
    blocks
}

/// Geometric mean of the ratios of all pairs that a block has.
fn ratio(block: &BTreeMap<usize, f64>, pairs: &[(usize, usize)]) -> Option<f64> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter_map(|(from, to)| Some((block.get(to)? / block.get(from)?).ln()))
        .collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// What a cell gives against the first, with an interval for it alone.
fn against(
    by_block: &BTreeMap<u32, BTreeMap<usize, f64>>,
    cell: usize,
    larger_is_better: bool,
) -> Option<Against> {
    let ratios: Vec<f64> =
        by_block.values().filter_map(|block| ratio(block, &[(0, cell)])).collect();
    let ratio = median_interval(&ratios, 1.0 - ERROR_SHARE, Unit::Share)?;
    Some(Against { verdict: cost(&ratio, larger_is_better), ratio })
}

/// The effect of a move, with an interval that is wider the more of them are claimed (Bonferroni).
fn effect(pairs: &Pairs, claims: usize, larger_is_better: bool) -> Option<Effect> {
    let confidence = 1.0 - ERROR_SHARE / claims as f64;
    let ratio = median_interval(&pairs.ratios, confidence, Unit::Share)?;
    let verdict = cost(&ratio, larger_is_better);
    let (of, from) = (pairs.of.clone(), pairs.from);
    Some(Effect { of, from, ratio, pairs: pairs.pairs, verdict })
}

pub(crate) fn cost(ratio: &Estimate, larger_is_better: bool) -> Cost {
    let (low, high) = (1.0 / (1.0 + ALIKE), 1.0 + ALIKE);
    let (down, up) =
        if larger_is_better { (Cost::Worse, Cost::Better) } else { (Cost::Better, Cost::Worse) };
    match ratio {
        ratio if ratio.by == Method::Range => Cost::FewRuns,
        ratio if ratio.high < low => down,
        ratio if ratio.low > high => up,
        ratio if ratio.low >= low && ratio.high <= high => Cost::Alike,
        _ => Cost::Unclear,
    }
}
