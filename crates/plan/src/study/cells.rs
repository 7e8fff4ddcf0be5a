//! The cells of a study, and their trials on a machine.

use super::{Definition, Settings, StudyError};
use crate::{Seat, Spot, TwoPlaces, Unplaced, Where, choose, cpus, on_node};
use blake2::{Blake2s256, Digest};
use narrows_model::host::Host;
use narrows_model::load::{CpuList, Params, Timeline};
use narrows_model::options::{kernels, runs};
use narrows_model::trial::{EndHost, EndSpec, Level, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{Bytes, Nanos};

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Hash of everything that the cell asks for; the same on any machine.
    pub id: TrialId,
    /// The levels, in order of the factors.
    pub levels: Vec<Level>,
    /// What they set together, over what every cell has.
    pub settings: Settings,
}

impl Cell {
    /// The levels in a line.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.levels.iter().map(|level| level.level.as_str()).collect();
        match names.is_empty() {
            true => self.settings.kind().to_string(),
            false => names.join(", "),
        }
    }

    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }
}

/// All cells of a study, the last factor fastest, without those that are excluded.
pub fn cells(definition: &Definition) -> Result<Vec<Cell>, StudyError> {
    let mut all: Vec<(Vec<Level>, Settings)> = vec![(Vec::new(), definition.base.clone())];
    for factor in &definition.factors {
        let each = |(levels, settings): &(Vec<Level>, Settings)| {
            let with = |level: &super::LevelOf| {
                let own = Level { factor: factor.name.clone(), level: level.name.clone() };
                let levels = levels.iter().cloned().chain([own]).collect();
                (levels, settings.with(&level.settings))
            };
            factor.levels.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(each).collect();
    }
    let kept = all.into_iter().filter(|(levels, _)| !is_excluded(definition, levels));
    let cells: Vec<Cell> = kept.map(|(levels, settings)| cell(levels, settings)).collect();
    match cells.is_empty() {
        true => Err(StudyError::new("exclude", "leaves no cell")),
        false => Ok(cells),
    }
}

fn cell(levels: Vec<Level>, settings: Settings) -> Cell {
    // Serde writes fields in order of declaration, so the text is the same everywhere.
    let text = serde_json::to_string(&(&levels, &settings)).unwrap_or_default();
    let digest = Blake2s256::digest(text);
    let id = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Cell { id: TrialId(id), levels, settings }
}

fn is_excluded(definition: &Definition, levels: &[Level]) -> bool {
    let has = |factor: &String, names: &Vec<String>| {
        levels.iter().any(|level| level.factor == *factor && names.contains(&level.level))
    };
    definition.exclude.iter().any(|rule| rule.iter().all(|(factor, names)| has(factor, names)))
}

/// Where the two ends of network cells are.
pub struct Ends<'a> {
    /// The host that narrows runs on.
    pub host: &'a Host,
    /// The other, when there is one.
    pub peer: Option<&'a Host>,
    /// What joins them.
    pub path: NetworkPath,
    /// Interface that leads to the peer.
    pub interface: Option<&'a str>,
}

/// A cell's trial on these hosts, and why it cannot be run there: a place that they do not have.
pub type Planned = (Trial, Option<String>);

/// The cells' trials on these hosts. An error is a slip of the study's file.
pub fn trials(cells: &[Cell], ends: &Ends<'_>) -> Result<Vec<Planned>, StudyError> {
    cells.iter().map(|cell| trial(cell, ends)).collect()
}

fn trial(cell: &Cell, ends: &Ends<'_>) -> Result<Planned, StudyError> {
    let settings = &cell.settings;
    let wrong = |why: String| StudyError::new(format!("cell '{}'", cell.label()), why);
    let slip = |error: StudyError| wrong(error.to_string());
    let kind = settings.kind();
    let memory = kind.is_memory();
    let mut why_not = None;
    let spot = settings.told(&kernels::NODE).filter(|_| memory).map(|node| {
        on_node(ends.host, node).ok_or(format!("this process may use no CPU of node {node}"))
    });
    let spot = spot.unwrap_or_else(|| Ok(choose(ends.host)));
    let spot = spot.unwrap_or_else(|why| {
        why_not = Some(why);
        choose(ends.host)
    });
    let caches = ends.peer.map_or(Bytes(0), Host::last_level_cache_bytes);
    let cache = caches.max(ends.host.last_level_cache_bytes());
    let params = settings.params(cache, spot.working_set_bytes).map_err(slip)?;
    let mut background = None;
    if let Some(load) = settings.background().map_err(slip)? {
        if let Some(engine) = settings.engine() {
            let tool = engine.tool;
            return Err(wrong(format!(
                "memory_load: no background load runs with engine '{tool}'"
            )));
        }
        match load.on(ends.host, spot.working_set_bytes) {
            Ok(end) => background = Some(end),
            Err(why) => why_not = Some(format!("memory_load: {why}")),
        }
    }
    let mut own = match memory {
        true => {
            let threads = spot.cpus.iter().copied().take(params.streams as usize);
            EndSpec::of_memory(Placement::on(threads.collect::<Vec<u32>>()))
        }
        false => {
            let places = settings.places().map_err(slip)?;
            let nodes = settings.nodes().map_err(slip)?;
            let irq = settings.interrupts().map_err(slip)?;
            let irq = irq.map(|place| cpus(ends.host, place, ends.interface)).transpose();
            let reverse = params.is_reverse();
            let placed = placed(places, nodes, ends, &spot, &params);
            let own = placed.and_then(|places| Ok(steered(places.ends(reverse), irq?)));
            own.unwrap_or_else(|why| {
                why_not = Some(why.to_string());
                TwoPlaces::default().ends(reverse)
            })
        }
    };
    own.extend(background);
    let trial = Trial {
        id: cell.id.clone(),
        label: cell.label(),
        kind,
        params,
        ends: own,
        path: if memory { NetworkPath::Memory } else { ends.path },
        timeline: timeline(settings, memory).map_err(wrong)?,
        levels: cell.levels.clone(),
        notes: Vec::new(),
        engine: settings.engine(),
    };
    Ok((trial, why_not))
}

