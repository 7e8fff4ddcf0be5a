//! `cpu-profile`: does one kind of work fill the CPU that holds a stream back?
//!
//! Where a thread of an end has nearly no CPU left, a profile of that end (`--profile`) tells what
//! the time went into, by class. One is named where it has more than it has on healthy hosts: of
//! streams of 100 Gb/s with every offload the copy took up to 54 % of the receiver's cycles, and
//! locks 9 % at most with or without offloads (Cai and others, "Understanding Host Network Stack
//! Overheads", SIGCOMM 2021, example output of the published scripts).

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::Role;
use narrows_model::result::{Activity, Measure, Needed, Unmeasured, Verdict, Weight};
use narrows_profile::{Breakdown, Class, EndProfile, TrialProfile, profiles};

pub static RULE: Rule = Rule {
    name: "cpu-profile",
    asks: "Does one kind of work fill the CPU that holds a stream back?",
    of_host: false,
    judge,
};

/// A thread that ran for less of its window had CPU time left.
const BUSY_SHARE: f64 = 0.85;

/// One kind of work that can fill a CPU.
struct Work {
    /// Classes that belong to it.
    classes: &'static [Class],
    /// From this share of the end's CPU time on it is named (assumed, above the published shares).
    least: f64,
    says: &'static str,
    remedy: &'static str,
}

const WORK: [Work; 6] = [
    Work {
        classes: &[Class::Locks],
        least: 0.15,
        says: "locks: taking them, and waiting for their holders",
        remedy: "fewer threads on one socket, queue or completion queue; a queue a flow (ethtool \
                 -L, XPS); perf lock names the lock",
    },
    Work {
        classes: &[Class::Mitigations],
        least: 0.10,
        says: "mitigations against speculation, at each entry of the kernel",
        remedy: "fewer system calls: larger messages, --sender io-uring, batches; see \
                 /sys/devices/system/cpu/vulnerabilities before deciding on mitigations=",
    },
    Work {
        classes: &[Class::FilterAndQueueing],
        least: 0.15,
        says: "packet filters, connection tracking and queueing disciplines",
        remedy: "shorten the list of rules (nft list ruleset), let flows of the measurement pass \
                 before it (notrack), a simpler discipline (tc qdisc)",
    },
    Work {
        classes: &[Class::Driver, Class::Interrupts],
        least: 0.40,
        says: "interrupts, the driver and its polling",
        remedy: "another CPU for the interrupts than for the thread (irqbalance, RPS), more \
                 coalescing (ethtool -C), a larger MTU, GRO",
    },
    Work {
        classes: &[Class::Entry, Class::Scheduler],
        least: 0.35,
        says: "system calls and switching between tasks",
        remedy: "larger messages, batches (--sender sendmmsg or io-uring), --wait busy-poll",
    },
    Work {
        classes: &[Class::Copy],
        least: 0.40,
        says: "copying payload between the program and the kernel",
        remedy: "more flows on more CPUs; a sender without a copy (--sender sendfile or zerocopy), \
                 buffers that stay in the cache (--buffer hot), RDMA",
    },
];

fn judge(case: &Case<'_>) -> Verdict {
    let taken = profiles(case.study);
    measured::judge(case, Needed::Profiled, Some(Activity::IsProfiled), |cell| look(cell, &taken))
}

/// The end whose busiest thread ran most, and its share of a CPU.
fn busiest(cell: &Cell<'_>) -> Option<(Role, f64)> {
    let cpu = cell.summary.cpu.as_ref()?;
    let ends = [(Role::Sender, cpu.sender_share), (Role::Receiver, cpu.receiver_share)];
    let ends = ends.into_iter().filter_map(|(role, share)| Some((role, share?)));
    ends.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn look(cell: &Cell<'_>, taken: &[TrialProfile]) -> Looked {
    let of_cell = taken.iter().find(|one| one.label == cell.trial.label);
    let Some(profile) = of_cell.filter(|_| cell.is_network_stream()) else {
        return Err(Blind::OtherKind);
    };
    let Some((role, share)) = busiest(cell) else {
        return Err(cell.lacks(Measure::ThreadTime));
    };
    if share < BUSY_SHARE {
        let seen = format!("no thread used more than {:.0} % of a CPU", 100.0 * share);
        return cell.saw(seen, None);
    }
    let end = profile.ends.iter().find(|end| end.role == role);
    let Some((end, breakdown)) = end.and_then(|end| Some((end, end.breakdown.as_ref()?))) else {
        let why = end.and_then(|end| end.not_taken.first()).cloned();
        let trial = cell.trial.label.clone();
        return Err(Blind::Lacks(Unmeasured::Profile { why, trial }.into()));
    };
    let seen = seen(end, breakdown, share);
    // The kinds stand in the order in which a change of settings helps most.
    let wrong = WORK.iter().find(|work| of(breakdown, work.classes) >= work.least).map(|work| {
        let says = format!(
            "{:.0} % of the {}'s CPU time in {} goes into {}; its thread had no CPU left",
            100.0 * of(breakdown, work.classes),
            end.name(),
            cell.trial.label,
            work.says
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), work.remedy)
    });
    cell.saw(seen, wrong)
}

