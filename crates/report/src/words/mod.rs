//! Phrases that more than one format uses.

mod delays;
mod directions;
mod end_hosts;
mod memory;
mod no_value;
mod pairs;
mod queues;
mod reconciled;
mod set_up;
mod traffic;

pub use delays::delays;
pub use directions::{directions, each_way, figure};
pub use end_hosts::host_of;
pub use memory::{memory_missing, memory_use, moves};
pub use no_value::no_value;
pub use pairs::{pairs, pairs_notes, pairs_table};
pub use queues::{regime, regimes};
pub use set_up::{brief, path_of, set_up};
pub use traffic::traffic;

use self::set_up::{bound, cpus_of};
use crate::Analysis;
use narrows_model::host::{Host, Nic};
use narrows_model::result::{Estimate, Prediction, Unstated, Weight};
use narrows_model::study::Ended;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::units::three_digits;
use narrows_model::units::{FlopsPerSecond, Unit};
use narrows_model::workload::Metric;
use narrows_model::{BitsPerSecond, BytesPerSecond, Fact, Nanos};
use narrows_stats::{BusyCpu, Label, Summary};
use std::collections::BTreeSet;

/// What was done, in the words of the command line: `narrows check`, `narrows study NAME`.
pub fn command(analysis: &Analysis<'_>) -> String {
    let study = &analysis.stored.study;
    let name = study.title.as_ref().map_or(String::new(), |title| format!(" {}", title.name));
    format!("narrows {}{name}", study.command)
}

pub fn place(analysis: &Analysis<'_>) -> String {
    if !analysis.parts.is_empty() {
        "several hosts".to_owned()
    } else if analysis.is_imported() {
        "another host".to_owned()
    } else {
        or_dash(&analysis.stored.host.name)
    }
}

/// A value with its unit.
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::BitsPerSecond => BitsPerSecond(value).to_string(),
        Unit::BytesPerSecond => BytesPerSecond(value).to_string(),
        Unit::Nanos if value < 1000.0 => format!("{} ns", three_digits(value)),
        Unit::Nanos => Nanos(value.round().max(0.0) as u64).to_string(),
        Unit::Share => format!("{} x", three_digits(value)),
        Unit::DatagramsPerSecond => format!("{} k datagrams/s", three_digits(value / 1e3)),
        Unit::PacketsPerSecond if value >= 1e6 => {
            format!("{} M packets/s", three_digits(value / 1e6))
        }
        Unit::PacketsPerSecond => format!("{} k packets/s", three_digits(value / 1e3)),
        Unit::PerSecond => format!("{}/s", count(value)),
        Unit::FlopsPerSecond => FlopsPerSecond(value).to_string(),
    }
}

/// A time; a dash where there is none.
pub fn time_or_dash(ns: Option<Nanos>) -> String {
    ns.map_or("-".to_owned(), |ns| ns.to_string())
}

/// Whether nothing arrived: no rate was measured as zero.
pub fn is_nothing(of: f64, unit: Unit) -> bool {
    use Unit::{BitsPerSecond, DatagramsPerSecond, PacketsPerSecond};
    of == 0.0 && matches!(unit, BitsPerSecond | DatagramsPerSecond | PacketsPerSecond)
}

/// Two ends as they are told, with their unit once where they share it. Where nothing arrived in
/// some runs the lower end is a bare zero.
pub fn ends(low: f64, high: f64, unit: Unit, told: fn(f64, Unit) -> String) -> String {
    let (lower, upper) = (told(low, unit), told(high, unit));
    match (lower.split_once(' '), upper.split_once(' ')) {
        _ if is_nothing(low, unit) && !is_nothing(high, unit) => format!("0 to {upper}"),
        _ if is_nothing(low, unit) => "in any run".to_owned(),
        (Some((number, a)), Some((_, b))) if a == b => format!("{number} to {upper}"),
        _ => format!("{lower} to {upper}"),
    }
}

/// What a median of zero is called.
pub const NOTHING: &str = "nothing arrived";