/// The ends, with the interrupts of the controller's NIC on these CPUs.
fn steered(mut ends: Vec<EndSpec>, irq: Option<Vec<u32>>) -> Vec<EndSpec> {
    if let Some(near) = ends.iter_mut().find(|end| end.host == EndHost::Controller) {
        near.irq = irq.map(CpuList);
    }
    ends
}

fn timeline(settings: &Settings, memory: bool) -> Result<Timeline, String> {
    let seconds = |wanted: Option<f64>, otherwise: f64, what: &str| {
        let seconds = wanted.unwrap_or(otherwise);
        match (0.0..=86_400.0).contains(&seconds) {
            true => Ok(Nanos((seconds * 1e9) as u64)),
            false => Err(format!("{what} = {seconds} is not 0 to 86400")),
        }
    };
    let window_ns = seconds(settings.told(&runs::SECONDS), 1.5, "seconds")?;
    if window_ns.0 < 50_000_000 {
        return Err("seconds must be at least 0.05".to_owned());
    }
    let (warm, cool) = if memory { (0.05, 0) } else { (0.5, 300) };
    Ok(Timeline {
        warmup_ns: seconds(settings.told(&runs::WARMUP_SECONDS), warm, "warmup_seconds")?,
        window_ns,
        cooldown_ns: Nanos::from_millis(cool),
        interval_ns: None,
    })
}

/// The CPUs after those that `flows` threads take.
fn turned(mut cpus: CpuList, flows: u32) -> CpuList {
    let all = cpus.0.len().max(1);
    let turn = (flows as usize % all).max(usize::from(all > 1));
    cpus.0.rotate_left(turn % all);
    cpus
}

/// The CPUs and nodes of both ends. Without words about them, ends of one host have a core each,
/// and ends of two are not pinned.
fn placed(
    places: Option<(Seat, Seat)>,
    (local_node, remote_node): (Option<u32>, Option<u32>),
    ends: &Ends<'_>,
    spot: &Spot,
    params: &Params,
) -> Result<TwoPlaces, Unplaced> {
    let (reverse, flows) = (params.is_reverse(), params.flows());
    let one_host = ends.path != NetworkPath::Peer;
    let bindings = places.as_ref().map(|(here, there)| (here.binding, there.binding));
    let (local_binding, remote_binding) = bindings.unwrap_or_default();
    let places = places.map(|(here, there)| (here.at, there.at));
    let (local, remote) = match places {
        None if one_host => (spot.pair.sender.cpus.clone(), spot.pair.receiver.cpus.clone()),
        None => (CpuList::default(), CpuList::default()),
        Some((here, there)) => {
            let local = CpuList(cpus(ends.host, here, ends.interface)?);
            let far = ends.peer.unwrap_or(ends.host);
            let same_core = there == Where::SameCore;
            let remote = match there {
                Where::SameCore => local.clone(),
                there => CpuList(cpus(far, there, None)?),
            };
            // On one host the same place is the same CPUs: the other end begins with those that
            // this one leaves, so that two ends share none that they need not.
            let shared = one_host && !same_core && local == remote;
            (local, if shared { turned(remote, flows) } else { remote })
        }
    };
    let local = Placement { cpus: local, binding: local_binding, node: local_node };
    let remote = Placement { cpus: remote, binding: remote_binding, node: remote_node };
    Ok(match reverse && !one_host {
        false => TwoPlaces { sender: local, receiver: remote },
        true => TwoPlaces { sender: remote, receiver: local },
    })
}
