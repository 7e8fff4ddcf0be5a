//! A fabric with everything that is computed of it.

use crate::FabricError;
use crate::buffers::{Lossless, PortsHeld, in_flight, longest_round_trip_us, with_buffer};
use crate::catalogue::Switch;
use crate::design::{Asked, Design, Shape};
use crate::dragonfly::ToOneGroup;
use crate::hashing::{Carried, carried};
use crate::latency::{Latency, Lengths};
use crate::plan::{Choice, Threshold, all_to_all, choices, dragonflies, thresholds};
use narrows_model::{BitsPerSecond, Bytes};
use serde::Serialize;

/// The smallest frame of Ethernet.
const SMALLEST_FRAME: Bytes = Bytes(64);

/// What is to be planned, of which switches, and what is assumed of cables and traffic.
#[derive(Clone, Debug)]
pub struct Request {
    /// Hosts, their rate, and how far they are oversubscribed.
    pub asked: Asked,
    /// Models that hosts may be connected to.
    pub leaves: Vec<Switch>,
    /// The model above; without it any of the leaves'.
    pub spine: Option<Switch>,
    /// Tiers; without it the fewest.
    pub tiers: Option<u8>,
    /// Groups of leaves with links to each other in place of tiers.
    pub is_dragonfly: bool,
    /// How long the cables are.
    pub lengths: Lengths,
    /// The largest frame.
    pub frame: Bytes,
    /// Classes of traffic that must not lose a frame.
    pub lossless_classes: u32,
    /// Flows of each host, each hashed by itself.
    pub flows: u32,
    /// Where the draws of the simulation begin.
    pub seed: u64,
    /// A socket's buffer that is held against the path.
    pub buffer: Option<Bytes>,
    /// A round trip of programs; without it the fabric's own.
    pub round_trip_us: Option<f64>,
}

/// Where a round trip is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTripFrom {
    /// As it was given.
    Given,
    /// Both ways through the fabric with the smallest frames: hosts add theirs.
    FabricAlone,
}

/// What is in flight on a path, and what a buffer makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// The round trip that it is computed with.
    pub round_trip_us: f64,
    pub round_trip_from: RoundTripFrom,
    /// Bytes in flight when a host's port is full.
    pub in_flight_bytes: Bytes,
    /// The buffer that was given, what one socket reaches with it, and up to which round trip it
    /// fills the port.
    pub buffer: Option<(Bytes, BitsPerSecond, f64)>,
}

/// A fabric, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub design: Design,
    /// Models of leaf and spine.
    pub switches: Vec<Switch>,
    /// Rate of a leaf's hosts over that of its uplinks; `None` of one switch.
    pub oversubscription: Option<f64>,
    /// Share of their rate that all hosts have at once to other leaves, by design.
    pub share_on_paper: f64,
    /// From one half of the hosts to the other, by design.
    pub bisection_bits_per_second: BitsPerSecond,
    /// A host's rate in an exchange of all with all, by design.
    pub all_to_all_bits_per_second: BitsPerSecond,
    /// What a group of a dragonfly sends to one other group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_one_group: Option<ToOneGroup>,
    /// What is left of it when a hash chooses each flow's path; `None` where it is too large to
    /// simulate.
    pub hashed: Option<Carried>,
    /// One way of the smallest and of the largest frame.
    pub latency: Vec<(Bytes, Latency)>,
    /// What switches keep free; nothing where no class is lossless.
    pub lossless: Vec<Lossless>,
    /// `None` where no round trip was given and the switches' latency is not known.
    pub path: Option<InFlight>,
    /// Fabrics of other leaves.
    pub others: Vec<Design>,
    /// Most hosts of each kind of fabric.
    pub thresholds: Vec<Threshold>,
}

impl Planned {
    /// The first choice of a request, with its figures.
    pub fn of(request: &Request) -> Result<Self, FabricError> {
        let Request { asked, leaves, spine, tiers, .. } = request;
        let mut all = if request.is_dragonfly {
            dragonflies(asked, leaves)?
        } else {
            choices(asked, leaves, spine.as_ref(), *tiers)?
        };
        let first = all.remove(0);
        let design = &first.design;
        let latency: Vec<(Bytes, Latency)> = [SMALLEST_FRAME, request.frame]
            .into_iter()
            .map(|frame| {
                let of = Latency::of(design, first.leaf, first.spine, request.lengths, frame);
                (frame, of)
            })
            .collect();
        let mut switches = vec![first.leaf.clone()];
        if design.tiers > 1 && first.spine != first.leaf {
            switches.push(first.spine.clone());
        }
        Ok(Self {
            oversubscription: design.oversubscription(),
            share_on_paper: design.share_on_paper(),
            bisection_bits_per_second: design.bisection(),
            all_to_all_bits_per_second: all_to_all(design),
            to_one_group: match design.shape {
                Shape::Dragonfly(sizes) => Some(sizes.to_one_group(design.hosts)),
                Shape::Single | Shape::LeafSpine { .. } | Shape::FatTree { .. } => None,
            },
            hashed: carried(design, request.flows, request.seed),
            lossless: lossless(&first, request),
            path: path(&latency, request),
            latency,
            switches,
            others: all.into_iter().map(|choice| choice.design).collect(),
            thresholds: thresholds(asked, leaves, spine.as_ref()),
            design: first.design,
        })
    }
}

