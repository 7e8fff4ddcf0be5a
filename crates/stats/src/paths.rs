//! Paths inside a host, each set against those that should reach the same: one kind of card, at the
//! same distance from its memory.

use crate::compare::{Change, Compared, compare_sessions};
use crate::levels::ALIKE;
use crate::summary::Summary;
use narrows_model::host::{Host, Nic, PciHop, RdmaDevice};
use narrows_model::load::Role;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The factor whose levels are paths.
pub const PATH: &str = "path";

/// What a path leads through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum InsidePath {
    /// From memory of a node through a device and back.
    Loop {
        device: String,
        /// Node of the buffers; `None` where nobody said one.
        node: Option<u32>,
    },
    /// From one RDMA device to another.
    Across { from: String, to: String },
    /// Packets from one port to another.
    Cable { from: String, to: String },
}

/// How far memory is from a device, or a device from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is", content = "of")]
pub enum Away {
    /// At the same node.
    Local,
    /// At another node, at this distance as firmware tells it.
    Distance(u32),
    /// At another node, whose distance nobody tells.
    Other,
    /// The device's node is not known; the memory is at this node.
    Unknown(Option<u32>),
}

/// A kind of card: what must be the same of two that should reach the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Card {
    /// Vendor and device; of what is not on PCI the driver or sort.
    pub name: String,
    /// Most that its link could be, GT/s by lanes: `16 GT/s x16`; `None` where nobody tells.
    pub link: Option<String>,
    /// Whether software makes the RDMA device over the card.
    pub software: bool,
}

/// What two paths have in common that should reach the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Likeness {
    /// The cards that it goes through: one of loop-back, else two.
    pub cards: Vec<Card>,
    pub away: Away,
    /// Of two devices whether both are functions of one card.
    pub one_card: bool,
}

/// What is to be said of a path beside its likes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Standing {
    /// There is no other path of its sort.
    Alone,
    /// No run of it, or of none of its likes, has a figure.
    NoFigure,
    /// Slower than a like by more than 5 %, with its whole interval.
    Slow {
        /// Cell of the like that it is slowest against.
        than: usize,
        compared: Compared,
    },
    /// An interval against a like reaches beyond 5 %: neither slower nor as good.
    NotTold { than: usize, compared: Compared },
    /// As good as each of its likes, within 5 %, or better.
    AsGood,
}

/// A path under one test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathCell {
    /// Index of its trial and summary.
    pub trial: usize,
    pub path: InsidePath,
    pub likeness: Likeness,
    /// How many other paths of its sort have a figure.
    pub likes: usize,
    #[serde(flatten)]
    pub standing: Standing,
}

/// One test over several paths.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathTest {
    /// Levels of the factors that are no paths.
    pub name: String,
    pub metric: Metric,
    pub cells: Vec<PathCell>,
}

/// The tests of a study over paths inside its host; empty for others. All comparisons of likes hold
/// together with 95 % (Bonferroni over every two of them in every test).
pub fn paths(study: &StoredStudy, summaries: &[Summary]) -> Vec<PathTest> {
    let mut tests: BTreeMap<usize, PathTest> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for (at, trial) in study.trials.iter().enumerate() {
        let Some(cell) = cell(&study.host, at, trial) else { continue };
        let name = name(trial);
        let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        let metric = trial.kind.metric().unwrap_or(Metric::Goodput);
        let new = PathTest { name, metric, cells: Vec::new() };
        tests.entry(place).or_insert(new).cells.push(cell);
    }
    let mut tests: Vec<PathTest> = tests.into_values().collect();
    let all: Vec<Vec<Vec<Vec<f64>>>> = tests.iter().map(|test| values(test, summaries)).collect();
    let claims = tests.iter().zip(&all).map(|(test, values)| pairs(test, values).len()).sum();
    for (test, values) in tests.iter_mut().zip(&all) {
        stand(test, values, claims);
    }
    tests
}

/// Runs of each session, of each cell.
type Values = [Vec<Vec<f64>>];

fn values(test: &PathTest, summaries: &[Summary]) -> Vec<Vec<Vec<f64>>> {
    let summaries = test.cells.iter().map(|cell| summaries.get(cell.trial));
    summaries.map(|summary| summary.map(Summary::by_session).unwrap_or_default()).collect()
}

fn has_figure(values: &[Vec<f64>]) -> bool {
    values.iter().any(|session| !session.is_empty())
}

/// Every two cells of a test that are alike and have figures.
fn pairs(test: &PathTest, values: &Values) -> Vec<(usize, usize)> {
    let count = test.cells.len();
    let every_two = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    every_two
        .filter(|(a, b)| test.cells[*a].likeness == test.cells[*b].likeness)
        .filter(|(a, b)| has_figure(&values[*a]) && has_figure(&values[*b]))
        .collect()
}

/// Sets each cell against its likes.
fn stand(test: &mut PathTest, values: &Values, claims: usize) {
    let pairs = pairs(test, values);
    let larger = test.metric.larger_is_better();
    for at in 0..test.cells.len() {
        let mine = pairs.iter().filter_map(|(a, b)| match at {
            at if at == *a => Some(*b),
            at if at == *b => Some(*a),
            _ => None,
        });
        let against = mine.filter_map(|like| {
            let compared = compare_sessions(&values[like], &values[at], ALIKE, claims, larger)?;
            Some((like, compared))
        });
        let against: Vec<(usize, Compared)> = against.collect();
        let likeness = &test.cells[at].likeness;
        let others = test.cells.iter().filter(|cell| cell.likeness == *likeness).count() - 1;
        let standing = match others {
            0 => Standing::Alone,
            _ => standing(&against, larger),
        };
        (test.cells[at].likes, test.cells[at].standing) = (against.len(), standing);
    }
}

