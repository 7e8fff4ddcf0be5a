//! What memory kernels share: arrays, passes over them, and the choice of a loop.

use super::buffer::{Buffer, Pages};
use super::vector::Vector;
use super::{Lane, LaneEnd, LaneWork, Phase, ThreadsPlan, WorkerThreads};
use crate::{LoadError, Prepared, ThreadMeter};
use narrows_model::Bytes;
use narrows_model::load::{Effective, Job, MemoryParams};
use narrows_model::options::kernels;
use std::net::SocketAddr;

/// Bytes of each array between two looks at the phase.
pub const BLOCK: usize = 1 << 18;

/// Least share of a thread and array, and what shares are a multiple of.
const SHARE_MIN: u64 = 4096;

/// A loop over one block: pointers to each array's block, and their length, a multiple of 1024.
///
/// # Safety
/// The processor must have the width that the loop was chosen for; each pointer must be valid for
/// the length and aligned to a page, and no two blocks may overlap.
pub type Loop = unsafe fn(blocks: [*mut u8; 3], length: usize);

/// What makes a memory kernel.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Arrays it goes over, 1 to 3; all have the same size.
    pub arrays: u64,
    /// Bytes counted for each byte of one array.
    pub counted: u64,
    /// Bytes that cross the memory bus per hundred counted, once caches are too small; `None` where
    /// the loop does not decide it.
    pub bus_percent: Option<u32>,
    /// Bytes of a block.
    pub block: usize,
    /// The loop of a width, where there is one.
    pub of_width: fn(Vector) -> Option<Loop>,
}

/// One end of a memory trial.
pub struct MemoryKernel {
    job: Job,
    spec: Spec,
}

impl MemoryKernel {
    /// A kernel for a job.
    pub fn prepare(job: &Job, spec: Spec) -> Box<dyn Prepared> {
        Box::new(Self { job: job.clone(), spec })
    }

    /// Bytes of each array of a thread.
    fn share(&self) -> u64 {
        let arrays = u64::from(self.job.params.streams.max(1)) * self.spec.arrays;
        let share = self.job.params.working_set_bytes.0 / arrays;
        share.max(SHARE_MIN) / SHARE_MIN * SHARE_MIN
    }
}

/// How buffers are made and loops chosen.
#[derive(Clone, Copy)]
pub struct Make {
    /// Width of loads and stores.
    pub vector: Vector,
    /// Pages that the memory is made of.
    pub pages: Pages,
    /// Node of the buffers.
    pub node: Option<u32>,
    /// Whether their pages come from all nodes in turn.
    pub interleaved: bool,
}

impl Make {
    /// From the parameters of a job.
    pub fn of(job: &Job) -> Result<Self, LoadError> {
        let none = MemoryParams::default();
        let memory = job.params.memory.as_ref().unwrap_or(&none);
        let interleaved = kernels::INTERLEAVE.of(&job.params) == Some(true);
        if let Some(node) = memory.node.filter(|_| interleaved) {
            let both = format!("memory is on node {node} or spread over all, and not both");
            return Err(LoadError::Order(both));
        }
        Ok(Self {
            vector: Vector::choose(memory.vector.as_deref())?,
            pages: Pages::named(memory.pages.as_deref())?,
            node: memory.node,
            interleaved,
        })
    }

    /// A buffer of so many bytes; no page of it was touched yet.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer, LoadError> {
        let buffer = Buffer::with(bytes, self.pages, self.node)?;
        if self.interleaved {
            buffer.interleave()?;
        }
        Ok(buffer)
    }
}

impl Prepared for MemoryKernel {
    fn ports(&self) -> Vec<u16> {
        Vec::new()
    }

    fn buffers(&self) -> Vec<u64> {
        let count = u64::from(self.job.params.streams) * self.spec.arrays;
        (0..count).map(|_| self.share()).collect()
    }

    fn arm(
        self: Box<Self>,
        _: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let share = self.share();
        let Self { job, spec } = *self;
        let make = Make::of(&job)?;
        let threads = job.params.streams;
        let work = (spec.of_width)(make.vector).ok_or_else(|| {
            LoadError::Order(format!("{} is not built for {}", job.kind, make.vector.name()))
        })?;
        let lane =
            || -> LaneWork { Box::new(move |lane| run(lane, work, spec, make, share as usize)) };
        WorkerThreads::start(ThreadsPlan {
            sending: 0..0,
            one_sided: false,
            lanes: (0..threads).map(|_| lane()).collect(),
            sockets: Vec::new(),
            effective: Effective {
                buffer_span_bytes: Bytes(share * spec.arrays * u64::from(threads)),
                variant: Some(make.vector.name().to_owned()),
                pages: Some(make.pages.name().to_owned()),
                bus_percent_of_counted: spec.bus_percent,
                ..Default::default()
            },
            cpus: job.cpus,
            binding: job.binding,
            meter,
        })
    }
}

fn run(
    lane: &mut Lane,
    work: Loop,
    spec: Spec,
    make: Make,
    share: usize,
) -> Result<LaneEnd, LoadError> {
    let arrays = (0..spec.arrays).map(|_| make.buffer(share));
    let mut arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    arrays.iter_mut().for_each(Buffer::touch);
    lane.wait_at_gate();
    while pass(lane, work, spec, &mut arrays) {}
    Ok(LaneEnd::default())
}

/// Goes over the arrays once; returns false when the run has ended.
pub fn pass(lane: &mut Lane, work: Loop, spec: Spec, arrays: &mut [Buffer]) -> bool {
    let length = arrays.first().map_or(0, |array| array.bytes().len());
    let mut starts = [std::ptr::null_mut(); 3];
    for (start, array) in starts.iter_mut().zip(arrays) {
        *start = array.bytes_mut().as_mut_ptr();
    }
    for at in (0..length).step_by(spec.block) {
        if lane.phase() == Phase::Stop {
            return false;
        }
        let block = spec.block.min(length - at);
        // SAFETY: `at + block` is within every array; arrays are mappings of their own, and the
        // loop was chosen for this processor.
        unsafe {
            work(starts.map(|start| if start.is_null() { start } else { start.add(at) }), block)
        };
        lane.tally.moved(0, spec.counted * block as u64);
    }
    lane.tally.moved(1, 0);
    true
}

/// Tests of loops, for the kernels.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// Runs every width of a loop over one block of three arrays that hold different bytes, and
    /// hands each result to `look`.
    pub fn each_width(spec: Spec, look: impl Fn(&str, [&[u8]; 3])) {
        let mut widths = 0;
        for vector in Vector::all() {
            let Some(work) = (spec.of_width)(vector) else { continue };
            let mut arrays: Vec<Buffer> = (0..3)
                .map(|array| {
                    let mut buffer = Buffer::new(8192).expect("buffer");
                    buffer
                        .bytes_mut()
                        .iter_mut()
                        .enumerate()
                        .for_each(|(at, byte)| *byte = (at * 7 + array * 31) as u8);
                    buffer
                })
                .collect();
            let starts: Vec<*mut u8> =
                arrays.iter_mut().map(|array| array.bytes_mut().as_mut_ptr()).collect();
            // SAFETY: three buffers of 8192 bytes, and a width that the processor has.
            unsafe { work([starts[0], starts[1], starts[2]], 8192) };
            look(vector.name(), [arrays[0].bytes(), arrays[1].bytes(), arrays[2].bytes()]);
            widths += 1;
        }
        assert!(widths > 0, "a kernel without any loop");
    }
}
