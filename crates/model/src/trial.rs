//! A trial: one cell of an experiment, before it is run.

mod ends;
mod stored;

pub use ends::{EndHost, EndSpec, MemoryLoad, Placement};
pub use stored::Identity;

use crate::load::{CpuList, Params, Role, Timeline};
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The factor that a search adds to a study: its levels are the rates.
pub const RATE: &str = "rate";

/// Hash of everything else in the trial; the same trial has the same id on every machine.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct TrialId(pub String);

/// What joins the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkPath {
    /// No network: a memory kernel.
    Memory,
    /// The loopback device: not a network result.
    Loopback,
    /// Two network namespaces of this host joined by a veth pair: the stack without a NIC.
    Namespaces,
    /// Two ports of this host joined by a cable, which raw frames alone pass. The controller's end
    /// is at the port that its packets leave from, the other end at the other port.
    Cable,
    /// RDMA devices of this host, both ends here: loop-back within one device, or from one to
    /// another. Loop-back crosses the device's PCIe twice and no wire: not a network result.
    Devices,
    /// Another host, reached through an agent.
    Peer,
    /// Not known: another tool measured it, and its output was imported.
    Imported,
}

/// One cell: a workload, its parameters, its ends and what joins them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "stored::Stored")]
pub struct Trial {
    /// Hash of the rest.
    pub id: TrialId,
    /// Short name for people, unique in a study (`tcp-stream`, `tcp-stream cubic`).
    pub label: String,
    pub kind: Workload,
    /// What the workload was told beyond its name.
    pub params: Params,
    /// Who takes part. The first sender and the first receiver are a pair, the second ones
    /// another, and so on.
    pub ends: Vec<EndSpec>,
    pub path: NetworkPath,
    /// When to warm up, measure and cool down.
    pub timeline: Timeline,
    /// Factors of the study with this cell's levels, in the study's order; empty elsewhere.
    pub levels: Vec<Level>,
    /// What else the source of an imported cell says of it.
    pub notes: Vec<Level>,
    /// The outside tool that makes the load; `None` is narrows itself.
    pub engine: Option<Engine>,
}

/// An outside tool that makes a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Engine {
    /// Name of the tool, as studies give it.
    pub tool: String,
    /// Words for its client, in place of those that follow from the parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<String>,
    /// Words for its server, beside those that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
}

/// One factor of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// The factor's name.
    pub factor: String,
    /// The level's name.
    pub level: String,
}

/// Two ends that talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The end that sends, or asks.
    pub sender: &'a EndSpec,
    /// The end that receives, or answers.
    pub receiver: &'a EndSpec,
}

impl Trial {
    /// All ends of a role, in order.
    pub fn ends_of(&self, role: Role) -> impl Iterator<Item = &EndSpec> {
        self.ends.iter().filter(move |end| end.role == role)
    }

    /// The pairs that talk to each other.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        let pairs = self.ends_of(Role::Sender).zip(self.ends_of(Role::Receiver));
        pairs.map(|(sender, receiver)| Pair { sender, receiver })
    }

    /// Whether its pairs meet at agents, without an end of the controller's.
    pub fn is_of_agents(&self) -> bool {
        self.pairs().next().is_some_and(|pair| is_at_agents(&pair))
    }

    /// The background load; the first where there are several.
    pub fn background(&self) -> Option<&EndSpec> {
        self.ends_of(Role::Background).next()
    }

    /// Place of the first end of a role; where there is none, of one that is placed nowhere.
    pub fn place(&self, role: Role) -> &Placement {
        self.ends_of(role).next().map_or(&ends::ANYWHERE, |end| &end.place)
    }

    /// The first end of a role, to be changed before the trial is run.
    pub fn end_mut(&mut self, role: Role) -> Option<&mut EndSpec> {
        self.ends.iter_mut().find(|end| end.role == role)
    }

    /// The end on the controller's host that is measured; the first where there are several.
    pub fn controllers(&self) -> Option<&EndSpec> {
        self.ends
            .iter()
            .filter(|end| end.role != Role::Background)
            .find(|end| end.host == EndHost::Controller)
    }

    /// The interface of an agent's host that the frames go to or come from, where its owner is to
    /// lend it.
    pub fn lent(&self) -> Option<&str> {
        self.controllers()?.bind.as_ref()?.lent.as_deref()
    }

    /// CPUs that the interrupts of the controller's NIC are sent to while measuring.
    pub fn irq(&self) -> Option<&CpuList> {
        self.controllers()?.irq.as_ref()
    }

    /// What the id is a hash of.
    pub fn identity(&self) -> Identity<'_> {
        Identity(self)
    }

    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }
}

fn is_at_agents(pair: &Pair<'_>) -> bool {
    pair.sender.host != EndHost::Controller && pair.receiver.host != EndHost::Controller
}
