//! The ends of a trial against another end made by hand: what goes over the wire, what is counted,
//! and what a stranger gets.

use narrows_model::load::{Corruption, StretchOf, ThreadUsage, TripParams};
use narrows_model::load::{EndReport, Job, Params, Role, StreamParams, Timeline};
use narrows_model::{Bytes, Nanos};
use narrows_workloads::LoadError;
use narrows_workloads::harness::Unwatched;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const TOKEN: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

fn job(kind: &str, end: Role, message_bytes: u64) -> Job {
    Job {
        address: Some("127.0.0.1".parse().expect("address")),
        token: TOKEN.iter().map(|byte| format!("{byte:02x}")).collect(),
        ..Job::new(
            kind.into(),
            end,
            Params::of_network(Bytes(message_bytes), 1),
            Timeline::new(Nanos::from_millis(20), Nanos::from_millis(600), Nanos::from_millis(20)),
        )
    }
}

type Running = JoinHandle<Result<EndReport, LoadError>>;

/// Starts a listening end; where it listens, and its run.
fn listening(job: Job) -> (SocketAddr, Running) {
    let kind = narrows_workloads::check(&job).expect("a job within limits");
    let prepared = (kind.prepare)(&job).expect("prepared");
    let at = SocketAddr::new("127.0.0.1".parse().expect("address"), prepared.ports()[0]);
    let run = thread::spawn(move || {
        let threads = prepared.arm(&[], ThreadUsage::default)?;
        threads.run(&job.timeline, &mut Unwatched)
    });
    (at, run)
}

/// A word over UDP, as `harness::meet` has it: the token's halves exchanged, a kind, a nonce.
fn word(kind: u8, nonce: [u8; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&TOKEN[8..]);
    bytes[8..16].copy_from_slice(&TOKEN[..8]);
    bytes[16] = kind;
    bytes[24..].copy_from_slice(&nonce);
    bytes
}

fn datagram(sequence: u64, length: usize) -> Vec<u8> {
    let mut bytes = TOKEN[..8].to_vec();
    bytes.extend(sequence.to_be_bytes());
    bytes.resize(length, 0);
    bytes
}

/// A socket that has proved itself to the end at `to`.
fn proved(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("timeout");
    socket.connect(to).expect("connect");
    socket.send(&word(1, [0; 8])).expect("hello");
    let mut heard = [0; 64];
    assert_eq!(socket.recv(&mut heard).expect("challenge"), 32);
    assert_eq!(heard[16], 2);
    let nonce = heard[24..32].try_into().expect("nonce");
    socket.send(&word(3, nonce)).expect("proof");
    assert_eq!(socket.recv(&mut heard).expect("welcome"), 32);
    assert_eq!(heard[16], 4);
    socket
}

#[test]
fn lost_late_and_doubled_datagrams_are_counted_apart() {
    let mut receiver = job("udp-stream", Role::Receiver, 64);
    // Half a second to spare on each side of where a datagram should fall: the machine may be busy.
    receiver.timeline.warmup_ns = Nanos::from_millis(500);
    receiver.timeline.window_ns = Nanos::from_millis(1000);
    let (at, run) = listening(receiver);
    let socket = proved(at);
    // Before the window: 0. In it: 3 and 7 never come, 5 comes late, 6 and 8 twice.
    socket.send(&datagram(0, 64)).expect("send");
    thread::sleep(Duration::from_millis(1000));
    for sequence in [1, 2, 4, 6, 5, 6, 8, 9, 8] {
        socket.send(&datagram(sequence, 64)).expect("send");
    }
    // Strangers: without the token, and from another address, which the kernel drops.
    socket.send(&[0xff; 64]).expect("send");
    let other = UdpSocket::bind("127.0.0.1:0").expect("socket");
    other.send_to(&datagram(50, 64), at).expect("send");
    let report = run.join().expect("thread").expect("a run");
    let flow = &report.flows[0];
    assert_eq!((flow.messages, flow.bytes), (7, Bytes(7 * 64)), "{flow:?}");
    assert_eq!((flow.lost, flow.reordered, flow.duplicates), (2, 1, 2), "{flow:?}");
}

