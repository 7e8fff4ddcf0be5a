//! A study by panels: the cells along one factor side by side, a panel for every combination of the
//! others; what differs, what is equal, and what time did.

mod changes;
pub mod faceted;
mod grouped;
mod names;
pub mod page;
pub mod plot;
mod populated;
mod priced;
pub(crate) mod reference;
pub mod side;
pub mod sized;
pub mod tabled;
pub mod text;
mod told;
mod traffic;

pub use changes::Change;
pub use names::Table;
pub use populated::Memory;
pub use reference::Joined;
pub use told::Told;

use crate::{Analysis, words};
use narrows_dimm::population::Population;
use narrows_model::result::{Estimate, Method, Prediction};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::{Metric, Workload};
use narrows_stats::{
    Drift, Equivalence, Grouping, Label, Levels, Placed, Summary, drift, equivalence, levels,
    median_interval, repeats_needed, value_of,
};
use populated::{Populated, population, populations};
use schemars::JsonSchema;
use serde::Serialize;
use sized::Sized;
use std::collections::{BTreeMap, BTreeSet};

/// The factor whose levels are the files of studies that are shown as one.
pub const FILE: &str = "file";
/// Margin of claims of equality unless the study has one.
const MARGIN_PERCENT: f64 = 2.0;
/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// What a study's cells say together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StudyResults {
    /// The factor along the axis.
    pub across: String,
    /// Confidence of the cells' intervals.
    pub confidence_percent: f64,
    /// Whether somebody could choose among its levels.
    pub is_choice: bool,
    /// One for every combination of the other factors.
    pub panels: Vec<Panel>,
    /// What time and order did, over all cells.
    pub drift: Drift,
    /// Why nothing is known of how memory was populated, where levels are changed by hand.
    pub population_unknown: Option<String>,
    /// What the references are called, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// How many medians of the references have a cell here; `None` without a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Joined>,
    /// What the references say of one cell against another, and what the study has of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What the references say of cells in words of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
}

impl StudyResults {
    /// The panels that have something to show. Those whose cells could not run are named where it
    /// is said why.
    pub fn shown(&self) -> impl Iterator<Item = &Panel> {
        self.panels.iter().filter(|panel| panel.is_shown())
    }
}

/// The cells along one factor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Panel {
    /// The other factors' levels.
    pub name: String,
    /// What halves of its round trips are called; the same as `name` of other figures.
    #[serde(skip)]
    pub half: String,
    /// The file that all cells are of, where several are shown as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub metric: Metric,
    /// Unit of all figures in the panel.
    pub unit: Unit,
    /// One a level.
    pub rows: Vec<PanelRow>,
    /// Which rows reach about the same, as far as their runs show; rows by their index.
    pub levels: Grouping,
    /// Probability of differences this large if the levels had none (Kruskal and Wallis), among the
    /// cells of six runs at least.
    pub p_value: Option<f64>,
    /// Whether all cells are equal within the margin.
    pub equal: Option<Equivalence>,
    /// Median of all runs together, where all cells are of one level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_of_all: Option<f64>,
    /// The median of each class of memory, from best to worst; empty where there are not several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_memory: Vec<OfMemory>,
    /// Runs that failed, by their reason.
    pub failures: Vec<Failure>,
    /// What the figures must not be taken for, with the rows that this holds of.
    pub labels: Vec<Marked>,
    /// Repeats that the widest cell needs for an interval within the margin.
    pub repeats_needed: Option<usize>,
}

impl Panel {
    fn is_shown(&self) -> bool {
        let has = |row: &PanelRow| row.done > 0 || row.predicted.is_some() || row.beside.is_some();
        !self.failures.is_empty() || self.rows.iter().any(has)
    }
}

/// What the runs of one class of memory reach together: what published studies conclude from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OfMemory {
    /// The class as figures call it: `balanced`, `unbalanced`.
    pub class: &'static str,
    /// Median of all runs of its rows, with its interval.
    pub median: Estimate,
    /// Indices of its rows.
    pub rows: Vec<usize>,
}

