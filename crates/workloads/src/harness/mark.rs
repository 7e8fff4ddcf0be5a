//! Marks along the time line, for a machine that is emulated or simulated: instructions that do
//! nothing and that no compiler emits, which a simulator finds where it translates them. Those at
//! the window's edges stand beside the readings of the tallies, so that what is counted between two
//! marks belongs to the payload between two readings. They cost some nanoseconds a run.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The load begins, before the warm-up.
    Begins,
    /// The tallies are about to be read for the first time.
    Opens,
    /// They are about to be read for the last time.
    Closes,
}

/// Executes a mark; at the window's edges an end that sends has marks of its own.
/// `lab/traffic/plugin.c` looks for the same instructions.
#[inline]
pub(super) fn mark(mark: Mark, sends: bool) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each exchanges a register with itself.
    unsafe {
        use std::arch::asm;
        match (mark, sends) {
            (Mark::Begins, _) => asm!("xchg r9w, r9w", options(nomem, nostack)),
            (Mark::Opens, false) => asm!("xchg r11w, r11w", options(nomem, nostack)),
            (Mark::Closes, false) => asm!("xchg r12w, r12w", options(nomem, nostack)),
            (Mark::Opens, true) => asm!("xchg r13w, r13w", options(nomem, nostack)),
            (Mark::Closes, true) => asm!("xchg r14w, r14w", options(nomem, nostack)),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (mark, sends);
}
