//! Packets as a link counts them.

use crate::Bytes;
use std::fmt;
use std::str::FromStr;

/// The check sequence at the end of each Ethernet frame.
pub const FCS_BYTES: u64 = 4;
/// Headers of Ethernet, IPv4 and UDP.
pub const HEADER_BYTES: u64 = 14 + IPV4_BYTES + 8;
/// An IPv4 header without options.
const IPV4_BYTES: u64 = 20;
/// The smallest frame, its check sequence included (IEEE 802.3).
pub const FRAME_BYTES_MIN: u64 = 64;
/// The largest: an MTU of 9000 with Ethernet's header and check sequence.
pub const FRAME_BYTES_MAX: u64 = 9018;
/// The largest that the kernel's program of frames (`xdp`) sends: a page of 4096 B less its own
/// head, 256 B of headroom and what a buffer needs at its end, with the check sequence.
pub const XDP_FRAME_BYTES_MAX: u64 = 3304;
/// Frames of the simple mix of the Internet's traffic, in turn: seven of 64 bytes, four of 594 and
/// one of 1518, none of which comes in a bunch.
pub const IMIX_FRAMES_BYTES: [u64; 12] = [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594];
/// Their mean of 361.83 bytes, rounded: what a rate in bits counts each frame of the mix as.
pub const IMIX_BYTES: Bytes = Bytes(362);
/// Frames of the longest burst: two thirds of a second of the smallest at 10 GbE's rate.
pub const BURST_FRAMES_MAX: u64 = 10_000_000;
/// What UDP carries in the smallest frame.
const PAYLOAD_BYTES_MIN: u64 = FRAME_BYTES_MIN - FCS_BYTES - HEADER_BYTES;

/// The payload of UDP in a frame of this size, its check sequence included; `None` where the
/// headers leave less than a packet's stamp takes. `ip_bytes` are those of IP's header, 20 or 40.
pub fn payload_bytes(frame: Bytes, ip_bytes: u64) -> Option<Bytes> {
    let headers = HEADER_BYTES - IPV4_BYTES + ip_bytes + FCS_BYTES;
    let left = frame.0.checked_sub(headers)?;
    (left >= PAYLOAD_BYTES_MIN).then_some(Bytes(left))
}

/// How fast packets are to go, all threads of a direction together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketRate {
    /// As fast as they go.
    Max,
    /// Packets a second, from 1 to a thousand million; whole ones, as they are read.
    PerSecond(f64),
}

/// Why a text is no rate of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAPacketRate(pub String);

impl fmt::Display for NotAPacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.0, PacketRate::WANTED)
    }
}

impl std::error::Error for NotAPacketRate {}

impl PacketRate {
    /// What is wanted, as it follows "is not".
    pub const WANTED: &str = "max, nor 1 to 1G packets a second, such as 14.88M";
}

impl FromStr for PacketRate {
    type Err = NotAPacketRate;

    /// Reads `max`, `250K`, `14.88M`; suffixes are powers of ten, as of other rates.
    fn from_str(text: &str) -> Result<Self, NotAPacketRate> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let (number, scale) = match text.char_indices().last() {
            Some((at, 'k' | 'K')) => (&text[..at], 1e3),
            Some((at, 'm' | 'M')) => (&text[..at], 1e6),
            Some((at, 'g' | 'G')) => (&text[..at], 1e9),
            _ => (text, 1.0),
        };
        let rate = number.parse::<f64>().ok().map(|number| number * scale);
        let rate = rate.filter(|rate| (1.0..=1e9).contains(rate));
        // 2.01 times a million is not 2010000 in binary, and both are one rate.
        rate.map(|rate| Self::PerSecond(rate.round()))
            .ok_or_else(|| NotAPacketRate(text.to_owned()))
    }
}

impl fmt::Display for PacketRate {
    /// The same text for a rate however it was written: identities of studies are made of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::PerSecond(rate) => rate.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_seven_to_four_to_one() {
        let of = |size: u64| IMIX_FRAMES_BYTES.iter().filter(|bytes| **bytes == size).count();
        assert_eq!((of(64), of(594), of(1518)), (7, 4, 1));
        let sum: u64 = IMIX_FRAMES_BYTES.iter().sum();
        assert_eq!((sum, (sum + 6) / 12), (4342, IMIX_BYTES.0));
        // A large frame comes between small ones, over the end of the list too.
        let turned = IMIX_FRAMES_BYTES.iter().cycle().skip(1);
        let pairs = IMIX_FRAMES_BYTES.iter().zip(turned);
        assert!(pairs.clone().all(|(one, next)| *one == 64 || *next == 64));
        assert_eq!(pairs.filter(|(one, next)| one == next).count(), 2, "two pairs of 64 bytes");
    }

    #[test]
    fn a_rate_of_packets_has_powers_of_ten() {
        let told = ["1", "250k", "14.88M"].map(PacketRate::from_str);
        let rates = [1.0, 250e3, 14.88e6].map(PacketRate::PerSecond);
        assert_eq!(told, rates.map(Ok));
        assert_eq!("max".parse(), Ok(PacketRate::Max));
        for wrong in ["", "0", "-1", "2G", "nan", "M", "1 M", "1Mb"] {
            assert!(wrong.parse::<PacketRate>().is_err(), "{wrong}");
        }
        let texts = [
            ("14880000", ["14.88M", "14880000", "14880K"]),
            ("2010000", ["2.01M", "2010000", "2010K"]),
            ("2", ["1.5", "2", "0.0024k"]),
        ];
        for (whole, texts) in texts {
            for text in texts {
                let rate: PacketRate = text.parse().expect(text);
                assert_eq!(rate.to_string(), whole, "{text}");
            }
        }
    }

    #[test]
    fn a_frame_carries_what_its_headers_leave() {
        let of = |frame, ip_bytes| payload_bytes(Bytes(frame), ip_bytes).map(|bytes| bytes.0);
        assert_eq!(of(64, 20), Some(18));
        assert_eq!(of(1518, 20), Some(1472));
        assert_eq!(of(9018, 20), Some(8972));
        assert_eq!(of(84, 40), Some(18));
        assert_eq!((of(63, 20), of(83, 40)), (None, None));
    }
}
