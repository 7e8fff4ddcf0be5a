//! What each resource of a server allows one kind of traffic, on one of its processors: one file a
//! resource.

pub(crate) mod between;
mod cpu;
mod credits;
mod detours;
mod memory;
mod nic;
mod pcie;
mod wire;

pub(crate) use cpu::CORE_HALF;

use crate::engine::Predictor;
use crate::said::Known;
use crate::traffic::Traffic;
use narrows_model::result::{Provenance, ResourceName, Unstated};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

/// How far apart wire and CPUs have to be until the higher of the two no longer shows: the larger,
/// the nearer. With 5 the even populations of LP1241 (94.1 Gb/s of wire at MTU 1500, four streams)
/// come out within 2 % of their median.
const TOGETHER: f64 = 5.0;

/// NICs on one processor, and the memory that their work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The processor that they hang on.
    pub socket: usize,
    /// NICs that hang on it.
    pub nics: usize,
    /// The processor that works.
    pub work: usize,
}

/// In words, as programs have read it so far.
fn told<S: Serializer>(from: &Provenance, to: S) -> Result<S::Ok, S::Error> {
    match from {
        // Programs read these two words.
        Provenance::Read(_) => to.serialize_str("read here"),
        Provenance::Given(_) => to.serialize_str("said"),
        other => to.collect_str(other),
    }
}

/// Letters and words of the arithmetic that are explained where they are shown.
pub mod symbols {
    /// Share of the memory's peak that a copy reaches.
    pub const ETA: &str = "eta";
    /// Memory bytes a payload byte.
    pub const M: &str = "m";
    /// One way of what a round trip goes twice.
    pub const ONE_WAY: &str = "one way";
    /// How wire and CPUs combine.
    pub const P: &str = "p";
}

/// A number in a resource's arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parameter {
    /// As the arithmetic calls it: `eta`, `m`, `MTU`.
    pub name: &'static str,
    /// The value, in `unit`.
    pub value: f64,
    /// Empty for shares and counts.
    pub unit: &'static str,
    #[serde(serialize_with = "told")]
    #[schemars(with = "String")]
    pub from: Provenance,
}

/// What one resource allows, in the unit of the path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Resource {
    pub name: ResourceName,
    pub value: f64,
    /// Lower end of its 80 % range.
    pub low: f64,
    /// Upper end of its 80 % range.
    pub high: f64,
    pub says: String,
    /// What has to be so for it to hold the path back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<String>,
    pub parameters: Vec<Parameter>,
}

/// What is missing for a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "Unstated")]
#[schemars(with = "String")]
pub struct Gap {
    /// The resource whose ceiling nobody can state.
    pub of: ResourceName,
    /// What is missing, and how to say it.
    pub why: String,
}

impl Gap {
    pub(crate) fn new(of: ResourceName, why: impl Into<String>) -> Self {
        Self { of, why: why.into() }
    }
}

impl From<Gap> for Unstated {
    fn from(gap: Gap) -> Self {
        Self { resource: gap.of.into(), why: gap.why }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.of, self.why)
    }
}

/// A resource, or what is missing for it.
pub type Stated = Result<Resource, Gap>;

