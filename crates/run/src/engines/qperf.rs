//! qperf.

use super::{Engine, seconds, words};

/// The tool.
pub static ENGINE: Engine = Engine {
    name: "qperf",
    package: "qperf",
    kinds: &["tcp-latency", "tcp-stream", "udp-latency", "udp-stream"],
    port: 19765,
    server: |_, port| words(&[("-lp", Some(port.to_string()))]),
    client: |trial, address, port| {
        let length = trial.params.message_bytes.0.to_string();
        let test = match trial.kind.as_str() {
            "tcp-latency" => "tcp_lat",
            "udp-latency" => "udp_lat",
            "udp-stream" => "udp_bw",
            _ => "tcp_bw",
        };
        let mut all = words(&[("-t", Some(seconds(trial))), ("-m", Some(length))]);
        all.extend((ENGINE.reach)(address, port));
        all.push(test.to_owned());
        all
    },
    reach: |address, port| vec!["-lp".into(), port.to_string(), address.to_string()],
};
