//! A trial: one cell of an experiment, before it is run.

use crate::load::{Bind, Binding, CpuList, Params, Timeline};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// Hash of everything else in the trial; the same trial has the same id on every machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(pub String);

/// What joins the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// No network: a memory kernel.
    Memory,
    /// The loopback device: not a network result.
    Loopback,
    /// Two network namespaces of this host joined by a veth pair: the stack without a NIC.
    Namespaces,
    /// Another host, reached through an agent.
    Peer,
    /// Not known: another tool measured it, and its output was imported.
    Imported,
}

/// Where both ends run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Placement {
    /// CPUs of the sink end's threads.
    pub sink: CpuList,
    /// CPUs of the source end's threads.
    pub source: CpuList,
    /// How the sink end's threads are bound to its CPUs.
    #[serde(default, skip_serializing_if = "Binding::is_each")]
    pub sink_binding: Binding,
    /// How the source end's threads are bound to its CPUs.
    #[serde(default, skip_serializing_if = "Binding::is_each")]
    pub source_binding: Binding,
    /// Node of the sink end's buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_node: Option<u32>,
    /// Node of the source end's buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_node: Option<u32>,
    /// CPUs that the interrupts of the controller's NIC are sent to while measuring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<CpuList>,
    /// What the controller's end runs in, when not on the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Where the packets of the controller's end leave from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<Bind>,
}

impl Placement {
    /// Whether the scheduler may move an end's threads between CPUs: it keeps two busy ones apart.
    pub fn is_free(&self) -> bool {
        let free = |binding: Binding, cpus: &CpuList| !binding.is_each() && cpus.0.len() > 1;
        free(self.sink_binding, &self.sink) || free(self.source_binding, &self.source)
    }
}

/// One cell: a workload, its parameters, its place and its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Hash of the rest.
    pub id: TrialId,
    /// Short name for people, unique in a study (`tcp-stream`, `tcp-stream cubic`).
    pub label: String,
    /// The workload.
    pub kind: Workload,
    /// Its parameters.
    pub params: Params,
    /// CPUs of both ends.
    pub place: Placement,
    /// What joins the ends.
    pub path: Path,
    /// When to warm up, measure and cool down.
    pub timeline: Timeline,
    /// Factors of the study with this cell's levels, in the study's order; empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// What else the source of an imported cell says of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Level>,
    /// The outside tool that makes the load; `None` is narrows itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
}

/// An outside tool that makes a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Engine {
    /// Its name.
    pub tool: String,
    /// Words for its client, in place of those that follow from the parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<String>,
    /// Words for its server, beside those that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
}

/// One factor of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Level {
    /// The factor's name.
    pub factor: String,
    /// The level's name.
    pub level: String,
}

impl Trial {
    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }
}
