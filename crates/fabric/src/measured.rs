//! A mesh of pairs beside the plan: for each tier that a pair's traffic climbs to, what the fabric
//! should carry and what it carries.
//!
//! Hosts are taken to fill the leaves in the order of the mesh, as many on each as the plan
//! spreads.

use crate::design::{Design, Shape};
use crate::hashing::Carried;
use crate::planned::Planned;
use narrows_model::BitsPerSecond;
use serde::Serialize;

/// How far up a pair's traffic goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Climb {
    /// Both hosts are on one leaf.
    Leaf,
    /// To a spine of leaf and spine, to an aggregation switch within a pod, or to another leaf of a
    /// dragonfly's group.
    Middle,
    /// To a spine above the pods, or to another group.
    Top,
}

/// A plan in JSON: with a mesh there is one key more.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WithMesh<'a> {
    #[serde(flatten)]
    pub plan: &'a Planned,
    /// What a mesh measured of it, by tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<&'a [Tiered]>,
}

/// One pair of hosts, by their places in the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPair {
    /// The host that sent.
    pub from: u32,
    /// The host that received.
    pub to: u32,
    /// Its rate among all pairs of its round; `None` where it failed.
    pub together: Option<BitsPerSecond>,
    /// Its rate by itself; `None` where others always ran beside it, or it failed.
    pub alone: Option<BitsPerSecond>,
}

/// All pairs of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tiered {
    /// How high the traffic of these pairs climbs.
    pub climb: Climb,
    /// Pairs that were tried.
    pub pairs: usize,
    /// Pairs without a figure.
    pub failed: usize,
    /// Share of a host's rate that a pair by itself should have: 1 on every tier.
    pub should_alone: f64,
    /// The same with all hosts at once; `None` where hashing was not simulated.
    pub should_together: Option<f64>,
    /// Pairs that ran by themselves: those that a mesh looks at again, and no others.
    pub alone_pairs: usize,
    /// Median share of those pairs by themselves.
    pub alone: Option<f64>,
    /// Lowest share of a pair by itself.
    pub worst_alone: Option<f64>,
    /// Median share among all of a round.
    pub together: Option<f64>,
    /// Lowest share among all of a round.
    pub worst_together: Option<f64>,
}

/// The mesh by tiers; `None` where it has more hosts than the plan.
pub fn by_tier(
    design: &Design,
    hashed: Option<&Carried>,
    pairs: &[MeasuredPair],
) -> Option<Vec<Tiered>> {
    let is_known = |host: u32| host < design.hosts;
    if !pairs.iter().all(|pair| is_known(pair.from) && is_known(pair.to)) {
        return None;
    }
    let of = |climb: Climb| {
        let own: Vec<&MeasuredPair> =
            pairs.iter().filter(|pair| self::climb(design, pair.from, pair.to) == climb).collect();
        (!own.is_empty()).then(|| tiered(design, hashed, climb, &own))
    };
    Some([Climb::Leaf, Climb::Middle, Climb::Top].into_iter().filter_map(of).collect())
}

/// How far up traffic between two hosts goes.
pub fn climb(design: &Design, from: u32, to: u32) -> Climb {
    let leaf = |host: u32| host / design.leaf_hosts.max(1);
    let pod_leaves = match design.shape {
        Shape::FatTree { pod_leaves, .. } => pod_leaves.max(1),
        Shape::Dragonfly(sizes) => sizes.switches,
        Shape::Single | Shape::LeafSpine { .. } => u32::MAX,
    };
    match (leaf(from) == leaf(to), leaf(from) / pod_leaves == leaf(to) / pod_leaves) {
        (true, _) => Climb::Leaf,
        (false, true) => Climb::Middle,
        (false, false) => Climb::Top,
    }
}

