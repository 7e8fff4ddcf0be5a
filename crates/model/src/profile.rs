//! Where an end's CPU time went, sampled: call stacks with how often each was seen. What the
//! functions are for is not said here; a table of classes says it, and may say it anew of an old
//! record.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an end that was asked for a profile gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profiled {
    /// Samples were taken while the window was open.
    Taken(Profile),
    /// None, and why.
    NotTaken(NotProfiled),
}

impl Profiled {
    /// The samples, where there are any.
    pub fn taken(&self) -> Option<&Profile> {
        match self {
            Self::Taken(profile) => Some(profile),
            Self::NotTaken(_) => None,
        }
    }
}

/// Why an end has no profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotProfiled {
    /// The kernel lets this process sample neither CPUs nor its own threads in the kernel.
    Denied {
        /// `kernel.perf_event_paranoid`, where it could be read.
        paranoid: Option<i64>,
        /// Whether the process had CAP_PERFMON (or CAP_SYS_ADMIN) in effect.
        capable: bool,
    },
    /// The kernel was built without such events.
    NoEvents,
    /// The buffers for samples could not be had: locked memory is short.
    NoMemory,
    /// The system call failed otherwise, with this error number.
    System {
        /// As in errno(3).
        errno: i32,
    },
    /// The owner of the agent does not let it.
    Owner,
}

/// Debian's and Ubuntu's kernels have levels above those of the mainline kernel (2): no capability
/// but CAP_SYS_ADMIN passes them, and an agent's worker gives that one up.
pub(crate) struct AdminOnly(pub(crate) i64);

impl fmt::Display for AdminOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel.perf_event_paranoid is {}: above 2 the kernels of Debian and Ubuntu may want \
             CAP_SYS_ADMIN, which agents do not keep; at 2 CAP_PERFMON is enough",
            self.0
        )
    }
}

impl fmt::Display for NotProfiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { capable: true, paranoid: Some(level @ 3..) } => {
                write!(f, "{}", AdminOnly(*level))
            }
            Self::Denied { capable: true, .. } => f.write_str(
                "the kernel denies perf_event_open(2) to a process with the right to it: a filter \
                 of system calls, as containers have, or a security module",
            ),
            Self::Denied { paranoid: Some(level), .. } => write!(
                f,
                "kernel.perf_event_paranoid is {level}: without CAP_PERFMON the kernel is sampled \
                 at 1 or below only"
            ),
            Self::Denied { paranoid: None, .. } => {
                f.write_str("the kernel denies perf_event_open(2) without CAP_PERFMON")
            }
            Self::NoEvents => f.write_str("this kernel has no performance events"),
            Self::NoMemory => f.write_str(
                "the buffers for samples are more than kernel.perf_event_mlock_kb lets be locked",
            ),
            Self::Owner => {
                f.write_str("the agent's owner does not let it (narrows serve --profile does)")
            }
            Self::System { errno } => write!(f, "perf_event_open(2) failed with error {errno}"),
        }
    }
}

/// What makes a sample due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledBy {
    /// The processor's cycle counter: it interrupts by a non-maskable interrupt where the machine
    /// has one, so that stretches with interrupts off are seen where they are.
    Cycles,
    /// A timer of the kernel. Time spent with interrupts off is seen where they come on again.
    CpuClock,
}

impl SampledBy {
    /// As the kernel's documents call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledWhat {
    /// All CPUs of the host, whatever ran on them.
    Host,
    /// The worker threads of this end, and interrupts that came while they ran.
    Threads,
}

/// Samples of one end over the window of its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// What made a sample due.
    pub by: SampledBy,
    pub what: SampledWhat,
    /// CPUs or threads that were sampled.
    pub targets: u32,
    /// Samples a second of each that were asked for.
    pub per_second: u32,
    /// The functions of all stacks.
    pub functions: Vec<Function>,
    /// Each stack that was seen, the most frequent first.
    pub stacks: Vec<Stack>,
    /// Samples that the kernel counted and had no room for.
    pub lost: u64,
    /// Samples from before the window opened or after it closed; they are in no stack.
    pub outside: u64,
    /// CPU time that reading the samples in the window took of this end's timekeeper.
    pub reading_ns: Nanos,
    /// What could not be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

