//! How the ports of a leaf are divided between hosts and uplinks.

use crate::catalogue::{Ports, Switch};
use narrows_model::BitsPerSecond;

/// A leaf, as it is cabled when it is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// Ports for hosts.
    pub host_ports: u32,
    /// Ports towards the tier above.
    pub uplinks: u32,
    /// Rate of an uplink.
    pub uplink_rate: BitsPerSecond,
}

/// What is wanted of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Rate of a host's port.
    pub rate: BitsPerSecond,
    /// Rate of an uplink; without it that of a port as it is.
    pub uplink_rate: Option<BitsPerSecond>,
    /// Most rate of hosts for each of the uplinks.
    pub oversubscription: f64,
}

impl Leaf {
    /// The leaf of a switch with the most hosts.
    pub fn of(switch: &Switch, wanted: Wanted) -> Option<Self> {
        let ports = &switch.ports;
        let pairs = (0..ports.len()).flat_map(|down| (0..ports.len()).map(move |up| (down, up)));
        let leaves = pairs.filter_map(|(down, up)| {
            if down == up {
                one_kind(&ports[down], wanted)
            } else {
                two_kinds(&ports[down], &ports[up], wanted)
            }
        });
        // Of equal leaves the one with the fewest cables.
        leaves.max_by_key(|leaf| (leaf.host_ports, u32::MAX - leaf.uplinks))
    }
}

/// Hosts and uplinks share ports of one kind.
fn one_kind(ports: &Ports, wanted: Wanted) -> Option<Leaf> {
    let parts = ports.parts(wanted.rate)?;
    let uplink_rate = wanted.uplink_rate.unwrap_or(ports.rate());
    let up_parts = ports.parts(uplink_rate)?;
    let up = f64::from(up_parts) * uplink_rate.0 * wanted.oversubscription;
    let down = f64::from(parts) * wanted.rate.0;
    let for_hosts = (f64::from(ports.count) * up / (down + up) + ROUNDING).floor() as u32;
    finished(for_hosts * parts, (ports.count - for_hosts) * up_parts, uplink_rate, wanted)
}

/// Hosts have ports of one kind, uplinks those of another.
fn two_kinds(down: &Ports, up: &Ports, wanted: Wanted) -> Option<Leaf> {
    let parts = down.parts(wanted.rate)?;
    let uplink_rate = wanted.uplink_rate.unwrap_or(up.rate());
    let uplinks = up.count * up.parts(uplink_rate)?;
    let carried = f64::from(uplinks) * uplink_rate.0 * wanted.oversubscription / wanted.rate.0;
    let host_ports = (carried + ROUNDING).floor().min(f64::from(down.count * parts));
    finished(host_ports as u32, uplinks, uplink_rate, wanted)
}

/// Quotients of rates that are whole but for the last bits of a double.
const ROUNDING: f64 = 1e-6;

/// No more uplinks than the hosts need.
fn finished(hosts: u32, most: u32, uplink_rate: BitsPerSecond, wanted: Wanted) -> Option<Leaf> {
    let needed = f64::from(hosts) * wanted.rate.0 / (uplink_rate.0 * wanted.oversubscription);
    let uplinks = ((needed - ROUNDING).ceil() as u32).clamp(1, most.max(1));
    (hosts > 0 && most > 0).then_some(Leaf { host_ports: hosts, uplinks, uplink_rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::named;

    fn leaf(switch: &Switch, gbps: f64, ratio: f64, uplink: Option<f64>) -> Option<Leaf> {
        let rate = |gbps: f64| BitsPerSecond(gbps * 1e9);
        let uplink_rate = uplink.map(rate);
        Leaf::of(switch, Wanted { rate: rate(gbps), uplink_rate, oversubscription: ratio })
    }

    fn of_radix(ports: u32, ratio: f64) -> (u32, u32) {
        let switch = Switch::of_radix(ports, BitsPerSecond(10e9)).expect("radix");
        let leaf = leaf(&switch, 10.0, ratio, None).expect("leaf");
        (leaf.host_ports, leaf.uplinks)
    }

    #[test]
    fn ports_are_divided_by_the_ratio() {
        assert_eq!(of_radix(48, 1.0), (24, 24));
        assert_eq!(of_radix(48, 3.0), (36, 12));
        assert_eq!(of_radix(52, 12.0), (48, 4), "48 hosts and a few uplinks");
        assert_eq!(of_radix(32, 1.0), (16, 16));
        assert_eq!(of_radix(5, 1.0), (2, 2), "one port stays free");
        let leaf_of = |name: &str, gbps, ratio, up| leaf(named(name).expect(name), gbps, ratio, up);
        let as_built = leaf_of("7050SX3-48YC8", 25.0, 1.5, None).expect("leaf");
        assert_eq!((as_built.host_ports, as_built.uplinks), (48, 8), "48 x 25 over 8 x 100");
        let fewer = leaf_of("7050SX3-48YC8", 25.0, 1.0, None).expect("leaf");
        assert_eq!((fewer.host_ports, fewer.uplinks), (32, 8));
        let split = leaf_of("QM9700", 200.0, 1.0, Some(200.0)).expect("leaf");
        assert_eq!((split.host_ports, split.uplinks), (64, 64));
        let unsplit = leaf_of("QM9700", 200.0, 1.0, None).expect("leaf");
        assert_eq!((unsplit.host_ports, unsplit.uplinks), (64, 32));
        assert_eq!(leaf_of("7148SX", 25.0, 1.0, None), None, "no such port");
        let two = Switch::of_radix(2, BitsPerSecond(10e9)).expect("radix");
        assert_eq!(leaf(&two, 10.0, 0.25, None), None, "no port is left for a host");
    }
}
