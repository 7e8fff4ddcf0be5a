//! All populations of so many modules in a server's slots, ranked. Modules of several sizes are in
//! `mixed`.

mod kit;
mod mixed;

use crate::engine::Predictor;
use crate::resources::Group;
use crate::server::Server;
use crate::traffic::Traffic;
pub use kit::{Batch, Kit, NoKit};
use narrows_dimm::platform::Platform;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// Why populations cannot be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsearchable {
    /// More sockets than the model has seen: so many.
    Sockets(usize),
    /// How the processors interleave is not known.
    Interleaving,
}

impl fmt::Display for Unsearchable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sockets(count) => write!(f, "{count} sockets: a search handles one or two"),
            Self::Interleaving => {
                f.write_str("a search needs to know how the processors interleave: cpu=NAME")
            }
        }
    }
}

/// One population of a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Modules of every channel by socket.
    pub modules: Vec<Vec<u32>>,
    /// Sizes of every channel's modules by socket, in GiB; none where all are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes_gib: Vec<Vec<Vec<u32>>>,
    /// Modules by which the sockets differ.
    pub uneven: u32,
    /// Sets of each socket.
    pub sets: Vec<Vec<usize>>,
    /// Speed that the modules run at with as many on a channel, in MT/s.
    pub mts: f64,
    /// Peak of the narrowest set of every socket, together, in GB/s.
    pub memory_gb_s: f64,
    /// TCP that memory and wire allow, in Gb/s.
    pub tcp_gbps: f64,
    /// UDP that memory and wire allow, in Gb/s.
    pub udp_gbps: f64,
    /// Channels of all sets: a measure of what is left for programs.
    pub channels: usize,
}

/// All populations of so many modules, best first, in the order in which makers' guides ask for it:
/// sockets alike, one interleave set a socket, bandwidth of memory, and then the lower of TCP and
/// UDP. Of those with the same sets one stands for all. How many there are, and the best `keep`;
/// an error for more sockets than the model has seen.
pub fn search(
    engine: &Predictor,
    kit: &Kit,
    keep: usize,
) -> Result<(u64, Vec<Found>), Unsearchable> {
    let server = &engine.server;
    let sockets = server.modules.len().max(1);
    if sockets > 2 {
        return Err(Unsearchable::Sockets(sockets));
    }
    let platform = server.platform.filter(|platform| !platform.ways.is_empty());
    let platform = platform.ok_or(Unsearchable::Interleaving)?;
    let by_depth: Vec<Predictor> =
        (0..=server.slots_per_channel).map(|depth| at_depth(engine, platform, depth)).collect();
    let (all, mut found) = match kit.batches() {
        [] => (0, Vec::new()),
        [one] => of_alike(&by_depth, platform, one.count, sockets),
        batches => mixed::of_sizes(&by_depth, platform, batches, sockets),
    };
    found.sort_by(in_makers_order);
    found.truncate(keep);
    Ok((all, found))
}

/// All populations of so many like modules: how many there are, and one of each kind.
fn of_alike(
    by_depth: &[Predictor],
    platform: &Platform,
    modules: u32,
    sockets: usize,
) -> (u64, Vec<Found>) {
    let Some(server) = by_depth.first().map(|engine| &engine.server) else { return (0, vec![]) };
    let each = choices(server, platform, modules);
    let none =
        [Choice { modules: Vec::new(), sizes: Vec::new(), count: 0, sets: Vec::new(), like_it: 1 }];
    let others: &[Choice] = if sockets == 1 { &none } else { &each };
    let mut found: Vec<Found> = Vec::new();
    let mut all = 0u64;
    for near in &each {
        for far in others.iter().filter(|far| near.count + far.count == modules) {
            all = all.saturating_add(near.like_it.saturating_mul(far.like_it));
            let both = if sockets == 1 { vec![near] } else { vec![near, far] };
            found.extend(weigh(by_depth, &both));
        }
    }
    (all, found)
}

/// The server with the speed of so many modules on its fullest channel: on all of them, for
/// firmware sets one.
fn at_depth(engine: &Predictor, platform: &Platform, depth: u32) -> Predictor {
    let mut one = engine.clone();
    if let (Some(mts), Some(most)) = (&mut one.server.mts, platform.mts_at(depth)) {
        mts.value = mts.value.min(f64::from(most));
    }
    one
}

/// What one population gives; `None` for more modules on a channel than it has slots.
fn weigh(by_depth: &[Predictor], both: &[&Choice]) -> Option<Found> {
    let depth = both.iter().map(|choice| choice.depth()).max().unwrap_or(0);
    let engine = by_depth.get(depth as usize)?;
    let near = &both[0].sets;
    let far = both.get(1).is_some_and(|far| far.count > 0);
    let port = Group { socket: 0, nics: 1, work: 0 };
    let reach = |traffic: Traffic| {
        let wire = engine.port_gbps(traffic, &port).unwrap_or(f64::INFINITY);
        engine.carried(traffic, near, far, both.len()).min(wire)
    };
    let narrowest = both.iter().filter_map(|choice| choice.sets.iter().min()).sum::<usize>();
    let sizes = both.iter().map(|choice| choice.sizes.clone());
    Some(Found {
        modules: both.iter().map(|choice| choice.modules.clone()).collect(),
        sizes_gib: sizes.filter(|channels| !channels.is_empty()).collect(),
        uneven: both.get(1).map_or(0, |far| both[0].count.abs_diff(far.count)),
        sets: both.iter().map(|choice| choice.sets.clone()).collect(),
        mts: engine.server.mts.as_ref().map_or(0.0, |mts| mts.value),
        memory_gb_s: narrowest as f64 * engine.server.channel_gb_s(),
        tcp_gbps: reach(Traffic::Tcp),
        udp_gbps: reach(Traffic::Udp),
        channels: both.iter().map(|choice| choice.sets.iter().sum::<usize>()).sum(),
    })
}

