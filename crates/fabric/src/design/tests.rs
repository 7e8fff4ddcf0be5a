//! Known answers: textbooks' fat trees, and leaves as they are built.

use super::*;
use crate::catalogue::named;

fn asked(hosts: u32, gbps: f64, oversubscription: f64) -> Asked {
    Asked { hosts, rate: BitsPerSecond(gbps * 1e9), uplink_rate: None, oversubscription }
}

fn of_radix(hosts: u32, ports: u32, ratio: f64, tiers: Option<u8>) -> Result<Design, FabricError> {
    let asked = asked(hosts, 10.0, ratio);
    let switch = Switch::of_radix(ports, asked.rate)?;
    Design::of(&asked, &switch, &switch, tiers)
}

/// Folded Clos networks and k-ary fat trees (Al-Fares et al., SIGCOMM 2008): k^2/2 hosts of 3k/2
/// switches in two tiers, k^3/4 hosts of 5k^2/4 switches in three.
#[test]
fn full_fat_trees_are_those_of_the_textbook() {
    for k in [4_u32, 24, 32, 48, 64, 128] {
        let hosts = k * k / 2;
        let two = of_radix(hosts, k, 1.0, None).expect("two tiers");
        assert_eq!((two.tiers, two.switches()), (2, u64::from(k + k / 2)), "{k}");
        assert_eq!(two.most_hosts, u64::from(hosts));
        assert_eq!(two.cables[1].count, u64::from(hosts), "as many uplinks as hosts");
        assert_eq!(two.share_on_paper(), 1.0);
        let hosts = k * k * k / 4;
        let three = of_radix(hosts, k, 1.0, None).expect("three tiers");
        assert_eq!((three.tiers, three.switches()), (3, u64::from(5 * k * k / 4)), "{k}");
        let tiers: Vec<u32> = three.parts.iter().map(|part| part.count).collect();
        assert_eq!(tiers, [k * k / 2, k * k / 2, k * k / 4]);
        assert!(three.cables.iter().all(|cables| cables.count == u64::from(hosts)), "{k}");
        assert!(three.parts.iter().all(|part| part.links == part.ports), "{:?}", three.parts);
        let more = of_radix(hosts + 1, k, 1.0, None).expect_err("more than fit");
        let most = u64::from(hosts);
        assert_eq!(more, FabricError::TooMany { hosts: hosts + 1, tiers: 3, most });
    }
}

/// The iWARP paper: below 48 hosts one switch, to about 384 a chassis, and beyond that a tree.
#[test]
fn the_papers_thresholds_are_cases() {
    let (fixed, chassis) = (named("7148SX").expect("switch"), named("7508").expect("switch"));
    let tiers = |hosts: u32, switch: &Switch| {
        Design::of(&asked(hosts, 10.0, 1.0), switch, switch, None).expect("fabric").tiers
    };
    assert_eq!([tiers(47, fixed), tiers(48, fixed), tiers(49, fixed)], [1, 1, 2]);
    assert_eq!([tiers(384, chassis), tiers(385, chassis)], [1, 2]);
    assert_eq!([tiers(1152, fixed), tiers(1153, fixed)], [2, 3]);
    // "A 48-port 10GbE switch with a few uplinks is not sufficient."
    let few = of_radix(480, 52, 12.0, None).expect("fabric");
    assert_eq!((few.leaf_host_ports, few.leaf_uplinks, few.leaves), (48, 4, 10));
    assert!((few.share_on_paper() - 1.0 / 12.0).abs() < 1e-12);
    assert!((few.bisection().gbps() - 240.0 * 10.0 / 12.0).abs() < 1e-9);
}

#[test]
fn every_link_has_a_port_at_both_ends() {
    for (hosts, ports, ratio) in [(100, 48, 1.0), (77, 24, 3.0), (700, 48, 2.0), (500, 32, 1.0)] {
        for tiers in [2, 3] {
            let Ok(design) = of_radix(hosts, ports, ratio, Some(tiers)) else {
                panic!("{hosts} hosts on {ports} ports in {tiers} tiers at {ratio}:1");
            };
            assert!(design.leaves * design.leaf_host_ports >= hosts, "{design:?}");
            assert!(design.leaf_hosts <= design.leaf_host_ports);
            assert!(design.parts.iter().all(|part| part.links <= part.ports), "{design:?}");
            let ratio_is = design.oversubscription().expect("uplinks");
            assert!(ratio_is <= ratio + 1e-9, "{design:?}");
            match design.shape {
                Shape::Single | Shape::Dragonfly(_) => panic!("{design:?}"),
                Shape::LeafSpine { spines, links } => {
                    assert_eq!(spines * links, design.leaf_uplinks);
                }
                Shape::FatTree { pods, pod_leaves, aggregations, links, spines, spine_links } => {
                    assert_eq!(aggregations * links, design.leaf_uplinks);
                    assert_eq!(spines * spine_links, pod_leaves * links, "no tier is narrower");
                    assert!(pods * pod_leaves >= design.leaves);
                    assert_eq!(design.parts[1].count, pods * aggregations);
                    assert_eq!(design.parts[2].count, aggregations * spines);
                }
            }
        }
    }
}