/// The same with four digits, for tables beside published ones.
pub fn exact(of: f64, unit: Unit) -> String {
    if is_nothing(of, unit) {
        return NOTHING.to_owned();
    }
    let rounded = value(of, unit);
    let Some((number, name)) = rounded.split_once(' ') else { return rounded };
    let Ok(number) = number.parse::<f64>() else { return rounded };
    if !(of.is_finite() && number > 0.0) {
        return rounded;
    }
    let scale = 10f64.powf((of / number).log10().round());
    let scaled = of / scale;
    let whole = scaled.abs().max(1.0).log10().floor() as usize + 1;
    format!("{scaled:.0$} {name}", 4usize.saturating_sub(whole).min(3))
}

/// Text of the data without what would speak to a terminal.
pub fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The word that JSON has for a unit, a path, a metric.
pub fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// `12.3 k`, `1.20 M`: a number of things.
pub fn count(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", three_digits(v / 1e6)),
        v if v >= 1e4 => format!("{} k", three_digits(v / 1e3)),
        v => format!("{v:.0}"),
    }
}

/// The middle of an estimate with its unit: `61.2 Gb/s`.
pub fn middle(estimate: &Estimate) -> String {
    if is_nothing(estimate.value, estimate.unit) {
        return NOTHING.to_owned();
    }
    value(estimate.value, estimate.unit)
}

/// A share is one of what there is; a rate is so much more.
pub fn of_what(estimate: &Estimate) -> &'static str {
    match estimate.unit {
        Unit::Share => " as much",
        _ => " more",
    }
}

/// `60.1 to 62.3 Gb/s`.
pub fn range(estimate: &Estimate) -> String {
    ends(estimate.low, estimate.high, estimate.unit, value)
}

/// The range as a column has it: one figure has none, and twice the same would be taken for one.
pub fn interval(estimate: &Estimate) -> String {
    if estimate.n < 2 { "-".to_owned() } else { range(estimate) }
}

/// A known value, or a dash.
pub fn or_dash<T: ToString>(fact: &Fact<T>) -> String {
    fact.value().map_or_else(|| "-".to_owned(), ToString::to_string)
}

/// The host in one line: what is known of it.
pub fn host_line(host: &Host) -> String {
    let sockets: BTreeSet<u32> = host.cpu.places.iter().filter_map(|place| place.package).collect();
    let cores: BTreeSet<_> =
        host.cpu.places.iter().filter_map(|p| Some((p.package?, p.die, p.core?))).collect();
    let dies: BTreeSet<_> =
        host.cpu.places.iter().filter_map(|p| Some((p.package?, p.die?))).collect();
    // A sender may count what it does not place.
    let counted_by = host.cpu.counts.value().filter(|_| sockets.is_empty() || cores.is_empty());
    let count = |own: usize, other: Option<u32>| other.map_or(own, |other| other as usize);
    let counts = [
        (count(sockets.len(), counted_by.map(|counts| counts.sockets)), "socket"),
        (if dies.len() > sockets.len() { dies.len() } else { 0 }, "die"),
        (count(cores.len(), counted_by.map(|counts| counts.cores)), "core"),
        (host.cpu.online.value().map_or(0, Vec::len), "CPU"),
        (host.nodes.len(), "node"),
    ];
    let mut parts = vec![host.cpu.model.value().cloned().unwrap_or("unknown processor".into())];
    let told = counts.into_iter().filter(|(n, _)| *n > 0);
    parts.extend(told.map(|(n, what)| counted(n, what)));
    parts.extend(host.memory.total_bytes.value().map(|bytes| format!("{bytes} memory")));
    let cache = host.last_level_cache_bytes();
    if cache.0 > 0 {
        parts.push(format!("{cache} last-level cache"));
    }
    parts.extend(host.virtualised.value().cloned());
    parts.join(", ")
}

