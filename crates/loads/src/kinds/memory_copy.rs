//! `memory-copy`: every thread copies one half of its share to the other, pass after pass.
//!
//! Plain vector loads and stores, not the C library's memcpy, which turns to non-temporal stores
//! above a size of its own choice. Bytes counted: bytes read plus bytes written. Bytes that cross
//! the memory bus: half as many again, since a plain store first fetches its cache line.

use super::memory_read::MemoryKernel;
use crate::Kind;
use crate::harness::buffer::Buffer;
use crate::harness::{Lane, Phase};

pub static KIND: Kind = Kind {
    name: "memory-copy",
    says: "memory copy bandwidth of a set of CPUs; counts bytes read plus bytes written",
    network: false,
    message_bytes_min: 0,
    prepare: |job| Ok(Box::new(MemoryKernel { job: job.clone(), pass: copy_pass, arrays: 2 })),
};

/// Bytes between two looks at the phase.
const BLOCK: usize = 1 << 18;

fn copy_pass(lane: &mut Lane, buffers: &mut [Buffer]) -> bool {
    let [from, to] = buffers else { return false };
    let blocks = from.bytes().chunks_exact(BLOCK).zip(to.bytes_mut().chunks_exact_mut(BLOCK));
    for (from, to) in blocks {
        if lane.phase() == Phase::Stop {
            return false;
        }
        copy(from, to);
        lane.tally.moved(0, 2 * BLOCK as u64);
    }
    lane.tally.moved(1, 0);
    true
}

/// Copies; both slices have the same length, a multiple of 128 bytes.
fn copy(from: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { copy_avx2(from, to) };
    }
    copy_words(from, to);
}

/// Intrinsics, because the compiler would turn a plain loop into a call of memcpy.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn copy_avx2(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    let steps = from.as_chunks::<128>().0.iter().zip(to.as_chunks_mut::<128>().0);
    for (from, to) in steps {
        let from = from.as_ptr().cast::<__m256i>();
        let to = to.as_mut_ptr().cast::<__m256i>();
        // SAFETY: both point to 128 bytes, four vectors of 32; unaligned access is allowed.
        unsafe {
            let a = _mm256_loadu_si256(from);
            let b = _mm256_loadu_si256(from.add(1));
            let c = _mm256_loadu_si256(from.add(2));
            let d = _mm256_loadu_si256(from.add(3));
            _mm256_storeu_si256(to, a);
            _mm256_storeu_si256(to.add(1), b);
            _mm256_storeu_si256(to.add(2), c);
            _mm256_storeu_si256(to.add(3), d);
        }
    }
}

/// 512 bytes a call: the C library does not go non-temporal at that size.
fn copy_words(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.chunks(512).zip(to.chunks_mut(512)) {
        to.copy_from_slice(std::hint::black_box(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_copying_copy_every_byte() {
        let from: Vec<u8> = (0..4096u32).map(|i| (i * 31 % 251) as u8).collect();
        for way in [copy as fn(&[u8], &mut [u8]), copy_words] {
            let mut to = vec![0; from.len()];
            way(&from, &mut to);
            assert_eq!(from, to);
        }
    }
}
