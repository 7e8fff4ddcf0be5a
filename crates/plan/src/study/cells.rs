//! The cells of a study, and their trials on a machine.

use super::ends::{Cast, Ends};
use super::{Definition, Settings, StudyError};
use crate::memory::nodes_with_memory;
use crate::{Spot, Unplaced, choose, on_node, without_node};
use blake2::{Blake2s256, Digest};
use narrows_model::host::Host;
use narrows_model::load::Params;
use narrows_model::load::Timeline;
use narrows_model::options::{flows, kernels, packets, places, runs};
use narrows_model::packets::PacketRate;
use narrows_model::study::{RATE, Search};
use narrows_model::trial::{EndHost, EndSpec, Level, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{BitsPerSecond, Nanos};
use std::collections::BTreeSet;

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Hash of everything that the cell asks for; the same on any machine.
    pub id: TrialId,
    /// The levels, in order of the factors.
    pub levels: Vec<Level>,
    /// What they set together, over what every cell has.
    pub settings: Settings,
    /// Node of a memory kernel's memory, where a level names one.
    pub memory_node: Option<u32>,
}

impl Cell {
    /// The levels in a line.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.levels.iter().map(|level| level.level.as_str()).collect();
        if names.is_empty() { self.settings.kind().to_string() } else { names.join(", ") }
    }

    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }
}

