//! Limits of an order at their ends, and what an order takes of a host, worked out by hand.

use narrows_model::load::{Job, Params, Role, SocketParams, StreamParams};
use narrows_model::load::{Timeline, TripParams};
use narrows_model::options::rdma::ALTERNATE;
use narrows_model::options::{Value, runs, trips};
use narrows_model::rdma::RdmaParams;
use narrows_model::{Bytes, Nanos};
use narrows_workloads::takes::{Takes, count};
use narrows_workloads::{check, kind, tcp, udp};

fn job(kind: &str, message: u64) -> Job {
    let ms = Nanos::from_millis;
    Job {
        address: Some([127, 0, 0, 1].into()),
        token: "00".repeat(16),
        ..Job::new(
            kind.into(),
            Role::Receiver,
            Params::of_network(Bytes(message), 1),
            Timeline::new(ms(1), ms(1000), ms(1)),
        )
    }
}

/// Nothing where the order is taken.
fn said(kind: &str, message: u64, change: impl Fn(&mut Job)) -> String {
    let mut job = job(kind, message);
    change(&mut job);
    check(&job).err().map_or(String::new(), |error| error.to_string())
}

#[track_caller]
fn refused(said: String, words: &str) {
    assert!(said.contains(words), "'{said}' lacks '{words}'");
}

const MIB: u64 = 1 << 20;

/// Bytes of the buffers of a memory kernel over so many bytes.
fn buffers(kernel: &str, bytes: u64, threads: u32) -> Vec<u64> {
    let mut job = job(kernel, 64);
    job.params.streams = threads;
    job.params.working_set_bytes = Bytes(bytes);
    let kind = kind(&job.kind).expect("a kernel");
    (kind.prepare)(&job).map(|end| end.buffers()).unwrap_or_default()
}

#[test]
fn kernels_have_a_buffer_for_each_thread_and_array() {
    assert_eq!(buffers("memory-read", MIB, 2), [MIB / 2; 2]);
    assert_eq!(buffers("memory-triad", 12 * MIB, 2), [2 * MIB; 6]);
    assert_eq!(buffers("memory-copy", 1, 3), [4096; 6]);
    assert_eq!(buffers("memory-latency", 8 * MIB, 1), [8 * MIB]);
    assert_eq!(buffers("memory-latency", 8 * MIB, 4), [8 * MIB, 4 * MIB, 4 * MIB, 4 * MIB]);
}

#[test]
fn messages_flows_and_buffers_have_ends() {
    let message = |kind: &str, bytes: u64| said(kind, bytes, |_| {});
    assert_eq!(message("tcp-stream", 1), "");
    assert_eq!(message("tcp-stream", 64 * MIB), "");
    refused(message("tcp-stream", 64 * MIB + 1), "must be 1 to 67108864");
    refused(message("tcp-stream", 0), "message size is 0 B");
    assert_eq!(message("udp-stream", 65_507), "");
    refused(message("udp-stream", 65_508), "to 65507");
    refused(message("nothing", 1), "no workload is called 'nothing'");
    let flows =
        |streams: u32, bytes: u64| said("tcp-stream", bytes, |j| j.params.streams = streams);
    assert_eq!((flows(1024, 1), flows(16, 64 * MIB)), (String::new(), String::new()));
    refused(flows(1025, 1), "parallel: 1025 is out of bounds, must be 1 to 1024");
    refused(flows(17, 64 * MIB), "1140850688 B of buffers, must be at most 1073741824");
    refused(said("tcp-stream", 1, |j| j.address = None), "needs an address");
    assert_ne!(said("tcp-stream", 1, |j| j.token = "00".into()), "");
}

