//! Both ends of every network workload on this host, and every memory kernel: what is counted fits
//! together, and what was asked for is in force.

mod common;

use common::pair;
use narrows_model::load::Wait;
use narrows_model::load::{EndReport, Job, MemoryParams, Params, Role, SocketParams};
use narrows_model::load::{IpVersion, StreamParams, StretchOf, ThreadUsage, Timeline, TripParams};
use narrows_model::options::trips;
use narrows_model::{Bytes, Nanos};
use narrows_workloads::harness::Unwatched;
use std::net::IpAddr;

fn job(kind: &str, message: u64, window_ms: u64) -> Job {
    let ms = Nanos::from_millis;
    Job {
        address: Some([127, 0, 0, 1].into()),
        token: "5a".repeat(16),
        // Time enough for the other end to close its window on a busy machine.
        ..Job::new(
            kind.into(),
            Role::Receiver,
            Params::of_network(Bytes(message), 1),
            Timeline::new(ms(20), ms(window_ms), ms(300)),
        )
    }
}

fn bytes(report: &EndReport) -> u64 {
    report.flows.iter().map(|flow| flow.bytes.0).sum()
}

fn messages(report: &EndReport) -> u64 {
    report.flows.iter().map(|flow| flow.messages).sum()
}

fn trips_of(report: &EndReport) -> u64 {
    report.round_trips.iter().map(|(_, count)| count).sum()
}

#[test]
fn every_sender_and_receiver_of_tcp_moves_the_right_bytes() {
    let senders = ["write", "sendfile", "vmsplice", "zerocopy", "io_uring"];
    let receivers = ["recv", "multishot", "recv", "splice", "truncate"];
    for (sender, receiver) in senders.into_iter().zip(receivers) {
        let mut order = job("tcp-stream", 20_000, 150);
        let delivers = !["splice", "truncate"].contains(&receiver);
        order.params.streams = 2;
        order.params.stream = Some(StreamParams {
            sender: Some(sender.into()),
            receiver: Some(receiver.into()),
            verify: delivers,
            span_bytes: Some(Bytes(130_000)),
            ..StreamParams::default()
        });
        let (receiving, sending) = pair(&order);
        for report in [&receiving, &sending] {
            assert_eq!(report.flows.len(), 2, "{sender}");
            assert!(report.flows.iter().all(|flow| flow.bytes.0 > 0 && flow.calls > 0), "{sender}");
            // 130 kB over two flows are three messages each.
            assert_eq!(report.effective.buffer_span_bytes, Bytes(120_000), "{sender}");
        }
        assert!(sending.flows.iter().all(|flow| flow.sends && flow.messages > 0), "{sending:?}");
        assert!(receiving.flows.iter().all(|flow| !flow.sends), "{receiving:?}");
        let (sent, got) = (sending.effective, receiving.effective);
        assert_eq!((sent.sender.as_deref(), sent.receiver), (Some(sender), None));
        assert_eq!((got.receiver.as_deref(), got.sender), (Some(receiver), None));
        assert_eq!(receiving.corrupted, None, "{sender} to {receiver}");
        let flows = receiving.flows.iter().map(|flow| flow.bytes.0).sum::<u64>();
        assert!(
            !delivers || receiving.verified_bytes.is_some_and(|seen| seen.0 >= flows),
            "{sender}"
        );
    }
}

