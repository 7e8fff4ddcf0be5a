//! `tcp-info`: what the kernel knows of each flow's connection, from `TCP_INFO` (kernel,
//! include/uapi/linux/tcp.h). Fields of the structure are read by offset, so that a kernel that
//! knows fewer of them gives fewer keys.

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Counter, Gauge, Scope, Source, Unit, keys};
use std::os::fd::{AsRawFd, BorrowedFd};

pub static SOURCE: Registered = Registered {
    source: Source::TcpInfo,
    says: "round trip, window, segment size, retransmits and limits of each TCP flow",
    is_sampled: true,
    open: |scene| watch(scene, look),
};

/// A field: offset, width in bytes, factor to the unit of the key.
type Field = (usize, usize, u64);

/// Fields that are states and no running totals.
const GAUGES: [(Field, Gauge); 13] = [
    ((5, 1, 1), keys::TCP_OPTIONS),
    ((16, 4, 1), keys::SEND_MSS),
    ((20, 4, 1), keys::RECEIVE_MSS),
    ((60, 4, 1), keys::PATH_MTU),
    ((68, 4, 1000), keys::RTT),
    ((76, 4, 1), keys::SLOW_START_THRESHOLD),
    ((80, 4, 1), keys::CONGESTION_WINDOW),
    ((84, 4, 1), keys::ADVERTISED_MSS),
    ((100, 4, 1), keys::RETRANSMITTED_SO_FAR),
    ((120, 8, 1), keys::ACKNOWLEDGED_SO_FAR),
    ((148, 4, 1000), keys::RTT_MIN),
    ((228, 4, 1), keys::SEND_WINDOW),
    ((232, 4, 1), keys::RECEIVE_WINDOW),
];

/// Totals since the connection began.
const COUNTERS: [(Field, Counter); 16] = [
    ((100, 4, 1), keys::RETRANSMITTED),
    ((120, 8, 1), Counter::of(Source::TcpInfo, "acknowledged", Unit::Bytes)),
    ((128, 8, 1), keys::TCP_RECEIVED),
    ((136, 4, 1), keys::SENT),
    ((140, 4, 1), keys::SEGMENTS_IN),
    ((152, 4, 1), keys::DATA_IN),
    ((156, 4, 1), keys::DATA_OUT),
    ((168, 8, 1000), keys::BUSY),
    ((176, 8, 1000), keys::LIMITED_BY_WINDOW),
    ((184, 8, 1000), keys::LIMITED_BY_BUFFER),
    ((196, 4, 1), keys::MARKED),
    ((200, 8, 1), keys::TCP_SENT),
    ((216, 4, 1), keys::DUPLICATES),
    ((220, 4, 1), keys::REORDERING),
    ((224, 4, 1), keys::OUT_OF_ORDER),
    ((240, 2, 1), keys::TIMEOUTS),
];

fn look(scene: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    for (flow, socket) in (0..).zip(scene.sockets) {
        if let Some(bytes) = tcp_info(socket) {
            parse(&bytes, flow, &mut look);
        }
    }
    look.seen()
}

fn tcp_info(socket: &BorrowedFd<'_>) -> Option<Vec<u8>> {
    let mut bytes = vec![0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `bytes` and says how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut length,
        )
    };
    bytes.truncate(length as usize);
    (result == 0).then_some(bytes)
}

fn parse(bytes: &[u8], flow: u32, look: &mut Look) {
    for (field, gauge) in GAUGES {
        if let Some(value) = value(bytes, field) {
            look.state(gauge, Scope::Flow(flow), value);
        }
    }
    for (field, counter) in COUNTERS {
        if let Some(value) = value(bytes, field) {
            look.total(counter.key(Scope::Flow(flow)), value);
        }
    }
}

