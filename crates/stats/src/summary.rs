//! What the records of a trial say, as it is told.

use crate::corrupted::Corrupted;
use crate::directions::Direction;
use crate::done::Value;
use crate::label::Label;
use crate::loss::Loss;
use crate::memory_use::MemoryUse;
use crate::reconcile::Reconciled;
use crate::sessions::{Reproducibility, by_session};
use crate::settings::SettingsInForce;
use crate::traffic::{BusyCpus, Overhead, Traffic};
use crate::{BoxPlot, Percentiles};
use narrows_model::Bytes;
use narrows_model::load::{Unacknowledged, ZeroCopy};
use narrows_model::record::Lost;
use narrows_model::result::Estimate;
use narrows_model::trial::NetworkPath;
use narrows_model::workload::{Metric, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU use of a network trial, medians over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Busiest sender thread: share of one CPU; `None` where that end tells nothing.
    #[serde(rename = "source_share")]
    pub sender_share: Option<f64>,
    /// Busiest receiver thread: share of one CPU; `None` where that end tells nothing.
    #[serde(rename = "sink_share")]
    pub receiver_share: Option<f64>,
    /// Share of the time of all CPUs of the sender's host that was used, 0 to 1; `None` where they
    /// were not counted.
    #[serde(default)]
    pub sender_host_share: Option<f64>,
    /// The same of the receiver's host.
    #[serde(default)]
    pub receiver_host_share: Option<f64>,
    /// Softirq time of the receiver's host, in CPUs; `None` where it is not told.
    pub softirq_cpus: Option<f64>,
    /// Stolen time of the receiver's host, in CPUs; `None` where it is not told.
    pub steal_cpus: Option<f64>,
    /// CPU seconds of both ends' threads for each 10^9 bytes received; `None` for round trips.
    pub seconds_per_gigabyte: Option<f64>,
    /// Processor cycles of both ends' threads for each byte received, where both could count them.
    #[serde(default)]
    pub cycles_per_byte: Option<f64>,
}

/// What one trial's records say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The trial's label.
    pub label: String,
    pub kind: Workload,
    /// The outside tool that made the load.
    #[serde(default)]
    pub engine: Option<String>,
    pub path: NetworkPath,
    pub metric: Metric,
    /// Runs that were made to the end.
    pub done: u32,
    /// Runs that failed; their reasons.
    pub failed: Vec<String>,
    /// Median and interval; `None` when no run had a figure.
    pub estimate: Option<Estimate>,
    /// Runs that were made to the end and have no value, since bytes that came differed from those
    /// that were sent.
    #[serde(default)]
    pub corrupted: Vec<Corrupted>,
    /// Each run's payload beside what the interface, TCP and the window say of it. A run whose
    /// payload is impossible has no value.
    #[serde(default)]
    pub reconciled: Vec<Reconciled>,
    /// The boxplot of the runs.
    pub box_plot: Option<BoxPlot>,
    /// Sessions that the runs were made in.
    #[serde(default)]
    pub sessions: u32,
    /// What another session would measure, from three sessions on.
    #[serde(default)]
    pub reproducibility: Option<Reproducibility>,
    /// Every run's value, in order of repeat.
    pub values: Vec<Value>,
    /// Round trips of all runs together.
    pub round_trips: Option<Percentiles>,
    /// CPU of both ends.
    pub cpu: Option<CpuUse>,
    pub loss: Option<Loss>,
    /// Round trips whose response did not come in time (UDP).
    #[serde(default)]
    pub lost_round_trips: Option<u64>,
    /// Datagrams that reached the receiver a second, when the workload has datagrams.
    pub datagrams_per_second: Option<Estimate>,
    /// Round trips a second over all flows.
    #[serde(default)]
    pub trips_per_second: Option<Estimate>,
    /// Of a goodput in both directions, what went from the end that listens to the other.
    #[serde(default)]
    pub back: Option<Estimate>,
    /// The same of what went the other way, from the end that connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<Estimate>,
    /// Of packets both ways at once each direction: there, then back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<Direction>,
    /// System calls and packets behind the figure.
    #[serde(default)]
    pub traffic: Option<Traffic>,
    /// What crossed the memory bus of each end's host, and what of it could not be counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryUse>,
    /// Times between sending and arriving (packets whose ends are on one host, by its clock).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<Percentiles>,
    /// Variation of the time between datagrams (paced UDP), medians over flows.
    #[serde(default)]
    pub jitter: Option<Estimate>,
    /// What became of sends that were to be made without a copy, over all runs.
    #[serde(default)]
    pub zero_copy: Option<ZeroCopy>,
    /// Messages of an unreliable RDMA service, over all runs whose ends both counted.
    #[serde(default)]
    pub unacknowledged: Option<Unacknowledged>,
    /// Bytes compared with what was sent, over all runs: all were right.
    #[serde(default)]
    pub verified_bytes: Option<Bytes>,
    /// Bytes that background threads read a second beside a latency trial, or that the
    /// background load of a network trial moved.
    #[serde(default)]
    pub background: Option<Estimate>,
    /// Runs whose background load did not last to their end: they are not in its figure.
    #[serde(default)]
    pub background_ended: usize,
    /// What became of those loads, each cause once; empty where they lasted, and in records of
    /// older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_lost: Vec<Lost>,
    /// Retransmitted segments over all runs (TCP).
    pub retransmitted_segments: Option<u64>,
    /// Both ends said that they ran on the same machine.
    #[serde(default)]
    pub one_machine: bool,
    /// The busiest CPUs of both ends' hosts.
    #[serde(default)]
    pub busy_cpus: BusyCpus,
    #[serde(default)]
    pub overhead: Overhead,
    /// What was in force at each end, read back in the first run.
    #[serde(flatten)]
    pub settings: SettingsInForce,
    /// What it must not be taken for.
    pub labels: Vec<Label>,
}

impl Summary {
    /// Values of each session, in time.
    pub fn by_session(&self) -> Vec<Vec<f64>> {
        by_session(&self.values)
    }

    /// The congestion control of all flows; `None` where they have none, or several.
    pub fn congestion(&self) -> Option<&str> {
        self.settings.alike(|end| end.congestion.as_deref())
    }

    /// The smallest socket buffer of the ends that receive.
    pub fn smallest_receive_buffer(&self) -> Option<Bytes> {
        self.settings.receivers().filter_map(|end| end.receive_buffer_bytes).min()
    }

    /// Whether both ends ran on one host, over an agent too: no wire lies between them.
    pub fn is_one_host(&self) -> bool {
        is_one_host(self.path, self.one_machine)
    }
}

pub(crate) fn is_one_host(path: NetworkPath, one_machine: bool) -> bool {
    matches!(path, NetworkPath::Loopback | NetworkPath::Namespaces | NetworkPath::Devices)
        || one_machine
}
