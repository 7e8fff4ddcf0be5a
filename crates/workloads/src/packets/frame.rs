//! Frames: Ethernet, IPv4 and UDP around a stamp and a filling.
//!
//! A frame's size is counted as RFC 2544 counts it: from the destination's address to the check
//! sequence (FCS), which the NIC adds. What narrows hands over is four bytes less.

use crate::LoadError;
use narrows_model::packets::{FCS_BYTES, HEADER_BYTES};
use std::net::SocketAddrV4;

/// Where the parts of a frame begin, in bytes from its first.
pub mod at {
    /// The protocol that Ethernet carries.
    pub const ETHERTYPE: usize = 12;
    /// Version and length of the IPv4 header.
    pub const IP: usize = 14;
    /// Bytes of IP, its own header included.
    pub const IP_LENGTH: usize = 16;
    /// The protocol that IP carries.
    pub const PROTOCOL: usize = 23;
    /// UDP's source port.
    pub const SOURCE: usize = 34;
    /// UDP's destination port.
    pub const TARGET: usize = 36;
    /// Bytes of UDP, its own header included.
    pub const LENGTH: usize = 38;
    /// The payload of UDP, which begins with the stamp.
    pub const PAYLOAD: usize = 42;
}

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether frames to it go to more than one interface (IEEE 802, the group bit), or to none.
    pub fn is_of_many(self) -> bool {
        self.0[0] & 1 != 0 || self.0 == [0; 6]
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl std::str::FromStr for Mac {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let wrong = || LoadError::Order(format!("'{text}' is not a MAC address"));
        let parts: Vec<&str> = text.split(':').collect();
        let mut bytes = [0; 6];
        if parts.len() != bytes.len() {
            return Err(wrong());
        }
        for (byte, part) in bytes.iter_mut().zip(parts) {
            let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| digits).ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

/// From whom to whom a frame goes.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// MAC address of the interface that it leaves from.
    pub from_mac: Mac,
    /// MAC address on the same link that it goes to.
    pub to_mac: Mac,
    /// Own address and port.
    pub from: SocketAddrV4,
    /// The other end's.
    pub to: SocketAddrV4,
}

/// The ones' complement of the ones' complement sum of 16-bit words (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

/// A frame of `size` bytes with the check sequence, which it is made without. UDP's own checksum is
/// left out, as RFC 768 allows: the stamp changes with each packet.
pub fn build(ends: &Ends, size: usize) -> Vec<u8> {
    let length = size.saturating_sub(FCS_BYTES as usize).max(HEADER_BYTES as usize);
    let mut frame = vec![0; length];
    frame[..6].copy_from_slice(&ends.to_mac.0);
    frame[6..12].copy_from_slice(&ends.from_mac.0);
    frame[at::ETHERTYPE..at::IP].copy_from_slice(&[0x08, 0x00]);
    let ip_bytes = (length - at::IP) as u16;
    frame[at::IP] = 0x45;
    frame[16..18].copy_from_slice(&ip_bytes.to_be_bytes());
    // Not to be cut on the way (DF); 64 routers at most, and none is needed.
    frame[20] = 0x40;
    frame[22] = 64;
    frame[at::PROTOCOL] = 17;
    frame[26..30].copy_from_slice(&ends.from.ip().octets());
    frame[30..34].copy_from_slice(&ends.to.ip().octets());
    let sum = checksum(&frame[at::IP..at::SOURCE]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[at::SOURCE..36].copy_from_slice(&ends.from.port().to_be_bytes());
    frame[at::TARGET..38].copy_from_slice(&ends.to.port().to_be_bytes());
    frame[38..40].copy_from_slice(&(ip_bytes - 20).to_be_bytes());
    crate::harness::payload::fill(&mut frame[at::PAYLOAD..]);
    frame
}

/// Frames that a flow's packets are copies of, in turn by their number: one, or those of a mix.
pub struct Frames(Vec<Vec<u8>>);

impl Frames {
    /// Frames of these sizes, each with its check sequence.
    pub fn build(ends: &Ends, sizes: &[u64]) -> Self {
        Self(sizes.iter().map(|size| build(ends, *size as usize)).collect())
    }

    /// The frame of a packet of this number.
    pub fn of(&self, number: u64) -> &[u8] {
        self.0.get((number % self.0.len().max(1) as u64) as usize).map_or(&[], Vec::as_slice)
    }

    /// What UDP carries in the frame of a packet of this number.
    pub fn payload_bytes(&self, number: u64) -> u64 {
        (self.of(number).len() as u64).saturating_sub(HEADER_BYTES)
    }
}

/// What a frame of UDP says and carries, without what Ethernet fills it up with.
pub struct Carried<'a> {
    /// UDP port that it comes from.
    pub source: u16,
    /// UDP port that it goes to.
    pub target: u16,
    /// What UDP carries in it.
    pub payload: &'a [u8],
}

/// Reads a frame whose IPv4 header has no options, as a filter or a program has seen to.
pub fn carried(packet: &[u8]) -> Option<Carried<'_>> {
    let length = usize::from(word(packet, at::LENGTH)?).checked_sub(at::PAYLOAD - at::SOURCE)?;
    let payload = packet.get(at::PAYLOAD..)?.get(..length)?;
    Some(Carried { source: word(packet, at::SOURCE)?, target: word(packet, at::TARGET)?, payload })
}

