//! The profile of an end: stacks of calls, sampled by the kernel (perf_event_open(2)) while the
//! window is open. Rings are opened before the run, read at the end of each slice, and named after
//! it: neither `perf` nor debug information is needed.

mod event;
mod kernel;
mod named;
mod program;
mod records;

use event::{NotOpened, Sampler, Target};
pub use kernel::Symbols;
use narrows_model::Nanos;
use narrows_model::profile::{Gap, NotProfiled, Profile, SampledBy, SampledWhat};
use records::{Samples, Taken};
use std::fs;
use std::time::{Duration, Instant};

/// Samples a second and target: a prime, so that nothing periodic is always met at the same place.
const PER_SECOND: u32 = 997;
/// Pages of all rings together: 32 MiB with pages of 4 KiB.
const PAGES_MAX: usize = 8192;
/// Pages of one ring: 256 KiB hold a second of stacks of 30 frames.
const RING_PAGES: usize = 64;
/// Below so many samples would be lost between two slices.
const RING_PAGES_MIN: usize = 4;
/// Numbers of CAP_SYS_ADMIN and CAP_PERFMON (capabilities(7)).
const CAPABILITIES: [u32; 2] = [21, 38];

/// Events that are open on all targets.
pub struct Profiler {
    by: SampledBy,
    what: SampledWhat,
    per_second: u32,
    samplers: Vec<Sampler>,
    targets: Vec<Target>,
    samples: Samples,
    buffer: Vec<u8>,
    keeper: i32,
    symbols: Symbols,
    gaps: Vec<Gap>,
    reading: Duration,
}

#[derive(Clone, Copy)]
struct Attempt {
    by: SampledBy,
    what: SampledWhat,
    per_second: u32,
}

impl Profiler {
    /// Opens events for the threads that there are; the calling thread keeps the time line. To be
    /// called once the workload's threads are there and before they begin.
    pub fn attach(symbols: Symbols) -> Result<Self, NotProfiled> {
        let max = number("/proc/sys/kernel/perf_event_max_sample_rate");
        let max = max.and_then(|rate| u32::try_from(rate).ok()).unwrap_or(u32::MAX);
        let per_second = PER_SECOND.min(max);
        let mut gaps = Vec::new();
        if per_second < PER_SECOND {
            gaps.push(Gap::Slow(per_second));
        }
        let mut attempt = Attempt { by: SampledBy::Cycles, what: SampledWhat::Host, per_second };
        loop {
            let why = match attempt.open() {
                Ok(profiler) => {
                    gaps.extend(profiler.gaps.iter().cloned());
                    return Ok(Self { gaps, symbols, ..profiler });
                }
                Err(why) => why,
            };
            match (attempt.by, attempt.what, refusal(&why)) {
                (SampledBy::Cycles, _, Refusal::NoEvent) => {
                    attempt.by = SampledBy::CpuClock;
                    gaps.push(Gap::NoCycles);
                }
                (_, SampledWhat::Host, Refusal::Denied) => {
                    attempt.what = SampledWhat::Threads;
                    gaps.push(Gap::OnlyOwnThreads);
                }
                _ => return Err(not_profiled(&why)),
            }
        }
    }

    /// Begins to sample; no harm is done by calling it again.
    pub fn start(&mut self) {
        for sampler in &self.samplers {
            sampler.start();
        }
    }

    /// Reads what there is, so that the kernel has room for more.
    pub fn read(&mut self) {
        let began = Instant::now();
        for sampler in &mut self.samplers {
            self.buffer.clear();
            sampler.take(&mut self.buffer);
            self.samples.add(&self.buffer);
        }
        self.reading += began.elapsed();
    }

    /// Ends sampling, and reads the rest.
    pub fn stop(&mut self) {
        for sampler in &self.samplers {
            sampler.stop();
        }
        self.read();
    }