/// What comparisons with all likes say; the worst of them counts.
fn standing(against: &[(usize, Compared)], larger_is_better: bool) -> Standing {
    let [worse, not_told] = [Change::Worse, Change::NotTold].map(|change| {
        let of = against.iter().filter(|(_, compared)| compared.change == change);
        of.copied().max_by(|(_, a), (_, b)| {
            let order = a.ratio.value.total_cmp(&b.ratio.value);
            if larger_is_better { order.reverse() } else { order }
        })
    });
    match (worse, not_told) {
        _ if against.is_empty() => Standing::NoFigure,
        (Some((than, compared)), _) => Standing::Slow { than, compared },
        (None, Some((than, compared))) => Standing::NotTold { than, compared },
        (None, None) => Standing::AsGood,
    }
}

/// Levels that are no path.
fn name(trial: &Trial) -> String {
    let others = trial.levels.iter().filter(|level| level.factor != PATH);
    let names: Vec<&str> = others.map(|level| level.level.as_str()).collect();
    if names.is_empty() { trial.kind.to_string() } else { names.join(", ") }
}

fn cell(host: &Host, at: usize, trial: &Trial) -> Option<PathCell> {
    let path = of_trial(trial)?;
    let likeness = likeness(host, &path)?;
    Some(PathCell { trial: at, path, likeness, likes: 0, standing: Standing::Alone })
}

/// The path that a trial of a study of paths measures; `None` of other trials.
pub(crate) fn of_trial(trial: &Trial) -> Option<InsidePath> {
    trial.level(PATH)?;
    match trial.path {
        NetworkPath::Devices => {
            let rdma = trial.params.rdma.as_ref()?;
            let (from, to) = (rdma.sender.device.clone()?, rdma.receiver.device.clone()?);
            if from != to {
                return Some(InsidePath::Across { from, to });
            }
            let node = trial.ends_of(Role::Sender).next()?.place.node;
            Some(InsidePath::Loop { device: from, node })
        }
        NetworkPath::Cable => {
            let bind = trial.controllers()?.bind.clone()?;
            Some(InsidePath::Cable { from: bind.device?, to: bind.cable? })
        }
        _ => None,
    }
}

fn likeness(host: &Host, path: &InsidePath) -> Option<Likeness> {
    Some(match path {
        InsidePath::Loop { device, node } => {
            let device = host.rdma_device(device)?;
            let away = away(host, host.node_of_rdma(device), *node);
            Likeness { cards: vec![card_of_rdma(host, device)], away, one_card: true }
        }
        InsidePath::Across { from, to } => {
            let [from, to] = [host.rdma_device(from)?, host.rdma_device(to)?];
            let away = away(host, host.node_of_rdma(from), host.node_of_rdma(to));
            let one_card = is_one_card(host.functions_of(from), host.functions_of(to));
            let cards = [from, to].map(|device| card_of_rdma(host, device)).to_vec();
            Likeness { cards, away, one_card }
        }
        InsidePath::Cable { from, to } => {
            let [from, to] = [host.nic(from)?, host.nic(to)?];
            let away = away(host, host.node_of_nic(from), host.node_of_nic(to));
            let one_card = is_one_card(&from.path, &to.path);
            Likeness { cards: [from, to].map(card_of_nic).to_vec(), away, one_card }
        }
    })
}

fn away(host: &Host, from: Option<u32>, to: Option<u32>) -> Away {
    match (from, to) {
        (Some(from), Some(to)) if from == to => Away::Local,
        (Some(from), Some(to)) => host.distance(from, to).map_or(Away::Other, Away::Distance),
        // Where no memory is named, it is the device's own as far as anybody tells.
        (Some(_), None) => Away::Local,
        (None, to) => Away::Unknown(to),
    }
}

fn card_of_rdma(host: &Host, device: &RdmaDevice) -> Card {
    let software = device.address.is_none();
    let sort = device.kind.value().cloned().unwrap_or_default();
    let netdev = host.netdev_of(device);
    let otherwise = netdev.map_or_else(|| sort.clone(), |nic| card_of_nic(nic).name);
    let card = card(host.functions_of(device), otherwise);
    // siw and rxe over the same card are unlike: the sort of node tells them apart.
    let name = if software { format!("{sort} over {}", card.name) } else { card.name };
    Card { name, software, ..card }
}

fn card_of_nic(nic: &Nic) -> Card {
    let known = nic.driver.value().or(nic.kind.value());
    card(&nic.path, known.cloned().unwrap_or_else(|| "no device".to_owned()))
}

fn card(path: &[PciHop], otherwise: String) -> Card {
    let last = path.last();
    let link = last.and_then(|hop| hop.link.value());
    Card {
        name: last.map_or(otherwise, |hop| hop.name.clone()),
        link: link.map(|link| format!("{} GT/s x{}", link.speed_max_gts, link.width_max)),
        software: false,
    }
}

/// Whether two functions are of one card: all but the function's number is the same.
fn is_one_card(one: &[PciHop], other: &[PciHop]) -> bool {
    slot(one).is_some_and(|one| slot(other) == Some(one))
}

fn slot(path: &[PciHop]) -> Option<&str> {
    path.last()?.address.rsplit_once('.').map(|(slot, _)| slot)
}
