//! The channels of a socket with their modules, in the terminal.

use super::canvas::{Frame, cut};
use super::layout::{Channel, Package};
use narrows_model::host::{Module, Slot};

/// What stands before the columns of channels.
const HEAD: usize = 9;
/// A size or label longer than this is garbled.
const CELL_MAX: usize = 8;

/// The size of a module as its cell has it: GiB without a unit, less than one in MiB, `*` where it
/// is no DRAM and `?` where firmware does not know the size.
pub(crate) fn size(module: &Module) -> String {
    let size = module.size_bytes.map_or("?".to_owned(), |bytes| match bytes.0 {
        0..0x4000_0000 => format!("{}M", bytes.0 >> 20),
        more => format!("{}", (more as f64 / f64::from(1 << 30) * 10.0).round() / 10.0),
    });
    if module.is_dram { size } else { size + "*" }
}

/// Draws a socket's channels as columns, as many side by side as fit.
pub(crate) fn draw(frame: &mut Frame, socket: &Package<'_>) {
    let cells = socket.slots().filter_map(|slot| slot.module.as_ref()).map(|m| size(m).len());
    let labels = socket.channels.iter().map(|channel| channel.id.to_string().chars().count());
    let widest = cells.chain(labels).max().unwrap_or(1).clamp(2, CELL_MAX);
    let column = widest + 4;
    let fit = ((frame.inner().saturating_sub(HEAD)) / column).max(1);
    // Equal lines: eight channels as four and four, not seven and one.
    let lines = socket.channels.len().div_ceil(fit).max(1);
    for channels in socket.channels.chunks(socket.channels.len().div_ceil(lines).max(1)) {
        draw_line(frame, channels, widest);
    }
}

/// One line of channels: labels, slots from the first to the deepest, and the wires to the socket.
fn draw_line(frame: &mut Frame, channels: &[Channel<'_>], widest: usize) {
    let labels = channels
        .iter()
        .map(|channel| format!(" {:^widest$} ", cut(&channel.id.to_string(), widest)));
    frame.line(row("channel", channels, labels));
    let deepest = channels.iter().map(|channel| channel.slots.len()).max().unwrap_or(0);
    for depth in 0..deepest {
        let cells = channels.iter().map(|channel| cell(channel.slots.get(depth), widest));
        frame.line(row(if depth == 0 { "GiB" } else { "" }, channels, cells));
    }
    let wires = channels.iter().map(|channel| {
        let held = channel.slots.iter().any(|slot| slot.module.is_some());
        let (left, right) = ("─".repeat(widest / 2 + 1), "─".repeat(widest - widest / 2));
        format!("{left}{}{right}", if held { "╨" } else { "─" })
    });
    let wires: Vec<String> = wires.collect();
    frame.line(format!("{:HEAD$}{}", "", wires.join("──")));
}

/// Cells side by side, with a bar between the channels of two controllers.
fn row(head: &str, channels: &[Channel<'_>], cells: impl Iterator<Item = String>) -> String {
    let mut line = format!("{head:HEAD$}");
    for (index, cell) in cells.enumerate() {
        let before = index.checked_sub(1).map(|index| channels[index].controller);
        line += match before {
            Some(before) if before != channels[index].controller => "│ ",
            Some(_) => "  ",
            None => "",
        };
        line += &cell;
    }
    line.trim_end().to_owned()
}

fn cell(slot: Option<&&Slot>, widest: usize) -> String {
    match slot.map(|slot| slot.module.as_ref().map(size)) {
        Some(Some(size)) => format!("[{:>widest$}]", cut(&size, widest)),
        Some(None) => format!("[{:widest$}]", ""),
        None => format!(" {:widest$} ", ""),
    }
}

/// Slots of no known channel: `DIMM_A1 [16]`, and how many of them are empty.
pub(crate) fn unplaced(slots: &[&Slot]) -> String {
    let held = slots.iter().filter_map(|slot| {
        let size = size(slot.module.as_ref()?);
        Some(format!("{}\u{a0}[{}]", cut(slot.locator.trim(), 24), cut(&size, CELL_MAX)))
    });
    let mut cells: Vec<String> = held.map(|cell| cell.replace(' ', "\u{a0}")).collect();
    let empty = slots.len() - cells.len();
    if empty > 0 {
        cells.push(format!("{empty}\u{a0}empty"));
    }
    cells.join("  ")
}
