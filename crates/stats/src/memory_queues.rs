//! Lines that wait on a processor: how many, for how long, and in which share of the cycles, from
//! the counts of memory controllers, cache slices and root complexes.

use crate::median;
use narrows_model::memory_queues::QueueEvent;
use narrows_model::memory_traffic::{MemoryTraffic, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Bytes of a cache line: what one credit carries.
pub const LINE_BYTES: f64 = 64.0;
/// Largest share of reads among what a root complex asks for beside which its lines are its writes:
/// it counts both in one.
const FEW_READS_SHARE: f64 = 0.05;

/// What waited on one processor, medians over the runs in which it was counted. A time in a queue
/// is its occupancy over what entered it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueUse {
    /// Physical package; `None` where the kernel does not tell it.
    pub processor: Option<u32>,
    /// Share of the memory controllers' cycles in which a channel's write queue was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_write_queue_share: Option<f64>,
    /// Nanoseconds that a line was in a write queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_queue_ns: Option<f64>,
    /// Nanoseconds that a line was in a read queue, until memory was told to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_queue_ns: Option<f64>,
    /// Rows opened for each line that memory read or wrote: the share of row misses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_miss_share: Option<f64>,
    /// Nanoseconds that a device's write was under way in a cache slice: from the mesh on, without
    /// the leg from the root complex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_write_ns: Option<f64>,
    /// Device writes under way in all cache slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_writes_in_flight: Option<f64>,
    /// Nanoseconds that a device's read was under way in a cache slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_ns: Option<f64>,
    /// Device reads under way in all cache slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_reads_in_flight: Option<f64>,
    /// Nanoseconds that a device's write held its place in a root complex; `None` where devices
    /// read as well, whose lines are counted with these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_write_ns: Option<f64>,
    /// Lines of devices in the busiest root complex, those that they read and those that they
    /// write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_root_lines: Option<f64>,
    /// Share of reads among the lines that the root complexes asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_reads_share: Option<f64>,
    /// Bytes a second that memory read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// Share of these that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_share: Option<f64>,
    /// Share of the time, in thousandths, in which the counter ran that ran least; `None` where all
    /// ran throughout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_thousandths: Option<u32>,
}

/// What one run counted on one processor.
#[derive(Clone, Copy)]
struct Look<'a> {
    traffic: &'a MemoryTraffic,
    processor: Option<u32>,
}

impl Look<'_> {
    fn count(&self, of: QueueEvent) -> Option<f64> {
        self.traffic.queue(of, self.processor).map(|one| one.count as f64)
    }

    fn bytes(&self, of: Quantity) -> Option<f64> {
        let mut counts = self.traffic.counts.iter();
        let one = counts.find(|one| one.of == of && one.package == self.processor)?;
        Some(one.bytes as f64)
    }

    /// Cycles of one clock, where it ran.
    fn cycles(&self, clock: QueueEvent) -> Option<f64> {
        let all = self.traffic.queue(clock, self.processor)?;
        (all.count > 0).then(|| all.count as f64 / f64::from(all.counters))
    }

    /// Lines that were there on average of a queue's cycles.
    fn in_flight(&self, occupancy: QueueEvent, clock: QueueEvent) -> Option<f64> {
        Some(self.count(occupancy)? / self.cycles(clock)?)
    }

    /// How long each of so many lines was in a queue, in nanoseconds.
    fn held_ns(&self, occupancy: QueueEvent, clock: QueueEvent, lines: f64) -> Option<f64> {
        let span_ns = self.traffic.span_ns.0 as f64;
        (lines > 0.0).then(|| self.in_flight(occupancy, clock).map(|all| all * span_ns / lines))?
    }

    fn full_write_queue_share(&self) -> Option<f64> {
        let cycles = self.count(QueueEvent::MemoryCycles).filter(|cycles| *cycles > 0.0)?;
        Some((self.count(QueueEvent::WriteFull)? / cycles).min(1.0))
    }

    fn write_queue_ns(&self) -> Option<f64> {
        let lines = self.count(QueueEvent::WriteInserts)?;
        self.held_ns(QueueEvent::WriteOccupancy, QueueEvent::MemoryCycles, lines)
    }

    fn read_queue_ns(&self) -> Option<f64> {
        let lines = self.count(QueueEvent::ReadInserts)?;
        self.held_ns(QueueEvent::ReadOccupancy, QueueEvent::MemoryCycles, lines)
    }

    fn both_ways(&self) -> Option<f64> {
        Some(self.bytes(Quantity::Read)? + self.bytes(Quantity::Written)?)
    }

    fn row_miss_share(&self) -> Option<f64> {
        let lines = self.both_ways().filter(|bytes| *bytes > 0.0)? / LINE_BYTES;
        Some((self.count(QueueEvent::RowsOpened)? / lines).min(1.0))
    }

    fn device_write_ns(&self) -> Option<f64> {
        let lines = self.bytes(Quantity::DeviceWritten)? / LINE_BYTES;
        self.held_ns(QueueEvent::DeviceWriteOccupancy, QueueEvent::CacheCycles, lines)
    }

    fn device_read_ns(&self) -> Option<f64> {
        let lines = self.count(QueueEvent::DeviceReadInserts)?;
        self.held_ns(QueueEvent::DeviceReadOccupancy, QueueEvent::CacheCycles, lines)
    }

    fn root_reads_share(&self) -> Option<f64> {
        let reads = self.count(QueueEvent::RootReads)?;
        let all = self.count(QueueEvent::RootWrites)? + reads;
        (all > 0.0).then(|| reads / all)
    }

    fn root_write_ns(&self) -> Option<f64> {
        self.root_reads_share().filter(|share| *share <= FEW_READS_SHARE)?;
        let lines = self.count(QueueEvent::RootWrites)?;
        self.held_ns(QueueEvent::RootOccupancy, QueueEvent::RootCycles, lines)
    }

    fn busiest_root_lines(&self) -> Option<f64> {
        let lines = self.traffic.queue(QueueEvent::RootOccupancy, self.processor)?;
        Some(lines.busiest as f64 / self.cycles(QueueEvent::RootCycles)?)
    }

    fn bytes_per_second(&self) -> Option<f64> {
        let seconds = self.traffic.span_ns.seconds();
        self.both_ways().filter(|_| seconds > 0.0).map(|bytes| bytes / seconds)
    }

    fn written_share(&self) -> Option<f64> {
        let both = self.both_ways().filter(|bytes| *bytes > 0.0)?;
        Some(self.bytes(Quantity::Written)? / both)
    }
}