fn lossless(choice: &Choice<'_>, request: &Request) -> Vec<Lossless> {
    let (design, classes) = (&choice.design, request.lossless_classes);
    if classes == 0 {
        return Vec::new();
    }
    let Lengths { host_metres, fabric_metres } = request.lengths;
    let uplink_rate = design.uplink_rate_bits_per_second;
    let hosts = design.leaf_host_ports.min(design.hosts);
    let down = PortsHeld::of(hosts, design.rate_bits_per_second, host_metres, request.frame);
    let uplinks = match design.shape {
        Shape::Dragonfly(sizes) => sizes.switches - 1 + sizes.global_ports,
        Shape::Single | Shape::LeafSpine { .. } | Shape::FatTree { .. } => design.leaf_uplinks,
    };
    let up = PortsHeld::of(uplinks, uplink_rate, fabric_metres, request.frame);
    let leaf_ports = if uplinks > 0 { vec![down, up] } else { vec![down] };
    let leaf = choice.leaf;
    let mut all = vec![Lossless::of(&leaf.name, leaf_ports, classes, leaf.buffer_bytes)];
    // Of the upper tiers the switch with the most links.
    let links = design.parts.iter().skip(1).map(|part| part.links).max();
    if let Some(links) = links.filter(|_| design.shape != Shape::Single) {
        let ports = vec![PortsHeld::of(links, uplink_rate, fabric_metres, request.frame)];
        let spine = choice.spine;
        all.push(Lossless::of(&spine.name, ports, classes, spine.buffer_bytes));
    }
    all
}

