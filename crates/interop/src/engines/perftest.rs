//! perftest: a program a verb, and another for its latency.

use super::words::{Allowed, Takes};
use super::{Engine, Runs, options, seconds};
use narrows_model::load::Wait;
use narrows_model::rdma::{RdmaConnection, RdmaPlace, RdmaService};
use narrows_model::trial::Trial;
use narrows_model::workload::RdmaVerb::{self, Atomic, Read, Send, Write};
use narrows_model::workload::Transport::Rdma;
use narrows_model::workload::Workload::{Latency, Stream};

/// The tool. Its server serves one test and ends.
pub static ENGINE: Engine = Engine {
    name: "perftest",
    program,
    server_program: None,
    runs: Runs::ClientAndServer,
    package: "perftest",
    kinds: &[
        Latency(Rdma(Atomic)),
        Stream(Rdma(Atomic)),
        Latency(Rdma(Read)),
        Stream(Rdma(Read)),
        Latency(Rdma(Send)),
        Stream(Rdma(Send)),
        Latency(Rdma(Write)),
        Stream(Rdma(Write)),
    ],
    takes: &[
        "length",
        "parallel",
        "wait",
        "bidirectional",
        "device",
        "ib_port",
        "gid_index",
        "connection",
        "service",
        "depth",
        "post_list",
        "signal_every",
        "inline",
        "path_mtu",
        "service_level",
    ],
    port: 18515,
    server: |trial, port| {
        let rdma = trial.params.rdma.clone().unwrap_or_default();
        let mut all = of_both(trial, &rdma.receiver);
        all.extend(["-p".to_owned(), port.to_string()]);
        all
    },
    client: |trial, address, port| {
        let rdma = trial.params.rdma.clone().unwrap_or_default();
        [of_both(trial, &rdma.sender), (ENGINE.reach)(address, port)].concat()
    },
    client_words: OWN,
    server_words: OWN,
    reach: |address, port| vec!["-p".into(), port.to_string(), address.to_string()],
};

/// Words that a study may give either end.
const OWN: &[Allowed] = &[
    (
        Takes::Nothing,
        &[
            "-a",
            "--all",
            "-b",
            "--bidirectional",
            "-e",
            "--events",
            "-F",
            "--CPU-freq",
            "-N",
            "-R",
            "--rdma_cm",
            "--report_gbits",
            "--noPeak",
        ],
    ),
    (
        Takes::Number,
        &[
            "-s",
            "--size",
            "-n",
            "--iters",
            "-D",
            "--duration",
            "-q",
            "--qp",
            "-i",
            "--ib-port",
            "-x",
            "--gid-index",
            "-t",
            "--tx-depth",
            "-r",
            "--rx-depth",
            "-l",
            "--post_list",
            "-Q",
            "--cq-mod",
            "-I",
            "--inline_size",
            "-m",
            "--mtu",
            "-S",
            "--sl",
            "-u",
            "--qp-timeout",
            "-o",
            "--outs",
        ],
    ),
    (Takes::Name, &["-d", "--ib-dev", "-c", "--connection"]),
];

fn program(trial: &Trial) -> &'static str {
    match trial.kind {
        Latency(Rdma(Atomic)) => "ib_atomic_lat",
        Stream(Rdma(Atomic)) => "ib_atomic_bw",
        Latency(Rdma(Read)) => "ib_read_lat",
        Stream(Rdma(Read)) => "ib_read_bw",
        Latency(Rdma(Send)) => "ib_send_lat",
        Stream(Rdma(Send)) => "ib_send_bw",
        Latency(Rdma(Write)) => "ib_write_lat",
        _ => "ib_write_bw",
    }
}