impl Predictor {
    /// NICs by processor.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for socket in &self.server.nics {
            match groups.iter_mut().find(|group| group.socket == *socket) {
                Some(group) => group.nics += 1,
                None => groups.push(Group {
                    socket: *socket,
                    nics: 1,
                    work: self.server.work.unwrap_or(*socket),
                }),
            }
        }
        groups
    }

    /// All resources that traffic uses through a group.
    pub fn resources(&self, traffic: Traffic, group: &Group, sets: &[Vec<usize>]) -> Vec<Stated> {
        let mut all = vec![self.wire(traffic, group), self.cpu(traffic, group)];
        if traffic.is_kernel() {
            self.near_each_other(traffic, &mut all);
            all.extend(self.one_stream(traffic, group).map(Ok));
        }
        all.extend(self.slots(traffic, group));
        all.extend(
            self.server
                .uplink
                .as_ref()
                .map(|uplink| Ok(self.bus(ResourceName::Chipset, traffic, uplink, 1))),
        );
        if traffic != Traffic::Packets {
            all.push(self.memory(traffic, group, sets));
        }
        let (memory, _) = self.used(group, sets);
        if memory != group.socket && traffic != Traffic::Packets {
            all.push(self.between(traffic));
        }
        all.push(self.engine(traffic, group));
        all.extend(self.device_writes(traffic, group).filter(|_| traffic != Traffic::Packets));
        all
    }

    /// All resources that traffic uses between two ends on this host.
    pub fn resources_inside(&self, traffic: Traffic) -> Vec<Stated> {
        let mut all = vec![self.cpu_inside(traffic), self.memory_inside()];
        let why =
            format!("there is none on a path inside the host (MTU {} B)", self.server.mtu.value);
        all.push(Err(Gap::new(ResourceName::Wire, why)));
        all
    }

    /// What wire and CPUs carry together: neither is kept busy all the time by the other once the
    /// two are close, so the lower one gets less than it could alone.
    fn near_each_other(&self, traffic: Traffic, all: &mut [Stated]) {
        if self.reached(traffic).is_some() {
            return;
        }
        let [Ok(wire), Ok(cpu)] = all else { return };
        let (lower, other) = if wire.value <= cpu.value { (wire, cpu) } else { (cpu, wire) };
        let value = together(lower.value, other.value);
        let share = value / lower.value;
        if share > 0.9995 {
            return;
        }
        let least = together(lower.low, other.low.max(lower.low)) / lower.low;
        lower.low = (lower.low * least).min(value);
        lower.value = value;
        lower.says += &format!("; {} is near, which leaves {share:.3} of it", other.name);
        lower.parameters.push(of(
            symbols::P,
            TOGETHER,
            "",
            &Provenance::Fitted("LP1241's even populations at 100 GbE".to_owned()),
        ));
    }

    /// Gb/s that a port and the CPUs behind it carry.
    pub fn port_gbps(&self, traffic: Traffic, group: &Group) -> Option<f64> {
        let mut all = [self.wire(traffic, group), self.cpu(traffic, group)];
        self.near_each_other(traffic, &mut all);
        let least = all.iter().flatten().map(|one| one.value).reduce(f64::min);
        all[0].is_ok().then_some(least).flatten()
    }

    /// Gb/s of the CPUs behind the first group of NICs, if the wire were far away.
    pub fn cpu_alone(&self, traffic: Traffic) -> Option<f64> {
        let group = self.groups().into_iter().next()?;
        self.cpu(traffic, &group).ok().map(|cpu| cpu.value)
    }

    /// Ports of a group: with a slot on every processor, they share one.
    fn ports(&self, group: &Group) -> f64 {
        group.nics as f64
            / if self.server.direct { self.server.nics.len().max(1) as f64 } else { 1.0 }
    }
}

fn ends(half: f64) -> (f64, f64) {
    ((-half).exp(), half.exp())
}

fn resource(name: ResourceName, value: f64, range: (f64, f64), says: String) -> Resource {
    let (low, high) = (value * range.0, value * range.1);
    Resource { name, value, low, high, says, only_if: None, parameters: Vec::new() }
}

impl Resource {
    fn with(mut self, parameters: Vec<Parameter>) -> Self {
        self.parameters = parameters;
        self
    }
}

pub(crate) fn parameter(name: &'static str, unit: &'static str, known: &Known) -> Parameter {
    of(name, known.value, unit, &known.from)
}

fn of(name: &'static str, value: f64, unit: &'static str, from: &Provenance) -> Parameter {
    Parameter { name, value, unit, from: from.clone() }
}

fn assumed(why: &str) -> Provenance {
    Provenance::Assumed(why.to_owned())
}

/// What two resources in turn carry, of which each could carry so much alone: the lower one while
/// they are far apart.
fn together(one: f64, other: f64) -> f64 {
    (one.powf(-TOGETHER) + other.powf(-TOGETHER)).powf(-1.0 / TOGETHER)
}

/// What one of two resources carries alone, which give so much together with the other.
pub fn apart(both: f64, other: f64) -> f64 {
    (both.powf(-TOGETHER) - other.powf(-TOGETHER)).powf(-1.0 / TOGETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_apart_the_lower_is_all_and_close_by_it_is_less() {
        assert!((together(10.0, 100.0) / 10.0 - 1.0).abs() < 1e-4);
        assert!((together(50.0, 50.0) - 50.0 * 0.5f64.powf(1.0 / TOGETHER)).abs() < 1e-9);
        assert_eq!(together(30.0, 40.0), together(40.0, 30.0));
        assert!((apart(together(30.0, 40.0), 40.0) - 30.0).abs() < 1e-9);
    }
}
