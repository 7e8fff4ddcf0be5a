//! Known answers of the counters of this machine's kernel: what is sent over loopback is counted by
//! every source that sees it, and what a thread does by its own.

use narrows_counters::thread::usage;
use narrows_counters::{END, Meters, Scene};
use narrows_model::reading::{Moment, Readings, Scope, Source, keys};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Datagrams that are sent, of so many bytes.
const DATAGRAMS: u64 = 40;
const DATAGRAM_BYTES: usize = 1_000;
/// What is sent over TCP, in bytes.
const STREAM_BYTES: usize = 3_000_000;

fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let to = listener.local_addr().expect("address");
    let one = TcpStream::connect(to).expect("connect");
    (one, listener.accept().expect("accept").0)
}

/// What all sources count while that is sent.
fn counted() -> Readings {
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let (mut source, mut sink) = connected();
    let watched = [source.try_clone().expect("a handle"), sink.try_clone().expect("a handle")];
    let sockets = watched.each_ref().map(AsFd::as_fd);
    let scene = Scene { sockets: &sockets };
    let mut meters = Meters::open(&END, &scene);
    let reader = std::thread::spawn(move || {
        let mut taken = vec![0; STREAM_BYTES];
        sink.read_exact(&mut taken).expect("it comes");
        sink
    });
    source.write_all(&vec![7; STREAM_BYTES]).expect("sent");
    for _ in 0..DATAGRAMS {
        sender.send_to(&[1; DATAGRAM_BYTES], to).expect("sent");
        receiver.recv(&mut [0; 2 * DATAGRAM_BYTES]).expect("received");
    }
    let _sink = reader.join().expect("a thread");
    meters.sample(&scene);
    // Until the last acknowledgement has come.
    std::thread::sleep(Duration::from_millis(50));
    meters.close(&scene)
}

/// The sum of what a source's counters of this name say.
fn of(readings: &Readings, source: Source, name: &str) -> u64 {
    let all = readings.from_source(source);
    all.filter(|(key, _)| key.to_string().ends_with(name)).map(|(_, n)| n).sum()
}

#[test]
fn what_is_sent_is_counted_by_every_source_that_sees_it() {
    let readings = counted();
    let has = |source: Source| readings.from_source(source).next().is_some();
    for source in [
        Source::Cpu,
        Source::Interface,
        Source::Netstat,
        Source::Socket,
        Source::Softnet,
        Source::TcpInfo,
        Source::Udp,
    ] {
        assert!(has(source), "{source:?}: {readings:?}");
    }
    let pressure = std::fs::read_to_string("/proc/pressure/cpu").is_ok_and(|text| !text.is_empty());
    assert_eq!(has(Source::Pressure), pressure);
    // Others use loopback too: at least what was sent, which here leaves and comes.
    let bytes = DATAGRAMS * DATAGRAM_BYTES as u64 + STREAM_BYTES as u64;
    for counter in [keys::RX_BYTES, keys::TX_BYTES] {
        let lo = readings.of(counter, Scope::Nic("lo".into())).expect("lo counts");
        assert!(lo >= bytes && lo < 1000 * bytes, "{counter:?}: {lo} of {bytes}");
    }
    for counter in [keys::RX_PACKETS, keys::TX_PACKETS] {
        let lo = readings.of(counter, Scope::Nic("lo".into())).expect("lo counts");
        assert!(lo >= DATAGRAMS && lo < bytes, "{counter:?}: {lo} packets of {bytes} bytes");
    }
    let softnet = readings.total(keys::PROCESSED).expect("softnet");
    assert!(softnet >= DATAGRAMS, "{softnet}");
    assert!(of(&readings, Source::Netstat, "Tcp.OutSegs_events") > 0, "{readings:?}");
    // A busy machine acknowledges late, and TCP drops the few segments that it is sent twice.
    let dropped = readings.total(keys::SOCKET_DROPPED).expect("sockets count");
    assert!(dropped <= 2, "{dropped}");
    // Of the two sockets one sent segments, and the other nothing but acknowledgements.
    let sent = readings.of(keys::SENT, Scope::Flow(0)).expect("TCP_INFO");
    assert!(sent >= STREAM_BYTES as u64 / 65_536 && sent < STREAM_BYTES as u64, "{sent} segments");
    for (scope, ns) in readings.each(keys::RTT, Moment::Closing) {
        assert!((1..60_000_000_000).contains(&ns), "{scope:?}: {ns} ns");
    }
}

#[test]
fn a_thread_is_told_its_time_and_its_switches() {
    let (before, began) = (usage(), Instant::now());
    while usage().user_ns.0 + usage().system_ns.0
        < before.user_ns.0 + before.system_ns.0 + 200_000_000
    {}
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (after, took) = (usage(), began.elapsed().as_nanos() as u64);
    let wall = after.wall_ns.0 - before.wall_ns.0;
    assert!(wall >= 230_000_000 && wall.abs_diff(took) < 100_000_000, "{wall} ns of {took}");
    let cpu = after.user_ns.0 + after.system_ns.0 - before.user_ns.0 - before.system_ns.0;
    assert!((200_000_000..=wall + 20_000_000).contains(&cpu), "{cpu} ns of {wall}");
    assert!(after.user_ns > before.user_ns);
    let switched = after.voluntary_switches - before.voluntary_switches;
    assert!((20..2_000).contains(&switched), "{switched} times asleep");
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel tells");
    let waited: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    let told = after.waited_ns.expect("it is told").0;
    assert!(told <= waited && waited - told < 10_000_000_000, "{told}, {waited}");
    assert!(after.involuntary_switches >= before.involuntary_switches);
    assert_eq!((after.cpu, after.pacing_ns, after.allowed.len()), (None, None, 0));
}
