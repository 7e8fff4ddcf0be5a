//! `memory-memcpy`: the C library's memcpy, in calls of up to 16 MiB.
//!
//! What numademo measures. The library chooses plain or non-temporal stores by size and processor,
//! so how many bytes cross the memory bus per byte counted is not known: between one and one and a
//! half. Bytes counted: bytes read plus bytes written.

use crate::Kind;
use crate::harness::memory::{Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::Memcpy),
    says: "bandwidth of the C library's memcpy; counts bytes read plus bytes written",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

const SPEC: Spec = Spec { arrays: 2, counted: 2, bus_percent: None, block: 16 << 20, of_width };

/// The library chooses the width itself.
fn of_width(_: Vector) -> Option<Loop> {
    Some(memcpy)
}

unsafe fn memcpy([from, to, _]: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    unsafe { libc::memcpy(to.cast(), std::hint::black_box(from).cast(), length) };
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