    /// What was sampled from the opening of the window on, for its length; both in nanoseconds of
    /// the monotonic clock.
    pub fn finish(mut self, opened: Nanos, window: Nanos) -> Profile {
        let inside: Vec<Taken> = self
            .samples
            .taken
            .iter()
            .filter(|taken| opened.0 <= taken.at_ns && taken.at_ns - opened.0 < window.0)
            .copied()
            .collect();
        let outside = (self.samples.taken.len() - inside.len()) as u64;
        self.gaps.extend(self.shared());
        self.gaps.extend(self.moved());
        if self.samples.throttled > 0 {
            self.gaps.push(Gap::Throttled(self.samples.throttled));
        }
        let kernel = self.symbols.read();
        let named = named::name(&inside, &self.samples.stacks, self.keeper, kernel);
        self.gaps.extend(named.hidden.then_some(Gap::KernelHidden));
        Profile {
            by: self.by,
            what: self.what,
            targets: self.samplers.len() as u32,
            per_second: self.per_second,
            functions: named.functions,
            stacks: named.stacks,
            lost: self.samples.lost,
            outside,
            reading_ns: Nanos(self.reading.as_nanos() as u64),
            gaps: self.gaps,
        }
    }

    /// Whether the counters were shared with other users of them.
    fn shared(&self) -> Option<Gap> {
        let times = self.samplers.iter().filter_map(Sampler::times_ns);
        let (enabled, running) =
            times.fold((0, 0), |(enabled, running), (e, r)| (enabled + e, running + r));
        // A CPU that was idle throughout counts for as long as it was enabled too.
        let thousandths = running.saturating_mul(1000).checked_div(enabled)?;
        (thousandths < 995).then_some(Gap::Multiplexed(thousandths as u32))
    }

    /// Whether CPUs went offline or came online since the events were opened.
    fn moved(&self) -> Option<Gap> {
        if self.what == SampledWhat::Threads {
            return None;
        }
        let now = online();
        let opened: Vec<u32> = self
            .targets
            .iter()
            .filter_map(|target| match target {
                Target::Cpu(cpu) => Some(*cpu),
                Target::Thread(_) => None,
            })
            .collect();
        let moved = [changed(&opened, &now), changed(&now, &opened)].concat();
        (!moved.is_empty()).then_some(Gap::Cpus(moved))
    }
}

fn changed(one: &[u32], other: &[u32]) -> Vec<u32> {
    one.iter().filter(|cpu| !other.contains(cpu)).copied().collect()
}

/// This thread, as the kernel numbers it. By the call's number: its name is in glibc since 2.30,
/// and releases start with 2.28.
fn own_thread() -> libc::pid_t {
    // SAFETY: the call has no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

impl Attempt {
    /// Opens all events or none. A ring that finds no room is tried smaller.
    fn open(self) -> Result<Profiler, NotOpened> {
        let keeper = own_thread();
        let targets = match self.what {
            SampledWhat::Host => online().into_iter().map(Target::Cpu).collect(),
            SampledWhat::Threads => threads(keeper),
        };
        let mut pages = ring_pages(targets.len());
        loop {
            match self.open_all(&targets, pages) {
                Ok((samplers, targets)) => {
                    return Ok(Profiler {
                        by: self.by,
                        what: self.what,
                        per_second: self.per_second,
                        samplers,
                        targets,
                        samples: Samples::default(),
                        buffer: Vec::new(),
                        keeper,
                        symbols: Symbols::Own,
                        gaps: Vec::new(),
                        reading: Duration::ZERO,
                    });
                }
                Err(NotOpened::Ring(_)) if pages > RING_PAGES_MIN => pages /= 2,
                Err(why) => return Err(why),
            }
        }
    }

    fn open_all(
        self,
        targets: &[Target],
        pages: usize,
    ) -> Result<(Vec<Sampler>, Vec<Target>), NotOpened> {
        let (mut samplers, mut opened) = (Vec::new(), Vec::new());
        for target in targets {
            match Sampler::open(*target, self.by, self.per_second, pages) {
                Ok(sampler) => {
                    samplers.push(sampler);
                    opened.push(*target);
                }
                // It went offline, or the thread ended, since the list was made.
                Err(NotOpened::Event(error)) if is_gone(&error, *target) => {}
                Err(why) => return Err(why),
            }
        }
        Ok((samplers, opened))
    }
}

/// Whether there is no such CPU or thread any more.
fn is_gone(error: &std::io::Error, target: Target) -> bool {
    match (error.raw_os_error(), target) {
        (Some(libc::ENODEV), Target::Cpu(cpu)) => !online().contains(&cpu),
        (Some(libc::ESRCH), Target::Thread(_)) => true,
        _ => false,
    }
}

/// Pages of each ring: a power of two, and all together within their bound.
fn ring_pages(targets: usize) -> usize {
    let each = (PAGES_MAX / targets.max(1)).clamp(RING_PAGES_MIN, RING_PAGES);
    1 << each.ilog2()
}

/// What a failed call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// For want of rights.
    Denied,
    /// This machine has no such event.
    NoEvent,
    /// An error that has no advice of its own.
    Other,
}

