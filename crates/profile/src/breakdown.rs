//! The classes of samples, with their shares.

use crate::class::{Class, Table};
use narrows_model::profile::{Profile, Stack, Task};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Functions that are told by name.
const FUNCTIONS: usize = 20;
/// What begins the name of a system call's function, by architecture and age of the kernel.
const SYSTEM_CALLS: [&str; 5] =
    ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "__ia32_sys_"];

/// One class's part of an end's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClassShare {
    /// Class that the samples fell into.
    pub class: Class,
    /// Samples of it.
    pub samples: u64,
    /// Part of all that counts, 0 to 1.
    pub share: f64,
    /// The part of it and of all larger ones together.
    pub cumulative: f64,
    /// Half of the width of the share's 95 % interval by the number of samples alone.
    pub by_chance: f64,
    /// CPU seconds for each 10^9 bytes received; `None` where no bytes were counted.
    pub cpu_seconds_per_gigabyte: Option<f64>,
}

/// One function's part, itself and not what it calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionShare {
    /// Name of the function, as its symbol has it.
    pub name: String,
    /// The class that most of its samples are of.
    pub class: Class,
    /// Part of all that counts, 0 to 1.
    pub share: f64,
}

/// A part that has a name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NamedShare {
    pub name: String,
    /// Part of all that counts, 0 to 1.
    pub share: f64,
}

/// Which tasks' samples count as an end's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Its threads': the other end runs on the same host, whose interrupts serve both.
    Threads,
    /// Its threads', and what the kernel did for the network elsewhere on this host.
    ThreadsAndNetwork,
}

impl Counted {
    /// Whether the samples of a stack are an end's.
    pub(crate) fn has(self, profile: &Profile, stack: &Stack) -> bool {
        match (stack.task, self) {
            (Task::Own, _) => true,
            (Task::Idle | Task::Kernel, Self::ThreadsAndNetwork) => {
                let table = Table::own();
                table.class_of(profile, stack) != Class::Idle && table.is_network(profile, stack)
            }
            (Task::Idle | Task::Kernel, Self::Threads) | (Task::Keeper | Task::Other, _) => false,
        }
    }
}

/// What an end's CPU time went into, over all runs of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Breakdown {
    /// Samples that count.
    pub samples: u64,
    /// Classes, the largest first.
    pub classes: Vec<ClassShare>,
    /// Functions, the most frequent first.
    pub functions: Vec<FunctionShare>,
    /// Part of what counts that was spent in system calls, from entry to exit.
    pub in_system_calls: f64,
    /// The same by call, the largest first.
    pub system_calls: Vec<NamedShare>,
    /// What no class is known for, by its innermost functions.
    pub unclassified: Vec<NamedShare>,
    /// Part of the samples that count which came outside of the end's threads.
    pub outside_threads: f64,
    /// Samples of work for the network outside of any end's threads: interrupts while CPUs were
    /// idle, and ksoftirqd.
    pub network_elsewhere: u64,
    /// Samples of idle CPUs.
    pub idle: u64,
    /// Samples of other processes, the other end's where it runs on this host.
    pub others: u64,
}

/// Sums over samples by what they are of.
#[derive(Default)]
struct Sums {
    all: (u64, u64),
    outside: u64,
    classes: BTreeMap<Class, (u64, u64)>,
    functions: BTreeMap<String, BTreeMap<Class, u64>>,
    calls: BTreeMap<String, u64>,
    unknown: BTreeMap<String, u64>,
    elsewhere: u64,
    idle: u64,
    others: u64,
}

impl Breakdown {
    /// Of profiles of the same end; `seconds_per_gigabyte` is the CPU time of its threads.
    pub fn of(
        profiles: &[&Profile],
        counted: Counted,
        seconds_per_gigabyte: Option<f64>,
    ) -> Option<Self> {
        let mut sums = Sums::default();
        for profile in profiles {
            for stack in &profile.stacks {
                sums.add(profile, stack, counted);
            }
        }
        (sums.all.0 > 0).then(|| sums.told(seconds_per_gigabyte))
    }

    /// The share of a class; 0 where nothing was seen of it.
    pub fn share(&self, class: Class) -> f64 {
        self.classes.iter().find(|one| one.class == class).map_or(0.0, |one| one.share)
    }
}

/// The name of the system call that a stack is in.
fn system_call(profile: &Profile, stack: &Stack) -> Option<String> {
    profile.frames(stack).find_map(|function| {
        let rest = SYSTEM_CALLS.iter().find_map(|begin| function.name.strip_prefix(begin))?;
        Some(rest.split('.').next().unwrap_or(rest).to_owned())
    })
}

/// Whether a stack is in a system call, entry and exit included.
fn is_in_call(profile: &Profile, stack: &Stack, class: Class) -> bool {
    class == Class::Entry
        || system_call(profile, stack).is_some()
        || profile.frames(stack).any(|function| entered(&function.name))
}

fn entered(name: &str) -> bool {
    name.starts_with("do_syscall") || name.starts_with("invoke_syscall")
}

impl Sums {
    fn add(&mut self, profile: &Profile, stack: &Stack, counted: Counted) {
        let table = Table::own();
        let class = table.class_of(profile, stack);
        let has = counted.has(profile, stack);
        match stack.task {
            Task::Own | Task::Keeper => {}
            Task::Other => self.others += stack.samples,
            Task::Idle | Task::Kernel if class == Class::Idle => self.idle += stack.samples,
            Task::Idle | Task::Kernel if table.is_network(profile, stack) => {
                self.elsewhere += stack.samples;
                self.outside += if has { stack.weight } else { 0 };
            }
            Task::Idle | Task::Kernel => {}
        }
        if has {
            self.count(profile, stack, class);
        }
    }

