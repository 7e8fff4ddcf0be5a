//! Wire rate and verdict of a study's packets, by size, as text and for a page.

use super::{Copied, Range, Reached, Standing, of_study};
use crate::{Analysis, table};
use maud::{Markup, html};
use narrows_model::result::{Provenance, ResourceName};
use narrows_predict::Known;

const TITLE: &str = "Wire rate of the link (M packets/s; of slot, NIC, CPU and memory the model's \
                     80 % range)";

/// The table of all sizes; empty where a study has no packets.
pub fn section(analysis: &Analysis<'_>) -> String {
    let all = of_study(analysis);
    let Some(first) = all.first() else { return String::new() };
    format!("{TITLE}\n  {}\n{}\n", server(first), table::lines(&rows(&all), |at| at == 1))
}

/// The same for a page.
pub fn page(analysis: &Analysis<'_>) -> Markup {
    let all = of_study(analysis);
    let rows = rows(&all);
    let (head, rest) = rows.split_at(1);
    html! { @if let Some(first) = all.first() {
        h2 id="wire-rate" { (TITLE) }
        p { (server(first)) }
        div class="scroll" { table {
            thead { @for row in head { tr { @for cell in row { th { (cell) } } } } }
            tbody { @for row in rest { tr { @for cell in row { td { (cell) } } } } }
        } }
    } }
}

/// `64 B 14.88 M packets/s: yes; 128 B ...`, sizes with one verdict together.
pub fn sentence(analysis: &Analysis<'_>) -> Option<String> {
    let all = of_study(analysis);
    let mut groups: Vec<(Vec<String>, String)> = Vec::new();
    for one in &all {
        let rate = one.wire_mpps.map_or(String::new(), |wire| format!(" {wire:.2} M packets/s"));
        let size = format!("{}{rate}", one.frame.name());
        let says = one.verdict.to_string();
        match groups.iter_mut().find(|(_, known)| *known == says) {
            Some((sizes, _)) => sizes.push(size),
            None => groups.push((vec![size], says)),
        }
    }
    let said = groups.iter().map(|(sizes, says)| format!("{}: {says}", sizes.join(", ")));
    Some(said.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// What the verdicts are of.
fn server(one: &Standing) -> String {
    let nic = one.nic.as_deref().unwrap_or("no NIC is known");
    let link = one.link_gbps.map_or("speed unknown".to_owned(), |gbps| format!("{gbps} Gb/s"));
    let slot = one.slot.as_deref().unwrap_or("slot unknown");
    let memory = one.memory.as_ref().map_or("memcpy unknown".to_owned(), memory);
    let clock = match &one.clock {
        Some(clock) => format!("{} GHz ({})", clock.value, clock_from(clock)),
        None => "clock unknown".to_owned(),
    };
    format!("{nic}, {link}, {slot}; {memory}; {clock}")
}

/// Where a clock is from.
pub(crate) fn clock_from(clock: &Known) -> &'static str {
    match clock.from {
        Provenance::Read(_) => "the base, by the processor's name",
        _ => "said",
    }
}

/// `memcpy 12.10 GB/s (measured: memory-memcpy, 3 runs)`.
fn memory(copied: &Copied) -> String {
    let word = copied.from.word();
    format!("memcpy {:.2} GB/s ({word}: {})", copied.gb_s.value, copied.says)
}

fn rows(all: &[Standing]) -> Vec<Vec<String>> {
    let head = ["frames", "wire", "slot", "NIC", "CPU", "measured", "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|one| {
        let of = |names: &[ResourceName]| {
            let found = one.resources.iter().filter(|(name, _)| names.contains(name));
            let least = found.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
            least.map_or("-".to_owned(), |(_, of)| range(of))
        };
        vec![
            one.frame.name(),
            one.wire_mpps.map_or("-".to_owned(), |wire| format!("{wire:.2}")),
            of(&[ResourceName::Pcie, ResourceName::Chipset]),
            of(&[ResourceName::Nic]),
            of(&[ResourceName::Cpu]),
            one.reached.as_ref().map_or("-".to_owned(), reached),
            one.verdict.to_string(),
        ]
    }));
    rows
}

/// `13.7 (11.7 to 14.1)`.
fn range(of: &Range) -> String {
    format!("{:.2} ({:.2} to {:.2})", of.value, of.low, of.high)
}

/// `at least 0.99 (zero loss, between namespaces, 24 runs)`.
fn reached(one: &Reached) -> String {
    let least = if one.is_at_least { "at least " } else { "" };
    format!("{least}{} ({})", rate(one.mpps.value), one.says)
}

/// Millions a second with as many digits as small rates need.
fn rate(mpps: f64) -> String {
    if mpps < 0.1 { format!("{mpps:.4}") } else { format!("{mpps:.2}") }
}
