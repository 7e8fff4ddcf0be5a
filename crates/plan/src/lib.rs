//! From what is wanted to a list of runs: trials with stable ids, placement, blocks in seeded
//! order, and how long it will take. Pure: no clock, no files.

#![forbid(unsafe_code)]

pub mod anomalies;
pub mod background;
mod buffers;
mod by_end;
pub mod check;
pub mod diagnose;
pub mod direct;
pub mod hostset;
pub mod latency;
pub mod memory;
pub mod mesh;
pub mod neighbours;
pub mod paths;
mod pattern;
mod place;
pub mod placement;
mod quoted;
pub mod study;
mod unplaced;
pub mod zero_loss;

use blake2::{Blake2s256, Digest};
use narrows_model::Nanos;
use narrows_model::load::{Params, Timeline};
use narrows_model::options;
use narrows_model::trial::{EndSpec, Engine, Level, NetworkPath, Trial, TrialId};
use narrows_model::workload::Workload;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

pub use background::BackgroundLoad;
pub use buffers::without_node;
pub use by_end::{ByEnd, NotByEnd, PlacesByEnd, UnplacedAt};
pub use pattern::{NoPattern, Pattern};
pub use place::{Seat, Spot, TwoPlaces, Where, choose, cpus, on_node};
pub use unplaced::{Unnamed, Unplaced};

/// One run in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the trial.
    pub trial: usize,
    /// Which repeat of it, from 0.
    pub repeat: u32,
    /// Which block, from 0; every block holds every trial once.
    pub block: u32,
}

/// Makes a trial; its id is a hash of everything else in it.
pub fn trial(
    label: &str,
    kind: Workload,
    params: Params,
    ends: Vec<EndSpec>,
    path: NetworkPath,
    timeline: Timeline,
) -> Trial {
    let (id, label) = (TrialId(String::new()), label.to_owned());
    let (levels, notes, engine) = (Vec::new(), Vec::new(), None);
    identified(Trial { id, label, kind, params, ends, path, timeline, levels, notes, engine })
}

/// The same trial by an outside tool.
pub fn by_tool(of: Trial, engine: Engine) -> Trial {
    identified(Trial { engine: Some(engine), ..of })
}

fn identified(of: Trial) -> Trial {
    // Serde writes struct fields in order of declaration, so the text is the same everywhere.
    let text = serde_json::to_string(&of.identity());
    let digest = Blake2s256::digest(text.unwrap_or_default());
    let id = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Trial { id: TrialId(id), ..of }
}

/// A level in a label: a number alone says nothing.
fn named(level: &Level) -> String {
    match level.level.parse::<f64>() {
        Ok(_) => format!("{} {}", level.factor, level.level),
        Err(_) => level.level.clone(),
    }
}

/// The trial of what another tool has measured; its id is a hash of tool, kind and levels.
pub fn imported(tool: &str, kind: Workload, levels: Vec<Level>, notes: Vec<Level>) -> Trial {
    // A protocol says what kind it is of.
    let is_told = levels.iter().any(|level| level.factor == "protocol");
    let kinds = (!is_told).then(|| kind.to_string()).into_iter();
    let label = kinds.chain(levels.iter().map(named)).collect::<Vec<_>>().join(", ");
    let line = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos(0),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    let params = Params::of_network(narrows_model::Bytes(0), 0);
    let text = serde_json::to_string(&(tool, &kind, &levels)).unwrap_or_default();
    let of = trial(&text, kind, params, Vec::new(), NetworkPath::Imported, line);
    let engine = Engine { tool: tool.to_owned(), ..Engine::default() };
    Trial { label, levels, notes, engine: Some(engine), ..of }
}

/// The order of all runs: `repeats` blocks, each with every trial once, shuffled by the seed. A
/// slow minute of the machine then falls on all trials alike.
pub fn blocks(trials: usize, repeats: u32, seed: u64) -> Vec<Step> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut steps = Vec::new();
    for block in 0..repeats {
        let mut order: Vec<usize> = (0..trials).collect();
        order.shuffle(&mut random);
        steps.extend(order.into_iter().map(|trial| Step { trial, repeat: block, block }));
    }
    steps
}

/// A seed for the order of one study, from any 64 bits of chance.
pub fn seed_from(chance: u64) -> u64 {
    // Short enough to be typed again, and exact in JSON readers that know only doubles.
    Pcg64::seed_from_u64(chance).next_u64() >> 32
}

/// How long one run should take: its time line, and what starting the two processes of each pair
/// and touching the working set takes (assumed: 0.1 s, and 2 GB/s).
pub fn run_ns(trial: &Trial) -> Nanos {
    let line = &trial.timeline;
    let start = 100_000_000 * trial.pairs().count().max(1) as u64;
    let touch = trial.params.working_set_bytes.0 / 2;
    let after = options::runs::AFTER.of(&trial.params).map_or(Nanos(0), Nanos::from_seconds);
    Nanos(after.0 + line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0 + start + touch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;

    #[test]
    fn every_block_holds_every_trial_once_and_the_seed_decides_the_order() {
        let steps = blocks(5, 10, 42);
        assert_eq!(steps, blocks(5, 10, 42));
        assert_ne!(steps, blocks(5, 10, 43));
        for (block, steps) in steps.chunks(5).enumerate() {
            let mut seen: Vec<usize> = steps.iter().map(|step| step.trial).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4]);
            assert!(steps.iter().all(|step| step.block == block as u32));
        }
        let orders: std::collections::BTreeSet<Vec<usize>> =
            steps.chunks(5).map(|b| b.iter().map(|step| step.trial).collect()).collect();
        assert!(orders.len() > 1, "blocks are shuffled each by itself");
    }

    #[test]
    fn a_trial_keeps_its_id_until_something_in_it_changes() {
        let timeline = Timeline {
            warmup_ns: Nanos(1),
            window_ns: Nanos(2),
            cooldown_ns: Nanos(3),
            interval_ns: None,
        };
        let params = Params::of_network(Bytes::kib(64), 1);
        let make = |params: &Params| {
            let ends = TwoPlaces::default().ends(params.is_reverse());
            trial("x", Workload::TCP_STREAM, params.clone(), ends, NetworkPath::Loopback, timeline)
                .id
                .0
        };
        // A golden id: stored studies are joined by it, so it must not change between releases.
        assert_eq!(make(&params), "8822e7595a13bc23");
        assert_ne!(make(&params), make(&Params { streams: 2, ..params.clone() }));
    }
}
