//! The kernel's clocks, in nanoseconds.

/// CPU time of this process so far in nanoseconds, all its threads together; `None` where the
/// kernel does not tell (clock_gettime(2), `CLOCK_PROCESS_CPUTIME_ID`).
pub(super) fn process_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread so far in nanoseconds.
pub(super) fn thread_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The monotonic clock in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut now) };
    let ns = (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64);
    (failed == 0).then_some(ns)
}