/// One reason of failures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Why they failed, as their records say it.
    pub why: String,
    pub runs: usize,
    /// Indices of their rows.
    pub rows: Vec<usize>,
}

/// A label and its rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Marked {
    /// What the figure must not be taken for.
    pub label: Label,
    /// Indices of rows.
    pub rows: Vec<usize>,
}

/// One cell of a panel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PanelRow {
    /// The level of the factor, as the study writes it.
    pub level: String,
    /// Index of the trial and of its summary.
    pub trial: usize,
    /// Median, in the panel's unit.
    pub median: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// What another session would measure, in words; the figures stand in the summary.
    #[serde(skip)]
    pub reproducibility: Option<String>,
    /// Whether that is only the range of the runs, too few for an interval.
    pub is_range: bool,
    /// Runs that its median is of.
    pub n: u32,
    /// Runs that ended well, whether or not they counted anything.
    pub done: u32,
    /// Packets a second that were sent, of both directions together; `None` of other figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<f64>,
    /// What the model says of the host that it was measured on, over a path to another host.
    pub predicted: Option<Estimate>,
    /// Median of the same cell of a reference, in the panel's unit.
    pub beside: Option<f64>,
    /// How memory was populated on each processor, where that was read or the source says so.
    pub population: Vec<String>,
    /// Whether that is balanced on every processor, where the population is known: what `memory`
    /// says of all channels, of both controllers, or by the source's word.
    pub even: Option<bool>,
    /// What the processor with the worst of it has.
    pub memory: Option<Memory>,
}

/// Results by panels; `None` for what is not a study with levels.
pub fn results(
    stored: &StoredStudy,
    summaries: &[Summary],
    expected: &BTreeMap<String, Prediction>,
    others: &[StoredStudy],
) -> Option<StudyResults> {
    // The rates of searches are curves of their own; beside them stand the cells that are repeated.
    let repeats = stored.trials.iter().any(|trial| !stored.is_searched(trial));
    let all = stored.trials.iter().enumerate();
    let shown = all.filter(|(_, trial)| !(repeats && stored.is_searched(trial)));
    let (_, first) = shown.clone().next()?;
    let first = first.levels.first()?;
    let across = stored.study.reading.across.clone().unwrap_or_else(|| first.factor.clone());
    let margin = stored.study.reading.margin_percent.unwrap_or(MARGIN_PERCENT) / 100.0;
    let kinds = kinds_differ(stored);
    let mut panels: Vec<(String, Metric, Vec<usize>)> = Vec::new();
    for (at, trial) in shown {
        let name = name(trial, &across, kinds, None);
        // Figures of several kinds are not to be set against each other.
        let metric = summaries[at].metric;
        match panels.iter_mut().find(|(known, of, _)| *known == name && *of == metric) {
            Some((.., cells)) => cells.push(at),
            None => panels.push((name, metric, vec![at])),
        }
    }
    let several = |name: &str| panels.iter().filter(|(known, ..)| known == name).count() > 1;
    let named = panels.iter().map(|(name, metric, cells)| {
        let words = words::metric(*metric);
        let name = match (several(name), name.is_empty()) {
            (true, true) => words.to_owned(),
            (true, false) => format!("{name}, {words}"),
            _ => name.clone(),
        };
        (name, cells.clone())
    });
    let named: Vec<(String, Vec<usize>)> = named.collect();
    let (beside, reference) = reference::beside(stored, summaries, others);
    let known = Known { populations: populations(stored), expected };
    Some(StudyResults {
        panels: named
            .into_iter()
            .map(|(name, cells)| {
                let mut panel = panel(stored, summaries, &known, name, &cells, &across, margin);
                for row in &mut panel.rows {
                    row.beside = beside.get(row.trial).copied().flatten();
                }
                panel
            })
            .collect(),
        drift: drift(&in_time(stored)),
        population_unknown: population_unknown(stored, &across),
        references: reference::names(others),
        reference,
        changes: changes::all(stored, summaries, others),
        told: told::all(stored, summaries, others),
        confidence_percent: stored
            .study
            .precision
            .map_or(100.0 * CONFIDENCE, |precision| precision.confidence_percent),
        is_choice: stored.study.reading.recommend.unwrap_or_else(|| by_hand(stored, &across)),
        across,
    })
}

