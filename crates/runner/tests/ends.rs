//! Both ends of real runs over loopback, the agent and iperf3's words included: this test's binary
//! is its own worker, as narrows is. What is asked for is compared with what was measured: paces in
//! bits, windows, who sends, how many flows.

#[path = "../../control/tests/common/mod.rs"]
mod common;
#[path = "common/unharnessed.rs"]
mod unharnessed;

use narrows_control::Peer;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::session::{Answer, Order};
use narrows_control::wire::Patience;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::guard;
use narrows_interop::iperf3::{client::Iperf3Server, server::Server};
use narrows_model::host::Host;
use narrows_model::load::{
    Binding, CpuList, EndReport, Job, MemoryParams, Params, Role, StreamParams, Timeline,
};
use narrows_model::record::{Lost, LostBy, Outcome, Record, Stage};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, MemoryLoad, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_plan::Step;
use narrows_runner::controller::{Controller, Ends, receiver_job, sender_job};
use narrows_runner::live::LiveClock;
use narrows_runner::worker;
use narrows_runner::{Counted, Course, CourseEnd, Onlooker, Period};
use narrows_store::Store;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const WINDOW: Nanos = Nanos::from_millis(400);
const PACE_BPS: u64 = 16_000_000;

fn binary() -> PathBuf {
    std::env::current_exe().expect("own path")
}

