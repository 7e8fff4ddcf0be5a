//! What is sent: bytes that no two places of a buffer share, so that a receiver can tell whether it
//! got the right ones.

use super::buffer::{Buffer, Pages};
use crate::LoadError;
use narrows_model::load::Corruption;

/// A buffer of the pattern.
pub fn pattern(length: usize, node: Option<u32>) -> Result<Buffer, LoadError> {
    let mut buffer = Buffer::with(length, Pages::Transparent, node)?;
    fill(buffer.bytes_mut());
    Ok(buffer)
}

/// Fills a buffer with the pattern.
pub fn fill(buffer: &mut [u8]) {
    for (index, word) in buffer.chunks_mut(8).enumerate() {
        let bytes = mix(index as u64).to_le_bytes();
        word.copy_from_slice(&bytes[..word.len()]);
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014): each word is another.
fn mix(index: u64) -> u64 {
    let z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Bytes that were compared with the pattern.
    pub bytes: u64,
    /// The first that differed from what was sent.
    pub corrupted: Option<Corruption>,
}

/// Compares what arrives with the pattern, from the first byte on.
pub struct Checker {
    pattern: Buffer,
    span: usize,
    seen: u64,
    wrong: Option<u64>,
}

impl Checker {
    /// For a sender that goes through `span` bytes of the pattern over and over.
    pub fn new(span: usize) -> Result<Self, LoadError> {
        Ok(Self { pattern: pattern(span, None)?, span, seen: 0, wrong: None })
    }

    /// Takes the next bytes of the flow.
    pub fn see(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = (self.seen % self.span as u64) as usize;
            let length = rest.len().min(self.span - at);
            self.compare(&rest[..length], at);
            self.seen += length as u64;
            rest = &rest[length..];
        }
    }

    /// Takes bytes that should be those at `at` of the pattern.
    pub fn see_at(&mut self, bytes: &[u8], at: usize) {
        self.compare(bytes, at);
        self.seen += bytes.len() as u64;
    }

    fn compare(&mut self, bytes: &[u8], at: usize) {
        let wanted = self.pattern.bytes().get(at..at + bytes.len()).unwrap_or_default();
        if wanted != bytes && self.wrong.is_none() {
            let same = wanted.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            self.wrong = Some(self.seen + same as u64);
        }
    }

    /// What was compared of this flow.
    pub fn compared(&self, flow: u32) -> Compared {
        let corrupted = self.wrong.map(|at_byte| Corruption { flow, at_byte });
        Compared { bytes: self.seen, corrupted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_the_known_generators() {
        // The first numbers of splitmix64 from a seed of 0, as its authors' program prints them.
        let mut bytes = [0u8; 20];
        fill(&mut bytes);
        let words = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        let wanted: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, wanted[..20]);
    }

    #[test]
    fn bytes_of_a_place_are_those_of_the_place() {
        let sent = pattern(64, None).expect("pattern");
        let mut checker = Checker::new(64).expect("checker");
        checker.see_at(&sent.bytes()[16..24], 16);
        checker.see_at(&sent.bytes()[0..4], 0);
        assert_eq!(checker.compared(3), Compared { bytes: 12, corrupted: None });
        checker.see_at(&sent.bytes()[8..16], 16);
        let corrupted = Some(Corruption { flow: 3, at_byte: 12 });
        assert_eq!(checker.compared(3), Compared { bytes: 20, corrupted });
    }

    #[test]
    fn right_bytes_pass_in_any_pieces_and_one_wrong_bit_is_found() {
        let sent = pattern(1000, None).expect("pattern");
        let stream: Vec<u8> = sent.bytes()[..1000].iter().copied().cycle().take(5000).collect();
        let mut checker = Checker::new(1000).expect("checker");
        stream.chunks(333).for_each(|piece| checker.see(piece));
        assert_eq!(checker.compared(0), Compared { bytes: 5000, corrupted: None });
        let mut wrong = stream.clone();
        wrong[3210] ^= 1;
        let mut checker = Checker::new(1000).expect("checker");
        wrong.chunks(77).for_each(|piece| checker.see(piece));
        let corrupted = Some(Corruption { flow: 7, at_byte: 3210 });
        assert_eq!(checker.compared(7).corrupted, corrupted);
        // A byte lost shifts the rest.
        let mut checker = Checker::new(1000).expect("checker");
        checker.see(&stream[..10]);
        checker.see(&stream[11..100]);
        assert!(checker.compared(0).corrupted.is_some());
    }
}