#[test]
fn a_time_line_has_a_window_and_ends_in_an_hour() {
    let line = |warmup: u64, window: u64, cooldown: u64| {
        said("tcp-stream", 1, |j| {
            let [warmup_ns, window_ns, cooldown_ns] = [warmup, window, cooldown].map(Nanos);
            j.timeline = Timeline { warmup_ns, window_ns, cooldown_ns, interval_ns: None };
        })
    };
    const HOUR: u64 = 3_600_000_000_000;
    assert_eq!(line(0, 1_000_000, 0), "");
    assert_eq!(line(1, HOUR - 2, 1), "");
    for (warmup, window, cooldown) in [(0, 999_999, 0), (2, HOUR - 2, 1), (u64::MAX, HOUR, 9)] {
        refused(line(warmup, window, cooldown), "the time line must");
    }
    let slices = |window_ms: u64, slice: u64| {
        said("tcp-stream", 1, |j| {
            j.timeline.window_ns = Nanos::from_millis(window_ms);
            j.timeline.interval_ns = Some(Nanos(slice));
        })
    };
    assert_eq!(
        (slices(1000, 1_000_000), slices(60_000, 1_000_000)),
        (String::new(), String::new())
    );
    refused(slices(1000, 999_999), "1 ms or more");
    refused(slices(60_001, 1_000_000), "at most 60000");
}

#[test]
fn requests_that_overlap_have_a_rate_one_flow_and_room_to_be_kept() {
    let asked = |per_second: Option<u64>, streams: u32, seconds: u64| {
        said("udp-rr", 64, |j| {
            j.params.trip = Some(TripParams { response_bytes: None, per_second });
            j.params.streams = streams;
            j.params.told.tell(&trips::OVERLAP, true);
            let [none, window] = [Nanos(0), Nanos::from_millis(1000 * seconds)];
            j.timeline = Timeline::new(none, window, none);
        })
    };
    assert_eq!(asked(Some(200), 1, 300), "", "60,000 of them");
    refused(asked(None, 1, 1), "need a rate");
    refused(asked(Some(200), 2, 1), "over one flow");
    refused(asked(Some(200), 1, 301), "at most 60000");
}

#[test]
fn an_hour_holds_the_time_before_a_load_begins_too() {
    let after = |seconds: f64, window: u64| {
        said("tcp-stream", 1, |j| {
            j.params.told.tell(&runs::AFTER, seconds);
            j.timeline = Timeline::new(Nanos(0), Nanos::from_millis(1000 * window), Nanos(0));
        })
    };
    assert_eq!(after(100.0, 3500), "");
    refused(after(100.0, 3501), "the time line must");
    refused(after(121.0, 1), "after_seconds: 121 is out of bounds");
}

#[test]
fn memory_kernels_have_one_end_and_a_page() {
    let memory = |bytes: u64, end: Role| {
        said("memory-copy", 0, |j| {
            j.params.working_set_bytes = Bytes(bytes);
            (j.end, j.address) = (end, None);
        })
    };
    assert_eq!(memory(4096, Role::Receiver), "");
    refused(memory(4095, Role::Receiver), "must be 4 KiB or more");
    refused(memory(4096, Role::Sender), "has one end only");
}

