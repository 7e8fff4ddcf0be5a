//! The population of memory: for each socket its channels with their modules, and the interleave
//! sets as bars under the channels they are spread over.

use super::svg::Anchor;
use super::{Svg, WIDTH};
use crate::hardware;
use narrows_dimm::interleave::Set;
use narrows_dimm::population::{Population, Socket};
use narrows_model::host::{Host, Slot};
use narrows_model::units::three_digits;

const LEFT: f64 = 6.0;
const CHANNEL_MAX: f64 = 44.0;
const MODULE: f64 = 15.0;
const BAR: f64 = 7.0;
const LINE: f64 = 14.0;
/// More slots of a channel than this are a garbled table.
const SLOTS_MAX: usize = 8;
/// Shades of sets, which a style sheet names.
const SHADES: usize = 4;

/// Draws the population from `top` on, when it is known; returns where the drawing ends.
pub fn draw(svg: &mut Svg, host: &Host, top: f64) -> f64 {
    let Ok(population) = Population::of(host) else { return top };
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let mut y = top;
    let class = hardware::class(&population);
    let head = class.split(':').next().unwrap_or_default();
    svg.text("label", (LEFT, y + 10.0), Anchor::Start, &format!("memory is {head} (GiB a module)"));
    y += 20.0;
    for socket in &population.sockets {
        y = draw_socket(svg, socket, &population, slots, y);
    }
    y
}

fn draw_socket(
    svg: &mut Svg,
    socket: &Socket,
    population: &Population,
    slots: &[Slot],
    top: f64,
) -> f64 {
    let channels = socket.ordered();
    let width = ((WIDTH - 2.0 * LEFT) / channels.len().max(1) as f64).min(CHANNEL_MAX);
    svg.text("small", (LEFT, top + 9.0), Anchor::Start, &format!("socket {}", socket.socket));
    let first = top + LINE;
    let mut deepest = 1;
    for (column, (label, _)) in channels.iter().enumerate() {
        let x = LEFT + column as f64 * width;
        let here = slots.iter().filter(|slot| {
            slot.at.as_ref().is_some_and(|at| at.socket == socket.socket && at.channel == **label)
        });
        let here: Vec<&Slot> = here.take(SLOTS_MAX).collect();
        deepest = deepest.max(here.len());
        for (row, slot) in here.iter().enumerate() {
            draw_slot(svg, slot, (x, first + row as f64 * (MODULE + 2.0)), width - 3.0);
        }
    }
    let below = first + deepest as f64 * (MODULE + 2.0);
    for (column, (label, _)) in channels.iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * width - 1.5;
        svg.text("axis", (x, below + 9.0), Anchor::Middle, label);
    }
    let sets = population.sets.as_ref().ok().and_then(|sets| sets.by_socket.get(&socket.socket));
    let labels: Vec<&String> = channels.iter().map(|(label, _)| *label).collect();
    draw_sets(svg, sets.map(Vec::as_slice).unwrap_or_default(), &labels, width, below + LINE)
}

fn draw_slot(svg: &mut Svg, slot: &Slot, at: (f64, f64), width: f64) {
    let held = slot.module.as_ref();
    let class = match held {
        Some(module) if module.is_dram => "dimm",
        _ => "dimm empty",
    };
    let says = held.map_or("empty".to_owned(), |module| {
        let size = module.size_bytes.map_or("size unknown".into(), |size| size.to_string());
        format!("{size} {}", module.technology)
    });
    svg.rect(class, at, (width, MODULE), &format!("{} {}: {says}", slot.locator, slot.bank));
    let size = held.filter(|module| module.is_dram).and_then(|module| module.size_bytes);
    if let Some(size) = size {
        let gib = (size.0 as f64 / 2f64.powi(30) * 10.0).round() / 10.0;
        let middle = (at.0 + width / 2.0, at.1 + MODULE - 4.0);
        svg.text("module", middle, Anchor::Middle, &format!("{gib}"));
    }
}

/// A bar under each channel of a set, and a line that says what the set is.
fn draw_sets(svg: &mut Svg, sets: &[Set], labels: &[&String], width: f64, top: f64) -> f64 {
    let mut y = top;
    for (index, set) in sets.iter().enumerate() {
        let class = format!("set set{}", index % SHADES);
        for label in &set.channels {
            if let Some(column) = labels.iter().position(|have| *have == label) {
                let x = LEFT + column as f64 * width;
                svg.rect(&class, (x, y), (width - 3.0, BAR), "");
            }
        }
        y += BAR + 2.0;
        let peak = set.peak_bytes_per_second.map(|peak| three_digits(peak.gbytes()));
        let peak = peak.map_or(String::new(), |peak| format!(", peak {peak} GB/s"));
        let text = format!("{}-way, {}{peak}", set.ways(), set.size_bytes);
        svg.text("small", (LEFT, y + 9.0), Anchor::Start, &text);
        y += LINE;
    }
    y + 6.0
}
