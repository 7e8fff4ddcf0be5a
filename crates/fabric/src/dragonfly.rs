//! Dragonflies (Kim, Dally, Scott and Abts, ISCA 2008): switches in groups. Within a group each has
//! a link to every other; the other ports lead to other groups, of which every two have links.

use serde::Serialize;

/// How the ports of a switch are divided, and how many of them are in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dragonfly {
    /// Groups that are built.
    pub groups: u32,
    /// Switches of a group: `2 x global_ports`, so that links within a group carry what those
    /// between groups bring, which crosses two of them.
    pub switches: u32,
    /// Ports of a switch for hosts: `oversubscription x global_ports`.
    pub host_ports: u32,
    /// Ports of a switch that lead to other groups.
    pub global_ports: u32,
}

/// What a group can send when every group sends to one other, as a share of its hosts' rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToOneGroup {
    /// Over the links between these two groups alone, where they have the fewest.
    pub direct_share: f64,
    /// Over a third group that is drawn by lot for each packet (Valiant), where every packet
    /// crosses two links between groups.
    pub detour_share: f64,
}

impl Dragonfly {
    /// The division of a switch's ports; `None` where a group would be a single switch.
    pub(crate) fn of(ports: u32, oversubscription: f64) -> Option<Self> {
        // Hosts, `2h - 1` within the group and `h` to others: `(ratio + 3) h - 1` in all.
        let global_ports = (f64::from(ports + 1) / (oversubscription + 3.0) + ROUNDING) as u32;
        let host_ports = (f64::from(global_ports) * oversubscription + ROUNDING) as u32;
        let sizes = Self { groups: 2, switches: 2 * global_ports, host_ports, global_ports };
        (global_ports > 0 && host_ports > 0).then_some(sizes)
    }

    /// Host ports of a group.
    pub fn group_hosts(self) -> u32 {
        self.switches * self.host_ports
    }

    /// Ports of a group that lead to others.
    pub fn group_links(self) -> u32 {
        self.switches * self.global_ports
    }

    /// Most hosts of these sizes, with one link between every two groups.
    pub(crate) fn most_hosts(self) -> u64 {
        u64::from(self.group_hosts()) * (u64::from(self.group_links()) + 1)
    }

    /// Links from a group to the one that is `distance` after it in the ring of groups.
    pub fn links_to(self, distance: u32) -> u32 {
        let others = self.groups - 1;
        let (each, left) = (self.group_links() / others, self.group_links() % others);
        // What is left goes to the nearest on both sides, so that both ends count alike.
        let near = distance.min(self.groups - distance);
        each + u32::from(near <= left / 2)
    }

    /// The group's port of the `link`-th link to the group that is `distance` after it.
    pub(crate) fn port(self, distance: u32, link: u32) -> u32 {
        (1..distance).map(|nearer| self.links_to(nearer)).sum::<u32>() + link
    }

    /// Links that a group has to all others: one of its ports may stay free.
    pub fn links_used(self) -> u32 {
        (1..self.groups).map(|distance| self.links_to(distance)).sum()
    }

    /// Links between two groups that have the fewest.
    fn fewest_links(self) -> u32 {
        (1..self.groups).map(|distance| self.links_to(distance)).min().unwrap_or(0)
    }

    /// The share of their rate that all of so many hosts have at once to hosts of other switches,
    /// chosen alike, on shortest paths: bound by the links between groups or by those within one.
    pub fn share_on_paper(self, hosts: u32) -> f64 {
        let of_group = self.hosts_of_group(hosts);
        let of_switch = of_group / f64::from(self.switches);
        let all = f64::from(hosts);
        let leaving = (all - of_group) / (all - of_switch);
        // Traffic to all groups alike fills the links to those that have the fewest.
        let fewest = f64::from(self.fewest_links()) * f64::from(self.groups - 1);
        let global = fewest / (of_group * leaving);
        // To another group a packet crosses a link within the first and one within the last, but
        // where the link between groups is at its own switch.
        let others = f64::from(self.switches - 1);
        let elsewhere = others / f64::from(self.switches);
        let local = others / (of_switch * (2.0 * leaving * elsewhere + 1.0 - leaving));
        global.min(local).min(1.0)
    }

    /// What one half of the groups can send to the other half on shortest paths, in hosts' rates.
    /// The links that cross are counted where each half is a part of the ring of groups: links that
    /// are more than others join neighbours there, so that no other halves have fewer between them.
    pub fn bisection_hosts(self, hosts: u32) -> f64 {
        let half = self.groups / 2;
        let crossing: u64 = (0..half)
            .flat_map(|from| (half..self.groups).map(move |to| to - from))
            .map(|distance| u64::from(self.links_to(distance)))
            .sum();
        (self.hosts_of_group(hosts) * f64::from(half)).min(crossing as f64)
    }

    /// All hosts of each group to one other group.
    pub fn to_one_group(self, hosts: u32) -> ToOneGroup {
        let of_group = self.hosts_of_group(hosts);
        let share = |links: u32, crossed: f64| (f64::from(links) / (crossed * of_group)).min(1.0);
        ToOneGroup {
            direct_share: share(self.fewest_links(), 1.0),
            detour_share: share(self.links_used(), 2.0),
        }
    }

