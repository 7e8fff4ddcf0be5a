//! `memory-latency`: one thread follows a chain of pointers through its working set in random
//! order.
//!
//! Each load needs the one before, so the time of one is the load-to-use latency of wherever the
//! working set fits. Messages counted: loads. With more threads the others read memory beside it
//! (loaded latency), each with a pause after 16 KiB when one is asked for; bytes counted are
//! theirs. Several chains (`chains`) are followed side by side, a load of each in turn: how many
//! lines a core has in flight.

use super::memory_read;
use crate::harness::memory::{Loop, Make};
use crate::harness::{Lane, LaneEnd, LaneWork, Phase, ThreadsPlan, WorkerThreads};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_model::Bytes;
use narrows_model::load::{Effective, Job};
use narrows_model::options::kernels;
use narrows_model::workload::Workload;
use std::hint::{black_box, spin_loop};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub static KIND: Kind = Kind {
    workload: Workload::MemoryLatency,
    says: "load-to-use latency of a chain of pointers, alone or beside threads that read",
    prepare: |job| Ok(Box::new(Latency { job: job.clone() })),
};

/// A cache line: one pointer of the chain in each.
const LINE: usize = 64;
/// Loads between two looks at the phase.
const STEPS: u64 = 2048;
/// What a background thread reads between two pauses.
const BACKGROUND_BLOCK: usize = 16 << 10;
/// Least working set of each background thread; together they have at least that of the chain.
const BACKGROUND_BYTES_MIN: u64 = 4 << 20;

struct Latency {
    job: Job,
}

impl Latency {
    /// Bytes of the chain: whole lines, four or more.
    fn span(&self) -> usize {
        (self.job.params.working_set_bytes.0 as usize).max(4 * LINE) / LINE * LINE
    }

    /// Threads that read beside it.
    fn readers(&self) -> u32 {
        self.job.params.streams.saturating_sub(1)
    }

    /// Bytes that each of those reads.
    fn background(&self) -> u64 {
        (self.span() as u64 / u64::from(self.readers().max(1))).max(BACKGROUND_BYTES_MIN)
    }
}

impl Prepared for Latency {
    fn ports(&self) -> Vec<u16> {
        Vec::new()
    }

    fn buffers(&self) -> Vec<u64> {
        let readers = (0..self.readers()).map(|_| self.background());
        std::iter::once(self.span() as u64).chain(readers).collect()
    }

    fn arm(
        self: Box<Self>,
        _: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let (span, readers, background) = (self.span(), self.readers(), self.background());
        let job = self.job;
        let make = Make::of(&job)?;
        let pause = job.params.memory.as_ref().and_then(|memory| memory.pause_ns).unwrap_or(0);
        let read = (memory_read::SPEC.of_width)(make.vector);
        let read = read.ok_or_else(|| LoadError::Order("no loop to read with".to_owned()))?;
        let chains = kernels::CHAINS.of(&job.params).unwrap_or(1);
        let mut lanes: Vec<LaneWork> = vec![Box::new(move |lane| chase(lane, make, span, chains))];
        lanes.extend((0..readers).map(|_| -> LaneWork {
            Box::new(move |lane| load(lane, read, make, background as usize, pause))
        }));
        WorkerThreads::start(ThreadsPlan {
            sending: 0..0,
            one_sided: false,
            lanes,
            sockets: Vec::new(),
            effective: Effective {
                buffer_span_bytes: Bytes(span as u64),
                variant: Some(make.vector.name().to_owned()),
                pages: Some(make.pages.name().to_owned()),
                background_threads: readers,
                ..Default::default()
            },
            cpus: job.cpus,
            binding: job.binding,
            meter,
        })
    }
}

fn chase(lane: &mut Lane, make: Make, span: usize, chains: u32) -> Result<LaneEnd, LoadError> {
    let mut buffer = make.buffer(span)?;
    let mut at = link(buffer.bytes_mut(), span);
    if chains > 1 {
        let starts = spread(buffer.bytes_mut(), span, chains as usize);
        return Ok(chase_all(lane, starts));
    }
    lane.wait_at_gate();
    while lane.phase() != Phase::Stop {
        for _ in 0..STEPS {
            // SAFETY: `link` wrote into each line the address of another line of this buffer.
            at = unsafe { *at.0 };
        }
        black_box(at.0);
        lane.tally.moved(STEPS, 0);
    }
    Ok(LaneEnd::default())
}

