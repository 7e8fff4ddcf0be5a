//! How long a line waits behind memory at each share of its use: as `narrows mem --loaded` measured
//! it on this host, in place of the shape that was published of another one.

use crate::measured::Measured;
use crate::peaks;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::study::StoredStudy;
use narrows_model::workload::Workload;
use narrows_stats::{Label, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Share of the channels' peak that reads reach: geometric mean of five nodes from Ivy Bridge to
/// Cascade Lake (tables/memory-mlc-fitted.toml).
pub const READS: f64 = 0.861;
/// The same of as many writes as reads.
pub const EVEN: f64 = 0.710;

/// Share of the channels' peak that a mix with such a share of writes reaches, between the two.
pub fn reached(writes: f64) -> f64 {
    READS - (READS - EVEN) * (writes / 0.5).min(1.0)
}

/// Shape of latency under load, fitted on one Cascade Lake curve.
const RISE: f64 = 0.555;
const END: f64 = 1.617;

/// How many times its idle latency memory has at a share of its use, 0 to 1.
pub fn loaded(utilisation: f64) -> f64 {
    1.0 + RISE * utilisation / (END - utilisation).max(0.05)
}

/// Reads that use less of the channels tell nothing of queues.
const USED_LEAST: f64 = 0.3;
/// Fewer rates are no curve.
const POINTS_LEAST: usize = 4;
/// What says the rate least has an idle memory: up to a tenth of its peak.
const IDLE_MOST: f64 = 0.1;

/// Latency beside reads at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Share in use of what the channels reach with reads, 0 to 1.
    pub used: f64,
    /// Of a load, in nanoseconds.
    pub latency: Measured,
    /// Beyond that of idle memory, in nanoseconds; never less than at a lower rate.
    pub wait_ns: f64,
}

/// The curve of one node of a host, by the share in use.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnderLoad {
    points: Vec<Point>,
}

/// Why what was measured under load is no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCurve {
    /// The peak of the channels is not known.
    Peak,
    /// The buffers may be in the caches.
    Cached,
    /// Its rates are of several nodes.
    Nodes,
    /// Fewer rates than a curve needs have a figure.
    Few,
    /// Reads used little of the channels even at their fastest.
    Unloaded,
    /// The slowest reads already load the channels.
    NeverIdle,
}

impl fmt::Display for NoCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peak => "the peak of the memory channels is not known",
            Self::Cached => "its buffers may fit in the caches",
            Self::Nodes => "its rates are of several nodes",
            Self::Few => "fewer than four of its rates have a figure",
            Self::Unloaded => "its reads used less than 30 % of the channels",
            Self::NeverIdle => "its slowest reads used more than 10 % of the channels",
        })
    }
}

/// Latencies beside reads at each rate, before it is known what share of the channels that is.
#[derive(Clone, Debug, PartialEq)]
pub struct BesideReads {
    /// The node whose memory was read; `None` where it is not known.
    pub node: Option<u32>,
    /// Nodes of the host.
    pub nodes: usize,
    /// Bytes a second that the reads moved, and the latency of a load.
    points: Vec<(f64, Measured)>,
}

impl BesideReads {
    /// Of a study with latencies under load; `None` without any, or why they tell nothing.
    pub fn of(study: &StoredStudy, all: &[Summary]) -> Option<Result<Self, NoCurve>> {
        let cells: Vec<&Summary> = all.iter().filter(|one| is_under_load(study, one)).collect();
        let first = cells.first()?;
        if cells.iter().any(|cell| cell.labels.contains(&Label::CacheResident)) {
            return Some(Err(NoCurve::Cached));
        }
        let points = cells
            .iter()
            .filter_map(|cell| Some((cell.background?.value, Measured::of(cell, 1.0)?)))
            .collect();
        let (node, nodes) = (node_of(study, first), study.host.nodes.len());
        if cells.iter().any(|cell| node_of(study, cell) != node) {
            return Some(Err(NoCurve::Nodes));
        }
        Some(Ok(Self { node, nodes, points }))
    }

    /// The curve where the node's channels have this peak, in bytes a second.
    pub fn of_peak(&self, peak_bytes_per_second: f64) -> Result<UnderLoad, NoCurve> {
        let shares = self
            .points
            .iter()
            .map(|(bytes, latency)| (bytes / (READS * peak_bytes_per_second), latency.clone()));
        UnderLoad::at(shares.collect())
    }

    /// The same by the peak that a host's own modules have.
    pub fn of_host(&self, host: &Host) -> Result<UnderLoad, NoCurve> {
        let peak = peaks::peak_of_node(host, self.node).ok_or(NoCurve::Peak)?;
        self.of_peak(peak.rate_bytes_per_second.0)
    }
}

impl NoCurve {
    /// As what was measured and is not used.
    pub fn unused(self) -> String {
        format!("latency under load: {self}")
    }
}

impl UnderLoad {
    /// Of a study with latencies under load; `None` without any, or why they are no curve.
    pub fn of(study: &StoredStudy, all: &[Summary]) -> Option<Result<Self, NoCurve>> {
        Some(BesideReads::of(study, all)?.and_then(|reads| reads.of_host(&study.host)))
    }

