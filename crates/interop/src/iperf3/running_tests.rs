//! The streams of a server, with datagrams and counts that are known.

use super::*;

fn run(change: impl Fn(&mut Parameters)) -> Run {
    let mut asked = Parameters {
        udp: Some(true),
        parallel: 2,
        time: 3,
        omit: 1,
        len: 1000,
        udp_counters_64bit: Some(1),
        ..Parameters::default()
    };
    change(&mut asked);
    Run::new(&asked, &Limits::default())
}

fn pair() -> (UdpSocket, UdpSocket) {
    let bind = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(LOOK_UP)).expect("a limit");
        socket
    };
    let (here, there) = (bind(), bind());
    here.connect(there.local_addr().expect("address")).expect("connected");
    there.connect(here.local_addr().expect("address")).expect("connected");
    (here, there)
}

#[test]
fn a_test_is_what_was_asked_for() {
    let of = run(|asked| asked.bandwidth = Some(80_000));
    // 1000 bytes at 80 kb/s are a tenth of a second apart.
    assert_eq!((of.udp, of.gap_ns, of.message, of.count), (true, Some(1e8), 1000, 2));
    assert_eq!((of.wide, of.no_delay, of.omit), (true, false, Duration::from_secs(1)));
    assert_eq!(of.within, Duration::from_secs(4) + STEP_WITHIN);
    assert_eq!(of.quiet, STEP_WITHIN);
    // A message of 1000 bytes at 1 kb/s is due every eight seconds.
    assert_eq!(run(|asked| asked.bandwidth = Some(1000)).quiet, Duration::from_secs(16));
    assert_eq!(run(|asked| asked.bandwidth = Some(1)).quiet, Duration::from_secs(3600));
    let other = run(|asked| {
        (asked.udp, asked.nodelay, asked.bandwidth) = (None, Some(true), Some(0));
        asked.udp_counters_64bit = None;
    });
    assert_eq!((other.udp, other.no_delay, other.gap_ns, other.wide), (false, true, None, false));
    let sends = |change: &dyn Fn(&mut Parameters)| [0, 1, 2, 3].map(|n| run(change).sends(n));
    assert_eq!(sends(&|_| {}), [false; 4]);
    assert_eq!(sends(&|asked| asked.reverse = Some(true)), [true; 4]);
    let both = sends(&|asked| asked.bidirectional = Some(true));
    assert_eq!(both, [false, false, true, true], "it receives by the first half");
}

#[test]
fn datagrams_that_came_are_counted_by_their_numbers() {
    for wide in [true, false] {
        let run = Arc::new(run(|asked| asked.udp_counters_64bit = wide.then_some(1)));
        let (here, there) = pair();
        let (count, _thread) =
            run.start(move |run, count| run.receive_udp(&there, count)).expect("a thread");
        run.going.store(true, SeqCst);
        // The third and fourth do not come, the second twice.
        for number in [1u64, 2, 2, 5] {
            let mut bytes = [0; 100];
            if wide {
                bytes[8..16].copy_from_slice(&number.to_be_bytes())
            } else {
                bytes[8..12].copy_from_slice(&(number as u32).to_be_bytes())
            }
            here.send(&bytes).expect("sent");
        }
        here.send(&[0; 15]).expect("sent: too short for a head");
        let deadline = Instant::now() + Duration::from_secs(20);
        while count.received.load(Relaxed) < 3 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let seen = (count.bytes.load(Relaxed), count.received.load(Relaxed));
        assert_eq!((seen, count.expected.load(Relaxed)), ((300, 3), 5), "wide: {wide}");
        run.over.store(true, SeqCst);
    }
}

#[test]
fn datagrams_are_sent_with_numbers_times_and_a_pace() {
    for wide in [true, false] {
        // 100 bytes at 16 kb/s: 50 ms apart.
        let run = Arc::new(run(|asked| {
            (asked.len, asked.bandwidth) = (100, Some(16_000));
            asked.udp_counters_64bit = wide.then_some(1);
        }));
        let (here, there) = pair();
        there.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let (count, _thread) =
            run.start(move |run, count| run.send_udp(&here, count)).expect("a thread");
        assert_eq!(count.bytes.load(Relaxed), 0, "nothing before the test goes on");
        let began = Instant::now();
        run.going.store(true, SeqCst);
        for number in 1..=4u64 {
            let mut bytes = [0; 200];
            assert_eq!(there.recv(&mut bytes).expect("a datagram"), 100);
            let said = if wide {
                u64::from_be_bytes(bytes[8..16].try_into().expect("eight"))
            } else {
                u32::from_be_bytes(bytes[8..12].try_into().expect("four")).into()
            };
            assert_eq!(said, number);
            let seconds = u32::from_be_bytes(bytes[..4].try_into().expect("four"));
            assert!(u64::from(seconds).abs_diff(now().as_secs()) < 20);
            assert!(u32::from_be_bytes(bytes[4..8].try_into().expect("four")) < 1_000_000);
        }
        assert!(began.elapsed() >= Duration::from_millis(140), "three gaps of 50 ms");
        run.over.store(true, SeqCst);
        let (bytes, sent) = (count.bytes.load(Relaxed), count.received.load(Relaxed));
        assert!(sent >= 3 && bytes >= 300, "{sent} {bytes}");
    }
}

