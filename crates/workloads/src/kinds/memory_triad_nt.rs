//! `memory-triad-nt`: as `memory-triad`, with stores that go past the caches.
//!
//! Bytes counted: bytes read plus bytes written, 24 a number. Bytes that cross the memory bus: the
//! same, since no line is fetched to be overwritten. Built for AVX2, AVX-512 and NEON.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::TriadNt),
    says: "bandwidth of a = b + 3 c with non-temporal stores; counts bytes read plus bytes written",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 3, counted: 3, bus_percent: Some(100), block: BLOCK, of_width };

fn of_width(vector: Vector) -> Option<Loop> {
    Some(match vector {
        #[cfg(target_arch = "x86_64")]
        Vector::Avx2 => avx2,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx512 => avx512,
        #[cfg(target_arch = "aarch64")]
        Vector::Neon => neon,
        _ => return None,
    })
}

/// Pairs of two numbers, stored past the caches (STNP).
#[cfg(target_arch = "aarch64")]
unsafe fn neon([a, b, c]: [*mut u8; 3], length: usize) {
    use std::arch::aarch64::{vaddq_f64, vld1q_f64, vmulq_n_f64};
    use std::arch::asm;
    for at in (0..length).step_by(32) {
        // SAFETY: the caller's; 32 bytes are two vectors of 16. The stores write those bytes only.
        unsafe {
            let sum = |at: usize| {
                let (b, c) = (vld1q_f64(b.add(at).cast()), vld1q_f64(c.add(at).cast()));
                vaddq_f64(b, vmulq_n_f64(c, SCALE))
            };
            let (low, high) = (sum(at), sum(at + 16));
            asm!("stnp {l:q}, {h:q}, [{to}]", l = in(vreg) low, h = in(vreg) high,
                to = in(reg) a.add(at), options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2([a, b, c]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        _mm_sfence, _mm256_add_pd, _mm256_load_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_stream_pd,
    };
    let scale = _mm256_set1_pd(SCALE);
    // A whole line a turn: both halves are loaded before either is stored, so that the line's
    // write-combining buffer fills at once.
    for at in (0..length).step_by(64) {
        // SAFETY: the caller's; a line is two aligned vectors of 32 bytes.
        unsafe {
            let sum = |at: usize| {
                let (b, c) = (_mm256_load_pd(b.add(at).cast()), _mm256_load_pd(c.add(at).cast()));
                _mm256_add_pd(b, _mm256_mul_pd(scale, c))
            };
            let (low, high) = (sum(at), sum(at + 32));
            _mm256_stream_pd(a.add(at).cast(), low);
            _mm256_stream_pd(a.add(at + 32).cast(), high);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    _mm_sfence();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512([a, b, c]: [*mut u8; 3], length: usize) {
    use std::arch::x86_64::{
        _mm_sfence, _mm512_add_pd, _mm512_load_pd, _mm512_mul_pd, _mm512_set1_pd, _mm512_stream_pd,
    };
    let scale = _mm512_set1_pd(SCALE);
    for at in (0..length).step_by(64) {
        // SAFETY: the caller's; aligned vectors of 64 bytes.
        unsafe {
            let (b, c) = (_mm512_load_pd(b.add(at).cast()), _mm512_load_pd(c.add(at).cast()));
            let sum = _mm512_add_pd(b, _mm512_mul_pd(scale, c));
            _mm512_stream_pd(a.add(at).cast(), sum);
        }
    }
    // Non-temporal stores are weakly ordered: the block ends when they are out.
    _mm_sfence();
}

/// The factor, as in STREAM.
const SCALE: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::memory::tests::each_width;

    #[test]
    fn every_number_is_the_sum_whatever_the_width() {
        // The test's buffers hold any bytes; as numbers they give the same sum, bit by bit.
        each_width(SPEC, |width, [a, b, c]| {
            let number = |bytes: &[u8], at: usize| {
                f64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
            };
            for at in (0..a.len()).step_by(8) {
                let want = number(b, at) + SCALE * number(c, at);
                let have = number(a, at);
                assert!(have == want || have.is_nan() && want.is_nan(), "{width} at {at}");
            }
        });
    }
}
