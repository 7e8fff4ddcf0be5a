//! Tests that need CPU time. Where one fails while others had much of this machine's, the failure
//! says nothing: it is made again, and in the end left out with what was measured. On a machine of
//! its own a failure is a failure at once.
#![allow(dead_code)]

use super::skip;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How often a test is made before it is left out.
const TRIES: u32 = 3;
/// From this share of all CPU time on, taken by others, a failure says nothing.
pub const OTHERS_MIN: f64 = 0.2;
/// The process whose children are the kernel's threads.
const KTHREADD: u32 = 2;

/// How a test ended that was made until it said something.
#[derive(Debug, PartialEq)]
pub enum Made {
    /// The first or a later try passed.
    Passed,
    /// It failed each time, while others had at least this share of the CPU time.
    Starved(f64),
}

/// Makes a test, again where it fails on a starved machine, and says there that it was left out.
pub fn patiently(name: &str, test: impl Fn()) {
    if let Made::Starved(others) = tried(test) {
        skip(name, &format!("starved: others had {:.0} % of the CPU time", 100.0 * others));
    }
}

/// Makes a test until it says something; a failure that others do not explain is one.
pub fn tried(test: impl Fn()) -> Made {
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        let before = Ticks::now();
        let Err(panic) = catch_unwind(AssertUnwindSafe(&test)) else { return Made::Passed };
        let others = before.others_until(&Ticks::now());
        if others < OTHERS_MIN {
            resume_unwind(panic);
        }
        least = least.min(others);
    }
    Made::Starved(least)
}

/// CPU time of this machine since it started, in ticks of the kernel's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    /// Of all CPUs, idle or not.
    pub all: u64,
    /// Of programs, and stolen by the host of a virtual machine. Interrupts are nobody's.
    pub programs: u64,
    /// Of this process, of those that it started, and of the kernel's threads, which work for it.
    pub own: u64,
}

impl Ticks {
    /// Reads it; all is 0 where the kernel does not tell.
    pub fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let (all, programs) = machine(&stat);
        Self { all, programs, own: own(&processes(), std::process::id()) }
    }

    /// The share of all CPU time that others had from this moment to a later one.
    pub fn others_until(&self, later: &Self) -> f64 {
        let programs = later.programs.saturating_sub(self.programs);
        let others = programs.saturating_sub(later.own.saturating_sub(self.own));
        others as f64 / later.all.saturating_sub(self.all).max(1) as f64
    }
}

/// All time and that of programs, of the first line of /proc/stat: user nice system idle iowait irq
/// softirq steal; guests are in user.
pub fn machine(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().unwrap_or_default();
    let ticks = line.split_whitespace().skip(1).take(8).map(|word| word.parse().unwrap_or(0));
    let ticks: Vec<u64> = ticks.collect();
    let of = |places: &[usize]| places.iter().filter_map(|at| ticks.get(*at)).sum();
    (ticks.iter().sum(), of(&[0, 1, 2, 7]))
}

/// A process: its parent, and the time of it and of its children that have ended.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pub parent: u32,
    pub ticks: u64,
}

/// What /proc/PID/stat says of a process; its name may hold anything.
pub fn process(stat: &str) -> Option<Process> {
    let (_, after) = stat.rsplit_once(')')?;
    let words: Vec<&str> = after.split_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let times = [11, 12, 13, 14].map(number);
    let ticks = times.into_iter().sum::<Option<u64>>()?;
    Some(Process { parent: u32::try_from(number(1)?).ok()?, ticks })
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        Some((pid, process(&String::from_utf8_lossy(&stat))?))
    });
    found.collect()
}

/// The time of a process, of all that descend from it, and of the kernel's threads.
pub fn own(processes: &BTreeMap<u32, Process>, of: u32) -> u64 {
    let mut ours = BTreeSet::from([of, KTHREADD]);
    loop {
        let more = processes
            .iter()
            .filter(|(pid, process)| ours.contains(&process.parent) && !ours.contains(pid));
        let more: Vec<u32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            break;
        }
        ours.extend(more);
    }
    ours.iter().filter_map(|pid| processes.get(pid)).map(|process| process.ticks).sum()
}
