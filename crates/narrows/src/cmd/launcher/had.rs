//! What share of the time for which they asked for a CPU the processes of a run had one, by the
//! scheduler's own clock.
//!
//! CPU time over run time is another thing: launcher and library start and end for some tenths of a
//! second in which they mostly sleep, and an application that waits for a disk has lost no CPU. A
//! rank that polls for messages asks for a CPU all the time, so that the two agree for it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the threads are looked at, at most.
const EACH: Duration = Duration::from_millis(100);
/// A look takes at most one part of so many of a CPU.
const COST_PARTS: u32 = 1000;
/// How often the threads are looked at, at least, whatever that costs.
const EACH_MAX: Duration = Duration::from_secs(2);
/// Less than this of CPU time and waits, in nanoseconds, tells nothing.
const LEAST_NS: u64 = 200_000_000;

/// Of looks that saw a thread runnable, one in so many may be crowded: a launcher runs beside its
/// ranks now and then.
const CROWDED_PARTS: u32 = 10;
/// One crowded look alone may be the start of the ranks.
const CROWDED_LEAST: u32 = 2;

/// Nanoseconds that a thread ran, and that it waited for a CPU.
type Times = [u64; 2];

/// What a run had of the CPUs that it asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuHad {
    /// Of the time for which its threads asked for a CPU.
    pub share: f64,
    /// More of its threads were runnable than the CPUs that they may use: they waited for each
    /// other, and what others took is not to be told from that.
    pub is_crowded: bool,
}

/// What was seen of the threads below some processes.
#[derive(Default)]
pub struct Had {
    /// Of each thread that is or was there, by its number.
    threads: BTreeMap<i32, Times>,
    /// Of threads whose number another has since.
    over: Times,
    /// Looks that saw a thread runnable.
    busy: u32,
    /// Those of them that saw more runnable than CPUs for them.
    crowded: u32,
    next: Option<Instant>,
}

impl Had {
    /// Looks at all threads of these processes and of those below them, where it is time.
    pub fn look(&mut self, roots: impl FnOnce() -> Vec<i32>) {
        if self.next.is_some_and(|next| Instant::now() < next) {
            return;
        }
        // Its CPU time: what others keep from this thread is no cost of a look.
        let before = own_cpu_time();
        let mut runnable = Vec::new();
        for process in below(roots()) {
            for (thread, times, cpus) in threads(process) {
                self.saw(thread, times);
                runnable.extend(cpus);
            }
        }
        self.busy += u32::from(!runnable.is_empty());
        self.crowded += u32::from(is_crowded(&runnable));
        let cost = own_cpu_time().saturating_sub(before) * COST_PARTS;
        self.next = Some(Instant::now() + cost.clamp(EACH, EACH_MAX));
    }

    fn saw(&mut self, thread: i32, times: Times) {
        let last = self.threads.insert(thread, times);
        // A thread's times only grow.
        if let Some([ran, waited]) = last.filter(|last| last[0] > times[0] || last[1] > times[1]) {
            self.over = [self.over[0] + ran, self.over[1] + waited];
        }
    }

    /// What they had, of a run whose processes used so many seconds of CPU time; `None` where too
    /// little was seen: in all, or of that.
    pub fn had(&self, used_s: f64) -> Option<CpuHad> {
        let all = self.threads.values().chain([&self.over]);
        let [ran, waited] = all.fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        // What threads did after their last look is missing.
        let is_most = 2.0 * ran as f64 / 1e9 >= used_s;
        (is_most && ran + waited >= LEAST_NS).then(|| CpuHad {
            share: ran as f64 / (ran + waited) as f64,
            is_crowded: self.crowded >= CROWDED_LEAST && self.crowded * CROWDED_PARTS > self.busy,
        })
    }
}

fn own_cpu_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return Duration::ZERO };
    let both = usage.user_time() + usage.system_time();
    Duration::from_micros(both.num_microseconds().unsigned_abs())
}

/// These processes and all below them.
fn below(roots: Vec<i32>) -> BTreeSet<i32> {
    let (mut all, mut open) = (BTreeSet::new(), roots);
    while let Some(process) = open.pop() {
        if all.insert(process) {
            open.extend(children(&process.to_string()));
        }
    }
    all
}

/// Children of a process, by all its threads; `self` is this one.
pub fn children(process: &str) -> BTreeSet<i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