    /// Hosts of a group, spread evenly.
    fn hosts_of_group(self, hosts: u32) -> f64 {
        f64::from(hosts) / f64::from(self.groups)
    }
}

/// Quotients that are whole but for the last bits of a double.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    /// By brute force over all halves of up to twelve groups.
    #[test]
    fn no_halves_have_fewer_links_between_them_than_parts_of_the_ring() {
        for groups in 2..=12_u32 {
            let sizes = Dragonfly { groups, switches: 4, host_ports: 1000, global_ports: 5 };
            let crossing = |half: u32| -> u32 {
                let pairs = (0..groups).flat_map(|a| (a + 1..groups).map(move |b| (a, b)));
                let apart = pairs.filter(|(a, b)| (half >> a & 1) != (half >> b & 1));
                apart.map(|(a, b)| sizes.links_to(b - a)).sum()
            };
            let halves = (0..1_u32 << groups).filter(|half| half.count_ones() == groups / 2);
            let least = halves.map(crossing).min().expect("halves");
            let said = sizes.bisection_hosts(u32::MAX);
            assert!((said - f64::from(least)).abs() < 1e-9, "{groups}: {said} and {least}");
        }
    }

    /// With one or two links a pair, traffic to all groups alike fills the single ones.
    #[test]
    fn pairs_of_groups_with_the_fewest_links_bound_uniform_traffic() {
        let sizes = Dragonfly { groups: 79, switches: 16, host_ports: 8, global_ports: 8 };
        let (of_group, of_switch) = (10_000.0 / 79.0, 10_000.0 / 79.0 / 16.0);
        let leaving = (10_000.0 - of_group) / (10_000.0 - of_switch);
        let share = sizes.share_on_paper(10_000);
        assert!((share - 78.0 / (of_group * leaving)).abs() < 1e-12, "{share}");
        assert!(share < 0.65, "{share}");
    }

    #[test]
    fn links_between_groups_are_the_same_from_both_ends_and_use_all_ports_but_one() {
        for groups in 2..=33 {
            let sizes = Dragonfly { groups, switches: 8, host_ports: 4, global_ports: 4 };
            let all: Vec<u32> = (1..groups).map(|distance| sizes.links_to(distance)).collect();
            let back: Vec<u32> = all.iter().copied().rev().collect();
            assert_eq!(all, back, "{groups} groups");
            assert!((31..=32).contains(&sizes.links_used()), "{groups}: {}", sizes.links_used());
            let (least, most) = (all.iter().min(), all.iter().max());
            assert!(most <= least.map(|least| least + 1).as_ref(), "{groups}: {all:?}");
        }
    }

    /// (ratio + 3) h - 1 ports: 7 of one to one are h = 2; of 23 at three to one h = 4, 12 hosts.
    #[test]
    fn ports_are_divided_between_hosts_the_group_and_others() {
        let of = |ports, ratio| {
            Dragonfly::of(ports, ratio).map(|one| (one.host_ports, one.switches, one.global_ports))
        };
        for (ports, ratio, wanted) in [
            (2, 1.0, None),
            (3, 1.0, Some((1, 2, 1))),
            (7, 1.0, Some((2, 4, 2))),
            (10, 1.0, Some((2, 4, 2))),
            (11, 1.0, Some((3, 6, 3))),
            (23, 3.0, Some((12, 8, 4))),
            (64, 0.25, Some((5, 40, 20))),
            (3, 0.25, None),
        ] {
            assert_eq!(of(ports, ratio), wanted, "{ports} at {ratio}");
        }
    }

    /// Nine groups of four switches, two hosts and two ports to others each; then three groups,
    /// which have four links between every two.
    #[test]
    fn groups_have_their_hosts_links_and_ports() {
        let nine = Dragonfly { groups: 9, switches: 4, host_ports: 2, global_ports: 2 };
        assert_eq!((nine.group_hosts(), nine.group_links(), nine.most_hosts()), (8, 8, 72));
        assert_eq!((nine.links_used(), nine.port(1, 0), nine.port(8, 0)), (8, 0, 7));
        let four = Dragonfly { groups: 4, ..nine };
        let links: Vec<u32> = (1..4).map(|distance| four.links_to(distance)).collect();
        assert_eq!(links, [3, 2, 3], "eight ports among three groups");
        assert_eq!((four.port(2, 1), four.port(3, 2)), (4, 7));
        let three = Dragonfly { groups: 3, ..nine };
        assert_eq!((three.links_to(1), three.links_to(2), three.links_used()), (4, 4, 8));
        // All hosts of a group to one other: four links of eight, or eight by two.
        let told = three.to_one_group(24);
        assert_eq!((told.direct_share, told.detour_share), (0.5, 0.5));
        assert_eq!(three.bisection_hosts(24), 8.0, "one group to two, of its eight hosts");
        assert_eq!(four.bisection_hosts(32), 3.0 + 2.0 + 2.0 + 3.0);
    }
}
