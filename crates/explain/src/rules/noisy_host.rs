//! `noisy-host`: did others use this host while it was measured?

use super::evidence;
use crate::ends::End;
use crate::measured::{Cell, cells, waited_share};
use crate::{Case, Rule};
use narrows_model::result::{Finding, Needed, Unmeasured, Verdict, Weight};
use narrows_stats::{median, noise};

/// Whether other processes used the host.
pub static RULE: Rule = Rule {
    name: "noisy-host",
    asks: "Did other processes use this host during the measurement?",
    of_host: false,
    judge,
};

/// Share of noisy runs from which the medians themselves are in doubt: a median stands while fewer
/// than half of its runs are off, and a block of five workloads must not lose its middle.
const NOISY_RUNS_MAX: f64 = 0.2;
/// How many times as long one end has to wait to be the one that does.
const CLEARLY: f64 = 1.5;
/// A shorter wait is ordinary.
const WAITED_SHARE: f64 = 0.1;
const PLACE: &str = "/proc/stat around each run, less our own processes";

fn judge(case: &Case<'_>) -> Verdict {
    let all: Vec<_> = case.study.records.iter().filter_map(noise).collect();
    if all.is_empty() {
        return Verdict::unknown(Unmeasured::Run(Needed::HostCpuTime).into());
    }
    let noisy = all.iter().filter(|noise| noise.is_noisy()).count();
    let percent = |of: &dyn Fn(&narrows_stats::Noise) -> f64| {
        100.0 * median(&all.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let foreign = percent(&|noise| noise.foreign_share);
    let steal = percent(&|noise| noise.steal_share);
    let seen = format!(
        "{noisy} of {} runs were disturbed; in the median run other processes used {foreign:.1} % \
         of the CPU time and the hypervisor took {steal:.1} %",
        all.len()
    );
    if (noisy as f64) <= NOISY_RUNS_MAX * all.len() as f64 {
        return Verdict::clear(evidence(seen, PLACE));
    }
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: format!(
                "Other processes used this host's CPUs during the measurement: figures may be too \
                 low{}",
                waited(case).unwrap_or_default()
            ),
            evidence: vec![evidence(seen, PLACE)],
            worth: None,
            remedy:
                "stop what else runs here, give the end other CPUs (taskset -pc, cpuset of its \
                     control group), or measure again at a quieter time"
                    .into(),
        }],
    }
}

/// The ends of the cell whose threads waited longest for a CPU, and whether they were bound to few.
fn waited(case: &Case<'_>) -> Option<String> {
    let all: Vec<Cell<'_>> = cells(case).filter(|cell| !cell.is_probe()).collect();
    let cell = all.iter().max_by(|a, b| longest_wait(a).total_cmp(&longest_wait(b)))?;
    let ends = [
        ("sender", cell.of_sender(waited_share), bound(cell.sender())),
        ("receiver", cell.of_receiver(waited_share), bound(cell.receiver())),
    ];
    let says: Vec<String> = ends
        .iter()
        .filter_map(|(end, share, bound)| {
            let share = share.filter(|share| *share >= WAITED_SHARE)?;
            Some(format!("the {end} waited for a CPU {:.0} % of the time{bound}", 100.0 * share))
        })
        .collect();
    (!says.is_empty()).then(|| format!("; in {} {}", cell.trial.label, says.join(", ")))
}

fn longest_wait(cell: &Cell<'_>) -> f64 {
    let both = [cell.of_sender(waited_share), cell.of_receiver(waited_share)];
    both.into_iter().flatten().fold(0.0, f64::max)
}