fn trial(label: &str, kind: &str, path: NetworkPath, params: Params) -> Trial {
    Trial {
        id: TrialId(label.into()),
        label: label.into(),
        kind: kind.into(),
        ends: EndSpec::anywhere(params.is_reverse()),
        params,
        path,
        timeline: Timeline {
            warmup_ns: Nanos::from_millis(200),
            window_ns: WINDOW,
            cooldown_ns: Nanos::from_millis(300),
            interval_ns: None,
        },
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

/// A trial over loopback with one thread of a memory kernel as its background load.
fn loaded(label: &str, kind: &str, params: Params, kernel: &str) -> Trial {
    let mut trial = trial(label, kind, NetworkPath::Loopback, params);
    let load = MemoryLoad { kind: kernel.into(), threads: 1, working_set_bytes: Bytes(1 << 20) };
    trial.ends.push(EndSpec::background(load, Placement::default()));
    trial
}

fn network(streams: u32) -> Params {
    Params::of_network(Bytes(1000), streams)
}

fn slow(params: Params) -> Params {
    Params { rate_bps: Some(PACE_BPS), ..params }
}

fn reverse(params: Params) -> Params {
    let stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
    Params { stream, ..params }
}

/// Runs every trial once, all in one step where several peers are given; their records.
fn run(trials: &[Trial], ends: Ends<'_>, together: bool) -> Vec<Record> {
    run_seen(trials, ends, together, None)
}

/// The same; the onlooker is told what is moved.
fn run_seen(
    trials: &[Trial],
    ends: Ends<'_>,
    together: bool,
    onlooker: Option<Rc<dyn Onlooker>>,
) -> Vec<Record> {
    let name = format!("narrows-ends-{}.narrows", std::process::id());
    let file = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&file);
    let study = StoredStudy::unmeasured(Host::default());
    let mut store = Store::create(&file, &study.study, &study.host).expect("a file");
    store.put_trials(trials).expect("trials");
    let steps: Vec<Step> = match together {
        true => vec![Step { trial: 0, repeat: 5, block: 2 }],
        false => (0..trials.len()).map(|trial| Step { trial, repeat: 5, block: 2 }).collect(),
    };
    let (mut begun, mut made) = (Vec::new(), Vec::new());
    let stop = AtomicBool::new(false);
    let end = Course {
        trials,
        ends: &mut Controller {
            launcher: Launcher::plain(binary()),
            ends,
            together,
            stop: &stop,
            onlooker,
        },
        hosts: None,
        settings: None,
        disk: &store,
        clock: &LiveClock::start(),
        stop: &stop,
        session: 3,
        left_out: 0,
    }
    .run(
        &steps,
        |progress| begun.push((progress.done, progress.total)),
        |trial, record| made.push((trial.label.clone(), record.clone())),
    );
    assert_eq!(end.expect("a course"), CourseEnd::Complete);
    let wanted: Vec<(usize, usize)> = (0..steps.len()).map(|at| (at, steps.len())).collect();
    assert_eq!(begun, wanted);
    drop(store);
    let stored = narrows_store::read(&file).expect("a study").records;
    let _ = std::fs::remove_file(&file);
    assert_eq!(stored.len(), trials.len());
    for ((label, made), stored) in made.iter().zip(&stored) {
        assert_eq!((label, made), (&stored.trial.0, stored), "told and stored");
        assert_eq!((stored.repeat, stored.block), (5, 2));
    }
    stored
}

/// Keeps what it is told.
#[derive(Default)]
struct Kept(RefCell<Vec<(String, Counted, Period)>>);

impl Onlooker for Kept {
    fn every(&self) -> Nanos {
        Nanos::from_millis(100)
    }

    fn period(&self, trial: &Trial, counted: Counted, period: &Period) {
        self.0.borrow_mut().push((trial.label.clone(), counted, *period));
    }

    fn untold(&self, trial: &Trial) {
        panic!("nobody tells of {}", trial.label);
    }
}

fn what_is_told_during_a_run_is_what_its_report_has() {
    let both = Params {
        stream: Some(StreamParams { bidirectional: true, ..StreamParams::default() }),
        ..network(1)
    };
    let sliced = |trial: Trial, slice_ms: u64| {
        let interval_ns = Some(Nanos::from_millis(slice_ms));
        Trial { timeline: Timeline { interval_ns, ..trial.timeline }, ..trial }
    };
    let trials = [
        sliced(trial("there", "tcp-stream", NetworkPath::Loopback, network(2)), 20),
        sliced(trial("back", "udp-stream", NetworkPath::Loopback, slow(reverse(network(1)))), 50),
        sliced(trial("both", "tcp-stream", NetworkPath::Loopback, both), 20),
        sliced(trial("trips", "tcp-rr", NetworkPath::Loopback, network(1)), 50),
    ];
    let here = || Ends::Local { address: HERE, receiver_namespace: None, sender_namespace: None };
    told_as_reported(&trials, here());
    // A kernel has one end, which tells as others do.
    let memory = Params::of_memory(1, Bytes(1 << 20), Default::default());
    let memory = sliced(trial("memory", "memory-read", NetworkPath::Memory, memory), 20);
    told_as_reported(&[memory], here());
    at_agents(Limits::default(), 1, |peers| told_as_reported(&trials, Ends::Peers(peers)));
}

fn told_as_reported(trials: &[Trial], ends: Ends<'_>) {
    let kept = Rc::new(Kept::default());
    let records = run_seen(trials, ends, false, Some(kept.clone()));
    let told = kept.0.borrow();
    for record in &records {
        let told: Vec<_> = told.iter().filter(|(label, ..)| *label == record.trial.0).collect();
        let receiver = record.receiver().expect("one");
        let sender = record.sender().unwrap_or(receiver);
        let sum = |end: &EndReport| end.intervals.iter().map(|slice| slice.bytes.0).sum::<u64>();
        assert!(told.len() > 1, "{}: not at its end: {told:?}", record.trial.0);
        let moved: u64 = told.iter().map(|(.., period)| period.bytes).sum();
        match record.trial.0.as_str() {
            // Of two ends the last parts may be without their like.
            "both" => {
                let stored = sum(receiver) + sum(sender);
                assert!(stored / 2 < moved && moved <= stored, "{moved} of {stored}");
            }
            "trips" => assert_eq!(moved, sum(sender)),
            _ => assert_eq!(moved, sum(receiver)),
        }
        assert!(told.iter().all(|(_, counted, _)| *counted == Counted::Received));
        let apart = told.windows(2).all(|two| two[0].2.end_ns == two[1].2.start_ns);
        assert!(apart, "no gap and no slice twice: {told:?}");
    }
}

/// Both ends of a run that moved something in a window as ordered: receiver, sender. A busy machine
/// may make a window longer, never shorter.
fn ends(record: &Record, flows: usize) -> (&EndReport, &EndReport) {
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.trial);
    let receiver = record.receiver().expect("a receiver");
    let sender = record.sender().expect("a sender");
    for end in [receiver, sender] {
        assert_eq!(end.flows.len(), flows, "{record:?}");
        let window = end.window_ns.0 as f64 / WINDOW.0 as f64;
        assert!((0.9..10.0).contains(&window), "a window of {window} times what was ordered");
        assert!(end.flows.iter().all(|flow| flow.bytes.0 > 0 && flow.messages > 0), "{end:?}");
    }
    (receiver, sender)
}

