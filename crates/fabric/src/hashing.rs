//! What a fabric carries when each flow keeps one path, which a hash has chosen: by simulation.
//! Flows that meet on a link share it, though others are free; that is why a fabric which is
//! non-blocking on paper carries about half of what it could when every host has one flow.

use crate::design::{Design, Shape};
use crate::dragonfly::Dragonfly;
use crate::maxmin;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Serialize;

/// More hosts than these are not simulated.
pub const HOSTS_SIMULATED_MAX: u32 = 32_768;
/// Most flows of a host.
pub const FLOWS_MAX: u32 = 64;
/// Flows of all rounds together, about.
const FLOWS: u32 = 20_000;

/// Shares of their rate that hosts have when each sends to one other, all at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Carried {
    /// Mean of all hosts.
    pub mean_share: f64,
    /// The share below which one host of a hundred is.
    pub p01_share: f64,
    /// The lowest and the highest mean of a round.
    pub range_share: (f64, f64),
    /// Random permutations of the hosts that were drawn.
    pub rounds: u32,
    /// Flows of a host, each hashed by itself.
    pub flows: u32,
    pub seed: u64,
}

/// Sends from every host to one other, in random permutations; `None` where the fabric is too
/// large.
pub fn carried(design: &Design, flows: u32, seed: u64) -> Option<Carried> {
    if design.hosts > HOSTS_SIMULATED_MAX || !(1..=FLOWS_MAX).contains(&flows) {
        return None;
    }
    let rounds = (FLOWS / (design.hosts * flows).max(1)).clamp(3, 64);
    let mut random = Pcg64::seed_from_u64(seed);
    let links = Links::of(design);
    let mut all = Vec::new();
    let mut means = Vec::new();
    for _ in 0..rounds {
        let to = permutation(design.hosts, &mut random);
        let shares = links.shares(&to, flows, &mut random);
        means.push(mean(&shares));
        all.extend(shares);
    }
    all.sort_by(f64::total_cmp);
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(0.0, f64::max);
    Some(Carried {
        mean_share: mean(&all),
        p01_share: all.get(all.len() / 100).copied().unwrap_or(0.0),
        range_share: (least, most),
        rounds,
        flows,
        seed,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// One cycle over all hosts (Sattolo), so that none sends to itself.
fn permutation(hosts: u32, random: &mut Pcg64) -> Vec<u32> {
    let mut to: Vec<u32> = (0..hosts).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, random.random_range(0..last));
    }
    to
}

/// All links of a fabric by number, and their capacity where a host's rate is 1.
struct Links<'a> {
    design: &'a Design,
    capacity: Vec<f64>,
    /// Number of the first link of each kind; of a dragonfly `up` those within groups, by both
    /// switches, and `down` those between groups, by the port that they leave.
    up: usize,
    down: usize,
    pod_up: usize,
    pod_down: usize,
}

impl<'a> Links<'a> {
    fn of(design: &'a Design) -> Self {
        let uplink = design.uplink_rate_bits_per_second.0 / design.rate_bits_per_second.0;
        let hosts = design.hosts as usize;
        let leaf_links = (design.leaves * design.leaf_uplinks) as usize;
        let between = match design.shape {
            Shape::Dragonfly(sizes) => (sizes.groups * sizes.group_links()) as usize,
            _ => leaf_links,
        };
        let within = match design.shape {
            Shape::Dragonfly(sizes) => (design.leaves * sizes.switches) as usize,
            _ => leaf_links,
        };
        let pod_links = match design.shape {
            Shape::FatTree { pods, pod_leaves, aggregations, links, .. } => {
                (pods * aggregations * pod_leaves * links) as usize
            }
            Shape::Single | Shape::LeafSpine { .. } | Shape::Dragonfly(_) => 0,
        };
        let up = 2 * hosts;
        let (down, pod_up) = (up + within, up + within + between);
        let mut capacity = vec![1.0; up];
        capacity.resize(pod_up + 2 * pod_links, uplink);
        Self { design, capacity, up, down, pod_up, pod_down: pod_up + pod_links }
    }

    fn shares(&self, to: &[u32], flows: u32, random: &mut Pcg64) -> Vec<f64> {
        let mut paths = Vec::with_capacity(to.len() * flows as usize);
        for (from, to) in (0..).zip(to) {
            for _ in 0..flows {
                paths.push(self.path(from, *to, random));
            }
        }
        let rates = maxmin::rates(&paths, &self.capacity);
        rates.chunks(flows as usize).map(|of_host| of_host.iter().sum()).collect()
    }

