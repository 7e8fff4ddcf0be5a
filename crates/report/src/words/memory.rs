//! Memory traffic in words: what crossed the bus, for each byte of the network beside what its path
//! needs, and what could not be counted.

use super::end_hosts::{facts, host_of};
use super::queues::{queues, untold};
use crate::Analysis;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::memory_traffic::Uncounted;
use narrows_model::trial::NetworkPath;
use narrows_predict::bus::{self, Moves, Way};
use narrows_predict::{dram, link_rate};
use narrows_stats::{CacheMissed, MemoryUse, Summary};

/// `1`, `2 to 4`.
pub fn moves(moves: Moves) -> String {
    if moves.most > moves.least {
        format!("{} to {}", moves.least, moves.most)
    } else {
        moves.least.to_string()
    }
}

/// The least that the path of a cell needs at one end, where a device carries it.
pub fn needed(analysis: &Analysis<'_>, summary: &Summary, end: Role) -> Option<Moves> {
    if summary.is_one_host() {
        return None;
    }
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label)?;
    let way = match end {
        Role::Sender => Way::Transmit,
        Role::Receiver | Role::Background => Way::Receive,
    };
    bus::of_trial(trial, way, analysis.stored.study.cache_bytes)
}

/// What a rate is of the peak of a host's populated channels: `, 21 % of the 204.8 GB/s of its 8
/// channels`.
pub fn of_peak(host: Option<&Host>, bytes_per_second: f64) -> String {
    let slots = host.and_then(|host| host.memory.slots.value());
    let sockets = slots.and_then(|slots| dram::socket_peaks(slots).ok()).unwrap_or_default();
    let peak: f64 = sockets.values().map(|socket| socket.rate_bytes_per_second.0).sum();
    if peak <= 0.0 {
        return String::new();
    }
    let channels: u32 = sockets.values().map(|socket| socket.channels).sum();
    let share = 100.0 * bytes_per_second / peak;
    format!(", {share:.0} % of the {:.1} GB/s of its {channels} populated channels", peak / 1e9)
}

/// What a rate over the links of a socket is of what they can carry; empty where that is not known.
pub fn of_links(host: Option<&Host>, bytes_per_second: f64) -> String {
    let Some(rate) = host.and_then(link_rate) else { return String::new() };
    let share = 100.0 * bytes_per_second / rate.bytes_per_second;
    format!(
        ", {share:.0} % of the {:.1} GB/s of {} links at {} GT/s (the family's most; headers \
        come on top)",
        rate.bytes_per_second / 1e9,
        rate.links,
        rate.gts
    )
}

/// What the threads of an end moved by themselves; `None` where the caches did not count it.
fn own_threads(summary: &Summary, of: &MemoryUse) -> Option<String> {
    let rate = of.own_threads_bytes_per_second? / 1e9;
    let end = match (summary.path, of.end) {
        (NetworkPath::Memory, _) => "the kernel's threads",
        (_, Role::Sender) => "the sender's threads",
        (_, Role::Receiver | Role::Background) => "the receiver's threads",
    };
    let remote = of.own_threads_remote_share;
    let remote = remote.map_or(String::new(), |share| {
        format!(", {:.0} % of it with memory of another node", 100.0 * share)
    });
    Some(format!(
        "memory of {end} alone: {rate:.1} GB/s{remote}; counted by the caches (resctrl), without \
         what devices and interrupts on other threads move"
    ))
}