/// A field in the unit of its key; `None` where the structure ends before it.
fn value(bytes: &[u8], (at, width, factor): Field) -> Option<u64> {
    let bytes = bytes.get(at..at + width)?;
    let value = match width {
        1 => (*bytes.first()?).into(),
        2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    };
    Some(value.saturating_mul(factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn offsets_agree_with_what_a_connection_did() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let mut out = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (mut back, _) = listener.accept().expect("accept");
        out.write_all(&[1; 10_000]).expect("write");
        back.read_exact(&mut [0; 10_000]).expect("read");
        let read = |stream: &TcpStream| {
            let mut look = Look::default();
            parse(&tcp_info(&stream.as_fd()).expect("TCP_INFO"), 0, &mut look);
            look
        };
        let (sent, received) = (read(&out), read(&back));
        let of = |look: &Look, key: &str| look.of("tcp-info", &format!("flow0.{key}")).expect(key);
        assert_eq!(of(&received, "received_bytes"), 10_000);
        assert!(of(&sent, "sent_segments") >= 2);
        assert_eq!(of(&sent, "retransmitted_segments"), 0);
        assert!((500..=65_536).contains(&of(&sent, "send_mss_bytes")));
        assert!(of(&sent, "path_mtu_bytes") > of(&sent, "send_mss_bytes"));
        assert!((1..2_000_000_000).contains(&of(&sent, "rtt_ns")));
        // Older kernels know fewer of them.
        if let Some(bytes) = sent.of("tcp-info", "flow0.sent_bytes") {
            assert_eq!(bytes, 10_000);
        }
        if let Some(window) = sent.of("tcp-info", "flow0.send_window_bytes") {
            assert!((1000..100_000_000).contains(&window), "{window}");
        }
        assert!((500..=65_536).contains(&of(&sent, "advertised_mss_bytes")));
        let agreed = of(&sent, "agreed_options");
        assert!(agreed & keys::OPTION_SACK != 0 || agreed == 0, "{agreed}");
        assert!(of(&sent, "sent_data_segments") >= 1);
        assert!(of(&received, "received_data_segments") >= 1);
    }

    #[test]
    fn a_short_structure_gives_fewer_keys() {
        let mut look = Look::default();
        parse(&[1; 104], 0, &mut look);
        assert!(look.of("tcp-info", "flow0.retransmitted_segments").is_some());
        assert!(look.of("tcp-info", "flow0.acknowledged_bytes").is_none());
        assert!(look.of("tcp-info", "flow0.acknowledged_so_far_bytes").is_none());
        parse(&[], 1, &mut look);
        assert!(look.of("tcp-info", "flow1.rtt_ns").is_none());
    }

    /// Fields of `struct tcp_info` in their order, with their widths (linux/tcp.h of Linux 6.7). A
    /// field of `n` bytes lies at a multiple of `n`.
    const HEADER: [(&str, usize); 59] = [
        ("state", 1),
        ("ca_state", 1),
        ("retransmits", 1),
        ("probes", 1),
        ("backoff", 1),
        ("options", 1),
        ("wscale", 1),
        ("app_limited", 1),
        ("rto", 4),
        ("ato", 4),
        ("snd_mss", 4),
        ("rcv_mss", 4),
        ("unacked", 4),
        ("sacked", 4),
        ("lost", 4),
        ("retrans", 4),
        ("fackets", 4),
        ("last_data_sent", 4),
        ("last_ack_sent", 4),
        ("last_data_recv", 4),
        ("last_ack_recv", 4),
        ("pmtu", 4),
        ("rcv_ssthresh", 4),
        ("rtt", 4),
        ("rttvar", 4),
        ("snd_ssthresh", 4),
        ("snd_cwnd", 4),
        ("advmss", 4),
        ("reordering", 4),
        ("rcv_rtt", 4),
        ("rcv_space", 4),
        ("total_retrans", 4),
        ("pacing_rate", 8),
        ("max_pacing_rate", 8),
        ("bytes_acked", 8),
        ("bytes_received", 8),
        ("segs_out", 4),
        ("segs_in", 4),
        ("notsent_bytes", 4),
        ("min_rtt", 4),
        ("data_segs_in", 4),
        ("data_segs_out", 4),
        ("delivery_rate", 8),
        ("busy_time", 8),
        ("rwnd_limited", 8),
        ("sndbuf_limited", 8),
        ("delivered", 4),
        ("delivered_ce", 4),
        ("bytes_sent", 8),
        ("bytes_retrans", 8),
        ("dsack_dups", 4),
        ("reord_seen", 4),
        ("rcv_ooopack", 4),
        ("snd_wnd", 4),
        ("rcv_wnd", 4),
        ("rehash", 4),
        ("total_rto", 2),
        ("total_rto_recoveries", 2),
        ("total_rto_time", 4),
    ];

    /// Every field has a number of its own: what each key is read from shows by the number.
    #[test]
    fn each_key_is_read_from_its_field_in_its_unit() {
        let mut bytes = Vec::new();
        for (number, (_, width)) in (1u64..).zip(HEADER) {
            bytes.resize(usize::next_multiple_of(bytes.len(), width), 0);
            bytes.extend(number.to_le_bytes().get(..width).expect("eight bytes"));
        }
        let mut look = Look::default();
        parse(&bytes, 3, &mut look);
        // Times are microseconds there.
        for (key, field, times) in [
            ("agreed_options", "options", 1),
            ("send_mss_bytes", "snd_mss", 1),
            ("receive_mss_bytes", "rcv_mss", 1),
            ("path_mtu_bytes", "pmtu", 1),
            ("rtt_ns", "rtt", 1000),
            ("slow_start_threshold_segments", "snd_ssthresh", 1),
            ("congestion_window_segments", "snd_cwnd", 1),
            ("retransmitted_so_far_segments", "total_retrans", 1),
            ("advertised_mss_bytes", "advmss", 1),
            ("rtt_min_ns", "min_rtt", 1000),
            ("send_window_bytes", "snd_wnd", 1),
            ("receive_window_bytes", "rcv_wnd", 1),
            ("retransmitted_segments", "total_retrans", 1),
            ("acknowledged_bytes", "bytes_acked", 1),
            ("received_bytes", "bytes_received", 1),
            ("sent_segments", "segs_out", 1),
            ("received_segments", "segs_in", 1),
            ("received_data_segments", "data_segs_in", 1),
            ("sent_data_segments", "data_segs_out", 1),
            ("busy_ns", "busy_time", 1000),
            ("limited_by_receive_window_ns", "rwnd_limited", 1000),
            ("limited_by_send_buffer_ns", "sndbuf_limited", 1000),
            ("delivered_marked_segments", "delivered_ce", 1),
            ("sent_bytes", "bytes_sent", 1),
            ("duplicates_reported_segments", "dsack_dups", 1),
            ("reordering_seen_events", "reord_seen", 1),
            ("received_out_of_order_segments", "rcv_ooopack", 1),
            ("timeouts_events", "total_rto", 1),
        ] {
            let number = (1u64..).zip(HEADER).find(|(_, (name, _))| *name == field);
            let wanted = number.map(|(number, _)| number * times);
            assert_eq!(look.of("tcp-info", &format!("flow3.{key}")), wanted, "{key}");
        }
    }
}
