//! CPU time of the calling thread: `getrusage(RUSAGE_THREAD)`, exact to the scheduler's clock; and
//! its cycles, from the processor's own counter (`perf_event_open`), where there is one and the
//! kernel lets this process read it.

use narrows_model::Nanos;
use narrows_model::load::ThreadUsage;
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::cell::RefCell;

/// The calling thread's counter of cycles.
enum Cycles {
    /// Nobody asked for it yet.
    Unasked,
    /// The processor has none, or the kernel lets nobody read it.
    Unreadable,
    Counted(Counter),
}

thread_local! {
    static CYCLES: RefCell<Cycles> = const { RefCell::new(Cycles::Unasked) };
}

/// Starts counting events of the calling thread, in user mode and in the kernel.
fn counter(event: impl Into<Event>) -> Option<Counter> {
    // Without the kernel's part, which is most of a network load, cycles would mislead.
    let mut builder = Builder::new().kind(event);
    builder.include_kernel();
    let mut counter = builder.build().ok()?;
    counter.enable().ok()?;
    Some(counter)
}

fn cycles() -> Option<u64> {
    CYCLES.with_borrow_mut(|own| {
        if let Cycles::Unasked = own {
            *own = counter(Hardware::CPU_CYCLES).map_or(Cycles::Unreadable, Cycles::Counted);
        }
        match own {
            Cycles::Counted(counter) => counter.read().ok(),
            Cycles::Unasked | Cycles::Unreadable => None,
        }
    })
}

/// Time that the calling thread spent on a run queue (kernel, Documentation/scheduler/
/// sched-stats.rst, `/proc/<pid>/schedstat`: the second of three numbers).
fn waited() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Reads the calling thread's CPU time so far; `wall_ns` is `CLOCK_MONOTONIC`, so that the
/// difference of two readings has its own length.
pub fn usage() -> ThreadUsage {
    // SAFETY: both calls only fill the structures given to them, for which all zeroes is valid.
    let (usage, now) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut now: libc::timespec = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        (usage, now)
    };
    ThreadUsage {
        cpu: None,
        allowed: Vec::new(),
        wall_ns: Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64),
        user_ns: micros(usage.ru_utime),
        system_ns: micros(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        waited_ns: waited(),
        cycles: cycles(),
        pacing_ns: None,
    }
}

fn micros(t: libc::timeval) -> Nanos {
    Nanos((t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;

    #[test]
    fn a_counter_of_this_thread_counts_what_it_does() {
        // The clock of the scheduler in place of cycles, which virtual machines often have not.
        let Some(mut clock) = counter(Software::TASK_CLOCK) else {
            return eprintln!("skipped: a_counter_of_this_thread: the kernel allows no counters");
        };
        let (before, began) = (clock.read().expect("read"), usage());
        while usage().user_ns.0 - began.user_ns.0 < 20_000_000 {}
        let counted = clock.read().expect("read") - before;
        assert!(counted >= 15_000_000, "{counted} ns");
    }

    #[test]
    fn seconds_and_microseconds_are_nanoseconds() {
        for (tv_sec, tv_usec, ns) in
            [(0, 0, 0), (0, 1, 1_000), (0, 999_999, 999_999_000), (2, 5, 2_000_005_000)]
        {
            assert_eq!(micros(libc::timeval { tv_sec, tv_usec }), Nanos(ns), "{tv_sec} {tv_usec}");
        }
    }

    #[test]
    fn time_of_a_thread_runs_on_and_is_no_longer_than_its_wall() {
        let first = usage();
        let cpu_ns = |then: &ThreadUsage| {
            then.user_ns.0 + then.system_ns.0 - first.user_ns.0 - first.system_ns.0
        };
        let mut sum = 0u64;
        let mut then = usage();
        while cpu_ns(&then) < 5_000_000 && then.wall_ns.0 - first.wall_ns.0 < 10_000_000_000 {
            sum = std::hint::black_box(sum + 1);
            then = usage();
        }
        let wall = then.wall_ns.0 - first.wall_ns.0;
        let cpu = cpu_ns(&then);
        assert!(cpu >= 5_000_000, "{cpu} ns of work in {wall} ns");
        // The kernel may count by its clock's ticks, of 10 ms at most.
        assert!(cpu <= wall + 10_000_000, "{cpu} of {wall} ns");
        assert!(then.voluntary_switches >= first.voluntary_switches);
        assert!(then.involuntary_switches >= first.involuntary_switches);
    }
}