fn path(latency: &[(Bytes, Latency)], request: &Request) -> Option<InFlight> {
    let own = || latency.first()?.1.total_ns().map(|ns| 2.0 * ns / 1e3);
    let (round_trip_us, round_trip_from) = match request.round_trip_us {
        Some(given) => (given, RoundTripFrom::Given),
        None => (own()?, RoundTripFrom::FabricAlone),
    };
    let rate = request.asked.rate;
    let buffer = request.buffer.map(|buffer| {
        let reached = with_buffer(rate, round_trip_us, buffer);
        (buffer, reached, longest_round_trip_us(rate, buffer))
    });
    let in_flight_bytes = in_flight(rate, round_trip_us);
    Some(InFlight { round_trip_us, round_trip_from, in_flight_bytes, buffer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Room;
    use crate::catalogue::named;

    fn request(hosts: u32, gbps: f64, leaf: &str, spine: Option<&str>) -> Request {
        let rate = BitsPerSecond(gbps * 1e9);
        Request {
            asked: Asked { hosts, rate, uplink_rate: None, oversubscription: 1.5 },
            leaves: vec![named(leaf).expect(leaf).clone()],
            spine: spine.map(|name| named(name).expect(name).clone()),
            tiers: None,
            is_dragonfly: false,
            lengths: Lengths { host_metres: 3.0, fabric_metres: 30.0 },
            frame: Bytes(9216),
            lossless_classes: 1,
            flows: 1,
            seed: 1,
            buffer: Some(Bytes(131_071)),
            round_trip_us: None,
        }
    }

    #[test]
    fn a_plan_has_its_figures_from_one_design() {
        let plan = Planned::of(&request(480, 25.0, "7050SX3", Some("7050CX3"))).expect("a plan");
        assert_eq!(plan.design.tiers, 2);
        assert_eq!(plan.oversubscription, Some(1.5));
        assert!((plan.bisection_bits_per_second.gbps() - 240.0 * 25.0 / 1.5).abs() < 1e-6);
        let hashed = plan.hashed.expect("small enough");
        assert!(hashed.mean_share < plan.share_on_paper, "{hashed:?}");
        assert_eq!(plan.switches.len(), 2);
        // 48 host ports and 8 uplinks below, 20 links above, of 32 MiB each.
        let ports: Vec<u32> =
            plan.lossless.iter().flat_map(|one| &one.ports).map(|held| held.ports).collect();
        assert_eq!(ports, [48, 8, 20]);
        assert!(plan.lossless.iter().all(|one| one.room == Room::Fits), "{:?}", plan.lossless);
        let path = plan.path.expect("latency is known");
        let one_way = plan.latency[0].1.total_ns().expect("known");
        assert_eq!(path.round_trip_from, RoundTripFrom::FabricAlone);
        assert!((path.round_trip_us - one_way / 500.0).abs() < 1e-9);
    }

    /// 8 ports for hosts, 15 within the group and 8 to others: 31 of 32, four switches on the way.
    #[test]
    fn a_dragonfly_has_figures_of_the_same_kinds() {
        let mut wanted = request(2000, 100.0, "7050CX3", None);
        (wanted.asked.oversubscription, wanted.is_dragonfly) = (1.0, true);
        let plan = Planned::of(&wanted).expect("a plan");
        assert_eq!((plan.design.hops(), plan.switches.len()), (4, 1));
        assert_eq!(plan.latency[0].1.hops, 4);
        let ports: Vec<u32> =
            plan.lossless.iter().flat_map(|one| &one.ports).map(|held| held.ports).collect();
        assert_eq!(ports, [8, 15 + 8]);
        let one = plan.to_one_group.expect("groups");
        assert!(one.direct_share < one.detour_share && one.detour_share < 1.0, "{one:?}");
        wanted.asked.hosts = 20_000;
        let most = u64::from(8_u32 * 16) * (16 * 8 + 1);
        let refused = Planned::of(&wanted).expect_err("too many");
        assert_eq!(refused, FabricError::TooManyForDragonfly { hosts: 20_000, most });
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut wanted = request(2000, 400.0, "QM9700", None);
        wanted.asked.oversubscription = 1.0;
        let plan = Planned::of(&wanted).expect("a plan");
        assert_eq!(plan.path, None, "no latency is known");
        assert!(plan.lossless.iter().all(|one| one.room == Room::Unknown));
        wanted.round_trip_us = Some(10.0);
        wanted.lossless_classes = 0;
        let plan = Planned::of(&wanted).expect("a plan");
        assert_eq!(plan.path.map(|path| path.in_flight_bytes), Some(Bytes(500_000)));
        assert!(plan.lossless.is_empty());
    }

    #[test]
    fn a_buffer_is_held_against_the_path_that_was_given() {
        let mut wanted = request(480, 25.0, "7050SX3", Some("7050CX3"));
        wanted.round_trip_us = Some(84.0);
        wanted.lossless_classes = 3;
        let plan = Planned::of(&wanted).expect("a plan");
        let path = plan.path.expect("given");
        assert_eq!((path.round_trip_us, path.round_trip_from), (84.0, RoundTripFrom::Given));
        // 25 Gb/s over 84 us; 131,071 B in each round trip; 131,071 B last 41.94 us.
        assert_eq!(path.in_flight_bytes, Bytes(262_500));
        let (buffer, reached, longest_us) = path.buffer.expect("a buffer");
        assert_eq!(buffer, Bytes(131_071));
        assert!((reached.gbps() - 131_071.0 * 8.0 / 84_000.0).abs() < 1e-9, "{reached}");
        assert!((longest_us - 131_071.0 * 8.0 / 25_000.0).abs() < 1e-9, "{longest_us}");
        let frames: Vec<Bytes> = plan.latency.iter().map(|(frame, _)| *frame).collect();
        assert_eq!(frames, [Bytes(64), Bytes(9216)]);
        let names: Vec<&str> = plan.switches.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["Arista 7050SX3-48YC8", "Arista 7050CX3-32S"]);
        // Cables of 3 m to hosts, of 30 m between switches.
        let held: Vec<(&str, f64, f64)> = (plan.lossless.iter())
            .flat_map(|one| one.ports.iter().map(|held| (&*one.switch, held)))
            .map(|(name, held)| (name, held.metres, held.rate_bits_per_second.gbps()))
            .collect();
        let wanted = [(names[0], 3.0, 25.0), (names[0], 30.0, 100.0), (names[1], 30.0, 100.0)];
        assert_eq!(held, wanted);
        let down = crate::buffers::headroom(BitsPerSecond(25e9), 3.0, Bytes(9216)).expect("known");
        let up = crate::buffers::headroom(BitsPerSecond(100e9), 30.0, Bytes(9216)).expect("known");
        let needs: Vec<Option<Bytes>> = plan.lossless.iter().map(|one| one.needed_bytes).collect();
        let wanted = [3 * (48 * down.0 + 8 * up.0), 3 * 20 * up.0];
        assert_eq!(needs, wanted.map(|bytes| Some(Bytes(bytes))));
        assert!((plan.all_to_all_bits_per_second.gbps() - 25.0 / 1.5 * 479.0 / 432.0).abs() < 1e-9);
        assert!(plan.others.is_empty() && plan.to_one_group.is_none());
    }

    #[test]
    fn one_switch_has_its_hosts_ports_alone_and_others_are_told() {
        let mut wanted = request(20, 10.0, "7148SX", None);
        wanted.leaves.push(named("7150S").expect("a switch").clone());
        (wanted.asked.oversubscription, wanted.buffer) = (1.0, None);
        let plan = Planned::of(&wanted).expect("a plan");
        assert_eq!((plan.design.tiers, plan.switches.len(), plan.others.len()), (1, 1, 1));
        assert_eq!((plan.oversubscription, plan.share_on_paper), (None, 1.0));
        assert_eq!(plan.all_to_all_bits_per_second, BitsPerSecond(10e9));
        assert_eq!(plan.lossless.len(), 1);
        assert_eq!(plan.lossless[0].ports.len(), 1, "no uplinks");
        assert_eq!(plan.lossless[0].ports[0].ports, 20, "as many as hosts");
        assert_eq!(plan.path.expect("known").buffer, None);
        let tiers: Vec<u8> = plan.thresholds.iter().map(|one| one.tiers).collect();
        assert_eq!(tiers, [1, 2, 3]);
    }
}
