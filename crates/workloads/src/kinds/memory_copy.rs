//! `memory-copy`: every thread copies one half of its share to the other, pass after pass.
//!
//! Plain vector loads and stores, not the C library's memcpy, which turns to non-temporal stores
//! above a size of its own choice (`memory-memcpy` measures that). Bytes counted: bytes read plus
//! bytes written. Bytes that cross the memory bus: half as many again, since a plain store first
//! fetches its cache line.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::Copy),
    says: "memory copy bandwidth of a set of CPUs; counts bytes read plus bytes written",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 2, counted: 2, bus_percent: Some(150), block: BLOCK, of_width };

fn of_width(vector: Vector) -> Option<Loop> {
    Some(match vector {
        Vector::Portable => portable,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx2 => avx2::<false>,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx512 => avx512::<false>,
        #[cfg(target_arch = "aarch64")]
        Vector::Neon => neon::<false>,
        _ => return None,
    })
}

/// 512 bytes a call: the C library does not go non-temporal at that size.
unsafe fn portable([from, to, _]: [*mut u8; 3], length: usize) {
    for at in (0..length).step_by(512) {
        // SAFETY: the caller's.
        unsafe { std::hint::black_box(from.add(at)).copy_to_nonoverlapping(to.add(at), 512) };
    }
}

/// Pairs of 16 bytes, with stores that go past the caches (`PAST`: STNP) or plain ones (STP).
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn neon<const PAST: bool>([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::{aarch64::vld1q_u8, asm};
    for at in (0..length).step_by(32) {
        // SAFETY: the caller's; 32 bytes are two vectors of 16. The stores write those bytes only.
        unsafe {
            let (low, high) = (vld1q_u8(from.add(at)), vld1q_u8(from.add(at + 16)));
            if PAST {
                asm!("stnp {l:q}, {h:q}, [{to}]", l = in(vreg) low, h = in(vreg) high,
                    to = in(reg) to.add(at), options(nostack, preserves_flags))
            } else {
                asm!("stp {l:q}, {h:q}, [{to}]", l = in(vreg) low, h = in(vreg) high,
                    to = in(reg) to.add(at), options(nostack, preserves_flags))
            }
        }
    }
}

/// With stores that go past the caches (`PAST`) or plain ones. Intrinsics, because the compiler
/// would turn a plain loop into a call of memcpy.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2<const PAST: bool>([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_load_si256, _mm256_store_si256, _mm256_stream_si256,
    };
    let put = |to: *mut __m256i, value: __m256i| match PAST {
        // SAFETY: the caller's; aligned.
        true => unsafe { _mm256_stream_si256(to, value) },
        // SAFETY: as above.
        false => unsafe { _mm256_store_si256(to, value) },
    };
    for at in (0..length).step_by(128) {
        // SAFETY: the caller's; 128 bytes are four vectors of 32, aligned.
        unsafe {
            let from = from.add(at).cast::<__m256i>();
            let to = to.add(at).cast::<__m256i>();
            let four = [0, 1, 2, 3].map(|i| _mm256_load_si256(from.add(i)));
            put(to, four[0]);
            put(to.add(1), four[1]);
            put(to.add(2), four[2]);
            put(to.add(3), four[3]);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    if PAST {
        _mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512<const PAST: bool>([from, to, _]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        __m512i, _mm_sfence, _mm512_load_si512, _mm512_store_si512, _mm512_stream_si512,
    };
    let put = |to: *mut __m512i, value: __m512i| match PAST {
        // SAFETY: the caller's; aligned.
        true => unsafe { _mm512_stream_si512(to, value) },
        // SAFETY: as above.
        false => unsafe { _mm512_store_si512(to, value) },
    };
    for at in (0..length).step_by(256) {
        // SAFETY: the caller's; 256 bytes are four vectors of 64, aligned.
        unsafe {
            let from = from.add(at).cast::<__m512i>();
            let to = to.add(at).cast::<__m512i>();
            let four = [0, 1, 2, 3].map(|i| _mm512_load_si512(from.add(i)));
            put(to, four[0]);
            put(to.add(1), four[1]);
            put(to.add(2), four[2]);
            put(to.add(3), four[3]);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    if PAST {
        _mm_sfence();
    }
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
