//! Which part of the host's inner network held a run back, by what its queues held: told by counts
//! alone, and never where one of them is missing. `narrows neighbours` tells it by rates instead.
//!
//! Thresholds are of one machine, a Xeon Gold 6234 (Cascade Lake) with DDIO and prefetch off, so
//! that only hosts whose family has published [`Domains`] are told of.

use crate::domains::{self, Domains, reached};
use crate::dram::socket_peaks;
use narrows_dimm::platform;
use narrows_model::host::Host;
use narrows_model::memory_queues::QueueEvent;
use narrows_stats::QueueUse;
use std::fmt;

/// Share of its credits from which on a device has all of them in use: a mean over the window
/// stays below the plateau of 92 by what is idle between bursts.
const CREDITS_IN_USE: f64 = 0.95;
/// Share of the cycles with a full write queue from which on memory takes no more writes: up to
/// 37 % devices lost nothing, from 93 % on a fifth and more (Understanding the Host Network, RDMA
/// beside one to six cores that read and write).
const WRITES_FULL: f64 = 0.70;
/// Share below which memory takes them, from the same runs.
const WRITES_PASS: f64 = 0.50;
/// How many times its unloaded latency a core's read takes where cores are said to wait: the least
/// slowdown published for the blue regime beside a NIC at its full rate is 1.18.
const CORES_WAIT: f64 = 1.2;
/// Share of what a mix of reads and writes reaches from which on memory's bandwidth is full.
const BANDWIDTH_FULL: f64 = 0.95;
/// Nanoseconds to close one row and open another, 14.32 each (mio/model.py of the same paper): a
/// read waits so long without a queue, also where nothing else goes on.
const ROW_CHANGE_NS: f64 = 2.0 * 14.32;

/// What held a processor's lines up.
#[derive(Clone, Debug, PartialEq)]
pub enum ByCounters {
    /// Device writes: all credits in use and the write queue full. The red regime.
    DeviceWrites {
        /// What its credits carried while its lines took so long, in Gb/s; `None` where their time
        /// was not counted.
        carried_gbps: Option<f64>,
    },
    /// Device writes as well, with room in the write queue: its credits are too few for this rate
    /// at the latency that a line has anyway.
    DeviceCredits {
        /// What they carried so, in Gb/s; `None` where the time of a line was not counted.
        carried_gbps: Option<f64>,
    },
    /// Memory's bandwidth: so large a share of what this mix of reads and writes reaches.
    Bandwidth {
        /// 1 is all of it.
        share: f64,
    },
    /// Memory's latency: cores wait for their reads, devices have credits to spare. Blue.
    Latency {
        /// How many times longer than unloaded a core's read takes.
        times: f64,
        /// What a core reads at most with its credits, in GB/s.
        core_gb_s: f64,
    },
    /// Neither cores nor devices wait.
    Room,
    Open(Open),
}

/// Why it cannot be said.
#[derive(Clone, Debug, PartialEq)]
pub enum Open {
    /// Nobody has published the credits and latencies of the family.
    Family(String),
    /// An event was not counted.
    NotCounted(QueueEvent),
    /// Devices read too, and the root complex tells their lines and those that they write in one.
    DevicesRead,
    /// Modules or their speeds are unknown, so that bandwidth cannot be told from latency.
    Peak,
    /// The write queue is full in more of the cycles than one regime has and fewer than the other.
    Between {
        /// Of the cycles.
        full_share: f64,
    },
}

impl fmt::Display for Open {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family(family) => {
                write!(to, "nobody has published credits and latencies of {family}")
            }
            Self::NotCounted(of) => write!(to, "not counted: {of}"),
            Self::DevicesRead => to.write_str(
                "devices read as well, and the root complex counts their reads and writes in one",
            ),
            Self::Peak => to.write_str(
                "the peak of its memory channels is unknown, which tells latency from bandwidth",
            ),
            Self::Between { full_share } => write!(
                to,
                "the write queue is full in {:.0} % of its cycles, between the two regimes",
                100.0 * full_share
            ),
        }
    }
}

