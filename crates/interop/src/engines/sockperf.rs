//! sockperf's ping-pong.

use super::words::Takes;
use super::{Engine, Runs, options, seconds};
use narrows_model::workload::{Transport, Workload};

/// How sockperf is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "sockperf",
    program: |_| "sockperf",
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "sockperf",
    kinds: &[Workload::Latency(Transport::Tcp), Workload::Latency(Transport::Udp)],
    takes: &["length"],
    port: 11111,
    server: |trial, port| {
        let tcp = trial.kind.is_tcp().then(String::new);
        let port = Some(port.to_string());
        options(&[
            ("sr", Some(String::new())),
            ("--tcp", tcp),
            ("-i", Some("0.0.0.0".into())),
            ("-p", port),
        ])
    },
    client: |trial, address, port| {
        let tcp = trial.kind.is_tcp().then(String::new);
        let length = trial.params.message_bytes.0.to_string();
        let mut all = (ENGINE.reach)(address, port);
        all.extend(options(&[("-t", Some(seconds(trial))), ("-m", Some(length)), ("--tcp", tcp)]));
        all
    },
    client_words: &[
        (Takes::Nothing, &["--tcp", "--nonblocked", "--tcp-avoid-nodelay", "--no-rdtsc"]),
        (
            Takes::Number,
            &["-t", "--time", "-m", "--msg-size", "--mps", "--burst", "--reply-every", "-r"],
        ),
        (Takes::Size, &["--buffer-size"]),
    ],
    server_words: &[(Takes::Nothing, &["--tcp", "--nonblocked"])],
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        options(&[("pp", Some(String::new())), ("-i", Some(address)), ("-p", Some(port))])
    },
};
