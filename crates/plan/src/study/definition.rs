//! The study's file.

use super::source::{FactorSource, LevelSource, Source};
use super::{Settings, StudyError};
use narrows_model::options::{Value, flows, runs};
use narrows_model::packets::BURST_FRAMES_MAX;
use narrows_model::study::{Precision, RATE, REPEATS_MAX, Reading, Search, Spread};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// More cells than this are a slip of the pen.
const CELLS_MAX: usize = 100_000;
/// How narrow the answer of a search may be asked to be, in per cent.
const RESOLUTION_PERCENT: RangeInclusive<f64> = 0.1..=50.0;
/// How many runs a search may be given.
const SEARCH_RUNS: RangeInclusive<u32> = 1..=10_000;

/// A study as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name; also the name of its file of results.
    pub name: String,
    /// What it asks, in a sentence or two.
    pub about: String,
    /// Runs that each cell needs, in all sessions together.
    pub repeats: u32,
    /// Whether the file says so: one that only searches need not.
    pub repeats_told: bool,
    /// Runs of a cell that may fail before it is left alone.
    pub retries: u32,
    /// Seed of the order, when it is fixed.
    pub seed: Option<u64>,
    /// When to go on after `repeats`.
    pub precision: Option<Precision>,
    /// Sessions that the runs are spread over.
    pub spread: Option<Spread>,
    /// The rate that is searched for, in place of repeats, by cells of packets without a rate.
    pub search: Option<Search>,
    /// How to try it quickly.
    pub quick: Quick,
    pub base: Settings,
    /// What is varied, in order.
    pub factors: Vec<Factor>,
    /// Combinations that are left out: for each factor named, the levels.
    pub exclude: Vec<BTreeMap<String, Vec<String>>>,
    /// How it is to be read.
    pub report: Reading,
}

/// What `--quick` changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Runs of each cell.
    pub repeats: u32,
    /// Seconds that count.
    pub seconds: f64,
    /// Most parallel flows.
    pub parallel_max: Option<u32>,
    /// Runs of a search after which it is left undecided.
    pub runs_max: Option<u32>,
    /// How narrow the answer of a search is to be.
    pub resolution_percent: Option<f64>,
}

impl Default for Quick {
    fn default() -> Self {
        Self {
            repeats: 3,
            seconds: 0.3,
            parallel_max: None,
            runs_max: None,
            resolution_percent: None,
        }
    }
}

impl Quick {
    /// Whether what it says of a search is within a search's bounds.
    fn check_search(&self) -> Result<(), StudyError> {
        if self.runs_max.is_some_and(|runs| !SEARCH_RUNS.contains(&runs)) {
            return Err(StudyError::new("quick.runs_max", "must be 1 to 10000"));
        }
        if self.resolution_percent.is_some_and(|percent| !RESOLUTION_PERCENT.contains(&percent)) {
            return Err(StudyError::new("quick.resolution_percent", "must be 0.1 to 50"));
        }
        Ok(())
    }

    /// Makes runs shorter and flows fewer: always, or only where the length of runs is set.
    fn shorten(&self, settings: &mut Settings, always: bool) {
        if always || settings.told(&runs::SECONDS).is_some() {
            settings.tell(&runs::SECONDS, self.seconds);
            settings.tell(&runs::WARMUP_SECONDS, 0.2);
        }
        if let Some(flows) = settings.told(&flows::PARALLEL) {
            let most = self.parallel_max.unwrap_or(u32::MAX);
            settings.tell(&flows::PARALLEL, flows.min(most));
        }
    }
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Name that is unique in the study.
    pub name: String,
    /// True when somebody has to change the machine.
    pub by_hand: bool,
    /// Its levels, in order.
    pub levels: Vec<LevelOf>,
}

/// One level of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelOf {
    /// Name that is unique in the study.
    pub name: String,
    pub settings: Settings,
    /// How the machine is known to be at it; `None` when only the user can tell.
    pub when: Option<When>,
}

