//! What waited in a host's memory in words: its queues, and which regime they show by counters.

use super::end_hosts::{facts, host_of};
use crate::Analysis;
use narrows_predict::{ByCounters, Open, by_counters};
use narrows_stats::{MemoryUse, QueueUse, Summary};

/// Where a figure of the thresholds is from, and what it is worth elsewhere.
const OF_ONE: &str = "thresholds of one Cascade Lake machine";

/// The queues of each processor of a cell's end; empty where none was counted.
pub fn queues(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Vec<String> {
    let host = host_of(summary, of);
    let each = of.queues.iter().filter_map(|one| {
        let held = held(one);
        let mut text = format!("queues of {host}{}: {}", socket(of, one), held.join(", "));
        if let Some(regime) = regime(analysis, summary, of, one) {
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

/// Why no regime is told of a host in any run; `None` where one is, or where nothing was counted.
pub fn untold(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Option<String> {
    let host = facts(analysis, summary, of.end)?;
    of.queues.iter().find_map(|one| match by_counters(host, one) {
        ByCounters::Open(open) if is_of_host(&open) => Some(format!(
            "regime of {} (memory latency or device writes) not told by counters: {open}",
            host_of(summary, of)
        )),
        _ => None,
    })
}

/// Whether a reason is the host's, and so every run's.
fn is_of_host(open: &Open) -> bool {
    matches!(open, Open::Family(_) | Open::NotCounted(_))
}

/// `, socket 1` where there are several.
fn socket(of: &MemoryUse, one: &QueueUse) -> String {
    let processor = one.processor.filter(|_| of.queues.len() > 1);
    processor.map_or(String::new(), |socket| format!(", socket {socket}"))
}

/// What was held, a figure each.
fn held(of: &QueueUse) -> Vec<String> {
    let figures = [
        percent(of.full_write_queue_share).map(|of| format!("write queue full in {of} of cycles")),
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

/// What the credits carried, where the time of a line is known.
fn carried(gbps: Option<f64>) -> String {
    gbps.map_or(String::new(), |gbps| format!(", which carry {gbps:.0} Gb/s so"))
}

/// The verdict on one run's processor; `None` where it is the host that keeps it open.
fn regime(
    analysis: &Analysis<'_>,
    summary: &Summary,
    of: &MemoryUse,
    one: &QueueUse,
) -> Option<String> {
    Some(match by_counters(facts(analysis, summary, of.end)?, one) {
        ByCounters::DeviceWrites { carried_gbps } => format!(
            "device writes (red): all credits in use{}, and the write queue full; {OF_ONE}",
            carried(carried_gbps)
        ),
        ByCounters::DeviceCredits { carried_gbps } => format!(
            "device writes: all credits in use{}, with room in the write queue; {OF_ONE}",
            carried(carried_gbps)
        ),
        ByCounters::Bandwidth { share } => format!(
            "memory bandwidth: {:.0} % of what this mix of reads and writes reaches; {OF_ONE}",
            100.0 * share
        ),
        ByCounters::Latency { times, core_gb_s } => format!(
            "memory latency (blue): a core's read takes {times:.1} x as long, so that it reads \
             {core_gb_s:.1} GB/s at most, and devices have credits to spare; {OF_ONE}"
        ),
        ByCounters::Room => format!("neither cores nor devices wait; {OF_ONE}"),
        ByCounters::Open(open) if is_of_host(&open) => return None,
        ByCounters::Open(open) => format!("no regime told: {open}"),
    })
}
