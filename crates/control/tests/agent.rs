//! Known answers of an agent and of its controller over loopback: first words, sessions, workers
//! (scripts), what is refused and what is told of it, and many agents called at once.

use narrows_control::agent::Agent;
use narrows_control::events::Event;
use narrows_control::halves::Setup;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::session::{Answer, Order};
use narrows_control::starter::{self, Lend};
use narrows_control::tools::{ToolServer, Tools};
use narrows_control::wire::{PORT, Patience, Wire};
use narrows_control::{Calling, ControlError, End, Gone, Peer, Refusal, listen, reach};
use narrows_model::load::{Job, Params, Role, Timeline};
use narrows_model::record::{Fault, Stage};
use narrows_model::trial::{EndSpec, Engine, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((HERE, 0)).expect("listens");
    let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connected");
    near.set_read_timeout(Some(LONG)).expect("a limit");
    (near, listener.accept().expect("a connection").0)
}

/// What an agent says to these bytes before it hangs up, and why it does.
fn answered(said: &[u8]) -> (Vec<u8>, ControlError) {
    let (mut near, far) = pair();
    let key = Key::random().expect("key");
    let answering = thread::spawn(move || Wire::answer(far, &key).err().expect("refused"));
    near.write_all(said).expect("said");
    near.shutdown(std::net::Shutdown::Write).expect("said all");
    let mut heard = Vec::new();
    let _ = near.read_to_end(&mut heard);
    (heard, answering.join().expect("a thread"))
}

#[test]
fn the_first_words_are_the_protocols_and_its_version_is_told_from_its_key() {
    assert_eq!(PORT, 7471);
    let hello = b"NRRW\0\0\0\x04";
    // A port scan learns nothing.
    let (heard, why) = answered(b"GET / HT");
    assert!(matches!(why, ControlError::Refused { why: Refusal::Foreign, .. }), "{why}");
    assert!(heard.is_empty(), "{heard:?}");
    let (heard, why) = answered(b"NRRW\0\0\0\x03");
    assert_eq!(heard, hello, "an older one learns which version is spoken here");
    let says = "speaks protocol version 3, this narrows speaks 4";
    assert!(why.to_string().ends_with(says), "{why}");
    let (_, why) = answered(b"NRRW");
    assert!(why.to_string().ends_with("is not a narrows controller"), "{why}");
    // A frame of a handshake longer than any is not waited for, and nothing that proves no key.
    for frame in [vec![4, 1], [&[0, 48], &[7; 48][..]].concat()] {
        let (heard, why) = answered(&[&hello[..], &frame].concat());
        assert_eq!(heard, hello);
        assert!(matches!(why, ControlError::Refused { why: Refusal::Keys, .. }), "{why}");
    }
    for (says, ends) in [
        (&b"NRRW\0\0\x01\x05"[..], "speaks protocol version 261, this narrows speaks 4"),
        (b"HTTP/1.1", "does not speak narrows' protocol"),
        (b"NR", "admits nobody from this address (--allow), or has no CPU time to answer"),
    ] {
        let (mut near, far) = pair();
        let calling = thread::spawn(move || Wire::call(far, &Key::random().expect("key")).err());
        near.write_all(says).expect("said");
        near.shutdown(std::net::Shutdown::Write).expect("said all");
        let mut heard = [0; 8];
        near.read_exact(&mut heard).expect("a caller speaks first");
        assert_eq!(&heard, hello);
        let why = calling.join().expect("a thread").expect("refused");
        assert!(why.to_string().ends_with(ends), "{why}");
        assert_eq!(matches!(why, ControlError::HungUp { .. }), says.len() < 8, "{why:?}");
    }
}

#[test]
fn ends_with_other_keys_do_not_talk() {
    let (near, far) = pair();
    let answering = thread::spawn(move || Wire::answer(far, &Key::random().expect("key")).err());
    let called = Wire::call(near, &Key::random().expect("key")).err().expect("other keys");
    assert!(called.to_string().ends_with("the keys do not match"), "{called}");
    let answered = answering.join().expect("a thread").expect("other keys");
    assert!(matches!(answered, ControlError::Refused { why: Refusal::Keys, .. }), "{answered}");
}

/// A worker that answers each order, and ends with a code of its own when it is released.
const WORKER: &str = r#"while read -r order; do
case "$order" in
*'"prepare"'*) echo '{"say":"prepared","ports":[7]}' ;;
*'"arm"'*) echo '{"say":"armed"}' ;;
*'"go"'*) echo '{"say":"closed"}' ;;
*'"release"'*) exit 3 ;;
esac
done"#;

