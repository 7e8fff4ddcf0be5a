//! Fabrics of one, two and three tiers.

use crate::FabricError;
use crate::catalogue::Switch;
use crate::dragonfly::Dragonfly;
use crate::leaf::{Leaf, Wanted};
use narrows_model::BitsPerSecond;
use serde::Serialize;

/// What a fabric is planned for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Hosts, one port each.
    pub hosts: u32,
    /// Rate of a host's port.
    pub rate: BitsPerSecond,
    /// Rate of an uplink; without it that of the leaf's ports as they are.
    pub uplink_rate: Option<BitsPerSecond>,
    /// Most rate of hosts for each of the uplinks; 1 is non-blocking on paper.
    pub oversubscription: f64,
}

/// What a tier of switches is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Hosts are connected here.
    Leaf,
    /// Inside a pod, between leaves and the spine.
    Aggregation,
    /// The highest tier.
    Spine,
    /// Other leaves of the same group of a dragonfly: cables lead there.
    Group,
    /// Leaves of other groups of a dragonfly: cables lead there.
    OtherGroups,
}

/// Switches of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierSwitches {
    pub tier: Tier,
    /// The switches' model, as the catalogue names it.
    pub switch: String,
    pub count: u32,
    /// Links of one of them: all that a full leaf has, of the others the most that any has.
    pub links: u32,
    /// Links of these rates that one of them has ports for.
    pub ports: u32,
}

/// Cables between two tiers, or from hosts to leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cables {
    /// The tier that they lead up to.
    pub to: Tier,
    /// How many links there are; two ends each.
    pub count: u64,
    /// Rate of one.
    pub rate_bits_per_second: BitsPerSecond,
}

/// How a leaf's uplinks reach the other leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub enum Shape {
    /// One switch that every host hangs on.
    Single,
    /// Every leaf has as many links to every spine.
    LeafSpine {
        /// Spines of which each has links from every leaf.
        spines: u32,
        /// Links between a leaf and a spine.
        links: u32,
    },
    /// Pods of leaves and aggregation switches below a spine (a k-ary fat tree when full).
    FatTree {
        /// Groups of leaves that have aggregation switches of their own.
        pods: u32,
        /// Leaves of a pod, in the last maybe fewer.
        pod_leaves: u32,
        /// Aggregation switches of a pod.
        aggregations: u32,
        /// Links between a leaf and an aggregation switch.
        links: u32,
        /// Spines that an aggregation switch has links to.
        spines: u32,
        /// Links between an aggregation switch and a spine.
        spine_links: u32,
    },
    /// Groups of leaves without a tier above.
    Dragonfly(Dragonfly),
}

/// A fabric as it would be built.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Design {
    /// Hosts that it was planned for.
    pub hosts: u32,
    /// Rate of a host's port.
    pub rate_bits_per_second: BitsPerSecond,
    /// Rate of an uplink; of one switch that of its hosts.
    pub uplink_rate_bits_per_second: BitsPerSecond,
    /// Tiers of switches, 1 to 3; of a dragonfly 1.
    pub tiers: u8,
    /// Switches that hosts hang on.
    pub leaves: u32,
    /// Hosts of a leaf, when they are spread evenly.
    pub leaf_hosts: u32,
    /// Ports for hosts that a leaf has.
    pub leaf_host_ports: u32,
    /// Uplinks of a leaf, in a dragonfly those to other groups; 0 of one switch.
    pub leaf_uplinks: u32,
    /// How it is cabled above the leaves.
    pub shape: Shape,
    /// Switches by tier, from the hosts up.
    pub parts: Vec<TierSwitches>,
    /// Links by the tier that they lead to, from the hosts up.
    pub cables: Vec<Cables>,
    /// Most hosts that the same leaves and spines reach in as many tiers.
    pub most_hosts: u64,
}

impl Design {
    /// The fabric with the fewest tiers, or with so many.
    pub fn of(
        asked: &Asked,
        leaf: &Switch,
        spine: &Switch,
        tiers: Option<u8>,
    ) -> Result<Self, FabricError> {
        asked.check()?;
        let all = match tiers {
            None => 1..=3,
            Some(tiers @ 1..=3) => tiers..=tiers,
            Some(tiers) => return Err(FabricError::Tiers(tiers)),
        };
        let mut wrong = FabricError::NoUplinks(asked.oversubscription);
        for tiers in all {
            match of_tiers(asked, leaf, spine, tiers) {
                Ok(design) => return Ok(design),
                Err(error) => wrong = error,
            }
        }
        Err(wrong)
    }