fn one_way(record: &Record, flows: usize) {
    let (receiver, sender) = ends(record, flows);
    assert!(sender.flows.iter().all(|flow| flow.sends), "{:?}", record.trial);
    assert!(!receiver.flows.iter().any(|flow| flow.sends), "{:?}", record.trial);
}

fn bits_per_second(end: &EndReport) -> f64 {
    let bytes: u64 = end.flows.iter().map(|flow| flow.bytes.0).sum();
    8.0 * bytes as f64 / end.window_ns.seconds()
}

/// At most what was ordered, less only where the machine is that slow.
fn paced(end: &EndReport) {
    let ratio = bits_per_second(end) / PACE_BPS as f64;
    assert!((0.3..1.5).contains(&ratio), "{ratio} times the pace that was ordered");
}

fn both_ends_on_this_host() {
    let memory = Params::of_memory(1, Bytes(1 << 20), Default::default());
    let trials = [
        trial("forward", "tcp-stream", NetworkPath::Loopback, network(2)),
        trial("reverse", "tcp-stream", NetworkPath::Loopback, reverse(network(1))),
        trial("tcp pace", "tcp-stream", NetworkPath::Loopback, slow(network(2))),
        trial("udp pace", "udp-stream", NetworkPath::Loopback, slow(network(2))),
        trial("trips", "tcp-rr", NetworkPath::Loopback, network(1)),
        trial("memory", "memory-read", NetworkPath::Memory, memory),
        loaded("background", "udp-rr", network(1), "memory-read"),
    ];
    let local = Ends::Local { address: HERE, receiver_namespace: None, sender_namespace: None };
    let records = run(&trials, local, false);
    assert!(records.iter().all(|record| record.session == 3));
    for (record, flows) in records.iter().zip([2, 1, 2, 2]) {
        one_way(record, flows);
        assert!(record.background().is_none());
    }
    // A bucket of TCP's pace may be full when the window opens.
    assert!(bits_per_second(ends(&records[2], 2).0) < 3.0 * PACE_BPS as f64);
    paced(ends(&records[3], 2).0);
    paced(ends(&records[3], 2).1);
    let (_, sender) = ends(&records[4], 1);
    assert!(sender.round_trips.iter().map(|(_, count)| count).sum::<u64>() > 0);
    let memory = &records[5];
    assert!(
        memory.sender().is_none() && memory.receiver().expect("a receiver").flows[0].bytes.0 > 0
    );
    let load = records[6].background().expect("the background load");
    assert!(load.flows[0].bytes.0 > 0, "{load:?}");
    // It lasts from before the first window to after the last, whatever the run took.
    let close = |end: &EndReport| end.opened_ns.0 + end.window_ns.0;
    let (receiver, sender) = ends(&records[6], 1);
    for end in [receiver, sender] {
        assert!(load.opened_ns <= end.opened_ns && close(load) >= close(end), "{load:?}, {end:?}");
    }
}

/// Orders and answers of a worker, as lines.
struct Told {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Told {
    fn order(&mut self, order: &Order) {
        let orders = self.child.stdin.as_mut().expect("a pipe");
        let text = serde_json::to_string(order).expect("an order");
        writeln!(orders, "{text}").and_then(|()| orders.flush()).expect("told");
    }

