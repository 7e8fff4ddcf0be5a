//! qperf: one word a test, which names verb and transport. Both ends are given its port with `-lp`.

use super::words::Takes;
use super::{Engine, Runs, options, seconds};
use narrows_model::rdma::RdmaConnection;
use narrows_model::workload::RdmaVerb::{Read, Send, Write};
use narrows_model::workload::Transport::{Rdma, Tcp, Udp};
use narrows_model::workload::Workload::{Latency, Stream};

/// How qperf is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "qperf",
    program: |_| "qperf",
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "qperf",
    kinds: &[
        Stream(Rdma(Read)),
        Latency(Rdma(Send)),
        Stream(Rdma(Send)),
        Stream(Rdma(Write)),
        Latency(Tcp),
        Stream(Tcp),
        Latency(Udp),
        Stream(Udp),
    ],
    takes: &["length", "connection"],
    port: 19765,
    server: |_, port| options(&[("-lp", Some(port.to_string()))]),
    client: |trial, address, port| {
        let length = trial.params.message_bytes.0.to_string();
        let test = match trial.kind {
            Stream(Rdma(Read)) => "rc_rdma_read_bw",
            Latency(Rdma(Send)) => "rc_lat",
            Stream(Rdma(Send)) => "rc_bw",
            Stream(Rdma(Write)) => "rc_rdma_write_bw",
            Latency(Tcp) => "tcp_lat",
            Latency(Udp) => "udp_lat",
            Stream(Udp) => "udp_bw",
            _ => "tcp_bw",
        };
        let mut all = options(&[("-t", Some(seconds(trial))), ("-m", Some(length))]);
        let rdma = trial.params.rdma.clone().unwrap_or_default();
        if rdma.connection == Some(RdmaConnection::Manager) {
            all.extend(["-cm".to_owned(), "1".to_owned()]);
        }
        all.extend((ENGINE.reach)(address, port));
        all.push(test.to_owned());
        all
    },
    client_words: &[
        (
            Takes::Nothing,
            &[
                "tcp_bw",
                "tcp_lat",
                "udp_bw",
                "udp_lat",
                "rc_bw",
                "rc_bi_bw",
                "rc_lat",
                "rc_rdma_read_bw",
                "rc_rdma_read_lat",
                "rc_rdma_write_bw",
                "rc_rdma_write_lat",
                "uc_bw",
                "uc_lat",
                "ud_bw",
                "ud_lat",
            ],
        ),
        (Takes::Number, &["-t", "--time", "-n", "--no_msgs", "-cm"]),
        (Takes::Size, &["-m", "--msg_size"]),
    ],
    server_words: &[],
    reach: |address, port| vec!["-lp".into(), port.to_string(), address.to_string()],
};
