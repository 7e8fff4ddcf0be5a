//! The memory of a socket: its channels with their modules, and the interleave sets as bars under
//! the channels they are spread over.

use super::Svg;
use super::svg::{Anchor, short};
use crate::drawn::layout::Package;
use crate::drawn::memory;
use narrows_dimm::interleave::Set;
use narrows_dimm::population::Population;
use narrows_model::host::{ChannelId, Slot};
use narrows_model::units::three_digits;

const CHANNEL_MAX: f64 = 44.0;
const MODULE: f64 = 15.0;
const BAR: f64 = 7.0;
const LINE: f64 = 14.0;
/// Shades of sets, which a style sheet names.
const SHADES: usize = 4;

/// Where the channels of a socket are drawn.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Left end, in units of the drawing.
    pub left: f64,
    /// Units that all channels share.
    pub width: f64,
}

/// Draws a socket's channels with their slots, and its interleave sets, from `top` on; returns
/// where that ends.
pub(crate) fn draw(
    svg: &mut Svg,
    socket: &Package<'_>,
    population: Option<&Population>,
    place: Place,
    top: f64,
) -> f64 {
    let channels = &socket.channels;
    let width = (place.width / channels.len().max(1) as f64).min(CHANNEL_MAX);
    let mut deepest = 1;
    for (column, channel) in channels.iter().enumerate() {
        let x = place.left + column as f64 * width;
        deepest = deepest.max(channel.slots.len());
        for (row, slot) in channel.slots.iter().enumerate() {
            slot_at(svg, slot, (x, top + row as f64 * (MODULE + 2.0)), width - 3.0);
        }
    }
    let below = top + deepest as f64 * (MODULE + 2.0);
    for (column, channel) in channels.iter().enumerate() {
        let x = place.left + (column as f64 + 0.5) * width - 1.5;
        svg.text("axis", (x, below + 9.0), Anchor::Middle, &short(&channel.id.to_string(), 8));
    }
    let sets = population.and_then(|population| population.sets.as_ref().ok());
    let sets = sets.and_then(|sets| sets.by_socket.get(&socket.number));
    let labels: Vec<&ChannelId> = channels.iter().map(|channel| channel.id).collect();
    let place = Place { width, ..place };
    draw_sets(svg, sets.map(Vec::as_slice).unwrap_or_default(), &labels, place, below + LINE)
}

/// Slots of no known channel, side by side; returns where that ends.
pub(crate) fn unplaced(svg: &mut Svg, slots: &[&Slot], place: Place, top: f64) -> f64 {
    let columns = (place.width / CHANNEL_MAX).max(1.0) as usize;
    let mut y = top;
    for line in slots.chunks(columns) {
        for (column, slot) in line.iter().enumerate() {
            let x = place.left + column as f64 * CHANNEL_MAX;
            slot_at(svg, slot, (x, y), CHANNEL_MAX - 3.0);
        }
        y += MODULE + 2.0;
    }
    y + 4.0
}

fn slot_at(svg: &mut Svg, slot: &Slot, at: (f64, f64), width: f64) {
    let held = slot.module.as_ref();
    let class = match held {
        Some(module) if module.is_dram => "dimm",
        Some(_) => "dimm other",
        None => "dimm empty",
    };
    let says = held.map_or("empty".to_owned(), |module| {
        let size = module.size_bytes.map_or("size unknown".into(), |size| size.to_string());
        format!("{size} {}", module.technology)
    });
    svg.rect(class, at, (width, MODULE), &format!("{}: {says}", slot.named()));
    if let Some(module) = held {
        let middle = (at.0 + width / 2.0, at.1 + MODULE - 4.0);
        let class = if module.is_dram { "module" } else { "axis" };
        svg.text(class, middle, Anchor::Middle, &short(&memory::size(module), 6));
    }
}

/// A bar under each channel of a set, and a line that says what the set is.
fn draw_sets(svg: &mut Svg, sets: &[Set], labels: &[&ChannelId], place: Place, top: f64) -> f64 {
    let mut y = top;
    for (index, set) in sets.iter().enumerate() {
        let class = format!("set set{}", index % SHADES);
        for label in &set.channels {
            if let Some(column) = labels.iter().position(|have| *have == label) {
                let x = place.left + column as f64 * place.width;
                svg.rect(&class, (x, y), (place.width - 3.0, BAR), "");
            }
        }
        y += BAR + 2.0;
        let peak = set.peak_bytes_per_second.map(|peak| three_digits(peak.gbytes()));
        let peak = peak.map_or(String::new(), |peak| format!(", peak {peak} GB/s"));
        let text = format!("{}-way, {}{peak}", set.ways(), set.size_bytes);
        svg.text("small", (place.left, y + 9.0), Anchor::Start, &text);
        y += LINE;
    }
    y + 6.0
}