#[test]
fn results_are_what_was_counted_after_the_warm_up() {
    let of = |change: &dyn Fn(&mut Parameters)| {
        let run = Arc::new(run(change));
        run.over.store(true, SeqCst);
        let threads = (0..2).map(|_| run.start(|_, _| {}).expect("a thread")).collect();
        let streams = Streams { run, threads };
        for (count, _) in &streams.threads {
            count.bytes.store(9000, Relaxed);
            count.received.store(90, Relaxed);
            count.expected.store(110, Relaxed);
            count.jitter_ns.store(2_000_000, Relaxed);
        }
        assert_eq!(streams.counts(), [(9000, 90, 110); 2]);
        let began = Instant::now() - Duration::from_millis(1500);
        streams.end((began, vec![(1000, 10, 10), (0, 0, 0)]))
    };
    let told = of(&|_| {});
    let each: Vec<_> =
        told.streams.iter().map(|s| (s.id, s.bytes, s.packets, s.errors, s.jitter)).collect();
    assert_eq!(each, [(1, 8000, 100, 20, 0.002), (3, 9000, 110, 20, 0.002)]);
    let seconds = told.streams[0].end_time;
    assert!((1.5..20.0).contains(&seconds) && told.streams[0].start_time == 0.0, "{seconds}");
    assert_eq!(told.sender_has_retransmits, Value::from(-1), "who receives does not know");
    assert!((told.cpu_util_total - told.cpu_util_user - told.cpu_util_system).abs() < 1e-9);
    let sent = of(&|asked| asked.reverse = Some(true));
    assert_eq!(sent.sender_has_retransmits, Value::from(0));
    for (kind, pause) in [
        (ErrorKind::WouldBlock, true),
        (ErrorKind::TimedOut, true),
        (ErrorKind::Interrupted, true),
        (ErrorKind::ConnectionReset, false),
    ] {
        assert_eq!(is_pause(&kind.into()), pause, "{kind:?}");
    }
}

#[test]
fn a_test_is_quiet_since_its_last_byte() {
    let began = Instant::now();
    let mut motion = Motion { since: began, bytes: 5 };
    for (at, bytes, quiet) in [(1, 5, 1), (4, 5, 4), (6, 9, 0), (8, 9, 2), (9, 10, 0), (20, 10, 11)]
    {
        let second = Duration::from_secs(1);
        assert_eq!(motion.ended_for(began + at * second, bytes), quiet * second, "after {at} s");
    }
}

/// Others may wait for a test that moves nothing; without them nobody minds.
#[test]
fn a_test_that_moves_nothing_makes_room_and_one_that_is_stopped_ends() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a door");
    let _client = TcpStream::connect(listener.local_addr().expect("address")).expect("connected");
    let (control, _) = listener.accept().expect("a client");
    let wait = |within: u64, quiet: u64, stop: bool, is_awaited: bool| {
        let mut of = run(|asked| asked.omit = 0);
        (of.within, of.quiet) = (Duration::from_millis(within), Duration::from_millis(quiet));
        let streams = Streams::none_yet(of);
        let ended = streams.wait(&control, &AtomicBool::new(stop), &AtomicBool::new(is_awaited));
        ended.expect_err("no end of the client")
    };
    assert!(matches!(wait(60_000, 0, false, true), Stopped::Idle(quiet) if quiet.is_zero()));
    assert!(matches!(wait(1, 0, false, false), Stopped::TooLong));
    assert!(matches!(wait(60_000, 60_000, true, true), Stopped::Broken(_)));
}

#[test]
fn streams_are_added_until_none_is_missing_and_all_of_them_move_bytes() {
    let mut streams = Streams::none_yet(run(|asked| asked.bidirectional = Some(true)));
    assert_eq!(streams.moved(), 0);
    // Two to receive by and two to send by, of a client that asked for two.
    for (sends, bytes) in [(false, 9000), (false, 500), (true, 0), (true, 32)] {
        assert_eq!((streams.are_missing(), streams.next_sends()), (true, sends), "before {bytes}");
        streams.add(move |_, count| count.bytes.store(bytes, Relaxed)).expect("a thread");
    }
    assert!(!streams.are_missing());
    let deadline = Instant::now() + Duration::from_secs(20);
    streams.run.going.store(true, SeqCst);
    while streams.moved() != 9532 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(streams.moved(), 9532);
}
