//! nuttcp.

use super::{Engine, seconds, words};

/// The tool.
pub static ENGINE: Engine = Engine {
    name: "nuttcp",
    program: |_| "nuttcp",
    package: "nuttcp",
    kinds: &["tcp-stream", "udp-stream"],
    port: 5000,
    server: |_, port| {
        let foreground = Some(String::new());
        words(&[
            ("-S", Some(String::new())),
            ("--nofork", foreground),
            ("-P", Some(port.to_string())),
        ])
    },
    client: |trial, address, port| {
        let params = &trial.params;
        let udp = trial.kind.starts_with("udp").then(String::new);
        let rate = params.rate_bps.map(|bps| format!("-R{}m", bps / 1_000_000));
        let many = (params.streams > 1).then(|| format!("-N{}", params.streams));
        let window = params.socket_buffer_bytes.map(|bytes| format!("-w{}k", bytes.0 / 1024));
        let mut all =
            vec![format!("-T{}", seconds(trial)), format!("-l{}", params.message_bytes.0)];
        all.extend(words(&[("-u", udp)]));
        all.extend([many, rate, window].into_iter().flatten());
        all.extend((ENGINE.reach)(address, port));
        all
    },
    reach: |address, port| vec!["-P".into(), port.to_string(), address.to_string()],
};