/// All cells of a study, the last factor fastest, without those that are excluded. Of a search the
/// rates are a last factor, which its own cells alone have.
pub fn cells(definition: &Definition) -> Result<Vec<Cell>, StudyError> {
    let mut all: Vec<(Vec<Level>, Settings)> = vec![(Vec::new(), definition.base.clone())];
    for factor in &definition.factors {
        all = all
            .iter()
            .flat_map(|(levels, settings)| {
                factor
                    .levels
                    .iter()
                    .map(|level| {
                        let own = Level { factor: factor.name.clone(), level: level.name.clone() };
                        let levels = levels.iter().cloned().chain([own]).collect();
                        (levels, settings.with(&level.settings))
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    if let Some(search) = &definition.search {
        let rates = rates(search);
        all = all.into_iter().flat_map(|cell| searched(cell, search, &rates)).collect();
    }
    let kept = all.into_iter().filter(|(levels, _)| !is_excluded(definition, levels));
    let cells: Result<Vec<Cell>, _> =
        kept.map(|(levels, settings)| cell(definition, levels, settings)).collect();
    let cells = cells?;
    if cells.is_empty() {
        return Err(StudyError::new("exclude", "leaves no cell"));
    }
    if definition.search.is_some() {
        check_searched(definition, &cells)?;
    }
    Ok(cells)
}

/// Whether there is something to search, and a number of runs for what is not searched.
fn check_searched(definition: &Definition, cells: &[Cell]) -> Result<(), StudyError> {
    if cells.iter().all(|cell| cell.level(RATE).is_none()) {
        let why = "searches the rate of cells that have load = \"packets\" and neither a rate nor \
                   a bitrate, and this study has no such cell";
        return Err(StudyError::new("search", why));
    }
    let sizes: BTreeSet<u64> = cells
        .iter()
        .filter(|cell| cell.level(RATE).is_some())
        .map(|cell| cell.settings.message_bytes().0)
        .collect();
    let told = definition.search.and_then(|search| search.throughput_packets_per_second);
    if told.is_some() && sizes.len() > 1 {
        let why = format!(
            "throughput_packets_per_second is that of one size of frames, and {} are searched: \
             search each by itself",
            sizes.len()
        );
        return Err(StudyError::new("search", why));
    }
    let repeated = cells.iter().find(|cell| cell.level(RATE).is_none());
    match repeated.filter(|_| !definition.repeats_told) {
        Some(cell) => {
            let why = format!(
                "says how many runs each cell needs that is not searched, such as '{}', and is \
                 missing",
                cell.label()
            );
            Err(StudyError::new("repeats", why))
        }
        None => Ok(()),
    }
}

/// The rates of a search as levels, each with its packets a second.
fn rates(search: &Search) -> Vec<(Level, u64)> {
    search
        .rates()
        .into_iter()
        .map(|rate| (Level { factor: RATE.to_owned(), level: search.level(rate) }, rate))
        .collect()
}

/// The cells of one search, a rate each, in bits of its frames; a cell that is none of a search is
/// itself.
fn searched(
    (levels, settings): (Vec<Level>, Settings),
    search: &Search,
    rates: &[(Level, u64)],
) -> Vec<(Vec<Level>, Settings)> {
    if !settings.is_searched() {
        return vec![(levels, settings)];
    }
    let frame = settings.message_bytes();
    rates
        .iter()
        .map(|(level, rate)| {
            let mut settings = settings.clone();
            if search.is_of_bursts() {
                settings.tell(&packets::BURST, u32::try_from(*rate).unwrap_or(u32::MAX));
                settings.tell(&packets::RATE, PacketRate::Max.to_string());
            } else {
                let bits = *rate as f64 * 8.0 * frame.0 as f64;
                settings.tell(&flows::BITRATE, BitsPerSecond(bits));
            }
            (levels.iter().cloned().chain([level.clone()]).collect(), settings)
        })
        .collect()
}

fn cell(
    definition: &Definition,
    levels: Vec<Level>,
    settings: Settings,
) -> Result<Cell, StudyError> {
    // Serde writes fields in order of declaration, so the text is the same everywhere.
    let text = serde_json::to_string(&(&levels, &settings)).unwrap_or_default();
    let digest = Blake2s256::digest(text);
    let id = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut cell = Cell { id: TrialId(id), levels, settings, memory_node: None };
    let own = cell.levels.iter().any(|level| tells_memory_node(definition, level));
    if own && cell.settings.kind().is_memory() {
        let node = cell.settings.kernel_node();
        cell.memory_node = node.map_err(|error| in_cell(&cell, &error))?;
    }
    Ok(cell)
}

/// Whether a level itself says where memory is. A base's word is for the ends of networks: files of
/// 0.1 have it beside memory kernels, whose runs it does not change.
fn tells_memory_node(definition: &Definition, level: &Level) -> bool {
    let factor = definition.factor(&level.factor);
    let known = factor.and_then(|of| of.levels.iter().find(|one| one.name == level.level));
    known.is_some_and(|of| of.settings.told(&places::MEMORY_NODE).is_some())
}

fn in_cell(cell: &Cell, error: &StudyError) -> StudyError {
    let position = cell.settings.position(&error.at);
    StudyError::new(format!("cell '{}'", cell.label()), error.to_string()).or_at(position)
}

fn is_excluded(definition: &Definition, levels: &[Level]) -> bool {
    let has = |factor: &String, names: &Vec<String>| {
        levels.iter().any(|level| level.factor == *factor && names.contains(&level.level))
    };
    definition.exclude.iter().any(|rule| rule.iter().all(|(factor, names)| has(factor, names)))
}

/// A cell's trial on these hosts, and why it cannot be run there: a place that they do not have, or
/// a host that is away.
pub type Planned = (Trial, Option<String>);

/// The cells' trials on these hosts. An error is a slip of the study's file.
pub fn trials(cells: &[Cell], ends: &Ends<'_>) -> Result<Vec<Planned>, StudyError> {
    cells.iter().map(|cell| trial(cell, ends)).collect()
}

fn trial(cell: &Cell, ends: &Ends<'_>) -> Result<Planned, StudyError> {
    let mut settings = cell.settings.clone();
    // To another host its sockets count, unless its owner lends an interface.
    let named = settings.ports().is_some() || settings.lent().is_some();
    if ends.path == NetworkPath::Namespaces || named {
        settings.fastest_here();
    }
    let settings = &settings;
    let in_cell = |error: StudyError| in_cell(cell, &error);
    let kind = settings.kind();
    let memory = kind.is_memory();
    let (spot, mut why_not) = spot(settings, ends.host, memory);
    let cast = Cast::of(settings, ends).map_err(in_cell)?;
    let params = settings.params(cast.cache_bytes(), spot.working_set_bytes);
    let mut params = params.map_err(in_cell)?;
    if let Some(kernel) = &mut params.memory {
        kernel.node = cell.memory_node;
    }
    let own = if memory {
        why_not = why_not.or_else(|| no_memory(ends.host, &params));
        let threads = spot.cpus.iter().copied().take(params.streams as usize);
        EndSpec::of_memory(Placement::on(threads.collect::<Vec<u32>>()))
    } else {
        let (own, why) = cast.ends(&spot, &params).map_err(in_cell)?;
        why_not = why.or(why_not);
        own
    };
    let (background, not_beside) = background(settings, ends.host, &spot).map_err(in_cell)?;
    let trial = Trial {
        id: cell.id.clone(),
        label: cell.label(),
        kind,
        params,
        ends: own.into_iter().chain(background).collect(),
        path: match settings.ports() {
            _ if memory => NetworkPath::Memory,
            Some(_) => NetworkPath::Cable,
            None if ends.peers.is_empty() && settings.devices().is_some() => NetworkPath::Devices,
            None => ends.path,
        },
        timeline: timeline(settings, memory),
        levels: cell.levels.clone(),
        notes: Vec::new(),
        engine: settings.engine(),
    };
    let no_node = without_node(&trial, |at| match at {
        EndHost::Controller => Some(ends.host),
        // Without peers both ends are here.
        EndHost::Peer(_) if ends.peers.is_empty() => Some(ends.host),
        EndHost::Peer(number) => ends.peers.get(number as usize)?.host,
    });
    let no_node = no_node.map(|(_, why)| format!("{}: {why}", places::MEMORY_NODE.declared.key));
    Ok((trial, not_beside.or(why_not).or(no_node)))
}

/// Where kernels of memory run, or what is near it with why it cannot be had.
fn spot(settings: &Settings, host: &Host, memory: bool) -> (Spot, Option<String>) {
    let Some(node) = settings.told(&kernels::NODE).filter(|_| memory) else {
        return (choose(host), None);
    };
    match on_node(host, node) {
        Some(spot) => (spot, None),
        None => (choose(host), Some(format!("this process may use no CPU of node {node}"))),
    }
}

/// Why a kernel cannot have its memory from the node that is told.
fn no_memory(host: &Host, params: &Params) -> Option<String> {
    let node = params.memory.as_ref()?.node?;
    let has = nodes_with_memory(host).contains(&node);
    (!has).then(|| Unplaced::Node(node).to_string())
}

/// The background load on this host, or why it has no place there.
fn background(
    settings: &Settings,
    host: &Host,
    spot: &Spot,
) -> Result<(Option<EndSpec>, Option<String>), StudyError> {
    let Some(load) = settings.background()? else { return Ok((None, None)) };
    Ok(match load.on(host, spot.working_set_bytes) {
        Ok(end) => (Some(end), None),
        Err(why) => (None, Some(format!("memory_load: {why}"))),
    })
}

fn timeline(settings: &Settings, memory: bool) -> Timeline {
    let (warm, cool) = if memory { (0.05, 0) } else { (0.5, 300) };
    let warmup = settings.told(&runs::WARMUP_SECONDS).unwrap_or(warm);
    let window = settings.told(&runs::SECONDS).unwrap_or(1.5);
    Timeline {
        warmup_ns: Nanos::from_seconds(warmup),
        window_ns: Nanos::from_seconds(window),
        cooldown_ns: Nanos::from_millis(cool),
        interval_ns: None,
    }
}