/// `1 socket`, `2 sockets`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// One NIC in one line.
pub fn nic_line(nic: &Nic) -> String {
    let driver = nic.driver.value().map_or("no driver known", String::as_str);
    let speed = match nic.speed_bps.value() {
        Some(speed) => speed.to_string(),
        None => "link speed unknown".into(),
    };
    let node = match nic.node.value() {
        Some(node) => format!("node {node}"),
        None => "node unknown".into(),
    };
    let link = nic.path.last().map(|hop| match hop.link.value() {
        Some(link) => format!("PCIe {} GT/s x{} at {}", link.speed_gts, link.width, hop.address),
        None => format!("PCI {} (no link state)", hop.address),
    });
    let mtu = format!("MTU {}", nic.mtu_bytes.value().map_or("-".into(), |mtu| mtu.0.to_string()));
    let irqs = nic.irq_cpus.value().filter(|cpus| !cpus.is_empty());
    let irqs = irqs.map(|cpus| format!("interrupts on {}", cpus_of(cpus)));
    [Some(driver.to_owned()), Some(speed), Some(mtu), Some(node), link, irqs]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// What the figures of a metric are.
pub fn metric(metric: narrows_model::workload::Metric) -> &'static str {
    use narrows_model::workload::Metric;
    match metric {
        Metric::Goodput => "throughput (payload received)",
        Metric::PacketRate => "packets that arrived a second",
        Metric::MemoryBandwidth => "memory bandwidth (bytes counted)",
        Metric::RoundTripP50 => "round trip (median of each run)",
        Metric::ConnectionRate => "connections a second",
        Metric::LoadToUse => "memory latency (load to use)",
        Metric::Latency => "latency, as its tool defines it",
        Metric::Rate => "events a second, as its tool counts them",
        Metric::FloatingPointRate => "floating-point operations a second, as its tool counts them",
    }
}

/// What joined the two ends of a cell, in words: an agent may be a process of this machine.
pub fn way_of(summary: &Summary) -> &'static str {
    if summary.one_machine && summary.path == NetworkPath::Peer {
        return "to an agent on this machine, no other host";
    }
    path(summary.path)
}

/// What joins the two ends, in words.
pub fn path(path: NetworkPath) -> &'static str {
    match path {
        NetworkPath::Memory => "no network",
        NetworkPath::Loopback => "within this host, over loopback: not a network result",
        NetworkPath::Namespaces => {
            "between two network namespaces of this host (veth): the stack, no NIC"
        }
        NetworkPath::Cable => "between two ports of this host, joined by a cable: no other host",
        NetworkPath::Devices => {
            "through RDMA devices of this host, both ends here: not a network result"
        }
        NetworkPath::Peer => "to another host",
        NetworkPath::Imported => "not known: imported",
    }
}

/// How a study ended, and how many of its runs it made.
pub fn ending(analysis: &Analysis<'_>) -> String {
    let stored = analysis.stored;
    let (made, planned) = (stored.records.len(), stored.planned_runs());
    // With a precision to reach, or runs that failed, there are more than the least that was
    // planned.
    // What was imported nobody here planned.
    // A measurement that asked further has cells with fewer runs than the first.
    let is_own_end = stored.ended == Some(Ended::Complete) && stored.definition.is_none();
    let is_more = made > planned || (made != planned && is_own_end);
    let runs = if is_more || !analysis.has_host() {
        counted(made, "run")
    } else {
        format!("{made} of {planned} runs")
    };
    match &stored.ended {
        Some(Ended::Complete) => runs,
        Some(Ended::Interrupted { why }) => format!("{runs}; interrupted: {why}"),
        None => format!("{runs}; still running, or killed"),
    }
}

/// What loaded memory while the trial ran, when something did.
pub fn background_load(analysis: &Analysis<'_>, summary: &Summary) -> Option<String> {
    let moved = middle(summary.background.as_ref()?);
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
    let end = trial.and_then(Trial::background);
    Some(match end.and_then(|end| Some((&end.place, end.load.as_ref()?))) {
        Some((place, load)) => {
            let threads = counted(load.threads as usize, "thread");
            let node = place.node.map_or(String::new(), |node| format!(", memory of node {node}"));
            let cpus = bound(place);
            format!(
                "background load: {} on {threads}, {cpus}{node}, which moved {moved}",
                load.kind
            )
        }
        None => format!("background load: threads that read {moved}"),
    })
}

fn trial_is_memory(summary: &Summary) -> bool {
    matches!(summary.metric, Metric::MemoryBandwidth | Metric::LoadToUse)
}

