//! What is left to the processes of an agent, as the kernel tells it, and what the starter of
//! workers does for a listener that was taken over.

use narrows_control::ControlError;
use narrows_control::halves::Setup;
use narrows_control::limits::Limits;
use narrows_control::starter::{self, Lend};
use narrows_hostctl::{HostError, child, confine, privilege};
use narrows_model::Bytes;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::kill;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// The environment variable by which this test starts itself as what it looks at.
const PART: &str = "NARROWS_TEST_PART";

fn status(of: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{of}/status")).expect("status");
    let wanted = ["Uid", "Groups", "Cap", "NoNewPrivs", "Seccomp:"];
    let lines = text.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// What a call came to, in a word.
fn word<T>(came: Result<T, nix::Error>) -> String {
    came.map_or_else(|error| error.to_string(), |_| "done".to_owned())
}

fn io_word<T>(came: io::Result<T>) -> String {
    came.map_or_else(|error| error.kind().to_string(), |_| "done".to_owned())
}

/// Not a test: what the tests start. Says what it has and may, line by line.
#[test]
fn part() {
    match std::env::var(PART).as_deref() {
        Ok("starter") => as_starter(),
        Ok("worker") => as_worker(),
        Ok("listener") => as_listener(),
        Ok("iperf3") => as_iperf3(),
        _ => {}
    }
}

fn as_starter() {
    let own = std::env::current_exe().expect("own program");
    let binary = privilege::drop_root("nobody", &own, Default::default())
        .expect("dropped")
        .expect("as root");
    confine::starter(false).expect("confined");
    println!("starter\n{}", status("thread-self"));
    println!("unshare {}", word(unshare(CloneFlags::CLONE_NEWUSER)));
    let packets = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None);
    println!("packets {}", word(packets));
    let regained = caps::raise(None, caps::CapSet::Effective, caps::Capability::CAP_NET_ADMIN);
    println!("regained {}", regained.is_ok());
    let mut worker = Command::new(binary);
    child::confine(&mut worker);
    worker.args(["--exact", "part", "--nocapture"]).env(PART, "worker");
    let ran = worker.output().expect("a worker is started");
    print!("{}", String::from_utf8_lossy(&ran.stdout));
}

fn as_worker() {
    child::obey_confine().expect("confined");
    println!("worker\n{}", status("thread-self"));
    let thread = thread::spawn(|| 7).join().expect("thread");
    println!("thread {thread}");
    println!("exec {}", io_word(Command::new("/bin/true").status()));
}

/// What a process that talks with strangers says of itself once it is confined, from before its
/// own calls are cut off (`/proc` cannot be read after), and by what it then may.
fn as_talker(confine: fn() -> Result<(), HostError>) {
    let listening = TcpListener::bind("127.0.0.1:0").expect("listens");
    let at = listening.local_addr().expect("address");
    // Its parent looks at it from outside.
    confine().expect("confined");
    println!("confined {}", nix::unistd::gettid());
    let mut line = String::new();
    io::stdin().read_line(&mut line).expect("looked at");
    println!("exec {}", io_word(Command::new("/bin/true").status()));
    println!("file {}", io_word(std::fs::File::open("/etc/passwd")));
    let made = std::env::temp_dir().join(format!("narrows-made-{}", std::process::id()));
    println!("made {}", io_word(std::fs::File::create(made)));
    println!("tcp {}", io_word(TcpListener::bind("127.0.0.1:0")));
    println!("call {}", io_word(TcpStream::connect(at)));
    println!("unix {}", io_word(UnixStream::pair()));
    println!("kill {}", word(kill(Pid::parent(), None)));
    println!("unshare {}", word(unshare(CloneFlags::CLONE_NEWUSER)));
    let regained = caps::raise(None, caps::CapSet::Effective, caps::Capability::CAP_NET_ADMIN);
    println!("regained {}", regained.is_ok());
    println!("udp {}", io_word(UdpSocket::bind("127.0.0.1:0")));
    println!("thread {}", thread::spawn(|| 7).join().expect("thread"));
    listening.set_nonblocking(true).expect("a flag of a socket");
    println!("accept {}", io_word(listening.accept()));
}

