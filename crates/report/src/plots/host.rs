//! The host: a frame a socket with its channels and modules, in it for each node its memory on
//! the left, its CPUs and caches in the middle, its NICs on the right, and on each link what it
//! carries, where that is known; beside the frames the links between sockets.

use super::population::{self, Place};
use super::svg::{Anchor, short};
use super::{Svg, WIDTH};
use crate::drawn::layout::{Home, Layout, Links, Package};
use crate::{hardware, words};
use narrows_dimm::population::Population;
use narrows_model::BytesPerSecond;
use narrows_model::host::{Host, Nic, Node};
use narrows_model::units::three_digits;
use narrows_predict::pcie::joints;

const LEFT: f64 = 6.0;
const FRAME_WIDTH: f64 = 334.0;
const MEMORY_LEFT: f64 = 12.0;
const MEMORY_WIDTH: f64 = 86.0;
const CPU_LEFT: f64 = 130.0;
const CPU_WIDTH: f64 = 86.0;
const NIC_LEFT: f64 = 246.0;
const NIC_WIDTH: f64 = 88.0;
const ROW: f64 = 50.0;
const LINE: f64 = 14.0;
/// Where the line past all frames is, which stands for the links between sockets.
const RAIL: f64 = 352.0;
/// Middle of a frame's title, where the links between sockets leave it.
const PORT: f64 = 9.0;
/// Widths of the channels inside a frame.
const CHANNELS: Place = Place { left: 12.0, width: 322.0 };

/// Draws the host. `bandwidth` is what the memory kernels read on `measured_node`.
pub fn draw(host: &Host, measured_node: Option<u32>, bandwidth: Option<BytesPerSecond>) -> String {
    let population = Population::of(host).ok();
    let layout = Layout::of(host);
    let whole = Node {
        id: 0,
        cpus: host.cpu.online.value().cloned().unwrap_or_default(),
        memory_bytes: host.memory.total_bytes.clone(),
        ..Node::default()
    };
    let only = host.nodes.len() < 2;
    let measured = |node: &Node| bandwidth.filter(|_| only || measured_node == Some(node.id));
    let mut drawer =
        Drawer { svg: Svg::new(WIDTH, "The host: memory, processors and NICs"), host, y: 4.0 };
    if let Some(population) = &population {
        drawer.head(population);
    }
    let fitted = layout.sockets.iter().filter(|socket| socket.fitted);
    let mut ports = Vec::new();
    for socket in fitted {
        ports.push(drawer.y + PORT);
        drawer.socket(socket, population.as_ref(), &measured);
    }
    if let Some(links) = layout.links {
        drawer.rail(&ports, links);
    }
    drawer.unplaced(&layout);
    for home in &layout.nodes {
        drawer.node(home, measured(home.node));
    }
    // A description by firmware alone has no CPUs to draw.
    if host.nodes.is_empty() && !whole.cpus.is_empty() {
        let nics = host.physical_nics().collect();
        let home = Home { node: &whole, nics, over: Default::default() };
        drawer.node(&home, measured(&whole));
    } else {
        for (node, nics) in &layout.unlisted {
            drawer.apart(&format!("node {node}"), nics);
        }
        drawer.apart("node unknown", &layout.homeless);
    }
    drawer.svg.finish(drawer.y)
}

/// A picture in the making, from the top down.
struct Drawer<'a> {
    svg: Svg,
    host: &'a Host,
    y: f64,
}

