//! The trials of `narrows mem`: kernels by threads, node by node, latency by size, loaded latency.

use crate::unplaced::Unplaced;
use crate::{Spot, choose, on_node, trial};
use narrows_model::host::Host;
use narrows_model::load::{MemoryParams, Params, Timeline};
use narrows_model::options::kernels;
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::{Kernel, Workload};
use narrows_model::{Bytes, Nanos};

/// Repeats of each trial unless the user says otherwise: the least for a 95 % interval.
pub const REPEATS: u32 = 6;
/// Window of each run unless the user says otherwise.
pub const WINDOW: Nanos = Nanos::from_millis(300);
/// Pauses of the background threads, full speed first: ten rates.
const PAUSES_NS: [u64; 10] = [0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600];
/// The smallest working set of the staircase, inside every first-level cache.
const CHAIN_BYTES_MIN: u64 = 16 << 10;
/// The largest: linking a chain through more takes longer than measuring it.
const CHAIN_BYTES_MAX: u64 = 2 << 30;

/// Chains of pointers side by side: one core has some ten to fifty lines in flight.
pub const CHAINS: [u32; 10] = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64];

/// What numademo does that a kernel here does too: its memcpy, memset and STREAM's last, and reads.
pub const NUMADEMO: [Kernel; 4] = [Kernel::Memcpy, Kernel::Write, Kernel::Triad, Kernel::Read];
/// As much as ntop's post gave it.
const NUMADEMO_BYTES: Bytes = Bytes(128 << 20);
/// What numademo calls memory of the thread's own node.
pub const LOCAL: &str = "local memory";

/// What numademo calls memory of all nodes in turn.
const INTERLEAVED: &str = "interleaved memory";

/// Of a trial of numademo's table its kernel and what it calls where the memory is; `None` of other
/// trials.
pub fn of_numademo(trial: &Trial) -> Option<(Kernel, String)> {
    let Workload::Memory(kernel) = trial.kind else { return None };
    let params = &trial.params;
    let is_one = params.streams == 1 && params.working_set_bytes == NUMADEMO_BYTES;
    let node = params.memory.as_ref().and_then(|memory| memory.node);
    let place = match (kernels::INTERLEAVE.of(params), node) {
        (Some(true), _) => INTERLEAVED.to_owned(),
        (_, Some(node)) => on_one(node),
        (_, None) => LOCAL.to_owned(),
    };
    (is_one && NUMADEMO.contains(&kernel)).then_some((kernel, place))
}

fn on_one(node: u32) -> String {
    format!("memory on node {node}")
}

#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// What loads and stores, each in trials of its own; empty for none.
    pub kernels: Vec<Kernel>,
    /// Numbers of threads; empty for one and all.
    pub threads: Vec<u32>,
    /// Node of the CPUs; `None` is that of the fastest NIC.
    pub node: Option<u32>,
    /// Node of the memory; `None` is that of the CPUs.
    pub memory_node: Option<u32>,
    /// Whether memory is of all nodes in turn.
    pub interleave: bool,
    /// Whether latency by size is wanted.
    pub latency: bool,
    /// Whether latency beside background reads is wanted.
    pub loaded: bool,
    /// Chains of pointers that one core follows side by side, each number in a trial of its own.
    pub chains: Vec<u32>,
    /// Whether bandwidth and latency between all pairs of nodes are wanted.
    pub matrix: bool,
    /// Whether numademo's table is wanted: one thread, by where the memory is.
    pub numademo: bool,
    /// Width of loads and stores.
    pub vector: Option<String>,
    /// Pages that buffers are made of, as the option has them.
    pub pages: Option<String>,
    /// Working set; `None` is four times the caches.
    pub working_set_bytes: Option<Bytes>,
}

