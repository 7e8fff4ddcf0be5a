//! What a server should reach, today and after a change.
//!
//! Every kind of traffic asks something of every resource on its way; the lowest answer is what it
//! should reach, and its range is made of the lowest ends. What is not known is listed and not
//! guessed. The parameters are those of one fit (docs/predict.md) or, of a study, measured.

use crate::engine::Predictor;
use crate::resources::{Gap, Resource, Stated};
use crate::traffic::Traffic;
use narrows_model::result::ResourceName;
use schemars::JsonSchema;
use serde::Serialize;

/// What one path should reach.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reach {
    /// `tcp`, `rdma-write rocev2`.
    pub path: String,
    /// Of the figures: `Gb/s` of payload, `M packets/s`, `us` of a round trip.
    pub unit: &'static str,
    /// Whether the value is the sum of the resources', as of a round trip, and not their least.
    #[serde(skip)]
    pub is_sum: bool,
    pub value: f64,
    /// Lower end of the 80 % range.
    pub low: f64,
    /// Upper end of the 80 % range.
    pub high: f64,
    /// The resource with the lowest ceiling.
    #[serde(rename = "narrowest")]
    pub bottleneck: Option<ResourceName>,
    /// All, the bottleneck first, those with a condition last.
    pub resources: Vec<Resource>,
    /// Resources that cannot be stated, and what is missing for each.
    pub missing: Vec<Gap>,
}

impl Reach {
    /// What one resource allows, where that could be stated.
    pub fn value_of(&self, name: ResourceName) -> Option<f64> {
        self.resources.iter().find(|resource| resource.name == name).map(|resource| resource.value)
    }
}

impl Predictor {
    /// Between two ends on this host.
    pub(crate) fn inside(&self, traffic: Traffic) -> Reach {
        reach(traffic, self.resources_inside(traffic))
    }

    /// What each processor with a NIC, or with a slot of one, reaches where the others do nothing:
    /// all paths by processor. Work is on the processor itself, and a port with a slot on each has
    /// its whole rate. Empty where only one has a NIC.
    pub fn alone(&self) -> Vec<(usize, Vec<Reach>)> {
        let groups = self.groups();
        let several = groups.iter().filter(|_| groups.len() > 1);
        several
            .map(|group| {
                let mut one = self.clone();
                one.server.nics = vec![group.socket; group.nics];
                (one.server.direct, one.server.work) = (false, None);
                (group.socket, one.reaches())
            })
            .collect()
    }

    /// Paths of which the work's processor, where one is said, changes nothing.
    pub fn untouched_by_work(&self) -> Vec<String> {
        let Some(mut own) = self.server.work.map(|_| self.clone()) else { return Vec::new() };
        own.server.work = None;
        let (with, without) = (self.reaches(), own.reaches());
        let same = with.into_iter().filter(|reach| {
            let other = without.iter().find(|other| other.path == reach.path);
            other.is_some_and(|other| (reach.value / other.value - 1.0).abs() < 1e-9)
        });
        same.map(|reach| reach.path).collect()
    }

    /// One path; over several processors the sum of what each carries.
    pub fn reach(&self, traffic: Traffic) -> Option<Reach> {
        let sets = self.server.sets();
        let parts = self.groups().into_iter().map(|group| {
            let stated = self.resources(traffic, &group, &sets);
            reach(traffic, stated)
        });
        let parts: Vec<Reach> = parts.collect();
        // The bottleneck is that of the processor that is held back the most.
        let least = parts.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        let bottleneck = least.and_then(|part| part.bottleneck);
        parts.into_iter().reduce(join).map(|all| Reach { bottleneck, ..all })
    }
}

fn reach(traffic: Traffic, stated: Vec<Stated>) -> Reach {
    let (mut resources, mut missing) = (Vec::new(), Vec::new());
    for stated in stated {
        match stated {
            Ok(resource) => resources.push(resource),
            Err(gap) => missing.push(gap),
        }
    }
    sort(&mut resources);
    let binding = || resources.iter().filter(|resource| resource.only_if.is_none());
    let least = |of: fn(&Resource) -> f64| binding().map(of).fold(f64::INFINITY, f64::min);
    let (value, low, high) = (least(|r| r.value), least(|r| r.low), least(|r| r.high));
    let bottleneck = binding().next().map(|resource| resource.name);
    Reach {
        path: traffic.name(),
        unit: traffic.unit(),
        is_sum: false,
        value,
        low,
        high,
        bottleneck,
        resources,
        missing,
    }
}

fn sort(resources: &mut [Resource]) {
    resources.sort_by(|a, b| {
        a.only_if.is_some().cmp(&b.only_if.is_some()).then(a.value.total_cmp(&b.value))
    });
}

/// Two processors' parts of one path: what they carry together.
fn join(mut one: Reach, other: Reach) -> Reach {
    one.value += other.value;
    one.low += other.low;
    one.high += other.high;
    for more in other.resources {
        match one.resources.iter_mut().find(|resource| resource.name == more.name) {
            Some(resource) => {
                resource.value += more.value;
                resource.low += more.low;
                resource.high += more.high;
                if resource.says != more.says {
                    resource.says = format!("{} and {}", resource.says, more.says);
                }
            }
            None => one.resources.push(more),
        }
    }
    sort(&mut one.resources);
    one.missing.extend(other.missing);
    one.missing.dedup();
    one
}
