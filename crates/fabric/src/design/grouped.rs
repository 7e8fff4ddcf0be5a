//! A dragonfly of one model of switches.

use super::{Asked, Cables, Design, Shape, Tier, TierSwitches};
use crate::FabricError;
use crate::catalogue::Switch;
use crate::dragonfly::Dragonfly;

/// The dragonfly of one model for so many hosts, all ports at their rate.
pub fn dragonfly(asked: &Asked, switch: &Switch) -> Result<Design, FabricError> {
    asked.check()?;
    let ports = switch.radix(asked.rate);
    if ports == 0 {
        return Err(FabricError::NoPorts(asked.rate, vec![switch.name.clone()]));
    }
    let ratio = asked.oversubscription;
    let sizes = Dragonfly::of(ports, ratio).ok_or(FabricError::NoUplinks(ratio))?;
    let most_hosts = sizes.most_hosts();
    if u64::from(asked.hosts) > most_hosts {
        return Err(FabricError::TooManyForDragonfly { hosts: asked.hosts, most: most_hosts });
    }
    if asked.hosts <= sizes.group_hosts() {
        return Err(FabricError::OneGroup { hosts: asked.hosts, holds: sizes.group_hosts() });
    }
    let groups = asked.hosts.div_ceil(sizes.group_hosts());
    Ok(cabled(asked, switch, Dragonfly { groups, ..sizes }, most_hosts))
}

fn cabled(asked: &Asked, switch: &Switch, sizes: Dragonfly, most_hosts: u64) -> Design {
    let leaves = sizes.groups * sizes.switches;
    let local = u64::from(leaves) * u64::from(sizes.switches - 1) / 2;
    let global = u64::from(sizes.groups) * u64::from(sizes.links_used()) / 2;
    let cables = |to, count| Cables { to, count, rate_bits_per_second: asked.rate };
    let links = sizes.host_ports + sizes.switches - 1 + sizes.global_ports;
    Design {
        hosts: asked.hosts,
        rate_bits_per_second: asked.rate,
        uplink_rate_bits_per_second: asked.rate,
        tiers: 1,
        leaves,
        leaf_hosts: asked.hosts.div_ceil(leaves),
        leaf_host_ports: sizes.host_ports,
        leaf_uplinks: sizes.global_ports,
        shape: Shape::Dragonfly(sizes),
        parts: vec![TierSwitches {
            tier: Tier::Leaf,
            switch: switch.name.clone(),
            count: leaves,
            links,
            ports: switch.radix(asked.rate),
        }],
        cables: vec![
            cables(Tier::Leaf, asked.hosts.into()),
            cables(Tier::Group, local),
            cables(Tier::OtherGroups, global),
        ],
        most_hosts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::named;
    use narrows_model::BitsPerSecond;

    fn of_radix(hosts: u32, ports: u32, ratio: f64) -> Result<(Design, Dragonfly), FabricError> {
        let rate = BitsPerSecond(100e9);
        let asked = Asked { hosts, rate, uplink_rate: None, oversubscription: ratio };
        let design = dragonfly(&asked, &Switch::of_radix(ports, rate)?)?;
        let Shape::Dragonfly(sizes) = design.shape else { panic!("{design:?}") };
        Ok((design, sizes))
    }

    /// The paper: 72 hosts of 7 ports a switch (its figure 5), and more than 256 thousand of 64.
    #[test]
    fn the_papers_dragonflies_have_its_sizes() {
        let (small, sizes) = of_radix(72, 7, 1.0).expect("a dragonfly");
        let want = Dragonfly { groups: 9, switches: 4, host_ports: 2, global_ports: 2 };
        assert_eq!((sizes, small.most_hosts), (want, 72));
        assert_eq!((small.switches(), small.hops()), (36, 4));
        let cables: Vec<u64> = small.cables.iter().map(|cables| cables.count).collect();
        assert_eq!(cables, [72, 9 * 6, 9 * 8 / 2]);
        assert_eq!((small.parts[0].links, small.parts[0].ports), (7, 7));
        let (large, sizes) = of_radix(262_656, 64, 1.0).expect("a dragonfly");
        assert_eq!((sizes.host_ports, sizes.switches, sizes.global_ports), (16, 32, 16));
        assert_eq!((large.most_hosts, sizes.groups), (262_656, 513));
        assert!((1..513).all(|distance| sizes.links_to(distance) == 1));
    }

    /// By hand for 72 hosts: of 8 hosts a group 64 of 70 other switches' hosts are elsewhere, over
    /// 8 links; each of 4 x 3 links within takes 2 x (64/70 x 3/4 x 2 + 6/70) / 3 of a host's rate.
    #[test]
    fn a_balanced_dragonfly_carries_uniform_traffic_and_half_of_it_from_half_to_half() {
        let (design, sizes) = of_radix(72, 7, 1.0).expect("a dragonfly");
        let local = 3.0 / (2.0 * (64.0 / 70.0 * 0.75 * 2.0 + 6.0 / 70.0));
        assert!(local > 1.0);
        assert!((design.share_on_paper() - 1.0).abs() < 1e-12);
        // Four groups to five, a link between every two.
        assert!((design.bisection().gbps() - 2000.0).abs() < 1e-6);
        let one = sizes.to_one_group(design.hosts);
        assert!((one.direct_share - 1.0 / 8.0).abs() < 1e-12, "one link for eight hosts");
        assert!((one.detour_share - 0.5).abs() < 1e-12);
        let (three, sizes) = of_radix(400, 23, 3.0).expect("a dragonfly");
        assert_eq!((sizes.global_ports, sizes.host_ports, sizes.switches), (4, 12, 8));
        assert_eq!(three.oversubscription(), Some(2.5), "ten hosts and four links each");
        let leaving = (400.0 - 80.0) / (400.0 - 10.0);
        let global = 32.0 / (80.0 * leaving);
        let local = 7.0 / (10.0 * (2.0 * leaving * 7.0 / 8.0 + 1.0 - leaving));
        assert!(local < global);
        assert!((three.share_on_paper() - local).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_dragonfly_is_refused_with_its_limits() {
        let refused = |hosts, ports, ratio| of_radix(hosts, ports, ratio).expect_err("refused");
        let many = FabricError::TooManyForDragonfly { hosts: 73, most: 72 };
        assert_eq!(refused(73, 7, 1.0), many);
        assert_eq!(refused(8, 7, 1.0), FabricError::OneGroup { hosts: 8, holds: 8 });
        assert_eq!(refused(8, 2, 1.0), FabricError::NoUplinks(1.0), "no port is left");
        let asked = Asked {
            hosts: 100,
            rate: BitsPerSecond(400e9),
            uplink_rate: None,
            oversubscription: 1.0,
        };
        let slow = named("7148SX").expect("a switch");
        assert!(matches!(dragonfly(&asked, slow), Err(FabricError::NoPorts(..))));
    }
}
