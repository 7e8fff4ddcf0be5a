//! `memory-read-random`: every thread reads one word of each cache line of its share, in an order
//! without a pattern that hardware could fetch ahead of, and without waiting for the line before.
//!
//! Bytes counted: 64 for each line. What crosses the memory bus is not known: some processors fetch
//! lines in pairs.

use crate::Kind;
use crate::harness::memory::{Loop, MemoryKernel, Spec};
use crate::harness::vector::Vector;
use narrows_model::workload::{Kernel, Workload};
use std::hint::black_box;

pub static KIND: Kind = Kind {
    workload: Workload::Memory(Kernel::ReadRandom),
    says: "memory read bandwidth of a set of CPUs, lines in random order; counts bytes of lines",
    prepare: |job| Ok(MemoryKernel::prepare(job, SPEC)),
};

/// Lines are in random order within a block: beyond what the second-level cache and the TLB hold.
const BLOCK: usize = 1 << 24;
/// Bytes of a cache line.
const LINE: usize = 64;

const SPEC: Spec = Spec { arrays: 1, counted: 1, bus_percent: None, block: BLOCK, of_width };

/// Words are loaded one by one: there is one loop for all widths.
fn of_width(_: Vector) -> Option<Loop> {
    Some(portable)
}

unsafe fn portable([from, ..]: [*mut u8; 3], length: usize) {
    // SAFETY: the caller's.
    black_box(unsafe { sum(from, length) });
}

unsafe fn sum(from: *const u8, length: usize) -> u64 {
    order(length / LINE).fold(0_u64, |sum, line| {
        // SAFETY: the line is below the caller's length, and begins where a word may.
        sum.wrapping_add(unsafe { from.add(line * LINE).cast::<u64>().read() })
    })
}

/// Each number below `lines` once: a linear congruential generator that visits every number below
/// the next power of two (Hull and Dobell: an odd increment, a multiplier of `4 k + 1`), less those
/// beyond the end. Its lower bits choose the region and the upper ones the line in it, so that two
/// reads in a row are far apart.
fn order(lines: usize) -> impl Iterator<Item = usize> {
    const MULTIPLIER: usize = 0x9e37_79b1_85eb_ca6d_u64 as usize;
    const INCREMENT: usize = 0x2545_f491_4f6c_dd1d_u64 as usize;
    let all = lines.next_power_of_two();
    let half = all.trailing_zeros() / 2;
    let turned = move |at: usize| (at >> half | at << (all.trailing_zeros() - half)) & (all - 1);
    let next =
        move |at: &usize| Some(at.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & (all - 1));
    std::iter::successors(Some(0), next).take(all).map(turned).filter(move |line| *line < lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_once_and_no_stride_repeats() {
        for lines in [1, 2, 3, 64, 100, 4096, 1 << 18] {
            let all: Vec<usize> = order(lines).collect();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..lines), "{lines} lines");
        }
        let all: Vec<usize> = order(1 << 18).collect();
        let steps = all.windows(2).map(|two| two[1].wrapping_sub(two[0]));
        let mut counts = std::collections::HashMap::new();
        steps.for_each(|step| *counts.entry(step).or_insert(0_u32) += 1);
        let most = counts.values().max().copied().unwrap_or(0);
        assert!(most < (1 << 18) / 100, "one step makes {most} of {}", 1 << 18);
        // All but one step in a hundred leave the page.
        let near = all.windows(2).filter(|two| two[0].abs_diff(two[1]) < 64).count();
        assert!(near < (1 << 18) / 100, "{near} steps stay in a page");
    }

    #[test]
    fn one_word_of_each_line_is_read() {
        let mut block = vec![0u64; 512];
        for at in 0..block.len() {
            block[at] = 1;
            // SAFETY: the vector's bytes.
            let all = unsafe { sum(block.as_ptr().cast(), 4096) };
            assert_eq!(all, u64::from(at % 8 == 0), "word {at}");
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