/// What a profile could not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// This machine counts no cycles, as most virtual machines: the kernel's timer sampled.
    NoCycles,
    /// Addresses of kernel functions are hidden (`kernel.kptr_restrict`,
    /// `kernel.perf_event_paranoid`): the kernel's functions have no names.
    KernelHidden,
    /// Other CPUs than those of its own threads could not be sampled for want of rights:
    /// interrupts that came elsewhere are missing.
    OnlyOwnThreads,
    /// These CPUs were not sampled throughout: they went offline, or came.
    Cpus(Vec<u32>),
    /// The counter was shared with other users of it and counted in a part of the window only, in
    /// thousandths.
    Multiplexed(u32),
    /// The kernel held sampling back because it took too long, so many times.
    Throttled(u64),
    /// Fewer samples a second than are usual, so many: `kernel.perf_event_max_sample_rate`.
    Slow(u32),
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCycles => f.write_str(
                "no cycle counter here, sampled by the kernel's timer: time with interrupts off \
                 shows where they come on again",
            ),
            Self::KernelHidden => f.write_str(
                "the kernel hides its addresses (kernel.kptr_restrict): its functions have no names",
            ),
            Self::OnlyOwnThreads => f.write_str(
                "only the end's own threads could be sampled: interrupts on other CPUs are missing",
            ),
            Self::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                write!(f, "CPUs that went offline or came online: {}", cpus.join(", "))
            }
            Self::Multiplexed(share) => write!(
                f,
                "the cycle counter is shared: it counted in {:.1} % of the window",
                f64::from(*share) / 10.0
            ),
            Self::Throttled(times) => {
                write!(f, "the kernel held sampling back {times} times: it took too long")
            }
            Self::Slow(rate) => {
                write!(f, "kernel.perf_event_max_sample_rate allows {rate} samples a second only")
            }
        }
    }
}

/// A function that was seen in a stack.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Function {
    /// Its name, or its address where it has none.
    pub name: String,
    pub mode: Mode,
    /// The kernel's module or the program's file that it belongs to; `None` for the kernel itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In the kernel.
    Kernel,
    /// In a program.
    User,
}

/// Whose task was running when a sample was taken.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A worker thread of this end.
    Own,
    /// This end's timekeeper, which reads counters and samples.
    Keeper,
    /// A thread of the kernel, such as ksoftirqd.
    Kernel,
    /// None: the CPU was idle, or handled an interrupt that came while it was.
    Idle,
    /// A process of somebody else; the other end's where both are on one host.
    Other,
}

impl Task {
    /// Whether its samples may be of a CPU that idles.
    pub fn may_idle(self) -> bool {
        matches!(self, Self::Idle | Self::Kernel)
    }
}

/// One stack of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    pub task: Task,
    /// Functions by their place in [`Profile::functions`], the innermost first.
    pub frames: Vec<u32>,
    /// How often it was seen.
    pub samples: u64,
    /// Nanoseconds or cycles that these samples stand for.
    pub weight: u64,
}

impl Profile {
    /// Samples in all stacks.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// The functions of a stack, the innermost first.
    pub fn frames<'a>(&'a self, stack: &'a Stack) -> impl DoubleEndedIterator<Item = &'a Function> {
        stack.frames.iter().filter_map(|at| self.functions.get(*at as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_distributions_added_is_not_taken_for_a_filter() {
        let denied = |paranoid, capable| {
            NotProfiled::Denied { paranoid: Some(paranoid), capable }.to_string()
        };
        assert!(denied(2, true).contains("a filter of system calls"), "{}", denied(2, true));
        for level in [3, 4] {
            let shown = denied(level, true);
            assert!(shown.contains(&format!("paranoid is {level}")), "{shown}");
            assert!(shown.contains("CAP_SYS_ADMIN") && !shown.contains("filter"), "{shown}");
            assert!(denied(level, false).contains("without CAP_PERFMON"));
        }
    }

    #[test]
    fn only_the_kernels_own_threads_and_no_task_may_be_of_an_idle_cpu() {
        let idle = |task: Task| task.may_idle();
        assert!(idle(Task::Idle) && idle(Task::Kernel));
        assert!(!idle(Task::Own) && !idle(Task::Keeper) && !idle(Task::Other));
    }
}