/// Whether more threads are runnable than there are CPUs for them, by the lists of the CPUs that
/// each may use: of those with the same list, as ranks have that are held to cores, or of all.
fn is_crowded(runnable: &[String]) -> bool {
    let mut by_list: BTreeMap<&str, usize> = BTreeMap::new();
    for list in runnable {
        *by_list.entry(list).or_default() += 1;
    }
    let of_lists: Vec<_> = by_list.into_iter().map(|(list, count)| (cpus(list), count)).collect();
    let all: BTreeSet<usize> = of_lists.iter().flat_map(|(cpus, _)| cpus).copied().collect();
    runnable.len() > all.len() || of_lists.iter().any(|(cpus, count)| *count > cpus.len())
}

/// The CPUs of a list of the kernel's: `0-3,7`.
fn cpus(list: &str) -> BTreeSet<usize> {
    let ranges = list.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    });
    ranges.flatten().collect()
}

/// The list of the CPUs that a thread may use, where it is runnable.
fn runnable_on(task: &Path) -> Option<String> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let is_runnable = field(&status, "State")?.split_whitespace().next() == Some("R");
    let list = field(&status, "Cpus_allowed_list").filter(|list| !cpus(list).is_empty())?;
    is_runnable.then(|| list.to_owned())
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = status.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(of, _)| *of == name).map(|(_, value)| value.trim())
}

/// The threads of a process with their times, and the CPUs of those that are runnable.
fn threads(process: i32) -> Vec<(i32, Times, Option<String>)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| {
        let thread = task.file_name().to_str()?.parse().ok()?;
        let times = times(&fs::read_to_string(task.path().join("schedstat")).ok()?)?;
        Some((thread, times, runnable_on(&task.path())))
    });
    told.collect()
}

fn times(schedstat: &str) -> Option<Times> {
    let mut all = schedstat.split_whitespace();
    Some([all.next()?.parse().ok()?, all.next()?.parse().ok()?])
}

fn numbers<T: std::str::FromStr>(list: &str) -> Vec<T> {
    list.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ended::ALONE;
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::sync::PoisonError;

    #[test]
    fn time_that_was_waited_for_a_cpu_is_what_a_run_had_not() {
        assert_eq!(times("9000 1000 3\n"), Some([9000, 1000]));
        assert_eq!((times("9000"), times("a b c")), (None, None));
        let mut had = Had::default();
        let share = |had: &Had| had.had(0.0).map(|had| had.share);
        assert_eq!(share(&had), None);
        had.saw(7, [100_000_000, 10_000_000]);
        assert_eq!(share(&had), None, "too little tells nothing");
        had.saw(7, [400_000_000, 50_000_000]);
        had.saw(8, [500_000_000, 50_000_000]);
        assert_eq!(share(&had), Some(0.9));
        assert!(had.had(1.8).is_some(), "half of the CPU time was seen");
        assert_eq!(had.had(1.9), None, "most of it came after the last look");
        // Another thread of the same number.
        had.saw(7, [0, 1_000_000_000]);
        assert_eq!(share(&had), Some(0.45));
    }

    #[test]
    fn threads_are_crowded_that_are_more_than_the_cpus_for_them() {
        assert_eq!(cpus("0-2,7"), BTreeSet::from([0, 1, 2, 7]));
        let of = |lists: &[&str]| {
            is_crowded(&lists.iter().map(|list| (*list).to_owned()).collect::<Vec<_>>())
        };
        assert!(!of(&[]) && !of(&["0", "1"]) && !of(&["0-1", "0-1"]));
        assert!(of(&["0", "0", "1-3"]), "of one rank, beside idle CPUs of others");
        assert!(of(&["0-1", "0", "1"]), "of all");
        let mut had = Had { busy: 20, crowded: 2, ..Had::default() };
        had.saw(7, [400_000_000, 800_000_000]);
        assert!(had.had(0.0).is_some_and(|had| !had.is_crowded), "now and then");
        had.crowded = 3;
        assert!(had.had(0.0).is_some_and(|had| had.is_crowded));
    }

    #[test]
    fn a_look_sees_what_runs_below_and_not_more_often_than_it_may() {
        // The end of another test's launcher would end this child as what that one left.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sh -c 'while :; do :; done' & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let group = nix::unistd::Pid::from_raw(child.id() as i32);
        let began = Instant::now();
        let mut had = Had::default();
        let mut looks = 0;
        while had.had(0.0).is_none() && began.elapsed() < Duration::from_secs(60) {
            had.look(|| {
                looks += 1;
                vec![group.as_raw()]
            });
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = began.elapsed();
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = child.wait();
        assert!(had.had(0.0).is_some_and(|had| had.share > 0.0), "{took:?}");
        assert!(had.threads.len() >= 2 && looks <= 1 + took.as_millis() / 100, "{looks}");
    }
}
