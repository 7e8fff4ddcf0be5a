//! `memory-read`: every thread reads its share of the working set, pass after pass.
//!
//! Bytes counted: bytes read. Bytes that cross the memory bus: the same, once the working set is
//! larger than the caches.

use crate::harness::buffer::Buffer;
use crate::harness::{Crew, CrewPlan, Lane, LaneEnd, Phase};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_facts::Bytes;
use narrows_facts::load::{Effective, Job};
use std::hint::black_box;
use std::net::SocketAddr;

pub static KIND: Kind = Kind {
    name: "memory-read",
    says: "memory read bandwidth of a set of CPUs; counts bytes read",
    network: false,
    message_bytes_min: 0,
    prepare: |job| Ok(Box::new(MemoryKernel { job: job.clone(), pass: read_pass, arrays: 1 })),
};

/// Bytes between two looks at the phase.
const BLOCK: usize = 1 << 18;

/// Goes over the buffers once; returns false when the run has ended.
type Pass = fn(&mut Lane, &mut [Buffer]) -> bool;

/// A kernel over one or more arrays of equal size.
pub(super) struct MemoryKernel {
    pub job: Job,
    pub pass: Pass,
    pub arrays: u64,
}

impl Prepared for MemoryKernel {
    fn ports(&self) -> Vec<u16> {
        Vec::new()
    }

    fn arm(self: Box<Self>, _: &[SocketAddr], meter: ThreadMeter) -> Result<Crew, LoadError> {
        let params = &self.job.params;
        let threads = params.streams;
        let share = params.working_set_bytes.0 / u64::from(threads) / self.arrays;
        let share = share.max(BLOCK as u64) / BLOCK as u64 * BLOCK as u64;
        let (pass, arrays) = (self.pass, self.arrays);
        let lane = || -> crate::harness::LaneWork {
            Box::new(move |lane| work(lane, pass, arrays, share as usize))
        };
        Crew::muster(CrewPlan {
            lanes: (0..threads).map(|_| lane()).collect(),
            sockets: Vec::new(),
            effective: Effective {
                buffer_span_bytes: Bytes(share * arrays * u64::from(threads)),
                variant: Some(variant().to_owned()),
                // A copy reads and writes: two bytes counted, three moved (the write allocates).
                bus_percent_of_counted: Some(if arrays == 2 { 150 } else { 100 }),
                ..Default::default()
            },
            cpus: self.job.cpus.clone(),
            meter,
        })
    }
}

fn work(lane: &mut Lane, pass: Pass, arrays: u64, share: usize) -> Result<LaneEnd, LoadError> {
    let mut buffers = (0..arrays).map(|_| Buffer::new(share)).collect::<Result<Vec<_>, _>>()?;
    buffers.iter_mut().for_each(Buffer::touch);
    lane.wait_at_gate();
    while pass(lane, &mut buffers) {}
    Ok(LaneEnd::default())
}

/// How the loops are built for this processor.
pub(super) fn variant() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    "portable"
}

fn read_pass(lane: &mut Lane, buffers: &mut [Buffer]) -> bool {
    for block in buffers[0].bytes().chunks_exact(BLOCK) {
        if lane.phase() == Phase::Stop {
            return false;
        }
        black_box(sum(block));
        lane.tally.moved(0, BLOCK as u64);
    }
    lane.tally.moved(1, 0);
    true
}

fn sum(block: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { sum_avx2(block) };
    }
    sum_words(block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(block: &[u8]) -> u64 {
    sum_words(block)
}

/// Adds up 128 bytes a step in sixteen independent sums, which compiles to vector loads.
#[inline(always)]
fn sum_words(block: &[u8]) -> u64 {
    let mut sums = [0u64; 16];
    for step in block.as_chunks::<128>().0 {
        for (sum, word) in sums.iter_mut().zip(step.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_block_is_read() {
        let mut block = vec![0u8; 4096];
        let none = sum(&block);
        for at in (0..block.len()).step_by(61) {
            block[at] = 1;
            assert_ne!(sum(&block), none, "byte {at}");
            block[at] = 0;
        }
    }
}
