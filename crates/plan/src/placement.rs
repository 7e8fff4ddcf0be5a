//! What `narrows placement` runs: nodes of process, memory and interrupts at both ends, for each
//! NIC, as many of the combinations as fit the time, the telling ones first.

use crate::place::nic_node;
use crate::quoted::quoted;
use crate::{BackgroundLoad, on_node};
use narrows_model::host::Host;
use narrows_model::seating::{Axis, EndNodes, Seating};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;
use thiserror::Error;

/// Seconds of a run beside its window: warm-up, cool-down, and the start of two processes.
const RUN_SECONDS: f64 = WARMUP_SECONDS + 0.3 + 0.1;
/// Seconds before the window, which do not count.
const WARMUP_SECONDS: f64 = 0.3;
/// Threads of a background load that is named by its place alone: as many as Dell's experiment had.
const LINK_THREADS: u32 = 5;
/// More combinations than this are not listed: eight nodes at both ends make a quarter of a
/// million.
const SEATINGS_MAX: usize = 20_000;

/// How threads are bound to their node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Each to one CPU of it.
    #[default]
    Pinned,
    /// Each to all CPUs of it, as `numactl --cpunodebind` does.
    Floating,
    /// Both, as a factor.
    Both,
}

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Minutes that all runs may take.
    pub minutes: f64,
    /// Seconds that count in each run.
    pub seconds: f64,
    /// Runs of each cell.
    pub repeats: u32,
    /// Flows of the throughput test.
    pub flows: u32,
    /// NICs of this host to compare; empty: the one that leads to the peer.
    pub nics: Vec<String>,
    pub threads: Threads,
    /// A background load to compare with none.
    pub beside: Option<Background>,
    /// What each NIC costs, with all that it needs (cable, port of the switch, riser).
    pub prices: Vec<(String, f64)>,
}

/// A background load beside the traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Background {
    /// Threads of one node on the memory of another, so that the link between sockets is loaded.
    Link(u32),
    /// As the user words it.
    Load(String),
}

impl std::str::FromStr for Background {
    type Err = crate::Unnamed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let threads = match text.split_once(':') {
            None if text == "link" => Some(LINK_THREADS),
            Some(("link", threads)) => threads.parse().ok().filter(|n| (1..=1024).contains(n)),
            _ => None,
        };
        match threads {
            Some(threads) => Ok(Self::Link(threads)),
            None => text.parse::<BackgroundLoad>().map(|_| Self::Load(text.to_owned())),
        }
    }
}

/// The two hosts, and what joins them.
#[derive(Clone, Copy)]
pub struct Between<'a> {
    /// The host that narrows runs on.
    pub here: &'a Host,
    /// The other; the same where both ends are on this host.
    pub there: &'a Host,
    /// Interface of this host that leads to the peer; `None` where no NIC lies between.
    pub interface: Option<&'a str>,
    /// Interface of the peer, where it is known.
    pub far_interface: Option<&'a str>,
}

/// Why something is not varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fixed {
    /// The host has no second node with CPUs that this process may use.
    OneNode,
    /// No other node has memory.
    OneMemory,
    /// No NIC with interrupts of its own joins the ends.
    NoInterrupts,
    /// The peer's owner steers them.
    OwnersInterrupts,
}

impl Fixed {
    fn says(&self) -> &'static str {
        match self {
            Self::OneNode => "one node has CPUs that this process may use",
            Self::OneMemory => "one node has memory",
            Self::NoInterrupts => "no NIC with interrupts of its own joins the ends",
            Self::OwnersInterrupts => "its owner steers them",
        }
    }
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoMatrix {
    /// The time is too short for two placements, or for the only one.
    #[error("{minutes} minutes are too short: {placements} placements take {least:.2}")]
    TooShort {
        minutes: f64,
        /// How many are the least that say something.
        placements: usize,
        /// Minutes that those take.
        least: f64,
    },
    /// An interface that this host does not have.
    #[error("this host has no interface {0}")]
    NoNic(String),
    /// A price of a NIC that is not compared.
    #[error("--price {0}: no NIC of this name is compared (--nic {0})")]
    NoPriced(String),
    /// A background load over a link between nodes, on a host with one.
    #[error("a background load over the link needs two nodes with CPUs and memory")]
    NoLink,
}

/// The matrix of placements of two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Those that are run, the telling ones first.
    pub chosen: Vec<Seating>,
    /// How many were left out for lack of time.
    pub left_out: usize,
    /// What is not varied, and why.
    pub fixed: Vec<(Axis, Fixed)>,
    /// The definition of the study, as a file has it.
    pub definition: String,
}

