//! iperf 2, printing in words and kilobits: its values with commas leave out the server's report.

use super::{Engine, flows, words};

/// The tool.
pub static ENGINE: Engine = Engine {
    name: "iperf",
    program: |_| "iperf",
    package: "iperf",
    kinds: &["tcp-stream", "udp-stream"],
    port: 5001,
    server: |trial, port| {
        let udp = trial.kind.starts_with("udp").then(String::new);
        let window = trial.params.socket_buffer_bytes.map(|bytes| bytes.0.to_string());
        let port = Some(port.to_string());
        words(&[("-s", Some(String::new())), ("-p", port), ("-u", udp), ("-w", window)])
    },
    client: |trial, address, port| {
        let mut all = (ENGINE.reach)(address, port);
        all.extend(words(&flows(trial)));
        all.extend(words(&[("-Z", trial.params.congestion.clone())]));
        all
    },
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        words(&[("-f", Some("k".into())), ("-c", Some(address)), ("-p", Some(port))])
    },
};