    /// Switches of all tiers.
    pub fn switches(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.count)).sum()
    }

    /// Switches that a frame passes between hosts of two leaves as far apart as any.
    pub fn hops(&self) -> u32 {
        match self.shape {
            Shape::Dragonfly(_) => 4,
            Shape::Single | Shape::LeafSpine { .. } | Shape::FatTree { .. } => {
                u32::from(self.tiers) * 2 - 1
            }
        }
    }

    /// Rate of a leaf's hosts over that of its uplinks, hosts spread evenly; `None` in one tier.
    pub fn oversubscription(&self) -> Option<f64> {
        let up = f64::from(self.leaf_uplinks) * self.uplink_rate_bits_per_second.0;
        let down = f64::from(self.leaf_hosts) * self.rate_bits_per_second.0;
        (self.leaf_uplinks > 0).then(|| down / up)
    }

    /// The share of their rate that all hosts have at once by design, to hosts of other leaves.
    pub fn share_on_paper(&self) -> f64 {
        if let Shape::Dragonfly(sizes) = self.shape {
            return sizes.share_on_paper(self.hosts);
        }
        self.oversubscription().map_or(1.0, |ratio| (1.0 / ratio).min(1.0))
    }

    /// What one half of the hosts can send to the other by design.
    pub fn bisection(&self) -> BitsPerSecond {
        if let Shape::Dragonfly(sizes) = self.shape {
            let hosts = sizes.bisection_hosts(self.hosts);
            return BitsPerSecond(hosts * self.rate_bits_per_second.0);
        }
        let half = f64::from(self.hosts / 2);
        BitsPerSecond(half * self.rate_bits_per_second.0 * self.share_on_paper())
    }
}

impl Asked {
    /// That it is a network as they are built.
    pub(crate) fn check(&self) -> Result<(), FabricError> {
        if !(2..=10_000_000).contains(&self.hosts) {
            return Err(FabricError::Hosts(self.hosts));
        }
        for rate in [Some(self.rate), self.uplink_rate].into_iter().flatten() {
            if !(10e6..=10e12).contains(&rate.0) {
                return Err(FabricError::Speed(rate.0));
            }
        }
        if (0.25..=100.0).contains(&self.oversubscription) {
            Ok(())
        } else {
            Err(FabricError::Oversubscription(self.oversubscription))
        }
    }
}

fn of_tiers(
    asked: &Asked,
    leaf: &Switch,
    spine: &Switch,
    tiers: u8,
) -> Result<Design, FabricError> {
    if leaf.radix(asked.rate) == 0 {
        return Err(FabricError::NoPorts(asked.rate, vec![leaf.name.clone()]));
    }
    if tiers == 1 {
        return one(asked, leaf);
    }
    let Asked { rate, uplink_rate, oversubscription, .. } = *asked;
    let divided = Leaf::of(leaf, Wanted { rate, uplink_rate, oversubscription })
        .ok_or(FabricError::NoUplinks(oversubscription))?;
    let above = Above { leaf: divided, spine_ports: spine.radix(divided.uplink_rate) };
    if above.spine_ports < 2 {
        return Err(FabricError::NoPorts(divided.uplink_rate, vec![spine.name.clone()]));
    }
    let most = above.most(tiers);
    if u64::from(asked.hosts) > most {
        return Err(FabricError::TooMany { hosts: asked.hosts, tiers, most });
    }
    Ok(if tiers == 2 { two(asked, leaf, spine, above) } else { three(asked, leaf, spine, above) })
}

fn one(asked: &Asked, leaf: &Switch) -> Result<Design, FabricError> {
    let ports = leaf.radix(asked.rate);
    if asked.hosts > ports {
        let most = u64::from(ports);
        return Err(FabricError::TooMany { hosts: asked.hosts, tiers: 1, most });
    }
    Ok(Design {
        hosts: asked.hosts,
        rate_bits_per_second: asked.rate,
        uplink_rate_bits_per_second: asked.rate,
        tiers: 1,
        leaves: 1,
        leaf_hosts: asked.hosts,
        leaf_host_ports: ports,
        leaf_uplinks: 0,
        shape: Shape::Single,
        parts: vec![TierSwitches {
            tier: Tier::Leaf,
            switch: leaf.name.clone(),
            count: 1,
            links: asked.hosts,
            ports,
        }],
        cables: vec![to_hosts(asked)],
        most_hosts: u64::from(ports),
    })
}

