//! Where processes, memory and interrupts were, beside what each place gave and cost.

pub mod figures;
pub mod page;
pub mod text;

use crate::Analysis;
use narrows_model::load::Role;
use narrows_model::record::Record;
use narrows_model::result::Estimate;
use narrows_model::seating::Axis;
use narrows_model::trial::{EndHost, Trial};
use narrows_predict::link_rate;
use narrows_stats::{Cost, Effect, HostLoad, Move, PlacedCell, PlacedTest};
use std::collections::BTreeSet;

/// What was not counted of the link between sockets, of memory traffic and of cache misses, each
/// reason once.
fn uncounted(analysis: &Analysis<'_>) -> Vec<String> {
    let ends = analysis.stored.records.iter().flat_map(Record::measured);
    let counted = ends.filter_map(|end| end.memory.as_ref());
    let gaps: BTreeSet<String> =
        counted.flat_map(|traffic| &traffic.gaps).map(ToString::to_string).collect();
    let lacks = |of: fn(&HostLoad) -> Option<f64>| {
        let cells = analysis.placements.iter().flat_map(|test| &test.cells);
        cells.flat_map(|cell| [&cell.sender, &cell.receiver]).all(|load| of(load).is_none())
    };
    let lacking = [
        ("use of the link between sockets", lacks(|load| load.link_bytes_per_second)),
        ("cache misses of the cores", lacks(|load| load.cache_missed_bytes_per_second)),
        ("memory traffic", lacks(|load| load.memory_bytes_per_second)),
    ];
    let lacking = lacking.into_iter().filter(|(_, lacks)| *lacks).map(|(what, _)| what);
    let lacking: Vec<&str> = lacking.collect();
    let mut lines: Vec<String> = Vec::new();
    if !lacking.is_empty() {
        lines.push(format!("not counted: {}", lacking.join(", ")));
    }
    lines.extend(
        gaps.into_iter().map(|gap| format!("link, cache misses and memory traffic: {gap}")),
    );
    lines
}

/// What the hosts of a trial did while it ran, in one place or in several.
#[derive(Clone, Copy)]
struct Loads {
    /// Index of the trial.
    trial: usize,
    sender: HostLoad,
    receiver: HostLoad,
}

impl Loads {
    fn of(cell: &PlacedCell) -> Self {
        Self { trial: cell.trial, sender: cell.sender, receiver: cell.receiver }
    }

    fn end(&self, end: Role) -> &HostLoad {
        if end == Role::Sender { &self.sender } else { &self.receiver }
    }
}

/// A cell of a test that goes by several NICs at once, and is in no one place.
struct AtOnce<'a> {
    /// Its level along the axis.
    level: &'a str,
    figure: Estimate,
    loads: Loads,
}

/// Cells of a test that go by several NICs at once.
fn at_once<'a>(analysis: &'a Analysis<'_>, test: &PlacedTest) -> Vec<AtOnce<'a>> {
    let stored = analysis.stored;
    let across = stored.study.reading.across.as_deref();
    let first = test.cells.first().and_then(|cell| stored.trials.get(cell.trial));
    let (Some(across), Some(first)) = (across, first) else { return Vec::new() };
    let cells = stored.trials.iter().zip(&analysis.summaries).enumerate();
    let cells = cells.filter(|(at, (trial, _))| {
        let pairs = trial.pairs().count();
        pairs > 1
            && is_beside(first, trial, across)
            && test.cells.iter().all(|cell| cell.trial != *at)
    });
    let found = cells.filter_map(|(at, (trial, summary))| {
        let [sender, receiver] = HostLoad::of_trial(stored, trial);
        let loads = Loads { trial: at, sender, receiver };
        Some(AtOnce { level: trial.level(across)?, figure: summary.estimate?, loads })
    });
    found.collect()
}

/// Whether a trial is the same test, with another level along the axis.
fn is_beside(first: &Trial, trial: &Trial, across: &str) -> bool {
    let mut others = first.levels.iter().filter(|level| level.factor != across);
    trial.kind == first.kind
        && others.all(|level| trial.level(&level.factor) == Some(level.level.as_str()))
}

/// A change as people say it: `-24.1 % (-27.0 to -20.2 %)`.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

fn interval(ratio: &Estimate) -> String {
    format!("{:+.1} to {}", (ratio.low - 1.0) * 100.0, percent(ratio.high))
}

/// What is moved, and from where.
fn moved(analysis: &Analysis<'_>, effect: &Effect) -> String {
    let away = |axis: Axis| match effect.from {
        Some(node) if is_nics(analysis, axis, node) => {
            format!("{} off the NIC's node ({node})", axis.says())
        }
        Some(node) => format!("{} off node {node}", axis.says()),
        None => axis.says().to_owned(),
    };
    match effect.of {
        Move::One(axis) => away(axis),
        Move::Here => "process and memory here, together".to_owned(),
        Move::There => "process and memory at the peer, together".to_owned(),
        Move::Both => "process and memory at both ends".to_owned(),
        Move::Nearer => "through a NIC at the node of this host's end, not at another".to_owned(),
        Move::Nic { ref from, ref to } => {
            let [from, to] = [from, to].map(|nic| nic.clone().unwrap_or_else(|| leading(analysis)));
            format!("NIC {from} to {to}")
        }
        Move::Floating => "threads that float in their node, in place of pinned".to_owned(),
    }
}

