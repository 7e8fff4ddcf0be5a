//! What waited in a host's memory in words: its queues, and which regime they show by counters.

use super::end_hosts::{facts, host_of};
use crate::Analysis;
use narrows_explain::regime::CellRegime;
use narrows_predict::{ByCounters, FULL_LINES, THRESHOLDS, Untold, by_counters};
use narrows_stats::{MemoryUse, QueueUse, Summary};

/// The family, as its event file names it, whose write queue is full from [`FULL_LINES`] on.
const FULL_BY_LINES: &str = "Intel Skylake-SP and Cascade Lake-SP";

/// The queues of each processor of a cell's end; empty where none was counted.
pub fn queues(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Vec<String> {
    let host = host_of(summary, of);
    let each = of.queues.iter().filter_map(|one| {
        let held = held(of, one);
        let mut text = format!("queues of {host}{}: {}", socket(of, one), held.join(", "));
        if let Some(regime) = counted(analysis, summary, of, one) {
            text += &format!("; by counters {regime}");
        }
        if let Some(ran) = one.ran_thousandths {
            text += &format!(
                "; scaled: the counters took turns and ran {:.0} % of the time",
                f64::from(ran) / 10.0
            );
        }
        (!held.is_empty()).then_some(text)
    });
    each.collect()
}

/// Why no regime is told of any processor of a cell's end; `None` where one is, or where nothing
/// was counted.
pub fn untold(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Option<String> {
    let host = facts(analysis, summary, of.end)?;
    let mut first = None;
    for one in &of.queues {
        let ByCounters::Untold(why) = by_counters(host, one) else { return None };
        if first.is_none() && is_of_host(&why) {
            first = Some((one, why));
        }
    }
    let (one, why) = first?;
    // The family is that of all processors.
    let at = if matches!(why, Untold::Family(_)) { String::new() } else { socket(of, one) };
    Some(format!(
        "regime of {}{at} (memory latency or device writes) not told by counters: {why}",
        host_of(summary, of)
    ))
}

/// Which part inside the hosts holds a cell, by NICs and CPUs; `None` where counters of memory tell
/// it of a processor of either host.
pub fn regime<'a>(analysis: &'a Analysis<'_>, summary: &Summary) -> Option<&'a CellRegime> {
    let is_told = summary.memory.iter().any(|of| {
        facts(analysis, summary, of.end).is_some_and(|host| {
            let mut all = of.queues.iter().map(|one| by_counters(host, one));
            all.any(|one| !matches!(one, ByCounters::Untold(_)))
        })
    });
    analysis.regimes.iter().find(|one| one.cell == summary.label).filter(|_| !is_told)
}

/// The same of all cells, a line for those that are alike: `tcp-stream and 3 others: wire: ...`.
pub fn regimes(analysis: &Analysis<'_>) -> Vec<String> {
    let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
    for summary in &analysis.summaries {
        let Some(regime) = regime(analysis, summary) else { continue };
        // What is missing is named with the cell that lacks it.
        let says = regime.to_string().replace(&format!(" in {}", regime.cell), "");
        match alike.iter_mut().find(|(have, _)| *have == says) {
            Some((_, cells)) => cells.push(&regime.cell),
            None => alike.push((says, vec![&regime.cell])),
        }
    }
    let lines = alike.into_iter().map(|(says, cells)| match cells[..] {
        [one] => format!("{one}: {says}"),
        [one, other] => format!("{one} and {other}: {says}"),
        _ => format!("{} and {} others: {says}", cells[0], cells.len() - 1),
    });
    lines.collect()
}

/// Whether a reason is the host's, and so every cell's.
fn is_of_host(why: &Untold) -> bool {
    matches!(why, Untold::Family(_) | Untold::NotCounted(_))
}

/// `, socket 1` where there are several.
fn socket(of: &MemoryUse, one: &QueueUse) -> String {
    let processor = one.processor.filter(|_| of.queues.len() > 1);
    processor.map_or(String::new(), |socket| format!(", socket {socket}"))
}

/// In which share of the cycles the write queue was full, and what that means of the family.
fn full(family: Option<&str>, of: &QueueUse) -> Option<String> {
    let share = percent(of.full_write_queue_share)?;
    Some(if family == Some(FULL_BY_LINES) {
        format!("{FULL_LINES} lines or more in the write queue in {share} of cycles")
    } else {
        format!("write queue full in {share} of cycles")
    })
}

/// What was held on a processor, a figure each.
fn held(host: &MemoryUse, of: &QueueUse) -> Vec<String> {
    let figures = [
        full(host.family.as_deref(), of),
        of.write_queue_ns.map(|ns| format!("{ns:.0} ns a line in it")),
        of.read_queue_ns.map(|ns| format!("{ns:.0} ns a line in the read queue")),
        percent(of.row_miss_share).map(|of| format!("a row opened for {of} of lines")),
        of.busiest_root_lines.map(|lines| format!("{lines:.0} lines in the busiest root complex")),
        of.root_write_ns.map(|ns| format!("{ns:.0} ns a device write there")),
        under_way(of.device_writes_in_flight, of.device_write_ns, "device writes"),
        under_way(of.device_reads_in_flight, of.device_read_ns, "device reads"),
    ];
    figures.into_iter().flatten().collect()
}

/// `20 device writes under way in the cache's slices, 200 ns each`.
fn under_way(lines: Option<f64>, ns: Option<f64>, what: &str) -> Option<String> {
    let lines = format!("{:.1} {what} under way in the cache's slices", lines?);
    Some(ns.map_or(lines.clone(), |ns| format!("{lines}, {ns:.0} ns each")))
}

fn percent(share: Option<f64>) -> Option<String> {
    share.map(|share| format!("{:.0} %", 100.0 * share))
}

/// The verdict on one processor of a cell; `None` where it is the host that none is told of.
fn counted(
    analysis: &Analysis<'_>,
    summary: &Summary,
    of: &MemoryUse,
    one: &QueueUse,
) -> Option<String> {
    Some(match by_counters(facts(analysis, summary, of.end)?, one) {
        ByCounters::DeviceWrites(in_use) => {
            format!("device writes (red): {in_use}, and the write queue full; {THRESHOLDS}")
        }
        ByCounters::DeviceCredits(in_use) => {
            format!("device writes: {in_use}, with room in the write queue; {THRESHOLDS}")
        }
        ByCounters::Bandwidth { share } => format!(
            "memory bandwidth: {:.0} % of what this mix of reads and writes reaches; \
             {THRESHOLDS}",
            100.0 * share
        ),
        ByCounters::Latency { is_blue, times, core_gb_s } => {
            let (blue, devices) = match is_blue {
                true => (" (blue)", "devices have credits to spare"),
                false => ("", "devices write next to nothing"),
            };
            format!(
                "memory latency{blue}: a read waits so long in memory's queue that it takes \
                 {times:.1} x as long as unloaded; a core without prefetch then reads \
                 {core_gb_s:.1} GB/s at most; {devices}; {THRESHOLDS}"
            )
        }
        ByCounters::Room => format!("no queue holds up cores or devices; {THRESHOLDS}"),
        ByCounters::Untold(why) if is_of_host(&why) => return None,
        ByCounters::Untold(why) => format!("no regime told: {why}"),
    })
}