#[test]
fn few_leaves_need_few_spines() {
    // 5 leaves of 24: 8 links from each to each of 3 spines fill 40 of 48 ports.
    let design = of_radix(100, 48, 1.0, None).expect("fabric");
    assert_eq!(design.shape, Shape::LeafSpine { spines: 3, links: 8 });
    assert_eq!((design.leaves, design.leaf_hosts), (5, 20));
    assert_eq!((design.hops(), design.switches()), (3, 8));
}

#[test]
fn faster_uplinks_and_other_spines_are_planned() {
    let (leaf, spine) = (named("7050SX3-48YC8"), named("7050CX3-32S"));
    let (leaf, spine) = (leaf.expect("leaf"), spine.expect("spine"));
    let design = Design::of(&asked(480, 25.0, 1.5), leaf, spine, None).expect("fabric");
    assert_eq!((design.leaves, design.leaf_uplinks), (10, 8));
    assert_eq!(design.shape, Shape::LeafSpine { spines: 4, links: 2 }, "20 of 32 ports");
    assert_eq!(design.cables[1].rate_bits_per_second, BitsPerSecond(100e9));
    let quantum = named("QM9700").expect("switch");
    let two = Design::of(&asked(2048, 400.0, 1.0), quantum, quantum, None).expect("fabric");
    assert_eq!((two.tiers, two.switches()), (2, 96));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |hosts, ports, ratio, tiers| of_radix(hosts, ports, ratio, tiers).expect_err("no");
    assert_eq!(refused(0, 48, 1.0, None), FabricError::Hosts(0));
    assert_eq!(refused(1, 48, 1.0, None), FabricError::Hosts(1));
    assert_eq!(refused(10_000_001, 48, 1.0, None), FabricError::Hosts(10_000_001));
    assert_eq!(refused(10, 1, 1.0, None), FabricError::Radix(1));
    assert_eq!(refused(10, 48, 0.0, None), FabricError::Oversubscription(0.0));
    assert!(matches!(refused(10, 48, f64::NAN, None), FabricError::Oversubscription(_)));
    assert_eq!(refused(10, 48, 1.0, Some(4)), FabricError::Tiers(4));
    let too_many = FabricError::TooMany { hosts: 49, tiers: 1, most: 48 };
    assert_eq!(refused(49, 48, 1.0, Some(1)), too_many);
    let switch = named("7148SX").expect("switch");
    let wrong = Design::of(&asked(10, 25.0, 1.0), switch, switch, None).expect_err("rate");
    assert!(matches!(wrong, FabricError::NoPorts(..)), "{wrong}");
    let slow = Asked { rate: BitsPerSecond(f64::NAN), ..asked(10, 10.0, 1.0) };
    assert!(matches!(Design::of(&slow, switch, switch, None), Err(FabricError::Speed(_))));
}

#[test]
fn bounds_of_what_is_planned_are_part_of_it() {
    let with = |change: fn(&mut Asked)| {
        let mut wanted = asked(10, 10.0, 1.0);
        change(&mut wanted);
        wanted.check().is_ok()
    };
    assert!(with(|of| of.hosts = 2) && with(|of| of.hosts = 10_000_000));
    assert!(with(|of| of.rate.0 = 10e6) && with(|of| of.rate.0 = 10e12));
    assert!(!with(|of| of.rate.0 = 9e6) && !with(|of| of.rate.0 = 11e12));
    assert!(with(|of| of.uplink_rate = Some(BitsPerSecond(10e6))));
    assert!(!with(|of| of.uplink_rate = Some(BitsPerSecond(9e6))), "uplinks too");
    assert!(with(|of| of.oversubscription = 0.25) && with(|of| of.oversubscription = 100.0));
    assert!(!with(|of| of.oversubscription = 0.24) && !with(|of| of.oversubscription = 101.0));
}

