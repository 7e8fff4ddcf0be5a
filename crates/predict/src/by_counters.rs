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
use std::collections::BTreeSet;
use std::fmt;

/// What a verdict holds for, as it is printed beside each.
pub const THRESHOLDS: &str = "thresholds of one Cascade Lake machine with DDIO and prefetch off";
/// Lines from which on the write queue of a Skylake or Cascade Lake is counted as full: so did the
/// paper whose runs the thresholds are from. The queue may hold more.
pub const FULL_LINES: u32 = 34;

/// Share of its credits from which on a device has all of them in use: a mean over the window
/// stays below the plateau of 92 by what is idle between bursts.
const CREDITS_IN_USE: f64 = 0.95;
/// Share of the cycles with a full write queue, [`FULL_LINES`] in it, from which on memory takes no
/// more writes: up to 37 % devices lost nothing, from 93 % on a fifth and more (Understanding the
/// Host Network, RDMA beside one to six cores that read and write).
const WRITES_FULL: f64 = 0.70;
/// Share below which memory takes them, from the same runs.
const WRITES_PASS: f64 = 0.50;
/// How many times its unloaded latency a core's read takes where cores are said to wait: assumed.
/// The paper compares with a read beside an idle device, which no count of one run tells.
const CORES_WAIT: f64 = 1.2;
/// Share of its credits from which on a device is at work: next to a smaller one cores wait for
/// each other.
const DEVICES_AT_WORK: f64 = 0.1;
/// Share of what a mix of reads and writes reaches from which on memory's bandwidth is full.
const BANDWIDTH_FULL: f64 = 0.95;
/// Nanoseconds to close one row and open another, 14.32 each (mio/model.py of the same paper): a
/// read waits so long without a queue, also where nothing else goes on.
const ROW_CHANGE_NS: f64 = 2.0 * 14.32;

/// Credits of the busiest root complex, nearly all of them in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InUse {
    /// Lines under way there, a mean over the window.
    pub lines: f64,
    /// Lines that can be.
    pub credits: f64,
    /// What the credits carry while a line takes so long, in Gb/s; `None` where the time of a line
    /// was not counted.
    pub carried_gbps: Option<f64>,
}

impl fmt::Display for InUse {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, credits, carried_gbps } = self;
        write!(to, "{lines:.0} of the busiest root complex's {credits:.0} credits in use")?;
        carried_gbps.map_or(Ok(()), |gbps| {
            write!(to, "; at this latency all of them carry at most {gbps:.0} Gb/s")
        })
    }
}

/// What held a processor's lines up.
#[derive(Clone, Debug, PartialEq)]
pub enum ByCounters {
    /// Device writes: the credits in use and the write queue full. The red regime.
    DeviceWrites(InUse),
    /// Device writes as well, with room in the write queue: credits are too few for this rate at
    /// the latency that a line has anyway.
    DeviceCredits(InUse),
    /// Memory's bandwidth: so large a share of what this mix of reads and writes reaches.
    Bandwidth {
        /// 1 is all of it.
        share: f64,
    },
    /// Memory's latency: cores wait for their reads, devices have credits to spare.
    Latency {
        /// Whether devices write meanwhile: the blue regime. Else cores wait for each other.
        is_blue: bool,
        /// How many times longer than unloaded a core's read takes.
        times: f64,
        /// What a core without prefetch reads at most with its credits, in GB/s: not counted, but
        /// what the read queue's time makes of them.
        core_gb_s: f64,
    },
    /// No queue holds up cores or devices.
    Room,
    Untold(Untold),
}

/// Why it cannot be said.
#[derive(Clone, Debug, PartialEq)]
pub enum Untold {
    /// Nobody has published the credits and latencies of the family.
    Family(String),
    /// What an event tells of is not known: it was not counted, or what else its figure is made of
    /// was not, as the clock or the lines.
    NotCounted(QueueEvent),
    /// Devices read too, and the root complex tells their lines and those that they write in one.
    DevicesRead,
    /// Modules or their speeds are unknown, so that bandwidth cannot be told from latency.
    Peak,
    /// All credits are in use, and the write queue is full in more of the cycles than one regime
    /// has and fewer than the other.
    Between {
        /// Of the cycles.
        full_share: f64,
    },
    /// The write queue is full, and yet devices have credits to spare: no published run was so.
    Full {
        /// Of the cycles.
        full_share: f64,
    },
}

impl fmt::Display for Untold {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family(family) => {
                write!(to, "nobody has published credits and latencies of {family}")
            }
            Self::NotCounted(of) => {
                write!(to, "not counted: {of}, or a count that it is computed from")
            }
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
            Self::Full { full_share } => write!(
                to,
                "the write queue is full in {:.0} % of its cycles, though devices have credits to \
                 spare",
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
        return ByCounters::Untold(Untold::Family(family.to_owned()));
    };
    told(domains, peak_bytes_per_second(host, of), of).unwrap_or_else(ByCounters::Untold)
}

