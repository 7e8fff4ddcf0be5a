//! iperf3, the real one: what of a trial its flags can say. Its protocol is spoken elsewhere, in
//! `iperf3/`.

use super::words::Takes;
use super::{Engine, Runs, of_flows, options};
use narrows_model::workload::Workload;

/// How iperf3 is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "iperf3",
    program: |_| "iperf3",
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "iperf3",
    kinds: &[Workload::TCP_STREAM, Workload::UDP_STREAM],
    takes: &["length", "parallel", "window", "bitrate", "congestion", "reverse", "dscp"],
    port: 5201,
    server: |_, port| options(&[("-s", Some(String::new())), ("-p", Some(port.to_string()))]),
    client: |trial, address, port| {
        let congestion = trial.params.congestion.clone();
        let socket = trial.params.socket.as_ref();
        let dscp = socket.and_then(|socket| socket.dscp).map(|point| point.to_string());
        let reverse = trial.params.is_reverse().then(String::new);
        let mut all = (ENGINE.reach)(address, port);
        all.extend(options(&of_flows(trial)));
        all.extend(options(&[("-C", congestion), ("--dscp", dscp), ("-R", reverse)]));
        all
    },
    client_words: &[
        (
            Takes::Nothing,
            &[
                "-u",
                "--udp",
                "-R",
                "--reverse",
                "--bidir",
                "-N",
                "--no-delay",
                "-4",
                "-6",
                "-Z",
                "--zerocopy",
                "--udp-counters-64bit",
                "--repeating-payload",
                "--dont-fragment",
                "-J",
                "--json",
            ],
        ),
        (
            Takes::Number,
            &[
                "-t",
                "--time",
                "-P",
                "--parallel",
                "-M",
                "--set-mss",
                "-S",
                "--tos",
                "-O",
                "--omit",
                "-i",
                "--interval",
                "--pacing-timer",
                "--connect-timeout",
                "--rcv-timeout",
                "--snd-timeout",
                "-L",
                "--flowlabel",
            ],
        ),
        (
            Takes::Size,
            &[
                "-b",
                "--bitrate",
                "--bandwidth",
                "-l",
                "--length",
                "-w",
                "--window",
                "-n",
                "--bytes",
                "-k",
                "--blockcount",
                "--fq-rate",
            ],
        ),
        (Takes::Name, &["-C", "--congestion", "--dscp"]),
    ],
    server_words: &[
        (Takes::Nothing, &["-4", "-6"]),
        (Takes::Number, &["--rcv-timeout", "--idle-timeout"]),
    ],
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        options(&[("-J", Some(String::new())), ("-c", Some(address)), ("-p", Some(port))])
    },
};
