//! Wire rate and verdict of a study's packets, by size, as text and for a page.

use super::{Copied, Frame, Range, Reached, Standing, of_study};
use crate::{Analysis, table};
use maud::{Markup, html};
use narrows_model::result::{Provenance, ResourceName};
use narrows_predict::Known;
use narrows_predict::wire_rate::Verdict;

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

/// `no for 64 B (14.88 M packets/s): chipset slot, ...; yes for 128 B to 1518 B (...)`: the verdict
/// first, since a line may be cut behind it; sizes with one verdict together.
pub fn sentence(analysis: &Analysis<'_>) -> Option<String> {
    told(&of_study(analysis))
}

/// The same of the sizes whose verdict is known.
pub fn sentence_of_known(analysis: &Analysis<'_>) -> Option<String> {
    let mut all = of_study(analysis);
    all.retain(|one| !matches!(one.verdict, Verdict::Unknown { .. }));
    told(&all)
}

fn told(all: &[Standing]) -> Option<String> {
    let mut groups: Vec<(&Verdict, Vec<usize>)> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| **known == one.verdict) {
            Some((_, sizes)) => sizes.push(at),
            None => groups.push((&one.verdict, vec![at])),
        }
    }
    let said = groups.iter().map(|(verdict, sizes)| {
        let reason = verdict.reason().map_or(String::new(), |reason| format!(": {reason}"));
        format!("{} for {}{reason}", verdict.word(), ranges(all, sizes))
    });
    Some(said.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// `64 B (14.88 M packets/s), 512 B to 1518 B (2.35 to 0.81 M packets/s)`: sizes that follow each
/// other in the study, three and more, by their ends.
fn ranges(all: &[Standing], sizes: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in sizes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *at && all[*at].frame != Frame::Imix => *last = *at,
            _ => runs.push((*at, *at)),
        }
    }
    let parts = runs.into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![sized(&all[first], None)],
        1 => vec![sized(&all[first], None), sized(&all[last], None)],
        _ => vec![sized(&all[first], Some(&all[last]))],
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A size, or those from it to another, with the wire's rate of both.
fn sized(first: &Standing, last: Option<&Standing>) -> String {
    let to = last.map_or(String::new(), |last| format!(" to {}", last.frame.name()));
    let rate = first.wire_mpps.map_or(String::new(), |wire| {
        let to = last.and_then(|last| last.wire_mpps);
        let to = to.map_or(String::new(), |wire| format!(" to {wire:.2}"));
        format!(" ({wire:.2}{to} M packets/s)")
    });
    format!("{}{to}{rate}", first.frame.name())
}

/// What the verdicts are of.
fn server(one: &Standing) -> String {
    let nic = one.nic.as_deref().unwrap_or("no NIC is known");
    let link = one.link_gbps.map_or("speed unknown".to_owned(), |gbps| format!("{gbps} Gb/s"));
    let slot = one.slot.as_deref().unwrap_or("slot unknown");
    let left_out = one.no_copy.as_ref().map_or(String::new(), |why| format!(", {why}"));
    let memory = one.memory.as_ref().map_or("memcpy unknown".to_owned(), memory) + &left_out;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DecidedBy;

    fn standing(frame: Frame, wire_mpps: Option<f64>, verdict: Verdict) -> Standing {
        Standing {
            frame,
            nic: None,
            link_gbps: None,
            slot: None,
            clock: None,
            memory: None,
            no_copy: None,
            wire_mpps,
            resources: Vec::new(),
            allows: None,
            binds: None,
            reached: None,
            verdict,
            by: DecidedBy::Model,
        }
    }

    #[test]
    fn the_verdict_stands_before_the_sizes() {
        let unknown = || Verdict::Unknown { needs: "the link's speed".to_owned() };
        let mut all: Vec<Standing> = [64, 128, 256, 512, 1024, 1280, 1518]
            .map(|bytes| standing(Frame::Bytes(bytes), None, unknown()))
            .into();
        let says = told(&all).expect("sizes");
        assert_eq!(says, "unknown for 64 B to 1518 B: needs the link's speed");
        all.push(standing(Frame::Imix, None, unknown()));
        let says = told(&all).expect("sizes");
        assert_eq!(says, "unknown for 64 B to 1518 B, IMIX: needs the link's speed");
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn only_sizes_that_follow_each_other_are_a_range() {
        let no = Verdict::No { binds: "chipset slot".to_owned(), low: 11.0, high: 12.0 };
        let rates = [(64, 14.88), (128, 8.45), (256, 4.53), (512, 2.35), (1518, 0.81)];
        let mut all =
            rates.map(|(bytes, wire)| standing(Frame::Bytes(bytes), Some(wire), Verdict::Yes));
        all[0].verdict = no.clone();
        assert_eq!(
            told(&all).expect("sizes"),
            "no for 64 B (14.88 M packets/s): chipset slot, 11.0 to 12.0 M/s; \
             yes for 128 B to 1518 B (8.45 to 0.81 M packets/s)"
        );
        all[2].verdict = no;
        let says = told(&all).expect("sizes");
        let wanted = "no for 64 B (14.88 M packets/s), 256 B (4.53 M packets/s): chipset slot";
        assert!(says.starts_with(wanted), "{says}");
        let wanted =
            "yes for 128 B (8.45 M packets/s), 512 B (2.35 M packets/s), 1518 B (0.81 M packets/s)";
        assert!(says.ends_with(wanted), "{says}");
    }
}