/// The NIC that the study goes by unless a level names another.
fn leading(analysis: &Analysis<'_>) -> String {
    let stored = analysis.stored;
    let mut nics = stored.host.nics.iter().filter(|nic| stored.study.interfaces.has(&nic.name));
    nics.next().map_or("of the study".to_owned(), |nic| nic.name.clone())
}

/// Whether facts say that the NIC between the ends is at this node.
fn is_nics(analysis: &Analysis<'_>, axis: Axis, node: u32) -> bool {
    let stored = analysis.stored;
    let mut leading = stored.host.nics.iter().filter(|nic| stored.study.interfaces.has(&nic.name));
    axis.is_here() && leading.any(|nic| nic.node.value() == Some(&node))
}

/// What the busiest socket of an end's host sent over its links, of what those carry; `None` where
/// that was not counted, or the family's links are not known.
fn link_share(analysis: &Analysis<'_>, loads: &Loads, end: Role) -> Option<f64> {
    let stored = analysis.stored;
    let sent = loads.end(end).busiest_link_bytes_per_second?;
    let trial = stored.trials.get(loads.trial)?;
    let (own, peers) = match stored.session_of(trial) {
        Some(session) => (&session.host, &session.peer_hosts),
        None => (&stored.host, &stored.peer_hosts),
    };
    let host = match trial.ends_of(end).next()?.host {
        EndHost::Controller => own,
        EndHost::Peer(at) => peers.get(at as usize)?,
    };
    Some(sent / link_rate(host)?.bytes_per_second)
}

/// The same of both ends of a trial of a placement.
pub(crate) fn link_shares(analysis: &Analysis<'_>, trial: usize) -> [Option<f64>; 2] {
    let mut cells = analysis.placements.iter().flat_map(|test| &test.cells);
    let loads = cells.find(|cell| cell.trial == trial).map(Loads::of);
    [Role::Sender, Role::Receiver]
        .map(|end| loads.as_ref().and_then(|loads| link_share(analysis, loads, end)))
}

/// What is said of an effect in a word or two.
fn verdict(cost: Cost) -> &'static str {
    match cost {
        Cost::Worse => "costs",
        Cost::Better => "gains",
        Cost::Alike => "no difference (within 5 %)",
        Cost::Unclear => "inconclusive",
        Cost::FewRuns => "too few runs",
    }
}

/// What the test shows in which a place costs most; of others the first. None where nothing can be
/// compared.
pub fn dearest(analysis: &Analysis<'_>) -> Option<String> {
    let most = |test: &&PlacedTest| test.effects.iter().filter(costs).map(size).fold(0.0, f64::max);
    let tests = analysis.placements.iter().filter(|test| !test.effects.is_empty());
    // Of equals the last is the largest: from the end that is the first.
    let dearest = tests.rev().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    Some(answer(analysis, dearest))
}

/// What a test's placements show, in one sentence.
fn answer(analysis: &Analysis<'_>, test: &PlacedTest) -> String {
    if let [effect @ Effect { of: Move::Nic { .. }, .. }] = &test.effects[..] {
        let (ratio, verdict) = (&effect.ratio, verdict(effect.verdict));
        let (moved, change) = (moved(analysis, effect), percent(ratio.value));
        return format!("{}: {moved}: {change} ({}), {verdict}", test.name, interval(ratio));
    }
    let worst = test.effects.iter().filter(costs).max_by(|a, b| size(a).total_cmp(&size(b)));
    let all = |cost: Cost| test.effects.iter().all(|effect| effect.verdict == cost);
    match worst {
        Some(worst) => format!(
            "{}: {} costs most: {} ({})",
            test.name,
            moved(analysis, worst),
            percent(worst.ratio.value),
            interval(&worst.ratio)
        ),
        None if all(Cost::Alike) => {
            format!("{}: no place matters: each moves it by less than 5 %", test.name)
        }
        None => format!("{}: no place is shown to cost more than 5 %", test.name),
    }
}

/// Tests in which nothing can be compared, in one sentence; none where there are none.
fn not_compared(analysis: &Analysis<'_>) -> Option<String> {
    let tests = analysis.placements.iter().filter(|test| test.effects.is_empty());
    let names: Vec<&str> = tests.map(|test| test.name.as_str()).collect();
    let why = "nothing to compare: no two places have a figure in one block";
    match names.len() {
        0 => None,
        all if all == analysis.placements.len() && all > 1 => {
            Some(why.replace("compare", &format!("compare in {all} tests")))
        }
        _ => Some(format!("{}: {why}", names.join("; "))),
    }
}

/// The tests in which something can be.
fn compared<'a>(analysis: &'a Analysis<'_>) -> impl Iterator<Item = &'a PlacedTest> {
    analysis.placements.iter().filter(|test| !test.effects.is_empty())
}

/// Whether a test has more to tell than its one sentence.
fn has_table(test: &&PlacedTest) -> bool {
    !matches!(&test.effects[..], [] | [Effect { of: Move::Nic { .. }, .. }])
}

fn costs(effect: &&Effect) -> bool {
    effect.verdict == Cost::Worse
}

fn size(effect: &Effect) -> f64 {
    effect.ratio.value.ln().abs()
}