#[test]
fn streams_trips_and_sockets_have_ends() {
    let stream = |kind: &str, stream: StreamParams| {
        said(kind, 1000, |j| j.params.stream = Some(stream.clone()))
    };
    let none = StreamParams::default;
    let span = |bytes: u64| StreamParams { span_bytes: Some(Bytes(bytes)), ..none() };
    assert_eq!(stream("tcp-stream", span(8 << 30)), "");
    refused(
        stream("tcp-stream", span((8 << 30) + 1)),
        "buffer: 8589934593 B is out of bounds, must be 0 B to 8589934592 B",
    );
    refused(stream("udp-stream", span(1000)), "datagrams are sent from one buffer");
    refused(stream("udp-stream", StreamParams { touch: true, ..none() }), "'touch' is for");
    assert_eq!(stream("udp-stream", StreamParams { verify: true, ..none() }), "");
    refused(
        stream("tcp-rr", StreamParams { reverse: true, ..none() }),
        "'reverse' is for streams and packets, not for tcp-rr",
    );
    assert_eq!(stream("tcp-rr", none()), "");
    assert_eq!(stream("rdma-write-stream", StreamParams { reverse: true, ..none() }), "");
    let truncate = StreamParams { receiver: Some("truncate".into()), ..none() };
    assert_eq!(stream("tcp-stream", truncate.clone()), "");
    refused(stream("tcp-stream", StreamParams { touch: true, ..truncate }), "never reaches");
    let touch = StreamParams { touch: true, verify: true, bidirectional: true, ..none() };
    assert_eq!(stream("tcp-stream", touch), "");
    let receiver = |kind: &str| stream(kind, StreamParams { receiver: Some("x".into()), ..none() });
    refused(receiver("tcp-stream"), "receiver");
    refused(receiver("udp-stream"), "receiver");
    let trip = |kind: &str, bytes: u64, trip: TripParams| {
        said(kind, bytes, |j| j.params.trip = Some(trip.clone()))
    };
    let answer = |bytes: u64| TripParams { response_bytes: Some(Bytes(bytes)), per_second: None };
    let rate = |n: u64| TripParams { response_bytes: None, per_second: Some(n) };
    assert_eq!(trip("tcp-rr", 1, answer(64 * MIB)), "");
    refused(trip("tcp-rr", 1, answer(64 * MIB + 1)), "response: 67108865 B is out of bounds");
    refused(trip("udp-rr", 64, answer(65_508)), "response size is 65508 B");
    refused(trip("udp-rr", 64, answer(0)), "response size is 0 B");
    assert_eq!(
        (trip("tcp-rr", 1, rate(1)), trip("tcp-rr", 1, rate(10_000_000))),
        Default::default()
    );
    refused(
        trip("tcp-rr", 1, rate(10_000_001)),
        "per_second: 10000001 is out of bounds, must be 1 to 10000000",
    );
    refused(trip("tcp-stream", 1, rate(1)), "for round trips of TCP and UDP, not for tcp-stream");
    assert_eq!(trip("tcp-stream", 1, TripParams::default()), "");
    let socket = |kind: &str, socket: SocketParams| {
        said(kind, 1000, |j| j.params.socket = Some(socket.clone()))
    };
    // Linux takes segments of 88 to 32767 bytes (tcp(7)), and a code point has six bits (RFC 2474).
    let mss = |bytes: u32| SocketParams { mss_bytes: Some(bytes), ..SocketParams::default() };
    assert_eq!((socket("tcp-stream", mss(88)), socket("tcp-rr", mss(32_767))), Default::default());
    refused(socket("tcp-stream", mss(87)), "must be 88 to 32767");
    refused(socket("tcp-stream", mss(32_768)), "mss: 32768 is out of bounds");
    refused(socket("udp-stream", mss(1000)), "'mss' is for TCP, not for udp-stream");
    let no_delay = SocketParams { no_delay: Some(false), ..SocketParams::default() };
    refused(socket("udp-rr", no_delay.clone()), "'nagle' is for TCP, not for udp-rr");
    assert_eq!(socket("tcp-rr", no_delay), "");
    let dscp = |point: u8| SocketParams { dscp: Some(point), ..SocketParams::default() };
    assert_eq!(socket("udp-stream", dscp(63)), "");
    refused(socket("udp-stream", dscp(64)), "dscp: 64 is out of bounds, must be 0 to 63");
}

