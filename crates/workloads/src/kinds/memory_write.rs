//! `memory-write`: every thread writes its share of the working set, pass after pass.
//!
//! Bytes counted: bytes written. Bytes that cross the memory bus: twice as many, since a plain
//! store first fetches its cache line.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::Write),
    says: "memory write bandwidth of a set of CPUs; counts bytes written",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 1, counted: 1, bus_percent: Some(200), block: BLOCK, of_width };

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
unsafe fn portable([to, ..]: [*mut u8; 3], length: usize) {
    for at in (0..length).step_by(512) {
        // SAFETY: the caller's.
        unsafe { std::hint::black_box(to.add(at)).write_bytes(VALUE, 512) };
    }
}

/// Pairs of 16 bytes, with stores that go past the caches (`PAST`: STNP) or plain ones (STP).
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn neon<const PAST: bool>([to, ..]: [*mut u8; 3], length: usize) {
    use std::arch::{aarch64::vdupq_n_u8, asm};
    // SAFETY: NEON is part of the architecture.
    let value = unsafe { vdupq_n_u8(VALUE) };
    for at in (0..length).step_by(32) {
        // SAFETY: the caller's; 32 bytes are two vectors of 16. The stores write those bytes only.
        unsafe {
            if PAST {
                asm!("stnp {v:q}, {v:q}, [{to}]", v = in(vreg) value,
                    to = in(reg) to.add(at), options(nostack, preserves_flags))
            } else {
                asm!("stp {v:q}, {v:q}, [{to}]", v = in(vreg) value,
                    to = in(reg) to.add(at), options(nostack, preserves_flags))
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2<const PAST: bool>([to, ..]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_set1_epi8, _mm256_store_si256, _mm256_stream_si256,
    };
    let value = _mm256_set1_epi8(VALUE as i8);
    let put = |to: *mut __m256i, value: __m256i| match PAST {
        // SAFETY: the caller's; aligned.
        true => unsafe { _mm256_stream_si256(to, value) },
        // SAFETY: as above.
        false => unsafe { _mm256_store_si256(to, value) },
    };
    for at in (0..length).step_by(128) {
        // SAFETY: the caller's; 128 bytes are four vectors of 32, aligned.
        unsafe {
            let to = to.add(at).cast::<__m256i>();
            put(to, value);
            put(to.add(1), value);
            put(to.add(2), value);
            put(to.add(3), value);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    if PAST {
        _mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512<const PAST: bool>([to, ..]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        __m512i, _mm_sfence, _mm512_set1_epi64, _mm512_store_si512, _mm512_stream_si512,
    };
    let value = _mm512_set1_epi64(i64::from_ne_bytes([VALUE; 8]));
    let put = |to: *mut __m512i, value: __m512i| match PAST {
        // SAFETY: the caller's; aligned.
        true => unsafe { _mm512_stream_si512(to, value) },
        // SAFETY: as above.
        false => unsafe { _mm512_store_si512(to, value) },
    };
    for at in (0..length).step_by(256) {
        // SAFETY: the caller's; 256 bytes are four vectors of 64, aligned.
        unsafe {
            let to = to.add(at).cast::<__m512i>();
            put(to, value);
            put(to.add(1), value);
            put(to.add(2), value);
            put(to.add(3), value);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    if PAST {
        _mm_sfence();
    }
}

/// The byte that is written.
pub(super) const VALUE: u8 = 0x5a;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::memory::tests::each_width;

    #[test]
    fn every_byte_is_written_whatever_the_width() {
        each_width(SPEC, |width, [to, ..]| {
            assert!(to.iter().all(|byte| *byte == VALUE), "{width}");
        });
    }
}
