//! The fabrics that so many hosts can have of some models of switches, the smallest first, and
//! where one kind of fabric ends and the next begins.

use crate::FabricError;
use crate::catalogue::{Switch, names};
use crate::design::{Asked, Design, dragonfly};
use narrows_model::BitsPerSecond;
use serde::Serialize;

/// A fabric with the switches that it is built of.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    pub design: Design,
    /// What hosts are connected to.
    pub leaf: &'a Switch,
    /// What is above; in one tier the same.
    pub spine: &'a Switch,
}

/// The most hosts that a kind of fabric has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Tiers of switches.
    pub tiers: u8,
    /// Leaves of it.
    pub switch: String,
    /// Whether that is built of line cards.
    pub chassis: bool,
    /// Hosts that the design has room for.
    pub hosts: u64,
}

/// Fabrics of these switches, one a model of leaf: the fewest tiers first, then the least capacity
/// of all their ports, then the fewest links. Spines are `spine`, or whichever of the switches make
/// the smallest.
pub fn choices<'a>(
    asked: &Asked,
    leaves: &'a [Switch],
    spine: Option<&'a Switch>,
    tiers: Option<u8>,
) -> Result<Vec<Choice<'a>>, FabricError> {
    let mut found = Vec::new();
    let mut wrong: Option<FabricError> = None;
    for leaf in leaves {
        let spines = spine.map_or(leaves, std::slice::from_ref);
        let built = spines.iter().map(|spine| {
            Design::of(asked, leaf, spine, tiers).map(|design| Choice { design, leaf, spine })
        });
        let (built, refused): (Vec<_>, Vec<_>) = built.partition(Result::is_ok);
        found.extend(built.into_iter().flatten().min_by_key(rank));
        for error in refused.into_iter().filter_map(Result::err) {
            wrong = Some(wrong.map_or_else(|| error.clone(), |before| worse(before, &error)));
        }
    }
    found.sort_by_key(rank);
    match (found.is_empty(), wrong) {
        (false, _) => Ok(found),
        (true, Some(FabricError::NoPorts(rate, _))) => {
            Err(FabricError::NoPorts(rate, names(leaves.iter().chain(spine))))
        }
        (true, Some(wrong)) => Err(wrong),
        (true, None) => Err(FabricError::NoPorts(asked.rate, Vec::new())),
    }
}

/// Dragonflies of these switches, the least capacity of all ports first, then the fewest links.
pub fn dragonflies<'a>(
    asked: &Asked,
    models: &'a [Switch],
) -> Result<Vec<Choice<'a>>, FabricError> {
    let built = models.iter().map(|model| {
        dragonfly(asked, model).map(|design| Choice { design, leaf: model, spine: model })
    });
    let (built, refused): (Vec<_>, Vec<_>) = built.partition(Result::is_ok);
    let mut found: Vec<Choice<'_>> = built.into_iter().flatten().collect();
    found.sort_by_key(rank);
    if !found.is_empty() {
        return Ok(found);
    }
    let fits = |error: &FabricError| !matches!(error, FabricError::NoPorts(..));
    let mut wrong: Vec<FabricError> =
        refused.into_iter().filter_map(Result::err).filter(fits).collect();
    // Where one group would hold all hosts, that is what to know; else how far one gets.
    wrong.sort_by_key(|error| match error {
        FabricError::TooManyForDragonfly { most, .. } => *most,
        FabricError::OneGroup { .. } => u64::MAX,
        _ => 0,
    });
    Err(wrong.pop().unwrap_or_else(|| FabricError::NoPorts(asked.rate, names(models.iter()))))
}

/// A chassis is more than one switch: what counts is the capacity of all ports that are bought.
fn rank(choice: &Choice<'_>) -> (u8, u64, u64) {
    let links = choice.design.cables.iter().map(|cables| cables.count).sum();
    let bought: u64 = (choice.design.parts.iter().enumerate())
        .map(|(tier, part)| {
            let switch = if tier == 0 { choice.leaf } else { choice.spine };
            u64::from(part.count) * switch.capacity_mbps()
        })
        .sum();
    (choice.design.tiers, bought, links)
}

/// Of two refusals the one that tells more: how far one gets, before that nothing fits at all.
fn worse(before: FabricError, error: &FabricError) -> FabricError {
    match (&before, error) {
        (FabricError::TooMany { most: one, .. }, FabricError::TooMany { most: other, .. }) => {
            if other > one {
                error.clone()
            } else {
                before
            }
        }
        (FabricError::NoPorts(..) | FabricError::NoUplinks(_), FabricError::TooMany { .. }) => {
            error.clone()
        }
        _ => before,
    }
}

