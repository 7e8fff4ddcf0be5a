//! `tcp-info`: what the kernel knows of each flow's connection, from `TCP_INFO` (kernel,
//! include/uapi/linux/tcp.h). Fields of the structure are read by offset, so that a kernel that
//! knows fewer of them gives fewer keys.

use crate::{Sample, Source};
use std::os::fd::{AsRawFd, BorrowedFd};

pub static SOURCE: Source = Source {
    name: "tcp-info",
    says: "round trip, window, segment size, retransmits and limits of each TCP flow",
    take: |scene| {
        let mut sample = Sample::default();
        for (flow, socket) in scene.sockets.iter().enumerate() {
            if let Some(bytes) = tcp_info(socket) {
                parse(&bytes, flow, &mut sample);
            }
        }
        (!sample.gauges.is_empty()).then_some(sample)
    },
};

/// A field: offset, width in bytes, factor to the unit of the key, key.
type Field = (usize, usize, u64, &'static str);

/// States, read at the end of the window.
const GAUGES: [Field; 6] = [
    (16, 4, 1, "send_mss_bytes"),
    (20, 4, 1, "receive_mss_bytes"),
    (60, 4, 1, "path_mtu_bytes"),
    (68, 4, 1000, "rtt_ns"),
    (80, 4, 1, "congestion_window_segments"),
    (148, 4, 1000, "rtt_min_ns"),
];

/// Totals since the connection began.
const COUNTERS: [Field; 8] = [
    (100, 4, 1, "retransmitted_segments"),
    (120, 8, 1, "acknowledged_bytes"),
    (128, 8, 1, "received_bytes"),
    (136, 4, 1, "sent_segments"),
    (140, 4, 1, "received_segments"),
    (176, 8, 1000, "limited_by_receive_window_ns"),
    (184, 8, 1000, "limited_by_send_buffer_ns"),
    (216, 4, 1, "duplicates_reported_segments"),
];

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

fn parse(bytes: &[u8], flow: usize, sample: &mut Sample) {
    let field = |(at, width, factor, _): &Field| {
        let bytes = bytes.get(*at..at + width)?;
        let value = match width {
            4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        };
        Some(value.saturating_mul(*factor))
    };
    for gauge in &GAUGES {
        if let Some(value) = field(gauge) {
            sample.gauges.insert(format!("flow{flow}.{}", gauge.3), value);
        }
    }
    for counter in &COUNTERS {
        if let Some(value) = field(counter) {
            sample.counters.insert(format!("flow{flow}.{}", counter.3), value);
        }
    }
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
            let mut sample = Sample::default();
            parse(&tcp_info(&stream.as_fd()).expect("TCP_INFO"), 0, &mut sample);
            sample
        };
        let (sent, received) = (read(&out), read(&back));
        assert_eq!(received.counters["flow0.received_bytes"], 10_000);
        assert!(sent.counters["flow0.sent_segments"] >= 2);
        assert_eq!(sent.counters["flow0.retransmitted_segments"], 0);
        assert!((500..=65_536).contains(&sent.gauges["flow0.send_mss_bytes"]));
        assert!(sent.gauges["flow0.path_mtu_bytes"] > sent.gauges["flow0.send_mss_bytes"]);
        assert!((1..2_000_000_000).contains(&sent.gauges["flow0.rtt_ns"]));
    }

    #[test]
    fn a_short_structure_gives_fewer_keys() {
        let mut sample = Sample::default();
        parse(&[1; 104], 0, &mut sample);
        assert!(sample.counters.contains_key("flow0.retransmitted_segments"));
        assert!(!sample.counters.contains_key("flow0.acknowledged_bytes"));
        parse(&[], 1, &mut sample);
        assert!(!sample.gauges.contains_key("flow1.rtt_ns"));
    }
}