fn refusal(why: &NotOpened) -> Refusal {
    let (NotOpened::Event(error) | NotOpened::Ring(error)) = why;
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Refusal::Denied,
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => Refusal::NoEvent,
        _ => Refusal::Other,
    }
}

fn not_profiled(why: &NotOpened) -> NotProfiled {
    match (why, refusal(why)) {
        (NotOpened::Ring(_), Refusal::Denied) => NotProfiled::NoMemory,
        (_, Refusal::Denied) => NotProfiled::Denied {
            paranoid: number("/proc/sys/kernel/perf_event_paranoid"),
            capable: is_capable(),
        },
        (NotOpened::Event(error), _) if errno(error) == libc::ENOSYS => NotProfiled::NoEvents,
        (NotOpened::Event(error) | NotOpened::Ring(error), _) => {
            NotProfiled::System { errno: errno(error) }
        }
    }
}

fn errno(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

/// The number in a file.
fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether this process has a capability in effect that lets it sample everything.
fn is_capable() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().any(|number| set >> number & 1 == 1)
}

/// The CPUs that are online.
fn online() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    cpus(text.trim())
}

/// `0-3,8` as its CPUs.
fn cpus(text: &str) -> Vec<u32> {
    text.split(',')
        .filter_map(|part| -> Option<std::ops::RangeInclusive<u32>> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

/// The threads of this process but for the one that keeps the time line.
fn threads(keeper: i32) -> Vec<Target> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ids = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != keeper).map(Target::Thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::profile::Task;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Arc, mpsc};
    use std::thread;

    /// A thread that computes until it is told.
    fn busy(stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
        let (stop, (ready, is_ready)) = (stop.clone(), mpsc::channel());
        let thread = thread::spawn(move || {
            let _ = ready.send(());
            while !stop.load(Relaxed) {
                a_loop_that_a_profile_shows();
            }
        });
        is_ready.recv().expect("ready");
        thread
    }

    #[inline(never)]
    fn a_loop_that_a_profile_shows() {
        let mut turn = 0u32;
        while turn < 1_000_000 {
            turn += 1;
        }
        std::hint::black_box(turn);
    }

    fn now() -> Nanos {
        crate::thread::usage().wall_ns
    }

    /// Samples so long, with readings in between, and takes as the window what `window` says of it.
    fn sampled(
        profiler: Result<Profiler, NotProfiled>,
        window: impl FnOnce(Nanos, Nanos) -> (Nanos, Nanos),
    ) -> Option<Profile> {
        let mut profiler = match profiler {
            Ok(profiler) => profiler,
            Err(why) => {
                eprintln!("skipped: a profile: {why}");
                return None;
            }
        };
        let opened = now();
        profiler.start();
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(100));
            profiler.read();
        }
        profiler.stop();
        let length = Nanos(now().0 - opened.0);
        let (opened, length) = window(opened, length);
        Some(profiler.finish(opened, length))
    }

    fn of(profile: &Profile, task: Task) -> u64 {
        profile.stacks.iter().filter(|stack| stack.task == task).map(|stack| stack.samples).sum()
    }

    #[test]
    fn a_busy_thread_is_seen_where_it_is_busy() {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = busy(&stop);
        let profile = sampled(Profiler::attach(Symbols::Own), |opened, length| (opened, length));
        stop.store(true, Relaxed);
        thread.join().expect("ends");
        let Some(profile) = profile else { return };
        let own = of(&profile, Task::Own);
        let shown = profile.stacks.iter().filter(|stack| {
            profile
                .frames(stack)
                .any(|function| function.name.ends_with("a_loop_that_a_profile_shows"))
        });
        let shown: u64 = shown.map(|stack| stack.samples).sum();
        // Other tests run in this process too, and other processes on its CPUs.
        assert!(shown >= 20, "{shown} of {own} samples in 0.4 s");
        assert_eq!((profile.lost, profile.targets > 0), (0, true));
    }

    #[test]
    fn samples_outside_the_window_are_counted_and_left_out() {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = busy(&stop);
        let half =
            sampled(Profiler::attach(Symbols::Own), |opened, length| (opened, Nanos(length.0 / 2)));
        let none =
            sampled(Profiler::attach(Symbols::Own), |opened, _| (Nanos(opened.0 - 2), Nanos(1)));
        stop.store(true, Relaxed);
        thread.join().expect("ends");
        let (Some(half), Some(none)) = (half, none) else { return };
        let all = half.samples() + half.outside;
        assert!(
            half.outside * 10 > all * 2 && half.samples() * 10 > all * 2,
            "{} of {all}",
            half.samples()
        );
        assert_eq!((none.samples(), none.stacks.len(), none.functions.len()), (0, 0, 0));
        assert!(none.outside > 0);
    }

    #[test]
    fn what_a_full_ring_had_no_room_for_is_counted() {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = busy(&stop);
        let attempt = Attempt {
            by: SampledBy::CpuClock,
            what: SampledWhat::Threads,
            per_second: 4000.min(rate()),
        };
        let targets = threads(own_thread());
        let opened = attempt.open_all(&targets, 1);
        let Ok((mut samplers, _)) = opened else {
            stop.store(true, Relaxed);
            return eprintln!("skipped: what_a_full_ring_had_no_room_for: no events here");
        };
        samplers.iter().for_each(|sampler| assert!(sampler.start()));
        thread::sleep(Duration::from_millis(600));
        let mut samples = Samples::default();
        // A record of loss is written once there is room again.
        for _ in 0..2 {
            for sampler in &mut samplers {
                let mut bytes = Vec::new();
                sampler.take(&mut bytes);
                samples.add(&bytes);
            }
            thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Relaxed);
        thread.join().expect("ends");
        assert!(!samples.taken.is_empty(), "a page holds some");
        assert!(samples.lost > 0, "{} taken, none lost", samples.taken.len());
    }

    fn rate() -> u32 {
        number("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or(1000) as u32
    }

    #[test]
    fn rings_of_many_targets_are_small() {
        assert_eq!(ring_pages(1), 64);
        assert_eq!(ring_pages(256), 32);
        assert_eq!(ring_pages(100_000), RING_PAGES_MIN);
        assert_eq!(ring_pages(0), 64);
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus("0"), [0]);
        assert!(cpus("").is_empty());
    }

    #[test]
    fn a_refusal_names_what_would_let_it() {
        let denied = NotOpened::Event(std::io::Error::from_raw_os_error(libc::EACCES));
        assert_eq!(refusal(&denied), Refusal::Denied);
        assert!(matches!(not_profiled(&denied), NotProfiled::Denied { .. }));
        let ring = NotOpened::Ring(std::io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(not_profiled(&ring), NotProfiled::NoMemory);
        let absent = NotOpened::Event(std::io::Error::from_raw_os_error(libc::ENOSYS));
        assert_eq!(not_profiled(&absent), NotProfiled::NoEvents);
        let shown = NotProfiled::Denied { paranoid: Some(2), capable: false }.to_string();
        assert!(shown.contains("perf_event_paranoid is 2"), "{shown}");
        let filtered = NotProfiled::Denied { paranoid: Some(-1), capable: true }.to_string();
        assert!(filtered.contains("filter"), "{filtered}");
    }
}