/// Why no session's host tells how its memory is populated; `None` where one does, or where nobody
/// changed the machine.
fn population_unknown(stored: &StoredStudy, across: &str) -> Option<String> {
    if !by_hand(stored, across) || !populations(stored).is_empty() {
        return None;
    }
    let hosts = stored.sessions.iter().map(|session| &session.host);
    hosts.filter_map(|host| Population::of(host).err()).map(|why| why.to_string()).next()
}

/// Whether a factor is changed by hand: somebody decides on its level, and not the workload.
fn by_hand(stored: &StoredStudy, factor: &str) -> bool {
    stored.sessions.iter().any(|session| session.levels.contains_key(factor))
}

/// What a cell's panel is called: its levels but the one along the axis, and its kind where that is
/// needed. A number alone says nothing: its factor stands before it. `half` is the factor before
/// whose level `half of` stands.
fn name(trial: &Trial, across: &str, kinds: bool, half: Option<&str>) -> String {
    let others = trial.levels.iter().filter(|level| level.factor != across);
    let said = others.map(|level| {
        let half = if half == Some(&level.factor) { "half of " } else { "" };
        match level.level.parse::<f64>() {
            Ok(_) => format!("{half}{} {}", level.factor, level.level),
            Err(_) => format!("{half}{}", level.level),
        }
    });
    let kind = kinds.then(|| trial.kind.to_string());
    kind.into_iter().chain(said).collect::<Vec<_>>().join(", ")
}

/// What halves of round trips are called: `half of` stands before what is measured, and not before
/// where and beside what it is.
fn half(stored: &StoredStudy, trial: &Trial, across: &str, name: &str) -> String {
    match tested(stored).filter(|factor| *factor != across) {
        Some(factor) => self::name(trial, across, false, Some(factor)),
        None if name.is_empty() => format!("half of {}", words::metric(Metric::RoundTripP50)),
        None => format!("half of {name}"),
    }
}

/// The factor whose levels are the tests: cells of one level have one kind of figure, and those of
/// others another.
fn tested(stored: &StoredStudy) -> Option<&str> {
    let mut factors = stored.trials.first()?.levels.iter().map(|level| level.factor.as_str());
    factors.find(|factor| {
        let mut of: BTreeMap<Option<&str>, Option<Metric>> = BTreeMap::new();
        let mut cells = stored.trials.iter();
        let is_one = cells.all(|trial| {
            let metric = trial.kind.metric();
            *of.entry(trial.level(factor)).or_insert(metric) == metric
        });
        let first = of.values().next();
        is_one && of.values().any(|metric| Some(metric) != first)
    })
}

/// Whether only the kind tells cells apart. Imported ones can have the same levels, such as the
/// four kernels of STREAM, or of several tools each its own factors: `length 65536` beside
/// `streams 4` says of neither what it is.
fn kinds_differ(stored: &StoredStudy) -> bool {
    let mut known: BTreeMap<BTreeMap<String, String>, &Workload> = BTreeMap::new();
    let mut clash = stored
        .trials
        .iter()
        .map(|trial| *known.entry(reference::levels(trial)).or_insert(&trial.kind) != &trial.kind);
    clash.any(|clashes| clashes) || (factors_differ(stored) && !is_kind_told(stored))
}

/// Whether cells of several kinds have not all the same factors.
fn factors_differ(stored: &StoredStudy) -> bool {
    let mut cells = stored.trials.iter().map(|trial| (&trial.kind, factors(trial)));
    let Some((kind, own)) = cells.next() else { return false };
    cells.any(|(other, factors)| other != kind && factors != own)
}

fn factors(trial: &Trial) -> BTreeSet<&str> {
    trial.levels.iter().map(|level| level.factor.as_str()).collect()
}