    fn count(&mut self, profile: &Profile, stack: &Stack, class: Class) {
        let (samples, weight) = (stack.samples, stack.weight);
        self.all = (self.all.0 + samples, self.all.1.saturating_add(weight));
        let sum = self.classes.entry(class).or_default();
        *sum = (sum.0 + samples, sum.1.saturating_add(weight));
        if let Some(leaf) = profile.frames(stack).next() {
            let by_class = self.functions.entry(leaf.name.clone()).or_default();
            *by_class.entry(class).or_default() += weight;
        }
        if is_in_call(profile, stack, class) {
            let call = system_call(profile, stack).unwrap_or_default();
            *self.calls.entry(call).or_default() += weight;
        }
        if class == Class::Unclassified {
            let inner: Vec<&str> =
                profile.frames(stack).take(4).map(|function| &*function.name).collect();
            *self.unknown.entry(inner.join(" < ")).or_default() += weight;
        }
    }

    fn told(self, seconds_per_gigabyte: Option<f64>) -> Breakdown {
        let share = |weight: u64| weight as f64 / self.all.1.max(1) as f64;
        // The CPU time that was read is of the threads alone.
        let threads = share(self.all.1.saturating_sub(self.outside));
        let of_all = seconds_per_gigabyte.filter(|_| threads > 0.0).map(|cost| cost / threads);
        let mut classes: Vec<ClassShare> = self
            .classes
            .iter()
            .map(|(class, (samples, weight))| ClassShare {
                class: *class,
                samples: *samples,
                share: share(*weight),
                cumulative: 0.0,
                by_chance: by_chance(*samples, self.all.0),
                cpu_seconds_per_gigabyte: of_all.map(|cost| cost * share(*weight)),
            })
            .collect();
        classes.sort_by(|a, b| b.share.total_cmp(&a.share));
        let mut sum = 0.0;
        for class in &mut classes {
            sum += class.share;
            class.cumulative = sum;
        }
        let in_system_calls = share(self.calls.values().sum());
        let named = self.calls.iter().filter(|(name, _)| !name.is_empty());
        Breakdown {
            samples: self.all.0,
            functions: functions(&self.functions, share),
            in_system_calls,
            system_calls: parts(named, share),
            unclassified: parts(self.unknown.iter(), share),
            outside_threads: share(self.outside),
            network_elsewhere: self.elsewhere,
            idle: self.idle,
            others: self.others,
            classes,
        }
    }
}

/// Half of the width of a 95 % interval of a share, by Wilson's score: it is not zero where nothing
/// was seen.
fn by_chance(samples: u64, all: u64) -> f64 {
    const Z: f64 = 1.96;
    let (n, share) = (all.max(1) as f64, samples as f64 / all.max(1) as f64);
    let spread = share * (1.0 - share) / n + Z * Z / (4.0 * n * n);
    Z * spread.sqrt() / (1.0 + Z * Z / n)
}

fn functions(
    all: &BTreeMap<String, BTreeMap<Class, u64>>,
    share: impl Fn(u64) -> f64,
) -> Vec<FunctionShare> {
    let mut functions: Vec<FunctionShare> = all
        .iter()
        .filter_map(|(name, by_class)| {
            let (class, _) = by_class.iter().max_by_key(|(_, weight)| **weight)?;
            let share = share(by_class.values().sum());
            Some(FunctionShare { name: name.clone(), class: *class, share })
        })
        .collect();
    functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    functions.truncate(FUNCTIONS);
    functions
}

fn parts<'a>(
    all: impl Iterator<Item = (&'a String, &'a u64)>,
    share: impl Fn(u64) -> f64,
) -> Vec<NamedShare> {
    let mut parts: Vec<NamedShare> = all
        .map(|(name, weight)| NamedShare { name: name.clone(), share: share(*weight) })
        .collect();
    parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    parts.truncate(FUNCTIONS);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twenty_dearest_are_named_in_their_order() {
        let weights: BTreeMap<String, u64> = (1..=25).map(|n| (format!("f{n}"), n)).collect();
        let share = |weight: u64| weight as f64 / 100.0;
        let all = parts(weights.iter(), share);
        let names: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
        assert_eq!((names.len(), names[0], names[19]), (20, "f25", "f6"));
        assert_eq!((all[0].share, all[19].share), (0.25, 0.06));
        let classes = |n: u64| BTreeMap::from([(Class::Copy, n), (Class::TcpUdpIp, 2 * n)]);
        let by_class = (1..=25).map(|n| (format!("f{n}"), classes(n))).collect();
        let all = functions(&by_class, share);
        assert_eq!((all.len(), all[0].name.as_str(), all[19].name.as_str()), (20, "f25", "f6"));
        assert_eq!((all[0].class, all[0].share), (Class::TcpUdpIp, 0.75));
    }

    #[test]
    fn a_share_is_known_as_exactly_as_there_are_samples() {
        // Wilson's score by hand: of 100 samples with half, 1.96 sqrt(0.0025 + 0.000096) / 1.0384.
        assert!((by_chance(50, 100) - 0.096_168).abs() < 1e-5, "{}", by_chance(50, 100));
        assert!((by_chance(0, 100) - 0.018_497).abs() < 1e-5, "{}", by_chance(0, 100));
        assert_eq!(by_chance(0, 0), by_chance(0, 1));
        assert!(by_chance(500, 1000) < by_chance(50, 100));
    }
}
