//! `memory-triad`: `a = b + 3 c` over three arrays of numbers, the last kernel of STREAM.
//!
//! Bytes counted: bytes read plus bytes written, 24 a number, as STREAM counts. Bytes that cross
//! the memory bus: a third more, since a plain store first fetches its cache line.

use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::Triad),
    says: "bandwidth of a = b + 3 c; counts bytes read plus bytes written, as STREAM does",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 3, counted: 3, bus_percent: Some(133), block: BLOCK, of_width };

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

unsafe fn portable(arrays: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    unsafe { triad(arrays, length) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(arrays: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    unsafe { triad(arrays, length) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(arrays: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    unsafe { triad(arrays, length) };
}

/// `a = b + 3 c`, which compiles to vector arithmetic of the width that the caller is built for.
#[inline(always)]
unsafe fn triad([a, b, c]: [*mut u8; 3], length: usize) {
    let count = length / 8;
    // SAFETY: the caller gives three blocks of the length that do not overlap, aligned to a page.
    let (a, b, c) = unsafe {
        (
            std::slice::from_raw_parts_mut(a.cast::<f64>(), count),
            std::slice::from_raw_parts(b.cast::<f64>(), count),
            std::slice::from_raw_parts(c.cast::<f64>(), count),
        )
    };
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = *b + SCALE * *c;
    }
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
