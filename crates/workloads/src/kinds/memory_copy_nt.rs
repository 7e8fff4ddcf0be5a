//! `memory-copy-nt`: as `memory-copy`, with stores that go past the caches.
//!
//! Bytes counted: bytes read plus bytes written. Bytes that cross the memory bus: the same, since
//! no line is fetched to be overwritten.

use super::memory_copy;
use crate::Kind;
use crate::harness::memory::{BLOCK, Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::CopyNt),
    says: "memory copy bandwidth with non-temporal stores; counts bytes read plus bytes written",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 2, counted: 2, bus_percent: Some(100), block: BLOCK, of_width };

fn of_width(vector: Vector) -> Option<Loop> {
    Some(match vector {
        #[cfg(target_arch = "x86_64")]
        Vector::Portable => portable,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx2 => memory_copy::avx2::<true>,
        #[cfg(target_arch = "x86_64")]
        Vector::Avx512 => memory_copy::avx512::<true>,
        #[cfg(target_arch = "aarch64")]
        Vector::Neon => memory_copy::neon::<true>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::memory::tests::each_width;

    #[test]
    fn every_byte_is_copied_whatever_the_width() {
        each_width(SPEC, |width, [from, to, _]| assert_eq!(from, to, "{width}"));
    }
}