/// Nodes that an axis can have, that of the NIC first.
struct Choices {
    nodes: Vec<(Axis, Vec<u32>)>,
    fixed: Vec<(Axis, Fixed)>,
}

impl Matrix {
    /// The matrix of two hosts within the time.
    pub fn of(wanted: &Wanted, between: &Between<'_>) -> Result<Self, NoMatrix> {
        let nics = nics(wanted, between)?;
        let beside = beside(wanted, between)?;
        let is_compared = |name: &String| wanted.nics.contains(name);
        if let Some((name, _)) = wanted.prices.iter().find(|(name, _)| !is_compared(name)) {
            return Err(NoMatrix::NoPriced(name.clone()));
        }
        let (mut all, mut fixed) = (Vec::new(), Vec::new());
        for nic in &nics {
            let choices = choices(between, nic.as_deref().or(between.interface));
            // Where there is one NIC, it is the one that the route takes.
            let named = nic.clone().filter(|_| nics.len() > 1 || !wanted.nics.is_empty());
            all.push(seatings(&choices, named));
            fixed = choices.fixed;
        }
        let all = bound(in_turn(all), wanted.threads);
        let seconds = seconds_of_one(wanted, beside.is_some());
        let most = (wanted.minutes * 60.0 / seconds) as usize;
        let least = all.len().min(2);
        if most < least {
            let (minutes, least_minutes) = (wanted.minutes, least as f64 * seconds / 60.0);
            return Err(NoMatrix::TooShort { minutes, placements: least, least: least_minutes });
        }
        let left_out = all.len().saturating_sub(most);
        let chosen: Vec<Seating> = all.into_iter().take(most).collect();
        let definition = definition(wanted, &chosen, left_out, &fixed, beside.as_deref());
        Ok(Self { chosen, left_out, fixed, definition })
    }
}

/// Interfaces to compare; one without a name where the route decides.
fn nics(wanted: &Wanted, between: &Between<'_>) -> Result<Vec<Option<String>>, NoMatrix> {
    let missing = wanted.nics.iter().find(|name| between.here.nic(name).is_none());
    if let Some(missing) = missing {
        return Err(NoMatrix::NoNic(missing.clone()));
    }
    Ok(if wanted.nics.is_empty() {
        vec![None]
    } else {
        wanted.nics.iter().cloned().map(Some).collect()
    })
}

/// Seconds that all cells of one placement take.
fn seconds_of_one(wanted: &Wanted, beside: bool) -> f64 {
    let beside = if beside { 2.0 } else { 1.0 };
    TESTS * beside * f64::from(wanted.repeats) * (wanted.seconds + RUN_SECONDS)
}

/// Nodes of a host with CPUs that this process may use, the NIC's first and the farthest next.
fn nodes(host: &Host, near: Option<u32>) -> Vec<u32> {
    let mut nodes: Vec<u32> = host.nodes.iter().map(|node| node.id).collect();
    nodes.retain(|node| on_node(host, *node).is_some());
    let near = near.filter(|near| nodes.contains(near)).or(nodes.first().copied());
    let distances = host.nodes.iter().find(|node| Some(node.id) == near);
    let distances = distances.and_then(|node| node.distances.value());
    let place = |id: u32| host.nodes.iter().position(|node| node.id == id).unwrap_or(0);
    let far = |id: u32| distances.and_then(|all| all.get(place(id))).copied().unwrap_or(0);
    nodes.sort_by_key(|id| (Some(*id) != near, std::cmp::Reverse(far(*id)), *id));
    nodes
}

fn memory_nodes(host: &Host, nodes: &[u32]) -> Vec<u32> {
    nodes
        .iter()
        .copied()
        .filter(|id| {
            let node = host.nodes.iter().find(|node| node.id == *id);
            node.and_then(|node| node.memory_bytes.value()).is_none_or(|bytes| bytes.0 > 0)
        })
        .collect()
}

