//! On which nodes a run's two ends are, relative to the NIC between them: what a placement study
//! varies.

use crate::host::Host;
use crate::load::Role;
use crate::trial::{EndHost, EndSpec, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Nodes of one end; `None` is left to the kernel, or is not known.
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
pub struct EndNodes {
    /// Node of the CPUs that its threads are bound to.
    pub process: Option<u32>,
    /// Node that the buffers of its messages are taken from.
    pub memory: Option<u32>,
    /// Node of the CPUs that the NIC's interrupts are sent to for the run.
    pub interrupts: Option<u32>,
}

/// Nodes of both ends, and the NIC of this host that they meet over.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Seating {
    /// Interface of the controller's host, where one was chosen.
    pub nic: Option<String>,
    /// The end on the controller's host.
    pub here: EndNodes,
    /// The other end, at the peer or in this host's second namespace.
    pub there: EndNodes,
    /// Whether the scheduler may move each thread within its node.
    pub floating: bool,
}

/// One thing that a placement can vary.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Where the threads of this host's end run.
    ProcessHere,
    /// Where the buffers of this host's end are.
    MemoryHere,
    /// Where this host's NIC sends its interrupts.
    InterruptsHere,
    /// Where the threads of the other end run.
    ProcessThere,
    /// Where the buffers of the other end are.
    MemoryThere,
    /// Where the other host's NIC sends its interrupts.
    InterruptsThere,
}

impl Axis {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::ProcessHere,
        Self::MemoryHere,
        Self::InterruptsHere,
        Self::ProcessThere,
        Self::MemoryThere,
        Self::InterruptsThere,
    ];

    /// Whether it is of the controller's host.
    pub fn is_here(self) -> bool {
        matches!(self, Self::ProcessHere | Self::MemoryHere | Self::InterruptsHere)
    }

    /// What is moved, in words.
    pub fn says(self) -> &'static str {
        match self {
            Self::ProcessHere => "process here",
            Self::MemoryHere => "memory here",
            Self::InterruptsHere => "interrupts here",
            Self::ProcessThere => "process at the peer",
            Self::MemoryThere => "memory at the peer",
            Self::InterruptsThere => "interrupts at the peer",
        }
    }
}

impl Seating {
    /// The node along an axis.
    pub fn node(&self, axis: Axis) -> Option<u32> {
        match axis {
            Axis::ProcessHere => self.here.process,
            Axis::MemoryHere => self.here.memory,
            Axis::InterruptsHere => self.here.interrupts,
            Axis::ProcessThere => self.there.process,
            Axis::MemoryThere => self.there.memory,
            Axis::InterruptsThere => self.there.interrupts,
        }
    }

    /// The same with another node along an axis.
    #[must_use]
    pub fn with(&self, axis: Axis, node: Option<u32>) -> Self {
        let mut moved = self.clone();
        let place = match axis {
            Axis::ProcessHere => &mut moved.here.process,
            Axis::MemoryHere => &mut moved.here.memory,
            Axis::InterruptsHere => &mut moved.here.interrupts,
            Axis::ProcessThere => &mut moved.there.process,
            Axis::MemoryThere => &mut moved.there.memory,
            Axis::InterruptsThere => &mut moved.there.interrupts,
        };
        *place = node;
        moved
    }

    /// Where a trial's two ends are; `None` for what has no end on this host, where an end is bound
    /// to no node, and where several NICs are used at once.
    pub fn of(trial: &Trial, here: &Host, there: &Host) -> Option<Self> {
        let mut ends = trial.ends.iter().filter(|end| end.role != Role::Background);
        let own = ends.clone().filter(|end| end.host == EndHost::Controller);
        let nics: BTreeSet<_> = own.filter_map(|end| end.bind.as_ref()?.device.as_ref()).collect();
        if nics.len() > 1 {
            return None;
        }
        let (first, second) = (ends.next()?, ends.next()?);
        let (near, far) = match (first.host, second.host) {
            (EndHost::Controller, EndHost::Peer(_)) => (first, second),
            (EndHost::Peer(_), EndHost::Controller) => (second, first),
            _ => return None,
        };
        let (here, there) = (EndNodes::of(near, here), EndNodes::of(far, there));
        there.process.and(here.process)?;
        let nic = near.bind.as_ref().and_then(|bind| bind.device.clone());
        let floating = !near.place.binding.is_each();
        Some(Self { nic, here, there, floating })
    }
}

impl EndNodes {
    fn of(end: &EndSpec, host: &Host) -> Self {
        Self {
            process: node_of(&end.place.cpus.0, host),
            memory: end.place.node,
            interrupts: end.irq.as_ref().and_then(|cpus| node_of(&cpus.0, host)),
        }
    }
}

/// The node that all of these CPUs are of.
fn node_of(cpus: &[u32], host: &Host) -> Option<u32> {
    let node = host.node_of_cpu(*cpus.first()?)?;
    cpus.iter().all(|cpu| host.node_of_cpu(*cpu) == Some(node)).then_some(node)
}

/// `node 0`, or with what lies elsewhere: `node 0, memory 1, irq 1`.
impl fmt::Display for EndNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(node) => write!(f, "node {node}")?,
            None => f.write_str("any node")?,
        }
        for (name, other) in [("memory", self.memory), ("irq", self.interrupts)] {
            if let Some(other) = other.filter(|other| Some(*other) != self.process) {
                write!(f, ", {name} {other}")?;
            }
        }
        Ok(())
    }
}

/// This host's end first: `node 0, memory 1 > node 0`, with the NIC where one was chosen, and
/// `floating` where threads are.
impl fmt::Display for Seating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nic) = &self.nic {
            write!(f, "{nic}: ")?;
        }
        write!(f, "{} > {}", self.here, self.there)?;
        if self.floating { f.write_str(", floating") } else { Ok(()) }
    }
}
