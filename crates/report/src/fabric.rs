//! A planned fabric: text for a terminal, and a picture.

use crate::drawn::Screen;
use crate::figures::alone;
use crate::plots;
use crate::table;
use narrows_fabric::buffers::{self, Lossless, PortsHeld, Room};
use narrows_fabric::catalogue::Switch;
use narrows_fabric::design::{Cables, Design, Tier, TierSwitches};
use narrows_fabric::dragonfly::ToOneGroup;
use narrows_fabric::latency::Latency;
use narrows_fabric::measured::{Climb, Tiered};
use narrows_fabric::{HOSTS_SIMULATED_MAX, InFlight, Planned, RoundTripFrom};
use narrows_model::units::three_digits;
use narrows_model::{BitsPerSecond, Bytes};

/// As text: the parts, what it carries, how long it takes, what buffers hold, and other fabrics.
pub fn text(plan: &Planned, screen: &Screen) -> String {
    let mut text = screen.prose(&head(plan), "  ");
    text += "\nSwitches and links\n";
    text += &table::lines(&parts(&plan.design), |at| at >= 2);
    text += "\nWhat it carries\n";
    text += &facts(&carries(plan), screen);
    text += "\nHow long it takes, and what buffers hold\n";
    text += &facts(&times(plan), screen);
    text += "\nWhere one kind of fabric ends\n";
    text += &table::lines(&kinds(plan), |at| at == 2);
    if !plan.others.is_empty() {
        text += "\nOther fabrics for these hosts\n";
        text += &table::lines(&others(&plan.others), |at| at >= 1);
    }
    text + "\nSources\n" + &sources(plan, screen)
}

/// A mesh beside the plan, tier by tier.
pub fn measured(tiers: &[Tiered], screen: &Screen) -> String {
    let head = [
        "pairs of",
        "pairs",
        "failed",
        "at once",
        "worst",
        "by the plan",
        "ran alone",
        "alone",
        "worst",
    ];
    let rows: Vec<Vec<String>> = tiers.iter().map(measured_tier).collect();
    let says = "Shares of a host's rate. A mesh runs only the pairs alone that it looks at again; by \
                the plan these have all of a host's rate on every tier. \
                Hosts are taken to fill the leaves in the order of the mesh.";
    format!(
        "\nMeasured, by how far up the traffic goes\n{}{}",
        table::on_screen(&head, &rows, screen),
        screen.prose(says, "  ")
    )
}

fn measured_tier(tier: &Tiered) -> Vec<String> {
    let share = |share: Option<f64>| {
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
    };
    let climb = match tier.climb {
        Climb::Leaf => "one leaf",
        Climb::Middle => "two leaves",
        Climb::Top => "two pods or groups",
    };
    vec![
        climb.to_owned(),
        tier.pairs.to_string(),
        tier.failed.to_string(),
        share(tier.together),
        share(tier.worst_together),
        share(tier.should_together),
        tier.alone_pairs.to_string(),
        share(tier.alone),
        share(tier.worst_alone),
    ]
}

/// As a picture of its own.
pub fn svg(plan: &Planned) -> String {
    alone(&plots::fabric::draw(&plan.design))
}

/// Switches that are in the data file, a line each.
pub fn catalogue(switches: &[Switch], screen: &Screen) -> String {
    let rows: Vec<Vec<String>> = switches.iter().map(listed).collect();
    table::on_screen(&["switch", "ports", "latency", "buffer", "source"], &rows, screen)
}

fn listed(switch: &Switch) -> Vec<String> {
    let ports = switch.ports.iter().map(|ports| match ports.split {
        1 => format!("{} x {}G", ports.count, ports.gbps),
        split => format!("{} x {}G (1 to {split} parts)", ports.count, ports.gbps),
    });
    let latency = switch.latency_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    let buffer = switch.buffer_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    let ports = ports.collect::<Vec<_>>().join(", ");
    vec![switch.name.clone(), ports, latency, buffer, switch.source.clone()]
}

fn head(plan: &Planned) -> String {
    let design = &plan.design;
    let tiers = plots::fabric::kind(design);
    let ratio = match plan.oversubscription {
        None => String::new(),
        Some(ratio) if ratio <= 1.0 => ", not oversubscribed".to_owned(),
        Some(ratio) => format!(", oversubscribed {}:1", three_digits(ratio)),
    };
    let most = design.most_hosts;
    format!(
        "{} hosts at {}: {tiers}{ratio}; the same switches reach {most} hosts so.",
        design.hosts, design.rate_bits_per_second
    )
}