impl Drawer<'_> {
    fn head(&mut self, population: &Population) {
        let class = hardware::class(population);
        let class = class.split(':').next().unwrap_or_default();
        let says = format!("memory is {class} (GiB a module)");
        self.svg.text("label", (LEFT, self.y + 10.0), Anchor::Start, &says);
        self.y += 20.0;
    }

    fn socket(
        &mut self,
        socket: &Package<'_>,
        population: Option<&Population>,
        measured: &dyn Fn(&Node) -> Option<BytesPerSecond>,
    ) {
        let top = self.y;
        let title = format!("socket {}", socket.number);
        self.svg.text("label", (MEMORY_LEFT, top + 13.0), Anchor::Start, &title);
        self.y += 20.0;
        if !socket.channels.is_empty() {
            self.y = population::draw(&mut self.svg, socket, population, CHANNELS, self.y);
        }
        for home in &socket.nodes {
            self.node(home, measured(home.node));
        }
        self.svg.rect("frame", (LEFT, top), (FRAME_WIDTH, self.y - top), "");
        self.y += 8.0;
    }

    /// The links between sockets: a line past all frames, whatever the wiring is.
    fn rail(&mut self, ports: &[f64], links: Links) {
        let (Some(first), Some(last)) = (ports.first(), ports.last()) else { return };
        let class = link_class(links.gbytes());
        for port in ports {
            self.svg.line(&class, (LEFT + FRAME_WIDTH, *port), (RAIL, *port));
        }
        self.svg.line(&class, (RAIL, *first), (RAIL, *last));
        // In two lines: one would end beyond the picture.
        for says in ["links between sockets:", &links.says()] {
            self.svg.text("link-text", (LEFT, self.y + 8.0), Anchor::Start, says);
            self.y += LINE;
        }
        self.y += 2.0;
    }

    fn unplaced(&mut self, layout: &Layout<'_>) {
        if layout.unplaced.is_empty() {
            return;
        }
        let says = "modules whose channel is not known (GiB)";
        self.svg.text("small", (LEFT, self.y + 9.0), Anchor::Start, says);
        let top = self.y + LINE;
        self.y = population::unplaced(&mut self.svg, &layout.unplaced, CHANNELS, top);
    }

    /// NICs of a node that nobody lists, or whose node is not known, three in a row.
    fn apart(&mut self, title: &str, nics: &[&Nic]) {
        if nics.is_empty() {
            return;
        }
        self.svg.text("small", (LEFT, self.y + 9.0), Anchor::Start, title);
        self.y += LINE;
        for line in nics.chunks(3) {
            for (column, nic) in line.iter().enumerate() {
                let left = MEMORY_LEFT + column as f64 * (NIC_WIDTH + 12.0);
                nic_at(&mut self.svg, nic, left, self.y);
            }
            self.y += ROW;
        }
    }

    fn node(&mut self, home: &Home<'_>, bandwidth: Option<BytesPerSecond>) {
        let top = self.y;
        let height = (home.nics.len().max(1) as f64 * ROW).max(74.0);
        let middle = top + height / 2.0 - 4.0;
        memory(&mut self.svg, home.node, top, height - 8.0, middle);
        let class = link_class(bandwidth.map(|bandwidth| bandwidth.gbytes()));
        self.svg.line(&class, (MEMORY_LEFT + MEMORY_WIDTH, middle), (CPU_LEFT, middle));
        if let Some(bandwidth) = bandwidth {
            let x = (MEMORY_LEFT + MEMORY_WIDTH + CPU_LEFT) / 2.0;
            rate(&mut self.svg, (x, middle), bandwidth.gbytes());
        }
        processors(&mut self.svg, self.host, home.node, top, height - 8.0, middle);
        for (row, nic) in home.nics.iter().enumerate() {
            let alone = home.nics.len() == 1;
            let y = if alone { middle - ROW / 2.0 + 4.0 } else { top + ROW * row as f64 };
            draw_nic(&mut self.svg, nic, y, middle);
        }
        self.y = top + height + 6.0;
    }
}

/// The class of a link that carries so many GB/s, wider for more.
fn link_class(gbytes: Option<f64>) -> String {
    let wide = match gbytes {
        None => return "link-line".to_owned(),
        Some(rate) if rate < 2.0 => 1,
        Some(rate) if rate < 8.0 => 2,
        Some(rate) if rate < 32.0 => 3,
        Some(_) => 4,
    };
    format!("link-line wide{wide}")
}

/// GB/s above a link.
fn rate(svg: &mut Svg, (x, y): (f64, f64), gbytes: f64) {
    svg.text("link-text", (x, y - 14.0), Anchor::Middle, &three_digits(gbytes));
    svg.text("link-text", (x, y - 4.0), Anchor::Middle, "GB/s");
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

/// A NIC with its path from the node's processors, as wide as its slowest link.
fn draw_nic(svg: &mut Svg, nic: &Nic, y: f64, middle: f64) {
    let center = y + ROW / 2.0 - 4.0;
    // Near the processors, so that the rate has room beside it.
    let bend = CPU_LEFT + CPU_WIDTH + 5.0;
    let path = [(CPU_LEFT + CPU_WIDTH, middle), (bend, middle), (bend, center), (NIC_LEFT, center)];
    let slowest = joints(nic).iter().map(|joint| joint.raw_bps / 8e9).min_by(f64::total_cmp);
    svg.path(&link_class(slowest), &path);
    if let Some(gbytes) = slowest {
        rate(svg, ((bend + NIC_LEFT) / 2.0, center), gbytes);
    }
    nic_at(svg, nic, NIC_LEFT, y);
}

fn nic_at(svg: &mut Svg, nic: &Nic, left: f64, y: f64) {
    let center = y + ROW / 2.0 - 4.0;
    let tip = nic.path.last().map_or(String::new(), |hop| hop.name.clone());
    svg.rect("nic", (left, y), (NIC_WIDTH, ROW - 8.0), &tip);
    let x = left + NIC_WIDTH / 2.0;
    svg.text("label", (x, center - 8.0), Anchor::Middle, &short(&nic.name, 13));
    let speed = nic.speed_bps.value().map_or("speed unknown".to_owned(), ToString::to_string);
    svg.text("small", (x, center + 5.0), Anchor::Middle, &speed);
    let driver = short(&words::or_dash(&nic.driver), 14);
    svg.text("small", (x, center + 16.0), Anchor::Middle, &driver);
}
