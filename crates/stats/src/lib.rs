//! Statistics of repeated runs: quantiles, boxplots, order-statistic intervals, and what a study's
//! records say per trial. Pure: the same records give the same results anywhere.

#![forbid(unsafe_code)]

mod anomalies;
mod background;
mod bursts;
mod capacity;
mod changed;
mod compare;
mod corrupted;
mod demand;
mod directions;
mod done;
mod drift;
mod history;
mod interface;
mod label;
mod labels;
mod latency;
mod levels;
mod loss;
mod memory_queues;
mod memory_use;
pub mod mesh;
mod neighbours;
mod noise;
mod order;
mod pairs;
mod paths;
mod percentile;
mod placement;
mod rank;
mod reconcile;
mod repeats;
mod resample;
mod search;
mod sequential;
mod sessions;
mod settings;
mod summarise;
mod summary;
mod together;
mod traffic;

pub use anomalies::{
    Anomalies, Anomaly, Claim, Exploration, Kind as AnomalyKind, Look, PAIRS as ANOMALY_PAIRS,
    Suspicion, anomalies, look,
};
pub use bursts::{Bursts, Limited, Range, bursts};
pub use capacity::{Capacity, capacity, reordered_share};
pub use changed::{Changed, Moved, TENTH, changed};
pub use compare::{Change, Compared, compare, compare_sessions};
pub use corrupted::Corrupted;
pub use demand::{Demand, Met, NoDemand};
pub use directions::Direction;
pub use done::Value;
pub use drift::{Drift, Placed, Step, drift};
pub use history::{Turn, files_for, suspected, told_below, turns};
pub use interface::way_in;
pub use label::Label;
pub use latency::{
    Grade, LoadedLatency, Phase, PhaseTimes, TripSlice, TripTimes, latency, per_minute,
};
pub use levels::{ALIKE, Doubt, ERROR_SHARE, Grouping, Level, Levels, RUNS_MIN, levels};
pub use loss::{Loss, LossPlace, loss_of};
pub use memory_queues::{LINE_BYTES, QueueUse};
pub use memory_use::{CacheMissed, MemoryUse, PerByte};
pub use neighbours::{
    NeighbourStep, NeighbourTest, Open, Slowdown, Slower, blocks_for, is_job_alone, neighbours,
};
pub use noise::{Noise, noise};
pub use order::{BoxPlot, box_plot, median, median_interval, quantile, ratio_of_medians};
pub use pairs::{OVERLAP_MIN, PairRate, Pairs, Slowest, overlap_share, pairs};
pub use paths::{Away, Card, InsidePath, Likeness, PATH, PathCell, PathTest, Standing, paths};
pub use percentile::{Percentiles, percentiles};
pub use placement::{Against, Cost, Effect, HostLoad, Move, PlacedCell, PlacedTest, placements};
pub use rank::{
    DunnPair, Ratio, Test, brunner_munzel, cliffs_delta, dunn, kruskal_wallis, mann_whitney, ratio,
    spearman,
};
pub use reconcile::{Missing, Reconciled, Side, Than, Verdict};
pub use repeats::repeats_needed;
pub use resample::{Equivalence, bca, equivalence, permutation};
pub use search::{
    Bisection, Border, Buffer, RatePoint, SearchEnd, Searched, Seen, Stand, buffer, others,
    rate_of, searches, seen,
};
pub use sequential::{Looks, is_precise};
pub use sessions::{Covers, Reproducibility, SESSIONS_MIN, Sessions, reproducibility};
pub use settings::{EndSettings, PairSettings, SettingsInForce};
pub use summarise::{CopyShare, copy_share, cpu_seconds, reconciled, summarise, value_of};
pub use summary::{CpuUse, Summary};
pub use together::{Together, together};
pub use traffic::{BusyCpu, BusyCpus, Overhead, Traffic};

/// A sum of counts that stops at the largest number: a damaged file must not stop its reader.
fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
