//! iperf 2, printing in words and kilobits: its values with commas leave out the server's report.

use super::words::Takes;
use super::{Engine, Runs, of_flows, options};
use narrows_model::workload::Workload;

/// How iperf is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "iperf",
    program: |_| "iperf",
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "iperf",
    kinds: &[Workload::TCP_STREAM, Workload::UDP_STREAM],
    takes: &["length", "parallel", "window", "bitrate", "congestion"],
    port: 5001,
    server: |trial, port| {
        let udp = trial.kind.is_udp().then(String::new);
        let window = trial.params.socket_buffer_bytes.map(|bytes| bytes.0.to_string());
        let port = Some(port.to_string());
        options(&[("-s", Some(String::new())), ("-p", port), ("-u", udp), ("-w", window)])
    },
    client: |trial, address, port| {
        let mut all = (ENGINE.reach)(address, port);
        all.extend(options(&of_flows(trial)));
        all.extend(options(&[("-Z", trial.params.congestion.clone())]));
        all
    },
    client_words: &[
        (
            Takes::Nothing,
            &["-u", "--udp", "-N", "--nodelay", "-R", "--reverse", "-e", "--enhanced"],
        ),
        (
            Takes::Number,
            &["-t", "--time", "-P", "--parallel", "-M", "--mss", "-i", "--interval", "-S", "--tos"],
        ),
        (
            Takes::Size,
            &["-b", "--bandwidth", "-l", "--len", "-w", "--window", "-n", "--num", "--fq-rate"],
        ),
        (Takes::Name, &["-Z", "--linux-congestion", "--tcp-congestion"]),
    ],
    server_words: &[(Takes::Size, &["-l", "--len", "-w", "--window"])],
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        options(&[("-f", Some("k".into())), ("-c", Some(address)), ("-p", Some(port))])
    },
};