#[test]
fn no_datagram_goes_to_an_address_that_has_not_proved_itself() {
    let mut reverse = job("udp-stream", Role::Sender, 1000);
    reverse.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
    reverse.timeline.window_ns = Nanos::from_millis(100);
    let (at, run) = listening(reverse);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("socket");
    stranger.set_read_timeout(Some(Duration::from_millis(300))).expect("timeout");
    stranger.connect(at).expect("connect");
    let mut heard = [0; 2000];
    // Nothing without the token; with it a challenge no longer than the hello; nothing for a proof
    // that was guessed, nor for one that was given to another address.
    stranger.send(&[7; 32]).expect("send");
    assert!(stranger.recv(&mut heard).is_err(), "a stranger was answered");
    stranger.send(&word(1, [0; 8])).expect("hello");
    assert_eq!(stranger.recv(&mut heard).expect("challenge"), 32);
    let nonce: [u8; 8] = heard[24..32].try_into().expect("nonce");
    stranger.send(&word(3, [9; 8])).expect("guess");
    assert!(stranger.recv(&mut heard).is_err(), "a guess was taken");
    let other = UdpSocket::bind("127.0.0.1:0").expect("socket");
    other.send_to(&word(3, nonce), at).expect("send");
    other.set_read_timeout(Some(Duration::from_millis(300))).expect("timeout");
    assert!(other.recv(&mut heard).is_err(), "another's proof was taken");
    // The proof opens it.
    stranger.send(&word(3, nonce)).expect("proof");
    let mut longest = 0;
    while let Ok(length) = stranger.recv(&mut heard) {
        longest = longest.max(length);
    }
    assert_eq!(longest, 1000, "datagrams of the run");
    assert!(run.join().expect("thread").expect("a run").flows[0].messages > 0);
}

fn greeted(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).expect("connect");
    stream.write_all(&TOKEN).expect("token");
    stream.write_all(&0u32.to_be_bytes()).expect("flow");
    stream
}

#[test]
fn a_wrong_byte_is_found_by_verification_and_by_nothing_else() {
    for (verify, found) in [(true, true), (false, false)] {
        let mut receiver = job("tcp-stream", Role::Receiver, 4096);
        receiver.params.stream = Some(StreamParams { verify, ..StreamParams::default() });
        let (at, run) = listening(receiver);
        let mut stream = greeted(at);
        let pattern = narrows_workloads::harness::payload::pattern(4096, None).expect("pattern");
        let mut bytes = pattern.bytes()[..4096].repeat(3);
        bytes[9000] ^= 0x10;
        stream.write_all(&bytes).expect("write");
        let ended = run.join().expect("thread");
        match ended {
            Ok(report) => {
                let wanted = found.then_some(Corruption { flow: 0, at_byte: 9000 });
                assert_eq!(report.corrupted, wanted);
            }
            Err(error) => panic!("verify {verify}: {error}"),
        }
        drop(stream);
    }
}

#[test]
fn strangers_do_not_count_as_flows_and_responses_have_their_size() {
    let mut receiver = job("tcp-rr", Role::Receiver, 10);
    receiver.params.trip = Some(TripParams { response_bytes: Some(Bytes(300)), per_second: None });
    let (at, run) = listening(receiver);
    // Wrong token, a flow that is not there, and one that hangs up.
    let mut wrong = TcpStream::connect(at).expect("connect");
    wrong.write_all(&[0; 20]).expect("write");
    let mut beyond = TcpStream::connect(at).expect("connect");
    beyond.write_all(&TOKEN).expect("write");
    beyond.write_all(&7u32.to_be_bytes()).expect("write");
    drop(TcpStream::connect(at).expect("connect"));
    let mut stream = greeted(at);
    let mut response = [0; 300];
    for _ in 0..3 {
        stream.write_all(&[1; 10]).expect("request");
        stream.read_exact(&mut response).expect("response");
    }
    let report = run.join().expect("thread").expect("a run");
    assert_eq!(report.flows.len(), 1);
    // The first round trips may have been before the window.
    assert!(report.flows[0].messages <= 3, "{report:?}");
}

