//! qperf: one word a test, which names verb and transport. Both ends are given its port with `-lp`.

use super::words::Takes;
use super::{Engine, Runs, options, seconds};
use narrows_model::load::Wait;
use narrows_model::rdma::RdmaConnection;
use narrows_model::trial::Trial;
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
    takes: &["length", "wait", "connection", "device", "path_mtu", "service_level"],
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
        if trial.kind.is_rdma() {
            all.extend(of_rdma(trial));
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
        (Takes::Number, &["-t", "--time", "-n", "--no_msgs", "-cm", "-cp"]),
        (Takes::Size, &["-m", "--msg_size"]),
    ],
    server_words: &[],
    reach: |address, port| vec!["-lp".into(), port.to_string(), address.to_string()],
};

/// What both ends are told of verbs; the client speaks for its server.
fn of_rdma(trial: &Trial) -> Vec<String> {
    let rdma = trial.params.rdma.clone().unwrap_or_default();
    let looks =
        trial.params.socket.as_ref().and_then(|socket| socket.wait.as_ref()) == Some(&Wait::Spin);
    let through_manager = rdma.connection == Some(RdmaConnection::Manager);
    options(&[
        ("-cm", through_manager.then(|| "1".to_owned())),
        ("-cp", looks.then(|| "1".to_owned())),
        ("-li", rdma.sender.device),
        ("-ri", rdma.receiver.device),
        ("-mt", rdma.path_mtu_bytes.map(|bytes| bytes.to_string())),
        ("-sl", rdma.service_level.map(|level| level.to_string())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, SocketParams, Timeline};
    use narrows_model::rdma::{RdmaParams, RdmaPlace};
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
    use narrows_model::{Bytes, Nanos};

    fn told(kind: &str, rdma: RdmaParams) -> String {
        let mut params = Params::of_network(Bytes(65_536), 1);
        params.socket = Some(SocketParams { wait: Some(Wait::Spin), ..SocketParams::default() });
        params.rdma = Some(rdma);
        let trial = Trial {
            id: TrialId("a".into()),
            label: kind.into(),
            kind: kind.into(),
            params,
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(2_000_000_000), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        (ENGINE.client)(&trial, [10, 9, 0, 1].into(), 19765).join(" ")
    }

    #[test]
    fn verbs_are_told_their_devices_and_how_to_wait_and_sockets_are_not() {
        let place =
            |device: &str| RdmaPlace { device: Some(device.to_owned()), ..RdmaPlace::default() };
        let rdma = RdmaParams {
            connection: Some(RdmaConnection::Manager),
            path_mtu_bytes: Some(1024),
            sender: place("mlx5_0"),
            receiver: place("mlx5_1"),
            ..RdmaParams::default()
        };
        assert_eq!(
            told("rdma-write-stream", rdma.clone()),
            "-t 2 -m 65536 -cm 1 -cp 1 -li mlx5_0 -ri mlx5_1 -mt 1024 -lp 19765 10.9.0.1 \
             rc_rdma_write_bw"
        );
        assert_eq!(told("tcp-stream", rdma), "-t 2 -m 65536 -lp 19765 10.9.0.1 tcp_bw");
    }
}