fn tiered(
    design: &Design,
    hashed: Option<&Carried>,
    climb: Climb,
    pairs: &[&MeasuredPair],
) -> Tiered {
    let shares = |of: fn(&MeasuredPair) -> Option<BitsPerSecond>| {
        let rates = pairs.iter().filter_map(|pair| of(pair));
        let mut shares: Vec<f64> =
            rates.map(|rate| rate.0 / design.rate_bits_per_second.0).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let (alone, together) = (shares(|pair| pair.alone), shares(|pair| pair.together));
    Tiered {
        climb,
        pairs: pairs.len(),
        failed: pairs.len() - together.len(),
        alone_pairs: alone.len(),
        should_alone: 1.0,
        should_together: match climb {
            Climb::Leaf => Some(1.0),
            Climb::Middle | Climb::Top => hashed.map(|hashed| hashed.mean_share),
        },
        worst_alone: alone.first().copied(),
        alone: middle(&alone),
        together: middle(&together),
        worst_together: together.first().copied(),
    }
}

/// The median of what is sorted.
fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => Some((sorted.get(half.checked_sub(1)?)? + sorted.get(half)?) / 2.0),
        _ => sorted.get(half).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Switch;
    use crate::design::Asked;

    fn design(hosts: u32, tiers: u8) -> Design {
        let rate = BitsPerSecond(10e9);
        let asked = Asked { hosts, rate, uplink_rate: None, oversubscription: 1.0 };
        let four = Switch::of_radix(4, rate).expect("a switch");
        Design::of(&asked, &four, &four, Some(tiers)).expect("a design")
    }

    /// A pair that has 1 Gb/s less among others than by itself.
    fn pair(from: u32, to: u32, gbps: f64) -> MeasuredPair {
        let rate = |gbps: f64| Some(BitsPerSecond(gbps * 1e9));
        MeasuredPair { from, to, together: rate(gbps - 1.0), alone: rate(gbps) }
    }

    #[test]
    fn pairs_climb_as_far_as_they_must() {
        // Radix 4: two hosts a leaf, two leaves a pod.
        let fat = design(16, 3);
        assert_eq!(fat.leaf_hosts, 2);
        for (to, want) in
            [(1, Climb::Leaf), (2, Climb::Middle), (3, Climb::Middle), (4, Climb::Top)]
        {
            assert_eq!(climb(&fat, 0, to), want, "{to}");
            assert_eq!(climb(&fat, to, 0), want, "{to}");
        }
        assert_eq!(climb(&design(8, 2), 0, 7), Climb::Middle);
    }

    #[test]
    fn a_slow_uplink_shows_in_its_tier_alone() {
        let plan = design(8, 2);
        let pairs = [pair(0, 1, 9.4), pair(2, 3, 9.2), pair(0, 2, 9.4), pair(4, 1, 2.0)];
        let failed = MeasuredPair { together: None, alone: None, ..pair(6, 0, 1.0) };
        let all: Vec<MeasuredPair> = pairs.into_iter().chain([failed]).collect();
        let tiers = by_tier(&plan, None, &all).expect("tiers");
        let seen: Vec<(Climb, usize, usize)> =
            tiers.iter().map(|tier| (tier.climb, tier.pairs, tier.failed)).collect();
        assert_eq!(seen, [(Climb::Leaf, 2, 0), (Climb::Middle, 3, 1)]);
        assert!((tiers[0].alone.expect("a share") - 0.93).abs() < 1e-12);
        assert!((tiers[1].worst_alone.expect("a share") - 0.2).abs() < 1e-12);
        assert!((tiers[0].together.expect("a share") - 0.83).abs() < 1e-12);
        assert!((tiers[1].worst_together.expect("a share") - 0.1).abs() < 1e-12);
        assert_eq!((tiers[0].alone_pairs, tiers[1].alone_pairs), (2, 2));
        assert_eq!((tiers[0].should_together, tiers[1].should_together), (Some(1.0), None));
        assert_eq!(by_tier(&plan, None, &[pair(0, 8, 1.0)]), None);
        assert_eq!(by_tier(&plan, None, &[pair(0, 1, 9.4), pair(0, 8, 1.0)]), None, "one of two");
    }

    #[test]
    fn a_tier_has_its_median_and_its_worst_beside_what_it_should() {
        let plan = design(16, 3);
        let hashed = Carried {
            mean_share: 0.55,
            p01_share: 0.2,
            range_share: (0.5, 0.6),
            rounds: 3,
            flows: 1,
            seed: 1,
        };
        let shared = |pair: MeasuredPair| MeasuredPair { alone: None, ..pair };
        let pairs = [
            pair(0, 1, 9.0),
            pair(0, 4, 7.0),
            pair(4, 0, 9.0),
            pair(8, 15, 8.0),
            shared(pair(1, 5, 5.0)),
            pair(2, 0, 6.0),
        ];
        let tiers = by_tier(&plan, Some(&hashed), &pairs).expect("tiers");
        let climbs: Vec<Climb> = tiers.iter().map(|tier| tier.climb).collect();
        assert_eq!(climbs, [Climb::Leaf, Climb::Middle, Climb::Top]);
        let should: Vec<(f64, Option<f64>)> =
            tiers.iter().map(|tier| (tier.should_alone, tier.should_together)).collect();
        assert_eq!(should, [(1.0, Some(1.0)), (1.0, Some(0.55)), (1.0, Some(0.55))]);
        let top = &tiers[2];
        assert_eq!((top.pairs, top.failed, top.alone_pairs), (4, 0, 3));
        assert_eq!((top.worst_alone, top.alone), (Some(0.7), Some(0.8)));
        let middle_of_four = top.together.expect("four");
        assert!((middle_of_four - 0.65).abs() < 1e-12, "6 and 7 of 4 to 8: {middle_of_four}");
        assert_eq!(top.worst_together, Some(0.4));
        let middles = [&[][..], &[1.0], &[1.0, 3.0], &[1.0, 2.0, 9.0]].map(middle);
        assert_eq!(middles, [None, Some(1.0), Some(2.0), Some(2.0)]);
        assert_eq!(by_tier(&plan, None, &[]), Some(Vec::new()));
        assert_eq!(by_tier(&plan, None, &[pair(16, 0, 1.0)]), None, "hosts are 0 to 15");
    }

    #[test]
    fn groups_of_a_dragonfly_are_below_the_top() {
        let rate = BitsPerSecond(10e9);
        let asked = Asked { hosts: 72, rate, uplink_rate: None, oversubscription: 1.0 };
        let switch = Switch::of_radix(7, rate).expect("a switch");
        let plan = crate::design::dragonfly(&asked, &switch).expect("a dragonfly");
        // Two hosts a leaf, eight a group.
        let of = [1, 2, 7, 8].map(|to| climb(&plan, 0, to));
        assert_eq!(of, [Climb::Leaf, Climb::Middle, Climb::Middle, Climb::Top]);
    }
}