    /// The links between two hosts that a hash has chosen.
    fn path(&self, from: u32, to: u32, random: &mut impl Rng) -> Vec<usize> {
        let design = self.design;
        let (from_leaf, to_leaf) = (self.leaf(from), self.leaf(to));
        let mut path = vec![from as usize, (design.hosts + to) as usize];
        if from_leaf == to_leaf {
            return path;
        }
        if let Shape::Dragonfly(sizes) = design.shape {
            self.over_groups(sizes, (from_leaf, to_leaf), random, &mut path);
            return path;
        }
        let uplinks = design.leaf_uplinks;
        let up = random.random_range(0..uplinks);
        path.push(self.up + (from_leaf * uplinks + up) as usize);
        let links = match design.shape {
            Shape::Single | Shape::Dragonfly(_) => return path,
            Shape::LeafSpine { links, .. } => links,
            Shape::FatTree { links, .. } => {
                self.over_the_spine(from_leaf, to_leaf, up / links, random, &mut path);
                links
            }
        };
        // The upper switch is chosen; one of its links to the leaf is left to choose.
        let down = up / links * links + random.random_range(0..links);
        path.push(self.down + (to_leaf * uplinks + down) as usize);
        path
    }

    /// Between pods: up to a spine, and down to the aggregation switch of the same place, which is
    /// the only one that the spine has links to.
    fn over_the_spine(
        &self,
        from_leaf: u32,
        to_leaf: u32,
        aggregation: u32,
        random: &mut impl Rng,
        path: &mut Vec<usize>,
    ) {
        let Shape::FatTree { pod_leaves, aggregations, links, spine_links, .. } = self.design.shape
        else {
            return;
        };
        let (from_pod, to_pod) = (from_leaf / pod_leaves, to_leaf / pod_leaves);
        if from_pod == to_pod {
            return;
        }
        let uplinks = pod_leaves * links;
        let up = random.random_range(0..uplinks);
        let down = up / spine_links * spine_links + random.random_range(0..spine_links);
        let link =
            |pod: u32, link: u32| ((pod * aggregations + aggregation) * uplinks + link) as usize;
        path.push(self.pod_up + link(from_pod, up));
        path.push(self.pod_down + link(to_pod, down));
    }

    /// The shortest path of a dragonfly: within the group to the switch that has a link to the
    /// other group, over that, and within the other group to the leaf. A hash chooses among the
    /// links that two groups have.
    fn over_groups(
        &self,
        sizes: Dragonfly,
        (from, to): (u32, u32),
        random: &mut impl Rng,
        path: &mut Vec<usize>,
    ) {
        let (from_group, to_group) = (from / sizes.switches, to / sizes.switches);
        let within =
            |from: u32, to: u32| self.up + (from * sizes.switches + to % sizes.switches) as usize;
        let to_place = |path: &mut Vec<usize>, from: u32, to: u32| {
            if from != to {
                path.push(within(from, to));
            }
        };
        if from_group == to_group {
            return to_place(path, from, to);
        }
        let distance = (to_group + sizes.groups - from_group) % sizes.groups;
        let link = random.random_range(0..sizes.links_to(distance));
        let leaves_by = sizes.port(distance, link);
        let arrives_by = sizes.port(sizes.groups - distance, link);
        let gateway = |group: u32, port: u32| group * sizes.switches + port / sizes.global_ports;
        to_place(path, from, gateway(from_group, leaves_by));
        path.push(self.down + (from_group * sizes.group_links() + leaves_by) as usize);
        to_place(path, gateway(to_group, arrives_by), to);
    }

