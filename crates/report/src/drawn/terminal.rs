//! The drawing of a host in the terminal: a box a socket, two side by side where they fit, and a
//! rail between them for the links between sockets.

use super::canvas::{Frame, PLAIN, RED, Screen, cut, wrap};
use super::layout::{Home, Layout, Package};
use super::memory;
use super::says::{self, Way};
use narrows_dimm::population::Population;
use narrows_model::host::{Host, Nic};
use narrows_model::shown;

/// Fewest columns of a box that has another beside it.
const SIDE_MIN: usize = 56;
/// Columns of the rail between two boxes, and beside a single one.
const RAIL: usize = 3;
const RAIL_ASIDE: usize = 2;

/// Lines of the drawing.
pub(crate) fn draw(host: &Host, population: Option<&Population>, screen: &Screen) -> Vec<String> {
    let layout = Layout::of(host);
    let columns = screen.width();
    let drawer = Drawer { host, population };
    let fitted: Vec<&Package<'_>> = layout.sockets.iter().filter(|socket| socket.fitted).collect();
    let mut out = match fitted.as_slice() {
        [] => Vec::new(),
        [only] => drawer.socket(only, columns).finish(0),
        several if columns >= 2 * SIDE_MIN + RAIL => drawer.side_by_side(several, columns),
        several => drawer.stacked(several, columns),
    };
    if let Some(links) = layout.links {
        out.extend(wrap(&format!("═ links between sockets: {}", links.says()), columns, "  "));
    }
    for socket in layout.sockets.iter().filter(|socket| !socket.fitted) {
        let slots = crate::words::counted(socket.slots().count(), "empty slot");
        out.push(cut(&format!("  socket {}: no processor, {slots}", socket.number), columns));
    }
    if !layout.unplaced.is_empty() {
        out.extend(drawer.unplaced(&layout, columns));
    }
    if !layout.nodes.is_empty() {
        let title = if fitted.is_empty() { "host" } else { "nodes of no one socket" };
        let mut frame = Frame::new(columns, title);
        layout.nodes.iter().for_each(|home| drawer.node(&mut frame, home));
        out.extend(frame.finish(0));
    }
    for (node, nics) in &layout.unlisted {
        out.extend(drawer.apart(&format!("node {node}"), nics, columns));
    }
    if !layout.homeless.is_empty() {
        out.extend(drawer.apart("node unknown", &layout.homeless, columns));
    }
    out.iter().map(|line| line.replace('\u{a0}', " ").trim_end().to_owned()).collect()
}

struct Drawer<'a> {
    host: &'a Host,
    population: Option<&'a Population>,
}