/// What trials that ran at once reached together.
pub fn together(analysis: &Analysis<'_>) -> Option<String> {
    let together = analysis.together.as_ref()?;
    let (sum, range) = (middle(&together.estimate), range(&together.estimate));
    let peers = counted(analysis.summaries.len(), "peer");
    let mut text = format!("{peers} together {sum}, {range}, n {}", together.estimate.n);
    if let Some(share) = together.overlap_share {
        text += &format!("; their windows had at least {:.1} % in common", 100.0 * share);
    }
    Some(text)
}

/// What the copy to the program costs.
pub fn copy_share(analysis: &Analysis<'_>) -> Option<String> {
    let copy = analysis.copy_share.as_ref()?;
    if copy.share <= 0.0 {
        return Some(format!(
            "the cost of the copy is within the noise: {:.3} CPU-s/GB with it, {:.3} without",
            copy.copied_seconds_per_gigabyte, copy.dropped_seconds_per_gigabyte
        ));
    }
    Some(format!(
        "the copy to the program takes {:.0} % of the CPU time: {:.3} of {:.3} CPU-s/GB",
        100.0 * copy.share,
        copy.copied_seconds_per_gigabyte - copy.dropped_seconds_per_gigabyte,
        copy.copied_seconds_per_gigabyte
    ))
}

/// The CPUs of both hosts that were busy for a tenth of the time or more.
pub fn busy_cpus(summary: &Summary) -> Option<String> {
    let cpus = &summary.busy_cpus;
    let hosts =
        [busy_of("sender's host", &cpus.sender), busy_of("receiver's host", &cpus.receiver)];
    let hosts: Vec<String> = hosts.into_iter().flatten().collect();
    (!hosts.is_empty()).then(|| hosts.join("; "))
}

fn busy_of(name: &str, cpus: &[BusyCpu]) -> Option<String> {
    let busy = cpus.iter().filter(|busy| busy.share >= 0.1).take(4);
    let busy: Vec<String> =
        busy.map(|busy| format!("CPU {} {:.0} %", busy.cpu, 100.0 * busy.share)).collect();
    (!busy.is_empty()).then(|| format!("{name}: {}", busy.join(", ")))
}

/// What measuring itself cost, where it was asked to do more than usual or cost more than a
/// hundredth of a CPU.
pub fn overhead(analysis: &Analysis<'_>, summary: &Summary) -> Option<String> {
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
    let asked = trial.is_some_and(|trial| trial.timeline.interval_ns.is_some());
    let keeper = summary.overhead.keeper_cpus?;
    let controller = summary.overhead.controller_cpus.unwrap_or(0.0);
    (asked || keeper > 0.01 || controller > 0.01).then(|| {
        format!(
            "measuring itself took at most {:.1} % of a CPU at an end, the controller {:.1} %",
            100.0 * keeper,
            100.0 * controller
        )
    })
}

/// What became of messages that nobody acknowledges.
pub fn unacknowledged(counted: &narrows_model::load::Unacknowledged) -> String {
    let share = counted.lost_share() * 100.0;
    let lost = counted.sent.saturating_sub(counted.received);
    format!(
        "{lost} of {} messages lost ({share:.2} %, warm-up included), on the path or for lack of \
        a buffer",
        counted.sent
    )
}

/// What CPU both ends used.
pub fn cpu(cpu: &narrows_stats::CpuUse) -> String {
    let parts = [
        ("sender", cpu.sender_share),
        ("receiver", cpu.receiver_share),
        ("softirq", cpu.softirq_cpus),
        ("steal", cpu.steal_cpus.filter(|steal| *steal >= 0.005)),
    ];
    let known = parts.iter().filter_map(|(name, share)| Some((name, (*share)?)));
    let known: Vec<String> =
        known.map(|(name, share)| format!("{name} {:.0} %", share * 100.0)).collect();
    let mut text = format!("CPU: {}", known.join(", "));
    if let Some(seconds) = cpu.seconds_per_gigabyte {
        text += &format!("; {seconds:.2} CPU-s/GB");
    }
    if let Some(cycles) = cpu.cycles_per_byte {
        text += &format!(", {cycles:.2} cycles/B");
    }
    text
}