/// Whether all cells have a factor of which each level is of one kind.
fn is_kind_told(stored: &StoredStudy) -> bool {
    let Some(first) = stored.trials.first() else { return true };
    first.levels.iter().any(|one| {
        let mut of: BTreeMap<&str, &Workload> = BTreeMap::new();
        let mut cells = stored.trials.iter();
        cells.all(|trial| {
            let level = trial.level(&one.factor);
            level.is_some_and(|level| *of.entry(level).or_insert(&trial.kind) == &trial.kind)
        })
    })
}

/// All figures by message size.
pub fn by_size(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<Sized> {
    let mut all = sized::figures(analysis, results);
    all.extend(traffic::figures(analysis, results));
    all
}

/// What is known of the machine in each session.
struct Known<'a> {
    populations: BTreeMap<u32, Vec<Populated>>,
    expected: &'a BTreeMap<String, Prediction>,
}

impl Known<'_> {
    /// What a cell over a path to another host should reach: no more than it is asked for.
    fn predicted(&self, trial: &Trial) -> Option<Estimate> {
        let is_out = trial.path == NetworkPath::Peer && trial.kind.is_stream();
        let range = self.expected.get(&trial.label).filter(|_| is_out)?.range?;
        let pace = trial.params.rate_bps.filter(|rate| *rate > 0);
        let most = pace.map_or(f64::INFINITY, |rate| rate as f64);
        let [value, low, high] = [range.value, range.low, range.high].map(|one| one.min(most));
        Some(Estimate { value, low, high, ..range })
    }
}

/// What was sent of packets, beside those that came.
fn sent(summary: &Summary) -> Option<f64> {
    let one_way = || summary.traffic.as_ref()?.sender_messages_per_second;
    match (summary.metric, &summary.directions[..]) {
        (Metric::PacketRate, []) => one_way(),
        (Metric::PacketRate, both) => both.iter().map(|way| way.sent_packets_per_second).sum(),
        _ => None,
    }
}

fn panel(
    stored: &StoredStudy,
    summaries: &[Summary],
    known: &Known<'_>,
    name: String,
    cells: &[usize],
    across: &str,
    margin: f64,
) -> Panel {
    let row = |at: &usize| {
        let (trial, summary) = (&stored.trials[*at], &summaries[*at]);
        let estimate = summary.estimate;
        let population = population(stored, trial, &known.populations);
        let memory = population.iter().filter_map(|(_, memory)| *memory).max();
        PanelRow {
            level: trial.level(across).unwrap_or(&trial.label).to_owned(),
            trial: *at,
            median: estimate.map(|e| e.value),
            low: estimate.map(|e| e.low),
            high: estimate.map(|e| e.high),
            reproducibility: crate::sessions::reproducibility(summary),
            is_range: estimate.is_none_or(|e| e.by == Method::Range),
            n: estimate.map_or(0, |e| e.n),
            done: summary.done,
            sent: sent(summary),
            predicted: known.predicted(trial),
            beside: None,
            even: memory.map(|memory| memory <= Memory::ControllersAlike),
            memory,
            population: population.into_iter().map(|(words, _)| words).collect(),
        }
    };
    let values: Vec<Vec<f64>> = cells
        .iter()
        .map(|at| summaries[*at].values.iter().map(|value| value.value).collect())
        .collect();
    let metric = cells.first().map_or(Metric::Goodput, |at| summaries[*at].metric);
    let unit = unit_of(cells, summaries, metric);
    // Figures of several kinds are not to be set against each other.
    let one_kind = cells.iter().all(|at| summaries[*at].metric == metric);
    let all: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    let measured: Vec<&[f64]> = all.iter().copied().filter(|cell| !cell.is_empty()).collect();
    let equal = one_kind.then(|| equivalence(&measured, margin)).flatten();
    let levels = if one_kind { levels(&all, equal.as_ref()) } else { levels(&[], None) };
    let is_one = matches!(levels.levels, Levels::One(_));
    let median_of_all = is_one.then(|| narrows_stats::median(&values.concat())).flatten();
    let needed = measured.iter().map(|cell| repeats_needed(cell, margin, CONFIDENCE));
    let first = cells.first().and_then(|at| stored.trials[*at].level(FILE));
    let half = cells.first().map(|at| half(stored, &stored.trials[*at], across, &name));
    let rows: Vec<PanelRow> = cells.iter().map(row).collect();
    Panel {
        by_memory: by_memory(&rows, &values, unit),
        half: half.filter(|_| metric == Metric::RoundTripP50).unwrap_or_else(|| name.clone()),
        name,
        file: first.filter(|_| across != FILE).map(str::to_owned),
        metric,
        unit,
        rows,
        p_value: levels.p,
        levels,
        equal,
        median_of_all,
        failures: failures(cells, summaries),
        labels: marked(cells, summaries),
        repeats_needed: needed
            .collect::<Option<Vec<usize>>>()
            .and_then(|all| all.into_iter().max()),
    }
}