fn to_hosts(asked: &Asked) -> Cables {
    Cables { to: Tier::Leaf, count: asked.hosts.into(), rate_bits_per_second: asked.rate }
}

/// A leaf, and the switches above it.
#[derive(Clone, Copy)]
struct Above {
    leaf: Leaf,
    /// Ports of an upper switch at the rate of an uplink.
    spine_ports: u32,
}

impl Above {
    /// Most hosts in two or three tiers.
    fn most(self, tiers: u8) -> u64 {
        let below = u64::from(self.leaf.host_ports) * u64::from(self.spine_ports);
        if tiers == 2 { below } else { below * u64::from(self.spine_ports / 2) }
    }

    fn leaf_part(&self, switch: &Switch, count: u32) -> TierSwitches {
        let links = self.leaf.host_ports + self.leaf.uplinks;
        TierSwitches { tier: Tier::Leaf, switch: switch.name.clone(), count, links, ports: links }
    }

    fn upper_part(&self, tier: Tier, switch: &Switch, count: u32, links: u32) -> TierSwitches {
        TierSwitches { tier, switch: switch.name.clone(), count, links, ports: self.spine_ports }
    }

    fn cables(&self, to: Tier, count: u64) -> Cables {
        Cables { to, count, rate_bits_per_second: self.leaf.uplink_rate }
    }
}

/// The largest number that divides `all` and is no more than `most`, 1 at least.
fn divisor(all: u32, most: u32) -> u32 {
    (1..=most.min(all)).rev().find(|part| all.is_multiple_of(*part)).unwrap_or(1)
}

fn two(asked: &Asked, leaf: &Switch, spine: &Switch, above: Above) -> Design {
    let leaves = asked.hosts.div_ceil(above.leaf.host_ports).max(2);
    let links = divisor(above.leaf.uplinks, above.spine_ports / leaves);
    let spines = above.leaf.uplinks / links;
    let cables = u64::from(leaves) * u64::from(above.leaf.uplinks);
    Design {
        shape: Shape::LeafSpine { spines, links },
        parts: vec![
            above.leaf_part(leaf, leaves),
            above.upper_part(Tier::Spine, spine, spines, leaves * links),
        ],
        cables: vec![to_hosts(asked), above.cables(Tier::Spine, cables)],
        ..over_leaves(asked, above, leaves, 2)
    }
}

fn three(asked: &Asked, leaf: &Switch, spine: &Switch, above: Above) -> Design {
    let all_leaves = asked.hosts.div_ceil(above.leaf.host_ports);
    let half = above.spine_ports / 2;
    let pods = all_leaves.div_ceil(half).max(2);
    let pod_leaves = all_leaves.div_ceil(pods).max(1);
    let leaves = all_leaves.max(pods);
    let links = divisor(above.leaf.uplinks, half / pod_leaves);
    let aggregations = above.leaf.uplinks / links;
    // An aggregation switch sends up as many links as it has from below.
    let up = pod_leaves * links;
    let spine_links = divisor(up, above.spine_ports / pods);
    let spines = up / spine_links;
    let to_pods = u64::from(leaves) * u64::from(above.leaf.uplinks);
    let to_spines = u64::from(pods) * u64::from(aggregations) * u64::from(up);
    Design {
        shape: Shape::FatTree { pods, pod_leaves, aggregations, links, spines, spine_links },
        parts: vec![
            above.leaf_part(leaf, leaves),
            above.upper_part(Tier::Aggregation, spine, pods * aggregations, 2 * up),
            above.upper_part(Tier::Spine, spine, aggregations * spines, pods * spine_links),
        ],
        cables: vec![
            to_hosts(asked),
            above.cables(Tier::Aggregation, to_pods),
            above.cables(Tier::Spine, to_spines),
        ],
        ..over_leaves(asked, above, leaves, 3)
    }
}

/// What designs over leaves have in common.
fn over_leaves(asked: &Asked, above: Above, leaves: u32, tiers: u8) -> Design {
    Design {
        hosts: asked.hosts,
        rate_bits_per_second: asked.rate,
        uplink_rate_bits_per_second: above.leaf.uplink_rate,
        tiers,
        leaves,
        leaf_hosts: asked.hosts.div_ceil(leaves),
        leaf_host_ports: above.leaf.host_ports,
        leaf_uplinks: above.leaf.uplinks,
        shape: Shape::Single,
        parts: Vec::new(),
        cables: Vec::new(),
        most_hosts: above.most(tiers),
    }
}

mod grouped;

pub use grouped::dragonfly;

#[cfg(test)]
mod tests;
