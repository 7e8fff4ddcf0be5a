//! Share of a link's bits that is payload (IEEE 802.3; RFC 791, 768, 9293, 7323).

/// Bytes of each Ethernet frame outside the IP packet: preamble and delimiter 8, addresses and type
/// 14, check sequence 4, gap 12.
pub const ETHERNET_BYTES: f64 = 38.0;
const IP_BYTES: f64 = 20.0;
const TCP_BYTES: f64 = 20.0;
const TIMESTAMP_BYTES: f64 = 12.0;
const UDP_BYTES: f64 = 8.0;

/// Bytes of a VLAN tag (IEEE 802.1Q), and of IPv6's header beyond IPv4's (RFC 8200).
const TAG_BYTES: f64 = 4.0;
const IPV6_MORE_BYTES: f64 = 20.0;

/// What is in and around a frame beside what IPv4 over plain Ethernet has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// Bytes of tags outside the IP packet.
    tag_bytes: f64,
    /// Bytes of IP's header beyond IPv4's 20.
    ip_more_bytes: f64,
}

impl Around {
    /// So many tags, and IPv6 or IPv4.
    pub fn of(tags: f64, is_ipv6: bool) -> Self {
        let ip_more_bytes = if is_ipv6 { IPV6_MORE_BYTES } else { 0.0 };
        Self { tag_bytes: tags * TAG_BYTES, ip_more_bytes }
    }

    /// Factor on a share of the wire: what tags and longer headers leave of it, of frames with an
    /// MTU and so much payload in each.
    pub fn leaves(self, mtu: f64, payload: f64) -> f64 {
        let whole = mtu + ETHERNET_BYTES;
        (1.0 - self.ip_more_bytes / payload) * whole / (whole + self.tag_bytes)
    }

    /// Bytes that a smallest frame is longer by.
    pub fn frame_bytes(self) -> f64 {
        self.tag_bytes
    }
}

/// Payload of a full TCP segment over IPv4, in bytes.
pub fn tcp_payload_bytes(mtu: f64, timestamps: bool) -> f64 {
    mtu - IP_BYTES - TCP_BYTES - if timestamps { TIMESTAMP_BYTES } else { 0.0 }
}

/// Payload share of full TCP segments over IPv4.
pub fn tcp(mtu: f64, timestamps: bool) -> f64 {
    tcp_payload_bytes(mtu, timestamps) / (mtu + ETHERNET_BYTES)
}

/// Payload share of UDP datagrams that fill a frame, over IPv4.
pub fn udp_full_frame(mtu: f64) -> f64 {
    (mtu - IP_BYTES - UDP_BYTES) / (mtu + ETHERNET_BYTES)
}

/// Payload share of UDP datagrams of any size, over IPv4: a larger one travels in fragments, each a
/// multiple of eight bytes but the last, with the UDP header in the first (RFC 791, section 3.2).
pub fn udp(mtu: f64, datagram: f64) -> f64 {
    let whole = datagram + UDP_BYTES;
    if whole + IP_BYTES <= mtu {
        return datagram / (whole + IP_BYTES + ETHERNET_BYTES);
    }
    let each = ((mtu - IP_BYTES) / 8.0).floor() * 8.0;
    datagram / (whole + (whole / each).ceil() * (IP_BYTES + ETHERNET_BYTES))
}

/// How RDMA messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rdma {
    /// InfiniBand: local route, base transport and both check sequences a packet.
    InfiniBand,
    /// RoCE version 1: InfiniBand's global route in an Ethernet frame.
    RoceV1,
    /// RoCE version 2: over UDP and IPv4.
    RoceV2,
    /// iWARP: over TCP.
    Iwarp,
}

/// Payload share of writes of `message` bytes in packets of `mtu` bytes: the path MTU, for iWARP
/// the Ethernet's. (InfiniBand specification 1.3, volume 1, chapters 7 to 9 and annexes A16, A17;
/// RFC 5040, 5041, 5044.)
pub fn rdma(kind: Rdma, message: f64, mtu: f64) -> f64 {
    verb(kind, message, mtu, 16.0)
}

/// The same of any operation, whose messages have `extended` bytes of headers once: 16 of a write,
/// none of a send. Those of iWARP are in every segment, and taken as a write's.
pub fn verb(kind: Rdma, message: f64, mtu: f64, extended: f64) -> f64 {
    const BASE: f64 = 12.0;
    const CHECK: f64 = 4.0;
    let a_packet = match kind {
        // Local route 8, variant check sequence 2.
        Rdma::InfiniBand => 8.0 + BASE + CHECK + 2.0,
        Rdma::RoceV1 => 40.0 + BASE + CHECK + ETHERNET_BYTES,
        Rdma::RoceV2 => IP_BYTES + UDP_BYTES + BASE + CHECK + ETHERNET_BYTES,
        Rdma::Iwarp => {
            // Length 2, tagged header 14, data filled up to four bytes, check sequence 4.
            let room = tcp_payload_bytes(mtu, false) - 2.0 - 14.0 - CHECK;
            let data = (room / 4.0).floor() * 4.0;
            return data / (mtu + ETHERNET_BYTES);
        }
    };
    message / (message + (message / mtu).ceil() * a_packet + extended)
}

/// Path MTU of RoCE in an Ethernet MTU: the largest power of two from 256 to 4096 that fits with
/// its headers.
pub fn path_mtu(ethernet_mtu: f64) -> f64 {
    const HEADERS: f64 = 76.0;
    [4096.0, 2048.0, 1024.0, 512.0]
        .into_iter()
        .find(|size| size + HEADERS <= ethernet_mtu)
        .unwrap_or(256.0)
}

/// Packets a second at line rate: frames with check sequence, preamble 8 and gap 12 around each.
pub fn packets_per_second(link_bps: f64, frame_bytes: f64) -> f64 {
    link_bps / (8.0 * (frame_bytes.max(64.0) + 20.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_standards() {
        let percent = |share: f64| (share * 1e5).round() / 1e3;
        assert_eq!(percent(tcp(1500.0, true)), 94.148);
        assert_eq!(percent(tcp(9000.0, true)), 99.004);
        assert_eq!(percent(tcp(1500.0, false)), 94.928);
        assert_eq!(percent(udp_full_frame(1500.0)), 95.709);
        assert_eq!(percent(udp(1500.0, 65_536.0)), 96.159);
        assert_eq!(percent(udp(1500.0, 1472.0)), 95.709);
        // 65536 bytes: 82 bytes a packet for version 2, and once 16.
        let of = |kind, mtu| percent(rdma(kind, 65_536.0, mtu));
        let v2 = [1024.0, 2048.0, 4096.0].map(|mtu| of(Rdma::RoceV2, mtu));
        assert_eq!(v2, [92.565, 96.128, 98.014]);
        let v1 = [1024.0, 2048.0, 4096.0].map(|mtu| of(Rdma::RoceV1, mtu));
        assert_eq!(v1, [91.572, 95.589, 97.733]);
        let ib = [1024.0, 2048.0, 4096.0].map(|mtu| of(Rdma::InfiniBand, mtu));
        assert_eq!(ib, [97.501, 98.723, 99.345]);
        assert_eq!(of(Rdma::Iwarp, 1500.0), 93.628);
        assert_eq!(
            (path_mtu(1500.0), path_mtu(4200.0), path_mtu(9000.0)),
            (1024.0, 4096.0, 4096.0)
        );
        assert_eq!((packets_per_second(10e9, 64.0) / 1e4).round(), 1488.0);
    }
}