#[test]
fn every_sender_and_receiver_of_udp_counts_whole_datagrams() {
    let ways = ["send", "sendmmsg", "io_uring", "gso"].into_iter();
    for (sender, receiver) in ways.zip(["recv", "recvmmsg", "multishot", "gro"]) {
        let mut order = job("udp-stream", 1000, 200);
        order.params.rate_bps = Some(40_000_000);
        order.params.stream = Some(StreamParams {
            sender: Some(sender.into()),
            receiver: Some(receiver.into()),
            verify: true,
            ..StreamParams::default()
        });
        let (receiving, sending) = pair(&order);
        for report in [&receiving, &sending] {
            assert!(messages(report) > 0, "{sender} to {receiver}");
            assert_eq!(bytes(report), 1000 * messages(report), "{sender} to {receiver}");
        }
        // 5 kB a millisecond; what was late is made up for, in batches of at most 64.
        let most = 5_000 * (sending.window_ns.0 / 1_000_000 + 80) + 64_000;
        assert!(bytes(&sending) <= most, "{sender}: {} of {most}", bytes(&sending));
        let [got, sent] = [&receiving, &sending].map(|end| end.flows[0].stretch.expect("told"));
        assert_eq!((got.of, sent.of), (StretchOf::SenderWindow, StretchOf::SenderWindow));
        assert!((1..=sent.datagrams).contains(&got.datagrams), "{sender}: {got:?} of {sent:?}");
        assert_eq!(
            (receiving.corrupted, receiving.flows[0].duplicates),
            (None, 0),
            "{sender} to {receiver}"
        );
        assert_eq!(sending.effective.sender.as_deref(), Some(sender));
        assert_eq!(receiving.effective.receiver.as_deref(), Some(receiver));
        assert!(receiving.flows[0].jitter_ns.is_some(), "{receiver}");
        // Eight MiB by force, which the kernel doubles.
        let queue = receiving.effective.receive_buffer_bytes.expect("read");
        assert!(queue.0 <= 16 << 20 && queue.0 > 100_000, "{queue:?}");
    }
}

#[test]
fn round_trips_are_counted_timed_and_paced() {
    for (kind, message) in [("tcp-rr", 100), ("udp-rr", 100)] {
        let mut order = job(kind, message, 300);
        order.params.streams = 2;
        let trip = TripParams { response_bytes: Some(Bytes(300)), per_second: None };
        order.params.trip = Some(trip);
        let (_, free) = pair(&order);
        assert!(trips_of(&free) > 20, "{kind}: {}", trips_of(&free));
        assert!(trips_of(&free).abs_diff(messages(&free)) <= 2, "{kind}");
        let (least, most) = free.round_trip_extremes_ns.expect("extremes");
        assert!(least.0 > 500 && least <= most, "{kind}: {least:?} {most:?}");
        assert!(free.round_trips.iter().all(|(edge, count)| edge.0 > 0 && *count > 0));
        assert!(free.round_trips.is_sorted());
        let each = bytes(&free) / messages(&free);
        assert!([100, 300, 400].contains(&each), "{kind}: {each} B a trip");
        order.params.trip = Some(TripParams { response_bytes: None, per_second: Some(200) });
        let (_, paced) = pair(&order);
        let most = 200 * (paced.window_ns.0 / 1_000_000 + 80) / 1000 + 2;
        assert!((1..=most).contains(&trips_of(&paced)), "{kind}: {} of {most}", trips_of(&paced));
    }
    let (_, sending) = pair(&job("tcp-connect", 1, 200));
    assert!(trips_of(&sending) > 5, "{}", trips_of(&sending));
    assert!(trips_of(&sending).abs_diff(messages(&sending)) <= 2);
}

#[test]
fn each_request_that_overlaps_has_its_own_answer() {
    for kind in ["tcp-rr", "udp-rr"] {
        let mut order = job(kind, 100, 200);
        let response_bytes = Some(Bytes(3000)).filter(|_| kind == "tcp-rr");
        order.params.trip = Some(TripParams { response_bytes, per_second: Some(500) });
        order.params.told.tell(&trips::OVERLAP, true);
        let (_, asks) = pair(&order);
        let each = &asks.each_round_trip;
        assert!(each.len() > 20, "{kind}: {each:?}");
        let answered = each.iter().filter(|(_, took)| took.is_some()).count();
        assert!(answered > each.len() * 9 / 10, "{kind}: {answered} of {}", each.len());
        let gap = |pair: &[(Nanos, Option<Nanos>)]| pair[1].0.0 - pair[0].0.0;
        assert!(each.windows(2).all(|pair| gap(pair) == 2_000_000), "{kind}: {each:?}");
        assert!(trips_of(&asks).abs_diff(answered as u64) <= 2, "{kind}: {answered}");
        assert_eq!(bytes(&asks), 100 * messages(&asks), "{kind}");
    }
}

