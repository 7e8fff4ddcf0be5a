//! What probes found of the path between two ends: the largest packet that passes each way, whether
//! fragments do, in which order packets come, how fast they can follow each other, and how many
//! handshakes get through. The end that asks tells it, of both ways.

use crate::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PathProbe {
    /// From the end that asks, which connects, to the end that answers, which listens.
    pub there: WayProbe,
    /// From the end that answers to the end that asks.
    pub back: WayProbe,
    /// Connections that the end that asks has tried to make; `None` where time was over before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
    /// Whether the other end could be reached over UDP, without which only handshakes are probed.
    pub is_udp_answered: bool,
}

/// What a probe found of one way. What is `None` was not tried, or gave no answer in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WayProbe {
    /// The largest packet that passes whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<PathMtu>,
    /// Datagrams in two fragments, beside as many that need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments: Option<Fragments>,
    /// Packets sent as fast as the end can, train by train.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trains: Vec<Train>,
    /// Packets sent further apart, train by train, where those sent as fast as the end can lost
    /// some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paced: Vec<Train>,
    /// Packets sent as fast as the end can while as many went the other way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Train>,
    /// Packets sent somewhat more slowly than trains come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Train>,
    /// Small packets at an even pace, far below what the way carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub even: Vec<Train>,
    /// Trains like the first, in turn with different marks in the IP header.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<Marked>,
}

/// Trains whose packets have one mark in the IP header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Marked {
    /// The byte of class and congestion: DSCP in the upper six bits, ECN in the lower two.
    pub class: u8,
    /// Whether that is what the measured traffic has.
    pub is_own: bool,
    /// One after the other, in turn with those of other marks.
    pub trains: Vec<Train>,
}

impl Marked {
    /// Differentiated services code point (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.class >> 2
    }

    /// Whether the packets say that their ends react to congestion marks (RFC 3168).
    pub fn is_ecn(&self) -> bool {
        self.class & 3 != 0
    }
}

/// A gap between two arrivals is a rest from this time on.
pub const REST: Nanos = Nanos(8_000_000);

/// The largest packet that passes whole: searched with packets that no router may fragment (IPv4
/// DF; IPv6 always), each size sent several times (RFC 8899). All sizes are of IP packets, header
/// included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMtu {
    /// MTU of the interface that the packets leave by: the largest that was tried.
    pub interface_bytes: Bytes,
    /// The largest that came; `None` where not even the smallest that was tried did.
    pub passes_bytes: Option<Bytes>,
    /// The smallest of those above it that were tried, none of which came; `None` where the largest
    /// came.
    pub vanishes_bytes: Option<Bytes>,
    /// The MTU that a router named in answer (ICMP "fragmentation needed", ICMPv6 "packet too
    /// big"); `None` where no router did.
    pub told_bytes: Option<Bytes>,
    /// The MTU that the sender's kernel used for the way as the search began: of the interface, of
    /// a route, or learnt from a router before. TCP makes no larger packets.
    pub used_bytes: Bytes,
}

impl PathMtu {
    /// The size that passes and the one that does not, where packets that the kernel would send
    /// vanish and nobody says so to it.
    pub fn black_hole(&self) -> Option<(Bytes, Bytes)> {
        let sizes = self.passes_bytes.zip(self.vanishes_bytes);
        sizes.filter(|(passes, _)| self.told_bytes.is_none() && self.used_bytes > *passes)
    }
}

/// Datagrams in two fragments, beside as many that need none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fragments {
    /// Datagrams of either sort that were sent.
    pub sent: u32,
    /// Of those in two fragments, how many came.
    pub came: u32,
    /// Of those that need none, how many came.
    pub whole_came: u32,
}

/// Packets of one size, sent back to back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Train {
    /// Size of each, IP header included.
    pub packet_bytes: Bytes,
    /// Packets that the sender's kernel took.
    pub sent: u32,
    /// From before the first to after the last was handed to the kernel.
    pub sent_ns: Nanos,
    /// Packets that came.
    pub came: u32,
    /// Of those, how many came after one that was sent later.
    pub late: u32,
    /// Between the kernel's time stamps of the first and the last that came.
    pub came_ns: Nanos,
    /// Packets that came after the middle one of those that came.
    pub tail: u32,
    /// From the time stamp of the middle one to that of the last.
    pub tail_ns: Nanos,
    /// Packets after the first, of the eight that came first; 0 where an older agent counted.
    pub head: u32,
    /// From the time stamp of the first to that of the last of those.
    pub head_ns: Nanos,
    /// Gaps of [`REST`] or more between two arrivals; `None` where an older agent counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests: Option<u32>,
    /// Time of all of these.
    pub rests_ns: Nanos,
    /// The longest gap between two arrivals.
    pub longest_ns: Nanos,
}

/// TCP connections that were tried, each with a handshake of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// Connections that were tried.
    pub tried: u32,
    /// Those that stood before a first packet is sent again (1 s, RFC 6298).
    pub at_once: u32,
    /// Those that the other end refused.
    pub refused: u32,
    /// The median time of those that stood.
    pub median_ns: Nanos,
}

impl Handshakes {
    /// Connections of which the first packet or its answer was lost.
    pub fn lost(&self) -> u32 {
        self.tried.saturating_sub(self.at_once).saturating_sub(self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_tells_is_a_black_hole() {
        let mtu = PathMtu {
            interface_bytes: Bytes(9000),
            passes_bytes: Some(Bytes(1400)),
            vanishes_bytes: Some(Bytes(1401)),
            told_bytes: None,
            used_bytes: Bytes(9000),
        };
        assert_eq!(mtu.black_hole(), Some((Bytes(1400), Bytes(1401))));
        assert_eq!(PathMtu { told_bytes: Some(Bytes(1400)), ..mtu }.black_hole(), None);
        assert_eq!(PathMtu { vanishes_bytes: None, ..mtu }.black_hole(), None);
        // A route that has the right MTU keeps TCP out of it.
        assert_eq!(PathMtu { used_bytes: Bytes(1400), ..mtu }.black_hole(), None);
        // Where nothing at all passed the size of packets is not what keeps them.
        assert_eq!(PathMtu { passes_bytes: None, ..mtu }.black_hole(), None);
    }

    #[test]
    fn a_first_packet_that_was_lost_is_no_refusal() {
        let of = Handshakes { tried: 64, at_once: 60, refused: 1, ..Handshakes::default() };
        assert_eq!(of.lost(), 3);
    }
}
