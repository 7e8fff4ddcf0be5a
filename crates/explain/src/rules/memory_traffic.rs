//! `memory-traffic`: is the memory bus full?
//!
//! Counters of the memory controllers tell what crossed the bus of each end's host while the stream
//! ran. Within a twentieth of what a copy by all CPUs reached on the same host the bus is what
//! holds a stream back, and neither its CPUs nor its link: so it was found on servers whose sockets
//! moved four bytes of memory for each byte of the network (Balaji, Shah, Panda: "within 5% of the
//! practically attainable peak memory bandwidth").
//!
//! Below that, memory may still take a device's writes too slowly: where the root complex has its
//! credits in use and the write queue is full, by their counts, that is what is named.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Unmeasured, Verdict, Weight};
use narrows_predict::calibration::attainable_gb_s;
use narrows_predict::{
    ByCounters, FULL_LINES, InUse, THRESHOLDS, by_counters, host_of_end, impossible,
};
use narrows_stats::{MemoryUse, QueueUse};

pub static RULE: Rule =
    Rule { name: "memory-traffic", asks: "Is the memory bus full?", of_host: false, judge };

/// Share of what a copy reached.
const FULL_SHARE: f64 = 0.95;

fn judge(case: &Case<'_>) -> Verdict {
    let attainable = attainable_gb_s(case.study, case.summaries);
    measured::judge(case, Needed::MemoryTraffic, None, |cell| look(cell, attainable))
}

/// The controller's host: the copy was measured there.
fn own<'a>(cell: &'a Cell<'_>) -> Option<&'a MemoryUse> {
    let role = cell.trial.controllers().map(|end| end.role);
    let inside = cell.summary.is_one_host();
    cell.summary.memory.iter().find(|one| inside || Some(one.end) == role)
}

/// Whether its counts can be, or nothing is known to hold them against.
fn is_possible(cell: &Cell<'_>, own: &MemoryUse, attainable_gb_s: Option<f64>) -> bool {
    let host = host_of_end(cell.study, &cell.trial.label, own.end);
    own.bytes_per_second.is_none_or(|rate| impossible(host, attainable_gb_s, rate).is_none())
}