    fn answer(&mut self) -> Answer {
        let line = self.answers.next().expect("an answer").expect("a line");
        serde_json::from_str(&line).expect("an answer")
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Told {
    fn start() -> Self {
        let mut command = Command::new(binary());
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a worker");
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, answers }
    }
}

/// The two ends of a run on a host so slow that one of them is told to go when the window of the
/// other is over, its cool-down too.
fn a_window_that_opens_late_has_its_load() {
    let receiver_first = [("tcp-stream", true), ("tcp-rr", true), ("udp-stream", true)];
    let sender_first = receiver_first.map(|(kind, _)| (kind, false));
    for (kind, receiver_is_first) in receiver_first.into_iter().chain(sender_first) {
        let trial = trial("late", kind, NetworkPath::Loopback, slow(network(2)));
        let token = "5a".repeat(16);
        let order = |end| {
            let job = match end {
                Role::Receiver => receiver_job(&trial),
                Role::Sender | Role::Background => sender_job(&trial),
            };
            let (address, token) = (Some(HERE), token.clone());
            Order::Prepare { job: Box::new(Job { address, token, ..job.expect("an order") }) }
        };
        let (mut receiver, mut sender) = (Told::start(), Told::start());
        receiver.order(&order(Role::Receiver));
        let Answer::Prepared { ports } = receiver.answer() else { panic!("{kind}: not prepared") };
        sender.order(&order(Role::Sender));
        assert!(matches!(sender.answer(), Answer::Prepared { .. }), "{kind}");
        receiver.order(&Order::Arm { peer: vec![] });
        let at = ports.into_iter().map(|port| (HERE, port).into()).collect();
        sender.order(&Order::Arm { peer: at });
        assert_eq!((receiver.answer(), sender.answer()), (Answer::Armed, Answer::Armed));
        let (first, second) = if receiver_is_first {
            (&mut receiver, &mut sender)
        } else {
            (&mut sender, &mut receiver)
        };
        for end in [&mut *first, &mut *second] {
            end.order(&Order::Go { hold: true, tell_ns: None });
            assert_eq!(end.answer(), Answer::Closed, "{kind}");
            thread::sleep(Duration::from_millis(400));
        }
        for end in [second, first] {
            let ended = end.child.try_wait().expect("a child");
            assert!(ended.is_none(), "{kind}, receiver first {receiver_is_first}: {ended:?}");
            end.order(&Order::Release);
            let answer = end.answer();
            assert!(matches!(answer, Answer::Finished { .. }), "{kind}: {answer:?}");
        }
    }
}

/// What the kernel says of threads: those of `Cpus_allowed_list` that have a lane's name.
fn allowed_by_lane(pid: u32) -> Vec<Vec<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("tasks").flatten();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    status.filter(|text| text.starts_with("Name:\tlane")).map(|text| allowed(&text)).collect()
}

fn allowed(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let number = |text: &str| text.trim().parse::<u32>().expect("a CPU");
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        number(first)..=number(last)
    };
    line.expect("a list").split(',').flat_map(range).collect()
}

fn a_load_lasts_until_it_is_told_and_has_its_place() {
    let own = std::fs::read_to_string("/proc/self/status").expect("own status");
    let own = allowed(&own);
    let node = std::path::Path::new("/sys/devices/system/node/node0").exists().then_some(0);
    for binding in [Binding::All, Binding::Each] {
        let mut load = Told::start();
        let memory = MemoryParams { node, ..MemoryParams::default() };
        let params = Params::of_memory(2, Bytes(4 << 20), memory);
        let line = Timeline::new(Nanos(0), Nanos::from_millis(100), Nanos(0));
        let line = Timeline { interval_ns: Some(Nanos::from_millis(20)), ..line };
        let job = Job {
            cpus: CpuList(own.clone()),
            binding,
            token: "00".repeat(16),
            ..Job::new("memory-copy".into(), Role::Receiver, params, line)
        };
        load.order(&Order::Prepare { job: Box::new(job) });
        assert!(matches!(load.answer(), Answer::Prepared { .. }));
        load.order(&Order::Arm { peer: vec![] });
        assert_eq!(load.answer(), Answer::Armed);
        load.order(&Order::GoUntilTold);
        assert_eq!(load.answer(), Answer::Running);
        // A run on a starved host: many times as long as was planned.
        let began = Instant::now();
        thread::sleep(Duration::from_millis(1500));
        let mut lanes = allowed_by_lane(load.child.id());
        lanes.sort();
        let maps = std::fs::read_to_string(format!("/proc/{}/numa_maps", load.child.id()));
        let waited = began.elapsed().as_nanos() as u64;
        drop(load.child.stdin.take());
        let Answer::Finished { report } = load.answer() else { panic!("it did not last") };
        assert!(load.child.wait().expect("its end").success());
        assert!(report.window_ns.0 >= waited, "{} of {waited} ns", report.window_ns.0);
        let told: u64 = report.intervals.iter().map(|slice| slice.length_ns.0).sum();
        assert!(told >= waited && report.intervals.len() > 5, "{told} of {waited} ns");
        let late = report.intervals.iter().filter(|slice| slice.start_ns.0 > waited / 2);
        assert!(late.map(|slice| slice.bytes.0).sum::<u64>() > 0, "idle in its second half");
        let each = |thread: usize| vec![own[thread % own.len()]];
        let mut wanted = match binding {
            Binding::All => vec![own.clone(), own.clone()],
            Binding::Each => vec![each(0), each(1)],
        };
        let read_back: Vec<_> = report.threads.iter().map(|t| t.allowed.clone()).collect();
        assert_eq!(read_back, wanted, "as the kernel told the worker");
        wanted.sort();
        assert_eq!(lanes, wanted, "as the kernel tells anyone");
        if let (Some(node), Ok(maps)) = (node, maps) {
            assert!(maps.contains(&format!(" bind:{node} ")), "{maps}");
        }
    }
}