/// What both ends are told.
fn of_both(trial: &Trial, place: &RdmaPlace) -> Vec<String> {
    let params = &trial.params;
    let rdma = params.rdma.clone().unwrap_or_default();
    let atomic = trial.kind.verb() == Some(RdmaVerb::Atomic);
    let bandwidth = trial.kind.is_stream();
    // It has no events for writes, whose targets hear of nothing.
    let looks = params.socket.as_ref().and_then(|socket| socket.wait.as_ref()) == Some(&Wait::Spin);
    let events = !looks && !matches!(trial.kind.verb(), Some(RdmaVerb::Write | RdmaVerb::WriteImm));
    let service = rdma.service.unwrap_or(RdmaService::ReliableConnection);
    let both = params.stream.as_ref().is_some_and(|stream| stream.bidirectional);
    options(&[
        ("-d", place.device.clone()),
        ("-i", small(place.port)),
        ("-x", small(place.gid_index)),
        ("-s", (!atomic).then(|| params.message_bytes.0.to_string())),
        ("-D", Some(seconds(trial))),
        ("-q", bandwidth.then(|| params.streams.to_string())),
        (
            "-c",
            (service != RdmaService::ReliableConnection).then(|| service.as_str().to_uppercase()),
        ),
        ("-R", flag(rdma.connection == Some(RdmaConnection::Manager))),
        ("-t", number(rdma.depth).filter(|_| bandwidth)),
        ("-l", number(rdma.post_list).filter(|_| bandwidth)),
        ("-Q", number(rdma.signal_every).filter(|_| bandwidth)),
        ("-I", number(rdma.inline_bytes)),
        ("-m", number(rdma.path_mtu_bytes)),
        ("-S", small(rdma.service_level)),
        ("-b", flag(both)),
        ("-e", flag(events)),
        ("-F", flag(true)),
    ])
}

fn flag(wanted: bool) -> Option<String> {
    wanted.then(String::new)
}

fn number(number: Option<u32>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn small(number: Option<u8>) -> Option<String> {
    number.map(|number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, SocketParams, StreamParams, Timeline};
    use narrows_model::rdma::RdmaParams;
    use narrows_model::trial::{EndSpec, NetworkPath, Placement, TrialId};
    use narrows_model::{Bytes, Nanos};

    fn told(kind: &str, change: impl Fn(&mut Params)) -> String {
        let mut params = Params::of_network(Bytes(65_536), 4);
        change(&mut params);
        let trial = Trial {
            id: TrialId("a".into()),
            label: kind.into(),
            kind: kind.into(),
            params,
            ends: EndSpec::pair(Placement::default(), Placement::default(), false),
            path: NetworkPath::Peer,
            timeline: Timeline {
                warmup_ns: Nanos(0),
                window_ns: Nanos(2_000_000_000),
                cooldown_ns: Nanos(0),
                interval_ns: None,
            },
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        let place = RdmaPlace { device: Some("mlx5_0".into()), port: Some(1), gid_index: Some(3) };
        let words = of_both(&trial, &place).join(" ");
        words.replacen("-d mlx5_0 -i 1 -x 3 ", "", 1).replacen("-D 2 ", "", 1)
    }

    #[test]
    fn each_verb_is_told_what_its_program_takes() {
        // An atomic has eight bytes and no option for it; a write's target hears of nothing.
        let as_it_is = |_: &mut Params| {};
        assert_eq!(told("rdma-write-stream", as_it_is), "-s 65536 -q 4 -F");
        assert_eq!(told("rdma-read-stream", as_it_is), "-s 65536 -q 4 -e -F");
        assert_eq!(told("rdma-atomic-stream", as_it_is), "-q 4 -e -F");
        assert_eq!(told("rdma-send-latency", as_it_is), "-s 65536 -e -F");
        let spins = |params: &mut Params| {
            let wait = Some(Wait::Spin);
            params.socket = Some(SocketParams { wait, ..SocketParams::default() });
        };
        assert_eq!(told("rdma-read-stream", spins), "-s 65536 -q 4 -F");
        let more = |params: &mut Params| {
            let stream = StreamParams { bidirectional: true, ..StreamParams::default() };
            params.stream = Some(stream);
            params.rdma = Some(RdmaParams {
                service: Some("uc".into()),
                connection: Some("cm".into()),
                depth: Some(64),
                ..RdmaParams::default()
            });
        };
        assert_eq!(told("rdma-write-stream", more), "-s 65536 -q 4 -c UC -R -t 64 -b -F");
        assert_eq!(told("rdma-write-latency", more), "-s 65536 -c UC -R -b -F");
    }
}