fn as_listener() {
    privilege::drop_all().expect("dropped");
    as_talker(confine::listener);
}

fn as_iperf3() {
    privilege::drop_root_and_all("nobody").expect("dropped");
    as_talker(confine::iperf3);
}

fn is_root(test: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("skipped: {test}: needs root, to give it up");
    }
    root
}

const NONE: &str = "0000000000000000";

#[test]
fn a_starter_uses_no_capability_and_a_worker_has_only_what_loads_need() {
    if !is_root("a_starter_uses_no_capability") {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("own program"));
    command.args(["--exact", "part", "--nocapture"]).env(PART, "starter");
    let ran = command.output().expect("started");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let why = format!("{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    let (starter, worker) = said.split_once("worker\n").expect(&why);
    // CAP_NET_ADMIN is the twelfth.
    let one = "0000000000001000";
    for (of, effective) in [(starter, NONE), (worker, one)] {
        for line in [
            "Uid: 65534 65534 65534 65534\n".to_owned(),
            format!("CapEff: {effective}\n"),
            format!("CapPrm: {one}\n"),
            format!("CapBnd: {NONE}\n"),
            "NoNewPrivs: 1\n".to_owned(),
            "Seccomp: 2\n".to_owned(),
        ] {
            assert!(of.contains(&line), "{line}{why}");
        }
    }
    for line in ["unshare EPERM", "packets EPERM", "regained false"] {
        assert!(starter.contains(line), "{line}: {why}");
    }
    for line in ["thread 7\n", "exec permission denied\n"] {
        assert!(worker.contains(line), "{line}{why}");
    }
}

/// What a part that talks has, as the kernel tells others, and what it says that it may.
fn talker(part: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().expect("own program"));
    command.args(["--exact", "part", "--nocapture"]).env(PART, part);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).spawn().expect("started");
    let mut out = io::BufReader::new(child.stdout.take().expect("output"));
    let mut line = String::new();
    while !line.starts_with("confined ") {
        line.clear();
        let length = io::BufRead::read_line(&mut out, &mut line).expect("a line");
        assert!(length > 0, "it ended: {:?}", child.wait());
    }
    let thread = line.trim().strip_prefix("confined ").expect("its thread");
    let has = status(&format!("{}/task/{thread}", child.id()));
    child.stdin.take().expect("input").write_all(b"go on\n").expect("told");
    let mut may = String::new();
    out.read_to_string(&mut may).expect("text");
    assert!(child.wait().expect("its end").success(), "{may}");
    (has, may)
}

#[test]
fn who_speaks_with_strangers_has_its_connections_and_nothing_else() {
    if !is_root("who_speaks_with_strangers") {
        return;
    }
    for (part, uid, udp) in [("listener", 0, "permission denied"), ("iperf3", 65534, "done")] {
        let (has, may) = talker(part);
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(has.contains(&format!("{set}: {NONE}\n")), "{part}: {set}: {has}");
        }
        let user = format!("Uid: {uid} {uid} {uid} {uid}\n");
        for line in [&*user, "NoNewPrivs: 1\n", "Seccomp: 2\n"] {
            assert!(has.contains(line), "{part}: {line}{has}");
        }
        for refused in ["exec", "file", "made", "tcp", "call", "unix"] {
            assert!(may.contains(&format!("{refused} permission denied\n")), "{part}: {may}");
        }
        for line in ["\nkill EPERM", "\nunshare EPERM", "\nregained false\n", "\nthread 7\n"] {
            assert!(may.contains(line), "{part}: {line}: {may}");
        }
        assert!(may.contains(&format!("udp {udp}\n")), "{part}: {may}");
        assert!(may.contains("accept operation would block\n"), "{part}: {may}");
    }
}

/// A starter whose listener is this test, and whose workers write down what they are ordered.
struct Forged {
    link: UnixStream,
    orders: PathBuf,
    stop: Arc<AtomicBool>,
    serving: thread::JoinHandle<Result<(), ControlError>>,
}

impl Forged {
    fn begin(name: &str) -> Self {
        Self::with_worker(name, "cat >> ORDERS")
    }

