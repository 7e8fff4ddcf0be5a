//! Records as the kernel writes them to a ring, and the stacks in them. Nothing here touches the
//! machine.

use perf_event_open_sys::bindings as sys;
use std::collections::HashMap;

/// One sample of a call stack, as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// When, by the monotonic clock.
    pub at_ns: u64,
    /// Process that ran; 0 where the CPU was idle.
    pub process: u32,
    /// Thread that ran.
    pub thread: u32,
    /// Nanoseconds or cycles since the sample before.
    pub weight: u64,
    /// Its stack, by its place in [`Samples::stacks`].
    pub stack: u32,
}

/// Samples, with each stack once.
#[derive(Default)]
pub struct Samples {
    /// Every sample in the order in which it was read.
    pub taken: Vec<Taken>,
    /// Addresses, the innermost first, with the kernel's marks of where they lie.
    pub stacks: Vec<Box<[u64]>>,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Times that the kernel held sampling back.
    pub throttled: u64,
    known: HashMap<Box<[u64]>, u32>,
}

/// Words of 64 bits of a record.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*word))
    }

    /// Two words of 32 bits.
    fn pair(&mut self) -> Option<(u32, u32)> {
        let both = self.next()?.to_ne_bytes();
        let half = |at: usize| Some(u32::from_ne_bytes(*both[at..].first_chunk()?));
        Some((half(0)?, half(4)?))
    }
}

impl Samples {
    /// Adds what was read of one ring: whole records, one after the other.
    pub fn add(&mut self, mut bytes: &[u8]) {
        // Kind (4 bytes), mode (2), length with this head (2).
        while let Some((head, _)) = bytes.split_first_chunk::<8>() {
            let kind = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]);
            let length = usize::from(u16::from_ne_bytes([head[6], head[7]]));
            let Some(body) = bytes.get(8..length) else { return };
            self.record(kind, Words(body));
            bytes = &bytes[length..];
        }
    }

    fn record(&mut self, kind: u32, mut words: Words<'_>) {
        match kind {
            sys::PERF_RECORD_SAMPLE => {
                self.sample(&mut words);
            }
            sys::PERF_RECORD_LOST => {
                // Id of the event, then how many.
                let lost = words.next().and_then(|_| words.next());
                self.lost += lost.unwrap_or(0);
            }
            sys::PERF_RECORD_LOST_SAMPLES => self.lost += words.next().unwrap_or(0),
            sys::PERF_RECORD_THROTTLE => self.throttled += 1,
            _ => {}
        }
    }

    fn sample(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (process, thread) = words.pair()?;
        let (at_ns, weight, frames) = (words.next()?, words.next()?, words.next()?);
        let stack: Vec<u64> = (0..frames).map_while(|_| words.next()).collect();
        let stack = self.stack(stack);
        self.taken.push(Taken { at_ns, process, thread, weight, stack });
        Some(())
    }

    fn stack(&mut self, addresses: Vec<u64>) -> u32 {
        if let Some(known) = self.known.get(&addresses[..]) {
            return *known;
        }
        let addresses: Box<[u64]> = addresses.into();
        let number = self.stacks.len() as u32;
        self.stacks.push(addresses.clone());
        self.known.insert(addresses, number);
        number
    }
}

/// An address of a stack, and what it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// In the kernel.
    Kernel(u64),
    /// In the program.
    User(u64),
}

/// The addresses of a stack, the innermost first. Those of callers point behind their call, and are
/// taken one byte back, into it.
pub fn addresses(stack: &[u64]) -> impl Iterator<Item = Address> {
    let mut place: Option<fn(u64) -> Address> = None;
    let mut innermost = true;
    stack.iter().filter_map(move |word| {
        if *word >= sys::PERF_CONTEXT_MAX {
            innermost = place.is_none();
            place = match *word {
                sys::PERF_CONTEXT_KERNEL => Some(Address::Kernel),
                sys::PERF_CONTEXT_USER => {
                    // What entered the kernel is an exact address too.
                    innermost = true;
                    Some(Address::User)
                }
                _ => None,
            };
            return None;
        }
        let back = u64::from(!std::mem::take(&mut innermost));
        Some(place?(word.saturating_sub(back)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let length = (8 + 8 * words.len()) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn task(process: u32, thread: u32) -> u64 {
        let mut both = [0; 8];
        both[..4].copy_from_slice(&process.to_ne_bytes());
        both[4..].copy_from_slice(&thread.to_ne_bytes());
        u64::from_ne_bytes(both)
    }

    #[test]
    fn samples_are_read_and_what_was_lost_is_counted() {
        let mut samples = Samples::default();
        let stack = [sys::PERF_CONTEXT_KERNEL, 0xffff_0010, 0xffff_0020];
        let sample = |at| [&[task(7, 8), at, 1_000_000, 3][..], &stack].concat();
        samples.add(&record(sys::PERF_RECORD_SAMPLE, &sample(50)));
        let more = [
            record(sys::PERF_RECORD_LOST, &[1, 40]),
            record(sys::PERF_RECORD_THROTTLE, &[60, 1, 1]),
            record(99, &[1]),
            record(sys::PERF_RECORD_LOST_SAMPLES, &[2]),
            record(sys::PERF_RECORD_SAMPLE, &sample(70)),
        ];
        samples.add(&more.concat());
        let taken: Vec<(u64, u32)> = samples.taken.iter().map(|t| (t.at_ns, t.stack)).collect();
        assert_eq!(taken, [(50, 0), (70, 0)], "one stack, told once");
        assert_eq!((samples.taken[0].process, samples.taken[0].thread), (7, 8));
        assert_eq!((samples.lost, samples.throttled, samples.stacks.len()), (42, 1, 1));
    }

    #[test]
    fn a_record_that_is_cut_off_ends_the_reading() {
        let mut samples = Samples::default();
        let whole = record(sys::PERF_RECORD_SAMPLE, &[task(1, 1), 5, 6, 1, 0xffff_0000]);
        samples.add(&[&whole[..], &whole[..20]].concat());
        assert_eq!(samples.taken.len(), 1);
        // A stack that says it is longer than its record has what there is.
        samples.add(&record(sys::PERF_RECORD_SAMPLE, &[task(1, 1), 5, 6, 900, 0xffff_0000]));
        assert_eq!(samples.taken.len(), 2);
        // A length of nothing would never end.
        samples.add(&[9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(samples.taken.len(), 2);
    }

    #[test]
    fn callers_are_looked_for_in_their_call_and_marks_are_no_addresses() {
        let stack = [
            sys::PERF_CONTEXT_KERNEL,
            0x100,
            0x200,
            sys::PERF_CONTEXT_USER,
            0x30,
            0x40,
            sys::PERF_CONTEXT_GUEST,
            0x50,
        ];
        let read: Vec<Address> = addresses(&stack).collect();
        assert_eq!(
            read,
            [
                Address::Kernel(0x100),
                Address::Kernel(0x1ff),
                Address::User(0x30),
                Address::User(0x3f)
            ]
        );
    }
}
