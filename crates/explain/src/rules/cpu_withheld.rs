//! `cpu-withheld`: was an end kept from CPUs that were idle?
//!
//! A thread that could run is given a CPU that has nothing to do. One that waits all the same is
//! kept from it: by a quota of its control group, which stops all threads once its share of a
//! period is used up (kernel, Documentation/scheduler/sched-bwc.rst) and counts as time that they
//! waited. A process that cannot see its own group, as in most containers, reads neither the quota
//! nor how often it was stopped. But a thread can only wait for others' work while each of its CPUs
//! is busy: where it waited for longer than that, others did not take the time.

use crate::ends::End;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, ThreadUsage};
use narrows_model::reading::{Scope, keys};
use narrows_model::result::{Measure, Missing, Needed, Verdict, Weight};
use std::collections::BTreeSet;

pub static RULE: Rule = Rule {
    name: "cpu-withheld",
    asks: "Was an end kept from CPUs that were idle?",
    of_host: false,
    judge,
};

/// A thread that waits for less of its time is delayed by wake-ups and placement.
const WAITED_SHARE: f64 = 0.3;
/// How much longer than all its CPUs were busy it must have waited, as a share of its time: ticks
/// and the kernel's balancing between CPUs, which takes some milliseconds, explain less.
const BEYOND_SHARE: f64 = 0.15;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::CpuTime, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let [sender, receiver] = [cell.sender(), cell.receiver()];
    let ends = [
        ("sender", sender, cell.of_sender(|end| waited(end, sender))),
        ("receiver", receiver, cell.of_receiver(|end| waited(end, receiver))),
    ];
    let told = ends.into_iter().filter_map(|(name, end, beyond)| Some((name, end, beyond?)));
    let worst = told.max_by(|a, b| a.2.total_cmp(&b.2));
    let (name, end, beyond) = worst.ok_or_else(|| cell.lacks(Measure::TimeWaitedForCpus))?;
    let seen = format!(
        "the {name}'s thread waited for a CPU for {:.0} % of the time more than all its CPUs were \
         busy",
        100.0 * beyond.max(0.0)
    );
    let is_withheld = beyond >= BEYOND_SHARE;
    let throttled = |why: &str| {
        let of = format!("nr_throttled of the {name}'s control group, {why}");
        Blind::Lacks(Missing::unread(of))
    };
    let quota = match end.map(|end| quota(&end)) {
        Some(Quota::Ample) if is_withheld => {
            return Err(throttled("whose quota leaves it all its CPUs"));
        }
        Some(Quota::Small(cpus)) => format!("the quota of {cpus} CPUs of its control group"),
        _ => "a quota of CPU time that the process itself cannot see".to_owned(),
    };
    if is_withheld && end.is_some_and(|end| is_isolated(&end)) {
        return Err(throttled("some of whose CPUs are isolated"));
    }
    let at = end.map_or("at that end", |end| end.at);
    let wrong = is_withheld.then(|| {
        let says = format!(
            "The {name} was kept from CPUs that were idle in {}: {seen}; {quota}",
            cell.trial.label
        );
        let remedy = format!(
            "raise the quota of the end's control group {at}: as its host sees it, nr_throttled in \
             cpu.stat grows there, and cpu.max (cgroup v2), cpu.cfs_quota_us (v1), limits.cpu in \
             Kubernetes or --cpus of a container bound it; or run outside the group"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// What is known of an end's quota of CPU time.
enum Quota {
    /// None is seen, which in a container says little.
    Unseen,
    /// It is seen, and is less than the CPUs that the process may use.
    Small(f64),
    /// It is seen, and leaves the process all of those.
    Ample,
}

fn quota(end: &End<'_>) -> Quota {
    let cpu = &end.host.cpu;
    let Some(quota) = cpu.quota_cpus.value() else { return Quota::Unseen };
    match cpu.allowed.value() {
        Some(allowed) if *quota >= allowed.len() as f64 => Quota::Ample,
        _ => Quota::Small(*quota),
    }
}

/// Whether some of the CPUs that an end's threads may use are isolated. A thread that is bound to
/// one CPU has no other to be moved to.
fn is_isolated(end: &End<'_>) -> bool {
    let isolated = end.host.cpu.isolated.value().map_or(&[][..], Vec::as_slice);
    let threads = end.report.map_or(&[][..], |report| report.threads.as_slice());
    threads.iter().filter(|thread| thread.cpu.is_none()).any(|thread| {
        let own = cpus(thread, Some(*end));
        own.len() != 1 && isolated.iter().any(|cpu| own.is_empty() || own.contains(cpu))
    })
}

/// What the thread that waited longest waited beyond the time in which all its CPUs were busy, as a
/// share of its time; negative where they were busy for longer.
fn waited(end: &EndReport, host: Option<End<'_>>) -> Option<f64> {
    let all = end.threads.iter().filter_map(|thread| {
        let share = thread.waited_ns?.0 as f64 / (thread.wall_ns.0 as f64).max(1.0);
        Some((thread, share))
    });
    let (thread, share) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let window_ns = end.window_ns.0 as f64;
    let idle = idle(end, &cpus(thread, host)).filter(|_| window_ns > 0.0)? / window_ns;
    Some(if share >= WAITED_SHARE { share + idle - 1.0 } else { share.min(0.0) })
}

/// The CPUs that a thread may use, where that is known; else all.
fn cpus(thread: &ThreadUsage, end: Option<End<'_>>) -> BTreeSet<u32> {
    let allowed = || end?.host.cpu.allowed.value().cloned();
    match thread.cpu {
        Some(cpu) => [cpu].into(),
        None if !thread.allowed.is_empty() => thread.allowed.iter().copied().collect(),
        None => allowed().unwrap_or_default().into_iter().collect(),
    }
}

/// Idle time of the CPU that was idle for longest.
fn idle(end: &EndReport, cpus: &BTreeSet<u32>) -> Option<f64> {
    let of = end.readings.from_source(keys::IDLE.source).filter_map(|(key, ns)| match key.scope {
        Scope::Cpu(cpu) if *key == keys::IDLE.key(Scope::Cpu(cpu)) => Some((cpu, ns as f64)),
        _ => None,
    });
    of.filter(|(cpu, _)| cpus.is_empty() || cpus.contains(cpu)).map(|(_, ns)| ns).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::Nanos;
    use narrows_model::host::{Cpu, Host};

    /// A thread of each end that waits for such a share of its second, and its host's idle CPUs.
    fn of(waited_percent: u64, idle_percent: [u64; 2], pinned: Option<u32>) -> Verdict {
        on(Cpu::default(), waited_percent, idle_percent, pinned)
    }

    /// The same between hosts of such CPUs.
    fn on(cpu: Cpu, waited_percent: u64, idle_percent: [u64; 2], pinned: Option<u32>) -> Verdict {
        let mut study = stream("tcp-stream");
        study.host = Host { cpu, ..Host::default() };
        study.peer_hosts = vec![study.host.clone()];
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.threads[0].waited_ns = Some(Nanos(10_000_000 * waited_percent));
            end.report.threads[0].cpu = pinned;
            for (cpu, percent) in idle_percent.into_iter().enumerate() {
                let key = format!("cpu{cpu}.idle_ns");
                end.report.readings.put_words("cpu", &key, 10_000_000 * percent);
            }
        }
        of_study(&RULE, &study)
    }

    #[test]
    fn a_thread_that_waits_while_a_cpu_is_idle_is_kept_from_it() {
        assert!(is_found(&of(80, [60, 40], None)));
        assert!(is_clear(&of(80, [30, 10], None)), "busy for most of that time");
        assert!(is_clear(&of(80, [0, 0], None)), "others had them");
        assert!(is_clear(&of(25, [95, 95], None)), "wake-ups");
        assert!(is_clear(&of(80, [90, 5], Some(1))), "the idle one is not its own");
        assert!(is_found(&of(80, [90, 5], Some(0))));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn a_quota_that_is_seen_is_named_and_isolated_cpus_tell_nothing() {
        let quota = |cpus: f64| {
            let (allowed, quota_cpus) = (known(vec![0, 1]), known(cpus));
            on(Cpu { allowed, quota_cpus, ..Cpu::default() }, 80, [60, 40], None)
        };
        let seen = quota(0.5);
        assert!(is_found(&seen), "{seen:?}");
        let says = format!("{seen:?}");
        assert!(says.contains("the quota of 0.5 CPUs of its control group"), "{says}");
        assert!(!says.contains("cannot see"), "{says}");
        assert!(is_unknown(&quota(2.0)), "it leaves both");
        let isolated = |pinned: Option<u32>| {
            let cpu =
                Cpu { allowed: known(vec![0, 1]), isolated: known(vec![0]), ..Cpu::default() };
            on(cpu, 80, [60, 40], pinned)
        };
        assert!(is_unknown(&isolated(None)), "nothing is moved to the isolated one");
        assert!(is_found(&isolated(Some(0))), "bound to it");
    }
}