/// What was counted at one end; `None` where nothing was.
fn counted(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Option<String> {
    let rate = of.bytes_per_second?;
    let at = facts(analysis, summary, of.end);
    let mut text = format!("memory of {}: {}", host_of(summary, of), gigabytes(rate));
    if let (Some(read), Some(written)) = (of.read_bytes_per_second, of.written_bytes_per_second) {
        text += &format!(" ({} read, {} written)", gigabytes(read), gigabytes(written));
    }
    text += &of_peak(at, rate);
    if let Some(ratio) = &of.per_network_byte {
        text += &format!(", {:.2} bytes per network byte", ratio.value);
        // One run has no range.
        if of.runs > 1 {
            text += &format!(" ({:.2} to {:.2})", ratio.low, ratio.high);
        }
        text += &match needed(analysis, summary, of.end) {
            Some(least) => format!("; this path needs {} at least", moves(least)),
            None if summary.is_one_host() => {
                "; no device carries it, so no minimum is known".to_owned()
            }
            None => String::new(),
        };
    }
    if let Some(sent) = of.socket_link_bytes_per_second {
        text += &format!("; {} sent over the busiest socket's links", gigabytes(sent));
        text += &of_links(at, sent);
    }
    text += &cache_missed(&of.cache_missed);
    if let Some(share) = of.device_writes_in_cache_share {
        text += &format!("; {:.0} % of what devices wrote was in the cache", 100.0 * share);
    }
    if let Some(ran) = of.ran_thousandths {
        text += &format!(
            "; scaled: the counters were shared and ran {:.0} % of the time",
            f64::from(ran) / 10.0
        );
    }
    if let Some(percent) = of.off_window_percent {
        text += &format!("; counted for a time that differs from the window's by {percent} %");
    }
    Some(text + "; counted by the memory controllers, other processes' traffic included")
}

/// What the cores missed, of each processor where there are several; empty where none counted it.
fn cache_missed(by_processor: &[CacheMissed]) -> String {
    if by_processor.is_empty() {
        return String::new();
    }
    let all = by_processor.iter().map(|one| one.bytes_per_second).sum();
    let named = |one: &CacheMissed| {
        Some(format!("socket {}: {}", one.processor?, gigabytes(one.bytes_per_second)))
    };
    let each = match by_processor {
        [_] => String::new(),
        several => several.iter().filter_map(named).collect::<Vec<_>>().join(", "),
    };
    let each = if each.is_empty() { each } else { format!(" ({each})") };
    format!("; {} missed in the last-level cache by its cores{each}", gigabytes(all))
}

fn gigabytes(bytes: f64) -> String {
    format!("{:.1} GB/s", bytes / 1e9)
}

/// What was counted of a cell's hosts.
pub fn memory_use(analysis: &Analysis<'_>, summary: &Summary) -> Vec<String> {
    // Two ends on one host count the same bus.
    let most = if summary.is_one_host() { 1 } else { usize::MAX };
    let of = summary.memory.iter().filter_map(|one| counted(analysis, summary, one)).take(most);
    let waited = summary.memory.iter().filter(|one| !one.queues.is_empty()).take(most);
    let queues = waited.flat_map(|one| queues(analysis, summary, one));
    let own = summary.memory.iter().filter_map(|one| own_threads(summary, one));
    of.chain(queues).chain(own).collect()
}

/// What could not be counted of a cell's hosts, each reason once.
pub fn memory_missing(analysis: &Analysis<'_>, summary: &Summary) -> Vec<String> {
    let traffic = of_hosts(summary, |one| &one.missing);
    let traffic = traffic.into_iter().map(|(gap, hosts)| {
        format!("memory traffic of {} not counted: {gap}", hosts.join(" and "))
    });
    let queues = of_hosts(summary, |one| &one.queues_missing);
    let queues = queues
        .into_iter()
        .map(|(gap, hosts)| format!("memory queues of {} not counted: {gap}", hosts.join(" and ")));
    let regimes = summary.memory.iter().filter_map(|one| untold(analysis, summary, one));
    let mut all: Vec<String> = traffic.chain(queues).collect();
    for regime in regimes {
        if !all.contains(&regime) {
            all.push(regime);
        }
    }
    all
}

/// Reasons with the hosts that have them, each once.
fn of_hosts(
    summary: &Summary,
    missing: fn(&MemoryUse) -> &[Uncounted],
) -> Vec<(&Uncounted, Vec<&'static str>)> {
    let mut told: Vec<(&Uncounted, Vec<&str>)> = Vec::new();
    for one in &summary.memory {
        for gap in missing(one) {
            match told.iter_mut().find(|(known, _)| *known == gap) {
                Some((_, hosts)) if hosts.contains(&host_of(summary, one)) => {}
                Some((_, hosts)) => hosts.push(host_of(summary, one)),
                None => told.push((gap, vec![host_of(summary, one)])),
            }
        }
    }
    told
}
