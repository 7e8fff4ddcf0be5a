//! Memory traffic beside the figure: what crossed the memory bus of each end's host, a second and
//! for each byte that arrived over the network.

use crate::done::{CONFIDENCE, Done};
use crate::median;
use crate::memory_queues::{QueueUse, queue_use};
use crate::order::median_interval;
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Role};
use narrows_model::memory_traffic::{MemoryTraffic, Quantity, Uncounted};
use narrows_model::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Memory traffic of one end's host, medians over the runs in which it was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// End on whose host it was counted.
    pub end: Role,
    /// Whether the other end's traffic is in it: both ran on this host.
    pub both_ends: bool,
    /// Runs in which what was read and written was counted.
    pub runs: u32,
    /// The processor family by whose events it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Bytes a second that were read from memory.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes a second that were written to memory.
    pub written_bytes_per_second: Option<f64>,
    /// Reads and writes together.
    pub bytes_per_second: Option<f64>,
    /// Bytes read and written for each byte of payload that arrived, in either direction.
    pub per_network_byte: Option<PerByte>,
    /// Bytes a second sent over links to other sockets, of the socket that sent most.
    pub socket_link_bytes_per_second: Option<f64>,
    /// Bytes a second between memory and the caches by the end's own threads alone (resctrl).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_threads_bytes_per_second: Option<f64>,
    /// Share of these to and from memory of another node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_threads_remote_share: Option<f64>,
    /// What the cores of each processor asked for and the last-level cache did not hold, where the
    /// cores count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_missed: Vec<CacheMissed>,
    /// Share of the bytes that devices wrote whose lines the last-level cache held already.
    pub device_writes_in_cache_share: Option<f64>,
    /// Share of the time, in thousandths, in which the counter ran that ran least; `None` where all
    /// ran throughout: otherwise the bytes were scaled up by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_thousandths: Option<u32>,
    /// The most by which the time that was counted and the window of a run differed, in percent of
    /// the window, where it is so much that rates of the two are of different times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_window_percent: Option<u32>,
    /// What could not be counted, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Uncounted>,
    /// What waited in the queues of each processor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueUse>,
    /// What of the queues could not be counted, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues_missing: Vec<Uncounted>,
}

/// What the last-level cache did not hold of what the cores of a processor asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheMissed {
    /// Physical package; `None` where the kernel does not tell it.
    pub processor: Option<u32>,
    /// Whole lines, median of the runs.
    pub bytes_per_second: f64,
}

/// Bytes for each byte of payload: the median of the runs and its interval of 95 %, or with too few
/// runs for one their range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerByte {
    /// Median of the runs.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// What one run counted at one end.
struct Run<'a> {
    traffic: &'a MemoryTraffic,
    /// Bytes of payload that arrived, a second; `None` without a network.
    network: Option<f64>,
    window_ns: Nanos,
}

/// Where the time that was counted and the window differ by more, in percent, it is told.
const OFF_WINDOW_PERCENT: f64 = 5.0;

impl Run<'_> {
    fn per_second(&self, bytes: u64) -> Option<f64> {
        let seconds = self.traffic.span_ns.seconds();
        (seconds > 0.0).then(|| bytes as f64 / seconds)
    }

    fn rate(&self, of: Quantity) -> Option<f64> {
        self.per_second(self.traffic.bytes(of)?)
    }

    fn own_threads(&self) -> Option<f64> {
        let seconds = self.traffic.own_threads_ns.unwrap_or(self.traffic.span_ns).seconds();
        let bytes = self.traffic.bytes(Quantity::OwnThreads)?;
        (seconds > 0.0).then(|| bytes as f64 / seconds)
    }

    /// By how much the time that was counted and the window differ, in percent of the window, where
    /// that is much.
    fn off_window(&self) -> Option<u32> {
        let (span, window) = (self.traffic.span_ns.seconds(), self.window_ns.seconds());
        let is_counted = !self.traffic.counts.is_empty() && window > 0.0;
        let percent = is_counted.then(|| 100.0 * (span - window).abs() / window)?;
        (percent > OFF_WINDOW_PERCENT).then(|| percent.round() as u32)
    }

    fn both_ways(&self) -> Option<f64> {
        self.per_second(self.traffic.both_ways()?)
    }

    fn per_network_byte(&self) -> Option<f64> {
        Some(self.both_ways()? / self.network.filter(|rate| *rate > 0.0)?)
    }

    /// Lines that a processor's cores missed, a second.
    fn cache_missed(&self, processor: Option<u32>) -> Option<f64> {
        let mut counts = self.traffic.counts.iter();
        let one = counts.find(|one| one.of == Quantity::CacheMissed && one.package == processor)?;
        self.per_second(one.bytes)
    }

    fn busiest_link(&self) -> Option<f64> {
        self.per_second(self.traffic.most(Quantity::SocketLinkSent)?)
    }

    fn remote(&self) -> Option<f64> {
        let all = self.traffic.bytes(Quantity::OwnThreads).filter(|bytes| *bytes > 0)?;
        let local = self.traffic.bytes(Quantity::OwnThreadsLocal)?;
        Some((1.0 - local as f64 / all as f64).max(0.0))
    }

    fn in_cache(&self) -> Option<f64> {
        let written = self.traffic.bytes(Quantity::DeviceWritten).filter(|bytes| *bytes > 0)?;
        let missed = self.traffic.bytes(Quantity::DeviceWrittenMissed)?;
        Some((1.0 - missed as f64 / written as f64).max(0.0))
    }
}

