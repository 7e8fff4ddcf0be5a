//! Memory traffic in words: what crossed the bus, for each byte of the network beside what its path
//! needs, and what could not be counted.

use crate::Analysis;
use narrows_model::load::Role;
use narrows_model::memory_traffic::Uncounted;
use narrows_model::trial::NetworkPath;
use narrows_predict::bus::{self, Moves, Way};
use narrows_stats::{MemoryUse, Summary};

/// Whose host a use is of. A memory kernel has one end, and two ends inside a host have one host.
fn host(summary: &Summary, of: &MemoryUse) -> &'static str {
    match (of.both_ends || summary.path == NetworkPath::Memory, of.end) {
        (true, _) => "this host",
        (false, Role::Sender) => "the sender's host",
        (false, Role::Receiver | Role::Background) => "the receiver's host",
    }
}

/// `1`, `2 to 4`.
pub fn moves(moves: Moves) -> String {
    match moves.most > moves.least {
        true => format!("{} to {}", moves.least, moves.most),
        false => moves.least.to_string(),
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

/// What was counted at one end; `None` where nothing was.
fn counted(analysis: &Analysis<'_>, summary: &Summary, of: &MemoryUse) -> Option<String> {
    let gb_s = |bytes: f64| format!("{:.1} GB/s", bytes / 1e9);
    let mut text = format!("memory of {}: {}", host(summary, of), gb_s(of.bytes_per_second?));
    if let (Some(read), Some(written)) = (of.read_bytes_per_second, of.written_bytes_per_second) {
        text += &format!(" ({} read, {} written)", gb_s(read), gb_s(written));
    }
    if let Some(ratio) = &of.per_network_byte {
        text += &format!(
            ", {:.2} bytes a network byte ({:.2} to {:.2})",
            ratio.value, ratio.low, ratio.high
        );
        text += &match needed(analysis, summary, of.end) {
            Some(least) => format!("; this path needs {} at least", moves(least)),
            None if summary.is_one_host() => {
                "; no device carries it, so that no least is known".to_owned()
            }
            None => String::new(),
        };
    }
    if let Some(sent) = of.socket_link_bytes_per_second {
        text += &format!("; {} sent over the busiest socket's links", gb_s(sent));
    }
    if let Some(share) = of.device_writes_in_cache_share {
        text += &format!("; {:.0} % of what devices wrote was in the cache", 100.0 * share);
    }
    if let Some(ran) = of.ran_thousandths {
        text += &format!(
            "; scaled: the counters were shared and ran {:.0} % of the time",
            f64::from(ran) / 10.0
        );
    }
    Some(text + "; counted by the memory controllers, other processes' traffic included")
}

/// What was counted of a cell's hosts.
pub fn memory_use(analysis: &Analysis<'_>, summary: &Summary) -> Vec<String> {
    // Two ends on one host count the same bus.
    let of = summary.memory.iter().filter_map(|one| counted(analysis, summary, one));
    let most = if summary.is_one_host() { 1 } else { usize::MAX };
    of.take(most).collect()
}

/// What could not be counted of a cell's hosts, each reason once.
pub fn memory_missing(summary: &Summary) -> Vec<String> {
    let mut told: Vec<(&Uncounted, Vec<&str>)> = Vec::new();
    for one in &summary.memory {
        for gap in &one.missing {
            match told.iter_mut().find(|(known, _)| *known == gap) {
                Some((_, hosts)) if hosts.contains(&host(summary, one)) => {}
                Some((_, hosts)) => hosts.push(host(summary, one)),
                None => told.push((gap, vec![host(summary, one)])),
            }
        }
    }
    let says = |(gap, hosts): (&Uncounted, Vec<&str>)| {
        format!("memory traffic of {} not counted: {gap}", hosts.join(" and "))
    };
    told.into_iter().map(says).collect()
}