/// What the machine must look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// Exactly these memory slots hold a module: labels as on the board.
    pub populated: Option<Vec<String>>,
    /// So many modules on each socket.
    pub modules_by_socket: Option<Vec<u32>>,
    /// Facts of `narrows host --json` by JSON pointer (`/memory/total_bytes`), and their values.
    pub facts: BTreeMap<String, toml::Value>,
    /// Whether the peer must look so too; without it, it must.
    pub here_only: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    #[serde(default)]
    about: String,
    repeats: Option<u32>,
    #[serde(default = "two")]
    retries: u32,
    seed: Option<u64>,
    precision: Option<Precision>,
    spread: Option<Spread>,
    search: Option<Search>,
    #[serde(default)]
    quick: Quick,
    #[serde(default)]
    base: Settings,
    #[serde(default)]
    factor: Vec<RawFactor>,
    #[serde(default)]
    exclude: Vec<BTreeMap<String, OneOrMany>>,
    #[serde(default)]
    report: Reading,
}

fn two() -> u32 {
    2
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFactor {
    name: String,
    by: Option<String>,
    set: Option<String>,
    #[serde(default)]
    slots_in_order: Vec<String>,
    #[serde(default)]
    levels: Vec<toml::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Definition {
    /// Reads the text of a study's file.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let raw: Raw = toml::from_str(text).map_err(|error| StudyError::read(text, &error))?;
        let source = Source::read(text)?;
        let factors = factors(raw.factor, &source)?;
        // A search has its own end; beside it may be cells that are repeated.
        let repeats_told = raw.repeats.is_some();
        let repeats = raw.repeats.or(raw.search.map(|_| 1)).ok_or_else(|| {
            StudyError::new("repeats", "says how many runs each cell needs, and is missing")
        })?;
        let exclude = raw.exclude.into_iter().map(|rule| {
            let many = |levels| match levels {
                OneOrMany::One(one) => vec![one],
                OneOrMany::Many(many) => many,
            };
            rule.into_iter().map(|(factor, levels)| (factor, many(levels))).collect()
        });
        let definition = Self {
            name: raw.name,
            about: raw.about,
            repeats,
            repeats_told,
            retries: raw.retries,
            seed: raw.seed,
            precision: raw.precision,
            spread: raw.spread,
            search: raw.search,
            quick: raw.quick,
            base: Settings { positions: source.table("base"), ..raw.base },
            factors,
            exclude: exclude.collect(),
            report: raw.report,
        };
        definition.check().map_err(|error| {
            let position = source.of(&error.at);
            error.or_at(position)
        })?;
        // The file says how many runs each session has.
        let sessions = definition.spread.map_or(1, |spread| spread.sessions);
        Ok(Self { repeats: definition.repeats.saturating_mul(sessions), ..definition })
    }

    /// The same, to be tried quickly.
    pub fn quickly(mut self) -> Self {
        self.repeats = self.quick.repeats;
        self.precision = None;
        self.spread = None;
        let quick = self.quick;
        if let Some(search) = &mut self.search {
            search.runs_max = quick.runs_max.unwrap_or(search.runs_max).min(search.runs_max);
            let coarse = quick.resolution_percent.unwrap_or(search.resolution_percent);
            search.resolution_percent = coarse.max(search.resolution_percent);
        }
        quick.shorten(&mut self.base, true);
        let levels = self.factors.iter_mut().flat_map(|factor| &mut factor.levels);
        levels.for_each(|level| quick.shorten(&mut level.settings, false));
        self
    }

    /// The factor of this name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// The hosts that any cell names, in the order in which they are named first.
    pub fn peers(&self) -> Vec<String> {
        let levels = self.factors.iter().flat_map(|factor| &factor.levels);
        let settings = std::iter::once(&self.base).chain(levels.map(|level| &level.settings));
        let mut peers = Vec::<String>::new();
        for name in settings.flat_map(|settings| &settings.peers) {
            if !peers.contains(name) {
                peers.push(name.clone());
            }
        }
        peers
    }

    fn check(&self) -> Result<(), StudyError> {
        if self.name.is_empty()
            || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            || self.name.starts_with('.')
        {
            let why = "must be letters, digits, dashes, dots: it names a file";
            return Err(StudyError::new("name", why));
        }
        for (what, number) in [("repeats", self.repeats), ("quick.repeats", self.quick.repeats)] {
            if !(1..=REPEATS_MAX).contains(&number) {
                return Err(StudyError::new(what, format!("must be 1 to {REPEATS_MAX}")));
            }
        }
        let quick = Value::Seconds(self.quick.seconds);
        let quick = runs::SECONDS.declared.takes.check(&quick);
        quick.map_err(|why| StudyError::new("quick.seconds", why.to_string()))?;
        if let Some(precision) = &self.precision {
            let within = (0.01..=100.0).contains(&precision.within_percent);
            let sure = (50.0..=99.9).contains(&precision.confidence_percent);
            if !within || !sure || precision.repeats_max < self.repeats {
                let why = "within_percent is 0.01 to 100, confidence_percent 50 to 99.9, and \
                           repeats_max at least repeats";
                return Err(StudyError::new("precision", why));
            }
        }
        if let Some(Spread { sessions, apart_minutes }) = self.spread {
            let fits = (2..=1000).contains(&sessions) && (0.0..=100_000.0).contains(&apart_minutes);
            if !fits || self.precision.is_some() {
                let why = "sessions is 2 to 1000, apart_minutes 0 to 100000, and a study has either \
                           a spread or a precision";
                return Err(StudyError::new("spread", why));
            }
        }
        if let Some(search) = &self.search {
            self.check_search(search)?;
            self.quick.check_search()?;
        }
        let rates = self.search.as_ref().map(|search| search.rates().len());
        let cells = self.factors.iter().map(|factor| factor.levels.len()).chain(rates);
        if cells.fold(1usize, usize::saturating_mul) > CELLS_MAX {
            return Err(StudyError::new("factor", format!("more than {CELLS_MAX} cells")));
        }
        for rule in &self.exclude {
            for (name, levels) in rule {
                self.names(name, levels)?;
            }
        }
        if let Some(name) = &self.report.across {
            self.names(name, &[])?;
        }
        self.check_prices()
    }

    /// Prices are of levels that there are, and are amounts.
    fn check_prices(&self) -> Result<(), StudyError> {
        let first = || self.factors.first().map(|factor| factor.name.as_str());
        let across = self.report.across.as_deref().or_else(first).unwrap_or_default();
        let known = self.levels_of(across).unwrap_or_default();
        for (level, price) in &self.report.prices {
            if !known.contains(level) {
                let why = format!("factor '{across}' has no level '{level}'");
                return Err(StudyError::new("report.prices", why));
            }
            if !price.is_finite() || *price < 0.0 {
                return Err(StudyError::new("report.prices", format!("{price} is not a price")));
            }
        }
        Ok(())
    }

    /// Whether a search is one of packets, and within bounds.
    fn check_search(&self, search: &Search) -> Result<(), StudyError> {
        let wrong = |why: &str| Err(StudyError::new("search", why));
        if search.is_of_bursts() == (search.rate_max_packets_per_second != 0.0) {
            return wrong("has either rate_max_packets_per_second or burst_max_frames");
        }
        let most = search.most();
        if search.burst_max_frames.is_some_and(|most| !(2..=BURST_FRAMES_MAX).contains(&most)) {
            return wrong(&format!("burst_max_frames is 2 to {BURST_FRAMES_MAX}"));
        }
        let throughput = search.throughput_packets_per_second;
        if throughput.is_some_and(|rate| !search.is_of_bursts() || !(1.0..=1e9).contains(&rate)) {
            return wrong("throughput_packets_per_second is 1 to 1e9, and for bursts");
        }
        let least = search.rate_min_packets_per_second.unwrap_or(most / 100.0);
        if !(2.0..=1e9).contains(&most) || !(1.0..most).contains(&least.max(1.0)) {
            return wrong(
                "rate_max_packets_per_second is 2 to 1e9, and rate_min_packets_per_second is below",
            );
        }
        if !RESOLUTION_PERCENT.contains(&search.resolution_percent)
            || !(0.0..=50.0).contains(&search.loss_percent)
            || !(50.0..=99.9).contains(&search.confidence_percent)
            || !SEARCH_RUNS.contains(&search.runs_max)
        {
            return wrong(
                "resolution_percent is 0.1 to 50, loss_percent 0 to 50, confidence_percent 50 to \
                 99.9, runs_max 1 to 10000",
            );
        }
        if self.precision.is_some() || self.spread.is_some() {
            return wrong("has neither a precision nor a spread beside it");
        }
        if self.factor(RATE).is_some() {
            return wrong("has a factor 'rate' of its own: call the other something else");
        }
        Ok(())
    }

    /// Names of a factor's levels; the rates of a search are a factor too.
    fn levels_of(&self, factor: &str) -> Option<Vec<String>> {
        match &self.search {
            Some(search) if factor == RATE => {
                Some(search.rates().into_iter().map(|rate| search.level(rate)).collect())
            }
            _ => Some(self.factor(factor)?.levels.iter().map(|level| level.name.clone()).collect()),
        }
    }

    /// Whether a factor has these levels.
    fn names(&self, factor: &str, levels: &[String]) -> Result<(), StudyError> {
        let Some(known) = self.levels_of(factor) else {
            let own = self.factors.iter().map(|f| f.name.as_str());
            let all: Vec<&str> = own.chain(self.search.map(|_| RATE)).collect();
            let why = format!("there is no factor '{factor}', but {}", all.join(", "));
            return Err(StudyError::new("exclude or report", why));
        };
        let missing = levels.iter().find(|level| !known.contains(level));
        missing.map_or(Ok(()), |level| {
            let why = format!("factor '{factor}' has no level '{level}'");
            Err(StudyError::new("exclude", why))
        })
    }
}

fn factors(raw: Vec<RawFactor>, source: &Source<'_>) -> Result<Vec<Factor>, StudyError> {
    let mut names = BTreeSet::new();
    raw.into_iter()
        .enumerate()
        .map(|(number, raw)| {
            let source = source.factor(number);
            let position = source.as_ref().map(FactorSource::position);
            if !names.insert(raw.name.clone()) {
                let twice = StudyError::new(format!("factor '{}'", raw.name), "is given twice");
                return Err(twice.or_at(position));
            }
            factor(raw, source.as_ref()).map_err(|error| error.or_at(position))
        })
        .collect()
}

fn factor(raw: RawFactor, source: Option<&FactorSource<'_, '_>>) -> Result<Factor, StudyError> {
    let at = format!("factor '{}'", raw.name);
    let by_hand = match raw.by.as_deref() {
        None => false,
        Some("hand") => true,
        Some(other) => {
            return Err(StudyError::new(at, format!("by = \"{other}\": only \"hand\" is known")));
        }
    };
    let mut levels = Vec::new();
    for count in 1..=raw.slots_in_order.len() {
        let populated = Some(raw.slots_in_order[..count].to_vec());
        levels.push(LevelOf {
            name: count.to_string(),
            settings: Settings::default(),
            when: Some(When { populated, ..When::default() }),
        });
    }
    let sources = source.into_iter().flat_map(|source| source.levels(raw.set.as_deref()));
    for (value, source) in raw.levels.iter().zip(sources) {
        let position = Some(source.position());
        levels.push(level(&at, value, source).map_err(|error| error.or_at(position))?);
    }
    if levels.is_empty() {
        return Err(StudyError::new(at, "has no levels"));
    }
    let mut names = BTreeSet::new();
    for level in &levels {
        if !names.insert(level.name.as_str()) {
            return Err(StudyError::new(at, format!("level '{}' is given twice", level.name)));
        }
        if level.when.is_some() && !by_hand {
            let why = format!("level '{}' has `when`: then it is by = \"hand\"", level.name);
            return Err(StudyError::new(at, why));
        }
    }
    Ok(Factor { name: raw.name, by_hand, levels })
}

fn level(
    at: &str,
    value: &toml::Value,
    source: LevelSource<'_, '_>,
) -> Result<LevelOf, StudyError> {
    let name = match value {
        toml::Value::Table(table) => table.get("name").map(words),
        scalar => Some(words(scalar)),
    };
    let name = name.ok_or_else(|| StudyError::new(at, "a level has no name"))?;
    let read = settings_and_when(source);
    let (settings, when) =
        read.map_err(|error| StudyError { at: format!("{at}, level '{name}'"), ..error })?;
    Ok(LevelOf { name, settings, when })
}

fn settings_and_when(
    mut source: LevelSource<'_, '_>,
) -> Result<(Settings, Option<When>), StudyError> {
    let when = source.take("when")?;
    source.take::<toml::Value>("name")?;
    let (settings, positions) = source.rest::<Settings>()?;
    Ok((Settings { positions, ..settings }, when))
}

fn words(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