/// The peak of the processor's populated channels; `None` where they are not known. The kernel's
/// packages and the board's sockets have numbers of their own, so that the nth of one is taken for
/// the nth of the other, and only where there are as many of both.
fn peak_bytes_per_second(host: &Host, of: &QueueUse) -> Option<f64> {
    let peaks = socket_peaks(host.memory.slots.value()?).ok()?;
    let packages: BTreeSet<u32> =
        host.cpu.places.iter().filter_map(|place| place.package).collect();
    let position = packages.iter().position(|package| Some(*package) == of.processor)?;
    let peak = peaks.values().nth(position).filter(|_| packages.len() == peaks.len())?;
    Some(peak.rate_bytes_per_second.0)
}

fn told(domains: &Domains, peak: Option<f64>, of: &QueueUse) -> Result<ByCounters, Untold> {
    let full_share = of.full_write_queue_share.ok_or(Untold::NotCounted(QueueEvent::WriteFull))?;
    let lines = of.busiest_root_lines.ok_or(Untold::NotCounted(QueueEvent::RootOccupancy))?;
    let read_ns = of.read_queue_ns.ok_or(Untold::NotCounted(QueueEvent::ReadOccupancy))?;
    let row_miss_share = of.row_miss_share.ok_or(Untold::NotCounted(QueueEvent::RowsOpened))?;
    if lines >= CREDITS_IN_USE * domains.device_write.credits {
        return of_devices(domains, lines, full_share, of);
    }
    let unloaded_ns = domains.core_read.unloaded_ns;
    let queued_ns = (read_ns - row_miss_share * ROW_CHANGE_NS).max(0.0);
    let times = 1.0 + queued_ns / unloaded_ns;
    if full_share >= WRITES_PASS {
        return Err(Untold::Full { full_share });
    }
    if let Some(share) = bandwidth_share(peak, of)
        && share >= BANDWIDTH_FULL
    {
        return Ok(ByCounters::Bandwidth { share });
    }
    if times < CORES_WAIT {
        return Ok(ByCounters::Room);
    }
    bandwidth_share(peak, of).ok_or(Untold::Peak)?;
    let core_gb_s = domains.core_read.gbps(times * unloaded_ns) / 8.0;
    let is_blue = lines >= DEVICES_AT_WORK * domains.device_write.credits;
    Ok(ByCounters::Latency { is_blue, times, core_gb_s })
}