fn parts(design: &Design) -> Vec<Vec<String>> {
    let head = ["tier", "switch", "count", "links of each", "links up to it", "at"];
    // Within a dragonfly cables lead to switches that are in the table already.
    let parts = design.parts.iter().map(Some).chain(std::iter::repeat(None));
    let rows = parts.zip(&design.cables).map(|(part, cables)| row(part, cables));
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn row(part: Option<&TierSwitches>, cables: &Cables) -> Vec<String> {
    let of_part = |says: fn(&TierSwitches) -> String| part.map_or_else(String::new, says);
    vec![
        tier(cables.to).to_owned(),
        of_part(|part| part.switch.clone()),
        of_part(|part| part.count.to_string()),
        of_part(|part| format!("{} of {}", part.links, part.ports)),
        cables.count.to_string(),
        cables.rate_bits_per_second.to_string(),
    ]
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Leaf => "leaf",
        Tier::Aggregation => "aggregation",
        Tier::Spine => "spine",
        Tier::Group => "same group",
        Tier::OtherGroups => "other groups",
    }
}

/// A name and a sentence each.
type Fact = (&'static str, String);

fn facts(facts: &[Fact], screen: &Screen) -> String {
    const NAME_COLUMNS: usize = 15;
    let hang = " ".repeat(NAME_COLUMNS + 2);
    facts
        .iter()
        .map(|(name, says)| screen.prose(&format!("  {name:<NAME_COLUMNS$}{says}"), &hang))
        .collect()
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

fn carries(plan: &Planned) -> Vec<Fact> {
    let bisection = plan.bisection_bits_per_second;
    let mut facts = vec![
        (
            "on paper",
            format!(
                "{} of every host's rate to other leaves at once; {} from half to half",
                percent(plan.share_on_paper),
                wide(bisection)
            ),
        ),
        ("all to all", format!("{} for each host, by design", plan.all_to_all_bits_per_second)),
    ];
    facts.extend(plan.to_one_group.map(|one| ("to one group", to_one_group(one))));
    let hashed = match &plan.hashed {
        None => format!("not simulated: more than {HOSTS_SIMULATED_MAX} hosts"),
        Some(carried) => {
            let flows = if carried.flows == 1 { "one flow" } else { "each flow" };
            let (low, high) = carried.range_share;
            format!(
                "{} on average ({} to {} by round), below {} for one host in a hundred: {} \
                rounds, \
                 every host to one other, {} a host, {flows} on one path by its hash, seed {}",
                percent(carried.mean_share),
                percent(low),
                percent(high),
                percent(carried.p01_share),
                carried.rounds,
                carried.flows,
                carried.seed
            )
        }
    };
    facts.push(("static hashing", hashed));
    facts
}

fn to_one_group(one: ToOneGroup) -> String {
    format!(
        "{} of every host's rate where each group sends to one other over the links between the \
         two; {} over third groups (adaptive or Valiant's routing)",
        percent(one.direct_share),
        percent(one.detour_share)
    )
}

/// A rate beyond thousands of Gb/s in Tb/s.
fn wide(rate: BitsPerSecond) -> String {
    if rate.0 >= 1e13 { format!("{} Tb/s", three_digits(rate.0 / 1e12)) } else { rate.to_string() }
}

fn times(plan: &Planned) -> Vec<Fact> {
    let mut facts: Vec<Fact> = plan.latency.iter().map(|one| ("one way", latency(one))).collect();
    match &plan.path {
        None => facts.push((
            "in flight",
            "unknown: the data sheets of these switches give no latency; name a round trip".into(),
        )),
        Some(path) => facts.extend(of_path(path, plan.design.rate_bits_per_second)),
    }
    facts.extend(plan.path.as_ref().and_then(|path| in_switches(plan, path)));
    facts.extend(plan.lossless.iter().map(|one| ("lossless", lossless(one))));
    facts
}

fn latency((frame, latency): &(Bytes, Latency)) -> String {
    let hops = latency.hops;
    let through = if hops == 1 { "1 switch".to_owned() } else { format!("{hops} switches") };
    let switches = latency.switches_ns.map_or("unknown".to_owned(), microseconds);
    let total = latency.total_ns().map_or("unknown".to_owned(), microseconds);
    let how = if latency.store_and_forward { "store-and-forward" } else { "cut-through" };
    format!(
        "{frame} frame: {total}, of which {through} {switches}, cables {}, the frame itself {} \
         ({how}); queues and hosts come on top",
        microseconds(latency.cables_ns),
        microseconds(latency.frame_ns)
    )
}

/// What the switches take of a round trip between programs, which passes each of them twice.
fn in_switches(plan: &Planned, path: &InFlight) -> Option<Fact> {
    let (_, latency) = plan.latency.first()?;
    let switches_us = 2.0 * latency.switches_ns? / 1e3;
    let is_given = matches!(path.round_trip_from, RoundTripFrom::Given);
    let trip_us = Some(path.round_trip_us).filter(|trip| is_given && *trip > 0.0)?;
    let says = format!(
        "{} of the round trip of {} us, {} passed twice: {}",
        microseconds(1e3 * switches_us),
        three_digits(trip_us),
        if latency.hops == 1 {
            "1 switch".to_owned()
        } else {
            format!("{} switches", latency.hops)
        },
        if switches_us > trip_us {
            "more than it takes".to_owned()
        } else {
            percent(switches_us / trip_us)
        }
    );
    Some(("in switches", says))
}

fn microseconds(ns: f64) -> String {
    format!("{} us", three_digits(ns / 1e3))
}

fn of_path(path: &InFlight, rate: BitsPerSecond) -> Vec<Fact> {
    let from = match path.round_trip_from {
        RoundTripFrom::Given => "as given",
        RoundTripFrom::FabricAlone => "the fabric alone, hosts add theirs",
    };
    let round_trip = three_digits(path.round_trip_us);
    let in_flight = format!(
        "{} fill a port over a round trip of {round_trip} us ({from})",
        path.in_flight_bytes
    );
    let buffer = path.buffer.map(|(buffer, reached, longest)| {
        let says = format!(
            "{buffer} reach {reached} over it, and all of {rate} up to {} us",
            three_digits(longest)
        );
        ("socket buffer", says)
    });
    std::iter::once(("in flight", in_flight)).chain(buffer).collect()
}

fn lossless(one: &Lossless) -> String {
    let ports: Vec<String> = one.ports.iter().map(held).collect();
    let needed = one.needed_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    let buffer = one.buffer_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    let says = match one.room {
        Room::Fits => "fits",
        Room::TooSmall => "does not fit",
        Room::Unknown => "not known whether it fits",
    };
    format!("{}: {}: {needed} of {buffer}, {says}", one.switch, ports.join(", "))
}

fn held(held: &PortsHeld) -> String {
    let bytes = held.headroom_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    let (rate, metres) = (held.rate_bits_per_second, held.metres);
    format!("{} ports of {rate}, {metres} m, {bytes} a class", held.ports)
}

fn kinds(plan: &Planned) -> Vec<Vec<String>> {
    let head = ["fabric", "of", "hosts at most"].map(str::to_owned).to_vec();
    let rows = plan.thresholds.iter().map(|one| {
        let kind = match (one.tiers, one.chassis) {
            (1, false) => "one switch".to_owned(),
            (1, true) => "one chassis".to_owned(),
            (tiers, _) => format!("{tiers} tiers"),
        };
        vec![kind, one.switch.clone(), one.hosts.to_string()]
    });
    std::iter::once(head).chain(rows).collect()
}

fn others(others: &[Design]) -> Vec<Vec<String>> {
    let head = ["leaf", "tiers", "switches", "links", "oversubscription"];
    let rows = others.iter().map(|design| {
        let links: u64 = design.cables.iter().map(|cables| cables.count).sum();
        let ratio = design.oversubscription();
        vec![
            design.parts.first().map_or(String::new(), |part| part.switch.clone()),
            design.tiers.to_string(),
            design.switches().to_string(),
            links.to_string(),
            ratio.map_or("none".to_owned(), |ratio| format!("{}:1", three_digits(ratio))),
        ]
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn sources(plan: &Planned, screen: &Screen) -> String {
    let switches = plan.switches.iter().map(|one| format!("  {}: {}", one.name, one.source));
    let mut lines: Vec<String> = switches.collect();
    if !plan.lossless.is_empty() {
        lines.push(format!("  headroom: {}", buffers::source()));
    }
    lines.push("  lengths of cables: as given, 5 ns a metre".to_owned());
    lines.iter().map(|line| screen.prose(line, "    ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_fabric::Request;
    use narrows_fabric::catalogue::named;
    use narrows_fabric::design::Asked;
    use narrows_fabric::latency::Lengths;

    fn plan(hosts: u32, ratio: f64, names: &[&str]) -> Planned {
        planned(hosts, ratio, names, false)
    }

    fn dragonfly(hosts: u32) -> Planned {
        planned(hosts, 1.0, &["7148SX"], true)
    }

    fn planned(hosts: u32, ratio: f64, names: &[&str], is_dragonfly: bool) -> Planned {
        let rate = BitsPerSecond(10e9);
        let switches: Vec<Switch> =
            names.iter().map(|name| named(name).expect(name).clone()).collect();
        let request = Request {
            asked: Asked { hosts, rate, uplink_rate: None, oversubscription: ratio },
            leaves: switches,
            spine: None,
            tiers: None,
            is_dragonfly,
            lengths: Lengths { host_metres: 3.0, fabric_metres: 30.0 },
            frame: Bytes(9216),
            lossless_classes: 1,
            flows: 1,
            seed: 1,
            buffer: Some(Bytes(131_071)),
            round_trip_us: Some(15.0),
        };
        Planned::of(&request).expect("a plan")
    }

    #[test]
    fn the_papers_fabrics_are_said_with_units_and_sources() {
        let says = text(&plan(576, 1.0, &["7148SX", "7508"]), &Screen::FILE);
        for part in [
            "576 hosts at 10.0 Gb/s: 2 tiers, 36 switches, not oversubscribed",
            "one switch   Arista 7148SX             48",
            "one chassis  Arista 7508              384",
            "2 tiers      Arista 7148SX           1152",
            "3 switches 3.60 us",
            "18.3 KiB fill a port over a round trip of 15.0 us (as given)",
            "all of 10.0 Gb/s up to 105 us",
            "7.20 us of the round trip of 15.0 us, 3 switches passed twice: 48",
            "iWARP performance study",
            "not known whether it fits",
        ] {
            assert!(says.contains(part), "{part}\n{says}");
        }
        let narrow = Screen { columns: Some(80), unicode: true };
        let wrapped = text(&plan(576, 3.0, &["7148SX", "7508"]), &narrow);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 80), "{wrapped}");
        assert!(wrapped.contains("oversubscribed 3.00:1"), "{wrapped}");
    }

    #[test]
    fn a_dragonfly_says_its_groups_its_cables_and_what_one_group_sends_to_another() {
        let plan = dragonfly(900);
        let says = text(&plan, &Screen::FILE);
        for part in [
            "900 hosts at 10.0 Gb/s: dragonfly of 4 groups of 24, 96 switches, not oversubscribed",
            "same group",
            "other groups",
            "4 switches 4.80 us",
            "over third groups",
        ] {
            assert!(says.contains(part), "{part}\n{says}");
        }
        let drawn = svg(&plan);
        // The paper and four groups, each with a line to each other.
        assert_eq!(drawn.matches("<rect").count(), 1 + 4, "{drawn}");
        assert_eq!(drawn.matches("<line").count(), 6, "{drawn}");
        let large = svg(&dragonfly(20_000));
        assert!(large.contains("more groups") && large.matches("<rect").count() < 30, "{large}");
    }

    #[test]
    fn a_picture_has_every_switch_or_says_how_many_are_left_out() {
        let drawn = svg(&plan(100, 1.0, &["7148SX"]));
        // The paper, five leaves, three spines.
        assert_eq!(drawn.matches("<rect").count(), 1 + 5 + 3, "{drawn}");
        assert_eq!(drawn.matches("<line").count(), 15, "each leaf to each spine");
        let large = svg(&plan(1152, 1.0, &["7148SX"]));
        assert!(large.contains("and 36 more"), "{large}");
        assert!(large.matches("<rect").count() < 40);
        let one = svg(&plan(40, 1.0, &["7148SX"]));
        assert_eq!((one.matches("<rect").count(), one.matches("<line").count()), (2, 0));
    }
}