#[test]
fn one_switch_is_all_of_a_small_fabric() {
    let one = of_radix(20, 48, 1.0, None).expect("one switch");
    assert_eq!((one.tiers, one.leaves, one.hops(), one.switches()), (1, 1, 1, 1));
    assert_eq!((one.leaf_hosts, one.leaf_host_ports, one.leaf_uplinks), (20, 48, 0));
    assert_eq!((one.shape, one.most_hosts), (Shape::Single, 48));
    assert_eq!((one.parts[0].count, one.parts[0].links, one.parts[0].ports), (1, 20, 48));
    assert_eq!((one.parts[0].tier, one.cables[0].to), (Tier::Leaf, Tier::Leaf));
    assert_eq!((one.cables.len(), one.cables[0].count), (1, 20));
    assert_eq!((one.oversubscription(), one.share_on_paper()), (None, 1.0));
    assert_eq!(one.bisection(), BitsPerSecond(100e9));
    // More than a leaf needs up: no host has more than its own rate.
    let wide = of_radix(96, 48, 0.5, Some(2)).expect("two tiers");
    assert_eq!((wide.leaf_host_ports, wide.leaf_uplinks, wide.share_on_paper()), (16, 32, 1.0));
    assert_eq!(wide.oversubscription(), Some(0.5));
}

/// By hand: 700 hosts at 2:1 of 48 ports are 22 leaves of 32 and 16, in two pods of 11.
#[test]
fn parts_and_cables_of_three_tiers_are_counted() {
    let design = of_radix(700, 48, 2.0, Some(3)).expect("three tiers");
    let shape = Shape::FatTree {
        pods: 2,
        pod_leaves: 11,
        aggregations: 8,
        links: 2,
        spines: 1,
        spine_links: 22,
    };
    assert_eq!((design.shape, design.leaves, design.leaf_hosts), (shape, 22, 32));
    let parts: Vec<(Tier, u32, u32, u32)> =
        design.parts.iter().map(|part| (part.tier, part.count, part.links, part.ports)).collect();
    let wanted =
        [(Tier::Leaf, 22, 48, 48), (Tier::Aggregation, 16, 44, 48), (Tier::Spine, 8, 44, 48)];
    assert_eq!(parts, wanted);
    let cables: Vec<(Tier, u64)> =
        design.cables.iter().map(|cables| (cables.to, cables.count)).collect();
    assert_eq!(cables, [(Tier::Leaf, 700), (Tier::Aggregation, 22 * 16), (Tier::Spine, 16 * 22)]);
    assert_eq!(design.most_hosts, 32 * 48 * 24);
    assert_eq!(
        [(24, 9), (24, 8), (7, 6), (6, 100), (5, 0)].map(|(all, most)| divisor(all, most)),
        [8, 8, 1, 6, 1]
    );
    let faster = Switch::of_radix(48, BitsPerSecond(40e9)).expect("radix");
    let leaf = Switch::of_radix(48, BitsPerSecond(10e9)).expect("radix");
    let refused = Design::of(&asked(100, 10.0, 1.0), &leaf, &faster, Some(2)).expect_err("ports");
    assert_eq!(refused, FabricError::NoPorts(BitsPerSecond(10e9), vec!["48 x 40.0 Gb/s".into()]));
}

#[test]
fn three_tiers_have_as_many_links_between_two_switches_as_fit_evenly() {
    let mut seen = 0;
    for ports in [16, 24, 36, 40, 48, 64] {
        for ratio in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0] {
            for hosts in [ports * 3, ports * 7, ports * 13, ports * 29] {
                let Ok(design) = of_radix(hosts, ports, ratio, Some(3)) else { continue };
                let Shape::FatTree { pods, pod_leaves, aggregations, links, spines, spine_links } =
                    design.shape
                else {
                    continue;
                };
                let told = format!("{hosts} hosts, {ports} ports, {ratio}: {:?}", design.shape);
                // Every uplink of a leaf goes to an aggregation switch, and every one of those up.
                assert_eq!(aggregations * links, design.leaf_uplinks, "{told}");
                assert_eq!(spines * spine_links, pod_leaves * links, "{told}");
                assert!(pod_leaves * links <= ports / 2 && pods * spine_links <= ports, "{told}");
                assert!(pods * pod_leaves >= design.leaves, "{told}");
                // No more links between two would fit and divide.
                let more = (links + 1..=design.leaf_uplinks).find(|more| {
                    design.leaf_uplinks.is_multiple_of(*more) && pod_leaves * more <= ports / 2
                });
                assert_eq!(more, None, "{told}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}
