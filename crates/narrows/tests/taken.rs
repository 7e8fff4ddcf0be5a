//! What a worker is counted to take is what it takes, and what it is held to.

mod common;

use common::narrows;
use narrows_control::session::{Answer, Order};
use narrows_hostctl::child;
use narrows_model::load::{Job, Params, Role, SocketParams, StreamParams, Timeline};
use narrows_model::{Bytes, Nanos};
use narrows_workloads::takes;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Stdio};

/// A worker of this program that the test gives its orders.
struct Worker {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(most: Option<Bytes>) -> Self {
        let mut command = narrows();
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(most) = most {
            child::hold(&mut command, most);
        }
        let mut child = command.spawn().expect("a worker");
        let answers = BufReader::new(child.stdout.take().expect("pipe")).lines();
        Self { child, answers }
    }

    fn order(&mut self, order: &Order) {
        let text = serde_json::to_string(order).expect("JSON");
        writeln!(self.child.stdin.as_mut().expect("pipe"), "{text}").expect("said");
    }

    fn hear(&mut self) -> Answer {
        let line = self.answers.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("an answer")
    }

    /// The memory that it has of its own, in bytes: the program's pages, which the kernel maps by
    /// the megabyte where its file is cached in large pieces, are not among it.
    fn own_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("status");
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let kib = line.unwrap_or_else(|| panic!("{key} {status}")).trim();
            1024 * kib.trim_end_matches(" kB").parse::<u64>().expect("a number")
        };
        of("RssAnon:") + of("RssShmem:")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn job(kind: &str, end: Role, message: u64, stream: &StreamParams) -> Job {
    let span = Nanos(50_000_000);
    let streams = kind.ends_with("-stream").then(|| stream.clone());
    Job {
        address: Some("127.0.0.1".parse().expect("address")),
        token: "0a".repeat(16),
        ..Job::new(
            kind.into(),
            end,
            Params {
                stream: streams,
                socket: Some(SocketParams::default()),
                ..Params::of_network(Bytes(message), 4)
            },
            Timeline::new(span, span, span),
        )
    }
}

/// Takes two workers to the gate; the memory of the end that receives and of that which sends.
fn held(kind: &str, message: u64, stream: &StreamParams) -> Result<(u64, u64), String> {
    let (mut receiver, mut sender) = (Worker::start(None), Worker::start(None));
    receiver.order(&Order::Prepare { job: Box::new(job(kind, Role::Receiver, message, stream)) });
    let ports = match receiver.hear() {
        Answer::Prepared { ports } => ports,
        other => return Err(format!("{other:?}")),
    };
    sender.order(&Order::Prepare { job: Box::new(job(kind, Role::Sender, message, stream)) });
    sender.hear();
    receiver.order(&Order::Arm { peer: vec![] });
    let to = |port| SocketAddr::from(([127, 0, 0, 1], port));
    sender.order(&Order::Arm { peer: ports.into_iter().map(to).collect() });
    match (sender.hear(), receiver.hear()) {
        (Answer::Armed, Answer::Armed) => Ok((receiver.own_bytes(), sender.own_bytes())),
        other => Err(format!("{other:?}")),
    }
}

/// Sender, receiver, both directions, verified; the share of what is counted that is the process's
/// own pages at either end: pipes and files in memory are the kernel's.
type Case = (Option<&'static str>, Option<&'static str>, bool, bool, [f64; 2]);

#[test]
fn what_is_counted_is_what_a_worker_takes() {
    const MIB: u64 = 1 << 20;
    let tcp: [Case; 7] = [
        (None, None, false, false, [1.0, 1.0]),
        (Some("sendfile"), None, false, false, [1.0, 0.5]),
        (Some("vmsplice"), None, false, false, [1.0, 1.0]),
        (Some("zerocopy"), None, false, false, [1.0, 1.0]),
        (Some("io_uring"), Some("multishot"), false, false, [1.0, 1.0]),
        (None, None, true, false, [1.0, 1.0]),
        (None, Some("multishot"), true, true, [1.0, 1.0]),
    ];
    let udp: [Case; 2] = [
        (None, Some("recvmmsg"), false, false, [1.0, 1.0]),
        (Some("sendmmsg"), Some("multishot"), false, false, [1.0, 1.0]),
    ];
    let tcp = tcp.map(|case| ("tcp-stream", 2 * MIB, case));
    let udp = udp.map(|case| ("udp-stream", 60_000, case));
    let mut compared = 0;
    for (kind, message, (sender, receiver, bidirectional, verify, shares)) in
        tcp.into_iter().chain(udp)
    {
        let stream = StreamParams {
            sender: sender.map(str::to_owned),
            receiver: receiver.map(str::to_owned),
            bidirectional,
            verify,
            ..StreamParams::default()
        };
        let what = format!("{kind} {sender:?} {receiver:?} {bidirectional} {verify}");
        let (small, large) = (held(kind, 64, &stream), held(kind, message, &stream));
        let (Ok(small), Ok(large)) = (&small, &large) else {
            common::skip("what_is_counted", &format!("{what}: {small:?} {large:?}"));
            continue;
        };
        let counted = |end, message| {
            takes::count(&job(kind, end, message, &stream)).expect("counted").buffer_bytes as f64
        };
        for (end, small, large, share) in [
            (Role::Receiver, small.0, large.0, shares[0]),
            (Role::Sender, small.1, large.1, shares[1]),
        ] {
            let count = share * (counted(end, message) - counted(end, 64));
            let took = large as f64 - small as f64;
            // A mebibyte either way is the allocator's and the scheduler's.
            let near = |a: f64, b: f64| a <= b * 1.1 + MIB as f64;
            // What fills a file in memory is given back at once, thread by thread.
            let passing = sender == Some("sendfile") && end == Role::Sender;
            assert!(near(took, count), "{what} {end:?}: {took} of {count}");
            assert!(passing || near(count, took), "{what} {end:?}: {took} of {count}");
            compared += usize::from(count > 4.0 * MIB as f64);
        }
    }
    assert!(compared >= 9, "{compared} cases were large enough to compare");
}

#[test]
fn a_worker_cannot_take_more_than_it_is_held_to() {
    // Four buffers of 64 MiB beside a limit of 1 MiB: not even the allowance for itself has room.
    let prepared = |most| {
        let mut worker = Worker::start(most);
        let stream = StreamParams::default();
        let order = job("tcp-stream", Role::Sender, 64 << 20, &stream);
        worker.order(&Order::Prepare { job: Box::new(order) });
        worker.hear();
        let receiver = std::net::TcpListener::bind("127.0.0.1:0").expect("listen");
        worker.order(&Order::Arm { peer: vec![receiver.local_addr().expect("address"); 4] });
        worker.hear()
    };
    assert_eq!(prepared(None), Answer::Armed);
    let Answer::Failed { why, .. } = prepared(Some(Bytes::mib(1))) else { panic!("it was armed") };
    assert!(why.contains("reserving a buffer") && why.contains("memory"), "{why}");
}