#[test]
fn both_directions_have_flows_of_their_own() {
    let mut order = job("tcp-stream", 10_000, 100);
    let stream = |reverse: bool| {
        Some(StreamParams { reverse, bidirectional: !reverse, ..StreamParams::default() })
    };
    order.params.stream = stream(false);
    let (receiving, sending) = pair(&order);
    for (report, sends) in [(&receiving, [false, true]), (&sending, [true, false])] {
        let is: Vec<bool> = report.flows.iter().map(|flow| flow.sends).collect();
        assert_eq!(is, sends);
        assert!(report.flows.iter().all(|flow| flow.bytes.0 > 0));
        assert!(report.effective.sender.is_some() && report.effective.receiver.is_some());
    }
    order.params.stream = stream(true);
    let (receiving, sending) = pair(&order);
    assert!(bytes(&receiving) > 0 && sending.flows[0].sends && !receiving.flows[0].sends);
}

/// Read back from the kernel: twice the buffer that was asked for (socket(7)), the segment less the
/// 12 bytes of timestamps that TCP_MAXSEG counts in, the code point.
#[test]
fn sockets_are_as_they_were_asked_for() {
    let mut order = job("tcp-rr", 64, 50);
    order.params.socket_buffer_bytes = Some(Bytes(100_000));
    order.params.congestion = Some("reno".into());
    let socket = SocketParams {
        wait: Some("spin".into()),
        mss_bytes: Some(1000),
        no_delay: None,
        dscp: Some(46),
    };
    order.params.socket = Some(socket.clone());
    let (_, sending) = pair(&order);
    let set = sending.effective;
    assert_eq!(
        (set.send_buffer_bytes, set.receive_buffer_bytes),
        (Some(Bytes(200_000)), Some(Bytes(200_000)))
    );
    assert_eq!(
        (set.congestion.as_deref(), set.dscp, set.no_delay),
        (Some("reno"), Some(46), Some(true))
    );
    let stamps = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps").expect("a setting");
    let payload = if stamps.trim() == "0" { 1000 } else { 988 };
    assert_eq!(set.mss_bytes, Some(payload));
    assert_eq!((set.wait, set.ip), (Some(Wait::Spin), Some(IpVersion::V4)));
    // The largest packet of IPv4, one byte less than the MTU of loopback.
    assert_eq!(set.path_mtu_bytes, Some(Bytes(65_535)));
    let mut stream = job("tcp-stream", 64, 50);
    let (receiving, sending) = pair(&stream);
    assert_eq!((sending.effective.no_delay, sending.effective.dscp), (Some(false), Some(0)));
    assert_eq!(receiving.effective.wait, Some(Wait::Block));
    stream.params.rate_bps = Some(80_000_000);
    stream.params.message_bytes = Bytes(10_000);
    stream.timeline.window_ns = Nanos::from_millis(300);
    let (_, paced) = pair(&stream);
    // 10 kB a millisecond, and what the socket takes at once.
    let most = 10_000 * (paced.window_ns.0 / 1_000_000 + 100) + 3_000_000;
    assert!((1..=most).contains(&bytes(&paced)), "{} of {most}", bytes(&paced));
    let mut six = job("udp-rr", 64, 50);
    six.address = Some(std::net::Ipv6Addr::LOCALHOST.into());
    six.params.socket = Some(SocketParams { wait: Some("busy-poll".into()), ..socket });
    six.params.socket.as_mut().expect("one").mss_bytes = None;
    let (_, sending) = pair(&six);
    let set = sending.effective;
    assert_eq!((set.ip, set.dscp, set.no_delay), (Some(IpVersion::V6), Some(46), None));
    assert_eq!(set.wait, Some(Wait::BusyPoll));
}