#[test]
fn nodes_and_iperf3_are_for_streams() {
    assert_eq!(said("tcp-rr", 1, |j| j.node = Some(1)), "");
    assert_eq!(said("udp-stream", 16, |j| j.node = Some(1)), "");
    assert_eq!(said("tcp-stream", 1, |j| j.node = Some(1)), "");
    assert_eq!(said("rdma-read-rr", 8, |j| j.node = Some(1)), "");
    refused(said("udp-rr", 16, |j| j.node = Some(1)), "udp-rr places no buffers on a node");
    let iperf3 = |kind: &str, stream: Option<StreamParams>| {
        said(kind, 1000, |j| {
            j.iperf3 = Some("cookie".into());
            j.params.stream.clone_from(&stream);
        })
    };
    let none = StreamParams::default;
    assert_eq!((iperf3("tcp-stream", None), iperf3("udp-stream", None)), Default::default());
    let reverse = StreamParams { reverse: true, ..none() };
    assert_eq!(iperf3("tcp-stream", Some(reverse)), "");
    for wrong in [
        iperf3("tcp-rr", None),
        iperf3("tcp-stream", Some(StreamParams { bidirectional: true, ..none() })),
        iperf3("tcp-stream", Some(StreamParams { verify: true, ..none() })),
    ] {
        refused(wrong, "an iperf3 server has");
    }
}

#[test]
fn rdma_has_limits_of_its_own() {
    let spins = |job: &mut Job| {
        let wait = Some("spin".into());
        job.params.socket = Some(SocketParams { wait, ..SocketParams::default() });
    };
    let rdma = |kind: &str, bytes: u64, rdma: RdmaParams| {
        said(kind, bytes, |j| j.params.rdma = Some(rdma.clone()))
    };
    let none = RdmaParams::default;
    let depth = |n: u32| rdma("rdma-write-stream", 8, RdmaParams { depth: Some(n), ..none() });
    assert_eq!((depth(1), depth(16_384)), Default::default());
    refused(depth(0), "depth: 0 is out of bounds, must be 1 to 16384");
    refused(depth(16_385), "depth: 16385 is out of bounds");
    let list = |n: u32| rdma("rdma-write-stream", 8, RdmaParams { post_list: Some(n), ..none() });
    assert_eq!((list(1), list(128)), Default::default());
    refused(list(0), "post_list: 0 is out of bounds");
    refused(list(129), "batches of 129");
    let other = |verb: &str, n: u64| {
        said(verb, 64, |j| j.params.told.set(&ALTERNATE.declared, Value::Size(Bytes(n))))
    };
    assert_eq!((other("rdma-send-stream", 1), other("rdma-read-stream", 64)), Default::default());
    refused(other("rdma-write-stream", 65), "65 B is larger than the first of 64 B");
    refused(other("rdma-write-stream", 0), "must be 1 B to");
    refused(other("rdma-write-rr", 8), "'alternate' is for streams of RDMA");
    let inline = |n: u32| rdma("rdma-send-rr", 8, RdmaParams { inline_bytes: Some(n), ..none() });
    assert_eq!(inline(4096), "");
    refused(inline(4097), "inline: 4097 is out of bounds, must be 0 to 4096");
    let mtu = |n: u32| rdma("rdma-send-rr", 8, RdmaParams { path_mtu_bytes: Some(n), ..none() });
    assert_eq!([256, 512, 1024, 2048, 4096].map(mtu), [const { String::new() }; 5]);
    refused(mtu(1500), "'1500' is none of 256, 512, 1024, 2048, 4096");
    // Reliable, unreliable, datagrams (InfiniBand specification, volume 1, table 81).
    let service = |kind: &str, name: &str| {
        said(kind, 8, |j| {
            spins(j);
            j.params.rdma = Some(RdmaParams { service: Some(name.into()), ..none() });
        })
    };
    for verb in ["write", "write-imm", "read", "send", "atomic"] {
        let of = |name: &str| service(&format!("rdma-{verb}-stream"), name).is_empty();
        let uc = ["write", "write-imm", "send"].contains(&verb);
        assert_eq!((of("rc"), of("uc"), of("ud")), (true, uc, verb == "send"), "{verb}");
    }
    refused(service("rdma-write-rr", "uc"), "a lost write would never be answered");
    assert_eq!(service("rdma-write-rr", "rc"), "");
    refused(said("rdma-write-rr", 8, |_| {}), "wakes no thread");
    let wait = SocketParams { wait: Some("busy-poll".into()), ..SocketParams::default() };
    let polls = said("rdma-write-stream", 8, |j| j.params.socket = Some(wait.clone()));
    refused(polls, "RDMA waits by blocking");
    let verify = |kind: &str, name: &str| {
        said(kind, 8, |j| {
            j.params.stream = Some(StreamParams { verify: true, ..StreamParams::default() });
            j.params.rdma = Some(RdmaParams { service: Some(name.into()), ..none() });
        })
    };
    assert_eq!(verify("rdma-write-stream", "rc"), "");
    refused(verify("rdma-write-stream", "uc"), "whole and in order (rc)");
    refused(verify("rdma-atomic-stream", "rc"), "an atomic operation counts");
}

