//! `memory-traffic`: is the memory bus full?
//!
//! Counters of the memory controllers tell what crossed the bus of each end's host while the stream
//! ran. Within a twentieth of what a copy by all CPUs reached on the same host the bus is what
//! holds a stream back, and neither its CPUs nor its link: so it was found on servers whose sockets
//! moved four bytes of memory for each byte of the network (Balaji, Shah, Panda: "within 5% of the
//! practically attainable peak memory bandwidth").

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Unmeasured, Verdict, Weight};
use narrows_predict::calibration::attainable_gb_s;
use narrows_stats::MemoryUse;

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

fn look(cell: &Cell<'_>, attainable_gb_s: Option<f64>) -> Looked {
    if !cell.is_network_stream() && !cell.trial.kind.is_rdma() {
        return Err(Blind::OtherKind);
    }
    let own = own(cell);
    let Some((own, rate)) = own.and_then(|own| Some((own, own.bytes_per_second?))) else {
        let why = own.and_then(|own| own.missing.first()).cloned();
        let trial = cell.trial.label.clone();
        return Err(Blind::Lacks(Unmeasured::MemoryTraffic { why, trial }.into()));
    };
    let Some(attainable) = attainable_gb_s else {
        return Err(cell.lacks(Measure::MemoryCopy));
    };
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
    use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity, Uncounted};
    use narrows_model::record::{Record, Reported};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::{NetworkPath, Trial, TrialId};
    use narrows_model::{Bytes, Nanos};

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

    #[test]
    fn what_was_not_counted_is_unknown_with_the_reason() {
        let unknown = verdict(&study(20, None));
        assert!(is_unknown(&unknown));
        assert!(format!("{unknown:?}").contains("paranoid"), "{unknown:?}");
        assert!(is_unknown(&verdict(&stream("tcp-stream"))));
        // A stream without a copy beside it.
        let mut alone = study(20, Some(20));
        alone.trials.pop();
        assert!(is_unknown(&verdict(&alone)));
    }
}