/// The verdict on one processor of a host.
pub fn by_counters(host: &Host, of: &QueueUse) -> ByCounters {
    let platform = platform::of(host);
    let Some(domains) = domains::of(platform) else {
        let family = platform.map_or("this processor", |platform| platform.name.as_str());
        return ByCounters::Open(Open::Family(family.to_owned()));
    };
    told(domains, peak_bytes_per_second(host, of), of).unwrap_or_else(ByCounters::Open)
}

/// The peak of the processor's populated channels; `None` where they are not known.
fn peak_bytes_per_second(host: &Host, of: &QueueUse) -> Option<f64> {
    let peaks = socket_peaks(host.memory.slots.value()?).ok()?;
    Some(peaks.get(&of.processor?)?.rate_bytes_per_second.0)
}

fn told(domains: &Domains, peak: Option<f64>, of: &QueueUse) -> Result<ByCounters, Open> {
    let full_share = of.full_write_queue_share.ok_or(Open::NotCounted(QueueEvent::WriteFull))?;
    let lines = of.busiest_root_lines.ok_or(Open::NotCounted(QueueEvent::RootOccupancy))?;
    let read_ns = of.read_queue_ns.ok_or(Open::NotCounted(QueueEvent::ReadOccupancy))?;
    let row_miss_share = of.row_miss_share.ok_or(Open::NotCounted(QueueEvent::RowsOpened))?;
    if lines >= CREDITS_IN_USE * domains.device_write.credits {
        return of_devices(domains, full_share, of);
    }
    let unloaded_ns = domains.core_read.unloaded_ns;
    let queued_ns = (read_ns - row_miss_share * ROW_CHANGE_NS).max(0.0);
    let times = 1.0 + queued_ns / unloaded_ns;
    if full_share >= WRITES_PASS {
        return Err(Open::Between { full_share });
    }
    if let Some(share) = bandwidth_share(peak, of)
        && share >= BANDWIDTH_FULL
    {
        return Ok(ByCounters::Bandwidth { share });
    }
    if times < CORES_WAIT {
        return Ok(ByCounters::Room);
    }
    bandwidth_share(peak, of).ok_or(Open::Peak)?;
    let core_gb_s = domains.core_read.gbps(times * unloaded_ns) / 8.0;
    Ok(ByCounters::Latency { times, core_gb_s })
}

/// All credits of the busiest root complex are in use.
fn of_devices(domains: &Domains, full_share: f64, of: &QueueUse) -> Result<ByCounters, Open> {
    if of.root_reads_share.is_none() {
        return Err(Open::NotCounted(QueueEvent::RootReads));
    }
    if !of.are_lines_writes() {
        return Err(Open::DevicesRead);
    }
    let carried_gbps = of.root_write_ns.map(|ns| domains.device_write.gbps(ns));
    if full_share >= WRITES_FULL {
        Ok(ByCounters::DeviceWrites { carried_gbps })
    } else if full_share < WRITES_PASS {
        Ok(ByCounters::DeviceCredits { carried_gbps })
    } else {
        Err(Open::Between { full_share })
    }
}