#[test]
fn what_only_sockets_have_is_not_for_rdma() {
    let with =
        |change: &dyn Fn(&mut Params)| said("rdma-write-stream", 8, |j| change(&mut j.params));
    for wrong in [
        with(&|p| p.socket_buffer_bytes = Some(Bytes(1))),
        with(&|p| p.congestion = Some("cubic".into())),
        with(&|p| p.rate_bps = Some(1)),
        with(&|p| p.stream = Some(StreamParams { touch: true, ..StreamParams::default() })),
        with(&|p| {
            p.stream =
                Some(StreamParams { sender: Some("write".into()), ..StreamParams::default() });
        }),
        with(&|p| {
            p.stream =
                Some(StreamParams { receiver: Some("recv".into()), ..StreamParams::default() });
        }),
    ] {
        refused(wrong, ", not for rdma-write-stream");
    }
    let dscp = SocketParams { dscp: Some(1), ..SocketParams::default() };
    refused(
        with(&|p| p.socket = Some(dscp.clone())),
        "'dscp' is for TCP and UDP, not for rdma-write-stream",
    );
}

fn took(kind: &str, message: u64, end: Role, change: impl Fn(&mut Job)) -> Takes {
    let mut job = job(kind, message);
    job.end = end;
    change(&mut job);
    count(&job).expect("a count")
}

