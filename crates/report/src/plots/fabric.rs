//! A fabric: a row of switches a tier, the hosts below, and the links between neighbours.

use super::svg::Anchor;
use super::{Svg, WIDTH};
use narrows_fabric::design::{Design, Shape, Tier, TierSwitches};
use narrows_fabric::dragonfly::Dragonfly;

/// Switches of a tier that are drawn; of more the first ones, and how many are left out.
const DRAWN_MAX: u32 = 12;
const LEFT: f64 = 8.0;
const ROW: f64 = 74.0;
const TOP: f64 = 34.0;
const HIGH: f64 = 22.0;

/// A tier as it is drawn.
struct Row {
    /// Switches that are drawn.
    drawn: u32,
    /// Upper edge, in units of the drawing.
    y: f64,
}

impl Row {
    /// Left edge and width of a switch.
    fn place(&self, at: u32) -> (f64, f64) {
        let each = (WIDTH - 2.0 * LEFT) / f64::from(self.drawn);
        let width = (each - 4.0).min(90.0);
        (LEFT + each * f64::from(at) + (each - width) / 2.0, width)
    }

    fn middle(&self, at: u32) -> f64 {
        let (left, width) = self.place(at);
        left + width / 2.0
    }
}

/// Draws a design.
pub fn draw(design: &Design) -> String {
    let (hosts, rate) = (design.hosts, design.rate_bits_per_second);
    let title = match design.shape {
        Shape::Dragonfly(sizes) => format!("{hosts} hosts at {rate}, {} groups", sizes.groups),
        _ => format!("{hosts} hosts at {rate}, {}", kind(design)),
    };
    let mut svg = Svg::new(WIDTH, &title);
    svg.text("label", (WIDTH / 2.0, 16.0), Anchor::Middle, &title);
    if let Shape::Dragonfly(sizes) = design.shape {
        return groups(svg, design, sizes);
    }
    let rows: Vec<Row> = (0..).zip(&design.parts).map(|(at, part)| row(design, at, part)).collect();
    for lower in 0..rows.len().saturating_sub(1) {
        links(&mut svg, design, (&rows[lower], &rows[lower + 1]), design.parts[lower].tier);
    }
    for (row, part) in rows.iter().zip(&design.parts) {
        switches(&mut svg, row, part);
    }
    let bottom = TOP + ROW * f64::from(design.tiers - 1) + HIGH;
    let each = if design.tiers == 1 { "" } else { " a leaf" };
    let hosts = format!("{} hosts{each}, {} each", design.leaf_hosts, design.rate_bits_per_second);
    svg.text("small", (WIDTH / 2.0, bottom + 34.0), Anchor::Middle, &hosts);
    svg.finish(bottom + 44.0)
}

fn row(design: &Design, at: u32, part: &TierSwitches) -> Row {
    let below = f64::from(u32::from(design.tiers) - 1 - at);
    Row { drawn: part.count.min(DRAWN_MAX), y: TOP + ROW * below }
}

fn switches(svg: &mut Svg, row: &Row, part: &TierSwitches) {
    let class = match part.tier {
        Tier::Leaf => "box",
        Tier::Aggregation => "conditional",
        Tier::Spine | Tier::Group | Tier::OtherGroups => "bar",
    };
    for at in 0..row.drawn {
        let (left, width) = row.place(at);
        let tip = format!("{}: {} of {} links", part.switch, part.links, part.ports);
        svg.rect(class, (left, row.y), (width, HIGH), &tip);
    }
    let left_out = part.count - row.drawn;
    let more = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
    let says = format!("{} x {}{more}", part.count, part.switch);
    // Below the leaves there are no links, and above the others none of theirs to lower ones.
    let y = if part.tier == Tier::Leaf { row.y + HIGH + 12.0 } else { row.y - 5.0 };
    svg.text("axis", (WIDTH / 2.0, y), Anchor::Middle, &says);
}

/// Each switch that is drawn with those above that it has links to.
fn links(svg: &mut Svg, design: &Design, (lower, upper): (&Row, &Row), tier: Tier) {
    for low in 0..lower.drawn {
        for high in (0..upper.drawn).filter(|high| are_linked(design, tier, low, *high)) {
            let from = (lower.middle(low), lower.y);
            svg.line("grid", from, (upper.middle(high), upper.y + HIGH));
        }
    }
}

fn are_linked(design: &Design, tier: Tier, low: u32, high: u32) -> bool {
    match (design.shape, tier) {
        (Shape::FatTree { pod_leaves, aggregations, .. }, Tier::Leaf) => {
            low / pod_leaves == high / aggregations
        }
        // A spine has links to the aggregation switch of the same place in every pod.
        (Shape::FatTree { aggregations, spines, .. }, _) => low % aggregations == high / spines,
        (Shape::Single | Shape::LeafSpine { .. } | Shape::Dragonfly(_), _) => true,
    }
}

/// What kind of fabric it is, and how many switches it has.
pub fn kind(design: &Design) -> String {
    let switches = design.switches();
    match design.shape {
        Shape::Single => "one switch".to_owned(),
        Shape::LeafSpine { .. } | Shape::FatTree { .. } => {
            format!("{} tiers, {switches} switches", design.tiers)
        }
        Shape::Dragonfly(sizes) => format!(
            "dragonfly of {} groups of {}, {switches} switches",
            sizes.groups, sizes.switches
        ),
    }
}

/// Groups that are drawn in the ring; of more the first ones.
const GROUPS_MAX: u32 = 24;
const RADIUS: f64 = 130.0;
const GROUP_WIDTH: f64 = 30.0;
const GROUP_HEIGHT: f64 = 18.0;

/// Groups in a ring, with a line between every two that have links.
fn groups(mut svg: Svg, design: &Design, sizes: Dragonfly) -> String {
    let drawn = sizes.groups.min(GROUPS_MAX);
    let middle = (WIDTH / 2.0, TOP + RADIUS + GROUP_HEIGHT);
    let place = |group: u32| {
        let turn = std::f64::consts::TAU * f64::from(group) / f64::from(drawn);
        (middle.0 + RADIUS * turn.sin(), middle.1 - RADIUS * turn.cos())
    };
    for from in 0..drawn {
        for to in (from + 1..drawn).filter(|to| sizes.links_to(to - from) > 0) {
            svg.line("grid", place(from), place(to));
        }
    }
    for group in 0..drawn {
        let (x, y) = place(group);
        let at = (x - GROUP_WIDTH / 2.0, y - GROUP_HEIGHT / 2.0);
        let tip = format!("group {}: {} switches", group + 1, sizes.switches);
        svg.rect("box", at, (GROUP_WIDTH, GROUP_HEIGHT), &tip);
        svg.text("axis", (x, y + 4.0), Anchor::Middle, &(group + 1).to_string());
    }
    let left_out = sizes.groups - drawn;
    let more = if left_out > 0 { format!("; {left_out} more groups") } else { String::new() };
    let of_group = format!(
        "a group: {} switches, all linked, {} hosts each",
        sizes.switches, design.leaf_hosts
    );
    let between = format!("{} links to other groups{more}", sizes.links_used());
    let bottom = middle.1 + RADIUS + GROUP_HEIGHT;
    svg.text("small", (WIDTH / 2.0, bottom + 16.0), Anchor::Middle, &of_group);
    svg.text("small", (WIDTH / 2.0, bottom + 30.0), Anchor::Middle, &between);
    svg.finish(bottom + 40.0)
}