/// All credits of the busiest root complex are in use.
fn of_devices(
    domains: &Domains,
    lines: f64,
    full_share: f64,
    of: &QueueUse,
) -> Result<ByCounters, Untold> {
    if of.root_reads_share.is_none() {
        return Err(Untold::NotCounted(QueueEvent::RootReads));
    }
    if !of.are_lines_writes() {
        return Err(Untold::DevicesRead);
    }
    let carried_gbps = of.root_write_ns.map(|ns| domains.device_write.gbps(ns));
    let in_use = InUse { lines, credits: domains.device_write.credits, carried_gbps };
    if full_share >= WRITES_FULL {
        Ok(ByCounters::DeviceWrites(in_use))
    } else if full_share < WRITES_PASS {
        Ok(ByCounters::DeviceCredits(in_use))
    } else {
        Err(Untold::Between { full_share })
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
    use narrows_model::host::{CpuPlace, Module, Slot, SlotPlace};
    use narrows_model::{Bytes, Fact};

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

    fn verdict(of: &QueueUse) -> Result<ByCounters, Untold> {
        told(domains(), Some(PEAK), of)
    }

    #[test]
    fn counts_made_from_published_latencies_are_told_apart() {
        assert_eq!(verdict(&alone()), Ok(ByCounters::Room));
        let Ok(ByCounters::DeviceWrites(in_use)) = verdict(&red()) else {
            panic!("{:?}", verdict(&red()));
        };
        let carried = in_use.carried_gbps.expect("counted");
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
        let Ok(ByCounters::Latency { is_blue: true, times, core_gb_s }) = verdict(&blue) else {
            panic!("{:?}", verdict(&blue));
        };
        assert!((times - 186.0 / 70.0).abs() < 1e-9, "{times}");
        assert!((core_gb_s - 3.785).abs() < 0.001, "11 lines every 186 ns: {core_gb_s}");
        let full = QueueUse { bytes_per_second: Some(0.96 * 0.74 * PEAK), ..blue.clone() };
        assert!(matches!(verdict(&full), Ok(ByCounters::Bandwidth { .. })), "{:?}", verdict(&full));
        // A 200G NIC whose lines no queue holds up.
        let fast = QueueUse { busiest_root_lines: Some(91.0), ..alone() };
        let carried_gbps = Some(domains().device_write.gbps(312.0));
        let in_use = InUse { lines: 91.0, credits: 92.0, carried_gbps };
        assert_eq!(verdict(&fast), Ok(ByCounters::DeviceCredits(in_use)));
        let says = "91 of the busiest root complex's 92 credits in use; at this latency all of \
                    them carry at most 151 Gb/s";
        assert_eq!(in_use.to_string(), says);
    }

    #[test]
    fn rows_that_are_opened_are_no_queue() {
        // Each line opens a row: 28.6 ns and no more are of that.
        let rows = QueueUse { row_miss_share: Some(1.0), read_queue_ns: Some(42.0), ..alone() };
        assert_eq!(verdict(&rows), Ok(ByCounters::Room));
        let queued = QueueUse { row_miss_share: Some(0.0), ..rows };
        assert!(matches!(verdict(&queued), Ok(ByCounters::Latency { is_blue: true, .. })));
        // Beside no device cores wait for each other, which is no regime of the two.
        let cores_alone = QueueUse { busiest_root_lines: Some(1.0), ..queued };
        assert!(matches!(verdict(&cores_alone), Ok(ByCounters::Latency { is_blue: false, .. })));
    }

    fn lacks(of: QueueEvent, change: fn(&mut QueueUse)) {
        let mut seen = red();
        change(&mut seen);
        assert_eq!(verdict(&seen), Err(Untold::NotCounted(of)));
    }

    #[test]
    fn nothing_is_said_without_every_count() {
        lacks(QueueEvent::WriteFull, |seen| seen.full_write_queue_share = None);
        lacks(QueueEvent::RootOccupancy, |seen| seen.busiest_root_lines = None);
        lacks(QueueEvent::RootReads, |seen| seen.root_reads_share = None);
        lacks(QueueEvent::ReadOccupancy, |seen| seen.read_queue_ns = None);
        lacks(QueueEvent::RowsOpened, |seen| seen.row_miss_share = None);
        let reads = QueueUse { root_reads_share: Some(0.4), ..red() };
        assert_eq!(verdict(&reads), Err(Untold::DevicesRead));
        let between = QueueUse { full_write_queue_share: Some(0.6), ..red() };
        assert_eq!(verdict(&between), Err(Untold::Between { full_share: 0.6 }));
        let spare = QueueUse { busiest_root_lines: Some(60.0), ..red() };
        let why = verdict(&spare).expect_err("no published run was so");
        assert_eq!(why, Untold::Full { full_share: 0.97 });
        assert!(why.to_string().contains("97 % of its cycles, though devices have"), "{why}");
        let busy = QueueUse { read_queue_ns: Some(120.0), ..alone() };
        assert_eq!(told(domains(), None, &busy), Err(Untold::Peak));
    }

    /// A slot of a board's socket with a module of 16 GiB at so many MT/s.
    fn slot(socket: u32, mts: u32) -> Slot {
        let module = Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: Some(mts),
            ..Module::default()
        };
        let at = SlotPlace { socket, channel: "A".into(), controller: None };
        Slot { at: Some(at), module: Some(module), ..Slot::default() }
    }

    /// A host of one CPU in each of these packages, and of these slots.
    fn board(packages: &[u32], slots: &[Slot]) -> Host {
        let mut host = Host::default();
        for package in packages {
            let place = CpuPlace { package: Some(*package), ..CpuPlace::default() };
            host.cpu.places.push(place);
        }
        host.memory.slots = Fact::known(slots.to_vec(), "made");
        host
    }

    fn peak(host: &Host, processor: Option<u32>) -> Option<f64> {
        peak_bytes_per_second(host, &QueueUse { processor, ..QueueUse::default() })
    }

    #[test]
    fn the_nth_package_is_on_the_nth_socket_where_there_are_as_many() {
        let slots = [slot(1, 2400), slot(2, 2933)];
        let host = board(&[0, 0, 2, 2], &slots);
        assert_eq!(peak(&host, Some(0)), Some(19.2e9));
        assert_eq!(peak(&host, Some(2)), Some(23.464e9));
        assert_eq!((peak(&host, Some(1)), peak(&host, None)), (None, None));
        assert_eq!(peak(&board(&[0, 1], &slots[..1]), Some(0)), None);
        assert_eq!(peak(&board(&[], &slots[..1]), Some(0)), None);
    }

    #[test]
    fn families_without_published_credits_are_told_of_in_no_regime() {
        let mut host = Host::default();
        host.cpu.model =
            Fact::known("Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz".into(), "made");
        let ByCounters::Untold(open) = by_counters(&host, &red()) else { panic!("a regime") };
        assert!(open.to_string().contains("nobody has published"), "{open}");
    }
}