/// What these classes have at least, by the number of samples.
fn of(breakdown: &Breakdown, classes: &[Class]) -> f64 {
    let of_them = breakdown.classes.iter().filter(|one| classes.contains(&one.class));
    of_them.map(|one| (one.share - one.by_chance).max(0.0)).sum()
}

fn seen(end: &EndProfile, breakdown: &Breakdown, share: f64) -> String {
    let largest = breakdown.classes.iter().take(3);
    let classes: Vec<String> =
        largest.map(|one| format!("{} {:.0} %", one.class, 100.0 * one.share)).collect();
    format!(
        "the {}'s thread used {:.0} % of a CPU: {}; {} samples",
        end.name(),
        100.0 * share,
        classes.join(", "),
        breakdown.samples
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::stream;
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::profile::{
        Function, Mode, NotProfiled, Profile, Profiled, SampledBy, SampledWhat, Stack, Task,
    };
    use narrows_model::study::StoredStudy;

    /// A profile whose samples are in these functions.
    fn profile(functions: &[(&str, u64)]) -> Profile {
        let stack = |(at, (_, samples)): (usize, &(&str, u64))| Stack {
            task: Task::Own,
            frames: vec![at as u32],
            samples: *samples,
            weight: *samples,
        };
        let function = |(name, _): &(&str, u64)| Function {
            name: (*name).to_owned(),
            mode: Mode::Kernel,
            of: None,
        };
        Profile {
            by: SampledBy::CpuClock,
            what: SampledWhat::Threads,
            targets: 1,
            per_second: 997,
            functions: functions.iter().map(function).collect(),
            stacks: functions.iter().enumerate().map(stack).collect(),
            lost: 0,
            outside: 0,
            reading_ns: Nanos(0),
            gaps: Vec::new(),
        }
    }

    /// A stream whose receiver used this share of a CPU, on this.
    fn study(share: f64, profiled: Option<Profiled>) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.threads[0].system_ns = Nanos((share * 1e9) as u64);
            end.profile.clone_from(&profiled);
        }
        study
    }

    fn verdict(study: &StoredStudy) -> Verdict {
        let summaries = narrows_stats::summarise(study);
        judge(&Case { study, summaries: &summaries, predictions: &[] })
    }

    fn found(study: &StoredStudy) -> String {
        match verdict(study) {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_work_that_fills_a_cpu_is_named_and_no_other() {
        let of = |functions: &[(&str, u64)]| Profiled::Taken(profile(functions));
        let copies = of(&[("copy_user_generic_string", 600), ("tcp_v4_rcv", 400)]);
        assert!(found(&study(0.95, Some(copies.clone()))).contains("copying payload"));
        let locks = of(&[("native_queued_spin_lock_slowpath", 300), ("tcp_v4_rcv", 700)]);
        assert!(found(&study(0.95, Some(locks))).contains("locks"));
        // Nothing stands out.
        let even = of(&[("copy_user_generic_string", 300), ("tcp_v4_rcv", 700)]);
        assert!(is_clear(&verdict(&study(0.95, Some(even)))));
        // The CPU had time left: the copy held nothing back.
        assert!(is_clear(&verdict(&study(0.6, Some(copies)))));
    }

    #[test]
    fn a_stream_without_a_profile_is_not_asked_and_a_refused_one_is_unknown() {
        assert!(matches!(verdict(&study(0.95, None)), Verdict::NotApplicable { .. }));
        let refused = Profiled::NotTaken(NotProfiled::Owner);
        assert!(is_unknown(&verdict(&study(0.95, Some(refused)))));
    }
}