/// What each axis can have on these hosts.
fn choices(between: &Between<'_>, interface: Option<&str>) -> Choices {
    let here = nodes(between.here, nic_node(between.here, interface));
    let there = nodes(between.there, nic_node(between.there, between.far_interface));
    let nic = interface.and_then(|name| between.here.nic(name));
    let steered = nic.and_then(|nic| nic.irqs.value()).is_some_and(|irqs| !irqs.is_empty());
    let (memory_here, memory_there) =
        (memory_nodes(between.here, &here), memory_nodes(between.there, &there));
    let mut choices = Choices { nodes: Vec::new(), fixed: Vec::new() };
    let interrupts = if steered { here.clone() } else { Vec::new() };
    for (axis, nodes) in [
        (Axis::ProcessHere, here),
        (Axis::MemoryHere, memory_here),
        (Axis::InterruptsHere, interrupts),
        (Axis::ProcessThere, there),
        (Axis::MemoryThere, memory_there),
    ] {
        let why = match axis {
            Axis::InterruptsHere if !steered => Some(Fixed::NoInterrupts),
            Axis::MemoryHere | Axis::MemoryThere if nodes.len() < 2 => Some(Fixed::OneMemory),
            _ if nodes.len() < 2 => Some(Fixed::OneNode),
            _ => None,
        };
        // Threads have a place in any case; what else is not varied is left as it is.
        let is_process = matches!(axis, Axis::ProcessHere | Axis::ProcessThere);
        let nodes = if why.is_some() && !is_process { Vec::new() } else { nodes };
        choices.fixed.extend(why.map(|why| (axis, why)));
        choices.nodes.push((axis, nodes));
    }
    choices.fixed.push((Axis::InterruptsThere, Fixed::OwnersInterrupts));
    choices
}

/// All combinations of one NIC, the telling ones first: all at the NIC's node; this host's end
/// moved as a whole, then the other's, then both, as in Dell's experiment; one thing moved at a
/// time; then the rest, those nearer to these first.
fn seatings(choices: &Choices, nic: Option<String>) -> Vec<Seating> {
    let mut all = vec![Seating { nic, ..Seating::default() }];
    for (axis, nodes) in &choices.nodes {
        if nodes.is_empty() || all.len() * nodes.len() > SEATINGS_MAX {
            let first = nodes.first().copied();
            all = all.iter().map(|one| one.with(*axis, first)).collect();
        } else {
            all = all
                .iter()
                .flat_map(|one| {
                    nodes.iter().map(|node| one.with(*axis, Some(*node))).collect::<Vec<_>>()
                })
                .collect();
        }
    }
    all.sort_by_key(|one| rank(choices, one));
    all
}

/// Where a combination stands: what it moves, and to which of the nodes.
fn rank(choices: &Choices, one: &Seating) -> (usize, usize, usize) {
    let at = |(axis, nodes): &(Axis, Vec<u32>)| {
        let place = nodes.iter().position(|node| Some(*node) == one.node(*axis));
        (*axis, place.unwrap_or(0))
    };
    let places: Vec<(Axis, usize)> = choices.nodes.iter().map(at).collect();
    let moved = places.iter().filter(|(_, place)| *place > 0).count();
    let of = |axis: Axis| places.iter().find(|(known, _)| *known == axis).map_or(0, |(_, at)| *at);
    let irq_near = of(Axis::InterruptsHere) == 0;
    let whole_here = of(Axis::ProcessHere) > 0 && is_together(one.here) && irq_near;
    let whole_there = of(Axis::ProcessThere) > 0 && is_together(one.there);
    let near_here = places.iter().all(|(axis, place)| !axis.is_here() || *place == 0);
    let near_there = places.iter().all(|(axis, place)| axis.is_here() || *place == 0);
    let order = match () {
        () if moved == 0 => 0,
        () if whole_here && near_there => 1,
        () if whole_there && near_here => 2,
        () if whole_here && whole_there => 3,
        () if moved == 1 => 4,
        () => 3 + moved,
    };
    let beyond = places.iter().map(|(_, place)| place.saturating_sub(1)).sum();
    let which = places.iter().position(|(_, place)| *place > 0).unwrap_or(0);
    (order, beyond, which)
}

/// Whether threads and buffers are on one node, as far as that is said.
fn is_together(end: EndNodes) -> bool {
    end.memory.is_none() || end.memory == end.process
}

/// The first of each list, then the second of each, and so on.
fn in_turn(lists: Vec<Vec<Seating>>) -> Vec<Seating> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|n| lists.iter().filter_map(move |list| list.get(n).cloned())).collect()
}

/// The same with threads bound as they are to be.
fn bound(all: Vec<Seating>, threads: Threads) -> Vec<Seating> {
    let ways: &[bool] = match threads {
        Threads::Pinned => &[false],
        Threads::Floating => &[true],
        Threads::Both => &[false, true],
    };
    all.into_iter()
        .flat_map(|one| {
            ways.iter().map(move |floating| Seating { floating: *floating, ..one.clone() })
        })
        .collect()
}