/// Kills this test's first worker, which is the background load: it starts before the ends do.
fn kill_first_worker() {
    let own = std::process::id();
    let children = || std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let pids: String = children().flatten().filter_map(of).collect();
        let mut pids: Vec<i32> = pids.split_whitespace().flat_map(str::parse).collect();
        pids.sort();
        if let (Some(first), true) = (pids.first(), pids.len() >= 3) {
            let done = Command::new("kill").args(["-9", &first.to_string()]).status();
            assert!(done.expect("kill").success());
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("no three workers in a minute");
}

fn a_load_that_is_lost_leaves_its_cause_in_the_record() {
    let trials = [loaded("lost", "tcp-stream", slow(network(1)), "memory-copy")];
    let killer = thread::spawn(kill_first_worker);
    let here = Ends::Local { address: HERE, receiver_namespace: None, sender_namespace: None };
    let records = run(&trials, here, false);
    killer.join().expect("killed");
    assert_eq!(records[0].outcome, Outcome::Done, "the run itself went on");
    let load = records[0].background().expect("a report of the load");
    let lost = Lost { at: Stage::Run, cause: LostBy::Killed { signal: 9 } };
    assert_eq!(load.lost, Some(lost));
}

/// Serves agents while `with` has a connection to each.
fn at_agents(limits: Limits, count: usize, with: impl FnOnce(&mut Vec<Option<Peer>>)) {
    let key = Key::random().expect("a key");
    let stop = Arc::new(AtomicBool::new(false));
    let mut serving = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..count {
        let (limits, patience) = (limits.clone(), Patience::default());
        let agent = common::agent(Some(HERE), &key, binary(), limits, patience);
        let (port, stop) = (agent.port(), Arc::clone(&stop));
        serving.push(thread::spawn(move || agent.serve(&stop, |_| {})));
        let mut peer = Peer::connect("127.0.0.1", port, None, &key).expect("a connection");
        peer.describe().expect("a host");
        assert!(peer.is_own_host() && peer.address() == HERE && peer.own_address() == HERE);
        assert!(peer.path_mtu().is_none_or(|mtu| mtu.0 >= 1280));
        peers.push(Some(peer));
    }
    with(&mut peers);
    drop(peers);
    stop.store(true, SeqCst);
    serving.into_iter().for_each(|serving| serving.join().expect("an agent"));
}

fn an_end_at_an_agent() {
    let trials = [
        trial("forward", "tcp-stream", NetworkPath::Peer, network(2)),
        trial("reverse", "udp-stream", NetworkPath::Peer, slow(reverse(network(1)))),
    ];
    at_agents(Limits::default(), 1, |peers| {
        let can = |trial| peers[0].as_ref().expect("a peer").can(trial);
        assert!(trials.iter().all(|trial| can(trial).is_ok()));
        let kernel = trial("m", "memory-read", NetworkPath::Memory, network(1));
        assert!(can(&kernel).is_err(), "memory kernels are not lent");
        let records = run(&trials, Ends::Peers(peers), false);
        one_way(&records[0], 2);
        one_way(&records[1], 1);
        paced(ends(&records[1], 1).1);
    });
}

fn ends_at_two_agents_at_once() {
    let mut second = trial("second", "tcp-stream", NetworkPath::Peer, reverse(network(2)));
    second.end_mut(Role::Sender).expect("a sender").host = EndHost::Peer(1);
    let trials = [trial("first", "tcp-stream", NetworkPath::Peer, network(1)), second];
    at_agents(Limits::default(), 2, |peers| {
        let records = run(&trials, Ends::Peers(peers), true);
        one_way(&records[0], 1);
        one_way(&records[1], 2);
        // The ends here: neither waits for the other's run to be over.
        let opened = [ends(&records[0], 1).1, ends(&records[1], 2).0].map(|end| end.opened_ns.0);
        assert!(opened[0].abs_diff(opened[1]) < 10 * WINDOW.0, "{opened:?}");
    });
}

fn what_an_agent_does_not_lend() {
    let limits = Limits { streams: Some(1), ..Limits::default() };
    at_agents(limits, 1, |peers| {
        let trials = [trial("two", "tcp-stream", NetworkPath::Peer, network(2))];
        let records = run(&trials, Ends::Peers(peers), false);
        let Outcome::Failed { why, .. } = &records[0].outcome else { panic!("two flows ran") };
        assert!(why.contains('1'), "{why}");
    });
}

fn iperf3_as_server_and_as_client() {
    let server = Server::listen(Some(HERE), 0, Limits::default()).expect("a server");
    let port = server.port();
    let stop = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&stop);
    let serving = thread::spawn(move || server.serve(&until, |_| {}));
    let found = Iperf3Server::find("127.0.0.1", port, None).expect("a server");
    assert_eq!((found.at().port(), found.own_address()), (port, HERE));
    let line = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos::from_millis(1000),
        cooldown_ns: Nanos::from_millis(300),
        interval_ns: None,
    };
    let trials = [
        trial("forward", "tcp-stream", NetworkPath::Peer, network(2)),
        trial("reverse", "tcp-stream", NetworkPath::Peer, reverse(network(1))),
        trial("datagrams", "udp-stream", NetworkPath::Peer, slow(network(2))),
    ]
    .map(|trial| Trial { timeline: line, ..trial });
    let records = run(&trials, Ends::Iperf3(&found), false);
    for (record, flows) in records.iter().zip([2, 1, 2]) {
        assert_eq!(record.outcome, Outcome::Done, "{:?}", record.trial);
        let receiver = record.receiver().expect("a receiver");
        let sender = record.sender().expect("a sender");
        assert_eq!((receiver.flows.len(), sender.flows.len()), (flows, flows));
        for end in [receiver, sender] {
            assert!((0.8..10.0).contains(&end.window_ns.seconds()), "{end:?}");
        }
        // The ends do not begin and end at one moment.
        let ratio = bits_per_second(receiver) / bits_per_second(sender);
        assert!((0.3..3.0).contains(&ratio), "{ratio} of what was sent arrived");
    }
    let datagrams = records[2].receiver().expect("a receiver");
    assert!(datagrams.flows.iter().all(|flow| flow.messages > 0), "{datagrams:?}");
    paced(datagrams);
    stop.store(true, SeqCst);
    serving.join().expect("a server");
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("worker") => return worker::serve(stdin().lock(), stdout()).expect("a worker"),
        Some("guard") => return guard::serve(stdin().lock(), stdout()).expect("a guard"),
        _ => {}
    }
    let tests: &[(&str, fn())] = &[
        ("both_ends_on_this_host", both_ends_on_this_host),
        ("a_window_that_opens_late_has_its_load", a_window_that_opens_late_has_its_load),
        (
            "a_load_lasts_until_it_is_told_and_has_its_place",
            a_load_lasts_until_it_is_told_and_has_its_place,
        ),
        (
            "a_load_that_is_lost_leaves_its_cause_in_the_record",
            a_load_that_is_lost_leaves_its_cause_in_the_record,
        ),
        (
            "what_is_told_during_a_run_is_what_its_report_has",
            what_is_told_during_a_run_is_what_its_report_has,
        ),
        ("an_end_at_an_agent", an_end_at_an_agent),
        ("ends_at_two_agents_at_once", ends_at_two_agents_at_once),
        ("what_an_agent_does_not_lend", what_an_agent_does_not_lend),
        ("iperf3_as_server_and_as_client", iperf3_as_server_and_as_client),
    ];
    unharnessed::run_all(tests);
}