    /// The curve at these points, in any order.
    fn at(mut points: Vec<(f64, Measured)>) -> Result<Self, NoCurve> {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(NoCurve::Few);
        };
        match () {
            () if points.len() < POINTS_LEAST => return Err(NoCurve::Few),
            () if last.0 < USED_LEAST => return Err(NoCurve::Unloaded),
            () if first.0 > IDLE_MOST => return Err(NoCurve::NeverIdle),
            () => {}
        }
        let idle_ns = first.1.value;
        let raw: Vec<f64> = points.iter().map(|(_, one)| one.value - idle_ns).collect();
        let waits = rising(&raw);
        let points = points.into_iter().zip(waits);
        let points = points.map(|((used, latency), wait_ns)| Point {
            used,
            latency,
            wait_ns: wait_ns.max(0.0),
        });
        Ok(Self { points: points.collect() })
    }

    /// The wait at a share in use, in nanoseconds: on the straight line between two points, and
    /// beyond the last one as much more as the published shape rises.
    pub fn wait_ns(&self, used: f64) -> f64 {
        let above = self.points.iter().position(|point| point.used >= used);
        let last = self.points.last();
        match (above, last) {
            (Some(0), _) => self.points.first().map_or(0.0, |point| point.wait_ns),
            (Some(at), _) => {
                let [low, high] = [&self.points[at - 1], &self.points[at]];
                let part = (used - low.used) / (high.used - low.used);
                low.wait_ns + part * (high.wait_ns - low.wait_ns)
            }
            (None, Some(last)) => {
                last.wait_ns * (loaded(used) - 1.0) / (loaded(last.used) - 1.0).max(f64::EPSILON)
            }
            (None, None) => 0.0,
        }
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

fn is_under_load(study: &StoredStudy, summary: &Summary) -> bool {
    let trial = study.trials.iter().find(|trial| trial.label == summary.label);
    let memory = trial.and_then(|trial| trial.params.memory.as_ref());
    let is_paced = memory.is_some_and(|memory| memory.pause_ns.is_some());
    summary.kind == Workload::MemoryLatency && is_paced
}

/// The node whose memory is read: the one asked for, else that of the CPU that follows the chain.
fn node_of(study: &StoredStudy, cell: &Summary) -> Option<u32> {
    let trial = study.trials.iter().find(|trial| trial.label == cell.label)?;
    let asked = trial.params.memory.as_ref().and_then(|memory| memory.node);
    let cpu = trial.place(Role::Receiver).cpus.0.first();
    asked.or_else(|| cpu_node(&study.host, *cpu?))
}

fn cpu_node(host: &Host, cpu: u32) -> Option<u32> {
    host.cpu.places.iter().find(|place| place.cpu == cpu)?.node
}

/// The nearest figures that never fall, in least squares: neighbours that do are pooled.
fn rising(raw: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in raw {
        pools.push((*value, 1));
        while let [.., (low, some), (high, more)] = pools[..] {
            if low <= high {
                break;
            }
            let all = some + more;
            let mean = (low * some as f64 + high * more as f64) / all as f64;
            pools.truncate(pools.len() - 2);
            pools.push((mean, all));
        }
    }
    pools.iter().flat_map(|(value, times)| std::iter::repeat_n(*value, *times)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(used: f64, ns: f64) -> (f64, Measured) {
        (used, Measured { value: ns, low: ns, high: ns, from: String::new() })
    }

    #[test]
    fn waits_are_beyond_idle_memory_and_never_fall() {
        let all = [(0.6, 130.0), (0.02, 90.0), (0.4, 104.0), (0.3, 110.0), (0.8, 190.0)];
        let curve = UnderLoad::at(all.map(|(used, ns)| point(used, ns)).into()).expect("a curve");
        for (used, ns) in [
            (0.0, 0.0),
            (0.02, 0.0),
            // Pooled: 20 and 14.
            (0.3, 17.0),
            (0.4, 17.0),
            (0.5, 28.5),
            (0.6, 40.0),
            (0.7, 70.0),
            (0.8, 100.0),
        ] {
            assert!((curve.wait_ns(used) - ns).abs() < 1e-9, "{used}: {}", curve.wait_ns(used));
        }
        // Beyond it as much more as the published shape: 0.555 u / (1.617 - u).
        let more = (0.9 / (1.617 - 0.9)) / (0.8 / (1.617 - 0.8));
        assert!((curve.wait_ns(0.9) - 100.0 * more).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_load_memory_or_never_lets_it_rest_is_no_curve() {
        let of = |used: &[f64]| {
            UnderLoad::at(used.iter().map(|used| point(*used, 90.0 + used)).collect())
        };
        assert_eq!(of(&[0.01, 0.1, 0.2]), Err(NoCurve::Few));
        assert_eq!(of(&[0.01, 0.1, 0.2, 0.29]), Err(NoCurve::Unloaded));
        assert_eq!(of(&[0.11, 0.2, 0.4, 0.6]), Err(NoCurve::NeverIdle));
        assert!(of(&[0.1, 0.2, 0.25, 0.3]).is_ok());
    }
}