/// Two bytes in the order of the network.
fn word(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> Ends {
        Ends {
            from_mac: "02:00:00:00:00:01".parse().expect("a MAC"),
            to_mac: "02:00:00:00:00:02".parse().expect("a MAC"),
            from: "198.51.100.2:40000".parse().expect("an address"),
            to: "198.51.100.1:5000".parse().expect("an address"),
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // The example of RFC 1071, section 3: the sum is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        // An IPv4 header with its checksum sums to nothing.
        let frame = build(&ends(), 64);
        assert_eq!(checksum(&frame[14..34]), 0);
        assert_eq!(checksum(&[0xff]), !0xff00);
    }

    #[test]
    fn the_smallest_frame_is_sixty_bytes_without_its_check_sequence() {
        let frame = build(&ends(), 64);
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], "to whom, then from whom");
        assert_eq!(frame[12..20], [0x08, 0x00, 0x45, 0, 0, 46, 0, 0]);
        // Not to be cut, 64 routers, UDP.
        assert_eq!(frame[20..24], [0x40, 0, 64, 17]);
        assert_eq!(frame[26..34], [198, 51, 100, 2, 198, 51, 100, 1], "from whom, then to whom");
        assert_eq!(frame[34..42], [0x9c, 0x40, 0x13, 0x88, 0, 26, 0, 0]);
        assert_eq!(build(&ends(), 1518).len(), 1514);
        assert_eq!(build(&ends(), 1518)[16..18], 1500u16.to_be_bytes());
    }

    #[test]
    fn an_address_is_written_as_it_was_read() {
        let text = "02:1a:0b:c0:00:ff";
        assert_eq!(text.parse::<Mac>().expect("a MAC").to_string(), text);
    }

    #[test]
    fn a_checksum_takes_the_carry_in_twice() {
        // 40,000 words of ffff and one of 2: the first carry brings another.
        let mut bytes = vec![0xff; 80_000];
        bytes.extend([0, 2]);
        assert_eq!(checksum(&bytes), !2);
        assert_eq!(checksum(&[0xff, 0xff, 0, 1]), !1);
    }

    #[test]
    fn a_group_of_interfaces_is_told_from_one() {
        for many in ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"] {
            assert!(many.parse::<Mac>().expect("a MAC").is_of_many(), "{many}");
        }
        assert!("00:00:00:00:00:00".parse::<Mac>().expect("a MAC").is_of_many());
        assert!(!"02:00:00:00:00:01".parse::<Mac>().expect("a MAC").is_of_many());
        for wrong in ["", "02:00", "02:00:00:00:00:0g", "2:0:0:0:0:1", "02:00:00:00:00:01:02"] {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_frame_carries_its_udp_and_not_its_filling() {
        let mut frame = build(&ends(), 128);
        let of = carried(&frame).expect("a whole frame");
        assert_eq!((of.source, of.target, of.payload.len()), (40_000, 5000, 82));
        frame.extend([0; 6]);
        assert_eq!(carried(&frame).expect("a filled frame").payload.len(), 82);
        for short in [0, 37, 41, 60] {
            assert!(carried(&frame[..short]).is_none(), "{short}");
        }
        frame[at::LENGTH..at::PAYLOAD].copy_from_slice(&[0, 7, 0, 0]);
        assert!(carried(&frame).is_none(), "UDP is no shorter than its header");
    }

    #[test]
    fn frames_of_a_mix_come_in_turn() {
        let mix = Frames::build(&ends(), &[64, 594, 1518]);
        let lengths = [0, 1, 2, 3, 4].map(|number| mix.of(number).len());
        assert_eq!(lengths, [60, 590, 1514, 60, 590]);
        assert_eq!([0, 2].map(|number| mix.payload_bytes(number)), [18, 1472]);
        // Each says its own length.
        assert_eq!(carried(mix.of(1)).expect("a whole frame").payload.len(), 548);
    }
}