    /// With a worker that is a line of shell, after it has written down its process id.
    fn with_worker(name: &str, does: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let (script, orders) = (folder.join("worker"), folder.join("orders"));
        let text = format!("#!/bin/sh\necho $$ >> ORDERS\n{does}\n");
        let text = text.replace("ORDERS", &orders.display().to_string());
        std::fs::write(&script, text).expect("a script");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("executable");
        let limits = Limits {
            seconds: Some(2),
            streams: Some(4),
            memory_bytes: Some(Bytes::mib(1)),
            ports: Some((7000, 7003)),
            ..Limits::default()
        };
        let setup = Setup {
            key: String::new(),
            limits: limits.clone(),
            patience: <_>::default(),
            tells_sessions: true,
        };
        let bind = Some("127.0.0.1".parse().expect("address"));
        let lend = Lend { binary: script, limits, bind, host: None, leave: None, tools: None };
        let (link, theirs) = UnixStream::pair().expect("a socketpair");
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let serving = thread::spawn(move || starter::serve(theirs, &setup, lend, &until));
        link.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let mut forged = Self { link, orders, stop, serving };
        forged.hear();
        forged
    }

    fn say(&mut self, call: &Value) {
        let text = call.to_string();
        let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
        bytes.extend(text.as_bytes());
        self.link.write_all(&bytes).expect("said");
    }

    fn ask(&mut self, request: &Value) {
        self.say(&json!({"call": "ask", "request": request}));
    }

    fn hear(&mut self) -> Value {
        let mut length = [0; 4];
        self.link.read_exact(&mut length).expect("a word");
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.link.read_exact(&mut text).expect("the rest of it");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// What a request comes to, in its reply's words.
    fn reply(&mut self, request: &Value) -> String {
        self.ask(request);
        self.hear()["reply"].to_string()
    }

    /// What all workers wrote down so far: each its process id, and its orders.
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.orders).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn wait_for_lines(&self, count: usize) -> Vec<String> {
        let began = Instant::now();
        while self.lines().len() < count {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", self.lines());
            thread::sleep(Duration::from_millis(10));
        }
        self.lines()
    }

    fn end(self) -> Result<(), ControlError> {
        let Self { link, orders, stop, serving } = self;
        stop.store(true, SeqCst);
        drop(link);
        let _ = std::fs::remove_dir_all(orders.parent().expect("folder"));
        serving.join().expect("the starter ends")
    }
}

fn is_there(pid: &str) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    text.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// What is wrong with an order.
type Change = fn(&mut Value);

fn prepare(change: impl Fn(&mut Value)) -> Value {
    let mut job = json!({
        "kind": "tcp-stream", "end": "sink", "cpus": [],
        "timeline": {"warmup_ns": 1_000_000, "window_ns": 5_000_000, "cooldown_ns": 0},
        "address": "203.0.113.9", "token": "00".repeat(16), "namespace": "/proc/1/ns/net",
        "ports": [1, 2], "bind": {"address": null, "device": "lo"},
        "params": {"message_bytes": 64, "streams": 1, "socket_buffer_bytes": null,
            "congestion": null, "rate_bps": null, "working_set_bytes": 0}});
    change(&mut job);
    json!({"to": "order", "order": {"say": "prepare", "job": job}})
}

