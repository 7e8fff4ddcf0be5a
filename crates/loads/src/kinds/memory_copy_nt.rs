//! `memory-copy-nt`: as `memory-copy`, with stores that go past the caches.
//!
//! Bytes counted: bytes read plus bytes written. Bytes that cross the memory bus: the same, since
//! no line is fetched to be overwritten.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;

pub static KIND: Kind = Kind {
    name: "memory-copy-nt",
    says: "memory copy bandwidth with non-temporal stores; counts bytes read plus bytes written",
    network: false,
    message_bytes_min: 0,
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 2, counted: 2, bus_percent: Some(100), block: BLOCK, of_width };

fn of_width(vector: Vector) -> Option<Loop> {
    Some(match vector {
        #[cfg(target_arch = "x86_64")]
        Vector::Portable => portable,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx2 => avx2,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx512 => avx512,
        #[cfg(not(target_arch = "x86_64"))]
        _ => return None,
    })
}

/// Words of eight bytes where the architecture can store them past the caches.
#[cfg(target_arch = "x86_64")]
unsafe fn portable([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
    for at in (0..length).step_by(8) {
        // SAFETY: the caller's; SSE2 is part of the architecture.
        unsafe { _mm_stream_si64(to.add(at).cast(), *from.add(at).cast::<i64>()) };
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    // SAFETY: SSE is part of the architecture.
    unsafe { _mm_sfence() };
}

/// Intrinsics, because the compiler would turn a plain loop into a call of memcpy.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_load_si256, _mm256_stream_si256};
    for at in (0..length).step_by(128) {
        // SAFETY: the caller's; 128 bytes are four vectors of 32, aligned.
        unsafe {
            let from = from.add(at).cast::<__m256i>();
            let to = to.add(at).cast::<__m256i>();
            let four = [0, 1, 2, 3].map(|i| _mm256_load_si256(from.add(i)));
            _mm256_stream_si256(to, four[0]);
            _mm256_stream_si256(to.add(1), four[1]);
            _mm256_stream_si256(to.add(2), four[2]);
            _mm256_stream_si256(to.add(3), four[3]);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    _mm_sfence();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{__m512i, _mm_sfence, _mm512_load_si512, _mm512_stream_si512};
    for at in (0..length).step_by(256) {
        // SAFETY: the caller's; 256 bytes are four vectors of 64, aligned.
        unsafe {
            let from = from.add(at).cast::<__m512i>();
            let to = to.add(at).cast::<__m512i>();
            let four = [0, 1, 2, 3].map(|i| _mm512_load_si512(from.add(i)));
            _mm512_stream_si512(to, four[0]);
            _mm512_stream_si512(to.add(1), four[1]);
            _mm512_stream_si512(to.add(2), four[2]);
            _mm512_stream_si512(to.add(3), four[3]);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    _mm_sfence();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::memory::tests::each_width;

    #[test]
    fn every_byte_is_copied_whatever_the_width() {
        each_width(SPEC, |width, [from, to, _]| assert_eq!(from, to, "{width}"));
    }
}