/// The end of a cell that waited clearly longer for a CPU than the other, in words.
pub fn at_end(cell: &Cell<'_>) -> String {
    let share = |value: Option<f64>| value.unwrap_or(0.0);
    let ends = [
        ("sender", share(cell.of_sender(waited_share)), cell.sender()),
        ("receiver", share(cell.of_receiver(waited_share)), cell.receiver()),
    ];
    let [sends, takes] = &ends;
    let worse = match (is_bound(&sends.2), is_bound(&takes.2)) {
        (true, false) => Some(sends),
        (false, true) => Some(takes),
        _ if waits_clearly(sends.1, takes.1) => Some(sends),
        _ if waits_clearly(takes.1, sends.1) => Some(takes),
        _ => None,
    };
    worse.map_or(String::new(), |(name, waited, end)| {
        let percent = 100.0 * waited;
        format!(" from the {name}, which waited for one {percent:.0} % of the time{}", bound(*end))
    })
}

fn waits_clearly(one: f64, other: f64) -> bool {
    one >= WAITED_SHARE && one >= CLEARLY * other
}

fn is_bound(end: &Option<End<'_>>) -> bool {
    !bound(*end).is_empty()
}

/// What an end's process was bound to, where that is less than its host has.
fn bound(end: Option<End<'_>>) -> String {
    end.and_then(|end| {
        let cpu = &end.host.cpu;
        let (allowed, online) = (cpu.allowed.value()?, cpu.online.value()?);
        let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
        (allowed.len() < online.len())
            .then(|| format!(", bound to CPU {} {}", list.join(", "), end.at))
    })
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// Three runs beside which others used a share of the CPU time, in thousandths.
    fn beside(foreign: [u64; 3], steal: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for (record, foreign) in study.records.iter_mut().zip(foreign) {
            let idle = 1000 - foreign - steal;
            for (state, ns) in [("user", foreign), ("system", 0), ("idle", idle), ("steal", steal)]
            {
                record.around.host.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
            }
        }
        study
    }

    #[test]
    fn a_host_is_noisy_where_more_than_a_fifth_of_its_runs_were_disturbed() {
        let Verdict::Found { findings } = of_study(&RULE, &beside([300, 250, 200], 50)) else {
            panic!("all were disturbed")
        };
        let seen = &findings[0].evidence[0].says;
        let wanted = "3 of 3 runs were disturbed; in the median run other processes used 25.0 % of \
                      the CPU time and the hypervisor took 5.0 %";
        assert!(seen.contains(wanted), "{seen}");
        // A tenth is allowed, and a fiftieth for other guests.
        assert!(is_clear(&of_study(&RULE, &beside([100, 100, 100], 20))));
        assert!(!is_clear(&of_study(&RULE, &beside([100, 100, 101], 20))), "one of three");
        assert!(!is_clear(&of_study(&RULE, &beside([0, 0, 0], 21))));
        let five = |disturbed: usize| {
            let mut study = beside([0, 0, 0], 0);
            for at in 3..5 {
                study.records.push(study.records[at - 3].clone());
            }
            for record in &mut study.records[..disturbed] {
                record.around.host.put_words("cpu", "cpu0.user_ns", 500);
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&five(1)), "one of five is a fifth");
        assert!(!is_clear(&five(2)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn the_end_that_waited_clearly_longer_is_named() {
        let of = |sender: u64, receiver: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for (role, share) in [(Role::Sender, sender), (Role::Receiver, receiver)] {
                    for end in record.of_mut(role) {
                        let thread = &mut end.threads[0];
                        thread.waited_ns = Some(Nanos(thread.wall_ns.0 * share / 100));
                    }
                }
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let said = cells(&case).next().map(|cell| at_end(&cell));
            (said.expect("a cell"), waited(&case))
        };
        let named = |end: &str, percent: u32| {
            format!(" from the {end}, which waited for one {percent} % of the time")
        };
        assert_eq!(of(30, 10).0, named("sender", 30));
        assert_eq!(of(10, 16).0, named("receiver", 16), "more than half as long again");
        assert_eq!(of(14, 10).0, "", "both alike");
        assert_eq!(of(9, 1).0, "", "a short wait is ordinary");
        let both = "; in tcp-stream the sender waited for a CPU 30 % of the time, the receiver \
                    waited for a CPU 10 % of the time";
        assert_eq!(of(30, 10).1.as_deref(), Some(both));
        assert_eq!(of(9, 9).1, None);
    }
}
