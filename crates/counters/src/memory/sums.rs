//! Counters of one processor added up.

use super::events::{Counted, Counts};
use super::{Counter, Grown};
use narrows_model::memory_queues::{QueueCount, QueueEvent};
use narrows_model::memory_traffic::{Count, CountedBy, Quantity};
use std::collections::{BTreeMap, BTreeSet};

/// Below this share of its time, in thousandths, a counter was shared with other users of it.
const RAN_THOUSANDTHS: u32 = 995;

/// What the counters of one thing on one processor counted together.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: f64,
    busiest: f64,
    counters: u32,
    /// What the counter lacked that ran least, in thousandths of its time.
    missed_thousandths: u32,
}

impl Sum {
    fn add(&mut self, count: f64, grown: Grown) {
        self.count += count;
        self.busiest = self.busiest.max(count);
        self.counters += 1;
        let missed = 1000_u32.saturating_sub(grown.ran_thousandths);
        self.missed_thousandths = self.missed_thousandths.max(missed);
    }

    fn ran_thousandths(self) -> Option<u32> {
        let ran = 1000 - self.missed_thousandths;
        (ran < RAN_THOUSANDTHS).then_some(ran)
    }

    fn bytes(self, of: Quantity, package: Option<u32>) -> Count {
        Count {
            of,
            by: CountedBy::Uncore,
            package,
            bytes: self.count.round() as u64,
            counters: self.counters,
            ran_thousandths: self.ran_thousandths(),
        }
    }

    fn queue(self, of: QueueEvent, package: Option<u32>) -> QueueCount {
        QueueCount {
            of,
            package,
            count: self.count.round() as u64,
            busiest: self.busiest.round() as u64,
            counters: self.counters,
            ran_thousandths: self.ran_thousandths(),
        }
    }
}

/// The PMU of one channel of a package.
type Channel<'a> = (&'a str, Option<u32>);

fn channel(counter: &Counter) -> Channel<'_> {
    (counter.pmu.as_str(), counter.package)
}

/// Whether a counter tells that a channel has modules: only then is something read, written or
/// opened there.
fn needs_modules(counter: &Counter) -> bool {
    counter.counts == Counts::Memory || counter.counted == Counted::Queue(QueueEvent::RowsOpened)
}

/// Channels that moved nothing in the window: without modules, or without a part in the traffic.
/// Their clocks may run all the same, and their cycles would make full queues look rare.
fn idle<'a>(counted: &[(&'a Counter, Grown)]) -> BTreeSet<Channel<'a>> {
    let told = counted.iter().filter(|&&(counter, _)| needs_modules(counter));
    let mut idle: BTreeSet<Channel<'a>> = told.map(|&(counter, _)| channel(counter)).collect();
    for &(counter, grown) in counted {
        if needs_modules(counter) && grown.counts > 0.0 {
            idle.remove(&channel(counter));
        }
    }
    idle
}

/// Whether a counter is of a clock that stands, or of that of a channel that moved nothing.
fn is_left_out(counter: &Counter, grown: Grown, idle: &BTreeSet<Channel<'_>>) -> bool {
    let Counted::Queue(queue) = counter.counted else { return false };
    let is_idle = queue == QueueEvent::MemoryCycles && idle.contains(&channel(counter));
    queue.is_clock() && (grown.counts == 0.0 || is_idle)
}

/// Adds the counters of each thing and package up.
pub fn by_processor<'a>(
    counted: impl Iterator<Item = (&'a Counter, Grown)>,
) -> (Vec<Count>, Vec<QueueCount>) {
    let counted: Vec<(&Counter, Grown)> = counted.collect();
    let idle = idle(&counted);
    let mut sums: BTreeMap<(Counted, Option<u32>), Sum> = BTreeMap::new();
    for (counter, grown) in counted {
        if is_left_out(counter, grown, &idle) {
            continue;
        }
        let sum = sums.entry((counter.counted, counter.package)).or_default();
        sum.add(grown.counts * counter.worth, grown);
    }
    let (mut counts, mut queues) = (Vec::new(), Vec::new());
    for ((counted, package), sum) in sums {
        match counted {
            Counted::Bytes(of) => counts.push(sum.bytes(of, package)),
            Counted::Queue(of) => queues.push(sum.queue(of, package)),
        }
    }
    (counts, queues)
}
