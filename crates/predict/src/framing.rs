//! Share of a link's bits that is payload (IEEE 802.3; RFC 791, 768, 9293, 7323).

/// Bytes of each Ethernet frame outside the IP packet: preamble and delimiter 8, addresses and type
/// 14, check sequence 4, gap 12.
pub const ETHERNET_BYTES: f64 = 38.0;
const IP_BYTES: f64 = 20.0;
const TCP_BYTES: f64 = 20.0;
const TIMESTAMP_BYTES: f64 = 12.0;
const UDP_BYTES: f64 = 8.0;

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
    }
}
