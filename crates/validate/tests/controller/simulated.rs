//! Runs of the machine, over several seeds.

use crate::load::{Load, What};
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::parameters::Parameters;

const MICROSECOND: u64 = 1_000_000;
/// Time that is not counted, and time that is.
const BEFORE: u64 = 4 * MICROSECOND;
const WINDOW: u64 = 12 * MICROSECOND;
/// Where streams meet in the banks differs by seed: so many are averaged for the page.
pub const SEEDS: u64 = 6;

/// One seed's window.
pub fn run(parameters: Parameters, load: &Load, seed: u64) -> Outcome {
    Machine::new(parameters, load.clone(), seed).run(BEFORE, WINDOW)
}

/// Means over the seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Means {
    pub cores_gb_s: f64,
    pub device_gb_s: f64,
    pub core_ns: f64,
    pub device_ns: f64,
    pub device_credits: f64,
    pub entries: f64,
    pub read_queue: f64,
    pub write_queue_full: f64,
    pub memory_gb_s: f64,
}

pub fn means(parameters: Parameters, load: &Load, seeds: u64) -> Means {
    let share = 1.0 / seeds as f64;
    let mut means = Means::default();
    for seed in 0..seeds {
        let one = run(parameters, load, seed);
        means.cores_gb_s += one.cores_gb_s() * share;
        means.device_gb_s += one.device_gb_s() * share;
        means.core_ns += one.cores.latency_ns() * share;
        means.device_ns += one.device.latency_ns() * share;
        means.device_credits += one.device_credits.iter().sum::<f64>() * share;
        means.entries += one.entries * share;
        means.read_queue += one.read_queue * share;
        means.write_queue_full += one.write_queue_full * share;
        means.memory_gb_s += one.memory_gb_s() * share;
    }
    means
}

/// One of the paper's experiments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experiment {
    /// Whether cores write each line back.
    pub writers: bool,
    pub device: What,
    pub gb_s: f64,
    pub streams: usize,
}

impl Experiment {
    pub fn cores(&self, cores: usize) -> Load {
        if self.writers { Load::writers(cores) } else { Load::readers(cores) }
    }
    pub fn together(&self, cores: usize) -> Load {
        self.cores(cores).beside(self.device, self.gb_s, self.streams)
    }
}

/// Cores beside a device, and how many times slower each is than alone; a device alone moves what
/// its slot carries (`known::alone_each_has_its_credits_over_latency`).
#[derive(Clone, Copy, Debug)]
pub struct Together {
    pub core_slowdown: f64,
    pub device_slowdown: f64,
    pub both: Means,
}

pub fn together(
    parameters: Parameters,
    experiment: &Experiment,
    cores: usize,
    seeds: u64,
) -> Together {
    let alone = means(parameters, &experiment.cores(cores), seeds);
    let both = means(parameters, &experiment.together(cores), seeds);
    Together {
        core_slowdown: alone.cores_gb_s / both.cores_gb_s,
        device_slowdown: experiment.gb_s / both.device_gb_s,
        both,
    }
}
