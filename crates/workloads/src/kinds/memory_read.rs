//! `memory-read`: every thread reads its share of the working set, pass after pass.
//!
//! Bytes counted: bytes read. Bytes that cross the memory bus: the same, once the working set is
//! larger than the caches.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};
use std::hint::black_box;

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::Read),
    says: "memory read bandwidth of a set of CPUs; counts bytes read",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

/// One array; every byte of it is read.
pub(super) const SPEC: Spec =
    Spec { arrays: 1, counted: 1, bus_percent: Some(100), block: BLOCK, of_width };

fn of_width(vector: Vector) -> Option<Loop> {
    Some(match vector {
        Vector::Portable => portable,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx2 => avx2,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx512 => avx512,
        #[cfg(target_arch = "aarch64")]
        Vector::Neon => portable,
        _ => return None,
    })
}

unsafe fn portable([from, ..]: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    black_box(unsafe { sum(from, length) });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2([from, ..]: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    black_box(unsafe { sum(from, length) });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512([from, ..]: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    black_box(unsafe { sum(from, length) });
}

/// Adds up the words, which compiles to vector loads of the width that the caller is built for. A
/// plain loop: unrolled by hand it was slower on the machine at hand, and for AVX-512 the compiler
/// made gathers of it.
#[inline(always)]
unsafe fn sum(from: *const u8, length: usize) -> u64 {
    // SAFETY: the caller gives a pointer valid for the length, aligned to a page.
    let words = unsafe { std::slice::from_raw_parts(from.cast::<u64>(), length / 8) };
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_block_is_read() {
        let mut block = vec![0u64; 512];
        for at in 0..block.len() {
            block[at] = 1 << (at % 64);
            // SAFETY: the vector's bytes.
            let all = unsafe { sum(block.as_ptr().cast(), 4096) };
            assert_eq!(all, block[at], "word {at}");
            block[at] = 0;
        }
    }

    #[test]
    fn reading_changes_nothing() {
        crate::harness::memory::tests::each_width(SPEC, |width, [from, ..]| {
            assert!(from.iter().enumerate().all(|(at, byte)| *byte == (at * 7) as u8), "{width}");
        });
    }
}
