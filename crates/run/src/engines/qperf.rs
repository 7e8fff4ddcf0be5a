//! qperf.

use super::{Engine, seconds, words};

/// The tool.
pub static ENGINE: Engine = Engine {
    name: "qperf",
    program: |_| "qperf",
    package: "qperf",
    kinds: &[
        "rdma-read-stream",
        "rdma-send-latency",
        "rdma-send-stream",
        "rdma-write-stream",
        "tcp-latency",
        "tcp-stream",
        "udp-latency",
        "udp-stream",
    ],
    port: 19765,
    server: |_, port| words(&[("-lp", Some(port.to_string()))]),
    client: |trial, address, port| {
        let length = trial.params.message_bytes.0.to_string();
        let test = match trial.kind.as_str() {
            "rdma-read-stream" => "rc_rdma_read_bw",
            "rdma-send-latency" => "rc_lat",
            "rdma-send-stream" => "rc_bw",
            "rdma-write-stream" => "rc_rdma_write_bw",
            "tcp-latency" => "tcp_lat",
            "udp-latency" => "udp_lat",
            "udp-stream" => "udp_bw",
            _ => "tcp_bw",
        };
        let mut all = words(&[("-t", Some(seconds(trial))), ("-m", Some(length))]);
        let rdma = trial.params.rdma.clone().unwrap_or_default();
        if rdma.connection.as_deref() == Some("cm") {
            all.extend(["-cm".to_owned(), "1".to_owned()]);
        }
        all.extend((ENGINE.reach)(address, port));
        all.push(test.to_owned());
        all
    },
    reach: |address, port| vec!["-lp".into(), port.to_string(), address.to_string()],
};
