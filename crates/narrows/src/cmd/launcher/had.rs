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
use std::time::{Duration, Instant};

/// How often the threads are looked at, at most.
const EACH: Duration = Duration::from_millis(100);
/// A look takes at most one part of so many of a CPU.
const COST_PARTS: u32 = 1000;
/// How often the threads are looked at, at least, whatever that costs.
const EACH_MAX: Duration = Duration::from_secs(2);
/// Less than this of CPU time and waits, in nanoseconds, tells nothing.
const LEAST_NS: u64 = 200_000_000;

/// Nanoseconds that a thread ran, and that it waited for a CPU.
type Times = [u64; 2];

/// What was seen of the threads below some processes.
#[derive(Default)]
pub struct Had {
    /// Of each thread that is or was there, by its number.
    threads: BTreeMap<i32, Times>,
    /// Of threads whose number another has since.
    over: Times,
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
        for (thread, times) in below(roots()).into_iter().flat_map(threads) {
            self.saw(thread, times);
        }
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

    /// The share; `None` where too little was seen.
    pub fn share(&self) -> Option<f64> {
        let all = self.threads.values().chain([&self.over]);
        let [ran, waited] = all.fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        (ran + waited >= LEAST_NS).then(|| ran as f64 / (ran + waited) as f64)
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

/// The threads of a process with their times.
fn threads(process: i32) -> Vec<(i32, Times)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| {
        let thread = task.file_name().to_str()?.parse().ok()?;
        Some((thread, times(&fs::read_to_string(task.path().join("schedstat")).ok()?)?))
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
        assert_eq!(had.share(), None);
        had.saw(7, [100_000_000, 10_000_000]);
        assert_eq!(had.share(), None, "too little tells nothing");
        had.saw(7, [400_000_000, 50_000_000]);
        had.saw(8, [500_000_000, 50_000_000]);
        assert_eq!(had.share(), Some(0.9));
        // Another thread of the same number.
        had.saw(7, [0, 1_000_000_000]);
        assert_eq!(had.share(), Some(0.45));
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
        while had.share().is_none() && began.elapsed() < Duration::from_secs(60) {
            had.look(|| {
                looks += 1;
                vec![group.as_raw()]
            });
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = began.elapsed();
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = child.wait();
        assert!(had.share().is_some_and(|share| share > 0.0), "{took:?}");
        assert!(had.threads.len() >= 2 && looks <= 1 + took.as_millis() / 100, "{looks}");
    }
}
