//! CPU time of the calling thread: `getrusage(RUSAGE_THREAD)`, exact to the scheduler's clock.

use narrows_facts::Nanos;
use narrows_facts::load::ThreadUsage;

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
    let micros = |t: libc::timeval| Nanos((t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64) * 1000);
    ThreadUsage {
        cpu: None,
        wall_ns: Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64),
        user_ns: micros(usage.ru_utime),
        system_ns: micros(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}