/// What crossed the processor's channels of what its mix of reads and writes reaches.
fn bandwidth_share(peak: Option<f64>, of: &QueueUse) -> Option<f64> {
    let peak = peak.filter(|peak| *peak > 0.0)?;
    Some(of.bytes_per_second? / (peak * reached(of.written_share?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peak of two channels of DDR4-2933, as the published machine has them.
    const PEAK: f64 = 46.9e9;

    fn domains() -> &'static Domains {
        domains::of(platform::named("Xeon Gold 6234")).expect("published")
    }

    /// A NIC at 98 Gb/s and idle cores: 60 lines of 312 ns.
    fn alone() -> QueueUse {
        QueueUse {
            processor: Some(0),
            full_write_queue_share: Some(0.01),
            read_queue_ns: Some(15.0),
            row_miss_share: Some(0.16),
            root_write_ns: Some(312.0),
            busiest_root_lines: Some(60.0),
            root_reads_share: Some(0.01),
            bytes_per_second: Some(13e9),
            written_share: Some(0.95),
            ..QueueUse::default()
        }
    }

    /// The same beside six cores that read and write.
    fn red() -> QueueUse {
        QueueUse {
            full_write_queue_share: Some(0.97),
            root_write_ns: Some(791.0),
            busiest_root_lines: Some(92.0),
            bytes_per_second: Some(35.6e9),
            written_share: Some(0.55),
            read_queue_ns: Some(150.0),
            ..alone()
        }
    }

    fn verdict(of: &QueueUse) -> Result<ByCounters, Open> {
        told(domains(), Some(PEAK), of)
    }

    #[test]
    fn the_published_runs_are_told_apart() {
        assert_eq!(verdict(&alone()), Ok(ByCounters::Room));
        let Ok(ByCounters::DeviceWrites { carried_gbps: Some(carried) }) = verdict(&red()) else {
            panic!("{:?}", verdict(&red()));
        };
        // 92 lines of 64 B every 791 ns: a slowdown of 1.65 from 98 Gb/s.
        assert!((carried - 59.55).abs() < 0.01, "{carried}");
        // Cores that read: 186 ns a line, and the NIC has a third of its credits to spare.
        let blue = QueueUse {
            read_queue_ns: Some(116.0 + 0.16 * 28.64),
            bytes_per_second: Some(30e9),
            written_share: Some(0.4),
            busiest_root_lines: Some(62.0),
            ..alone()
        };
        let Ok(ByCounters::Latency { times, core_gb_s }) = verdict(&blue) else {
            panic!("{:?}", verdict(&blue));
        };
        assert!((times - 186.0 / 70.0).abs() < 1e-9, "{times}");
        assert!((core_gb_s - 3.785).abs() < 0.001, "11 lines every 186 ns: {core_gb_s}");
        let full = QueueUse { bytes_per_second: Some(0.96 * 0.74 * PEAK), ..blue.clone() };
        assert!(matches!(verdict(&full), Ok(ByCounters::Bandwidth { .. })), "{:?}", verdict(&full));
        // A 200G NIC whose lines no queue holds up.
        let fast = QueueUse { busiest_root_lines: Some(91.0), ..alone() };
        let carried = domains().device_write.gbps(312.0);
        let alike = ByCounters::DeviceCredits { carried_gbps: Some(carried) };
        assert_eq!(verdict(&fast), Ok(alike));
    }

    #[test]
    fn rows_that_are_opened_are_no_queue() {
        // Each line opens a row: 28.6 ns and no more are of that.
        let rows = QueueUse { row_miss_share: Some(1.0), read_queue_ns: Some(42.0), ..alone() };
        assert_eq!(verdict(&rows), Ok(ByCounters::Room));
        let queued = QueueUse { row_miss_share: Some(0.0), ..rows };
        assert!(matches!(verdict(&queued), Ok(ByCounters::Latency { .. })));
    }

    fn lacks(of: QueueEvent, change: fn(&mut QueueUse)) {
        let mut seen = red();
        change(&mut seen);
        assert_eq!(verdict(&seen), Err(Open::NotCounted(of)));
    }

    #[test]
    fn nothing_is_said_without_every_count() {
        lacks(QueueEvent::WriteFull, |seen| seen.full_write_queue_share = None);
        lacks(QueueEvent::RootOccupancy, |seen| seen.busiest_root_lines = None);
        lacks(QueueEvent::RootReads, |seen| seen.root_reads_share = None);
        lacks(QueueEvent::ReadOccupancy, |seen| seen.read_queue_ns = None);
        lacks(QueueEvent::RowsOpened, |seen| seen.row_miss_share = None);
        let reads = QueueUse { root_reads_share: Some(0.4), ..red() };
        assert_eq!(verdict(&reads), Err(Open::DevicesRead));
        let between = QueueUse { full_write_queue_share: Some(0.6), ..red() };
        assert_eq!(verdict(&between), Err(Open::Between { full_share: 0.6 }));
        let busy = QueueUse { read_queue_ns: Some(120.0), ..alone() };
        assert_eq!(told(domains(), None, &busy), Err(Open::Peak));
    }

    #[test]
    fn families_without_published_credits_are_told_of_in_no_regime() {
        use narrows_model::Fact;
        let mut host = Host::default();
        host.cpu.model =
            Fact::known("Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz".into(), "made");
        let ByCounters::Open(open) = by_counters(&host, &red()) else { panic!("a regime") };
        assert!(open.to_string().contains("nobody has published"), "{open}");
    }
}