/// The place and the trials, or why there are none.
pub fn trials(host: &Host, wanted: &Wanted, window: Nanos) -> Result<(Spot, Vec<Trial>), Unplaced> {
    let spot = match wanted.node {
        Some(node) => on_node(host, node).ok_or(Unplaced::NoCpu(node))?,
        None => choose(host),
    };
    let has = |node: u32| host.nodes.iter().any(|have| have.id == node);
    if let Some(node) = wanted.memory_node.filter(|node| !has(*node)) {
        return Err(Unplaced::Node(node));
    }
    fits(wanted, host)?;
    let plan = Plan { wanted, window };
    let mut trials = plan.kernels(&spot)?;
    if wanted.latency {
        trials.extend(plan.staircase(&spot));
    }
    if wanted.loaded {
        trials.extend(plan.loaded(&spot)?);
    }
    trials.extend(plan.chains(&spot));
    if wanted.numademo {
        trials.extend(plan.numademo(host, &spot));
    }
    // Of one node to one node, and not of memory that is spread over all.
    if wanted.matrix && !wanted.interleave {
        trials.extend(plan.matrix(host));
    }
    if trials.is_empty() {
        return Err(Unplaced::Nothing);
    }
    Ok((spot, trials))
}

/// Refuses a working set that the host cannot hold, or that chains alone cannot reach.
fn fits(wanted: &Wanted, host: &Host) -> Result<(), Unplaced> {
    let Some(bytes) = wanted.working_set_bytes else { return Ok(()) };
    if let Some(free) = host.memory.available_bytes.value().filter(|free| bytes > **free) {
        return Err(Unplaced::TooLarge { wanted: bytes, free: *free });
    }
    let is_long = !wanted.chains.is_empty() && bytes.0 > CHAIN_BYTES_MAX;
    if is_long { Err(Unplaced::LongChain(Bytes(CHAIN_BYTES_MAX))) } else { Ok(()) }
}

/// The nodes of a host that have memory: a matrix needs two of them.
pub fn nodes_with_memory(host: &Host) -> Vec<u32> {
    let with = host.nodes.iter().filter(|node| node.memory_bytes.value().is_some_and(|b| b.0 > 0));
    with.map(|node| node.id).collect()
}

struct Plan<'a> {
    wanted: &'a Wanted,
    window: Nanos,
}