/// How many hosts each kind of fabric has at most: one switch, one of line cards, and trees of
/// them in two and in three tiers. Of those switches that are in the same place, the one that
/// reaches farthest.
pub fn thresholds(asked: &Asked, leaves: &[Switch], spine: Option<&Switch>) -> Vec<Threshold> {
    let mut found: Vec<Threshold> = Vec::new();
    for leaf in leaves {
        for tiers in 1..=3 {
            // Trees of chassis are none that anybody is asked to build.
            if leaf.chassis && tiers > 1 {
                continue;
            }
            let smallest = Asked { hosts: 2, ..asked.clone() };
            let built = Design::of(&smallest, leaf, spine.unwrap_or(leaf), Some(tiers));
            let Ok(design) = built else { continue };
            let (switch, chassis) = (leaf.name.clone(), leaf.chassis);
            found.push(Threshold { tiers, switch, chassis, hosts: design.most_hosts });
        }
    }
    found.sort_by_key(|one| (one.tiers, one.chassis, u64::MAX - one.hosts));
    found.dedup_by_key(|one| (one.tiers, one.chassis));
    found
}

/// The share of a host's traffic that leaves its leaf when it sends to all others alike.
pub fn leaving_share(design: &Design) -> f64 {
    let hosts = f64::from(design.hosts);
    let inside = f64::from(design.leaf_hosts.min(design.hosts));
    (hosts - inside) / (hosts - 1.0)
}

