//! Counters of one processor added up.

use super::events::Counted;
use super::{Counter, Grown};
use narrows_model::memory_queues::{QueueCount, QueueEvent};
use narrows_model::memory_traffic::{Count, CountedBy, Quantity};
use std::collections::BTreeMap;

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

/// Whether a counter is of a clock that stands: that of a channel without modules.
fn stands(counter: &Counter, grown: Grown) -> bool {
    matches!(counter.counted, Counted::Queue(queue) if queue.is_clock()) && grown.counts == 0.0
}

/// Adds the counters of each thing and package up.
pub fn by_processor<'a>(
    counted: impl Iterator<Item = (&'a Counter, Grown)>,
) -> (Vec<Count>, Vec<QueueCount>) {
    let mut sums: BTreeMap<(Counted, Option<u32>), Sum> = BTreeMap::new();
    for (counter, grown) in counted.filter(|(counter, grown)| !stands(counter, *grown)) {
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
