//! What each resource of a server allows one kind of traffic, on one of its processors: one file a
//! resource.

mod between;
mod cpu;
mod memory;
mod nic;
mod pcie;
mod wire;

use crate::reach::{Parameter, Resource};
use crate::server::{Known, Server};
use crate::traffic::Traffic;

/// NICs on one processor, and the memory that their work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The processor that they hang on.
    pub socket: usize,
    /// How many.
    pub nics: usize,
    /// The processor that works.
    pub work: usize,
}

/// A resource, or what is missing for it.
pub type Stated = Result<Resource, String>;

impl Server {
    /// NICs by processor.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for socket in &self.nics {
            match groups.iter_mut().find(|group| group.socket == *socket) {
                Some(group) => group.nics += 1,
                None => groups.push(Group {
                    socket: *socket,
                    nics: 1,
                    work: self.work.unwrap_or(*socket),
                }),
            }
        }
        groups
    }

    /// All resources that traffic uses through a group.
    pub fn resources(&self, traffic: Traffic, group: &Group, sets: &[Vec<usize>]) -> Vec<Stated> {
        let mut all = vec![Ok(self.wire(traffic, group))];
        all.extend(self.slots(traffic, group));
        all.extend(self.uplink.as_ref().map(|uplink| Ok(self.bus("chipset", traffic, uplink, 1))));
        if traffic != Traffic::Packets {
            all.push(self.memory(traffic, group, sets));
        }
        let (memory, _) = self.used(group, sets);
        if memory != group.socket && traffic != Traffic::Packets {
            all.push(self.between(traffic));
        }
        all.push(self.cpu(traffic, group));
        all.push(self.engine(traffic, group));
        all
    }

    /// Ports of a group: with a slot on every processor, they share one.
    fn ports(&self, group: &Group) -> f64 {
        group.nics as f64 / if self.direct { self.nics.len().max(1) as f64 } else { 1.0 }
    }
}

fn ends(half: f64) -> (f64, f64) {
    ((-half).exp(), half.exp())
}

fn resource(name: &'static str, value: f64, range: (f64, f64), says: String) -> Resource {
    let (low, high) = (value * range.0, value * range.1);
    Resource { name, value, low, high, says, only_if: None, parameters: Vec::new() }
}

impl Resource {
    fn with(mut self, parameters: Vec<Parameter>) -> Self {
        self.parameters = parameters;
        self
    }
}

fn parameter(name: &'static str, unit: &'static str, known: &Known) -> Parameter {
    of(name, known.value, unit, &known.from)
}

fn of(name: &'static str, value: f64, unit: &'static str, from: &str) -> Parameter {
    Parameter { name, value, unit, from: from.to_owned() }
}
