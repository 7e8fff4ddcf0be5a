use super::*;
use std::cell::Cell;

/// How many looks are taken where they last so many milliseconds, by a clock of their own.
fn looks(each_ms: &[u64]) -> usize {
    let clock = Cell::new(Instant::now());
    let mut taken = 0;
    look_quickly(
        || clock.get(),
        || {
            let ms = each_ms.get(taken).copied().unwrap_or(0);
            taken += 1;
            clock.set(clock.get() + Duration::from_millis(ms));
        },
    );
    taken
}

#[test]
fn a_look_is_taken_anew_only_while_that_delays_nothing() {
    assert_eq!(looks(&[7, 0]), 2, "an interrupted look is taken anew");
    assert_eq!(looks(&[60, 60, 60, 60, 60]), 1, "where all are slow the window opens");
    assert_eq!(looks(&[7, 7, 7, 7]), 3, "in the twentieth millisecond at last");
    assert_eq!(looks(&[4]), 1, "a quick one is not");
}

/// So much CPU time is read at each look of a thread: all that is told are differences.
fn meter() -> ThreadUsage {
    thread_local!(static LOOKS: Cell<u64> = const { Cell::new(7) });
    let n = LOOKS.get();
    LOOKS.set(n + 1);
    ThreadUsage {
        wall_ns: Nanos(1000 * n),
        user_ns: Nanos(100 * n),
        system_ns: Nanos(30 * n),
        voluntary_switches: 4 * n,
        involuntary_switches: 5 * n,
        waited_ns: Some(Nanos(6 * n)),
        cycles: Some(8 * n),
        ..ThreadUsage::default()
    }
}

/// What a lane is to count, and its word that it has.
type Told = (mpsc::Sender<(u64, u64)>, mpsc::Receiver<()>);

/// A lane that counts what it is told, and what it hands back; told nothing it looks at the phase.
fn lane(end: impl FnOnce() -> LaneEnd + Send + 'static) -> (LaneWork, Told) {
    let (tell, told) = mpsc::channel();
    let (say, said) = mpsc::channel();
    let work: LaneWork = Box::new(move |lane| {
        lane.wait_at_gate();
        while lane.phase() != Phase::Stop {
            let Ok((messages, bytes)) = told.recv_timeout(Duration::from_millis(1)) else {
                continue;
            };
            lane.phase();
            lane.tally.moved(messages, bytes);
            lane.tally.called();
            if lane.is_in_window() {
                lane.paced(9);
            }
            let _ = say.send(());
        }
        Ok(end())
    });
    (work, (tell, said))
}

/// Has lanes count at each look, and keeps what is told of slices.
struct Teller {
    lanes: Vec<Told>,
    looks: u64,
    moved: Vec<(u64, u64)>,
    seen: Vec<&'static str>,
}

impl Teller {
    /// Lane 0 moves a message of 100 bytes, ten times as much each look; lane 1 twice as much.
    fn count(&mut self, what: &'static str) {
        self.seen.push(what);
        let messages = 10u64.pow(self.looks as u32);
        self.looks += 1;
        for ((tell, said), times) in self.lanes.iter().zip(1..) {
            tell.send((messages * times, 100 * messages * times)).expect("it lives");
            said.recv_timeout(Duration::from_secs(60)).expect("it counts");
        }
    }
}

impl Watch for Teller {
    fn opened(&mut self, _: &[Socket]) {
        // Taken anew on a slow machine: once is enough.
        if self.looks == 0 {
            self.count("opened");
        }
    }
    fn slice(&mut self, _: &[Socket]) {
        self.count("slice");
    }
    fn moved(&mut self, slice: &Interval, messages: u64) {
        self.moved.push((slice.bytes.0, messages));
    }
    fn closed(&mut self, _: &[Socket]) {
        self.count("closed");
    }
}