impl QueueUse {
    /// Whether devices read so little that what the root complexes hold are writes.
    pub fn are_lines_writes(&self) -> bool {
        self.root_reads_share.is_some_and(|share| share <= FEW_READS_SHARE)
    }
}

/// What each processor's queues held; empty where none was counted.
pub(crate) fn queue_use(runs: &[&MemoryTraffic]) -> Vec<QueueUse> {
    let counts = runs.iter().flat_map(|traffic| &traffic.queues);
    let processors: BTreeSet<Option<u32>> = counts.map(|one| one.package).collect();
    processors.into_iter().map(|processor| of_processor(runs, processor)).collect()
}

/// Median over the runs that have a figure.
fn over<'a>(looks: &[Look<'a>], figure: impl Fn(&Look<'a>) -> Option<f64>) -> Option<f64> {
    median(&looks.iter().filter_map(figure).collect::<Vec<f64>>())
}

fn of_processor(runs: &[&MemoryTraffic], processor: Option<u32>) -> QueueUse {
    let looks = runs.iter().map(|traffic| Look { traffic, processor });
    let looks: Vec<Look<'_>> = looks.collect();
    let counts = runs.iter().flat_map(|traffic| &traffic.queues);
    let own = counts.filter(|one| one.package == processor);
    let (writes, reads) = (QueueEvent::DeviceWriteOccupancy, QueueEvent::DeviceReadOccupancy);
    QueueUse {
        processor,
        full_write_queue_share: over(&looks, Look::full_write_queue_share),
        write_queue_ns: over(&looks, Look::write_queue_ns),
        read_queue_ns: over(&looks, Look::read_queue_ns),
        row_miss_share: over(&looks, Look::row_miss_share),
        device_write_ns: over(&looks, Look::device_write_ns),
        device_writes_in_flight: over(&looks, |look| {
            look.in_flight(writes, QueueEvent::CacheCycles)
        }),
        device_read_ns: over(&looks, Look::device_read_ns),
        device_reads_in_flight: over(&looks, |look| look.in_flight(reads, QueueEvent::CacheCycles)),
        root_write_ns: over(&looks, Look::root_write_ns),
        busiest_root_lines: over(&looks, Look::busiest_root_lines),
        root_reads_share: over(&looks, Look::root_reads_share),
        bytes_per_second: over(&looks, Look::bytes_per_second),
        written_share: over(&looks, Look::written_share),
        ran_thousandths: own.filter_map(|one| one.ran_thousandths).min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::memory_queues::QueueCount;
    use narrows_model::memory_traffic::{Count, CountedBy};

    fn queue(of: QueueEvent, count: u64, busiest: u64, counters: u32) -> QueueCount {
        QueueCount { of, package: Some(0), count, busiest, counters, ran_thousandths: None }
    }

    fn bytes(of: Quantity, bytes: u64) -> Count {
        let (by, package) = (CountedBy::Uncore, Some(0));
        Count { of, by, package, bytes, counters: 2, ran_thousandths: None }
    }

    /// A second of two channels at 1.5 GHz, cache slices at 2 GHz, two root complexes at 500 MHz.
    fn second() -> MemoryTraffic {
        MemoryTraffic {
            span_ns: Nanos(1_000_000_000),
            counts: vec![
                bytes(Quantity::Read, 64 * 60_000_000),
                bytes(Quantity::Written, 64 * 20_000_000),
                bytes(Quantity::DeviceWritten, 64 * 100_000_000),
            ],
            queues: vec![
                queue(QueueEvent::MemoryCycles, 3_000_000_000, 1_500_000_000, 2),
                queue(QueueEvent::WriteFull, 2_100_000_000, 1_400_000_000, 2),
                queue(QueueEvent::WriteOccupancy, 9_000_000_000, 0, 2),
                queue(QueueEvent::WriteInserts, 20_000_000, 0, 2),
                queue(QueueEvent::ReadOccupancy, 4_500_000_000, 0, 2),
                queue(QueueEvent::ReadInserts, 60_000_000, 0, 2),
                queue(QueueEvent::RowsOpened, 20_000_000, 0, 2),
                queue(QueueEvent::CacheCycles, 2_000_000_000, 0, 1),
                queue(QueueEvent::DeviceWriteOccupancy, 40_000_000_000, 0, 20),
                queue(QueueEvent::DeviceReadOccupancy, 1_000_000_000, 0, 20),
                queue(QueueEvent::DeviceReadInserts, 5_000_000, 0, 20),
                queue(QueueEvent::RootCycles, 500_000_000, 0, 1),
                queue(QueueEvent::RootOccupancy, 50_000_000_000, 46_000_000_000, 2),
                queue(QueueEvent::RootWrites, 200_000_000, 0, 2),
                queue(QueueEvent::RootReads, 2_000_000, 0, 2),
            ],
            ..MemoryTraffic::default()
        }
    }

    #[test]
    fn counts_and_clocks_are_nanoseconds_lines_and_shares() {
        let second = second();
        let seen = queue_use(&[&second]);
        let is = |figure: Option<f64>, right: f64| {
            let figure = figure.expect("counted");
            assert!((figure / right - 1.0).abs() < 1e-9, "{figure} and not {right}");
        };
        assert_eq!((seen.len(), seen[0].processor), (1, Some(0)));
        let one = &seen[0];
        is(one.full_write_queue_share, 0.7);
        // 9e9 / 2e7 = 450 cycles of 1.5 GHz, and 75 of them.
        is(one.write_queue_ns, 300.0);
        is(one.read_queue_ns, 50.0);
        is(one.row_miss_share, 0.25);
        // 20 lines at 1e8 a second take 200 ns each.
        is(one.device_writes_in_flight, 20.0);
        is(one.device_write_ns, 200.0);
        is(one.device_reads_in_flight, 0.5);
        is(one.device_read_ns, 100.0);
        // 100 lines in both root complexes, 92 in one of them.
        is(one.busiest_root_lines, 92.0);
        is(one.root_write_ns, 500.0);
        is(one.root_reads_share, 2.0 / 202.0);
        is(one.bytes_per_second, 64.0 * 8e7);
        is(one.written_share, 0.25);
        assert!(one.are_lines_writes() && one.ran_thousandths.is_none());
    }

    #[test]
    fn a_count_that_is_missing_costs_its_figures_alone() {
        let without = |of: QueueEvent| {
            let mut traffic = second();
            traffic.queues.retain(|one| one.of != of);
            queue_use(&[&traffic]).remove(0)
        };
        let seen = without(QueueEvent::MemoryCycles);
        assert_eq!((seen.full_write_queue_share, seen.read_queue_ns), (None, None));
        assert!(seen.device_write_ns.is_some() && seen.row_miss_share.is_some());
        assert_eq!(without(QueueEvent::WriteFull).full_write_queue_share, None);
        let seen = without(QueueEvent::RootReads);
        // Whether what is held is written is not known.
        assert_eq!((seen.root_write_ns, seen.are_lines_writes()), (None, false));
        assert!(seen.busiest_root_lines.is_some());
        let mut reads = second();
        let read = reads.queues.iter_mut().find(|one| one.of == QueueEvent::RootReads);
        read.expect("counted").count = 20_000_000;
        let seen = queue_use(&[&reads]).remove(0);
        assert_eq!((seen.root_write_ns, seen.are_lines_writes()), (None, false));
        let mut idle = second();
        idle.queues.iter_mut().for_each(|one| one.count = 0);
        let seen = queue_use(&[&idle]).remove(0);
        assert_eq!((seen.read_queue_ns, seen.device_writes_in_flight), (None, None));
        assert!(queue_use(&[&MemoryTraffic::default()]).is_empty());
    }

    #[test]
    fn several_runs_have_their_median() {
        let [mut low, middle, mut high] = [second(), second(), second()];
        let full = QueueEvent::WriteFull;
        for (traffic, count) in [(&mut low, 30_000_000), (&mut high, 3_000_000_000)] {
            let one = traffic.queues.iter_mut().find(|one| one.of == full);
            let one = one.expect("counted");
            (one.count, one.ran_thousandths) = (count, Some(400));
        }
        let seen = queue_use(&[&low, &high, &middle]).remove(0);
        assert_eq!((seen.full_write_queue_share, seen.ran_thousandths), (Some(0.7), Some(400)));
    }
}
