//! How long a frame takes from one host's port to another's.

use crate::catalogue::Switch;
use crate::design::Design;
use narrows_model::{BitsPerSecond, Bytes};
use serde::Serialize;

/// Light in glass and electrons in copper, about two thirds of the speed of light.
pub const CABLE_NS_PER_METRE: f64 = 5.0;

/// Cables of a path, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    /// From a host to its leaf.
    pub host_metres: f64,
    /// Between two switches.
    pub fabric_metres: f64,
}

/// One way between hosts that are as far apart as any.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Switches that the frame passes.
    pub hops: u32,
    /// In switches; `None` where the latency of one is not known.
    pub switches_ns: Option<f64>,
    /// Time that light takes in the cables.
    pub cables_ns: f64,
    /// Sending the frame's bits, once where switches send on while they receive, at each of them
    /// where they do not.
    pub frame_ns: f64,
    /// Whether any switch receives a frame whole before it sends it on.
    pub store_and_forward: bool,
}

impl Latency {
    /// The time of a frame of so many bytes.
    pub fn of(
        design: &Design,
        leaf: &Switch,
        spine: &Switch,
        lengths: Lengths,
        frame: Bytes,
    ) -> Self {
        let hops = design.hops();
        let upper = hops.saturating_sub(2);
        let leaves = hops - upper;
        let switches_ns =
            passed_ns(leaf, leaves).zip(passed_ns(spine, upper)).map(|(leaf, spine)| leaf + spine);
        let metres = 2.0 * lengths.host_metres + f64::from(hops - 1) * lengths.fabric_metres;
        let again = stores(leaf, leaves) + stores(spine, upper);
        let at_host = frame_ns(frame, design.rate_bits_per_second);
        let at_uplink = frame_ns(frame, design.uplink_rate_bits_per_second);
        // The first sending is the host's; of the others one is to a host, the rest over uplinks.
        let last = f64::from(again.min(1)) * at_host;
        let between = f64::from(again.saturating_sub(1)) * at_uplink;
        Self {
            hops,
            switches_ns,
            cables_ns: metres * CABLE_NS_PER_METRE,
            frame_ns: at_host + last + between,
            store_and_forward: again > 0,
        }
    }

    /// All of it, where the switches' share is known.
    pub fn total_ns(&self) -> Option<f64> {
        self.switches_ns.map(|ns| ns + self.cables_ns + self.frame_ns)
    }
}

fn passed_ns(switch: &Switch, passages: u32) -> Option<f64> {
    if passages == 0 {
        return Some(0.0);
    }
    switch.latency_ns.map(|ns| f64::from(ns) * f64::from(passages))
}

fn stores(switch: &Switch, passages: u32) -> u32 {
    passages * u32::from(switch.store_and_forward)
}

fn frame_ns(frame: Bytes, rate: BitsPerSecond) -> f64 {
    frame.0 as f64 * 8.0 / rate.0 * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::named;
    use crate::design::Asked;

    const LENGTHS: Lengths = Lengths { host_metres: 3.0, fabric_metres: 20.0 };

    fn latency(hosts: u32, name: &str, tiers: u8) -> Latency {
        let rate = BitsPerSecond(10e9);
        let switch = named(name).expect(name);
        let asked = Asked { hosts, rate, uplink_rate: None, oversubscription: 1.0 };
        let design = Design::of(&asked, switch, switch, Some(tiers)).expect("design");
        Latency::of(&design, switch, switch, LENGTHS, Bytes(64))
    }

    /// The iWARP paper: two passages of the 7148SX are 2.4 of 7.5 us, a round trip over one switch.
    #[test]
    fn two_passages_of_the_papers_switch_are_its_2_4_us() {
        let one = latency(48, "7148SX", 1);
        assert_eq!(one.switches_ns.map(|ns| 2.0 * ns), Some(2400.0));
        assert!((one.cables_ns - 30.0).abs() < 1e-9 && (one.frame_ns - 51.2).abs() < 1e-9);
        assert!((one.total_ns().expect("known") - 1281.2).abs() < 1e-9);
    }

    #[test]
    fn each_tier_adds_two_passages_and_two_cables() {
        let (two, three) = (latency(100, "7148SX", 2), latency(1200, "7148SX", 3));
        assert_eq!((two.hops, three.hops), (3, 5));
        assert_eq!((two.switches_ns, three.switches_ns), (Some(3600.0), Some(6000.0)));
        assert!((two.cables_ns - 230.0).abs() < 1e-9 && (three.cables_ns - 430.0).abs() < 1e-9);
    }

    #[test]
    fn a_switch_that_stores_sends_again_and_an_unknown_one_says_nothing() {
        let chassis = latency(384, "7508", 1);
        assert_eq!((chassis.switches_ns, chassis.store_and_forward), (None, true));
        assert_eq!(chassis.total_ns(), None);
        assert!((chassis.frame_ns - 2.0 * 51.2).abs() < 1e-9);
        assert!((latency(385, "7508", 2).frame_ns - 4.0 * 51.2).abs() < 1e-9);
    }

    /// Hosts of 25 Gb/s below uplinks of 100: 4096 B take 1310.72 ns there and 327.68 here.
    #[test]
    fn a_spine_of_another_model_counts_for_its_own_passages() {
        let rate = BitsPerSecond(25e9);
        let leaf = named("7050SX3-48YC8").expect("leaf");
        let whole = |latency_ns, store_and_forward| Switch {
            latency_ns: Some(latency_ns),
            store_and_forward,
            ..named("7050CX3-32S").expect("spine").clone()
        };
        let asked = Asked { hosts: 480, rate, uplink_rate: None, oversubscription: 1.5 };
        let of = |leaf: &Switch, spine: &Switch| {
            let design = Design::of(&asked, leaf, spine, None).expect("design");
            Latency::of(&design, leaf, spine, LENGTHS, Bytes(4096))
        };
        let at_once = of(leaf, &whole(100, false));
        assert_eq!((at_once.hops, at_once.switches_ns), (3, Some(2.0 * 800.0 + 100.0)));
        assert!((at_once.cables_ns - 5.0 * (3.0 + 20.0 + 20.0 + 3.0)).abs() < 1e-9);
        assert!((at_once.frame_ns - 1310.72).abs() < 1e-9 && !at_once.store_and_forward);
        let spine_stores = of(leaf, &whole(100, true));
        assert!(
            (spine_stores.frame_ns - 2.0 * 1310.72).abs() < 1e-9 && spine_stores.store_and_forward
        );
        let leaves_store =
            of(&Switch { store_and_forward: true, ..leaf.clone() }, &whole(100, false));
        assert!((leaves_store.frame_ns - (2.0 * 1310.72 + 327.68)).abs() < 1e-9);
        let all = leaves_store.switches_ns.expect("known")
            + leaves_store.cables_ns
            + leaves_store.frame_ns;
        assert_eq!(leaves_store.total_ns(), Some(all));
        let unknown = of(leaf, &Switch { latency_ns: None, ..whole(0, false) });
        assert_eq!((unknown.switches_ns, unknown.total_ns()), (None, None));
    }
}