fn look(cell: &Cell<'_>, attainable_gb_s: Option<f64>) -> Looked {
    if !cell.is_network_stream() && !cell.trial.kind.is_rdma() {
        return Err(Blind::OtherKind);
    }
    let own = own(cell);
    let counted = own.filter(|own| is_possible(cell, own, attainable_gb_s));
    if let Some(held) = counted.and_then(|own| writes_held(cell, own)) {
        return held;
    }
    let Some((own, rate)) = own.and_then(|own| Some((own, own.bytes_per_second?))) else {
        let why = own.and_then(|own| own.missing.first()).cloned();
        let trial = cell.trial.label.clone();
        return Err(Blind::Lacks(Unmeasured::MemoryTraffic { why, trial }.into()));
    };
    let Some(attainable) = attainable_gb_s else {
        return Err(cell.lacks(Measure::MemoryCopy));
    };
    let host = host_of_end(cell.study, &cell.trial.label, own.end);
    if let Some(why) = impossible(host, Some(attainable), rate) {
        let (why, trial) = (Some(why), cell.trial.label.clone());
        return Err(Blind::Lacks(Unmeasured::MemoryTraffic { why, trial }.into()));
    }
    let share = rate / 1e9 / attainable;
    let seen = format!(
        "{:.1} GB/s crossed the memory bus of this host{}, {:.0} % of the {attainable:.1} GB/s that \
         a copy reaches",
        rate / 1e9,
        per_byte(own),
        100.0 * share
    );
    let wrong = (share >= FULL_SHARE).then(|| {
        let says = format!("The memory bus is full in {}: {seen}", cell.trial.label);
        let remedy = "more memory channels (narrows predict --search), faster modules, buffers \
                      that stay in the cache (--buffer hot), fewer copies (--sender sendfile, \
                      zerocopy), RDMA; move other work off this memory";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Devices whose writes memory takes too slowly, on any processor of this host; `None` where no
/// counts say so.
fn writes_held(cell: &Cell<'_>, own: &MemoryUse) -> Option<Looked> {
    let host = &cell.study.host;
    own.queues.iter().find_map(|queues| match by_counters(host, queues) {
        ByCounters::DeviceWrites(in_use) => Some(red(cell, queues, in_use)),
        _ => None,
    })
}

fn red(cell: &Cell<'_>, queues: &QueueUse, in_use: InUse) -> Looked {
    let full = 100.0 * queues.full_write_queue_share.unwrap_or_default();
    let seen = format!(
        "by counters {FULL_LINES} lines or more were in the write queue of this host's memory in \
         {full:.0} % of its cycles, with {in_use}; {THRESHOLDS}"
    );
    let says = format!("Memory takes devices' writes too slowly in {}: {seen}", cell.trial.label);
    let remedy = "fewer cores that write memory beside the traffic (narrows neighbours), or \
                  theirs on another node; more memory channels (narrows predict --search); the \
                  cache taking devices' writes (DDIO)";
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy);
    cell.saw(seen, Some(found))
}

fn per_byte(of: &MemoryUse) -> String {
    let ratio = of.per_network_byte.as_ref();
    ratio.map_or(String::new(), |ratio| format!(", {:.1} bytes per network byte", ratio.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::stream;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::memory_queues::{QueueCount, QueueEvent};
    use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity, Uncounted};
    use narrows_model::record::{Record, Reported};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::{NetworkPath, Trial, TrialId};
    use narrows_model::{Bytes, Fact, Nanos};

    /// A copy that counts so many GB in a second, and a stream whose sender's host, which is the
    /// controller's, moves as many through memory.
    fn study(copy_gb: u64, bus: Option<u64>) -> StoredStudy {
        let mut study = stream("tcp-stream");
        study.study.cache_bytes = Bytes(1 << 20);
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            let mut traffic = MemoryTraffic { span_ns: Nanos(1_000_000_000), ..Default::default() };
            match bus {
                Some(gb) => traffic.counts.push(Count {
                    of: Quantity::ReadAndWritten,
                    by: CountedBy::Uncore,
                    package: Some(0),
                    bytes: gb * 1_000_000_000,
                    counters: 8,
                    ran_thousandths: None,
                }),
                None => traffic.gaps.push(Uncounted::Denied { paranoid: Some(2) }),
            }
            end.memory = Some(Box::new(traffic));
        }
        let mut copy = study.trials[0].clone();
        copy.id = TrialId("m".into());
        (copy.label, copy.kind, copy.path) =
            ("memory-copy".into(), "memory-copy".into(), NetworkPath::Memory);
        let runs: Vec<Record> =
            study.records.iter().map(|run| copied(run, &copy, copy_gb)).collect();
        study.records.extend(runs);
        study.trials.push(copy);
        study
    }

    fn copied(run: &Record, copy: &Trial, gb: u64) -> Record {
        let mut end = run.receiver().expect("an end").clone();
        end.flows[0].bytes = Bytes(gb * 1_000_000_000);
        end.effective.buffer_span_bytes = Bytes(1 << 30);
        let reports = Reported::list(Some(Box::new(end)), None, None);
        Record { trial: copy.id.clone(), reports, ..run.clone() }
    }

    fn verdict(study: &StoredStudy) -> Verdict {
        let summaries = narrows_stats::summarise(study);
        judge(&Case { study, summaries: &summaries, predictions: &[] })
    }

    #[test]
    fn a_full_bus_is_found_and_one_with_room_is_not() {
        let full = verdict(&study(20, Some(20)));
        assert!(is_found(&full), "{full:?}");
        let Verdict::Found { findings } = &full else { return };
        assert!(findings[0].says.contains("16.0 bytes per network byte"), "{}", findings[0].says);
        assert!(is_clear(&verdict(&study(20, Some(18)))));
    }

    /// The same stream on a processor of a model, with so many lines in its one root complex and so
    /// many of 1000 cycles with a full write queue.
    fn queued(model: &str, lines: u64, full: u64) -> StoredStudy {
        let mut study = study(20, Some(10));
        study.host.cpu.model = Fact::known(model.into(), "made");
        let count = |(of, count)| QueueCount {
            of,
            package: Some(0),
            count,
            busiest: count,
            counters: 1,
            ran_thousandths: None,
        };
        let counts = [
            (QueueEvent::MemoryCycles, 1000),
            (QueueEvent::WriteFull, full),
            (QueueEvent::ReadOccupancy, 1000),
            (QueueEvent::ReadInserts, 100),
            (QueueEvent::RowsOpened, 10),
            (QueueEvent::RootCycles, 100),
            (QueueEvent::RootOccupancy, 100 * lines),
            (QueueEvent::RootWrites, 1000),
            (QueueEvent::RootReads, 10),
        ];
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            let Some(memory) = &mut end.memory else { continue };
            memory.queues = counts.map(count).to_vec();
            // A tenth of the bus, read and written apart.
            let mut read = memory.counts[0].clone();
            (read.of, memory.counts[0].of) = (Quantity::Read, Quantity::Written);
            read.bytes = 0;
            memory.counts.push(read);
        }
        study
    }

    #[test]
    fn device_writes_that_memory_holds_up_are_found_by_their_counts_alone() {
        let cascade_lake = "Intel(R) Xeon(R) Gold 6234 CPU @ 3.30GHz";
        let red = verdict(&queued(cascade_lake, 92, 950));
        let Verdict::Found { findings } = &red else { panic!("{red:?}") };
        let says = &findings[0].says;
        let seen = "34 lines or more were in the write queue of this host's memory in 95 % of its \
                    cycles, with 92 of the busiest root complex's 92 credits in use";
        assert!(says.contains(seen), "{says}");
        assert!(says.contains("one Cascade Lake machine with DDIO and prefetch off"), "{says}");
        // Credits to spare, room in the queue, and a family that nobody has measured.
        assert!(is_clear(&verdict(&queued(cascade_lake, 60, 950))));
        assert!(is_clear(&verdict(&queued(cascade_lake, 92, 100))));
        let ice_lake = "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz";
        assert!(is_clear(&verdict(&queued(ice_lake, 92, 950))));
    }

    #[test]
    fn what_was_not_counted_is_unknown_with_the_reason() {
        let unknown = verdict(&study(20, None));
        assert!(is_unknown(&unknown));
        assert!(format!("{unknown:?}").contains("paranoid"), "{unknown:?}");
        assert!(is_unknown(&verdict(&stream("tcp-stream"))));
        // 15200 % of a copy's rate is no traffic.
        let impossible = verdict(&study(20, Some(3040)));
        assert!(is_unknown(&impossible), "{impossible:?}");
        assert!(format!("{impossible:?}").contains("Impossible"), "{impossible:?}");
        // A stream without a copy beside it.
        let mut alone = study(20, Some(20));
        alone.trials.pop();
        assert!(is_unknown(&verdict(&alone)));
    }
}