#[test]
fn a_listener_that_was_taken_over_gets_no_order_beyond_the_limits() {
    let mut forged = Forged::begin("forged");
    let begin = |address: &str| json!({"call": "begin", "session": 7, "address": address});
    // Every address of this host, and one that the owner did not choose.
    for address in ["0.0.0.0", "::", "192.0.2.1"] {
        forged.say(&begin(address));
        assert!(forged.hear()["reply"]["why"].as_str().is_some_and(|why| why.contains(address)));
    }
    forged.say(&begin("127.0.0.1"));
    assert!(forged.reply(&prepare(|_| {})).contains("no worker was started"));
    assert!(forged.reply(&json!({"to": "start"})).contains("started"));
    let beyond: [(&str, Change); 7] = [
        ("a run of 60 s", |job| job["timeline"]["window_ns"] = json!(60_000_000_000u64)),
        ("5 flows", |job| job["params"]["streams"] = json!(5)),
        ("of buffers", |job| job["params"]["message_bytes"] = json!(2 << 20)),
        ("network workload that listens", |job| job["end"] = json!("source")),
        ("network workload that listens", |job| job["kind"] = json!("memory-copy")),
        ("sh -c reboot", |job| job["kind"] = json!("sh -c reboot")),
        ("of buffers", |job| job["params"]["socket_buffer_bytes"] = json!(1 << 20)),
    ];
    for (says, change) in beyond {
        let reply = forged.reply(&prepare(change));
        assert!(reply.contains(says) && reply.contains("failed"), "{says}: {reply}");
    }
    let reply = forged.reply(&json!({"to": "order", "order": {"say": "go-until-told"}}));
    assert!(reply.contains("no load without a time limit"), "{reply}");
    let worker = forged.wait_for_lines(1);
    assert_eq!(worker.len(), 1, "no order reached it: {worker:?}");
    // What is within the limits goes on, and nothing of where and as what it runs.
    forged.ask(&prepare(|_| {}));
    let order: Value = serde_json::from_str(&forged.wait_for_lines(2)[1]).expect("an order");
    let job = &order["job"];
    assert_eq!((&job["address"], &job["ports"]), (&json!("127.0.0.1"), &json!([7000, 7003])));
    for unset in ["namespace", "bind", "iperf3"] {
        assert!(job[unset].is_null(), "{job}");
    }
    // One worker at a time, and none after its session.
    assert!(forged.reply(&json!({"to": "start"})).contains("started"));
    let second = forged.wait_for_lines(3)[2].clone();
    assert!(!is_there(&worker[0]) && is_there(&second), "{worker:?} {second}");
    forged.say(&json!({"call": "end"}));
    let began = Instant::now();
    while is_there(&second) {
        assert!(began.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    }
    forged.end().expect("it was stopped");
}

#[test]
fn a_worker_that_says_too_much_fails_its_run_and_not_the_agent() {
    let says = "printf '{\"say\":\"failed\",\"at\":\"run\",\"why\":\"';\n\
                head -c 17000000 /dev/zero | tr '\\0' x; echo '\"}'; cat >> ORDERS";
    let mut forged = Forged::with_worker("long-answer", says);
    forged.say(&json!({"call": "begin", "session": 1, "address": "127.0.0.1"}));
    assert!(forged.reply(&json!({"to": "start"})).contains("started"));
    let reply = forged.hear()["reply"].to_string();
    assert!(reply.contains("bytes in one message") && reply.len() < 1000, "{}", reply.len());
    assert!(forged.reply(&json!({"to": "start"})).contains("started"), "it serves on");
    forged.end().expect("it was stopped");
}

#[test]
fn a_worker_that_closes_its_output_and_goes_on_is_ended() {
    let mut forged = Forged::with_worker("silent", "exec >&-\nexec sleep 60");
    forged.say(&json!({"call": "begin", "session": 1, "address": "127.0.0.1"}));
    assert!(forged.reply(&json!({"to": "start"})).contains("started"));
    let worker = forged.wait_for_lines(1)[0].clone();
    // Within the time that the link waits for a word: 20 s.
    let reply = forged.hear()["reply"].to_string();
    assert!(reply.contains("failed"), "{reply}");
    assert!(!is_there(&worker), "{worker}");
    forged.end().expect("it was stopped");
}

#[test]
fn a_call_that_is_none_ends_the_starter() {
    for (name, call) in [
        ("foreign", json!({"call": "run", "command": "/bin/true"}).to_string()),
        ("long", format!("\"{}\"", "x".repeat(70_000))),
        ("garbage", "\u{0}\u{1}{".to_owned()),
    ] {
        let mut forged = Forged::begin(name);
        let mut bytes = (call.len() as u32).to_be_bytes().to_vec();
        bytes.extend(call.as_bytes());
        let _ = forged.link.write_all(&bytes);
        let mut rest = Vec::new();
        let _ = forged.link.read_to_end(&mut rest);
        let served = forged.serving.join().expect("no panic");
        assert!(matches!(served, Err(ControlError::Halves(_))), "{name}: {served:?}");
        let _ = std::fs::remove_dir_all(forged.orders.parent().expect("folder"));
    }
}
