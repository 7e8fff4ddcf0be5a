//! Counting events of whole CPUs, without samples (perf_event_open(2)).

use super::pmu::Code;
use perf_event_open_sys::bindings as sys;
use perf_event_open_sys::perf_event_open;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// What an event tells of itself so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCount {
    /// How often it was counted, modulo 2^64.
    pub count: u64,
    /// For how long it was to count, in nanoseconds.
    pub enabled_ns: u64,
    /// For how long it did: less where its counter was shared.
    pub running_ns: u64,
}

/// An event that is open, and counts.
pub trait Counting {
    /// What it counted so far; an error where it is gone.
    fn told(&mut self) -> io::Result<EventCount>;
}

/// What opens events: the kernel, or a test in its place.
pub trait Opens {
    /// Opens an event on a CPU; it counts from then on.
    fn open(&self, code: Code, cpu: u32) -> io::Result<Box<dyn Counting>>;
}

/// The kernel of this machine.
pub struct Kernel;

/// What a read gives besides the count.
const TIMES: u32 = sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING;

/// What the kernel is told of a counter. Drivers of uncore PMUs refuse to leave user, kernel or
/// hypervisor out.
fn attributes(code: Code) -> sys::perf_event_attr {
    let mut attributes = sys::perf_event_attr {
        size: size_of::<sys::perf_event_attr>() as u32,
        type_: code.kind,
        config: code.config[0],
        read_format: u64::from(TIMES),
        ..Default::default()
    };
    attributes.__bindgen_anon_3.config1 = code.config[1];
    attributes.__bindgen_anon_4.config2 = code.config[2];
    attributes
}

impl Opens for Kernel {
    fn open(&self, code: Code, cpu: u32) -> io::Result<Box<dyn Counting>> {
        let mut attributes = attributes(code);
        let flags = libc::c_ulong::from(sys::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: the attributes are whole and live throughout the call, which only reads them and
        // writes their size.
        let event = unsafe { perf_event_open(&raw mut attributes, -1, cpu as i32, -1, flags) };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(Box::new(unsafe { File::from_raw_fd(event) }))
    }
}

/// Most open files that this process asks for: some ten events on each of a hundred cache slices
/// and channels of each socket, and connections besides.
const FILES_MOST: libc::rlim_t = 65_536;

/// Lets this process open as many files as the hard limit has room for: the usual soft limit of
/// 1024 is less than the counters of a large server, and connections need some too.
pub fn allow_more_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the limit, which lives throughout it.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    limit.rlim_cur = limit.rlim_cur.max(limit.rlim_max.min(FILES_MOST));
    // SAFETY: the call reads the limit alone. Where it is refused the old one stays.
    let _ = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

impl Counting for File {
    fn told(&mut self) -> io::Result<EventCount> {
        let mut words = [0; 24];
        // An event whose CPU is gone for good gives nothing: an end of file.
        self.read_exact(&mut words)?;
        let word = |at: usize| words[8 * at..].first_chunk().map_or(0, |w| u64::from_ne_bytes(*w));
        Ok(EventCount { count: word(0), enabled_ns: word(1), running_ns: word(2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_what_it_is_asked() {
        // The software PMU's CPU clock, which every kernel that lets a process count has.
        let clock = Code { kind: sys::PERF_TYPE_SOFTWARE, config: [0, 0, 0] };
        let mut counting = match Kernel.open(clock, 0) {
            Ok(counting) => counting,
            Err(why) => return eprintln!("skipped: the_kernel_counts_what_it_is_asked: {why}"),
        };
        let opening = counting.told().expect("it tells");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let closing = counting.told().expect("it tells");
        // The clock of a CPU goes on while it is idle: what was slept at least.
        assert!(closing.count - opening.count >= 15_000_000, "{opening:?} {closing:?}");
        assert_eq!(
            closing.running_ns - opening.running_ns,
            closing.enabled_ns - opening.enabled_ns,
            "no other shares a clock"
        );
    }

    #[test]
    fn the_kernel_is_told_a_counters_code_and_leaves_nothing_out() {
        let told = attributes(Code { kind: 21, config: [0x304, 5, 6] });
        assert_eq!((told.type_, told.config), (21, 0x304));
        // SAFETY: both members of each union are whole numbers, of which any bits are one.
        let more = unsafe { [told.__bindgen_anon_3.config1, told.__bindgen_anon_4.config2] };
        assert_eq!(more, [5, 6]);
        // PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING (perf_event_open(2)).
        assert_eq!(told.read_format, 0b11);
        let left_out = [told.exclude_user(), told.exclude_kernel(), told.exclude_hv()];
        assert_eq!(left_out, [0; 3]);
        assert_eq!(told.disabled(), 0, "it counts from the start");
    }
}
