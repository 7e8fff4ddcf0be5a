//! What a packet's payload opens with: eighteen bytes, so that it fits the smallest frame.
//!
//! | bytes | |
//! |---|---|
//! | 0 to 3 | the first four of the trial's token |
//! | 4 to 9 | number within the flow, little-endian; the highest bit says: in the sender's window |
//! | 10 to 17 | when it was sent, CLOCK_MONOTONIC of the sender's host in nanoseconds |

use crate::harness::meet::Token;

/// Bytes of a stamp.
pub const BYTES: usize = 18;
/// Set in the number of a packet that was sent in the sender's window.
const IN_WINDOW: u64 = 1 << 47;

/// A packet's stamp, without the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number within its flow, from 0.
    pub number: u64,
    /// Whether it was sent in the sender's window.
    pub is_in_window: bool,
    /// When it was sent, in nanoseconds of the sender's monotonic clock.
    pub sent_ns: u64,
}

/// The four bytes that a trial's packets open with.
pub fn mark(token: &Token) -> [u8; 4] {
    [token[0], token[1], token[2], token[3]]
}

impl Stamp {
    /// Writes it, and the token's mark before it.
    pub fn write(&self, mark: [u8; 4], to: &mut [u8]) {
        let number = (self.number % IN_WINDOW) | if self.is_in_window { IN_WINDOW } else { 0 };
        to[..4].copy_from_slice(&mark);
        to[4..10].copy_from_slice(&number.to_le_bytes()[..6]);
        to[10..BYTES].copy_from_slice(&self.sent_ns.to_le_bytes());
    }

    /// Reads one; `None` of a stranger's packet.
    pub fn read(mark: [u8; 4], from: &[u8]) -> Option<Self> {
        let rest = from.get(..BYTES)?.strip_prefix(&mark)?;
        let mut number = [0; 8];
        number[..6].copy_from_slice(&rest[..6]);
        let number = u64::from_le_bytes(number);
        Some(Self {
            number: number % IN_WINDOW,
            is_in_window: number & IN_WINDOW != 0,
            sent_ns: u64::from_le_bytes(*rest[6..].first_chunk()?),
        })
    }
}

/// The monotonic clock now, in nanoseconds: all processes of a host have the same.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let mut bytes = [0; BYTES];
        let stamp = Stamp { number: 0x1234_5678_9abc, is_in_window: true, sent_ns: 7 };
        stamp.write([1, 2, 3, 4], &mut bytes);
        assert_eq!(bytes[..10], [1, 2, 3, 4, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x92]);
        assert_eq!(Stamp::read([1, 2, 3, 4], &bytes), Some(stamp));
        assert_eq!(Stamp::read([1, 2, 3, 5], &bytes), None);
        assert_eq!(Stamp::read([1, 2, 3, 4], &bytes[..17]), None);
        let late = Stamp { number: 1, is_in_window: false, sent_ns: u64::MAX };
        late.write([0; 4], &mut bytes);
        assert_eq!(Stamp::read([0; 4], &bytes), Some(late));
    }
}