/// Follows all chains side by side, a load of each in turn.
fn chase_all(lane: &mut Lane, mut all: Vec<Next>) -> LaneEnd {
    let rounds = STEPS / all.len() as u64;
    lane.wait_at_gate();
    while lane.phase() != Phase::Stop {
        for _ in 0..rounds {
            for at in &mut all {
                // SAFETY: each is a line of the ring that `link` made of this buffer.
                *at = unsafe { *at.0 };
            }
        }
        black_box(all.as_slice().as_ptr());
        lane.tally.moved(rounds * all.len() as u64, 0);
    }
    LaneEnd::default()
}

/// Lines at equal distances, each a place in the ring that comes by itself at another time.
fn spread(bytes: &mut [u8], span: usize, chains: usize) -> Vec<Next> {
    let lines = span / LINE;
    let start = bytes.as_mut_ptr();
    // SAFETY: each is one of the `lines` lines of the buffer.
    let line = |at: usize| Next(unsafe { start.add(at * LINE) }.cast());
    (0..chains).map(|chain| line(chain * lines / chains)).collect()
}

/// A line's content: the address of the next line.
#[derive(Clone, Copy)]
struct Next(*const Next);

/// Links all lines into one ring in random order (Sattolo's shuffle makes one cycle of all);
/// returns the first.
fn link(bytes: &mut [u8], span: usize) -> Next {
    let lines = span / LINE;
    let start = bytes.as_mut_ptr();
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..lines).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.swap(last, (random % last as u64) as usize);
    }
    for (line, next) in order.iter().enumerate() {
        // SAFETY: `lines` lines fit into the buffer, which is aligned to a page.
        unsafe {
            let next = Next(start.add(*next as usize * LINE).cast());
            start.add(line * LINE).cast::<Next>().write(next);
        }
    }
    Next(start.cast())
}

fn load(
    lane: &mut Lane,
    read: Loop,
    make: Make,
    span: usize,
    pause_ns: u64,
) -> Result<LaneEnd, LoadError> {
    let mut buffer = make.buffer(span)?;
    buffer.touch();
    let pause = Duration::from_nanos(pause_ns);
    let start = buffer.bytes_mut().as_mut_ptr();
    lane.wait_at_gate();
    loop {
        for at in (0..span / BACKGROUND_BLOCK).map(|index| index * BACKGROUND_BLOCK) {
            if lane.phase() == Phase::Stop {
                return Ok(LaneEnd::default());
            }
            // SAFETY: the block is within the buffer, and the loop was chosen for this processor.
            unsafe { read([start.add(at), start, start], BACKGROUND_BLOCK) };
            lane.tally.moved(0, BACKGROUND_BLOCK as u64);
            wait(pause);
        }
    }
}

/// Spins for a time: a sleep would be far too long.
fn wait(pause: Duration) {
    if pause.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < pause {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::buffer::Buffer;

    #[test]
    fn chains_begin_at_lines_of_their_own() {
        let mut buffer = Buffer::new(64 * LINE).expect("buffer");
        link(buffer.bytes_mut(), 64 * LINE);
        let starts = spread(buffer.bytes_mut(), 64 * LINE, 12);
        let distinct: std::collections::BTreeSet<usize> =
            starts.iter().map(|at| at.0 as usize).collect();
        assert_eq!(distinct.len(), 12);
        for at in starts {
            // SAFETY: it is a line of the ring.
            let next = unsafe { *at.0 };
            assert_eq!((next.0 as usize - buffer.bytes_mut().as_ptr() as usize) % LINE, 0);
        }
    }

    #[test]
    fn the_chain_visits_every_line_once_before_it_returns() {
        for lines in [4, 5, 64, 1000] {
            let mut buffer = Buffer::new(lines * LINE).expect("buffer");
            let first = link(buffer.bytes_mut(), lines * LINE);
            let (mut at, mut seen) = (first, std::collections::BTreeSet::new());
            while seen.insert(at.0 as usize) {
                // SAFETY: the chain stays in the buffer.
                at = unsafe { *at.0 };
            }
            assert_eq!((seen.len(), at.0), (lines, first.0), "{lines} lines");
        }
    }
}