/// A script; another process writes it, so that no child of this one holds it open.
fn script(lines: &str) -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let name = format!("narrows-agent-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
    let path = std::env::temp_dir().join(name);
    let text = path.with_extension("text");
    std::fs::write(&text, format!("#!/bin/sh\n{lines}\n")).expect("a text");
    let mut install = Command::new("install");
    let made = install.args(["-m", "755"]).args([&text, &path]).status().expect("install runs");
    let _ = std::fs::remove_file(text);
    assert!(made.success());
    path
}

/// An agent that serves until it is dropped, and its log.
struct Served {
    port: u16,
    key: Key,
    log: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
    worker: PathBuf,
}

impl Served {
    fn with(limits: Limits, tools: Option<Tools>, tells_sessions: bool) -> Self {
        let (key, worker) = (Key::random().expect("key"), script(WORKER));
        let (listening, at) = listen::open(Some(HERE), 0).expect("listens");
        let (ours, theirs) = UnixStream::pair().expect("a socketpair");
        let patience = Patience::default();
        let setup = Setup { key: key.show(), limits: limits.clone(), patience, tells_sessions };
        let (binary, bind) = (worker.clone(), Some(HERE));
        let lend = Lend { binary, limits, bind, host: None, leave: None, tools };
        thread::spawn(move || starter::serve(theirs, &setup, lend, &AtomicBool::new(false)));
        let agent = Agent::over(listening, ours).expect("set up");
        assert_eq!(agent.port(), at.port());
        let (log, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (own, until) = (Arc::clone(&log), stop.clone());
        let serving = thread::spawn(move || agent.serve(&until, move |event| noted(&own, &event)));
        Self { port: at.port(), key, log, stop, serving: Some(serving), worker }
    }

    fn plain() -> Self {
        Self::with(Limits::default(), None, true)
    }

    fn call(&self) -> Result<Peer, ControlError> {
        let mut peer = Peer::connect("127.0.0.1", self.port, None, &self.key)?;
        peer.describe().map(|_| peer)
    }

    /// Until the log has such a line.
    fn logs(&self, begins: &str) -> String {
        let began = Instant::now();
        loop {
            let lines = self.log.lock().expect("log").clone();
            if let Some(line) = lines.iter().find(|line| line.starts_with(begins)) {
                return line.clone();
            }
            assert!(began.elapsed() < LONG, "{begins}: {lines:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn noted(log: &Mutex<Vec<String>>, event: &Event) {
    log.lock().expect("log").push(match event {
        Event::Session(who) => format!("session {who}"),
        Event::TurnedAway(why) => format!("away {why}"),
        Event::Dropped(who) => format!("dropped {who}"),
        Event::Ended(who) => format!("ended {who}"),
        Event::LeftOut { kind, count } => format!("left out {count} {kind}"),
    });
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let _ = self.serving.take().map(JoinHandle::join);
        let _ = std::fs::remove_file(&self.worker);
    }
}

fn prepare(kind: &str, flows: u32) -> Order {
    let span = Nanos::from_millis(1);
    let params = Params::of_network(Bytes(64), flows);
    let timeline = Timeline::new(span, span, span);
    let mut job = Job::new(kind.into(), Role::Receiver, params, timeline);
    job.token = "00".repeat(16);
    Order::Prepare { job: Box::new(job) }
}

fn answer(peer: &mut Peer, worker: u32) -> Answer {
    let began = Instant::now();
    loop {
        match peer.worker(worker).answer(Duration::from_millis(20)).expect("it is there") {
            Some(answer) => return answer,
            None => assert!(began.elapsed() < LONG, "no answer of {worker}"),
        }
    }
}

#[test]
fn each_worker_has_its_own_orders_and_answers_until_it_ends() {
    let served = Served::plain();
    let mut peer = served.call().expect("a session");
    assert!(peer.is_own_host() && peer.address() == HERE && peer.own_address() == HERE);
    assert!(peer.can_tell() && !peer.lends("iperf"));
    // Nobody named another agent with --peers.
    let met = peer.can_meet().expect_err("its owner allows none").to_string();
    assert!(
        met.ends_with("it was started without --peers, so its ends meet no other agent's"),
        "{met}"
    );
    assert!(peer.path_mtu().is_some_and(|mtu| mtu > Bytes(1500)), "{:?}", peer.path_mtu());
    assert!(peer.dialled_in() > Duration::ZERO);
    for worker in [0, 2] {
        peer.start_worker(worker).expect("started");
    }
    let go = Order::Go { hold: true, tell_ns: None };
    let prepared = || Answer::Prepared { ports: vec![7] };
    peer.worker(2).order(&prepare("tcp-stream", 1)).expect("said");
    peer.worker(2).order(&Order::Arm { peer: Vec::new() }).expect("said");
    peer.worker(0).order(&prepare("tcp-stream", 1)).expect("said");
    // Words of the other are kept for it, in their order.
    assert_eq!(answer(&mut peer, 0), prepared());
    peer.start_worker(3).expect("started while another speaks");
    assert_eq!(answer(&mut peer, 2), prepared());
    assert_eq!(answer(&mut peer, 2), Answer::Armed);
    peer.worker(0).order(&go).expect("said");
    assert_eq!(answer(&mut peer, 0), Answer::Closed);
    peer.worker(0).order(&Order::Release).expect("said");
    let Answer::Failed { at, why, fault } = answer(&mut peer, 0) else { panic!("it ended") };
    assert_eq!((at, fault), (Stage::Run, Fault::Machine));
    assert!(why.contains("(exit status: 3)"), "{why}");
    peer.worker(0).order(&go).expect("said");
    let Answer::Failed { at, why, .. } = answer(&mut peer, 0) else { panic!("it is gone") };
    assert_eq!((at, why.as_str()), (Stage::Start, "no worker was started"));
    // Another of the number begins without what was said of the one before.
    peer.worker(2).order(&go).expect("said");
    thread::sleep(Duration::from_millis(50));
    peer.start_worker(2).expect("started anew");
    assert_eq!(peer.worker(2).answer(Duration::from_millis(1)).expect("it is there"), None);
    peer.stop().expect("said");
    peer.worker(3).order(&prepare("tcp-stream", 1)).expect("said");
    let Answer::Failed { why, .. } = answer(&mut peer, 3) else { panic!("none is there") };
    assert_eq!(why, "no worker was started");
}

#[test]
fn one_controller_measures_and_what_its_owner_does_not_lend_is_refused() {
    let limits = Limits { streams: Some(4), seconds: Some(1), ..Limits::default() };
    let served = Served::with(limits, None, true);
    let mut peer = served.call().expect("a session");
    let busy = served.call().err().expect("one at a time").to_string();
    assert!(busy.contains("declined: another controller is measuring"), "{busy}");
    peer.start().expect("started");
    for (order, says, fault) in [
        (prepare("tcp-stream", 5), "this agent's limits: 5 flows, at most 4", Fault::Beyond),
        (prepare("memory-read", 1), "an agent runs only the end of a network", Fault::Machine),
        (Order::GoUntilTold, "an agent runs no load without a time limit", Fault::Machine),
    ] {
        peer.order(&order).expect("said");
        let Answer::Failed { at, why, fault: told } = answer(&mut peer, 0) else {
            panic!("{says}")
        };
        assert!(why.starts_with(says), "{why}");
        assert_eq!((at, told), (Stage::Start, fault), "{why}");
    }
    peer.order(&prepare("tcp-stream", 4)).expect("said");
    assert_eq!(answer(&mut peer, 0), Answer::Prepared { ports: vec![7] });
    // What was given is nobody's once all have stopped.
    peer.stop().expect("said");
    peer.start_worker(1).expect("started");
    peer.worker(1).order(&prepare("tcp-stream", 4)).expect("said");
    assert_eq!(answer(&mut peer, 1), Answer::Prepared { ports: vec![7] });
    let first = served.logs("session 127.0.0.1:");
    let who = first.strip_prefix("session ").expect("who").to_owned();
    drop(peer);
    served.logs(&format!("ended {who}"));
    assert!(served.call().is_ok(), "it is free again");
}

#[test]
fn who_may_not_come_is_hung_up_on_and_told_of_and_sessions_only_where_asked() {
    let allowed = vec!["192.0.2.0/24".parse().expect("a net")];
    let served = Served::with(Limits { allowed, ..Limits::default() }, None, true);
    let why = served.call().err().expect("not allowed");
    assert!(matches!(why, ControlError::HungUp { .. }), "{why}");
    let line = served.logs("away 127.0.0.1:");
    assert!(line.ends_with(": not among the allowed addresses"), "{line}");
    let quiet = Served::with(Limits::default(), None, false);
    drop(quiet.call().expect("a session"));
    let other = Peer::connect("127.0.0.1", quiet.port, None, &Key::random().expect("key"));
    assert!(other.is_err(), "another key");
    quiet.logs("away ");
    let lines = quiet.log.lock().expect("log").clone();
    assert!(lines.iter().all(|line| line.starts_with("away ")), "{lines:?}");
}

fn trial(tool: &str) -> Trial {
    let span = Nanos::from_millis(1);
    Trial {
        id: TrialId(String::new()),
        label: String::new(),
        kind: "tcp-stream".into(),
        params: Params::of_network(Bytes(64), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline::new(span, span, span),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: Some(Engine { tool: tool.into(), ..Engine::default() }),
    }
}

#[test]
fn a_tool_is_served_where_its_owner_lends_it() {
    let tools = Tools {
        names: vec!["iperf".to_owned()],
        start: |_| Ok(ToolServer { port: 5001, process: Box::new(()) }),
        port: |_| Some(5001),
    };
    let served = Served::with(Limits::default(), Some(tools), true);
    let mut peer = served.call().expect("a session");
    assert!(peer.lends("iperf") && !peer.lends("nuttcp"));
    assert_eq!(peer.serve_tool(&trial("iperf")).expect("it is lent"), 5001);
    let why = peer.serve_tool(&trial("nuttcp")).expect_err("it is not").to_string();
    assert!(why.contains("declined: the agent's owner does not offer nuttcp"), "{why}");
}

#[test]
fn many_agents_answer_at_once_each_in_its_place() {
    let (one, other) = (Served::plain(), Served::plain());
    let closed = TcpListener::bind((HERE, 0)).expect("a port").local_addr().expect("at").port();
    let hosts = [
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{closed}"),
        format!("127.0.0.1:{}", one.port),
        "127.0.0.1:x".to_owned(),
        format!("127.0.0.1:{}", other.port),
    ];
    let calling = Calling { port: one.port, family: None, key: one.key.clone() };
    let came = reach(&hosts, &calling);
    let [own, none, twice, nonsense, keys] = &came[..] else { panic!("{}", came.len()) };
    assert!(own.as_ref().is_ok_and(|reached| reached.peer.address() == HERE));
    let why = |of: &Result<_, ControlError>| of.as_ref().err().map(ControlError::to_string);
    let says = |of, begins: &str| why(of).is_some_and(|why| why.starts_with(begins));
    assert!(says(none, &format!("127.0.0.1 port {closed} cannot be reached: ")), "{:?}", why(none));
    let same = format!("127.0.0.1:{0} is the same agent as 127.0.0.1, 127.0.0.1:{0}", one.port);
    assert_eq!(why(twice), Some(same));
    assert!(matches!(nonsense, Err(ControlError::UnknownHost { .. })), "{:?}", why(nonsense));
    assert!(matches!(keys, Err(ControlError::HungUp { .. } | ControlError::Refused { .. })));
}

#[test]
fn who_is_hung_up_on_calls_again_a_few_times() {
    let listening = TcpListener::bind((HERE, 0)).expect("listens");
    let port = listening.local_addr().expect("address").port();
    let calls = thread::spawn(move || {
        listening.set_nonblocking(true).expect("a flag");
        let (mut calls, mut last) = (0, Instant::now());
        // The last pause is a fifth of a second, more on a loaded machine.
        while calls < 6 || last.elapsed() < Duration::from_millis(300) {
            match listening.accept() {
                Ok(_) => (calls, last) = (calls + 1, Instant::now()),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
            if last.elapsed() > LONG {
                break;
            }
        }
        calls
    });
    let key = Key::random().expect("key");
    let why = Peer::connect("127.0.0.1", port, None, &key).err().expect("hung up");
    let no_agent = ControlError::HungUp { peer: String::new(), why: Refusal::NoAgent };
    assert_eq!(std::mem::discriminant(&why), std::mem::discriminant(&no_agent), "{why}");
    assert_eq!(calls.join().expect("a thread"), 6, "once, and after each of five pauses");
    let gone = Peer::connect("127.0.0.1", port, None, &key).err().expect("nobody listens");
    assert!(
        matches!(&gone, ControlError::Unreachable { why: Gone::Connect(_), peer }
            if *peer == format!("127.0.0.1 port {port}")),
        "{gone}"
    );
}