/// What the ends of a trial's runs counted, on one host or two; empty where none looked, as in
/// older records.
pub(crate) fn memory_use(done: &[Done<'_>], one_host: bool) -> Vec<MemoryUse> {
    let both_ends = one_host && done.iter().any(|run| run.sender.is_some());
    [Role::Sender, Role::Receiver]
        .into_iter()
        .filter_map(|end| {
            let runs: Vec<Run<'_>> = done.iter().filter_map(|run| counted(run, end)).collect();
            (!runs.is_empty()).then(|| over(end, both_ends, &runs))
        })
        .collect()
}

fn counted<'a>(run: &Done<'a>, end: Role) -> Option<Run<'a>> {
    let report: &EndReport = match end {
        Role::Sender => run.sender?,
        _ => run.receiver,
    };
    let network = run.sender.map(|_| run.received(|flow| flow.bytes.0));
    Some(Run { traffic: report.memory.as_ref()?, network, window_ns: report.window_ns })
}

/// Median of what the runs counted of a quantity, a second.
fn rate(runs: &[Run<'_>], of: Quantity) -> Option<f64> {
    median(&runs.iter().filter_map(|run| run.rate(of)).collect::<Vec<f64>>())
}

/// What each processor's cores missed, medians of the runs.
fn cache_missed(runs: &[Run<'_>]) -> Vec<CacheMissed> {
    let counts = runs.iter().flat_map(|run| &run.traffic.counts);
    let missed = counts.filter(|count| count.of == Quantity::CacheMissed);
    let processors: BTreeSet<Option<u32>> = missed.map(|count| count.package).collect();
    let of = |processor: Option<u32>| {
        let rates: Vec<f64> = runs.iter().filter_map(|run| run.cache_missed(processor)).collect();
        median(&rates).map(|bytes_per_second| CacheMissed { processor, bytes_per_second })
    };
    processors.into_iter().filter_map(of).collect()
}

fn over(end: Role, both_ends: bool, runs: &[Run<'_>]) -> MemoryUse {
    let both_ways: Vec<f64> = runs.iter().filter_map(Run::both_ways).collect();
    let ratios: Vec<f64> = runs.iter().filter_map(Run::per_network_byte).collect();
    let links: Vec<f64> = runs.iter().filter_map(Run::busiest_link).collect();
    let in_cache: Vec<f64> = runs.iter().filter_map(Run::in_cache).collect();
    let remote: Vec<f64> = runs.iter().filter_map(Run::remote).collect();
    let counts = runs.iter().flat_map(|run| &run.traffic.counts);
    let all: Vec<&MemoryTraffic> = runs.iter().map(|run| run.traffic).collect();
    MemoryUse {
        end,
        both_ends,
        runs: both_ways.len() as u32,
        family: runs.iter().find_map(|run| run.traffic.family.clone()),
        read_bytes_per_second: rate(runs, Quantity::Read),
        written_bytes_per_second: rate(runs, Quantity::Written),
        bytes_per_second: median(&both_ways),
        per_network_byte: median_interval(&ratios, CONFIDENCE, Unit::Share).map(|one| PerByte {
            value: one.value,
            low: one.low,
            high: one.high,
        }),
        socket_link_bytes_per_second: median(&links),
        own_threads_bytes_per_second: median(
            &runs.iter().filter_map(Run::own_threads).collect::<Vec<f64>>(),
        ),
        own_threads_remote_share: median(&remote),
        cache_missed: cache_missed(runs),
        device_writes_in_cache_share: median(&in_cache),
        ran_thousandths: counts.filter_map(|count| count.ran_thousandths).min(),
        off_window_percent: runs.iter().filter_map(Run::off_window).max(),
        missing: each_once(runs.iter().flat_map(|run| &run.traffic.gaps)),
        queues: queue_use(&all),
        queues_missing: each_once(runs.iter().flat_map(|run| &run.traffic.queue_gaps)),
    }
}

fn each_once<'a>(gaps: impl Iterator<Item = &'a Uncounted>) -> Vec<Uncounted> {
    let mut each: Vec<Uncounted> = Vec::new();
    for gap in gaps {
        if !each.contains(gap) {
            each.push(gap.clone());
        }
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::memory_traffic::Count;
    use narrows_model::memory_traffic::CountedBy;

    fn count(of: Quantity, package: u32, bytes: u64) -> Count {
        let by = CountedBy::Uncore;
        Count { of, by, package: Some(package), bytes, counters: 1, ran_thousandths: None }
    }

    fn traffic(read: u64, counts: Vec<Count>) -> MemoryTraffic {
        let both = [count(Quantity::Read, 0, read), count(Quantity::Written, 0, 1000)];
        MemoryTraffic {
            family: Some("F".to_owned()),
            // Half a second.
            span_ns: Nanos(500_000_000),
            counts: both.into_iter().chain(counts).collect(),
            ..MemoryTraffic::default()
        }
    }

    fn run(traffic: &MemoryTraffic, network: f64) -> Run<'_> {
        Run { traffic, network: Some(network), window_ns: Nanos(500_000_000) }
    }

    #[test]
    fn a_time_that_is_not_the_windows_is_told_and_own_threads_have_their_own() {
        let mut one = traffic(3000, vec![count(Quantity::OwnThreads, 0, 600)]);
        one.own_threads_ns = Some(Nanos(600_000_000));
        let mut long = run(&one, 2000.0);
        let seen = over(Role::Receiver, false, &[long]);
        assert_eq!(seen.off_window_percent, None);
        assert_eq!(seen.own_threads_bytes_per_second, Some(1000.0));
        long = run(&one, 2000.0);
        long.window_ns = Nanos(410_000_000);
        let seen = over(Role::Receiver, false, &[long, run(&one, 2000.0)]);
        assert_eq!((seen.off_window_percent, seen.bytes_per_second), (Some(22), Some(8000.0)));
    }

    #[test]
    fn rates_are_of_the_counted_span_and_the_ratio_of_what_arrived() {
        let links = vec![
            count(Quantity::SocketLinkSent, 0, 50),
            count(Quantity::SocketLinkSent, 1, 70),
            count(Quantity::DeviceWritten, 0, 400),
            count(Quantity::DeviceWrittenMissed, 0, 100),
            count(Quantity::CacheMissed, 0, 64),
            count(Quantity::CacheMissed, 1, 192),
            count(Quantity::OwnThreads, 0, 600),
            count(Quantity::OwnThreads, 1, 200),
            count(Quantity::OwnThreadsLocal, 0, 600),
            count(Quantity::OwnThreadsLocal, 1, 0),
        ];
        let mut shared = traffic(4000, Vec::new());
        shared.counts[0].ran_thousandths = Some(250);
        shared.gaps = vec![Uncounted::Owner, Uncounted::Owner];
        let told = [traffic(3000, links), shared, traffic(3000, Vec::new())];
        let runs = told.each_ref().map(|traffic| run(traffic, 2000.0));
        let seen = over(Role::Receiver, false, &runs);
        assert_eq!(seen.read_bytes_per_second, Some(6000.0));
        assert_eq!((seen.bytes_per_second, seen.runs), (Some(8000.0), 3));
        let ratio = seen.per_network_byte.expect("a ratio");
        assert_eq!((ratio.low, ratio.value, ratio.high), (4.0, 4.0, 5.0));
        // The busier of two sockets, and three of four lines in the cache.
        assert_eq!(seen.socket_link_bytes_per_second, Some(140.0));
        assert_eq!(seen.device_writes_in_cache_share, Some(0.75));
        // Each processor's own, in half a second.
        let missed = seen.cache_missed.iter().map(|one| (one.processor, one.bytes_per_second));
        assert_eq!(missed.collect::<Vec<_>>(), [(Some(0), 128.0), (Some(1), 384.0)]);
        // Eight hundred bytes in half a second, a quarter of them through the other socket.
        assert_eq!(seen.own_threads_bytes_per_second, Some(1600.0));
        assert_eq!(seen.own_threads_remote_share, Some(0.25));
        assert_eq!((seen.ran_thousandths, seen.missing), (Some(250), vec![Uncounted::Owner]));
    }

    #[test]
    fn what_was_not_counted_has_no_figure() {
        let gaps = vec![Uncounted::NoPmu { inside: None }];
        let none = MemoryTraffic { gaps: gaps.clone(), ..MemoryTraffic::default() };
        let seen = over(Role::Sender, true, &[run(&none, 1e9)]);
        assert_eq!((seen.runs, seen.bytes_per_second, seen.per_network_byte), (0, None, None));
        assert_eq!(seen.missing, gaps);
        // Nothing arrived: no ratio of it.
        let some = traffic(10, Vec::new());
        let seen = over(Role::Sender, true, &[run(&some, 0.0)]);
        assert_eq!((seen.runs, seen.per_network_byte), (1, None));
    }
}