/// A queue of 8 MiB that a UDP socket asks for is 16 in the kernel (socket(7)).
#[test]
fn what_an_end_takes_is_the_sum_of_its_flows() {
    let bytes = |buffer_bytes: u64, socket_bytes: u64| Takes { buffer_bytes, socket_bytes };
    assert_eq!(bytes(3, 4).total_bytes(), 7);
    let span = |job: &mut Job| {
        job.params.streams = 2;
        let span_bytes = Some(Bytes(16 * MIB));
        job.params.stream = Some(StreamParams { span_bytes, ..StreamParams::default() });
    };
    assert_eq!(took("tcp-stream", MIB, Role::Sender, span), bytes(16 * MIB, 0));
    let both = |job: &mut Job| {
        span(job);
        let stream = job.params.stream.as_mut().expect("a stream");
        (stream.bidirectional, stream.verify) = (true, true);
    };
    // Four flows share the span; those that receive hold it and what it is compared with.
    assert_eq!(took("tcp-stream", MIB, Role::Sender, both), bytes((2 + 2 * 2) * 4 * MIB, 0));
    assert_eq!(took("tcp-stream", MIB, Role::Receiver, both), bytes((2 + 2 * 2) * 4 * MIB, 0));
    let queue = |job: &mut Job| job.params.socket_buffer_bytes = Some(Bytes(MIB));
    assert_eq!(took("tcp-stream", MIB, Role::Receiver, queue), bytes(MIB, 4 * MIB));
    assert_eq!(took("udp-stream", 1000, Role::Sender, |_| {}), bytes(1000, 16 * MIB));
    let gso = |job: &mut Job| {
        let sender = Some("gso".into());
        job.params.stream = Some(StreamParams { sender, ..StreamParams::default() });
    };
    // 65507 bytes are 65 of 1000, of which one send has what the kernel takes at most, 64 or more;
    // of 1472 there are 44.
    let segments = (udp::senders::named(Some("gso")).expect("one").batch)(9);
    let sent = took("udp-stream", 1000, Role::Sender, gso).buffer_bytes;
    assert_eq!(sent, 1000 * segments.min(65) as u64);
    assert_eq!(took("udp-stream", 1472, Role::Sender, gso).buffer_bytes, 44 * 1472);
    let trip = |job: &mut Job| {
        job.params.trip = Some(TripParams { response_bytes: Some(Bytes(5)), per_second: None });
    };
    assert_eq!(took("tcp-rr", 3, Role::Receiver, trip).buffer_bytes, 8);
    assert_eq!(took("udp-rr", 64, Role::Receiver, trip).buffer_bytes, 2 * 65_536);
    let large = |job: &mut Job| {
        job.params.trip =
            Some(TripParams { response_bytes: Some(Bytes(60_000)), per_second: None });
    };
    assert_eq!(took("udp-rr", 60_000, Role::Receiver, large).buffer_bytes, 120_000 + 65_536);
    let memory = |job: &mut Job| job.params.working_set_bytes = Bytes(7 * MIB);
    assert_eq!(took("memory-copy", 0, Role::Receiver, memory), bytes(7 * MIB, 0));
    // An RDMA flow: its span, and 64 B for each of 4 x 128 receives, 128 requests and one more.
    let queues = 64 * (512 + 128 + 1);
    assert_eq!(took("rdma-write-stream", 64, Role::Sender, |_| {}).buffer_bytes, 64 + queues);
    assert_eq!(took("rdma-send-stream", 64, Role::Receiver, |_| {}).buffer_bytes, 64 + queues);
    let datagrams = |job: &mut Job| {
        job.params.rdma = Some(RdmaParams { service: Some("ud".into()), ..RdmaParams::default() });
    };
    // Before each datagram there are 40 bytes of a header (GRH).
    let ud = took("rdma-send-stream", 64, Role::Receiver, datagrams);
    assert_eq!(ud.buffer_bytes, 104 + queues);
    let verify = |job: &mut Job| {
        job.params.stream = Some(StreamParams { verify: true, ..StreamParams::default() });
    };
    let compared = took("rdma-send-stream", 64, Role::Receiver, verify).buffer_bytes;
    assert_eq!(compared, 512 * 64 + 64 + queues);
}

#[test]
fn ways_to_send_and_receive_are_known_by_name() {
    let names = |all: Vec<&'static str>| all.join(" ");
    assert_eq!(udp::senders::named(None).map(|one| one.name).ok(), Some("send"));
    assert_eq!(tcp::senders::named(None).map(|one| one.name).ok(), Some("write"));
    assert_eq!(tcp::receivers::named(None).map(|one| one.name).ok(), Some("recv"));
    assert_eq!(udp::receivers::named(None).map(|one| one.name).ok(), Some("recv"));
    let udp = names(udp::senders::SENDERS.iter().map(|one| one.name).collect());
    assert_eq!(udp, "gso io_uring send sendmmsg");
    let delivers = |name: &str| tcp::receivers::named(Some(name)).expect("one").delivers;
    assert_eq!(["recv", "splice", "truncate"].map(delivers), [true, false, false]);
    let batch =
        |name: &str| (narrows_workloads::udp::senders::named(Some(name)).expect("one").batch)(9);
    assert_eq!(["send", "sendmmsg", "io_uring"].map(batch), [1, 32, 32]);
    // As many as the kernel takes: 64 until Linux 6.9, 128 from then on.
    assert!([64, 128, 256].contains(&batch("gso")), "{}", batch("gso"));
    assert!(tcp::senders::named(Some("gso")).is_err());
}