fn background_ended(summary: &Summary) -> String {
    let (ended, all) = (summary.background_ended, summary.values.len());
    let mut text = format!("{} in {ended} of {all} runs", Label::BackgroundEnded.says());
    let causes: Vec<String> =
        summary.background_lost.iter().map(|lost| lost.cause.to_string()).collect();
    if !causes.is_empty() {
        text += &format!(": {}", causes.join("; "));
    }
    text
}

/// A label in words; of noise, how many runs had it.
pub fn label(label: Label, summary: &Summary) -> String {
    match label {
        Label::Noisy => {}
        Label::Rough => {
            let most = summary.reconciled.iter().filter_map(|run| run.rough()).fold(0.0, f64::max);
            return format!("{} of up to {:.0} %", label.says(), 100.0 * most);
        }
        Label::BackgroundEnded => return background_ended(summary),
        Label::Impossible => return reconciled::refused(summary),
        _ => return label.says().to_owned(),
    }
    let noisy = summary.values.iter().filter(|value| value.noisy).count();
    format!("{} in {noisy} of {} runs", label.says(), summary.values.len())
}

/// `, sessions 1, 3`: those whose host a prediction is of; nothing where a study has one.
pub fn of_sessions(prediction: &Prediction) -> String {
    // People count from one.
    let numbers: Vec<String> =
        prediction.sessions.iter().map(|number| (number + 1).to_string()).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!(", session {one}"),
        _ => format!(", sessions {}", numbers.join(", ")),
    }
}

/// The expectation that belongs to a measured trial, if its path has a prediction.
pub fn expectation<'a>(analysis: &'a Analysis<'_>, summary: &Summary) -> Option<&'a Prediction> {
    let expected = analysis.expected.get(&summary.label);
    expected.filter(|prediction| prediction.measured.is_some())
}

/// Whether a prediction is of a time, whose parts add up, and not of a rate.
pub fn is_of_time(prediction: &Prediction) -> bool {
    prediction.range.is_some_and(|range| range.unit == Unit::Nanos)
}

/// What the named resource of an expectation is: of a rate its bottleneck, of a time its largest
/// part.
pub fn decides(expected: &Estimate) -> &'static str {
    if expected.unit == Unit::Nanos { "most of it" } else { "bottleneck" }
}

/// `98 % of 20.5 Gb/s (stack)`, of a round trip `expected 19.3 us (14.4 to 47.7 us), most of it
/// stack`, or why there is no expectation.
pub fn against(prediction: &Prediction) -> String {
    match (&prediction.range, &prediction.measured, &prediction.bottleneck) {
        (Some(expected), Some(_), Some(largest)) if is_of_time(prediction) => {
            format!("expected {} ({}), most of it {largest}", middle(expected), range(expected))
        }
        (Some(range), Some(measured), Some(bottleneck)) if range.value > 0.0 => {
            let percent = 100.0 * measured.value / range.value;
            format!("{percent:.0} % of {} ({bottleneck})", middle(range))
        }
        _ => {
            format!("no expectation: {} unknown", unstated(prediction).join(", "))
        }
    }
}

/// Names of the resources that could not be stated.
fn unstated(prediction: &Prediction) -> Vec<String> {
    prediction.missing.iter().map(|one| one.resource.to_string()).collect()
}

/// A prediction in one line.
pub fn prediction(prediction: &Prediction) -> String {
    let Some((range_of, bottleneck)) =
        prediction.range.as_ref().zip(prediction.bottleneck.as_ref())
    else {
        return format!(
            "no ceiling is known ({})",
            prediction.missing.iter().map(Unstated::to_string).collect::<Vec<_>>().join("; ")
        );
    };
    let mut text = format!("{} by {bottleneck}", middle(range_of));
    if range_of.low < range_of.high {
        text += &format!(" ({})", range(range_of));
    }
    let partial = !prediction.missing.is_empty() && prediction.measured.is_none();
    if partial {
        text += &format!("; {} unknown and may be lower", unstated(prediction).join(", "));
    }
    text
}

/// One word for a weight.
pub fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Fault => "fault",
        Weight::Advice => "advice",
        Weight::Caution => "caution",
    }
}

/// When the study began, in UTC: `2026-11-20 21:05 UTC`.
pub fn when(began: Nanos) -> String {
    let began = jiff::Timestamp::from_nanosecond(began.0.into()).unwrap_or_default();
    began.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