impl Drawer<'_> {
    /// A socket: its channels, and its nodes with their NICs.
    fn socket(&self, socket: &Package<'_>, columns: usize) -> Frame {
        let cpus = match socket.cpus {
            0 => String::new(),
            cpus => format!(": {}", crate::words::counted(cpus, "CPU")),
        };
        let mut frame = Frame::new(columns, &format!("socket {}{cpus}", socket.number));
        if !socket.channels.is_empty() {
            frame.text(&says::channels(self.host, socket, self.population), "  ");
            memory::draw(&mut frame, socket);
            if let Some(sets) = says::sets(socket.number, self.population) {
                frame.text(&sets, "  ");
            }
        }
        socket.nodes.iter().for_each(|home| self.node(&mut frame, home));
        frame
    }

    fn node(&self, frame: &mut Frame, home: &Home<'_>) {
        frame.text(&says::node(self.host, home), "  ");
        if let Some(says) = home.node.access.as_ref().and_then(says::firmware) {
            frame.text(&format!("  firmware says {says}"), "    ");
        }
        self.nics(frame, &home.nics);
    }

    fn nics(&self, frame: &mut Frame, nics: &[&Nic]) {
        for (index, nic) in nics.iter().enumerate() {
            let last = index + 1 == nics.len();
            let (branch, below) = if last { ("└─", "    ") } else { ("├─", "│   ") };
            let way = Way::of(self.host, nic);
            let mut parts: Vec<String> = way.links.iter().map(|link| whole(link)).collect();
            // A link that is slower than its NIC's port.
            if let Some(narrow) = way.narrow {
                parts[narrow] = format!("{RED}{}{PLAIN}", parts[narrow]);
            }
            parts.push(format!("[{}]", whole(&cut(&way.nic, 40))));
            parts.push(whole(&way.wire));
            let path = parts.join(" ──\u{a0}");
            frame.text(&format!("{branch}\u{a0}{path}"), below);
            if let Some(card) = &way.card {
                frame.text(&format!("{}{}", below.replace(' ', "\u{a0}"), card), below);
            }
        }
    }

    /// NICs beside the sockets, in a box of their own.
    fn apart(&self, title: &str, nics: &[&Nic], columns: usize) -> Vec<String> {
        let mut frame = Frame::new(columns, title);
        self.nics(&mut frame, nics);
        frame.finish(0)
    }

    fn unplaced(&self, layout: &Layout<'_>, columns: usize) -> Vec<String> {
        let mut frame = Frame::new(columns, "modules whose channel is not known (GiB)");
        frame.text(&shown::line(&memory::unplaced(&layout.unplaced)), "");
        frame.finish(0)
    }

    /// Boxes one below the other; the rail is at their right.
    fn stacked(&self, sockets: &[&Package<'_>], columns: usize) -> Vec<String> {
        let mut out = Vec::new();
        for (index, socket) in sockets.iter().enumerate() {
            let lines = self.socket(socket, columns - RAIL_ASIDE).finish(3);
            let (first, last) = (index == 0, index + 1 == sockets.len());
            for (row, line) in lines.into_iter().enumerate() {
                // The link leaves a box at its first line of text.
                let is_link = row == 1;
                let before = if is_link { line.trim_end_matches('│') } else { &line };
                let rail = match (is_link, first, last) {
                    (true, true, _) => "╞═╗",
                    (true, false, false) => "╞═╣",
                    (true, false, true) => "╞═╝",
                    (false, true, _) if row == 0 => "  ",
                    (false, _, true) if row > 1 => "  ",
                    _ => " ║",
                };
                out.push(format!("{before}{rail}"));
            }
        }
        out
    }

    /// Boxes in pairs; the rail is between them.
    fn side_by_side(&self, sockets: &[&Package<'_>], columns: usize) -> Vec<String> {
        let width = (columns - RAIL) / 2;
        let mut out = Vec::new();
        let rows = sockets.chunks(2).len();
        for (index, pair) in sockets.chunks(2).enumerate() {
            let drawn = |height: usize| -> Vec<Vec<String>> {
                pair.iter().map(|socket| self.socket(socket, width).finish(height)).collect()
            };
            let height = drawn(3).iter().map(Vec::len).max().unwrap_or(0);
            let boxes = drawn(height);
            let (first, last) = (index == 0, index + 1 == rows);
            for row in 0..height {
                let left = &boxes[0][row];
                let right = boxes.get(1).map(|lines| lines[row].as_str());
                out.push(join(left, right, row, first, last));
            }
        }
        out
    }
}

fn whole(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// One line of a pair: the left box, the rail, and the right box where there is one.
fn join(left: &str, right: Option<&str>, row: usize, first: bool, last: bool) -> String {
    if row == 1 {
        let left = left.trim_end_matches('│');
        let rail = match (first, last, right.is_some()) {
            (true, true, true) => "╞═══╡",
            (true, false, true) => "╞═╦═╡",
            (false, true, true) => "╞═╩═╡",
            (false, false, true) => "╞═╬═╡",
            (_, true, false) => "╞═╝",
            (_, false, false) => "╞═╗",
        };
        return format!("{left}{rail}{}", right.unwrap_or_default().trim_start_matches('│'));
    }
    let above = row == 0 && first;
    let below = row > 1 && last;
    let rail = if above || below { "   " } else { " ║ " };
    format!("{left}{rail}{}", right.unwrap_or_default())
}