impl Plan<'_> {
    fn one(
        &self,
        label: &str,
        kind: Workload,
        cpus: &[u32],
        bytes: Bytes,
        memory: MemoryParams,
    ) -> Trial {
        let mut params = Params::of_memory(cpus.len().max(1) as u32, bytes, memory);
        if self.wanted.interleave {
            params.told.tell(&kernels::INTERLEAVE, true);
        }
        self.made(label, kind, cpus, params)
    }

    fn made(&self, label: &str, kind: Workload, cpus: &[u32], params: Params) -> Trial {
        let line = Timeline {
            warmup_ns: Nanos::from_millis(50),
            window_ns: self.window,
            cooldown_ns: Nanos(0),
            interval_ns: None,
        };
        let ends = EndSpec::of_memory(Placement::on(cpus));
        trial(label, kind, params, ends, NetworkPath::Memory, line)
    }

    fn memory(&self) -> MemoryParams {
        MemoryParams {
            node: self.wanted.memory_node,
            vector: self.wanted.vector.clone(),
            pages: self.wanted.pages.clone(),
            pause_ns: None,
        }
    }

    fn kernels(&self, spot: &Spot) -> Result<Vec<Trial>, Unplaced> {
        let all = spot.cpus.len().max(1) as u32;
        let threads = match self.wanted.threads.is_empty() {
            true if all == 1 => vec![1],
            true => vec![1, all],
            false => self.wanted.threads.clone(),
        };
        if let Some(many) = threads.iter().find(|threads| !(1..=all).contains(*threads)) {
            return Err(Unplaced::Threads { threads: *many, cpus: all });
        }
        let bytes = self.wanted.working_set_bytes.unwrap_or(spot.working_set_bytes);
        let mut trials = Vec::new();
        for kernel in &self.wanted.kernels {
            for threads in &threads {
                let cpus = spot.cpus.get(..*threads as usize).unwrap_or(&spot.cpus);
                let s = if *threads == 1 { "" } else { "s" };
                let label = format!("{}, {threads} thread{s}", kernel.name());
                let kind = Workload::Memory(*kernel);
                trials.push(self.one(&label, kind, cpus, bytes, self.memory()));
            }
        }
        Ok(trials)
    }

    /// Latency of one thread, from the first-level cache to memory, each size four times the last.
    fn staircase(&self, spot: &Spot) -> Vec<Trial> {
        let most = spot.working_set_bytes.0.min(CHAIN_BYTES_MAX);
        let most = self.wanted.working_set_bytes.map_or(most, |bytes| bytes.0);
        let mut sizes: Vec<u64> =
            std::iter::successors(Some(CHAIN_BYTES_MIN), |size| size.checked_mul(4))
                .take_while(|size| *size < most)
                .collect();
        sizes.push(most);
        let cpu = spot.cpus.get(..1).unwrap_or_default();
        sizes
            .into_iter()
            .map(|size| {
                let label = format!("latency, {}", Bytes(size));
                self.one(&label, Workload::MemoryLatency, cpu, Bytes(size), self.memory())
            })
            .collect()
    }

    /// One core, more and more loads that need nothing of each other.
    fn chains(&self, spot: &Spot) -> Vec<Trial> {
        let bytes = self.wanted.working_set_bytes.unwrap_or(spot.working_set_bytes);
        let bytes = Bytes(bytes.0.min(CHAIN_BYTES_MAX));
        let cpu = spot.cpus.get(..1).unwrap_or_default();
        self.wanted
            .chains
            .iter()
            .map(|chains| {
                let mut params = Params::of_memory(1, bytes, self.memory());
                params.told.tell(&kernels::CHAINS, *chains);
                let label = format!("latency, {chains} chains");
                self.made(&label, Workload::MemoryLatency, cpu, params)
            })
            .collect()
    }

    /// One thread and 128 MiB: where the thread itself takes its memory from, of all nodes in turn,
    /// and from each node.
    fn numademo(&self, host: &Host, spot: &Spot) -> Vec<Trial> {
        let cpu = spot.cpus.get(..1).unwrap_or_default();
        let own = [(LOCAL.to_owned(), None, false), (INTERLEAVED.to_owned(), None, true)];
        let nodes = nodes_with_memory(host).into_iter();
        let each = nodes.map(|node| (on_one(node), Some(node), false));
        own.into_iter()
            .chain(each)
            .flat_map(|(place, node, interleaved)| {
                NUMADEMO.map(|kernel| {
                    let memory = MemoryParams { node, ..self.memory() };
                    let mut params = Params::of_memory(1, NUMADEMO_BYTES, memory);
                    if interleaved {
                        params.told.tell(&kernels::INTERLEAVE, true);
                    }
                    let label = format!("{}, {place}", kernel.name());
                    self.made(&label, Workload::Memory(kernel), cpu, params)
                })
            })
            .collect()
    }

    fn loaded(&self, spot: &Spot) -> Result<Vec<Trial>, Unplaced> {
        if spot.cpus.len() < 2 {
            return Err(Unplaced::OneCpu);
        }
        let bytes = self.wanted.working_set_bytes.unwrap_or(spot.working_set_bytes);
        let bytes = Bytes(bytes.0.min(CHAIN_BYTES_MAX));
        Ok(PAUSES_NS
            .into_iter()
            .map(|pause| {
                let memory = MemoryParams { pause_ns: Some(pause), ..self.memory() };
                let label = format!("loaded latency, pause {pause} ns");
                self.one(&label, Workload::MemoryLatency, &spot.cpus, bytes, memory)
            })
            .collect())
    }

    /// Read bandwidth and latency from the CPUs of every node to the memory of every node.
    fn matrix(&self, host: &Host) -> Vec<Trial> {
        let memories = nodes_with_memory(host);
        let spots: Vec<(u32, Spot)> =
            host.nodes.iter().filter_map(|node| Some((node.id, on_node(host, node.id)?))).collect();
        if memories.len() < 2 {
            return Vec::new();
        }
        let mut trials = Vec::new();
        for (from, spot) in &spots {
            for to in &memories {
                let memory = MemoryParams { node: Some(*to), ..self.memory() };
                let bytes = self.wanted.working_set_bytes.unwrap_or(spot.working_set_bytes);
                let label = format!("read, CPUs of node {from}, memory of node {to}");
                let cpus = &spot.cpus;
                trials.push(self.one(
                    &label,
                    Workload::Memory(Kernel::Read),
                    cpus,
                    bytes,
                    memory.clone(),
                ));
                let label = format!("latency, CPU of node {from}, memory of node {to}");
                let chain = Bytes(bytes.0.min(CHAIN_BYTES_MAX));
                let cpu = cpus.get(..1).unwrap_or_default();
                trials.push(self.one(&label, Workload::MemoryLatency, cpu, chain, memory));
            }
        }
        trials
    }
}
