//! The ends of a trial: who takes part, on which host, and where there.

use crate::Bytes;
use crate::load::{Bind, Binding, CpuList, Role};
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an end's threads and buffers are on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// CPUs of its threads; empty: not pinned.
    #[serde(skip_serializing_if = "CpuList::is_empty")]
    pub cpus: CpuList,
    /// How its threads are bound to those.
    #[serde(skip_serializing_if = "Binding::is_each")]
    pub binding: Binding,
    /// Node of its buffers; `None` leaves it to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

/// Nowhere in particular.
pub(super) static ANYWHERE: Placement =
    Placement { cpus: CpuList(Vec::new()), binding: Binding::Each, node: None };

impl Placement {
    /// On these CPUs, one each thread.
    pub fn on(cpus: impl Into<Vec<u32>>) -> Self {
        Self { cpus: CpuList(cpus.into()), ..Self::default() }
    }

    /// The CPUs that so many threads are bound to: one each, in turn, or all of them.
    pub fn taken(&self, threads: u32) -> &[u32] {
        let each = (threads as usize).min(self.cpus.0.len());
        if self.binding.is_each() { &self.cpus.0[..each] } else { &self.cpus.0 }
    }

    /// Whether the scheduler may move the end's threads between CPUs: it keeps two busy ones apart.
    pub fn is_free(&self) -> bool {
        !self.binding.is_each() && self.cpus.0.len() > 1
    }
}

/// The host that an end runs on.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EndHost {
    /// The host that the controller runs on.
    #[default]
    Controller,
    /// That of the study's peer of this number, from 0. In a study without peers it is the
    /// controller's too, in the second of its namespaces where it has two.
    Peer(u32),
}

/// What an end does that loads its host's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryLoad {
    pub kind: Workload,
    /// How many threads run it.
    pub threads: u32,
    /// Working set over all threads.
    pub working_set_bytes: Bytes,
}

/// One end of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSpec {
    pub role: Role,
    #[serde(default)]
    pub host: EndHost,
    /// Its CPUs and memory there.
    #[serde(default)]
    pub place: Placement,
    /// CPUs that the interrupts of its host's NIC are sent to while measuring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<CpuList>,
    /// The container that it runs in, when not on the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Where its packets leave from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<Bind>,
    /// What a background load does; `None` for those that run the trial's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MemoryLoad>,
}

impl EndSpec {
    /// An end of the trial's workload.
    pub fn of(role: Role, host: EndHost, place: Placement) -> Self {
        Self { role, host, place, irq: None, container: None, bind: None, load: None }
    }

    /// The only end of a memory trial.
    pub fn of_memory(place: Placement) -> Vec<Self> {
        vec![Self::of(Role::Receiver, EndHost::Controller, place)]
    }

    /// Two ends: the controller's, which connects, and the other, which listens. In reverse the
    /// controller's receives.
    pub fn pair(receiver: Placement, sender: Placement, reverse: bool) -> Vec<Self> {
        let (near, far) = (EndHost::Controller, EndHost::Peer(0));
        let (receives, sends) = if reverse { (near, far) } else { (far, near) };
        vec![Self::of(Role::Receiver, receives, receiver), Self::of(Role::Sender, sends, sender)]
    }

    /// Two ends that may run on any CPUs of their hosts.
    pub fn anywhere(reverse: bool) -> Vec<Self> {
        Self::pair(Placement::default(), Placement::default(), reverse)
    }

    /// A background load on the controller's host.
    pub fn background(load: MemoryLoad, place: Placement) -> Self {
        let load = Some(load);
        Self { load, ..Self::of(Role::Background, EndHost::Controller, place) }
    }
}