/// The background load in a study's words.
fn beside(wanted: &Wanted, between: &Between<'_>) -> Result<Option<String>, NoMatrix> {
    Ok(match &wanted.beside {
        None => None,
        Some(Background::Load(text)) => Some(text.clone()),
        Some(Background::Link(threads)) => {
            let near = nic_node(between.here, between.interface);
            let nodes = nodes(between.here, near);
            let memory = memory_nodes(between.here, &nodes);
            let far = nodes.get(1).zip(memory.first()).ok_or(NoMatrix::NoLink)?;
            Some(format!("triad:{threads}@node:{}/memory:{}", far.0, far.1))
        }
    })
}

/// Tests of a placement: throughput, and round trips.
const TESTS: f64 = 2.0;

/// The study's file.
fn definition(
    wanted: &Wanted,
    chosen: &[Seating],
    left_out: usize,
    fixed: &[(Axis, Fixed)],
    beside: Option<&str>,
) -> String {
    let mut text = String::from(
        "# Made by `narrows placement`: process > peer, with the nodes of memory and interrupts \
         where they differ.\nname = \"placement\"\n",
    );
    let _ = writeln!(text, "about = {}", quoted(&about(chosen.len(), left_out, fixed)));
    let _ = writeln!(text, "repeats = {}\n\n[quick]\nrepeats = 2\nseconds = 0.2\n", wanted.repeats);
    let (seconds, warm) = (wanted.seconds, WARMUP_SECONDS);
    let _ = writeln!(text, "[base]\nseconds = {seconds:?}\nwarmup_seconds = {warm:?}\n");
    text += "[[factor]]\nname = \"placement\"\nlevels = [\n";
    chosen.iter().for_each(|one| text += &level(one));
    text += "]\n\n";
    if let Some(load) = beside {
        let load = quoted(load);
        let _ = writeln!(
            text,
            "[[factor]]\nname = \"beside\"\nlevels = [{{ name = \"nothing\" }}, {{ name = {load}, \
             memory_load = {load} }}]\n"
        );
    }
    let flows = wanted.flows;
    let s = if flows == 1 { "" } else { "s" };
    let _ = writeln!(
        text,
        "[[factor]]\nname = \"test\"\nlevels = [\n  {{ name = \"TCP, {flows} flow{s}\", load = \
         \"tcp-stream\", parallel = {flows} }},\n  {{ name = \"TCP round trip\", load = \"tcp-rr\" \
         }},\n]\n\n[report]\nacross = \"placement\"\nrecommend = true"
    );
    text + &prices(wanted, chosen)
}

/// What each placement costs: the price of the NIC that it uses.
fn prices(wanted: &Wanted, chosen: &[Seating]) -> String {
    let all: String = chosen
        .iter()
        .filter_map(|one| {
            let nic = one.nic.as_ref()?;
            let (_, price) = wanted.prices.iter().find(|(name, _)| name == nic)?;
            Some(format!("{} = {price:?}\n", quoted(&one.to_string())))
        })
        .collect();
    if all.is_empty() { all } else { format!("\n[report.prices]\n{all}") }
}

/// One placement as a level of the factor.
fn level(one: &Seating) -> String {
    let binding = if one.floating { "/all" } else { "" };
    let place = |node: Option<u32>| match node {
        Some(node) => format!("node:{node}{binding}"),
        None => format!("nic{binding}"),
    };
    let mut text = format!(
        "  {{ name = {}, affinity = \"{},{}\"",
        quoted(&one.to_string()),
        place(one.here.process),
        place(one.there.process),
    );
    if one.here.memory.or(one.there.memory).is_some() {
        let (here, there) = (memory(one.here.memory), memory(one.there.memory));
        let _ = write!(text, ", memory_node = \"{here},{there}\"");
    }
    if let Some(node) = one.here.interrupts {
        let _ = write!(text, ", irq = \"node:{node}\"");
    }
    if let Some(nic) = &one.nic {
        let _ = write!(text, ", bind = {}", quoted(nic));
    }
    text + " },\n"
}

fn memory(node: Option<u32>) -> String {
    node.map_or("-".to_owned(), |node| node.to_string())
}

/// What the study asks, and what of it is left out.
fn about(chosen: usize, left_out: usize, fixed: &[(Axis, Fixed)]) -> String {
    let mut text = String::from("What does it cost to be away from the NIC's node?");
    if left_out > 0 {
        let all = chosen + left_out;
        let _ = write!(text, " {chosen} of {all} placements: the others did not fit the time.");
    }
    let whys: BTreeSet<&str> = fixed.iter().map(|(_, why)| why.says()).collect();
    for why in whys {
        let of = fixed.iter().filter(|(_, fixed)| fixed.says() == why);
        let names: Vec<&str> = of.map(|(axis, _)| axis.says()).collect();
        let _ = write!(text, " Not varied: {} ({why}).", names.join(", "));
    }
    text
}