/// What every host gets of its rate in an exchange of all with all, by design.
pub fn all_to_all(design: &Design) -> BitsPerSecond {
    let leaving = leaving_share(design);
    let share = if leaving > 0.0 { (design.share_on_paper() / leaving).min(1.0) } else { 1.0 };
    BitsPerSecond(design.rate_bits_per_second.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{named, switches};

    fn asked(hosts: u32, gbps: f64, oversubscription: f64) -> Asked {
        Asked { hosts, rate: BitsPerSecond(gbps * 1e9), uplink_rate: None, oversubscription }
    }

    fn of(names: &[&str]) -> Vec<Switch> {
        names.iter().map(|name| named(name).expect(name).clone()).collect()
    }

    /// The paper's three: a fixed switch to 48, a chassis to 384, beyond that a tree.
    #[test]
    fn the_papers_switches_have_its_thresholds() {
        let papers = of(&["7148SX", "7508"]);
        let hosts: Vec<(u8, bool, u64)> = thresholds(&asked(2, 10.0, 1.0), &papers, None)
            .iter()
            .map(|one| (one.tiers, one.chassis, one.hosts))
            .collect();
        assert_eq!(hosts, [(1, false, 48), (1, true, 384), (2, false, 1152), (3, false, 27_648)]);
        let first = |hosts: u32| {
            let asked = asked(hosts, 10.0, 1.0);
            let choices = choices(&asked, &papers, None, None).expect("fabrics");
            (choices[0].leaf.name.clone(), choices[0].design.tiers)
        };
        assert_eq!(first(47), ("Arista 7148SX".into(), 1));
        assert_eq!(first(49), ("Arista 7508".into(), 1));
        assert_eq!(first(384), ("Arista 7508".into(), 1));
        assert_eq!(first(385).1, 2);
    }

    #[test]
    fn the_smallest_fabrics_come_first_and_refusals_say_how_far_one_gets() {
        let all = choices(&asked(600, 25.0, 1.5), switches(), None, None).expect("fabrics");
        assert!(all.len() >= 2, "{all:?}");
        assert!(all.windows(2).all(|two| rank(&two[0]) <= rank(&two[1])));
        let papers = of(&["7148SX", "7508"]);
        let refused = choices(&asked(100_000, 10.0, 1.0), &papers[..1], None, None);
        let refused = refused.expect_err("too many");
        let most = FabricError::TooMany { hosts: 100_000, tiers: 3, most: 27_648 };
        assert_eq!(refused, most);
        let refused = choices(&asked(10, 400.0, 1.0), &papers, None, None).expect_err("no port");
        assert!(
            matches!(&refused, FabricError::NoPorts(_, names) if names.len() == 2),
            "{refused}"
        );
    }

    #[test]
    fn an_exchange_of_all_with_all_has_what_leaves_a_leaf() {
        let papers = of(&["7148SX"]);
        let tree =
            &choices(&asked(100, 10.0, 4.0), &papers, None, None).expect("fabrics")[0].design;
        let (n, d) = (100.0, f64::from(tree.leaf_hosts));
        assert!((leaving_share(tree) - (n - d) / (n - 1.0)).abs() < 1e-12);
        let ratio = tree.oversubscription().expect("uplinks");
        let want = 10.0 / ratio / leaving_share(tree);
        assert!((all_to_all(tree).gbps() - want.min(10.0)).abs() < 1e-9);
        let one = &choices(&asked(40, 10.0, 1.0), &papers, None, None).expect("fabrics")[0].design;
        assert_eq!((leaving_share(one), all_to_all(one)), (0.0, BitsPerSecond(10e9)));
    }

    #[test]
    fn a_choice_ranks_by_tiers_then_capacity_then_links() {
        let papers = of(&["7148SX"]);
        let all = choices(&asked(100, 10.0, 1.0), &papers, None, None).expect("fabrics");
        // Five leaves and three spines of 480 Gb/s; 100 cables to hosts, 24 from each leaf.
        assert_eq!(rank(&all[0]), (2, 8 * 480_000, 100 + 5 * 24));
        assert_eq!((all[0].leaf, all[0].spine), (&papers[0], &papers[0]));
        let two = of(&["7050SX3", "7050CX3"]);
        let mixed =
            choices(&asked(480, 25.0, 1.5), &two[..1], Some(&two[1]), None).expect("fabrics");
        // Ten leaves of 2 Tb/s and four spines of 3.2.
        assert_eq!(rank(&mixed[0]), (2, 10 * 2_000_000 + 4 * 3_200_000, 480 + 10 * 8));
        assert_eq!((mixed[0].leaf, mixed[0].spine), (&two[0], &two[1]));
    }

    #[test]
    fn of_several_refusals_the_one_that_tells_most_is_told() {
        use FabricError::*;
        let many = |most| TooMany { hosts: 9, tiers: 3, most };
        let no_ports = || NoPorts(BitsPerSecond(1e9), Vec::new());
        for (before, error, told) in [
            (many(5), many(7), many(7)),
            (many(7), many(5), many(7)),
            (no_ports(), many(5), many(5)),
            (NoUplinks(1.0), many(5), many(5)),
            (many(5), no_ports(), many(5)),
            (no_ports(), NoUplinks(1.0), no_ports()),
            (Tiers(4), many(5), Tiers(4)),
        ] {
            assert_eq!(worse(before.clone(), &error), told, "{before}; {error}");
        }
        let papers = of(&["7124SX", "7148SX"]);
        let refused = choices(&asked(2000, 10.0, 1.0), &papers, None, Some(2)).expect_err("many");
        assert_eq!(refused, TooMany { hosts: 2000, tiers: 2, most: 1152 });
        let spine = of(&["QM9700"]);
        let refused = choices(&asked(100, 10.0, 1.0), &papers, Some(&spine[0]), Some(2));
        let names = ["Arista 7124SX", "Arista 7148SX", "NVIDIA QM9700"].map(str::to_owned);
        assert_eq!(refused.err(), Some(NoPorts(BitsPerSecond(10e9), names.to_vec())));
        let none = choices(&asked(9, 10.0, 1.0), &[], None, None).expect_err("no switch");
        assert_eq!(none, NoPorts(BitsPerSecond(10e9), Vec::new()));
    }

    #[test]
    fn dragonflies_come_smallest_first_or_say_how_far_one_gets() {
        let both = of(&["7148SX", "7150S"]);
        let all = dragonflies(&asked(1000, 10.0, 1.0), &both).expect("dragonflies");
        let names: Vec<&str> = all.iter().map(|one| one.leaf.name.as_str()).collect();
        assert_eq!(names.len(), 2);
        assert!(rank(&all[0]) <= rank(&all[1]), "{names:?}");
        assert!(all.iter().all(|one| one.leaf == one.spine));
        let refused = |hosts: u32, gbps: f64| {
            dragonflies(&asked(hosts, gbps, 1.0), &both).expect_err("refused")
        };
        // 52 ports: 13 hosts, 25 within and 13 between; 26 switches a group, 339 groups.
        let (holds, most) = (26 * 13, u64::from(26_u32 * 13) * (26 * 13 + 1));
        let many = FabricError::TooManyForDragonfly { hosts: 1_000_000, most };
        assert_eq!(refused(1_000_000, 10.0), many, "the larger of two");
        assert!(matches!(refused(100, 10.0), FabricError::OneGroup { hosts: 100, .. }));
        let larger = dragonflies(&asked(holds, 10.0, 1.0), &both[1..]).expect_err("one group");
        assert_eq!(larger, FabricError::OneGroup { hosts: holds, holds });
        let names = both.iter().map(|one| one.name.clone()).collect();
        assert_eq!(refused(1000, 25.0), FabricError::NoPorts(BitsPerSecond(25e9), names));
    }

    #[test]
    fn of_switches_in_one_place_the_one_that_reaches_farthest_counts() {
        let fixed = of(&["7124SX", "7148SX", "7050CX3"]);
        let told: Vec<(u8, String, u64)> = thresholds(&asked(500, 10.0, 1.0), &fixed, None)
            .into_iter()
            .map(|one| (one.tiers, one.switch, one.hosts))
            .collect();
        let name = || "Arista 7148SX".to_owned();
        assert_eq!(told, [(1, name(), 48), (2, name(), 1152), (3, name(), 27_648)]);
        // With a spine of 24 ports: 24 hosts a leaf, 24 leaves, and 12 of these in pods.
        let above = thresholds(&asked(500, 10.0, 1.0), &fixed[1..2], Some(&fixed[0]));
        let hosts: Vec<u64> = above.iter().map(|one| one.hosts).collect();
        assert_eq!(hosts, [48, 24 * 24, 24 * 24 * 12]);
    }
}