/// Shares are multiples of a page: of 1 MiB over three threads and so many arrays.
#[test]
fn memory_kernels_go_over_their_shares() {
    let kinds = [
        ("memory-read", 1, Some(100)),
        ("memory-read-random", 1, None),
        ("memory-write", 1, Some(200)),
        ("memory-write-nt", 1, Some(100)),
        ("memory-copy", 2, Some(150)),
        ("memory-copy-nt", 2, Some(100)),
        ("memory-memcpy", 2, None),
        ("memory-triad", 3, Some(133)),
        ("memory-triad-nt", 3, Some(100)),
    ];
    let run = |kind: &str, threads: u32, working_set: u64| {
        let mut order = job(kind, 0, 100);
        let memory = MemoryParams { pages: Some("4K".into()), ..MemoryParams::default() };
        order.params = Params::of_memory(threads, Bytes(working_set), memory);
        order.address = None;
        let made = (narrows_workloads::check(&order).expect("an order").prepare)(&order);
        let made = made.expect("prepared");
        assert!(made.ports().is_empty());
        let threads = made.arm(&[], ThreadUsage::default).expect("armed");
        threads.run(&order.timeline, &mut Unwatched).expect("a run")
    };
    for (kind, arrays, percent) in kinds {
        let report = run(kind, 3, 1 << 20);
        let share = (1 << 20) / 3 / arrays / 4096 * 4096;
        let set = &report.effective;
        assert_eq!(set.buffer_span_bytes, Bytes(share * arrays * 3), "{kind}");
        assert_eq!(
            (set.bus_percent_of_counted, set.pages.as_deref()),
            (percent, Some("4K")),
            "{kind}"
        );
        assert_eq!(report.flows.len(), 3, "{kind}");
        // Counters are read one after the other, and a thread may wait for its CPU all the while.
        assert!(bytes(&report) > 0, "{kind}");
        let (passes, whole) = (bytes(&report) / (share * arrays), messages(&report));
        let about = whole / 2..=2 * whole;
        assert!(whole < 20 || about.contains(&passes), "{kind}: {passes} and {whole}");
    }
    let alone = run("memory-latency", 1, 5000);
    assert_eq!(alone.effective.buffer_span_bytes, Bytes(4992));
    assert_eq!((alone.effective.background_threads, bytes(&alone)), (0, 0));
    assert!(messages(&alone) > 0 && messages(&alone).is_multiple_of(2048), "{alone:?}");
    let loaded = run("memory-latency", 3, 1 << 20);
    assert_eq!((loaded.effective.background_threads, loaded.flows[0].bytes.0), (2, 0));
    for reader in &loaded.flows[1..] {
        assert!(reader.bytes.0.is_multiple_of(16 << 10), "{reader:?}");
        assert_eq!(reader.messages, 0);
    }
}

#[test]
fn a_probe_of_loopback_finds_nothing_wrong_and_ends_by_itself() {
    let mut order = job("path-probe", 64, 20_000);
    (order.timeline.warmup_ns, order.timeline.cooldown_ns) = (Nanos(0), Nanos(0));
    for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::from(std::net::Ipv6Addr::LOCALHOST)] {
        order.address = Some(address);
        let (answers, asks) = pair(&order);
        assert!(asks.window_ns < Nanos::from_millis(19_000), "{:?}", asks.window_ns);
        assert_eq!(answers.probe, None, "only the end that asks tells");
        let has_trips = trips_of(&asks) > 0;
        let probe = asks.probe.expect("a probe");
        assert!(probe.is_udp_answered && has_trips);
        for way in [&probe.there, &probe.back] {
            let mtu = way.mtu.expect("an MTU");
            assert_eq!(mtu.passes_bytes, Some(mtu.interface_bytes), "{mtu:?}");
            assert_eq!((mtu.vanishes_bytes, mtu.told_bytes, mtu.black_hole()), (None, None, None));
            assert_eq!(way.trains.len(), 10, "{way:?}");
            assert!(way.trains.iter().all(|train| train.came == train.sent), "{way:?}");
            assert!(way.trains.iter().all(|train| train.late == 0 && train.came_ns.0 > 0));
        }
        let handshakes = probe.handshakes.expect("handshakes");
        assert_eq!((handshakes.lost(), handshakes.refused), (0, 0), "{handshakes:?}");
        assert!(handshakes.tried >= 64 && handshakes.median_ns.0 > 0);
    }
}
