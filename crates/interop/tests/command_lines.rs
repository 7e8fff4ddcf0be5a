//! What each tool is called with for one trial, word for word.

use narrows_interop::engines::ENGINES;
use narrows_model::load::{Params, SocketParams, StreamParams, Timeline, Wait};
use narrows_model::rdma::{RdmaConnection, RdmaParams, RdmaService};
use narrows_model::trial::{EndSpec, Engine, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};

/// A trial of 2.2 seconds with messages of 8 KiB, four flows.
fn trial(kind: &str) -> Trial {
    Trial {
        id: TrialId("t".into()),
        label: kind.into(),
        kind: kind.into(),
        params: Params::of_network(Bytes(8192), 4),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(0), Nanos(2_200_000_000), Nanos(0)),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

/// Program and words of the server, and those of the client, that reaches it at 192.0.2.1.
#[track_caller]
fn called(tool: &str, trial: &Trial, [server, client]: [&str; 2]) {
    let engine = ENGINES.iter().find(|engine| engine.name == tool).expect("a tool");
    let program = (engine.program)(trial);
    let line = |program: &str, words: Vec<String>| format!("{program} {}", words.join(" "));
    let serves = engine.server_program.unwrap_or(program);
    assert_eq!(line(serves, (engine.server)(trial, 7000)), server);
    let address = "192.0.2.1".parse().expect("an address");
    assert_eq!(line(program, (engine.client)(trial, address, 7000)), client);
}

/// With a socket buffer of 1 MiB, 80 Mb/s and cubic.
fn asked(kind: &str) -> Trial {
    let mut trial = trial(kind);
    trial.params.socket_buffer_bytes = Some(Bytes(1 << 20));
    trial.params.rate_bps = Some(80_000_000);
    trial.params.congestion = Some("cubic".into());
    trial
}

#[test]
fn iperf_has_its_window_at_both_ends_and_a_pace_a_flow() {
    called(
        "iperf",
        &trial("tcp-stream"),
        ["iperf -s -p 7000", "iperf -f k -c 192.0.2.1 -p 7000 -t 3 -l 8192 -P 4"],
    );
    // Each of four flows has a quarter of the pace; TCP has none.
    called(
        "iperf",
        &asked("udp-stream"),
        [
            "iperf -s -p 7000 -u -w 1048576",
            "iperf -f k -c 192.0.2.1 -p 7000 -t 3 -l 8192 -P 4 -w 1048576 -u -b 20000000 -Z cubic",
        ],
    );
}

#[test]
fn iperf3_is_told_the_pace_the_congestion_control_and_the_direction() {
    let mut reverse = asked("tcp-stream");
    reverse.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
    let engine = ENGINES.iter().find(|engine| engine.name == "iperf3").expect("a tool");
    let reach = (engine.reach)("192.0.2.1".parse().expect("an address"), 7000).join(" ");
    assert!(reach.contains("-c 192.0.2.1 -p 7000"), "{reach}");
    let client = format!("iperf3 {reach} -t 3 -l 8192 -P 4 -w 1048576 -b 20000000 -C cubic -R");
    called("iperf3", &reverse, ["iperf3 -s -p 7000", &client]);
    let mut marked = trial("tcp-stream");
    marked.params.socket = Some(SocketParams { dscp: Some(46), ..SocketParams::default() });
    let client = format!("iperf3 {reach} -t 3 -l 8192 -P 4 --dscp 46");
    called("iperf3", &marked, ["iperf3 -s -p 7000", &client]);
}

#[test]
fn nuttcp_takes_kibibytes_and_kilobits_and_never_less_than_asked() {
    let server = "nuttcp -S --nofork -P 7000";
    called("nuttcp", &trial("tcp-stream"), [server, "nuttcp -T3 -l8192 -N4 -P 7000 192.0.2.1"]);
    let mut one = asked("udp-stream");
    one.params.streams = 1;
    let client = "nuttcp -T3 -l8192 -u -R80000 -w1024 -P 7000 192.0.2.1";
    called("nuttcp", &one, [server, client]);
    one.params.rate_bps = Some(1_500_100);
    one.params.socket_buffer_bytes = Some(Bytes(512));
    called("nuttcp", &one, [server, "nuttcp -T3 -l8192 -u -R1501 -w1 -P 7000 192.0.2.1"]);
}

#[test]
fn sockperf_speaks_tcp_where_the_trial_does() {
    called(
        "sockperf",
        &trial("tcp-latency"),
        [
            "sockperf sr --tcp -i 0.0.0.0 -p 7000",
            "sockperf pp -i 192.0.2.1 -p 7000 -t 3 -m 8192 --tcp",
        ],
    );
    called(
        "sockperf",
        &trial("udp-latency"),
        ["sockperf sr -i 0.0.0.0 -p 7000", "sockperf pp -i 192.0.2.1 -p 7000 -t 3 -m 8192"],
    );
}

#[test]
fn redis_keeps_no_file_and_lets_others_store_and_read_values_alone() {
    let server = "redis-server --bind 0.0.0.0 --protected-mode no --appendonly no --maxmemory 64mb \
                  --user default on nopass allkeys nocommands +get +set +ping --port 7000 --save ";
    let client = "redis-benchmark -h 192.0.2.1 -p 7000 -c 1 -t set -n 22000 -d 8192";
    called("redis", &trial("tcp-latency"), [server, client]);
}

#[test]
fn qperf_has_a_word_a_test() {
    let words = [
        ("tcp-stream", "tcp_bw"),
        ("tcp-latency", "tcp_lat"),
        ("udp-stream", "udp_bw"),
        ("udp-latency", "udp_lat"),
        ("rdma-send-latency", "rc_lat"),
        ("rdma-send-stream", "rc_bw"),
        ("rdma-read-stream", "rc_rdma_read_bw"),
        ("rdma-write-stream", "rc_rdma_write_bw"),
    ];
    for (kind, word) in words {
        let client = format!("qperf -t 3 -m 8192 -lp 7000 192.0.2.1 {word}");
        called("qperf", &trial(kind), ["qperf -lp 7000", &client]);
    }
    let mut managed = trial("rdma-send-latency");
    let connection = Some(RdmaConnection::Manager);
    managed.params.rdma = Some(RdmaParams { connection, ..RdmaParams::default() });
    let client = "qperf -t 3 -m 8192 -cm 1 -lp 7000 192.0.2.1 rc_lat";
    called("qperf", &managed, ["qperf -lp 7000", client]);
}

#[test]
fn perftest_has_a_program_a_verb_and_a_device_an_end() {
    let mut all = trial("rdma-send-stream");
    let mut rdma = RdmaParams {
        connection: Some(RdmaConnection::Manager),
        service: Some(RdmaService::UnreliableDatagram),
        depth: Some(64),
        post_list: Some(8),
        signal_every: Some(16),
        inline_bytes: Some(32),
        path_mtu_bytes: Some(1024),
        service_level: Some(3),
        ..RdmaParams::default()
    };
    (rdma.receiver.device, rdma.sender.device) = (Some("siw0".into()), Some("siw1".into()));
    (rdma.sender.port, rdma.sender.gid_index) = (Some(2), Some(5));
    all.params.rdma = Some(rdma);
    all.params.stream = Some(StreamParams { bidirectional: true, ..StreamParams::default() });
    let tuned = "-s 8192 -D 3 -q 4 -c UD -R -t 64 -l 8 -Q 16 -I 32 -m 1024 -S 3 -b -e -F";
    called(
        "perftest",
        &all,
        [
            &format!("ib_send_bw -d siw0 {tuned} -p 7000"),
            &format!("ib_send_bw -d siw1 -i 2 -x 5 {tuned} -p 7000 192.0.2.1"),
        ],
    );
    // A round trip has one queue pair and no depth; who spins asks for no events, nor is there one
    // of a write.
    let mut spins = trial("rdma-read-latency");
    spins.params.socket = Some(SocketParams { wait: Some(Wait::Spin), ..SocketParams::default() });
    let words = "ib_read_lat -s 8192 -D 3 -F -p 7000";
    called("perftest", &spins, [words, &format!("{words} 192.0.2.1")]);
    let words = "ib_write_lat -s 8192 -D 3 -F -p 7000";
    called("perftest", &trial("rdma-write-latency"), [words, &format!("{words} 192.0.2.1")]);
    let words = "ib_atomic_bw -D 3 -q 4 -e -F -p 7000";
    called("perftest", &trial("rdma-atomic-stream"), [words, &format!("{words} 192.0.2.1")]);
}

#[test]
fn ranks_have_their_pattern_and_a_limit_that_lets_the_launcher_start() {
    let mut ranks = trial("mpi-bandwidth");
    ranks.engine = Some(Engine {
        tool: "mpi".into(),
        client: vec!["--fabric".into(), "tcp:eth0".into()],
        ..Engine::default()
    });
    // Twice the window, rounded up, and a minute.
    called(
        "mpi",
        &ranks,
        [
            "mpirun ",
            "mpirun mpi bandwidth --sizes 8192 -t 2.2 --limit 65 --hosts localhost,192.0.2.1 \
         --repeats 1 --passing --fabric tcp:eth0",
        ],
    );
    let mut four = trial("mpi-allreduce-latency");
    four.params.told.tell(&narrows_model::options::runs::RANKS, 4);
    called(
        "mpi",
        &four,
        [
            "mpirun ",
            "mpirun mpi allreduce --sizes 8192 -t 2.2 -n 4 --limit 65 --hosts \
             localhost,192.0.2.1 --repeats 1 --passing",
        ],
    );
}