/// A run of two lanes, of which the second sends, with a window of two slices.
fn run(sending: Range<usize>, one_sided: bool, ends: [LaneEnd; 2]) -> (EndReport, Teller) {
    let (lanes, told): (Vec<LaneWork>, Vec<Told>) =
        ends.map(|end| lane(move || end)).into_iter().unzip();
    let plan = ThreadsPlan {
        lanes,
        sending,
        one_sided,
        sockets: Vec::new(),
        effective: Effective { no_delay: Some(true), ..Effective::default() },
        cpus: CpuList::default(),
        binding: Binding::All,
        meter,
    };
    let threads = WorkerThreads::start(plan).expect("at the gate");
    let mut teller = Teller { lanes: told, looks: 0, moved: Vec::new(), seen: Vec::new() };
    // Slices of one sleep each.
    let line = Timeline {
        interval_ns: Some(Nanos(20_000_000)),
        ..Timeline::new(Nanos(0), Nanos(0), Nanos(0))
    };
    let mut slices = 0;
    let wait = |_| {
        slices += 1;
        if slices < 2 { Waited::Out } else { Waited::Told }
    };
    let report = threads.run_until_told(&line, &mut teller, wait).expect("a run");
    (report, teller)
}

#[test]
fn what_is_counted_is_what_was_moved_in_the_window_and_in_its_slices() {
    let (report, teller) = run(0..0, false, Default::default());
    assert_eq!(teller.seen, ["opened", "slice", "slice", "closed"]);
    // One before the window, ten and a hundred in it, a thousand after it; twice as many by one.
    let flows: Vec<_> = report
        .flows
        .iter()
        .map(|flow| (flow.messages, flow.bytes.0, flow.calls, flow.sends))
        .collect();
    assert_eq!(flows, [(110, 11_000, 2, false), (220, 22_000, 2, false)]);
    assert_eq!(teller.moved, [(3000, 30), (30_000, 300)]);
    let slices: Vec<u64> = report.intervals.iter().map(|slice| slice.bytes.0).collect();
    assert_eq!(slices, [3000, 30_000]);
    let [first, second] = report.intervals[..] else { panic!("{:?}", report.intervals) };
    assert_eq!(first.start_ns, Nanos(0));
    assert_eq!(second.start_ns, first.length_ns, "one follows the other");
    assert!(second.start_ns.0 + second.length_ns.0 <= report.window_ns.0);
    assert!(report.looked_ns.is_some_and(|looked| looked >= report.window_ns));
    assert_eq!(report.effective.no_delay, Some(true));
    // Between two looks of each thread, the keeper of the time line's too.
    assert_eq!(report.keeper_ns, Some(Nanos(130)));
    assert_eq!(report.keeper_waited_ns, Some(Nanos(6)));
    for usage in &report.threads {
        assert_eq!(
            (usage.wall_ns, usage.user_ns, usage.system_ns),
            (Nanos(1000), Nanos(100), Nanos(30))
        );
        assert_eq!((usage.voluntary_switches, usage.involuntary_switches), (4, 5));
        assert_eq!((usage.waited_ns, usage.cycles), (Some(Nanos(6)), Some(8)));
        assert_eq!(usage.pacing_ns, Some(Nanos(18)), "twice in the window");
    }
}

#[test]
fn slices_of_an_end_that_does_both_are_of_what_it_received() {
    let (report, teller) = run(1..2, false, Default::default());
    let sends: Vec<bool> = report.flows.iter().map(|flow| flow.sends).collect();
    assert_eq!(sends, [false, true]);
    assert_eq!(teller.moved, [(1000, 10), (10_000, 100)]);
    let (report, teller) = run(1..2, true, Default::default());
    assert!(report.flows.iter().all(|flow| flow.one_sided));
    assert_eq!(teller.moved, [(3000, 30), (30_000, 300)], "one end counts for both");
    let (_, teller) = run(0..2, false, Default::default());
    assert_eq!(teller.moved, [(3000, 30), (30_000, 300)]);
}

