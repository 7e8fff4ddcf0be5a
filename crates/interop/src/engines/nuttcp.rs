//! nuttcp: its server stays in the foreground, so that it ends with the worker that started it.

use super::words::Takes;
use super::{Engine, Runs, options, seconds};
use narrows_model::workload::Workload;

/// How nuttcp is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "nuttcp",
    program: |_| "nuttcp",
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "nuttcp",
    kinds: &[Workload::TCP_STREAM, Workload::UDP_STREAM],
    takes: &["length", "parallel", "window", "bitrate"],
    port: 5000,
    server: |_, port| {
        let foreground = Some(String::new());
        options(&[
            ("-S", Some(String::new())),
            ("--nofork", foreground),
            ("-P", Some(port.to_string())),
        ])
    },
    client: |trial, address, port| {
        let params = &trial.params;
        let udp = trial.kind.is_udp().then(String::new);
        // Rates in kb/s and windows in KiB, both whole; none is rounded down to "as it likes".
        let rate = params.rate_bps.map(|bps| format!("-R{}", bps.div_ceil(1000).max(1)));
        let many = (params.streams > 1).then(|| format!("-N{}", params.streams));
        let window =
            params.socket_buffer_bytes.map(|bytes| format!("-w{}", bytes.0.div_ceil(1024).max(1)));
        let mut all =
            vec![format!("-T{}", seconds(trial)), format!("-l{}", params.message_bytes.0)];
        all.extend(options(&[("-u", udp)]));
        all.extend([many, rate, window].into_iter().flatten());
        all.extend((ENGINE.reach)(address, port));
        all
    },
    client_words: &[
        (Takes::Nothing, &["-u", "-D", "-4", "-6", "-r", "-t"]),
        (Takes::Number, &["-T", "-N", "-M", "-i", "-c"]),
        (Takes::Size, &["-l", "-w", "-n", "-R"]),
    ],
    server_words: &[(Takes::Nothing, &["-4", "-6"])],
    reach: |address, port| vec!["-P".into(), port.to_string(), address.to_string()],
};
