//! Counters that one thread writes and the timekeeper reads, and the phase that all threads watch.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Where a run is on its time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Threads wait for the signal to go.
    Gate,
    /// Running, not counted.
    Warmup,
    /// The window is open: what runs is counted.
    Window,
    /// Running, not counted any more.
    Cooldown,
    /// Threads leave their loops.
    Stop,
}

/// Readings of a tally in search of one between two messages; what counts one takes nanoseconds.
const READINGS: usize = 10_000;
/// Of these so many without letting others run.
const AT_ONCE: usize = 9_000;
/// How long others run before the next one.
const ASIDE: Duration = Duration::from_micros(50);
const PHASES: [Phase; 5] =
    [Phase::Gate, Phase::Warmup, Phase::Window, Phase::Cooldown, Phase::Stop];

/// The phase, shared by the timekeeper (writes) and the threads (read).
pub(super) struct Clockwork {
    phase: AtomicU8,
    gate: Mutex<()>,
    opened: Condvar,
}

impl Clockwork {
    pub(super) fn new() -> Self {
        Self { phase: AtomicU8::new(0), gate: Mutex::new(()), opened: Condvar::new() }
    }
    #[inline]
    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Relaxed))]
    }
    pub(super) fn set(&self, phase: Phase) {
        let _held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.phase.store(phase as u8, Relaxed);
        self.opened.notify_all();
    }
    /// Blocks until the phase has left the gate.
    pub(super) fn wait(&self) {
        let mut held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while self.phase() == Phase::Gate {
            held = self.opened.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What one thread has moved so far. Written by that thread alone, on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub struct Tally {
    /// Messages whose counting has begun: a reader who finds as many counted has read no halves.
    begun: AtomicU64,
    bytes: AtomicU64,
    messages: AtomicU64,
    expected: AtomicU64,
    reordered: AtomicU64,
    refused: AtomicU64,
    calls: AtomicU64,
    duplicates: AtomicU64,
    jitter_ns: AtomicU64,
}

/// A reading of a [`Tally`].
#[derive(Clone, Copy, Default)]
pub(crate) struct TallyNow {
    pub bytes: u64,
    pub messages: u64,
    pub expected: u64,
    pub reordered: u64,
    pub refused: u64,
    pub calls: u64,
    pub duplicates: u64,
    pub jitter_ns: u64,
}

/// Adds without a locked instruction: there is one writer.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Tally {
    /// Counts messages and their payload.
    #[inline]
    pub fn moved(&self, messages: u64, bytes: u64) {
        let counted = self.messages.load(Relaxed).wrapping_add(messages);
        self.begun.store(counted, Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Release);
        self.messages.store(counted, Release);
    }
    /// Messages, and the bytes of just these: read again while one is being counted.
    fn whole(&self) -> (u64, u64) {
        let mut read = (0, 0);
        for reading in 0..READINGS {
            read = (self.messages.load(Acquire), self.bytes.load(Acquire));
            if self.begun.load(Relaxed) == read.0 {
                break;
            }
            // Whoever counts may have been put aside in the midst of it, by others than us.
            if reading >= AT_ONCE {
                thread::sleep(ASIDE);
            }
        }
        read
    }
    /// Counts a datagram that came after a later one.
    #[inline]
    pub fn reordered(&self) {
        add(&self.reordered, 1);
    }
    /// Counts a send that the own host refused.
    #[inline]
    pub fn refused(&self) {
        add(&self.refused, 1);
    }
    /// Counts a system call that sends or receives.
    #[inline]
    pub fn called(&self) {
        add(&self.calls, 1);
    }
    /// Counts a datagram that came before.
    #[inline]
    pub fn duplicate(&self) {
        add(&self.duplicates, 1);
    }
    /// States the jitter so far.
    #[inline]
    pub fn jitter(&self, ns: u64) {
        self.jitter_ns.store(ns, Relaxed);
    }
    /// States the sequence number that should come next.
    #[inline]
    pub fn expects(&self, sequence: u64) {
        self.expected.store(sequence, Relaxed);
    }
    pub(crate) fn now(&self) -> TallyNow {
        let (messages, bytes) = self.whole();
        TallyNow {
            bytes,
            messages,
            expected: self.expected.load(Relaxed),
            reordered: self.reordered.load(Relaxed),
            refused: self.refused.load(Relaxed),
            calls: self.calls.load(Relaxed),
            duplicates: self.duplicates.load(Relaxed),
            jitter_ns: self.jitter_ns.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_tally_counts_each_thing_apart() {
        let tally = Tally::default();
        tally.moved(2, 300);
        tally.moved(1, 50);
        (0..3).for_each(|_| tally.reordered());
        (0..4).for_each(|_| tally.refused());
        (0..5).for_each(|_| tally.called());
        (0..6).for_each(|_| tally.duplicate());
        tally.jitter(70);
        tally.jitter(7);
        tally.expects(80);
        tally.expects(8);
        let now = tally.now();
        assert_eq!((now.bytes, now.messages, now.reordered, now.refused), (350, 3, 3, 4));
        assert_eq!((now.calls, now.duplicates, now.jitter_ns, now.expected), (5, 6, 7, 8));
    }

    #[test]
    fn a_reading_has_the_bytes_of_its_messages() {
        let (tally, stop) = (Arc::new(Tally::default()), Arc::new(AtomicU64::new(0)));
        let (counts, told) = (Arc::clone(&tally), Arc::clone(&stop));
        let writer = thread::spawn(move || {
            while told.load(Relaxed) == 0 {
                counts.moved(1, 7);
            }
        });
        while tally.now().messages == 0 {
            thread::yield_now();
        }
        let mut read = (0..2_000_000).map(|_| tally.now());
        let torn = read.find(|now| now.bytes != 7 * now.messages);
        stop.store(1, Relaxed);
        writer.join().expect("counted");
        assert!(torn.is_none(), "{:?}", torn.map(|now| (now.messages, now.bytes)));
    }

    #[test]
    fn phases_are_told_to_all_and_open_the_gate() {
        let clockwork = Arc::new(Clockwork::new());
        assert_eq!(clockwork.phase(), Phase::Gate);
        let waits = Arc::clone(&clockwork);
        let waiting = thread::spawn(move || {
            waits.wait();
            waits.phase()
        });
        thread::sleep(std::time::Duration::from_millis(20));
        assert!(!waiting.is_finished(), "nobody passes a gate that is shut");
        for phase in [Phase::Warmup, Phase::Window, Phase::Cooldown, Phase::Stop] {
            clockwork.set(phase);
            assert_eq!(clockwork.phase(), phase);
        }
        assert!(waiting.join().expect("thread") > Phase::Gate);
    }
}