#[test]
fn what_threads_hand_back_is_added_up() {
    use narrows_model::load::{Corruption, StretchOf};
    let end = |n: u64| {
        let mut round_trips = Trips::none().expect("trips");
        round_trips.took(1000 * n);
        let mut delays = Delays::default();
        delays.count(n);
        LaneEnd {
            round_trips: Some(round_trips),
            each: Some(vec![(0, Some(5)), (monotonic_ns() + 3_600_000_000_000, None)]),
            zero_copy: Some(ZeroCopy { completed: 10 * n, copied: n }),
            compared: Some(Compared {
                bytes: 100 * n,
                corrupted: Some(Corruption { flow: n as u32, at_byte: 7 }),
            }),
            stretch: Some(Stretch { of: StretchOf::SenderWindow, datagrams: 3 * n }),
            delays: Some(delays.into_buckets()),
            unacknowledged: Some(Unacknowledged { sent: 20 * n, received: 19 * n }),
            ..LaneEnd::default()
        }
    };
    let (report, _) = run(0..0, false, [end(1), end(2)]);
    assert_eq!(report.round_trip_extremes_ns, Some((Nanos(1000), Nanos(2000))));
    assert_eq!(report.round_trips.iter().map(|(_, count)| count).sum::<u64>(), 2);
    assert!(report.each_round_trip.is_empty(), "due before the window or after it");
    assert_eq!(report.zero_copy, Some(ZeroCopy { completed: 30, copied: 3 }));
    assert_eq!(report.verified_bytes, Some(Bytes(300)));
    assert_eq!(report.corrupted.map(|first| first.flow), Some(1), "the first that is told");
    let stretches: Vec<u64> =
        report.flows.iter().flat_map(|flow| flow.stretch).map(|it| it.datagrams).collect();
    assert_eq!(stretches, [3, 6]);
    assert_eq!(report.delays, [(Nanos(1), 1), (Nanos(2), 1)]);
    assert_eq!(report.unacknowledged, Some(Unacknowledged { sent: 60, received: 57 }));
}

#[test]
fn a_flow_is_the_difference_of_two_readings() {
    let first = TallyNow {
        bytes: 1000,
        messages: 10,
        expected: 100,
        reordered: 1,
        refused: 2,
        calls: 3,
        duplicates: 4,
        jitter_ns: 50,
    };
    let last = TallyNow {
        bytes: 9000,
        messages: 90,
        expected: 185,
        reordered: 11,
        refused: 22,
        calls: 33,
        duplicates: 44,
        jitter_ns: 60,
    };
    let told = flow(&first, &last);
    assert_eq!((told.bytes, told.messages, told.lost), (Bytes(8000), 80, 5));
    assert_eq!((told.reordered, told.refused, told.calls, told.duplicates), (10, 20, 30, 40));
    assert_eq!(told.jitter_ns, Some(Nanos(60)), "as it stood at the end");
    let more = flow(&first, &TallyNow { expected: 100, jitter_ns: 0, ..last });
    assert_eq!((more.lost, more.jitter_ns), (0, None), "late ones came, and no jitter is no zero");
}

#[test]
fn threads_have_all_cpus_or_one_each_in_turn() {
    let all = [2, 5, 7];
    assert_eq!(cpus_of(&all, Binding::All, 1), all);
    let each: Vec<Vec<u32>> = (0..4).map(|thread| cpus_of(&all, Binding::Each, thread)).collect();
    assert_eq!(each, [[2], [5], [7], [2]]);
    assert!(cpus_of(&[], Binding::Each, 0).is_empty());
}

#[test]
fn a_thread_that_fails_before_the_gate_ends_the_others() {
    let (waits, _told) = lane(LaneEnd::default);
    let fails: LaneWork = Box::new(|_| Err(LoadError::Order("no such thing".into())));
    let plan = ThreadsPlan {
        lanes: vec![waits, fails],
        sending: 0..0,
        one_sided: false,
        sockets: Vec::new(),
        effective: Effective::default(),
        cpus: CpuList::default(),
        binding: Binding::All,
        meter,
    };
    let why = WorkerThreads::start(plan).err().map(|why| why.to_string());
    assert!(why.as_ref().is_some_and(|why| why.contains("no such thing")), "{why:?}");
}

#[test]
fn a_last_slice_shorter_than_half_is_joined_to_the_one_before_it() {
    let slices = |window_ms: u64| {
        let (work, _told) = lane(LaneEnd::default);
        let plan = ThreadsPlan {
            lanes: vec![work],
            sending: 0..0,
            one_sided: false,
            sockets: Vec::new(),
            effective: Effective::default(),
            cpus: CpuList::default(),
            binding: Binding::All,
            meter,
        };
        let threads = WorkerThreads::start(plan).expect("at the gate");
        let mut line = Timeline::new(Nanos(0), Nanos::from_millis(window_ms), Nanos(0));
        line.interval_ns = Some(Nanos::from_millis(60));
        let report = threads.run(&line, &mut Unwatched).expect("a run");
        assert!(report.window_ns >= Nanos::from_millis(window_ms));
        report.intervals.len()
    };
    // Of a machine that is late there are fewer, never more.
    assert!(slices(140) <= 2, "60 and 80 ms");
    assert!((1..=3).contains(&slices(155)), "60, 60 and 35 ms");
}
