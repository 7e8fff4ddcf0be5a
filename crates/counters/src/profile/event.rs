//! One sampling event of the kernel with the ring that it writes its records to
//! (perf_event_open(2)).

use narrows_model::profile::SampledBy;
use perf_event_open_sys::bindings as sys;
use perf_event_open_sys::{ioctls, perf_event_open};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Everything that runs on this CPU.
    Cpu(u32),
    /// This thread of the own process, wherever it runs.
    Thread(i32),
}

/// Frames that are kept of a stack: the kernel's stacks of a network load are 20 to 60 deep.
const FRAMES_MAX: u16 = 96;

/// Why an event could not be opened.
#[derive(Debug)]
pub enum NotOpened {
    /// The system call failed.
    Event(io::Error),
    /// Its ring could not be mapped.
    Ring(io::Error),
}

/// An event that is open, and its ring.
pub struct Sampler {
    event: File,
    ring: Ring,
}

/// What the kernel writes of each sample, in this order.
const SAMPLED: u32 = sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_PERIOD
    | sys::PERF_SAMPLE_CALLCHAIN;
/// What it tells of the event itself.
const TIMES: u32 = sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING;

fn attributes(by: SampledBy, per_second: u32) -> sys::perf_event_attr {
    let mut attributes = sys::perf_event_attr {
        size: size_of::<sys::perf_event_attr>() as u32,
        sample_type: u64::from(SAMPLED),
        read_format: u64::from(TIMES),
        clockid: libc::CLOCK_MONOTONIC,
        sample_max_stack: FRAMES_MAX,
        ..Default::default()
    };
    (attributes.type_, attributes.config) = match by {
        SampledBy::Cycles => (sys::PERF_TYPE_HARDWARE, u64::from(sys::PERF_COUNT_HW_CPU_CYCLES)),
        SampledBy::CpuClock => (sys::PERF_TYPE_SOFTWARE, u64::from(sys::PERF_COUNT_SW_CPU_CLOCK)),
    };
    attributes.__bindgen_anon_1.sample_freq = u64::from(per_second);
    attributes.set_freq(1);
    attributes.set_disabled(1);
    attributes.set_exclude_hv(1);
    attributes.set_exclude_guest(1);
    attributes.set_use_clockid(1);
    attributes
}

impl Sampler {
    /// Opens an event that takes no samples yet, with a ring of so many pages, a power of two.
    pub fn open(
        target: Target,
        by: SampledBy,
        per_second: u32,
        pages: usize,
    ) -> Result<Self, NotOpened> {
        let mut attributes = attributes(by, per_second);
        let (thread, cpu) = match target {
            Target::Cpu(cpu) => (-1, cpu as i32),
            Target::Thread(thread) => (thread, -1),
        };
        let flags = libc::c_ulong::from(sys::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: the attributes are whole and live throughout the call, which only reads them and
        // writes their size.
        let event = unsafe { perf_event_open(&raw mut attributes, thread, cpu, -1, flags) };
        if event < 0 {
            return Err(NotOpened::Event(io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        let event = unsafe { File::from_raw_fd(event) };
        let ring = Ring::map(&event, pages).map_err(NotOpened::Ring)?;
        Ok(Self { event, ring })
    }

    /// Begins to sample. False where the event is gone, as that of a CPU that went offline.
    pub fn start(&self) -> bool {
        // SAFETY: the descriptor is an event's, and the call takes no pointer.
        unsafe { ioctls::ENABLE(self.event.as_raw_fd(), 0) == 0 }
    }

    /// Ends sampling. False where the event is gone.
    pub fn stop(&self) -> bool {
        // SAFETY: the descriptor is an event's, and the call takes no pointer.
        unsafe { ioctls::DISABLE(self.event.as_raw_fd(), 0) == 0 }
    }

    /// Takes what the kernel has written since the last call, added to `bytes`.
    pub fn take(&mut self, bytes: &mut Vec<u8>) {
        self.ring.take(bytes);
    }

    /// For how long the event was to count and for how long it did, in nanoseconds: less where the
    /// counter is shared.
    pub fn times_ns(&self) -> Option<(u64, u64)> {
        let mut words = [0; 24];
        (&self.event).read_exact(&mut words).ok()?;
        let word = |at: usize| Some(u64::from_ne_bytes(*words[8 * at..].first_chunk()?));
        Some((word(1)?, word(2)?))
    }
}

/// Memory that the kernel writes records to: a page that says how far, and pages of data.
struct Ring {
    base: *mut u8,
    page: usize,
    data: usize,
}

impl Ring {
    fn map(event: &File, pages: usize) -> io::Result<Self> {
        // SAFETY: the call has no pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
        let data = pages.next_power_of_two() * page;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + data,
                access,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), page, data })
    }

    /// One of the two words by which reader and writer know how far the other is.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is of an aligned u64 within the first page, which is mapped for as
        // long as this lives, and which both sides change by whole words only.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    fn take(&mut self, bytes: &mut Vec<u8>) {
        let head = self.word(std::mem::offset_of!(sys::perf_event_mmap_page, data_head));
        let tail = self.word(std::mem::offset_of!(sys::perf_event_mmap_page, data_tail));
        // What was written before the head moved is seen after it was read.
        let (to, from) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        let length = (to.wrapping_sub(from) as usize).min(self.data);
        let begin = from as usize & (self.data - 1);
        let first = length.min(self.data - begin);
        for (at, length) in [(begin, first), (0, length - first)] {
            // SAFETY: the stretch lies within the data pages, and the kernel writes none of it
            // before the tail has moved past it.
            let part = unsafe {
                std::slice::from_raw_parts(self.base.add(self.page + at).cast_const(), length)
            };
            bytes.extend_from_slice(part);
        }
        tail.store(to, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.page + self.data) };
    }
}