    /// Hosts are spread evenly over the leaves.
    fn leaf(&self, host: u32) -> u32 {
        (u64::from(host) * u64::from(self.design.leaves) / u64::from(self.design.hosts)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Switch;
    use crate::design::Asked;
    use narrows_model::BitsPerSecond;

    fn of_radix(hosts: u32, ports: u32, ratio: f64, tiers: u8) -> Design {
        let rate = BitsPerSecond(10e9);
        let asked = Asked { hosts, rate, uplink_rate: None, oversubscription: ratio };
        let switch = Switch::of_radix(ports, rate).expect("radix");
        Design::of(&asked, &switch, &switch, Some(tiers)).expect("design")
    }

    fn mean_share(design: &Design, flows: u32) -> f64 {
        carried(design, flows, 1).expect("simulated").mean_share
    }

    /// `n` flows over `n` uplinks that none of them meets again leave `(1-1/n)^n` of the links
    /// empty, and whoever is on the others fills them.
    #[test]
    fn hashing_on_the_way_up_alone_is_the_formula() {
        let design = of_radix(16 * 17, 32, 1.0, 2);
        assert_eq!((design.leaves, design.leaf_uplinks), (17, 16));
        let links = Links::of(&design);
        let mut random = Pcg64::seed_from_u64(7);
        let mut sum = 0.0;
        let rounds = 4000;
        for _ in 0..rounds {
            // One leaf sends to 16 others, one host of each: nothing meets on the way down.
            let paths: Vec<Vec<usize>> =
                (0..16).map(|from| links.path(from, (from + 1) * 16, &mut random)).collect();
            sum += mean(&maxmin::rates(&paths, &links.capacity));
        }
        let formula = 1.0 - (1.0_f64 - 1.0 / 16.0).powi(16);
        let share = sum / f64::from(rounds);
        assert!((share - formula).abs() < 0.005, "{share} and {formula}");
    }

    /// Non-blocking on paper, about 55 % under hashing: 62 % of 8 x 8, 55 % of 16 x 16, 54 % of
    /// 24 x 24, and a fat tree of three tiers below that of two.
    #[test]
    fn a_fabric_without_oversubscription_carries_about_half() {
        for (k, share) in [(16, 0.62), (32, 0.55), (48, 0.54)] {
            let design = of_radix(k * k / 4, k, 1.0, 2);
            assert_eq!((design.leaves, design.leaf_hosts), (k / 2, k / 2));
            let got = mean_share(&design, 1);
            assert!((got - share).abs() < 0.025, "{k}: {got}");
        }
        let (two, three) = (of_radix(128, 16, 1.0, 2), of_radix(1024, 16, 1.0, 3));
        assert!(mean_share(&three, 1) < mean_share(&two, 1) - 0.03);
    }

    #[test]
    fn more_flows_fill_the_links_and_one_switch_needs_none() {
        let design = of_radix(512, 32, 1.0, 2);
        let shares = [1, 4, 16].map(|flows| mean_share(&design, flows));
        assert!(shares[0] < shares[1] - 0.1 && shares[1] < shares[2] - 0.05, "{shares:?}");
        assert!(shares[2] < 1.0);
        let one = mean_share(&of_radix(32, 32, 1.0, 1), 1);
        assert!((one - 1.0).abs() < 1e-12, "{one}");
    }

    /// All hosts of a group to the next group share the one link between them; a path within a
    /// group has one link, one between groups three at most, and every link is of its two ends.
    #[test]
    fn a_group_of_a_dragonfly_has_its_links_to_the_next_group() {
        let rate = BitsPerSecond(10e9);
        let asked = Asked { hosts: 72, rate, uplink_rate: None, oversubscription: 1.0 };
        let switch = Switch::of_radix(7, rate).expect("radix");
        let design = crate::design::dragonfly(&asked, &switch).expect("a dragonfly");
        let links = Links::of(&design);
        let mut random = Pcg64::seed_from_u64(3);
        let next: Vec<u32> = (0..72).map(|host| (host + 8) % 72).collect();
        let shares = links.shares(&next, 1, &mut random);
        let of_group: f64 = shares[..8].iter().sum();
        assert!((of_group - 1.0).abs() < 1e-9, "{shares:?}");
        let hops = |from, to, random: &mut Pcg64| links.path(from, to, random).len() - 2;
        assert_eq!((hops(0, 1, &mut random), hops(0, 2, &mut random)), (0, 1));
        let to_others: Vec<usize> = (8..72).map(|to| hops(0, to, &mut random)).collect();
        assert!(to_others.iter().all(|hops| (1..=3).contains(hops)), "{to_others:?}");
        // The two links of host 0's own switch each end at a switch with two hosts.
        assert_eq!(to_others.iter().filter(|hops| **hops == 1).count(), 4, "{to_others:?}");
        // Alone, each host has all of its rate whichever way it goes.
        for to in 1..72 {
            let path = links.path(0, to, &mut random);
            assert!(path.iter().all(|link| *link < links.capacity.len()), "{path:?}");
        }
        let carried = carried(&design, 1, 1).expect("simulated");
        assert!((0.3..0.9).contains(&carried.mean_share), "{carried:?}");
    }

    #[test]
    fn oversubscription_bounds_what_is_carried() {
        let design = of_radix(36 * 48, 48, 3.0, 2);
        let carried = carried(&design, 1, 3).expect("simulated");
        let local = f64::from(design.leaf_hosts) / f64::from(design.hosts);
        assert!(carried.mean_share < 1.0 / 3.0 + local, "{carried:?}");
        assert!(carried.mean_share > 0.2 && carried.p01_share < carried.mean_share);
        assert_eq!(super::carried(&design, 1, 3).as_ref(), Some(&carried), "the same seed");
        assert_ne!(super::carried(&design, 1, 4).as_ref(), Some(&carried));
        assert_eq!(super::carried(&of_radix(65_536, 64, 1.0, 3), 1, 1), None);
    }

    /// How far a simulation goes: some 20,000 flows, in 3 rounds at least and 64 at most.
    #[test]
    fn rounds_and_bounds_are_as_stated() {
        let rounds = |design: &Design, flows| carried(design, flows, 1).map(|all| all.rounds);
        let one = of_radix(1000, 1000, 1.0, 1);
        for (flows, wanted) in [(0, None), (1, Some(20)), (2, Some(10)), (64, Some(3)), (65, None)]
        {
            assert_eq!(rounds(&one, flows), wanted, "{flows} flows");
        }
        assert_eq!(rounds(&of_radix(32, 32, 1.0, 1), 1), Some(64));
        let of_size = |hosts| Design { hosts, ..of_radix(1000, 1000, 1.0, 1) };
        assert_eq!(rounds(&of_size(32_768), 1), Some(3));
        assert_eq!(rounds(&of_size(32_769), 1), None);
    }

    #[test]
    fn shares_are_those_of_all_hosts_and_the_range_that_of_the_rounds() {
        let design = of_radix(16, 8, 1.0, 2);
        let told = carried(&design, 1, 5).expect("simulated");
        let (links, mut random) = (Links::of(&design), Pcg64::seed_from_u64(5));
        let rounds: Vec<Vec<f64>> =
            (0..64).map(|_| links.shares(&permutation(16, &mut random), 1, &mut random)).collect();
        let mut means: Vec<f64> = rounds.iter().map(|round| mean(round)).collect();
        means.sort_by(f64::total_cmp);
        let mut all = rounds.concat();
        all.sort_by(f64::total_cmp);
        assert_eq!((told.rounds, told.flows, told.seed), (64, 1, 5));
        assert_eq!(told.range_share, (means[0], means[63]));
        assert!((told.mean_share - mean(&means)).abs() < 1e-12, "{told:?}");
        assert_eq!(told.p01_share, all[10], "ten of 1024 are below");
        assert!(all.iter().all(|share| (0.1..=1.0).contains(share)), "{all:?}");
        for seed in 0..20 {
            let to = permutation(5, &mut Pcg64::seed_from_u64(seed));
            let mut sorted = to.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            assert!((0..).zip(&to).all(|(from, to)| from != *to), "none sends to itself: {to:?}");
        }
    }

    /// All paths that a hash may choose between two hosts.
    fn chosen(design: &Design, from: u32, to: u32) -> Vec<Vec<usize>> {
        let (links, mut random) = (Links::of(design), Pcg64::seed_from_u64(11));
        let mut all: Vec<Vec<usize>> =
            (0..400).map(|_| links.path(from, to, &mut random)).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Links in their order: 16 hosts out, 16 in, two uplinks of eight leaves, these down, two by
    /// two of four pods up, and these down.
    #[test]
    fn a_path_of_three_tiers_goes_down_where_it_went_up() {
        let design = of_radix(16, 4, 1.0, 3);
        let links = Links::of(&design);
        assert_eq!((links.up, links.down, links.pod_up, links.pod_down), (32, 48, 64, 80));
        assert_eq!(links.capacity, [1.0; 96]);
        assert_eq!(chosen(&design, 0, 1), [[0, 17]], "one leaf");
        let (first, second) = ([0, 18, 32, 50], [0, 18, 33, 51]);
        assert_eq!(chosen(&design, 0, 2), [first, second], "one pod");
        // Host 15 is of leaf 7 in pod 3; both aggregation switches have two spines each.
        let wanted: Vec<Vec<usize>> = [(0, 0), (0, 1), (1, 0), (1, 1)]
            .map(|(middle, spine)| {
                let (up, down) = (64 + 2 * middle + spine, 80 + 2 * (2 * 3 + middle) + spine);
                vec![0, 16 + 15, 32 + middle, up, down, 48 + 2 * 7 + middle]
            })
            .to_vec();
        assert_eq!(chosen(&design, 0, 15), wanted);
    }

    #[test]
    fn several_links_to_a_spine_are_chosen_alike_and_faster_uplinks_carry_more() {
        // Five leaves of twenty hosts with eight links to each of three spines.
        let design = of_radix(100, 48, 1.0, 2);
        let links = Links::of(&design);
        assert_eq!((links.up, links.down, links.pod_up), (200, 320, 440));
        let all = chosen(&design, 25, 99);
        assert!(all.len() > 150, "of 24 x 8: {}", all.len());
        for path in all {
            let [from, to, up, down] = path[..] else { panic!("{path:?}") };
            assert_eq!((from, to), (25, 199));
            // Host 25 is the second leaf's, host 99 the last's.
            let (up, down) = (up - (200 + 24), down - (320 + 4 * 24));
            assert!(up < 24 && down < 24 && up / 8 == down / 8, "{up} and {down}");
        }
        let (leaf, spine) =
            (crate::catalogue::named("7050SX3-48YC8"), Switch::of_radix(32, BitsPerSecond(100e9)));
        let asked = Asked {
            hosts: 480,
            rate: BitsPerSecond(25e9),
            uplink_rate: None,
            oversubscription: 1.5,
        };
        let design =
            Design::of(&asked, leaf.expect("leaf"), &spine.expect("spine"), None).expect("design");
        let capacity = Links::of(&design).capacity;
        assert_eq!(capacity.len(), 2 * 480 + 2 * 10 * 8);
        assert!(capacity[..960].iter().all(|of| *of == 1.0));
        assert!(capacity[960..].iter().all(|of| *of == 4.0));
    }

    /// Every path of a dragonfly leads from the one switch over links that meet to the other.
    #[test]
    fn a_path_of_a_dragonfly_is_unbroken() {
        let rate = BitsPerSecond(10e9);
        for hosts in [24, 40, 72] {
            let asked = Asked { hosts, rate, uplink_rate: None, oversubscription: 1.0 };
            let switch = Switch::of_radix(7, rate).expect("radix");
            let design = crate::design::dragonfly(&asked, &switch).expect("a dragonfly");
            let Shape::Dragonfly(sizes) = design.shape else { panic!("{design:?}") };
            let links = Links::of(&design);
            let leaves = design.leaves as usize;
            assert_eq!(
                (links.up, links.down),
                (2 * hosts as usize, 2 * hosts as usize + 4 * leaves)
            );
            assert_eq!(links.capacity.len(), links.down + 8 * sizes.groups as usize);
            // The other end of each port between groups, by the ring.
            let across = |group: u32, port: u32| {
                let mut ports = (1..sizes.groups).flat_map(|distance| {
                    (0..sizes.links_to(distance)).map(move |link| (distance, link))
                });
                let (distance, link) = ports.nth(port as usize).expect("a port in use");
                let other = (group + distance) % sizes.groups;
                (other, sizes.port(sizes.groups - distance, link) / 2)
            };
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
                let (start, end) = (links.leaf(from), links.leaf(to));
                for path in chosen_few(&links, from, to) {
                    let mut at = start;
                    for link in &path[2..] {
                        at = if *link < links.down {
                            let (of, place) =
                                ((link - links.up) as u32 / 4, (link - links.up) as u32 % 4);
                            assert_eq!(of, at, "{path:?}");
                            at / 4 * 4 + place
                        } else {
                            let (group, port) =
                                ((link - links.down) as u32 / 8, (link - links.down) as u32 % 8);
                            assert_eq!(group * 4 + port / 2, at, "{path:?}");
                            let (other, switch) = across(group, port);
                            other * 4 + switch
                        };
                    }
                    assert_eq!(at, end, "{hosts} hosts, {from} to {to}: {path:?}");
                }
            }
        }
    }

    fn chosen_few(links: &Links<'_>, from: u32, to: u32) -> Vec<Vec<usize>> {
        let mut random = Pcg64::seed_from_u64(u64::from(from));
        (0..4).map(|_| links.path(from, to, &mut random)).collect()
    }
}