/// Unit of a panel's cells: those that could not run have no estimate, and what a reference says of
/// them has that of their metric.
fn unit_of(cells: &[usize], summaries: &[Summary], metric: Metric) -> Unit {
    let estimate = cells.iter().find_map(|at| summaries[*at].estimate);
    estimate.map_or(metric.unit(), |estimate| estimate.unit)
}

/// The classes of memory of a panel's rows with the median of the runs of each.
fn by_memory(rows: &[PanelRow], values: &[Vec<f64>], unit: Unit) -> Vec<OfMemory> {
    let mut classes: Vec<(Memory, &'static str, Vec<usize>)> = Vec::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.median.is_some()) {
        let Some(memory) = row.memory else { continue };
        let class = faceted::class(row);
        match classes.iter_mut().find(|(_, known, _)| *known == class) {
            Some((.., rows)) => rows.push(at),
            None => classes.push((memory, class, vec![at])),
        }
    }
    if classes.len() < 2 {
        return Vec::new();
    }
    classes.sort_by_key(|(memory, ..)| *memory);
    let of = classes.into_iter().filter_map(|(_, class, rows)| {
        let runs: Vec<f64> = rows.iter().flat_map(|at| values[*at].iter().copied()).collect();
        let median = median_interval(&runs, CONFIDENCE, unit)?;
        Some(OfMemory { class, median, rows })
    });
    of.collect()
}

/// Failed runs of a panel's cells, each reason once.
fn failures(cells: &[usize], summaries: &[Summary]) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for (row, at) in cells.iter().enumerate() {
        for why in &summaries[*at].failed {
            match failures.iter_mut().find(|known| known.why == *why) {
                Some(known) => {
                    known.runs += 1;
                    if known.rows.last() != Some(&row) {
                        known.rows.push(row);
                    }
                }
                None => failures.push(Failure { why: why.clone(), runs: 1, rows: vec![row] }),
            }
        }
    }
    failures
}

/// Labels of a panel's cells, but that of too few runs, which tables show by themselves.
fn marked(cells: &[usize], summaries: &[Summary]) -> Vec<Marked> {
    let mut marked: Vec<Marked> = Vec::new();
    for (row, at) in cells.iter().enumerate().filter(|(_, at)| summaries[**at].done > 0) {
        for label in summaries[*at].labels.iter().filter(|label| **label != Label::FewRuns) {
            match marked.iter_mut().find(|known| known.label == *label) {
                Some(known) => known.rows.push(row),
                None => marked.push(Marked { label: *label, rows: vec![row] }),
            }
        }
    }
    marked
}

/// All runs in time, as values of their cells.
fn in_time(stored: &StoredStudy) -> Vec<Placed> {
    let index: BTreeMap<_, usize> =
        stored.trials.iter().enumerate().map(|(at, trial)| (&trial.id, at)).collect();
    let mut runs: Vec<_> = stored.records.iter().filter(|r| r.external.is_none()).collect();
    runs.sort_by_key(|record| record.around.began_unix_ns);
    let placed = runs.into_iter().filter_map(|record| {
        let cell = *index.get(&record.trial)?;
        let (value, _) = value_of(&stored.trials[cell], record)?;
        Some(Placed { cell, value: value.value })
    });
    placed.collect()
}
