//! The host: for each node its memory on the left, its CPUs and caches in the middle, its NICs on
//! the right, and on each road what it carries, where that is known.

use super::svg::{Anchor, short};
use super::{Svg, WIDTH, population};
use crate::words;
use narrows_model::BytesPerSecond;
use narrows_model::host::{Host, Nic, Node};
use narrows_model::units::three_digits;
use narrows_predict::pcie::joints;

const MEMORY_LEFT: f64 = 6.0;
const MEMORY_WIDTH: f64 = 92.0;
const CPU_LEFT: f64 = 134.0;
const CPU_WIDTH: f64 = 92.0;
const NIC_LEFT: f64 = 262.0;
const NIC_WIDTH: f64 = 92.0;
const ROW: f64 = 50.0;
/// More NICs of a node than this are counted, not drawn.
const NICS_MAX: usize = 6;

/// Draws the host. `bandwidth` is what the memory kernels read on `measured_node`.
pub fn draw(host: &Host, measured_node: Option<u32>, bandwidth: Option<BytesPerSecond>) -> String {
    let mut svg = Svg::new(WIDTH, "The host: memory, processors and NICs by node");
    let whole = Node {
        id: 0,
        cpus: host.cpu.online.value().cloned().unwrap_or_default(),
        memory_bytes: host.memory.total_bytes.clone(),
        ..Node::default()
    };
    let nodes = match (host.nodes.is_empty(), whole.cpus.is_empty()) {
        (false, _) => host.nodes.clone(),
        (true, false) => vec![whole],
        // A description by firmware alone has no CPUs to draw.
        (true, true) => Vec::new(),
    };
    let only = nodes.len() == 1;
    let mut y = population::draw(&mut svg, host, 4.0) + 4.0;
    for node in &nodes {
        let nics: Vec<&Nic> =
            host.physical_nics().filter(|nic| only || nic.node.value() == Some(&node.id)).collect();
        let here = only || measured_node == Some(node.id);
        y = draw_node(&mut svg, host, node, &nics, bandwidth.filter(|_| here), y);
    }
    let homeless: Vec<&str> = host
        .physical_nics()
        .filter(|nic| !only && nic.node.value().is_none())
        .map(|nic| nic.name.as_str())
        .collect();
    if !homeless.is_empty() {
        let text = format!("node unknown: {}", homeless.join(", "));
        svg.text("small", (MEMORY_LEFT, y + 8.0), Anchor::Start, &short(&text, 60));
        y += 16.0;
    }
    svg.finish(y)
}

fn draw_node(
    svg: &mut Svg,
    host: &Host,
    node: &Node,
    nics: &[&Nic],
    bandwidth: Option<BytesPerSecond>,
    top: f64,
) -> f64 {
    let rows = nics.len().clamp(1, NICS_MAX) as f64;
    let height = (rows * ROW).max(74.0);
    let middle = top + height / 2.0 - 4.0;
    memory(svg, node, top, height - 8.0, middle);
    svg.line("road", (MEMORY_LEFT + MEMORY_WIDTH, middle), (CPU_LEFT, middle));
    if let Some(bandwidth) = bandwidth {
        let x = (MEMORY_LEFT + MEMORY_WIDTH + CPU_LEFT) / 2.0;
        svg.text(
            "road-text",
            (x, middle - 14.0),
            Anchor::Middle,
            &three_digits(bandwidth.gbytes()),
        );
        svg.text("road-text", (x, middle - 4.0), Anchor::Middle, "GB/s");
    }
    processors(svg, host, node, top, height - 8.0, middle);
    for (row, nic) in nics.iter().take(NICS_MAX).enumerate() {
        let y = if nics.len() == 1 { middle - ROW / 2.0 + 4.0 } else { top + ROW * row as f64 };
        draw_nic(svg, nic, y, middle);
    }
    if nics.len() > NICS_MAX {
        let more = format!("and {} more", nics.len() - NICS_MAX);
        svg.text("small", (NIC_LEFT, top + height + 6.0), Anchor::Start, &more);
        return top + height + 18.0;
    }
    top + height + 6.0
}

fn memory(svg: &mut Svg, node: &Node, top: f64, height: f64, middle: f64) {
    svg.rect("memory", (MEMORY_LEFT, top), (MEMORY_WIDTH, height), "");
    let x = MEMORY_LEFT + MEMORY_WIDTH / 2.0;
    svg.text("label", (x, middle - 8.0), Anchor::Middle, "memory");
    svg.text("small", (x, middle + 7.0), Anchor::Middle, &words::or_dash(&node.memory_bytes));
}

fn processors(svg: &mut Svg, host: &Host, node: &Node, top: f64, height: f64, middle: f64) {
    svg.rect("cpu", (CPU_LEFT, top), (CPU_WIDTH, height), &words::or_dash(&host.cpu.model));
    let x = CPU_LEFT + CPU_WIDTH / 2.0;
    let cpus = words::counted(node.cpus.len(), "CPU");
    let name = if host.nodes.is_empty() { "host".into() } else { format!("node {}", node.id) };
    svg.text("label", (x, middle - 8.0), Anchor::Middle, &name);
    svg.text("small", (x, middle + 7.0), Anchor::Middle, &cpus);
    let level = host.cpu.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let here = host.cpu.caches.iter().filter(|cache| {
        cache.level == level && cache.cpus.iter().any(|cpu| node.cpus.contains(cpu))
    });
    let size = here.map(|cache| cache.size_bytes.0).fold(0, u64::saturating_add);
    if size > 0 {
        let cache = format!("L{level} {}", narrows_model::Bytes(size));
        svg.text("small", (x, middle + 20.0), Anchor::Middle, &cache);
    }
}

fn draw_nic(svg: &mut Svg, nic: &Nic, y: f64, middle: f64) {
    let center = y + ROW / 2.0 - 4.0;
    let bend = (CPU_LEFT + CPU_WIDTH + NIC_LEFT) / 2.0;
    let road = [(CPU_LEFT + CPU_WIDTH, middle), (bend, middle), (bend, center), (NIC_LEFT, center)];
    svg.path("road", &road);
    let slowest = joints(nic).iter().map(|joint| joint.raw_bps).min_by(f64::total_cmp);
    if let Some(bps) = slowest {
        svg.text("road-text", (bend, center - 14.0), Anchor::Middle, &three_digits(bps / 8e9));
        svg.text("road-text", (bend, center - 4.0), Anchor::Middle, "GB/s");
    }
    let tip = nic.path.last().map_or(String::new(), |hop| hop.name.clone());
    svg.rect("nic", (NIC_LEFT, y), (NIC_WIDTH, ROW - 8.0), &tip);
    let x = NIC_LEFT + NIC_WIDTH / 2.0;
    svg.text("label", (x, center - 8.0), Anchor::Middle, &short(&nic.name, 13));
    let speed = nic.speed_bps.value().map_or("speed unknown".to_owned(), ToString::to_string);
    svg.text("small", (x, center + 5.0), Anchor::Middle, &speed);
    let driver = short(&words::or_dash(&nic.driver), 14);
    svg.text("small", (x, center + 16.0), Anchor::Middle, &driver);
}