/// Sockets alike, one set a socket, bandwidth, rate; and then what leaves programs more channels.
fn in_makers_order(a: &Found, b: &Found) -> Ordering {
    let alike = a.uneven.cmp(&b.uneven).then(is_split(a).cmp(&is_split(b)));
    let one_set = more_sets(a).cmp(&more_sets(b));
    let bandwidth = b.memory_gb_s.total_cmp(&a.memory_gb_s);
    let rate = lower(b).total_cmp(&lower(a));
    alike.then(one_set).then(bandwidth).then(rate).then(b.channels.cmp(&a.channels))
}

fn is_split(found: &Found) -> bool {
    found.sets.windows(2).any(|pair| pair[0] != pair[1])
}

fn more_sets(found: &Found) -> usize {
    found.sets.iter().map(|sets| sets.len().saturating_sub(1)).sum::<usize>()
}

fn lower(found: &Found) -> f64 {
    found.tcp_gbps.min(found.udp_gbps)
}

/// The populations of one socket with the same number of modules, sets and modules on the fullest
/// channel.
#[derive(Clone)]
struct Choice {
    /// One of them.
    modules: Vec<u32>,
    /// Sizes of every channel's modules in GiB; none where all are alike.
    sizes: Vec<Vec<u32>>,
    count: u32,
    sets: Vec<usize>,
    like_it: u64,
}

impl Choice {
    /// Modules on the fullest channel.
    fn depth(&self) -> u32 {
        self.modules.iter().copied().max().unwrap_or(0)
    }

    /// Modules by which controllers of so many channels differ.
    fn lopsided(modules: &[u32], channels: usize) -> u32 {
        let each = modules.chunks(channels.max(1)).map(|own| own.iter().sum::<u32>());
        let (least, most) =
            each.fold((u32::MAX, 0), |(least, most), own| (least.min(own), most.max(own)));
        most.saturating_sub(least)
    }
}

/// Groups of a socket's channels, and how many are in each, of which it does not matter which holds
/// what: those of a controller, and where the family joins certain channels only, the pairs.
fn exchangeable(platform: &Platform) -> (usize, usize) {
    if platform.sets.is_empty() {
        return (platform.controllers as usize, platform.channels.max(1) as usize);
    }
    (platform.channels_per_socket() as usize / 2, 2)
}

/// Every kind of population of a socket with at most so many modules. Which channels of a
/// controller hold how many does not matter to the sets, only how many channels do: so controllers
/// are filled in falling order, and counted as often as their channels can be exchanged.
fn choices(server: &Server, platform: &Platform, modules: u32) -> Vec<Choice> {
    let slots = server.slots_per_channel;
    let mut one: Vec<(Vec<u32>, u64)> = Vec::new();
    let (groups, channels) = exchangeable(platform);
    falling(channels, slots, &mut Vec::new(), &mut one);
    let mut all: Vec<(Vec<u32>, u64)> = vec![(Vec::new(), 1)];
    for _ in 0..groups {
        all = all
            .iter()
            .flat_map(|(before, n)| {
                let more =
                    one.iter().map(|(own, m)| ([&before[..], own].concat(), n.saturating_mul(*m)));
                more.filter(|(all, _)| all.iter().sum::<u32>() <= modules).collect::<Vec<_>>()
            })
            .collect();
    }
    let mut kinds = BTreeMap::<(u32, Vec<usize>, u32), Choice>::new();
    let channels = platform.channels as usize;
    for (modules, like_it) in all {
        let (count, sets) = (modules.iter().sum(), server.ways(&modules));
        let one = Choice { modules, sizes: Vec::new(), count, sets, like_it: 0 };
        let kind = kinds.entry((count, one.sets.clone(), one.depth()));
        let kind = kind.or_insert_with(|| one.clone());
        // The one that makers show: controllers alike where they can be, the first one first.
        let key = |choice: &Choice| Choice::lopsided(&choice.modules, channels);
        if (key(&one), &kind.modules) < (key(kind), &one.modules) {
            kind.modules = one.modules;
        }
        kind.like_it = kind.like_it.saturating_add(like_it);
    }
    kinds.into_values().collect()
}

/// Modules of a controller's channels, most first, and in how many orders they can be.
fn falling(channels: usize, most: u32, before: &mut Vec<u32>, out: &mut Vec<(Vec<u32>, u64)>) {
    if before.len() == channels {
        let same = before.chunk_by(|a, b| a == b).map(|run| factorial(run.len()));
        return out.push((before.clone(), factorial(channels) / same.product::<u64>()));
    }
    for modules in 0..=most {
        before.push(modules);
        falling(channels, modules, before, out);
        before.pop();
    }
}

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product::<u64>()
}