#[test]
fn what_is_beyond_limits_or_makes_no_sense_is_refused() {
    let refused = |change: &dyn Fn(&mut Job), says: &str| {
        let mut job = job("tcp-stream", Role::Receiver, 4096);
        change(&mut job);
        let Err(error) = narrows_workloads::check(&job) else { panic!("not refused: {says}") };
        assert!(error.to_string().contains(says), "{error}");
    };
    let stream = |job: &mut Job, stream: StreamParams| job.params.stream = Some(stream);
    let none = StreamParams::default;
    refused(&|j| j.params.streams = 0, "parallel: 0 is out of bounds");
    refused(&|j| stream(j, StreamParams { sender: Some("x".into()), ..none() }), "no TCP sender");
    refused(
        &|j| stream(j, StreamParams { span_bytes: Some(Bytes(u64::MAX)), ..none() }),
        "buffer: 18446744073709551615 B is out of bounds",
    );
    refused(
        &|j| {
            let receiver = Some("splice".into());
            stream(j, StreamParams { receiver, verify: true, ..none() })
        },
        "never reaches the program",
    );
    refused(
        &|j| stream(j, StreamParams { reverse: true, bidirectional: true, ..none() }),
        "cannot be reversed",
    );
    refused(
        &|j| {
            j.kind = "udp-stream".into();
            j.params.message_bytes = Bytes(65_508);
        },
        "65508",
    );
    refused(
        &|j| {
            let wait = Some("dream".into());
            j.params.socket =
                Some(narrows_model::load::SocketParams { wait, ..Default::default() });
        },
        "'dream' is none of",
    );
    refused(
        &|j| {
            j.kind = "tcp-rr".into();
            j.params.trip = Some(TripParams { per_second: Some(0), ..TripParams::default() });
        },
        "per_second: 0 is out of bounds",
    );
    refused(
        &|j| {
            j.params.trip = Some(TripParams { per_second: Some(5), ..TripParams::default() });
        },
        "tcp-stream",
    );
}

/// As a datagram of the sender's window.
fn marked(sequence: u64, length: usize) -> Vec<u8> {
    datagram(sequence | 1 << 63, length)
}

#[test]
fn datagrams_of_the_senders_window_are_counted_once_each_however_late_they_come() {
    let mut receiver = job("udp-stream", Role::Receiver, 64);
    receiver.timeline.window_ns = Nanos::from_millis(200);
    let (at, run) = listening(receiver);
    let socket = proved(at);
    // Of 0 to 9 in the sender's window 3 is lost, and the last two; 5 comes twice.
    for sequence in [0, 1, 2, 4, 5, 5, 7, 6] {
        socket.send(&marked(sequence, 64)).expect("send");
    }
    // Those after the window say nothing, and the receiver's time line is long over.
    thread::sleep(Duration::from_millis(600));
    socket.send(&datagram(10, 64)).expect("send");
    socket.send(&datagram(u64::MAX, 16)).expect("over");
    let report = run.join().expect("thread").expect("a run");
    let stretch = report.flows[0].stretch.expect("counted");
    assert_eq!((stretch.of, stretch.datagrams), (StretchOf::SenderWindow, 7), "{report:?}");
}

#[test]
fn a_sender_counts_what_it_marks_and_says_that_it_is_over() {
    let mut sender = job("udp-stream", Role::Sender, 100);
    sender.params.rate_bps = Some(800_000);
    sender.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
    sender.timeline.window_ns = Nanos::from_millis(200);
    let (at, run) = listening(sender);
    let socket = proved(at);
    let (mut marks, mut plain, mut is_over) = (0, 0, false);
    let mut heard = [0; 2000];
    while !is_over {
        let length = socket.recv(&mut heard).expect("a datagram");
        let number = u64::from_be_bytes(heard[8..16].try_into().expect("number"));
        match number {
            u64::MAX => is_over = true,
            _ if length != 100 => {}
            n if n >> 63 == 1 => marks += 1,
            _ => plain += 1,
        }
    }
    let report = run.join().expect("thread").expect("a run");
    let stretch = report.flows[0].stretch.expect("counted");
    assert_eq!((stretch.of, stretch.datagrams), (StretchOf::SenderWindow, marks), "{report:?}");
    assert!(marks > 10 && plain > 0, "{marks} in the window, {plain} beside it");
    // Waiting for the pace is told apart from the work.
    let usage = &report.threads[0];
    assert!(usage.pacing_ns.is_some(), "{usage:?}");
}
